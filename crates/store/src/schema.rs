//! The database file: how it is opened, and its numbered, forward-only migrations.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_model::Now;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};

use crate::sql;
use crate::store::{BackendError, OpenError};

/// Each runs once, in order, in one transaction with its row in `schema_version`. Never edit one that was released.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_channels.sql"),
    include_str!("../migrations/0003_hooks.sql"),
    include_str!("../migrations/0004_instructions.sql"),
    include_str!("../migrations/0005_left.sql"),
    include_str!("../migrations/0006_constraints.sql"),
    include_str!("../migrations/0007_wait_on_boot_clock.sql"),
];

/// How long a statement waits for another process's lock. No other process writes; a backup tool may hold it briefly.
const BUSY: Duration = Duration::from_secs(5);

/// Up to this size the whole file is checked at each start: 32 MiB took 25 ms here, read
/// from the cache, and every start waits for it.
const CHECKED_BYTES: u64 = 32 << 20;

/// A migration that was done at open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    pub from: i64,
    pub to: i64,
    /// The copy that was made before; none for a new database.
    pub backup: Option<PathBuf>,
}

/// How others may look at it while the hub runs.
pub(crate) fn reading(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(BUSY)
}

fn writing(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // 1.1 ms instead of 0.03 ms: what was accepted survives the power cord.
        .synchronous(SqliteSynchronous::Full)
        // What is written over is gone from the file, and not merely no longer pointed at.
        .pragma("secure_delete", "ON")
        .foreign_keys(true)
        .busy_timeout(BUSY)
}

/// Opens the database for writing, creates or migrates it.
pub(crate) async fn open(
    path: &Path,
    now: Now,
    migrations: &[&'static str],
) -> Result<(SqliteConnection, Option<Migration>), OpenError> {
    let size = private_file(path).and_then(|file| file.metadata());
    let size = size.map_err(|source| database(path, source.into()))?.len();
    let broken = |source| broken(path, source);
    let mut conn = writing(path).connect().await.map_err(|source| broken(source.into()))?;
    if size <= CHECKED_BYTES && !is_sound(&mut conn).await.map_err(broken)? {
        return Err(OpenError::Corrupt { path: path.to_owned(), source: None });
    }
    let known = migrations.len() as i64;
    let foreign = || OpenError::Foreign { path: path.to_owned() };
    let from = version(&mut conn).await.map_err(broken)?.ok_or_else(foreign)?;
    if from > known {
        return Err(OpenError::Newer { path: path.to_owned(), found: from, known });
    }
    if from == known {
        return Ok((conn, None));
    }
    let backup = (from > 0).then(|| beside(path, ".bak"));
    if let Some(backup) = &backup {
        let copied = copy(&mut conn, &beside(path, ".bak.new"), backup).await;
        copied.map_err(|source| OpenError::Backup { backup: backup.clone(), source })?;
    }
    migrate(&mut conn, from, migrations, now).await.map_err(|source| database(path, source))?;
    let migration = Migration { from, to: known, backup };
    Ok((conn, Some(migration)))
}

/// Makes the file if it is missing, for its owner alone either way. The `-wal` and `-shm` files of a database take its mode.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

async fn is_sound(conn: &mut SqliteConnection) -> Result<bool, BackendError> {
    let said: Option<String> = sql::one(conn, "PRAGMA quick_check(1)", ()).await?;
    Ok(said.is_some_and(|said| said == "ok"))
}

/// The newest migration that ran; 0 for an empty database. `None`: it is not one of ours.
async fn version(conn: &mut SqliteConnection) -> Result<Option<i64>, BackendError> {
    const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
    let tables: Vec<String> = sql::all(&mut *conn, TABLES, ()).await?;
    if tables.is_empty() {
        return Ok(Some(0));
    }
    if !tables.iter().any(|name| name == "schema_version") {
        return Ok(None);
    }
    sql::one(conn, "SELECT COALESCE(MAX(version), 0) FROM schema_version", ()).await
}

async fn migrate(
    conn: &mut SqliteConnection,
    from: i64,
    migrations: &[&'static str],
    now: Now,
) -> Result<(), BackendError> {
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *conn).await?;
    const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL)";
    const APPLIED: &str = "INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)";
    sql::run(&mut *conn, VERSIONS, ()).await?;
    for (version, migration) in (1_i64..).zip(migrations).skip(from as usize) {
        sqlx::raw_sql(*migration).execute(&mut *conn).await?;
        sql::run(&mut *conn, APPLIED, (version, now.wall)).await?;
    }
    // An error on the way drops the connection, and the transaction with it.
    sqlx::query("COMMIT").execute(conn).await?;
    Ok(())
}

