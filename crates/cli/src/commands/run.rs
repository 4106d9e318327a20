//! `run`: a tool as always, wrapped.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use atlasbridge_agents::{Launch, Ways, prepare};
use atlasbridge_detect::{DetectorConfig, Pack};
use atlasbridge_model::{SessionId, Timestamp};
use atlasbridge_pty::NO_INTERPRETER;
use atlasbridge_session_host::{GateConfig, HostConfig, HostFiles, HubStart, ToolCommand};

use crate::args::RunArgs;
use crate::client::{SESSION_MARKER, hub_command};
use crate::config::{Config, Environment};
use crate::output::Output;

pub(super) fn run(args: RunArgs, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = super::home()?;
    let config = super::config_of(&paths, output)?;
    let packs = super::adapters::packs(&paths)?;
    let mut words = args.tool.into_iter();
    let program = words.next().context("a tool must be named")?;
    let tool = name_of(&program);
    let pack = match &args.adapter {
        Some(name) => Some(super::adapters::named(&packs, name)?),
        None => packs.for_program(&tool),
    };
    if !args.quiet && std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        output.notice(&where_to_answer(&config));
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no random numbers from the kernel: {error}"))?;
    let session = SessionId::from_random(bytes);
    let ways = match (args.no_hooks, args.structured) {
        (true, _) => Ways::Screen,
        (false, false) => Ways::Hooks,
        (false, true) => Ways::Structured,
    };
    let surroundings = super::surroundings(&paths);
    let launch = Launch { program: &program, args: words.collect(), pack: pack.as_deref(), session, ways };
    let prepared = prepare(launch, &surroundings);
    if !args.quiet {
        prepared.notices.iter().for_each(|notice| output.notice(notice));
    }
    let captures = Environment::of_process().is_on("ATLASBRIDGE_CAPTURE_PROMPTS");
    let (hub_program, hub_args) = hub_command().context("finding our own binary")?;
    let ended = atlasbridge_session_host::run(HostConfig {
        session,
        command: ToolCommand {
            typed: prepared.typed,
            program: prepared.program,
            args: prepared.args,
            // The one variable of ours that the tool may see.
            env: [surroundings.env, vec![(SESSION_MARKER.into(), session.to_string().into())]].concat(),
            cwd: surroundings.cwd,
        },
        label: args.label,
        started_at: now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        files: HostFiles {
            socket: paths.socket(),
            journal: paths.journal_dir().join(format!("{session}.jsonl")),
            events: args.events,
            captures: captures.then(|| paths.captures()),
            hooks: prepared.hooks.as_ref().map(|hooks| hooks.socket.clone()),
        },
        hub: HubStart { program: hub_program, args: hub_args, env: std::env::vars_os().collect() },
        gate: GateConfig {
            echo_window: Duration::from_millis(config.prompts.echo_suppression_ms),
            settle: Duration::from_millis(config.prompts.inject_settle_ms),
            answers_status_query: pack.as_ref().is_some_and(|pack| pack.asks_for_status()),
        },
        keys_after: pack.as_ref().map_or(Duration::ZERO, |pack| pack.keys_after()),
        detector: detector(&config, pack),
        tool,
    })?;
    // Nothing of them stays behind.
    drop(prepared.hooks);
    for notice in &ended.notices {
        output.notice(notice);
    }
    if let Some(error) = &ended.not_started {
        tell_not_started(&program, ended.code, error, output);
    }
    Ok(ExitCode::from(u8::try_from(ended.code & 0xff).unwrap_or(1)))
}

/// One line, before the tool has the terminal. The hub is not asked for it: a start waits for nothing.
fn where_to_answer(config: &Config) -> String {
    let ways = [
        config.web.enabled.then_some("in a browser (`atlasbridge open`)"),
        config.telegram.is_some().then_some("in Telegram"),
        Some("with `atlasbridge approvals`"),
    ];
    let ways: Vec<&str> = ways.into_iter().flatten().collect();
    format!("prompts can be answered here, {}", ways.join(", "))
}

pub(super) fn tell_not_started(program: &OsStr, code: i32, error: &std::io::Error, output: &Output) {
    let name = program.to_string_lossy();
    match (code, error.raw_os_error()) {
        (127, _) => output.notice(&format!("{name}: command not found")),
        (_, Some(NO_INTERPRETER)) => output.notice(&format!(
            "{name}: cannot be executed: the interpreter that its first line names, or its loader, is not there"
        )),
        (_, _) => output.notice(&format!("{name}: cannot be executed: {error}")),
    }
}

fn detector(config: &Config, pack: Option<Arc<Pack>>) -> DetectorConfig {
    DetectorConfig {
        stuck_timeout: Duration::from_secs_f64(config.prompts.stuck_timeout_seconds),
        echo_suppression: Duration::from_millis(config.prompts.echo_suppression_ms),
        threshold: (config.prompts.detection_threshold * 100.0).round() as u8,
        // For shells and REPLs an empty prompt is a state, not a message.
        announce_idle: config.prompts.notify_idle && pack.as_ref().is_some_and(|pack| pack.is_agent()),
        pack,
    }
}

pub(super) fn name_of(program: &OsStr) -> String {
    Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}
