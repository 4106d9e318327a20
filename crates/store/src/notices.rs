//! Messages that are no prompts: kept until their channel has sent them.

use atlasbridge_model::Now;

use crate::posts::MOST_DUE;
use crate::sql::record;
use crate::store::{BackendError, Draft, Store, StoreError};

/// A message to be sent. `body` is the hub's own form of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    pub channel: String,
    pub target: String,
    pub body: String,
    pub reply_to: Option<String>,
}

/// Which notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoticeId(pub i64);

record! {
    /// A message that waits to be sent.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Notice {
        pub id: NoticeId,
        pub target: String,
        pub body: String,
        pub reply_to: Option<String>,
    }
}

/// Notices that are done with are kept so long, in milliseconds, for an operator who looks for what was said.
const KEPT_MS: i64 = 24 * 3600 * 1000;

impl Store {
    /// What is to be sent now, the oldest few of each target: it is given one at a time.
    pub async fn due_notices(&self, channel: &str) -> Result<Vec<Notice>, StoreError> {
        const SQL: &str =
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY target ORDER BY id) AS place FROM notices
                 WHERE channel = $1 AND sent_at IS NULL AND dead IS NULL)
             WHERE place <= $2 ORDER BY id";
        self.all("the notices to be sent", SQL, (channel, MOST_DUE)).await
    }

    pub async fn notice_sent(&self, notice: NoticeId, now: Now) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE notices SET sent_at = $2 WHERE id = $1";
        self.change(CHANGING, now, SQL, (notice, now.wall)).await.map(drop)
    }

    /// Nothing more is done for it.
    pub async fn drop_notice(&self, notice: NoticeId, why: &str, now: Now) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE notices SET dead = $2 WHERE id = $1";
        self.change(CHANGING, now, SQL, (notice, why.to_owned())).await.map(drop)
    }
}

const CHANGING: &str = "recording what became of a notice";

pub(crate) async fn insert(draft: &mut Draft, notice: NewNotice) -> Result<(), BackendError> {
    const SQL: &str = "INSERT INTO notices (channel, target, body, reply_to, created_at, not_before) VALUES ($1, $2, $3, $4, $5, $5)";
    let NewNotice { channel, target, body, reply_to } = notice;
    draft.run(SQL, (channel, target, body, reply_to, draft.now.wall)).await.map(drop)
}

pub(crate) async fn forget_old(draft: &mut Draft) -> Result<(), BackendError> {
    const SQL: &str = "DELETE FROM notices WHERE sent_at < $1 OR (dead IS NOT NULL AND created_at < $1)";
    draft.run(SQL, draft.now.wall.0.saturating_sub(KEPT_MS)).await.map(drop)
}
