//! The draft of a recording's label: what the detector saw, for a person to correct.

use atlasbridge_detect::Moment;
use atlasbridge_detect::recording::{Replayed, prompt_label};
use atlasbridge_pty::WindowSize;
use serde_json::{Value, json};

use super::{RecordConfig, command_line};

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
    let to = seen.gone_at.unwrap_or(end);
    prompt_label(&seen.sighting, seen.t.0.as_secs_f64(), to.0.as_secs_f64(), str::to_owned)
}
