//! Is the audit log what was written? Reads the file line by line, in constant memory, while the hub may be writing.
//!
//! A chain alone proves nothing against somebody who rewrites all of it; and cutting off its end leaves a shorter
//! chain that is just as good. So the end is compared with the table, where there is one to look at.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_model::audit::ChainEnd;
use sqlx::ConnectOptions;

use crate::record::{AuditRecord, Flaw, LONGEST_LINE, Line, read_line};
use crate::schema;
use crate::sql::{self, record};
use crate::store::BackendError;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// Every record is what it was, and none is missing.
    Good { records: u64, head: String },
    /// The first bad line, counted from 1, and the record that should stand there.
    Tampered { line: u64, seq: u64, why: Flaw },
    /// The file ends with record `have`; the database knows that `expected` was in it.
    Truncated { have: u64, expected: u64 },
    /// The last line is incomplete and the hub is not completing it: a crash. The next start of the hub repairs it.
    TornTail { line: u64 },
    /// The last records are in the database only: a crash came between. The next start of the hub completes the file.
    Behind { have: u64, expected: u64 },
    /// The file is good in itself, but the table has fewer records than it.
    TableDiffers { in_file: u64, in_table: u64 },
}

/// For people; the command line and the page say the same.
impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verification::Good { records, head } => write!(f, "good, {records} records, head {head}"),
            Verification::Tampered { line, seq, why } => {
                write!(f, "tampered with: line {line}, where record {seq} must stand: {why}")
            }
            Verification::TableDiffers { in_file, in_table } => write!(
                f,
                "the file has {in_file} records, the database only {in_table}: one of them was changed"
            ),
            Verification::Truncated { have, expected } => {
                write!(f, "truncated: it ends with record {have}, and {expected} were in it")
            }
            Verification::TornTail { line } => write!(
                f,
                "the last line, {line}, is incomplete, as after a crash; the next start of the hub repairs it and says so"
            ),
            Verification::Behind { have, expected } => write!(
                f,
                "it ends with record {have} of {expected}, as after a crash; the next start of the hub completes it"
            ),
        }
    }
}

/// The log could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("reading {}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("reading the audit table of {}", path.display())]
    Database { path: PathBuf, source: BackendError },
}

/// Verifies the file, and its end against the table if a database is given.
///
/// The table is read before the file and once more after it: the hub commits first and appends second, so what it
/// does meanwhile can make the file longer than the first look at the table, never longer than the second.
pub fn verify(audit_log: &Path, database: Option<&Path>) -> Result<Verification, VerifyError> {
    let table = database.map(look).transpose()?;
    let log_error = |source| VerifyError::Log { path: audit_log.to_owned(), source };
    let file = match (File::open(audit_log), &table) {
        (Ok(file), _) => file,
        (Err(error), Some(table)) if error.kind() == io::ErrorKind::NotFound && table.mark > 0 => {
            return Ok(Verification::Truncated { have: 0, expected: table.last });
        }
        (Err(error), _) => return Err(log_error(error)),
    };
    let walked = walk(file, table.as_ref()).map_err(log_error)?;
    let table_now = database.map(look).transpose()?;
    Ok(walked.verdict(table.as_ref().zip(table_now.as_ref())))
}

/// How often, and how long each time, a verification waits for a hub that is just writing: one append takes 1 to 2 ms.
const PATIENCE: (u32, Duration) = (20, Duration::from_millis(10));

record! {
    /// What the table says.
    #[derive(Debug)]
    struct Table {
        /// What the file was known to have on the disk.
        mark: u64,
        last: u64,
        hash: String,
        count: u64,
        /// Numbers between the first and the last that no record has.
        gaps: u64,
    }
}

/// How far the file is good.
struct Walked {
    end: ChainEnd,
    lines: u64,
    stopped: Stopped,
}

enum Stopped {
    AtEnd,
    Torn,
    Bad(Flaw),
}

fn walk(file: File, table: Option<&Table>) -> io::Result<Walked> {
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut scratch) = (Vec::new(), String::new());
    let (mut end, mut lines, mut offset) = (ChainEnd::default(), 0, 0);
    let mut waits = PATIENCE.0;
    let stopped = loop {
        let is_behind = table.is_some_and(|table| end.next_seq <= table.last);
        match read_line(&mut reader, &mut line)? {
            Line::Whole => {
                if let Err(flaw) = follow(&mut end, &line, table, &mut scratch) {
                    break Stopped::Bad(flaw);
                }
                lines += 1;
                offset += line.len() as u64 + 1;
            }
            Line::Torn if line.len() as u64 == LONGEST_LINE => break Stopped::Bad(Flaw::TooLong),
            Line::End if !is_behind => break Stopped::AtEnd,
            Line::End | Line::Torn if waits > 0 => {
                waits -= 1;
                std::thread::sleep(PATIENCE.1);
                reader.seek(SeekFrom::Start(offset))?;
            }
            Line::End => break Stopped::AtEnd,
            Line::Torn => break Stopped::Torn,
        }
    };
    Ok(Walked { end, lines, stopped })
}

fn follow(end: &mut ChainEnd, line: &[u8], table: Option<&Table>, scratch: &mut String) -> Result<(), Flaw> {
    let record = AuditRecord::canonical(line, scratch)?;
    if table.is_some_and(|table| table.last == record.seq && table.hash != record.hash) {
        return Err(Flaw::NotInTable);
    }
    end.follow(&record.link(), &record.hash, scratch)?;
    Ok(())
}

impl Walked {
    /// With what the table said before the walk and after it, where there is one.
    fn verdict(self, tables: Option<(&Table, &Table)>) -> Verification {
        let (line, have) = (self.lines + 1, self.end.next_seq - 1);
        match (self.stopped, tables) {
            (Stopped::Bad(why), _) => Verification::Tampered { line, seq: have + 1, why },
            (Stopped::AtEnd | Stopped::Torn, Some((before, _))) if have < before.mark => {
                Verification::Truncated { have, expected: before.last }
            }
            (Stopped::Torn, _) => Verification::TornTail { line },
            (Stopped::AtEnd, Some((before, _))) if have < before.last => {
                Verification::Behind { have, expected: before.last }
            }
            (Stopped::AtEnd, Some((_, after))) if have > after.last || after.gaps > 0 => {
                Verification::TableDiffers { in_file: have, in_table: after.count }
            }
            (Stopped::AtEnd, _) => Verification::Good { records: self.lines, head: self.end.hash },
        }
    }
}

/// Asks the table, read-only. The runtime lives in a thread of its own, so that this works from anywhere.
fn look(database: &Path) -> Result<Table, VerifyError> {
    // One statement: one picture of the mark (`Mark`) and the head.
    const SQL: &str =
        "SELECT COUNT(*) AS count, COALESCE(MAX(seq), 0) AS last,
             COALESCE(MAX(seq) - MIN(seq) + 1 - COUNT(*), 0) AS gaps,
             COALESCE((SELECT hash FROM audit_events ORDER BY seq DESC LIMIT 1), '') AS hash,
             COALESCE((SELECT value FROM channel_state WHERE channel = 'audit_log' AND key = 'exported_seq'), 0) AS mark
         FROM audit_events";
    let path = database.to_owned();
    let asked = std::thread::spawn(move || -> Result<Table, BackendError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(async {
            let mut conn = schema::reading(&path).connect().await?;
            Ok(sql::one(&mut conn, SQL, ()).await?.ok_or(sqlx::Error::RowNotFound)?)
        })
    });
    asked
        .join()
        .unwrap_or(Err(BackendError::Stopped))
        .map_err(|source| VerifyError::Database { path: database.to_owned(), source })
}
