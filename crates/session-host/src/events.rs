//! `--events`: one JSON line for each thing seen, gone and typed, appended to a file or written to a FIFO.
//!
//! Never waits: a reader that does not keep up loses lines, and the next line that fits says how many.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use atlasbridge_detect::Moment;
use atlasbridge_model::{SessionId, Sighting, SightingNo};
use serde_json::{Value, json};

use crate::RunError;

/// `O_NONBLOCK` on Linux, for both supported architectures.
const NONBLOCK: i32 = 0o4000;

#[derive(Debug)]
pub(crate) struct Events {
    /// Nobody wants them without it.
    file: Option<File>,
    session: SessionId,
    lost: u64,
}

impl Events {
    pub(crate) fn open(path: Option<&Path>, session: SessionId) -> Result<Self, RunError> {
        let open = |path: &Path| {
            let is_fifo = path.metadata().is_ok_and(|found| found.file_type().is_fifo());
            let mut options = OpenOptions::new();
            // Opened for reading too, a FIFO neither blocks here nor breaks while nobody reads.
            options.append(true).read(is_fifo).create(!is_fifo).mode(0o600).custom_flags(NONBLOCK);
            options.open(path).map_err(|source| RunError::Events { path: path.to_owned(), source })
        };
        Ok(Self { file: path.map(open).transpose()?, session, lost: 0 })
    }

    pub(crate) fn seen(&mut self, sighting: &Sighting, now: Moment) {
        let choices = sighting.choices.as_ref();
        self.write(
            now,
            json!({
                "event": "seen",
                "sighting": sighting.no.0,
                "kind": sighting.kind.as_str(),
                "confidence": sighting.confidence.level().as_str(),
                "excerpt": sighting.excerpt.as_str(),
                "detail": sighting.detail.as_str(),
                "choices": choices.map(|rows| rows.iter().map(|row| row.label.as_str()).collect::<Vec<_>>()).unwrap_or_default(),
                "refuses": choices.and_then(|rows| rows.refusing()),
            }),
        );
    }

    /// `gone`, or `drift`, which comes right before the prompt that it speaks of.
    pub(crate) fn happened(&mut self, event: &str, sighting: SightingNo, how: &str, now: Moment) {
        self.write(now, json!({ "event": event, "sighting": sighting.0, "how": how }));
    }

    /// `by` is told while the reply is on its way: `hook` or `keys`.
    pub(crate) fn injected(&mut self, reply: &str, outcome: &Value, by: Option<&str>, now: Moment) {
        self.write(now, json!({ "event": "injected", "reply_id": reply, "outcome": outcome, "by": by }));
    }

    /// Keys or a line from elsewhere. What they were stays off the record.
    pub(crate) fn typed(&mut self, typing: &str, outcome: &Value, now: Moment) {
        self.write(now, json!({ "event": "typed", "typing_id": typing, "outcome": outcome }));
    }

    fn write(&mut self, now: Moment, mut line: Value) {
        let Some(file) = &mut self.file else { return };
        line["t"] = json!(now.0.as_secs_f64());
        line["session_id"] = json!(self.session.to_string());
        if self.lost > 0 {
            line["lost_before"] = json!(self.lost);
        }
        let mut text = line.to_string();
        text.push('\n');
        // One write: a FIFO takes up to a page whole or not at all.
        match file.write(text.as_bytes()) {
            Ok(written) if written == text.len() => self.lost = 0,
            Ok(_) | Err(_) => self.lost += 1,
        }
    }
}
