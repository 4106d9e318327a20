//! The settings of `config.toml`, from text to meaning, in one pass and before anything starts.
//!
//! Text and environment come in here, a `Config` of plain values goes out, and no other file of the workspace
//! reads either. Everything that is wrong with a file is said at once, each problem with its line and its cure; a setting
//! that this version cannot honour is refused or warned about, never ignored in silence.
//!
//! `schema` is the table of all settings: what is refused, the structs that serde fills with values that have passed,
//! `config show` and `docs/config.md` follow from it.

mod environment;
mod paths;
mod problem;
mod read;
mod reference;
mod rules;
mod schema;
mod source;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Deserialize;

pub(crate) use environment::{Environment, environment_of_others};
use paths::CONFIG_FILE;
pub(crate) use paths::Paths;
pub(crate) use problem::{ConfigError, quoted};
use read::parse;
pub(crate) use reference::reference;
pub(crate) use schema::{Policy, Prompts, Slack, StoreSettings, Telegram, Web};
pub(crate) use source::read_if_present;

/// What the settings mean. Every value has passed the rule of its row in the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Config {
    pub prompts: Prompts,
    pub web: Web,
    pub telegram: Option<Telegram>,
    pub slack: Option<Slack>,
    pub store: StoreSettings,
    pub policy: Policy,
}

/// What happens to a prompt that nobody answered.
///
/// # Silence-never-approves invariant
/// A kind has its safe default or nothing. There is no value here that could say "yes".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum OnExpiry {
    #[serde(alias = "n", alias = "enter", alias = "refuse")]
    SafeDefault,
    #[serde(rename = "none")]
    Nothing,
}

/// A configuration that holds, and what is worth knowing about it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub config: Config,
    /// The settings in force as TOML, with the origin of each and every secret masked: `config show`.
    pub shown: String,
    /// What does not stop AtlasBridge and its user should know, in sentences.
    pub warnings: Vec<String>,
}

/// The configuration of this user. A missing file means the defaults.
pub(crate) fn load(paths: &Paths, environment: &Environment) -> Result<Loaded, ConfigError> {
    let text = read_if_present(&paths.config)?;
    let mut loaded = parse(text.as_deref().unwrap_or_default(), &paths.config, environment)?;
    // A person who names a file means it to be read; that it is not there deserves a word.
    if text.is_none() && paths.config != paths.home.join(CONFIG_FILE) {
        let file = paths.config.display();
        let missing = format!("ATLASBRIDGE_CONFIG names {file}, which does not exist: the defaults are used");
        loaded.warnings.push(missing);
    }
    Ok(loaded)
}

/// Whether this is the shape of a bot's token.
pub(crate) fn is_telegram_token(text: &str) -> bool {
    rules::telegram_token(text).is_ok()
}

/// The configuration in one named file, which must exist: `config check FILE`.
pub(crate) fn load_file(file: &Path, environment: &Environment) -> Result<Loaded, ConfigError> {
    parse(&source::read(file)?, file, environment)
}
