//! Instructions that wait for their tool, until it is known what became of each.
//!
//! # Nothing-lost-silently invariant
//! A text leaves here in the transaction that tells its sender: with the end of the prompt that took it, when it is taken back,
//! or when a newer one takes its place. What could not be sent stays to be seen until a newer text of its session comes.

use std::borrow::Cow;

use atlasbridge_model::answer::{Source, Value};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::mask::mask_in_place;
use atlasbridge_model::{ReplyId, SessionId};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::prompts::PromptRecord;
use crate::rows::{self, parsed};
use crate::store::{BackendError, Draft, Store, StoreError, attempting};

/// The next instruction for a tool that does not take one yet.
#[derive(Clone, PartialEq, Eq)]
pub struct QueuedText {
    /// The id of the reply that it becomes.
    pub reply: ReplyId,
    pub session: SessionId,
    pub text: String,
    pub source: Source,
    pub decided_by: String,
    /// Where its sender hears what became of it; nowhere, if they look for themselves.
    pub heard_at: Option<HeardAt>,
}

/// A chat of the channel that the text came from, and the message that brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardAt {
    pub target: String,
    pub reply_to: Option<String>,
}

/// Texts stay out of logs.
impl std::fmt::Debug for QueuedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuedText")
            .field("session", &self.session)
            .field("characters", &self.text.chars().count())
            .field("decided_by", &self.decided_by)
            .finish()
    }
}

/// What becomes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextMove {
    /// It waits for its tool. A newer one takes the place of the one that waits.
    Queue(QueuedText),
    TakeBack {
        reply: ReplyId,
        source: Source,
        decided_by: String,
    },
    /// It was sent, and its sender knows.
    Done(ReplyId),
    /// It was not sent, and is not tried again, for this reason.
    Unsent {
        reply: ReplyId,
        why: String,
    },
}

/// A text whose end is not known, and the prompt that it went to, if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenText {
    pub text: QueuedText,
    pub sent_to: Option<PromptRecord>,
}

/// What fails here.
const QUEUED: &str = "looking up the queued texts";

impl Store {
    /// The instruction that waits for this session's tool.
    pub async fn queued_text(&self, session: SessionId) -> Result<Option<QueuedText>, StoreError> {
        let mut conn = self.reader.acquire().await.map_err(attempting(QUEUED))?;
        load_waiting(&mut conn, session).await.map_err(attempting(QUEUED))
    }

    /// The last instruction that could not be sent, and why.
    pub async fn unsent_text(&self, session: SessionId) -> Result<Option<(QueuedText, String)>, StoreError> {
        sqlx::query(
            "SELECT * FROM queued_texts WHERE session_id = $1 AND state = 'unsent' ORDER BY created_at DESC, rowid DESC",
        )
        .bind(session.to_string())
        .fetch_optional(&self.reader)
        .await
        .map_err(BackendError::from)
        .and_then(|row| {
            row.map(|row| Ok((text(&row)?, row.try_get("why")?)))
                .transpose()
        })
        .map_err(attempting(QUEUED))
    }

    /// Texts that wait or are on their way, oldest first.
    pub async fn open_texts(&self) -> Result<Vec<OpenText>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM queued_texts WHERE state IN ('waiting', 'sent') ORDER BY created_at, rowid",
        )
        .fetch_all(&self.reader)
        .await
        .map_err(attempting(QUEUED))?;
        let mut open = Vec::with_capacity(rows.len());
        for row in &rows {
            let text = text(row).map_err(attempting(QUEUED))?;
            let prompt = sqlx::query("SELECT * FROM prompts WHERE reply_id = $1")
                .bind(text.reply.to_string())
                .fetch_optional(&self.reader)
                .await
                .map_err(attempting(QUEUED))?;
            let sent_to = prompt.as_ref().map(rows::prompt).transpose().map_err(attempting(QUEUED))?;
            open.push(OpenText { text, sent_to });
        }
        Ok(open)
    }
}

pub(crate) async fn apply(draft: &mut Draft, change: TextMove) -> Result<(), BackendError> {
    match change {
        TextMove::Queue(text) => queue(draft, text).await,
        TextMove::TakeBack { reply, source, decided_by } => {
            take_back(draft, reply, &source, decided_by).await
        }
        TextMove::Done(reply) => forget(draft, reply).await,
        TextMove::Unsent { reply, why } => set_unsent(draft, reply, &why).await,
    }
}

/// An instruction for a session that has ended reaches nobody, and is not kept.
async fn queue(draft: &mut Draft, text: QueuedText) -> Result<(), BackendError> {
    sqlx::query("DELETE FROM queued_texts WHERE session_id = $1 AND state IN ('waiting', 'unsent')")
        .bind(text.session.to_string())
        .execute(&mut draft.conn)
        .await?;
    let length = Value::Text(text.text.clone()).on_record();
    let (target, reply_to) = match text.heard_at {
        Some(HeardAt { target, reply_to }) => (Some(target), reply_to),
        None => (None, None),
    };
    let inserted = sqlx::query(
        "INSERT INTO queued_texts (reply_id, session_id, text, source, decided_by, target, reply_to, state, created_at)
         SELECT $1, id, $3, $4, $5, $6, $7, 'waiting', $8 FROM sessions WHERE id = $2 AND status = 'active'",
    )
    .bind(text.reply.to_string())
    .bind(text.session.to_string())
    .bind(text.text)
    .bind(text.source.to_string())
    .bind(&text.decided_by)
    .bind(target)
    .bind(reply_to)
    .bind(draft.now.wall.0)
    .execute(&mut draft.conn)
    .await?;
    if inserted.rows_affected() == 0 {
        return Ok(());
    }
    draft
        .record(AuditEvent {
            session: Some(text.session),
            value: Some(format!("{length}, queued")),
            source: Some(text.source.to_string()),
            decided_by: Some(text.decided_by),
            ..AuditEvent::new(EventName::ReplyReceived)
        })
        .await
}

