//! Rows and what they mean: the stored twins of the model's types.
//!
//! Reading goes through the model's own constructors, so a row cannot say what the model forbids: an excerpt is
//! masked and cut again, a confidence below the floor is unreadable.

use std::borrow::Cow;
use std::str::FromStr;

use atlasbridge_model::answer::{Source, Value};
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::{
    BootTime, Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Grant, Pace, ReplyId,
    Sighting, SightingNo, Span, Stroke, Strokes, Takes, Timestamp,
};
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::prompts::{PromptRecord, Reply};
use crate::store::BackendError;

pub(crate) fn unreadable(what: &'static str) -> BackendError {
    BackendError::Unreadable { what }
}

pub(crate) fn parsed<T: FromStr>(
    row: &SqliteRow,
    column: &str,
    what: &'static str,
) -> Result<T, BackendError> {
    row.try_get::<&str, _>(column)?.parse().map_err(|_| unreadable(what))
}

pub(crate) fn prompt(row: &SqliteRow) -> Result<PromptRecord, BackendError> {
    Ok(PromptRecord {
        id: parsed(row, "id", "prompt id")?,
        session: parsed(row, "session_id", "session id")?,
        sighting: sighting(row)?,
        state: state(row)?,
        nonce: parsed(row, "nonce", "nonce")?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(Timestamp),
        deadline: row.try_get::<Option<i64>, _>("deadline")?.map(BootTime),
        boot_id: row.try_get("boot_id")?,
    })
}

/// Both ends or none.
fn span(row: &SqliteRow, least: &str, most: &str) -> Result<Option<Span>, BackendError> {
    let end = |name: &str| -> Result<Option<u16>, BackendError> {
        let end: Option<i64> = row.try_get(name)?;
        end.map(|end| u16::try_from(end).map_err(|_| unreadable("range of choices"))).transpose()
    };
    match (end(least)?, end(most)?) {
        (None, None) => Ok(None),
        (Some(least), Some(most)) => Span::new(least, most).map(Some).ok_or(unreadable("range of choices")),
        (Some(_), None) | (None, Some(_)) => Err(unreadable("range of choices")),
    }
}

fn sighting(row: &SqliteRow) -> Result<Sighting, BackendError> {
    let confidence: i64 = row.try_get("confidence")?;
    let max_length: i64 = row.try_get("max_length")?;
    let no: i64 = row.try_get("sighting")?;
    Ok(Sighting {
        no: SightingNo(u32::try_from(no).map_err(|_| unreadable("sighting"))?),
        kind: parsed(row, "kind", "kind of prompt")?,
        confidence: u8::try_from(confidence)
            .ok()
            .and_then(Confidence::new)
            .ok_or(unreadable("confidence"))?,
        excerpt: Excerpt::new(row.try_get("excerpt")?),
        detail: Detail::new(row.try_get("detail")?),
        choices: row.try_get::<Option<&str>, _>("choices")?.map(choices_of).transpose()?,
        constraints: Constraints {
            max_length: u16::try_from(max_length).map_err(|_| unreadable("longest answer"))?,
            numbers: span(row, "min_choice", "max_choice")?,
            picks: span(row, "min_picks", "max_picks")?,
        },
        offers_default: row.try_get("offers_default")?,
        takes: takes_of(row.try_get("takes")?)?,
        entry: match row.try_get("entry")? {
            "line" => Entry::Line,
            "keys" => Entry::Keys,
            _ => return Err(unreadable("way of entry")),
        },
        fingerprint: parsed(row, "fingerprint", "fingerprint")?,
    })
}

pub(crate) fn entry_text(entry: Entry) -> &'static str {
    match entry {
        Entry::Line => "line",
        Entry::Keys => "keys",
    }
}

/// What a prompt takes besides its rows, as words with blanks between them.
pub(crate) fn takes_text(takes: Takes) -> String {
    let Takes { reason, own_text, several, lines } = takes;
    let words = [(reason, "reason"), (own_text, "own_text"), (several, "several"), (lines, "lines")];
    let words: Vec<&str> = words.into_iter().filter(|word| word.0).map(|word| word.1).collect();
    words.join(" ")
}

