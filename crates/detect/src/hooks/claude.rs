//! Claude Code's hooks: the shapes of its events and decisions, as measured with 2.0.77, 2.1.197 and 2.1.325.

use atlasbridge_model::answer::Value;
use atlasbridge_model::{Choice, Effect, Grant, Span, Takes};
use serde_json::{Value as Json, json};

use super::{Asker, HookEvent, HookRequest, ToolUse};
use crate::recognise::stated_picks;

/// Asks the person something.
const QUESTION: &str = "AskUserQuestion";
/// Asks whether a plan may be carried out.
const PLAN: &str = "ExitPlanMode";

/// Of Claude Code, by its hook.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaudeRequest {
    pub(super) tool: ToolUse,
    /// Where the tool works: it writes paths as they are from there.
    directory: String,
    /// What the tool itself offers to remember.
    suggestions: Vec<Json>,
}

pub(super) fn event(name: &str, event: &Json) -> Option<HookEvent> {
    let text = |key: &str| text(event, key).to_owned();
    let tool = || {
        let name = event["tool_name"].as_str()?.to_owned();
        Some(ToolUse { name, input: event.get("tool_input")?.clone() })
    };
    Some(match name {
        "PermissionRequest" => {
            let suggestions = event["permission_suggestions"].as_array().cloned().unwrap_or_default();
            let request = ClaudeRequest { tool: tool()?, directory: text("cwd"), suggestions };
            HookEvent::Asks(Box::new(HookRequest {
                title: title(&request.tool),
                detail: detail(&request.tool),
                rows: rows(&request),
                takes: takes(&request.tool),
                picks: picks(&request.tool),
                asker: Asker::Claude(request),
            }))
        }
        "PostToolUse" | "PostToolUseFailure" => HookEvent::Done(tool()?),
        "Stop" => HookEvent::Finished { message: text("last_assistant_message") },
        "UserPromptSubmit" | "PreToolUse" => HookEvent::Works,
        "Notification" if text("notification_type") == "permission_prompt" => {
            HookEvent::Waits { message: text("message") }
        }
        "SessionEnd" => HookEvent::Ended,
        _ => HookEvent::Other,
    })
}

/// Empty where there is none.
fn text<'a>(object: &'a Json, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

fn list<'a>(object: &'a Json, key: &str) -> &'a [Json] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

fn questions(tool: &ToolUse) -> &[Json] {
    if tool.name == QUESTION { list(&tool.input, "questions") } else { &[] }
}

/// The one question that is asked. Several are answered one after the other on the screen.
fn question(tool: &ToolUse) -> Option<&Json> {
    match questions(tool) {
        [only] => Some(only),
        _ => None,
    }
}

/// The one question that is asked, where it takes several options.
fn multiple(tool: &ToolUse) -> Option<&Json> {
    question(tool).filter(|question| question["multiSelect"] == true)
}

fn options(question: &Json) -> impl Iterator<Item = &str> {
    list(question, "options").iter().filter_map(|option| option["label"].as_str())
}

fn title(tool: &ToolUse) -> String {
    let subject = match subject(tool) {
        _ if tool.name == QUESTION => questions(tool).first().map(|question| text(question, "question")),
        Some(("file_path" | "notebook_path", path)) => path.rsplit('/').next(),
        subject => subject.map(|(_, subject)| subject),
    };
    match subject.filter(|subject| !subject.is_empty()) {
        Some(subject) => format!("{}: {subject}", tool.name),
        None => tool.name.clone(),
    }
}

/// The part of the input that names the thing, and under which key.
fn subject(tool: &ToolUse) -> Option<(&'static str, &str)> {
    let keys = ["command", "file_path", "notebook_path", "url", "query"];
    keys.into_iter().find_map(|key| Some((key, tool.input[key].as_str()?)))
}

impl ClaudeRequest {
    /// Each way in which a dialog writes what is asked for, of the versions that are known. One that writes it otherwise is
    /// answered by its keys.
    pub(super) fn written(&self) -> Vec<String> {
        let tool = &self.tool;
        match (tool.name.as_str(), subject(tool)) {
            (QUESTION, _) => questions(tool)
                .first()
                .map(|question| text(question, "question").to_owned())
                .into_iter()
                .collect(),
            (PLAN, _) => PLAN_DIALOGS.map(str::to_owned).to_vec(),
            (_, Some(("command", command))) => vec![command.to_owned()],
            (_, Some(("url", url))) => vec![format!("url: {url}"), url.to_owned()],
            (_, Some(("query", query))) => vec![format!("Web Search(\"{query}\")"), query.to_owned()],
            (name, Some((_, path))) => {
                let paths = paths(path, &self.directory).into_iter();
                paths.flat_map(|path| [format!("{name}({path})"), path]).collect()
            }
            (_, None) => call_of_a_server(tool).into_iter().collect(),
        }
    }

