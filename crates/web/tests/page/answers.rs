//! What the API tells and does, each answer checked against its description.

use std::collections::BTreeSet;

use atlasbridge_model::answer::{Said, Source};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::picture::{Row, Run, Style};
use atlasbridge_model::{Picture, PromptId, ReplyId, Span, Takes, Timestamp};
use atlasbridge_web::questions::{Key, Typing};
use serde_json::{Value, json};

use crate::client::Request;
use crate::hub::{Hub, card, nonce, prompt_id, session_id};
use crate::schema::Description;

fn picture(text: &str) -> Picture {
    let run = Run { text: text.to_owned(), cells: text.chars().count() as u16, style: Style::default() };
    Picture {
        columns: 80,
        rows: vec![Row { runs: vec![run] }, Row::default()],
        cursor: Some((1, 0)),
        is_alternate: true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_as_it_is_described() {
    let hub = Hub::start();
    let login = hub.new_login();
    let description = Description::read();
    hub.show(picture("<i>$ls"));
    let (prompt, session) = (prompt_id(), session_id());
    let answer = json!({ "nonce": nonce().to_hex(), "answer": { "choice": 1 } });
    let rows = [
        ("GET /healthz", String::new(), None),
        ("GET /api/me", String::new(), None),
        ("GET /api/prompts", String::new(), None),
        ("GET /api/sessions", "?all=1".to_owned(), None),
        ("GET /api/sessions/{id}", session.to_string(), None),
        ("GET /api/sessions/{id}/lines", session.to_string(), None),
        ("GET /api/sessions/{id}/screen", session.to_string(), None),
        ("GET /api/history", "?q=run&most=5".to_owned(), None),
        ("GET /api/audit", "?most=3".to_owned(), None),
        ("GET /api/audit/verify", String::new(), None),
        ("GET /api/export", String::new(), None),
        ("POST /api/sessions/{id}/type", session.to_string(), Some(json!({ "key": "ctrl_c" }))),
        ("POST /api/prompts/{id}/answer", prompt.to_string(), Some(answer)),
        ("POST /api/sessions/{id}/send", session.to_string(), Some(json!({ "text": "go on" }))),
        ("POST /api/sessions/{id}/take_back", session.to_string(), Some(json!({}))),
        ("POST /api/sessions/{id}/stop", session.to_string(), Some(json!({}))),
    ];
    let mut checked = BTreeSet::new();
    for (operation, given, body) in rows {
        let (_, path) = operation.split_once(' ').unwrap();
        let path = match path.contains("{id}") {
            true => path.replace("{id}", &given),
            false => format!("{path}{given}"),
        };
        let request = match &body {
            None => Request::get(&hub, &login, &path),
            Some(body) => Request::post(&hub, &login, &path, body),
        };
        let response = request.send().await;
        assert_eq!(response.status, 200, "{operation}: {}", response.text());
        description.check(operation, &response);
        checked.insert(operation.to_owned());
        // And as it is described where it does not work.
        let refused = request.without("cookie").send().await;
        if refused.status != 200 {
            assert_eq!(refused.status, 401);
            description.check(operation, &refused);
        }
    }
    assert_eq!(checked, description.telling().into_iter().collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_tells_everything_and_hides_nothing() {
    let hub = Hub::start();
    let login = hub.new_login();
    let response = Request::get(&hub, &login, "/api/prompts").send().await;
    let expected = json!({ "prompts": [{
        "id": prompt_id().to_string(),
        "code": prompt_id().short(),
        "session": {
            "id": session_id().to_string(),
            "tool": "claude",
            "label": "fix⟨U+200B⟩ it",
            "cwd": "/srv/project",
        },
        "nonce": "a5".repeat(16),
        "kind": "multiple_choice",
        "confidence": "high",
        "excerpt": "Do you want to run <b>rm</b> ⟨U+202E⟩txt.x?",
        "detail": "Bash command\n  rm -rf build",
        "choices": [
            { "label": "Yes", "effect": "accepts" },
            { "label": "No⟨U+200B⟩", "effect": "refuses" },
        ],
        "max_length": 200,
        "min_choice": null,
        "max_choice": null,
        "min_picks": null,
        "max_picks": null,
        "asked_at": "2026-01-02T03:04:05.678Z",
        "expires_at": "2026-01-02T03:14:05.678Z",
        "seconds_left": 600,
        "silence": "No",
        "if_nobody_answers": "If nobody answers: No",
        "status": "awaiting_reply",
        "reason": null,
        "word": card().state.word(),
        "wants": "asks you to choose",
        "tone": "busy",
        "meaning": null,
        "is_open": true,
        "answered": null,
        "takes": { "text": false, "reason": true, "reason_at_once": false, "several": false, "rows": "several", "lines": false, "by_hook": false },
    }] });
    assert_eq!(response.json(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_tells_what_it_takes_besides_its_rows() {
    let hub = Hub::start();
    let login = hub.new_login();
    hub.state().prompts[0].sighting.constraints.picks = Span::new(1, 2);
    hub.state().prompts[0].sighting.takes =
        Takes { reason: true, own_text: true, several: true, lines: false };
    hub.state().prompts[0].state =
        PromptState::ReplyReceived { reply: ReplyId::from_random([1; 16]), source: Source::Command };
    let path = format!("/api/sessions/{}", session_id());
    let told = Request::get(&hub, &login, &path).send().await.json();
    let card = &told["prompts"][0];
    assert_eq!(card["word"], "being answered", "what a hook is told is not typed");
    let expected = json!({ "text": true, "reason": true, "reason_at_once": true, "several": true, "rows": "choose 1 to 2", "lines": false, "by_hook": true });
    assert_eq!(card["takes"], expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instruction_is_queued_shown_and_taken_back() {
    let hub = Hub::start();
    let login = hub.new_login();
    let path = format!("/api/sessions/{}", session_id());
    let instructions = async || {
        let told = Request::get(&hub, &login, &path).send().await.json();
        told["session"]["instructions"].clone()
    };
    let unsent = json!({ "text": "do it⟨U+200B⟩", "why": "session ended" });
    let expected = json!({ "max_length": 4000, "lines": true, "queued": null, "unsent": unsent });
    assert_eq!(instructions().await, expected);
    let post = async |what: &str, body: Value| {
        let path = format!("{path}/{what}");
        Request::post(&hub, &login, &path, &body).send().await
    };
    let sent = post("send", json!({ "text": "one\ntwo\u{202e}" })).await;
    let told = "claude is working; this is sent when it has finished.";
    assert_eq!((sent.status, sent.json()), (200, json!({ "prompt": null, "queued": told })));
    assert_eq!(instructions().await["queued"], "one\ntwo⟨U+202E⟩");
    let taken = post("take_back", json!({})).await;
    assert_eq!((taken.status, taken.json()), (200, json!({ "ok": true })));
    assert_eq!(post("take_back", json!({})).await.status, 409);
    assert_eq!(instructions().await["queued"], Value::Null);
    assert_eq!(hub.state().changed, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_first_character_makes_of_a_text_must_be_confirmed() {
    let hub = Hub::start();
    let login = hub.new_login();
    let description = Description::read();
    let answer = json!({ "nonce": nonce().to_hex(), "answer": { "text": "!ls" } });
    for (operation, id, mut body) in [
        ("POST /api/sessions/{id}/send", session_id().to_string(), json!({ "text": "!ls" })),
        ("POST /api/prompts/{id}/answer", prompt_id().to_string(), answer),
    ] {
        let path = operation.split_once(' ').unwrap().1.replace("{id}", &id);
        let before = hub.state().changed;
        let refused = Request::post(&hub, &login, &path, &body).send().await;
        assert_eq!(refused.status, 428, "{}", refused.text());
        description.check(operation, &refused);
        assert_eq!(hub.state().changed, before);
        body["as_is"] = json!(true);
        let meant = Request::post(&hub, &login, &path, &body).send().await;
        assert_eq!(meant.status, 200, "{}", meant.text());
        assert_eq!(hub.state().changed, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_to_answer_reaches_the_hub_as_it_was_meant() {
    for (answer, expected) in [
        (json!({ "choice": 1 }), Said::Row(1)),
        (json!({ "say": "approve" }), Said::Approve),
        (json!({ "say": "deny" }), Said::Deny),
        (json!({ "say": "default" }), Said::UseDefault),
        (json!({ "say": "cancel" }), Said::Cancel),
        (json!({ "say": "enter" }), Said::Enter),
        (json!({ "text": "enter" }), Said::Text("enter".to_owned())),
        (json!({ "deny_with_reason": "use make" }), Said::DenyWith("use make".to_owned())),
    ] {
        let hub = Hub::start();
        let login = hub.new_login();
        let path = format!("/api/prompts/{}/answer", prompt_id());
        let body = json!({ "nonce": nonce().to_hex(), "answer": answer });
        let request = Request::post(&hub, &login, &path, &body);
        let response = request.send().await;
        assert_eq!(response.status, 200, "{answer}: {}", response.text());
        let told = response.json();
        assert_eq!(told["prompt"]["is_open"], false);
        assert_eq!(told["prompt"]["answered"]["by"], "web:test");
        assert!(hub.state().said == [expected], "{answer}");
        // The same again is refused in a sentence, and does nothing.
        let again = request.send().await;
        assert_eq!(again.status, 409);
        assert_eq!(again.json()["error"], "this prompt is not waiting; nothing was typed");
        assert_eq!(hub.state().changed, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_reaches_the_hub_as_it_was_meant() {
    let hub = Hub::start();
    let login = hub.new_login();
    let path = format!("/api/sessions/{}/type", session_id());
    let text = "ls".to_owned();
    for (body, expected) in [
        (json!({ "key": "escape" }), Typing::Key(Key::Escape)),
        (json!({ "text": "ls", "enter": true }), Typing::Text { text: text.clone(), enter: true }),
        (json!({ "text": "ls" }), Typing::Text { text, enter: false }),
    ] {
        let response = Request::post(&hub, &login, &path, &body).send().await;
        assert_eq!((response.status, response.json()), (200, json!({ "ok": true })));
        assert_eq!(hub.state().typed.pop(), Some((session_id(), expected)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_screen_is_text_in_spans() {
    let hub = Hub::start();
    let login = hub.new_login();
    hub.show(picture("<script>"));
    let path = format!("/api/sessions/{}/screen", session_id());
    let response = Request::get(&hub, &login, &path).send().await;
    let expected = json!({
        "columns": 80,
        "rows": ["&lt;script&gt;", ""],
        "cursor": [1, 0],
        "alternate": true,
    });
    assert_eq!(response.json(), expected);
    let gone = Request::get(&hub, &login, "/api/sessions/11111111-1111-4111-8111-111111111111/screen");
    assert_eq!(gone.send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_and_export_hold_every_prompt_once() {
    let hub = Hub::start();
    let login = hub.new_login();
    let many: Vec<_> = (0..1203u16)
        .map(|number| {
            let mut bytes = [0; 16];
            bytes[..2].copy_from_slice(&number.to_be_bytes());
            let prompt = PromptId::from_random(bytes);
            atlasbridge_channel::Card { prompt, asked_at: Timestamp(number.into()), ..card() }
        })
        .collect();
    let expected: Vec<String> = many.iter().rev().map(|card| card.prompt.to_string()).collect();
    hub.state().prompts = many;

    let ids = |prompts: &Value| -> Vec<String> {
        let prompts = prompts.as_array().unwrap().iter();
        prompts.map(|prompt| prompt["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut found = Vec::new();
    let mut before = String::new();
    loop {
        let page = Request::get(&hub, &login, &format!("/api/history?most=500{before}")).send().await.json();
        found.extend(ids(&page["prompts"]));
        match &page["next"] {
            Value::Null => break,
            next => before = format!("&before={next}"),
        }
    }
    assert_eq!(found, expected);

    let response = Request::get(&hub, &login, "/api/export").send().await;
    let disposition = response.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"atlasbridge.json\""));
    let export = response.json();
    Description::read().check_named("Export", &export);
    assert_eq!(ids(&export["prompts"]), expected);
    assert_eq!(export["audit"].as_array().unwrap().len(), 1200);
    assert_eq!(export["is_complete"], true);
    assert!(!response.text().contains(&nonce().to_hex()), "a file gives no right to answer");
}
