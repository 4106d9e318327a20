//! The environment variables that AtlasBridge listens to: the one place that reads them.
//!
//! Everything else takes an `Environment`, so a test owns its variables and no test changes those of the process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use super::schema::{SECTIONS, Setting};

/// The variables of ours, those of tokens among them, that are set and not empty.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<&'static str, OsString>);

/// Beside those that stand in for a setting.
const NAMES: [&str; 4] = ["HOME", "ATLASBRIDGE_HOME", "ATLASBRIDGE_CONFIG", "ATLASBRIDGE_CAPTURE_PROMPTS"];

/// Everything but our own variables, which no other program gets: they may hold tokens.
pub(crate) fn environment_of_others() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("ATLASBRIDGE_")).collect()
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self::from_lookup(|name| std::env::var_os(name))
    }

    /// An empty variable counts as unset, as it does for a shell's `${NAME:-default}`.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| lookup(name).filter(|value| !value.is_empty());
        let settings = SECTIONS.iter().flat_map(|section| section.settings);
        let names = NAMES.into_iter().chain(settings.filter_map(Setting::variable));
        Self(names.filter_map(|name| Some((name, set(name)?))).collect())
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.0.get(name).map(PathBuf::from)
    }

    /// `1` switches on; anything else does not.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value == "1")
    }

    /// A value that is not UTF-8 keeps its place, so that the rule of the setting can refuse it.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| value.to_string_lossy().into_owned())
    }
}

/// Names only: some of the values are tokens.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
