//! Codex by its app-server: the dialog stands on the screen, and whoever answers first, at the desk or elsewhere, closes it for
//! both. What is decided elsewhere is said to the server, not typed.

use atlasbridge_testkit::agents::{Agent, Asked, Opening, Proof, Route, Stage, Turn};
use atlasbridge_testkit::kill;
use serde_json::json;

use crate::by_hook;

const NEWEST: &str = "0.166.0";
const COMMAND: &str = "Would you like to run the following command?";
const EDITS: &str = "Would you like to make the following edits?";
/// What Codex writes on its screen for a key of its own dialog, and for nothing else.
const BY_KEY: &str = "You approved";

fn structured() -> Option<Opening> {
    let agent = Agent::codex(NEWEST)?;
    Some(by_hook(agent).flag("--structured"))
}

fn shell(command: &str) -> serde_json::Value {
    json!({ "cmd": command, "sandbox_permissions": "require_escalated", "justification": "Is this fine?" })
}

fn call(command: &str) -> Turn {
    Turn::call("exec_command", shell(command))
}

fn apply(patch: &str) -> Turn {
    let command = format!("apply_patch <<'EOF'\n*** Begin Patch\n{patch}*** End Patch\nEOF\n");
    Turn::call("exec_command", json!({ "cmd": command }))
}

fn patch(file: &str) -> Turn {
    apply(&format!("*** Add File: {file}\n+hello\n"))
}

fn change(file: &str) -> Turn {
    apply(&format!("*** Update File: {file}\n@@\n-hello\n+hello again\n"))
}

/// The prompt was told by the server: it says where the command would run, which the dialog does not.
#[track_caller]
fn is_told(stage: &Stage, asked: &Asked, command: &str) {
    let told = format!("$ {command}\nin {}", stage.project().display());
    assert!(asked.text.contains(&told), "{asked:?}");
}

/// A row of the table of agents, if the answer was said and not typed.
#[track_caller]
fn proves(stage: &Stage, dialog: &str, answer: &str) {
    assert!(!stage.screen().contains(BY_KEY), "{}", stage.screen());
    Proof {
        tool: stage.agent().tool(),
        version: stage.agent().version(),
        dialog,
        answer,
        route: Route::Hook,
        keys: "",
    }
    .record();
}

#[test]
fn an_accepted_command_runs() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("rm -rf build"), Turn::text("It is gone.")]);
    stage.tell("clean the build directory");
    let asked = stage.asked(COMMAND);
    is_told(&stage, &asked, "rm -rf build");
    assert!(stage.exists("build"));
    stage.approve(&asked);
    stage.result(1);
    assert!(!stage.exists("build"));
    let idle = stage.idle();
    assert!(idle.text.contains("It is gone."), "{idle:?}");
    proves(&stage, "command", "accepted");
}

#[test]
fn a_refused_command_ends_the_turn() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("rm -rf build")]);
    stage.tell("clean the build directory");
    let asked = stage.asked(COMMAND);
    is_told(&stage, &asked, "rm -rf build");
    stage.deny(&asked);
    stage.shows("Conversation interrupted");
    stage.tell("leave it then");
    stage.hears("leave it then");
    stage.idle();
    assert!(stage.exists("build/app.o"));
    proves(&stage, "command", "refused");
}

#[test]
fn an_edit_is_accepted_and_its_files_for_the_session() {
    let Some(opening) = structured() else { return };
    // Inside its workspace it edits without a question, unless it may only read.
    let stage = opening.arg("-s").arg("read-only").open([
        patch("hello.txt"),
        Turn::text("Made."),
        change("hello.txt"),
    ]);
    stage.tell("make the file");
    let asked = stage.asked(EDITS);
    let told = format!("add {}", stage.project().join("hello.txt").display());
    assert!(asked.text.contains(&told), "{asked:?}");
    assert!(!stage.exists("hello.txt"));
    stage.reply(&asked, "Yes, and don't ask again for these files");
    stage.result(1);
    assert_eq!(stage.file("hello.txt").as_deref(), Some("hello\n"));
    stage.tell("change it");
    stage.result(2);
    assert_eq!(stage.file("hello.txt").as_deref(), Some("hello again\n"));
    proves(&stage, "edit", "accepted for the session");
}

