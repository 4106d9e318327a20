//! Messages that are no prompts, as they stand in the store until their channel has sent them.

use atlasbridge_channel::{Address, Block, Button, Notice, Target, Task};
use atlasbridge_store::NewNotice;
use serde::{Deserialize, Serialize};

/// What stands in a notice's row of the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// Buttons by their rows, each with its label and what a tap on it brings back.
    Notice {
        blocks: Vec<(Voice, String)>,
        buttons: Vec<Vec<(String, String)>>,
    },
    File {
        name: String,
        text: String,
    },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Voice {
    Ours,
    Program,
}

pub(crate) fn new_notice(
    channel: &str,
    target: &Target,
    body: &Body,
    reply_to: Option<&Address>,
) -> NewNotice {
    NewNotice {
        channel: channel.to_owned(),
        target: target.0.clone(),
        body: serde_json::to_string(body).expect("strings and lists are always JSON"),
        reply_to: reply_to.map(|address| address.0.clone()),
    }
}

impl Body {
    pub(crate) fn into_task(self, reply_to: Option<Address>) -> Task {
        let (blocks, buttons) = match self {
            Body::File { name, text } => return Task::File { name, text, reply_to },
            Body::Notice { blocks, buttons } => (blocks, buttons),
        };
        let block = |(voice, text)| match voice {
            Voice::Ours => Block::Ours(text),
            Voice::Program => Block::Program(text),
        };
        let row = |row: Vec<(String, String)>| {
            row.into_iter().map(|(label, token)| Button { label, token }).collect()
        };
        let notice = Notice {
            blocks: blocks.into_iter().map(block).collect(),
            buttons: buttons.into_iter().map(row).collect(),
        };
        Task::Notify { notice, reply_to }
    }
}
