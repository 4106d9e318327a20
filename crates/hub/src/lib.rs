//! One per user: process B. Owns the store, the audit log, the deadlines and the delivery of replies. It cannot type.
//!
//! It may be killed at any moment: what it has accepted is in the store, what a session host has not been told yet
//! is sent again, and what a session host has not been thanked for comes again. Channels and the page run inside it as
//! tasks of their own; a part that fails is started again, and the others go on.
//!
//! `core` and `decide` are the rules, pure; `engine` reads and commits for them; `shell` is the one task that owns all state,
//! and `desks` are its words for people. Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod core;
mod decide;
mod engine;

mod desks;
mod notice;
mod words;

mod cards;
mod views;

mod shell;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod simulation;

mod clock;
mod descriptor;
mod listener;
mod pause;
mod peer;
mod registry;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use atlasbridge_model::answer::Rules;
use atlasbridge_store::OpenError;

pub use shell::{ChannelFuture, ChannelStart, ChannelStarter, serve};

/// The name of the page on the audit log.
const WEB: &str = "web";

/// Reads the configuration; a broken file is a sentence.
pub type ReadSettings = Box<dyn Fn() -> Result<Settings, String> + Send>;

/// What a hub is told; it reads neither environment nor configuration itself.
pub struct HubConfig {
    pub socket: PathBuf,
    pub lock: PathBuf,
    pub database: PathBuf,
    pub audit_log: PathBuf,
    pub journals: PathBuf,
    pub version: String,
    pub settings: Settings,
    /// Reads the configuration again, for SIGHUP; a broken file is a sentence and changes nothing.
    pub reload: ReadSettings,
    /// Where whoever started us waits for our pid, once we listen.
    pub ready: Option<File>,
}

impl std::fmt::Debug for HubConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubConfig")
            .field("socket", &self.socket)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The part of the configuration that may change while the hub runs.
#[derive(Debug, Clone)]
pub struct Settings {
    pub ttl: Duration,
    /// How long ended sessions and their prompts are kept. The audit log is kept for ever.
    pub retention: Duration,
    pub free_text_enabled: bool,
    pub secrets_over_channels: bool,
    /// How long after a key at its own terminal a prompt stays away from chats.
    pub presence_grace: Duration,
    /// Messages show the whole dialog at once.
    pub show_detail: bool,
    pub defaults: Defaults,
    pub channels: Vec<ChannelStart>,
    /// `None`: no page.
    pub page: Option<atlasbridge_web::PageConfig>,
}

impl Settings {
    pub(crate) fn rules(&self) -> Rules {
        Rules { secrets_over_channels: self.secrets_over_channels, as_is: false }
    }
}

/// Which kinds of prompts take their safe default when time is up; switched off, a prompt just stays.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    pub yes_no: bool,
    pub confirm_enter: bool,
    pub multiple_choice: bool,
    pub free_text: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(
        "a hub is already running for this home directory (pid {pid}); `atlasbridge hub status` shows it"
    )]
    AlreadyRunning { pid: String },
    #[error("using the lock file {}", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("listening on {}", path.display())]
    Listen { path: PathBuf, source: io::Error },
    #[error("opening the store")]
    Store(#[from] OpenError),
    #[error("reading the machine's boot id")]
    BootId(#[source] io::Error),
    #[error("setting up timers and signals")]
    Runtime(#[source] io::Error),
    #[error("the store no longer takes records; sessions go on, and a new hub starts with the next prompt")]
    StoreLost,
}
