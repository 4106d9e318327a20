//! What the service hands over, pure: who said it, where, and what. Nothing here decides; it only lets in.
//!
//! # Admission invariant
//! An operator is a person of `allowed_users`, in a private chat with the bot or in a group of `chats`. Everybody else is
//! a stranger, whatever else the update says: bots, channels, anonymous administrators, senders that are missing. Of a
//! stranger nothing is passed on but that there was an attempt, so that no mistake elsewhere can act on it.

use atlasbridge_model::Timestamp;
use atlasbridge_model::visible::visible;
use serde::Deserialize;
use serde_json::Value;

use super::commands::{self, Slash};
use super::{address, callback};
use crate::{OfferName, Person, RepliedTo, Saying, TapOn, Target, UpdateNo};

/// Longest name of a person that is shown to others.
pub(super) const MOST_NAME: usize = 64;

/// Who may speak, and where.
#[derive(Debug, Clone)]
pub(crate) struct Allowlist {
    pub(crate) users: Vec<i64>,
    pub(crate) chats: Vec<i64>,
}

/// One update, read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) from: Person,
    pub(crate) target: Target,
    pub(crate) saying: Saying,
    /// The tap that waits for an answer of ours; never that of a stranger.
    pub(crate) tap: Option<String>,
}

/// A message, or that of a tap: an old one comes with its chat and number alone.
#[derive(Debug, Deserialize)]
pub(super) struct RawMessage {
    message_id: i64,
    date: Option<i64>,
    pub(super) chat: RawChat,
    pub(super) from: Option<RawUser>,
    sender_chat: Option<Value>,
    text: Option<String>,
    reply_to_message: Option<RawReplied>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawReplied {
    message_id: i64,
    reply_markup: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawTap {
    pub(super) id: String,
    pub(super) from: RawUser,
    message: Option<RawMessage>,
    pub(super) data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawChat {
    id: i64,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawUser {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
    username: Option<String>,
}

/// `None` for what has no number: it can be neither handled nor confirmed by itself.
pub(crate) fn number(update: &Value) -> Option<UpdateNo> {
    update.get("update_id")?.as_i64().map(UpdateNo)
}

/// Reads one update. What is unknown or broken is nothing, and counts as handled.
pub(crate) fn read(update: &Value, allowlist: &Allowlist) -> Incoming {
    let message = part::<RawMessage>(update, "message");
    let tap = part::<RawTap>(update, "callback_query");
    match (message, tap) {
        (Some(message), _) => read_message(message, allowlist),
        (None, Some(tap)) => read_tap(tap, allowlist),
        (None, None) => Incoming {
            from: unknown_sender(),
            target: Target(String::new()),
            saying: Saying::Nothing { attempt: None },
            tap: None,
        },
    }
}

pub(super) fn part<T: for<'a> Deserialize<'a>>(update: &Value, name: &str) -> Option<T> {
    T::deserialize(update.get(name)?).ok()
}

fn read_message(message: RawMessage, allowlist: &Allowlist) -> Incoming {
    let sender = message.from.as_ref().filter(|_| message.sender_chat.is_none());
    let from = allowlist.person(sender, Some(&message.chat));
    let saying = match &from {
        Person::Operator { .. } => said(&message),
        Person::Stranger { .. } => {
            Saying::Nothing { attempt: is_meant_for_us(&message).then_some("not_allowed") }
        }
    };
    Incoming { from, target: Target(message.chat.id.to_string()), saying, tap: None }
}

fn said(message: &RawMessage) -> Saying {
    let Some(text) = &message.text else { return Saying::Nothing { attempt: None } };
    let here = |number| address(message.chat.id, number);
    let is_other_command = match commands::parse(text) {
        Some(Slash::Ours(command)) => {
            return Saying::Command { command, message: here(message.message_id) };
        }
        Some(Slash::Other) => true,
        None => false,
    };
    Saying::Text {
        text: text.clone(),
        message: here(message.message_id),
        reply_to: message.reply_to_message.as_ref().map(|to| RepliedTo {
            address: here(to.message_id),
            offer: to.reply_markup.as_ref().and_then(offer_of),
        }),
        sent_at: Timestamp(message.date.unwrap_or(0).saturating_mul(1000)),
        is_other_command,
    }
}

/// Which offer the buttons of a message belong to.
fn offer_of(markup: &Value) -> Option<OfferName> {
    let data = markup.pointer("/inline_keyboard/0/0/callback_data")?.as_str()?;
    match callback::parse(data)? {
        TapOn::Card { offer, .. } => Some(offer),
        TapOn::Question { .. } => None,
    }
}

/// What strangers say to each other in a group is none of our business, not even for the record.
fn is_meant_for_us(message: &RawMessage) -> bool {
    let is_command = || message.text.as_deref().is_some_and(|text| commands::parse(text).is_some());
    message.chat.is_private() || message.reply_to_message.is_some() || is_command()
}

fn read_tap(tap: RawTap, allowlist: &Allowlist) -> Incoming {
    let chat = tap.message.as_ref().map(|message| &message.chat);
    let from = allowlist.person(Some(&tap.from), chat);
    let target = Target(chat.map(|chat| chat.id.to_string()).unwrap_or_default());
    let is_stranger = matches!(from, Person::Stranger { .. });
    let saying = match tap.data.as_deref().and_then(callback::parse) {
        _ if is_stranger => Saying::Nothing { attempt: Some("not_allowed") },
        Some(on) => Saying::Tap {
            on,
            address: tap.message.as_ref().map(|message| address(message.chat.id, message.message_id)),
        },
        None => Saying::Nothing { attempt: Some("malformed_callback") },
    };
    Incoming { from, target, saying, tap: (!is_stranger).then_some(tap.id) }
}

impl Allowlist {
    fn person(&self, user: Option<&RawUser>, chat: Option<&RawChat>) -> Person {
        match (user, chat) {
            (Some(user), Some(chat)) if self.admits(user, chat) => {
                Person::Operator { id: user.on_record(), name: user.name() }
            }
            (Some(user), _) => Person::Stranger { id: user.on_record() },
            (None, _) => unknown_sender(),
        }
    }

    fn admits(&self, user: &RawUser, chat: &RawChat) -> bool {
        let is_place = match chat.kind.as_deref() {
            Some("private") => chat.id == user.id,
            Some("group" | "supergroup") => self.chats.contains(&chat.id),
            _ => false,
        };
        is_place && !user.is_bot && self.users.contains(&user.id)
    }

    /// Whether anything may be sent there.
    pub(crate) fn may_hear(&self, chat: i64) -> bool {
        self.users.contains(&chat) || self.chats.contains(&chat)
    }
}

impl RawChat {
    pub(super) fn is_private(&self) -> bool {
        self.kind.as_deref() == Some("private")
    }
}

impl RawUser {
    fn on_record(&self) -> String {
        format!("telegram:{}", self.id)
    }

    pub(super) fn name(&self) -> String {
        let last = self.last_name.as_deref().unwrap_or_default();
        let full = format!("{} {last}", self.first_name);
        let name = match (full.trim(), &self.username) {
            ("", Some(username)) => username.as_str(),
            ("", None) => return self.id.to_string(),
            (full, _) => full,
        };
        visible(name).replace('\n', " ").chars().take(MOST_NAME).collect()
    }
}

fn unknown_sender() -> Person {
    Person::Stranger { id: "telegram:unknown".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Command, Tap, TapOn};
    use proptest::prelude::*;
    use serde_json::json;

    const DATA: &str = "ans:0123abcd:89abcdef:0123456789abcdef:2";

    fn allowlist() -> Allowlist {
        Allowlist { users: vec![7], chats: vec![-100] }
    }

    fn read_one(update: &Value) -> Incoming {
        read(update, &allowlist())
    }

    fn message(from: &Value, chat: &Value) -> Value {
        json!({"update_id": 1, "message": {"message_id": 5, "date": 60, "from": from, "chat": chat, "text": "/stop 1",
            "unheard_of": {"a": [1]}}})
    }

    fn tap(from: &Value, chat: &Value, data: &str) -> Value {
        json!({"update_id": 1, "callback_query": {"id": "99", "from": from, "data": data, "chat_instance": "x",
            "message": {"message_id": 5, "date": 0, "chat": chat}}})
    }

    fn ada() -> Value {
        json!({"id": 7, "is_bot": false, "first_name": "Ada", "last_name": "L\u{202e}"})
    }

    fn private() -> Value {
        json!({"id": 7, "type": "private"})
    }

    fn group() -> Value {
        json!({"id": -100, "type": "supergroup", "title": "ops"})
    }

    #[test]
    fn only_allowed_people_in_allowed_places_are_let_in() {
        let user = |id: i64| json!({"id": id, "is_bot": false, "first_name": "X"});
        let chat = |id: i64, kind: &str| json!({"id": id, "type": kind});
        let rows = [
            (ada(), private(), true),
            (ada(), group(), true),
            (ada(), chat(-100, "group"), true),
            (ada(), chat(-101, "supergroup"), false),
            (ada(), chat(-100, "channel"), false),
            (ada(), chat(-100, "private"), false),
            (ada(), json!({"id": 7}), false),
            (ada(), chat(8, "private"), false),
            (user(8), chat(8, "private"), false),
            (user(8), group(), false),
            (user(-100), group(), false),
            (json!({"id": 7, "is_bot": true, "first_name": "Ada"}), private(), false),
            (Value::Null, private(), false),
        ];
        for (from, chat, is_in) in rows {
            for update in [message(&from, &chat), tap(&from, &chat, DATA)] {
                let incoming = read_one(&update);
                let is_operator = matches!(incoming.from, Person::Operator { .. });
                assert_eq!(is_operator, is_in, "{update}");
                if !is_in {
                    assert!(matches!(incoming.saying, Saying::Nothing { .. }), "{update}");
                    assert_eq!(incoming.tap, None, "{update}");
                }
            }
        }
    }

    #[test]
    fn an_anonymous_administrator_is_a_stranger() {
        let mut update = message(&ada(), &group());
        update["message"]["sender_chat"] = group();
        assert!(matches!(read_one(&update).from, Person::Stranger { .. }));
    }

    #[test]
    fn a_tap_is_read_with_its_place() {
        let incoming = read_one(&tap(&ada(), &private(), DATA));
        assert_eq!(incoming.tap.as_deref(), Some("99"));
        assert_eq!(incoming.target, Target("7".to_owned()));
        assert_eq!(
            incoming.from,
            Person::Operator { id: "telegram:7".to_owned(), name: "Ada L⟨U+202E⟩".to_owned() }
        );
        let Saying::Tap { on: TapOn::Card { tap, .. }, address } = incoming.saying else {
            panic!("{:?}", incoming.saying);
        };
        assert_eq!((tap, address), (Tap::Row(1), Some(Address("7:5".to_owned()))));
    }

    #[test]
    fn a_broken_tap_of_an_operator_is_answered_and_on_record() {
        let incoming = read_one(&tap(&ada(), &private(), "ans:zzz"));
        let attempt = Some("malformed_callback");
        assert_eq!(incoming.saying, Saying::Nothing { attempt });
        assert_eq!(incoming.tap.as_deref(), Some("99"));
    }

    #[test]
    fn texts_and_commands_are_read() {
        let mut update = message(&ada(), &private());
        let stop = Command::Stop { session: Some("1".to_owned()) };
        let here = || Address("7:5".to_owned());
        assert_eq!(read_one(&update).saying, Saying::Command { command: stop, message: here() });
        update["message"]["text"] = json!(" two\nlines\u{1b} ");
        update["message"]["reply_to_message"] =
            json!({"message_id": 3, "chat": private(), "reply_markup": {}});
        assert_eq!(
            read_one(&update).saying,
            Saying::Text {
                text: " two\nlines\u{1b} ".to_owned(),
                message: here(),
                reply_to: Some(RepliedTo { address: Address("7:3".to_owned()), offer: None }),
                sent_at: Timestamp(60_000),
                is_other_command: false,
            }
        );
        update["message"]["text"] = json!("/compact now");
        let Saying::Text { text, is_other_command, .. } = read_one(&update).saying else {
            panic!("a command of somebody else is a text");
        };
        assert_eq!((text.as_str(), is_other_command), ("/compact now", true));
    }

    #[test]
    fn a_reply_names_the_offer_of_the_message_it_answers() {
        let mut update = message(&ada(), &private());
        let data = format!("ans:{}:{}:{}:1", "0".repeat(8), "1".repeat(8), "2".repeat(16));
        let keyboard = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": data}]]});
        update["message"]["text"] = json!("yes");
        update["message"]["reply_to_message"] =
            json!({"message_id": 3, "chat": private(), "reply_markup": keyboard});
        let Saying::Text { reply_to: Some(replied), .. } = read_one(&update).saying else {
            panic!("no reply");
        };
        assert_eq!(replied.offer.unwrap().nonce, "2".repeat(16));
    }

    #[test]
    fn what_is_not_for_us_is_counted_and_nothing_more() {
        let edited = json!({"update_id": 1, "edited_message": message(&ada(), &private())["message"]});
        let mut photo = message(&ada(), &private());
        photo["message"]["text"] = Value::Null;
        let mut chatter = message(&json!({"id": 8, "first_name": "X"}), &group());
        chatter["message"]["text"] = json!("lunch?");
        let rows = [
            edited,
            photo,
            chatter,
            json!({"update_id": 1}),
            json!({"update_id": 1, "message": "text"}),
            json!({"update_id": 1, "message": {"message_id": "5"}}),
            json!({"update_id": 1, "callback_query": {"id": 5}}),
            json!({"update_id": 1, "brand_new_kind": {"x": 1}}),
        ];
        for update in rows {
            let incoming = read_one(&update);
            assert_eq!(incoming.saying, Saying::Nothing { attempt: None }, "{update}");
            assert_eq!(incoming.tap, None, "{update}");
        }
    }

    #[test]
    fn an_update_without_a_number_has_none() {
        assert_eq!(number(&json!({"update_id": 5})), Some(UpdateNo(5)));
        for update in [json!({}), json!([]), json!({"update_id": "5"}), json!(null)] {
            assert_eq!(number(&update), None);
        }
    }

    proptest! {
        #[test]
        fn any_tap_data_is_read(data in ".{0,80}") {
            read_one(&tap(&ada(), &private(), &data));
        }
    }
}
