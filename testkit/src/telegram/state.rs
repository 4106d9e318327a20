//! Everything that the fake knows, and one method per method of the Bot API: values in, values out, no clock of its
//! own, no network.

mod messages;
mod people;
mod polling;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::chats::{Chats, User};
use super::clock::Moment;
use super::faults::Faults;
use super::limits::Pace;
use super::params::Params;
use super::refusal::{Answer, Refusal};
use super::updates::Updates;
use people::Tap;
pub use people::{TapAnswer, TapId};
pub use polling::Poll;
use polling::Polling;
pub(crate) use polling::Waiting;

/// A call as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// As the bot spelt it.
    pub method: String,
    /// In the fake's time since 1970.
    pub at: Duration,
    pub params: Value,
    /// What it was answered with; nothing while it waits, and if the answer never went out.
    pub status: Option<u16>,
    /// When that was; a long poll is answered long after it came.
    pub answered_at: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) token: String,
    pub(crate) bot: i64,
    pub(crate) chats: Chats,
    pub(crate) updates: Updates,
    pub(crate) polling: Polling,
    pub(crate) taps: BTreeMap<TapId, Tap>,
    pub(crate) pace: Pace,
    pub(crate) faults: Faults,
    pub(crate) calls: Vec<Call>,
    pub(crate) commands: Vec<(String, String)>,
    pub(crate) actions: Vec<(i64, String)>,
    webhook: Option<String>,
    /// Bots in groups hear only what is meant for them, unless their owner wants otherwise.
    pub(crate) hears_everything: bool,
    /// Calls that hang are counted by the generation in which they began to.
    pub(crate) releases: u64,
    /// How many calls hang.
    pub(crate) hanging: usize,
}

pub(crate) const BOT_NAME: &str = "atlasbridge_test_bot";

impl State {
    pub(crate) fn new(token: &str) -> Self {
        let bot = token.split(':').next().and_then(|id| id.parse().ok());
        let bot = bot.expect("a token begins with the bot's id and a colon");
        let mut chats = Chats::default();
        let user = User { first_name: "AtlasBridge".to_owned(), username: Some(BOT_NAME.to_owned()) };
        chats.users.insert(bot, user);
        Self {
            token: token.to_owned(),
            bot,
            chats,
            updates: Updates::default(),
            polling: Polling::default(),
            taps: BTreeMap::new(),
            pace: Pace::default(),
            faults: Faults::default(),
            calls: Vec::new(),
            commands: Vec::new(),
            actions: Vec::new(),
            webhook: None,
            hears_everything: false,
            releases: 0,
            hanging: 0,
        }
    }

