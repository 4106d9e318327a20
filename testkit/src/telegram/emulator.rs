//! The emulator that others published (npm `telegram-test-api`), for one smoke run against something that we did not
//! write.
//!
//! It is lenient where the Bot API is strict: `getUpdates` answers at once, edits answer `null`, dates are in
//! milliseconds, nothing is limited. Strictness is [`super::FakeTelegram`]'s.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{eventually, http, npm_package};

const PACKAGE: (&str, &str) = ("telegram-test-api", "4.2.1");

/// Says a line when it listens, and keeps what was sent for ten minutes.
const SCRIPT: &str = "const Server = require('telegram-test-api');
const server = new Server({port: Number(process.argv[1]), host: '127.0.0.1', storeTimeout: 600});
server.start().then(() => console.log('listening'), (error) => { console.error(error); process.exit(1); });";

/// A running emulator; it ends with the value.
#[derive(Debug)]
pub struct Emulator {
    pub api_url: String,
    pub token: String,
    child: Child,
    _reserved: OwnedFd,
}

/// Starts the emulator for a bot of its own.
#[track_caller]
pub fn public_emulator() -> Emulator {
    let modules = npm_package(PACKAGE.0, PACKAGE.1);
    let (reserved, port) = super::reserve();
    let mut child = Command::new("node")
        .args(["-e", SCRIPT, &port.to_string()])
        .env("NODE_PATH", modules)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("node does not start: {error}"));
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it was piped");
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut line).unwrap();
    let emulator = Emulator {
        api_url: format!("http://127.0.0.1:{port}"),
        token: "666:emulated".to_owned(),
        child,
        _reserved: reserved,
    };
    assert_eq!(line, "listening\n", "{} does not listen", PACKAGE.0);
    emulator
}

impl Emulator {
    /// A person writes to the bot in private.
    pub fn says(&self, user: i64, text: &str) {
        let mut message = self.from(user);
        message["text"] = json!(text);
        let kind = if text.starts_with('/') { "sendCommand" } else { "sendMessage" };
        if kind == "sendCommand" {
            let length = text.split(' ').next().map_or(0, |word| word.encode_utf16().count());
            message["entities"] = json!([{"type": "bot_command", "offset": 0, "length": length}]);
        }
        self.post(kind, &message);
    }

    /// A person taps a button below a message of the bot, given by its id as [`Emulator::reads`] tells it.
    pub fn taps(&self, user: i64, message: i64, data: &str) {
        let mut tap = self.from(user);
        tap["message"] = self.from(user);
        tap["message"]["message_id"] = json!(message);
        tap["data"] = json!(data);
        self.post("sendCallback", &tap);
    }

    /// What the bot sent to this person since this was asked last: `{"messageId", "message": {"text", …}, …}` each.
    pub fn reads(&self, user: i64) -> Vec<Value> {
        let answer = self.post("getUpdates", &json!({"token": self.token, "chatId": user}));
        answer["result"].as_array().cloned().unwrap_or_default()
    }

    /// Everything that was sent by either side, as it stands now, edits applied.
    pub fn history(&self) -> Vec<Value> {
        let answer = self.post("getUpdatesHistory", &json!({"token": self.token}));
        answer["result"].as_array().cloned().unwrap_or_default()
    }

    /// The first entry of the history that is so. The emulator announces nothing, so it is asked again and again.
    #[track_caller]
    pub fn wait(&self, why: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        eventually(why, || self.history().into_iter().find(|entry| is_it(entry)))
    }

    fn from(&self, user: i64) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let date = now.expect("the machine's clock is set").as_secs();
        json!({
            "botToken": self.token, "date": date,
            "from": {"id": user, "is_bot": false, "first_name": "Ann"},
            "chat": {"id": user, "type": "private", "first_name": "Ann"},
        })
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = http::post_json(&format!("{}/{path}", self.api_url), body).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
