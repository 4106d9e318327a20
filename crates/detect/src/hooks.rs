//! What a tool tells through its own hooks, and what it is told back: JSON in, meaning out, pure.
//!
//! A hook asks and reports; it never decides for anybody. A request that waits for a decision stands beside the dialog
//! on the tool's screen, and the first answer to either wins. Only what maps to a decision without a doubt is said by
//! the hook; everything else is left to the keys of the dialog, which mean exactly what its rows say.
//!
//! What comes in was written by a process of the tool's, so nothing of it is believed beyond what the screen may be
//! believed: it is shown to a person, and bound to the dialog that shows the same.

mod claude;

use atlasbridge_model::answer::Value;
use atlasbridge_model::mask::mask;
use atlasbridge_model::{Choice, Choices, Detail, Excerpt, Kind, MAX_INSTRUCTION, Sighting, Takes};

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

/// A request that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRequest {
    pub tool: ToolUse,
    /// What the tool itself offers to remember.
    suggestions: Vec<serde_json::Value>,
}

/// What the tool is told: the text that its hook prints.
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
        claude::event(json).unwrap_or(HookEvent::Other)
    }
}

impl HookRequest {
    /// In a few words, for a message and for the drift alarm.
    pub fn title(&self) -> String {
        claude::title(&self.tool)
    }

    /// Whether this dialog is about this request: it shows the same command, file, address or question.
    ///
    /// # One-prompt invariant
    /// A decision is said for the dialog that a person saw, so what the hook speaks of must stand in it. Wrapping, frames
    /// and masks change nothing.
    pub fn is_shown_by(&self, sighting: &Sighting) -> bool {
        let squeezed = |text: &str| -> String {
            let chars = text.chars().filter(|char| char.is_alphanumeric());
            chars.flat_map(char::to_lowercase).collect()
        };
        let shown = squeezed(sighting.detail.as_str());
        let wanted = squeezed(&mask(&claude::mark(&self.tool)));
        // A long one is cut on the screen, and in the detail.
        let beginning: String = wanted.chars().take(SUBJECT).collect();
        !beginning.is_empty() && shown.contains(&beginning)
    }

    /// The dialog with what the hook adds to it: the whole of what is asked for, and what only a hook takes.
    pub fn enrich(&self, sighting: &mut Sighting) {
        sighting.detail = Detail::new(&claude::detail(&self.tool));
        sighting.takes = self.takes();
        sighting.constraints.max_length = MAX_INSTRUCTION;
        if sighting.choices.is_none() {
            self.stand_in(sighting);
        }
    }

    /// No recogniser knows the dialog, and the tool has told what it asks: the request's own answers take its place.
    fn stand_in(&self, sighting: &mut Sighting) {
        let rows = claude::rows(self);
        sighting.kind = Kind::MultipleChoice;
        sighting.excerpt = Excerpt::new(&self.title());
        sighting.choices = Choices::new(
            rows.into_iter()
                .map(|(label, effect)| Choice {
                    label: mask(&label).into_owned(),
                    strokes: None,
                    effect,
                })
                .collect(),
        );
    }

    fn takes(&self) -> Takes {
        claude::takes(&self.tool)
    }

    /// What to tell the tool for this answer to this dialog. `None`: a hook cannot say exactly that; the dialog's keys can.
    pub fn decision(&self, value: &Value, sighting: &Sighting) -> Option<Decision> {
        claude::decision(self, value, sighting).map(|decision| Decision(decision.to_string()))
    }
}

impl HookEvent {
    /// A report that ends the wait for this request: what it asked for has happened.
    pub fn answers(&self, request: &HookRequest) -> bool {
        match self {
            HookEvent::Done(done) => done.name == request.tool.name && done.is_same_use(&request.tool),
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

/// How many letters and digits of a command must be found in its dialog.
const SUBJECT: usize = 60;
