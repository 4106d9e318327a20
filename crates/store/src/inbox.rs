//! What came from channels, and what follows from it: numbers of updates, questions of ours, the state of chats.
//!
//! # Each-update-once invariant
//! The number of an update is written in the transaction of everything that the update causes. A number that is there
//! changes nothing, so an update that a service or a crash repeats happens once; and a channel confirms an update only after
//! that transaction, so what did not happen comes again.

use atlasbridge_model::audit::AuditEvent;
use atlasbridge_model::{Now, Timestamp};

use crate::notices::{self, NewNotice};
use crate::posts::{self, PostId};
use crate::sessions::{self, Resume};
use crate::sql::record;
use crate::store::{BackendError, Draft, Store, StoreError, Work};
use crate::texts::{self, TextMove};

/// The update that brought something, by its channel's count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CameBy {
    pub channel: String,
    pub update: i64,
}

/// What became of something that happens once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once<T> {
    First(T),
    /// The update was handled before: nothing changed, and nothing is on record twice.
    Repeated,
}

/// What became of an update that was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    Done,
    /// The question was answered before, or is too old: nothing that should have followed did.
    AskGone,
    Repeated,
}

/// All that follows from an update besides the answer that it may be. By default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowUp {
    pub audit: Option<AuditEvent>,
    pub notices: Vec<NewNotice>,
    pub chat: Vec<ChatChange>,
    /// A question of ours, to be answered later.
    pub ask: Option<NewAsk>,
    /// The token of the question that this answers.
    pub take_ask: Option<String>,
    /// Show this much of the detail on this message.
    pub level: Option<(PostId, u8)>,
    pub resume: Option<Resume>,
    pub text: Option<TextMove>,
}

/// One thing that a chat remembers. `None` forgets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatChange {
    pub channel: String,
    pub target: String,
    pub key: String,
    pub value: Option<String>,
}

record! {
    /// A question of ours that waits for a tap. `what` is the hub's own note of it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NewAsk {
        pub token: String,
        pub channel: String,
        pub target: String,
        pub what: String,
        pub expires_at: Timestamp,
    }
}

/// Numbers that are remembered below the highest. A service repeats what was not confirmed, never so much of it.
const REMEMBERED: i64 = 10_000;

/// After a week without updates Telegram may begin its numbers anew, lower ones too. Repeats are not to be feared
/// then: it keeps unconfirmed updates for a day. In milliseconds.
const NUMBERS_LAST_MS: i64 = 6 * 24 * 3600 * 1000;

impl Store {
    /// Something that happened and all that follows from it, in one transaction: an update of a channel, which happens once,
    /// or with `came` absent something that has no number. What answers or cancels a prompt goes through
    /// [`Store::accept`] or [`Store::cancel`] instead.
    pub async fn follow_up(
        &self,
        came: Option<CameBy>,
        follow: FollowUp,
        now: Now,
    ) -> Result<Handling, StoreError> {
        const WHAT: &str = "recording what follows from a request";
        self.write(WHAT, now, move |draft| Box::pin(handle(draft, came, follow))).await
    }

    /// Work that happens once, with the update that brought it and all that follows from what became of it, which `then`
    /// says, in one transaction.
    pub(crate) async fn once<T: Send + Sync + 'static>(
        &self,
        what: String,
        came: Option<CameBy>,
        then: impl FnOnce(&T) -> FollowUp + Send + 'static,
        now: Now,
        work: impl for<'d> FnOnce(&'d mut Draft) -> Work<'d, T> + Send + 'static,
    ) -> Result<Once<T>, StoreError> {
        self.write(what, now, move |draft| {
            Box::pin(async move {
                if !is_first(draft, came.as_ref()).await? {
                    return Ok(Once::Repeated);
                }
                let outcome = work(draft).await?;
                apply(draft, then(&outcome)).await?;
                Ok(Once::First(outcome))
            })
        })
        .await
    }

    /// Where the channel goes on asking for updates: one after the highest that was handled. `None`: from the
    /// beginning, for none was handled, or so long ago that the numbers may have begun anew.
    pub async fn offset(&self, channel: &str, now: Now) -> Result<Option<i64>, StoreError> {
        let since = now.wall.plus_millis(-NUMBERS_LAST_MS);
        self.one("the number of the last update", LASTING_OFFSET, (channel, since)).await
    }

    /// When the channel last heard from its service.
    pub async fn polled_at(&self, channel: &str) -> Result<Option<Timestamp>, StoreError> {
        const SQL: &str = "SELECT value FROM channel_state WHERE channel = $1 AND key = $2";
        self.one("the last poll", SQL, (channel, POLLED_AT)).await
    }

    pub async fn set_polled_at(&self, channel: &str, now: Now) -> Result<(), StoreError> {
        let channel = channel.to_owned();
        self.write("recording a poll", now, move |draft| {
            Box::pin(async move {
                draft.is_book_keeping = true;
                set_number(draft, &channel, POLLED_AT, draft.now.wall.0).await
            })
        })
        .await
    }

    /// What a chat remembers under this key.
    pub async fn chat_state(
        &self,
        channel: &str,
        target: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        const SQL: &str = "SELECT value FROM chat_state WHERE channel = $1 AND target = $2 AND key = $3";
        self.one("what a chat remembers", SQL, (channel, target, key)).await
    }

    /// The question behind a token, unless it was answered or is too old. The transaction that acts on the answer takes it, with
    /// [`FollowUp::take_ask`].
    pub async fn ask(&self, token: &str, now: Now) -> Result<Option<NewAsk>, StoreError> {
        const SQL: &str = "SELECT * FROM asks WHERE token = $1 AND expires_at > $2";
        self.one("a question", SQL, (token, now.wall)).await
    }
}

