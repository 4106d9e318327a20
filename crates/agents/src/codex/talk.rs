//! What is said to the app-server, and what its words mean for the session host. Pure: messages in, errands out.
//!
//! As measured with 0.166.0: JSON-RPC without its version. Every client hears of threads; only one that has resumed a thread
//! hears what is asked in it. A request that waits already is told again to each client that joins.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Our first words wait for an answer under this number; resumed threads have those that follow.
const GREETING: u64 = 1;

/// What is to be done now.
#[derive(Debug, PartialEq)]
pub(super) enum Errand {
    /// Say this to the server.
    Say(Value),
    /// It knows us: from now on it tells.
    Greeted,
    /// It does not want to.
    Refused,
    /// Bring this request to the session host, and keep the line open for its decision.
    Ask { id: Value, event: Value },
    /// This request was answered, there or here.
    Withdraw { id: Value },
    /// Tell the session host.
    Tell(Value),
}

/// How far we are with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Joined {
    #[default]
    No,
    /// Under way, with this number.
    Asked(u64),
    Yes,
    /// Helpers of Codex's own, such as the one that finds a title. They ask nothing, and cannot be joined.
    Never,
}

#[derive(Debug, Default)]
struct Thread {
    joined: Joined,
    /// Started by another: what it says last is not what the person reads.
    is_child: bool,
    works: bool,
    /// Its last words of this turn.
    words: Option<String>,
}

#[derive(Debug)]
pub(super) struct Talk {
    last_number: u64,
    threads: HashMap<String, Thread>,
    /// Edits under way, by thread and item: their request does not say what they change.
    edits: HashMap<(String, String), Value>,
}

impl Talk {
    /// And our first words.
    pub(super) fn begin(version: &str) -> (Self, Value) {
        let talk = Self { last_number: GREETING, threads: HashMap::new(), edits: HashMap::new() };
        let client = json!({ "name": "atlasbridge", "title": "AtlasBridge", "version": version });
        let greeting = json!({ "id": GREETING, "method": "initialize", "params": { "clientInfo": client } });
        (talk, greeting)
    }

    /// What the person decided about a request, in the words of the session host.
    pub(super) fn decided(id: &Value, decision: &str) -> Option<Value> {
        let result: Value = serde_json::from_str(decision).ok()?;
        Some(json!({ "id": id, "result": result }))
    }

