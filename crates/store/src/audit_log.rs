//! The audit file: appended to by one hub, repaired at its start where a crash left it incomplete.
//!
//! The table `audit_events` is written first, in the transaction of the change itself; the file follows. So a crash
//! leaves the file behind the table, never ahead of it. How far behind a crash can leave it is known: each
//! transaction notes the length that the file had, and was known to have on the disk, when it began ([`Mark`]).
//!
//! # Honest-repair invariant
//! What lies after the mark may be lost or torn in a crash, and is written again from the table. What lies before
//! it was on the disk: if it is gone or changed, somebody did that. It is reported, never written again, and
//! `verify` goes on naming it.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_model::audit::ChainEnd;
use sqlx::sqlite::SqliteConnection;

use crate::record::{AuditRecord, LONGEST_LINE, Line, end_of, read_line, tail};
use crate::schema::{Migration, beside, private_file, sync_directory_of};
use crate::sql::{self, record};
use crate::store::{BackendError, OpenError, head, insert};

/// What `open` found and did. Empty after an orderly stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes at the end of the audit log that were no records.
    pub torn: Option<Torn>,
    /// Records that were in the table and not yet in the file; they are now.
    pub reexported: u64,
    /// Records that were in the file and not in the table, as after restoring an old database; they are now.
    pub imported: u64,
    /// Records that were in the file once and are not any more. No crash does that.
    pub missing: Option<Missing>,
    /// A line that was complete once is not what it was. No crash does that either.
    pub damaged: bool,
    pub migration: Option<Migration>,
}

/// Torn bytes, and where they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    pub bytes: u64,
    pub file: PathBuf,
}

/// The file ends with record `have`; the database knows that it had `expected`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    pub have: u64,
    pub expected: u64,
}

/// For the log and for `HUB_START`: what was found, in a line. Empty when nothing was.
impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recovery { torn, reexported, imported, missing, damaged, migration } = self;
        let name = |file: &Path| file.file_name().unwrap_or_default().display().to_string();
        let migrated = migration.as_ref().filter(|done| done.from > 0);
        let parts = [
            missing.map(|Missing { have, expected }| {
                format!("audit log truncated: records {} to {expected} are missing", have + 1)
            }),
            damaged.then(|| "audit log damaged: run `atlasbridge audit verify`".to_owned()),
            torn.as_ref().map(|Torn { bytes, file }| format!("{bytes} torn bytes moved to {}", name(file))),
            (*reexported > 0).then(|| format!("{reexported} records completed from the database")),
            (*imported > 0).then(|| format!("{imported} records learnt back from the audit log")),
            migrated.map(|done| format!("database migrated from schema {} to {}", done.from, done.to)),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

record! {
    /// How far the file is known to be on the disk.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct Mark {
        pub(crate) seq: u64,
        pub(crate) bytes: u64,
    }
}

impl Mark {
    pub(crate) async fn load(conn: &mut SqliteConnection) -> Result<Self, BackendError> {
        const SQL: &str = "SELECT
                 COALESCE(MAX(value) FILTER (WHERE key = 'exported_seq'), 0) AS seq,
                 COALESCE(MAX(value) FILTER (WHERE key = 'exported_bytes'), 0) AS bytes
             FROM channel_state WHERE channel = 'audit_log'";
        Ok(sql::one(conn, SQL, ()).await?.unwrap_or_default())
    }

    /// Both halves or none, in one statement.
    pub(crate) async fn save(self, conn: &mut SqliteConnection) -> Result<(), BackendError> {
        const SQL: &str = "INSERT INTO channel_state (channel, key, value)
             VALUES ('audit_log', 'exported_seq', $1), ('audit_log', 'exported_bytes', $2)
             ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value";
        sql::run(conn, SQL, (self.seq, self.bytes)).await.map(drop)
    }
}

/// The file, locked against a second hub, with its known end.
#[derive(Debug)]
pub(crate) struct AuditLog {
    file: File,
    path: PathBuf,
    /// How far it is known to be on the disk.
    pub(crate) mark: Mark,
}

impl AuditLog {
    /// Opens or creates the file for its owner alone. The lock goes away with the process, however that ends.
    pub(crate) async fn lock(path: &Path) -> Result<Self, OpenError> {
        let owned = path.to_owned();
        let locked = tokio::task::spawn_blocking(move || -> io::Result<Self> {
            let file = private_file(&owned)?;
            sync_directory_of(&owned)?;
            lock_patiently(&file)?;
            Ok(Self { file, path: owned, mark: Mark::default() })
        });
        let locked = locked.await.unwrap_or_else(|_| Err(io::Error::other("the opening was interrupted")));
        let path = path.to_owned();
        locked.map_err(|source| {
            let is_in_use = source.kind() == io::ErrorKind::WouldBlock;
            if is_in_use { OpenError::InUse { path } } else { OpenError::AuditLog { path, source } }
        })
    }

