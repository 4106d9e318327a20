//! Recordings as files: read whole, with the line that is wrong; written event by event.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use atlasbridge_detect::recording::{NotARecording, Recording, Viewer};
use atlasbridge_detect::{KernelWait, Moment, Observation, without_text};
use atlasbridge_pty::WindowSize;
use serde_json::{Value, json};

/// Why there is no recording to play.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    #[error("reading the recording {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: line {line} is not UTF-8 text; is this a recording?", path.display())]
    NotText { path: PathBuf, line: usize },
    #[error("{}: {source}; `atlasbridge lab record` and `asciinema rec --output-format asciicast-v2` make such files", path.display())]
    Broken { path: PathBuf, source: NotARecording },
}

/// Reads an asciicast v2 file.
pub fn read_cast(path: &Path) -> Result<Recording, CastError> {
    let bytes = fs::read(path).map_err(|source| CastError::Read { path: path.to_owned(), source })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        CastError::NotText {
            path: path.to_owned(),
            line: good.iter().filter(|byte| **byte == b'\n').count() + 1,
        }
    })?;
    Recording::parse(text).map_err(|source| CastError::Broken { path: path.to_owned(), source })
}

/// A recording that is being made: everything that happens is written down, and shown to the detector. What was not flushed
/// is lost with the process, no more.
#[derive(Debug)]
pub(crate) struct CastWriter {
    file: BufWriter<File>,
    /// Bytes of a character whose rest has not come yet.
    split: Vec<u8>,
    /// The kernel's word as it was last written.
    kernel: Option<KernelWait>,
    pub(crate) viewer: Viewer,
    /// Keys were typed while the terminal did not show them.
    pub(crate) hides_keys: bool,
    /// The first failure to write.
    pub(crate) trouble: Option<io::Error>,
}

impl CastWriter {
    /// For its owner alone: it holds everything that will be shown.
    pub(crate) fn create(path: &Path, header: &Value, viewer: Viewer) -> io::Result<Self> {
        let mut file = BufWriter::new(create_private(path)?);
        writeln!(file, "{header}")?;
        Ok(Self { file, split: Vec::new(), kernel: None, viewer, hides_keys: false, trouble: None })
    }

    /// A character that is cut by the end of a read is written with its other half.
    pub(crate) fn output(&mut self, at: Moment, bytes: &[u8]) {
        self.split.extend_from_slice(bytes);
        let whole = whole_characters(&self.split);
        let rest = self.split.split_off(whole);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.split, rest)).into_owned();
        if !text.is_empty() {
            self.event(at, "o", &text);
        }
        self.viewer.give(Observation::Output(bytes), at);
    }

    /// Text that the terminal does not show is hidden here as well.
    pub(crate) fn keys(&mut self, at: Moment, keys: &[u8], is_shown: bool) {
        let text = String::from_utf8_lossy(keys).into_owned();
        let noted = if is_shown { text.clone() } else { without_text(&text) };
        self.hides_keys |= noted != text;
        self.event(at, "i", &noted);
        self.viewer.give(Observation::LocalInput(keys), at);
    }

    pub(crate) fn resized(&mut self, at: Moment, size: WindowSize) {
        let WindowSize { ws_col: cols, ws_row: rows, .. } = size;
        self.event(at, "r", &format!("{cols}x{rows}"));
        self.viewer.give(Observation::Resized { cols, rows }, at);
    }

    /// A deadline has come, which needs no event. The kernel's word does, if it is another than before: it may be asked for.
    pub(crate) fn look(&mut self, due: Moment, kernel: KernelWait) {
        if self.kernel != Some(kernel) {
            self.kernel = Some(kernel);
            self.event(due, "k", &serde_json::to_string(&kernel).unwrap_or_default());
        }
        self.viewer.kernel = kernel;
        self.viewer.give(Observation::Deadline, due);
    }

    pub(crate) fn ended(&mut self, at: Moment) {
        self.event(at, "m", "the tool has ended");
        self.viewer.give(Observation::ToolEnded, at);
    }

    pub(crate) fn flush(&mut self) {
        let flushed = self.file.flush();
        self.keep(flushed);
    }

    fn event(&mut self, at: Moment, kind: &str, text: &str) {
        // Six digits: the clock of a recording counts whole microseconds.
        let seconds = format!("{}.{:06}", at.0.as_secs(), at.0.subsec_micros());
        let written = writeln!(self.file, "[{seconds}, {}, {}]", json!(kind), json!(text));
        self.keep(written);
    }

    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.trouble.get_or_insert(error);
        }
    }
}

/// A new file, for its owner alone.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// How many of these bytes are whole characters. Bytes that can never become one count: they are shown as `�`.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_unfinished = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
    if is_unfinished { bytes.len() - tail.len() } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_never_cut() {
        for (bytes, whole) in [
            (&b"abc"[..], 3),
            (b"ab\xe2\x9d", 2),
            (b"\xff\xfe", 2),
            (b"\xffa\xe2\x9d", 2),
            ("❯".as_bytes(), 3),
            (b"", 0),
        ] {
            assert_eq!(whole_characters(bytes), whole, "{bytes:?}");
        }
    }
}
