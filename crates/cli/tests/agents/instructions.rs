//! The next instruction of Claude Code, given from elsewhere: what the model hears is the truth.

use atlasbridge_testkit::agents::{Agent, Asked, Stage, Turn};
use atlasbridge_testkit::telegram::{FakeTelegram, Limits};
use serde_json::json;

use crate::by_hook;

const NEWEST: &str = "2.1.325";
const TOKEN: &str = "123456789:AAE0123456789012345678901234567890a";
const ANN: i64 = 4242;

#[track_caller]
fn session(stage: &Stage) -> String {
    let session = stage.home.session_is("active");
    session["session_id"].as_str().unwrap().to_owned()
}

/// Claude waits for an instruction, as things stand now.
#[track_caller]
fn waits(stage: &Stage) -> Asked {
    stage.until("Claude waits for its next instruction", || {
        stage.prompts().into_iter().find(|asked| asked.kind == "idle")
    })
}

fn heard(stage: &Stage, text: &str) -> usize {
    let texts = stage.model.user_texts();
    texts.iter().filter(|heard| *heard == text).count()
}

#[test]
fn what_is_sent_while_claude_works_is_its_next_instruction() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([Turn::text("I am looking at all of it.").stalling()]);
    stage.tell("begin");
    stage.hears("begin");
    let session = session(&stage);
    let sent = stage.home.run(["send", &session, "then run the tests"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert!(
        sent.stdout.contains("is working; this is sent as its next instruction when it has finished"),
        "{sent:?}"
    );
    assert_eq!(heard(&stage, "then run the tests"), 0);
    stage.model.go_on();
    stage.hears("then run the tests");
    let idle = waits(&stage);
    assert_eq!(heard(&stage, "then run the tests"), 1);

    let refused = stage.home.run(["send", &session, " !touch proof"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("`!touch proof` would be run as a shell command by claude"),
        "{refused:?}"
    );
    let refused = stage.refused(&idle, "!touch proof");
    assert!(refused.contains("--as-is"), "{refused}");
    assert!(!stage.exists("proof"));

    let sent = stage.home.run(["send", &session, "first line\nsecond line"]);
    assert!(sent.code == 0 && sent.stdout.contains("applied"), "{sent:?}");
    stage.hears("first line\nsecond line");
    waits(&stage);
    assert_eq!(heard(&stage, "first line\nsecond line"), 1);
}

#[test]
fn what_is_meant_as_it_is_is_what_its_first_character_says() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([]);
    stage.idle();
    let session = session(&stage);
    let sent = stage.home.run(["send", &session, "--as-is", "/nosuch thing"]);
    assert!(sent.code == 0 && sent.stdout.contains("applied"), "{sent:?}");
    stage.shows("Unknown command: /nosuch");
    assert_eq!(stage.model.count_requests(), 0, "it was a command, and no text");
    waits(&stage);
    let sent = stage.home.run(["send", &session, "--as-is", "!touch proof.flag"]);
    assert!(sent.code == 0 && sent.stdout.contains("applied"), "{sent:?}");
    stage.until("the shell command runs", || stage.exists("proof.flag").then_some(()));
    // With words behind it, a question mark is text.
    waits(&stage);
    let sent = stage.home.run(["send", &session, "? why is it so"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    stage.hears("? why is it so");
}

#[test]
fn a_sentence_in_telegram_is_the_reason_of_a_refusal() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let telegram = FakeTelegram::start(TOKEN);
    telegram.limits(Limits::none());
    let chat = telegram.private_chat(ANN, "Ann");
    let remove = json!({ "command": "rm -rf build", "description": "Remove the build directory" });
    let stage = by_hook(agent)
        .prompts(&format!(
            "[telegram]\nbot_token = \"{TOKEN}\"\nallowed_users = [{ANN}]\napi_url = \"{}\"\nmessages_per_second = 30",
            telegram.api_url()
        ))
        .open([Turn::call("Bash", remove)]);
    stage.tell("clean the build directory");
    stage.asked("Do you want to proceed?");
    let card = telegram.wait_message(
        chat,
        |message| message.text.contains("rm -rf build") && !message.buttons.is_empty(),
        "the prompt appears in the chat",
    );
    assert!(card.text.contains("to refuse with it as the reason"), "{}", card.text);
    telegram.replies(ANN, chat, card.id, "keep it, only remove *.o");
    let question = telegram.wait_message(
        chat,
        |message| message.text.contains("Refuse with this as the reason?"),
        "the text is offered as a reason",
    );
    let tap = telegram.taps(ANN, chat, question.id, "Refuse with it");
    telegram.wait_tap_answer(&tap, "the tap is answered");
    let result = stage.result(1);
    assert!(result.is_error && result.text.contains("keep it, only remove *.o"), "{result:?}");
    assert!(stage.exists("build/app.o"));
    stage.idle();
    let queued = stage.home.audit();
    let queued =
        queued.iter().filter(|record| record["value"].as_str().is_some_and(|value| value.contains("queued")));
    assert_eq!(queued.count(), 0, "nothing is said twice");
}
