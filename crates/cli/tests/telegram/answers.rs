//! Taps and texts: what the tool reads, and what the message says of it.

use crate::{ANN, Desk};

const QUESTION: &str = r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]"; read -p "Delete more? (y/n) " answer; echo "second=[$answer]""#;

#[test]
fn a_tap_is_typed_and_the_message_tells_its_end() {
    let desk = Desk::new();
    let mut terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    let code = desk.home.prompt_id()[..8].to_owned();
    assert!(prompt.text.contains(&code), "{}", prompt.text);
    let told = desk.taps(&prompt, "No");
    assert!(told.contains("Applied"), "{told}");
    terminal.wait_for("got=[n]");
    desk.ends(&prompt, "applied");
    let second = desk.prompt("Delete more?");
    terminal.type_keys("y\r");
    terminal.wait_for("second=[y]");
    desk.ends(&second, "answered at the terminal");
    terminal.end();
    desk.nothing_was_violated();
}

#[test]
fn a_second_tap_is_told_that_it_was_late() {
    let desk = Desk::new();
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    let no = prompt.button("No").unwrap().data.clone();
    desk.taps(&prompt, "Yes");
    terminal.wait_for("got=[y]");
    let tap = desk.telegram.forges_tap(ANN, desk.chat, prompt.id, &no);
    let told = desk.telegram.wait_tap_answer(&tap, "a late tap is answered").text.unwrap();
    assert!(told.contains("resolved") || told.contains("answered"), "{told}");
    assert_eq!(terminal.count("got="), 1);
    assert!(desk.rejections().contains(&"not_waiting".to_owned()), "{:?}", desk.rejections());
}

#[test]
fn a_text_answers_the_only_prompt_or_the_one_it_replies_to() {
    let desk = Desk::new();
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    desk.telegram.replies(ANN, desk.chat, prompt.id, "yes");
    terminal.wait_for("got=[y]");
    desk.prompt("Delete more?");
    desk.says_later("no");
    terminal.wait_for("second=[n]");
    terminal.end();
}

#[test]
fn a_sentence_is_never_typed_into_a_dialog() {
    let desk = Desk::new();
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    desk.telegram.replies(ANN, desk.chat, prompt.id, "please keep the logs");
    let question = desk.hears("please keep the logs");
    assert_eq!(terminal.count("got="), 0);
    let told = desk.taps(&question, "Deny and send it");
    assert!(told.contains("Applied"), "{told}");
    terminal.wait_for("got=[n]");
    assert_eq!(terminal.count("please keep"), 0);
    desk.ends(&prompt, "applied");
}

#[test]
fn free_text_arrives_as_it_was_written_without_control_characters() {
    let desk = Desk::new();
    let terminal = desk.home.bash(r#"read -p "Commit message: " text; echo "got=[$text]""#);
    desk.prompt("Commit message:");
    desk.says_later("fix \u{3}the <b>tests</b> & more");
    terminal.wait_for("got=[fix the <b>tests</b> & more]");
    terminal.end();
}

#[test]
fn a_text_that_is_too_long_is_refused_with_the_limit() {
    let desk = Desk::new();
    let terminal = desk.home.bash(r#"read -p "Commit message: " text; echo "got=[$text]""#);
    desk.prompt("Commit message:");
    desk.says_later(&"x".repeat(300));
    desk.hears("at most 200");
    assert_eq!(terminal.count("got="), 0);
}

#[test]
fn an_expired_prompt_ends_in_its_safe_default() {
    let desk = Desk::new();
    let config =
        crate::config(&desk.telegram.api_url(), "").replace("[prompts]", "[prompts]\ntimeout_seconds = 2");
    desk.home.write_config(&config);
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Delete 3 files?");
    terminal.wait_for("got=[n]");
    let button = prompt.button("Yes").unwrap().data.clone();
    desk.ends(&prompt, "expired");
    // A phone that still shows the button.
    let late = desk.telegram.forges_tap(ANN, desk.chat, prompt.id, &button);
    let told = desk.telegram.wait_tap_answer(&late, "a late tap is answered").text.unwrap();
    assert!(told.contains("was taken at the deadline") && told.contains("“No”"), "{told}");
    let code = desk.home.audit_has("PROMPT_EXPIRED", None)["prompt_id"].as_str().unwrap().to_owned();
    let told = desk.home.run(["approve", &code]);
    assert_eq!((told.code, told.stderr.contains("was taken at the deadline")), (1, true), "{told:?}");
}

#[test]
fn the_whole_of_a_long_dialog_can_be_seen() {
    let desk = Desk::new();
    let _terminal = desk.home.bash(
        r#"for n in $(seq 1 18); do echo "line $n of what will be done: remove the directory number $n for good"; done; read -p "Proceed? (y/n) " a"#,
    );
    let prompt = desk.prompt("Proceed?");
    let more = prompt.labels().into_iter().find(|label| label.contains("more"));
    let screen = prompt.labels().into_iter().find(|label| label.contains("screen")).unwrap();
    if let Some(more) = more {
        desk.taps(&prompt, &more);
        desk.telegram.wait_edit(desk.chat, prompt.id, |message| message.edits > 0, "more is shown");
    }
    desk.taps(&prompt, &screen);
    desk.hears("line 17 of what will be done");
    desk.nothing_was_violated();
}
