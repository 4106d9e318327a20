//! How a dialog's rows are read and answered: what a pack may say of them, and what holds where none does.

use atlasbridge_model::{Choice, Effect, Grant, Kind, Strokes};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Pattern, labels};
use crate::packs::{LazyRegex, Located, widest};

/// How one dialog is known, read and answered, as its pack says. The default, which has no name, is what generic dialogs
/// of numbered or marked rows have in common.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DialogRules {
    /// In its file the name alone; here behind the name of its pack, for explanations.
    pub(crate) name: Located,
    pub(crate) rows: Rows,
    /// Must be found in the lines above the rows, joined by blanks.
    pub(crate) anchor: LazyRegex,
    /// Must be found in the lines below the rows, if given.
    pub(crate) footer: Option<LazyRegex>,
    /// The line that it begins with, where nothing is drawn around it.
    pub(crate) begins: Option<LazyRegex>,
    /// How a row looks, where it does not look as usual: groups `marker`, `key`, `label`.
    pub(crate) row: Option<LazyRegex>,
    /// `None`: yes_no for a plain pair of yes and no, else multiple_choice.
    #[serde(default, deserialize_with = "kind_of_dialog")]
    pub(crate) kind: Option<Kind>,
    #[serde(default)]
    pub(crate) keys: Keys,
    /// Answers the refusing row in place of `keys`.
    refuse_key: Option<RefuseKey>,
    /// Labels that refuse and labels that accept; others are judged by their words.
    refuses: Option<LazyRegex>,
    accepts: Option<LazyRegex>,
    /// Labels that accept this once and grant nothing more, as a whole: a word more may grant more.
    pub(crate) once: Option<LazyRegex>,
    /// Labels that grant more.
    session: Option<LazyRegex>,
    always: Option<LazyRegex>,
    mode: Option<LazyRegex>,
    /// Rows that are no choices: text fields, links to elsewhere.
    leave_out: Option<LazyRegex>,
    /// Rows that say no in words of one's own: their number only leads into a field, and an Enter there is another
    /// matter in each version. Escape refuses the dialog as it stands, so that is what answers them.
    text_field: Option<LazyRegex>,
    /// How a person sees more of it at the terminal.
    pub(crate) more: Option<String>,
    /// Lines of its matter that fit into its box: as many may be fewer than there are.
    pub(crate) window: Option<u16>,
    /// `(esc)` and its like stay in the label.
    #[serde(default, rename = "keep_hints")]
    keeps_hints: bool,
    #[serde(default)]
    pub(crate) below: Below,
    /// A second column describes the first and is no part of the label.
    #[serde(default, rename = "keep_columns")]
    pub(crate) keeps_columns: bool,
}

/// The shape of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rows {
    /// `❯ 1. Yes`.
    #[default]
    Numbered,
    /// `❯ Yes`, the others without a marker.
    Marked,
    /// Side by side, told apart by colour.
    Buttons,
    /// Letters in the line of the cursor.
    Letters,
    /// No rows: the last line names a key for each answer, `Enter to stay · Esc to cancel`.
    Keys,
    /// Nothing to choose: Enter, or a text.
    Nothing,
}

/// What selects a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RefuseKey {
    Esc,
}

/// What the lines under a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Below {
    /// The rest of the label if the label did not fit, else a description.
    #[default]
    Description,
    /// The label goes on.
    Label,
}

/// The kinds that a dialog can have: an idle box and a prompt that no family recognises are none.
fn kind_of_dialog<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kind>, D::Error> {
    let kinds = [Kind::YesNo, Kind::MultipleChoice, Kind::ConfirmEnter, Kind::FreeText, Kind::Password];
    let name = String::deserialize(deserializer)?;
    let kind = kinds.into_iter().find(|kind| kind.as_str() == name);
    let unknown = || {
        D::Error::custom(format!(
            "unknown kind `{name}`, expected one of {}",
            kinds.map(|kind| format!("`{kind}`")).join(", ")
        ))
    };
    kind.map(Some).ok_or_else(unknown)
}

/// A row as it stands on the screen.
pub(crate) struct ShownRow<'a> {
    pub(crate) label: &'a str,
    pub(crate) number: Option<u16>,
    pub(crate) index: usize,
    pub(crate) highlighted: Option<usize>,
    pub(crate) footer: &'a str,
}

impl DialogRules {
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &LazyRegex> {
        let labels = [&self.refuses, &self.accepts, &self.once, &self.session, &self.always, &self.mode];
        let parts = [&self.footer, &self.begins, &self.row, &self.leave_out, &self.text_field];
        [&self.anchor].into_iter().chain(labels.into_iter().chain(parts).flatten())
    }

    /// This is the dialog, by the words above its rows and below them.
    pub(crate) fn fits(&self, above: &str, below: &str) -> bool {
        let footer_fits = || self.footer.as_ref().is_none_or(|footer| footer.is_match(below));
        self.anchor.is_match(above) && footer_fits()
    }

    /// A pack has told them.
    pub(crate) fn is_packed(&self) -> bool {
        !self.name.text.is_empty()
    }

