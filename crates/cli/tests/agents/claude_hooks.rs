//! Claude Code by its hooks: the dialog stands on the screen, and the answer is said, not typed.
//!
//! What a tool did is read off the project, what it was told off the model's next request. `Allowed by PermissionRequest
//! hook` is Claude's own word that no key was pressed.

use atlasbridge_testkit::agents::{Agent, Asked, Stage, Turn};
use serde_json::{Value, json};

use crate::by_hook;

pub(crate) const NEWEST: &str = "2.1.325";
const SAID: &str = "Allowed by PermissionRequest hook";

pub(crate) fn bash(command: &str) -> Turn {
    Turn::call("Bash", bash_input(command))
}

pub(crate) fn bash_input(command: &str) -> Value {
    json!({ "command": command, "description": "Work on the project" })
}

fn remove_build() -> Turn {
    bash("rm -rf build")
}

/// A hook takes its answer at once: nobody has to wait until the dialog takes keys.
#[track_caller]
fn said(stage: &Stage, words: &[&str]) {
    let told = stage.home.run(words);
    if told.code != 0 || !told.stdout.contains("applied") {
        stage.give_up(&format!("{words:?} was not applied: {told:?}"));
    }
}

#[track_caller]
fn approve(stage: &Stage, asked: &Asked) {
    said(stage, &["approve", &asked.id]);
}

#[track_caller]
fn deny(stage: &Stage, asked: &Asked) {
    said(stage, &["deny", &asked.id]);
}

#[track_caller]
fn deny_with(stage: &Stage, asked: &Asked, reason: &str) {
    said(stage, &["deny", &asked.id, reason]);
}

#[track_caller]
fn reply(stage: &Stage, asked: &Asked, value: &str) {
    said(stage, &["reply", &asked.id, value]);
}

/// The row whose label holds this, as its number.
#[track_caller]
fn row(asked: &Asked, part: &str) -> String {
    let at = asked.choices.iter().position(|label| label.contains(part));
    (at.unwrap_or_else(|| panic!("no row with {part:?}: {asked:?}")) + 1).to_string()
}

fn write(stage: &Stage, name: &str, content: &str) -> Turn {
    let path = stage.project().join(name);
    Turn::call("Write", json!({ "file_path": path, "content": content }))
}

fn edit(stage: &Stage, name: &str, (old, new): (&str, &str)) -> Turn {
    let path = stage.project().join(name);
    Turn::call("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn read(stage: &Stage, name: &str) -> Turn {
    Turn::call("Read", json!({ "file_path": stage.project().join(name) }))
}

fn fetch() -> Turn {
    Turn::call("WebFetch", json!({ "url": "https://docs.example.com/guide", "prompt": "Summarise" }))
}

/// It was on its way to the site; the proxy refused it.
fn has_fetched(stage: &Stage) -> bool {
    stage.model.reached().contains(&"docs.example.com:443".to_owned())
}

#[test]
fn an_accepted_command_runs() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([remove_build()]);
    stage.tell("clean the build directory");
    let asked = stage.asked("Do you want to proceed?");
    assert!(asked.text.contains("command: rm -rf build"), "{asked:?}");
    approve(&stage, &asked);
    let result = stage.result(1);
    assert!(!result.is_error, "{result:?}");
    assert!(!stage.exists("build"));
    stage.shows(SAID);
    stage.idle();
    stage.proves_by_hook("command", "accepted");
}

