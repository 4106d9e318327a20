//! What the detector saw: the screen's side of a prompt, before the hub records it.

use std::fmt;
use std::str::FromStr;

use crate::id::{IdError, sixteen_bytes};
use crate::{Choice, Choices, Confidence, Constraints, Detail, Entry, Excerpt, Kind, SightingNo, Takes};

/// Hash of the dialog block: question, subject and choices, without spinners, clocks and counters, and without
/// what a person has typed after the question. It must still be on the screen when an answer is typed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::id::hex(&self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        sixteen_bytes(text).map(Self).ok_or(IdError { what: "fingerprint" })
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One moment in which the tool waits, as read off its screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    pub no: SightingNo,
    pub kind: Kind,
    pub confidence: Confidence,
    pub excerpt: Excerpt,
    pub detail: Detail,
    pub choices: Option<Choices>,
    pub constraints: Constraints,
    /// The line offers a default of its own in brackets: an empty answer would take it.
    pub offers_default: bool,
    pub takes: Takes,
    pub entry: Entry,
    pub fingerprint: Fingerprint,
}

impl Sighting {
    /// The rows of the dialog, in the order of the screen; none where it has none.
    pub fn rows(&self) -> impl Iterator<Item = &Choice> {
        self.choices.iter().flat_map(Choices::iter)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! Sightings for the tests of this crate.

    use super::*;
    use crate::{Effect, Grant, Strokes};

    fn sighting(kind: Kind, text: &str, choices: Vec<Choice>) -> Sighting {
        Sighting {
            no: SightingNo(1),
            kind,
            confidence: Confidence::new(90).expect("90 is over the floor"),
            excerpt: Excerpt::new(text),
            detail: Detail::new(text),
            choices: Choices::new(choices),
            constraints: Constraints::default(),
            offers_default: false,
            takes: Takes::NOTHING,
            entry: Entry::Line,
            fingerprint: Fingerprint([1; 16]),
        }
    }

    fn choice(label: &str, keys: &str) -> Choice {
        let effect = match label.to_lowercase() {
            label if label.contains("don't ask again") => Effect::Widens(Grant::Always),
            label if label.contains("auto mode") => Effect::Widens(Grant::Mode),
            label if label.starts_with("yes") => Effect::Accepts,
            label if label.starts_with("no") => Effect::Refuses,
            _ => Effect::Other,
        };
        Choice { label: label.to_owned(), strokes: Some(Strokes::once(keys)), effect }
    }

    pub(crate) fn yes_no() -> Sighting {
        sighting(Kind::YesNo, "Delete 3 files? (y/n)", vec![choice("yes", "y\r"), choice("no", "n\r")])
    }

    pub(crate) fn menu(labels: &[&str]) -> Sighting {
        let rows =
            labels.iter().enumerate().map(|(row, label)| choice(label, &(row + 1).to_string())).collect();
        sighting(Kind::MultipleChoice, "Do you want to proceed?", rows)
    }

    pub(crate) fn confirm_enter() -> Sighting {
        sighting(Kind::ConfirmEnter, "Press Enter to continue", vec![])
    }

    pub(crate) fn free_text() -> Sighting {
        sighting(Kind::FreeText, "Commit message:", vec![])
    }

    pub(crate) fn password() -> Sighting {
        sighting(Kind::Password, "Password:", vec![])
    }

    pub(crate) fn idle() -> Sighting {
        sighting(Kind::Idle, "❯", vec![])
    }

    pub(crate) fn unknown() -> Sighting {
        sighting(Kind::Unknown, "?", vec![])
    }
}
