//! The draft of a recording's label: what the detector saw, for a person to correct.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use atlasbridge_detect::Moment;
use atlasbridge_detect::recording::Replayed;
use atlasbridge_model::{Choices, Kind};
use serde_json::{Map, Value, json};

pub(super) struct Facts<'a> {
    pub(super) tool: &'a str,
    pub(super) command: &'a [String],
    pub(super) scenario: &'a Path,
    pub(super) cols: u16,
    pub(super) rows: u16,
    pub(super) code: i32,
    pub(super) end: Moment,
    pub(super) seen: &'a [Replayed],
}

const NOTE: &str = "A draft: what the detector saw. Correct it by what you saw: `from` is when the question was fully \
                    visible, `to` when it was answered; `quiet` takes windows in which nothing waited. Then remove \
                    this note.";

pub(super) fn draft(facts: &Facts<'_>) -> Value {
    let scenario = facts.scenario.file_stem().unwrap_or_default().to_string_lossy();
    json!({
        "tool": facts.tool,
        "tool_version": "",
        "scenario": scenario,
        "argv": facts.command,
        "cols": facts.cols,
        "rows": facts.rows,
        "exit": facts.code,
        "note": NOTE,
        "prompts": facts.seen.iter().map(|seen| prompt(seen, facts.end)).collect::<Vec<_>>(),
        "quiet": [],
    })
}

fn prompt(seen: &Replayed, end: Moment) -> Value {
    let sighting = &seen.sighting;
    let kind = match sighting.kind {
        Kind::Idle => "idle_input",
        other => other.as_str(),
    };
    let rows = || sighting.choices.iter().flat_map(Choices::iter);
    let keys: Map<String, Value> =
        rows().map(|choice| (choice.label.clone(), choice.keys().into())).collect();
    json!({
        "from": seen.t.0.as_secs_f64(),
        "to": seen.gone_at.unwrap_or(end).0.as_secs_f64(),
        "kind": kind,
        "title": title(sighting.excerpt.as_str()),
        "choices": rows().map(|choice| choice.label.as_str()).collect::<Vec<_>>(),
        "keys": keys,
    })
}

/// The last line of the question, which is where it asks; whole, so that it can be found again.
fn title(excerpt: &str) -> &str {
    let last = excerpt.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or_default().trim().trim_end_matches('…')
}

pub(super) fn write(path: &Path, draft: &Value) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{draft:#}")
}
