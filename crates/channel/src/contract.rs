//! What the hub and a channel say to each other.
//!
//! The hub gives each target one task at a time and waits for its [`Done`]: so a message is made from what is true when
//! it is sent, edits coalesce by themselves, and nothing queues up in a channel. A channel hands over each update with
//! a [`Confirmation`], and confirms it to the service only after that was told: what the hub has not put on disk comes again.

use std::time::Duration;

use atlasbridge_model::Timestamp;
use tokio::sync::{mpsc, oneshot};

use crate::Card;

/// Where on a channel something is shown: a chat, in the channel's own spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target(pub String);

/// Which message there, in the channel's own spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address(pub String);

/// Numbers the hub's tasks; comes back with their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobNo(pub u64);

/// Numbers what comes in, by the service's own count. An update that comes again has the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpdateNo(pub i64);

/// A channel that runs: what the hub holds of it. Dropping it closes the channel.
#[derive(Debug, Clone)]
pub struct Handle {
    pub name: &'static str,
    /// Where prompts are posted.
    pub targets: Vec<Target>,
    /// Bounded. The hub never waits for it: a full one is tried again later.
    pub tasks: mpsc::Sender<Outgoing>,
}

#[derive(Debug)]
pub struct Outgoing {
    pub job: JobNo,
    pub target: Target,
    pub task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Show a prompt: `Done::Shown` with its address.
    Post(Card),
    /// Show it as it stands now, at the same place. "Already so" is success.
    Edit { address: Address, card: Card },
    /// Say something that is no prompt.
    Notify { notice: Notice, reply_to: Option<Address> },
    /// A text too long for a message, as a file.
    File { name: String, text: String, reply_to: Option<Address> },
}

/// A message that is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notice {
    pub blocks: Vec<Block>,
    pub buttons: Vec<Vec<Button>>,
}

/// What we say and what a program wrote are set apart in every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Ours(String),
    Program(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// What a tap brings back, as `TapOn::Question`; at most 40 characters.
    pub token: String,
}

/// Everything that comes from a channel.
#[derive(Debug)]
pub enum Inbound {
    /// A task has come to its end.
    Done { job: JobNo, target: Target, done: Done },
    /// A person did something there.
    Update(Update),
    /// What was told to come later may come now: the service answers again, sooner than it was hoped for.
    Ready,
    /// How the channel is, whenever that changes: for `status`.
    Health(Health),
    /// A poll succeeded. `gap`: how long nothing had been heard before it; taps may have been lost meanwhile.
    Polled { gap: Option<Duration> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// Shown; a new message says where.
    Shown { address: Option<Address> },
    /// It was not.
    NotShown(Undelivered),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undelivered {
    /// Not now: the service is unreachable, or asked for patience. What is sent then is made anew.
    Later { after: Duration },
    /// Never: the message is gone, the person has blocked the bot. In a sentence.
    Never { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Nothing was heard yet.
    Starting,
    /// The last poll was answered.
    Connected,
    /// It tries again by itself; the sentence says what is wrong.
    Retrying { why: String },
    /// It does not: the operator must act. The sentence says how.
    Stopped { why: String },
}

/// A person did something on a channel. Untrusted until the hub has checked it.
#[derive(Debug)]
pub struct Update {
    pub no: UpdateNo,
    pub from: Person,
    /// Where it was said, and where an answer goes.
    pub target: Target,
    pub saying: Saying,
    pub recorded: Confirmation,
    /// For a tap: what the person is to hear, as soon as it is known. `None` where no phone waits for it.
    pub receipt: Option<Receipt>,
}

/// Told once the update and all that follows from it is on disk. Dropped untold: it was not, and comes again.
#[derive(Debug)]
pub struct Confirmation(pub oneshot::Sender<()>);

/// One sentence for the person who tapped.
#[derive(Debug)]
pub struct Receipt(pub oneshot::Sender<String>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Person {
    /// On the allowlist, and in an allowed place. `id` is for the record (`telegram:123`), `name` for other operators.
    Operator { id: String, name: String },
    /// Never answered, only put on record.
    Stranger { id: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saying {
    /// A button was tapped.
    Tap { on: TapOn, address: Option<Address> },
    /// A text that is no command of ours.
    Text {
        text: String,
        message: Address,
        reply_to: Option<RepliedTo>,
        sent_at: Timestamp,
        /// It begins as a command does, and is none of ours: a mistake, or a command of the tool.
        is_other_command: bool,
    },
    /// A command of ours.
    Command { command: Command, message: Address },
    /// Not for us, or not readable: handled by being counted. The word goes on record where it was an attempt to answer.
    Nothing { attempt: Option<&'static str> },
}

/// The message that a text answers. What its buttons carry tells its prompt even where its address was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepliedTo {
    pub address: Address,
    pub offer: Option<OfferName>,
}

/// An offer by the beginnings of prompt id, session id and nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferName {
    pub prompt: String,
    pub session: String,
    pub nonce: String,
}

/// What was tapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TapOn {
    /// A button of a card.
    Card { offer: OfferName, tap: Tap },
    /// A button of a notice.
    Question { token: String },
}

/// The buttons of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tap {
    Row(usize),
    Enter,
    UseDefault,
    Cancel,
    ShowMore,
    ShowScreen,
}

/// What a person may ask for in words. Sessions are named by the beginning of their id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The bot was opened for the first time.
    Start,
    /// What can be asked for.
    Help,
    /// What runs.
    Sessions,
    /// Which session plain messages are for from now on.
    Switch { session: Option<String> },
    /// How the hub is, and what waits.
    Status,
    /// What a session's terminal shows.
    Screen { session: Option<String> },
    /// End a session's tool.
    Stop { session: Option<String> },
    /// No new prompts here for a while. `None`: the text after the command is no duration. Zero ends the silence.
    Mute { time: Option<Duration> },
    /// Let answers through again after too many.
    Resume { session: Option<String> },
}
