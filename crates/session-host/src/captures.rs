//! `ATLASBRIDGE_CAPTURE_PROMPTS=1`: each prompt that is seen becomes a scenario of its own, for people who improve the
//! detector.
//!
//! A scenario is a small recording (`.cast`: the screen as plain text, the cursor, the kernel's word) and its label
//! (`.json`: kind, title, choices, keys), as `atlasbridge lab replay` and `lab explain` take them. Secrets are masked in
//! all of it; it stays on this machine, readable for its owner alone. Failing to write one never disturbs the tool.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use atlasbridge_detect::recording::prompt_label;
use atlasbridge_detect::{Drift, KernelWait, Moment, Screen};
use atlasbridge_model::mask::mask;
use atlasbridge_model::{Choices, SessionId, Sighting, SightingNo};
use serde_json::{Value, json};

use crate::RunError;

/// Most scenarios of one session: a tool that asks in a circle must not fill the disk.
const MOST: u32 = 1000;
/// How long the screen stands in the recording, in seconds: longer than the detector ever takes to be sure.
const STANDS: f64 = 5.0;

#[derive(Debug)]
pub(crate) struct Captures {
    /// Nothing is kept without it.
    directory: Option<PathBuf>,
    session: SessionId,
    tool: String,
    written: u32,
    /// What the kernel said when it was last asked.
    pub(crate) kernel: KernelWait,
    /// The prompt about which the tool's word and its screen disagree.
    pub(crate) drift: Option<(SightingNo, Drift)>,
}

impl Captures {
    pub(crate) fn open(
        directory: Option<PathBuf>,
        session: SessionId,
        tool: String,
    ) -> Result<Self, RunError> {
        if let Some(path) = &directory
            && let Err(source) = DirBuilder::new().mode(0o700).create(path)
            && source.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(RunError::Captures { path: path.clone(), source });
        }
        Ok(Self { directory, session, tool, written: 0, kernel: KernelWait::UNKNOWN, drift: None })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.directory.is_some()
    }

    pub(crate) fn seen(&mut self, sighting: &Sighting, screen: &Screen, now: Moment) {
        let Some(directory) = self.directory.as_deref() else { return };
        if self.written >= MOST {
            return;
        }
        let name = self.name(sighting);
        // A scenario that cannot be written is a scenario less.
        let _ = write(&directory.join(format!("{name}.cast")), &self.recording(screen));
        let label = format!("{:#}\n", self.label(sighting, screen, now));
        let _ = write(&directory.join(format!("{name}.json")), &label);
        self.written += 1;
    }

    /// `claude-3f2a91c4-7`: tool, session, number of the prompt.
    fn name(&self, sighting: &Sighting) -> String {
        let is_plain = |char: &char| char.is_ascii_alphanumeric() || "-_.".contains(*char);
        let tool: String = self.tool.chars().filter(is_plain).take(40).collect();
        let session: String = self.session.to_string().chars().take(8).collect();
        format!("{tool}-{session}-{}", sighting.no.0)
    }

    /// The screen drawn at once, the cursor put in its place, and nothing more.
    fn recording(&self, screen: &Screen) -> String {
        let (cols, rows) = screen.size();
        let (row, column) = screen.cursor();
        let header = json!({ "version": 2, "width": cols, "height": rows, "title": self.tool });
        let begin = if screen.is_alternate() { "\x1b[?1049h\x1b[H" } else { "" };
        let text = mask(&screen.text()).replace('\n', "\r\n");
        let drawn = format!("{begin}{text}\x1b[{};{}H", row + 1, column + 1);
        let events = [
            json!([0.0, "o", drawn]),
            json!([0.0, "k", json!(self.kernel).to_string()]),
            json!([STANDS, "m", "captured"]),
        ];
        let lines: Vec<String> = std::iter::once(&header).chain(&events).map(Value::to_string).collect();
        format!("{}\n", lines.join("\n"))
    }

    fn label(&self, sighting: &Sighting, screen: &Screen, now: Moment) -> Value {
        let (cols, rows) = screen.size();
        let mut prompt = prompt_label(sighting, 0.0, STANDS, |label| mask(label).into_owned());
        prompt["confidence"] = sighting.confidence.level().as_str().into();
        prompt["excerpt"] = sighting.excerpt.as_str().into();
        prompt["detail"] = sighting.detail.as_str().into();
        prompt["refuses"] = sighting.choices.as_ref().and_then(Choices::refusing).into();
        let drift = self.drift.filter(|(no, _)| *no == sighting.no);
        json!({
            "drift": drift.map(|(_, how)| how.as_str()),
            "tool": self.tool,
            "scenario": self.name(sighting),
            "cols": cols,
            "rows": rows,
            "session": self.session.to_string(),
            "seen_after": now.0.as_secs_f64(),
            "prompts": [prompt],
            "quiet": [],
        })
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
