//! Bytes to lines and lines to frames, for blocking, polling and async readers alike.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::MAX_FRAME;

/// A peer that does not keep to the protocol. The connection is closed; nothing else suffers.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a frame is longer than {MAX_FRAME} bytes")]
    TooLong,
    #[error("a frame is not what this protocol knows")]
    Malformed(#[source] serde_json::Error),
}

/// `frame` as one line, with its line break.
pub fn encode<T: Serialize>(frame: &T) -> Vec<u8> {
    // Our frames are structs and enums with string keys: serialising them into memory cannot fail.
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}

/// One line without its line break as a frame.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(line).map_err(FrameError::Malformed)
}

/// Collects bytes and gives out whole lines. Never holds more than one frame's worth of unfinished line.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
    /// `held` up to here was searched for a line break.
    searched: usize,
}

impl Lines {
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// More has come than one frame may hold, and was not asked for.
    pub fn is_full(&self) -> bool {
        self.held.len() >= MAX_FRAME
    }

    /// The next whole line, if it has come.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let offset = self.held[self.searched..].iter().position(|&byte| byte == b'\n');
        let end = offset.map(|offset| self.searched + offset);
        if end.unwrap_or(self.held.len()) >= MAX_FRAME {
            return Err(FrameError::TooLong);
        }
        self.searched = if end.is_some() { 0 } else { self.held.len() };
        Ok(end.map(|end| {
            let mut line: Vec<u8> = self.held.drain(..=end).collect();
            line.pop();
            line
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_the_bytes_come_in() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for byte in b"one\n\ntwo\nrest" {
            lines.push(&[*byte]);
            while let Some(line) = lines.next_line().unwrap() {
                seen.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(seen, ["one", "", "two"]);
    }

    #[test]
    fn a_line_without_end_is_cut_off() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; MAX_FRAME]);
        assert!(matches!(lines.next_line(), Err(FrameError::TooLong)));
    }
}
