//! What became of a prompt and of its answer.
//!
//! # Nothing-is-called-done invariant
//! A text says *applied* only of what the session host has seen to be taken. Until then it was typed, or told to the
//! tool's hook, and says so.

use super::{Audience, sentence};
use crate::Takes;
use crate::answer::{Source, Value};
use crate::lifecycle::{Cancellation, Failure, PromptState, Resolution};

/// A state in the words of people.
struct StateWords {
    /// The one honest word in which the operator's message ends, or where the prompt stands until then.
    word: &'static str,
    /// How that is meant.
    tone: &'static str,
    /// What it means, for the page; `None` where that is plain.
    meaning: Option<String>,
}

fn state_words(state: &PromptState, takes: Takes) -> StateWords {
    use {PromptState as S, Resolution as R};
    let plain = |meaning: &str| Some(meaning.to_owned());
    let failed = |why: Failure| Some(failure(why, takes).told(Audience::Page));
    let (word, tone, meaning) = match state {
        S::Created | S::Routed => ("queued", "calm", plain("Another prompt of this session comes first.")),
        S::AwaitingReply => ("waiting", "busy", None),
        // What a tool's own hook is told is answered, and not typed.
        S::ReplyReceived { .. } if takes.is_by_hook() => ("being answered", "busy", None),
        S::ReplyReceived { .. } => ("being typed", "busy", None),
        S::Injected { .. } if takes.is_by_hook() => ("answered, not yet confirmed", "busy", None),
        S::Injected { .. } => ("typed, not yet confirmed", "busy", None),
        S::Expired { fallback: Some(_) } => ("expired", "wary", plain("Nobody answered in time.")),
        S::Expired { fallback: None } => {
            let meaning = "Nobody answered in time. Nothing was typed; it can be answered at the terminal.";
            ("expired", "wary", plain(meaning))
        }
        S::Resolved { how: R::Applied { source: Source::Timeout } } => {
            ("expired, safe default applied", "wary", plain("Nobody answered in time."))
        }
        S::Resolved { how: R::Applied { .. } } => ("applied", "good", plain("The tool took the answer.")),
        S::Resolved { how: R::AnsweredLocally } => {
            ("answered at the terminal", "calm", plain("Somebody typed the answer at the keyboard."))
        }
        S::Resolved { how: R::AnsweredOutOfBand } => {
            let meaning = "Neither AtlasBridge nor the keyboard answered it. Look at the session.";
            ("answered by something else", "bad", plain(meaning))
        }
        S::Canceled { why } => ("canceled", "calm", Some(cancellation(*why).told(Audience::Page))),
        S::Failed { why: why @ Failure::PromptChanged } => ("prompt changed", "bad", failed(*why)),
        S::Failed { why: why @ Failure::Unknown } => ("unknown", "bad", failed(*why)),
        S::Failed { why } => ("failed", "bad", failed(*why)),
    };
    StateWords { word, tone, meaning }
}

impl PromptState {
    /// The one honest word, for a prompt whose answer is typed.
    pub fn word(&self) -> &'static str {
        self.word_for(Takes::NOTHING)
    }

    /// The same for a prompt that takes this.
    pub fn word_for(&self, takes: Takes) -> &'static str {
        state_words(self, takes).word
    }

    /// In a listing of what stands on screens: what nothing more becomes of from here is said to be still there.
    pub fn standing_word(&self, takes: Takes) -> &'static str {
        match self {
            PromptState::Expired { fallback: None } => "expired, still on the screen",
            PromptState::Canceled { .. } => "left to the terminal",
            PromptState::Created
            | PromptState::Routed
            | PromptState::AwaitingReply
            | PromptState::ReplyReceived { .. }
            | PromptState::Expired { fallback: Some(_) }
            | PromptState::Injected { .. }
            | PromptState::Resolved { .. }
            | PromptState::Failed { .. } => self.word_for(takes),
        }
    }
}

/// Why a prompt came to no good end, and what follows from it.
struct Cause {
    what: &'static str,
    then: &'static str,
}

const NOTHING: &str = "nothing was typed";
const UNREACHED: &str = "nothing reached it";
const LOOK: &str = "look at the terminal";

fn failure(why: Failure, takes: Takes) -> Cause {
    let (what, then) = match why {
        Failure::PromptChanged => ("the screen no longer shows this prompt", NOTHING),
        Failure::TypingLocally => ("somebody was typing at the terminal", NOTHING),
        Failure::NotTaken if takes.is_by_hook() => ("it was answered, but the tool did not react", LOOK),
        Failure::NotTaken => ("it was typed, but the tool did not react", LOOK),
        Failure::NotReading => ("the program does not read its terminal now", NOTHING),
        Failure::ToolGone => ("the tool has ended", UNREACHED),
        Failure::TooLate => ("it reached the session too late", NOTHING),
        Failure::NotRecorded => ("it could not be put on record first", NOTHING),
        Failure::Unknown => (
            "it may have been typed, and nothing proves that the tool took it, so it is not tried again",
            LOOK,
        ),
    };
    Cause { what, then }
}

