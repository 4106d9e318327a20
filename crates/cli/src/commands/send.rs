//! `send`: the next instruction of an agent, now or when it has finished.

use std::process::ExitCode;

use atlasbridge_wire::command::{Request, Response};
use serde_json::json;

use super::answer::{short, tell, text_of};
use crate::client::Client;
use crate::output::Output;

pub(super) fn run(
    session: String,
    text: &str,
    as_is: bool,
    json: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let text = text_of(text)?;
    let request = Request::Send { session, text, as_is };
    match ask(&request)? {
        Response::Queued { session_id, replaces, told } if json => {
            output.json(&json!({
                "queued": true, "session_id": session_id, "replaces": replaces, "told": told,
            }))?;
            Ok(ExitCode::SUCCESS)
        }
        Response::Queued { session_id, told, .. } => {
            output.line(&format!(
                "queued: {told}\n`atlasbridge send {} --take-back` takes it back",
                short(&session_id)
            ));
            Ok(ExitCode::SUCCESS)
        }
        other => tell(other, json, output),
    }
}

pub(super) fn take_back(session: String, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    match ask(&Request::TakeBack { session })? {
        Response::Done if json => {
            output.json(&json!({ "taken_back": true }))?;
            Ok(ExitCode::SUCCESS)
        }
        Response::Done => {
            output.line("taken back; it is not sent");
            Ok(ExitCode::SUCCESS)
        }
        other => tell(other, json, output),
    }
}

fn ask(request: &Request) -> anyhow::Result<Response> {
    let paths = super::home()?;
    let mut client = Client::connect_or_start(&paths)?;
    Ok(client.ask(request)?)
}
