//! Posts: one message of a prompt on a target, what it shows, and what it should show.
//!
//! There is no queue of edits. Every move of a prompt adds one to what is *wanted* of its posts, in its own transaction; a
//! channel shows the prompt as it stands and says which number that was. A post is done when both are the same.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{BootTime, Nonce, Now, PromptId};

use crate::prompts::{self, PromptRecord, Reply};
use crate::sessions::{self, SessionRecord};
use crate::sql::{self, record};
use crate::store::{BackendError, Draft, Store, StoreError, looking_up};

/// Which post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostId(pub i64);

record! {
    /// One message of a prompt on a target.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Post {
        pub id: PostId,
        pub target: String,
        pub prompt: PromptId = "prompt_id",
        /// The right to answer that the message carries. Where the prompt has another one by now, it was offered again.
        pub nonce: Nonce,
        /// `None`: not known to be sent.
        pub address: Option<String>,
        /// How much of the detail is shown.
        pub level: u8,
        pub wanted: i64,
        /// When it may first be sent, on the clock of its prompt's boot.
        pub not_before: BootTime,
        /// Why nothing more is done for it.
        pub dead: Option<String>,
    }
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

/// What may be worked on: there is something to show, and a person may see it. A message that was never sent is not
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
        self.write("recording where a prompt is offered", now, move |draft| {
            Box::pin(async move {
                let mut fresh = 0;
                for target in &targets {
                    fresh += draft.run(OFFER, (&channel, target, not_before, prompt)).await?;
                }
                Ok(fresh)
            })
        })
        .await
    }

    /// What is to be done now: first the messages whose buttons must go, then new ones, then other edits; of each
    /// sort so many of the oldest on each target.
    pub async fn due_posts(&self, channel: &str, portion: u32, now: Now) -> Result<Vec<DuePost>, StoreError> {
        self.read_due(channel, portion, now).await.map_err(looking_up("the posts to be shown"))
    }

    /// When a post on a channel becomes due by time alone. What is due already is not counted: it waits for its target, and
    /// the task that holds the target says so.
    pub async fn next_post_time(&self, channel: &str, now: Now) -> Result<Option<BootTime>, StoreError> {
        let sql = format!(
            "SELECT MIN(p.not_before) FROM posts p JOIN prompts q ON q.id = p.prompt_id
                 JOIN sessions s ON s.id = p.session_id
             WHERE p.channel = $1 AND p.address IS NULL AND p.not_before > $3 AND {WORKABLE}"
        );
        let cells = (channel, &*self.boot_id, now.boot);
        Ok(self.one("when something is to be shown", sqlx::AssertSqlSafe(sql), cells).await?.flatten())
    }

    /// The message is there. One that was given up meanwhile is not: what stands in a chat must be kept true.
    pub async fn posted(&self, post: PostId, address: &str, shown: i64, now: Now) -> Result<(), StoreError> {
        let address = address.to_owned();
        self.write("recording where a prompt is shown", now, move |draft| {
            Box::pin(async move {
                let there = (post, &address, shown);
                if draft.run(POSTED, there).await? == 0 {
                    draft.run(POSTED_TWICE, there).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The message shows the prompt as it stood when this number was wanted.
    pub async fn edited(&self, post: PostId, shown: i64, now: Now) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE posts SET shown = MAX(shown, $2) WHERE id = $1";
        self.change("recording what a message shows", now, SQL, (post, shown)).await.map(drop)
    }

    /// Nothing more is done for it.
    pub async fn drop_post(&self, post: PostId, why: &str, now: Now) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE posts SET dead = $2 WHERE id = $1";
        let why = (post, why.to_owned());
        self.change("recording that a message is given up", now, SQL, why).await.map(drop)
    }

    /// The prompts that wait for an answer and are known to stand in a chat of this channel, oldest first.
    pub async fn shown_and_waiting(&self, channel: &str) -> Result<Vec<PromptRecord>, StoreError> {
        const SQL: &str =
            "SELECT * FROM prompts q WHERE q.status = 'awaiting_reply' AND EXISTS (SELECT 1 FROM posts p
                 WHERE p.prompt_id = q.id AND p.channel = $1 AND p.address IS NOT NULL)
             ORDER BY created_at, session_id, sighting";
        self.all("what waits on a channel", SQL, channel).await
    }

    /// The prompt that a message shows.
    pub async fn post_at(
        &self,
        channel: &str,
        address: &str,
    ) -> Result<Option<(Post, PromptRecord)>, StoreError> {
        let post: Option<Post> = self.one("the prompt of a message", AT, (channel, address)).await?;
        let Some(post) = post else { return Ok(None) };
        let prompt = self.prompt(post.prompt).await?;
        Ok(prompt.map(|prompt| (post, prompt)))
    }

    /// All messages of a prompt, in the order in which they were wanted.
    pub async fn posts_of(&self, prompt: PromptId) -> Result<Vec<Post>, StoreError> {
        const SQL: &str = "SELECT * FROM posts WHERE prompt_id = $1 ORDER BY id";
        self.all("the posts of a prompt", SQL, prompt).await
    }

    /// Time goes by: wants the countdown of waiting prompts shown anew. Those that are behind already show it with
    /// their next edit. Returns how many.
    pub async fn touch_waiting(&self, channel: &str, now: Now) -> Result<u64, StoreError> {
        const SQL: &str = "UPDATE posts SET wanted = wanted + 1
             WHERE (prompt_id, nonce) IN
                 (SELECT id, nonce FROM prompts WHERE status = 'awaiting_reply' AND deadline IS NOT NULL)
                 AND channel = $1 AND address IS NOT NULL AND dead IS NULL AND shown >= wanted";
        self.change("recording that time goes by", now, SQL, channel.to_owned()).await
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
        let cells = (channel, &*self.boot_id, now.boot, i64::from(portion));
        let found: Vec<Post> = sql::all(&mut *view, sqlx::AssertSqlSafe(sql), cells).await?;
        let mut due = Vec::with_capacity(found.len());
        for post in found {
            let prompt: Option<PromptRecord> = sql::one(&mut *view, prompts::BY_ID, post.prompt).await?;
            let prompt = prompt.ok_or(sqlx::Error::RowNotFound)?;
            let session = sql::one(&mut *view, sessions::BY_ID, prompt.session).await?;
            let session = session.ok_or(sqlx::Error::RowNotFound)?;
            let reply = sql::one(&mut *view, prompts::REPLY_OF, prompt.id).await?;
            due.push(DuePost { post, prompt, session, reply });
        }
        Ok(due)
    }
}

/// The post that a message is.
pub(crate) const AT: &str = "SELECT * FROM posts WHERE channel = $1 AND address = $2";

const OFFER: &str = "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, not_before)
     SELECT $1, $2, id, session_id, nonce, $3 FROM prompts
         WHERE id = $4 AND status IN ('created', 'routed', 'awaiting_reply')
     ON CONFLICT DO NOTHING";

const POSTED: &str = "UPDATE posts SET address = $2, shown = MAX(shown, $3), dead = NULL
     WHERE id = $1 AND (address IS NULL OR address = $2)";

/// A message of an earlier hub was found again while this one was on its way: both stand in the chat.
const POSTED_TWICE: &str =
    "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, copy, address, level,
                            wanted, shown, closed, not_before)
     SELECT channel, target, prompt_id, session_id, nonce,
            (SELECT MAX(copy) + 1 FROM posts o WHERE o.channel = p.channel AND o.target = p.target
                AND o.prompt_id = p.prompt_id AND o.nonce = p.nonce),
            $2, level, wanted, $3, closed, not_before
     FROM posts p WHERE id = $1";

/// Whether a message of a prompt may have buttons.
pub(crate) fn is_answerable(state: &PromptState) -> bool {
    match state {
        PromptState::Created | PromptState::Routed | PromptState::AwaitingReply => true,
        PromptState::ReplyReceived { .. }
        | PromptState::Expired { .. }
        | PromptState::Injected { .. }
        | PromptState::Resolved { .. }
        | PromptState::Canceled { .. }
        | PromptState::Failed { .. } => false,
    }
}

/// The prompt has moved: what shows it must be shown anew, and what was not sent yet need not be sent once nobody can
/// answer. A message that says that it was replaced stays as it is.
pub(crate) async fn touch(draft: &mut Draft, prompt: &PromptRecord) -> Result<(), BackendError> {
    const SQL: &str = "UPDATE posts SET wanted = wanted + 1,
             closed = CASE WHEN $2 THEN COALESCE(closed, wanted + 1) ELSE closed END,
             dead = CASE WHEN $2 AND address IS NULL THEN 'the prompt was over' ELSE dead END
         WHERE prompt_id = $1 AND (dead IS NULL OR address IS NULL)
             AND nonce = (SELECT nonce FROM prompts WHERE id = $1)";
    draft.run(SQL, (prompt.id, !is_answerable(&prompt.state))).await.map(drop)
}

/// How much of the detail a message shows; more at a time is never too much.
pub(crate) async fn show_more(draft: &mut Draft, post: PostId, level: u8) -> Result<(), BackendError> {
    const SQL: &str = "UPDATE posts SET level = $2, wanted = wanted + 1 WHERE id = $1 AND level < $2";
    draft.run(SQL, (post, level)).await.map(drop)
}
