//! Gemini `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::serve::{Said, event, halves};
use super::{Speech, ToolResult};

pub(super) fn count_tools(body: &Value) -> usize {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["functionDeclarations"].as_array().map_or(1, Vec::len)).sum()
}

pub(super) fn said(speech: &Speech, streams: bool) -> Said {
    let calls = speech
        .calls
        .iter()
        .map(|call| json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.input } }));
    let answer = |parts: Vec<Value>, finish: Value| {
        json!({
            "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": finish }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
            "modelVersion": "fake-model", "responseId": format!("answer-{}", speech.no),
        })
    };
    if !streams {
        let text = (!speech.text.is_empty()).then(|| json!({ "text": speech.text }));
        return Said::Json(answer(text.into_iter().chain(calls).collect(), json!("STOP")));
    }
    let texts = halves(&speech.text).into_iter();
    let texts = texts.map(|part| event(None, &answer(vec![json!({ "text": part })], Value::Null)));
    let mut events: Vec<String> = texts.collect();
    let mut last: Vec<Value> = calls.collect();
    if last.is_empty() {
        last.push(json!({ "text": "" }));
    }
    events.push(event(None, &answer(last, json!("STOP"))));
    Said::Events(events)
}

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let responses = user_parts(body).filter_map(|part| part.get("functionResponse"));
    responses
        .map(|response| {
            let answer = &response["response"];
            let error = answer.get("error");
            let text = error.or_else(|| answer.get("output")).unwrap_or(answer);
            ToolResult {
                id: response["id"].as_str().unwrap_or_default().to_owned(),
                text: text.as_str().map_or_else(|| text.to_string(), str::to_owned),
                is_error: error.is_some(),
            }
        })
        .collect()
}

pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let texts = user_parts(body).filter_map(|part| part["text"].as_str());
    texts.map(str::to_owned).collect()
}

fn user_parts(body: &Value) -> impl Iterator<Item = &Value> {
    let contents = body["contents"].as_array().into_iter().flatten();
    contents
        .filter(|content| content["role"] == "user")
        .flat_map(|content| content["parts"].as_array().into_iter().flatten())
}
