//! Telegram: long polling, no inbound port. No other room knows how it talks.
//!
//! `poll` hears and `worker` speaks, over one client (`api`) and one opinion of whether the service answers (`service`).
//! What is let in (`incoming`, `commands`, `callback`) and what is shown (`render`) are pure, and so is the pace.

mod api;
mod callback;
mod commands;
mod incoming;
mod pace;
mod poll;
mod render;
#[cfg(test)]
pub(crate) mod sample;
mod service;
pub mod setup;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{Address, Handle, Health, Inbound, Outgoing, Secret, Target};
use api::Api;
use incoming::Allowlist;
use pace::Pace;
use poll::{PollEnd, Poller};
use service::Service;
use worker::Worker;

/// The name of this channel, in `status` and on record.
pub const NAME: &str = "telegram";
/// Where the service is, unless the operator runs a server of their own.
pub const API_URL: &str = "https://api.telegram.org";
/// One task for each target is under way at most; this is more than anybody has chats.
const TASKS: usize = 64;

/// A bot and the people it talks to, as the configuration has them.
#[derive(Debug, Clone)]
pub struct BotSettings {
    pub bot_token: Secret,
    /// Never empty.
    pub allowed_users: Vec<i64>,
    /// Groups where operators may speak. Where there are any, prompts are posted there; otherwise to each person.
    pub chats: Vec<i64>,
    /// To one chat. The service takes 1; a server of one's own may take more.
    pub messages_per_second: f64,
    /// Without a slash at its end.
    pub api_url: String,
}

/// The handle, and the work that the caller spawns; it ends within a second of the last handle's drop.
///
/// `last_offset` is the newest update on record, or the one after it: listening starts there. It may come once more.
pub fn start(
    settings: BotSettings,
    last_offset: Option<i64>,
    inbound: mpsc::Sender<Inbound>,
) -> (Handle, impl Future<Output = ()> + Send) {
    let (tasks, mailbox) = mpsc::channel(TASKS);
    let chats = if settings.chats.is_empty() { &settings.allowed_users } else { &settings.chats };
    let handle =
        Handle { name: NAME, targets: chats.iter().map(|chat| Target(chat.to_string())).collect(), tasks };
    (handle, run(settings, last_offset, mailbox, inbound))
}

async fn run(
    settings: BotSettings,
    last_offset: Option<i64>,
    mailbox: mpsc::Receiver<Outgoing>,
    inbound: mpsc::Sender<Inbound>,
) {
    let api = match Api::new(settings.bot_token, &settings.api_url) {
        Ok(api) => api,
        Err(error) => return stay_stopped(error.to_string(), mailbox, inbound).await,
    };
    let allowlist = Allowlist { users: settings.allowed_users, chats: settings.chats };
    let service = Arc::new(Service::new(api));
    let pace = Pace::new(settings.messages_per_second);
    let poller = Poller::new(Arc::clone(&service), allowlist.clone(), last_offset, inbound.clone());
    let worker = Worker::new(service, allowlist, pace, inbound).run(mailbox);
    tokio::pin!(worker);
    tokio::select! {
        () = &mut worker => {}
        end = poller.run() => match end {
            PollEnd::HubGone => {}
            // The worker goes on telling the hub that nothing goes out.
            PollEnd::Stopped => worker.await,
        },
    }
}

/// Without a client there is nothing to do but to say so, until the hub closes the channel.
async fn stay_stopped(why: String, mut mailbox: mpsc::Receiver<Outgoing>, inbound: mpsc::Sender<Inbound>) {
    let health = Inbound::Health(Health::Stopped { why: why.clone() });
    if inbound.send(health).await.is_err() {
        return;
    }
    while let Some(outgoing) = mailbox.recv().await {
        if inbound.send(worker::undone(outgoing)).await.is_err() {
            return;
        }
    }
}

/// `chat:message`, unique over all chats.
fn address(chat: i64, message: i64) -> Address {
    Address(format!("{chat}:{message}"))
}

fn place_of(address: &Address) -> Option<(i64, i64)> {
    let (chat, message) = address.0.split_once(':')?;
    Some((chat.parse().ok()?, message.parse().ok()?))
}

fn chat_of(target: &Target) -> Option<i64> {
    target.0.parse().ok()
}
