//! The settings that switch hooks off. Files are read as Claude reads them and never written.
//!
//! Measured: `disableAllHooks` is taken from the highest file that says it, so a project can switch back on what the
//! user switched off; the files are those of the current directory, not of the repository's root. What an
//! administrator says (`managed-settings.json`, since 2.1 also the files beside it) is above all others.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::surroundings::Surroundings;
use crate::version::Version;

/// Since when an administrator can allow their own hooks only; older versions do not know the word.
const MANAGED_ONLY_SINCE: Version = Version(2, 0, 54);
/// Since when `managed-settings.d` is read. Found in 2.1.197, not in 2.0.77.
const DROP_INS_SINCE: Version = Version(2, 1, 0);
/// Since when an administrator can keep hooks to plugins. Found in 2.1.197, not in 2.0.77.
const PLUGIN_ONLY_SINCE: Version = Version(2, 1, 0);

/// Where Claude keeps its settings and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub cwd: PathBuf,
    /// `~/.claude`, or what `CLAUDE_CONFIG_DIR` says; unknown without a home.
    pub config: Option<PathBuf>,
    /// Where it remembers which folders are trusted.
    pub state: Option<PathBuf>,
    pub managed: PathBuf,
}

impl Places {
    pub(crate) fn new(surroundings: &Surroundings) -> Self {
        let home = surroundings.path("HOME");
        let moved = surroundings.path("CLAUDE_CONFIG_DIR");
        let config = moved.clone().or_else(|| home.as_ref().map(|home| home.join(".claude")));
        let old_state =
            config.as_ref().map(|config| config.join(".config.json")).filter(|file| file.exists());
        let state = old_state.or_else(|| moved.or(home).map(|directory| directory.join(".claude.json")));
        Self { cwd: surroundings.cwd.clone(), config, state, managed: PathBuf::from("/etc/claude-code") }
    }

    /// The files of a person, lowest first, each with the name that `--setting-sources` has for it.
    fn own(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let user = self.config.as_ref().map(|config| config.join("settings.json"));
        let project = self.cwd.join(".claude");
        [
            ("user", user),
            ("project", Some(project.join("settings.json"))),
            ("local", Some(project.join("settings.local.json"))),
        ]
        .into_iter()
        .filter_map(|(name, file)| Some((name, file?)))
    }

    /// The files of the administrator, lowest first.
    fn managed(&self, version: Version) -> Vec<PathBuf> {
        let mut files = vec![self.managed.join("managed-settings.json")];
        if version >= DROP_INS_SINCE {
            let entries = fs::read_dir(self.managed.join("managed-settings.d"));
            let mut more: Vec<PathBuf> = entries
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|file| is_drop_in(file))
                .collect();
            more.sort();
            files.extend(more);
        }
        files
    }
}

fn is_drop_in(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.ends_with(".json") && !name.starts_with('.'))
}

/// Why our hooks will not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// By the command line or the environment of the person who started it, who need not be told.
    AsWished,
    VersionUnknown,
    TooOld(Version),
    /// What was given with `--settings` cannot be read, so it cannot be kept while ours are added.
    Unreadable(String),
    /// A setting.
    Switch {
        file: String,
        key: &'static str,
        /// The administrator's; a person cannot change it.
        is_managed: bool,
    },
}

impl Off {
    /// For people, where they might have expected otherwise.
    pub fn reason(&self) -> Option<String> {
        match self {
            Off::AsWished => None,
            Off::VersionUnknown => Some("claude did not tell its version".to_owned()),
            Off::TooOld(version) => Some(format!(
                "claude {version} is older than {oldest}, which takes them for one session",
                oldest = super::OLDEST
            )),
            Off::Unreadable(what) => Some(what.clone()),
            Off::Switch { file, key, .. } => Some(format!("{file} switches them off ({key})")),
        }
    }
}

/// What was said, by whom, lowest first.
struct SettingsSource {
    file: String,
    is_managed: bool,
    settings: Value,
}

/// The setting that switches our hooks off, if there is one. `sources`: which of the person's files are read.
pub(super) fn switched_off(
    version: Version,
    sources: Option<&[String]>,
    given: Option<&Value>,
    places: &Places,
) -> Option<Off> {
    let is_read = |name: &str| sources.is_none_or(|sources| sources.iter().any(|source| source == name));
    let own = places.own().filter(|(name, _)| is_read(name)).map(|(_, file)| file);
    let mut said: Vec<SettingsSource> = own.filter_map(|file| read(&file, false)).collect();
    said.extend(given.map(|settings| SettingsSource {
        file: "what was given with --settings".to_owned(),
        is_managed: false,
        settings: settings.clone(),
    }));
    said.extend(places.managed(version).iter().filter_map(|file| read(file, true)));
    let all = |_: &SettingsSource| true;
    let managed = |said: &SettingsSource| said.is_managed;
    let is_true = |value: &Value| value.as_bool();
    let switches = [
        last(&said, "disableAllHooks", all, is_true),
        last(&said, "allowManagedHooksOnly", managed, is_true).filter(|_| version >= MANAGED_ONLY_SINCE),
        last(&said, "strictPluginOnlyCustomization", managed, locks_hooks)
            .filter(|_| version >= PLUGIN_ONLY_SINCE),
    ];
    switches.into_iter().flatten().next()
}

/// The highest that says something of `key`, if what it says switches off.
fn last(
    said: &[SettingsSource],
    key: &'static str,
    counts: impl Fn(&SettingsSource) -> bool,
    switches_off: impl Fn(&Value) -> Option<bool>,
) -> Option<Off> {
    let highest = said.iter().rev().filter(|said| counts(said)).find_map(|said| {
        let switch = switches_off(said.settings.get(key)?)?;
        Some((said, switch))
    });
    let (said, is_off) = highest?;
    is_off.then(|| Off::Switch { file: said.file.clone(), key, is_managed: said.is_managed })
}

