//! One prompt, from many sides at once.

use atlasbridge_testkit::eventually;
use serde_json::json;

use crate::Desk;
use crate::tools::Tools;

#[test]
fn the_reason_of_a_refusal_is_the_agents_next_instruction() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let card = tools.ask("agent");
    let label = card["session"]["label"].as_str().unwrap();
    let answer = tools
        .visitor()
        .answers(&card, json!({ "deny_with_reason": "use the staging database" }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let read = eventually("the agent has its instruction", || {
        Some(tools.read(label)).filter(|read| read.len() > 1)
    });
    assert_eq!(read, ["chose 3", "instruction use the staging database"]);
}
