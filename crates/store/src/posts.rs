//! Posts: one message of a prompt on a target, what it shows, and what it should show.
//!
//! Nobody queues edits. Every move of a prompt adds one to what is *wanted* of its posts, in its own transaction; a
//! channel shows the prompt as it stands and says which number that was. A post is done when both are the same.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{BootTime, Nonce, Now, PromptId, SessionId};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::prompts::{PromptRecord, Reply, load};
use crate::rows::{self, parsed, unreadable};
use crate::sessions::{SessionRecord, sessions};
use crate::store::{BackendError, Draft, Store, StoreError, attempting};

/// Which post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostId(pub i64);

/// One message of a prompt on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub id: PostId,
    pub channel: String,
    pub target: String,
    pub prompt: PromptId,
    pub session: SessionId,
    /// The right to answer that the message carries. Where the prompt has another one by now, it was offered again.
    pub nonce: Nonce,
    /// `None`: not known to be sent.
    pub address: Option<String>,
    /// How much of the detail is shown.
    pub level: u8,
    pub wanted: i64,
    pub shown: i64,
    /// When it may first be sent, on the clock of its prompt's boot.
    pub not_before: BootTime,
    /// Why nothing more is done for it.
    pub dead: Option<String>,
}

/// A post that must be sent or edited, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePost {
    pub post: Post,
    pub prompt: PromptRecord,
    pub session: SessionRecord,
    pub reply: Option<Reply>,
}

impl DuePost {
    /// The prompt was offered again since: this message is history.
    pub fn is_replaced(&self) -> bool {
        self.post.nonce != self.prompt.nonce
    }
}

/// What may be worked on: there is something to show, and somebody may see it. A message that was never sent is not
/// begun before its turn has come, when its time is over, or while its session is paused.
const WORKABLE: &str = "p.dead IS NULL AND (p.address IS NULL OR p.shown < p.wanted)
    AND (p.address IS NOT NULL OR (q.nonce = p.nonce AND q.status = 'awaiting_reply'
        AND q.boot_id = $2 AND (q.deadline IS NULL OR q.deadline > $3)
        AND s.paused_at IS NULL))";

/// Notices of one target that are read at once.
pub(crate) const MOST_DUE: i64 = 20;

impl Store {
    /// Wants a prompt shown on these targets, with its present right to answer. What is there already stays as it is,
    /// and a prompt that cannot be answered is not offered. Returns how many posts are new.
    pub async fn offer(
        &self,
        prompt: PromptId,
        channel: &str,
        targets: &[String],
        not_before: BootTime,
        now: Now,
    ) -> Result<u64, StoreError> {
        let (channel, targets) = (channel.to_owned(), targets.to_vec());
        self.write(now, move |draft| {
            Box::pin(async move {
                let mut fresh = 0;
                for target in &targets {
                    fresh += insert(draft, prompt, &channel, target, not_before).await?;
                }
                Ok(fresh)
            })
        })
        .await
        .map_err(attempting("recording where a prompt is offered"))
    }

    /// What is to be done now: first the messages whose buttons must go, then new ones, then other edits; of each
    /// sort so many of the oldest on each target.
    pub async fn due_posts(&self, channel: &str, portion: u32, now: Now) -> Result<Vec<DuePost>, StoreError> {
        self.read_due(channel, portion, now).await.map_err(attempting("looking up the posts to be shown"))
    }

    /// When a post on a channel becomes due by time alone. What is due already is not counted: it waits for its target, and
    /// whoever holds that says so.
    pub async fn next_post_time(&self, channel: &str, now: Now) -> Result<Option<BootTime>, StoreError> {
        let sql = format!(
            "SELECT MIN(p.not_before) FROM posts p JOIN prompts q ON q.id = p.prompt_id
                 JOIN sessions s ON s.id = p.session_id
             WHERE p.channel = $1 AND p.address IS NULL AND p.not_before > $3 AND {WORKABLE}"
        );
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(channel)
            .bind(self.boot_id.to_string())
            .bind(now.boot.0)
            .fetch_one(&self.reader)
            .await
            .map(|at: Option<i64>| at.map(BootTime))
            .map_err(attempting("looking up when something is to be shown"))
    }