fn takes_of(text: &str) -> Result<Takes, BackendError> {
    let mut takes = Takes::NOTHING;
    for word in text.split_whitespace() {
        match word {
            "reason" => takes.reason = true,
            "own_text" => takes.own_text = true,
            "several" => takes.several = true,
            "lines" => takes.lines = true,
            _ => return Err(unreadable("what a prompt takes")),
        }
    }
    Ok(takes)
}

fn state(row: &SqliteRow) -> Result<PromptState, BackendError> {
    let reply = || parsed::<ReplyId>(row, "reply_id", "reply id");
    let source = || -> Result<Source, BackendError> { Ok(row.try_get::<&str, _>("source")?.into()) };
    let reason = || -> Result<&str, BackendError> { Ok(row.try_get("reason")?) };
    Ok(match row.try_get("status")? {
        "created" => PromptState::Created,
        "routed" => PromptState::Routed,
        "awaiting_reply" => PromptState::AwaitingReply,
        "reply_received" => PromptState::ReplyReceived { reply: reply()?, source: source()? },
        "expired" => PromptState::Expired {
            fallback: match row.try_get::<Option<&str>, _>("reply_id")? {
                Some(_) => Some(reply()?),
                None => None,
            },
        },
        "injected" => PromptState::Injected { reply: reply()?, source: source()? },
        "resolved" => PromptState::Resolved {
            how: match reason()? {
                "applied" => Resolution::Applied { source: source()? },
                "answered_locally" => Resolution::AnsweredLocally,
                "answered_out_of_band" => Resolution::AnsweredOutOfBand,
                _ => return Err(unreadable("resolution")),
            },
        },
        "canceled" => PromptState::Canceled {
            why: named(Cancellation::ALL, Cancellation::as_str, reason()?)
                .ok_or(unreadable("cancellation"))?,
        },
        "failed" => PromptState::Failed {
            why: named(Failure::ALL, Failure::as_str, reason()?).ok_or(unreadable("failure"))?,
        },
        _ => return Err(unreadable("prompt status")),
    })
}

fn named<T: Copy, const N: usize>(all: [T; N], name: fn(T) -> &'static str, text: &str) -> Option<T> {
    all.into_iter().find(|&one| name(one) == text)
}

/// The reply that a state carries, and where it came from, for the columns of that name.
pub(crate) fn reply_and_source(state: &PromptState) -> (Option<String>, Option<String>) {
    match state {
        PromptState::ReplyReceived { reply, source } | PromptState::Injected { reply, source } => {
            (Some(reply.to_string()), Some(source.to_string()))
        }
        PromptState::Expired { fallback: Some(reply) } => {
            (Some(reply.to_string()), Some(Source::Timeout.to_string()))
        }
        PromptState::Resolved { how: Resolution::Applied { source } } => (None, Some(source.to_string())),
        PromptState::Created
        | PromptState::Routed
        | PromptState::AwaitingReply
        | PromptState::Expired { fallback: None }
        | PromptState::Resolved { .. }
        | PromptState::Canceled { .. }
        | PromptState::Failed { .. } => (None, None),
    }
}

pub(crate) fn reply(row: &SqliteRow) -> Result<Reply, BackendError> {
    let text = || -> Result<String, BackendError> { Ok(row.try_get("value")?) };
    Ok(Reply {
        id: parsed(row, "id", "reply id")?,
        prompt: parsed(row, "prompt_id", "prompt id")?,
        session: parsed(row, "session_id", "session id")?,
        value: match row.try_get("kind")? {
            "choice" => Some(Value::Choice {
                row: usize::try_from(row.try_get::<i64, _>("choice_row")?)
                    .map_err(|_| unreadable("choice"))?,
                label: text()?,
            }),
            "several" => Some(Value::Several(
                serde_json::from_str(&text()?).map_err(|_| unreadable("several choices"))?,
            )),
            "refused" => Some(Value::Refused { reason: text()? }),
            "enter" => Some(Value::Enter),
            "text" => Some(Value::Text(text()?)),
            "secret" => None,
            _ => return Err(unreadable("kind of reply")),
        },
        source: row.try_get::<&str, _>("source")?.into(),
        decided_by: row.try_get("decided_by")?,
        at: Timestamp(row.try_get("created_at")?),
    })
}

/// A value as it may be stored.
///
/// # Secrets-stay-out invariant
/// This is the only road from a value to a column, and it has no place for a secret's text.
pub(crate) struct StoredValue<'a> {
    pub(crate) kind: &'static str,
    pub(crate) choice_row: Option<i64>,
    pub(crate) text: Option<Cow<'a, str>>,
}

