//! A Bot API server of a test's own, on the loopback, as strict as the real one and stricter where the real one would
//! let a mistake pass.
//!
//! [`FakeTelegram`] is the server and everybody who uses Telegram: it serves the bot over HTTP, and writes, taps and
//! reads in the name of persons. `State` is all that it knows and decides; `server` is the HTTP around it. Its
//! fidelity is checked by a client that others wrote (`tests/telegram_fidelity.rs`).
//!
//! It never reaches a network, and never waits for a duration: whoever waits, waits for a state, with a limit and a
//! reason.

mod chats;
mod clock;
mod emulator;
mod entities;
mod faults;
mod limits;
mod markup;
mod params;
mod refusal;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod updates;

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};
use serde_json::Value;

pub use chats::{Message, Version};
pub use emulator::{Emulator, public_emulator};
pub use entities::Entity;
pub use faults::{Fault, Lies, Times};
pub use limits::Limits;
pub use markup::Button;
pub use params::File;
pub use state::{Call, Poll, TapAnswer, TapId};

use chats::Access;
use faults::Dice;
use server::{Server, Shared};
use state::State;

/// How long a test waits for anything here.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The server, everybody who uses Telegram, and what went between them.
#[derive(Debug)]
pub struct FakeTelegram {
    shared: Arc<Shared>,
    port: u16,
    /// Holds the port while nobody listens, so that nobody else gets it.
    _reserved: OwnedFd,
    server: Mutex<Option<Server>>,
}

/// The server.
impl FakeTelegram {
    /// `token` is the one bot's: its id, a colon, its secret.
    pub fn start(token: &str) -> Self {
        let (reserved, port) = reserve();
        let fake = Self {
            shared: Arc::new(Shared::new(State::new(token))),
            port,
            _reserved: reserved,
            server: Mutex::default(),
        };
        fake.reachable();
        fake
    }

    pub fn api_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Nobody listens any more, and every connection is gone.
    pub fn unreachable(&self) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(server);
    }

    /// Somebody listens again, where it was.
    pub fn reachable(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if server.is_none() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).unwrap();
            *server = Some(Server::start(Arc::clone(&self.shared), listener));
        }
    }

    /// Another token from now on; the old one is unauthorised.
    pub fn revokes_token(&self, new: &str) {
        self.shared.act(|state, _| new.clone_into(&mut state.token));
    }

    /// Lets time pass: for taps, updates, limits and polls.
    pub fn advance(&self, by: Duration) {
        self.shared.advance(by);
    }

    /// The fake's time since 1970.
    pub fn now(&self) -> Duration {
        self.shared.lock().1.now()
    }

    pub fn limits(&self, limits: Limits) {
        self.shared.act(|state, _| state.pace.limits = limits);
    }

    /// Plans a fault for a method as the Bot API spells it, or `*` for any.
    pub fn fails(&self, method: &str, fault: Fault, times: Times) {
        self.shared.act(|state, _| state.faults.plan(method, fault, times));
    }

    pub fn lies(&self, lies: Lies) {
        self.shared.act(|state, _| state.faults.lies = lies);
    }

    /// What chance is made of; the same seed gives the same faults for the same calls.
    pub fn seed(&self, seed: u64) {
        self.shared.act(|state, _| state.faults.dice = Dice(seed));
    }

    /// No more faults and no more lies. Who hangs, hangs.
    pub fn heals(&self) {
        self.shared.act(|state, _| state.faults.heal());
    }

    /// Lets everybody go on who hangs.
    pub fn releases(&self) {
        self.shared.act(|state, _| state.releases += 1);
    }

    /// Waits until at least one call hangs.
    #[track_caller]
    pub fn wait_hanging(&self, why: &str) {
        self.wait(why, |state| (state.hanging > 0).then_some(()));
    }
}

/// Persons.
impl FakeTelegram {
    /// Somebody who pressed Start some time ago, so that the bot may write; the chat's id, which is the user's.
    pub fn private_chat(&self, user: i64, name: &str) -> i64 {
        self.shared.act(|state, _| state.meet(user, name, Access::Open));
        user
    }