    /// The message is there. One that was given up meanwhile is not: what stands in a chat must be kept true.
    pub async fn posted(&self, post: PostId, address: &str, shown: i64, now: Now) -> Result<(), StoreError> {
        let address = address.to_owned();
        self.change_posts("where a prompt is shown", now, move |draft| {
            Box::pin(async move {
                let updated = sqlx::query(
                    "UPDATE posts SET address = $2, shown = MAX(shown, $3), dead = NULL
                     WHERE id = $1 AND (address IS NULL OR address = $2)",
                )
                .bind(post.0)
                .bind(&address)
                .bind(shown)
                .execute(&mut draft.conn)
                .await?;
                if updated.rows_affected() > 0 {
                    return Ok(updated.rows_affected());
                }
                // A message of an earlier hub was found again while this one was on its way: both stand in the chat.
                let updated = sqlx::query(
                    "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, copy, address, level, wanted,
                                        shown, closed, not_before)
                     SELECT channel, target, prompt_id, session_id, nonce,
                            (SELECT MAX(copy) + 1 FROM posts o WHERE o.channel = p.channel AND o.target = p.target
                                AND o.prompt_id = p.prompt_id AND o.nonce = p.nonce),
                            $2, level, wanted, $3, closed, not_before
                     FROM posts p WHERE id = $1",
                )
                .bind(post.0)
                .bind(&address)
                .bind(shown)
                .execute(&mut draft.conn)
                .await?;
                Ok(updated.rows_affected())
            })
        })
        .await?;
        Ok(())
    }

    /// The message shows the prompt as it stood when this number was wanted.
    pub async fn edited(&self, post: PostId, shown: i64, now: Now) -> Result<(), StoreError> {
        self.change_posts("what a message shows", now, move |draft| {
            Box::pin(async move {
                let updated = sqlx::query("UPDATE posts SET shown = MAX(shown, $2) WHERE id = $1")
                    .bind(post.0)
                    .bind(shown)
                    .execute(&mut draft.conn)
                    .await?;
                Ok(updated.rows_affected())
            })
        })
        .await?;
        Ok(())
    }

    /// Nothing more is done for it.
    pub async fn drop_post(&self, post: PostId, why: &str, now: Now) -> Result<(), StoreError> {
        let why = why.to_owned();
        self.change_posts("that a message is given up", now, move |draft| {
            Box::pin(async move {
                let updated = sqlx::query("UPDATE posts SET dead = $2 WHERE id = $1")
                    .bind(post.0)
                    .bind(why)
                    .execute(&mut draft.conn)
                    .await?;
                Ok(updated.rows_affected())
            })
        })
        .await?;
        Ok(())
    }

    /// The prompts that wait for an answer and are known to stand in a chat of this channel, oldest first.
    pub async fn shown_and_waiting(&self, channel: &str) -> Result<Vec<PromptRecord>, StoreError> {
        const WHAT: &str = "looking up what waits on a channel";
        let rows = sqlx::query(
            "SELECT * FROM prompts q WHERE q.status = 'awaiting_reply' AND EXISTS (SELECT 1 FROM posts p
                 WHERE p.prompt_id = q.id AND p.channel = $1 AND p.address IS NOT NULL)
             ORDER BY created_at, session_id, sighting",
        )
        .bind(channel)
        .fetch_all(&self.reader)
        .await
        .map_err(attempting(WHAT))?;
        rows.iter().map(rows::prompt).collect::<Result<_, _>>().map_err(attempting(WHAT))
    }

    /// The prompt that a message shows.
    pub async fn post_at(
        &self,
        channel: &str,
        address: &str,
    ) -> Result<Option<(Post, PromptRecord)>, StoreError> {
        const WHAT: &str = "looking up the prompt of a message";
        let row = sqlx::query("SELECT * FROM posts WHERE channel = $1 AND address = $2")
            .bind(channel)
            .bind(address)
            .fetch_optional(&self.reader)
            .await
            .map_err(BackendError::from)
            .and_then(|row| row.as_ref().map(post).transpose())
            .map_err(attempting(WHAT))?;
        let Some(post) = row else {
            return Ok(None);
        };
        let prompt = self.prompt(post.prompt).await?;
        Ok(prompt.map(|prompt| (post, prompt)))
    }

    /// All messages of a prompt, in the order in which they were wanted.
    pub async fn posts_of(&self, prompt: PromptId) -> Result<Vec<Post>, StoreError> {
        let rows = sqlx::query("SELECT * FROM posts WHERE prompt_id = $1 ORDER BY id")
            .bind(prompt.to_string())
            .fetch_all(&self.reader)
            .await;
        rows.map_err(BackendError::from)
            .and_then(|rows| rows.iter().map(post).collect())
            .map_err(attempting("looking up the posts of a prompt"))
    }

    /// Time goes by: wants the countdown of waiting prompts shown anew. Those that are behind already show it with
    /// their next edit. Returns how many.
    pub async fn touch_waiting(&self, channel: &str, now: Now) -> Result<u64, StoreError> {
        let channel = channel.to_owned();
        self.change_posts("that time goes by", now, move |draft| {
            Box::pin(async move {
                let touched = sqlx::query(
                    "UPDATE posts SET wanted = wanted + 1
                     WHERE (prompt_id, nonce) IN
                         (SELECT id, nonce FROM prompts WHERE status = 'awaiting_reply' AND deadline IS NOT NULL)
                         AND channel = $1 AND address IS NOT NULL AND dead IS NULL AND shown >= wanted",
                )
                .bind(channel)
                .execute(&mut draft.conn)
                .await?;
                Ok(touched.rows_affected())
            })
        })
        .await
    }

    async fn change_posts<W>(&self, what: &'static str, now: Now, work: W) -> Result<u64, StoreError>
    where
        W: for<'d> FnOnce(&'d mut Draft) -> crate::store::Work<'d, u64> + Send + 'static,
    {
        self.write(now, work).await.map_err(attempting(format!("recording {what}")))
    }

    async fn read_due(&self, channel: &str, portion: u32, now: Now) -> Result<Vec<DuePost>, BackendError> {
        // One picture of everything: a prompt that is older than its post's number would be shown as if it were
        // the newest.
        let mut view = self.reader.begin().await?;
        let sql = format!(
            "WITH work AS (
                 SELECT p.*, CASE WHEN p.address IS NOT NULL AND p.shown < p.closed THEN 0
                     WHEN p.address IS NULL THEN 1 ELSE 2 END AS turn
                 FROM posts p JOIN prompts q ON q.id = p.prompt_id JOIN sessions s ON s.id = p.session_id
                 WHERE p.channel = $1 AND (p.address IS NOT NULL OR p.not_before <= $3) AND {WORKABLE})
             SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY target, turn ORDER BY id) AS place FROM work)
             WHERE place <= $4 ORDER BY turn, id"
        );
        let found = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(channel)
            .bind(self.boot_id.to_string())
            .bind(now.boot.0)
            .bind(portion)
            .fetch_all(&mut *view)
            .await?;
        let mut due = Vec::with_capacity(found.len());
        for row in &found {
            due.push(with_context(&mut view, post(row)?).await?);
        }
        Ok(due)
    }
}