#[test]
fn what_is_accepted_happens_whatever_the_tool() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([]);
    stage.model.script([
        write(&stage, "config.yaml", "port: 80\n"),
        read(&stage, "README.md"),
        edit(&stage, "README.md", ("A small program.", "A smaller program.")),
        fetch(),
    ]);
    stage.tell("do these three");

    let asked = stage.asked("Do you want to create config.yaml?");
    assert!(asked.text.contains("port: 80"), "{asked:?}");
    assert!(!stage.exists("config.yaml"));
    approve(&stage, &asked);
    assert!(!stage.result(1).is_error);
    assert_eq!(stage.file("config.yaml").as_deref(), Some("port: 80\n"));

    let asked = stage.asked("Do you want to make this edit to README.md?");
    assert!(asked.text.contains("new_string: A smaller program."), "{asked:?}");
    approve(&stage, &asked);
    assert!(!stage.result(3).is_error);
    assert!(stage.file("README.md").unwrap().contains("A smaller program."));

    let asked = stage.asked("allow Claude to fetch this content?");
    assert!(asked.text.contains("url: https://docs.example.com/guide"), "{asked:?}");
    assert!(!has_fetched(&stage));
    approve(&stage, &asked);
    stage.result(4);
    assert!(has_fetched(&stage), "{:?}", stage.model.reached());
    stage.idle();
    for dialog in ["new file", "edit", "fetch"] {
        stage.proves_by_hook(dialog, "accepted");
    }
}

#[test]
fn a_refusal_interrupts_the_turn_and_nothing_happens() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([]);
    stage.model.script([
        remove_build(),
        write(&stage, "config.yaml", "port: 80\n"),
        read(&stage, "README.md"),
        edit(&stage, "README.md", ("A small program.", "A smaller program.")),
        fetch(),
    ]);
    let dialogs = [
        (1, "Do you want to proceed?"),
        (2, "Do you want to create config.yaml?"),
        (4, "Do you want to make this edit to README.md?"),
        (5, "allow Claude to fetch this content?"),
    ];
    for (call, question) in dialogs {
        stage.tell(&format!("go on with {call}"));
        let asked = stage.asked(question);
        let requests = stage.model.count_requests();
        deny(&stage, &asked);
        stage.shows("What should Claude do instead?");
        assert_eq!(stage.model.count_requests(), requests, "the model was told nothing yet");
    }
    stage.tell("enough");
    stage.hears("enough");
    for (call, question) in dialogs {
        let result = stage.result(call);
        assert!(result.is_error, "{question}: {result:?}");
    }
    assert!(stage.exists("build/app.o"));
    assert!(!stage.exists("config.yaml"));
    assert!(stage.file("README.md").unwrap().contains("A small program."));
    assert!(!has_fetched(&stage));
    for dialog in ["command", "new file", "edit", "fetch"] {
        stage.proves_by_hook(dialog, "refused");
    }
}

#[test]
fn a_reason_reaches_the_model_and_the_turn_goes_on() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([remove_build()]);
    stage.model.script([write(&stage, "config.yaml", "port: 80\n"), fetch()]);
    stage.tell("clean, then write, then fetch");
    for (call, question, reason) in [
        (1, "Do you want to proceed?", "use rm -i"),
        (2, "Do you want to create config.yaml?", "call it settings.yaml,\nand keep \"port\""),
        (3, "allow Claude to fetch this content?", "läuft nicht 🚫"),
    ] {
        deny_with(&stage, &stage.asked(question), reason);
        let result = stage.result(call);
        assert!(result.is_error && result.text.contains(reason), "{result:?}");
    }
    stage.idle();
    assert!(stage.exists("build/app.o") && !stage.exists("config.yaml"));
    assert!(!has_fetched(&stage));
    for dialog in ["command", "new file", "fetch"] {
        stage.proves_by_hook(dialog, "refused with a reason");
    }
}

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([bash("git tag one"), bash("git tag two")]);
    stage.model.script([write(&stage, "first.txt", "1\n"), write(&stage, "second.txt", "2\n")]);
    stage.tell("tag twice, then write twice");
    let asked = stage.asked("Do you want to proceed?");
    reply(&stage, &asked, &row(&asked, "ask again for"));
    assert!(!stage.result(2).is_error);
    let asked = stage.asked("Do you want to create first.txt?");
    let tags = std::fs::read_dir(stage.project().join(".git/refs/tags")).unwrap();
    assert_eq!(tags.count(), 2);
    reply(&stage, &asked, &row(&asked, "accept edits"));
    assert!(!stage.result(4).is_error);
    assert_eq!(stage.file("second.txt").as_deref(), Some("2\n"));
    stage.shows("accept edits on");
    stage.idle();
    let asked = stage.home.audit();
    let asked = asked.iter().filter(|record| record["event"] == "PROMPT_DETECTED");
    assert_eq!(asked.count(), 4, "two dialogs, and the input box twice");
    stage.proves_by_hook("command", "always allowed");
    stage.proves_by_hook("new file", "edits accepted from now on");
}