    /// A malformed token has no such page, a wrong one no right.
    pub(crate) fn check_token(&self, token: &str) -> Result<(), Refusal> {
        let is_formed = token.split_once(':').is_some_and(|(id, secret)| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
            id.parse::<u64>().is_ok() && !secret.is_empty() && secret.chars().all(fits)
        });
        match () {
            () if !is_formed => Err(Refusal::not_found()),
            () if token != self.token => Err(Refusal::unauthorized()),
            () => Ok(()),
        }
    }

    /// Any method but `getUpdates`, which may have to wait.
    pub(crate) fn call(&mut self, method: &str, params: &Params, now: Moment) -> Answer {
        self.admit(method, params, now)?;
        match method.to_lowercase().as_str() {
            "getme" => Ok(self.me()),
            "setwebhook" => self.set_webhook(params),
            "deletewebhook" => {
                self.drop_pending(params);
                self.webhook = None;
                Ok(json!(true))
            }
            "getwebhookinfo" => Ok(json!({
                "url": self.webhook.clone().unwrap_or_default(),
                "has_custom_certificate": false,
                "pending_update_count": self.updates.pending(now),
            })),
            "sendmessage" => self.send_message(params, now),
            "senddocument" => self.send_document(params, now),
            "editmessagetext" => self.edit_text(params, now),
            "editmessagereplymarkup" => self.edit_markup(params, now),
            "deletemessage" => self.delete_message(params, now),
            "answercallbackquery" => self.answer_tap(params, now),
            "getchat" => self.chat_info(params),
            "setmycommands" => self.set_commands(params),
            "getmycommands" => Ok(self.commands_json()),
            "deletemycommands" => {
                self.commands.clear();
                Ok(json!(true))
            }
            "sendchataction" => self.chat_action(params),
            _ => Err(Refusal::not_found()),
        }
    }

    /// Before any method: it exists, its parameters have names that exist, and the bot was not told to wait.
    pub(crate) fn admit(&mut self, method: &str, params: &Params, now: Moment) -> Result<(), Refusal> {
        let known = parameters(method).ok_or_else(Refusal::not_found)?;
        for name in params.names().filter(|name| !known.contains(name)) {
            // Ignored over there, so whoever misspells one never hears of it.
            let violation = format!("{method} has no parameter {name:?}");
            self.pace.violations.push(violation);
        }
        self.pace.check_wait(method, params.integer("chat_id"), now)
    }

    fn me(&self) -> Value {
        let mut me = self.chats.user_json(self.bot);
        me["can_join_groups"] = json!(true);
        me["can_read_all_group_messages"] = json!(self.hears_everything);
        me["supports_inline_queries"] = json!(false);
        me["can_connect_to_business"] = json!(false);
        me["has_main_web_app"] = json!(false);
        me
    }

    fn set_webhook(&mut self, params: &Params) -> Answer {
        let url = params.text("url").unwrap_or_default();
        if !url.is_empty() && !url.starts_with("https://") {
            return Err(Refusal::bad("bad webhook: An HTTPS URL must be provided for webhook"));
        }
        self.drop_pending(params);
        self.allow_updates(params);
        self.webhook = (!url.is_empty()).then_some(url);
        if self.webhook.is_some() {
            self.polling.end_by_webhook();
        }
        Ok(json!(true))
    }

    pub(crate) fn force_webhook(&mut self, url: &str) {
        self.webhook = Some(url.to_owned());
        self.polling.end_by_webhook();
    }

    fn drop_pending(&mut self, params: &Params) {
        if params.flag("drop_pending_updates") {
            self.updates.clear();
        }
    }

    /// An absent list leaves things as they are.
    fn allow_updates(&mut self, params: &Params) {
        if let Ok(Some(Value::Array(kinds))) = params.json("allowed_updates") {
            let kinds = kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned));
            self.updates.allow(kinds.collect());
        }
    }

    fn chat_info(&self, params: &Params) -> Answer {
        let chat = self.chat_of(params)?;
        let mut info = chat.to_json();
        info["accent_color_id"] = json!(0);
        info["max_reaction_count"] = json!(11);
        info["accepted_gift_types"] = json!({
            "unlimited_gifts": true, "limited_gifts": true, "unique_gifts": true, "premium_subscription": true,
            "gifts_from_channels": true,
        });
        Ok(info)
    }

    fn set_commands(&mut self, params: &Params) -> Answer {
        let Ok(Some(Value::Array(list))) = params.json("commands") else {
            return Err(Refusal::bad("can't parse commands JSON object"));
        };
        if list.len() > 100 {
            return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
        }
        let read = |entry: &Value| {
            let word = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            let (name, description) = (word("command"), word("description"));
            let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
            if !(1..=32).contains(&name.len()) || !name.chars().all(fits) {
                return Err(Refusal::bad("BOT_COMMAND_INVALID"));
            }
            if !(1..=256).contains(&description.chars().count()) {
                return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
            }
            Ok((name, description))
        };
        self.commands = list.iter().map(read).collect::<Result<_, _>>()?;
        Ok(json!(true))
    }

    fn commands_json(&self) -> Value {
        let entry =
            |(name, description): &(String, String)| json!({"command": name, "description": description});
        self.commands.iter().map(entry).collect()
    }

    fn chat_action(&mut self, params: &Params) -> Answer {
        const ACTIONS: [&str; 11] = [
            "typing",
            "upload_photo",
            "record_video",
            "upload_video",
            "record_voice",
            "upload_voice",
            "upload_document",
            "choose_sticker",
            "find_location",
            "record_video_note",
            "upload_video_note",
        ];
        let chat = self.writable_chat(params)?;
        let action = params.text("action").unwrap_or_default();
        if !ACTIONS.contains(&action.as_str()) {
            return Err(Refusal::bad("wrong parameter action in request"));
        }
        self.actions.push((chat, action));
        Ok(json!(true))
    }
}

/// The parameters of a method that is spoken here. Methods are not sensitive to case, parameters are.
fn parameters(method: &str) -> Option<&'static [&'static str]> {
    Some(match method.to_lowercase().as_str() {
        "getme" | "getwebhookinfo" => &[],
        "getupdates" => &["offset", "limit", "timeout", "allowed_updates"],
        "setwebhook" => &[
            "url",
            "certificate",
            "ip_address",
            "max_connections",
            "allowed_updates",
            "drop_pending_updates",
            "secret_token",
        ],
        "deletewebhook" => &["drop_pending_updates"],
        "sendmessage" => &[
            "business_connection_id",
            "chat_id",
            "message_thread_id",
            "text",
            "parse_mode",
            "entities",
            "link_preview_options",
            "disable_web_page_preview",
            "disable_notification",
            "protect_content",
            "allow_paid_broadcast",
            "message_effect_id",
            "reply_parameters",
            "reply_to_message_id",
            "allow_sending_without_reply",
            "reply_markup",
        ],
        "senddocument" => &[
            "business_connection_id",
            "chat_id",
            "message_thread_id",
            "document",
            "thumbnail",
            "caption",
            "parse_mode",
            "caption_entities",
            "disable_content_type_detection",
            "disable_notification",
            "protect_content",
            "allow_paid_broadcast",
            "message_effect_id",
            "reply_parameters",
            "reply_to_message_id",
            "allow_sending_without_reply",
            "reply_markup",
        ],
        "editmessagetext" => &[
            "business_connection_id",
            "chat_id",
            "message_id",
            "inline_message_id",
            "text",
            "parse_mode",
            "entities",
            "link_preview_options",
            "disable_web_page_preview",
            "reply_markup",
        ],
        "editmessagereplymarkup" => {
            &["business_connection_id", "chat_id", "message_id", "inline_message_id", "reply_markup"]
        }
        "deletemessage" => &["chat_id", "message_id"],
        "answercallbackquery" => &["callback_query_id", "text", "show_alert", "url", "cache_time"],
        "getchat" => &["chat_id"],
        "setmycommands" => &["commands", "scope", "language_code"],
        "getmycommands" | "deletemycommands" => &["scope", "language_code"],
        "sendchataction" => &["business_connection_id", "chat_id", "message_thread_id", "action"],
        _ => return None,
    })
}
