//! The prompt that stands on the screen: how it is known again, and how one knows that it was taken.

use atlasbridge_model::{Choice, Choices, Kind, Sighting};

use super::{fingerprint_of, hash_of};
use crate::moment::Moment;
use crate::page::Page;
use crate::recognise::{self, Look, Place, Reading};
use crate::status::{Claim, Status};
use crate::witness::{KernelWait, Waits};

/// Rows above a line question that tell whether it was asked again further down.
const ABOVE: usize = 3;

#[derive(Debug)]
pub(super) struct Standing {
    pub(super) sighting: Sighting,
    pub(super) announced: bool,
    /// Since when it is not to be found on the screen.
    pub(super) missing: Option<Moment>,
    pub(super) local_keys: bool,
    /// When we last typed.
    pub(super) injected: Option<Moment>,
    /// Something was typed that may have answered it.
    pub(super) submitted: bool,
    /// Enter was among it.
    pub(super) sent: bool,
    /// What the kernel said while it stood.
    pub(super) kernel: KernelWait,
    /// The window got another size since: the same words may be wrapped, and so be read, in another way.
    pub(super) resized: bool,
    /// The words of the whole screen, where nothing but the tool's own word says that this is a prompt.
    pub(super) unseen: Option<u64>,
    pub(super) place: Place,
    /// Its letters and digits alone, which no wrapping and no highlight changes.
    words: LetterHash,
    /// The row of the question and the rows above it.
    row: usize,
    above: u64,
    /// How many dialogs the tool says were answered, as far as the screen reaches.
    answered: usize,
    /// Everything but the input box, for a box.
    surroundings: u64,
    claims: u32,
}

impl Standing {
    pub(super) fn new(
        sighting: Sighting,
        reading: &Reading,
        look: &Look<'_>,
        status: &Status,
        announced: bool,
    ) -> Self {
        Self {
            sighting,
            announced,
            missing: None,
            local_keys: false,
            injected: None,
            submitted: false,
            sent: false,
            kernel: look.kernel,
            resized: false,
            unseen: None,
            place: reading.place.clone(),
            words: LetterHash::of(reading),
            row: look.line.first,
            above: rows_above(look),
            answered: answered(look),
            surroundings: surroundings(look),
            claims: status.changes(),
        }
    }

    /// Its choices, with the keys that they have now.
    pub(super) fn choices_now(&self, reading: Option<&Reading>) -> Option<Choices> {
        let seen = self.sighting.choices.as_ref()?;
        let labels = |choices: &Choices| choices.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
        let now = reading.and_then(|reading| reading.choices.as_ref());
        if let Some(now) = now.filter(|now| labels(now) == labels(seen)) {
            return Some(now.clone());
        }
        let unguided = |row: &Choice| Choice {
            strokes: row.strokes.clone().filter(|strokes| !strokes.is_guided()),
            ..row.clone()
        };
        Choices::new(seen.iter().map(unguided).collect())
    }

    /// A better word of the kernel is kept: "don't know" says nothing new.
    pub(super) fn refresh(&mut self, kernel: KernelWait) {
        if kernel.wait != Waits::Unknown {
            self.kernel = kernel;
        }
    }

    /// Whether it is still to be found, as the screen is now.
    pub(super) fn stands(&self, look: &Look<'_>, reading: Option<&Reading>, status: &Status) -> bool {
        let read_again = reading.is_some_and(|reading| {
            fingerprint_of(&reading.identity) == self.sighting.fingerprint
                || self.resized
                    && reading.kind == self.sighting.kind
                    && self.words.meet(LetterHash::of(reading))
        });
        if self.is_outgrown(reading) || self.kernel.wait == Waits::Read && look.kernel.wait == Waits::Nobody {
            return false;
        }
        match &self.place {
            Place::Line { question } if question.is_empty() => {
                look.line.first == self.row && look.line.before.is_empty()
            }
            Place::Line { question } => {
                let covered = reading.is_some_and(|reading| reading.place == Place::Block);
                read_again || !covered && look.line.whole().starts_with(question.trim())
            }
            Place::Block => read_again && !self.announced_anew(status),
            Place::Composer { .. } => read_again,
        }
    }

