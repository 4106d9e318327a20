//! What Codex asks by its app-server, and what it is told back. The requests are of the shapes that 0.166.0 sends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where and stop")]

use atlasbridge_detect::{Extent, HookEvent, HookRequest};
use atlasbridge_model::answer::Value;
use atlasbridge_model::{
    Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind, Sighting,
    SightingNo, Strokes, Takes,
};
use serde_json::{Value as Json, json};

fn read(event: &Json) -> HookEvent {
    HookEvent::read(event.to_string().as_bytes())
}

#[track_caller]
fn request(event: &Json) -> HookRequest {
    match read(event) {
        HookEvent::Asks(request) => *request,
        other => panic!("{other:?}"),
    }
}

fn command_event(command: &str, amendment: Json) -> Json {
    let remembering = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}});
    json!({
        "hook_event_name": "codex/approval",
        "method": "item/commandExecution/requestApproval",
        "id": 0,
        "params": {
            "kind": "command",
            "threadId": "01a1e7ac-00f0-72e3-a26c-899d18f99307",
            "turnId": "01a1e7ac-0fbd-7fc3-8337-770621bf0ae6",
            "itemId": "call_0",
            "startedAtMs": 1_794_888_175_746_i64,
            "environmentId": "local",
            "reason": "Is this fine?",
            "command": command,
            "cwd": "/home/dev/project",
            "commandActions": [{"type": "unknown", "command": "whatever"}],
            "proposedExecpolicyAmendment": amendment,
            "availableDecisions": ["accept", remembering, "cancel"],
        },
    })
}

fn command(command: &str, amendment: Json) -> HookRequest {
    request(&command_event(command, amendment))
}

fn edit(paths: &[&str]) -> HookRequest {
    let changes: Vec<Json> =
        paths.iter().map(|path| json!({"path": path, "kind": {"type": "add"}, "diff": "hello\n"})).collect();
    request(&json!({
        "hook_event_name": "codex/approval",
        "method": "item/fileChange/requestApproval",
        "id": 4,
        "params": {"threadId": "t", "turnId": "u", "itemId": "call_0", "reason": null, "grantRoot": null},
        "item": {"type": "fileChange", "id": "call_0", "changes": changes, "status": "inProgress"},
    }))
}

const NO: &str = "No, and tell Codex what to do differently";

/// A dialog as the screen shows it: the last of the rows refuses, the others accept.
fn dialog(body: &str, rows: &[&str]) -> Sighting {
    let last = rows.len() - 1;
    let choices = rows.iter().enumerate().map(|(row, label)| Choice {
        label: (*label).to_owned(),
        strokes: Some(Strokes::once((row + 1).to_string())),
        effect: if row == last { Effect::Refuses } else { Effect::Accepts },
    });
    let shown = rows.iter().enumerate();
    let shown: Vec<String> = shown.map(|(row, label)| format!("  {}. {label}", row + 1)).collect();
    Sighting {
        no: SightingNo(1),
        kind: Kind::MultipleChoice,
        confidence: Confidence::new(90).unwrap(),
        excerpt: Excerpt::new("Would you like to run the following command?"),
        detail: Detail::new(&format!("{body}\n\n\n{}\n", shown.join("\n"))),
        choices: Choices::new(choices.collect()),
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Keys,
        fingerprint: Fingerprint([1; 16]),
    }
}

fn asks_for(command: &str) -> Sighting {
    let remember = format!("Yes, and don't ask again for commands that start with `{command}`");
    let body = format!(
        "  Would you like to run the following command?\n\n  Environment: local\n\n  Reason: Is this fine?\n\n  $ {command}"
    );
    dialog(&body, &["Yes, proceed", &remember, NO])
}

fn asks_for_edits(paths: &[&str]) -> Sighting {
    let paths: Vec<String> = paths.iter().map(|path| format!("  Destination: {path}")).collect();
    let body = format!(
        "  Would you like to make the following edits?\n\n  Description: Apply proposed file edits\n{}",
        paths.join("\n")
    );
    let rows = ["Yes, proceed", "Yes, and don't ask again for these files", NO];
    dialog(&body, &rows)
}

fn row(row: usize, sighting: &Sighting) -> Value {
    let label = sighting.choices.as_ref().unwrap().get(row).unwrap().label.clone();
    Value::Choice { row, label }
}

