//! Claude Code's hooks: the shapes of its events and decisions, as measured with 2.0.77, 2.1.197 and 2.1.325.

use atlasbridge_model::answer::Value;
use atlasbridge_model::{Effect, Grant, Sighting, Span, Takes};
use serde_json::{Map, Value as Json, json};

use super::{ClaudeRequest, HookEvent, HookRequest, ToolUse};
use crate::recognise::stated_picks;

/// Asks the person something.
const QUESTION: &str = "AskUserQuestion";
/// Asks whether a plan may be carried out.
const PLAN: &str = "ExitPlanMode";

pub(super) fn event(event: &Json) -> Option<HookEvent> {
    let text = |key: &str| event.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let tool = || {
        Some(ToolUse {
            name: event.get("tool_name")?.as_str()?.to_owned(),
            input: event.get("tool_input")?.clone(),
        })
    };
    Some(match event.get("hook_event_name")?.as_str()? {
        "PermissionRequest" => {
            let suggestions = event.get("permission_suggestions").and_then(Json::as_array);
            HookEvent::Asks(Box::new(HookRequest::Claude(ClaudeRequest {
                tool: tool()?,
                directory: text("cwd"),
                suggestions: suggestions.cloned().unwrap_or_default(),
            })))
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

fn field<'a>(tool: &'a ToolUse, key: &str) -> Option<&'a str> {
    tool.input.get(key)?.as_str()
}

fn questions(tool: &ToolUse) -> &[Json] {
    let questions = tool.input.get("questions").and_then(Json::as_array);
    questions.filter(|_| tool.name == QUESTION).map_or(&[], Vec::as_slice)
}

/// The one question that is asked. Several are answered one after the other on the screen.
fn question(tool: &ToolUse) -> Option<&Json> {
    match questions(tool) {
        [only] => Some(only),
        _ => None,
    }
}

fn words(question: &Json) -> &str {
    question.get("question").and_then(Json::as_str).unwrap_or_default()
}

fn options(question: &Json) -> impl Iterator<Item = &str> {
    let options = question.get("options").and_then(Json::as_array);
    options.into_iter().flatten().filter_map(|option| option.get("label")?.as_str())
}

fn is_multiple(question: &Json) -> bool {
    question.get("multiSelect").and_then(Json::as_bool).unwrap_or(false)
}

pub(super) fn title(tool: &ToolUse) -> String {
    match subject(tool).filter(|subject| !subject.is_empty()) {
        Some(subject) => format!("{}: {subject}", tool.name),
        None => tool.name.clone(),
    }
}

impl ClaudeRequest {
    /// Each way in which a dialog writes what is asked for, of the versions that are known. One that writes it otherwise is
    /// answered by its keys.
    pub(super) fn written(&self) -> Vec<String> {
        let tool = &self.tool;
        match tool.name.as_str() {
            QUESTION => {
                questions(tool).first().map(|question| words(question).to_owned()).into_iter().collect()
            }
            PLAN => PLAN_DIALOGS.map(str::to_owned).to_vec(),
            name => {
                if let Some(command) = field(tool, "command") {
                    vec![command.to_owned()]
                } else if let Some(path) = path(tool) {
                    let paths = paths(path, &self.directory).into_iter();
                    paths.flat_map(|path| [format!("{name}({path})"), path]).collect()
                } else if let Some(url) = field(tool, "url") {
                    vec![format!("url: {url}"), url.to_owned()]
                } else if let Some(query) = field(tool, "query") {
                    vec![format!("Web Search(\"{query}\")"), query.to_owned()]
                } else {
                    call_of_a_server(tool).into_iter().collect()
                }
            }
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

fn path(tool: &ToolUse) -> Option<&str> {
    field(tool, "file_path").or_else(|| field(tool, "notebook_path"))
}

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

/// The part of the input that names the thing.
fn subject(tool: &ToolUse) -> Option<&str> {
    if tool.name == QUESTION {
        return questions(tool).first().map(words);
    }
    let file = path(tool).map(|path| path.rsplit('/').next().unwrap_or(path));
    let named = field(tool, "command").or(file).or_else(|| field(tool, "url"));
    named.or_else(|| field(tool, "query"))
}

/// The whole of what is asked for, as a person reads it.
pub(super) fn detail(tool: &ToolUse) -> String {
    if tool.name == QUESTION {
        let told = questions(tool).iter().map(|question| {
            let options = question.get("options").and_then(Json::as_array);
            let rows = options.into_iter().flatten().map(|option| {
                let part = |key: &str| option.get(key).and_then(Json::as_str).unwrap_or_default();
                format!("• {}: {}", part("label"), part("description"))
            });
            std::iter::once(words(question).to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
        });
        return told.collect::<Vec<_>>().join("\n\n");
    }
    let mut lines = vec![tool.name.clone()];
    for (key, value) in tool.input.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match value.contains('\n') {
            true => lines.push(format!("{key}:\n{value}")),
            false => lines.push(format!("{key}: {value}")),
        }
    }
    lines.join("\n")
}

pub(super) fn takes(tool: &ToolUse) -> Takes {
    let question = question(tool);
    Takes {
        reason: true,
        // What should change about a plan is its refusal, with a reason.
        own_text: question.is_some() || tool.name == PLAN,
        several: question.is_some_and(is_multiple),
        lines: false,
    }
}

/// How many options one answer to a question with several takes: as many as it says, else any number but none.
pub(super) fn picks(tool: &ToolUse) -> Option<Span> {
    let question = question(tool).filter(|question| is_multiple(question))?;
    let rows = options(question).count();
    stated_picks(words(question), rows).or_else(|| Span::new(1, u16::try_from(rows).ok()?))
}

/// Answers of the request's own, where no dialog could be read.
pub(super) fn rows(request: &ClaudeRequest) -> Vec<(String, Effect)> {
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
    let text = |key: &str| suggestion.get(key).and_then(Json::as_str).unwrap_or_default();
    let list = |key: &str| suggestion.get(key).and_then(Json::as_array);
    match text("type") {
        "addRules" if text("behavior") != "deny" => {
            let rules = list("rules")?.iter().map(|rule| {
                let part = |key: &str| rule.get(key).and_then(Json::as_str).unwrap_or_default();
                match part("ruleContent") {
                    "" => part("toolName").to_owned(),
                    content => format!("{}({content})", part("toolName")),
                }
            });
            let rules = rules.collect::<Vec<_>>().join(", ");
            Some(format!("Yes, and don't ask again for {rules}"))
        }
        "addDirectories" => {
            let directories = list("directories")?.iter().filter_map(Json::as_str);
            let directories = directories.collect::<Vec<_>>().join(", ");
            Some(format!("Yes, and always allow access to {directories}"))
        }
        "setMode" => Some(format!("Yes, and switch to {} mode", text("mode"))),
        _ => None,
    }
}

/// What is granted by it besides what is asked for.
fn granting(suggestion: &Json) -> Grant {
    let is = |key: &str, text: &str| suggestion.get(key).and_then(Json::as_str) == Some(text);
    match () {
        () if is("type", "setMode") => Grant::Mode,
        () if is("destination", "session") => Grant::Session,
        () => Grant::Always,
    }
}

pub(super) fn decision(request: &ClaudeRequest, value: &Value, sighting: &Sighting) -> Option<Json> {
    let tool = &request.tool;
    match value {
        Value::Refused { reason } => Some(deny(reason, false)),
        Value::Choice { row, label } => {
            let choice = sighting.choices.as_ref()?.get(*row)?;
            let effect = choice.effect;
            (choice.label == *label).then_some(())?;
            match tool.name.as_str() {
                QUESTION => chosen(tool, label, effect),
                PLAN => planned(tool, label, effect),
                _ => permitted(request, label, effect),
            }
        }
        Value::Several(rows) => {
            let question = question(tool).filter(|question| is_multiple(question))?;
            let labels: Vec<&str> = rows.iter().map(|(_, label)| label.as_str()).collect();
            let known = labels.iter().all(|label| options(question).any(|option| option == *label));
            known.then(|| answer(tool, question, &labels.join(", ")))
        }
        Value::Text(text) if tool.name == PLAN => Some(deny(text, false)),
        Value::Text(text) => question(tool).map(|question| answer(tool, question, text)),
        Value::Enter | Value::Secret(_) => None,
    }
}

/// A refusing row interrupts the turn, as it does at the terminal.
const REFUSED: &str = "The user doesn't want to proceed with this. Stop what you are doing and wait for the user \
                       to say how to proceed.";

fn chosen(tool: &ToolUse, label: &str, effect: Effect) -> Option<Json> {
    let question = question(tool)?;
    if options(question).any(|option| option == label) {
        return Some(answer(tool, question, label));
    }
    (effect == Effect::Refuses).then(|| deny(REFUSED, true))
}

/// A plan is carried out in the mode that its row names; the mode that asks for each edit is the one that is certain.
fn planned(tool: &ToolUse, label: &str, effect: Effect) -> Option<Json> {
    let asks_for_each =
        label == "Yes" || label.contains("manually approve") || label.contains("ask each time");
    match effect {
        Effect::Accepts if asks_for_each => Some(allow(
            Some(tool.input.clone()),
            vec![json!({"type": "setMode", "mode": "default", "destination": "session"})],
        )),
        // A row that opens a text field refuses only with a text in it.
        Effect::Refuses if label.starts_with("No") => Some(deny(REFUSED, true)),
        Effect::Accepts | Effect::Widens(_) | Effect::Refuses | Effect::Other => None,
    }
}

fn permitted(request: &ClaudeRequest, label: &str, effect: Effect) -> Option<Json> {
    match effect {
        Effect::Refuses => Some(deny(REFUSED, true)),
        Effect::Accepts if label == "Yes" => Some(allow(None, Vec::new())),
        Effect::Accepts | Effect::Widens(_) => {
            remembered(request, label).map(|suggestion| allow(None, vec![suggestion.clone()]))
        }
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
        let is = |key: &str, text: &str| suggestion.get(key).and_then(Json::as_str) == Some(text);
        // A row that speaks of the project means more than one that is forgotten with the session.
        let lasts = !(label.contains("from this project") && is("destination", "session"));
        is("type", kind) && lasts && (kind != "setMode" || is("mode", "acceptEdits"))
    };
    let mut found = request.suggestions.iter().filter(of_kind);
    found.next().filter(|_| found.next().is_none())
}

fn answer(tool: &ToolUse, question: &Json, answer: &str) -> Json {
    let mut input = tool.input.clone();
    if let Some(input) = input.as_object_mut() {
        let answers = Map::from_iter([(words(question).to_owned(), Json::from(answer))]);
        input.insert("answers".to_owned(), Json::Object(answers));
    }
    allow(Some(input), Vec::new())
}

fn allow(input: Option<Json>, permissions: Vec<Json>) -> Json {
    let mut decision = Map::from_iter([("behavior".to_owned(), json!("allow"))]);
    if let Some(input) = input {
        decision.insert("updatedInput".to_owned(), input);
    }
    if !permissions.is_empty() {
        decision.insert("updatedPermissions".to_owned(), permissions.into());
    }
    said(Json::Object(decision))
}

fn deny(message: &str, interrupt: bool) -> Json {
    let mut decision = json!({"behavior": "deny", "message": message});
    if interrupt && let Some(decision) = decision.as_object_mut() {
        decision.insert("interrupt".to_owned(), Json::Bool(true));
    }
    said(decision)
}

fn said(decision: Json) -> Json {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
}
