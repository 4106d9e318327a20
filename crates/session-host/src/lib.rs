//! One wrapped tool: process A. Relay, screen, detector, gate, and the link to the hub, in one thread and one poll loop.
//!
//! The tool starts at once; the hub is reached meanwhile and never waited for. What the tool writes goes to the
//! terminal before anything here looks at it; what the person types goes through the gate, which alone can write
//! to the tool. No async runtime, no database, no network, no token: what types cannot reach the internet.
//!
//! `host` is the loop; `prompt` is what it knows of the prompt on its screen, as states; the rest are its parts.
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod host;
mod prompt;

mod captures;
mod events;
mod gate;
mod hooks;
mod journal;
mod link;
mod pause;
mod relay;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use atlasbridge_detect::DetectorConfig;
use atlasbridge_model::{SessionId, Timestamp};
use atlasbridge_pty::SpawnError;

pub use gate::GateConfig;
pub use host::run;
pub use link::HubStart;
pub use relay::Relay;

/// Everything a session host is told; it reads neither environment nor configuration itself.
#[derive(Debug)]
pub struct HostConfig {
    pub session: SessionId,
    /// The tool's name as people know it.
    pub tool: String,
    pub label: Option<String>,
    pub started_at: Timestamp,
    pub version: String,
    pub command: ToolCommand,
    pub files: HostFiles,
    pub hub: HubStart,
    pub detector: DetectorConfig,
    pub gate: GateConfig,
    /// A dialog that was just drawn takes no keys yet: how long to wait, where the tool is known for it.
    pub keys_after: Duration,
}

/// What is run, and where.
#[derive(Debug)]
pub struct ToolCommand {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// How the person named it, where it is started in another way.
    pub typed: Option<Vec<OsString>>,
    /// The complete environment of the tool.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
}

#[derive(Debug)]
pub struct HostFiles {
    pub socket: PathBuf,
    pub journal: PathBuf,
    pub events: Option<PathBuf>,
    /// Where each prompt that is seen is also written as a scenario.
    pub captures: Option<PathBuf>,
    /// Where the tool's hooks are to be heard, if it has any.
    pub hooks: Option<PathBuf>,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// The tool's exit code, 128+n for signal n, 127 or 126 if it could not be started.
    pub code: i32,
    /// Why the tool could not be started.
    pub not_started: Option<io::Error>,
    /// What the operator should know, now that the terminal is free for it.
    pub notices: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("opening the file for events, {path}")]
    Events { path: PathBuf, source: io::Error },
    #[error("making the directory for captured prompts, {path}")]
    Captures { path: PathBuf, source: io::Error },
    #[error("taking over signals")]
    Signals(#[source] io::Error),
    #[error("using standard {stream}")]
    Stream { stream: &'static str, source: io::Error },
    #[error("starting the tool")]
    Spawn(#[from] SpawnError),
    #[error("switching the terminal to raw mode")]
    Raw(#[source] io::Error),
    #[error("waiting for terminal and tool")]
    Wait(#[source] io::Error),
}
