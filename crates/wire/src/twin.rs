//! Serialised twins of model types. Conversion into the model goes through the model's own constructors, so that
//! nothing unmasked, uncut or impossible comes in over a socket.

use atlasbridge_model as model;
use atlasbridge_model::answer;
use atlasbridge_model::lifecycle;
use serde::{Deserialize, Serialize};

/// A field holds what the model does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the field {0} has an impossible value")]
pub struct TwinError(pub &'static str);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    pub no: u32,
    pub kind: String,
    pub confidence: u8,
    pub excerpt: String,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    pub max_length: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_choice: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_choice: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_picks: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_picks: Option<u16>,
    pub offers_default: bool,
    #[serde(default, skip_serializing_if = "Takes::is_nothing")]
    pub takes: Takes,
    pub entry: Entry,
    pub fingerprint: String,
}

/// What the prompt takes besides its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Takes {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reason: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_text: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lines: bool,
}

impl Takes {
    fn is_nothing(&self) -> bool {
        *self == Takes::default()
    }
}

impl From<model::Takes> for Takes {
    fn from(takes: model::Takes) -> Self {
        let model::Takes { reason, own_text, several, lines } = takes;
        Self { reason, own_text, several, lines }
    }
}

impl From<Takes> for model::Takes {
    fn from(twin: Takes) -> Self {
        let Takes { reason, own_text, several, lines } = twin;
        Self { reason, own_text, several, lines }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    pub effect: Effect,
    /// What an accepting row grants beyond this once; left out where it grants nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Grant>,
    /// None where only the tool's own hook can say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strokes: Vec<Stroke>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stroke {
    pub keys: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_still_there: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Accepts,
    Refuses,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    Session,
    Always,
    Mode,
    /// Also a word of a later version.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    Line,
    Keys,
}

impl From<&model::Sighting> for Sighting {
    fn from(sighting: &model::Sighting) -> Self {
        Self {
            no: sighting.no.0,
            kind: sighting.kind.as_str().to_owned(),
            confidence: sighting.confidence.hundredths(),
            excerpt: sighting.excerpt.as_str().to_owned(),
            detail: sighting.detail.as_str().to_owned(),
            choices: sighting.choices.iter().flat_map(|choices| choices.iter().map(Choice::from)).collect(),
            max_length: sighting.constraints.max_length,
            min_choice: sighting.constraints.numbers.map(model::Span::least),
            max_choice: sighting.constraints.numbers.map(model::Span::most),
            min_picks: sighting.constraints.picks.map(model::Span::least),
            max_picks: sighting.constraints.picks.map(model::Span::most),
            offers_default: sighting.offers_default,
            takes: sighting.takes.into(),
            entry: match sighting.entry {
                model::Entry::Line => Entry::Line,
                model::Entry::Keys => Entry::Keys,
            },
            fingerprint: sighting.fingerprint.to_string(),
        }
    }
}

impl TryFrom<Sighting> for model::Sighting {
    type Error = TwinError;

    fn try_from(twin: Sighting) -> Result<Self, TwinError> {
        Ok(Self {
            no: model::SightingNo(twin.no),
            kind: twin.kind.parse().map_err(|_| TwinError("kind"))?,
            confidence: model::Confidence::new(twin.confidence).ok_or(TwinError("confidence"))?,
            excerpt: model::Excerpt::new(&twin.excerpt),
            detail: model::Detail::new(&twin.detail),
            choices: model::Choices::new(
                twin.choices.into_iter().map(model::Choice::try_from).collect::<Result<_, _>>()?,
            ),
            constraints: model::Constraints {
                max_length: twin.max_length,
                numbers: span(twin.min_choice, twin.max_choice, "min_choice")?,
                picks: span(twin.min_picks, twin.max_picks, "min_picks")?,
            },
            offers_default: twin.offers_default,
            takes: twin.takes.into(),
            entry: match twin.entry {
                Entry::Line => model::Entry::Line,
                Entry::Keys => model::Entry::Keys,
            },
            fingerprint: twin.fingerprint.parse().map_err(|_| TwinError("fingerprint"))?,
        })
    }
}

/// Both ends or none.
fn span(
    least: Option<u16>,
    most: Option<u16>,
    field: &'static str,
) -> Result<Option<model::Span>, TwinError> {
    match (least, most) {
        (None, None) => Ok(None),
        (Some(least), Some(most)) => model::Span::new(least, most).map(Some).ok_or(TwinError(field)),
        (Some(_), None) | (None, Some(_)) => Err(TwinError(field)),
    }
}

impl From<&model::Choice> for Choice {
    fn from(choice: &model::Choice) -> Self {
        Self {
            label: choice.label.clone(),
            effect: match choice.effect {
                model::Effect::Accepts | model::Effect::Widens(_) => Effect::Accepts,
                model::Effect::Refuses => Effect::Refuses,
                model::Effect::Other => Effect::Other,
            },
            grants: match choice.effect {
                model::Effect::Widens(grant) => Some(grant.into()),
                model::Effect::Accepts | model::Effect::Refuses | model::Effect::Other => None,
            },
            strokes: choice
                .strokes
                .iter()
                .flat_map(model::Strokes::iter)
                .map(|stroke| Stroke {
                    keys: String::from_utf8_lossy(&stroke.bytes).into_owned(),
                    if_still_there: stroke.pace != model::Pace::Now,
                })
                .collect(),
        }
    }
}

impl TryFrom<Choice> for model::Choice {
    type Error = TwinError;

