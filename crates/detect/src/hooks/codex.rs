//! Codex, by its app-server: the shapes of its requests for approval and of its decisions, as 0.166.0 speaks them.
//!
//! Our bridge (`codex-bridge` of the binary) is a second client of the server to which Codex's own screen is connected. It
//! brings each request here as one event and sends back what is said here. Whoever answers first, there or here, closes the
//! dialog for both.

use atlasbridge_model::mask::mask;
use atlasbridge_model::{Choice, Effect, Grant, Sighting, Takes};
use serde_json::{Value as Json, json};

use super::shown::{Extent, Lines};
use super::{Asker, HookEvent, HookRequest};

/// How the names of the bridge's events begin.
pub(super) const EVENTS: &str = "codex/";

/// What Codex wants, by its app-server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CodexRequest {
    Command {
        /// As the dialog shows it: without the shell that runs it.
        command: String,
        /// What to remember so that its like is not asked for again; null for nothing.
        amendment: Json,
        /// The decisions that the server takes, where it lists them.
        offered: Option<Vec<Json>>,
    },
    /// Of the files at these paths.
    Edits(Vec<String>),
}

const PROCEED: &str = "Yes, proceed";
const REFUSE: &str = "No, and tell Codex what to do differently";
/// The beginning of the row that remembers a command; the command follows.
const REMEMBER: &str = "Yes, and don't ask again for commands that start with";
/// Before each file of an edit.
const DESTINATION: &str = "Destination:";
const REMEMBER_FILES: &str = "Yes, and don't ask again for these files";

pub(super) fn event(name: &str, event: &Json) -> Option<HookEvent> {
    Some(match name {
        "approval" => HookEvent::Asks(Box::new(request(event)?)),
        "works" => HookEvent::Works,
        "finished" => HookEvent::Finished { message: event["last_message"].as_str()?.to_owned() },
        _ => HookEvent::Other,
    })
}

fn request(event: &Json) -> Option<HookRequest> {
    let params = &event["params"];
    let (request, mut detail) = match event["method"].as_str()? {
        "item/commandExecution/requestApproval" => command(params)?,
        "item/fileChange/requestApproval" => edits(&event["item"])?,
        _ => return None,
    };
    detail.extend(text(params, "reason").map(|reason| format!("Reason: {reason}")));
    Some(HookRequest {
        title: request.title(),
        detail: detail.join("\n"),
        rows: request.rows(),
        takes: Takes::NOTHING,
        picks: None,
        asker: Asker::Codex(request),
    })
}

fn text(object: &Json, key: &str) -> Option<String> {
    object[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// A plain command, and what a person reads of it. Input for a program that runs, and hosts that one may reach, are asked
/// for by other dialogs: those are left to the screen.
fn command(params: &Json) -> Option<(CodexRequest, Vec<String>)> {
    let is_command = text(params, "kind").is_none_or(|kind| kind == "command");
    if !is_command || !params["networkApprovalContext"].is_null() {
        return None;
    }
    let command = text(params, "command")?;
    let command = script(&command).unwrap_or(command);
    let directory = text(params, "cwd").map(|directory| format!("in {directory}"));
    let detail = std::iter::once(format!("$ {command}")).chain(directory).collect();
    let amendment = params["proposedExecpolicyAmendment"].clone();
    let offered = params["availableDecisions"].as_array().cloned();
    Some((CodexRequest::Command { command, amendment, offered }, detail))
}

/// Changes of files, and what a person reads of them.
fn edits(item: &Json) -> Option<(CodexRequest, Vec<String>)> {
    let changes = item["changes"].as_array().filter(|changes| !changes.is_empty())?;
    let paths: Vec<String> = changes.iter().map(|change| text(change, "path")).collect::<Option<_>>()?;
    let told = |(change, path): (&Json, &String)| {
        let kind = text(&change["kind"], "type").unwrap_or_default();
        let diff = text(change, "diff").unwrap_or_default();
        format!("{kind} {path}\n{}", diff.trim_end())
    };
    let detail = changes.iter().zip(&paths).map(told).collect();
    Some((CodexRequest::Edits(paths), detail))
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
    fn title(&self) -> String {
        match self {
            CodexRequest::Command { command, .. } => format!("Command: {command}"),
            CodexRequest::Edits(paths) => format!("Edit: {}", paths.join(", ")),
        }
    }

    /// # One-prompt invariant
    /// Two requests may wait at once, and the dialog shows one of them. So the command must stand right above the first
    /// row, after its `$` and whole: what is named in the reason, which the model writes, is another. Of edits the dialog
    /// lists every file, and no other.
    pub(super) fn shown_by(&self, lines: Lines, sighting: &Sighting) -> Option<Extent> {
        match self {
            CodexRequest::Command { command, .. } => {
                let first = sighting.choices.as_ref()?.get(0)?;
                lines.above(&first.label).end_in(&format!("$ {command}"))
            }
            CodexRequest::Edits(paths) => {
                let shown = |path: &String| lines.show(&format!("{DESTINATION} {path}"));
                let is_all = lines.count(DESTINATION) == paths.len()
                    && paths.iter().all(|path| shown(path) == Some(Extent::Whole));
                is_all.then_some(Extent::Whole)
            }
        }
    }

    /// Answers of the request's own, where no dialog could be read.
    fn rows(&self) -> Vec<(String, Effect)> {
        let remembering = match self {
            CodexRequest::Command { .. } => {
                self.amended().map(|words| (format!("{REMEMBER} `{words}`"), Effect::Widens(Grant::Always)))
            }
            CodexRequest::Edits(_) => Some((REMEMBER_FILES.to_owned(), Effect::Widens(Grant::Session))),
        };
        std::iter::once((PROCEED.to_owned(), Effect::Accepts))
            .chain(remembering)
            .chain([(REFUSE.to_owned(), Effect::Refuses)])
            .collect()
    }

    /// What would be remembered of a command, in words.
    fn amended(&self) -> Option<String> {
        let CodexRequest::Command { amendment, .. } = self else {
            return None;
        };
        let words: Option<Vec<&str>> = amendment.as_array()?.iter().map(Json::as_str).collect();
        words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
    }

    pub(super) fn chosen(&self, choice: &Choice) -> Option<Json> {
        let decision = self.meant(&choice.label, choice.effect)?;
        let is_taken = match self {
            CodexRequest::Command { offered: Some(offered), .. } => offered.contains(&decision),
            CodexRequest::Command { offered: None, .. } | CodexRequest::Edits(_) => true,
        };
        is_taken.then(|| json!({ "decision": decision }))
    }

    /// What a row of the dialog means. `None`: one that is not known; its key says it.
    fn meant(&self, label: &str, effect: Effect) -> Option<Json> {
        let label = label.replace('’', "'");
        match effect {
            // Escape interrupts the turn, and so does this.
            Effect::Refuses => Some(json!("cancel")),
            Effect::Accepts if label == PROCEED => Some(json!("accept")),
            Effect::Accepts | Effect::Widens(_) => match self {
                CodexRequest::Command { amendment, .. } => {
                    let words = label.strip_prefix(REMEMBER)?;
                    // The row speaks of exactly what would be remembered, or it is not remembered by us.
                    (squeezed(words) == squeezed(&mask(&self.amended()?))).then_some(())?;
                    Some(json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": amendment } }))
                }
                CodexRequest::Edits(_) => (label == REMEMBER_FILES).then(|| json!("acceptForSession")),
            },
            Effect::Other => None,
        }
    }
}
