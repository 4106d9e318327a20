//! What a test has proven, for the table of agents in `docs/agents.md`: one JSON line each, in a file of the target directory that
//! `cargo xtask agents` reads. An agent that could not be had leaves a line too, so that its rows are not missed.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::Tool;

/// How an answer reached the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Keys, found on the screen.
    Screen,
    /// The agent asked by itself, and was told.
    Hook,
}

/// One row of the table.
#[derive(Debug, Clone)]
pub struct Proof<'a> {
    pub tool: Tool,
    pub version: &'a str,
    /// What was asked: `command`, `edit`, `trust`.
    pub dialog: &'a str,
    /// What was answered: `accepted`, `refused`, `text`.
    pub answer: &'a str,
    pub route: Route,
    /// The keys that did it, in words; nothing for a hook.
    pub keys: &'a str,
}

impl Proof<'_> {
    /// Call it when the file system and the model have said so, not before.
    pub fn record(&self) {
        append(&json!({
            "tool": self.tool.name(), "version": self.version, "dialog": self.dialog, "answer": self.answer,
            "route": match self.route { Route::Screen => "screen", Route::Hook => "hook" },
            "keys": self.keys,
        }));
    }
}

pub(super) fn record_skipped(tool: Tool, version: &str) {
    append(&json!({ "skipped": tool.name(), "version": version }));
}

/// In one write: tests run side by side.
fn append(line: &Value) {
    let mut file = OpenOptions::new().create(true).append(true).open(file()).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Tests run as `target/PROFILE/deps/NAME`.
fn file() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("tests run below the target directory");
    target.join("agents-proved.jsonl")
}

/// Strokes as people say them: `Down, Enter`.
pub(super) fn in_words(keys: &str) -> String {
    let named = [
        ("\u{1b}[A", "Up"),
        ("\u{1b}[B", "Down"),
        ("\u{1b}[C", "Right"),
        ("\u{1b}[D", "Left"),
        ("\u{1b}OA", "Up"),
        ("\u{1b}OB", "Down"),
        ("\u{1b}OC", "Right"),
        ("\u{1b}OD", "Left"),
        ("\u{1b}", "Esc"),
        ("\r", "Enter"),
        ("\t", "Tab"),
        (" ", "Space"),
    ];
    let mut words: Vec<String> = Vec::new();
    let mut left = keys;
    while let Some(next) = left.chars().next() {
        match named.iter().find(|(bytes, _)| left.starts_with(bytes)) {
            Some((bytes, word)) => {
                words.push((*word).to_owned());
                left = &left[bytes.len()..];
            }
            None => {
                words.push(next.to_string());
                left = &left[next.len_utf8()..];
            }
        }
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn strokes_have_names() {
        assert_eq!(in_words("4"), "4");
        assert_eq!(in_words("\u{1b}"), "Esc");
        assert_eq!(in_words("\u{1b}[B\u{1b}[B\r"), "Down, Down, Enter");
        assert_eq!(in_words("y\r"), "y, Enter");
    }
}
