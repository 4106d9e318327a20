//! Every scenario of `lab list`, played through the binary.

use std::path::PathBuf;

use serde_json::Value;

use crate::home;

/// Plays it and expects it to pass, with the times of every prompt.
#[track_caller]
fn check(id: &str) {
    let played = home().run(["lab", "run", id, "--json"]);
    let json = played.json();
    assert_eq!((played.code, &json[0]["passed"]), (0, &Value::Bool(true)), "{json:#}");
    let prompts = json[0]["prompts"].as_array().unwrap();
    assert!(!prompts.is_empty());
    for prompt in prompts {
        assert!(prompt["offered_ms"].as_f64().is_some(), "{json:#}");
    }
}

macro_rules! scenarios {
    ($($name:ident => $id:literal),* $(,)?) => {
        const ALL: &[&str] = &[$($id),*];

        $(
            #[test]
            fn $name() {
                check($id);
            }
        )*
    };
}

scenarios! {
    a_partial_line_is_one_prompt => "QA-001",
    a_redrawn_screen_is_one_prompt => "QA-002",
    an_overwritten_question_is_none => "QA-003",
    a_silent_block_is_a_possible_prompt => "QA-004",
    nested_tools_get_their_own_answers => "QA-005",
    lists_are_answered_by_label_and_default => "QA-006",
    yes_and_no_are_said_as_the_question_wants => "QA-007",
    a_key_is_pressed_where_one_is_asked_for => "QA-008",
    a_limit_is_kept => "QA-009",
    a_flood_hides_nothing_and_costs_nothing => "QA-018",
    an_echoed_reply_is_no_prompt => "QA-019",
}

#[test]
fn none_is_left_out() {
    let listed = home().run(["lab", "list", "--json"]).json();
    let rows = listed.as_array().unwrap();
    let ids: Vec<&str> = rows
        .iter()
        .filter(|row| row["status"] == "implemented")
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ALL);
    let planned = rows.iter().find(|row| row["id"] == "QA-020").unwrap();
    assert_eq!(
        (&planned["platform"], &planned["status"]),
        (&Value::from("windows"), &Value::from("planned"))
    );
    assert!(planned["reason"].is_string() && planned["shows"].is_null(), "{planned}");
    let shown = home().run(["lab", "list"]);
    assert!(
        shown.stdout.lines().count() == rows.len()
            && shown.stdout.contains("QA-018\toutput flood\tlinux\timplemented\t")
            && shown.stdout.contains("QA-010\tSlack message format\tany\tplanned\t"),
        "{shown:?}"
    );
    let count =
        format!("{} scenarios: {} implemented, {} planned", rows.len(), ALL.len(), rows.len() - ALL.len());
    assert!(shown.stderr.contains(&count), "{shown:?}");
}

#[test]
fn what_cannot_be_played_is_said() {
    let check = |args: &[&str], code: i32, words: &str| {
        let told = home().run(["lab", "run"].iter().chain(args));
        assert_eq!((told.code, told.stderr.contains(words)), (code, true), "{told:?}");
    };
    check(&["QA-777"], 2, "there is no scenario QA-777; `atlasbridge lab list`");
    check(&["partial lime"], 2, "there is no scenario partial lime, did you mean partial line?");
    check(
        &["Slack-thread-reply"],
        2,
        "QA-013 (Slack thread reply) cannot be played: there is no Slack channel",
    );
    check(&[], 2, "or say --all");
    check(&["QA-001", "--all"], 2, "cannot be used with");
}

/// In any case, and without quotes around a blank.
#[test]
fn a_scenario_is_played_by_its_name() {
    let played = home().run(["lab", "run", "Partial-Line", "--json"]);
    assert_eq!((played.code, &played.json()[0]["id"]), (0, &Value::from("QA-001")));
}

/// Answers from inside a session are refused by every hub; better said before than found out.
#[test]
fn no_rehearsal_inside_a_session() {
    let home = home();
    let told = home.command(["lab", "run", "QA-001"]).env("ATLASBRIDGE_SESSION", "x").output().unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&told.stderr).contains("inside a session"));
}

/// Ctrl-C in the middle: nothing of the rehearsal is left behind.
#[test]
fn an_interrupted_rehearsal_leaves_nothing() {
    let home = home();
    let scratch = home.scratch().join("tmp");
    std::fs::create_dir(&scratch).unwrap();
    let mut lab = home
        // All of them: however quick the one that is interrupted may be, others are left.
        .command(["lab", "run", "--all"])
        .env("TMPDIR", &scratch)
        .spawn()
        .unwrap();
    let left =
        || std::fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let hub = atlasbridge_testkit::eventually("the tool asks", || {
        let asks =
            |path: &PathBuf| std::fs::read_to_string(path.join("log")).is_ok_and(|log| log.contains("asks"));
        let stage = left().into_iter().find(asks)?;
        std::fs::read_to_string(stage.join("home/hub.lock")).ok()
    });
    rustix::process::kill_process(rustix::process::Pid::from_child(&lab), rustix::process::Signal::INT)
        .unwrap();
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    assert!(left().is_empty(), "{:?}", left());
    // Not in a moment: it was collected before the directory went, or it could still write there.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", hub.trim()));
    assert!(stat.is_err(), "{stat:?}");
}
