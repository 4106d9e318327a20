//! The first start of Claude Code, and folders that are new to it: answered from elsewhere, and never by silence.

use atlasbridge_testkit::agents::{Agent, Answered, Stage};
use serde_json::Value;

use crate::by_screen;

const VERSIONS: [&str; 4] = ["2.1.325", "2.1.197", "2.0.77", "1.0.128"];

/// Whether Claude Code has noted that the project is trusted.
fn is_trusted(stage: &Stage) -> bool {
    let state = stage.home_file(".claude.json").unwrap_or_default();
    let state: Value = serde_json::from_str(&state).unwrap_or_default();
    let project = stage.project().display().to_string();
    state["projects"][project]["hasTrustDialogAccepted"] == true
}

#[track_caller]
fn check_trusted(version: &'static str) {
    let Some(agent) = Agent::claude(version) else {
        return;
    };
    let stage = by_screen(agent).untrusted().open([]);
    let asked = stage.asked("trust");
    assert!(!is_trusted(&stage));
    let answered = stage.approve(&asked);
    stage.idle();
    stage.until("the folder is trusted", || is_trusted(&stage).then_some(()));
    stage.proves("trust", &answered);
}

#[track_caller]
fn check_not_trusted(version: &'static str) {
    let Some(agent) = Agent::claude(version) else {
        return;
    };
    let stage = by_screen(agent).untrusted().open([]);
    let asked = stage.asked("trust");
    let answered = stage.deny(&asked);
    stage.until("the agent has ended", || stage.has_ended().then_some(()));
    assert!(!is_trusted(&stage));
    stage.proves("trust", &answered);
}

#[test]
fn a_folder_is_trusted() {
    VERSIONS.into_iter().for_each(check_trusted);
}

#[test]
fn a_folder_is_not_trusted() {
    VERSIONS.into_iter().for_each(check_not_trusted);
}

/// Nobody answers: whatever silence does here, it does not trust.
#[test]
fn silence_does_not_trust() {
    let Some(agent) = Agent::claude(VERSIONS[0]) else {
        return;
    };
    let opening = by_screen(agent).untrusted();
    let stage = opening.prompts("timeout_seconds = 2").open([]);
    let asked = stage.asked("trust");
    let end = stage.home.end_of(&asked.id);
    stage.until("the agent has refused or still asks", || {
        (stage.has_ended() || stage.screen().contains("Yes, I trust this folder")).then_some(())
    });
    assert!(!is_trusted(&stage), "{end}");
    assert_eq!(stage.model.count_requests(), 0);
    // The safe default is the row that refuses, if it was typed at all.
    let refusing = asked.keys_of("No, exit").unwrap_or_default();
    let keys = if end == "resolved applied" { refusing } else { "none".to_owned() };
    let answer = "silence: not trusted".to_owned();
    stage.proves("trust", &Answered { answer, keys });
}

/// From an empty home to the input box, and not one key at the desk.
#[test]
fn a_first_start() {
    let Some(agent) = Agent::claude(VERSIONS[0]) else {
        return;
    };
    let stage = by_screen(agent).empty().open([]);
    let theme = stage.asked("Choose the text style");
    let theme_answer = stage.reply(&theme, "Dark mode");
    let key = stage.asked("Do you want to use this API key?");
    let key_answer = stage.approve(&key);
    let notes = stage.asked("Press Enter to continue");
    let notes_answer = stage.approve(&notes);
    let trust = stage.asked("Is this a project you created or one you trust?");
    stage.approve(&trust);
    stage.tell("hello");
    stage.hears("hello");
    assert!(is_trusted(&stage));
    let chosen = Answered { answer: "the second choice".to_owned(), ..theme_answer };
    stage.proves("theme", &chosen);
    stage.proves("API key", &key_answer);
    stage.proves("security notes", &notes_answer);
}
