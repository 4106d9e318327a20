//! Who may use the page: one-time links, and the logins that they become. Secrets come here as their hash, and are
//! kept as nothing else.

use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::{Now, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::store::{BackendError, Draft, Store, StoreError, attempting};

/// A device that came by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// On record as whoever answers from there, such as `web:3f9c`.
    pub name: String,
    pub device: String,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// A link that somebody opened, and the login that it is to become.
#[derive(Debug, Clone)]
pub struct Redeem {
    pub link_hash: String,
    pub login_hash: String,
    pub name: String,
    pub device: String,
}

/// Which logins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logins {
    Named(String),
    All,
}

/// A login's last visit is written down at most so often, in milliseconds: a page that asks every second must not
/// keep the disk awake.
const SEEN_EVERY_MS: i64 = 60_000;

impl Store {
    /// Makes a link good for one login until then. Links whose time is over are forgotten.
    pub async fn add_link(&self, hash: &str, expires_at: Timestamp, now: Now) -> Result<(), StoreError> {
        let hash = hash.to_owned();
        self.change_logins("a link", now, move |draft| {
            Box::pin(async move {
                sqlx::query("DELETE FROM web_links WHERE expires_at <= $1")
                    .bind(draft.now.wall.0)
                    .execute(&mut draft.conn)
                    .await?;
                sqlx::query("INSERT INTO web_links (hash, expires_at) VALUES ($1, $2)")
                    .bind(hash)
                    .bind(expires_at.0)
                    .execute(&mut draft.conn)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Spends a link and keeps the login that it becomes, in one transaction. `false`: it was spent before, is too
    /// old, or never was one.
    pub async fn redeem_link(&self, redeem: Redeem, now: Now) -> Result<bool, StoreError> {
        self.change_logins("a login", now, move |draft| Box::pin(spend(draft, redeem))).await
    }

    /// The login behind a cookie, unless it was revoked.
    pub async fn login(&self, hash: &str) -> Result<Option<Login>, StoreError> {
        let row = sqlx::query("SELECT * FROM web_logins WHERE hash = $1 AND revoked_at IS NULL")
            .bind(hash)
            .fetch_optional(&self.reader)
            .await;
        row.and_then(|row| row.as_ref().map(login).transpose()).map_err(attempting("looking up the login"))
    }

    /// All of them, the revoked ones too, oldest first.
    pub async fn logins(&self) -> Result<Vec<Login>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM web_logins ORDER BY created_at, name").fetch_all(&self.reader).await;
        rows.and_then(|rows| rows.iter().map(login).collect()).map_err(attempting("looking up the logins"))
    }

    /// Ends logins for good. Returns how many were still valid.
    pub async fn revoke_logins(&self, which: Logins, decided_by: &str, now: Now) -> Result<u64, StoreError> {
        let decided_by = decided_by.to_owned();
        self.change_logins("the end of a login", now, move |draft| Box::pin(revoke(draft, which, decided_by)))
            .await
    }

    /// Somebody uses this login.
    pub async fn touch_login(&self, hash: &str, now: Now) -> Result<(), StoreError> {
        let hash = hash.to_owned();
        let seen: Result<Option<i64>, _> =
            sqlx::query_scalar("SELECT seen_at FROM web_logins WHERE hash = $1 AND revoked_at IS NULL")
                .bind(&hash)
                .fetch_optional(&self.reader)
                .await;
        // Unreadable or unknown: then there is nothing to note, and whoever needs the login hears of it elsewhere.
        let is_stale =
            matches!(seen, Ok(Some(at)) if now.wall.0.abs_diff(at) >= SEEN_EVERY_MS.unsigned_abs());
        if !is_stale {
            return Ok(());
        }
        self.change_logins("the last visit of a login", now, move |draft| {
            Box::pin(async move {
                draft.is_book_keeping = true;
                sqlx::query("UPDATE web_logins SET seen_at = $1 WHERE hash = $2")
                    .bind(draft.now.wall.0)
                    .bind(hash)
                    .execute(&mut draft.conn)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    async fn change_logins<T, W>(&self, what: &'static str, now: Now, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'d> FnOnce(&'d mut Draft) -> crate::store::Work<'d, T> + Send + 'static,
    {
        self.write(now, work).await.map_err(attempting(format!("recording {what}")))
    }
}

async fn spend(draft: &mut Draft, redeem: Redeem) -> Result<bool, BackendError> {
    let spent = sqlx::query(
        "UPDATE web_links SET used_at = $1 WHERE hash = $2 AND used_at IS NULL AND expires_at > $1",
    )
    .bind(draft.now.wall.0)
    .bind(redeem.link_hash)
    .execute(&mut draft.conn)
    .await?;
    if spent.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query(
        "INSERT INTO web_logins (hash, name, device, created_at, seen_at) VALUES ($1, $2, $3, $4, $4)",
    )
    .bind(redeem.login_hash)
    .bind(&redeem.name)
    .bind(redeem.device)
    .bind(draft.now.wall.0)
    .execute(&mut draft.conn)
    .await?;
    on_record(draft, "login added", redeem.name).await?;
    Ok(true)
}

async fn revoke(draft: &mut Draft, which: Logins, decided_by: String) -> Result<u64, BackendError> {
    let (name, all) = match which {
        Logins::Named(name) => (name, false),
        Logins::All => (String::new(), true),
    };
    let revoked =
        sqlx::query("UPDATE web_logins SET revoked_at = $1 WHERE revoked_at IS NULL AND (name = $2 OR $3)")
            .bind(draft.now.wall.0)
            .bind(&name)
            .bind(all)
            .execute(&mut draft.conn)
            .await?
            .rows_affected();
    if revoked > 0 {
        let what = match all {
            true => "all logins revoked".to_owned(),
            false => format!("login {name} revoked"),
        };
        on_record(draft, &what, decided_by).await?;
    }
    Ok(revoked)
}

/// Who may answer has changed, as it does when the allowlist is read again.
async fn on_record(draft: &mut Draft, what: &str, decided_by: String) -> Result<(), BackendError> {
    draft
        .record(AuditEvent {
            value: Some(what.to_owned()),
            source: Some("web".to_owned()),
            decided_by: Some(decided_by),
            ..AuditEvent::new(EventName::ConfigReloaded)
        })
        .await
}

fn login(row: &SqliteRow) -> Result<Login, sqlx::Error> {
    Ok(Login {
        name: row.try_get("name")?,
        device: row.try_get("device")?,
        created_at: Timestamp(row.try_get("created_at")?),
        seen_at: Timestamp(row.try_get("seen_at")?),
        revoked_at: row.try_get::<Option<i64>, _>("revoked_at")?.map(Timestamp),
    })
}