#[test]
fn an_edit_is_refused() {
    let Some(opening) = structured() else { return };
    let stage = opening.arg("-s").arg("read-only").open([patch("hello.txt")]);
    stage.tell("make the file");
    let asked = stage.asked(EDITS);
    stage.deny(&asked);
    stage.shows("Conversation interrupted");
    stage.tell("leave it then");
    stage.hears("leave it then");
    assert!(!stage.exists("hello.txt"));
    proves(&stage, "edit", "refused");
}

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([
        call("touch one.txt"),
        Turn::text("Made."),
        call("touch one.txt"),
        Turn::text("Again."),
    ]);
    stage.tell("make it");
    let asked = stage.asked(COMMAND);
    stage.reply(&asked, "Yes, and don't ask again for commands that start with `touch one.txt`");
    stage.result(1);
    std::fs::remove_file(stage.project().join("one.txt")).unwrap();
    stage.tell("once more");
    stage.result(2);
    assert!(stage.exists("one.txt"));
    let rules = std::fs::read_to_string(stage.person().join(".codex/rules/default.rules")).unwrap();
    assert!(rules.contains(r#"["touch", "one.txt"]"#), "{rules}");
    proves(&stage, "command", "accepted from now on");
}

#[test]
fn the_desk_may_be_first_and_the_next_is_answered_elsewhere() {
    let Some(opening) = structured() else { return };
    let stage =
        opening.open([call("touch one.txt"), Turn::text("One."), call("touch two.txt"), Turn::text("Two.")]);
    stage.tell("make one");
    let asked = stage.asked(COMMAND);
    is_told(&stage, &asked, "touch one.txt");
    stage.type_keys("y");
    stage.result(1);
    assert!(stage.exists("one.txt"));
    stage.shows(BY_KEY);
    assert_eq!(stage.home.end_of(&asked.id), "resolved answered_locally");
    stage.tell("make two");
    let asked = stage.asked_next(&asked, COMMAND);
    is_told(&stage, &asked, "touch two.txt");
    stage.approve(&asked);
    stage.result(2);
    assert!(stage.exists("two.txt"));
    let idle = stage.idle();
    assert!(idle.text.contains("Two."), "{idle:?}");
}

/// Two may wait at the server at once, and the screen shows one.
#[test]
fn of_a_pair_exactly_the_chosen_one_runs() {
    let Some(opening) = structured() else { return };
    let both =
        Turn::call("exec_command", shell("touch one.txt")).and_call("exec_command", shell("touch two.txt"));
    let stage = opening.open([both]);
    stage.tell("do both");
    let first = stage.asked(COMMAND);
    let (chosen, other) = match first.text.contains("one.txt") {
        true => ("one.txt", "two.txt"),
        false => ("two.txt", "one.txt"),
    };
    is_told(&stage, &first, &format!("touch {chosen}"));
    stage.approve(&first);
    let second = stage.asked_next(&first, COMMAND);
    is_told(&stage, &second, &format!("touch {other}"));
    assert!(!stage.exists(other), "answered by what answered the first");
    stage.deny(&second);
    stage.until("the accepted call runs", || stage.exists(chosen).then_some(()));
    stage.tell("that is enough");
    stage.hears("that is enough");
    stage.result(2);
    assert!(stage.exists(chosen) && !stage.exists(other));
    proves(&stage, "two commands in one turn", "one accepted, one refused");
}

/// Codex's processes and ours for it, by a word of their command lines.
fn processes(stage: &Stage, word: &str) -> Vec<i32> {
    let found = stage.processes().into_iter();
    found.filter(|(_, command)| command.contains(word)).map(|(pid, _)| pid).collect()
}

#[track_caller]
fn nothing_is_left(stage: &Stage) {
    stage.until("nothing of Codex and its bridge is left", || {
        processes(stage, "codex").is_empty().then_some(())
    });
    let hooks = stage.home.path().join("hooks");
    stage.until("nothing of the session lies there", || {
        std::fs::read_dir(&hooks).unwrap().next().is_none().then_some(())
    });
}

#[track_caller]
fn stop(stage: &Stage) {
    let session = stage.home.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    let stopped = stage.home.run(["sessions", "stop", &session]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
}

#[test]
fn a_session_that_ends_leaves_nobody() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("rm -rf build")]);
    stage.tell("clean the build directory");
    stage.asked(COMMAND);
    assert!(!processes(&stage, "codex-bridge").is_empty());
    assert!(!processes(&stage, "app-server").is_empty());
    stop(&stage);
    nothing_is_left(&stage);
    assert!(stage.exists("build"));
}

