//! OpenAI Responses and Chat Completions.

use serde_json::{Value, json};

use super::anthropic::text_of;
use super::serve::{Said, event, parts};
use super::{Call, Speech, ToolResult};

pub(super) fn said_in_responses(speech: &Speech, streams: bool) -> Said {
    let items = items(speech);
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_{}", speech.no), "object": "response", "created_at": 1, "model": "fake-model",
            "status": status, "output": output,
            "usage": {
                "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 5,
                "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15,
            },
        })
    };
    if !streams {
        return Said::Json(response("completed", &items));
    }
    let named = |data: Value| event(data["type"].as_str(), &data);
    let mut events =
        vec![named(json!({ "type": "response.created", "response": response("in_progress", &[]) }))];
    for (index, item) in items.iter().enumerate() {
        events.push(named(
            json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
        ));
        if item["type"] == "message" {
            events.extend(parts(speech).into_iter().map(|part| {
                named(json!({
                    "type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                    "content_index": 0, "delta": part,
                }))
            }));
        }
        events
            .push(named(json!({ "type": "response.output_item.done", "output_index": index, "item": item })));
    }
    events.push(named(json!({ "type": "response.completed", "response": response("completed", &items) })));
    Said::Events(events)
}

fn items(speech: &Speech) -> Vec<Value> {
    let text = (!speech.text.is_empty()).then(|| {
        json!({
            "type": "message", "id": format!("item_{}", speech.no), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": speech.text, "annotations": [] }],
        })
    });
    let call = |call: &Call| match &call.input {
        Value::String(input) => json!({
            "type": "custom_tool_call", "id": format!("item_{}", call.id), "call_id": call.id,
            "name": call.name, "input": input, "status": "completed",
        }),
        input => json!({
            "type": "function_call", "id": format!("item_{}", call.id), "call_id": call.id,
            "name": call.name, "arguments": input.to_string(), "status": "completed",
        }),
    };
    text.into_iter().chain(speech.calls.iter().map(call)).collect()
}

pub(super) fn results_of_responses(body: &Value) -> Vec<ToolResult> {
    let is_output = |item: &&Value| {
        let kind = item["type"].as_str().unwrap_or_default();
        kind == "function_call_output" || kind == "custom_tool_call_output"
    };
    let outputs = body["input"].as_array().into_iter().flatten().filter(is_output);
    outputs.map(|item| result(&item["call_id"], &item["output"])).collect()
}

pub(super) fn texts_of_responses(body: &Value) -> Vec<String> {
    let said = body["input"].as_array().into_iter().flatten();
    let said = said.filter(|item| item["role"] == "user");
    said.map(|item| text_of(&item["content"])).collect()
}

pub(super) fn said_in_chat(speech: &Speech, streams: bool) -> Said {
    let id = format!("chat_{}", speech.no);
    let finish = if speech.calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let calls = |index: bool| {
        let call = |(at, call): (usize, &Call)| {
            let mut value = json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": call.input.to_string() },
            });
            if index {
                value["index"] = json!(at);
            }
            value
        };
        speech.calls.iter().enumerate().map(call).collect::<Vec<_>>()
    };
    if !streams {
        let mut message = json!({ "role": "assistant", "content": speech.text });
        if !speech.calls.is_empty() {
            message["tool_calls"] = json!(calls(false));
        }
        return Said::Json(json!({
            "id": id, "object": "chat.completion", "created": 1, "model": "fake-model",
            "choices": [{ "index": 0, "message": message, "finish_reason": finish }], "usage": usage,
        }));
    }
    let chunk = |delta: Value, finish: Value, usage: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        event(
            None,
            &json!({
                "id": id, "object": "chat.completion.chunk", "created": 1, "model": "fake-model",
                "choices": [choice], "usage": usage,
            }),
        )
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null, Value::Null)];
    for part in parts(speech) {
        events.push(chunk(json!({ "content": part }), Value::Null, Value::Null));
    }
    if !speech.calls.is_empty() {
        events.push(chunk(json!({ "tool_calls": calls(true) }), Value::Null, Value::Null));
    }
    events.push(chunk(json!({}), json!(finish), usage));
    events.push("data: [DONE]\n\n".to_owned());
    Said::Events(events)
}

pub(super) fn results_of_chat(body: &Value) -> Vec<ToolResult> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| result(&message["tool_call_id"], &message["content"])).collect()
}

pub(super) fn texts_of_chat(body: &Value) -> Vec<String> {
    let said = body["messages"].as_array().into_iter().flatten();
    let said = said.filter(|message| message["role"] == "user");
    said.map(|message| text_of(&message["content"])).collect()
}

fn result(id: &Value, output: &Value) -> ToolResult {
    ToolResult { id: id.as_str().unwrap_or_default().to_owned(), text: text_of(output), is_error: false }
}
