//! The next instruction, written in a chat while the agent works.

use atlasbridge_testkit::telegram::Message;
use atlasbridge_testkit::{Lines, ScriptedAgent};

use crate::{ANN, Desk};

const IDLE: &str = "Has finished and waits for its next instruction.";

/// An agent that works on "begin".
#[track_caller]
fn working(desk: &Desk, label: &str, lines: Lines) -> ScriptedAgent {
    let agent = ScriptedAgent::start(&desk.home, label, lines);
    let prompt = desk.prompt(&format!("{label} "));
    assert!(prompt.text.contains(IDLE), "{}", prompt.text);
    desk.telegram.replies(ANN, desk.chat, prompt.id, "begin");
    agent.was_told(&["begin"]);
    desk.ends(&prompt, "applied");
    agent
}

/// A message of ours that holds this text and came after another.
#[track_caller]
fn hears_after(desk: &Desk, before: i64, text: &str) -> Message {
    desk.telegram.wait_message(
        desk.chat,
        |message| message.id > before && message.text.contains(text),
        "an answer in the chat",
    )
}

/// The idle prompt that came after a message.
#[track_caller]
fn waits_after(desk: &Desk, before: i64) -> Message {
    desk.telegram.wait_message(
        desk.chat,
        |message| message.id > before && message.text.contains(IDLE) && !message.buttons.is_empty(),
        "the agent waits again",
    )
}

#[test]
fn a_text_to_a_working_agent_is_kept_sent_once_and_told() {
    let desk = Desk::new();
    let agent = working(&desk, "one", Lines::Several);
    let said = desk.says_later("then test it");
    let queued = hears_after(&desk, said, "is working; this is sent as its next instruction");
    assert_eq!(queued.labels(), ["Take it back"]);
    desk.all_confirmed();
    // Whatever becomes of the hub.
    desk.home.kill_hub();
    assert_eq!(desk.home.run(["hub", "start"]).code, 0);
    agent.finish();
    agent.was_told(&["begin", "then test it"]);
    let sent = hears_after(&desk, queued.id, "Sent to");
    assert_eq!(sent.reply_to, Some(said), "below the text itself");
    let told = desk.taps(&queued, "Take it back");
    assert!(told.contains("Too late"), "{told}");
    agent.finish();
    waits_after(&desk, sent.id);
    assert_eq!(agent.read().len(), 2);
    let queueing = desk.home.audit();
    let queueing = queueing.iter().filter(|record| {
        record["value"] == "text of 12 characters, queued" && record["decided_by"] == "telegram:4242"
    });
    assert_eq!(queueing.count(), 1);
    desk.nothing_was_violated();
}

#[test]
fn what_is_queued_can_be_taken_back() {
    let desk = Desk::new();
    let agent = working(&desk, "one", Lines::One);
    let said = desk.says_later("delete everything");
    let queued = hears_after(&desk, said, "is working");
    let told = desk.taps(&queued, "Take it back");
    assert!(told.contains("Taken back"), "{told}");
    let told = desk.taps(&queued, "Take it back");
    assert!(told.contains("out of date"), "a button is good once: {told}");
    agent.finish();
    let idle = waits_after(&desk, queued.id);
    assert_eq!(agent.read(), ["begin"]);
    desk.telegram.replies(ANN, desk.chat, idle.id, "keep everything");
    agent.was_told(&["begin", "keep everything"]);
}

