//! The hub's tasks, carried out: each gets its moment from the pace, one call, and one end that is told.
//!
//! A call whose answer got lost may have been carried out all the same. It is told as *later*: a message may then appear
//! twice, and both lead to the same prompt; a message that never appears would be worse.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_model::visible::visible;
use reqwest::multipart;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::api::Trouble;
use super::incoming::Guest;
use super::pace::Pace;
use super::render::{self, Message};
use super::service::Service;
use super::{address, chat_of, place_of};
use crate::{Address, Done, Inbound, JobNo, Outgoing, Target, Task, Undelivered};

/// A message that cannot go within this time is made anew when it can: so an edit tells the newest state, not a queue of
/// old ones.
const SOON: Duration = Duration::from_millis(200);
/// After an answer that sending does not know; whether the token is wrong is for the poller to find out.
const ODD: Duration = Duration::from_secs(30);
/// Until somebody has mended the settings.
const NO_CLIENT: Duration = Duration::from_secs(600);
const MOST_FILE_NAME: usize = 64;

pub(crate) struct Worker {
    service: Arc<Service>,
    guest: Guest,
    pace: Pace,
    inbound: mpsc::Sender<Inbound>,
    calls: JoinSet<Result<Option<Address>, Trouble>>,
    under_way: HashMap<task::Id, Job>,
}

struct Job {
    no: JobNo,
    target: Target,
    chat: i64,
}

/// The hub no longer listens.
struct HubGone;

impl Worker {
    pub(crate) fn new(
        service: Arc<Service>,
        guest: Guest,
        pace: Pace,
        inbound: mpsc::Sender<Inbound>,
    ) -> Self {
        Self {
            service,
            guest,
            pace,
            inbound,
            calls: JoinSet::new(),
            under_way: HashMap::new(),
        }
    }

    /// Until the hub drops its handle. Calls under way are abandoned then: what was not told as done is not done.
    pub(crate) async fn run(mut self, mut mailbox: mpsc::Receiver<Outgoing>) {
        loop {
            let went_on = tokio::select! {
                outgoing = mailbox.recv() => match outgoing {
                    Some(outgoing) => self.begin(outgoing).await,
                    None => return,
                },
                Some(ended) = self.calls.join_next_with_id() => match ended {
                    Ok((id, result)) => self.end(id, result).await,
                    Err(broken) => self.end(broken.id(), Err(Trouble::Network("the call broke"))).await,
                },
            };
            if went_on.is_err() {
                return;
            }
        }
    }

    async fn begin(&mut self, outgoing: Outgoing) -> Result<(), HubGone> {
        let Outgoing { job, target, task } = outgoing;
        let chat = match chat_of(&target).filter(|chat| self.guest.may_hear(*chat)) {
            Some(chat) => chat,
            None => {
                return self
                    .tell(job, target, never("this chat is not on the list of allowed ones"))
                    .await;
            }
        };
        let now = Instant::now();
        if let Some(after) = self.service.wait(now) {
            return self.tell(job, target, later(after)).await;
        }
        match self.pace.slot(chat, now, SOON) {
            Err(after) => self.tell(job, target, later(after)).await,
            Ok(at) => {
                let service = Arc::clone(&self.service);
                let call = self.calls.spawn(async move {
                    sleep_until(at).await;
                    carry_out(&service, chat, task).await
                });
                let job = Job {
                    no: job,
                    target,
                    chat,
                };
                self.under_way.insert(call.id(), job);
                Ok(())
            }
        }
    }

    async fn end(&mut self, id: task::Id, result: Result<Option<Address>, Trouble>) -> Result<(), HubGone> {
        let Some(job) = self.under_way.remove(&id) else {
            return Ok(());
        };
        let done = self.done(job.chat, result);
        self.tell(job.no, job.target, done).await
    }

    fn done(&mut self, chat: i64, result: Result<Option<Address>, Trouble>) -> Done {
        let now = Instant::now();
        let trouble = match result {
            Ok(address) => {
                self.service.worked();
                return Done::Shown { address };
            }
            Err(trouble) => trouble,
        };
        tracing::debug!(%trouble, chat, "not delivered");
        match trouble {
            Trouble::BadRequest(said) if said.contains("message is not modified") => {
                Done::Shown { address: None }
            }
            Trouble::BadRequest(said) | Trouble::Forbidden(said) => never(&in_our_words(&said)),
            Trouble::TooMany { retry_after } => {
                self.pace.hold(chat, now + retry_after, now);
                later(retry_after)
            }
            Trouble::Unauthorized => later(self.service.stop()),
            Trouble::NotFound | Trouble::Conflict(_) => later(ODD),
            Trouble::Server(_) | Trouble::Network(_) | Trouble::Unreadable(_) | Trouble::TooLong => {
                later(self.service.failed(now))
            }
        }
    }

    async fn tell(&self, job: JobNo, target: Target, done: Done) -> Result<(), HubGone> {
        let inbound = Inbound::Done { job, target, done };
        self.inbound.send(inbound).await.map_err(|_| HubGone)
    }
}

