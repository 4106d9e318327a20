//! Persons, chats and the messages in them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::entities::{Entity, Formatted};
use super::markup::{Button, Markup};
use super::params::File;

/// Ids of supergroups lie below this, those of plain groups above.
const SUPERGROUPS: i64 = -1_000_000_000_000;

/// A message as it stands in its chat, with what it was before.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: i64,
    pub chat: i64,
    /// The user who sent it; the bot's messages have the bot's id.
    pub from: i64,
    /// Seconds since 1970.
    pub date: u64,
    /// Plain: the entities are applied. The caption, if there is a file.
    pub text: String,
    pub entities: Vec<Entity>,
    pub parse_mode: Option<String>,
    pub buttons: Vec<Vec<Button>>,
    pub force_reply: bool,
    pub reply_to: Option<i64>,
    pub file: Option<File>,
    pub edits: usize,
    /// What it was before each edit, oldest first.
    pub history: Vec<Version>,
    pub is_silent: bool,
    pub(crate) edited: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub text: String,
    pub entities: Vec<Entity>,
    pub buttons: Vec<Vec<Button>>,
    /// Until when it was so, in the fake's time since 1970.
    pub until: Duration,
}

impl Message {
    /// What is shown as `pre`, `code`, `bold` …
    pub fn pieces(&self, kind: &str) -> Vec<String> {
        let of_kind = self.entities.iter().filter(|entity| entity.kind == kind);
        of_kind.map(|entity| entity.of(&self.text)).collect()
    }

    /// All labels, row by row.
    pub fn labels(&self) -> Vec<String> {
        let buttons = self.buttons.iter().flatten();
        buttons.map(|button| button.text.clone()).collect()
    }

    /// The button with this callback data, or else this label.
    pub fn button(&self, data_or_label: &str) -> Option<&Button> {
        let mut buttons = self.buttons.iter().flatten();
        let by_data = buttons.clone().find(|button| button.data == data_or_label);
        by_data.or_else(|| buttons.find(|button| button.text == data_or_label))
    }

    pub(crate) fn set(&mut self, text: Option<Formatted>, markup: &Markup, now: Duration) {
        self.history.push(Version {
            text: self.text.clone(),
            entities: self.entities.clone(),
            buttons: self.buttons.clone(),
            until: now,
        });
        self.edits += 1;
        self.edited = Some(now.as_secs());
        self.buttons = markup.buttons().to_vec();
        if let Some(formatted) = text {
            self.text = formatted.text;
            self.entities = formatted.entities;
        }
    }

    fn to_json(&self) -> Value {
        let mut value = json!({"message_id": self.id, "date": self.date});
        let formatted = Formatted { text: self.text.clone(), entities: self.entities.clone() };
        let (text, entities) = match &self.file {
            None => ("text", "entities"),
            Some(file) => {
                value["document"] = json!({
                    "file_id": self.file_id(), "file_unique_id": format!("unique-{}", self.file_id()),
                    "file_name": file.name, "mime_type": file.mime, "file_size": file.bytes.len(),
                });
                ("caption", "caption_entities")
            }
        };
        if !self.text.is_empty() {
            value[text] = json!(self.text);
        }
        if !self.entities.is_empty() {
            value[entities] = formatted.entities_json();
        }
        if let Some(edited) = self.edited {
            value["edit_date"] = json!(edited);
        }
        if !self.buttons.is_empty()
            && let Some(markup) = Markup::Inline(self.buttons.clone()).to_json()
        {
            value["reply_markup"] = markup;
        }
        value
    }

    pub(crate) fn file_id(&self) -> String {
        format!("document{}_{}", self.chat.unsigned_abs(), self.id)
    }
}

/// Whether the bot may write there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Open,
    /// The person is known and never pressed Start.
    NeverStarted,
    Blocked,
    Kicked,
}

#[derive(Debug)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    /// The group's title, or the person's first name.
    pub(crate) title: String,
    pub(crate) access: Access,
    pub(crate) messages: BTreeMap<i64, Message>,
    pub(crate) deleted: Vec<Message>,
    /// Supergroups count their messages themselves.
    pub(crate) last_message: i64,
}

impl Chat {
    pub(crate) fn new(id: i64, title: &str, access: Access) -> Self {
        Self {
            id,
            title: title.to_owned(),
            access,
            messages: BTreeMap::new(),
            deleted: Vec::new(),
            last_message: 0,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.id {
            id if id > 0 => "private",
            id if id < SUPERGROUPS => "supergroup",
            _ => "group",
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let name = if self.id > 0 { "first_name" } else { "title" };
        json!({"id": self.id, "type": self.kind(), name: self.title})
    }
}

#[derive(Debug, Default)]
pub(crate) struct Chats {
    pub(crate) chats: BTreeMap<i64, Chat>,
    /// First names by id, the bot's among them.
    pub(crate) users: BTreeMap<i64, User>,
    last_message: i64,
}

#[derive(Debug)]
pub(crate) struct User {
    pub(crate) first_name: String,
    /// A bot's name.
    pub(crate) username: Option<String>,
}

impl Chats {
    pub(crate) fn user_json(&self, id: i64) -> Value {
        let user = self.users.get(&id);
        let name = user.map_or("", |user| user.first_name.as_str());
        let mut value = json!({"id": id, "is_bot": false, "first_name": name});
        match user.and_then(|user| user.username.as_ref()) {
            Some(username) => {
                value["is_bot"] = json!(true);
                value["username"] = json!(username);
            }
            None => value["language_code"] = json!("en"),
        }
        value
    }

    pub(crate) fn message_json(&self, message: &Message) -> Value {
        let mut value = message.to_json();
        value["from"] = self.user_json(message.from);
        if let Some(chat) = self.chats.get(&message.chat) {
            value["chat"] = chat.to_json();
            if let Some(replied) = message.reply_to.and_then(|id| chat.messages.get(&id)) {
                let mut replied_json = replied.to_json();
                replied_json["from"] = self.user_json(replied.from);
                replied_json["chat"] = chat.to_json();
                value["reply_to_message"] = replied_json;
            }
        }
        value
    }

    /// Puts a message of `from` into a chat that exists, under the next id.
    pub(crate) fn put(
        &mut self,
        chat: i64,
        from: i64,
        formatted: Formatted,
        now: Duration,
    ) -> Option<&mut Message> {
        let chat = self.chats.get_mut(&chat)?;
        let last = if chat.id < SUPERGROUPS { &mut chat.last_message } else { &mut self.last_message };
        *last += 1;
        let message = Message {
            id: *last,
            chat: chat.id,
            from,
            date: now.as_secs(),
            text: formatted.text,
            entities: formatted.entities,
            parse_mode: None,
            buttons: Vec::new(),
            force_reply: false,
            reply_to: None,
            file: None,
            edits: 0,
            history: Vec::new(),
            is_silent: false,
            edited: None,
        };
        Some(chat.messages.entry(*last).or_insert(message))
    }

    pub(crate) fn message(&self, chat: i64, id: i64) -> Option<&Message> {
        self.chats.get(&chat)?.messages.get(&id)
    }

    pub(crate) fn message_mut(&mut self, chat: i64, id: i64) -> Option<&mut Message> {
        self.chats.get_mut(&chat)?.messages.get_mut(&id)
    }
}