    /// Somebody who never wrote to the bot.
    pub fn stranger(&self, user: i64, name: &str) -> i64 {
        self.shared.act(|state, _| state.meet(user, name, Access::NeverStarted));
        user
    }

    /// A group with the bot in it; below -1000000000000 it is a supergroup.
    pub fn group(&self, chat: i64, title: &str) -> i64 {
        assert!(chat < 0, "the id of a group is below zero");
        self.shared.act(|state, _| state.found_group(chat, title));
        chat
    }

    /// The bot is thrown out of a group.
    pub fn kicks_bot(&self, chat: i64) {
        self.shared.act(|state, _| {
            let chat = state.chats.chats.get_mut(&chat);
            chat.expect("a group that the test has founded").access = Access::Kicked;
        });
    }

    /// Whether the bot hears everything in groups, or only what is meant for it (so unless told).
    pub fn hears_everything(&self, is_so: bool) {
        self.shared.act(|state, _| state.hears_everything = is_so);
    }

    /// The id of the message that this makes.
    pub fn says(&self, user: i64, chat: i64, text: &str) -> i64 {
        self.shared.act(|state, now| state.say(user, chat, None, text, now))
    }

    pub fn replies(&self, user: i64, chat: i64, message: i64, text: &str) -> i64 {
        self.shared.act(|state, now| state.say(user, chat, Some(message), text, now))
    }

    /// Edits a message of theirs.
    pub fn edits(&self, user: i64, chat: i64, message: i64, text: &str) {
        self.shared.act(|state, now| state.edit(user, chat, message, text, now));
    }

    pub fn starts(&self, user: i64) -> i64 {
        self.says(user, user, "/start")
    }

    pub fn blocks(&self, user: i64) {
        self.shared.act(|state, now| state.block(user, true, now));
    }

    pub fn unblocks(&self, user: i64) {
        self.shared.act(|state, now| state.block(user, false, now));
    }

    /// Taps a button that is there, by its callback data or else its label.
    #[track_caller]
    pub fn taps(&self, user: i64, chat: i64, message: i64, data_or_label: &str) -> TapId {
        let found = self.message(chat, message);
        let button = found.button(data_or_label).cloned();
        let button =
            button.unwrap_or_else(|| panic!("no button {data_or_label:?} among {:?}", found.buttons));
        self.forges_tap(user, chat, message, &button.data)
    }

    /// A tap with any data on any message, as a modified client can send it, or one that shows a keyboard which is gone.
    pub fn forges_tap(&self, user: i64, chat: i64, message: i64, data: &str) -> TapId {
        self.shared.act(|state, now| state.tap(user, chat, message, data, now))
    }

    /// Any update at all; its id, which is the next one if it brings none.
    pub fn raw_update(&self, update: Value) -> i64 {
        self.shared.act(|state, now| state.forge(update, now))
    }

    /// As if the bot had set a webhook earlier.
    pub fn sets_webhook(&self, url: &str) {
        self.shared.act(|state, _| state.force_webhook(url));
    }
}

/// What can be seen.
impl FakeTelegram {
    /// The bot's messages that are not deleted, oldest first.
    pub fn messages(&self, chat: i64) -> Vec<Message> {
        self.shared.lock().0.sent(chat).cloned().collect()
    }

    /// The bot's messages in all chats.
    pub fn all_messages(&self) -> Vec<Message> {
        let inside = self.shared.lock();
        let chats = inside.0.chats.chats.keys();
        chats.flat_map(|chat| inside.0.sent(*chat).cloned()).collect()
    }

    /// The bot's messages that it deleted.
    pub fn deleted(&self, chat: i64) -> Vec<Message> {
        let inside = self.shared.lock();
        inside.0.chats.chats.get(&chat).map_or_else(Vec::new, |chat| chat.deleted.clone())
    }

    #[track_caller]
    pub fn message(&self, chat: i64, id: i64) -> Message {
        let found = self.shared.lock().0.chats.message(chat, id).cloned();
        found.unwrap_or_else(|| panic!("no message {id} in chat {chat}"))
    }

    /// The first of the bot's messages in the chat that is so.
    #[track_caller]
    pub fn wait_message(&self, chat: i64, is_it: impl Fn(&Message) -> bool, why: &str) -> Message {
        self.wait(why, |state| state.sent(chat).find(|message| is_it(message)).cloned())
    }