/// The offset, where the numbers of old updates still mean something: one was handled after `$2`.
const LASTING_OFFSET: &str = "SELECT value FROM channel_state WHERE channel = $1 AND key = 'offset'
     AND EXISTS (SELECT 1 FROM channel_state WHERE channel = $1 AND key = 'handled_at' AND value > $2)";
const POLLED_AT: &str = "polled_at";

async fn handle(
    draft: &mut Draft,
    came: Option<CameBy>,
    mut handled: FollowUp,
) -> Result<Handling, BackendError> {
    if !is_first(draft, came.as_ref()).await? {
        return Ok(Handling::Repeated);
    }
    if let Some(token) = handled.take_ask.take()
        && !take_ask(draft, &token).await?
    {
        return Ok(Handling::AskGone);
    }
    apply(draft, handled).await?;
    Ok(Handling::Done)
}

/// Puts the number of an update on record. `false`: it was handled before.
async fn is_first(draft: &mut Draft, came: Option<&CameBy>) -> Result<bool, BackendError> {
    let Some(came) = came else { return Ok(true) };
    let since = draft.now.wall.plus_millis(-NUMBERS_LAST_MS);
    let offset: Option<i64> = draft.one(LASTING_OFFSET, (&came.channel, since)).await?;
    if offset.is_none() {
        draft.run("DELETE FROM inbox WHERE channel = $1", &came.channel).await?;
    }
    if offset.is_some_and(|offset| came.update < offset.saturating_sub(REMEMBERED)) {
        return Ok(false);
    }
    const SQL: &str =
        "INSERT INTO inbox (channel, update_no, handled_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    if draft.run(SQL, (&came.channel, came.update, draft.now.wall)).await? == 0 {
        return Ok(false);
    }
    let next = came.update.saturating_add(1).max(offset.unwrap_or(i64::MIN));
    set_number(draft, &came.channel, "offset", next).await?;
    set_number(draft, &came.channel, "handled_at", draft.now.wall.0).await?;
    let forgotten = (&came.channel, next.saturating_sub(REMEMBERED));
    draft.run("DELETE FROM inbox WHERE channel = $1 AND update_no < $2", forgotten).await?;
    Ok(true)
}

async fn set_number(draft: &mut Draft, channel: &str, key: &str, value: i64) -> Result<(), BackendError> {
    const SQL: &str = "INSERT INTO channel_state (channel, key, value) VALUES ($1, $2, $3)
         ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value";
    draft.run(SQL, (channel, key, value)).await.map(drop)
}

/// All that follows. A question that is gone changes nothing any more: an answer or a cancellation had the prompt's own guard
/// for a judge, and where the question itself is the judge, `handle` has taken it.
pub(crate) async fn apply(draft: &mut Draft, handled: FollowUp) -> Result<(), BackendError> {
    if let Some(token) = &handled.take_ask {
        take_ask(draft, token).await?;
    }
    if let Some(event) = handled.audit {
        draft.record(event).await?;
    }
    if let Some(resume) = handled.resume {
        sessions::resume_paused(draft, resume).await?;
    }
    if let Some(change) = handled.text {
        texts::apply(draft, change).await?;
    }
    if let Some((post, level)) = handled.level {
        posts::show_more(draft, post, level).await?;
    }
    if let Some(ask) = handled.ask {
        insert_ask(draft, ask).await?;
    }
    for change in handled.chat {
        change_chat(draft, change).await?;
    }
    for notice in handled.notices {
        notices::insert(draft, notice).await?;
    }
    Ok(())
}

async fn take_ask(draft: &mut Draft, token: &str) -> Result<bool, BackendError> {
    const SQL: &str = "DELETE FROM asks WHERE token = $1 AND expires_at > $2";
    Ok(draft.run(SQL, (token, draft.now.wall)).await? == 1)
}

async fn insert_ask(draft: &mut Draft, ask: NewAsk) -> Result<(), BackendError> {
    const SQL: &str = "INSERT OR REPLACE INTO asks (token, channel, target, what, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)";
    let now = draft.now.wall;
    draft.run("DELETE FROM asks WHERE expires_at <= $1", now).await?;
    draft.run(SQL, (ask.token, ask.channel, ask.target, ask.what, now, ask.expires_at)).await.map(drop)
}

async fn change_chat(draft: &mut Draft, change: ChatChange) -> Result<(), BackendError> {
    let sql = match &change.value {
        Some(_) => {
            "INSERT INTO chat_state (channel, target, key, value) VALUES ($1, $2, $3, $4)
             ON CONFLICT (channel, target, key) DO UPDATE SET value = excluded.value"
        }
        None => "DELETE FROM chat_state WHERE channel = $1 AND target = $2 AND key = $3 AND $4 IS NULL",
    };
    draft.run(sql, (change.channel, change.target, change.key, change.value)).await.map(drop)
}
