//! The command line of Claude Code, as far as hooks are concerned. Pure, but for reading a settings file it names.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::is_among;
use crate::version::Version;

/// Settings are a few KiB; a file beyond this is something else.
const LONGEST_SETTINGS: u64 = 1024 * 1024;

/// Words in the first place that are commands and no prompt.
const COMMANDS: &str = "agents attach auth auto-mode bridge config daemon doctor gateway import install kill logs mcp \
    migrate-installer plugin plugins project purge rc remote remote-control respawn rm sandbox \
    self-hosted-runner setup-token stop sync ultrareview uninstall update upgrade";

/// Options with which Claude runs no hook, asks no person, ends at once, or goes on where our settings are gone.
const WITHOUT_HOOKS: &str = "--print --bare --safe-mode --version --help --bg --background --cloud --desktop --tmux \
    --init-only";

/// What was read off the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// A session with a person in front of it.
    pub is_interactive: bool,
    /// Each `--settings`.
    settings: Vec<SettingsArgument>,
    /// Which settings files are read, where that was said: `user`, `project`, `local`.
    pub sources: Option<Vec<String>>,
}

/// One `--settings`, and where it stands.
#[derive(Debug, PartialEq, Eq)]
struct SettingsArgument {
    index: usize,
    /// `--settings=…`, not two words.
    is_joined: bool,
    value: String,
}

impl Arguments {
    pub(crate) fn read(args: &[OsString]) -> Self {
        let mut read = Self {
            is_interactive: !args.first().is_some_and(|first| is_command(first)),
            settings: Vec::new(),
            sources: None,
        };
        let mut words = args.iter().enumerate();
        while let Some((index, word)) = words.next() {
            // An argument that is not UTF-8 is none of those looked for here.
            let word = word.to_string_lossy();
            if word == "--" {
                break;
            }
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_ref(), None),
            };
            match name {
                "--settings" | "--setting-sources" => {
                    let is_joined = joined.is_some();
                    let value = joined.or_else(|| words.next()?.1.to_str().map(str::to_owned));
                    let Some(value) = value else {
                        // Claude will refuse it, or cannot be told what we mean.
                        read.is_interactive = false;
                        break;
                    };
                    if name == "--settings" {
                        read.settings.push(SettingsArgument { index, is_joined, value });
                    } else {
                        read.sources =
                            Some(value.split(',').map(|source| source.trim().to_owned()).collect());
                    }
                }
                "--restricted" => read.sources = Some(Vec::new()),
                name if is_among(WITHOUT_HOOKS, name) || is_short_without_hooks(name) => {
                    read.is_interactive = false
                }
                _ => {}
            }
        }
        read
    }

    /// Of several, 2.1 takes the last one and older versions the first.
    pub(super) fn counting_settings(&self, version: Version) -> Option<&str> {
        let counting = if version >= Version(2, 1, 0) { self.settings.last() } else { self.settings.first() };
        counting.map(|argument| argument.value.as_str())
    }

    /// The arguments with this settings file in place of those that were given.
    pub(crate) fn with_settings(&self, mut args: Vec<OsString>, file: &Path) -> Vec<OsString> {
        for argument in &self.settings {
            if argument.is_joined {
                args[argument.index] = OsString::from("--settings=");
                args[argument.index].push(file);
            } else {
                args[argument.index + 1] = file.into();
            }
        }
        if self.settings.is_empty() {
            // In front: behind a list of values (`--add-dir a b`) it would be fine, behind `--` it would be a prompt.
            args.splice(0..0, ["--settings".into(), file.into()]);
        }
        args
    }
}

fn is_command(first: &OsStr) -> bool {
    first.to_str().is_some_and(|word| is_among(COMMANDS, word))
}

/// `-p`, also behind other short options (`-cp`), but not in the value of one (`-rp` resumes "p").
fn is_short_without_hooks(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let first = letters.and_then(|letters| letters.chars().find(|letter| *letter != 'c'));
    first.is_some_and(|letter| "phvV".contains(letter))
}