#[test]
fn a_tool_that_ends_by_itself_leaves_nobody() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([Turn::text("Hello.")]);
    stage.tell("say hello");
    let idle = stage.idle();
    assert!(idle.text.contains("Hello."), "{idle:?}");
    stage.type_keys("/quit");
    stage.shows("/quit");
    stage.type_keys("\r");
    nothing_is_left(&stage);
    let ended = stage.home.audit_has("SESSION_END", None);
    assert!(ended["value"].to_string().contains("code 0"), "{ended}");
}

/// That dialog is the screen's, as in a plain start; the first turn behind it is told.
#[test]
fn a_new_folder_is_trusted_first() {
    let Some(opening) = structured() else { return };
    let stage = opening.untrusted().open([call("rm -rf build")]);
    let asked = stage.asked("Trust this folder?");
    stage.approve(&asked);
    stage.tell("clean the build directory");
    let asked = stage.asked(COMMAND);
    is_told(&stage, &asked, "rm -rf build");
    stage.approve(&asked);
    stage.result(1);
    assert!(!stage.exists("build"));
}

#[test]
fn a_killed_session_host_leaves_nobody() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("rm -rf build")]);
    stage.tell("clean the build directory");
    stage.asked(COMMAND);
    let hosts = processes(&stage, " run --quiet");
    assert!(!hosts.is_empty());
    hosts.into_iter().for_each(kill);
    stage.until("nothing of Codex and its bridge is left", || {
        processes(&stage, "codex").is_empty().then_some(())
    });
    assert!(stage.exists("build"));
}

#[test]
fn a_killed_server_ends_its_bridge_and_leaves_nobody() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("rm -rf build")]);
    stage.tell("clean the build directory");
    stage.asked(COMMAND);
    // Codex is a script that starts a program: both are the server.
    processes(&stage, "app-server").into_iter().for_each(kill);
    stage.until("the bridge ends with its server", || {
        processes(&stage, "codex-bridge").is_empty().then_some(())
    });
    // The screen tries to reach it again, as Codex does.
    stage.shows("Reconnecting");
    stop(&stage);
    nothing_is_left(&stage);
    assert!(stage.exists("build"));
}

/// The screen goes on without it: the dialog stays, and is answered by its keys. What the bridge would have ended is ended by
/// the session.
#[test]
fn a_killed_bridge_costs_nothing_but_itself() {
    let Some(opening) = structured() else { return };
    let stage = opening.open([call("touch one.txt"), Turn::text("One."), call("touch two.txt")]);
    stage.tell("make one");
    let asked = stage.asked(COMMAND);
    is_told(&stage, &asked, "touch one.txt");
    processes(&stage, "codex-bridge").into_iter().for_each(kill);
    stage.approve(&asked);
    stage.result(1);
    assert!(stage.exists("one.txt"));
    stage.shows(BY_KEY);
    stage.tell("make two");
    let asked = stage.asked_next(&asked, COMMAND);
    assert!(!asked.text.contains("\nin "), "{asked:?}");
    assert!(!processes(&stage, "app-server").is_empty());
    stop(&stage);
    nothing_is_left(&stage);
    assert!(!stage.exists("two.txt"));
}

#[test]
fn without_the_flag_nothing_changes() {
    let Some(agent) = Agent::codex(NEWEST) else { return };
    let stage = by_hook(agent).open([call("rm -rf build")]);
    stage.tell("clean the build directory");
    let asked = stage.asked(COMMAND);
    assert!(!asked.text.contains("\nin "), "{asked:?}");
    assert!(processes(&stage, "app-server").is_empty() && processes(&stage, "codex-bridge").is_empty());
    stage.approve(&asked);
    stage.result(1);
    stage.shows(BY_KEY);
    assert!(!stage.exists("build"));
}
