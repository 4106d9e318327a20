//! The next instruction of a tool: whether a text fits, whether it goes now, and what keeping it means.

use atlasbridge_channel::{Address, Target};
use atlasbridge_model::Kind;
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source, Value};
use atlasbridge_model::lifecycle::{Cancellation, PromptState};
use atlasbridge_model::opening::Opening;
use atlasbridge_store::{FollowUp, HeardAt, NewNotice, PromptRecord, QueuedText, TextMove};

use super::Actor;
use crate::core::view::{Facts, View};
use crate::notice::new_notice;
use crate::words;

/// An instruction that fits its tool.
#[derive(Debug)]
pub(super) enum Fit<'a> {
    /// The tool waits for it, with this prompt.
    Now(&'a PromptRecord),
    Later(Busy),
}

/// Why a tool takes no instruction right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Working,
    /// A dialog comes first.
    Asking,
    /// It waits, and somebody left that to the terminal.
    LeftToTerminal,
}

/// Why a text is no instruction for this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The session is over.
    Over,
    /// Its tool has never waited for an instruction.
    TakesNone,
    /// There is nothing in it.
    Empty,
    /// It does not fit what the tool takes.
    Shape(Refusal),
}

impl Unfit {
    /// A word for the audit log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Unfit::Over => "session_ended",
            Unfit::TakesNone => "takes_no_instruction",
            Unfit::Empty => "nothing_to_send",
            Unfit::Shape(refusal) => refusal.name(),
        }
    }
}

/// Whether a text can be an instruction for this session, and whether its tool waits for one. What it takes is known
/// from the last time that it waited.
pub(super) fn fit<'a>(facts: &'a Facts, text: &str, as_is: bool) -> Result<Fit<'a>, Unfit> {
    if !facts.is_active() {
        return Err(Unfit::Over);
    }
    let idle = facts.idle.as_ref().ok_or(Unfit::TakesNone)?;
    let rules = Rules { as_is, ..Rules::default() };
    match answer::check(&Said::Text(text.to_owned()), &idle.sighting, rules) {
        Err(refusal) => return Err(Unfit::Shape(refusal)),
        Ok(Checked::Type(Value::Text(text))) if !text.trim().is_empty() => {}
        Ok(Checked::Type(_) | Checked::Cancel) => return Err(Unfit::Empty),
    }
    Ok(match facts.waiting_for_instruction() {
        Some(prompt) => Fit::Now(prompt),
        None => Fit::Later(busy(&facts.prompts)),
    })
}

/// Why a text cannot be kept as an instruction, as far as its shape goes.
pub(crate) fn shape_unfit(facts: &Facts, text: &str, as_is: bool) -> Option<Refusal> {
    if let Some(opening) = Opening::of(text).filter(|_| !as_is) {
        return Some(Refusal::NotPlain { opening, given: text.to_owned() });
    }
    match fit(facts, text, as_is) {
        Err(Unfit::Shape(refusal)) => Some(refusal),
        Err(Unfit::Over | Unfit::TakesNone | Unfit::Empty) | Ok(_) => None,
    }
}

/// What follows from keeping a text for its tool. The author of an older one whose place it takes hears of it, unless they
/// wrote this one from the same place.
pub(super) fn keep(
    by: &Actor,
    facts: &Facts,
    text: String,
    message: Option<&Address>,
    view: &View,
) -> FollowUp {
    let heard_at = by.heard_at(message);
    let place =
        |source: &Source, at: &Option<HeardAt>| (source.clone(), at.as_ref().map(|at| at.target.clone()));
    let is_other =
        |before: &&QueuedText| place(&before.source, &before.heard_at) != place(&by.source(), &heard_at);
    let told = facts
        .queued
        .as_ref()
        .filter(is_other)
        .map(|before| heard(before, words::unsent(&facts.record, "a newer text takes its place")));
    let text = QueuedText {
        reply: view.draw.text,
        session: facts.record.id,
        text,
        source: by.source(),
        decided_by: by.decided_by(),
        heard_at,
    };
    FollowUp { text: Some(TextMove::Queue(text)), notices: told.unwrap_or_default(), ..FollowUp::default() }
}

/// A message for the author of a text, under the one that brought it; none where they see for themselves.
pub(crate) fn heard(text: &QueuedText, told: String) -> Vec<NewNotice> {
    let (Source::Channel(channel), Some(HeardAt { target, reply_to })) = (&text.source, &text.heard_at)
    else {
        return Vec::new();
    };
    let reply_to = reply_to.clone().map(Address);
    vec![new_notice(channel, &Target(target.clone()), &words::say(told), reply_to.as_ref())]
}

fn busy(prompts: &[PromptRecord]) -> Busy {
    let is_asking = |prompt: &PromptRecord| {
        prompt.sighting.kind != Kind::Idle
            && matches!(
                prompt.state,
                PromptState::Routed | PromptState::AwaitingReply | PromptState::Expired { .. }
            )
    };
    let is_left = |prompt: &PromptRecord| {
        let canceled = PromptState::Canceled { why: Cancellation::ByOperator };
        prompt.sighting.kind == Kind::Idle
            && (prompt.state == canceled || matches!(prompt.state, PromptState::Failed { .. }))
    };
    match prompts {
        prompts if prompts.iter().any(is_asking) => Busy::Asking,
        [.., last] if is_left(last) => Busy::LeftToTerminal,
        _ => Busy::Working,
    }
}
