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
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::api::Trouble;
use super::incoming::Allowlist;
use super::pace::Pace;
use super::render::{self, Message};
use super::service::{Direction, Service};
use super::{address, chat_of, place_of};
use crate::{Address, Done, Inbound, JobNo, Outgoing, Target, Task, Undelivered};

/// A message that cannot go within this time is made anew when it can: so an edit tells the newest state, not a queue of
/// old ones.
const SOON: Duration = Duration::from_millis(200);
/// After an answer that sending does not know; whether the token is wrong is for the poller to find out.
const ODD: Duration = Duration::from_secs(30);
/// Until the operator has mended the settings.
const NO_CLIENT: Duration = Duration::from_secs(600);
/// A call may hang on a connection that is gone, until it has taken all its time. Once a poll that was answered later
/// tells that the service is there, it gets so long; a good connection needs a tenth of it.
const LAST_CHANCE: Duration = Duration::from_secs(1);
const MOST_FILE_NAME: usize = 64;

pub(crate) struct Worker {
    service: Arc<Service>,
    allowlist: Allowlist,
    pace: Pace,
    inbound: mpsc::Sender<Inbound>,
    calls: JoinSet<Result<Option<Address>, Trouble>>,
    under_way: HashMap<task::Id, Job>,
    /// When a poll was answered: calls that were begun before are given up a while after it.
    doubted_at: Option<Instant>,
    /// Some were, and none was answered since: on a line that is merely slow the next ones have all their time, or one
    /// message would be sent over and over.
    has_given_up: bool,
}

struct Job {
    no: JobNo,
    target: Target,
    chat: i64,
    began: Instant,
    call: AbortHandle,
    is_given_up: bool,
}

/// The hub no longer listens.
struct HubGone;

impl Worker {
    pub(crate) fn new(
        service: Arc<Service>,
        allowlist: Allowlist,
        pace: Pace,
        inbound: mpsc::Sender<Inbound>,
    ) -> Self {
        Self {
            service,
            allowlist,
            pace,
            inbound,
            calls: JoinSet::new(),
            under_way: HashMap::new(),
            doubted_at: None,
            has_given_up: false,
        }
    }

    /// Until the hub drops its handle. Calls under way are abandoned then: what was not told as done is not done.
    pub(crate) async fn run(mut self, mut mailbox: mpsc::Receiver<Outgoing>) {
        let service = Arc::clone(&self.service);
        loop {
            let doubted_at = self.doubted_at;
            let went_on = tokio::select! {
                outgoing = mailbox.recv() => match outgoing {
                    Some(outgoing) => self.begin(outgoing).await,
                    None => return,
                },
                Some(ended) = self.calls.join_next_with_id() => match ended {
                    Ok((id, result)) => self.end(id, result).await,
                    Err(broken) => self.end(broken.id(), Err(Trouble::Network("the call broke"))).await,
                },
                () = service.freed(Direction::Sending) => {
                    // What was told to come later may come now.
                    self.inbound.send(Inbound::Ready).await.map_err(|_| HubGone)
                }
                () = service.heard() => {
                    self.doubt_calls_under_way();
                    Ok(())
                }
                () = over(doubted_at) => {
                    self.give_up_lost_calls();
                    Ok(())
                }
            };
            if went_on.is_err() {
                return;
            }
        }
    }

    fn doubt_calls_under_way(&mut self) {
        if self.under_way.is_empty() || self.has_given_up || self.doubted_at.is_some() {
            return;
        }
        self.doubted_at = Some(Instant::now());
    }

    fn give_up_lost_calls(&mut self) {
        let doubted_at = self.doubted_at.take();
        for job in self.under_way.values_mut().filter(|job| Some(job.began) < doubted_at) {
            job.call.abort();
            job.is_given_up = true;
            self.has_given_up = true;
        }
    }

    async fn begin(&mut self, outgoing: Outgoing) -> Result<(), HubGone> {
        let Outgoing { job, target, task } = outgoing;
        let (chat, began) = match self.moment(&target) {
            Ok(moment) => moment,
            Err(done) => return self.tell(job, target, done).await,
        };
        let service = Arc::clone(&self.service);
        let call = self.calls.spawn(async move {
            sleep_until(began).await;
            carry_out(&service, chat, task).await
        });
        let job = Job { no: job, target, chat, began, call: call.clone(), is_given_up: false };
        self.under_way.insert(call.id(), job);
        Ok(())
    }

