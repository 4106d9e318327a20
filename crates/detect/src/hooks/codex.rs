//! Codex, by its app-server: the shapes of its requests for approval and of its decisions, as 0.166.0 speaks them.
//!
//! Our bridge (`codex-bridge` of the binary) is a second client of the server to which Codex's own screen is connected. It
//! brings each request here as one event and sends back what is said here. Whoever answers first, there or here, closes the
//! dialog for both.

use atlasbridge_model::answer::Value;
use atlasbridge_model::mask::mask;
use atlasbridge_model::{Effect, Grant, Sighting};
use serde_json::{Value as Json, json};

use super::shown::{Extent, Lines};
use super::{HookEvent, HookRequest};

/// How the names of the bridge's events begin.
pub(super) const EVENTS: &str = "codex/";

/// Of Codex, by its app-server.
#[derive(Debug, Clone, PartialEq)]
pub struct CodexRequest {
    wants: Wants,
    reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Wants {
    Command {
        /// As the dialog shows it: without the shell that runs it.
        command: String,
        directory: Option<String>,
        /// What to remember so that its like is not asked for again.
        amendment: Option<Json>,
        /// The decisions that the server takes, where it lists them.
        offered: Option<Vec<Json>>,
    },
    Edits(Vec<FileChange>),
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq)]
struct FileChange {
    path: String,
    kind: String,
    diff: String,
}

const PROCEED: &str = "Yes, proceed";
const REFUSE: &str = "No, and tell Codex what to do differently";
/// The beginning of the row that remembers a command; the command follows.
const REMEMBER: &str = "Yes, and don't ask again for commands that start with";
/// Before each file of an edit.
const DESTINATION: &str = "Destination:";
const REMEMBER_FILES: &str = "Yes, and don't ask again for these files";

pub(super) fn event(event: &Json) -> Option<HookEvent> {
    let name = event.get("hook_event_name")?.as_str()?;
    Some(match name.strip_prefix(EVENTS)? {
        "approval" => {
            let request = request(event)?;
            HookEvent::Asks(Box::new(HookRequest::Codex(request)))
        }
        "works" => HookEvent::Works,
        "finished" => HookEvent::Finished { message: event.get("last_message")?.as_str()?.to_owned() },
        _ => HookEvent::Other,
    })
}

fn request(event: &Json) -> Option<CodexRequest> {
    let params = event.get("params")?;
    let wants = match event.get("method")?.as_str()? {
        "item/commandExecution/requestApproval" => command(params)?,
        "item/fileChange/requestApproval" => Wants::Edits(changes(event.get("item")?)?),
        _ => return None,
    };
    Some(CodexRequest { wants, reason: text(params, "reason") })
}

fn text(object: &Json, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn present<'a>(object: &'a Json, key: &str) -> Option<&'a Json> {
    object.get(key).filter(|value| !value.is_null())
}

/// A plain command. Input for a program that runs, and hosts that one may reach, are asked for by other dialogs: those are
/// left to the screen.
fn command(params: &Json) -> Option<Wants> {
    let is_command = text(params, "kind").is_none_or(|kind| kind == "command");
    if !is_command || present(params, "networkApprovalContext").is_some() {
        return None;
    }
    let command = text(params, "command")?;
    let offered = present(params, "availableDecisions").and_then(Json::as_array);
    Some(Wants::Command {
        command: script(&command).unwrap_or(command),
        directory: text(params, "cwd"),
        amendment: present(params, "proposedExecpolicyAmendment").cloned(),
        offered: offered.cloned(),
    })
}

fn changes(item: &Json) -> Option<Vec<FileChange>> {
    let changes: Option<Vec<FileChange>> = item
        .get("changes")?
        .as_array()?
        .iter()
        .map(|change| {
            let kind = change.get("kind").and_then(|kind| text(kind, "type"));
            Some(FileChange {
                path: text(change, "path")?,
                kind: kind.unwrap_or_default(),
                diff: text(change, "diff").unwrap_or_default(),
            })
        })
        .collect();
    changes.filter(|changes| !changes.is_empty())
}

/// The script in `/bin/bash -lc '…'`. `None`: it is no such command.
fn script(command: &str) -> Option<String> {
    let (shell, rest) = command.split_once(' ')?;
    let shell = shell.rsplit('/').next()?;
    let script = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
    let is_shell = matches!(shell, "bash" | "sh" | "zsh" | "dash");
    is_shell.then(|| unquoted(script)).flatten()
}

/// One word of a shell without its quotes. `None`: it is more than one word, or not whole.
fn unquoted(word: &str) -> Option<String> {
    let mut plain = String::new();
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), char) if char == open => quote = None,
            (None, '\\') => plain.push(chars.next()?),
            (Some('"'), '\\') => match chars.next_if(|next| matches!(next, '$' | '`' | '"' | '\\')) {
                Some(escaped) => plain.push(escaped),
                None => plain.push('\\'),
            },
            (None, char) if char.is_whitespace() => return None,
            (_, char) => plain.push(char),
        }
    }
    quote.is_none().then_some(plain)
}