    /// What to say for a row of the dialog.
    pub(super) fn chosen(&self, choice: &Choice) -> Option<Json> {
        match self.tool.name.as_str() {
            QUESTION => picked(&self.tool, choice),
            PLAN => planned(&self.tool, choice),
            _ => permitted(self, choice),
        }
    }

    /// What to say for an answer that is no row of the dialog.
    pub(super) fn said(&self, value: &Value) -> Option<Json> {
        let tool = &self.tool;
        match value {
            Value::Refused { reason } => Some(deny(reason)),
            Value::Several(rows) => {
                let question = multiple(tool)?;
                let labels: Vec<&str> = rows.iter().map(|(_, label)| label.as_str()).collect();
                let known = labels.iter().all(|label| options(question).any(|option| option == *label));
                known.then(|| answer(tool, question, &labels.join(", ")))
            }
            Value::Text(text) if tool.name == PLAN => Some(deny(text)),
            Value::Text(text) => question(tool).map(|question| answer(tool, question, text)),
            Value::Choice { .. } | Value::Enter | Value::Secret(_) => None,
        }
    }
}

/// What is asked about a plan, whatever it says: it stands above the dialog, and may be longer than the screen.
const PLAN_DIALOGS: [&str; 4] = [
    "Claude has written up a plan and is ready to execute. Would you like to proceed?",
    "Claude has written up a plan and is ready to execute.",
    "Would you like to proceed?",
    "Claude wants to exit plan mode",
];

