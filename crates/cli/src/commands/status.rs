//! `status`: the hub, the sessions and what waits, at a glance.

use atlasbridge_wire::command::{Request, Response};
use serde_json::json;

use crate::client::{Client, answered};
use crate::output::Output;

use super::hub::{NOT_RUNNING, channels, running, stopped, warn_of_trouble};

pub(super) fn run(all: bool, json: bool, output: &Output) -> anyhow::Result<()> {
    let paths = super::home()?;
    let Some(mut client) = Client::if_running(&paths)? else {
        let nothing = json!({ "hub": stopped(&paths), "sessions": [], "prompts": [] });
        return output.told(json, &nothing, NOT_RUNNING);
    };
    let hub = client.status()?;
    let sessions = client.ask(&Request::Sessions { all })?;
    let sessions = answered!(sessions, Response::Sessions { sessions } => sessions);
    if json {
        let prompts = client.ask(&Request::Approvals)?;
        let prompts = answered!(prompts, Response::Approvals { prompts } => prompts);
        let hub = running(&paths, &hub)?;
        return output.json(&json!({ "hub": hub, "sessions": sessions, "prompts": prompts }));
    }
    output.fields(&[
        ("hub", format!("running, pid {}, version {}", hub.pid, hub.version)),
        ("sessions", hub.sessions.to_string()),
        ("waiting", hub.prompts.to_string()),
        ("channels", channels(&hub)),
    ]);
    warn_of_trouble(&hub, output);
    if !sessions.is_empty() {
        output.line("");
        super::sessions::list(&sessions, output);
    }
    Ok(())
}