/// A consistent copy beside the database, complete before it takes the name of the last one.
async fn copy(conn: &mut SqliteConnection, unfinished: &Path, backup: &Path) -> Result<(), BackendError> {
    // VACUUM INTO takes an empty file, and keeps its mode.
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(unfinished)?;
    sqlx::query("VACUUM INTO $1").bind(unfinished.to_string_lossy().into_owned()).execute(conn).await?;
    file.sync_all()?;
    fs::rename(unfinished, backup)?;
    sync_directory_of(backup)?;
    Ok(())
}

/// A new name is on the disk only when its directory is.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// `atlasbridge.db` → `atlasbridge.db.bak`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn database(path: &Path, source: BackendError) -> OpenError {
    OpenError::Database { path: path.to_owned(), source }
}

/// SQLITE_CORRUPT and SQLITE_NOTADB: waiting or trying again will not help.
fn broken(path: &Path, source: BackendError) -> OpenError {
    let BackendError::Database(source) = source else { return database(path, source) };
    let code = source.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    match code.map(|code| code & 0xff) {
        Some(11 | 26) => OpenError::Corrupt { path: path.to_owned(), source: Some(source) },
        _ => database(path, source.into()),
    }
}

#[cfg(test)]
mod tests {
    use atlasbridge_model::{BootTime, Timestamp};
    use sqlx::Connection;

    use super::*;

    const NOW: Now = Now { wall: Timestamp(1), boot: BootTime(1) };
    const SECOND: &str = "ALTER TABLE sessions ADD COLUMN colour TEXT";

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("atlasbridge-schema-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[tokio::test]
    async fn an_old_database_is_copied_and_migrated() {
        let directory = directory("old");
        let path = directory.join("atlasbridge.db");
        let (conn, created) = open(&path, NOW, &MIGRATIONS[..1]).await.unwrap();
        assert_eq!(created.unwrap().backup, None, "there was nothing to copy");
        conn.close().await.unwrap();

        let two = [MIGRATIONS[0], SECOND];
        let (mut conn, migrated) = open(&path, NOW, &two).await.unwrap();
        let migrated = migrated.unwrap();
        assert_eq!((migrated.from, migrated.to), (1, 2));
        sqlx::query("SELECT colour FROM sessions").fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();

        let backup = migrated.backup.unwrap();
        assert_eq!(backup, directory.join("atlasbridge.db.bak"));
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
        let (_, again) = open(&backup, NOW, &MIGRATIONS[..1]).await.unwrap();
        assert_eq!(again, None, "the copy is whole, and old");
        let (_, again) = open(&path, NOW, &two).await.unwrap();
        assert_eq!(again, None);
        fs::remove_dir_all(directory).unwrap();
    }

    #[tokio::test]
    async fn an_instruction_that_waited_before_a_migration_waits_after_it() {
        let directory = directory("instructions");
        let path = directory.join("atlasbridge.db");
        let (mut conn, _) = open(&path, NOW, &MIGRATIONS[..3]).await.unwrap();
        for sql in [
            "INSERT INTO sessions (id, tool, command, cwd, host_pid, host_started, boot_id, started_at, status)
             VALUES ('s', 'claude', '[]', '/', 1, 1, 'b', 1, 'active')",
            "INSERT INTO queued_texts (session_id, text, source, decided_by, created_at)
             VALUES ('s', 'go on', 'cli:command', 'uid:0', 1)",
        ] {
            sqlx::query(sql).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();
        let (mut conn, _) = open(&path, NOW, MIGRATIONS).await.unwrap();
        let (reply, text, state): (String, String, String) =
            sqlx::query_as("SELECT reply_id, text, state FROM queued_texts")
                .fetch_one(&mut conn)
                .await
                .unwrap();
        assert_eq!((text.as_str(), state.as_str()), ("go on", "waiting"));
        assert!(reply.parse::<atlasbridge_model::ReplyId>().is_ok(), "{reply}");
        conn.close().await.unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    #[tokio::test]
    async fn a_migration_that_fails_changes_nothing() {
        let directory = directory("fails");
        let path = directory.join("atlasbridge.db");
        let two = [MIGRATIONS[0], "CREATE TABLE half (a TEXT); CREATE TABLE sessions (a TEXT);"];
        open(&path, NOW, &two[..1]).await.unwrap().0.close().await.unwrap();
        assert!(matches!(open(&path, NOW, &two).await, Err(OpenError::Database { .. })));
        let (mut conn, migrated) = open(&path, NOW, &two[..1]).await.unwrap();
        assert_eq!(migrated, None);
        assert!(sqlx::query("SELECT * FROM half").fetch_all(&mut conn).await.is_err());
        fs::remove_dir_all(directory).unwrap();
    }
}
