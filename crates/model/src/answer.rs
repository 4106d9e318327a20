//! An answer is what somebody sent, untrusted, until it fits its prompt.
//!
//! `Said` (anything a person may send) → [`check`] → [`Checked`] (what may be typed). The check is about shape
//! only: right kind of answer for this kind of prompt. Who may answer, single use and time are judged in one
//! guarded statement of the store.

use std::fmt;

use crate::mask::mask;
use crate::opening::Opening;
use crate::{Choices, Effect, Kind, SafeDefault, Sighting, Span};

/// What somebody sent, in their words or with a button.
#[derive(Clone, PartialEq, Eq)]
pub enum Said {
    /// The accepting answer that grants least, whatever it is called on the screen.
    Approve,
    /// The refusing answer.
    Deny,
    /// The refusing answer, and why: for the tool's model to read.
    DenyWith(String),
    UseDefault,
    /// Leave the prompt to the terminal: nothing is typed.
    Cancel,
    /// This row of the dialog, from zero: a button that stood beside its label.
    Row(usize),
    /// The Enter key and nothing else.
    Enter,
    /// A word, a number, a label, a line of text.
    Text(String),
}

/// What may be typed. The gate turns it into strokes, from its own reading of the screen.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// One row of the dialog, with its label.
    Choice { row: usize, label: String },
    /// Several rows at once, with their labels. Only by the tool's own hook.
    Several(Vec<(usize, String)>),
    /// Refused, with a reason that the tool's model reads. Only by the tool's own hook.
    Refused { reason: String },
    /// The Enter key alone.
    Enter,
    /// A line of text.
    Text(String),
    /// An answer to a password prompt: never stored, logged or shown.
    Secret(String),
}

/// An answer that fits its prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    Type(Value),
    Cancel,
}

/// Where an answer came from. The text form stands in the database and on the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Typed at the session's own terminal.
    Keyboard,
    /// `atlasbridge approve|deny|reply` on this machine.
    Command,
    /// The deadline passed.
    Timeout,
    /// A channel, by its name.
    Channel(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Keyboard => f.write_str("cli:local"),
            Source::Command => f.write_str("cli:command"),
            Source::Timeout => f.write_str("timeout"),
            Source::Channel(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        match text {
            "cli:local" => Source::Keyboard,
            "cli:command" => Source::Command,
            "timeout" => Source::Timeout,
            channel => Source::Channel(channel.to_owned()),
        }
    }
}

/// Settings of the operator that widen or narrow what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    pub secrets_over_channels: bool,
    /// The sender knows what the first character makes of the text, and means it.
    pub as_is: bool,
}

