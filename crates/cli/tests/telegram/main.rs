//! Telegram from outside: the real binary, a tool under `atlasbridge run`, and a strict Bot API server on loopback. The
//! truth is what the tool read, and what the chat shows.
//!
//! `answers` taps and texts, to their true end · `commands` what a person may ask for · `notices` what they hear without
//! asking · `instructions` what a working agent does next · `operators` two people · `limit` too many answers in a minute · `presence` somebody types at the terminal ·
//! `outage` a service that fails · `outages` how soon what waited is offered after one · `quiet` what cannot be shown costs nothing · `strangers` who may not ·
//! `secrets` where the token is not · `setup` from a token to a tap · `emulator` a server of others · `forged` whatever is no
//! answer · `crowd` many sessions on a bad day · `killed` hubs that die at each step. `outages` and the last three do a part of what they can;
//! with `ATLASBRIDGE_TEST_FULL=1` they do all of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on should say where and stop"
)]

mod answers;
mod commands;
mod crowd;
mod dice;
mod emulator;
mod forged;
mod instructions;
mod killed;
mod limit;
mod notices;
mod operators;
mod outage;
mod outages;
mod presence;
mod quiet;
mod secrets;
mod setup;
mod strangers;

use std::time::Duration;

use atlasbridge_testkit::Home;
use atlasbridge_testkit::telegram::{FakeTelegram, Limits, Message};

pub(crate) const TOKEN: &str = "123456789:AAE0123456789012345678901234567890a";
pub(crate) const ANN: i64 = 4242;

/// A home with a bot, and one person who may answer.
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) telegram: FakeTelegram,
    pub(crate) chat: i64,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to the configuration's `[telegram]` section.
    pub(crate) fn with(more: &str) -> Self {
        let telegram = FakeTelegram::start(TOKEN);
        telegram.limits(Limits::none());
        let chat = telegram.private_chat(ANN, "Ann");
        let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
        home.write_config(&config(&telegram.api_url(), more));
        Self { home, telegram, chat }
    }

    /// The message of the prompt that shows this text.
    #[track_caller]
    pub(crate) fn prompt(&self, text: &str) -> Message {
        self.telegram.wait_message(
            self.chat,
            |message| message.text.contains(text) && !message.buttons.is_empty(),
            "the prompt appears in the chat",
        )
    }

    /// Waits until a message ends in this word, without buttons.
    #[track_caller]
    pub(crate) fn ends(&self, message: &Message, word: &str) -> Message {
        self.telegram.wait_edit(
            self.chat,
            message.id,
            |message| message.text.to_lowercase().contains(word) && message.buttons.is_empty(),
            "the message tells its end",
        )
    }

    #[track_caller]
    pub(crate) fn taps(&self, message: &Message, label: &str) -> String {
        let tap = self.telegram.taps(ANN, self.chat, message.id, label);
        self.telegram.wait_tap_answer(&tap, "the tap is answered").text.unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> i64 {
        self.telegram.says(ANN, self.chat, text)
    }

    /// The same, after a second of the service's clock: its messages carry whole seconds, and a text of the second in
    /// which a prompt appeared is not taken for its answer.
    #[track_caller]
    pub(crate) fn says_later(&self, text: &str) -> i64 {
        self.telegram.advance(Duration::from_secs(2));
        self.says(text)
    }

    /// A message of ours that holds this text.
    #[track_caller]
    pub(crate) fn hears(&self, text: &str) -> Message {
        self.telegram.wait_message(self.chat, |message| message.text.contains(text), "an answer in the chat")
    }

    /// Waits until the hub has taken everything that was sent, however much it is, as long as it gets less.
    #[track_caller]
    pub(crate) fn all_confirmed(&self) {
        let mut pending = self.telegram.pending();
        while pending > 0 {
            pending = atlasbridge_testkit::eventually("fewer updates wait", || {
                Some(self.telegram.pending()).filter(|now| *now < pending)
            });
        }
    }

    /// The reasons of refused answers on the audit log.
    pub(crate) fn rejections(&self) -> Vec<String> {
        let records = self.home.audit();
        let rejected = records.iter().filter(|record| record["event"] == "REPLY_REJECTED");
        rejected.map(|record| record["value"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn nothing_was_violated(&self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
    }
}

pub(crate) fn config(api_url: &str, more: &str) -> String {
    format!(
        "[prompts]\npresence_grace_seconds = 0\n[web]\nenabled = false\n[telegram]\nbot_token = \"{TOKEN}\"\n\
         allowed_users = [{ANN}]\napi_url = \"{api_url}\"\nmessages_per_second = 30\nnotify_start = false\nnotify_end = false\n{more}"
    )
}
