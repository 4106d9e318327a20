//! A channel in memory, as honest as the others: it shows, edits and reports, and takes the hub at its word.
//!
//! For tests and rehearsals. What it holds is what a person would see; a hub that breaks the contract learns so.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{
    Address, Card, Done, Handle, Health, Inbound, JobNo, Notice, Outgoing, Person, Receipt, Recorded, Saying,
    Target, Task, Undelivered, Update, UpdateNo,
};

const NAME: &str = "loopback";
const TASKS: usize = 64;

/// The person's side.
#[derive(Debug)]
pub struct Loopback {
    mailbox: mpsc::Receiver<Outgoing>,
    inbound: mpsc::Sender<Inbound>,
    waiting: VecDeque<Outgoing>,
    messages: BTreeMap<u64, Message>,
    last_update: i64,
}

/// One message as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub address: Address,
    pub target: Target,
    pub content: Content,
    pub reply_to: Option<Address>,
    pub edits: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Card(Box<Card>),
    Notice(Notice),
    File { name: String, text: String },
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    Message(Message),
    /// The edit of a message that is not there; the hub was told that it never will be.
    NoSuchMessage,
    /// The hub has dropped its handle.
    Closed,
}

/// What the person who said something can wait for.
#[derive(Debug)]
pub struct Heard {
    pub no: UpdateNo,
    pub recorded: oneshot::Receiver<()>,
    pub receipt: oneshot::Receiver<String>,
}

/// The hub has broken the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    #[error("target {0:?} was given task {1:?} before its task {2:?} was done")]
    TwoTasks(Target, JobNo, JobNo),
    #[error("the hub no longer listens")]
    NobodyListens,
}

/// One target, named `loopback`. The channel closes when the [`Loopback`] or the last handle is dropped.
pub fn start(inbound: mpsc::Sender<Inbound>) -> (Handle, Loopback) {
    let (tasks, mailbox) = mpsc::channel(TASKS);
    let handle = Handle { name: NAME, targets: vec![Target(NAME.to_owned())], tasks };
    let loopback =
        Loopback { mailbox, inbound, waiting: VecDeque::new(), messages: BTreeMap::new(), last_update: 0 };
    (handle, loopback)
}

impl Loopback {
    /// Waits for the hub's next task, shows it and says so.
    pub async fn show(&mut self) -> Result<Shown, Breach> {
        let Some(outgoing) = self.next().await? else {
            return Ok(Shown::Closed);
        };
        let is_new = !matches!(outgoing.task, Task::Edit { .. });
        let shown = self.apply(&outgoing.target, outgoing.task);
        let done = match &shown {
            Some(message) => Done::Shown { address: is_new.then(|| message.address.clone()) },
            None => Done::NotShown(Undelivered::Never { why: "there is no such message".to_owned() }),
        };
        self.report(outgoing.job, outgoing.target, done).await?;
        Ok(shown.map_or(Shown::NoSuchMessage, Shown::Message))
    }

    /// Waits for the hub's next task and does not show it. The task is returned for a look; `None` once closed.
    pub async fn refuse(&mut self, why: Undelivered) -> Result<Option<Task>, Breach> {
        let Some(outgoing) = self.next().await? else {
            return Ok(None);
        };
        self.report(outgoing.job, outgoing.target, Done::NotShown(why)).await?;
        Ok(Some(outgoing.task))
    }

