//! Why an answer changed nothing.

use std::fmt;

use super::{Audience, counted};
use crate::Span;
use crate::answer::Refusal;

const NOTHING: &str = "nothing was typed";

/// What was wrong, and then what each audience is to know or to do; empty where that is plain.
struct RefusalWords {
    what: String,
    here: String,
    afar: String,
}

fn words(what: impl Into<String>, here: impl Into<String>, afar: impl Into<String>) -> RefusalWords {
    RefusalWords { what: what.into(), here: here.into(), afar: afar.into() }
}

/// The same for everybody.
fn plain(what: impl Into<String>, then: &str) -> RefusalWords {
    words(what, then, then)
}

impl Refusal {
    /// A word for the log and the audit chain, which never repeat what the sender wrote.
    pub fn name(&self) -> &'static str {
        match self {
            Refusal::UnknownPrompt => "unknown_prompt",
            Refusal::AmbiguousPrompt => "ambiguous_prompt",
            Refusal::NotWaiting { .. } => "not_waiting",
            Refusal::Expired | Refusal::DefaultTaken { .. } => "expired",
            Refusal::Queued => "queued",
            Refusal::InsideSession => "inside_session",
            Refusal::NotAChoice { .. } => "not_a_choice",
            Refusal::NeedsValue { .. } => "needs_value",
            Refusal::NoPlainYes { .. } => "no_plain_yes",
            Refusal::NoRefusingAnswer => "no_refusing_answer",
            Refusal::NoReason => "no_reason",
            Refusal::NoDefault => "no_default",
            Refusal::TooLong { .. } => "too_long",
            Refusal::OutOfRange { .. } => "out_of_range",
            Refusal::WrongCount { .. } => "wrong_count",
            Refusal::NotOneLine => "not_one_line",
            Refusal::NotPlain { .. } => "not_plain",
            Refusal::SecretsOff => "secrets_off",
            Refusal::Replaced => "replaced",
            Refusal::TooMany => "too_many",
            Refusal::Paused => "paused",
        }
    }

    /// For the person who sent the answer, to this tool.
    pub fn told(&self, to: Audience, tool: &str) -> String {
        let RefusalWords { what, here, afar } = self.words(to, tool);
        match to {
            Audience::Command if here.is_empty() => what,
            Audience::Command => format!("{what}; {here}"),
            Audience::Chat | Audience::Page if afar.is_empty() => format!("{}.", super::sentence(&what)),
            Audience::Chat | Audience::Page => {
                format!("{}. {}.", super::sentence(&what), super::sentence(&afar))
            }
        }
    }

    /// The same in a chat, where the tool's name does not matter.
    pub fn told_on_channel(&self) -> String {
        self.told(Audience::Chat, "the tool")
    }

    fn words(&self, to: Audience, tool: &str) -> RefusalWords {
        match self {
            Refusal::UnknownPrompt => {
                words("there is no such prompt", "`atlasbridge approvals` lists the waiting ones", NOTHING)
            }
            Refusal::AmbiguousPrompt => words(
                "several prompts begin with these digits",
                "give more of the id",
                "reply to the message of the one you mean",
            ),
            Refusal::NotWaiting { status, reason } => {
                let late = if to == Audience::Command { "" } else { "too late: " };
                plain(format!("{late}this prompt is {}{reason}", status.replace('_', " ")), NOTHING)
            }
            Refusal::Expired => plain("this prompt has expired", NOTHING),
            Refusal::DefaultTaken { value, applied } => default_taken(value, *applied),
            Refusal::Queued => {
                plain("another prompt of this session waits first", "answer that one, this one comes next")
            }
            Refusal::InsideSession => plain(
                "a process inside a supervised session may not answer prompts, not even those of other sessions",
                "",
            ),
            Refusal::NotAChoice { given, choices } => {
                words(format!("{given:?} is none of the choices: {choices}"), "", NOTHING)
            }
            Refusal::NeedsValue { wanted } => words(
                format!("this prompt asks for {wanted}"),
                "use `atlasbridge reply PROMPT VALUE`",
                "send it as a reply to its message",
            ),
            Refusal::NoPlainYes { choices } => words(
                "no single answer of this prompt accepts once and grants nothing more",
                format!("pick one with `atlasbridge reply PROMPT ANSWER`: {choices}"),
                format!("pick one: {choices}"),
            ),
            Refusal::NoRefusingAnswer => words(
                "this prompt has no answer that refuses, so nothing was typed, and it still waits",
                "`atlasbridge reply PROMPT VALUE` answers it, `atlasbridge reply PROMPT cancel` leaves it to the terminal",
                "choose one of its answers, or leave it to the terminal",
            ),
            Refusal::NoReason => words(
                "this prompt takes no reason",
                "deny it, and send the text as the next instruction",
                "refuse it, and send the text as the next instruction",
            ),
            Refusal::NoDefault => plain("this prompt has no safe default", NOTHING),
            Refusal::TooLong { length, limit } => words(
                format!("the answer has {length} characters, this prompt takes at most {limit}"),
                "",
                NOTHING,
            ),
            Refusal::OutOfRange { given, numbers, choices } => {
                let numbers = format!("{} to {}", Span::least(*numbers), Span::most(*numbers));
                words(format!("{given} is none of the choices, numbered {numbers}: {choices}"), "", NOTHING)
            }
            Refusal::WrongCount { given, picks } => words(
                format!("the answer has {}, this prompt takes {picks}", counted(*given, "row")),
                "",
                NOTHING,
            ),
            Refusal::NotOneLine => words("the answer must be one line", "", NOTHING),
            Refusal::NotPlain { opening, given } => words(
                opening.told(given, tool),
                "nothing was sent, `--as-is` sends it all the same",
                // The page asks whether it is meant.
                if to == Audience::Page { "" } else { "nothing was sent" },
            ),
            Refusal::SecretsOff => secrets_off(to),
            Refusal::Replaced => {
                plain("this message is out of date: the prompt was offered again", "answer the newer one")
            }
            Refusal::TooMany => paused("more than 10 answers within a minute: this session is paused", to),
            Refusal::Paused => paused("this session is paused after too many answers", to),
        }
    }
}

fn default_taken(value: &str, applied: bool) -> RefusalWords {
    // Only what was seen to be taken is said to be.
    let was = if applied { "was taken" } else { "was sent" };
    let what = format!("this prompt has expired: “{value}” {was} at the deadline");
    plain(what, "your answer came too late and was not typed")
}

fn secrets_off(to: Audience) -> RefusalWords {
    let what = match to {
        Audience::Command => "a password is taken from here only with `secrets_over_channels = true`",
        Audience::Chat | Audience::Page => "passwords are not taken from here unless that was switched on",
    };
    plain(what, "type it at the terminal")
}

/// How a pause ends.
fn paused(what: &str, to: Audience) -> RefusalWords {
    let afar = match to {
        Audience::Page => "run `atlasbridge sessions resume` for it at the machine. Nothing was typed",
        Audience::Chat | Audience::Command => {
            "send /resume here, or run atlasbridge sessions resume at the machine. Nothing was typed"
        }
    };
    let here = "`/resume` on a channel lets them go on, the terminal and `atlasbridge reply` work as before";
    words(what, here, afar)
}

/// As the command line tells it.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(Audience::Command, "the tool"))
    }
}
