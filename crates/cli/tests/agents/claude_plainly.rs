//! Claude Code as a person starts it, without a word about its mode; and its plans, whose rows are others in each version.
//!
//! 2.1.325 starts in auto mode: its own check decides, on the server of its maker. Behind a gateway that does not pass the check
//! through, as the scripted model is one, it asks once how to go on, and then for each action that needed the check.

use atlasbridge_testkit::agents::{Agent, Answered, Asked, Opening, PLAN_FILE, Stage, Turn};
use serde_json::json;

use crate::claude_hooks::said_by_hook;
use crate::{by_hook, by_screen};

const NEWEST: &str = "2.1.325";

const NOTICE: &str = "Auto mode can't check actions in this session";
const STAY: &str = "stay in auto mode";
const LEAVE: &str = "leave for accept edits mode and stop";
const CANCEL: &str = "cancel";

/// One that is below the check, and then one that needs it.
fn turns() -> [Turn; 2] {
    let write = json!({ "file_path": "config.yaml", "content": "debug: true\n" });
    let push = "touch pushed.txt && git push origin main --force";
    let push = json!({ "command": push, "description": "Publish the branch" });
    [Turn::call("Write", write), Turn::call("Bash", push)]
}

/// The agent has come to its notice. What it did before that, it did unasked: that is its mode, and no prompt says otherwise.
fn noticed(opening: Opening) -> (Stage, Asked) {
    let stage = opening.plainly().open(turns());
    stage.tell("do it");
    let notice = stage.asked(NOTICE);
    assert_eq!(notice.kind, "multiple_choice");
    assert_eq!(notice.choices, [STAY, LEAVE, CANCEL]);
    assert!(stage.exists("config.yaml"), "{}", stage.screen());
    assert!(!stage.exists("pushed.txt"));
    (stage, notice)
}

/// The turn is over, the action was not taken, and the model hears so.
#[track_caller]
fn left_undone(stage: &Stage) {
    stage.tell("leave it then");
    stage.hears("leave it then");
    assert!(stage.result(2).is_error);
    assert!(!stage.exists("pushed.txt"));
}

#[test]
fn staying_in_auto_mode_asks_for_the_action_and_yes_allows_it() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let (stage, notice) = noticed(by_screen(agent));
    let stayed = stage.approve(&notice);
    let asked = stage.asked_next(&notice, "Do you want to proceed?");
    assert_eq!(asked.choices, ["No", "Yes"]);
    let allowed = allow(&stage, &asked);
    stage.proves("auto mode without its check", &stayed);
    stage.proves("command in auto mode", &allowed);
}

#[track_caller]
fn allow(stage: &Stage, asked: &Asked) -> Answered {
    assert!(asked.text.contains("git push origin main --force"), "{asked:?}");
    assert!(!stage.exists("pushed.txt"), "to stay is not to allow");
    let allowed = stage.approve(asked);
    stage.result(2);
    assert!(stage.exists("pushed.txt"));
    stage.idle();
    allowed
}

/// With hooks the same is asked and the same answers do it. Here the keys did it when it was tried, so no row claims the hook.
#[test]
fn staying_in_auto_mode_with_hooks() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let (stage, notice) = noticed(by_hook(agent));
    stage.approve(&notice);
    let asked = stage.asked_next(&notice, "git push");
    allow(&stage, &asked);
}

#[test]
fn staying_in_auto_mode_and_refusing_the_action() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let (stage, notice) = noticed(by_screen(agent));
    stage.approve(&notice);
    let asked = stage.asked_next(&notice, "Do you want to proceed?");
    let refused = stage.deny(&asked);
    left_undone(&stage);
    stage.proves("command in auto mode", &refused);
}

#[test]
fn the_notice_of_auto_mode_is_refused() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let (stage, notice) = noticed(by_screen(agent));
    let refused = stage.deny(&notice);
    left_undone(&stage);
    stage.proves("auto mode without its check", &refused);
}

/// The plan, and then what the plan says. Where there is a plan file the plan stands in it.
fn planning(opening: Opening, version: &str) -> Stage {
    let plan = "# Plan\n\n1. Write notes.txt\n";
    let in_file = Turn::call("Write", json!({ "file_path": PLAN_FILE, "content": plan }));
    let has_file = !matches!(version, "1.0.128" | "2.0.47");
    let over = match has_file {
        true => json!({}),
        false => json!({ "plan": plan }),
    };
    let notes = json!({ "file_path": "notes.txt", "content": "done\n" });
    let turns = [Turn::call("ExitPlanMode", over), Turn::call("Write", notes)];
    let turns = has_file.then_some(in_file).into_iter().chain(turns);
    opening.plainly().arg("--permission-mode").arg("plan").open(turns)
}

/// `approve` carries the plan out, and the edit of the plan is asked for.
#[track_caller]
fn check_plan(opening: Opening, version: &'static str) -> (Stage, Answered) {
    let stage = planning(opening, version);
    stage.tell("plan it");
    let asked = stage.asked("Would you like to proceed?");
    let answered = stage.approve(&asked);
    let next = stage.asked_next(&asked, "notes.txt");
    assert!(!stage.exists("notes.txt"), "written unasked\n{}", stage.screen());
    stage.approve(&next);
    stage.until("the file is written", || stage.exists("notes.txt").then_some(()));
    (stage, answered)
}

const EACH_ASKED: &str = "accepted, each edit asked for";

#[track_caller]
fn check_plan_by_screen(version: &'static str) {
    let Some(agent) = Agent::claude(version) else {
        return;
    };
    let (stage, answered) = check_plan(by_screen(agent), version);
    let answer = EACH_ASKED.to_owned();
    stage.proves("plan", &Answered { answer, ..answered });
}

#[test]
fn an_approved_plan_still_asks_for_each_edit() {
    check_plan_by_screen(NEWEST);
}

#[test]
fn an_approved_plan_of_2_1_197_still_asks_for_each_edit() {
    check_plan_by_screen("2.1.197");
}

#[test]
fn a_plan_approved_by_hook_still_asks_for_each_edit() {
    let Some(agent) = Agent::claude(NEWEST) else {
        return;
    };
    let (stage, _) = check_plan(by_hook(agent), NEWEST);
    // The plan, and the edit after it.
    assert_eq!(said_by_hook(&stage), 2, "{:?}", stage.events());
    stage.proves_by_hook("plan", EACH_ASKED);
}

/// Each of these words its rows in its own way. `ATLASBRIDGE_TEST_FULL=1` for them; the table of agents has only what every
/// run proves.
#[test]
fn approved_plans_of_other_versions_still_ask_for_each_edit() {
    if std::env::var_os("ATLASBRIDGE_TEST_FULL").is_none() {
        return;
    }
    for version in ["2.1.269", "2.1.136", "2.1.37", "2.0.77", "2.0.47", "1.0.128"] {
        let Some(agent) = Agent::claude(version) else {
            continue;
        };
        check_plan(by_screen(agent), version);
    }
}
