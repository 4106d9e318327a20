//! One line of the audit log, read back: from files that anybody may have written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use atlasbridge_model::audit::{ChainEnd, ChainError, Link};
use atlasbridge_model::{PromptId, SessionId, Timestamp};
use serde::Deserialize;

use crate::sql::record;

/// Longest line that is looked at, in bytes. Ours have about 400; members are cut long before this is reached.
pub(crate) const LONGEST_LINE: u64 = 128 << 10;

record! {
    /// A record of the audit log, whole. Unknown and repeated members are refused; a missing one shows when the line is
    /// written again.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AuditRecord {
        pub seq: u64,
        pub ts: String,
        pub event: String,
        pub session_id: Option<String>,
        pub prompt_id: Option<String>,
        pub value: Option<String>,
        pub source: Option<String>,
        pub decided_by: Option<String>,
        pub prev_hash: String,
        pub hash: String,
    }
}

impl AuditRecord {
    pub fn link(&self) -> Link<'_> {
        Link {
            seq: self.seq,
            ts: &self.ts,
            event: &self.event,
            session_id: self.session_id.as_deref(),
            prompt_id: self.prompt_id.as_deref(),
            value: self.value.as_deref(),
            source: self.source.as_deref(),
            decided_by: self.decided_by.as_deref(),
            prev_hash: &self.prev_hash,
        }
    }

    /// Where the chain ends with it.
    pub(crate) fn end(self) -> ChainEnd {
        ChainEnd { next_seq: self.seq + 1, hash: self.hash }
    }

    /// As it stands in the file, without the line break.
    pub fn line(&self) -> String {
        self.link().line(&self.hash)
    }

    /// A line that is a record as we would write it, to the byte. Whether its hash is right is for the chain to say.
    pub(crate) fn canonical(line: &[u8], scratch: &mut String) -> Result<Self, Flaw> {
        let record: Self = serde_json::from_slice(line).map_err(|_| Flaw::NoRecord)?;
        scratch.clear();
        record.link().write(Some(&record.hash), scratch);
        if scratch.as_bytes() == line { Ok(record) } else { Err(Flaw::NotCanonical) }
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("it is no audit record")]
    NoRecord,
    #[error("it is not in canonical form")]
    NotCanonical,
    #[error("it is too long")]
    TooLong,
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("the database has another record of this number")]
    NotInTable,
}

/// Which records are wanted; by default all.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    pub session: Option<SessionId>,
    pub prompt: Option<PromptId>,
    /// Not older than this.
    pub since: Option<Timestamp>,
}

impl RecordFilter {
    fn includes(&self, record: &AuditRecord) -> bool {
        let is_session = |id: SessionId| record.session_id == Some(id.to_string());
        let is_prompt = |id: PromptId| record.prompt_id == Some(id.to_string());
        self.session.is_none_or(is_session)
            && self.prompt.is_none_or(is_prompt)
            // The texts have one length and one zone, so they sort as the times do.
            && self.since.is_none_or(|since| since.rfc3339() <= record.ts)
    }
}

/// The audit log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("reading {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("a line of {} is no audit record; `atlasbridge audit verify` names it", path.display())]
    NoRecord { path: PathBuf, source: serde_json::Error },
}

/// The records of a log, oldest first, one at a time. A last line without its line break is left out: it is being
/// written, or will be repaired.
pub fn read_records(
    path: &Path,
    filter: RecordFilter,
) -> Result<impl Iterator<Item = Result<AuditRecord, ReadError>> + use<>, ReadError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let (path, mut line) = (path.to_owned(), Vec::new());
    let records = std::iter::from_fn(move || match read_line(&mut reader, &mut line) {
        Err(source) => Some(Err(unreadable(&path, source))),
        Ok(Line::End | Line::Torn) => None,
        Ok(Line::Whole) => Some(parse(&line, &path)),
    });
    Ok(records.filter(move |read| read.as_ref().ok().is_none_or(|record| filter.includes(record))))
}

/// The last `count` records, oldest first, read from the end of the file.
pub fn tail(path: &Path, count: usize) -> Result<Vec<AuditRecord>, ReadError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let mut most = 64 << 10;
    loop {
        let (start, end) = end_of(&file, most).map_err(|source| unreadable(path, source))?;
        let mut lines: Vec<&[u8]> = end.split(|&byte| byte == b'\n').collect();
        // What follows the last break is being written, or will be repaired; what comes before the first begins earlier.
        lines.pop();
        lines.drain(..usize::from(start > 0).min(lines.len()));
        lines.retain(|line| !line.is_empty());
        if start == 0 || lines.len() >= count {
            let first = lines.len().saturating_sub(count);
            return lines[first..].iter().map(|line| parse(line, path)).collect();
        }
        most *= 2;
    }
}

/// The last bytes of a file, at most so many, and where they begin.
pub(crate) fn end_of(file: &File, most: u64) -> io::Result<(u64, Vec<u8>)> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(most);
    let mut end = vec![0; (length - start) as usize];
    file.read_exact_at(&mut end, start)?;
    Ok((start, end))
}

fn parse(line: &[u8], path: &Path) -> Result<AuditRecord, ReadError> {
    serde_json::from_slice(line).map_err(|source| ReadError::NoRecord { path: path.to_owned(), source })
}

/// What stood next in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line with its break, which is not part of the buffer.
    Whole,
    /// Bytes up to the end of the file, without a break; or more of them than a line can have.
    Torn,
    End,
}

pub(crate) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    reader.take(LONGEST_LINE).read_until(b'\n', line)?;
    Ok(match line.pop() {
        Some(b'\n') => Line::Whole,
        Some(byte) => {
            line.push(byte);
            Line::Torn
        }
        None => Line::End,
    })
}

fn unreadable(path: &Path, source: io::Error) -> ReadError {
    ReadError::Unreadable { path: path.to_owned(), source }
}
