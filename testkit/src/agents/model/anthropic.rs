//! Anthropic Messages.

use serde_json::{Value, json};

use super::serve::{Said, event, halves};
use super::{Speech, ToolResult};

pub(super) fn said(speech: &Speech, streams: bool) -> Said {
    let blocks = blocks(speech);
    let stop_reason = if speech.calls.is_empty() { "end_turn" } else { "tool_use" };
    let message = |content: Value, stop_reason: Value| {
        json!({
            "id": format!("msg_{}", speech.no), "type": "message", "role": "assistant", "model": "claude-fake",
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": { "input_tokens": 10, "output_tokens": 5 },
        })
    };
    if !streams {
        return Said::Json(message(json!(blocks), json!(stop_reason)));
    }
    let named = |data: Value| event(data["type"].as_str(), &data);
    let mut events =
        vec![named(json!({ "type": "message_start", "message": message(json!([]), Value::Null) }))];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = opened(block);
        events.push(named(json!({ "type": "content_block_start", "index": index, "content_block": start })));
        for delta in deltas {
            events.push(named(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(named(json!({ "type": "content_block_stop", "index": index })));
    }
    events.push(named(json!({
        "type": "message_delta", "delta": { "stop_reason": stop_reason, "stop_sequence": null },
        "usage": { "output_tokens": 5 },
    })));
    events.push(named(json!({ "type": "message_stop" })));
    Said::Events(events)
}

fn blocks(speech: &Speech) -> Vec<Value> {
    let text = (!speech.text.is_empty()).then(|| json!({ "type": "text", "text": speech.text }));
    let calls = speech
        .calls
        .iter()
        .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input }));
    text.into_iter().chain(calls).collect()
}

/// A block as it is announced, and what then fills it.
fn opened(block: &Value) -> (Value, Vec<Value>) {
    if block["type"] == "text" {
        let text = block["text"].as_str().unwrap_or_default();
        let deltas = halves(text).into_iter();
        let deltas = deltas.map(|part| json!({ "type": "text_delta", "text": part }));
        return (json!({ "type": "text", "text": "" }), deltas.collect());
    }
    let mut start = block.clone();
    start["input"] = json!({});
    let input = block["input"].to_string();
    (start, vec![json!({ "type": "input_json_delta", "partial_json": input })])
}

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let blocks = user_blocks(body).filter(|block| block["type"] == "tool_result");
    blocks
        .map(|block| ToolResult {
            id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            text: text_of(&block["content"]),
            is_error: block["is_error"] == true,
        })
        .collect()
}

pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let texts = user_blocks(body).filter(|block| block["type"] == "text" || block.is_string());
    texts.map(text_of).collect()
}

fn user_blocks(body: &Value) -> impl Iterator<Item = &Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "user").flat_map(|message| {
        match message["content"].as_array() {
            Some(blocks) => blocks.iter().collect::<Vec<_>>(),
            None => vec![&message["content"]],
        }
    })
}

/// A string, a block of text, or a list of such.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        block => block["text"].as_str().unwrap_or_default().to_owned(),
    }
}
