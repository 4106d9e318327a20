//! The tool's own log: `asks TIME` and `read TIME VALUE`, one line each (`scenarios/prelude.sh`).

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::scenario::Scenario;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) asks: Vec<SystemTime>,
    pub(crate) reads: Vec<Read>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) at: SystemTime,
    pub(crate) value: String,
}

impl Log {
    /// A tool that never came to write has an empty log.
    pub(crate) fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next().and_then(time), words.next()) {
                (Some("asks"), Some(at), None) => log.asks.push(at),
                (Some("read"), Some(at), Some(value)) => log.reads.push(Read { at, value: value.to_owned() }),
                _ => {}
            }
        }
        log
    }

    /// The truth of a rehearsal: what the tool was told.
    pub(crate) fn problems(&self, scenario: &Scenario) -> Option<String> {
        let read: Vec<&str> = self.reads.iter().map(|read| read.value.as_str()).collect();
        (read != scenario.reads)
            .then(|| format!("the tool read {read:?} and should have read {:?}", scenario.reads))
    }
}

/// `1700000000.123456`, as bash's `EPOCHREALTIME`.
fn time(word: &str) -> Option<SystemTime> {
    let (seconds, micros) = word.split_once('.')?;
    let since = Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_blanks() {
        let log = Log::parse("asks 10.000001\nread 11.500000 two  words\nread 12.000000 \ngarbage\n");
        let at = |micros| SystemTime::UNIX_EPOCH + Duration::from_micros(micros);
        assert_eq!(log.asks, [at(10_000_001)]);
        let values: Vec<_> = log.reads.iter().map(|read| (read.at, read.value.as_str())).collect();
        assert_eq!(values, [(at(11_500_000), "two  words"), (at(12_000_000), "")]);
    }
}
