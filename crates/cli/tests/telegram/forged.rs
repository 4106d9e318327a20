//! Whatever anybody sends that is no answer of an allowed person to a prompt that waits: nothing is typed, and the
//! reason is on the audit log, once for each attempt.

use std::collections::BTreeMap;
use std::time::Instant;

use atlasbridge_testkit::telegram::Lies;
use serde_json::{Value, json};

use crate::dice::{Dice, full_or_a_tenth};
use crate::{ANN, Desk};

const MALLORY: i64 = 666;
const GROUP: i64 = -100_900;

/// What a forger has seen: data of a prompt that waits and of one that is over, and the messages of both.
struct Seen {
    waiting: String,
    waiting_message: i64,
    over: String,
    over_message: i64,
    since: u64,
}

/// An update, and the reason that must be on record for it; `None` where it is no attempt.
struct Forged {
    update: Value,
    reason: Option<&'static str>,
}

fn person(id: i64, is_bot: bool) -> Value {
    json!({"id": id, "is_bot": is_bot, "first_name": "A\u{202e}nn"})
}

fn private(id: i64) -> Value {
    json!({"id": id, "type": "private", "first_name": "Ann"})
}

fn group() -> Value {
    json!({"id": GROUP, "type": "supergroup", "title": "Elsewhere"})
}

/// Taps are numbered, so that each can be answered.
fn tap(no: usize, from: &Value, chat: &Value, message: i64, data: &str) -> Value {
    let tapped = json!({"message_id": message, "date": 0, "chat": chat});
    json!({"callback_query": {"id": format!("forged-{no}"), "from": from, "message": tapped,
        "chat_instance": "1", "data": data}})
}

fn text(no: usize, from: &Value, chat: &Value, date: u64, text: &str) -> Value {
    json!({"message": {"message_id": 1_000_000 + no, "date": date, "from": from, "chat": chat, "text": text}})
}

/// The parts of a button's data.
fn parts(data: &str) -> Vec<String> {
    data.split(':').map(str::to_owned).collect()
}

/// Data that is not spelled as any button of ours.
fn misspelled(dice: &mut Dice, good: &str) -> String {
    let parts = parts(good);
    let [_, prompt, session, nonce, value] = &parts[..] else { panic!("{good}") };
    match dice.roll(13) {
        0 => good.replacen("ans", "anz", 1),
        1 => good.to_uppercase(),
        2 => format!("{good}:{value}"),
        3 => format!("ans:{prompt}:{session}:{nonce}:0"),
        4 => format!("ans:{prompt}:{session}:{nonce}:yes"),
        5 => format!("ans:{prompt}:{session}:{nonce}:"),
        6 => format!("ans:{prompt}:{session}:{}:{value}", &nonce[1..]),
        7 => format!("{good}\n"),
        8 => format!("\u{0}{good}"),
        9 => format!("{good}{}", "x".repeat(64 + dice.roll(4_000) as usize)),
        10 => format!("ans:{prompt}:{session}:{nonce}:\u{1b}"),
        11 => String::new(),
        _ => format!(" {good}\u{202e}"),
    }
}

/// Data that is spelled well and names nothing.
fn unknown(dice: &mut Dice, good: &str) -> String {
    let mut parts = parts(good);
    let (at, digits) = [(1, 8), (2, 8), (3, 16)][dice.roll(3) as usize];
    let real = parts[at].clone();
    while parts[at] == real {
        parts[at] = dice.hex(digits);
    }
    parts.join(":")
}

fn with_value(data: &str, value: char) -> String {
    let (rest, _) = data.rsplit_once(':').unwrap();
    format!("{rest}:{value}")
}

