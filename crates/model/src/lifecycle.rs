//! The life of a prompt: one pure step from state and event to the next state (SPEC 3.4).
//!
//! The hub reads: next event → [`step`] → one guarded update in the store → effects. The store's guard decides
//! races between processes; this table decides what may follow from what at all.
//!
//! # At-most-once invariant
//! A state that carries a reply is reached at most once per prompt, and [`Do::Deliver`] leaves this table only on
//! the way into such a state: from `awaiting_reply` to `reply_received` or to `expired`. So at most one reply per
//! prompt is ever sent to a session host, whatever the order of taps, texts, deadlines, crashes and resends.
//!
//! # Silence-never-approves invariant
//! The deadline's own reply is made from a [`SafeDefault`](crate::SafeDefault), which cannot accept.

use crate::answer::{Refusal, Source};
use crate::names::named;
use crate::{BootTime, Now, ReplyId};

#[cfg(test)]
mod tests;

/// Where a prompt stands, with exactly what is known there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptState {
    /// Recorded, and offered to nobody yet.
    Created,
    /// Recorded and offered; an earlier prompt of the same session is still waiting for its answer.
    Routed,
    /// Its session waits for its answer.
    AwaitingReply,
    /// An answer has won; it is not known to be typed.
    ReplyReceived { reply: ReplyId, source: Source },
    /// Nobody answered in time. With a fallback its typing is under way; without, the dialog stays on the screen.
    Expired { fallback: Option<ReplyId> },
    /// Typed; the screen has not yet shown that the tool took it.
    Injected { reply: ReplyId, source: Source },
    /// Answered, as far as the screen shows.
    Resolved { how: Resolution },
    /// Over without an answer of ours.
    Canceled { why: Cancellation },
    /// A reply was there and did not come to its end.
    Failed { why: Failure },
}

/// How a prompt came to its good end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Our typing was seen to be taken.
    Applied { source: Source },
    /// The person at the terminal answered it.
    AnsweredLocally,
    /// Resolved though neither the keyboard nor the gate wrote anything: an alarm.
    AnsweredOutOfBand,
}

named! { "reason to cancel":
    pub enum Cancellation {
        /// The tool took its question back.
        Withdrawn = "withdrawn",
        ToolGone = "tool_gone",
        /// The session host died, and the tool with it.
        HostGone = "host_gone",
        /// An operator chose *Cancel*: the prompt is left to the terminal.
        ByOperator = "by_operator",
    }
}

named! { "failure":
    /// Why a reply did not come to its end. Each is definite, except `Unknown`, which says so.
    pub enum Failure {
        /// The screen no longer shows the prompt that was answered.
        PromptChanged = "prompt_changed",
        /// Somebody was in the middle of typing at the terminal.
        TypingLocally = "typing_locally",
        /// Typed, and not taken: the dialog stands as it was, or the keys lay unread and were taken back.
        NotTaken = "not_taken",
        /// Nobody read the terminal, so nothing was typed: it would have waited for whatever asks next.
        NotReading = "not_reading",
        ToolGone = "tool_gone",
        /// The reply reached the gate after its deadline.
        TooLate = "too_late",
        /// The gate could not record its intent first, so it did not type.
        NotRecorded = "not_recorded",
        /// The session host died between intent and outcome: typed or not, nobody can say. Never retried.
        Unknown = "unknown",
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The prompt was offered to the channels. `first`: no other prompt of its session is waiting.
    Routed { first: bool },
    /// The prompts before it in its session are over.
    Promoted,
    /// An answer passed its check.
    Answered { reply: ReplyId, source: Source },
    /// An operator leaves the prompt to the terminal.
    CanceledByOperator,
    /// The deadline may have passed; `fallback` is the reply of the safe default, where there is one.
    Deadline { fallback: Option<ReplyId> },
    /// The gate has typed the reply.
    Typed { reply: ReplyId },
    /// The screen reacted.
    Taken { reply: ReplyId },
    /// The gate did not type, or the tool did not take it.
    NotApplied { reply: ReplyId, why: NotApplied },
    /// The prompt left the screen without us.
    Left { how: Departure },
    /// The session host is gone.
    HostLost,
}

/// The gate's reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotApplied {
    /// The keyboard was first.
    AnsweredLocally,
    Failed(Failure),
}

