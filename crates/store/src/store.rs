//! The store itself: one writer, one transaction at a time, one audit file.
//!
//! # Nothing-unrecorded invariant
//! [`Store::write`] is the only way to change anything. It returns `Ok` after the transaction is committed *and* its
//! audit lines are on the disk. Where the second fails the store refuses every further write until it is opened
//! anew: an `fsync` that failed once may report success the next time and mean nothing.

use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atlasbridge_model::answer::Source;
use atlasbridge_model::audit::{AuditEvent, ChainEnd, EventName};
use atlasbridge_model::mask::mask_in_place;
use atlasbridge_model::{Now, PromptId, SessionId};
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{Connection, SqlSafeStr};
use tokio::sync::Mutex;

use crate::audit_log::{AuditLog, Mark, Recovery};
use crate::record::AuditRecord;
use crate::schema;
use crate::sql::{self, Cells, Record};

/// Where things are, and which boot of the machine this is.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    pub database: PathBuf,
    pub audit_log: PathBuf,
    /// A deadline counts from boot: it means nothing under another boot id.
    pub boot_id: String,
}

/// The handle. Clones share one writer.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Arc<Mutex<Draft>>,
    /// Reads see what is committed and never wait for the disk.
    pub(crate) reader: SqlitePool,
    pub(crate) boot_id: Arc<str>,
    counts: Arc<Counts>,
}

/// How many transactions were made.
#[derive(Debug, Default)]
struct Counts {
    all: AtomicU64,
    /// Those after which a person may see something new.
    seen: AtomicU64,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another hub is using {}", path.display())]
    InUse { path: PathBuf },
    #[error("opening the audit log {}", path.display())]
    AuditLog { path: PathBuf, source: io::Error },
    #[error("opening the database {}", path.display())]
    Database { path: PathBuf, source: BackendError },
    #[error("{} is damaged, or no database; move it away, the next start makes a new one from the audit log", path.display())]
    Corrupt { path: PathBuf, source: Option<sqlx::Error> },
    #[error("{} is a database of something else", path.display())]
    Foreign { path: PathBuf },
    #[error(
        "{} was written by a newer AtlasBridge (schema {found}, this one knows {known}); update AtlasBridge",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("copying the database to {} before its migration", backup.display())]
    Backup { backup: PathBuf, source: BackendError },
    #[error("bringing the audit log up to date after the last stop")]
    Recovery(#[source] BackendError),
}

