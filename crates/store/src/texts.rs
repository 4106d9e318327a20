//! Instructions that wait for their tool, until it is known what became of each.
//!
//! # Nothing-lost-silently invariant
//! A text leaves here in the transaction that tells its sender: with the end of the prompt that took it, when it is taken back,
//! or when a newer one takes its place. What could not be sent stays to be seen until a newer text of its session comes.

use atlasbridge_model::answer::{Source, Value};
use atlasbridge_model::audit::EventName;
use atlasbridge_model::{ReplyId, SessionId};
use sqlx::sqlite::SqliteRow;

use crate::prompts::PromptRecord;
use crate::sql::{Record, get, record};
use crate::store::{BackendError, Draft, Store, StoreError};

record! {
    /// The next instruction for a tool that does not take one yet.
    #[derive(Clone, PartialEq, Eq)]
    pub struct QueuedText {
        /// The id of the reply that it becomes.
        pub reply: ReplyId = "reply_id",
        pub session: SessionId = "session_id",
        pub text: String,
        pub source: Source,
        pub decided_by: String,
        /// Where its sender hears what became of it; nowhere, if they look for themselves.
        pub heard_at: Option<HeardAt> => heard_at,
    }
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
    /// Its sender, or another operator, does not want it sent.
    TakeBack { reply: ReplyId, source: Source, decided_by: String },
    /// It was sent, and its sender knows.
    Done(ReplyId),
    /// It was not sent, and is not tried again, for this reason.
    Unsent { reply: ReplyId, why: String },
}

/// A text whose end is not known, and the prompt that it went to, if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenText {
    pub text: QueuedText,
    pub sent_to: Option<PromptRecord>,
}

/// What is looked up here.
const QUEUED: &str = "the queued texts";

impl Store {
    /// The instruction that waits for this session's tool.
    pub async fn queued_text(&self, session: SessionId) -> Result<Option<QueuedText>, StoreError> {
        self.one(QUEUED, WAITING, session).await
    }

    /// The last instruction that could not be sent, and why.
    pub async fn unsent_text(&self, session: SessionId) -> Result<Option<(QueuedText, String)>, StoreError> {
        const SQL: &str = "SELECT * FROM queued_texts WHERE session_id = $1 AND state = 'unsent'
             ORDER BY created_at DESC, rowid DESC";
        let unsent: Option<InState> = self.one(QUEUED, SQL, session).await?;
        Ok(unsent.and_then(|unsent| Some((unsent.text, unsent.why?))))
    }

    /// Texts that wait or are on their way, oldest first.
    pub async fn open_texts(&self) -> Result<Vec<OpenText>, StoreError> {
        const SQL: &str =
            "SELECT * FROM queued_texts WHERE state IN ('waiting', 'sent') ORDER BY created_at, rowid";
        let mut open = Vec::new();
        for text in self.all::<QueuedText>(QUEUED, SQL, ()).await? {
            let sent_to = self.one(QUEUED, "SELECT * FROM prompts WHERE reply_id = $1", text.reply).await?;
            open.push(OpenText { text, sent_to });
        }
        Ok(open)
    }
}

pub(crate) async fn apply(draft: &mut Draft, change: TextMove) -> Result<(), BackendError> {
    match change {
        TextMove::Queue(text) => queue(draft, text).await,
        TextMove::TakeBack { reply, source, decided_by } => {
            // One that is on its way, or over, cannot be taken back: nothing changes then. What was not sent is merely put away.
            const SQL: &str =
                "DELETE FROM queued_texts WHERE reply_id = $1 AND state IN ('waiting', 'unsent') RETURNING *";
            let taken: Option<InState> = draft.one(SQL, reply).await?;
            let Some(taken) = taken.filter(|taken| taken.state == "waiting") else { return Ok(()) };
            let (session, by) = (Some(taken.text.session), Some((&source, decided_by)));
            draft.note(EventName::ReplyReceived, session, None, "queued text taken back", by).await
        }
        TextMove::Done(reply) => {
            draft.run("DELETE FROM queued_texts WHERE reply_id = $1", reply).await.map(drop)
        }
        TextMove::Unsent { reply, why } => set_unsent(draft, reply, &why).await,
    }
}

/// An instruction for a session that has ended reaches no tool, and is not kept.
async fn queue(draft: &mut Draft, text: QueuedText) -> Result<(), BackendError> {
    const OVER: &str = "DELETE FROM queued_texts WHERE session_id = $1 AND state IN ('waiting', 'unsent')";
    const NEW: &str =
        "INSERT INTO queued_texts (reply_id, session_id, text, source, decided_by, target, reply_to, state, created_at)
         SELECT $1, id, $3, $4, $5, $6, $7, 'waiting', $8 FROM sessions WHERE id = $2 AND status = 'active'";
    let QueuedText { reply, session, text, source, decided_by, heard_at } = text;
    draft.run(OVER, session).await?;
    let (target, reply_to) = heard_at.map(|heard| (heard.target, heard.reply_to)).unzip();
    let cells = (reply, session, &text, &source, &decided_by, target, reply_to.flatten(), draft.now.wall);
    if draft.run(NEW, cells).await? == 0 {
        return Ok(());
    }
    let value = format!("{}, queued", Value::Text(text).on_record());
    draft.note(EventName::ReplyReceived, Some(session), None, value, Some((&source, decided_by))).await
}

/// A prompt has taken it.
pub(crate) async fn set_sent(draft: &mut Draft, reply: ReplyId) -> Result<(), BackendError> {
    const SQL: &str = "UPDATE queued_texts SET state = 'sent' WHERE reply_id = $1 AND state = 'waiting'";
    draft.run(SQL, reply).await?;
    // The reply has it now.
    mask_text(draft, reply).await
}

/// It is not typed from here: what looks like a secret is taken out.
async fn mask_text(draft: &mut Draft, reply: ReplyId) -> Result<(), BackendError> {
    const SQL: &str = "SELECT text FROM queued_texts WHERE reply_id = $1";
    draft.mask(SQL, "UPDATE queued_texts SET text = $2 WHERE reply_id = $1", reply).await
}

/// One that never reached a prompt is on record here; what became of a prompt is on record with it.
pub(crate) async fn set_unsent(draft: &mut Draft, reply: ReplyId, why: &str) -> Result<(), BackendError> {
    const OPEN: &str = "SELECT * FROM queued_texts WHERE reply_id = $1 AND state IN ('waiting', 'sent')";
    let Some(InState { text, state, .. }) = draft.one(OPEN, reply).await? else {
        return Ok(());
    };
    const UNSENT: &str = "UPDATE queued_texts SET state = 'unsent', why = $2 WHERE reply_id = $1";
    draft.run(UNSENT, (reply, why)).await?;
    mask_text(draft, reply).await?;
    if state == "sent" {
        return Ok(());
    }
    let by = Some((&text.source, text.decided_by));
    draft.note(EventName::ReplyRejected, Some(text.session), None, why, by).await
}

/// The instruction that waits for a session's tool.
pub(crate) const WAITING: &str = "SELECT * FROM queued_texts WHERE session_id = $1 AND state = 'waiting'";

fn heard_at(row: &SqliteRow) -> Result<Option<HeardAt>, BackendError> {
    let (target, reply_to): (Option<String>, _) = (get(row, "target")?, get(row, "reply_to")?);
    Ok(target.map(|target| HeardAt { target, reply_to }))
}

record! {
    /// A text, and whether it waits, was sent, or was not.
    struct InState {
        text: QueuedText => Record::read,
        state: String,
        /// Why it was not.
        why: Option<String>,
    }
}
