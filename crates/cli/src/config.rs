//! The settings of `config.toml`, from text to meaning, in one pass and before anything starts.
//!
//! Text and environment come in here, a `Config` of plain values goes out, and no other file of the workspace
//! reads either. Whatever is wrong with a file is said at once, each problem with its line and its cure; a setting
//! that this version cannot honour is refused or warned about, never ignored in silence.
//!
//! `schema` is the table of all settings: reading, `config show` and `docs/config.md` all follow from it.

mod environment;
mod paths;
mod problem;
mod read;
mod reference;
mod schema;
mod secret;
mod shape;
mod show;
mod source;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_model::{Confidence, Kind};

pub(crate) use environment::{Environment, is_ours};
pub(crate) use paths::{HomeError, LONGEST_SOCKET, Paths, PathsError, create_private};
pub(crate) use problem::{ConfigErrors, Warning};
pub(crate) use read::Settings;
pub(crate) use reference::reference;
pub(crate) use secret::Secret;
pub(crate) use show::show;
pub(crate) use source::{ConfigError, quoted};

/// What the settings mean. Every value has passed the rule of its row in the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub prompts: Prompts,
    pub web: Web,
    pub telegram: Option<Telegram>,
    pub slack: Option<Slack>,
    pub store: StoreSettings,
    /// Always `None` in this version, which refuses a policy file rather than ignore it.
    pub policy: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompts {
    /// How long a prompt waits for a person before its safe default is used.
    pub timeout: Duration,
    /// Sightings below it are not prompts.
    pub detection_threshold: Confidence,
    pub stuck_timeout: Duration,
    pub echo_suppression: Duration,
    pub inject_settle: Duration,
    pub free_text_enabled: bool,
    pub secrets_over_channels: bool,
    pub notify_idle: bool,
    pub presence_grace: Duration,
    pub show_detail: bool,
    pub defaults: Defaults,
}

/// What happens to a prompt of each kind that nobody answered.
///
/// # Silence-never-approves invariant
/// A kind has its safe default or nothing. There is no value here that could say "yes".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Defaults {
    yes_no: OnExpiry,
    confirm_enter: OnExpiry,
    multiple_choice: OnExpiry,
    free_text: OnExpiry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnExpiry {
    SafeDefault,
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Web {
    pub enabled: bool,
    pub listen: SocketAddr,
    pub tls: Option<Tls>,
    /// Over TLS, with a certificate of our own making.
    pub self_signed: bool,
    /// Somebody has said in writing that this page may be served without TLS beyond this machine.
    pub insecure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slack {
    pub app_token: Secret,
    pub bot_token: Secret,
    pub channel: String,
    /// Never empty.
    pub allowed_users: Vec<String>,
    /// Without a slash at its end.
    pub api_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    pub backend: Backend,
    pub retention_days: u32,
}

/// PostgreSQL joins this list in a later version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
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
    shape::telegram_token(text).is_ok()
}

/// The configuration in one named file, which must exist: `config check FILE`.
pub(crate) fn load_file(file: &Path, environment: &Environment) -> Result<Loaded, ConfigError> {
    let text = source::read(file)?;
    Ok(parse(&text, file, environment)?)
}

/// The meaning of this text, or everything that is wrong with it. Pure: `file` is only named in messages.
pub(crate) fn parse(text: &str, file: &Path, environment: &Environment) -> Result<Loaded, ConfigErrors> {
    let (settings, warnings) = read::read(text, file, environment)?;
    Ok(Loaded { config: lower(&settings), settings, warnings })
}

/// From checked settings to meaning. Nothing can be wrong any more.
fn lower(settings: &Settings) -> Config {
    Config {
        prompts: lower_prompts(settings),
        web: Web {
            enabled: settings.toggle("web.enabled"),
            listen: settings.address("web.listen"),
            tls: settings.is_given("web.tls_certificate").then(|| Tls {
                certificate: settings.text("web.tls_certificate").into(),
                key: settings.text("web.tls_key").into(),
            }),
            self_signed: settings.toggle("web.self_signed"),
            insecure: settings.toggle("web.insecure"),
        },
        telegram: settings.has_section("telegram").then(|| Telegram {
            bot_token: settings.secret("telegram.bot_token"),
            allowed_users: settings.numbers("telegram.allowed_users"),
            chats: settings.numbers("telegram.chats"),
            notify_start: settings.toggle("telegram.notify_start"),
            notify_end: settings.toggle("telegram.notify_end"),
            messages_per_second: settings.decimal("telegram.messages_per_second"),
            api_url: settings.text("telegram.api_url"),
        }),
        slack: settings.has_section("slack").then(|| Slack {
            app_token: settings.secret("slack.app_token"),
            bot_token: settings.secret("slack.bot_token"),
            channel: settings.text("slack.channel"),
            allowed_users: settings.texts("slack.allowed_users"),
            api_url: settings.text("slack.api_url"),
        }),
        store: StoreSettings {
            backend: Backend::Sqlite,
            retention_days: settings.whole("store.retention_days") as u32,
        },
        policy: None,
    }
}

fn lower_prompts(settings: &Settings) -> Prompts {
    let threshold = (settings.decimal("prompts.detection_threshold") * 100.0).round() as u8;
    Prompts {
        timeout: Duration::from_secs(settings.whole("prompts.timeout_seconds")),
        detection_threshold: Confidence::new(threshold).expect("the table allows nothing below 0.60"),
        stuck_timeout: Duration::from_secs_f64(settings.decimal("prompts.stuck_timeout_seconds")),
        echo_suppression: Duration::from_millis(settings.whole("prompts.echo_suppression_ms")),
        inject_settle: Duration::from_millis(settings.whole("prompts.inject_settle_ms")),
        free_text_enabled: settings.toggle("prompts.free_text_enabled"),
        secrets_over_channels: settings.toggle("prompts.secrets_over_channels"),
        notify_idle: settings.toggle("prompts.notify_idle"),
        presence_grace: Duration::from_secs(settings.whole("prompts.presence_grace_seconds")),
        show_detail: settings.toggle("prompts.show_detail"),
        defaults: Defaults {
            yes_no: on_expiry(settings, "prompts.defaults.yes_no"),
            confirm_enter: on_expiry(settings, "prompts.defaults.confirm_enter"),
            multiple_choice: on_expiry(settings, "prompts.defaults.multiple_choice"),
            free_text: on_expiry(settings, "prompts.defaults.free_text"),
        },
    }
}

/// The table lets through a kind's own safe default and "none", so what is not "none" is the safe default.
fn on_expiry(settings: &Settings, path: &'static str) -> OnExpiry {
    match settings.text(path).as_str() {
        schema::NO_DEFAULT => OnExpiry::Nothing,
        _ => OnExpiry::SafeDefault,
    }
}
