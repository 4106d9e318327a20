//! `sessions`: list, show, stop, resume.

use atlasbridge_model::speech;
use atlasbridge_wire::command::{Request, Response, SessionView};

use crate::args::Sessions;
use crate::client::answered;
use crate::output::Output;

pub(super) fn run(command: Sessions, output: &Output) -> anyhow::Result<()> {
    let mut hub = super::hub()?;
    match command {
        Sessions::List { all, json } => {
            let response = hub.ask(&Request::Sessions { all })?;
            let sessions = answered!(response, Response::Sessions { sessions } => sessions);
            if json { output.json(&sessions)? } else { list(&sessions, output) }
        }
        Sessions::Show { session, json } => {
            let response = hub.ask(&Request::Session { session })?;
            let session = answered!(response, Response::Session(session) => session);
            if json { output.json(&session)? } else { show(&session, output) }
        }
        Sessions::Stop { session } => {
            answered!(hub.ask(&Request::StopSession { session })?, Response::Done => ());
            output.line("The tool was asked to end; it is killed if it does not within three seconds.");
        }
        Sessions::Resume { session } => {
            answered!(hub.ask(&Request::ResumeSession { session })?, Response::Done => ());
            output.line("Answers from channels are taken again.");
        }
    }
    Ok(())
}

pub(super) fn list(sessions: &[SessionView], output: &Output) {
    let row = |session: &SessionView| {
        vec![
            session.session_id.chars().take(8).collect(),
            session.tool.clone(),
            session.label.clone().unwrap_or_default(),
            if session.status == "active" { state(session) } else { session.status.clone() },
            speech::lasted(session.uptime_seconds),
            session.prompts.to_string(),
            session.cwd.clone(),
        ]
    };
    let header = ["session", "tool", "label", "state", "time", "prompts", "directory"];
    output.table(&header, sessions.iter().map(row), "No session runs.");
}

fn show(session: &SessionView, output: &Output) {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    output.fields(&[
        ("session", session.session_id.clone()),
        ("tool", session.tool.clone()),
        ("command", session.command.join(" ")),
        ("label", or_dash(session.label.clone())),
        ("directory", session.cwd.clone()),
        ("pid", or_dash(session.pid.map(|pid| pid.to_string()))),
        ("host pid", session.host_pid.to_string()),
        ("status", session.status.clone()),
        ("state", state(session)),
        ("started", session.started_at.clone()),
        ("ended", or_dash(session.ended_at.clone())),
        ("exit code", or_dash(session.exit_code.map(|code| code.to_string()))),
        ("uptime", speech::lasted(session.uptime_seconds)),
        ("prompts", session.prompts.to_string()),
        (
            "last output",
            or_dash(session.seconds_since_output.map(|seconds| format!("{} ago", speech::lasted(seconds)))),
        ),
        ("terminal", if session.pty_alive { "alive" } else { "closed" }.to_owned()),
        ("host", if session.host_healthy { "healthy" } else { "not answering" }.to_owned()),
    ]);
}

/// Where a session that runs stands, and that nothing is taken from channels for it, if so.
fn state(session: &SessionView) -> String {
    let paused = if session.paused { ", paused" } else { "" };
    format!("{}{paused}", session.state)
}
