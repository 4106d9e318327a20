//! Sending, editing and deleting messages.

use serde_json::{Value, json};
use std::time::Duration;

use super::State;
use crate::telegram::chats::{Access, Chat};
use crate::telegram::clock::Moment;
use crate::telegram::entities::{Formatted, units};
use crate::telegram::limits::is_group;
use crate::telegram::markup::Markup;
use crate::telegram::params::{File, Params};
use crate::telegram::refusal::{Answer, Refusal};

/// UTF-16 code units of a text, entities applied.
const MOST_TEXT: usize = 4096;
/// The same of a caption.
const MOST_CAPTION: usize = 1024;
/// After two days a message stays.
const DELETABLE: Duration = Duration::from_secs(48 * 60 * 60);

impl State {
    pub(super) fn chat_of(&self, params: &Params) -> Result<&Chat, Refusal> {
        let id = params.text("chat_id").unwrap_or_default();
        if id.is_empty() {
            return Err(Refusal::bad("chat_id is empty"));
        }
        let chat = id.trim().parse().ok().and_then(|id| self.chats.chats.get(&id));
        chat.ok_or_else(|| Refusal::bad("chat not found"))
    }

    pub(super) fn writable_chat(&self, params: &Params) -> Result<i64, Refusal> {
        let chat = self.chat_of(params)?;
        match chat.access {
            Access::Open => Ok(chat.id),
            Access::NeverStarted => Err(Refusal::forbidden("bot can't initiate conversation with a user")),
            Access::Blocked => Err(Refusal::forbidden("bot was blocked by the user")),
            Access::Kicked => Err(Refusal::forbidden("bot was kicked from the group chat")),
        }
    }

    pub(super) fn send_message(&mut self, params: &Params, now: Moment) -> Answer {
        let formatted = Formatted::read(params, "text", "entities")?;
        if formatted.text.is_empty() {
            return Err(Refusal::bad("message text is empty"));
        }
        if units(&formatted.text) > MOST_TEXT {
            return Err(Refusal::bad("message is too long"));
        }
        check_link_preview(params)?;
        self.send(params, formatted, None, now)
    }

    pub(super) fn send_document(&mut self, params: &Params, now: Moment) -> Answer {
        let caption = Formatted::read(params, "caption", "caption_entities")?;
        if units(&caption.text) > MOST_CAPTION {
            return Err(Refusal::bad("message caption is too long"));
        }
        let file = match (params.file("document"), params.text("document")) {
            (Some(file), _) => file.clone(),
            (None, Some(id)) => self
                .file_by_id(&id)
                .ok_or_else(|| Refusal::bad("wrong file identifier/HTTP URL specified"))?,
            (None, None) => return Err(Refusal::bad("there is no document in the request")),
        };
        if file.bytes.is_empty() {
            return Err(Refusal::bad("file must be non-empty"));
        }
        self.send(params, caption, Some(file), now)
    }

    fn file_by_id(&self, id: &str) -> Option<File> {
        let mut messages = self.chats.chats.values().flat_map(|chat| chat.messages.values());
        let message = messages.find(|message| message.file.is_some() && message.file_id() == id);
        message.and_then(|message| message.file.clone())
    }

    fn send(&mut self, params: &Params, formatted: Formatted, file: Option<File>, now: Moment) -> Answer {
        let markup = Markup::read(params)?;
        let chat = self.writable_chat(params)?;
        let reply_to = self.replied(params, chat)?;
        self.pace.send(chat, now)?;
        let message =
            self.chats.put(chat, self.bot, formatted, now).expect("a chat that can be written in exists");
        message.parse_mode = params.text("parse_mode");
        message.buttons = markup.buttons().to_vec();
        message.force_reply = markup == Markup::ForceReply;
        message.reply_to = reply_to;
        message.file = file;
        message.is_silent = params.flag("disable_notification");
        let message = message.clone();
        Ok(self.chats.message_json(&message))
    }