impl<'a> From<&'a Value> for StoredValue<'a> {
    fn from(value: &'a Value) -> Self {
        let (kind, choice_row, text) = match value {
            Value::Choice { row, label } => ("choice", Some(*row as i64), Some(label.as_str().into())),
            Value::Several(rows) => {
                let rows = serde_json::to_string(rows).expect("numbers and strings are always JSON");
                ("several", None, Some(rows.into()))
            }
            Value::Refused { reason } => ("refused", None, Some(reason.as_str().into())),
            Value::Enter => ("enter", None, None),
            Value::Text(text) => ("text", None, Some(text.as_str().into())),
            Value::Secret(_) => ("secret", None, None),
        };
        Self { kind, choice_row, text }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredChoice {
    label: String,
    effect: StoredEffect,
    /// What an accepting row grants beyond this once, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grants: Option<String>,
    /// Empty where only the tool's own hook can say it.
    strokes: Vec<StoredStroke>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredEffect {
    Accepts,
    Refuses,
    Other,
}

/// Keys are bytes, not text: an arrow key is no UTF-8 promise.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStroke {
    Now(Vec<u8>),
    IfStillThere(Vec<u8>),
}

/// What it writes can be read back: one unreadable row would take every listing down with it.
pub(crate) fn choices_text(choices: &Choices) -> Result<String, BackendError> {
    let rows: Vec<StoredChoice> = choices.iter().map(StoredChoice::from).collect();
    let text = serde_json::to_string(&rows).map_err(|_| unreadable("list of choices"))?;
    choices_of(&text).map(|_| text)
}

fn choices_of(text: &str) -> Result<Choices, BackendError> {
    let rows: Vec<StoredChoice> = serde_json::from_str(text).map_err(|_| unreadable("list of choices"))?;
    let rows: Option<Vec<Choice>> = rows.into_iter().map(StoredChoice::into_choice).collect();
    rows.and_then(Choices::new).ok_or(unreadable("list of choices"))
}

impl From<&Choice> for StoredChoice {
    fn from(choice: &Choice) -> Self {
        Self {
            label: choice.label.clone(),
            effect: match choice.effect {
                Effect::Accepts | Effect::Widens(_) => StoredEffect::Accepts,
                Effect::Refuses => StoredEffect::Refuses,
                Effect::Other => StoredEffect::Other,
            },
            grants: match choice.effect {
                Effect::Widens(grant) => Some(grant.as_str().to_owned()),
                Effect::Accepts | Effect::Refuses | Effect::Other => None,
            },
            strokes: choice.strokes.iter().flat_map(Strokes::iter).map(StoredStroke::from).collect(),
        }
    }
}

impl StoredChoice {
    fn into_choice(self) -> Option<Choice> {
        Some(Choice {
            label: self.label,
            strokes: match self.strokes.is_empty() {
                true => None,
                false => Some(Strokes::new(self.strokes.into_iter().map(Stroke::from).collect())?),
            },
            effect: match self.effect {
                StoredEffect::Accepts => self.grants.map_or(Effect::Accepts, |name| {
                    let known = Grant::ALL.into_iter().find(|grant| grant.as_str() == name);
                    Effect::Widens(known.unwrap_or(Grant::Unknown))
                }),
                StoredEffect::Refuses => Effect::Refuses,
                StoredEffect::Other => Effect::Other,
            },
        })
    }
}

impl From<&Stroke> for StoredStroke {
    fn from(stroke: &Stroke) -> Self {
        let bytes = stroke.bytes.clone();
        match stroke.pace {
            Pace::Now => StoredStroke::Now(bytes),
            // Keys are stored to be shown; the gate reads its own off the screen.
            Pace::IfStillThere | Pace::Guided => StoredStroke::IfStillThere(bytes),
        }
    }
}

impl From<StoredStroke> for Stroke {
    fn from(stored: StoredStroke) -> Self {
        let (bytes, pace) = match stored {
            StoredStroke::Now(bytes) => (bytes, Pace::Now),
            StoredStroke::IfStillThere(bytes) => (bytes, Pace::IfStillThere),
        };
        Stroke { bytes, pace }
    }
}
