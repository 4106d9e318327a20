//! Whether the fake Bot API is one: judged by a client that others wrote, and beside an emulator that others wrote.
//!
//! `telegram_fidelity/client.py` drives python-telegram-bot and holds the claims; this end starts the fake, and does
//! what the client asks of persons.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where and stop")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use atlasbridge_testkit::telegram::{FakeTelegram, Fault, Limits, TapId, Times, public_emulator};
use atlasbridge_testkit::{http, python_package};
use serde_json::{Value, json};

const TOKEN: &str = "123456:TEST-token_for-the_fidelity-suite";
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telegram_fidelity/client.py");
/// How many claims the client makes; one that is lost is a failure too.
const CLAIMS: usize = 15;

#[test]
fn python_telegram_bot_finds_what_it_expects() {
    let python = python_package("python-telegram-bot", "22.8");
    let telegram = FakeTelegram::start(TOKEN);
    telegram.limits(Limits::none());
    telegram.private_chat(4242, "Ann");
    telegram.stranger(9, "Bob");
    telegram.group(-1_000_000_000_777, "Team");
    let mut client = Command::new(python)
        .args([CLIENT, &telegram.api_url(), TOKEN])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = Vec::new();
    let mut stdin = client.stdin.take().unwrap();
    for line in BufReader::new(client.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(claim) = line["held"].as_str() {
            held.push(claim.to_owned());
            continue;
        }
        let answer = act(&telegram, &line);
        writeln!(stdin, "{answer}").unwrap();
    }
    let status = client.wait().unwrap();
    assert!(status.success(), "{status} after {held:?}: its traceback is above");
    assert_eq!(held.len(), CLAIMS, "{held:?}");
    // The one that the client provoked, and nothing else: it is well behaved, and so its parameters exist.
    let violations = telegram.violations();
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].starts_with("sendMessage came"), "{violations:?}");
}

/// Does what the client asks of persons, and says what came of it.
fn act(telegram: &FakeTelegram, asked: &Value) -> Value {
    let number = |name: &str| number(asked, name);
    let word = |name: &str| word(asked, name);
    let (user, chat) = (|| number("user"), || number("chat"));
    match word("do") {
        "says" => json!(telegram.says(user(), chat(), word("text"))),
        "replies" => json!(telegram.replies(user(), chat(), number("message"), word("text"))),
        "starts" => json!(telegram.starts(user())),
        "taps" => json!(telegram.taps(user(), chat(), number("message"), word("button")).0),
        "tap" => json!(telegram.forges_tap(user(), chat(), number("message"), word("data")).0),
        "raw" => json!(telegram.raw_update(asked["update"].clone())),
        "wait_message" => {
            let text = word("text");
            let message = telegram.wait_message(chat(), |message| message.text == text, text);
            json!(message.id)
        }
        "wait_tap_answer" => {
            let tap = TapId(word("tap").to_owned());
            let answer = telegram.wait_tap_answer(&tap, "the client answers the tap");
            json!({"text": answer.text, "show_alert": answer.show_alert})
        }
        "file" => {
            let file = telegram.message(chat(), number("message")).file.unwrap();
            json!(String::from_utf8(file.bytes).unwrap())
        }
        "violations" => json!(telegram.violations()),
        _ => {
            arrange(telegram, asked);
            Value::Null
        }
    }
}

/// What nothing comes of that the client could not see itself.
fn arrange(telegram: &FakeTelegram, asked: &Value) {
    let number = |name: &str| number(asked, name);
    let word = |name: &str| word(asked, name);
    match word("do") {
        "edits" => telegram.edits(number("user"), number("chat"), number("message"), word("text")),
        "blocks" => telegram.blocks(number("user")),
        "unblocks" => telegram.unblocks(number("user")),
        "advance" => telegram.advance(Duration::from_secs(number("seconds").unsigned_abs())),
        "limits" if asked["strict"] == json!(true) => telegram.limits(Limits {
            // Slow enough that no machine is slower.
            per_chat: 0.1,
            ..Limits::default()
        }),
        "limits" => telegram.limits(Limits::none()),
        "fails" => telegram.fails(word("method"), fault(word("fault")), Times::Next(1)),
        "releases" => telegram.releases(),
        "unreachable" => telegram.unreachable(),
        "reachable" => telegram.reachable(),
        "wait_polled" => telegram.wait_polled("the client polls"),
        other => panic!("nobody can {other}"),
    }
}

fn number(asked: &Value, name: &str) -> i64 {
    asked[name].as_i64().unwrap_or_else(|| panic!("no {name} in {asked}"))
}

fn word<'a>(asked: &'a Value, name: &str) -> &'a str {
    asked[name].as_str().unwrap_or_else(|| panic!("no {name} in {asked}"))
}

fn fault(name: &str) -> Fault {
    match name {
        "502" => Fault::Status(502),
        "504" => Fault::Status(504),
        "cut" => Fault::CutJson,
        "drop" => Fault::DropBefore,
        "429" => Fault::TooManyRequests { retry_after: 5 },
        "hang" => Fault::Hang,
        other => panic!("no fault {other}"),
    }
}

/// The emulator that the product is run against once more starts, and carries words and taps both ways.
#[test]
fn the_public_emulator_answers() {
    let emulator = public_emulator();
    let call = |method: &str, params: Value| {
        let url = format!("{}/bot{}/{method}", emulator.api_url, emulator.token);
        http::post_json(&url, &params).unwrap().json()
    };
    assert_eq!(call("getMe", json!({}))["result"]["username"], "TestNameBot");
    let markup = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]});
    let sent = call("sendMessage", json!({"chat_id": 4242, "text": "Delete it?", "reply_markup": markup}));
    let id = sent["result"]["message_id"].as_i64().unwrap();
    let read = emulator.reads(4242);
    assert_eq!(read[0]["message"]["text"], "Delete it?");
    assert_eq!(read[0]["messageId"], id);
    emulator.says(4242, "hello");
    emulator.says(4242, "/status now");
    emulator.taps(4242, id, "y");
    let updates = call("getUpdates", json!({}))["result"].clone();
    assert_eq!(updates[0]["message"]["text"], "hello");
    assert_eq!(updates[1]["message"]["entities"][0]["length"], 7);
    let tap = &updates[2]["callback_query"];
    assert_eq!((&tap["data"], &tap["message"]["message_id"]), (&json!("y"), &json!(id)));
    call("editMessageText", json!({"chat_id": 4242, "message_id": id, "text": "Deleted."}));
    emulator.wait("the edit is seen", |entry| entry["message"]["text"] == "Deleted.");
}