    /// Everything shown so far, in the order in which it appeared.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    pub fn message(&self, address: &Address) -> Option<&Message> {
        self.messages.get(&address.0.parse().ok()?)
    }

    /// Somebody says something here.
    pub async fn say(&mut self, from: Person, saying: Saying) -> Result<Heard, Breach> {
        self.last_update += 1;
        self.say_again(UpdateNo(self.last_update), from, saying).await
    }

    /// The same update once more, as services deliver them until they are confirmed.
    pub async fn say_again(&mut self, no: UpdateNo, from: Person, saying: Saying) -> Result<Heard, Breach> {
        let (recorded, on_disk) = oneshot::channel();
        let (receipt, told) = oneshot::channel();
        let is_tap = matches!(saying, Saying::Tap { .. });
        let update = Update {
            no,
            from,
            target: Target(NAME.to_owned()),
            saying,
            recorded: Recorded(recorded),
            receipt: is_tap.then_some(Receipt(receipt)),
        };
        self.tell(Inbound::Update(update)).await?;
        Ok(Heard { no, recorded: on_disk, receipt: told })
    }

    pub async fn polled(&self, gap: Option<Duration>) -> Result<(), Breach> {
        self.tell(Inbound::Polled { gap }).await
    }

    pub async fn health(&self, health: Health) -> Result<(), Breach> {
        self.tell(Inbound::Health(health)).await
    }

    async fn next(&mut self) -> Result<Option<Outgoing>, Breach> {
        if self.waiting.is_empty() {
            match self.mailbox.recv().await {
                Some(outgoing) => self.waiting.push_back(outgoing),
                None => return Ok(None),
            }
        }
        while let Ok(outgoing) = self.mailbox.try_recv() {
            self.waiting.push_back(outgoing);
        }
        let Some(first) = self.waiting.pop_front() else {
            return Ok(None);
        };
        match self.waiting.iter().find(|other| other.target == first.target) {
            Some(second) => Err(Breach::TwoTasks(first.target, second.job, first.job)),
            None => Ok(Some(first)),
        }
    }

    fn apply(&mut self, target: &Target, task: Task) -> Option<Message> {
        let (content, reply_to) = match task {
            Task::Edit { address, card } => return self.edit(&address, card),
            Task::Post(card) => (Content::Card(Box::new(card)), None),
            Task::Notify { notice, reply_to } => (Content::Notice(notice), reply_to),
            Task::File { name, text, reply_to } => (Content::File { name, text }, reply_to),
        };
        let number = self.messages.keys().next_back().map_or(1, |last| last + 1);
        let message = Message {
            address: Address(number.to_string()),
            target: target.clone(),
            content,
            reply_to,
            edits: 0,
        };
        self.messages.insert(number, message.clone());
        Some(message)
    }

    fn edit(&mut self, address: &Address, card: Card) -> Option<Message> {
        let message = self.messages.get_mut(&address.0.parse().ok()?)?;
        message.content = Content::Card(Box::new(card));
        message.edits += 1;
        Some(message.clone())
    }

    async fn report(&self, job: JobNo, target: Target, done: Done) -> Result<(), Breach> {
        self.tell(Inbound::Done { job, target, done }).await
    }

    async fn tell(&self, inbound: Inbound) -> Result<(), Breach> {
        self.inbound.send(inbound).await.map_err(|_| Breach::NobodyListens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::sample;
    use crate::{OfferName, Tap, TapOn};

    fn task(handle: &Handle, job: u64, task: Task) -> Outgoing {
        Outgoing { job: JobNo(job), target: handle.targets[0].clone(), task }
    }

    #[tokio::test]
    async fn a_prompt_is_posted_edited_and_tapped() {
        let (inbound, mut hub) = mpsc::channel(8);
        let (handle, mut person) = start(inbound);
        let card = sample::yes_no();
        handle.tasks.try_send(task(&handle, 1, Task::Post(card.clone()))).unwrap();
        let Shown::Message(message) = person.show().await.unwrap() else {
            panic!("a post is a message");
        };
        assert_eq!(message.content, Content::Card(Box::new(card.clone())));
        let Some(Inbound::Done { job: JobNo(1), done: Done::Shown { address: Some(address) }, .. }) =
            hub.recv().await
        else {
            panic!("a post says where");
        };
        assert_eq!(address, message.address);

        let edit = Task::Edit { address: address.clone(), card };
        handle.tasks.try_send(task(&handle, 2, edit)).unwrap();
        person.show().await.unwrap();
        assert_eq!(person.message(&address).unwrap().edits, 1);
        assert!(matches!(hub.recv().await, Some(Inbound::Done { done: Done::Shown { address: None }, .. })));

        let tap = Saying::Tap {
            on: TapOn::Card {
                offer: OfferName { prompt: String::new(), session: String::new(), nonce: String::new() },
                tap: Tap::Row(0),
            },
            address: Some(address),
        };
        let operator = Person::Operator { id: "loopback:1".to_owned(), name: "Ada".to_owned() };
        let heard = person.say(operator, tap).await.unwrap();
        let Some(Inbound::Update(update)) = hub.recv().await else {
            panic!("a tap is an update");
        };
        update.recorded.0.send(()).unwrap();
        update.receipt.unwrap().0.send("typing".to_owned()).unwrap();
        heard.recorded.await.unwrap();
        assert_eq!(heard.receipt.await.unwrap(), "typing");

        drop(handle);
        assert_eq!(person.show().await, Ok(Shown::Closed));
    }

    #[tokio::test]
    async fn a_second_task_for_a_busy_target_is_a_breach() {
        let (inbound, _hub) = mpsc::channel(8);
        let (handle, mut person) = start(inbound);
        for job in 1..=2 {
            handle.tasks.try_send(task(&handle, job, Task::Post(sample::yes_no()))).unwrap();
        }
        assert_eq!(person.show().await, Err(Breach::TwoTasks(handle.targets[0].clone(), JobNo(2), JobNo(1))));
    }

    #[tokio::test]
    async fn a_message_that_is_not_there_cannot_be_edited() {
        let (inbound, mut hub) = mpsc::channel(8);
        let (handle, mut person) = start(inbound);
        let edit = Task::Edit { address: Address("7".to_owned()), card: sample::yes_no() };
        handle.tasks.try_send(task(&handle, 1, edit)).unwrap();
        assert_eq!(person.show().await, Ok(Shown::NoSuchMessage));
        assert!(matches!(
            hub.recv().await,
            Some(Inbound::Done { done: Done::NotShown(Undelivered::Never { .. }), .. })
        ));
    }
}