/// What is compared of a row: letters and digits, and `$`.
fn squeezed(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric() || *char == '$').collect()
}

impl CodexRequest {
    pub(super) fn title(&self) -> String {
        match &self.wants {
            Wants::Command { command, .. } => format!("Command: {command}"),
            Wants::Edits(changes) => {
                let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                format!("Edit: {}", paths.join(", "))
            }
        }
    }

    /// # One-prompt invariant
    /// Two requests may wait at once, and the dialog shows one of them. So the command must stand right above the first
    /// row, after its `$` and whole: what is named in the reason, which the model writes, is another. Of edits the dialog
    /// lists every file, and no other.
    pub(super) fn shown_by(&self, lines: Lines, sighting: &Sighting) -> Option<Extent> {
        match &self.wants {
            Wants::Command { command, .. } => {
                let first = sighting.choices.as_ref()?.get(0)?;
                lines.above(&first.label).end_in(&format!("$ {command}"))
            }
            Wants::Edits(changes) => {
                let is_shown = |change: &FileChange| lines.show(&format!("{DESTINATION} {}", change.path));
                let is_all = lines.count(DESTINATION) == changes.len()
                    && changes.iter().all(|change| is_shown(change) == Some(Extent::Whole));
                is_all.then_some(Extent::Whole)
            }
        }
    }

    /// The whole of what is asked for, as a person reads it.
    pub(super) fn detail(&self) -> String {
        let mut lines = Vec::new();
        match &self.wants {
            Wants::Command { command, directory, .. } => {
                lines.push(format!("$ {command}"));
                lines.extend(directory.iter().map(|directory| format!("in {directory}")));
            }
            Wants::Edits(changes) => lines.extend(changes.iter().map(|change| {
                let FileChange { path, kind, diff } = change;
                format!("{kind} {path}\n{}", diff.trim_end())
            })),
        }
        lines.extend(self.reason.iter().map(|reason| format!("Reason: {reason}")));
        lines.join("\n")
    }

    /// Answers of the request's own, where no dialog could be read.
    pub(super) fn rows(&self) -> Vec<(String, Effect)> {
        let remembering = match &self.wants {
            Wants::Command { .. } => {
                self.amended().map(|words| (format!("{REMEMBER} `{words}`"), Effect::Widens(Grant::Always)))
            }
            Wants::Edits(_) => Some((REMEMBER_FILES.to_owned(), Effect::Widens(Grant::Session))),
        };
        std::iter::once((PROCEED.to_owned(), Effect::Accepts))
            .chain(remembering)
            .chain([(REFUSE.to_owned(), Effect::Refuses)])
            .collect()
    }

    /// What would be remembered of a command, in words.
    fn amended(&self) -> Option<String> {
        let Wants::Command { amendment, .. } = &self.wants else {
            return None;
        };
        let words: Option<Vec<&str>> = amendment.as_ref()?.as_array()?.iter().map(Json::as_str).collect();
        words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
    }

    pub(super) fn decision(&self, value: &Value, sighting: &Sighting) -> Option<Json> {
        match value {
            Value::Choice { row, label } => {
                let choice = sighting.choices.as_ref()?.get(*row)?;
                (choice.label == *label).then_some(())?;
                let decision = self.meant(label, choice.effect)?;
                self.is_taken(&decision).then(|| json!({ "decision": decision }))
            }
            // A refusal has no room for words, and a question is asked in other ways.
            Value::Refused { .. } | Value::Several(_) | Value::Text(_) | Value::Enter | Value::Secret(_) => {
                None
            }
        }
    }

    /// What a row of the dialog means. `None`: one that is not known; its key says it.
    fn meant(&self, label: &str, effect: Effect) -> Option<Json> {
        let label = label.replace('’', "'");
        match effect {
            // Escape interrupts the turn, and so does this.
            Effect::Refuses => Some(json!("cancel")),
            Effect::Accepts if label == PROCEED => Some(json!("accept")),
            Effect::Accepts | Effect::Widens(_) => match &self.wants {
                Wants::Command { amendment, .. } => {
                    let words = label.strip_prefix(REMEMBER)?;
                    // The row speaks of exactly what would be remembered, or it is not remembered by us.
                    (squeezed(words) == squeezed(&mask(&self.amended()?))).then_some(())?;
                    Some(json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": amendment } }))
                }
                Wants::Edits(_) => (label == REMEMBER_FILES).then(|| json!("acceptForSession")),
            },
            Effect::Other => None,
        }
    }

    fn is_taken(&self, decision: &Json) -> bool {
        match &self.wants {
            Wants::Command { offered, .. } => {
                offered.as_ref().is_none_or(|offered| offered.contains(decision))
            }
            Wants::Edits(_) => true,
        }
    }
}
