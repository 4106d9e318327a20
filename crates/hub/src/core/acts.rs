//! What follows from an event: changes of the store, and what is done once they are on record.

use std::collections::HashMap;
use std::time::Duration;

use atlasbridge_channel::{Address, Done, JobNo, Outgoing, Target};
use atlasbridge_model::answer::{Refusal, Value};
use atlasbridge_model::lifecycle::{self, Departure};
use atlasbridge_model::{BootTime, Nonce, PromptId, ReplyId, SessionId, Sighting};
use atlasbridge_store::{
    AcceptedAnswer, Advance, Cancel, FollowUp, Handling, NewNotice, NewPrompt, NoticeId, Once, Outcome,
    PostId, PromptRecord, SessionRecord, SessionStatus,
};
use atlasbridge_wire::journal::Trace;
use atlasbridge_wire::session::Inject;

use super::channels::Subscription;
use crate::decide::{Actor, Caller, Decision, Verdict};

/// Everything that the rules know to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// The hub has started; these sessions ran under the one before it.
    Started { sessions: Vec<SessionId> },
    /// Somebody decides something.
    Decided(Box<Decision>),
    /// A session that was not known before.
    Began(Box<SessionRecord>),
    /// The tool waits, as its session host reads its screen.
    Sighted { session: SessionId, sighting: Box<Sighting>, typed_ago: Option<Duration> },
    /// A prompt left its screen without us.
    Left { session: SessionId, sighting: u32, how: Departure },
    /// What the gate says of a reply.
    Outcome { session: SessionId, prompt: PromptId, what: lifecycle::Event },
    /// The tool of a session has ended.
    ToolEnded { session: SessionId, status: SessionStatus, code: i32 },
    /// The process of a session host has ended; its journal says what it had typed.
    HostLost { session: SessionId, traces: HashMap<String, Trace> },
    /// A moment has come that [`super::Core::next_time`] or a deadline named.
    Moment,
    /// The deadline of a prompt has passed.
    TimeUp { prompt: PromptId },
    /// The tool of this session may take the instruction that waits for it.
    SendQueued { session: SessionId },
    /// Something ended that a queued text may have gone to.
    SettleTexts,
    /// The host of a session is to have every reply that it has not acknowledged: it has connected, or there is a new one.
    Deliver { session: SessionId },
    /// A channel runs from now on.
    ChannelOpened(Subscription),
    /// What became of a task.
    TaskDone { channel: &'static str, job: JobNo, target: Target, done: Done },
    /// The channel has heard from its service, after such a gap as it knows of.
    Polled { channel: &'static str, gap: Option<Duration> },
    /// Taps on this prompt may have been lost.
    OfferAgain { prompt: PromptId },
    /// What is to be shown may have changed.
    Look,
    /// A change is on record.
    Committed(Box<Committed>),
}

/// One thing that follows, in this order.
#[derive(Debug)]
pub(crate) enum Act {
    /// A transaction; what it comes to is the next event.
    Commit(Box<Change>),
    /// Judged at once, with a view of its own.
    Then(Event),
    /// It leaves the hub.
    Out(Box<Outward>),
}

impl From<Outward> for Act {
    fn from(outward: Outward) -> Self {
        Act::Out(Box::new(outward))
    }
}

impl From<Change> for Act {
    fn from(change: Change) -> Self {
        Act::Commit(Box::new(change))
    }
}

/// What leaves the hub. Nothing of it needs to be remembered: what matters is in the store, and comes out of it again.
#[derive(Debug)]
pub(crate) enum Outward {
    /// A reply for a session host.
    Inject { session: SessionId, inject: Inject },
    /// A task for a channel.
    Give { channel: &'static str, outgoing: Outgoing },
    /// A verdict for who waits for it.
    Tell { caller: Caller, verdict: Verdict },
    /// End the tool of a session, and tell who asked whether its host could be told.
    Stop { session: SessionRecord, caller: Option<Caller> },
    /// A session is over: its viewers are told.
    SessionOver { session: SessionId },
    /// The journal of a host that is gone has been read, and what it says is on record.
    ForgetJournal { session: SessionId },
}

/// One transaction of the store.
#[derive(Debug)]
pub(crate) enum Change {
    /// An answer contends with all others.
    Contend { answer: AcceptedAnswer, follows: Follows, asked: Asker },
    /// A prompt is left to its terminal.
    Leave { cancel: Cancel, follows: Follows, asked: Asker },
    /// A decision that contends with nobody.
    Note { follow: FollowUp, verdict: Verdict, asked: Asker },
    /// The instruction that waits answers this prompt.
    SendQueued { prompt: PromptId, refused: QueuedRefused },
    /// What follows from something that nobody waits for.
    Follow(FollowUp),
    /// The deadline contends, with the safe default where there is one.
    Expire { prompt: PromptId, fallback: Option<(ReplyId, Value)> },
    /// Any other move of a prompt.
    Advance { prompt: PromptId, event: lifecycle::Event },
    /// A sighting becomes a prompt.
    Record { new: NewPrompt, typed_ago: Option<Duration> },
    /// The next prompt of a session has its turn.
    Promote { session: SessionId },
    /// A prompt is to be shown on these targets.
    Offer { prompt: PromptId, to: Vec<(&'static str, Vec<String>)>, not_before: BootTime },
    /// A prompt is offered again, under a new right to answer.
    OfferAgain { prompt: PromptId, nonce: Nonce },
    /// A session is over.
    EndSession { session: SessionId, status: SessionStatus, code: Option<i32> },
    /// What a channel has done, or heard.
    Channel(Shown),
    /// The time that is left is to be shown anew.
    CountDown { channels: Vec<&'static str> },
}

/// What a channel has shown, given up or heard.
#[derive(Debug)]
pub(crate) enum Shown {
    /// With the address of a message that is new.
    Done {
        errand: Errand,
        address: Option<Address>,
    },
    Dropped {
        errand: Errand,
        why: String,
    },
    Polled {
        channel: &'static str,
    },
}

/// What a channel is to show: a post as it was wanted by this number, or a notice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Errand {
    Post { id: PostId, wanted: i64 },
    Notice { id: NoticeId },
}

/// What a change came to.
#[derive(Debug)]
pub(crate) enum Committed {
    /// An answer won or lost.
    Contended { outcome: Once<Outcome>, asked: Asker },
    /// A prompt was left to its terminal, or not.
    Left { advance: Once<Advance>, asked: Asker },
    /// A decision is on record that contended with nobody.
    Noted { handling: Handling, verdict: Verdict, asked: Asker },
    /// The instruction that waited won or lost; `None` if there was none.
    QueuedSent { outcome: Option<Outcome> },
    /// A prompt moved, or not.
    Advanced(Advance),
    /// A sighting is a prompt.
    Recorded { prompt: PromptRecord, typed_ago: Option<Duration> },
    /// The prompt whose turn it is.
    Promoted(Option<PromptRecord>),
    /// The prompt under its new right to answer; `None` if it waits no more.
    OfferedAgain(Option<PromptRecord>),
    /// So many messages show a time that is left.
    CountedDown { waiting: u64 },
    /// Nothing follows.
    Done,
}

/// Who asked for a decision, for whatever is told of it.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) by: Actor,
    pub(crate) caller: Option<Caller>,
}

/// What is put on record together with what becomes of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Follows {
    pub(crate) won: FollowUp,
    /// The question of ours that this answers, whichever way it goes.
    pub(crate) spent: Option<String>,
    /// What everybody is told if this answer is the one too many.
    pub(crate) of_pause: Vec<NewNotice>,
}

impl Follows {
    pub(crate) fn of(self, refusal: Option<&Refusal>, by: &Actor) -> FollowUp {
        let mut follow = match refusal {
            None => self.won,
            Some(Refusal::TooMany) => FollowUp { notices: self.of_pause, ..FollowUp::default() },
            Some(refusal) => crate::desks::chat::told_with(by, refusal),
        };
        follow.take_ask = self.spent;
        follow
    }
}

/// What the author of a queued text is told if it is refused, and everybody if it is the one too many.
#[derive(Debug, Clone)]
pub(crate) struct QueuedRefused {
    pub(crate) text: atlasbridge_store::QueuedText,
    pub(crate) session: SessionRecord,
    pub(crate) of_pause: Vec<NewNotice>,
}

impl QueuedRefused {
    pub(crate) fn of(self, outcome: &Outcome) -> FollowUp {
        let refusal = match outcome {
            Outcome::Won { .. } => return FollowUp::default(),
            Outcome::Refused(refusal) => refusal,
        };
        let mut notices = crate::decide::heard(&self.text, crate::words::not_yet(&self.session, refusal));
        if *refusal == Refusal::TooMany {
            notices.extend(self.of_pause);
        }
        FollowUp { notices, ..FollowUp::default() }
    }
}
