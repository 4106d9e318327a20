//! What a tool tells through its own hooks, and what it is told back: JSON in, meaning out, pure.
//!
//! A hook asks and reports; it never decides for anybody. A request that waits for a decision stands beside the dialog
//! on the tool's screen, and the first answer to either wins. Only what maps to a decision without a doubt is said by
//! the hook; everything else is left to the keys of the dialog, which mean exactly what its rows say.
//!
//! What comes in was written by a process of the tool's, so nothing of it is believed beyond what the screen may be
//! believed: it is shown to a person, and bound to the dialog that shows the same.

mod claude;
mod codex;
mod shown;

use atlasbridge_model::answer::Value;
use atlasbridge_model::mask::mask;
use atlasbridge_model::{Choice, Choices, Detail, Excerpt, Kind, MAX_INSTRUCTION, Sighting, Takes};

pub use codex::CodexRequest;
pub use shown::Extent;

/// What a hook of the tool reported.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// The tool wants to do something that a person must allow, or has a question. It waits for the decision.
    Asks(Box<HookRequest>),
    /// What was asked for is done, or has failed: it was allowed.
    Done(ToolUse),
    /// The turn is over; the tool's last words.
    Finished { message: String },
    /// The tool works: an instruction was given, or it begins a step.
    Works,
    /// The tool waits for a person's consent, and says no more about it.
    Waits { message: String },
    /// The tool has ended.
    Ended,
    /// Nothing that says whether anybody is waited for.
    Other,
}

/// One use of one of the tool's own tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    pub name: String,
    input: serde_json::Value,
}

/// A request that waits for a decision, and who speaks.
#[derive(Debug, Clone, PartialEq)]
pub enum HookRequest {
    Claude(ClaudeRequest),
    Codex(CodexRequest),
}

/// Of Claude Code, by its hook.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaudeRequest {
    tool: ToolUse,
    /// Where the tool works: it writes paths as they are from there.
    directory: String,
    /// What the tool itself offers to remember.
    suggestions: Vec<serde_json::Value>,
}

/// What the tool is told: the text that its hook prints, or that our bridge sends to its server.
#[derive(Clone, PartialEq, Eq)]
pub struct Decision(String);

impl Decision {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// It may hold a text that somebody wrote.
impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decision({} bytes)", self.0.len())
    }
}

impl HookEvent {
    /// Reads what a hook got on its standard input. What cannot be read is [`HookEvent::Other`]: no hook ever fails.
    pub fn read(json: &[u8]) -> Self {
        let Ok(event) = serde_json::from_slice::<serde_json::Value>(json) else {
            return HookEvent::Other;
        };
        let name = event.get("hook_event_name").and_then(serde_json::Value::as_str);
        let read = match name {
            Some(name) if name.starts_with(codex::EVENTS) => codex::event(&event),
            Some(_) => claude::event(&event),
            None => None,
        };
        read.unwrap_or(HookEvent::Other)
    }
}

impl HookRequest {
    /// In a few words, for a message and for the drift alarm.
    pub fn title(&self) -> String {
        match self {
            HookRequest::Claude(request) => claude::title(&request.tool),
            HookRequest::Codex(request) => request.title(),
        }
    }

    /// How much of this request the dialog shows. `None`: it is about something else, or nobody knows.
    ///
    /// # One-prompt invariant
    /// A decision is said for the dialog that a person saw, so what the hook speaks of must stand in it: the whole command,
    /// path, address or question, as the tool writes it there ([`shown`]).
    pub fn shown_by(&self, sighting: &Sighting) -> Option<Extent> {
        let lines = shown::Lines::of(sighting.detail.as_str());
        match self {
            HookRequest::Claude(request) => {
                request.written().iter().filter_map(|text| lines.show(text)).max()
            }
            HookRequest::Codex(request) => request.shown_by(lines, sighting),
        }
    }

    /// The dialog with what the hook adds to it: the whole of what is asked for, and what only a hook takes.
    pub fn enrich(&self, sighting: &mut Sighting) {
        let detail = match self {
            HookRequest::Claude(request) => claude::detail(&request.tool),
            HookRequest::Codex(request) => request.detail(),
        };
        sighting.detail = Detail::new(&detail);
        sighting.takes = self.takes();
        sighting.constraints.max_length = MAX_INSTRUCTION;
        if sighting.choices.is_none() {
            self.stand_in(sighting);
        }
        if let HookRequest::Claude(request) = self
            && let Some(picks) = claude::picks(&request.tool)
        {
            sighting.constraints.picks = Some(picks);
        }
    }

    /// No recogniser knows the dialog, and the tool has told what it asks: the request's own answers take its place.
    fn stand_in(&self, sighting: &mut Sighting) {
        let rows = match self {
            HookRequest::Claude(request) => claude::rows(request),
            HookRequest::Codex(request) => request.rows(),
        };
        sighting.kind = Kind::MultipleChoice;
        sighting.excerpt = Excerpt::new(&self.title());
        sighting.choices = Choices::new(
            rows.into_iter()
                .map(|(label, effect)| Choice { label: mask(&label).into_owned(), strokes: None, effect })
                .collect(),
        );
    }

    fn takes(&self) -> Takes {
        match self {
            HookRequest::Claude(request) => claude::takes(&request.tool),
            HookRequest::Codex(_) => Takes::NOTHING,
        }
    }

    /// What to tell the tool for this answer to this dialog. `None`: a hook cannot say exactly that; the dialog's keys can.
    pub fn decision(&self, value: &Value, sighting: &Sighting) -> Option<Decision> {
        let decision = match self {
            HookRequest::Claude(request) => claude::decision(request, value, sighting),
            HookRequest::Codex(request) => request.decision(value, sighting),
        };
        decision.map(|decision| Decision(decision.to_string()))
    }
}

impl HookEvent {
    /// A report that ends the wait for this request: what it asked for has happened.
    pub fn answers(&self, request: &HookRequest) -> bool {
        let asked = match request {
            HookRequest::Claude(request) => &request.tool,
            // Its server says of each request that it is answered: the bridge hangs up then, and not before.
            HookRequest::Codex(_) => return false,
        };
        match self {
            HookEvent::Done(done) => done.name == asked.name && done.is_same_use(asked),
            HookEvent::Finished { .. } | HookEvent::Ended => true,
            HookEvent::Asks(_) | HookEvent::Works | HookEvent::Waits { .. } | HookEvent::Other => false,
        }
    }
}

impl ToolUse {
    /// An answer is written into the input of a question, so only what was there before is compared.
    fn is_same_use(&self, asked: &ToolUse) -> bool {
        match (self.input.as_object(), asked.input.as_object()) {
            (Some(now), Some(before)) => before.iter().all(|(key, value)| now.get(key) == Some(value)),
            _ => self.input == asked.input,
        }
    }
}
