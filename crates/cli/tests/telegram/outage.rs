//! A service that fails: nothing is lost, nothing comes twice. Hubs that die are in `killed`.

use atlasbridge_testkit::telegram::{Fault, Times};

use crate::{ANN, Desk};

const QUESTION: &str = r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]"; read -p "Delete more? (y/n) " answer; echo "second=[$answer]""#;

#[test]
fn a_prompt_of_an_outage_is_shown_when_the_service_is_back() {
    let desk = Desk::new();
    desk.telegram.unreachable();
    let terminal = desk.home.bash(QUESTION);
    desk.home.prompt_id();
    desk.telegram.reachable();
    let prompt = desk.prompt("Delete 3 files?");
    desk.taps(&prompt, "Yes");
    terminal.wait_for("got=[y]");
    desk.ends(&prompt, "applied");
}

#[test]
fn failures_of_every_kind_are_outlived() {
    let desk = Desk::new();
    for fault in [
        Fault::Status(502),
        Fault::CutJson,
        Fault::DropBefore,
        Fault::Status(503),
        Fault::TooManyRequests { retry_after: 1 },
    ] {
        desk.telegram.fails("sendMessage", fault, Times::Next(1));
    }
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    desk.telegram.fails("editMessageText", Fault::Status(500), Times::Next(2));
    desk.taps(&prompt, "Yes");
    terminal.wait_for("got=[y]");
    desk.ends(&prompt, "applied");
    desk.nothing_was_violated();
}

#[test]
fn a_tap_is_answered_when_the_service_is_ready_for_it() {
    let desk = Desk::new();
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    let patience = Fault::TooManyRequests { retry_after: 1 };
    desk.telegram.fails("answerCallbackQuery", patience, Times::Next(2));
    let told = desk.taps(&prompt, "Yes");
    assert!(told.contains("Applied"), "{told}");
    terminal.wait_for("got=[y]");
    desk.nothing_was_violated();
}

#[test]
fn after_a_gap_every_waiting_prompt_is_offered_again() {
    let desk = Desk::new();
    let terminal = desk.home.bash(QUESTION);
    let first = desk.prompt("Delete 3 files?");
    let old = first.button("Yes").unwrap().data.clone();
    desk.home.run(["hub", "stop"]);
    // As if nobody had polled for long: the hub's own note of its last poll is older than it is.
    let database = desk.home.path().join("atlasbridge.db");
    let aged = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); n=c.execute(\"UPDATE channel_state SET value = value - 600000 WHERE key = 'polled_at'\").rowcount; c.commit(); sys.exit(n != 1)"])
        .arg(&database)
        .status()
        .unwrap();
    assert!(aged.success());
    desk.home.run(["hub", "start"]);
    let second = desk.telegram.wait_message(
        desk.chat,
        |message| {
            message.text.contains("Delete 3 files?") && message.id > first.id && !message.buttons.is_empty()
        },
        "it is offered again",
    );
    desk.telegram.wait_edit(
        desk.chat,
        first.id,
        |message| message.buttons.is_empty(),
        "the old one lost its buttons",
    );
    let tap = desk.telegram.forges_tap(ANN, desk.chat, first.id, &old);
    let told = desk.telegram.wait_tap_answer(&tap, "an old button is answered").text.unwrap();
    assert!(told.contains("newer"), "{told}");
    assert_eq!(terminal.count("got="), 0);
    desk.taps(&second, "Yes");
    terminal.wait_for("got=[y]");
}

#[test]
fn a_second_poller_is_explained() {
    let desk = Desk::new();
    let terminal = desk.home.bash("echo up; sleep 600");
    terminal.wait_for("up");
    desk.telegram.wait_polled("the hub polls");
    let url = format!("{}/bot{}/getUpdates?timeout=20", desk.telegram.api_url(), crate::TOKEN);
    let other = std::thread::spawn(move || atlasbridge_testkit::http::get(&url));
    let state = atlasbridge_testkit::eventually("status explains the conflict", || {
        let status = desk.home.run(["status"]);
        status.stdout.contains("another program polls").then_some(status.stdout)
    });
    assert!(state.contains("retrying"), "{state}");
    drop(other);
}