/// One forged update. What makes the hub write to the chat is rare: a chat takes thirty messages a second at most.
fn forge(no: usize, dice: &mut Dice, seen: &Seen) -> Forged {
    let (ann, mallory) = (person(ANN, false), person(MALLORY, false));
    let Seen { waiting, waiting_message, .. } = seen;
    let late = seen.since - 3_600 - dice.roll(86_400);
    let soon = seen.since + 3_600;
    let said = ["yes", "y", "1", "/stop", "/resume", "/mute 1d", "/start", "\u{3}\r"][dice.roll(8) as usize];
    let (update, reason) = match dice.roll(100) {
        // Who may not, with what would be right.
        0..=11 => (tap(no, &mallory, &private(MALLORY), *waiting_message, waiting), Some("not_allowed")),
        12..=17 => (tap(no, &mallory, &private(ANN), *waiting_message, waiting), Some("not_allowed")),
        18..=23 => (tap(no, &ann, &group(), *waiting_message, waiting), Some("not_allowed")),
        24..=26 => {
            (tap(no, &person(ANN, true), &private(ANN), *waiting_message, waiting), Some("not_allowed"))
        }
        27..=29 => (
            json!({"callback_query": {"id": format!("forged-{no}"), "from": ann, "data": waiting,
                "inline_message_id": "1"}}),
            Some("not_allowed"),
        ),
        30..=37 => (text(no, &mallory, &private(MALLORY), soon, said), Some("not_allowed")),
        38..=40 => (
            json!({"message": {"message_id": 7, "date": soon, "sender_chat": group(), "from": ann,
                "chat": private(ANN), "text": said}}),
            Some("not_allowed"),
        ),
        41..=43 => (text(no, &mallory, &group(), soon, "/stop"), Some("not_allowed")),
        // Whoever may, with what is not right.
        44..=59 => (
            tap(no, &ann, &private(ANN), *waiting_message, &misspelled(dice, waiting)),
            Some("malformed_callback"),
        ),
        60..=73 => {
            (tap(no, &ann, &private(ANN), *waiting_message, &unknown(dice, waiting)), Some("unknown_prompt"))
        }
        74..=81 => {
            let value = ['1', '2', 'd', 'e', 'c'][dice.roll(5) as usize];
            (
                tap(no, &ann, &private(ANN), seen.over_message, &with_value(&seen.over, value)),
                Some("not_waiting"),
            )
        }
        82..=86 => {
            let value = ['3', '9', 'e'][dice.roll(3) as usize];
            (
                tap(no, &ann, &private(ANN), *waiting_message, &with_value(waiting, value)),
                Some("not_a_choice"),
            )
        }
        87..=91 => {
            (tap(no, &ann, &private(ANN), 5, &format!("ask:{}:y", dice.hex(32))), Some("stale_question"))
        }
        92 => (text(no, &ann, &private(ANN), late, "yes"), Some("prompt_too_new")),
        93 => {
            let mut update = text(no, &ann, &private(ANN), soon, "yes");
            update["message"]["reply_to_message"] = json!({"message_id": 900_000 + no, "chat": private(ANN)});
            (update, Some("unknown_prompt"))
        }
        // No attempts at all.
        94 | 95 => (
            json!({"edited_message": {"message_id": 3, "date": soon, "from": ann, "chat": private(ANN), "text": "yes"}}),
            None,
        ),
        96 => (text(no, &mallory, &group(), soon, "yes, we should"), None),
        97 => (json!({"message": {"message_id": "x", "text": waiting}}), None),
        98 => (json!({"poll_answer": {"poll_id": waiting}}), None),
        _ => (json!({"callback_query": {"id": 7, "from": ann, "data": waiting}}), None),
    };
    Forged { update, reason }
}

#[test]
fn forged_late_foreign_and_repeated_updates_type_nothing_and_are_on_record() {
    let count = full_or_a_tenth(10_000);
    let desk = Desk::new();
    desk.telegram.private_chat(MALLORY, "Mallory");
    desk.telegram.group(GROUP, "Elsewhere");
    let old = desk.home.bash(r#"read -p "Old one? (y/n) " a; echo "old=[$a]"; sleep 600"#);
    let over = desk.prompt("Old one?");
    desk.taps(&over, "No");
    old.wait_for("old=[n]");
    let over = desk.ends(&over, "applied");
    let terminal = desk.home.bash(r#"read -p "Delete everything? (y/n) " answer; echo "got=[$answer]""#);
    let waiting = desk.prompt("Delete everything?");
    let old_buttons = &over.history[0].buttons;
    let seen = Seen {
        waiting: waiting.button("Yes").unwrap().data.clone(),
        waiting_message: waiting.id,
        over: old_buttons[0][0].data.clone(),
        over_message: over.id,
        since: desk.telegram.now().as_secs(),
    };

    desk.telegram.seed(4);
    desk.telegram.lies(Lies { duplicates: 0.2, reordering: 0.5 });
    let mut dice = Dice::new(10_000);
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    let began = Instant::now();
    for no in 0..count {
        let forged = forge(no, &mut dice, &seen);
        if let Some(reason) = forged.reason {
            *expected.entry(reason.to_owned()).or_default() += 1;
        }
        desk.telegram.raw_update(forged.update);
    }
    desk.all_confirmed();
    eprintln!("{count} forged updates in {:?}", began.elapsed());

    let mut on_record: BTreeMap<String, usize> = BTreeMap::new();
    for reason in desk.rejections() {
        *on_record.entry(reason).or_default() += 1;
    }
    assert_eq!(on_record, expected);
    assert_eq!(terminal.count("got="), 0);
    assert_eq!(old.count("old=["), 1);
    let received = desk.home.audit();
    let received = received.iter().filter(|record| record["event"] == "REPLY_RECEIVED");
    assert_eq!(received.count(), 1, "the one before");
    assert_eq!(desk.telegram.messages(MALLORY), []);
    assert_eq!(desk.telegram.messages(GROUP), []);

    desk.telegram.heals();
    let status = desk.home.run(["status"]);
    assert!(status.code == 0 && status.stdout.contains("telegram (connected"), "{status:?}");
    let prompt = desk.telegram.message(desk.chat, waiting.id);
    desk.taps(&prompt, "No");
    terminal.wait_for("got=[n]");
    assert_eq!(desk.home.run(["audit", "verify"]).code, 0);
    desk.nothing_was_violated();
}
