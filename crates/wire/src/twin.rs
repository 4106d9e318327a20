//! Serialised twins of model types. Conversion into the model goes through the model's own constructors, so that
//! nothing unmasked, uncut or impossible comes in over a socket.

use atlasbridge_model as model;
use atlasbridge_model::answer;
use atlasbridge_model::lifecycle;
use serde::{Deserialize, Serialize};

use crate::command::ConstraintsView;

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
    #[serde(flatten)]
    pub constraints: ConstraintsView,
    pub offers_default: bool,
    #[serde(default, skip_serializing_if = "is_nothing", with = "TakesText")]
    pub takes: model::Takes,
    #[serde(with = "spelled")]
    pub entry: model::Entry,
    pub fingerprint: String,
}

/// What the prompt takes besides its rows.
#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "model::Takes", default)]
struct TakesText {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reason: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    own_text: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    several: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lines: bool,
}

fn is_nothing(takes: &model::Takes) -> bool {
    *takes == model::Takes::NOTHING
}

/// What has one spelling, as that text.
pub(crate) mod spelled {
    use std::{fmt, str};

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(
        value: &impl fmt::Display,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: str::FromStr<Err: fmt::Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    /// `accepts`, `refuses` or `other`.
    pub effect: String,
    /// What an accepting row grants beyond this once; left out where it grants nothing more. A later version may have more
    /// words for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<String>,
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

impl From<&model::Sighting> for Sighting {
    fn from(sighting: &model::Sighting) -> Self {
        Self {
            no: sighting.no.0,
            kind: sighting.kind.as_str().to_owned(),
            confidence: sighting.confidence.hundredths(),
            excerpt: sighting.excerpt.as_str().to_owned(),
            detail: sighting.detail.as_str().to_owned(),
            choices: sighting.rows().map(Choice::from).collect(),
            constraints: sighting.constraints.into(),
            offers_default: sighting.offers_default,
            takes: sighting.takes,
            entry: sighting.entry,
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
            constraints: twin.constraints.try_into()?,
            offers_default: twin.offers_default,
            takes: twin.takes,
            entry: twin.entry,
            fingerprint: twin.fingerprint.parse().map_err(|_| TwinError("fingerprint"))?,
        })
    }
}

impl From<model::Constraints> for ConstraintsView {
    fn from(constraints: model::Constraints) -> Self {
        let model::Constraints { max_length, numbers, picks } = constraints;
        Self {
            max_length,
            min_choice: numbers.map(model::Span::least),
            max_choice: numbers.map(model::Span::most),
            min_picks: picks.map(model::Span::least),
            max_picks: picks.map(model::Span::most),
        }
    }
}

impl TryFrom<ConstraintsView> for model::Constraints {
    type Error = TwinError;

    fn try_from(view: ConstraintsView) -> Result<Self, TwinError> {
        Ok(Self {
            max_length: view.max_length,
            numbers: model::Span::between(view.min_choice, view.max_choice).ok_or(TwinError("min_choice"))?,
            picks: model::Span::between(view.min_picks, view.max_picks).ok_or(TwinError("min_picks"))?,
        })
    }
}

impl From<&model::Choice> for Choice {
    fn from(choice: &model::Choice) -> Self {
        let (effect, grants) = choice.effect.words();
        Self {
            label: choice.label.clone(),
            effect: effect.to_owned(),
            grants: grants.map(|grant| grant.to_string()),
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
        let effect = model::Effect::from_words(&twin.effect, twin.grants.as_deref());
        let effect = effect.ok_or(TwinError("effect"))?;
        Ok(Self { label: twin.label, strokes, effect })
    }
}

/// What is to be typed, by meaning: a hub never sends bytes for the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Value(#[serde(with = "ValueText")] pub answer::Value);

#[derive(Serialize, Deserialize)]
#[serde(remote = "answer::Value", rename_all = "snake_case")]
enum ValueText {
    Choice { row: usize, label: String },
    Several(Vec<(usize, String)>),
    Refused { reason: String },
    Enter,
    Text(String),
    Secret(String),
}

/// An answer in the words of its sender.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidText {
    Approve,
    Deny,
    DenyWith(String),
    UseDefault,
    Cancel,
    Text(String),
}

impl From<SaidText> for answer::Said {
    fn from(twin: SaidText) -> Self {
        match twin {
            SaidText::Approve => answer::Said::Approve,
            SaidText::Deny => answer::Said::Deny,
            SaidText::DenyWith(reason) => answer::Said::DenyWith(reason),
            SaidText::UseDefault => answer::Said::UseDefault,
            SaidText::Cancel => answer::Said::Cancel,
            SaidText::Text(text) => answer::Said::Text(text),
        }
    }
}

impl std::fmt::Debug for SaidText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        answer::Said::from(self.clone()).fmt(f)
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
    /// No process read the terminal: nothing was typed.
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