fn cancellation(why: Cancellation) -> Cause {
    let (what, then) = match why {
        Cancellation::Withdrawn => ("the tool took its question back", NOTHING),
        Cancellation::ToolGone => ("the tool has ended", UNREACHED),
        Cancellation::HostGone => ("the session has ended unexpectedly", UNREACHED),
        Cancellation::ByOperator => ("the question is left to the terminal", NOTHING),
    };
    Cause { what, then }
}

impl Cause {
    fn told(&self, to: Audience) -> String {
        let Cause { what, then } = self;
        match to {
            Audience::Chat if *then == LOOK => format!("{what}. {}.", sentence(then)),
            Audience::Chat => format!("{what}; {then}."),
            Audience::Page => format!("{}. {}.", sentence(what), sentence(then)),
            Audience::Command if *then == LOOK => format!("{what}; {then}"),
            Audience::Command => format!("{what}, {then}"),
        }
    }
}

/// A prompt whose turn to be answered is over, or has not come, with the texts that belong to it, as they are to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Fate<'a> {
    pub state: &'a PromptState,
    pub takes: Takes,
    /// The answer that won, in quotation marks: never the words of a free text.
    pub answer: Option<&'a str>,
    /// Who gave it.
    pub by: Option<&'a str>,
    /// What silence types, in quotation marks.
    pub default: Option<&'a str>,
}

impl Fate<'_> {
    /// The line of a chat's message that says where the prompt stands. `None` while it waits for its answer.
    pub fn in_chat(&self) -> Option<String> {
        let (mark, typing, typed) = match self.takes.is_by_hook() {
            true => ("💬", "Answering", "Answered"),
            false => ("⌨️", "Typing", "Typed"),
        };
        let (answer, by, default) = (self.answer.unwrap_or("the answer"), self.by(), self.default());
        Some(match self.state {
            PromptState::AwaitingReply => return None,
            PromptState::Created | PromptState::Routed => {
                "⏳ Queued: an earlier prompt of this session comes first.".to_owned()
            }
            PromptState::ReplyReceived { .. } => format!("{mark} {typing} {answer}…{by}"),
            PromptState::Expired { fallback: Some(_) } => {
                format!("⌛ Nobody answered in time. {typing} {default}…")
            }
            PromptState::Expired { fallback: None } => {
                "⌛ Expired: nobody answered in time, nothing was typed. The question still stands at the terminal."
                    .to_owned()
            }
            PromptState::Injected { source: Source::Timeout, .. } => {
                format!("{mark} Nobody answered in time. {typed} {default}; not yet seen to be taken.")
            }
            PromptState::Injected { .. } => {
                format!("{mark} {typed} {answer}{by}; not yet seen to be taken.")
            }
            PromptState::Resolved { how: Resolution::Applied { source: Source::Timeout } } => {
                format!("⌛ Expired: nobody answered in time; {default} was applied.")
            }
            PromptState::Resolved { how: Resolution::Applied { .. } } => {
                format!("✅ Applied: {answer}{by}.")
            }
            PromptState::Resolved { how: Resolution::AnsweredLocally } => {
                "✅ Answered at the terminal.".to_owned()
            }
            PromptState::Resolved { how: Resolution::AnsweredOutOfBand } => {
                "⚠️ Answered, but neither at the terminal's keyboard nor by AtlasBridge. Look at that session."
                    .to_owned()
            }
            PromptState::Canceled { why } => {
                let by = if *why == Cancellation::ByOperator { &by } else { "" };
                format!("✖️ Canceled{by}: {}", cancellation(*why).told(Audience::Chat))
            }
            PromptState::Failed { why } => self.failed(*why),
        })
    }

    fn failed(&self, why: Failure) -> String {
        let mark = if why == Failure::Unknown { "❓" } else { "❌" };
        let cause = failure(why, self.takes).told(Audience::Chat);
        let what = format!("{mark} {}: {cause}", sentence(self.state.word()));
        match self.answer {
            Some(answer) => format!("{what} (The answer was {answer}{}.)", self.by()),
            None => what,
        }
    }

    fn by(&self) -> String {
        self.by.map(|by| format!(", by {by}")).unwrap_or_default()
    }

    fn default(&self) -> String {
        match self.answer.or(self.default) {
            Some(label) => format!("the default {label}"),
            None => "the default".to_owned(),
        }
    }
}

/// What the word means, for the page; `None` where that is plain.
pub fn meaning(state: &PromptState, takes: Takes) -> Option<String> {
    state_words(state, takes).meaning
}

/// How the word is meant: `good`, `wary`, `bad`, `calm` or, where something is under way, `busy`.
pub fn tone(state: &PromptState) -> &'static str {
    state_words(state, Takes::NOTHING).tone
}

