//! One decision, whoever makes it: who, about what, what was said; and what follows.
//!
//! Command, page and chat turn their words into a [`Decision`] and its [`Verdict`] into their words. Nothing is decided
//! anywhere else, so a new way to reach a person, a rule or another hub is one more [`Actor`] and no new rule here.
//!
//! # Shape-before-race invariant
//! What does not fit its prompt is refused here, by [`answer::check`]. What fits contends in the store, where one guarded
//! statement decides between all who answer: nobody is told that they won before that.

mod instruct;
#[cfg(test)]
mod tests;

use std::time::Duration;

use atlasbridge_channel::{Address, Target};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{LONGEST_MUTE, Nonce, PromptId, ReplyId, SessionId};
use atlasbridge_store::{
    AcceptedAnswer, CameBy, Cancel, ChatChange, FollowUp, HeardAt, PromptRecord, Resume, SessionRecord,
    TextMove,
};

pub(crate) use self::instruct::{Busy, Unfit, heard, shape_unfit};
use self::instruct::{Fit, fit, keep};
use crate::core::view::{Facts, View};

/// The state of a chat: until when it wants no prompts, and which session plain texts are for.
pub(crate) const MUTED_UNTIL: &str = "muted_until";
pub(crate) const SWITCHED_TO: &str = "switched_to";

/// The way back to a person who waits for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Caller(pub(crate) u64);

/// Somebody decides something.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) by: Actor,
    pub(crate) matter: Matter,
    /// `None`: nobody waits for the verdict.
    pub(crate) caller: Option<Caller>,
    /// The question of ours that this answers: it is answered once.
    pub(crate) spent: Option<String>,
}

/// Who decides. Whoever it is was let in before: a peer outside every session, a login, an allow-listed operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Actor {
    /// Somebody at the machine.
    Command { uid: u32 },
    /// A visitor of the page, by their login.
    Page { login: String },
    /// An operator in a chat.
    Chat(Operator),
}

/// An operator in a chat, and the update that brought their words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operator {
    pub(crate) channel: &'static str,
    pub(crate) update: i64,
    pub(crate) id: String,
    pub(crate) target: Target,
    /// The message that they wrote; `None` for a tap.
    pub(crate) message: Option<Address>,
}

/// What is decided about.
#[derive(Debug, Clone)]
pub(crate) enum Matter {
    /// A prompt.
    Answer(Answer),
    /// The next instruction of a session: sent where its tool waits for one, else kept until it does.
    Instruct { session: SessionId, text: String, as_is: bool },
    /// Takes back the instruction that waits (this one, where it is named); at the page also puts away what could not be sent.
    TakeBack { session: SessionId, only: Option<ReplyId> },
    /// Ends the tool of a session.
    Stop { session: SessionId },
    /// Lets answers through again after too many.
    Resume { session: SessionId },
    /// No new prompts in this chat for a while; zero ends it.
    Mute { time: Duration },
    /// Plain messages of this chat are for this session.
    Switch { session: SessionId },
}

/// An answer to a prompt.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Which one; or why the words name none.
    pub(crate) on: Result<AnswerRight, Refusal>,
    pub(crate) said: Said,
    /// Its sender knows what the first character makes of it.
    pub(crate) as_is: bool,
    /// A text that is kept as the next instruction if the answer wins, and the message that brought it.
    pub(crate) then: Option<(String, Option<Address>)>,
}

/// A prompt and the right to answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerRight {
    pub(crate) prompt: PromptId,
    /// `None`: the present one, for whoever looks at the machine itself.
    pub(crate) nonce: Option<Nonce>,
}

/// What a decision comes to before the store has spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It contends; `won` is on record with it, or not at all.
    Contend { answer: AcceptedAnswer, won: FollowUp },
    /// The prompt is left to its terminal, by whoever holds the right to answer it.
    Leave(Cancel),
    /// It is on record as it is.
    Record { follow: FollowUp, verdict: Verdict },
}