/// Why an answer changed nothing. Ordinary and typed; [`speech`](crate::speech) words it for the person who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No prompt has this id, or none that the sender may know of.
    UnknownPrompt,
    /// The beginning of an id that several prompts share.
    AmbiguousPrompt,
    /// The prompt was answered, or is over.
    NotWaiting { status: &'static str, reason: String },
    /// Its time was up.
    Expired,
    /// The deadline has answered. `applied`: the screen has shown it; otherwise it is on its way.
    DefaultTaken { value: String, applied: bool },
    /// Another prompt of the same session waits first.
    Queued,
    /// Said by a process inside a supervised session.
    InsideSession,
    /// It is none of the rows.
    NotAChoice { given: String, choices: String },
    /// A yes, a no or Enter does not answer this prompt.
    NeedsValue { wanted: &'static str },
    /// No single row accepts once and grants nothing more.
    NoPlainYes { choices: String },
    /// No row refuses.
    NoRefusingAnswer,
    /// It takes no reason with a refusal.
    NoReason,
    /// It offers no default.
    NoDefault,
    /// Longer than the prompt takes.
    TooLong { length: usize, limit: u16 },
    /// A number that stands beside no row.
    OutOfRange { given: u64, numbers: Span, choices: String },
    /// More or fewer rows than the dialog takes.
    WrongCount { given: usize, picks: Span },
    /// It is not one line of text.
    NotOneLine,
    /// Its first character means something else to the tool.
    NotPlain { opening: Opening, given: String },
    /// Passwords are not taken over channels.
    SecretsOff,
    /// The prompt was offered again: this message of it is void.
    Replaced,
    /// The answer that was one too many over channels in a minute.
    TooMany,
    /// One after that.
    Paused,
}

/// Does `said` fit this prompt? If so, what is to be typed?
pub fn check(said: &Said, sighting: &Sighting, rules: Rules) -> Result<Checked, Refusal> {
    let choices = sighting.choices.as_ref();
    let value = match said {
        Said::Cancel => return Ok(Checked::Cancel),
        Said::UseDefault => default_value(sighting)?,
        Said::Approve => approving_value(sighting)?,
        Said::Deny => refusing_value(sighting)?,
        Said::DenyWith(reason) if sighting.takes.reason => {
            Value::Refused { reason: within(typeable(reason, true)?, sighting)? }
        }
        Said::DenyWith(_) => return Err(Refusal::NoReason),
        Said::Row(row) => row_value(choices, *row)
            .ok_or_else(|| Refusal::NotAChoice { given: (row + 1).to_string(), choices: labels(choices) })?,
        Said::Enter => match sighting.kind {
            Kind::ConfirmEnter | Kind::FreeText | Kind::Unknown => Value::Enter,
            Kind::YesNo | Kind::MultipleChoice => {
                return Err(Refusal::NotAChoice { given: "enter".to_owned(), choices: labels(choices) });
            }
            Kind::Password => return Err(Refusal::NeedsValue { wanted: "a password" }),
            Kind::Idle => return Err(Refusal::NeedsValue { wanted: "a text" }),
        },
        Said::Text(text) => text_value(text, sighting, rules)?,
    };
    counted(&value, sighting)?;
    Ok(Checked::Type(value))
}

/// The words that are taken as an answer to this prompt: whatever offers ways to answer offers these.
pub fn taken(sighting: &Sighting, rules: Rules) -> Vec<&'static str> {
    let words = [
        ("approve", Said::Approve),
        ("deny", Said::Deny),
        ("choice", Said::Row(0)),
        ("enter", Said::Enter),
        ("text", Said::Text("a text".to_owned())),
        ("default", Said::UseDefault),
        ("cancel", Said::Cancel),
    ];
    let is_taken = |(word, said): (&'static str, Said)| check(&said, sighting, rules).is_ok().then_some(word);
    words.into_iter().filter_map(is_taken).collect()
}

/// # As-many-as-asked invariant
/// An answer has as many rows as the prompt says it takes. A row that refuses is the way out of it, and counts as none.
fn counted(value: &Value, sighting: &Sighting) -> Result<(), Refusal> {
    let Some(picks) = sighting.constraints.picks else { return Ok(()) };
    let refuses = |row: usize| {
        let choice = sighting.choices.as_ref().and_then(|choices| choices.get(row));
        choice.is_some_and(|choice| choice.effect == Effect::Refuses)
    };
    let given = match value {
        Value::Choice { row, .. } if refuses(*row) => return Ok(()),
        Value::Choice { .. } => 1,
        Value::Several(rows) => rows.len(),
        Value::Refused { .. } | Value::Enter | Value::Text(_) | Value::Secret(_) => return Ok(()),
    };
    if picks.holds(given) { Ok(()) } else { Err(Refusal::WrongCount { given, picks }) }
}

/// The value of a prompt's safe default.
pub fn default_value(sighting: &Sighting) -> Result<Value, Refusal> {
    let default = SafeDefault::of(sighting).ok_or(Refusal::NoDefault)?;
    Ok(match default {
        SafeDefault::Refuse { row } => row_value(sighting.choices.as_ref(), row).ok_or(Refusal::NoDefault)?,
        SafeDefault::Enter | SafeDefault::EmptyLine => Value::Enter,
    })
}

fn approving_value(sighting: &Sighting) -> Result<Value, Refusal> {
    match sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => {
            let choices = sighting.choices.as_ref();
            match choices.and_then(Choices::accepting).and_then(|row| row_value(choices, row)) {
                Some(least) => Ok(least),
                None if choices.is_some_and(Choices::offers_consent) => {
                    Err(Refusal::NoPlainYes { choices: labels(choices) })
                }
                None => Err(Refusal::NeedsValue { wanted: "one of its choices" }),
            }
        }
        Kind::ConfirmEnter => Ok(Value::Enter),
        Kind::FreeText | Kind::Idle => Err(Refusal::NeedsValue { wanted: "a text" }),
        Kind::Password => Err(Refusal::NeedsValue { wanted: "a password" }),
        Kind::Unknown => Err(Refusal::NeedsValue { wanted: "an answer that AtlasBridge does not know" }),
    }
}

