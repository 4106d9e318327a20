//! Messages that are no prompts: kept until their channel has sent them.

use atlasbridge_model::{Now, SessionId, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::posts::MOST_DUE;
use crate::store::{BackendError, Draft, Store, StoreError, attempting};

/// A message to be sent. `body` is the hub's own form of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    pub channel: String,
    pub target: String,
    /// Whom it is about: it is forgotten with that session.
    pub session: Option<SessionId>,
    pub body: String,
    pub reply_to: Option<String>,
}

/// Which notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoticeId(pub i64);

/// A message that waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub id: NoticeId,
    pub channel: String,
    pub target: String,
    pub session: Option<SessionId>,
    pub body: String,
    pub reply_to: Option<String>,
    pub created_at: Timestamp,
}

/// Notices that are done with are kept so long, in milliseconds, for whoever looks for what was said.
const KEPT_MS: i64 = 24 * 3600 * 1000;

impl Store {
    /// What is to be sent now, the oldest few of each target: it is given one at a time.
    pub async fn due_notices(&self, channel: &str) -> Result<Vec<Notice>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY target ORDER BY id) AS place FROM notices
                 WHERE channel = $1 AND sent_at IS NULL AND dead IS NULL)
             WHERE place <= $2 ORDER BY id",
        )
        .bind(channel)
        .bind(MOST_DUE)
        .fetch_all(&self.reader)
        .await;
        rows.map_err(BackendError::from)
            .and_then(|rows| rows.iter().map(notice).collect())
            .map_err(attempting("looking up the notices to be sent"))
    }

    pub async fn notice_sent(&self, notice: NoticeId, now: Now) -> Result<(), StoreError> {
        self.change_notice("UPDATE notices SET sent_at = $2 WHERE id = $1", notice, now.wall.0, now).await
    }

    /// Nothing more is done for it.
    pub async fn drop_notice(&self, notice: NoticeId, why: &str, now: Now) -> Result<(), StoreError> {
        self.change_notice("UPDATE notices SET dead = $2 WHERE id = $1", notice, why.to_owned(), now).await
    }

    async fn change_notice<V>(
        &self,
        sql: &'static str,
        notice: NoticeId,
        value: V,
        now: Now,
    ) -> Result<(), StoreError>
    where
        V: for<'q> sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite> + Send + 'static,
    {
        self.write(now, move |draft| {
            Box::pin(async move {
                sqlx::query(sql).bind(notice.0).bind(value).execute(&mut draft.conn).await?;
                Ok(())
            })
        })
        .await
        .map_err(attempting("recording what became of a notice"))
    }
}

/// A session that is not known, or no longer, does not keep its notice from being sent.
pub(crate) async fn insert(draft: &mut Draft, notice: NewNotice) -> Result<(), BackendError> {
    sqlx::query(
        "INSERT INTO notices (channel, target, session_id, body, reply_to, created_at, not_before)
         VALUES ($1, $2, (SELECT id FROM sessions WHERE id = $3), $4, $5, $6, $7)",
    )
    .bind(notice.channel)
    .bind(notice.target)
    .bind(notice.session.map(|session| session.to_string()))
    .bind(notice.body)
    .bind(notice.reply_to)
    .bind(draft.now.wall.0)
    .bind(draft.now.wall.0)
    .execute(&mut draft.conn)
    .await?;
    Ok(())
}

pub(crate) async fn forget_old(draft: &mut Draft) -> Result<(), BackendError> {
    sqlx::query("DELETE FROM notices WHERE sent_at < $1 OR (dead IS NOT NULL AND created_at < $1)")
        .bind(draft.now.wall.0.saturating_sub(KEPT_MS))
        .execute(&mut draft.conn)
        .await?;
    Ok(())
}

fn notice(row: &SqliteRow) -> Result<Notice, BackendError> {
    let session: Option<&str> = row.try_get("session_id")?;
    Ok(Notice {
        id: NoticeId(row.try_get("id")?),
        channel: row.try_get("channel")?,
        target: row.try_get("target")?,
        session: session
            .map(|id| id.parse().map_err(|_| crate::rows::unreadable("session id")))
            .transpose()?,
        body: row.try_get("body")?,
        reply_to: row.try_get("reply_to")?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