async fn with_context(view: &mut SqliteConnection, post: Post) -> Result<DuePost, BackendError> {
    let prompt = load(view, post.prompt).await?.ok_or(sqlx::Error::RowNotFound)?;
    let row = sqlx::query("SELECT * FROM sessions WHERE id = $1")
        .bind(post.session.to_string())
        .fetch_all(&mut *view)
        .await;
    let session = sessions("the session of a post", row)
        .map_err(|error| error.source)?
        .pop()
        .ok_or(sqlx::Error::RowNotFound)?;
    let reply = sqlx::query("SELECT * FROM replies WHERE prompt_id = $1")
        .bind(post.prompt.to_string())
        .fetch_optional(view)
        .await?;
    Ok(DuePost { reply: reply.as_ref().map(rows::reply).transpose()?, post, prompt, session })
}

/// Whether a message of a prompt may have buttons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answerable {
    Yes,
    No,
}

impl Answerable {
    pub(crate) fn of(state: &PromptState) -> Self {
        match state {
            PromptState::Created | PromptState::Routed | PromptState::AwaitingReply => Answerable::Yes,
            PromptState::ReplyReceived { .. }
            | PromptState::Expired { .. }
            | PromptState::Injected { .. }
            | PromptState::Resolved { .. }
            | PromptState::Canceled { .. }
            | PromptState::Failed { .. } => Answerable::No,
        }
    }
}

