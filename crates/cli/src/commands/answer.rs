//! `approve`, `deny`, `reply`: an answer from this machine, and the truth about what became of it.

use std::io::Read;
use std::process::ExitCode;

use anyhow::Context;
use atlasbridge_model::speech;
use atlasbridge_wire::command::{PromptView, Request, Response};
use atlasbridge_wire::twin::SaidText;
use serde_json::json;

use crate::client::{ClientError, answered};
use crate::output::Output;

/// Longest answer read from standard input. Far over what any prompt takes; the hub states the prompt's own limit.
const LONGEST_ANSWER: u64 = 64 * 1024;

pub(super) fn approve(prompt: String, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    answer(prompt, SaidText::Approve, false, json, output)
}

pub(super) fn deny(
    prompt: String,
    reason: Option<String>,
    as_is: bool,
    json: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let said = reason.filter(|reason| !reason.trim().is_empty()).map_or(SaidText::Deny, SaidText::DenyWith);
    answer(prompt, said, as_is, json, output)
}

pub(super) fn reply(
    prompt: String,
    value: &str,
    as_is: bool,
    json: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let said = match value {
        "default" => SaidText::UseDefault,
        "cancel" => SaidText::Cancel,
        text => SaidText::Text(text_of(text)?),
    };
    answer(prompt, said, as_is, json, output)
}

/// The text itself, or what standard input holds for `-`.
pub(super) fn text_of(value: &str) -> anyhow::Result<String> {
    if value != "-" {
        return Ok(value.to_owned());
    }
    let mut text = String::new();
    let mut input = std::io::stdin().take(LONGEST_ANSWER);
    input.read_to_string(&mut text).context("reading the text from standard input")?;
    Ok(text)
}

fn answer(
    prompt: String,
    said: SaidText,
    as_is: bool,
    json: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    match asked(&Request::Answer { prompt, said, as_is }, json, output)? {
        Some(response) => tell(response, json, output),
        None => Ok(ExitCode::FAILURE),
    }
}

/// What the hub answers; nothing where a no was told as JSON.
pub(super) fn asked(request: &Request, json: bool, output: &Output) -> anyhow::Result<Option<Response>> {
    match super::hub()?.ask(request) {
        Err(ClientError::Declined(reason)) if json => {
            output.json(&json!({ "refused": reason }))?;
            Ok(None)
        }
        response => Ok(Some(response?)),
    }
}

/// What became of an answer.
pub(super) fn tell(response: Response, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let prompt = answered!(response, Response::Answered { prompt } => prompt);
    output.told(json, &prompt, &format!("{}: {}", short(&prompt.prompt_id), told(&prompt)))?;
    Ok(code(&prompt))
}

pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// Only what the screen has proven counts as done; a canceled prompt was canceled on purpose.
fn code(prompt: &PromptView) -> ExitCode {
    let is_done =
        prompt.reason.as_deref() == Some("applied") || prompt.reason.as_deref() == Some("by_operator");
    if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn told(prompt: &PromptView) -> String {
    match speech::because(prompt.reason.as_deref()) {
        Some(because) => format!("{} ({because})", prompt.word),
        None => prompt.word.clone(),
    }
}