    pub(crate) fn label<'a>(&self, label: &'a str) -> &'a str {
        if self.keeps_hints { label.trim() } else { labels::without_hint(label) }
    }

    pub(crate) fn is_left_out(&self, label: &str) -> bool {
        says(&self.leave_out, label.trim())
    }

    fn is_text_field(&self, label: &str) -> bool {
        says(&self.text_field, label)
    }

    pub(crate) fn kind(&self, labels: &[&str]) -> Kind {
        self.kind.unwrap_or_else(|| labels::kind(labels))
    }

    pub(crate) fn effect(&self, label: &str) -> Effect {
        let refuses = says(&self.refuses, label) || self.is_text_field(label);
        let accepts = says(&self.accepts, label);
        let effect = judged(labels::effect(label), refuses, accepts, || self.accepted(label));
        // A pack that names the refusing rows names all of them.
        let is_unnamed = self.refuses.is_some() && !refuses && effect == Effect::Refuses;
        if is_unnamed { Effect::Other } else { effect }
    }

    /// How much a row that accepts grants: as the pack says, the widest first, else by its words.
    fn accepted(&self, label: &str) -> Effect {
        match widest([&self.mode, &self.always, &self.session].map(Option::as_ref), label) {
            Some(grant) => Effect::Widens(grant),
            None if says(&self.once, label) => Effect::Accepts,
            None => labels::accepted(label),
        }
    }

    /// `None` where nothing is known to select the row.
    pub(crate) fn choice(&self, row: &ShownRow<'_>) -> Option<Choice> {
        let label = self.label(row.label);
        let effect = self.effect(label);
        let escapes =
            self.refuse_key == Some(RefuseKey::Esc) && effect == Effect::Refuses || self.is_text_field(label);
        let strokes = if escapes { Strokes::once(*b"\x1b") } else { self.strokes(row)? };
        Some(Choice { label: label.to_owned(), strokes: Some(strokes), effect })
    }

    fn strokes(&self, row: &ShownRow<'_>) -> Option<Strokes> {
        let moved = || steps(row.highlighted, row.index, DOWNWARDS, ENTER);
        match (self.keys, row.number) {
            (Keys::Shown, Some(number)) => as_shown(row, number),
            // A key that the row itself names needs no marker to be seen.
            (Keys::Shown, None) => labels::only_key(row.label).or_else(moved),
            (Keys::Number, Some(number)) => Some(Strokes::once(number.to_string())),
            (Keys::NumberThenEnter, Some(number)) => then_enter(row, number),
            (Keys::Move | Keys::Letter, _) | (_, None) => moved(),
        }
    }
}

/// What a label does by its own words, and by those of a pack that say more.
///
/// # Silence-never-approves invariant
/// Silence takes a row that refuses, so a pack cannot make one of a row whose words accept: that row is taken by
/// a person, by its label.
pub(crate) fn judged(
    by_words: Effect,
    refuses: bool,
    accepts: bool,
    accepted: impl FnOnce() -> Effect,
) -> Effect {
    match by_words.is_accepting() {
        true if refuses => Effect::Widens(Grant::Unknown),
        false if refuses => Effect::Refuses,
        is_accepting if is_accepting || accepts => accepted(),
        _ => by_words,
    }
}

fn says(pattern: &Option<LazyRegex>, label: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(label))
}

/// The keys that step back and forth in a column, and in a row.
pub(crate) const DOWNWARDS: (&str, &str) = ("\x1b[A", "\x1b[B");
pub(crate) const SIDEWAYS: (&str, &str) = ("\x1b[D", "\x1b[C");

/// What takes the item that is lit; what ticks it first.
pub(crate) const ENTER: &[&str] = &["\r"];
pub(crate) const TICK_AND_ENTER: &[&str] = &[" ", "\r"];

/// Keys from one item to another, one at a time, then these when the other is seen to be lit, each only while the rows
/// show what the one before did. `None` where nothing shows which one is lit: no Enter is known to take the right one.
pub(crate) fn steps(
    from: Option<usize>,
    to: usize,
    (back, forth): (&str, &str),
    then: &[&str],
) -> Option<Strokes> {
    let from = from?;
    let moves = std::iter::repeat_n(if to < from { back } else { forth }, to.abs_diff(from));
    Strokes::guided(moves.chain(then.iter().copied()).map(|key| key.as_bytes().to_vec()))
}

/// Choices side by side or above each other, of which one is lit: a key steps back or forth, and Enter takes the lit one.
pub(crate) fn stepped<Label: AsRef<str>>(
    labels: &[Label],
    lit: Option<usize>,
    keys: (&str, &str),
) -> Vec<Choice> {
    let choice =
        |(index, label): (usize, &Label)| labels::choice(label.as_ref(), steps(lit, index, keys, ENTER));
    labels.iter().enumerate().map(choice).collect()
}

/// A key named in the row, the way that the footer names, else the digit, which chooses at once in most dialogs.
fn as_shown(row: &ShownRow<'_>, number: u16) -> Option<Strokes> {
    static CONTINUE: Pattern = pattern!(r"(?i)^\W*enter (?:to )?continue\b");
    static THEN_ENTER: Pattern = pattern!(r"(?i)\bnumbers?\b.*\bthen (?:press )?enter\b");
    let is_lit = row.highlighted == Some(row.index);
    match labels::hinted_key(row.label) {
        Some(key) => Some(key),
        None if is_lit && CONTINUE.is_match(row.footer) || THEN_ENTER.is_match(row.footer) => {
            then_enter(row, number)
        }
        None => Some(Strokes::once(number.to_string())),
    }
}

/// The digit leads to the row, and Enter takes it. A dialog with a marker shows where the digit led, and Enter follows when
/// the marker is seen there; one without shows the digit itself.
fn then_enter(row: &ShownRow<'_>, number: u16) -> Option<Strokes> {
    let digits = number.to_string();
    match row.highlighted {
        Some(lit) if lit == row.index => Strokes::guided([b"\r".to_vec()]),
        Some(_) => Strokes::guided([digits.into_bytes(), b"\r".to_vec()]),
        None => Some(Strokes::then_enter_if_still_there(digits)),
    }
}
