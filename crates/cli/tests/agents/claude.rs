//! Claude Code by its screen.

use atlasbridge_testkit::agents::{Agent, Answered, Opening, PLAN_FILE, Stage, Turn};
use serde_json::{Value, json};

use crate::by_screen;
use crate::cases::{self, Dialog, No};

const NEWEST: &str = "2.1.325";

fn dialog(name: &'static str, shows: &'static str, tool: &str, input: Value) -> Dialog {
    Dialog { name, turns: vec![Turn::call(tool, input)], calls: 1, shows }
}

fn command() -> Dialog {
    let input = json!({ "command": "rm -rf build", "description": "Remove the build directory" });
    dialog("command", "Do you want to proceed?", "Bash", input)
}

fn write() -> Dialog {
    let input = json!({ "file_path": "config.yaml", "content": "debug: true\n" });
    dialog("new file", "Do you want to create config.yaml?", "Write", input)
}

/// It edits only what it has read.
fn edit() -> Dialog {
    let read = json!({ "file_path": "README.md" });
    let edit = json!({ "file_path": "README.md", "old_string": "A small program.", "new_string": "Continue? (y/n)" });
    Dialog {
        name: "edit",
        turns: vec![Turn::call("Read", read), Turn::call("Edit", edit)],
        calls: 2,
        shows: "Do you want to make this edit to README.md?",
    }
}

fn is_edited(stage: &Stage) -> bool {
    stage.file("README.md").is_some_and(|text| text.contains("(y/n)"))
}

fn fetch() -> Dialog {
    let input = json!({ "url": "https://docs.example.com/guide", "prompt": "What does it say?" });
    dialog("fetch", "Do you want to allow Claude to fetch this content?", "WebFetch", input)
}

fn is_fetched(stage: &Stage) -> bool {
    stage.model.reached().iter().any(|host| host == "docs.example.com:443")
}

fn claude() -> Option<Opening> {
    Agent::claude(NEWEST).map(by_screen)
}

#[track_caller]
fn check_commands(version: &'static str) {
    let Some(agent) = Agent::claude(version) else {
        return;
    };
    cases::accepted(by_screen(agent.clone()), command(), |stage| !stage.exists("build"));
    let result =
        cases::refused(by_screen(agent), command(), No::Interrupts, |stage| !stage.exists("build/app.o"));
    assert!(result.is_some_and(|result| result.is_error));
}

#[track_caller]
fn check_edits(version: &'static str) {
    let Some(agent) = Agent::claude(version) else {
        return;
    };
    cases::accepted(by_screen(agent.clone()), edit(), is_edited);
    let result = cases::refused(by_screen(agent), edit(), No::Interrupts, is_edited);
    assert!(result.is_some_and(|result| result.is_error));
}

#[test]
fn commands() {
    check_commands(NEWEST);
}

#[test]
fn edits() {
    check_edits(NEWEST);
}

#[test]
fn commands_of_2_1_197() {
    check_commands("2.1.197");
}

#[test]
fn edits_of_2_1_197() {
    check_edits("2.1.197");
}

#[test]
fn commands_of_2_0_77() {
    check_commands("2.0.77");
}

#[test]
fn edits_of_2_0_77() {
    check_edits("2.0.77");
}

#[test]
fn commands_of_1_0_128() {
    check_commands("1.0.128");
}

#[test]
fn edits_of_1_0_128() {
    check_edits("1.0.128");
}

#[test]
fn new_files() {
    let Some(opening) = claude() else { return };
    cases::accepted(opening, write(), |stage| stage.file("config.yaml").as_deref() == Some("debug: true\n"));
    let Some(opening) = claude() else { return };
    let result = cases::refused(opening, write(), No::Interrupts, |stage| stage.exists("config.yaml"));
    assert!(result.is_some_and(|result| result.is_error));
}

/// The page is never had: that the agent tries to reach it is the proof.
#[test]
fn fetches() {
    let Some(opening) = claude() else { return };
    cases::accepted(opening, fetch(), is_fetched);
    let Some(opening) = claude() else { return };
    let result = cases::refused(opening, fetch(), No::Interrupts, is_fetched);
    assert!(result.is_some_and(|result| result.is_error));
}

#[test]
fn a_pair_of_commands() {
    let Some(opening) = claude() else { return };
    let touch = |name: &str| json!({ "command": format!("touch {name}"), "description": "Make a file" });
    let dialog = Dialog {
        name: "two commands in one turn",
        turns: vec![Turn::call("Bash", touch("one.txt")).and_call("Bash", touch("two.txt"))],
        calls: 2,
        shows: "Do you want to proceed?",
    };
    cases::pair(opening, dialog, No::Interrupts);
}

