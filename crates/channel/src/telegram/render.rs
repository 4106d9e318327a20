//! A card or a notice as a message of this service, pure: HTML and rows of buttons.
//!
//! What a program wrote stands in `<pre>`, made visible; everything else is ours. Whatever goes in, the message is valid,
//! fits, and says exactly how much it leaves out. Nothing is called approved: a message says what was typed, and that it
//! was taken only once the session host has seen it.

mod card;
mod fit;

use atlasbridge_model::speech::counted;
use atlasbridge_model::visible::visible;
use serde::Serialize;
use serde_json::{Value, json};

use super::callback;
use crate::{Block, Button, Notice};
pub(crate) use card::card;
use fit::{Fitted, MOST_UNITS, escape, fit, units};

/// Longest text on a button.
const MOST_BUTTON: usize = 60;
/// The service takes a hundred buttons, eight in a row.
const MOST_ROWS: usize = 12;
const MOST_IN_ROW: usize = 8;
/// Kept for "… 4096 more characters" and its markup.
const CUT_UNITS: usize = 64;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) html: String,
    pub(crate) rows: Vec<Vec<Key>>,
}

/// One button, as the service takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Key {
    pub(crate) text: String,
    #[serde(rename = "callback_data")]
    pub(crate) data: String,
}

impl Message {
    /// An empty keyboard takes the buttons of an edited message away.
    pub(crate) fn keyboard(&self) -> Value {
        json!({ "inline_keyboard": self.rows })
    }
}

/// A message that is no prompt. Programs share the room that our own words leave.
pub(crate) fn notice(notice: &Notice) -> Message {
    let programs = notice.blocks.iter().filter(|block| matches!(block, Block::Program(_))).count();
    let ours_room = MOST_UNITS / 2;
    let mut left = MOST_UNITS - CUT_UNITS;
    let mut ours_left = if programs == 0 { left } else { ours_room };
    let mut parts: Vec<Option<String>> = Vec::new();
    for block in &notice.blocks {
        parts.push(match block {
            Block::Ours(text) => {
                let html = paragraph(text, ours_left);
                ours_left = ours_left.saturating_sub(units(&html) + 1);
                left = left.saturating_sub(units(&html) + 1);
                Some(html)
            }
            Block::Program(_) => None,
        });
    }
    let share = left / programs.max(1);
    let parts = notice.blocks.iter().zip(parts).map(|(block, done)| match (block, done) {
        (_, Some(html)) => html,
        (Block::Ours(text) | Block::Program(text), None) => program(text, share),
    });
    let html = joined(parts.filter(|html| !html.is_empty()));
    let rows = notice.buttons.iter().map(|row| question_row(row));
    Message {
        html: if html.is_empty() { "…".to_owned() } else { html },
        rows: rows.filter(|row| !row.is_empty()).take(MOST_ROWS).collect(),
    }
}

/// One below the other, as many as fit.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut html = String::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next_if(|part| units(&html) + units(part) + CUT_UNITS <= MOST_UNITS) {
        if !html.is_empty() {
            html.push('\n');
        }
        html.push_str(&part);
    }
    match parts.count() {
        0 => html,
        left_out => format!("{html}\n<i>{left_out} more paragraphs</i>"),
    }
}

/// Names of sessions and people stand in our sentences too: they are made visible like anything else.
fn paragraph(text: &str, room: usize) -> String {
    let Fitted { html, left_out } = fit(text.trim(), usize::MAX, room.saturating_sub(CUT_UNITS), visible);
    match left_out {
        0 => html,
        left_out => format!("{html}… ({})", more(left_out)),
    }
}

fn program(text: &str, room: usize) -> String {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return "<i>(empty)</i>".to_owned();
    }
    let Fitted { html, left_out } = fit(text, usize::MAX, room.saturating_sub(2 * CUT_UNITS), visible);
    match left_out {
        0 => format!("<pre>{html}</pre>"),
        left_out => format!("<pre>{html}</pre>\n<i>{}</i>", more(left_out)),
    }
}

fn more(count: usize) -> String {
    counted(count, "more character")
}

fn question_row(row: &[Button]) -> Vec<Key> {
    row.iter()
        .take(MOST_IN_ROW)
        .filter_map(|button| {
            Some(Key { text: on_button(&button.label), data: callback::of_question(&button.token)? })
        })
        .collect()
}

/// Never empty, which the service refuses.
fn on_button(label: &str) -> String {
    match line(label, MOST_BUTTON) {
        line if line.is_empty() => "…".to_owned(),
        line => line,
    }
}

/// A person's words in one line, visible and cut; not yet escaped.
fn line(text: &str, most: usize) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        count if count > most => line.chars().take(most - 1).chain(['…']).collect(),
        _ => line,
    }
}

#[cfg(test)]
mod tests;
