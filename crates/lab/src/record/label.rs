//! The draft of a recording's label: what the detector saw, for a person to correct.

use std::io::{self, Write};
use std::path::Path;

use atlasbridge_detect::Moment;
use atlasbridge_detect::recording::Replayed;
use atlasbridge_model::{Choices, Kind};
use atlasbridge_pty::WindowSize;
use serde_json::{Map, Value, json};

use super::{RecordConfig, command_line};
use crate::cast::create_private;

const NOTE: &str = "A draft: what the detector saw. Correct it by what you saw: `from` is when the question was fully \
                    visible, `to` when it was answered; `quiet` takes windows in which nothing waited. Then remove \
                    this note.";

pub(super) fn draft(
    config: &RecordConfig,
    size: WindowSize,
    code: i32,
    end: Moment,
    seen: &[Replayed],
) -> Value {
    json!({
        "tool": config.tool,
        "tool_version": "",
        "scenario": config.output.file_stem().unwrap_or_default().to_string_lossy(),
        "argv": command_line(config),
        "cols": size.ws_col,
        "rows": size.ws_row,
        "exit": code,
        "note": NOTE,
        "prompts": seen.iter().map(|seen| prompt(seen, end)).collect::<Vec<_>>(),
        "quiet": [],
    })
}

fn prompt(seen: &Replayed, end: Moment) -> Value {
    let sighting = &seen.sighting;
    let kind = if sighting.kind == Kind::Idle { "idle_input" } else { sighting.kind.as_str() };
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
    writeln!(create_private(path)?, "{draft:#}")
}
