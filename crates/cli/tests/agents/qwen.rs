//! Qwen Code by its screen: a fork of Gemini CLI that asks in its own words.

use atlasbridge_testkit::agents::{Agent, Opening, Turn};
use serde_json::json;

use crate::by_screen;
use crate::cases::{self, Dialog, No};

const VERSION: &str = "0.15.10";

fn qwen() -> Option<Opening> {
    Agent::qwen(VERSION).map(by_screen)
}

fn command() -> Dialog {
    let input = json!({ "command": "rm -rf build", "description": "Clean", "is_background": false });
    Dialog {
        name: "command",
        turns: vec![Turn::call("run_shell_command", input)],
        calls: 1,
        shows: "Allow execution of",
    }
}

#[test]
fn an_accepted_command() {
    let Some(opening) = qwen() else { return };
    cases::accepted(opening, command(), |stage| !stage.exists("build"));
}

#[test]
fn a_refused_command() {
    let Some(opening) = qwen() else { return };
    cases::refused(opening, command(), No::Interrupts, |stage| !stage.exists("build/app.o"));
}

#[test]
fn instructions() {
    let Some(opening) = qwen() else { return };
    // It loses a `?` that is typed among other keys: it opens its help with it.
    cases::instructions(opening, "say hello, then wait (y/n)");
}