/// What became of a decision: all that a person is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// How the prompt stands after a bounded wait for its end; `answer` is what was accepted, by its label.
    Standing { prompt: PromptId, answer: Option<String> },
    /// It waits for its tool.
    Queued { session: SessionRecord, busy: Busy, replaces: bool, text: ReplyId },
    /// It waits no more; or it could not be sent, and has been seen.
    TakenBack,
    /// The tool is being ended.
    Stopping { session: SessionRecord },
    /// Answers are taken again.
    Resumed { session: SessionRecord },
    /// The chat wants no prompts for so long.
    Muted { time: Duration },
    /// Plain messages are for this session.
    Switched { session: SessionRecord },
    /// An ordinary no.
    Refused(Refused),
    /// The update was handled before a crash; what is still to be done is in the store.
    Repeated,
}

/// An ordinary no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// With the tool's name, where it is known.
    Answer { refusal: Refusal, tool: Option<String> },
    /// The text is no instruction for this session.
    Instruction { unfit: Unfit, session: SessionRecord },
    /// There is no such session.
    NoSession,
    /// The session is over.
    Over { session: SessionRecord },
    /// The host of the session is not connected.
    HostAway { host_pid: i32 },
    /// Its answers are taken.
    NotPaused { session: SessionRecord },
    /// With why the last instruction was not sent, where that is so.
    NothingQueued { unsent: Option<String> },
    /// The question was answered before, or is too old.
    QuestionGone,
}

impl Actor {
    pub(crate) fn source(&self) -> Source {
        match self {
            Actor::Command { .. } => Source::Command,
            Actor::Page { .. } => Source::Channel(crate::WEB.to_owned()),
            Actor::Chat(operator) => Source::Channel(operator.channel.to_owned()),
        }
    }

    pub(crate) fn decided_by(&self) -> String {
        match self {
            Actor::Command { uid } => format!("uid:{uid}"),
            Actor::Page { login } => login.clone(),
            Actor::Chat(operator) => operator.id.clone(),
        }
    }

    pub(crate) fn operator(&self) -> Option<&Operator> {
        match self {
            Actor::Command { .. } | Actor::Page { .. } => None,
            Actor::Chat(operator) => Some(operator),
        }
    }

    /// The update that brought it, where decisions have numbers.
    pub(crate) fn came(&self) -> Option<CameBy> {
        self.operator().map(Operator::came)
    }

    /// Where the author of a text hears what became of it. At the machine and at the page they see for themselves.
    fn heard_at(&self, message: Option<&Address>) -> Option<HeardAt> {
        self.operator().map(|operator| HeardAt {
            target: operator.target.0.clone(),
            reply_to: message.map(|message| message.0.clone()),
        })
    }

    /// A refusal on record. What the sender wrote stays off it: the kind is enough.
    pub(crate) fn rejection(&self, why: &str) -> AuditEvent {
        self.on_record(EventName::ReplyRejected, why)
    }

    fn on_record(&self, event: EventName, value: &str) -> AuditEvent {
        on_record(event, &self.source(), self.decided_by(), value.to_owned())
    }
}

/// What somebody did, or was refused.
pub(crate) fn on_record(event: EventName, source: &Source, decided_by: String, value: String) -> AuditEvent {
    AuditEvent {
        value: Some(value),
        source: Some(source.to_string()),
        decided_by: Some(decided_by),
        ..AuditEvent::new(event)
    }
}

impl Operator {
    pub(crate) fn came(&self) -> CameBy {
        CameBy { channel: self.channel.to_owned(), update: self.update }
    }
}

/// Decides, as far as that can be said before the store's guard.
pub(crate) fn decide(decision: &Decision, view: &View, rules: Rules) -> Ruling {
    let by = &decision.by;
    match (&decision.matter, &view.session) {
        (Matter::Answer(answer), _) => decide_answer(by, answer, view.prompt.as_ref(), view, rules),
        (Matter::Mute { time }, _) => decide_mute(by, *time, view),
        (_, None) => refused(by.rejection("unknown_session"), Refused::NoSession),
        (Matter::Instruct { session: _, text, as_is }, Some(facts)) => {
            decide_instruction(by, facts, text, *as_is, view, rules)
        }
        (Matter::TakeBack { session: _, only }, Some(facts)) => decide_take_back(by, *only, facts),
        (Matter::Stop { .. }, Some(facts)) => decide_stop(by, facts),
        (Matter::Resume { .. }, Some(facts)) => decide_resume(by, &facts.record),
        (Matter::Switch { .. }, Some(Facts { record, .. })) => Ruling::Record {
            follow: of_chat(by, SWITCHED_TO, Some(record.id.to_string())),
            verdict: Verdict::Switched { session: record.clone() },
        },
    }
}

