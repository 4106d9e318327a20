//! Claude Code by its screen.

use atlasbridge_testkit::agents::{Agent, Turn};
use serde_json::json;

use crate::by_screen;

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
    let stage = by_screen(agent).open([remove_build()]);
    stage.tell("clean the build directory");
    let asked = stage.asked("Do you want to proceed?");
    assert!(stage.exists("build"));
    stage.approve(&asked);
    let result = stage.result(1);
    assert!(!result.is_error, "{result:?}");
    assert!(!stage.exists("build"));
    stage.idle();
}

#[test]
fn a_refused_command_does_not_run() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let stage = by_screen(agent).open([remove_build()]);
    stage.tell("clean the build directory");
    let asked = stage.asked("Do you want to proceed?");
    stage.deny(&asked);
    // A refusal interrupts the turn: the model hears of it with the next instruction.
    stage.tell("leave it then");
    stage.hears("leave it then");
    let result = stage.result(1);
    assert!(result.is_error, "{result:?}");
    assert!(stage.exists("build/app.o"));
}