#[test]
fn a_newer_text_takes_the_place_of_the_one_before() {
    let desk = Desk::new();
    let agent = working(&desk, "one", Lines::One);
    let first = desk.says_later("first");
    hears_after(&desk, first, "is working");
    let second = desk.says_later("second");
    hears_after(&desk, second, "takes the place of the one that was queued before");
    agent.finish();
    agent.was_told(&["begin", "second"]);
    // From elsewhere, too; and whoever wrote in the chat hears of it.
    let third = desk.says_later("third");
    hears_after(&desk, third, "is working");
    let session = desk.home.session_is("active")["session_id"].as_str().unwrap().to_owned();
    let sent = desk.home.run(["send", &session, "fourth"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    hears_after(&desk, third, "a newer text takes its place");
    agent.finish();
    agent.was_told(&["begin", "second", "fourth"]);
}

#[test]
fn what_the_first_character_makes_of_a_text_is_asked() {
    let desk = Desk::new();
    let agent = ScriptedAgent::start(&desk.home, "one", Lines::Several);
    let prompt = desk.prompt("one ");
    desk.telegram.replies(ANN, desk.chat, prompt.id, " !rm -rf x");
    let question = hears_after(&desk, prompt.id, "`!rm -rf x` would be run as a shell command by");
    assert!(desk.taps(&question, "Do nothing").contains("Nothing"));
    assert_eq!(agent.read(), Vec::<String>::new());
    desk.telegram.replies(ANN, desk.chat, prompt.id, "!ls");
    let question = hears_after(&desk, question.id, "`!ls` would be run as a shell command by");
    let told = desk.taps(&question, "Send it as it is");
    assert!(told.contains("Applied") || told.contains("Accepted"), "{told}");
    agent.was_told(&["!ls"]);
    let told = desk.taps(&question, "Send it as it is");
    assert!(told.contains("out of date"), "{told}");
    desk.ends(&prompt, "applied");

    // A command that is none of ours is the tool's, and asked about; ours stay ours.
    let said = desk.says_later("/compact now");
    let question = hears_after(&desk, said, "`/compact now` would be taken as a command by");
    assert!(question.text.contains("no command of mine"), "{}", question.text);
    desk.taps(&question, "Send it as it is");
    hears_after(&desk, question.id, "is working; this is sent");
    let help = desk.says_later("/help");
    hears_after(&desk, help, "/mute 30m");
    agent.finish();
    agent.was_told(&["!ls", "/compact now"]);
    assert_eq!(desk.rejections(), ["not_plain", "not_plain", "stale_question", "not_plain"]);
}

#[test]
fn an_instruction_that_cannot_be_sent_is_told() {
    let desk = Desk::new();
    let agent = working(&desk, "one", Lines::One);
    let said = desk.says_later("first line\nsecond line");
    hears_after(&desk, said, "must be one line");
    let said = desk.says_later("too late");
    let queued = hears_after(&desk, said, "is working");
    let session = desk.home.session_is("active")["session_id"].as_str().unwrap().to_owned();
    assert_eq!(desk.home.run(["sessions", "stop", &session]).code, 0);
    let unsent = hears_after(&desk, queued.id, "Not sent to");
    assert!(unsent.text.contains("the session has ended"), "{}", unsent.text);
    assert_eq!(unsent.reply_to, Some(said));
    assert_eq!(agent.read(), ["begin"]);
    assert_eq!(desk.rejections(), ["not_one_line", "session_ended"]);
    let nobody = desk.says_later("anybody?");
    hears_after(&desk, nobody, "Nothing is waiting for an answer right now");
}

#[test]
fn several_lines_arrive_as_one_instruction() {
    let desk = Desk::new();
    let agent = working(&desk, "one", Lines::Several);
    let said = desk.says_later("first line\nsecond line");
    hears_after(&desk, said, "is working");
    agent.finish();
    agent.was_told(&["begin", "first line\nsecond line"]);
}

#[test]
fn with_two_agents_at_work_a_text_needs_a_switch() {
    let desk = Desk::new();
    let one = working(&desk, "one", Lines::One);
    let two = working(&desk, "two", Lines::One);
    let said = desk.says_later("go on");
    hears_after(&desk, said, "several tools take instructions");
    let sessions = desk.home.sessions();
    let of_one = sessions.iter().find(|session| session["label"] == "one").unwrap();
    desk.says(&format!("/switch {}", &of_one["session_id"].as_str().unwrap()[..8]));
    desk.hears("Plain messages are for");
    let said = desk.says_later("go on");
    hears_after(&desk, said, "is working");
    two.finish();
    one.finish();
    one.was_told(&["begin", "go on"]);
    assert_eq!(two.read(), ["begin"]);
}

#[test]
fn a_reply_to_a_used_box_is_for_its_session() {
    let desk = Desk::new();
    let agent = ScriptedAgent::start(&desk.home, "one", Lines::One);
    let prompt = desk.prompt("one ");
    desk.telegram.replies(ANN, desk.chat, prompt.id, "begin");
    desk.ends(&prompt, "applied");
    desk.telegram.replies(ANN, desk.chat, prompt.id, "and then stop");
    hears_after(&desk, prompt.id, "is working");
    agent.finish();
    agent.was_told(&["begin", "and then stop"]);
}

/// Too many answers in a minute pause a session; what was queued for it waits for its resumption.
#[test]
fn a_paused_session_gets_its_instruction_once_it_is_resumed() {
    let desk = Desk::new();
    let agent = ScriptedAgent::start(&desk.home, "one", Lines::One);
    let mut told: Vec<String> = Vec::new();
    let mut last = 0;
    for number in 1..=10 {
        let idle = waits_after(&desk, last);
        last = idle.id;
        let text = format!("step {number}");
        desk.telegram.replies(ANN, desk.chat, idle.id, &text);
        told.push(text);
        agent.was_told(&told.iter().map(String::as_str).collect::<Vec<_>>());
        desk.ends(&idle, "applied");
        if number < 10 {
            agent.finish();
        }
    }
    let said = desk.says_later("eleventh");
    hears_after(&desk, said, "is working");
    agent.finish();
    let paused = hears_after(&desk, said, "It stays queued, and is sent after that.");
    assert_eq!(paused.reply_to, Some(said));
    assert_eq!(agent.read().len(), 10);
    desk.says("/resume");
    hears_after(&desk, paused.id, "are taken again");
    told.push("eleventh".to_owned());
    agent.was_told(&told.iter().map(String::as_str).collect::<Vec<_>>());
    hears_after(&desk, paused.id, "Sent to");
}
