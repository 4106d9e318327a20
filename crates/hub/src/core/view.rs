//! What is known when an event is judged.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{BootTime, Nonce, Now, PromptId, ReplyId, SessionId, Timestamp};
use atlasbridge_store::{
    Delivery, DuePost, Notice, OpenText, PromptRecord, QueuedText, SessionRecord, SessionStatus,
};

/// What an event needs to be judged by; the engine reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reads {
    /// All that it needs is in the event.
    Nothing,
    /// A prompt, and its session.
    Prompt(PromptId),
    /// One session.
    Session(SessionId),
    /// The prompts whose time is up.
    Due,
    /// The prompts that are not over, of all sessions.
    Open,
    /// The prompts that wait and are shown on this channel, and when it was last heard of.
    Polled(&'static str),
    /// The replies that the host of a session has not acknowledged.
    Undelivered(SessionId),
    /// The texts whose end is not known.
    Texts,
    /// What is to be shown on these channels; of one that takes nothing now, only when the next thing is.
    Boards(Vec<(&'static str, Takes)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Something,
    Nothing,
}

/// What was read for one event. What the event did not ask for is empty.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) now: Now,
    pub(crate) draw: Draw,
    pub(crate) prompt: Option<PromptRecord>,
    pub(crate) session: Option<Facts>,
    pub(crate) prompts: Vec<PromptRecord>,
    pub(crate) undelivered: Vec<Delivery>,
    pub(crate) texts: Vec<(OpenText, SessionRecord)>,
    pub(crate) boards: Vec<Board>,
    pub(crate) last_poll: Option<Timestamp>,
}

impl View {
    pub(crate) fn new(now: Now, draw: Draw) -> Self {
        Self {
            now,
            draw,
            prompt: None,
            session: None,
            prompts: Vec::new(),
            undelivered: Vec::new(),
            texts: Vec::new(),
            boards: Vec::new(),
            last_poll: None,
        }
    }
}

/// Random names for whatever this event may create, one of each sort.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub(crate) prompt: PromptId,
    pub(crate) reply: ReplyId,
    /// The reply that a text becomes which is kept for later.
    pub(crate) text: ReplyId,
    pub(crate) nonce: Nonce,
    /// Names a question of ours.
    pub(crate) token: String,
}

impl Draw {
    pub(crate) fn from_random([prompt, reply, text, nonce, token]: [[u8; 16]; 5]) -> Self {
        Self {
            prompt: PromptId::from_random(prompt),
            reply: ReplyId::from_random(reply),
            text: ReplyId::from_random(text),
            nonce: Nonce::from_random(nonce),
            token: atlasbridge_model::id::hex(&token),
        }
    }
}

/// What the store knows of one session.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) record: SessionRecord,
    /// What its next events may be about, in the order in which they were seen.
    pub(crate) prompts: Vec<PromptRecord>,
    /// The last prompt that waited for an instruction. `None`: its tool has never taken one.
    pub(crate) idle: Option<PromptRecord>,
    /// The instruction that waits for its tool.
    pub(crate) queued: Option<QueuedText>,
    /// The last one that could not be sent, and why.
    pub(crate) unsent: Option<(QueuedText, String)>,
}

impl Facts {
    pub(crate) fn is_active(&self) -> bool {
        self.record.status == SessionStatus::Active
    }

    /// The prompt that takes an instruction right now.
    pub(crate) fn waiting_for_instruction(&self) -> Option<&PromptRecord> {
        self.idle.as_ref().filter(|idle| idle.state == PromptState::AwaitingReply)
    }
}

/// What is to be shown on one channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    pub(crate) channel: &'static str,
    pub(crate) notices: Vec<Notice>,
    /// Each with the moment until which its chat wants no new prompts.
    pub(crate) posts: Vec<(DuePost, Option<Timestamp>)>,
    /// When the next post becomes due by time alone.
    pub(crate) next: Option<BootTime>,
}