    /// Appends whole lines, the last of which is record `seq`, and waits for the disk.
    ///
    /// It takes the log and gives it back: a writer that gets an error has no log any more, and cannot try the `fsync`
    /// again. The kernel may have dropped the pages; a second `fsync` would say yes.
    pub(crate) async fn append(mut self, lines: String, seq: u64) -> Result<Self, BackendError> {
        if lines.is_empty() {
            return Ok(self);
        }
        let appended = tokio::task::spawn_blocking(move || {
            self.append_now(&lines, seq)?;
            Ok(self)
        });
        appended
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the writing was interrupted")))
            .map_err(BackendError::AuditLog)
    }

    fn append_now(&mut self, lines: &str, seq: u64) -> io::Result<()> {
        self.check_untouched()?;
        self.file.write_all(lines.as_bytes())?;
        self.file.sync_data()?;
        self.mark = Mark { seq, bytes: self.mark.bytes + lines.len() as u64 };
        Ok(())
    }

    /// No other process has written to the file, shortened it, or put another in its place.
    fn check_untouched(&self) -> io::Result<()> {
        let ours = self.file.metadata()?;
        let named = fs::metadata(&self.path)?;
        if (ours.dev(), ours.ino()) != (named.dev(), named.ino()) {
            return Err(io::Error::other("another file has taken its place"));
        }
        if ours.len() != self.mark.bytes {
            return Err(io::Error::other("something else has changed it"));
        }
        Ok(())
    }

    /// Brings file and table together after a stop of any kind, and says where the chain goes on.
    pub(crate) async fn recover(
        &mut self,
        conn: &mut SqliteConnection,
    ) -> Result<(ChainEnd, Recovery), BackendError> {
        let mut mark = Mark::load(conn).await?;
        if mark.seq >= head(conn).await?.next_seq {
            // The table has lost records that it had: a mark without them says nothing, the whole file is read.
            mark = Mark::default();
        }
        let length = self.file.metadata()?.len();
        let mut recovery = Recovery::default();
        let kept = if length < mark.bytes {
            self.keep_what_is_left(mark, &mut recovery)?
        } else {
            self.keep_what_is_sound(mark, conn, &mut recovery).await?
        };
        let end = head(conn).await?;
        self.mark = Mark { seq: kept, bytes: self.file.metadata()?.len() };
        recovery.reexported = self.export(conn).await?;
        if self.mark != mark {
            self.mark.save(conn).await?;
        }
        Ok((end, recovery))
    }

    /// The file is shorter than it was: lines are gone. The hole stays a hole; what came after the mark follows it.
    fn keep_what_is_left(&mut self, mark: Mark, recovery: &mut Recovery) -> io::Result<u64> {
        recovery.torn = self.set_torn_end_aside(mark.seq)?;
        let last = tail(&self.path, 1).ok().and_then(|mut records| records.pop());
        recovery.missing = Some(Missing { have: last.map_or(0, |record| record.seq), expected: mark.seq });
        Ok(mark.seq)
    }