    fn try_from(twin: Choice) -> Result<Self, TwinError> {
        let is_keyless = twin.strokes.is_empty();
        let strokes = twin.strokes.into_iter().map(|stroke| model::Stroke {
            bytes: stroke.keys.into_bytes(),
            pace: if stroke.if_still_there { model::Pace::IfStillThere } else { model::Pace::Now },
        });
        let strokes = model::Strokes::new(strokes.collect());
        if strokes.is_none() && !is_keyless {
            return Err(TwinError("strokes"));
        }
        Ok(Self {
            label: twin.label,
            strokes,
            effect: match twin.effect {
                Effect::Accepts => {
                    twin.grants.map_or(model::Effect::Accepts, |grant| model::Effect::Widens(grant.into()))
                }
                Effect::Refuses => model::Effect::Refuses,
                Effect::Other => model::Effect::Other,
            },
        })
    }
}

impl From<model::Grant> for Grant {
    fn from(grant: model::Grant) -> Self {
        match grant {
            model::Grant::Session => Grant::Session,
            model::Grant::Always => Grant::Always,
            model::Grant::Mode => Grant::Mode,
            model::Grant::Unknown => Grant::Unknown,
        }
    }
}

impl From<Grant> for model::Grant {
    fn from(grant: Grant) -> Self {
        match grant {
            Grant::Session => model::Grant::Session,
            Grant::Always => model::Grant::Always,
            Grant::Mode => model::Grant::Mode,
            Grant::Unknown => model::Grant::Unknown,
        }
    }
}

/// What is to be typed, by meaning: a hub never sends bytes for the terminal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    Choice { row: usize, label: String },
    Several(Vec<(usize, String)>),
    Refused { reason: String },
    Enter,
    Text(String),
    Secret(String),
}

impl From<&answer::Value> for Value {
    fn from(value: &answer::Value) -> Self {
        match value {
            answer::Value::Choice { row, label } => Value::Choice { row: *row, label: label.clone() },
            answer::Value::Several(rows) => Value::Several(rows.clone()),
            answer::Value::Refused { reason } => Value::Refused { reason: reason.clone() },
            answer::Value::Enter => Value::Enter,
            answer::Value::Text(text) => Value::Text(text.clone()),
            answer::Value::Secret(secret) => Value::Secret(secret.clone()),
        }
    }
}

impl From<Value> for answer::Value {
    fn from(twin: Value) -> Self {
        match twin {
            Value::Choice { row, label } => answer::Value::Choice { row, label },
            Value::Several(rows) => answer::Value::Several(rows),
            Value::Refused { reason } => answer::Value::Refused { reason },
            Value::Enter => answer::Value::Enter,
            Value::Text(text) => answer::Value::Text(text),
            Value::Secret(secret) => answer::Value::Secret(secret),
        }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        answer::Value::from(self.clone()).fmt(f)
    }
}

/// What somebody said.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Approve,
    Deny,
    DenyWith(String),
    UseDefault,
    Cancel,
    Text(String),
}

impl From<Said> for answer::Said {
    fn from(twin: Said) -> Self {
        match twin {
            Said::Approve => answer::Said::Approve,
            Said::Deny => answer::Said::Deny,
            Said::DenyWith(reason) => answer::Said::DenyWith(reason),
            Said::UseDefault => answer::Said::UseDefault,
            Said::Cancel => answer::Said::Cancel,
            Said::Text(text) => answer::Said::Text(text),
        }
    }
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        answer::Said::from(self.clone()).fmt(f)
    }
}

/// How a prompt left the screen without us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    AnsweredLocally,
    OutOfBand,
    Withdrawn,
    ToolEnded,
}

impl From<Departure> for lifecycle::Departure {
    fn from(twin: Departure) -> Self {
        match twin {
            Departure::AnsweredLocally => lifecycle::Departure::AnsweredLocally,
            Departure::OutOfBand => lifecycle::Departure::OutOfBand,
            Departure::Withdrawn => lifecycle::Departure::Withdrawn,
            Departure::ToolEnded => lifecycle::Departure::ToolEnded,
        }
    }
}

impl From<lifecycle::Departure> for Departure {
    fn from(departure: lifecycle::Departure) -> Self {
        match departure {
            lifecycle::Departure::AnsweredLocally => Departure::AnsweredLocally,
            lifecycle::Departure::OutOfBand => Departure::OutOfBand,
            lifecycle::Departure::Withdrawn => Departure::Withdrawn,
            lifecycle::Departure::ToolEnded => Departure::ToolEnded,
        }
    }
}

/// What became of a reply at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Typed; whether the tool took it follows.
    Typed,
    Taken,
    AnsweredLocally,
    PromptChanged,
    TypingLocally,
    NotTaken,
    /// Nobody read the terminal: nothing was typed.
    NotReading,
    ToolGone,
    TooLate,
    NotRecorded,
    Unknown,
}

impl Outcome {
    /// The event that this outcome is for the prompt's lifecycle.
    pub fn event(self, reply: model::ReplyId) -> lifecycle::Event {
        use lifecycle::{Event, Failure, NotApplied};
        let failed = |failure| Event::NotApplied { reply, why: NotApplied::Failed(failure) };
        match self {
            Outcome::Typed => Event::Typed { reply },
            Outcome::Taken => Event::Taken { reply },
            Outcome::AnsweredLocally => Event::NotApplied { reply, why: NotApplied::AnsweredLocally },
            Outcome::PromptChanged => failed(Failure::PromptChanged),
            Outcome::TypingLocally => failed(Failure::TypingLocally),
            Outcome::NotTaken => failed(Failure::NotTaken),
            Outcome::NotReading => failed(Failure::NotReading),
            Outcome::ToolGone => failed(Failure::ToolGone),
            Outcome::TooLate => failed(Failure::TooLate),
            Outcome::NotRecorded => failed(Failure::NotRecorded),
            Outcome::Unknown => failed(Failure::Unknown),
        }
    }
}