fn decide_answer(
    by: &Actor,
    answer: &Answer,
    prompt: Option<&PromptRecord>,
    view: &View,
    rules: Rules,
) -> Ruling {
    let (prompt, nonce) = match (&answer.on, prompt) {
        (Ok(right), Some(prompt)) => (prompt, right.nonce.unwrap_or(prompt.nonce)),
        (Ok(_), None) => return refused_answer(by, None, view, Refusal::UnknownPrompt),
        (Err(refusal), _) => return refused_answer(by, None, view, refusal.clone()),
    };
    let waits = prompt.state == PromptState::AwaitingReply;
    // A late answer hears its own reason, and not one about its shape.
    let refuse = |shape| refused_answer(by, Some(prompt), view, if waits { shape } else { prompt.refusal() });
    // A tool that takes no reason with a refusal hears it as its next instruction.
    let (mut said, mut then) = (&answer.said, answer.then.clone());
    if let Said::DenyWith(reason) = said
        && waits
        && !prompt.sighting.takes.reason
    {
        (said, then) = (&Said::Deny, Some((reason.clone(), None)));
    }
    let won = match then.map(|(text, message)| keep_reason(by, text, message.as_ref(), answer.as_is, view)) {
        None => FollowUp::default(),
        Some(Ok(kept)) => kept,
        Some(Err(refusal)) => return refuse(refusal),
    };
    match answer::check(said, &prompt.sighting, Rules { as_is: answer.as_is, ..rules }) {
        Err(refusal) => refuse(refusal),
        Ok(Checked::Cancel) => Ruling::Leave(Cancel {
            prompt: prompt.id,
            nonce,
            source: by.source(),
            decided_by: by.decided_by(),
        }),
        Ok(Checked::Type(value)) => Ruling::Contend {
            answer: AcceptedAnswer {
                prompt: prompt.id,
                session: prompt.session,
                nonce,
                value,
                reply: view.draw.reply,
                source: by.source(),
                decided_by: by.decided_by(),
            },
            won,
        },
    }
}

/// The reason of a refusal, for a tool that hears it afterwards; or why that cannot be. A tool that has never waited may
/// do so yet.
fn keep_reason(
    by: &Actor,
    reason: String,
    message: Option<&Address>,
    as_is: bool,
    view: &View,
) -> Result<FollowUp, Refusal> {
    let facts = view.session.as_ref().ok_or(Refusal::UnknownPrompt)?;
    // Without a single character to type it would be a bare Enter at the tool's box.
    if reason.chars().all(|char| char.is_control() || char.is_whitespace()) {
        return Ok(FollowUp::default());
    }
    match shape_unfit(facts, &reason, as_is) {
        Some(refusal) => Err(refusal),
        None => Ok(keep(by, facts, reason, message, view)),
    }
}

fn decide_instruction(
    by: &Actor,
    facts: &Facts,
    text: &str,
    as_is: bool,
    view: &View,
    rules: Rules,
) -> Ruling {
    let session = facts.record.clone();
    match fit(facts, text, as_is) {
        Ok(Fit::Now(prompt)) => {
            let on = Ok(AnswerRight { prompt: prompt.id, nonce: None });
            let answer = Answer { on, said: Said::Text(text.to_owned()), as_is, then: None };
            decide_answer(by, &answer, Some(prompt), view, rules)
        }
        Ok(Fit::Later(busy)) => {
            let message = by.operator().and_then(|operator| operator.message.as_ref());
            let follow = keep(by, facts, text.to_owned(), message, view);
            let replaces = facts.queued.is_some();
            Ruling::Record {
                follow,
                verdict: Verdict::Queued { session, busy, replaces, text: view.draw.text },
            }
        }
        Err(unfit) => {
            let rejection = AuditEvent { session: Some(session.id), ..by.rejection(unfit.name()) };
            refused(rejection, Refused::Instruction { unfit, session })
        }
    }
}

