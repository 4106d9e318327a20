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
use atlasbridge_model::{
    Choice, Choices, Detail, Effect, Excerpt, Kind, MAX_INSTRUCTION, Sighting, Span, Takes,
};
use serde_json::Value as Json;

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
    input: Json,
}

/// A request that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRequest {
    /// In a few words, for a message and for the drift alarm.
    pub title: String,
    /// The whole of what is asked for, as a person reads it.
    detail: String,
    /// Answers of the request's own, where no dialog could be read.
    rows: Vec<(String, Effect)>,
    /// What only a hook takes.
    takes: Takes,
    /// How many options one answer takes, where it takes several.
    picks: Option<Span>,
    asker: Asker,
}

/// Who speaks, and what only its decisions need.
#[derive(Debug, Clone, PartialEq)]
enum Asker {
    Claude(claude::ClaudeRequest),
    Codex(codex::CodexRequest),
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
        let event: Json = serde_json::from_slice(json).unwrap_or_default();
        let read =
            event["hook_event_name"].as_str().and_then(|name| match name.strip_prefix(codex::EVENTS) {
                Some(name) => codex::event(name, &event),
                None => claude::event(name, &event),
            });
        read.unwrap_or(HookEvent::Other)
    }
}

impl HookRequest {
    /// How much of this request the dialog shows. `None`: it is about something else, or nobody knows.
    ///
    /// # One-prompt invariant
    /// A decision is said for the dialog that a person saw, so what the hook speaks of must stand in it: the whole command,
    /// path, address or question, as the tool writes it there ([`shown`]).
    pub fn shown_by(&self, sighting: &Sighting) -> Option<Extent> {
        let lines = shown::Lines::of(sighting.detail.as_str());
        match &self.asker {
            Asker::Claude(request) => request.written().iter().filter_map(|text| lines.show(text)).max(),
            Asker::Codex(request) => request.shown_by(lines, sighting),
        }
    }

    /// The dialog with what the hook adds to it: the whole of what is asked for, and what only a hook takes.
    pub fn enrich(&self, sighting: &mut Sighting) {
        sighting.detail = Detail::new(&self.detail);
        sighting.takes = self.takes;
        sighting.constraints.max_length = MAX_INSTRUCTION;
        if sighting.choices.is_none() {
            self.stand_in(sighting);
        }
        if self.picks.is_some() {
            sighting.constraints.picks = self.picks;
        }
    }

    /// No recogniser knows the dialog, and the tool has told what it asks: the request's own answers take its place.
    fn stand_in(&self, sighting: &mut Sighting) {
        let row = |(label, effect): &(String, Effect)| Choice {
            label: mask(label).into_owned(),
            strokes: None,
            effect: *effect,
        };
        sighting.kind = Kind::MultipleChoice;
        sighting.excerpt = Excerpt::new(&self.title);
        sighting.choices = Choices::new(self.rows.iter().map(row).collect());
    }

    /// What to tell the tool for this answer to this dialog. `None`: a hook cannot say exactly that; the dialog's keys can.
    pub fn decision(&self, value: &Value, sighting: &Sighting) -> Option<Decision> {
        let decision = match (&self.asker, value) {
            (asker, Value::Choice { row, label }) => {
                let choice = sighting.choices.as_ref()?.get(*row)?;
                let choice = Some(choice).filter(|choice| choice.label == *label)?;
                match asker {
                    Asker::Claude(request) => request.chosen(choice),
                    Asker::Codex(request) => request.chosen(choice),
                }
            }
            (Asker::Claude(request), value) => request.said(value),
            // A refusal has no room for words, and a question is asked in other ways.
            (Asker::Codex(_), _) => None,
        };
        decision.map(|decision| Decision(decision.to_string()))
    }
}

impl HookEvent {
    /// A report that ends the wait for this request: what it asked for has happened.
    pub fn answers(&self, request: &HookRequest) -> bool {
        let asked = match &request.asker {
            Asker::Claude(request) => &request.tool,
            // Its server says of each request that it is answered: the bridge hangs up then, and not before.
            Asker::Codex(_) => return false,
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
