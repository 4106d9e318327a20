//! Codex by its screen. Letters of its rows are hot keys: what is not a choice must never be typed there.

use std::time::Duration;

use atlasbridge_testkit::agents::{Agent, Answered, Opening, Turn};
use serde_json::{Value, json};

use crate::by_screen;
use crate::cases::{self, Dialog, No};

const NEWEST: &str = "0.166.0";
const OLD: &str = "0.63.0";
/// Without any sign of work while it streams, and with nothing below a box that somebody writes in.
const BETWEEN: &str = "0.107.0";

/// The two versions name the shell in other ways.
fn shell(version: &str, command: &str) -> (&'static str, Value) {
    match version {
        OLD => (
            "shell",
            json!({ "command": ["bash", "-lc", command], "with_escalated_permissions": true, "justification": "Is this fine?" }),
        ),
        _ => (
            "exec_command",
            json!({ "cmd": command, "sandbox_permissions": "require_escalated", "justification": "Is this fine?" }),
        ),
    }
}

fn command(version: &str) -> Dialog {
    let (name, input) = shell(version, "rm -rf build");
    Dialog { name: "command", turns: vec![Turn::call(name, input)], calls: 1, shows: "rm -rf build" }
}

fn two_commands(version: &str) -> Dialog {
    let (name, first) = shell(version, "touch one.txt");
    let (_, second) = shell(version, "touch two.txt");
    Dialog {
        name: "two commands in one turn",
        turns: vec![Turn::call(name, first).and_call(name, second)],
        calls: 2,
        shows: "Would you like to run the following command?",
    }
}

const PATCH: &str =
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\nEOF\n";

fn edit(version: &str) -> Dialog {
    let (name, input) = match version {
        OLD => ("shell", json!({ "command": ["bash", "-lc", PATCH] })),
        _ => ("exec_command", json!({ "cmd": PATCH })),
    };
    Dialog {
        name: "edit",
        turns: vec![Turn::call(name, input)],
        calls: 1,
        shows: "Would you like to make the following edits?",
    }
}

/// Inside its workspace it edits without a question, unless it may only read.
fn reading(agent: Agent) -> Opening {
    by_screen(agent).arg("-s").arg("read-only")
}

fn check_command(version: &'static str) {
    let Some(agent) = Agent::codex(version) else {
        return;
    };
    let opening = || by_screen(agent.clone());
    cases::accepted(opening(), command(version), |stage| !stage.exists("build"));
    cases::refused(opening(), command(version), No::Interrupts, |stage| !stage.exists("build/app.o"));
}

fn check_edit(version: &'static str) {
    let Some(agent) = Agent::codex(version) else {
        return;
    };
    let is_done = |stage: &atlasbridge_testkit::agents::Stage| stage.file("hello.txt").is_some();
    cases::accepted(reading(agent.clone()), edit(version), is_done);
    cases::refused(reading(agent), edit(version), No::Interrupts, is_done);
}

#[test]
fn commands() {
    check_command(NEWEST);
}

#[test]
fn edits() {
    check_edit(NEWEST);
}

#[test]
fn a_pair_of_commands() {
    let Some(agent) = Agent::codex(NEWEST) else { return };
    cases::pair(by_screen(agent), two_commands(NEWEST), No::Interrupts);
}

/// Both dialogs look the same, and the second is drawn in place of the first.
#[test]
fn the_same_command_twice_in_one_turn() {
    let Some(agent) = Agent::codex(NEWEST) else { return };
    let (name, input) = shell(NEWEST, "echo again >> log.txt");
    let stage = by_screen(agent).open([Turn::call(name, input.clone()).and_call(name, input)]);
    stage.tell("do both");
    let first = stage.asked("echo again");
    let accepted = stage.approve(&first);
    let second = stage.asked_next(&first, "echo again");
    let again = stage.approve(&second);
    stage.until("both have run", || (stage.file("log.txt")?.lines().count() == 2).then_some(()));
    let answered =
        Answered { answer: "both accepted".to_owned(), keys: format!("{}; {}", accepted.keys, again.keys) };
    stage.proves("the same command twice in one turn", &answered);
}

#[test]
fn a_sentence_for_a_dialog() {
    let Some(agent) = Agent::codex(NEWEST) else { return };
    cases::sentence(by_screen(agent), command(NEWEST), |stage| !stage.exists("build/app.o"));
}

#[test]
fn instructions() {
    let Some(agent) = Agent::codex(NEWEST) else { return };
    cases::instructions(by_screen(agent), "say hello, then wait (y/n)?");
}

#[test]
fn old_commands() {
    check_command(OLD);
}

#[test]
fn old_edits() {
    check_edit(OLD);
}

#[test]
fn an_old_pair_of_commands() {
    let Some(agent) = Agent::codex(OLD) else { return };
    cases::pair(by_screen(agent), two_commands(OLD), No::Interrupts);
}

#[test]
fn a_sentence_for_an_old_dialog() {
    let Some(agent) = Agent::codex(OLD) else { return };
    cases::sentence(by_screen(agent), command(OLD), |stage| !stage.exists("build/app.o"));
}

#[test]
fn old_instructions() {
    let Some(agent) = Agent::codex(OLD) else { return };
    // It loses a `?` that is typed among other keys: it opens its help with it.
    cases::instructions(by_screen(agent), "say hello, then wait (y/n)");
}

#[test]
fn instructions_to_the_one_between() {
    let Some(agent) = Agent::codex(BETWEEN) else {
        return;
    };
    // It begins as one of the invitations of its empty box does.
    cases::instructions(by_screen(agent), "Write tests for all of it, then wait");
}

#[test]
fn a_refusal_and_what_is_said_after_it_to_the_one_between() {
    check_command(BETWEEN);
}

/// The pauses are shorter than the silence that tells a box at rest; the lines come further apart than any rest.
#[test]
fn nobody_is_told_that_it_waits_while_its_answer_streams() {
    let Some(agent) = Agent::codex(BETWEEN) else {
        return;
    };
    let answer =
        "The first line of it.\n\nThe second line of it.\n\nThe third line of it.\n\nAnd now the end.";
    let turn = Turn::text(answer).slowly(Duration::from_millis(700));
    let stage = by_screen(agent).open([turn]);
    stage.tell("begin");
    let times_idle = || {
        let events = stage.events();
        let idle = events.iter().filter(|event| event["event"] == "seen" && event["kind"] == "idle");
        idle.count()
    };
    let before = times_idle();
    stage.until("the whole answer is shown", || {
        // The screen is read after the events: what was told was told before.
        let told = times_idle();
        let is_whole = stage.screen().contains("And now the end.");
        assert!(is_whole || told == before, "called idle\n{}", stage.screen());
        is_whole.then_some(())
    });
    stage.idle();
    assert_eq!(times_idle(), before + 1);
}
