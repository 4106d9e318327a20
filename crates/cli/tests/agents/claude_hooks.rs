//! Claude Code by its hooks: the dialog stands on the screen, and the answer is said, not typed.

use atlasbridge_testkit::agents::{Agent, Turn};
use serde_json::json;

use crate::by_hook;

const NEWEST: &str = "2.1.325";

fn remove_build() -> Turn {
    Turn::call(
        "Bash",
        json!({ "command": "rm -rf build", "description": "Remove the build directory" }),
    )
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
    stage.approve(&asked);
    let result = stage.result(1);
    assert!(!result.is_error, "{result:?}");
    assert!(!stage.exists("build"));
    stage.shows("Allowed by PermissionRequest hook");
    stage.idle();
}
