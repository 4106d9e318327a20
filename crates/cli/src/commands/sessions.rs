//! `sessions`: list, show, stop, resume.

use std::process::ExitCode;

use anyhow::bail;
use atlasbridge_wire::command::{Request, Response, SessionView};

use crate::args::Sessions;
use crate::client::Client;
use crate::output::Output;

pub(super) fn run(command: Sessions, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = super::home()?;
    let mut client = Client::connect_or_start(&paths)?;
    let done = match &command {
        Sessions::Resume { .. } => "Answers from channels are taken again.",
        Sessions::List { .. } | Sessions::Show { .. } | Sessions::Stop { .. } => {
            "The tool was asked to end; it is killed if it does not within three seconds."
        }
    };
    let (request, json) = match command {
        Sessions::List { all, json } => (Request::Sessions { all }, json),
        Sessions::Show { session, json } => (Request::Session { session }, json),
        Sessions::Stop { session } => (Request::StopSession { session }, false),
        Sessions::Resume { session } => (Request::ResumeSession { session }, false),
    };
    match client.ask(&request)? {
        Response::Sessions { sessions } if json => output.json(&sessions)?,
        Response::Sessions { sessions } if sessions.is_empty() && output.is_terminal() => {
            output.line("No session runs.");
        }
        Response::Sessions { sessions } => list(&sessions, output),
        Response::Session(session) if json => output.json(&session)?,
        Response::Session(session) => show(&session, output),
        Response::Done => output.line(done),
        Response::Refused { reason } | Response::Failed { reason } => bail!("{reason}"),
        other => bail!("the hub answered something else: {other:?}"),
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(sessions: &[SessionView], output: &Output) {
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            vec![
                session.session_id.chars().take(8).collect(),
                session.tool.clone(),
                session.label.clone().unwrap_or_default(),
                match session.status.as_str() {
                    "active" => state(session),
                    over => over.to_owned(),
                },
                duration(session.uptime_seconds),
                session.prompts.to_string(),
                session.cwd.clone(),
            ]
        })
        .collect();
    output.table(&["session", "tool", "label", "state", "time", "prompts", "directory"], &rows);
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
        ("uptime", duration(session.uptime_seconds)),
        ("prompts", session.prompts.to_string()),
        (
            "last output",
            or_dash(session.seconds_since_output.map(|seconds| format!("{} ago", duration(seconds)))),
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

fn duration(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