/// The settings that were passed: JSON, or a file that holds it.
pub(super) fn read_settings(given: &str, cwd: &Path) -> Result<Value, String> {
    if given.trim_start().starts_with('{') {
        return serde_json::from_str(given)
            .map_err(|_| "the settings given with --settings are no JSON".to_owned());
    }
    let file = cwd.join(given);
    let read = || -> std::io::Result<Vec<u8>> {
        // Before opening: a named pipe would keep us waiting, and Claude would find it empty.
        if !std::fs::metadata(&file)?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(&file)?;
        opened.take(LONGEST_SETTINGS).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{} is no JSON: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[track_caller]
    fn check_interactive(line: &str, expected: bool) {
        assert_eq!(Arguments::read(&words(line)).is_interactive, expected, "claude {line}");
    }

    #[test]
    fn hooks_are_for_sessions_with_a_person() {
        for line in [
            "",
            "explain-this",
            "--model opus",
            "-c",
            "-r",
            "-rp",
            "-dp",
            "--add-dir a b",
            "--debug mcp",
            "-- -p",
            "say mcp",
            "--permission-mode plan",
            "--remote-control",
            "--printer",
        ] {
            check_interactive(line, true);
        }
        for line in [
            "-p",
            "-p hello",
            "--print hello",
            "-cp hello",
            "--model opus -p hello",
            "--bare",
            "--safe-mode",
            "--version",
            "-v",
            "--help",
            "-h",
            "--bg do-it",
            "--cloud=task",
            "mcp list",
            "config list",
            "doctor",
            "update",
            "install stable",
            "agents",
            "plugin list",
            "auth login",
            "setup-token",
            "migrate-installer",
            "remote-control",
            "--settings",
        ] {
            check_interactive(line, false);
        }
    }

    #[track_caller]
    fn check_settings(line: &str, newest: Option<&str>, old: Option<&str>, expected: &str) {
        let read = Arguments::read(&words(line));
        assert_eq!(read.counting_settings(Version(2, 1, 197)), newest, "{line}");
        assert_eq!(read.counting_settings(Version(2, 0, 77)), old, "{line}");
        let changed = read.with_settings(words(line), Path::new("/h/s.json"));
        assert_eq!(changed, words(expected), "{line}");
    }

    #[test]
    fn ours_goes_in_front_or_takes_the_place_of_the_persons() {
        check_settings("", None, None, "--settings /h/s.json");
        check_settings("-c -- -p", None, None, "--settings /h/s.json -c -- -p");
        check_settings(
            "--model x --settings a.json hi",
            Some("a.json"),
            Some("a.json"),
            "--model x --settings /h/s.json hi",
        );
        check_settings(
            "--settings={\"a\":1} hi",
            Some("{\"a\":1}"),
            Some("{\"a\":1}"),
            "--settings=/h/s.json hi",
        );
        check_settings(
            "--settings a.json --settings=b.json",
            Some("b.json"),
            Some("a.json"),
            "--settings /h/s.json --settings=/h/s.json",
        );
        check_settings("-- --settings a", None, None, "--settings /h/s.json -- --settings a");
    }

    #[test]
    fn which_files_are_read_may_be_said() {
        let sources = |line: &str| Arguments::read(&words(line)).sources;
        assert_eq!(sources("-c"), None);
        assert_eq!(sources("--setting-sources user,local").unwrap(), ["user", "local"]);
        assert_eq!(sources("--setting-sources=project").unwrap(), ["project"]);
        assert_eq!(sources("--restricted"), Some(Vec::new()));
    }

    #[test]
    fn settings_come_as_text_or_file() {
        let here = std::env::temp_dir().join(format!("ab-settings-{}", std::process::id()));
        std::fs::create_dir_all(&here).unwrap();
        std::fs::write(here.join("good.json"), r#"{"model":"opus"}"#).unwrap();
        std::fs::write(here.join("bad.json"), "{ model").unwrap();
        let read = |given: &str| read_settings(given, &here);
        assert_eq!(read(r#" {"a":1}"#).unwrap()["a"], 1);
        assert_eq!(read("good.json").unwrap()["model"], "opus");
        let absolute = here.join("good.json");
        assert!(read(absolute.to_str().unwrap()).is_ok());
        for (given, word) in [
            ("{ a", "no JSON"),
            ("bad.json", "bad.json is no JSON"),
            ("none.json", "none.json cannot be read"),
            (".", "not a file"),
        ] {
            let said = read(given).unwrap_err();
            assert!(said.contains(word), "{word} in {said}");
        }
        std::fs::remove_dir_all(&here).unwrap();
    }
}
