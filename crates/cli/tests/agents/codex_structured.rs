//! Codex by its app-server: the dialog stands on the screen, and whoever answers first, at the desk or elsewhere, closes it for
//! both. What is decided elsewhere is said to the server, not typed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_testkit::agents::{Agent, Asked, Opening, Stage, Turn};
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

fn patch() -> Turn {
    const PATCH: &str =
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\nEOF\n";
    Turn::call("exec_command", json!({ "cmd": PATCH }))
}

/// The prompt was told by the server: it says where the command would run, which the dialog does not.
#[track_caller]
fn is_told(stage: &Stage, asked: &Asked, command: &str) {
    let told = format!("$ {command}\nin {}", stage.project().display());
    assert!(asked.text.contains(&told), "{asked:?}");
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
    assert!(!stage.screen().contains(BY_KEY), "{}", stage.screen());
}
