//! Rows and what they mean: the stored twins of the model's types.
//!
//! Reading goes through the model's own constructors, so a row cannot say what the model forbids: an excerpt is
//! masked and cut again, a confidence below the floor is unreadable.

use std::borrow::Cow;

use atlasbridge_model::answer::{Source, Value};
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::{
    Choice, Choices, Constraints, Detail, Effect, Entry, Excerpt, Pace, ReplyId, Sighting, Span, Stroke,
    Strokes, Takes,
};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;

use crate::sql::{get, stored, unreadable};
use crate::store::BackendError;

pub(crate) fn sighting(row: &SqliteRow) -> Result<Sighting, BackendError> {
    let (excerpt, detail): (String, String) = (get(row, "excerpt")?, get(row, "detail")?);
    let choices: Option<String> = get(row, "choices")?;
    Ok(Sighting {
        no: get(row, "sighting")?,
        kind: get(row, "kind")?,
        confidence: get(row, "confidence")?,
        excerpt: Excerpt::new(&excerpt),
        detail: Detail::new(&detail),
        choices: choices.as_deref().map(choices_of).transpose()?,
        constraints: Constraints {
            max_length: get(row, "max_length")?,
            numbers: span(row, "min_choice", "max_choice")?,
            picks: span(row, "min_picks", "max_picks")?,
        },
        offers_default: get(row, "offers_default")?,
        takes: get(row, "takes")?,
        entry: get(row, "entry")?,
        fingerprint: get(row, "fingerprint")?,
    })
}

fn span(row: &SqliteRow, least: &'static str, most: &'static str) -> Result<Option<Span>, BackendError> {
    Span::between(get(row, least)?, get(row, most)?).ok_or(unreadable("range of choices"))
}

type Flag = fn(&mut Takes) -> &mut bool;

/// What a prompt takes besides its rows, as words with blanks between them.
const TAKES: [(&str, Flag); 4] = [
    ("reason", |takes| &mut takes.reason),
    ("own_text", |takes| &mut takes.own_text),
    ("several", |takes| &mut takes.several),
    ("lines", |takes| &mut takes.lines),
];

stored! {
    Entry as String: |entry| entry.to_string(), |name| name.parse().ok();
    Takes as String: |takes| {
        let taken = TAKES.into_iter().filter(|known| *known.1(&mut takes.clone()));
        taken.map(|known| known.0).collect::<Vec<_>>().join(" ")
    }, |words| words.split_whitespace().try_fold(Takes::NOTHING, |mut takes, word| {
        *TAKES.into_iter().find(|known| known.0 == word)?.1(&mut takes) = true;
        Some(takes)
    });
    Cancellation as String: |why| why.to_string(), |name| name.parse().ok();
    Failure as String: |why| why.to_string(), |name| name.parse().ok();
}

pub(crate) fn state(row: &SqliteRow) -> Result<PromptState, BackendError> {
    Ok(match get::<String>(row, "status")?.as_str() {
        "created" => PromptState::Created,
        "routed" => PromptState::Routed,
        "awaiting_reply" => PromptState::AwaitingReply,
        "reply_received" => {
            PromptState::ReplyReceived { reply: get(row, "reply_id")?, source: get(row, "source")? }
        }
        "expired" => PromptState::Expired { fallback: get(row, "reply_id")? },
        "injected" => PromptState::Injected { reply: get(row, "reply_id")?, source: get(row, "source")? },
        "resolved" => PromptState::Resolved {
            how: match get::<String>(row, "reason")?.as_str() {
                "applied" => Resolution::Applied { source: get(row, "source")? },
                "answered_locally" => Resolution::AnsweredLocally,
                "answered_out_of_band" => Resolution::AnsweredOutOfBand,
                _ => return Err(unreadable("resolution")),
            },
        },
        "canceled" => PromptState::Canceled { why: get(row, "reason")? },
        "failed" => PromptState::Failed { why: get(row, "reason")? },
        _ => return Err(unreadable("prompt status")),
    })
}

/// The reply that a state carries, and where it came from, for the columns of that name.
pub(crate) fn reply_and_source(state: &PromptState) -> (Option<ReplyId>, Option<Source>) {
    if let PromptState::Resolved { how: Resolution::Applied { source } } = state {
        return (None, Some(source.clone()));
    }
    state.reply_under_way().map(|(reply, source)| (reply, source.clone())).unzip()
}

pub(crate) fn value(row: &SqliteRow) -> Result<Option<Value>, BackendError> {
    let text = || get::<String>(row, "value");
    Ok(Some(match get::<String>(row, "kind")?.as_str() {
        "choice" => Value::Choice { row: get::<u32>(row, "choice_row")? as usize, label: text()? },
        "several" => {
            Value::Several(serde_json::from_str(&text()?).map_err(|_| unreadable("several choices"))?)
        }
        "refused" => Value::Refused { reason: text()? },
        "enter" => Value::Enter,
        "text" => Value::Text(text()?),
        "secret" => return Ok(None),
        _ => return Err(unreadable("kind of reply")),
    }))
}

/// A value as it may be stored: its kind, its row and its text.
///
/// # Secrets-stay-out invariant
/// This is the only road from a value to a column, and it has no place for a secret's text.
pub(crate) fn value_cells(value: Option<&Value>) -> (&'static str, Option<u64>, Option<Cow<'_, str>>) {
    match value {
        Some(Value::Choice { row, label }) => ("choice", Some(*row as u64), Some(label.into())),
        Some(Value::Several(rows)) => {
            let rows = serde_json::to_string(rows).expect("numbers and strings are always JSON");
            ("several", None, Some(rows.into()))
        }
        Some(Value::Refused { reason }) => ("refused", None, Some(reason.into())),
        Some(Value::Enter) => ("enter", None, None),
        Some(Value::Text(text)) => ("text", None, Some(text.into())),
        Some(Value::Secret(_)) | None => ("secret", None, None),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredChoice {
    label: String,
    /// `accepts`, `refuses` or `other`.
    effect: Cow<'static, str>,
    /// What an accepting row grants beyond this once, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grants: Option<Cow<'static, str>>,
    /// Empty where only the tool's own hook can say it.
    strokes: Vec<StoredStroke>,
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
        let (effect, grants) = choice.effect.words();
        let strokes = choice.strokes.iter().flat_map(Strokes::iter).map(|stroke| match stroke.pace {
            Pace::Now => StoredStroke::Now(stroke.bytes.clone()),
            // Keys are stored to be shown; the gate reads its own off the screen.
            Pace::IfStillThere | Pace::Guided => StoredStroke::IfStillThere(stroke.bytes.clone()),
        });
        Self {
            label: choice.label.clone(),
            effect: effect.into(),
            grants: grants.map(|grant| grant.as_str().into()),
            strokes: strokes.collect(),
        }
    }
}

impl StoredChoice {
    fn into_choice(self) -> Option<Choice> {
        let strokes = self.strokes.into_iter().map(|stroke| match stroke {
            StoredStroke::Now(bytes) => Stroke { bytes, pace: Pace::Now },
            StoredStroke::IfStillThere(bytes) => Stroke { bytes, pace: Pace::IfStillThere },
        });
        let strokes: Vec<Stroke> = strokes.collect();
        Some(Choice {
            label: self.label,
            strokes: if strokes.is_empty() { None } else { Some(Strokes::new(strokes)?) },
            effect: Effect::from_words(&self.effect, self.grants.as_deref())?,
        })
    }
}