#[test]
fn a_sentence_for_a_dialog() {
    let Some(opening) = claude() else { return };
    cases::sentence(opening, command(), |stage| !stage.exists("build/app.o"));
}

#[test]
fn instructions() {
    let Some(opening) = claude() else { return };
    cases::instructions(opening, "say hello, then wait (y/n)?");
}

fn planning() -> Option<Stage> {
    let plan = json!({ "file_path": PLAN_FILE, "content": "# Plan\n\n1. Write notes.txt\n" });
    let turns = [
        Turn::call("Write", plan),
        Turn::call("ExitPlanMode", json!({})),
        Turn::call("Write", json!({ "file_path": "notes.txt", "content": "done\n" })),
    ];
    Some(claude()?.arg("--permission-mode").arg("plan").open(turns))
}

#[test]
fn a_plan_is_accepted_and_its_edits_still_ask() {
    let Some(stage) = planning() else { return };
    stage.tell("plan it");
    let asked = stage.asked("Would you like to proceed?");
    let answered = stage.reply(&asked, "Yes, manually approve edits");
    let next = stage.asked("Do you want to create notes.txt?");
    assert!(!stage.exists("notes.txt"));
    stage.approve(&next);
    stage.result(3);
    assert!(stage.exists("notes.txt"));
    stage.proves("plan", &answered);
}

const QUESTION: &str = "Which database should the service use?";

fn asking(is_multiple: bool) -> Turn {
    let option = |label: &str| json!({ "label": label, "description": format!("Use {label}") });
    Turn::call(
        "AskUserQuestion",
        json!({ "questions": [{
            "question": QUESTION, "header": "Database", "multiSelect": is_multiple,
            "options": [option("PostgreSQL"), option("SQLite"), option("None")],
        }] }),
    )
}

#[test]
fn a_question_is_answered_by_its_label() {
    let Some(opening) = claude() else { return };
    let stage = opening.open([asking(false)]);
    stage.tell("ask me");
    let asked = stage.asked(QUESTION);
    let answered = stage.reply(&asked, "SQLite");
    let result = stage.result(1);
    assert!(result.text.contains("SQLite") && !result.text.contains("PostgreSQL"), "{result:?}");
    let answer = "the second choice".to_owned();
    stage.proves("question", &Answered { answer, ..answered });
}

#[test]
fn a_question_with_several_answers_is_ticked_and_submitted() {
    let Some(opening) = claude() else { return };
    let stage = opening.open([asking(true)]);
    stage.tell("ask me");
    let asked = stage.asked(QUESTION);
    let ticked = stage.reply(&asked, "SQLite");
    let review = stage.asked("Ready to submit your answers?");
    let submitted = stage.approve(&review);
    let result = stage.result(1);
    assert!(result.text.contains("SQLite") && !result.text.contains("PostgreSQL"), "{result:?}");
    let answer = "the second choice, submitted".to_owned();
    let keys = format!("{}; {}", ticked.keys, submitted.keys);
    stage.proves("question with several answers", &Answered { answer, keys });
}

/// The last row is a text field: Escape refuses, and words for the model follow as the next instruction.
#[test]
fn a_plan_is_sent_back_with_words() {
    let Some(stage) = planning() else { return };
    stage.tell("plan it");
    let asked = stage.asked("Would you like to proceed?");
    let told = stage.home.run(["deny", &asked.id, "call it memo.txt"]);
    assert_eq!(told.code, 0, "{told:?}");
    stage.hears("call it memo.txt");
    let result = stage.result(2);
    assert!(result.is_error, "{result:?}");
    assert!(!stage.exists("notes.txt"));
    let answer = "refused, with words as the next instruction".to_owned();
    let keys = "Esc".to_owned();
    stage.proves("plan", &Answered { answer, keys });
}

#[test]
fn a_question_is_declined() {
    let Some(opening) = claude() else { return };
    let stage = opening.open([asking(false)]);
    stage.tell("ask me");
    let asked = stage.asked(QUESTION);
    let answered = stage.reply(&asked, "Chat about this");
    let result = stage.result(1);
    assert!(result.is_error, "{result:?}");
    let answer = "declined: chat about this".to_owned();
    stage.proves("question", &Answered { answer, ..answered });
}
