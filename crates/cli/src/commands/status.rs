//! `status`: the hub, the sessions and what waits, at a glance.

use std::process::ExitCode;

use anyhow::bail;
use atlasbridge_wire::command::{Request, Response};
use serde_json::json;

use crate::client::{Client, ClientError};
use crate::output::Output;

pub(super) fn run(all: bool, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = super::home()?;
    let mut client = match Client::connect(&paths) {
        Ok(client) => client,
        Err(ClientError::NotRunning) if json => {
            output.json(&json!({ "hub": super::hub::stopped(&paths), "sessions": [], "prompts": [] }))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(ClientError::NotRunning) => {
            output.line("The hub does not run. It starts by itself with `atlasbridge run TOOL`.");
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(error.into()),
    };
    let Response::Status(hub) = client.ask(&Request::Status)? else {
        bail!("the hub did not tell its status")
    };
    let Response::Sessions { sessions } = client.ask(&Request::Sessions { all })? else {
        bail!("the hub did not list its sessions")
    };
    let Response::Approvals { prompts } = client.ask(&Request::Approvals)? else {
        bail!("the hub did not list its prompts")
    };
    if json {
        output.json(
            &json!({ "hub": super::hub::running(&paths, &hub), "sessions": sessions, "prompts": prompts }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    output.fields(&[
        ("hub", format!("running, pid {}, version {}", hub.pid, hub.version)),
        ("sessions", hub.sessions.to_string()),
        ("waiting", hub.prompts.to_string()),
        ("channels", super::hub::channels(&hub)),
    ]);
    if let Some(trouble) = &hub.trouble {
        output.warn(&format!("remote answers may be refused: {trouble}"));
    }
    if !sessions.is_empty() {
        output.line("");
        super::sessions::list(&sessions, output);
    }
    Ok(ExitCode::SUCCESS)
}
