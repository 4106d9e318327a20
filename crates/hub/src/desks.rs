//! Where people are: the command line, the page, the chats. Each turns its words into a decision and a verdict into its
//! words, and decides nothing.

pub(crate) mod chat;
pub(crate) mod command;
pub(crate) mod page;
#[cfg(test)]
mod tests;

use atlasbridge_channel::Receipt;
use atlasbridge_store::{OpenPrompt, Reply};
use atlasbridge_web::questions;
use atlasbridge_wire::command::Response;
use tokio::sync::{mpsc, oneshot};

use crate::decide::Verdict;

/// A prompt as it stands now, for whoever answered it.
#[derive(Debug)]
pub(crate) struct PromptNow {
    pub(crate) open: OpenPrompt,
    pub(crate) reply: Option<Reply>,
}

/// The way back to a person.
#[derive(Debug)]
pub(crate) enum Way {
    Command(mpsc::Sender<Response>),
    Page(oneshot::Sender<questions::Answer>),
    /// A tap in a chat, which shows a spinner until it is told something.
    Tap(Receipt),
}

impl Way {
    /// Whoever has gone meanwhile does not want to hear it.
    pub(crate) fn tell(self, verdict: &Verdict, standing: Option<&PromptNow>, tellings: &Tellings) {
        match self {
            Way::Command(respond) => {
                if let Some(response) = command::response(verdict, standing, tellings) {
                    let _ = respond.try_send(response);
                }
            }
            Way::Page(way) => {
                if let Some(answer) = page::answer(verdict, standing, tellings) {
                    drop(way.send(answer));
                }
            }
            Way::Tap(Receipt(way)) => drop(way.send(chat::receipt(verdict, standing))),
        }
    }
}

/// What words depend on besides the verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tellings {
    pub(crate) rules: atlasbridge_model::answer::Rules,
    pub(crate) now: atlasbridge_model::Now,
}
