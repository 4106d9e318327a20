//! opencode by its screen: buttons side by side, told apart by colour.

use atlasbridge_testkit::agents::{Agent, Opening, Turn};
use serde_json::json;

use crate::by_screen;
use crate::cases::{self, Dialog, No};

const VERSION: &str = "1.18.33";

fn opencode() -> Option<Opening> {
    Agent::opencode(VERSION).map(by_screen)
}

fn command() -> Dialog {
    let input = json!({ "command": "rm -rf build", "description": "Clean" });
    Dialog { name: "command", turns: vec![Turn::call("bash", input)], calls: 1, shows: "Permission required" }
}

#[test]
fn an_accepted_command() {
    let Some(opening) = opencode() else { return };
    cases::accepted(opening, command(), |stage| !stage.exists("build"));
}

#[test]
fn a_refused_command() {
    let Some(opening) = opencode() else { return };
    cases::refused(opening, command(), No::Interrupts, |stage| !stage.exists("build/app.o"));
}

#[test]
fn instructions() {
    let Some(opening) = opencode() else { return };
    cases::instructions(opening, "say hello, then wait (y/n)?");
}