/// The prompt has moved: what shows it must be shown anew, and what was not sent yet need not be sent once nobody can
/// answer. A message that says that it was replaced stays as it is.
pub(crate) async fn touch(
    draft: &mut Draft,
    prompt: PromptId,
    answerable: Answerable,
) -> Result<(), BackendError> {
    sqlx::query(
        "UPDATE posts SET wanted = wanted + 1,
             closed = CASE WHEN $2 THEN COALESCE(closed, wanted + 1) ELSE closed END,
             dead = CASE WHEN $2 AND address IS NULL THEN 'the prompt was over' ELSE dead END
         WHERE prompt_id = $1 AND (dead IS NULL OR address IS NULL)
             AND nonce = (SELECT nonce FROM prompts WHERE id = $1)",
    )
    .bind(prompt.to_string())
    .bind(answerable == Answerable::No)
    .execute(&mut draft.conn)
    .await?;
    Ok(())
}

/// How much of the detail a message shows; more at a time is never too much.
pub(crate) async fn show_more(draft: &mut Draft, post: PostId, level: u8) -> Result<(), BackendError> {
    sqlx::query("UPDATE posts SET level = $2, wanted = wanted + 1 WHERE id = $1 AND level < $2")
        .bind(post.0)
        .bind(level)
        .execute(&mut draft.conn)
        .await?;
    Ok(())
}

async fn insert(
    draft: &mut Draft,
    prompt: PromptId,
    channel: &str,
    target: &str,
    not_before: BootTime,
) -> Result<u64, BackendError> {
    let inserted = sqlx::query(
        "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, not_before)
         SELECT $1, $2, id, session_id, nonce, $3 FROM prompts
             WHERE id = $4 AND status IN ('created', 'routed', 'awaiting_reply')
         ON CONFLICT DO NOTHING",
    )
    .bind(channel)
    .bind(target)
    .bind(not_before.0)
    .bind(prompt.to_string())
    .execute(&mut draft.conn)
    .await?;
    Ok(inserted.rows_affected())
}

pub(crate) fn post(row: &SqliteRow) -> Result<Post, BackendError> {
    Ok(Post {
        id: PostId(row.try_get("id")?),
        channel: row.try_get("channel")?,
        target: row.try_get("target")?,
        prompt: parsed(row, "prompt_id", "prompt id")?,
        session: parsed(row, "session_id", "session id")?,
        nonce: parsed(row, "nonce", "nonce")?,
        address: row.try_get("address")?,
        level: u8::try_from(row.try_get::<i64, _>("level")?).map_err(|_| unreadable("level of detail"))?,
        wanted: row.try_get("wanted")?,
        shown: row.try_get("shown")?,
        not_before: BootTime(row.try_get("not_before")?),
        dead: row.try_get("dead")?,
    })
}