fn question(question: &str, multiple: bool, options: &[&str]) -> Turn {
    let options = options
        .iter()
        .map(|label| json!({ "label": label, "description": format!("About {label}") }))
        .collect::<Vec<_>>();
    Turn::call(
        "AskUserQuestion",
        json!({ "questions": [{
            "question": question, "header": "Choice", "multiSelect": multiple, "options": options,
        }] }),
    )
}

#[test]
fn questions_are_answered_by_a_row_by_several_and_by_own_words() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let databases = ["PostgreSQL", "SQLite", "MySQL"];
    let checks = ["Unit tests", "Lint", "Docs build"];
    let stage = by_hook(agent).open([
        question("Which database?", false, &databases),
        question("Which checks?", true, &checks),
        question("Which cache?", false, &["Redis", "None"]),
        question("Which colour?", false, &["Red", "Blue"]),
        question("Which shape?", false, &["Round", "Square"]),
    ]);
    stage.tell("ask me");
    reply(&stage, &stage.asked("Which database?"), "2");
    let result = stage.result(1);
    assert!(result.text.contains("SQLite") && !result.text.contains("PostgreSQL"), "{result:?}");
    reply(&stage, &stage.asked("Which checks?"), "1,3");
    let result = stage.result(2);
    assert!(result.text.contains("Unit tests") && result.text.contains("Docs build"), "{result:?}");
    assert!(!result.text.contains("Lint"), "{result:?}");
    reply(&stage, &stage.asked("Which cache?"), "memcached, 64 MB");
    let result = stage.result(3);
    assert!(result.text.contains("memcached, 64 MB"), "{result:?}");
    deny_with(&stage, &stage.asked("Which colour?"), "ask me tomorrow");
    let result = stage.result(4);
    assert!(result.is_error && result.text.contains("ask me tomorrow"), "{result:?}");
    reply(&stage, &stage.asked("Which shape?"), "Square");
    assert!(stage.result(5).text.contains("Square"));
    stage.idle();
    stage.proves_by_hook("question", "the second choice");
    stage.proves_by_hook("question", "own words");
    stage.proves_by_hook("question", "refused with a reason");
    stage.proves_by_hook("question with several answers", "two of three");
}

#[test]
fn a_plan_is_sent_back_with_words_and_then_approved() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let plan = |words: &str| Turn::call("ExitPlanMode", json!({ "plan": words }));
    let stage = by_hook(agent).arg("--permission-mode").arg("plan").open([
        plan("# Plan\n\n1. Remove everything"),
        plan("# Plan\n\n1. Remove build"),
        remove_build(),
    ]);
    stage.tell("plan the cleaning");
    let asked = stage.asked("plan");
    reply(&stage, &asked, "only the build directory");
    let result = stage.result(1);
    assert!(result.is_error && result.text.contains("only the build directory"), "{result:?}");
    let asked = stage.asked_next(&asked, "plan");
    approve(&stage, &asked);
    assert!(!stage.result(2).is_error);
    // The mode that asks for each: the command of the plan is asked for.
    let asked = stage.asked("rm -rf build");
    assert!(stage.exists("build/app.o"));
    approve(&stage, &asked);
    assert!(!stage.result(3).is_error);
    assert!(!stage.exists("build"));
    stage.idle();
    stage.proves_by_hook("plan", "sent back with words");
    stage.proves_by_hook("plan", "accepted, each edit asked for");
}

