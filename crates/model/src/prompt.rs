//! What a prompt is: its kind, how sure we are, its choices, and the default that silence may take.

use std::fmt;

use crate::names::named;
use crate::{Sighting, Strokes};

named! { "kind of prompt":
    /// The kinds of SPEC 3.1.
    pub enum Kind {
        YesNo = "yes_no",
        ConfirmEnter = "confirm_enter",
        MultipleChoice = "multiple_choice",
        FreeText = "free_text",
        Password = "password",
        /// The agent has finished and shows its empty input box.
        Idle = "idle",
        Unknown = "unknown",
    }
}

/// How sure the detector is, in hundredths: 60 to 100. Below 60 no prompt exists, so none can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(u8);

named! { "level of confidence":
    /// Confidence in the words that people and channels see.
    pub enum Level {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

impl Confidence {
    /// The tool says so itself.
    pub const CERTAIN: Confidence = Confidence(100);

    /// `None` below 60: no prompt. Over 100 counts as 100.
    pub fn new(hundredths: u8) -> Option<Self> {
        (hundredths >= 60).then_some(Self(hundredths.min(100)))
    }

    pub fn hundredths(self) -> u8 {
        self.0
    }

    pub fn level(self) -> Level {
        match self.0 {
            85.. => Level::High,
            65..=84 => Level::Medium,
            _ => Level::Low,
        }
    }
}

/// What choosing a row does, as far as the dialog says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Accepts what is asked, this once: the least that can be granted.
    Accepts,
    /// Accepts, and grants more than that.
    Widens(Grant),
    /// Refuses or cancels: the only effect that a timeout may have.
    Refuses,
    Other,
}

impl Effect {
    /// Whether something is allowed by it, however much.
    pub fn is_accepting(self) -> bool {
        match self {
            Effect::Accepts | Effect::Widens(_) => true,
            Effect::Refuses | Effect::Other => false,
        }
    }

    /// As it stands in files and frames: a word, and what it grants beyond this once.
    pub fn words(self) -> (&'static str, Option<Grant>) {
        match self {
            Effect::Accepts => ("accepts", None),
            Effect::Widens(grant) => ("accepts", Some(grant)),
            Effect::Refuses => ("refuses", None),
            Effect::Other => ("other", None),
        }
    }

    /// The same, read back. A grant by the word of a later version is one that this version cannot read.
    pub fn from_words(effect: &str, grants: Option<&str>) -> Option<Self> {
        Some(match (effect, grants) {
            ("accepts", None) => Effect::Accepts,
            ("accepts", Some(grant)) => Effect::Widens(grant.parse().unwrap_or(Grant::Unknown)),
            ("refuses", _) => Effect::Refuses,
            ("other", _) => Effect::Other,
            _ => return None,
        })
    }
}

named! { "grant":
    /// What an accepting row grants beyond this once, from the least to the most.
    pub enum Grant {
        /// Until the tool ends.
        Session = "session",
        /// Without an end: a rule, a folder that is trusted, all of a kind.
        Always = "always",
        /// A mode of the tool that asks less.
        Mode = "mode",
        /// Something that nobody here can read off its words. It may be more than all of the others.
        Unknown = "unknown",
    }
}

/// One row of a dialog. The label is kept whole; channels cut it for their buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    /// `None`: no key is known for it. It is said to the tool by its own hook, or not at all.
    pub strokes: Option<Strokes>,
    pub effect: Effect,
}

impl Choice {
    /// Its keys as one text, for records and people; empty where none is known.
    pub fn keys(&self) -> String {
        self.strokes.as_ref().map(Strokes::to_text).unwrap_or_default()
    }
}

/// One to nine choices, in the order of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices(Vec<Choice>);

/// More than this no keyboard of buttons carries.
pub const MOST_CHOICES: usize = 9;

impl Choices {
    /// `None` for an empty list; rows past the ninth are left out.
    pub fn new(mut rows: Vec<Choice>) -> Option<Self> {
        rows.truncate(MOST_CHOICES);
        (!rows.is_empty()).then_some(Self(rows))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Choice> {
        self.0.iter()
    }

    pub fn get(&self, index: usize) -> Option<&Choice> {
        self.0.get(index)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    /// The row that refuses, if there is one.
    pub fn refusing(&self) -> Option<usize> {
        self.0.iter().position(|choice| choice.effect == Effect::Refuses)
    }

    /// The row that *Yes* and `approve` mean.
    ///
    /// # Accepting-means-the-least invariant
    /// It is the only row that accepts this once and grants nothing more, wherever it stands: Claude Code lists the mode
    /// that asks nothing before the one that asks for each edit. Where every accepting row grants more, or two are plain,
    /// a person picks one by its label.
    pub fn accepting(&self) -> Option<usize> {
        let mut plain = (0..self.0.len()).filter(|&row| self.0[row].effect == Effect::Accepts);
        let only = plain.next()?;
        plain.next().is_none().then_some(only)
    }

    /// Some row accepts: something is to be allowed.
    pub fn offers_consent(&self) -> bool {
        self.0.iter().any(|choice| choice.effect.is_accepting())
    }
}

/// What the prompt itself says about the answers that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// Longest text, in characters.
    pub max_length: u16,
    /// The lowest and the highest number of a row (`min_choice`, `max_choice`): `Enter choice [1-4]`, or a numbered list.
    /// `None` where rows have no numbers of their own.
    pub numbers: Option<Span>,
    /// The fewest and the most rows of one answer (`min_picks`, `max_picks`): `Pick 1 to 3`. `None` where the prompt says
    /// nothing about it.
    pub picks: Option<Span>,
}

/// From the least to the most, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    least: u16,
    most: u16,
}

