//! What Claude Code tells through its hooks, and what it is told back. The events are of the shapes that 2.1.325 sends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where and stop")]

use atlasbridge_detect::{Extent, HookEvent, HookRequest};
use atlasbridge_model::answer::Value;
use atlasbridge_model::{
    Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind, Sighting,
    SightingNo, Strokes, Takes,
};
use serde_json::{Value as Json, json};

fn event(mut event: Json, name: &str) -> HookEvent {
    event["hook_event_name"] = name.into();
    event["session_id"] = "538569ee-7f02-486e-9539-1be2e7783347".into();
    event["cwd"] = "/home/dev/project".into();
    HookEvent::read(event.to_string().as_bytes())
}

#[track_caller]
fn request(event_of: Json) -> HookRequest {
    match event(event_of, "PermissionRequest") {
        HookEvent::Asks(request) => *request,
        other => panic!("{other:?}"),
    }
}

fn bash(command: &str, suggestions: Json) -> HookRequest {
    request(json!({
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Remove build directory"},
        "permission_suggestions": suggestions,
    }))
}

fn questions() -> Json {
    json!({"questions": [{
        "question": "Which database should the service use?",
        "header": "Database",
        "options": [
            {"label": "PostgreSQL", "description": "Robust"},
            {"label": "SQLite", "description": "Single file"},
        ],
        "multiSelect": false,
    }]})
}

fn ask(multiple: bool) -> HookRequest {
    let mut input = questions();
    input["questions"][0]["multiSelect"] = multiple.into();
    request(json!({"tool_name": "AskUserQuestion", "tool_input": input}))
}

fn plan() -> HookRequest {
    request(json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "# Plan\n1. Add it\n"}}))
}

/// A dialog as its screen shows it; `!` marks the row that refuses, `+` one that accepts.
fn dialog(detail: &str, rows: &[&str]) -> Sighting {
    let rows = rows.iter().enumerate().map(|(row, label)| Choice {
        label: label.trim_start_matches(['!', '+']).to_owned(),
        strokes: Some(Strokes::once((row + 1).to_string())),
        effect: match label.as_bytes()[0] {
            b'!' => Effect::Refuses,
            b'+' => Effect::Accepts,
            _ => Effect::Other,
        },
    });
    Sighting {
        no: SightingNo(1),
        kind: Kind::MultipleChoice,
        confidence: Confidence::new(90).unwrap(),
        excerpt: Excerpt::new("Do you want to proceed?"),
        detail: Detail::new(detail),
        choices: Choices::new(rows.collect()),
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Keys,
        fingerprint: Fingerprint([1; 16]),
    }
}

fn row(row: usize, sighting: &Sighting) -> Value {
    let label = sighting.choices.as_ref().unwrap().get(row).unwrap().label.clone();
    Value::Choice { row, label }
}

/// What the tool is told; `keys` where its hook says nothing.
fn told(request: &HookRequest, value: &Value, sighting: &Sighting) -> String {
    let Some(decision) = request.decision(value, sighting) else {
        return "keys".to_owned();
    };
    let said: Json = serde_json::from_str(decision.as_str()).unwrap();
    let said = &said["hookSpecificOutput"];
    assert_eq!(said["hookEventName"], "PermissionRequest");
    said["decision"].to_string()
}

#[track_caller]
fn check(request: &HookRequest, value: &Value, sighting: &Sighting, expected: &str) {
    assert_eq!(told(request, value, sighting), expected, "{value:?}");
}

const BASH: [&str; 4] = [
    "+Yes",
    "+Yes, and don’t ask again for: git push *",
    "+Yes, and switch to auto mode · auto mode handles these prompts for you",
    "!No",
];

