//! The settings of `config.toml`, from text to meaning, in one pass and before anything starts.
//!
//! Text and environment come in here, a `Config` of plain values goes out, and no other file of the workspace
//! reads either. Whatever is wrong with a file is said at once, each problem with its line and its cure; a setting
//! that this version cannot honour is refused or warned about, never ignored in silence.
//!
//! `schema` is the table of all settings: what is refused, `config show` and `docs/config.md` follow from it. The
//! structs here are what serde makes of values that have passed.

mod environment;
mod paths;
mod problem;
mod read;
mod reference;
mod rules;
mod schema;
mod secret;
mod show;
mod source;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_model::{Confidence, Kind};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub(crate) use environment::{Environment, environment_of_others};
pub(crate) use paths::{HomeError, Paths, PathsError};
pub(crate) use problem::Warning;
pub(crate) use read::Settings;
use read::parse;
pub(crate) use reference::reference;
pub(crate) use secret::Secret;
pub(crate) use show::show;
pub(crate) use source::{ConfigError, quoted};

/// What the settings mean. Every value has passed the rule of its row in the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Config {
    pub prompts: Prompts,
    pub web: Web,
    pub telegram: Option<Telegram>,
    pub slack: Option<Slack>,
    pub store: StoreSettings,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Prompts {
    /// How long a prompt waits for a person before its safe default is used.
    #[serde(rename = "timeout_seconds", deserialize_with = "seconds")]
    pub timeout: Duration,
    /// Sightings below it are not prompts.
    #[serde(deserialize_with = "confidence")]
    pub detection_threshold: Confidence,
    #[serde(rename = "stuck_timeout_seconds", deserialize_with = "seconds")]
    pub stuck_timeout: Duration,
    #[serde(rename = "echo_suppression_ms", deserialize_with = "milliseconds")]
    pub echo_suppression: Duration,
    #[serde(rename = "inject_settle_ms", deserialize_with = "milliseconds")]
    pub inject_settle: Duration,
    pub free_text_enabled: bool,
    pub secrets_over_channels: bool,
    pub notify_idle: bool,
    #[serde(rename = "presence_grace_seconds", deserialize_with = "seconds")]
    pub presence_grace: Duration,
    pub show_detail: bool,
    pub defaults: Defaults,
}

/// What happens to a prompt of each kind that nobody answered.
///
/// # Silence-never-approves invariant
/// A kind has its safe default or nothing. There is no value here that could say "yes".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Defaults {
    yes_no: OnExpiry,
    confirm_enter: OnExpiry,
    multiple_choice: OnExpiry,
    free_text: OnExpiry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum OnExpiry {
    #[serde(alias = "n", alias = "enter", alias = "refuse")]
    SafeDefault,
    #[serde(rename = "none")]
    Nothing,
}

impl Defaults {
    pub(crate) fn of(&self, kind: Kind) -> OnExpiry {
        match kind {
            Kind::YesNo => self.yes_no,
            Kind::ConfirmEnter => self.confirm_enter,
            Kind::MultipleChoice => self.multiple_choice,
            Kind::FreeText => self.free_text,
            Kind::Password | Kind::Idle | Kind::Unknown => OnExpiry::Nothing,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Web {
    pub enabled: bool,
    pub listen: SocketAddr,
    #[serde(flatten)]
    pub tls: Option<Tls>,
    /// Over TLS, with a certificate of our own making.
    pub self_signed: bool,
    /// Somebody has said in writing that this page may be served without TLS beyond this machine.
    pub insecure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Tls {
    #[serde(rename = "tls_certificate")]
    pub certificate: PathBuf,
    #[serde(rename = "tls_key")]
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Telegram {
    pub bot_token: Secret,
    /// Never empty.
    pub allowed_users: Vec<i64>,
    /// Groups; empty where prompts go to each user's private chat.
    pub chats: Vec<i64>,
    pub notify_start: bool,
    pub notify_end: bool,
    pub messages_per_second: f64,
    /// Without a slash at its end.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Slack {
    pub app_token: Secret,
    pub bot_token: Secret,
    pub channel: String,
    /// Never empty.
    pub allowed_users: Vec<String>,
    /// Without a slash at its end.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct StoreSettings {
    pub retention_days: u32,
}

/// A configuration that holds, and what is worth knowing about it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub config: Config,
    /// The same settings as they were given, with the place each came from; for `config show`.
    pub settings: Settings,
    pub warnings: Vec<Warning>,
}

/// The configuration of this user. A missing file means the defaults.
pub(crate) fn load(paths: &Paths, environment: &Environment) -> Result<Loaded, ConfigError> {
    match source::read_if_present(&paths.config)? {
        Some(text) => Ok(parse(&text, &paths.config, environment)?),
        None => {
            let mut loaded = parse("", &paths.config, environment)?;
            loaded.warnings.extend(paths.named_but_missing());
            Ok(loaded)
        }
    }
}

/// Whether this is the shape of a bot's token.
pub(crate) fn is_telegram_token(text: &str) -> bool {
    rules::telegram_token(text).is_ok()
}

/// The configuration in one named file, which must exist: `config check FILE`.
pub(crate) fn load_file(file: &Path, environment: &Environment) -> Result<Loaded, ConfigError> {
    let text = source::read(file)?;
    Ok(parse(&text, file, environment)?)
}

fn seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(value)?).map_err(D::Error::custom)
}

fn milliseconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    u64::deserialize(value).map(Duration::from_millis)
}

fn confidence<'de, D: Deserializer<'de>>(value: D) -> Result<Confidence, D::Error> {
    let hundredths = (f64::deserialize(value)? * 100.0).round() as u8;
    Confidence::new(hundredths).ok_or_else(|| D::Error::custom("no confidence is below 0.60"))
}