    /// The message, as soon as it is so.
    #[track_caller]
    pub fn wait_edit(&self, chat: i64, id: i64, is_so: impl Fn(&Message) -> bool, why: &str) -> Message {
        self.wait(why, |state| state.chats.message(chat, id).filter(|message| is_so(message)).cloned())
    }

    /// What the person was shown, if the bot answered.
    pub fn tap_answer(&self, tap: &TapId) -> Option<TapAnswer> {
        self.shared.lock().0.taps.get(tap)?.answer.clone()
    }

    #[track_caller]
    pub fn wait_tap_answer(&self, tap: &TapId, why: &str) -> TapAnswer {
        self.wait(why, |state| state.taps.get(tap)?.answer.clone())
    }

    /// Every call that came, oldest first, `getUpdates` among them.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.lock().0.calls.clone()
    }

    /// The first call that is so and has come.
    #[track_caller]
    pub fn wait_call(&self, is_it: impl Fn(&Call) -> bool, why: &str) -> Call {
        self.wait(why, |state| state.calls.iter().find(|call| is_it(call)).cloned())
    }

    pub fn polls(&self) -> Vec<Poll> {
        self.shared.lock().0.polling.polls.clone()
    }

    /// Whether a poll waits right now.
    pub fn is_polled(&self) -> bool {
        self.shared.lock().0.polling.waiting.is_some()
    }

    /// Waits until a poll waits.
    #[track_caller]
    pub fn wait_polled(&self, why: &str) {
        self.wait(why, |state| state.polling.waiting.map(|_| ()));
    }

    /// How many updates the bot has not confirmed.
    pub fn pending(&self) -> usize {
        let inside = self.shared.lock();
        inside.0.updates.pending(inside.1.now())
    }

    /// Waits until the bot has confirmed every update.
    #[track_caller]
    pub fn wait_confirmed(&self, why: &str) {
        // What has expired and was not asked for since still lies in the queue, and nobody waits for it.
        let now = self.now();
        self.wait(why, |state| (state.updates.pending(now) == 0).then_some(()));
    }

    /// The commands that the bot has announced, with their descriptions.
    pub fn commands(&self) -> Vec<(String, String)> {
        self.shared.lock().0.commands.clone()
    }

    /// The chat actions ("typing") that the bot has shown, with their chats.
    pub fn actions(&self) -> Vec<(i64, String)> {
        self.shared.lock().0.actions.clone()
    }

    /// What a well-behaved bot never does: calls before a `retry_after` is over, parameters that do not exist.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().0.pace.violations.clone()
    }

    #[track_caller]
    fn wait<T>(&self, why: &str, mut look: impl FnMut(&State) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        let mut inside = self.shared.lock();
        loop {
            if let Some(found) = look(&inside.0) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let seen = inside.0.describe();
                drop(inside);
                panic!("waited {LIMIT:?} in vain: {why}\n{seen}");
            }
            let waited = self.shared.changed.wait_timeout(inside, left);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// The bot's messages in a chat.
    fn sent(&self, chat: i64) -> impl Iterator<Item = &Message> {
        let messages = self.chats.chats.get(&chat).into_iter();
        let messages = messages.flat_map(|chat| chat.messages.values());
        messages.filter(|message| message.from == self.bot)
    }

    /// For whoever waited in vain: the last calls and messages.
    fn describe(&self) -> String {
        let last = |lines: Vec<String>| lines[lines.len().saturating_sub(12)..].join("\n  ");
        let call = |call: &Call| format!("{} {} -> {:?}", call.method, call.params, call.status);
        let message = |message: &Message| {
            format!("{}/{} {:?} {:?}", message.chat, message.id, message.text, message.labels())
        };
        let messages = self.chats.chats.keys().flat_map(|chat| self.sent(*chat));
        format!(
            "the last calls:\n  {}\nthe last messages:\n  {}",
            last(self.calls.iter().map(call).collect()),
            last(messages.map(message).collect()),
        )
    }
}

/// A port that is bound and not listened at: whoever connects is refused, and nobody else is given it.
fn reserve() -> (OwnedFd, u16) {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, address.port())
}