named! { "departure":
    /// How a prompt left the screen without us.
    pub enum Departure {
        AnsweredLocally = "answered_locally",
        OutOfBand = "out_of_band",
        Withdrawn = "withdrawn",
        ToolEnded = "tool_ended",
    }
}

/// What the shell must do once the move is recorded. That every message of the prompt is shown anew needs no word: the
/// move asks for it in its own transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Do {
    /// Send this reply to the session host until it acknowledges.
    Deliver(ReplyId),
    /// Somebody answered behind our back.
    Alarm,
    /// Let the next queued prompt of the session wait for its answer.
    PromoteNext,
}

/// The outcome of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Moved(PromptState, Vec<Do>),
    /// Late, repeated or out of place: nothing changes.
    Refused(Refusal),
}

/// One step. `deadline` is absent for prompts that do not expire.
pub fn step(state: &PromptState, event: &Event, deadline: Option<BootTime>, now: Now) -> Step {
    use PromptState as S;
    let over = |deadline: Option<BootTime>| deadline.is_some_and(|deadline| deadline <= now.boot);
    match (state, event) {
        (S::Created, Event::Routed { first: true }) => moved(S::AwaitingReply, []),
        (S::Created, Event::Routed { first: false }) => moved(S::Routed, []),
        (S::Routed, Event::Promoted) => moved(S::AwaitingReply, []),

        (S::AwaitingReply, Event::Answered { .. }) if over(deadline) => Step::Refused(Refusal::Expired),
        (S::AwaitingReply, Event::Answered { reply, source }) => {
            moved(S::ReplyReceived { reply: *reply, source: source.clone() }, [Do::Deliver(*reply)])
        }
        (S::Routed | S::AwaitingReply | S::Expired { fallback: None }, Event::CanceledByOperator) => {
            canceled(Cancellation::ByOperator)
        }

        (S::AwaitingReply, Event::Deadline { fallback: Some(reply) }) if over(deadline) => {
            moved(S::Expired { fallback: Some(*reply) }, [Do::Deliver(*reply)])
        }
        (S::AwaitingReply, Event::Deadline { fallback: None }) if over(deadline) => {
            moved(S::Expired { fallback: None }, [Do::PromoteNext])
        }
        // A queued prompt is not what the screen shows first: nothing may be typed for it.
        (S::Routed, Event::Deadline { .. }) if over(deadline) => moved(S::Expired { fallback: None }, []),

        (S::ReplyReceived { reply, source }, Event::Typed { reply: typed }) if reply == typed => {
            moved(S::Injected { reply: *reply, source: source.clone() }, [])
        }
        (S::Expired { fallback: Some(reply) }, Event::Typed { reply: typed }) if reply == typed => {
            moved(S::Injected { reply: *reply, source: Source::Timeout }, [])
        }
        (S::Injected { reply, source }, Event::Taken { reply: taken }) if reply == taken => {
            resolved(Resolution::Applied { source: source.clone() }, [])
        }
        (
            S::ReplyReceived { reply, .. } | S::Expired { fallback: Some(reply) } | S::Injected { reply, .. },
            Event::NotApplied { reply: told, why },
        ) if reply == told => match why {
            NotApplied::AnsweredLocally => resolved(Resolution::AnsweredLocally, []),
            NotApplied::Failed(failure) => failed(*failure),
        },

        // While a reply is under way the gate alone says how it ended: the departure may be the reply's own work.
        (S::Created | S::Routed | S::AwaitingReply | S::Expired { fallback: None }, Event::Left { how }) => {
            match how {
                Departure::AnsweredLocally => resolved(Resolution::AnsweredLocally, []),
                Departure::OutOfBand => resolved(Resolution::AnsweredOutOfBand, [Do::Alarm]),
                Departure::Withdrawn => canceled(Cancellation::Withdrawn),
                Departure::ToolEnded => canceled(Cancellation::ToolGone),
            }
        }

        (S::Created | S::Routed | S::AwaitingReply | S::Expired { fallback: None }, Event::HostLost) => {
            canceled(Cancellation::HostGone)
        }
        (
            S::ReplyReceived { .. } | S::Expired { fallback: Some(_) } | S::Injected { .. },
            Event::HostLost,
        ) => failed(Failure::Unknown),

        // Late, repeated, or about a reply that this state does not carry. Each event is named: a new one asks what it
        // means in every state.
        (
            state,
            Event::Routed { .. }
            | Event::Promoted
            | Event::Answered { .. }
            | Event::CanceledByOperator
            | Event::Deadline { .. }
            | Event::Typed { .. }
            | Event::Taken { .. }
            | Event::NotApplied { .. }
            | Event::Left { .. }
            | Event::HostLost,
        ) => Step::Refused(state.not_waiting()),
    }
}