/// What broke below an operation.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("the database did not do it")]
    Database(#[from] sqlx::Error),
    #[error("the database holds a {what} that cannot be read")]
    Unreadable { what: &'static str },
    #[error("the audit log could not be written")]
    AuditLog(#[source] io::Error),
    #[error("a file could not be written")]
    File(#[from] io::Error),
    #[error(
        "the audit log could not be written earlier; nothing is recorded or answered until the hub restarts"
    )]
    Poisoned,
    #[error("the store is shutting down")]
    Stopped,
    #[error("answers go through `accept`, deadlines through `expire`")]
    OtherDoor,
    #[error("this is not the prompt's safe default, and silence never approves")]
    UnsafeFallback,
}

/// An operation that failed: what was attempted, and what broke below it. Nothing of it happened, as far as anybody
/// acts on what is recorded.
#[derive(Debug, thiserror::Error)]
#[error("{attempted}")]
pub struct StoreError {
    attempted: Cow<'static, str>,
    source: BackendError,
}

impl StoreError {
    /// The audit log can no longer be written: only a restart, through recovery, makes it whole.
    pub fn is_store_lost(&self) -> bool {
        match self.source {
            BackendError::Poisoned | BackendError::AuditLog(_) | BackendError::Stopped => true,
            BackendError::Database(_)
            | BackendError::Unreadable { .. }
            | BackendError::File(_)
            | BackendError::OtherDoor
            | BackendError::UnsafeFallback => false,
        }
    }
}

/// For `map_err`: names what was attempted.
pub(crate) fn attempting<E: Into<BackendError>>(
    what: impl Into<Cow<'static, str>>,
) -> impl FnOnce(E) -> StoreError {
    let attempted = what.into();
    move |source| StoreError { attempted, source: source.into() }
}

pub(crate) fn looking_up<E: Into<BackendError>>(what: &'static str) -> impl FnOnce(E) -> StoreError {
    move |source| attempting(format!("looking up {what}"))(source)
}

impl Store {
    /// Opens or creates both files, migrates the one and repairs the tail of the other.
    pub async fn open(config: StoreConfig, now: Now) -> Result<(Store, Recovery), OpenError> {
        // The lock comes first: whatever follows may write.
        let mut log = AuditLog::lock(&config.audit_log).await?;
        let (mut conn, migration) = schema::open(&config.database, now, schema::MIGRATIONS).await?;
        let (end, mut recovery) = log.recover(&mut conn).await.map_err(OpenError::Recovery)?;
        recovery.migration = migration;
        let reader = SqlitePoolOptions::new()
            .max_connections(READERS)
            // A file does not hang up: asking each time whether it is there doubles the cost of every question.
            .test_before_acquire(false)
            .connect_with(schema::reading(&config.database))
            .await
            .map_err(|source| OpenError::Database { path: config.database.clone(), source: source.into() })?;
        let boot_id: Arc<str> = config.boot_id.into();
        let draft = Draft {
            conn,
            now,
            boot_id: boot_id.clone(),
            marked: log.mark,
            log: Some(log),
            end,
            lines: String::new(),
            must_scrub: false,
            is_book_keeping: false,
        };
        let store = Store { writer: Arc::new(Mutex::new(draft)), reader, boot_id, counts: Arc::default() };
        Ok((store, recovery))
    }

    /// Puts a free-standing event on record.
    pub async fn audit(&self, event: AuditEvent, now: Now) -> Result<(), StoreError> {
        self.write(WRITING_THE_LOG, now, move |draft| Box::pin(draft.record(event))).await
    }

    /// Notes how far the audit file is known to be complete and, if this is the last handle, closes the database.
    /// A store that is merely dropped loses nothing; the next start just looks at a few more lines.
    pub async fn close(self) -> Result<(), StoreError> {
        self.reader.close().await;
        self.writer.lock().await.note_mark().await.map_err(attempting(WRITING_THE_LOG))?;
        let Some(writer) = Arc::into_inner(self.writer) else { return Ok(()) };
        writer.into_inner().conn.close().await.map_err(attempting("closing the database"))
    }

    /// Grows with everything that is written, by whichever handle: a caller that has acted on what was there at one number
    /// need not look again before there is another.
    pub fn writes(&self) -> u64 {
        self.counts.all.load(Ordering::Acquire)
    }

    /// The same, without our own book-keeping: a page that shows prompts and sessions need not show them anew before there is
    /// another.
    pub fn visible_writes(&self) -> u64 {
        self.counts.seen.load(Ordering::Acquire)
    }

    /// One transaction with its audit lines, in a task of its own: the caller may stop waiting, the work is
    /// finished all the same. `what` is attempted.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: impl Into<Cow<'static, str>>,
        now: Now,
        work: impl for<'d> FnOnce(&'d mut Draft) -> Work<'d, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let writer = self.writer.clone();
        let counts = self.counts.clone();
        let task = tokio::spawn(async move {
            let mut writer = writer.lock_owned().await;
            let written = writer.transact(now, work).await;
            // An error too: a commit may have been made before the rest failed.
            counts.all.fetch_add(1, Ordering::Release);
            if !std::mem::take(&mut writer.is_book_keeping) {
                counts.seen.fetch_add(1, Ordering::Release);
            }
            written
        });
        task.await.unwrap_or(Err(BackendError::Stopped)).map_err(attempting(what))
    }

    /// A transaction of one statement. Returns how many rows it changed.
    pub(crate) async fn change(
        &self,
        what: impl Into<Cow<'static, str>>,
        now: Now,
        sql: &'static str,
        cells: impl Cells + Send + 'static,
    ) -> Result<u64, StoreError> {
        self.write(what, now, move |draft| Box::pin(draft.run(sql, cells))).await
    }

    /// The records that a statement finds. `what` is looked up.
    pub(crate) async fn all<T: Record>(
        &self,
        what: &'static str,
        sql: impl SqlSafeStr,
        cells: impl Cells,
    ) -> Result<Vec<T>, StoreError> {
        sql::all(&self.reader, sql, cells).await.map_err(looking_up(what))
    }

    /// The first record that a statement finds. `what` is looked up.
    pub(crate) async fn one<T: Record>(
        &self,
        what: &'static str,
        sql: impl SqlSafeStr,
        cells: impl Cells,
    ) -> Result<Option<T>, StoreError> {
        sql::one(&self.reader, sql, cells).await.map_err(looking_up(what))
    }
}

