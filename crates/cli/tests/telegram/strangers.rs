//! Who may not answer hears nothing at all.

use serde_json::json;

use crate::{ANN, Desk};

const MALLORY: i64 = 666;

#[test]
fn a_stranger_gets_no_word_and_types_nothing() {
    let desk = Desk::new();
    let terminal = desk.home.bash(r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]""#);
    let prompt = desk.prompt("Delete 3 files?");
    let yes = prompt.button("Yes").unwrap().data.clone();
    let theirs = desk.telegram.private_chat(MALLORY, "Mallory");
    desk.telegram.starts(MALLORY);
    desk.telegram.says(MALLORY, theirs, "yes");
    let tap = desk.telegram.forges_tap(MALLORY, desk.chat, prompt.id, &yes);
    desk.telegram.wait_confirmed("all of it was handled");
    assert_eq!(desk.telegram.tap_answer(&tap), None);
    let to_them =
        desk.telegram.messages(theirs).into_iter().filter(|message| message.from != MALLORY).count();
    assert_eq!(to_them, 0);
    assert_eq!(terminal.count("got="), 0);
    assert_eq!(desk.rejections(), ["not_allowed", "not_allowed", "not_allowed"]);
    desk.taps(&prompt, "No");
    terminal.wait_for("got=[n]");
}

#[test]
fn in_a_group_both_person_and_group_must_be_allowed() {
    let desk = Desk::with("chats = [-100500]\n");
    let group = desk.telegram.group(-100500, "Ops");
    let terminal = desk.home.bash(r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]""#);
    let prompt = desk.telegram.wait_message(
        group,
        |message| message.text.contains("Delete 3 files?"),
        "the group is asked",
    );
    let yes = prompt.button("Yes").unwrap().data.clone();
    desk.telegram.forges_tap(MALLORY, group, prompt.id, &yes);
    let other = desk.telegram.group(-100600, "Elsewhere");
    desk.telegram.forges_tap(ANN, other, prompt.id, &yes);
    desk.telegram.wait_confirmed("all of it was handled");
    assert_eq!(terminal.count("got="), 0);
    let tap = desk.telegram.taps(ANN, group, prompt.id, "Yes");
    desk.telegram.wait_tap_answer(&tap, "the allowed one is answered");
    terminal.wait_for("got=[y]");
}

#[test]
fn updates_of_unknown_kinds_change_nothing() {
    let desk = Desk::new();
    let terminal = desk.home.bash(r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]""#);
    let prompt = desk.prompt("Delete 3 files?");
    for update in [
        json!({"poll_answer": {"poll_id": "1"}}),
        json!({"message": {"message_id": "no number"}}),
        json!({"message": null}),
        json!({"callback_query": {"id": "1", "from": {"id": ANN}, "data": 7}}),
        json!({}),
    ] {
        desk.telegram.raw_update(update);
    }
    desk.telegram.edits(ANN, desk.chat, desk.says("hm"), "yes");
    desk.telegram.wait_confirmed("all of it was handled");
    assert_eq!(terminal.count("got="), 0);
    desk.taps(&prompt, "No");
    terminal.wait_for("got=[n]");
}