/// `keys` where nothing is said.
#[track_caller]
fn check(request: &HookRequest, value: &Value, sighting: &Sighting, expected: &str) {
    let told = request.decision(value, sighting);
    let told = told.as_ref().map_or("keys", atlasbridge_detect::Decision::as_str);
    assert_eq!(told, expected, "{value:?}");
}

#[test]
fn a_command_is_accepted_remembered_and_refused() {
    let request = command("/bin/bash -lc 'touch one.txt'", json!(["touch", "one.txt"]));
    let sighting = asks_for("touch one.txt");
    assert_eq!(request.shown_by(&sighting), Some(Extent::Whole));
    assert_eq!(request.title, "Command: touch one.txt");
    check(&request, &row(0, &sighting), &sighting, r#"{"decision":"accept"}"#);
    check(
        &request,
        &row(1, &sighting),
        &sighting,
        r#"{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","one.txt"]}}}"#,
    );
    check(&request, &row(2, &sighting), &sighting, r#"{"decision":"cancel"}"#);
    let moved = Value::Choice { row: 0, label: NO.to_owned() };
    for other in
        [moved, Value::Enter, Value::Text("y".to_owned()), Value::Refused { reason: "use git".to_owned() }]
    {
        check(&request, &other, &sighting, "keys");
    }
}

#[test]
fn only_what_the_server_proposes_is_remembered() {
    // The row speaks of more than the server would remember.
    let sighting = asks_for("touch one.txt");
    let narrower = command("/bin/bash -lc 'touch one.txt'", json!(["touch"]));
    check(&narrower, &row(1, &sighting), &sighting, "keys");
    let nothing = command("/bin/bash -lc 'touch one.txt'", Json::Null);
    check(&nothing, &row(1, &sighting), &sighting, "keys");
    // A decision that is not on its list is not sent.
    let mut event = command_event("/bin/bash -lc 'touch one.txt'", json!(["touch", "one.txt"]));
    event["params"]["availableDecisions"] = json!(["accept", "decline"]);
    let listed = request(&event);
    check(&listed, &row(0, &sighting), &sighting, r#"{"decision":"accept"}"#);
    check(&listed, &row(1, &sighting), &sighting, "keys");
    check(&listed, &row(2, &sighting), &sighting, "keys");
    // A row of a version to come.
    let rows = ["Yes, proceed", "Yes, and never ask again for anything", NO];
    let newer = dialog("  $ touch one.txt", &rows);
    check(&narrower, &row(1, &newer), &newer, "keys");
}

#[test]
fn edits_are_accepted_for_once_or_for_the_session() {
    let request = edit(&["/home/dev/project/hello.txt", "/home/dev/project/sub/other.txt"]);
    let sighting = asks_for_edits(&["/home/dev/project/hello.txt", "/home/dev/project/sub/other.txt"]);
    assert_eq!(request.shown_by(&sighting), Some(Extent::Whole));
    for (at, expected) in [
        (0, r#"{"decision":"accept"}"#),
        (1, r#"{"decision":"acceptForSession"}"#),
        (2, r#"{"decision":"cancel"}"#),
    ] {
        check(&request, &row(at, &sighting), &sighting, expected);
    }
    let all = ["/home/dev/project/hello.txt", "/home/dev/project/sub/other.txt", "/etc/passwd"];
    for other in [asks_for_edits(&all[..1]), asks_for_edits(&all), asks_for("touch one.txt")] {
        assert_eq!(request.shown_by(&other), None);
    }
}

#[track_caller]
fn check_shown(command_line: &str, shown: &str, expected: Option<Extent>) {
    let request = command(command_line, Json::Null);
    assert_eq!(request.shown_by(&asks_for(shown)), expected, "{command_line} in {shown}");
}

#[test]
fn a_request_is_bound_to_the_dialog_that_shows_exactly_its_command() {
    let whole = Some(Extent::Whole);
    check_shown("/bin/bash -lc 'rm -rf build'", "rm -rf build", whole);
    check_shown("/usr/bin/zsh -lc ls", "ls", whole);
    check_shown("git push", "git push", whole);
    check_shown(r#"/bin/bash -lc 'echo '"'"'it is'"'"' \$HOME'"#, r"echo 'it is' \$HOME", whole);
    check_shown("/bin/bash -lc 'echo one\necho two'", "echo one\n    echo two", whole);
    check_shown("/bin/bash -lc ls", "ls -la build", None);
    check_shown("/bin/bash -lc 'ls -la build'", "ls", None);
    check_shown("/bin/bash -lc build", "rm -rf build", None);
    check_shown("/bin/bash -lc b", "echo a $ b", None);
    check_shown("/bin/bash -lc 'rm -rf ./build'", "rm -rf build", None);
    // Too long for a dialog: its beginning is there, and the dialog says that it is cut.
    let long = format!("echo {}", "word ".repeat(40));
    check_shown(&format!("/bin/bash -lc '{long}'"), &long, whole);
    check_shown(&format!("/bin/bash -lc '{long}'"), &format!("{}…", &long[..120]), Some(Extent::Cut));
    check_shown(&format!("/bin/bash -lc '{long}'"), &long[..120], None);
    check_shown(&format!("/bin/bash -lc '{long}'"), &format!("{long} more"), None);
    // What the model writes as its reason is no command.
    let named = command("/bin/bash -lc 'rm -rf build'", Json::Null);
    for body in ["  Reason: $ rm -rf build\n\n  $ echo hi", "  Reason: fine\n  $ rm -rf build\n\n  $ echo hi"]
    {
        assert_eq!(named.shown_by(&dialog(body, &["Yes, proceed", NO])), None, "{body}");
    }
}

#[test]
fn what_is_asked_is_told_whole() {
    let mut sighting = asks_for("rm -rf build");
    command("/bin/bash -lc 'rm -rf build'", Json::Null).enrich(&mut sighting);
    assert_eq!(sighting.detail.as_str(), "$ rm -rf build\nin /home/dev/project\nReason: Is this fine?");
    assert_eq!(sighting.takes, Takes::NOTHING);
    let mut sighting = asks_for_edits(&["/p/hello.txt"]);
    edit(&["/p/hello.txt"]).enrich(&mut sighting);
    assert_eq!(sighting.detail.as_str(), "add /p/hello.txt\nhello");
}

#[test]
fn a_dialog_that_nobody_could_read_is_answered_all_the_same() {
    let request = command("/bin/bash -lc 'touch one.txt'", json!(["touch"]));
    let mut sighting = Sighting { kind: Kind::Unknown, choices: None, ..asks_for("touch one.txt") };
    request.enrich(&mut sighting);
    let labels: Vec<String> =
        (0..3).map(|at| sighting.choices.as_ref().unwrap().get(at).unwrap().label.clone()).collect();
    assert_eq!(labels, ["Yes, proceed", "Yes, and don't ask again for commands that start with `touch`", NO]);
    check(&request, &row(0, &sighting), &sighting, r#"{"decision":"accept"}"#);
    check(
        &request,
        &row(1, &sighting),
        &sighting,
        r#"{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}"#,
    );
    check(&request, &row(2, &sighting), &sighting, r#"{"decision":"cancel"}"#);
}

#[test]
fn other_requests_and_reports() {
    let finished = json!({"hook_event_name": "codex/finished", "last_message": "All done."});
    let words = HookEvent::Finished { message: "All done.".to_owned() };
    assert_eq!(read(&finished), words);
    assert_eq!(read(&json!({"hook_event_name": "codex/works"})), HookEvent::Works);
    let with = |key: &str, value: Json| {
        let mut event = command_event("/bin/bash -lc ls", Json::Null);
        event["params"][key] = value;
        event
    };
    let mut question = command_event("ls", Json::Null);
    question["method"] = "item/tool/requestUserInput".into();
    let mut unknown_edit = question.clone();
    unknown_edit["method"] = "item/fileChange/requestApproval".into();
    for event in [
        with("kind", "writeStdin".into()),
        with("networkApprovalContext", json!({"host": "example.com", "protocol": "https"})),
        with("command", Json::Null),
        question,
        unknown_edit,
        json!({"hook_event_name": "codex/finished"}),
        json!({"hook_event_name": "codex/new"}),
        json!({"hook_event_name": 7}),
    ] {
        assert_eq!(read(&event), HookEvent::Other, "{event}");
    }
    // Nothing but its own server ends a request of Codex.
    let request = command("/bin/bash -lc ls", Json::Null);
    assert!(!words.answers(&request) && !HookEvent::Ended.answers(&request));
}
