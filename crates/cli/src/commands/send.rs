//! `send`: the next instruction of an agent, now or when it has finished.

use std::process::ExitCode;

use atlasbridge_wire::command::{Request, Response};
use serde_json::json;

use super::answer::{asked, short, tell, text_of};
use crate::output::Output;

pub(super) fn run(
    session: String,
    text: &str,
    as_is: bool,
    json: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let text = text_of(text)?;
    give(&Request::Send { session, text, as_is }, json, output)
}

pub(super) fn take_back(session: String, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    give(&Request::TakeBack { session }, json, output)
}

fn give(request: &Request, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let Some(response) = asked(request, json, output)? else { return Ok(ExitCode::FAILURE) };
    let (said, value) = if let Response::Queued { session_id, replaces, told } = response {
        let back = format!("`atlasbridge send {} --take-back` takes it back", short(&session_id));
        let value = json!({ "queued": true, "session_id": session_id, "replaces": replaces, "told": told });
        (format!("queued: {told}\n{back}"), value)
    } else if response == Response::Done {
        ("taken back; it is not sent".to_owned(), json!({ "taken_back": true }))
    } else {
        return tell(response, json, output);
    };
    output.told(json, &value, &said)?;
    Ok(ExitCode::SUCCESS)
}