fn moved<const N: usize>(state: PromptState, effects: [Do; N]) -> Step {
    Step::Moved(state, effects.into())
}

fn ended<const N: usize>(state: PromptState, more: [Do; N]) -> Step {
    let mut effects = Vec::from(more);
    effects.push(Do::PromoteNext);
    Step::Moved(state, effects)
}

fn resolved<const N: usize>(how: Resolution, more: [Do; N]) -> Step {
    ended(PromptState::Resolved { how }, more)
}

fn canceled(why: Cancellation) -> Step {
    ended(PromptState::Canceled { why }, [])
}

fn failed(why: Failure) -> Step {
    ended(PromptState::Failed { why }, [])
}

impl PromptState {
    /// The name of SPEC 3.4, as it stands in the database.
    pub fn status(&self) -> &'static str {
        match self {
            PromptState::Created => "created",
            PromptState::Routed => "routed",
            PromptState::AwaitingReply => "awaiting_reply",
            PromptState::ReplyReceived { .. } => "reply_received",
            PromptState::Expired { .. } => "expired",
            PromptState::Injected { .. } => "injected",
            PromptState::Resolved { .. } => "resolved",
            PromptState::Canceled { .. } => "canceled",
            PromptState::Failed { .. } => "failed",
        }
    }

    /// The reason that the ended states carry, as it stands in the database.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            PromptState::Resolved { how } => Some(how.as_str()),
            PromptState::Canceled { why } => Some(why.as_str()),
            PromptState::Failed { why } => Some(why.as_str()),
            PromptState::Created
            | PromptState::Routed
            | PromptState::AwaitingReply
            | PromptState::ReplyReceived { .. }
            | PromptState::Expired { .. }
            | PromptState::Injected { .. } => None,
        }
    }

    /// What somebody hears whose answer comes now, unless the prompt is waiting for one.
    pub fn refusal(&self) -> Refusal {
        match self {
            PromptState::Routed => Refusal::Queued,
            PromptState::Expired { .. } => Refusal::Expired,
            PromptState::Created
            | PromptState::AwaitingReply
            | PromptState::ReplyReceived { .. }
            | PromptState::Injected { .. }
            | PromptState::Resolved { .. }
            | PromptState::Canceled { .. }
            | PromptState::Failed { .. } => self.not_waiting(),
        }
    }

    /// The reply that has no final outcome yet, and where it came from.
    pub fn reply_under_way(&self) -> Option<(ReplyId, &Source)> {
        match self {
            PromptState::ReplyReceived { reply, source } | PromptState::Injected { reply, source } => {
                Some((*reply, source))
            }
            PromptState::Expired { fallback } => fallback.map(|reply| (reply, &Source::Timeout)),
            PromptState::Created
            | PromptState::Routed
            | PromptState::AwaitingReply
            | PromptState::Resolved { .. }
            | PromptState::Canceled { .. }
            | PromptState::Failed { .. } => None,
        }
    }

    /// Nothing can follow.
    pub fn is_over(&self) -> bool {
        matches!(
            self,
            PromptState::Resolved { .. } | PromptState::Canceled { .. } | PromptState::Failed { .. }
        )
    }

    fn not_waiting(&self) -> Refusal {
        let reason = self.reason().map(|reason| format!(" ({})", reason.replace('_', " ")));
        Refusal::NotWaiting { status: self.status(), reason: reason.unwrap_or_default() }
    }
}

impl Resolution {
    pub fn as_str(&self) -> &'static str {
        match self {
            Resolution::Applied { .. } => "applied",
            Resolution::AnsweredLocally => "answered_locally",
            Resolution::AnsweredOutOfBand => "answered_out_of_band",
        }
    }
}