    /// The message that is replied to, if there is one, or nothing if the bot does not mind.
    fn replied(&self, params: &Params, chat: i64) -> Result<Option<i64>, Refusal> {
        let unreadable = || Refusal::bad("can't parse reply parameters: expected an Object");
        let reply = params.json("reply_parameters").map_err(|_| unreadable())?;
        let (id, may_lack) = match &reply {
            Some(Value::Object(reply)) => {
                let id = reply.get("message_id").and_then(Value::as_i64);
                let may_lack = reply.get("allow_sending_without_reply") == Some(&json!(true));
                (Some(id.ok_or_else(unreadable)?), may_lack)
            }
            Some(_) => return Err(unreadable()),
            None => (params.integer("reply_to_message_id"), params.flag("allow_sending_without_reply")),
        };
        match id.filter(|id| *id != 0) {
            None => Ok(None),
            Some(id) if self.chats.message(chat, id).is_some() => Ok(Some(id)),
            Some(_) if may_lack => Ok(None),
            Some(_) => Err(Refusal::bad("message to be replied not found")),
        }
    }

    pub(super) fn edit_text(&mut self, params: &Params, now: Moment) -> Answer {
        let formatted = Formatted::read(params, "text", "entities")?;
        if formatted.text.is_empty() {
            return Err(Refusal::bad("message text is empty"));
        }
        if units(&formatted.text) > MOST_TEXT {
            return Err(Refusal::bad("MESSAGE_TOO_LONG"));
        }
        check_link_preview(params)?;
        self.change(params, Some(formatted), now)
    }

    pub(super) fn edit_markup(&mut self, params: &Params, now: Moment) -> Answer {
        self.change(params, None, now)
    }

    /// An edit without buttons takes the buttons away.
    fn change(&mut self, params: &Params, formatted: Option<Formatted>, now: Moment) -> Answer {
        let markup = match Markup::read(params)? {
            Markup::ForceReply | Markup::Keyboard => {
                return Err(Refusal::bad("inline keyboard expected"));
            }
            markup @ (Markup::Inline(_) | Markup::None) => markup,
        };
        let chat = self.writable_chat(params)?;
        let bot = self.bot;
        let message = self
            .chats
            .message_mut(chat, message_id(params)?)
            .ok_or_else(|| Refusal::bad("message to edit not found"))?;
        if message.from != bot {
            return Err(Refusal::bad("message can't be edited"));
        }
        if formatted.is_some() && message.file.is_some() {
            return Err(Refusal::bad("there is no text in the message to edit"));
        }
        let has_text = formatted
            .as_ref()
            .is_none_or(|formatted| formatted.text == message.text && formatted.entities == message.entities);
        if has_text && markup.buttons() == message.buttons {
            return Err(Refusal::bad(
                "message is not modified: specified new message content and reply markup are exactly the same as a \
                 current content and reply markup of the message",
            ));
        }
        self.pace.send(chat, now)?;
        if formatted.is_some() {
            message.parse_mode = params.text("parse_mode");
        }
        message.set(formatted, &markup, now);
        let message = message.clone();
        Ok(self.chats.message_json(&message))
    }

    pub(super) fn delete_message(&mut self, params: &Params, now: Moment) -> Answer {
        let chat = self.writable_chat(params)?;
        let id = message_id(params)?;
        let message = self.chats.message(chat, id);
        let message = message.ok_or_else(|| Refusal::bad("message to delete not found"))?;
        let is_old = Duration::from_secs(message.date) + DELETABLE < now;
        if is_old || (is_group(chat) && message.from != self.bot) {
            return Err(Refusal::bad("message can't be deleted for everyone"));
        }
        if let Some(chat) = self.chats.chats.get_mut(&chat) {
            chat.deleted.extend(chat.messages.remove(&id));
        }
        Ok(json!(true))
    }
}

fn message_id(params: &Params) -> Result<i64, Refusal> {
    match params.integer("message_id").unwrap_or(0) {
        0 => Err(Refusal::bad("message identifier is not specified")),
        id => Ok(id),
    }
}

fn check_link_preview(params: &Params) -> Result<(), Refusal> {
    match params.json("link_preview_options") {
        Ok(None | Some(Value::Object(_))) => Ok(()),
        _ => Err(Refusal::bad("can't parse link preview options: expected an Object")),
    }
}