/// `true`, or a list of what is locked.
fn locks_hooks(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(all) => Some(*all),
        Value::Array(surfaces) => Some(surfaces.iter().any(|surface| surface == "hooks")),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

/// A file that is not there, or that is no JSON, says nothing; Claude itself tells what is wrong with it.
fn read(file: &Path, is_managed: bool) -> Option<SettingsSource> {
    let bytes = fs::read(file).ok()?;
    Some(SettingsSource {
        file: file.display().to_string(),
        is_managed,
        settings: serde_json::from_slice(&bytes).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NEW: &str = "2.1.325";

    /// Files of a person and of an administrator, and which of them switches off: its last two names and the key.
    #[track_caller]
    fn check(version: &str, files: &[(&str, Value)], given: Option<Value>, expected: Option<(&str, &str)>) {
        check_sources(version, None, files, given, expected);
    }

    #[track_caller]
    fn check_sources(
        version: &str,
        sources: Option<&[&str]>,
        files: &[(&str, Value)],
        given: Option<Value>,
        expected: Option<(&str, &str)>,
    ) {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("ab-switches-{}-{number}", std::process::id()));
        for (name, settings) in files {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, settings.to_string()).unwrap();
        }
        let places = Places {
            cwd: root.join("project"),
            config: Some(root.join("user")),
            state: None,
            managed: root.join("managed"),
        };
        let sources: Option<Vec<String>> =
            sources.map(|sources| sources.iter().map(|source| (*source).to_owned()).collect());
        let version = Version::parse(version).unwrap();
        let off = switched_off(version, sources.as_deref(), given.as_ref(), &places);
        let _ = fs::remove_dir_all(&root);
        let found = off.map(|off| match off {
            Off::Switch { file, key, is_managed } => {
                let short = file.strip_prefix(&format!("{}/", root.display())).unwrap_or(&file);
                assert_eq!(is_managed, short.starts_with("managed/"), "{short}");
                (short.to_owned(), key)
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(found, expected.map(|(file, key)| (file.to_owned(), key)), "{files:?}");
    }

    const USER: &str = "user/settings.json";
    const PROJECT: &str = "project/.claude/settings.json";
    const LOCAL: &str = "project/.claude/settings.local.json";
    const MANAGED: &str = "managed/managed-settings.json";
    const DROP_IN: &str = "managed/managed-settings.d/10-hooks.json";

    /// Each row was measured on the real program, with a hook that left a trace or did not.
    #[test]
    fn the_highest_file_that_says_it_counts() {
        let off = || json!({ "disableAllHooks": true });
        let on = || json!({ "disableAllHooks": false });
        let key = "disableAllHooks";
        for version in [NEW, "2.1.197", "2.0.77", "1.0.128"] {
            check(version, &[], None, None);
            check(version, &[(USER, json!({ "model": "opus" }))], None, None);
            for file in [USER, PROJECT, LOCAL, MANAGED] {
                check(version, &[(file, off())], None, Some((file, key)));
            }
            check(version, &[(USER, off()), (LOCAL, on())], None, None);
            check(version, &[(USER, off())], Some(on()), None);
            check(version, &[(USER, off()), (MANAGED, on())], None, None);
            check(version, &[(USER, on())], Some(off()), Some(("what was given with --settings", key)));
        }
        check(NEW, &[(DROP_IN, off())], None, Some((DROP_IN, key)));
        check("2.0.77", &[(DROP_IN, off())], None, None);
        check(NEW, &[("managed/managed-settings.d/.hidden.json", off())], None, None);
    }

    #[test]
    fn an_administrator_may_allow_their_own_hooks_only() {
        let only = || json!({ "allowManagedHooksOnly": true });
        let key = "allowManagedHooksOnly";
        for version in [NEW, "2.1.197", "2.0.77"] {
            check(version, &[(MANAGED, only())], None, Some((MANAGED, key)));
            check(version, &[(USER, only())], None, None);
        }
        check("1.0.128", &[(MANAGED, only())], None, None);
        check(NEW, &[(DROP_IN, only())], None, Some((DROP_IN, key)));
        check("2.0.77", &[(DROP_IN, only())], None, None);

        let key = "strictPluginOnlyCustomization";
        for (value, is_off) in
            [(json!(true), true), (json!(["hooks"]), true), (json!(["skills"]), false), (json!(false), false)]
        {
            let expected = is_off.then_some((MANAGED, key));
            check(NEW, &[(MANAGED, json!({ key: value }))], None, expected);
        }
    }

    #[test]
    fn files_that_are_not_read_do_not_count() {
        let off = || json!({ "disableAllHooks": true });
        let files = [(PROJECT, off())];
        check_sources(NEW, Some(&["user"]), &files, None, None);
        check_sources(NEW, Some(&["user", "project"]), &files, None, Some((PROJECT, "disableAllHooks")));
        check_sources(NEW, Some(&[]), &[(USER, off())], None, None);
        // What an administrator says counts always.
        check_sources(NEW, Some(&[]), &[(MANAGED, off())], None, Some((MANAGED, "disableAllHooks")));
    }

    #[test]
    fn a_person_is_told_only_what_they_did_not_wish() {
        assert_eq!(Off::AsWished.reason(), None);
        let said = Off::Switch {
            file: "/etc/claude-code/managed-settings.json".to_owned(),
            key: "allowManagedHooksOnly",
            is_managed: true,
        }
        .reason()
        .unwrap();
        assert!(said.contains("/etc/claude-code/managed-settings.json"), "{said}");
    }
}