fn decide_take_back(by: &Actor, only: Option<ReplyId>, facts: &Facts) -> Ruling {
    let queued = facts.queued.as_ref().filter(|queued| only.is_none_or(|only| only == queued.reply));
    let (text, was_queued) = match (queued, &facts.unsent, by) {
        (Some(queued), _, _) => (queued, true),
        // What could not be sent stays at the page until somebody has seen it.
        (None, Some((unsent, _)), Actor::Page { .. }) => (unsent, false),
        (None, unsent, Actor::Command { .. } | Actor::Chat(_) | Actor::Page { .. }) => {
            let unsent = unsent.as_ref().map(|(_, why)| why.replace('_', " "));
            return only_told(Refused::NothingQueued { unsent });
        }
    };
    let (source, decided_by) = (by.source(), by.decided_by());
    let is_other = text.source != source || text.decided_by != decided_by;
    let told = (is_other && was_queued)
        .then(|| heard(text, crate::words::unsent(&facts.record, "somebody took it back")));
    let follow = FollowUp {
        notices: told.unwrap_or_default(),
        text: Some(TextMove::TakeBack { reply: text.reply, source, decided_by }),
        ..FollowUp::default()
    };
    Ruling::Record { follow, verdict: Verdict::TakenBack }
}

fn decide_stop(by: &Actor, facts: &Facts) -> Ruling {
    let session = facts.record.clone();
    if !facts.is_active() {
        return only_told(Refused::Over { session });
    }
    let stop = AuditEvent { session: Some(session.id), ..by.on_record(EventName::ReplyReceived, "stop") };
    Ruling::Record {
        follow: FollowUp { audit: Some(stop), ..FollowUp::default() },
        verdict: Verdict::Stopping { session },
    }
}

fn decide_resume(by: &Actor, session: &SessionRecord) -> Ruling {
    let session = session.clone();
    if session.paused_at.is_none() {
        return only_told(Refused::NotPaused { session });
    }
    let resume = Resume { session: session.id, source: by.source(), decided_by: by.decided_by() };
    Ruling::Record {
        follow: FollowUp { resume: Some(resume), ..FollowUp::default() },
        verdict: Verdict::Resumed { session },
    }
}

fn decide_mute(by: &Actor, time: Duration, view: &View) -> Ruling {
    let time = time.min(LONGEST_MUTE);
    let until = view.now.wall.plus_millis(time.as_millis() as i64);
    let value = (!time.is_zero()).then(|| until.0.to_string());
    Ruling::Record { follow: of_chat(by, MUTED_UNTIL, value), verdict: Verdict::Muted { time } }
}

/// What a chat remembers from now on. Commands and the page have nothing that could remember.
fn of_chat(by: &Actor, key: &str, value: Option<String>) -> FollowUp {
    let remembered = by.operator().map(|operator| ChatChange {
        channel: operator.channel.to_owned(),
        target: operator.target.0.clone(),
        key: key.to_owned(),
        value,
    });
    FollowUp { chat: remembered.into_iter().collect(), ..FollowUp::default() }
}

fn refused_answer(by: &Actor, prompt: Option<&PromptRecord>, view: &View, refusal: Refusal) -> Ruling {
    let rejection = AuditEvent {
        session: prompt.map(|prompt| prompt.session),
        prompt: prompt.map(|prompt| prompt.id),
        ..by.rejection(refusal.name())
    };
    let tool = view.session.as_ref().map(|facts| facts.record.tool.clone());
    refused(rejection, Refused::Answer { refusal, tool })
}

fn refused(rejection: AuditEvent, refused: Refused) -> Ruling {
    let follow = FollowUp { audit: Some(rejection), ..FollowUp::default() };
    Ruling::Record { follow, verdict: Verdict::Refused(refused) }
}

/// A no that nothing is put on record for.
fn only_told(refused: Refused) -> Ruling {
    Ruling::Record { follow: FollowUp::default(), verdict: Verdict::Refused(refused) }
}
