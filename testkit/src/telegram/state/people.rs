//! What persons do: they write, reply, edit, tap, block.

use serde_json::{Value, json};

use super::{BOT_NAME, State};
use crate::telegram::chats::{Access, Chat, User};
use crate::telegram::clock::Moment;
use crate::telegram::entities::{Formatted, commands, units};
use crate::telegram::params::Params;
use crate::telegram::refusal::{Answer, Refusal};
use crate::telegram::updates::{KEPT, TAP_KEPT};

/// Characters in the answer to a tap.
const MOST_ANSWER: usize = 200;

/// The `id` of a callback query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TapId(pub String);

/// What the person who tapped was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapAnswer {
    pub text: Option<String>,
    pub show_alert: bool,
}

#[derive(Debug)]
pub(crate) struct Tap {
    at: Moment,
    pub(crate) answer: Option<TapAnswer>,
}

impl State {
    pub(crate) fn meet(&mut self, user: i64, name: &str, access: Access) {
        let known = User { first_name: name.to_owned(), username: None };
        self.chats.users.insert(user, known);
        self.chats.chats.entry(user).or_insert_with(|| Chat::new(user, name, access)).access = access;
    }

    pub(crate) fn found_group(&mut self, chat: i64, title: &str) {
        let group = Chat::new(chat, title, Access::Open);
        self.chats.chats.entry(chat).or_insert(group);
    }

    /// A message of a person; its id. In a group the bot hears of it only if it is meant for it.
    pub(crate) fn say(
        &mut self,
        user: i64,
        chat: i64,
        reply_to: Option<i64>,
        text: &str,
        now: Moment,
    ) -> i64 {
        if let Some(private) = self.chats.chats.get_mut(&chat).filter(|chat| chat.id > 0) {
            private.access = Access::Open;
        }
        let formatted = Formatted { text: text.to_owned(), entities: commands(text) };
        let message = self
            .chats
            .put(chat, user, formatted, now)
            .unwrap_or_else(|| panic!("no chat {chat} to write in"));
        message.reply_to = reply_to;
        let message = message.clone();
        if self.is_meant_for_bot(&message) {
            let body = self.chats.message_json(&message);
            self.updates.push("message", body, now);
        }
        message.id
    }

    pub(crate) fn edit(&mut self, user: i64, chat: i64, id: i64, text: &str, now: Moment) {
        let formatted = Formatted { text: text.to_owned(), entities: commands(text) };
        let message = self
            .chats
            .message_mut(chat, id)
            .filter(|message| message.from == user)
            .unwrap_or_else(|| panic!("user {user} wrote no message {id} in chat {chat}"));
        message.set(Some(formatted), &Default::default(), now);
        let message = message.clone();
        if self.is_meant_for_bot(&message) {
            let body = self.chats.message_json(&message);
            self.updates.push("edited_message", body, now);
        }
    }

    fn is_meant_for_bot(&self, message: &crate::telegram::Message) -> bool {
        let replied = message.reply_to.and_then(|id| self.chats.message(message.chat, id));
        let commands = message.pieces("bot_command");
        let is_ours = |command: &String| match command.split_once('@') {
            None => true,
            Some((_, name)) => name.eq_ignore_ascii_case(BOT_NAME),
        };
        message.chat > 0
            || self.hears_everything
            || replied.is_some_and(|replied| replied.from == self.bot)
            || message.text.contains(&format!("@{BOT_NAME}"))
            || commands.first().is_some_and(is_ours)
    }

    /// A tap with any data at all on any message, there or not.
    pub(crate) fn tap(&mut self, user: i64, chat: i64, message: i64, data: &str, now: Moment) -> TapId {
        // Far apart and never the same, whatever seed the faults are given.
        let id = TapId((1_900_000_000_000_000_000 + self.taps.len() as u64 * 7_919).to_string());
        let tapped = match self.chats.message(chat, message) {
            Some(message) => self.chats.message_json(message),
            // Gone or never there: over there an "inaccessible message" has no date.
            None => {
                let chat = self.chats.chats.get(&chat);
                let chat = chat.map_or(Value::Null, Chat::to_json);
                json!({"chat": chat, "message_id": message, "date": 0})
            }
        };
        let body = json!({
            "id": id.0, "from": self.chats.user_json(user), "message": tapped,
            "chat_instance": (chat.unsigned_abs() + 4_000_000_000).to_string(), "data": data,
        });
        let tap = Tap { at: now, answer: None };
        self.taps.insert(id.clone(), tap);
        self.updates.push("callback_query", body, now);
        id
    }

    /// The person blocks the bot, or takes it back.
    pub(crate) fn block(&mut self, user: i64, is_blocked: bool, now: Moment) {
        let (access, old, new) = match is_blocked {
            true => (Access::Blocked, "member", "kicked"),
            false => (Access::Open, "kicked", "member"),
        };
        let Some(chat) = self.chats.chats.get_mut(&user) else { panic!("nobody knows user {user}") };
        chat.access = access;
        let chat = chat.to_json();
        let bot = self.chats.user_json(self.bot);
        let member = |status: &str| json!({"user": bot, "status": status, "until_date": 0});
        let body = json!({
            "chat": chat, "from": self.chats.user_json(user), "date": now.as_secs(),
            "old_chat_member": member(old), "new_chat_member": member(new),
        });
        self.updates.push("my_chat_member", body, now);
    }

    pub(crate) fn forge(&mut self, update: Value, now: Moment) -> i64 {
        // A forged tap can be answered like any other.
        if let Some(id) = update["callback_query"]["id"].as_str() {
            let tap = Tap { at: now, answer: None };
            self.taps.insert(TapId(id.to_owned()), tap);
        }
        self.updates.push_raw(update, now + KEPT)
    }

    pub(super) fn answer_tap(&mut self, params: &Params, now: Moment) -> Answer {
        let id = TapId(params.text("callback_query_id").unwrap_or_default());
        let text = params.text("text").filter(|text| !text.is_empty());
        if text.as_ref().is_some_and(|text| units(text) > MOST_ANSWER) {
            return Err(Refusal::bad("MESSAGE_TOO_LONG"));
        }
        let in_time = self.taps.get_mut(&id).filter(|tap| now < tap.at + TAP_KEPT);
        let Some(tap) = in_time else {
            return Err(Refusal::bad("query is too old and response timeout expired or query ID is invalid"));
        };
        // The first answer is the one that was shown.
        tap.answer.get_or_insert(TapAnswer { text, show_alert: params.flag("show_alert") });
        Ok(json!(true))
    }
}