/// A path as a dialog writes it: whole, from the directory that the tool works in, or from home.
fn paths(path: &str, directory: &str) -> Vec<String> {
    let mut written = vec![path.to_owned()];
    let mut parent = directory.trim_end_matches('/');
    let mut steps = String::new();
    while !parent.is_empty() {
        if let Some(below) = path.strip_prefix(parent).and_then(|below| below.strip_prefix('/')) {
            written.push(format!("{steps}{below}"));
            break;
        }
        steps += "../";
        parent = parent.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    match &path.splitn(4, '/').collect::<Vec<_>>()[..] {
        ["", "home" | "Users", _, below] => written.push(format!("~/{below}")),
        ["", "root", below @ ..] => written.push(format!("~/{}", below.join("/"))),
        _ => {}
    }
    written
}

/// `mcp__files__delete` of `/srv` is written as `files - delete(path: "/srv") (MCP)`.
fn call_of_a_server(tool: &ToolUse) -> Option<String> {
    let (server, name) = tool.name.strip_prefix("mcp__")?.split_once("__")?;
    let input = tool.input.as_object()?.iter().map(|(key, value)| format!("{key}: {value}"));
    Some(format!("{server} - {name}({}) (MCP)", input.collect::<Vec<_>>().join(", ")))
}

/// The whole of what is asked for, as a person reads it.
fn detail(tool: &ToolUse) -> String {
    if tool.name == QUESTION {
        let told = questions(tool).iter().map(|question| {
            let rows = list(question, "options")
                .iter()
                .map(|option| format!("• {}: {}", text(option, "label"), text(option, "description")));
            std::iter::once(text(question, "question").to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
        });
        return told.collect::<Vec<_>>().join("\n\n");
    }
    let mut lines = vec![tool.name.clone()];
    for (key, value) in tool.input.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let space = if value.contains('\n') { "\n" } else { " " };
        lines.push(format!("{key}:{space}{value}"));
    }
    lines.join("\n")
}

fn takes(tool: &ToolUse) -> Takes {
    Takes {
        reason: true,
        // What should change about a plan is its refusal, with a reason.
        own_text: question(tool).is_some() || tool.name == PLAN,
        several: multiple(tool).is_some(),
        lines: false,
    }
}

/// As many options as the question says, else any number but none.
fn picks(tool: &ToolUse) -> Option<Span> {
    let question = multiple(tool)?;
    let rows = options(question).count();
    stated_picks(text(question, "question"), rows).or_else(|| Span::new(1, u16::try_from(rows).ok()?))
}

/// Answers of the request's own, where no dialog could be read.
fn rows(request: &ClaudeRequest) -> Vec<(String, Effect)> {
    let no = ("No".to_owned(), Effect::Refuses);
    if request.tool.name == QUESTION {
        let options = question(&request.tool).into_iter().flat_map(options);
        let options = options.map(|label| (label.to_owned(), Effect::Other));
        return options.chain([no]).collect();
    }
    let yes = ("Yes".to_owned(), Effect::Accepts);
    let remembered = request
        .suggestions
        .iter()
        .filter_map(|suggestion| Some((remembering(suggestion)?, Effect::Widens(granting(suggestion)))));
    std::iter::once(yes).chain(remembered).chain([no]).collect()
}

/// A suggestion in words, in the manner of the dialogs. `None`: one of a kind that is not known.
fn remembering(suggestion: &Json) -> Option<String> {
    match text(suggestion, "type") {
        "addRules" if suggestion["behavior"] != "deny" => {
            let rules = suggestion["rules"].as_array()?.iter().map(|rule| {
                let tool = text(rule, "toolName");
                match text(rule, "ruleContent") {
                    "" => tool.to_owned(),
                    content => format!("{tool}({content})"),
                }
            });
            let rules = rules.collect::<Vec<_>>().join(", ");
            Some(format!("Yes, and don't ask again for {rules}"))
        }
        "addDirectories" => {
            let directories = suggestion["directories"].as_array()?.iter().filter_map(Json::as_str);
            let directories = directories.collect::<Vec<_>>().join(", ");
            Some(format!("Yes, and always allow access to {directories}"))
        }
        "setMode" => Some(format!("Yes, and switch to {} mode", text(suggestion, "mode"))),
        _ => None,
    }
}

/// What is granted by it besides what is asked for.
fn granting(suggestion: &Json) -> Grant {
    if suggestion["type"] == "setMode" {
        Grant::Mode
    } else if suggestion["destination"] == "session" {
        Grant::Session
    } else {
        Grant::Always
    }
}

fn picked(tool: &ToolUse, choice: &Choice) -> Option<Json> {
    let question = question(tool)?;
    if options(question).any(|option| option == choice.label) {
        return Some(answer(tool, question, &choice.label));
    }
    (choice.effect == Effect::Refuses).then(interrupt)
}

/// A plan is carried out in the mode that its row names; the mode that asks for each edit is the one that is certain.
fn planned(tool: &ToolUse, Choice { label, effect, .. }: &Choice) -> Option<Json> {
    let asks_for_each =
        label == "Yes" || label.contains("manually approve") || label.contains("ask each time");
    match effect {
        Effect::Accepts if asks_for_each => Some(said(json!({
            "behavior": "allow",
            "updatedInput": tool.input,
            "updatedPermissions": [{"type": "setMode", "mode": "default", "destination": "session"}],
        }))),
        // A row that opens a text field refuses only with a text in it.
        Effect::Refuses if label.starts_with("No") => Some(interrupt()),
        Effect::Accepts | Effect::Widens(_) | Effect::Refuses | Effect::Other => None,
    }
}

fn permitted(request: &ClaudeRequest, choice: &Choice) -> Option<Json> {
    match choice.effect {
        Effect::Refuses => Some(interrupt()),
        Effect::Accepts if choice.label == "Yes" => Some(said(json!({"behavior": "allow"}))),
        Effect::Accepts | Effect::Widens(_) => remembered(request, &choice.label)
            .map(|suggestion| said(json!({"behavior": "allow", "updatedPermissions": [suggestion]}))),
        Effect::Other => None,
    }
}

/// The suggestion that a row stands for, where exactly one is of the row's kind.
fn remembered<'a>(request: &'a ClaudeRequest, label: &str) -> Option<&'a Json> {
    let own = |suggestion: &&Json| remembering(suggestion).as_deref() == Some(label);
    if let Some(suggestion) = request.suggestions.iter().find(own) {
        return Some(suggestion);
    }
    let label = label.replace('’', "'");
    let kind = if label.contains("don't ask again") {
        "addRules"
    } else if label.contains("always allow access") {
        "addDirectories"
    } else if label.contains("accept edits") || label.contains("allow all edits") {
        "setMode"
    } else {
        return None;
    };
    let of_kind = |suggestion: &&Json| {
        // A row that speaks of the project means more than one that is forgotten with the session.
        let lasts = !(label.contains("from this project") && suggestion["destination"] == "session");
        suggestion["type"] == kind && lasts && (kind != "setMode" || suggestion["mode"] == "acceptEdits")
    };
    let mut found = request.suggestions.iter().filter(of_kind);
    found.next().filter(|_| found.next().is_none())
}

fn answer(tool: &ToolUse, question: &Json, answer: &str) -> Json {
    let mut input = tool.input.clone();
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".to_owned(), json!({text(question, "question"): answer}));
    }
    said(json!({"behavior": "allow", "updatedInput": input}))
}

fn deny(message: &str) -> Json {
    said(json!({"behavior": "deny", "message": message}))
}

const REFUSED: &str = "The user doesn't want to proceed with this. Stop what you are doing and wait for the user \
                       to say how to proceed.";

/// A refusing row interrupts the turn, as it does at the terminal.
fn interrupt() -> Json {
    said(json!({"behavior": "deny", "message": REFUSED, "interrupt": true}))
}

fn said(decision: Json) -> Json {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
}