    pub(super) fn hear(&mut self, message: &Value) -> Vec<Errand> {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (None, Some(id)) => self.answered(id, message.get("error").is_none()),
            (Some(method), Some(id)) => self.asked(method, id, params).into_iter().collect(),
            (Some("thread/status/changed"), None) => self.stirred(params).unwrap_or_default(),
            (Some(method), None) => self.told(method, params).into_iter().collect(),
            (None, None) => Vec::new(),
        }
    }

    fn answered(&mut self, id: &Value, is_good: bool) -> Vec<Errand> {
        match (id.as_u64(), is_good) {
            (Some(GREETING), true) => {
                return vec![Errand::Say(json!({ "method": "initialized" })), Errand::Greeted];
            }
            (Some(GREETING), false) => return vec![Errand::Refused],
            (_, _) => {}
        }
        let asked = id.as_u64().map(Joined::Asked);
        for thread in self.threads.values_mut().filter(|thread| Some(thread.joined) == asked) {
            // One that cannot be joined yet is tried again when next it stirs.
            thread.joined = if is_good { Joined::Yes } else { Joined::No };
        }
        Vec::new()
    }

    /// A request of the server's. Others than these two are left to the screen, and never answered from here.
    fn asked(&self, method: &str, id: &Value, params: &Value) -> Option<Errand> {
        let mut event = json!({
            "hook_event_name": "codex/approval",
            "method": method,
            "id": id,
            "params": params,
        });
        match method {
            "item/commandExecution/requestApproval" => {}
            "item/fileChange/requestApproval" => {
                event["item"] = self.edits.get(&place(params, &params["itemId"])?)?.clone();
            }
            _ => return None,
        }
        Some(Errand::Ask { id: id.clone(), event })
    }

    fn told(&mut self, method: &str, params: &Value) -> Option<Errand> {
        match method {
            "thread/started" => self.started(&params["thread"]),
            "thread/closed" => {
                self.threads.remove(params["threadId"].as_str()?);
            }
            "item/started" => self.begun(params),
            "item/completed" => self.done(params),
            "turn/completed" => return self.finished(params),
            "serverRequest/resolved" => return Some(Errand::Withdraw { id: params["requestId"].clone() }),
            _ => {}
        }
        None
    }

    fn started(&mut self, thread: &Value) {
        let Some(id) = thread["id"].as_str() else { return };
        let seen = self.threads.entry(id.to_owned()).or_default();
        seen.is_child = !thread["parentThreadId"].is_null();
        if thread["ephemeral"] == true {
            seen.joined = Joined::Never;
        }
    }

    /// A thread that works is joined, if it is not: before its first turn it cannot be.
    fn stirred(&mut self, params: &Value) -> Option<Vec<Errand>> {
        let id = params["threadId"].as_str()?;
        let number = self.last_number + 1;
        let thread = self.threads.entry(id.to_owned()).or_default();
        let works = params["status"]["type"] == "active";
        let begins = works && !thread.works;
        thread.works = works;
        let mut errands = Vec::new();
        if begins && thread.joined != Joined::Never && !thread.is_child {
            thread.words = None;
            errands.push(Errand::Tell(json!({ "hook_event_name": "codex/works" })));
        }
        if works && thread.joined == Joined::No {
            thread.joined = Joined::Asked(number);
            self.last_number = number;
            let wanted = json!({ "threadId": id, "excludeTurns": true });
            errands.push(Errand::Say(json!({ "id": number, "method": "thread/resume", "params": wanted })));
        }
        Some(errands)
    }

    fn begun(&mut self, params: &Value) {
        let item = &params["item"];
        if item["type"] == "fileChange"
            && let Some(place) = place(params, &item["id"])
        {
            self.edits.insert(place, item.clone());
        }
    }

    fn done(&mut self, params: &Value) {
        let item = &params["item"];
        if let Some(place) = place(params, &item["id"]) {
            self.edits.remove(&place);
        }
        let thread = params["threadId"].as_str().and_then(|id| self.threads.get_mut(id));
        if item["type"] == "agentMessage"
            && let (Some(thread), Some(words)) = (thread, item["text"].as_str())
        {
            thread.words = Some(words.to_owned());
        }
    }

    fn finished(&mut self, params: &Value) -> Option<Errand> {
        let thread = self.threads.get_mut(params["threadId"].as_str()?)?;
        let words = thread.words.take().filter(|_| !thread.is_child)?;
        Some(Errand::Tell(json!({ "hook_event_name": "codex/finished", "last_message": words })))
    }
}

