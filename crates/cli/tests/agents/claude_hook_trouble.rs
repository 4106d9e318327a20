//! Claude Code by its hooks when something else happens: the desk is first, the hub is gone, somebody forges.

use std::io::Write;
use std::process::{Command, Stdio};

use atlasbridge_testkit::agents::{Agent, Asked, Stage, Turn};
use serde_json::{Value, json};

use crate::by_hook;
use crate::claude_hooks::{NEWEST, bash, bash_input};
use crate::long::refusing_digit;

/// A dialog for `rm -rf build`, and a hook that waits for its answer.
fn at_dialog() -> Option<(Stage, Asked)> {
    let agent = Agent::claude(NEWEST)?;
    let stage = by_hook(agent).open([bash("rm -rf build")]);
    stage.tell("clean the build directory");
    let asked = stage.asked("command: rm -rf build");
    assert_eq!(stage.hooks().len(), 1, "one hook waits");
    Some((stage, asked))
}

#[track_caller]
fn hooks_end(stage: &Stage) {
    stage.until("no hook is left over", || stage.hooks().is_empty().then_some(()));
}

#[test]
fn yes_at_the_desk_comes_first() {
    let Some((stage, asked)) = at_dialog() else { return };
    stage.type_keys("1");
    assert!(!stage.result(1).is_error);
    assert!(!stage.exists("build"));
    assert_eq!(stage.home.end_of(&asked.id), "resolved answered_locally");
    hooks_end(&stage);
    let late = stage.home.run(["approve", &asked.id]);
    assert_eq!(late.code, 1, "{late:?}");
    assert!(!stage.screen().contains("Allowed by PermissionRequest hook"), "{}", stage.screen());
    stage.idle();
}

#[test]
fn no_at_the_desk_withdraws_the_request() {
    let Some((stage, asked)) = at_dialog() else { return };
    stage.type_keys(&refusing_digit(&asked));
    assert_eq!(stage.home.end_of(&asked.id), "resolved answered_locally");
    hooks_end(&stage);
    stage.tell("leave it then");
    stage.hears("leave it then");
    assert!(stage.result(1).is_error);
    assert!(stage.exists("build/app.o"));
}

#[test]
fn without_a_hub_the_desk_answers() {
    let Some((stage, asked)) = at_dialog() else { return };
    stage.home.kill_hub();
    stage.type_keys("1");
    stage.until("the command has run", || (!stage.exists("build")).then_some(()));
    assert!(!stage.result(1).is_error);
    // Whoever asks starts the hub again, and the session tells it what it has missed.
    assert_eq!(stage.home.end_of(&asked.id), "resolved answered_locally");
    hooks_end(&stage);
}

#[test]
fn a_hub_that_comes_back_answers_the_same_dialog() {
    let Some((stage, asked)) = at_dialog() else { return };
    stage.home.kill_hub();
    let told = stage.home.run(["approve", &asked.id]);
    assert!(told.code == 0 && told.stdout.contains("applied"), "{told:?}");
    assert!(!stage.result(1).is_error);
    assert!(!stage.exists("build"));
    stage.shows("Allowed by PermissionRequest hook");
    hooks_end(&stage);
}

#[test]
fn the_last_words_of_claude_stand_in_its_idle_prompt() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([Turn::text("The parser is mended, and 12 tests pass.")]);
    stage.tell("mend the parser");
    stage.until("its words are its prompt", || {
        let mut waiting = stage.prompts().into_iter();
        waiting.find(|asked| {
            asked.kind == "idle" && asked.text.starts_with("The parser is mended, and 12 tests pass.")
        })
    });
}

/// It stays a child of the agent: what was abandoned speaks for nobody.
fn background(command: &str) -> Turn {
    let mut input = bash_input(command);
    input["run_in_background"] = true.into();
    Turn::call("Bash", input)
}

fn forged(command: &str) -> Value {
    json!({
        "session_id": "forged", "cwd": "/", "hook_event_name": "PermissionRequest", "permission_mode": "default",
        "tool_name": "Bash", "tool_input": { "command": command }, "permission_suggestions": [],
    })
}

/// A process that the agent started speaks to our socket. What it gets for it is its own affair; the dialog is not.
#[test]
fn a_forged_request_decides_nothing_but_itself() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_hook(agent).open([]);
    let hooks = stage.home.path().join("hooks");
    let script = stage.project().join("forge.sh");
    let forge = format!(
        "until [ -e go ]; do sleep 0.05; done\nsocket=$(echo {hooks}/*.sock)\necho '{event}' | {binary} hook --socket \"$socket\" > forged.out\necho $? > forged.code\n",
        hooks = hooks.display(),
        event = forged("echo harmless"),
        binary = stage.home.binary().display(),
    );
    std::fs::write(script, forge).unwrap();
    stage.model.script([background("sh forge.sh"), bash("rm -rf build")]);
    stage.tell("begin");
    stage.approve(&stage.asked("command: sh forge.sh"));
    let asked = stage.asked("command: rm -rf build");
    std::fs::write(stage.project().join("go"), "").unwrap();
    let drift = stage
        .until("the drift is told", || stage.events().into_iter().find(|event| event["event"] == "drift"));
    assert_eq!(drift["how"], "other_request", "{drift}");
    let denied = stage.home.run(["deny", &asked.id]);
    assert!(denied.stdout.contains("applied"), "{denied:?}");
    // The forger's own request is a possible prompt by now: a yes to it goes to the forger, and to nobody else.
    let possible = stage.asked("echo harmless");
    let told = stage.home.run(["approve", &possible.id]);
    stage.until("the forger is answered", || stage.file("forged.code"));
    assert!(stage.file("forged.out").unwrap().contains("allow"), "{told:?}");
    stage.tell("enough");
    stage.hears("enough");
    assert!(stage.result(2).is_error);
    assert!(stage.exists("build/app.o"));
}

/// To the tool that is no decision: its own dialog stays.
#[test]
fn a_hook_without_anybody_to_ask_says_nothing() {
    let home = atlasbridge_testkit::Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    let nobody = home.scratch().join("nobody.sock");
    // Somebody who listens, and hangs up.
    let rude = home.scratch().join("rude.sock");
    let listener = std::os::unix::net::UnixListener::bind(&rude).unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    for socket in [nobody, rude] {
        let mut hook = Command::new(home.binary())
            .args(["hook", "--socket"])
            .arg(&socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = hook.stdin.take().unwrap().write_all(forged("ls").to_string().as_bytes());
        let ended = hook.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(ended.stdout.is_empty() && ended.stderr.is_empty(), "{ended:?}");
    }
}