const WRITING_THE_LOG: &str = "writing to the audit log";

/// Readers at once: a listing must not wait for another, and more than two people never look.
const READERS: u32 = 2;

pub(crate) type Work<'d, T> = Pin<Box<dyn Future<Output = Result<T, BackendError>> + Send + 'd>>;

/// The one who writes: a transaction under way, and the records drafted in it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) conn: SqliteConnection,
    pub(crate) now: Now,
    pub(crate) boot_id: Arc<str>,
    /// `None`: poisoned. It is taken out for each transaction and comes back only from an orderly end, so a panic
    /// poisons too.
    log: Option<AuditLog>,
    /// What the database knows of the file's length; one transaction behind it, at most.
    marked: Mark,
    end: ChainEnd,
    lines: String,
    /// Something was overwritten that must not be found in what the database has put aside.
    pub(crate) must_scrub: bool,
    /// No person sees a difference.
    pub(crate) is_book_keeping: bool,
}

impl Draft {
    async fn transact<T>(
        &mut self,
        now: Now,
        work: impl for<'d> FnOnce(&'d mut Draft) -> Work<'d, T>,
    ) -> Result<T, BackendError> {
        let log = self.log.take().ok_or(BackendError::Poisoned)?;
        let before = self.end.clone();
        self.now = now;
        let done: Result<T, BackendError> = async {
            // IMMEDIATE: a transaction that reads first and writes later must not find out at the end that it lost.
            sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await?;
            let value = work(self).await?;
            if self.marked != log.mark && !self.lines.is_empty() {
                log.mark.save(&mut self.conn).await?;
            }
            sqlx::query("COMMIT").execute(&mut self.conn).await?;
            Ok(value)
        }
        .await;
        let lines = std::mem::take(&mut self.lines);
        let must_scrub = std::mem::take(&mut self.must_scrub);
        if done.is_ok() {
            self.marked = log.mark;
            self.log = Some(log.append(lines, self.end.next_seq - 1).await?);
            if must_scrub {
                // What is in the write-ahead log is there until it is written over. A reader of this moment
                // keeps it for as long; then the next one who scrubs, or the next start, takes it away.
                let scrubbed = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
                let _ = scrubbed.execute(&mut self.conn).await;
            }
        } else {
            self.end = before;
            if self.is_undone().await {
                self.log = Some(log);
            }
        }
        done
    }

    async fn note_mark(&mut self) -> Result<(), BackendError> {
        let mark = self.log.as_ref().ok_or(BackendError::Poisoned)?.mark;
        if mark != self.marked {
            mark.save(&mut self.conn).await?;
            self.marked = mark;
        }
        Ok(())
    }

    /// Rolls back, and asks the table whether that is what happened: a COMMIT that reports an error has nearly
    /// always, but not provably, done nothing.
    async fn is_undone(&mut self) -> bool {
        // Fails where the database has rolled back by itself.
        let _ = sqlx::query("ROLLBACK").execute(&mut self.conn).await;
        matches!(head(&mut self.conn).await, Ok(head) if head == self.end)
    }

    /// Returns how many rows the statement changed.
    pub(crate) async fn run(&mut self, sql: impl SqlSafeStr, cells: impl Cells) -> Result<u64, BackendError> {
        sql::run(&mut self.conn, sql, cells).await
    }

    pub(crate) async fn one<T: Record>(
        &mut self,
        sql: &'static str,
        cells: impl Cells,
    ) -> Result<Option<T>, BackendError> {
        sql::one(&mut self.conn, sql, cells).await
    }

    /// Takes what looks like a secret out of a text that is not typed any more. `find` reads it, `put` puts `$2` in its
    /// place, both at `key`.
    pub(crate) async fn mask(
        &mut self,
        find: &'static str,
        put: &'static str,
        key: impl Cells + Copy,
    ) -> Result<(), BackendError> {
        let text: Option<String> = self.one(find, key).await?;
        if let Some(Cow::Owned(masked)) = text.as_deref().map(mask_in_place) {
            self.must_scrub = true;
            self.run(put, (key, masked)).await?;
        }
        Ok(())
    }

    /// Adds a record about a session, or about a prompt of it, with who did it.
    pub(crate) async fn note(
        &mut self,
        event: EventName,
        session: Option<SessionId>,
        prompt: Option<PromptId>,
        value: impl Into<String>,
        by: Option<(&Source, String)>,
    ) -> Result<(), BackendError> {
        let (source, decided_by) = by.map(|(source, decided_by)| (source.to_string(), decided_by)).unzip();
        let value = Some(value.into());
        self.record(AuditEvent { event, session, prompt, value, source, decided_by }).await
    }

    /// Adds a record to the chain.
    pub(crate) async fn record(&mut self, event: AuditEvent) -> Result<(), BackendError> {
        let mut record = AuditRecord {
            seq: self.end.next_seq,
            ts: self.now.wall.rfc3339(),
            event: event.event.as_str().to_owned(),
            session_id: event.session.map(|id| id.to_string()),
            prompt_id: event.prompt.map(|id| id.to_string()),
            value: event.value.map(cut),
            source: event.source.map(cut),
            decided_by: event.decided_by.map(cut),
            prev_hash: self.end.hash.clone(),
            hash: String::new(),
        };
        record.hash = record.link().hash(&mut String::new());
        insert(&mut self.conn, &record).await?;
        self.lines.push_str(&record.line());
        self.lines.push('\n');
        self.end = record.end();
        Ok(())
    }
}

/// Longest text of one member of a record, in bytes. Labels and reasons are a line of a screen; a sender who
/// writes novels must not make the log unreadable.
const LONGEST_MEMBER: usize = 2048;

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_MEMBER));
    text
}

/// Where the chain in the table ends.
pub(crate) async fn head(conn: &mut SqliteConnection) -> Result<ChainEnd, BackendError> {
    let last: Option<AuditRecord> =
        sql::one(conn, "SELECT * FROM audit_events ORDER BY seq DESC LIMIT 1", ()).await?;
    Ok(last.map_or_else(ChainEnd::default, AuditRecord::end))
}

/// Writes one record to the table.
pub(crate) async fn insert(conn: &mut SqliteConnection, record: &AuditRecord) -> Result<(), BackendError> {
    const SQL: &str =
        "INSERT INTO audit_events (seq, ts, event, session_id, prompt_id, value, source, decided_by, prev_hash, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let AuditRecord { seq, ts, event, session_id, prompt_id, value, source, decided_by, prev_hash, hash } =
        record;
    let what = (event, session_id, prompt_id, value, source, decided_by);
    sql::run(conn, SQL, (seq, ts, what, prev_hash, hash)).await.map(drop)
}
