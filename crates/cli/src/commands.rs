//! One file per command; each `run` reads like its help text. Here they meet, and here failures become exit codes.

mod adapters;
mod answer;
mod approvals;
mod audit;
mod config;
mod doctor;
mod hub;
mod lab;
mod logs;
mod open;
mod run;
mod sessions;
mod setup;
mod status;
mod version;

use std::process::ExitCode;

use anyhow::Context;
use atlasbridge_agents::{Surroundings, codex, hook};
use atlasbridge_detect::PackErrors;
use atlasbridge_lab::UnknownAdapter;
use clap::CommandFactory;

use crate::args::{Args, Command};
use crate::client::Client;
use crate::config::{self as settings, Config, ConfigError, Environment, Paths, environment_of_others};
use crate::output::Output;

pub(crate) fn run(args: Args, output: &Output) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(args) => return run::run(args, output),
        Command::Approvals { json, watch } => approvals::run(json, watch, output)?,
        Command::Approve { prompt, json } => return answer::give(&answer::approve(prompt), json, output),
        Command::Deny { prompt, reason, as_is, json } => {
            return answer::give(&answer::deny(prompt, reason, as_is), json, output);
        }
        Command::Hook { socket } => {
            hook::decision(std::io::stdin(), &socket).iter().for_each(|decision| output.line(decision));
        }
        Command::CodexFront(start) => return Ok(ExitCode::from(codex::front(&start.into()))),
        Command::CodexBridge { screen, start } => {
            let ended = codex::bridge(&start.into(), screen, || output.line("ready"));
            return Ok(if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Reply { prompt, value, as_is, json } => {
            return answer::give(&answer::reply(prompt, value, as_is)?, json, output);
        }
        Command::Send { session, text, as_is, take_back: _, json } => {
            return answer::give(&answer::send(session, text, as_is)?, json, output);
        }
        Command::Status { all, json } => status::run(all, json, output)?,
        Command::Sessions(command) => sessions::run(command, output)?,
        Command::Logs { tail, lines, json } => logs::run(tail, lines, json, output)?,
        Command::Audit(command) => return audit::run(command, output),
        Command::Doctor { tools, fix, json } => return doctor::run(&tools, fix, json, output),
        Command::Adapters(command) => adapters::run(command, output)?,
        Command::Open(args) => open::run(args, output)?,
        Command::Setup(command) => setup::run(command, output)?,
        Command::Hub(command) => hub::run(command, output)?,
        Command::Config(command) => config::run(command, output)?,
        Command::Lab(command) => return lab::run(command, output),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "atlasbridge", &mut script);
            output.raw(&String::from_utf8(script).context("the completion script is not text")?);
        }
        Command::Version { json } => version::run(json, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Exit code of a failure: 2 where usage or configuration is to be mended, 1 for all else.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    let is_setting = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<PackErrors>()
            || cause.is::<UnknownAdapter>()
            || cause.is::<ConfigError>()
            || cause.is::<lab::BadUsage>()
    };
    if error.chain().any(is_setting) { 2 } else { 1 }
}

/// Where everything is kept; made if it is not there yet.
fn home() -> anyhow::Result<Paths> {
    let paths = Paths::new(&Environment::of_process())?;
    paths.ensure_home()?;
    Ok(paths)
}

/// The hub of this home, started if it does not run.
fn hub() -> anyhow::Result<Client> {
    Ok(Client::connect_or_start(&home()?)?)
}

/// What agents need to know of this machine.
fn surroundings(paths: &Paths) -> Surroundings {
    Surroundings {
        env: environment_of_others(),
        cwd: std::env::current_dir().unwrap_or_default(),
        hooks_dir: paths.hooks_dir(),
        versions: paths.versions(),
    }
}

/// The configuration, with what is worth a warning said.
fn config_of(paths: &Paths, output: &Output) -> anyhow::Result<Config> {
    let loaded = settings::load(paths, &Environment::of_process())?;
    for warning in &loaded.warnings {
        output.warn(warning);
    }
    Ok(loaded.config)
}