/// # No-refusal-in-name-only invariant
/// Where nothing on the screen refuses, nothing is refused: whoever said *deny* hears that, and the prompt still waits. To
/// leave it to the terminal is another wish, with a word of its own.
fn refusing_value(sighting: &Sighting) -> Result<Value, Refusal> {
    match sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => {
            let choices = sighting.choices.as_ref();
            let refusing = choices.and_then(Choices::refusing).and_then(|row| row_value(choices, row));
            refusing.ok_or(Refusal::NoRefusingAnswer)
        }
        Kind::ConfirmEnter | Kind::FreeText | Kind::Password | Kind::Idle | Kind::Unknown => {
            Err(Refusal::NoRefusingAnswer)
        }
    }
}

fn text_value(text: &str, sighting: &Sighting, rules: Rules) -> Result<Value, Refusal> {
    let takes = sighting.takes;
    let text = typeable(text, takes.lines || takes.own_text)?;
    match sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => match &sighting.choices {
            Some(choices) => {
                let several = || several(&text, choices).filter(|_| takes.several);
                match chosen(&text, choices).or_else(several) {
                    Some(value) => Ok(value),
                    None => own_text(text, choices, sighting),
                }
            }
            None => Err(Refusal::NotAChoice { given: mask(&text).into_owned(), choices: labels(None) }),
        },
        Kind::ConfirmEnter if text.is_empty() || text.eq_ignore_ascii_case("enter") => Ok(Value::Enter),
        Kind::ConfirmEnter => {
            Err(Refusal::NotAChoice { given: mask(&text).into_owned(), choices: "enter".to_owned() })
        }
        Kind::Password if !rules.secrets_over_channels => Err(Refusal::SecretsOff),
        Kind::Password => within(text, sighting).map(Value::Secret),
        Kind::FreeText | Kind::Idle | Kind::Unknown if text.is_empty() => Ok(Value::Enter),
        Kind::Unknown if text.eq_ignore_ascii_case("enter") => Ok(Value::Enter),
        Kind::Idle => within(plain(text, rules)?, sighting).map(Value::Text),
        Kind::FreeText | Kind::Unknown => within(text, sighting).map(Value::Text),
    }
}

/// # No-command-unasked invariant
/// An instruction whose first character makes something else of it passes only where its sender was told so.
fn plain(text: String, rules: Rules) -> Result<String, Refusal> {
    match Opening::of(&text).filter(|_| !rules.as_is) {
        Some(opening) => Err(Refusal::NotPlain { opening, given: text }),
        None => Ok(text),
    }
}

/// Rows with commas between them, as numbers, keys or labels.
fn several(text: &str, choices: &Choices) -> Option<Value> {
    let mut rows = Vec::new();
    for part in text.split(',') {
        match chosen(part, choices) {
            Some(Value::Choice { row, label }) if rows.iter().all(|(known, _)| *known != row) => {
                rows.push((row, label))
            }
            Some(_) | None => return None,
        }
    }
    rows.sort_unstable();
    (rows.len() > 1).then_some(Value::Several(rows))
}

