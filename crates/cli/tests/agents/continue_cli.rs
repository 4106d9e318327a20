//! Continue CLI by its screen. No pack knows its dialog: it is a menu moved by arrows whose rows name keys of their own, drawn
//! fainter than the rows. It loses an arrow that comes with another in one write, so that an Enter behind them takes a row
//! that nobody chose.

use atlasbridge_testkit::agents::{Agent, Answered, Asked, Opening, Stage, Turn};
use serde_json::json;

use crate::by_screen;

const VERSION: &str = "1.5.47";

const ASKS: &str = "Would you like to continue?";

/// Each run leaves a line.
const COMMAND: &str = "echo ran >> runs.txt";

const YES: &str = "Continue";
const ALWAYS: &str = "Continue + don't ask again (shift+tab)";
const NO: &str = "No, and tell Continue what to do differently";

/// Arrows and nothing else, whatever the rows say.
const BY_ARROWS: &str = r#"
[tool]
name = "continue"
extends = true

[[dialog]]
name = "permission"
rows = "marked"
anchor = 'Would you like to continue\?'
keys = "move"
refuses = '^No\b'
accepts = '^Continue'
"#;

fn continue_cli() -> Option<Opening> {
    Agent::continue_cli(VERSION).map(by_screen)
}

fn command() -> Turn {
    Turn::call("Bash", json!({ "command": COMMAND }))
}

/// What the command has left so far.
fn runs(stage: &Stage) -> usize {
    stage.file("runs.txt").map_or(0, |text| text.lines().count())
}

/// The call was refused, the model is told so with the next instruction, and the command ran no more often than before.
#[track_caller]
fn was_refused(stage: &Stage, call: usize, before: usize) {
    stage.tell("leave it then");
    let told = stage.result(call).text;
    assert!(told.contains("Permission denied by user"), "{told}");
    assert_eq!(runs(stage), before, "refused and done\n{}", stage.screen());
}

#[track_caller]
fn is_the_command(asked: &Asked) {
    assert_eq!(asked.choices, [YES, ALWAYS, NO]);
    assert!(asked.text.starts_with(&format!("{ASKS} · Bash({COMMAND})")), "{asked:?}");
}

#[test]
fn a_refused_command() {
    let Some(opening) = continue_cli() else { return };
    let stage = opening.open([command()]);
    stage.tell("do it");
    let asked = stage.asked(ASKS);
    is_the_command(&asked);
    let answered = stage.deny(&asked);
    assert_eq!(answered.keys, "Esc");
    was_refused(&stage, 1, 0);
    stage.proves("command", &answered);
}

/// It is asked for the same command again: nothing more was granted.
#[test]
fn an_accepted_command() {
    let Some(opening) = continue_cli() else { return };
    let stage = opening.open([command(), command()]);
    stage.tell("do it");
    let asked = stage.asked(ASKS);
    assert_eq!(runs(&stage), 0, "done without being asked");
    let answered = stage.approve(&asked);
    assert_eq!(answered.keys, "Tab");
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
    let Some(opening) = continue_cli() else { return };
    let stage = opening.prompts("timeout_seconds = 2").open([command()]);
    stage.tell("do it");
    let asked = stage.sighted(ASKS);
    stage.home.audit_has("PROMPT_EXPIRED", Some(&asked.id));
    assert_eq!(stage.home.end_of(&asked.id), "resolved applied");
    was_refused(&stage, 1, 0);
    let answered =
        Answered { answer: "none in time: refused".to_owned(), keys: asked.keys_of(NO).unwrap_or_default() };
    stage.proves("command", &answered);
}

/// Five times: before arrows were led one by one, five of five ran.
#[test]
fn commands_refused_by_arrows() {
    let Some(opening) = continue_cli() else { return };
    let stage = opening.pack("continue", BY_ARROWS).open((1..=5).map(|_| command()));
    for call in 1..=5 {
        // The model hears of the call before, and asks again.
        stage.tell("do it");
        let asked = stage.asked(ASKS);
        let answered = stage.deny(&asked);
        assert_eq!(answered.keys, "Down, Down, Enter");
        assert_eq!(runs(&stage), 0, "call {call}\n{}", stage.screen());
    }
    was_refused(&stage, 5, 0);
    assert_eq!(stage.model.tool_results().len(), 5);
}