/// An item and its thread.
fn place(params: &Value, item: &Value) -> Option<(String, String)> {
    Some((params["threadId"].as_str()?.to_owned(), item.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Talk {
        let (mut talk, greeting) = Talk::begin("1.2.3");
        assert_eq!(greeting["method"], "initialize");
        let errands = talk.hear(&json!({ "id": 1, "result": { "userAgent": "codex" } }));
        assert_eq!(errands, [Errand::Say(json!({ "method": "initialized" })), Errand::Greeted]);
        talk
    }

    fn started(id: &str, parent: Value, ephemeral: bool) -> Value {
        let thread = json!({ "id": id, "parentThreadId": parent, "ephemeral": ephemeral });
        json!({ "method": "thread/started", "params": { "thread": thread } })
    }

    fn status(id: &str, kind: &str) -> Value {
        let status = json!({ "type": kind, "activeFlags": [] });
        json!({ "method": "thread/status/changed", "params": { "threadId": id, "status": status } })
    }

    fn resume(number: u64, id: &str) -> Errand {
        let params = json!({ "threadId": id, "excludeTurns": true });
        Errand::Say(json!({ "id": number, "method": "thread/resume", "params": params }))
    }

    fn works() -> Errand {
        Errand::Tell(json!({ "hook_event_name": "codex/works" }))
    }

    /// A thread that was joined.
    fn joined() -> Talk {
        let mut talk = begun();
        talk.hear(&started("a", Value::Null, false));
        assert_eq!(talk.hear(&status("a", "active")), [works(), resume(2, "a")]);
        talk.hear(&json!({ "id": 2, "result": {} }));
        talk
    }

    #[test]
    fn a_server_that_does_not_know_us_is_left() {
        let (mut talk, _) = Talk::begin("1.2.3");
        assert_eq!(talk.hear(&json!({ "id": 1, "error": { "code": -1 } })), [Errand::Refused]);
    }

    #[test]
    fn a_thread_is_joined_once_and_a_helper_never() {
        let mut talk = joined();
        assert_eq!(talk.hear(&status("a", "active")), []);
        assert_eq!(talk.hear(&status("a", "idle")), []);
        assert_eq!(talk.hear(&status("a", "active")), [works()]);
        talk.hear(&started("helper", Value::Null, true));
        assert_eq!(talk.hear(&status("helper", "active")), []);
        // A thread of another agent: its approvals count, its words do not.
        talk.hear(&started("child", json!("a"), false));
        assert_eq!(talk.hear(&status("child", "active")), [resume(3, "child")]);
    }

    #[test]
    fn one_that_cannot_be_joined_yet_is_tried_again() {
        let mut talk = begun();
        assert_eq!(talk.hear(&status("a", "active")), [works(), resume(2, "a")]);
        assert_eq!(talk.hear(&status("a", "active")), []);
        talk.hear(&json!({ "id": 2, "error": { "message": "no rollout found" } }));
        assert_eq!(talk.hear(&status("a", "active")), [resume(3, "a")]);
    }

    #[test]
    fn requests_are_brought_and_withdrawn() {
        let mut talk = joined();
        let params = json!({ "threadId": "a", "itemId": "call_1", "command": "ls" });
        let method = "item/commandExecution/requestApproval";
        let event = json!({
            "hook_event_name": "codex/approval", "method": method, "id": 0, "params": params,
        });
        assert_eq!(
            talk.hear(&json!({ "method": method, "id": 0, "params": params })),
            [Errand::Ask { id: json!(0), event }]
        );
        let resolved = json!({ "threadId": "a", "requestId": 0 });
        assert_eq!(
            talk.hear(&json!({ "method": "serverRequest/resolved", "params": resolved })),
            [Errand::Withdraw { id: json!(0) }]
        );
        // A question of another kind is the screen's.
        let other = json!({ "method": "item/tool/requestUserInput", "id": 1, "params": params });
        assert_eq!(talk.hear(&other), []);
    }

    #[test]
    fn an_edit_is_brought_with_its_changes_or_not_at_all() {
        let mut talk = joined();
        let method = "item/fileChange/requestApproval";
        let params = json!({ "threadId": "a", "itemId": "call_1" });
        let request = json!({ "method": method, "id": 4, "params": params });
        assert_eq!(talk.hear(&request), []);
        let item = json!({ "type": "fileChange", "id": "call_1", "changes": [{ "path": "/p/x" }] });
        let told = json!({ "threadId": "a", "item": item });
        talk.hear(&json!({ "method": "item/started", "params": told }));
        let event = json!({
            "hook_event_name": "codex/approval", "method": method, "id": 4, "params": params, "item": item,
        });
        assert_eq!(talk.hear(&request), [Errand::Ask { id: json!(4), event }]);
        talk.hear(&json!({ "method": "item/completed", "params": told }));
        assert_eq!(talk.hear(&request), []);
    }

    #[test]
    fn the_last_words_of_a_turn_are_told() {
        let mut talk = joined();
        let completed = json!({ "method": "turn/completed", "params": { "threadId": "a" } });
        assert_eq!(talk.hear(&completed), []);
        for words in ["First.", "Last."] {
            let item = json!({ "type": "agentMessage", "id": words, "text": words });
            talk.hear(&json!({ "method": "item/completed", "params": { "threadId": "a", "item": item } }));
        }
        let told = json!({ "hook_event_name": "codex/finished", "last_message": "Last." });
        assert_eq!(talk.hear(&completed), [Errand::Tell(told)]);
        assert_eq!(talk.hear(&completed), []);
    }

    #[test]
    fn a_decision_goes_back_as_the_result() {
        assert_eq!(
            Talk::decided(&json!(7), r#"{"decision":"accept"}"#),
            Some(json!({ "id": 7, "result": { "decision": "accept" } }))
        );
        assert_eq!(Talk::decided(&json!(7), "{"), None);
    }

    #[test]
    fn what_is_no_message_of_ours_says_nothing() {
        let mut talk = begun();
        for message in [
            json!(null),
            json!([1]),
            json!({}),
            json!({ "id": 99, "result": 1 }),
            json!({ "method": "thread/started" }),
            json!({ "method": "thread/status/changed", "params": {} }),
            json!({ "method": "item/completed", "params": { "item": {} } }),
            json!({ "method": 3 }),
        ] {
            assert_eq!(talk.hear(&message), [], "{message}");
        }
    }
}
