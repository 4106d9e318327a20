//! When things happened, and when the screen is worth another look.

use std::time::Duration;

use super::hash_of;
use crate::moment::Moment;
use crate::page::{Page, is_spinner, without_lone_spinner};

/// Output has paused: the first look comes this long after the last byte, so that a line printed in two writes is
/// read once.
const PAUSE: Duration = Duration::from_millis(3);
/// While output goes on a look is taken at most this often.
const BUSY_LOOK: Duration = Duration::from_millis(20);
/// Distances of further looks from the last output, in milliseconds; after the last one they double.
const LOOKS: [u64; 5] = [10, 30, 100, 300, 1000];

/// The visible text in three numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextHash {
    /// As it stands there.
    pub(super) shown: u64,
    /// Without spinners that turn apart from all words.
    pub(super) all: u64,
    /// Without any spinner.
    pub(super) words: u64,
}

impl TextHash {
    pub(super) fn of(page: &Page) -> Self {
        let shown = || page.lines.iter().map(|line| line.text.as_str());
        let all = || shown().map(without_lone_spinner);
        let words = all().map(|text| text.replace(is_spinner, "").trim_end().to_owned());
        Self { shown: hash_of(shown()), all: hash_of(all()), words: hash_of(words) }
    }
}

/// When things happened, and when to look again.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The last moment that was told.
    pub(super) now: Moment,
    pub(super) last_output: Option<Moment>,
    /// The last output that did more than turn a spinner apart from all words.
    pub(super) last_work: Option<Moment>,
    /// First output, resize or key since the last look.
    pub(super) stirred: Option<Moment>,
    /// When the visible text last changed, and its hash.
    pub(super) changed: Moment,
    pub(super) text: TextHash,
    /// The same without what spins.
    pub(super) changed_words: Moment,
    /// Until when, as far as is known, no process read: the first look after the kernel said so.
    pub(super) vetoed: Moment,
    pub(super) held: Option<Moment>,
    pub(super) look_at: Option<Moment>,
    /// Looks taken since the last stir.
    pub(super) looks: u32,
    pub(super) echo_until: Option<Moment>,
    /// When Enter was last given: an agent needs a moment before it shows that it works.
    pub(super) sent: Option<Moment>,
    /// When the program said that a dialog opens, if that is its last word.
    pub(super) blocked: Option<Moment>,
    /// When any key was last given.
    pub(super) typed: Option<Moment>,
}

/// The earliest moment that asks for another look.
pub(super) struct Wake {
    pub(super) now: Moment,
    pub(super) at: Option<Moment>,
}

impl Wake {
    pub(super) fn after(&mut self, moment: Moment) {
        self.at = Some(self.at.map_or(moment, |at| at.min(moment)));
    }
}

impl Clock {
    /// Something happened: look after a pause, and soon even if it goes on.
    pub(super) fn stir(&mut self, now: Moment) {
        let first = *self.stirred.get_or_insert(now);
        self.looks = 0;
        self.look_at = Some((now + PAUSE).min(first + BUSY_LOOK));
    }

    pub(super) fn looked(&mut self, text: TextHash, now: Moment) {
        let changed = self.last_stir(now);
        let only_spins = text.all == self.text.all && text.shown != self.text.shown;
        if self.stirred.is_some() && !only_spins {
            self.last_work = self.last_output;
        }
        if text.all != self.text.all {
            self.changed = changed;
        }
        if text.words != self.text.words {
            self.changed_words = changed;
        }
        self.text = text;
        self.stirred = None;
        self.looks = self.looks.saturating_add(1);
    }

    pub(super) fn last_stir(&self, now: Moment) -> Moment {
        self.last_output.unwrap_or(now).min(now)
    }

    /// Since when the tool is silent, but for a spinner.
    pub(super) fn silent_since(&self, now: Moment) -> Moment {
        self.last_work.unwrap_or(now).min(now)
    }

    /// The next look after the last output: 10, 30, 100 … ms, then twice as far each time.
    pub(super) fn next_distance(&self) -> Moment {
        let index = self.looks.saturating_sub(1) as usize;
        let millis = match LOOKS.get(index) {
            Some(millis) => *millis,
            None => 1000_u64 << (index - LOOKS.len() + 1).min(20),
        };
        self.last_output.unwrap_or_default() + Duration::from_millis(millis)
    }
}