    /// When a message to this target may go, and to which chat; else what becomes of it.
    fn moment(&mut self, target: &Target) -> Result<(i64, Instant), Done> {
        let chat = chat_of(target).filter(|chat| self.allowlist.may_hear(*chat));
        let chat = chat.ok_or_else(|| never("this chat is not on the list of allowed ones"))?;
        let now = Instant::now();
        match self.service.wait(Direction::Sending, now) {
            Some(after) => Err(later(after)),
            None => Ok((chat, self.pace.slot(chat, now, SOON).map_err(later)?)),
        }
    }

    async fn end(&mut self, id: task::Id, result: Result<Option<Address>, Trouble>) -> Result<(), HubGone> {
        let Some(job) = self.under_way.remove(&id) else { return Ok(()) };
        self.has_given_up &= result.is_err();
        let done = match (result, job.is_given_up) {
            (Err(_), true) => later(Duration::ZERO),
            (result, _) => self.done(job.chat, job.began, result),
        };
        self.tell(job.no, job.target, done).await
    }

    fn done(&mut self, chat: i64, began: Instant, result: Result<Option<Address>, Trouble>) -> Done {
        let now = Instant::now();
        let trouble = match result {
            Ok(address) => {
                self.service.worked(Direction::Sending, now);
                return Done::Shown { address };
            }
            Err(trouble) => trouble,
        };
        tracing::debug!(%trouble, chat, "not delivered");
        if let Trouble::BadRequest(_) | Trouble::Forbidden(_) = &trouble {
            // A refusal is an answer as well.
            self.service.worked(Direction::Sending, now);
        }
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
                later(self.service.failed(Direction::Sending, began, now))
            }
        }
    }

    async fn tell(&self, job: JobNo, target: Target, done: Done) -> Result<(), HubGone> {
        let inbound = Inbound::Done { job, target, done };
        self.inbound.send(inbound).await.map_err(|_| HubGone)
    }
}

async fn over(doubted_at: Option<Instant>) {
    match doubted_at {
        Some(doubted_at) => sleep_until(doubted_at + LAST_CHANCE).await,
        None => std::future::pending().await,
    }
}

/// The end of a task for which there is no client at all.
pub(crate) fn undone(outgoing: Outgoing) -> Inbound {
    Inbound::Done { job: outgoing.job, target: outgoing.target, done: later(NO_CLIENT) }
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
        ("chat not found", "the bot does not know this chat: open it in Telegram and press Start"),
        ("bot was blocked", "the person has blocked the bot"),
        ("user is deactivated", "the person's account is gone"),
        ("bot was kicked", "the bot was removed from the group"),
        ("can't initiate conversation", "open the chat with the bot in Telegram and press Start"),
    ];
    let meaning = MEANINGS.iter().find(|(words, _)| said.contains(words));
    meaning.map_or_else(|| format!("Telegram says: {said}"), |(_, meaning)| (*meaning).to_owned())
}

async fn carry_out(service: &Service, chat: i64, task: Task) -> Result<Option<Address>, Trouble> {
    let api = &service.api;
    let number = match task {
        Task::Post(card) => api.send_message(&new_message(chat, &render::card(&card), None)).await?,
        Task::Notify { notice, reply_to } => {
            let reply_to = reply_to.as_ref();
            api.send_message(&new_message(chat, &render::notice(&notice), reply_to)).await?
        }
        Task::File { name, text, reply_to } => {
            api.send_document(form(chat, &name, &text, reply_to.as_ref())).await?
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
    let form = multipart::Form::new().text("chat_id", chat.to_string()).part("document", document);
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
        .map(|char| if char.is_ascii_alphanumeric() || "-_.".contains(char) { char } else { '_' })
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
        assert_eq!(in_our_words("Bad Request: message to edit not found"), "the message is gone");
        assert_eq!(in_our_words("Forbidden: bot was blocked by the user"), "the person has blocked the bot");
        assert_eq!(in_our_words("Bad Request: odd"), "Telegram says: Bad Request: odd");
    }
}
