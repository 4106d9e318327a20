//! Cline by its screen: its dialog names its two keys in a row, and a refusal does not end the turn.

use atlasbridge_testkit::agents::{Agent, Answered, Asked, Opening, Stage, Turn};
use serde_json::json;

use crate::by_screen;

const VERSION: &str = "3.0.65";

const ASKS: &str = "Approve tool call?";

/// Each run leaves a line.
const COMMAND: &str = "echo ran >> runs.txt";

fn cline() -> Option<Opening> {
    Agent::cline(VERSION).map(by_screen)
}

fn command() -> Turn {
    Turn::call("run_commands", json!({ "commands": [COMMAND] }))
}

/// What the command has left so far.
fn runs(stage: &Stage) -> usize {
    stage.file("runs.txt").map_or(0, |text| text.lines().count())
}

#[track_caller]
fn is_the_command(asked: &Asked) {
    assert_eq!(asked.choices, ["Approve", "Deny"]);
    let excerpt = asked.text.lines().next().unwrap_or_default();
    assert!(excerpt.contains(COMMAND), "{asked:?}");
}

/// The model was told that the call was refused, and the command ran no more often than before.
#[track_caller]
fn was_refused(stage: &Stage, call: usize, before: usize) {
    let told = stage.result(call).text;
    assert!(told.contains("rejected by the user and not executed"), "{told}");
    stage.idle();
    assert_eq!(runs(stage), before, "refused and done\n{}", stage.screen());
}

#[test]
fn a_refused_command() {
    let Some(opening) = cline() else { return };
    let stage = opening.open([command()]);
    stage.tell("do it");
    let asked = stage.asked(ASKS);
    is_the_command(&asked);
    let answered = stage.deny(&asked);
    was_refused(&stage, 1, 0);
    stage.proves("command", &answered);
}

/// It is asked for the same command again: nothing more was granted.
#[test]
fn an_accepted_command() {
    let Some(opening) = cline() else { return };
    let stage = opening.open([command(), command()]);
    stage.tell("do it");
    let asked = stage.asked(ASKS);
    assert_eq!(runs(&stage), 0, "done without being asked");
    let answered = stage.approve(&asked);
    let again = stage.asked_next(&asked, ASKS);
    is_the_command(&again);
    stage.result(1);
    assert_eq!(runs(&stage), 1, "{}", stage.screen());
    stage.deny(&again);
    was_refused(&stage, 2, 1);
    stage.proves("command", &answered);
}

#[test]
fn a_command_that_nobody_answers() {
    let Some(opening) = cline() else { return };
    let stage = opening.prompts("timeout_seconds = 2").open([command()]);
    stage.tell("do it");
    let asked = stage.sighted(ASKS);
    stage.home.audit_has("PROMPT_EXPIRED", Some(&asked.id));
    assert_eq!(stage.home.end_of(&asked.id), "resolved applied");
    was_refused(&stage, 1, 0);
    let answered = Answered {
        answer: "none in time: refused".to_owned(),
        keys: asked.keys_of("Deny").unwrap_or_default(),
    };
    stage.proves("command", &answered);
}
