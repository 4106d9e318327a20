//! `approve`, `deny`, `reply`, `send`: an answer or an instruction from this machine, and the truth about what became of it.

use std::io::Read;
use std::process::ExitCode;

use anyhow::Context;
use atlasbridge_model::speech;
use atlasbridge_wire::command::{Request, Response};
use atlasbridge_wire::twin::SaidText;
use serde_json::json;

use crate::client::{ClientError, answered};
use crate::output::Output;

/// Longest answer read from standard input. Far over what any prompt takes; the hub states the prompt's own limit.
const LONGEST_ANSWER: u64 = 64 * 1024;

pub(super) fn approve(prompt: String) -> Request {
    Request::Answer { prompt, said: SaidText::Approve, as_is: false }
}

pub(super) fn deny(prompt: String, reason: Option<String>, as_is: bool) -> Request {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    Request::Answer { prompt, said: reason.map_or(SaidText::Deny, SaidText::DenyWith), as_is }
}

pub(super) fn reply(prompt: String, value: String, as_is: bool) -> anyhow::Result<Request> {
    let said = match value.as_str() {
        "default" => SaidText::UseDefault,
        "cancel" => SaidText::Cancel,
        _ => SaidText::Text(text_of(value)?),
    };
    Ok(Request::Answer { prompt, said, as_is })
}

/// Without a text, the one that waits is taken back.
pub(super) fn send(session: String, text: Option<String>, as_is: bool) -> anyhow::Result<Request> {
    Ok(match text {
        Some(text) => Request::Send { session, text: text_of(text)?, as_is },
        None => Request::TakeBack { session },
    })
}

/// The text itself, or what standard input holds for `-`.
fn text_of(value: String) -> anyhow::Result<String> {
    if value != "-" {
        return Ok(value);
    }
    let mut text = String::new();
    let mut input = std::io::stdin().take(LONGEST_ANSWER);
    input.read_to_string(&mut text).context("reading the text from standard input")?;
    Ok(text)
}

/// Gives it to the hub, and tells what became of it.
pub(super) fn give(request: &Request, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let response = match super::hub()?.ask(request) {
        Err(ClientError::Declined(reason)) if json => {
            output.json(&json!({ "refused": reason }))?;
            return Ok(ExitCode::FAILURE);
        }
        response => response?,
    };
    if let Response::Queued { session_id, replaces, told } = response {
        let back = format!("`atlasbridge send {} --take-back` takes it back", short(&session_id));
        let value = json!({ "queued": true, "session_id": session_id, "replaces": replaces, "told": told });
        output.told(json, &value, &format!("queued: {told}\n{back}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if response == Response::Done {
        output.told(json, &json!({ "taken_back": true }), "taken back; it is not sent")?;
        return Ok(ExitCode::SUCCESS);
    }
    let prompt = answered!(response, Response::Answered { prompt } => prompt);
    let reason = prompt.reason.as_deref();
    let because = speech::because(reason).map(|because| format!(" ({because})")).unwrap_or_default();
    output.told(json, &prompt, &format!("{}: {}{because}", short(&prompt.prompt_id), prompt.word))?;
    // Only what the screen has proven counts as done; a canceled prompt was canceled on purpose.
    let is_done = matches!(reason, Some("applied" | "by_operator"));
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