    /// The file has all that it was known to have. Walks over what follows the mark, and says up to which record
    /// the file is kept.
    async fn keep_what_is_sound(
        &mut self,
        mark: Mark,
        conn: &mut SqliteConnection,
        recovery: &mut Recovery,
    ) -> Result<u64, BackendError> {
        recovery.damaged = !self.ends_with_record(mark, conn).await?;
        let known = head(conn).await?.next_seq - 1;
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *conn).await?;
        let walk = self.walk(mark, known, conn).await?;
        recovery.imported = walk.imported;
        let sound = walk.end.next_seq - 1;
        // More than a crash can have torn: the lines stay, and the chain goes on after the last sound one.
        let is_damaged = walk.bad_lines > known.saturating_sub(sound).max(1);
        let last = walk.last_sound.filter(|_| is_damaged);
        if let Some(last) = last.as_ref().filter(|last| last.seq > known) {
            insert(conn, last).await?;
        }
        sqlx::query("COMMIT").execute(conn).await?;
        if is_damaged {
            recovery.damaged = true;
            recovery.torn = self.set_torn_end_aside(sound + 1)?;
            return Ok(last.map_or(sound, |last| last.seq).max(mark.seq));
        }
        if walk.bad_lines > 0 {
            recovery.torn = Some(self.set_aside(walk.offset, sound + 1)?);
        }
        Ok(sound)
    }

    async fn walk(&self, mark: Mark, known: u64, conn: &mut SqliteConnection) -> Result<Walk, BackendError> {
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(mark.bytes))?;
        let mut walk = Walk { end: end_at(conn, mark.seq).await?, offset: mark.bytes, ..Walk::default() };
        let (mut line, mut scratch) = (Vec::new(), String::new());
        loop {
            let sound = match read_line(&mut reader, &mut line)? {
                Line::End => return Ok(walk),
                Line::Torn => None,
                Line::Whole => AuditRecord::canonical(&line, &mut scratch).ok(),
            };
            let Some(record) = sound.filter(|record| record.link().hash(&mut scratch) == record.hash) else {
                walk.bad_lines += 1;
                continue;
            };
            let mut end = walk.end.clone();
            let follows = walk.bad_lines == 0
                && end.follow(&record.link(), &record.hash, &mut scratch).is_ok()
                && (record.seq > known || end_at(conn, record.seq).await?.hash == record.hash);
            if !follows {
                walk.bad_lines += 1;
            } else {
                if record.seq > known {
                    insert(conn, &record).await?;
                    walk.imported += 1;
                }
                walk.end = end;
                walk.offset += line.len() as u64 + 1;
            }
            walk.last_sound = Some(record);
        }
    }

    /// Whether the line that ends at the mark is the record that the table has.
    async fn ends_with_record(&self, mark: Mark, conn: &mut SqliteConnection) -> Result<bool, BackendError> {
        let Some(record) = records(conn, mark.seq, mark.seq).await?.pop() else {
            return Ok(mark.seq == 0);
        };
        let expected = format!("{}\n", record.line());
        let Some(start) = mark.bytes.checked_sub(expected.len() as u64) else { return Ok(false) };
        let mut found = vec![0; expected.len()];
        self.file.read_exact_at(&mut found, start)?;
        Ok(found == expected.as_bytes())
    }

    /// What follows the last whole line.
    fn set_torn_end_aside(&mut self, seq: u64) -> io::Result<Option<Torn>> {
        let (start, end) = end_of(&self.file, LONGEST_LINE)?;
        let whole = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if whole == end.len() {
            return Ok(None);
        }
        self.set_aside(start + whole as u64, seq).map(Some)
    }

    /// Moves everything from `offset` on to a file of its own. The copy is on the disk before the original goes.
    fn set_aside(&mut self, offset: u64, seq: u64) -> io::Result<Torn> {
        let mut path = beside(&self.path, &format!(".torn-{seq}"));
        while fs::symlink_metadata(&path).is_ok() {
            path = beside(&path, "+");
        }
        let mut aside = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let mut reader = &self.file;
        reader.seek(SeekFrom::Start(offset))?;
        let bytes = io::copy(&mut reader.take(u64::MAX), &mut aside)?;
        aside.sync_all()?;
        sync_directory_of(&path)?;
        self.file.set_len(offset)?;
        self.file.sync_all()?;
        Ok(Torn { bytes, file: path })
    }

    /// Writes the table's records after the mark to the file.
    async fn export(&mut self, conn: &mut SqliteConnection) -> Result<u64, BackendError> {
        let mut exported = 0;
        loop {
            let first = self.mark.seq + 1;
            let batch = records(conn, first, first + EXPORT_BATCH).await?;
            let Some(last) = batch.last() else { return Ok(exported) };
            let lines: String = batch.iter().map(|record| record.line() + "\n").collect();
            self.append_now(&lines, last.seq).map_err(BackendError::AuditLog)?;
            exported += batch.len() as u64;
        }
    }
}

/// Records per write when a file is completed: about 400 kB.
const EXPORT_BATCH: u64 = 1000;

/// How often, and how long each time, a lock is waited for: a process that our last owner forked holds it until it
/// has called `exec`, and a hub that is being replaced until it is gone.
const PATIENCE: (u32, Duration) = (50, Duration::from_millis(10));

fn lock_patiently(file: &File) -> Result<(), TryLockError> {
    for _ in 0..PATIENCE.0 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PATIENCE.1),
            decided => return decided,
        }
    }
    file.try_lock()
}

/// A walk over the lines after the mark.
#[derive(Default)]
struct Walk {
    /// Where the sound part of the file ends.
    offset: u64,
    /// Where the sound part of the chain ends.
    end: ChainEnd,
    /// The first that is not sound, and all that follow it.
    bad_lines: u64,
    /// The last record that is sound in itself, though it may follow a bad line.
    last_sound: Option<AuditRecord>,
    imported: u64,
}

/// The chain's end as it was after record `seq`, by the table.
async fn end_at(conn: &mut SqliteConnection, seq: u64) -> Result<ChainEnd, BackendError> {
    Ok(records(conn, seq, seq).await?.pop().map_or_else(ChainEnd::default, AuditRecord::end))
}

async fn records(
    conn: &mut SqliteConnection,
    first: u64,
    last: u64,
) -> Result<Vec<AuditRecord>, BackendError> {
    const SQL: &str = "SELECT * FROM audit_events WHERE seq BETWEEN $1 AND $2 ORDER BY seq";
    sql::all(conn, SQL, (first, last)).await
}