/// One that is on its way, or over, cannot be taken back: nothing changes then. What was not sent is merely put away.
async fn take_back(
    draft: &mut Draft,
    reply: ReplyId,
    source: &Source,
    decided_by: String,
) -> Result<(), BackendError> {
    let row = sqlx::query(
        "DELETE FROM queued_texts WHERE reply_id = $1 AND state IN ('waiting', 'unsent') RETURNING session_id, state",
    )
    .bind(reply.to_string())
    .fetch_optional(&mut draft.conn)
    .await?;
    let Some(row) = row else {
        return Ok(());
    };
    if row.try_get::<&str, _>("state")? == "unsent" {
        return Ok(());
    }
    draft
        .record(AuditEvent {
            session: Some(parsed(&row, "session_id", "session id")?),
            value: Some("queued text taken back".to_owned()),
            source: Some(source.to_string()),
            decided_by: Some(decided_by),
            ..AuditEvent::new(EventName::ReplyReceived)
        })
        .await
}

async fn forget(draft: &mut Draft, reply: ReplyId) -> Result<(), BackendError> {
    sqlx::query("DELETE FROM queued_texts WHERE reply_id = $1")
        .bind(reply.to_string())
        .execute(&mut draft.conn)
        .await?;
    Ok(())
}

/// A prompt has taken it.
pub(crate) async fn set_sent(draft: &mut Draft, reply: ReplyId) -> Result<(), BackendError> {
    sqlx::query("UPDATE queued_texts SET state = 'sent' WHERE reply_id = $1 AND state = 'waiting'")
        .bind(reply.to_string())
        .execute(&mut draft.conn)
        .await?;
    // The reply has it now.
    mask_text(draft, reply).await
}

/// Nobody will type it from here: what looks like a secret is taken out.
async fn mask_text(draft: &mut Draft, reply: ReplyId) -> Result<(), BackendError> {
    let text: Option<String> = sqlx::query_scalar("SELECT text FROM queued_texts WHERE reply_id = $1")
        .bind(reply.to_string())
        .fetch_optional(&mut draft.conn)
        .await?;
    let Some(Cow::Owned(masked)) = text.as_deref().map(mask_in_place) else {
        return Ok(());
    };
    draft.must_scrub = true;
    sqlx::query("UPDATE queued_texts SET text = $2 WHERE reply_id = $1")
        .bind(reply.to_string())
        .bind(masked)
        .execute(&mut draft.conn)
        .await?;
    Ok(())
}

/// One that never reached a prompt is on record here; what became of a prompt is on record with it.
pub(crate) async fn set_unsent(draft: &mut Draft, reply: ReplyId, why: &str) -> Result<(), BackendError> {
    let row = sqlx::query("SELECT * FROM queued_texts WHERE reply_id = $1 AND state IN ('waiting', 'sent')")
        .bind(reply.to_string())
        .fetch_optional(&mut draft.conn)
        .await?;
    let Some(row) = row else {
        return Ok(());
    };
    sqlx::query("UPDATE queued_texts SET state = 'unsent', why = $2 WHERE reply_id = $1")
        .bind(reply.to_string())
        .bind(why)
        .execute(&mut draft.conn)
        .await?;
    mask_text(draft, reply).await?;
    if row.try_get::<&str, _>("state")? == "sent" {
        return Ok(());
    }
    let text = text(&row)?;
    draft
        .record(AuditEvent {
            session: Some(text.session),
            value: Some(why.to_owned()),
            source: Some(text.source.to_string()),
            decided_by: Some(text.decided_by),
            ..AuditEvent::new(EventName::ReplyRejected)
        })
        .await
}

pub(crate) async fn load_waiting(
    conn: &mut SqliteConnection,
    session: SessionId,
) -> Result<Option<QueuedText>, BackendError> {
    let row = sqlx::query("SELECT * FROM queued_texts WHERE session_id = $1 AND state = 'waiting'")
        .bind(session.to_string())
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(text).transpose()
}

fn text(row: &SqliteRow) -> Result<QueuedText, BackendError> {
    let target: Option<String> = row.try_get("target")?;
    let reply_to = row.try_get("reply_to")?;
    Ok(QueuedText {
        reply: parsed(row, "reply_id", "reply id")?,
        session: parsed(row, "session_id", "session id")?,
        text: row.try_get("text")?,
        source: row.try_get::<&str, _>("source")?.into(),
        decided_by: row.try_get("decided_by")?,
        heard_at: target.map(|target| HeardAt { target, reply_to }),
    })
}
