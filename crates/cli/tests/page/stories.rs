//! One prompt, from many sides at once.

use std::net::TcpStream;

use atlasbridge_testkit::{Lines, ScriptedAgent, eventually};
use serde_json::{Value, json};

use crate::Desk;
use crate::tools::Tools;

#[test]
fn the_reason_of_a_refusal_is_the_agents_next_instruction() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let card = tools.ask("agent");
    let label = card["session"]["label"].as_str().unwrap();
    let answer = tools.visitor().answers(&card, json!({ "deny_with_reason": "use the staging database" }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let read =
        eventually("the agent has its instruction", || Some(tools.read(label)).filter(|read| read.len() > 1));
    assert_eq!(read, ["chose 3", "instruction use the staging database"]);
}

#[test]
fn an_instruction_waits_for_its_agent_is_seen_and_taken_back() {
    let desk = Desk::new();
    let agent = ScriptedAgent::start(&desk.home, "one", Lines::Several);
    let visitor = desk.visitor();
    let idle =
        eventually("the agent waits", || visitor.prompts().into_iter().find(|card| card["is_open"] == true));
    assert_eq!((&idle["kind"], &idle["takes"]["lines"]), (&json!("idle"), &json!(true)));
    assert_eq!(visitor.answers(&idle, json!({ "text": "!ls" })).status, 428);
    let path = format!("/api/sessions/{}", idle["session"]["id"].as_str().unwrap());
    let send = |body: Value| visitor.post(&format!("{path}/send"), &body);
    let instructions = || visitor.get(&path).json()["session"]["instructions"].clone();
    let sent = send(json!({ "text": "begin" }));
    assert_eq!((sent.status, &sent.json()["prompt"]["word"]), (200, &json!("applied")));
    agent.was_told(&["begin"]);

    let queued = send(json!({ "text": "first\nsecond" }));
    assert_eq!(queued.status, 200, "{queued:?}");
    assert!(queued.json()["queued"].as_str().unwrap().contains("is working"), "{queued:?}");
    assert_eq!(instructions()["queued"], "first\nsecond");
    assert_eq!(visitor.post(&format!("{path}/take_back"), &json!({})).status, 200);
    assert_eq!(visitor.post(&format!("{path}/take_back"), &json!({})).status, 409);
    assert_eq!(instructions()["queued"], Value::Null);
    let asked = send(json!({ "text": "/clear" }));
    assert_eq!(asked.status, 428, "{asked:?}");
    assert!(asked.json()["error"].as_str().unwrap().contains("`/clear` would be taken as a command"));
    assert_eq!(send(json!({ "text": "/clear", "as_is": true })).status, 200);
    desk.home.kill_hub();
    assert_eq!(desk.home.run(["hub", "start"]).code, 0);
    eventually("the page is served again", || TcpStream::connect(("127.0.0.1", desk.port)).ok().map(drop));
    assert_eq!(instructions()["queued"], "/clear");
    agent.finish();
    agent.was_told(&["begin", "/clear"]);
    eventually("nothing waits any more", || instructions()["queued"].is_null().then_some(()));

    assert_eq!(send(json!({ "text": "never" })).status, 200);
    assert_eq!(visitor.post(&format!("{path}/stop"), &json!({})).status, 200);
    let unsent = json!({ "text": "never", "why": "session ended" });
    eventually("it is told that it was not sent", || (instructions()["unsent"] == unsent).then_some(()));
    assert_eq!(visitor.post(&format!("{path}/take_back"), &json!({})).status, 200);
    assert_eq!(instructions(), Value::Null, "seen and put away");
    assert_eq!(send(json!({ "text": "hello?" })).status, 409);
    assert_eq!(agent.read().len(), 2);
}
