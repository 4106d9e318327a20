//! Gemini CLI by its screen. A digit chooses at once; Escape refuses and ends the turn.

use atlasbridge_testkit::agents::{Agent, Answered, Opening, Stage, Turn};
use serde_json::{Value, json};

use crate::by_screen;
use crate::cases::{self, Dialog, No};

const VERSION: &str = "0.61.0";

fn gemini() -> Option<Opening> {
    Agent::gemini(VERSION).map(by_screen)
}

fn shell(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

fn command() -> Dialog {
    Dialog {
        name: "command",
        turns: vec![Turn::call("run_shell_command", shell("rm -rf build"))],
        calls: 1,
        shows: "rm -rf build",
    }
}

fn edit() -> Dialog {
    let input = json!({
        "file_path": "README.md", "instruction": "Say it anew",
        "old_string": "A small program.", "new_string": "Continue? (y/n)",
    });
    Dialog { name: "edit", turns: vec![Turn::call("replace", input)], calls: 1, shows: "Apply this change?" }
}

fn is_edited(stage: &Stage) -> bool {
    stage.file("README.md").is_some_and(|text| text.contains("(y/n)"))
}

#[test]
fn an_accepted_command() {
    let Some(opening) = gemini() else { return };
    cases::accepted(opening, command(), |stage| !stage.exists("build"));
}

#[test]
fn a_refused_command() {
    let Some(opening) = gemini() else { return };
    cases::refused(opening, command(), No::Forgets, |stage| !stage.exists("build/app.o"));
}

#[test]
fn an_accepted_edit() {
    let Some(opening) = gemini() else { return };
    cases::accepted(opening, edit(), is_edited);
}

#[test]
fn a_refused_edit() {
    let Some(opening) = gemini() else { return };
    cases::refused(opening, edit(), No::Forgets, is_edited);
}

fn two_commands() -> Turn {
    let name = "run_shell_command";
    Turn::call(name, shell("touch one.txt")).and_call(name, shell("touch two.txt"))
}

#[test]
fn a_pair_of_commands() {
    let Some(opening) = gemini() else { return };
    let dialog = Dialog {
        name: "two commands in one turn",
        turns: vec![two_commands()],
        calls: 2,
        shows: "Allow execution of",
    };
    cases::pair(opening, dialog, No::Interrupts);
}

/// It asks for all before it runs any.
#[test]
fn a_pair_of_accepted_commands() {
    let Some(opening) = gemini() else { return };
    let stage = opening.open([two_commands()]);
    stage.tell("do both");
    let first = stage.asked("touch one.txt");
    let before = stage.approve(&first);
    let second = stage.asked_next(&first, "touch two.txt");
    assert!(!stage.exists("one.txt") && !stage.exists("two.txt"));
    let answered = stage.approve(&second);
    stage.result(2);
    assert!(stage.exists("one.txt") && stage.exists("two.txt"));
    let answer = "both accepted".to_owned();
    let keys = format!("{}; {}", before.keys, answered.keys);
    stage.proves("two commands in one turn", &Answered { answer, keys });
}

#[test]
fn a_sentence_for_a_dialog() {
    let Some(opening) = gemini() else { return };
    cases::sentence(opening, command(), |stage| !stage.exists("build/app.o"));
}

#[test]
fn instructions() {
    let Some(opening) = gemini() else { return };
    // It loses a `?` that is typed among other keys: it opens its help with it.
    cases::instructions(opening, "say hello, then wait (y/n)");
}
