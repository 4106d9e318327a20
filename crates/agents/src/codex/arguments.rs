//! The command line of Codex, as far as its app-server is concerned. Pure.
//!
//! An option is known here if 0.166.0 was seen to mean the same by it with `--remote` as without. Every other is a reason to
//! leave the start as it was typed: an option that is silently lost, such as one that narrows a sandbox, is worse than a screen.

use std::ffi::OsString;

use crate::is_among;

/// Words in the first place that are commands and no prompt.
const COMMANDS: &str = "a agents app-server apply archive cloud completion debug delete doctor e exec exec-server \
    features fork help login logout mcp migrate-nfs-db migrate-rollouts plugin queue remote-control \
    resume review sandbox update";

/// The server is private, which is what this asks for; together with `--remote` it is refused.
const NO_DAEMON: &str = "--no-daemon";

/// The arguments of a start that can have a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// What the screen gets.
    pub screen: Vec<OsString>,
    /// `-C` was given.
    pub has_directory: bool,
    /// What the server gets as well: settings that are its own.
    pub server: Vec<OsString>,
}

/// What is known of an option.
enum Known {
    Flag,
    Value,
    /// With a value, for the server too.
    Setting,
}

fn known(name: &str) -> Option<Known> {
    Some(match name {
        "--no-alt-screen" | NO_DAEMON => Known::Flag,
        "-m" | "--model" | "-s" | "--sandbox" | "-a" | "--ask-for-approval" | "-C" | "--cd" => Known::Value,
        "-c" | "--config" | "--enable" | "--disable" => Known::Setting,
        _ => return None,
    })
}

impl Arguments {
    /// Or why this start cannot have a server: nothing where it asks no person, or was given one.
    pub(super) fn read(args: &[OsString]) -> Result<Self, Option<String>> {
        let mut read = Self { screen: Vec::new(), has_directory: false, server: Vec::new() };
        let mut has_prompt = false;
        let mut words = args.iter();
        while let Some(word) = words.next() {
            // An argument that is not UTF-8 is none of those looked for here.
            let text = word.to_string_lossy();
            if text == "--" {
                read.screen.push(word.clone());
                read.screen.extend(words.by_ref().cloned());
                break;
            }
            if !text.starts_with('-') || text == "-" {
                if !has_prompt && is_among(COMMANDS, &text) {
                    return Err(None);
                }
                has_prompt = true;
                read.screen.push(word.clone());
                continue;
            }
            let (name, is_joined) = match text.split_once('=') {
                Some((name, _)) => (name, true),
                None => (text.as_ref(), false),
            };
            if matches!(name, "-h" | "--help" | "-V" | "--version" | "--remote") {
                return Err(None);
            }
            let known =
                known(name).ok_or_else(|| Some(format!("{name} was not proved together with one")))?;
            let value = match known {
                Known::Flag => None,
                Known::Value | Known::Setting if is_joined => None,
                // Codex will say what is missing.
                Known::Value | Known::Setting => Some(words.next().ok_or(None)?),
            };
            if name == NO_DAEMON {
                continue;
            }
            read.has_directory |= matches!(name, "-C" | "--cd");
            let given = || std::iter::once(word).chain(value).cloned();
            read.screen.extend(given());
            if matches!(known, Known::Setting) {
                read.server.extend(given());
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[track_caller]
    fn check(line: &str, screen: &str, server: &str) {
        let expected =
            Arguments { screen: words(screen), has_directory: line.contains("-C "), server: words(server) };
        assert_eq!(Arguments::read(&words(line)), Ok(expected), "codex {line}");
    }

    #[track_caller]
    fn check_odd(line: &str, expected: Option<String>) {
        assert_eq!(Arguments::read(&words(line)), Err(expected), "codex {line}");
    }

    #[test]
    fn what_is_known_goes_to_the_screen_and_settings_to_the_server_too() {
        check("", "", "");
        check("--no-daemon", "", "");
        check("fix the tests", "fix the tests", "");
        check("-s read-only -a never hi", "-s read-only -a never hi", "");
        check(
            "--no-daemon -c model=o3 --enable=x -m y",
            "-c model=o3 --enable=x -m y",
            "-c model=o3 --enable=x",
        );
        check("-C exec", "-C exec", "");
        check("say exec", "say exec", "");
        check("-- exec --oss", "-- exec --oss", "");
    }

    #[test]
    fn what_is_not_known_is_a_reason() {
        for line in [
            "exec hi",
            "-m x resume",
            "login",
            "--help",
            "-V",
            "--remote unix:///s",
            "--remote=unix://",
            "-c",
        ] {
            check_odd(line, None);
        }
        for option in ["--oss", "-p", "--add-dir", "--worktree", "--search", "-i", "--new", "-sread-only"] {
            let why = format!("{option} was not proved together with one");
            check_odd(&format!("{option} x"), Some(why));
        }
    }
}