#[test]
fn a_permission_is_given_refused_and_remembered() {
    let rule = json!([{
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}],
        "behavior": "allow",
        "destination": "localSettings",
    }]);
    let request = bash("git push origin main", rule);
    let sighting = dialog("git push origin main", &BASH);
    check(&request, &row(0, &sighting), &sighting, r#"{"behavior":"allow"}"#);
    check(
        &request,
        &row(1, &sighting),
        &sighting,
        r#"{"behavior":"allow","updatedPermissions":[{"behavior":"allow","destination":"localSettings","rules":[{"ruleContent":"git push:*","toolName":"Bash"}],"type":"addRules"}]}"#,
    );
    check(&request, &row(2, &sighting), &sighting, "keys");
    let refused = told(&request, &row(3, &sighting), &sighting);
    assert!(refused.starts_with(r#"{"behavior":"deny","interrupt":true"#), "{refused}");
    let reason = Value::Refused { reason: "push to a branch".to_owned() };
    check(&request, &reason, &sighting, r#"{"behavior":"deny","message":"push to a branch"}"#);
    check(&request, &Value::Text("yes".to_owned()), &sighting, "keys");
    check(&request, &Value::Enter, &sighting, "keys");
    let moved = Value::Choice { row: 0, label: "No".to_owned() };
    check(&request, &moved, &sighting, "keys");
}

/// A row that speaks of the project, and a suggestion that is forgotten with the session, are not the same.
#[test]
fn only_what_a_row_says_is_remembered() {
    let sighting =
        dialog("rm -rf build", &["+Yes", "+Yes, and always allow access to build/ from this project", "!No"]);
    let suggestion = |destination: &str| {
        json!([
            {"type": "addDirectories", "directories": ["/p/build"], "destination": destination},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        ])
    };
    let for_session = bash("rm -rf build", suggestion("session"));
    check(&for_session, &row(1, &sighting), &sighting, "keys");
    let for_project = bash("rm -rf build", suggestion("localSettings"));
    check(
        &for_project,
        &row(1, &sighting),
        &sighting,
        r#"{"behavior":"allow","updatedPermissions":[{"destination":"localSettings","directories":["/p/build"],"type":"addDirectories"}]}"#,
    );
}

#[test]
fn a_question_is_answered_with_one_row_several_or_ones_own_words() {
    let sighting = dialog(
        "Which database should the service use?",
        &["PostgreSQL", "SQLite", "Type something.", "Chat about this"],
    );
    let answered = |text: &str| {
        let mut input = questions();
        input["answers"] = json!({"Which database should the service use?": text});
        json!({"behavior": "allow", "updatedInput": input}).to_string()
    };
    check(&ask(false), &row(1, &sighting), &sighting, &answered("SQLite"));
    check(&ask(false), &row(3, &sighting), &sighting, "keys");
    let own = Value::Text("DuckDB, please".to_owned());
    check(&ask(false), &own, &sighting, &answered("DuckDB, please"));
    let both = Value::Several(vec![(0, "PostgreSQL".to_owned()), (1, "SQLite".to_owned())]);
    check(&ask(false), &both, &sighting, "keys");
    let told = told(&ask(true), &both, &sighting);
    assert!(
        told.contains(r#""answers":{"Which database should the service use?":"PostgreSQL, SQLite"}"#),
        "{told}"
    );
    assert!(!told.contains("behavior\":\"deny"), "{told}");
}

/// As many as it says, else any number but none; a question with one answer says nothing of it.
#[test]
fn a_question_with_several_answers_says_how_many() {
    let picks = |request: &HookRequest| {
        let mut sighting = dialog("Which database should the service use?", &["PostgreSQL", "SQLite"]);
        request.enrich(&mut sighting);
        sighting.constraints.picks.map(|picks| (picks.least(), picks.most()))
    };
    assert_eq!(picks(&ask(true)), Some((1, 2)));
    assert_eq!(picks(&ask(false)), None);
    let mut input = questions();
    input["questions"][0]["multiSelect"] = true.into();
    input["questions"][0]["question"] = "Select exactly 2 of these".into();
    let both = request(json!({"tool_name": "AskUserQuestion", "tool_input": input}));
    assert_eq!(picks(&both), Some((2, 2)));
}

#[test]
fn several_questions_are_left_to_the_screen() {
    let mut input = questions();
    let another = input["questions"][0].clone();
    input["questions"].as_array_mut().unwrap().push(another);
    let request = request(json!({"tool_name": "AskUserQuestion", "tool_input": input}));
    let sighting = dialog("Which database should the service use?", &["PostgreSQL", "SQLite"]);
    check(&request, &row(0, &sighting), &sighting, "keys");
    check(&request, &Value::Text("x".to_owned()), &sighting, "keys");
}

/// A plain allow is ignored for a plan (measured): the input must come along.
#[test]
fn a_plan_is_carried_out_or_sent_back() {
    let sighting = dialog(
        "Would you like to proceed?",
        &["+Yes, and use auto mode", "+Yes, manually approve edits", "!Tell Claude what to change"],
    );
    check(&plan(), &row(0, &sighting), &sighting, "keys");
    check(
        &plan(),
        &row(1, &sighting),
        &sighting,
        r##"{"behavior":"allow","updatedInput":{"plan":"# Plan\n1. Add it\n"},"updatedPermissions":[{"destination":"session","mode":"default","type":"setMode"}]}"##,
    );
    check(&plan(), &row(2, &sighting), &sighting, "keys");
    check(
        &plan(),
        &Value::Text("add metrics".to_owned()),
        &sighting,
        r#"{"behavior":"deny","message":"add metrics"}"#,
    );
}

#[track_caller]
fn check_shown(request: &HookRequest, detail: &str, expected: Option<Extent>) {
    assert_eq!(request.shown_by(&dialog(detail, &BASH)), expected, "{} in {detail}", request.title);
}

#[test]
fn a_request_and_a_dialog_are_one_only_if_they_show_the_same() {
    use Extent::Whole;
    let command = "rm -rf build && touch done.flag";
    for (detail, expected) in [
        (" Bash command\n rm -rf build && touch done.flag\n Do you want to proceed?", Some(Whole)),
        // Wrapped, between words and within one, and framed.
        (" Bash command\n rm -rf build && touch\n done.flag\n Do you want to proceed?", Some(Whole)),
        (" Bash command\n rm -rf build && touch do\n ne.flag\n Do you want to proceed?", Some(Whole)),
        ("│ rm -rf build && touch done.flag │", Some(Whole)),
        ("╌╌╌╌\n │ rm -rf build   && touch done.flag\n╌╌╌╌\n Clean", Some(Whole)),
        // Another, a part of it, more than it, the same letters, and a sentence about it.
        (" Bash command\n rm -rf src\n Do you want to proceed?", None),
        ("rm -rf build", None),
        ("touch done.flag", None),
        ("rm -rf build && touch done.flag2", None),
        ("sudo rm -rf build && touch done.flag", None),
        ("rm -rf build || touch done.flag", None),
        ("rm -rf build && touch done . flag", None),
        ("RM -rf build && touch done.flag", None),
        ("Do not rm -rf build && touch done.flag", None),
        ("rm -rf build && tou…", None),
    ] {
        check_shown(&bash(command, json!([])), detail, expected);
    }
    let secret = "curl -H 'Authorization: Bearer abcdef0123456789abcdef0123456789' x";
    check_shown(&bash(secret, json!([])), secret, Some(Whole));
}

/// A short command is in many others; before, it was taken for each of them.
#[test]
fn a_command_is_not_found_inside_another() {
    for shown in ["ls -la build", "false", "echo ls", "cat lsof.txt", "1. ls"] {
        check_shown(&bash("ls", json!([])), &format!("Bash command\n{shown}\nDo you want to proceed?"), None);
    }
    let command = format!("echo {}", "word ".repeat(40));
    let other = format!("{}and something else", &command);
    check_shown(&bash(&command, json!([])), &other, None);
    check_shown(&bash(&other, json!([])), &command, None);
}

/// The tool says by a `…` that it shows no more: a long beginning is known, a short one could be anybody's.
#[test]
fn what_the_tool_has_cut_is_known_by_a_long_beginning_alone() {
    let command = format!("echo {}", "word ".repeat(40));
    let request = bash(&command, json!([]));
    check_shown(&request, &format!("Bash command\n{}…", &command[..120]), Some(Extent::Cut));
    check_shown(
        &request,
        &format!("Bash command\n{}\n{}…", &command[..50], &command[50..90]),
        Some(Extent::Cut),
    );
    check_shown(&request, &format!("Bash command\n{}…", &command[..40]), None);
    check_shown(&request, &format!("Bash command\n{}", &command[..120]), None);
    check_shown(&request, &format!("Bash command\n{} other…", &command[..120]), None);
}

/// From its own directory, from above it, from home, or whole; never by the name of the file alone.
#[test]
fn a_file_is_known_by_its_whole_path() {
    let write = |path: &str| {
        request(json!({ "tool_name": "Write", "tool_input": {"file_path": path, "content": "a"} }))
    };
    for (path, shown, is_shown) in [
        ("/home/dev/project/config.yaml", "config.yaml", true),
        ("/home/dev/project/src/config.yaml", "src/config.yaml", true),
        ("/home/dev/project/src/config.yaml", "Write(src/config.yaml)", true),
        ("/home/dev/project/src/config.yaml", "/home/dev/project/src/config.yaml", true),
        ("/home/dev/other/config.yaml", "../other/config.yaml", true),
        ("/home/dev/other/config.yaml", "~/other/config.yaml", true),
        ("/home/dev/project/src/config.yaml", "config.yaml", false),
        ("/home/dev/project/config.yaml", "src/config.yaml", false),
        ("/home/dev/project/config.yaml", "other.yaml", false),
        ("/etc/config.yaml", "config.yaml", false),
        ("/home/dev/project-two/config.yaml", "-two/config.yaml", false),
    ] {
        let detail = format!("Create file\n{shown}\n 1 a\nDo you want to create it?");
        check_shown(&write(path), &detail, is_shown.then_some(Extent::Whole));
    }
}

#[test]
fn an_address_and_a_search_are_known_by_their_lines() {
    let fetch = request(json!({
        "tool_name": "WebFetch", "tool_input": {"url": "https://docs.example.com/guide", "prompt": "Sum up"},
    }));
    let fetches =
        |url: &str| format!("Fetch\nClaude wants to fetch content from docs.example.com\n url: {url}\n");
    check_shown(&fetch, &fetches("https://docs.example.com/guide"), Some(Extent::Whole));
    check_shown(&fetch, &fetches("https://docs.example.com/guide/intro"), None);
    let search = request(json!({ "tool_name": "WebSearch", "tool_input": {"query": "rust pty crate"} }));
    check_shown(&search, "Tool use\n Web Search(\"rust pty crate\")\n", Some(Extent::Whole));
    check_shown(&search, "Tool use\n Web Search(\"rust pty crate 2026\")\n", None);
}

#[test]
fn a_dialog_gets_the_whole_request() {
    let mut sighting = dialog("rm -rf build", &BASH);
    bash("rm -rf build", json!([])).enrich(&mut sighting);
    assert_eq!(sighting.detail.as_str(), "Bash\ncommand: rm -rf build\ndescription: Remove build directory");
    assert!(sighting.takes.reason && !sighting.takes.own_text);
    let mut asked = dialog("Which database should the service use?", &["PostgreSQL"]);
    ask(true).enrich(&mut asked);
    assert!(asked.takes.own_text && asked.takes.several);
}

/// The screen could not be read, and the hook says what is asked: that is enough to answer by the hook alone.
#[test]
fn a_request_without_a_dialog_stands_for_itself() {
    let rule = json!([{
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}],
        "behavior": "allow",
        "destination": "localSettings",
    }]);
    let request = bash("git push origin main", rule);
    let mut sighting = Sighting { kind: Kind::Unknown, choices: None, ..dialog("some new drawing", &["x"]) };
    request.enrich(&mut sighting);
    assert_eq!(sighting.excerpt.as_str(), "Bash: git push origin main");
    let labels: Vec<&str> =
        sighting.choices.iter().flat_map(Choices::iter).map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["Yes", "Yes, and don't ask again for Bash(git push:*)", "No"]);
    assert!(told(&request, &row(1, &sighting), &sighting).contains("updatedPermissions"));
    assert!(told(&request, &row(2, &sighting), &sighting).contains("deny"));
    assert_eq!(sighting.choices.as_ref().unwrap().refusing(), Some(2));
}

#[test]
fn reports_and_what_they_end() {
    let request = bash("rm -rf build", json!([]));
    let done = |command: &str| {
        event(
            json!({
                "tool_name": "Bash",
                "tool_input": {"command": command, "description": "Remove build directory"},
                "tool_use_id": "toolu_1",
            }),
            "PostToolUse",
        )
    };
    assert!(done("rm -rf build").answers(&request));
    assert!(!done("rm -rf src").answers(&request));
    let mut answered = questions();
    answered["answers"] = json!({"Which database should the service use?": "SQLite"});
    let answered = event(json!({"tool_name": "AskUserQuestion", "tool_input": answered}), "PostToolUse");
    assert!(answered.answers(&ask(false)));
    let stop = event(json!({"last_assistant_message": "Done."}), "Stop");
    assert!(stop.answers(&request));
    assert_eq!(stop, HookEvent::Finished { message: "Done.".to_owned() });
    assert_eq!(event(json!({}), "UserPromptSubmit"), HookEvent::Works);
    assert!(!event(json!({}), "PreToolUse").answers(&request));
}

/// No hook ever fails: what is not understood says nothing.
#[test]
fn what_is_no_event_says_nothing() {
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"hook_event_name":7}"#,
        r#"{"hook_event_name":"PermissionRequest"}"#,
    ] {
        assert_eq!(HookEvent::read(text.as_bytes()), HookEvent::Other, "{text}");
    }
    assert_eq!(event(json!({}), "SomethingNew"), HookEvent::Other);
}

#[test]
fn a_request_that_names_nothing_is_shown_by_its_own_dialog_alone() {
    let delete = |input: Json| request(json!({"tool_name": "mcp__files__delete", "tool_input": input}));
    let other = "Bash command\n\n rm -rf build\n";
    let own = "Tool use\n\n files - delete(where: \"/srv\") (MCP)\n";
    check_shown(&delete(json!({"where": "/srv"})), own, Some(Extent::Whole));
    check_shown(&delete(json!({"where": "/etc"})), own, None);
    check_shown(&delete(json!({"where": "/srv"})), other, None);
    check_shown(&delete(json!({})), other, None);
    check_shown(&plan(), "Claude has written up a plan and is ready to execute.", Some(Extent::Whole));
    check_shown(&plan(), "Exit plan mode?\n Claude wants to exit plan mode", Some(Extent::Whole));
    check_shown(&plan(), "Bash command\n\n cat plan.md\n", None);
    for nothing in ["", " ", "…"] {
        check_shown(&bash(nothing, json!([])), other, None);
    }
    let newer = request(json!({"tool_name": "Divine", "tool_input": {"omens": 3}}));
    check_shown(&newer, "Divine\n 3 omens\nDo you want to proceed?", None);
}
