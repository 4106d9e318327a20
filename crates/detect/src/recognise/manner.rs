//! How a dialog's rows are read and answered: what a pack may say of them, and what holds where none does.

use atlasbridge_model::{Choice, Effect, Kind, Pace, Stroke, Strokes};

use super::labels::{self, Pattern, pattern};
use crate::packs::LazyRegex;

/// The manner of one dialog. The default is what generic dialogs of numbered or marked rows have in common.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    /// Pack and dialog, for explanations.
    pub(crate) name: Option<String>,
    /// `None`: yes_no for a plain pair of yes and no, else multiple_choice.
    pub(crate) kind: Option<Kind>,
    pub(crate) keys: Keys,
    /// Escape answers the refusing row, whatever `keys` says.
    pub(crate) escape_refuses: bool,
    /// Labels that refuse and labels that accept; others are judged by their words.
    pub(crate) refuses: Option<LazyRegex>,
    pub(crate) accepts: Option<LazyRegex>,
    /// Rows that are no choices: text fields, links to elsewhere.
    pub(crate) leave_out: Option<LazyRegex>,
    /// Rows that say no in words of one's own: their number only leads into a field, and an Enter there is another
    /// matter in each version. Escape refuses the dialog as it stands, so that is what answers them.
    pub(crate) text_field: Option<LazyRegex>,
    /// How a person sees more of it at the terminal.
    pub(crate) more: Option<String>,
    /// Lines of its matter that fit into its box: as many may be fewer than there are.
    pub(crate) window: Option<usize>,
    /// `(esc)` and its like stay in the label.
    pub(crate) keeps_hints: bool,
    pub(crate) below: Below,
    /// A second column describes the first and is no part of the label.
    pub(crate) keeps_columns: bool,
}

/// What selects a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keys {
    /// As the row and the footer say, else the row's number.
    #[default]
    Shown,
    /// The row's number at once.
    Number,
    /// The row's number, then Enter.
    NumberThenEnter,
    /// Arrow keys from the highlighted row, then Enter.
    Move,
    /// A letter and Enter, in a line.
    Letter,
}

/// What the lines under a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Below {
    /// The rest of the label if the label did not fit, else a description.
    #[default]
    Wrapped,
    /// The label goes on.
    Label,
}

/// A row as it stands on the screen.
pub(crate) struct Shown<'a> {
    pub(crate) label: &'a str,
    pub(crate) number: Option<u16>,
    pub(crate) index: usize,
    pub(crate) highlighted: Option<usize>,
    pub(crate) footer: &'a str,
}

impl Manner {
    pub(crate) fn label<'a>(&self, label: &'a str) -> &'a str {
        if self.keeps_hints {
            label.trim()
        } else {
            labels::without_hint(label)
        }
    }

    pub(crate) fn is_left_out(&self, label: &str) -> bool {
        self.leave_out
            .as_ref()
            .is_some_and(|regex| regex.is_match(label.trim()))
    }

    fn is_text_field(&self, label: &str) -> bool {
        self.text_field
            .as_ref()
            .is_some_and(|regex| regex.is_match(label))
    }

    pub(crate) fn kind(&self, labels: &[&str]) -> Kind {
        let is_pair = labels::is_yes_no_pair(labels);
        self.kind.unwrap_or(if is_pair {
            Kind::YesNo
        } else {
            Kind::MultipleChoice
        })
    }

    pub(crate) fn effect(&self, label: &str) -> Effect {
        let says = |regex: &Option<LazyRegex>| regex.as_ref().is_some_and(|regex| regex.is_match(label));
        match () {
            () if says(&self.refuses) || self.is_text_field(label) => Effect::Refuses,
            () if says(&self.accepts) => Effect::Accepts,
            // A pack that names the refusing rows names all of them.
            () if self.refuses.is_some() && labels::effect(label) == Effect::Refuses => Effect::Other,
            () => labels::effect(label),
        }
    }

    /// `None` where nothing is known to select the row.
    pub(crate) fn choice(&self, row: &Shown<'_>) -> Option<Choice> {
        let label = self.label(row.label);
        let effect = self.effect(label);
        let escapes = self.escape_refuses && effect == Effect::Refuses || self.is_text_field(label);
        let strokes = if escapes {
            Strokes::once(*b"\x1b")
        } else {
            self.strokes(row)?
        };
        Some(Choice {
            label: label.to_owned(),
            strokes: Some(strokes),
            effect,
        })
    }

    fn strokes(&self, row: &Shown<'_>) -> Option<Strokes> {
        let moved = || Some(arrows(row.highlighted?, row.index));
        match (self.keys, row.number) {
            (Keys::Shown, Some(number)) => Some(as_shown(row, number)),
            (Keys::Number, Some(number)) => Some(Strokes::once(number.to_string())),
            (Keys::NumberThenEnter, Some(number)) => {
                Some(Strokes::then_enter_if_still_there(number.to_string()))
            }
            (Keys::Move | Keys::Letter, _) | (_, None) => moved(),
        }
    }
}

/// Arrow keys from one row to another, then Enter while the menu still stands.
pub(crate) fn arrows(from: usize, to: usize) -> Strokes {
    steps(from, to, "\x1b[A", "\x1b[B")
}

/// Keys from one item to another, then Enter while the form still stands.
pub(crate) fn steps(from: usize, to: usize, back: &str, forth: &str) -> Strokes {
    match to {
        _ if to == from => Strokes::enter(),
        _ if to > from => Strokes::then_enter_if_still_there(forth.repeat(to - from)),
        _ => Strokes::then_enter_if_still_there(back.repeat(from - to)),
    }
}

/// Arrow keys to the row, the space bar to tick it, then Enter: each only while the menu still stands.
pub(crate) fn tick(from: usize, to: usize) -> Strokes {
    let (key, count) = if to >= from {
        ("\x1b[B", to - from)
    } else {
        ("\x1b[A", from - to)
    };
    let stroke = |bytes: &[u8], pace| Stroke {
        bytes: bytes.to_vec(),
        pace,
    };
    let mut strokes = Vec::new();
    if count > 0 {
        strokes.push(stroke(key.repeat(count).as_bytes(), Pace::Now));
    }
    let first = if strokes.is_empty() {
        Pace::Now
    } else {
        Pace::IfStillThere
    };
    strokes.push(stroke(b" ", first));
    strokes.push(stroke(b"\r", Pace::IfStillThere));
    Strokes::new(strokes).unwrap_or_else(Strokes::enter)
}

/// A key named in the row, the way that the footer names, else the digit, which chooses at once in most dialogs.
fn as_shown(row: &Shown<'_>, number: u16) -> Strokes {
    static CONTINUE: Pattern = pattern!(r"(?i)^\W*enter (?:to )?continue\b");
    static THEN_ENTER: Pattern = pattern!(r"(?i)\bnumbers?\b.*\bthen (?:press )?enter\b");
    match labels::hinted_key(row.label) {
        Some(key) => Strokes::once(key),
        None if row.highlighted == Some(row.index) && CONTINUE.is_match(row.footer) => Strokes::enter(),
        None if THEN_ENTER.is_match(row.footer) => Strokes::then_enter_if_still_there(number.to_string()),
        None => Strokes::once(number.to_string()),
    }
}
