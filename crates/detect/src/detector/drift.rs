//! The tool's own word against the screen. A tool that says it waits, by a hook or by its status, while no recogniser
//! sees a dialog, has a dialog that we do not know; a dialog that is recognised while the tool says that it works is
//! perhaps none. Both are drift: told once, and degraded to a possible prompt. With the screen's consent the same word
//! makes a prompt certain, and there is one sighting for both.

use std::time::Duration;

use atlasbridge_model::Kind;

use super::{Detector, Drift, ToolWord, hash_of};
use crate::moment::Moment;
use crate::page::{Page, is_spinner};
use crate::recognise::{self, Look, Place, Reading};
use crate::status::Claim;
use crate::verdict::{self, Terms};
use crate::witness::Waits;

/// How long the word may be ahead of the screen, or behind it. Measured with Claude Code: `blocked` comes up to 0.45 s
/// before its dialog is drawn, the next state at most 0.17 s after a key.
pub(super) const AHEAD: Duration = Duration::from_millis(1500);

/// The tool's word that it waits.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) since: Moment,
    /// By a hook: nobody else can have said it. A status can be forged by any program that prints.
    pub(super) by_hook: bool,
    title: String,
    /// A prompt was seen for it, recognised or as drift: it says nothing more about the next one.
    pub(super) met: bool,
}

impl Detector {
    pub(super) fn told(&mut self, told: ToolWord<'_>, now: Moment) {
        self.word = match told {
            ToolWord::Waits { title } => {
                Some(Announcement { since: now, by_hook: true, title: title.to_owned(), met: false })
            }
            ToolWord::GoesOn => None,
        };
        self.clock.stir(now);
    }

    /// The status has changed. A hook knows better.
    pub(super) fn status_changed(&mut self, now: Moment) {
        if self.word.as_ref().is_some_and(|word| word.by_hook) || !self.trusts_status() {
            return;
        }
        let is_blocked = self.status.claim() == Some(Claim::Blocked);
        let word = Announcement { since: now, by_hook: false, title: String::new(), met: false };
        self.word = is_blocked.then_some(word);
    }

    /// A hook says that a person is waited for, and what it speaks of was not seen yet.
    pub(super) fn is_told(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.by_hook && !word.met)
    }

    /// When the tool's word becomes drift, unless a dialog is seen before.
    pub(super) fn drifts_at(&self, reading: Option<&Reading>) -> Option<Moment> {
        let word = self.word.as_ref().filter(|word| !word.met)?;
        (!self.may_be_stale(word) && !is_dialog(reading)).then(|| word.since + AHEAD)
    }

    /// A status without a known tool may be left over from a program that is no more; a line that is read is plainer.
    fn may_be_stale(&self, word: &Announcement) -> bool {
        let is_known = self.config.pack.is_some() && !matches!(self.kernel.wait, Waits::Read | Waits::Nobody);
        !word.by_hook && !is_known
    }

    /// The prompt that the tool speaks of and nobody recognises: the whole screen, for a person to judge.
    pub(super) fn unseen(&self, look: &Look<'_>) -> (Reading, Terms) {
        let mut reading = recognise::unknown(look);
        let title = self.word.as_ref().map_or("", |word| word.title.as_str());
        if !title.is_empty() {
            reading.excerpt = title.to_owned();
        }
        reading.detail = look.page.block(0, look.page.lines.len());
        reading.place = Place::Block;
        reading.family = "the tool's own word";
        reading.identity = format!("{}\n{title}\n{}", Kind::Unknown, words_of(look.page));
        (reading, verdict::POSSIBLE)
    }

    /// A dialog is drawn and the tool, of which it is known that it would say so, says that it works.
    pub(super) fn is_unannounced(&self, reading: &Reading) -> bool {
        let works = self.config.pack.is_some()
            && self.trusts_status()
            && self.word.is_none()
            && self.status.claim() == Some(Claim::Working);
        works && reading.place == Place::Block && matches!(self.kernel.wait, Waits::Poll | Waits::Unknown)
    }

    /// Where the pack says that the tool has no status, what looks like one was printed by something else.
    pub(super) fn trusts_status(&self) -> bool {
        self.config.pack.as_ref().is_none_or(|pack| pack.tells_status())
    }

    /// This dialog is the one that the tool speaks of.
    pub(super) fn met_by(&mut self, reading: Option<&Reading>) {
        if let Some(word) = self.word.as_mut().filter(|_| is_dialog(reading)) {
            word.met = true;
        }
    }

    /// A prompt is seen: the tool's word was about it. What is to be said of the two together.
    pub(super) fn meet(&mut self, reading: &Reading) -> Option<Drift> {
        let unannounced = self.is_unannounced(reading);
        let word = self.word.as_ref().filter(|word| !word.met && is_dialog(Some(reading)));
        let unrecognised = word.is_some_and(|word| reading.kind == Kind::Unknown && !self.may_be_stale(word));
        self.met_by(Some(reading));
        let drift = if unrecognised { Drift::Unrecognised } else { Drift::Unannounced };
        (unrecognised || unannounced).then_some(drift)
    }
}

/// Known by the tool's word alone.
pub(super) fn is_unseen(reading: &Reading) -> bool {
    reading.kind == Kind::Unknown && reading.place == Place::Block
}

/// A question, and not the box that stands there whether the tool asks or not.
fn is_dialog(reading: Option<&Reading>) -> bool {
    reading.is_some_and(|reading| match reading.place {
        Place::Block | Place::Line { .. } => reading.kind != Kind::Idle,
        Place::Composer { .. } => false,
    })
}

/// All words of the screen; what spins is none.
pub(super) fn words_of(page: &Page) -> u64 {
    let chars = page.lines.iter().flat_map(|line| line.text.chars());
    hash_of(chars.filter(|char| !char.is_whitespace() && !is_spinner(*char)))
}