    /// Input was given and the screen or the kernel shows that it was taken.
    pub(super) fn was_taken(&self, look: &Look<'_>, reading: Option<&Reading>, status: &Status) -> bool {
        if !self.submitted {
            return false;
        }
        match &self.place {
            Place::Line { .. } => {
                let asked_elsewhere = look.line.first != self.row || rows_above(look) != self.above;
                asked_elsewhere || self.kernel.wait == Waits::Read && look.kernel.wait == Waits::Nobody
            }
            Place::Block => self.announced_anew(status) || answered(look) > self.answered,
            Place::Composer { .. } => {
                // What stands in the box has not been taken yet, though its first letter may have swept from the screen.
                let drafted = Place::Composer { drafted: true };
                let is_written = reading.is_some_and(|reading| reading.place == drafted);
                self.sent && !is_written && self.surroundings != surroundings(look)
            }
        }
    }

    /// The program went on writing its line: what looked like text to enter is now a plainer question.
    pub(super) fn is_outgrown(&self, reading: Option<&Reading>) -> bool {
        let vague = |kind: Kind| matches!(kind, Kind::Unknown | Kind::FreeText | Kind::Idle);
        !self.local_keys
            && self.injected.is_none()
            && vague(self.sighting.kind)
            && reading.is_some_and(|reading| !vague(reading.kind))
    }

    /// After our stroke the program wrote, and its line is bare again: it asks the same in the same place.
    pub(super) fn is_asked_anew(&self, look: &Look<'_>, last_output: Option<Moment>) -> bool {
        let wrote_since = self.injected.zip(last_output).is_some_and(|(injected, output)| output > injected);
        match &self.place {
            Place::Line { question } => {
                wrote_since && self.kernel.canonical && look.line.whole() == question.trim()
            }
            Place::Block | Place::Composer { .. } => false,
        }
    }

    /// The program said `blocked` again since: the same words, another dialog.
    fn announced_anew(&self, status: &Status) -> bool {
        let since = status.changes().wrapping_sub(self.claims);
        self.submitted && since >= 2 && status.claim() == Some(Claim::Blocked)
    }

    /// The question is still on the screen, with text behind it that we did not see typed.
    pub(super) fn was_echoed(&self, page: &Page) -> bool {
        let Place::Line { question } = &self.place else {
            return false;
        };
        let question = question.trim_end();
        !question.is_empty()
            && page
                .lines
                .iter()
                .any(|line| line.text.strip_prefix(question).is_some_and(|behind| !behind.trim().is_empty()))
    }
}

/// Letters and digits of a prompt. A smaller window may cut its last lines off, and a wider one may read descriptions as
/// labels: either of the two tells that it is the same.
#[derive(Debug, Clone, Copy)]
struct LetterHash {
    shown: u64,
    identity: u64,
}

impl LetterHash {
    fn of(reading: &Reading) -> Self {
        let hash = |texts: [&str; 2]| {
            hash_of(texts.into_iter().flat_map(str::chars).filter(|char| char.is_alphanumeric()))
        };
        Self { shown: hash([&reading.excerpt, &reading.detail]), identity: hash([&reading.identity, ""]) }
    }

    fn meet(self, other: Self) -> bool {
        self.shown == other.shown || self.identity == other.identity
    }
}

/// The rows above the cursor's line.
fn rows_above(look: &Look<'_>) -> u64 {
    let end = look.line.first;
    hash_of((end.saturating_sub(ABOVE)..end).map(|row| look.page.text(row)))
}

/// Lines that tell of an answered dialog.
fn answered(look: &Look<'_>) -> usize {
    look.pack().map_or(0, |pack| look.page.count_marks(0, &pack.answered))
}

/// The upper part of the screen: what an agent has said. Its input box and hints are in the lower part. A logo is no word: it
/// may move, and vanish with the first key.
fn surroundings(look: &Look<'_>) -> u64 {
    let page = look.page;
    // A box that stands higher than the last rows, on a screen that is not full yet, is no part of what is around it.
    let lowest = page.lines.len().saturating_sub(8);
    let rows = recognise::box_top(look).map_or(lowest, |top| top.min(lowest));
    let lines = page.lines.iter().take(rows).map(|line| line.text.trim());
    hash_of(lines.filter(|text| !text.is_empty() && !recognise::moves(text)))
}
