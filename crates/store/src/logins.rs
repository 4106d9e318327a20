//! Who may use the page: one-time links, and the logins that they become. Secrets come here as their hash, and are
//! kept as nothing else.

use atlasbridge_model::answer::Source;
use atlasbridge_model::audit::EventName;
use atlasbridge_model::{Now, Timestamp};

use crate::sql::record;
use crate::store::{BackendError, Draft, Store, StoreError};

record! {
    /// A device that came by a link.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Login {
        /// On record as the one who answers from there, such as `web:3f9c`.
        pub name: String,
        pub device: String,
        pub created_at: Timestamp,
        pub seen_at: Timestamp,
        pub revoked_at: Option<Timestamp>,
    }
}

/// A link that a browser opened, and the login that it is to become.
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
        self.write("recording a link", now, move |draft| {
            Box::pin(async move {
                draft.run("DELETE FROM web_links WHERE expires_at <= $1", draft.now.wall).await?;
                let new = "INSERT INTO web_links (hash, expires_at) VALUES ($1, $2)";
                draft.run(new, (hash, expires_at)).await.map(drop)
            })
        })
        .await
    }

    /// Spends a link and keeps the login that it becomes, in one transaction. `false`: it was spent before, is too
    /// old, or never was one.
    pub async fn redeem_link(&self, redeem: Redeem, now: Now) -> Result<bool, StoreError> {
        self.write("recording a login", now, move |draft| Box::pin(spend(draft, redeem))).await
    }

    /// The login behind a cookie, unless it was revoked.
    pub async fn login(&self, hash: &str) -> Result<Option<Login>, StoreError> {
        const SQL: &str = "SELECT * FROM web_logins WHERE hash = $1 AND revoked_at IS NULL";
        self.one("the login", SQL, hash).await
    }

    /// All of them, the revoked ones too, oldest first.
    pub async fn logins(&self) -> Result<Vec<Login>, StoreError> {
        self.all("the logins", "SELECT * FROM web_logins ORDER BY created_at, name", ()).await
    }

    /// Ends logins for good. Returns how many were still valid.
    pub async fn revoke_logins(&self, which: Logins, decided_by: &str, now: Now) -> Result<u64, StoreError> {
        let decided_by = decided_by.to_owned();
        self.write("recording the end of a login", now, move |draft| {
            Box::pin(revoke(draft, which, decided_by))
        })
        .await
    }

    /// A browser uses this login.
    pub async fn touch_login(&self, hash: &str, now: Now) -> Result<(), StoreError> {
        // Unreadable or unknown: then there is nothing to note, and the request that needs the login hears of it elsewhere.
        let seen = self.login(hash).await.ok().flatten().map(|login| login.seen_at.0);
        if seen.is_none_or(|at| now.wall.0.abs_diff(at) < SEEN_EVERY_MS.unsigned_abs()) {
            return Ok(());
        }
        let hash = hash.to_owned();
        self.write("recording the last visit of a login", now, move |draft| {
            Box::pin(async move {
                draft.is_book_keeping = true;
                let seen = "UPDATE web_logins SET seen_at = $1 WHERE hash = $2";
                draft.run(seen, (draft.now.wall, hash)).await.map(drop)
            })
        })
        .await
    }
}

async fn spend(draft: &mut Draft, redeem: Redeem) -> Result<bool, BackendError> {
    const SPENT: &str =
        "UPDATE web_links SET used_at = $1 WHERE hash = $2 AND used_at IS NULL AND expires_at > $1";
    const LOGIN: &str =
        "INSERT INTO web_logins (hash, name, device, created_at, seen_at) VALUES ($1, $2, $3, $4, $4)";
    if draft.run(SPENT, (draft.now.wall, redeem.link_hash)).await? == 0 {
        return Ok(false);
    }
    draft.run(LOGIN, (redeem.login_hash, &redeem.name, redeem.device, draft.now.wall)).await?;
    on_record(draft, "login added", redeem.name).await?;
    Ok(true)
}

async fn revoke(draft: &mut Draft, which: Logins, decided_by: String) -> Result<u64, BackendError> {
    let (name, all, what) = match which {
        Logins::Named(name) => (name.clone(), false, format!("login {name} revoked")),
        Logins::All => (String::new(), true, "all logins revoked".to_owned()),
    };
    const SQL: &str = "UPDATE web_logins SET revoked_at = $1 WHERE revoked_at IS NULL AND (name = $2 OR $3)";
    let revoked = draft.run(SQL, (draft.now.wall, name, all)).await?;
    if revoked > 0 {
        on_record(draft, &what, decided_by).await?;
    }
    Ok(revoked)
}

/// Who may answer has changed, as it does when the allowlist is read again.
async fn on_record(draft: &mut Draft, what: &str, decided_by: String) -> Result<(), BackendError> {
    let by = (&Source::Channel("web".to_owned()), decided_by);
    draft.note(EventName::ConfigReloaded, None, None, what, Some(by)).await
}
