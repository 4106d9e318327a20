//! What a session host leaves on disk before and after it types, one JSON line each.
//!
//! The host's memory answers while it lives; the journal speaks for it when it was killed. No entry for a reply:
//! it was certainly not typed. An intent without an outcome: whether it was typed is unknown, and it is
//! not tried again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum JournalEntry {
    /// On disk before the first byte is typed.
    Intent {
        reply_id: String,
        prompt_id: String,
    },
    /// The bytes are in the terminal's queue.
    Typed {
        reply_id: String,
    },
    /// As [`JournalEntry::Intent`], for keys or a line from afar that answer no prompt.
    TypingIntent {
        typing_id: String,
    },
    TypingDone {
        typing_id: String,
    },
}

/// What the journal says of one reply, or of one typing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    NotTyped,
    /// The host died between intent and outcome.
    Unknown,
    Typed,
}

/// The traces of everything in a journal, by id. A torn last line is what a crash leaves: it counts as not written.
pub fn traces(text: &str) -> HashMap<String, Trace> {
    let mut traces = HashMap::new();
    for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match entry {
            JournalEntry::Intent { reply_id: id, .. } | JournalEntry::TypingIntent { typing_id: id } => {
                traces.entry(id).or_insert(Trace::Unknown)
            }
            JournalEntry::Typed { reply_id: id } | JournalEntry::TypingDone { typing_id: id } => {
                traces.entry(id).insert_entry(Trace::Typed).into_mut()
            }
        };
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_journal_tells_what_is_certain() {
        let intent = |n: u8| format!(r#"{{"entry":"intent","reply_id":"r{n}","prompt_id":"p{n}"}}"#);
        let text = format!(
            "{}\n{{\"entry\":\"typed\",\"reply_id\":\"r1\"}}\n{}\n{{\"entry\":\"typing_intent\",\"typing_id\":\"t1\"}}\n\
             {{\"entry\":\"added_later\"}}\n{{\"entry\":\"ty",
            intent(1),
            intent(2)
        );
        let traces = traces(&text);
        assert_eq!(traces.get("r1"), Some(&Trace::Typed));
        assert_eq!(traces.get("r2"), Some(&Trace::Unknown));
        assert_eq!(traces.get("r3"), None);
        assert_eq!(traces.get("t1"), Some(&Trace::Unknown));
    }
}