impl Span {
    /// `None` if it would hold nothing.
    pub fn new(least: u16, most: u16) -> Option<Self> {
        (least <= most).then_some(Self { least, most })
    }

    /// Both ends, or neither and so no span. `None`: one end alone, or a span that holds nothing.
    pub fn between(least: Option<u16>, most: Option<u16>) -> Option<Option<Self>> {
        match (least, most) {
            (None, None) => Some(None),
            (Some(least), Some(most)) => Self::new(least, most).map(Some),
            (Some(_), None) | (None, Some(_)) => None,
        }
    }

    pub fn least(self) -> u16 {
        self.least
    }

    pub fn most(self) -> u16 {
        self.most
    }

    pub fn holds(self, number: usize) -> bool {
        (usize::from(self.least)..=usize::from(self.most)).contains(&number)
    }
}

/// `3`, `1 to 3`; from zero on `up to 3`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{most}"),
            (0, most) => write!(f, "up to {most}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}

/// Longest free text unless the prompt states another limit.
pub const MAX_LENGTH: u16 = 200;

/// Longest instruction to an agent, and longest text that its hook carries.
pub const MAX_INSTRUCTION: u16 = 4000;

impl Default for Constraints {
    fn default() -> Self {
        Self { max_length: MAX_LENGTH, numbers: None, picks: None }
    }
}

/// What a prompt takes besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Takes {
    /// A refusal may carry a reason for the tool's model to read. Said by the tool's hook, never typed.
    pub reason: bool,
    /// A text of one's own is an answer. Said by the tool's hook, never typed into a dialog.
    pub own_text: bool,
    /// Several rows at once. Said by the tool's hook.
    pub several: bool,
    /// A text may have several lines: the tool takes them as a paste.
    pub lines: bool,
}

impl Takes {
    pub const NOTHING: Takes = Takes { reason: false, own_text: false, several: false, lines: false };

    /// The tool's own hook is asked: what is answered is said to it, and typed only where the hook cannot say it.
    pub fn is_by_hook(self) -> bool {
        self.reason || self.own_text || self.several
    }
}

named! { "way of entry":
    /// How the program takes a typed line.
    pub enum Entry {
        /// The kernel collects the line: text and Enter may go in one write.
        Line = "line",
        /// The program reads key by key: text first, Enter after the text was seen.
        Keys = "keys",
    }
}

impl Entry {
    /// The strokes that enter one line of text.
    pub fn line(self, text: &str) -> Strokes {
        match self {
            _ if text.is_empty() => Strokes::enter(),
            Entry::Line => Strokes::once(format!("{text}\r")),
            Entry::Keys => Strokes::then_enter_if_still_there(text),
        }
    }
}

/// What is typed when nobody answered in time.
///
/// # Silence-never-approves invariant
/// The only ways to make one are a refusing row, a bare Enter for *Press Enter*, and an empty line for a text
/// question that offers no default of its own. No constructor takes an accepting choice.
///
/// # Doubt-never-acts invariant
/// A prompt of low confidence is only possible: nobody knows that the program waits, so it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SafeDefault {
    Refuse { row: usize },
    Enter,
    EmptyLine,
}

impl SafeDefault {
    /// The safe default of this prompt, if it has one.
    pub fn of(sighting: &Sighting) -> Option<Self> {
        match sighting.kind {
            _ if sighting.confidence.level() == Level::Low => None,
            Kind::YesNo | Kind::MultipleChoice => {
                sighting.choices.as_ref().and_then(Choices::refusing).map(|row| SafeDefault::Refuse { row })
            }
            Kind::ConfirmEnter => Some(SafeDefault::Enter),
            Kind::FreeText if !sighting.offers_default => Some(SafeDefault::EmptyLine),
            Kind::FreeText | Kind::Password | Kind::Idle | Kind::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_keep_their_names() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("yes-no".parse::<Kind>().is_err());
    }

    #[test]
    fn a_possible_prompt_has_no_default_whatever_its_kind() {
        use crate::sighting::tests as seen;
        for sighting in [seen::yes_no(), seen::menu(&["Yes", "No"]), seen::confirm_enter(), seen::free_text()]
        {
            assert!(SafeDefault::of(&sighting).is_some(), "{}", sighting.kind);
            let possible = Sighting { confidence: Confidence::new(64).unwrap(), ..sighting };
            assert_eq!(SafeDefault::of(&possible), None, "{}", possible.kind);
        }
    }

    #[test]
    fn confidence_has_a_floor_and_three_levels() {
        assert_eq!(Confidence::new(59), None);
        let level = |hundredths| Confidence::new(hundredths).unwrap().level();
        assert_eq!(
            [level(60), level(64), level(65), level(84), level(85), level(200)],
            [Level::Low, Level::Low, Level::Medium, Level::Medium, Level::High, Level::High]
        );
    }
}