/// For `approve`, `deny` and `reply`: what stands in brackets after the word, by the reason that a prompt's record
/// carries. `None` where the word says it all.
pub fn because(reason: Option<&str>) -> Option<String> {
    let Some(reason) = reason else {
        let unconfirmed =
            "the session host has not confirmed it yet; `atlasbridge approvals` shows how it goes on";
        return Some(unconfirmed.to_owned());
    };
    if reason == Resolution::AnsweredLocally.as_str() {
        return Some("the keyboard was first, your answer was not typed".to_owned());
    }
    let canceled = reason.parse().map(cancellation);
    let cause = canceled.or_else(|_| reason.parse().map(|why| failure(why, Takes::NOTHING)));
    cause.ok().map(|cause| cause.told(Audience::Command))
}

/// What became of a text that was kept for its tool's next wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    Sent,
    /// Why not, in half a sentence.
    Unsent(String),
    /// It may have been typed, and nothing proves it. It is not tried again.
    Unknown,
}

/// By the state of the prompt that took it.
pub fn instruction(state: &PromptState) -> Instruction {
    let why = match state {
        PromptState::Resolved { how: Resolution::Applied { .. } } => return Instruction::Sent,
        PromptState::Failed { why: Failure::Unknown } => return Instruction::Unknown,
        PromptState::Resolved { how: Resolution::AnsweredLocally } => {
            "somebody gave it an instruction at the terminal first"
        }
        PromptState::Resolved { how: Resolution::AnsweredOutOfBand } => {
            "something else gave it an instruction first; look at that session"
        }
        PromptState::Failed { why } => {
            return Instruction::Unsent(failure(*why, Takes::NOTHING).told(Audience::Command));
        }
        PromptState::Created
        | PromptState::Routed
        | PromptState::AwaitingReply
        | PromptState::ReplyReceived { .. }
        | PromptState::Expired { .. }
        | PromptState::Injected { .. }
        | PromptState::Canceled { .. } => "the tool no longer waits for one, nothing was typed",
    };
    Instruction::Unsent(why.to_owned())
}

/// Who gave an answer, for other people: operators by their names, everything else by what it is.
pub fn by<'a>(source: &Source, decided_by: &'a str) -> &'a str {
    match source {
        Source::Timeout => "the safe default, since nobody answered",
        Source::Command => "the command line",
        Source::Keyboard => "the terminal",
        Source::Channel(_) => decided_by,
    }
}

impl Value {
    /// What records and people may hear of it: closed choices by their label, texts by their length.
    pub fn on_record(&self) -> String {
        match self {
            Value::Choice { label, .. } => label.clone(),
            Value::Several(rows) => {
                let labels: Vec<&str> = rows.iter().map(|(_, label)| label.as_str()).collect();
                labels.join(", ")
            }
            Value::Refused { reason } => {
                format!("refused with a reason of {} characters", reason.chars().count())
            }
            Value::Enter => "enter".to_owned(),
            Value::Text(text) => format!("text of {} characters", text.chars().count()),
            Value::Secret(_) => "secret".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each audience hears the same fact, laid out as it reads: chat, page, command line, instruction.
    #[track_caller]
    fn check(why: Failure, expected: [&str; 4]) {
        let state = PromptState::Failed { why };
        let fate =
            Fate { state: &state, takes: Takes::NOTHING, answer: None, by: Some("Ada"), default: None };
        let Instruction::Unsent(unsent) = instruction(&state) else { panic!("{state:?}") };
        let told = [
            fate.in_chat().unwrap(),
            meaning(&state, Takes::NOTHING).unwrap(),
            because(Some(why.as_str())).unwrap(),
            unsent,
        ];
        assert_eq!(told.each_ref().map(String::as_str), expected);
    }

    #[test]
    fn one_fact_is_told_to_everybody() {
        check(
            Failure::TypingLocally,
            [
                "❌ Failed: somebody was typing at the terminal; nothing was typed.",
                "Somebody was typing at the terminal. Nothing was typed.",
                "somebody was typing at the terminal, nothing was typed",
                "somebody was typing at the terminal, nothing was typed",
            ],
        );
        check(
            Failure::NotTaken,
            [
                "❌ Failed: it was typed, but the tool did not react. Look at the terminal.",
                "It was typed, but the tool did not react. Look at the terminal.",
                "it was typed, but the tool did not react; look at the terminal",
                "it was typed, but the tool did not react; look at the terminal",
            ],
        );
    }

    #[test]
    fn the_command_line_hears_why_by_the_reason_on_record() {
        assert_eq!(because(Some("applied")), None);
        assert_eq!(
            because(Some("host_gone")).unwrap(),
            "the session has ended unexpectedly, nothing reached it"
        );
        assert_eq!(
            because(Some("by_operator")).unwrap(),
            "the question is left to the terminal, nothing was typed"
        );
        assert!(because(None).unwrap().contains("not confirmed it yet"));
    }
}