/// The end of a task for which there is no client at all.
pub(crate) fn undone(outgoing: Outgoing) -> Inbound {
    Inbound::Done {
        job: outgoing.job,
        target: outgoing.target,
        done: later(NO_CLIENT),
    }
}

fn later(after: Duration) -> Done {
    Done::NotShown(Undelivered::Later { after })
}

fn never(why: &str) -> Done {
    Done::NotShown(Undelivered::Never { why: why.to_owned() })
}

/// What the service means, for the person who reads `status`.
fn in_our_words(said: &str) -> String {
    const MEANINGS: [(&str, &str); 8] = [
        ("message to edit not found", "the message is gone"),
        ("message can't be edited", "the message can no longer be edited"),
        ("MESSAGE_ID_INVALID", "the message is gone"),
        (
            "chat not found",
            "the bot does not know this chat: open it in Telegram and press Start",
        ),
        ("bot was blocked", "the person has blocked the bot"),
        ("user is deactivated", "the person's account is gone"),
        ("bot was kicked", "the bot was removed from the group"),
        (
            "can't initiate conversation",
            "open the chat with the bot in Telegram and press Start",
        ),
    ];
    let meaning = MEANINGS.iter().find(|(words, _)| said.contains(words));
    meaning.map_or_else(
        || format!("Telegram says: {said}"),
        |(_, meaning)| (*meaning).to_owned(),
    )
}

async fn carry_out(service: &Service, chat: i64, task: Task) -> Result<Option<Address>, Trouble> {
    let api = &service.api;
    let number = match task {
        Task::Post(card) => {
            api.send_message(&new_message(chat, &render::card(&card), None))
                .await?
        }
        Task::Notify { notice, reply_to } => {
            let reply_to = reply_to.as_ref();
            api.send_message(&new_message(chat, &render::notice(&notice), reply_to))
                .await?
        }
        Task::File { name, text, reply_to } => {
            api.send_document(form(chat, &name, &text, reply_to.as_ref()))
                .await?
        }
        Task::Edit { address, card } => {
            let message = place_of(&address).filter(|(there, _)| *there == chat);
            let Some((_, message)) = message else {
                return Err(Trouble::BadRequest("message to edit not found".to_owned()));
            };
            let mut body = content(chat, &render::card(&card));
            body["message_id"] = json!(message);
            api.edit_message(&body).await?;
            return Ok(None);
        }
    };
    Ok(Some(address(chat, number)))
}

fn content(chat: i64, message: &Message) -> Value {
    json!({
        "chat_id": chat,
        "text": message.html,
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": true},
        "reply_markup": message.keyboard(),
    })
}

fn new_message(chat: i64, message: &Message, reply_to: Option<&Address>) -> Value {
    let mut body = content(chat, message);
    if let Some(reply) = reply(chat, reply_to) {
        body["reply_parameters"] = reply;
    }
    body
}

/// A message that is gone is no reason not to say something.
fn reply(chat: i64, to: Option<&Address>) -> Option<Value> {
    let (_, message) = place_of(to?).filter(|(there, _)| *there == chat)?;
    Some(json!({"message_id": message, "allow_sending_without_reply": true}))
}

fn form(chat: i64, name: &str, text: &str, reply_to: Option<&Address>) -> multipart::Form {
    let document = multipart::Part::text(visible(text).into_owned()).file_name(file_name(name));
    let form = multipart::Form::new()
        .text("chat_id", chat.to_string())
        .part("document", document);
    match reply(chat, reply_to) {
        Some(reply) => form.text("reply_parameters", reply.to_string()),
        None => form,
    }
}

/// A plain name that ends in `.txt`, so that a phone opens it.
fn file_name(name: &str) -> String {
    let stem: String = name
        .trim_end_matches(".txt")
        .chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() || "-_.".contains(char) {
                char
            } else {
                '_'
            }
        })
        .take(MOST_FILE_NAME)
        .collect();
    match stem.trim_matches('.') {
        "" => "output.txt".to_owned(),
        stem => format!("{stem}.txt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_plain_name() {
        assert_eq!(file_name("screen-0123abcd.txt"), "screen-0123abcd.txt");
        assert_eq!(file_name("../a b/\u{202e}c"), "_a_b__c.txt");
        assert_eq!(file_name(""), "output.txt");
        assert!(file_name(&"x".repeat(500)).len() <= MOST_FILE_NAME + 4);
    }

    #[test]
    fn refusals_are_told_in_words() {
        assert_eq!(
            in_our_words("Bad Request: message to edit not found"),
            "the message is gone"
        );
        assert_eq!(
            in_our_words("Forbidden: bot was blocked by the user"),
            "the person has blocked the bot"
        );
        assert_eq!(
            in_our_words("Bad Request: odd"),
            "Telegram says: Bad Request: odd"
        );
    }
}