/// # No-sentence-into-a-dialog invariant
/// A text that is none of the rows is an answer only where the tool's own hook takes it.
fn own_text(text: String, choices: &Choices, sighting: &Sighting) -> Result<Value, Refusal> {
    if sighting.takes.own_text && !text.trim().is_empty() {
        return within(text, sighting).map(Value::Text);
    }
    let given = text.trim();
    let choices = labels(Some(choices));
    // A number that the prompt does not have is told by its range.
    match (sighting.constraints.numbers, given.parse::<u64>()) {
        (Some(numbers), Ok(given)) if !usize::try_from(given).is_ok_and(|given| numbers.holds(given)) => {
            Err(Refusal::OutOfRange { given, numbers, choices })
        }
        _ => Err(Refusal::NotAChoice { given: mask(given).into_owned(), choices }),
    }
}

/// Which row `text` means: its label, the key that the dialog itself names for it, or its number.
///
/// A row's number counts only where no row has a digit of its own: in a menu that starts at 0, `1` is the row
/// that says 1, not the first one.
fn chosen(text: &str, choices: &Choices) -> Option<Value> {
    let wanted = text.trim();
    let labelled = |word: &str| choices.iter().position(|choice| same(&choice.label, word));
    let keys: Vec<String> =
        choices.iter().map(|choice| choice.keys().trim_end_matches('\r').to_owned()).collect();
    // Keys may be case-sensitive (unzip: `A` is all, `a` is nothing), so they are compared as they are.
    let by_key = || keys.iter().position(|key| !key.is_empty() && key == wanted);
    // "Yes, and don't ask again" is not meant by `yes`.
    let by_word = || match wanted.to_lowercase().as_str() {
        "y" | "yes" => labelled("yes"),
        "n" | "no" => labelled("no"),
        _ => None,
    };
    let is_digits = |key: &String| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    let by_number = || {
        let number: usize = wanted.parse().ok()?;
        number.checked_sub(1).filter(|_| !keys.iter().any(is_digits))
    };
    let row = labelled(wanted).or_else(by_key).or_else(by_word).or_else(by_number)?;
    row_value(Some(choices), row)
}

fn labels(choices: Option<&Choices>) -> String {
    let Some(choices) = choices else { return "(none were read)".to_owned() };
    choices.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>().join(" · ")
}

fn same(label: &str, wanted: &str) -> bool {
    label.trim().to_lowercase() == wanted.to_lowercase()
}

fn row_value(choices: Option<&Choices>, row: usize) -> Option<Value> {
    let choice = choices?.get(row)?;
    Some(Value::Choice { row, label: choice.label.clone() })
}

fn within(text: String, sighting: &Sighting) -> Result<String, Refusal> {
    let limit = sighting.constraints.max_length;
    let length = text.chars().count();
    if length > usize::from(limit) { Err(Refusal::TooLong { length, limit }) } else { Ok(text) }
}

/// Without control characters: nothing that came from afar may press Esc, Ctrl-C or Enter. One line, unless the prompt
/// takes more; a line break is then all that is left of them.
fn typeable(text: &str, lines: bool) -> Result<String, Refusal> {
    let text = text.trim_end_matches(['\r', '\n']).replace("\r\n", "\n");
    if !lines && text.contains(['\r', '\n']) {
        return Err(Refusal::NotOneLine);
    }
    Ok(text.chars().filter(|char| !char.is_control() || *char == '\n').collect())
}

/// Texts and secrets stay out of logs.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.on_record())
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Approve => f.write_str("Approve"),
            Said::Deny => f.write_str("Deny"),
            Said::DenyWith(reason) => write!(f, "DenyWith({} characters)", reason.chars().count()),
            Said::UseDefault => f.write_str("UseDefault"),
            Said::Cancel => f.write_str("Cancel"),
            Said::Row(row) => write!(f, "Row({row})"),
            Said::Enter => f.write_str("Enter"),
            Said::Text(text) => write!(f, "Text({} characters)", text.chars().count()),
        }
    }
}

#[cfg(test)]
mod tests;