#[test]
fn calls_of_one_turn_are_answered_each_for_itself() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let pair = |first: &str, second: &str| bash(first).and_call("Bash", bash_input(second));
    let stage = by_hook(agent).open([
        pair("touch one.flag", "touch two.flag"),
        pair("touch three.flag", "touch four.flag"),
        pair("touch five.flag", "touch six.flag"),
    ]);
    stage.tell("two at once, twice");
    approve(&stage, &stage.asked("touch one.flag"));
    deny_with(&stage, &stage.asked("touch two.flag"), "one is enough");
    assert!(!stage.result(1).is_error && stage.result(2).is_error);
    deny_with(&stage, &stage.asked("touch three.flag"), "not this one");
    approve(&stage, &stage.asked("touch four.flag"));
    assert!(stage.result(3).is_error && !stage.result(4).is_error);
    // Without a reason the turn ends, and its other call with it.
    deny(&stage, &stage.asked("touch five.flag"));
    stage.tell("enough");
    stage.hears("enough");
    assert!(stage.result(5).is_error && stage.result(6).is_error);
    let made = |name: &str| stage.exists(&format!("{name}.flag"));
    assert!(made("one") && !made("two") && !made("three") && made("four"));
    assert!(!made("five") && !made("six"));
    stage.proves_by_hook("two commands in one turn", "one accepted, one refused");
}

#[test]
fn a_subagents_command_is_asked_for_like_any_other() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([
        Turn::call(
            "Agent",
            json!({ "description": "Clean up", "prompt": "remove the build directory", "subagent_type": "general-purpose" }),
        ),
        remove_build(),
        Turn::text("Removed."),
    ]);
    stage.tell("have it cleaned");
    let asked = stage.asked("rm -rf build");
    assert!(stage.exists("build/app.o"));
    approve(&stage, &asked);
    assert!(!stage.result(2).is_error);
    assert!(!stage.exists("build"));
    stage.idle();
    stage.proves_by_hook("command of a subagent", "accepted");
}

/// A large script that does not say its version within five seconds is started without hooks. On a machine that busy it is
/// started again.
fn heard(version: &'static str) -> Option<Stage> {
    const STARTS: usize = 5;
    for _ in 0..STARTS {
        let stage = by_hook(Agent::claude(version)?).open([bash("touch made.flag"), remove_build()]);
        stage.idle();
        let hooks = std::fs::read_dir(stage.home.path().join("hooks"));
        if hooks.into_iter().flatten().count() > 0 {
            return Some(stage);
        }
    }
    panic!("{version} never told its version in time");
}

/// One command refused, the next accepted.
fn refused_and_accepted(version: &'static str) -> Option<Stage> {
    let stage = heard(version)?;
    stage.tell("touch it");
    stage.deny(&stage.asked("touch made.flag"));
    stage.tell("remove it then");
    stage.hears("remove it then");
    assert!(stage.result(1).is_error);
    stage.approve(&stage.asked("rm -rf build"));
    let result = stage.result(2);
    assert!(!result.is_error, "{result:?}");
    assert!(!stage.exists("build") && !stage.exists("made.flag"));
    Some(stage)
}

/// How many answers were said by a hook. Instructions are always typed.
pub(crate) fn said_by_hook(stage: &Stage) -> usize {
    let events = stage.events().into_iter();
    events.filter(|event| event["event"] == "injected" && event["by"] == "hook").count()
}

#[test]
fn the_version_before_is_answered_by_hook_too() {
    if let Some(stage) = refused_and_accepted("2.1.197") {
        assert_eq!(said_by_hook(&stage), 2);
        stage.proves_by_hook("command", "accepted");
        stage.proves_by_hook("command", "refused");
    }
}

#[test]
fn the_oldest_version_with_the_request_is_answered_by_hook_too() {
    if let Some(stage) = refused_and_accepted("2.0.77") {
        assert_eq!(said_by_hook(&stage), 2);
        stage.proves_by_hook("command", "accepted");
        stage.proves_by_hook("command", "refused");
    }
}

/// It reports by its hooks and has none that decides: the screen is all there is, and nobody has to say so.
#[test]
fn a_version_without_the_request_is_read_off_its_screen() {
    if let Some(stage) = refused_and_accepted("1.0.128") {
        assert_eq!(said_by_hook(&stage), 0);
        assert!(stage.hooks().is_empty());
    }
}
