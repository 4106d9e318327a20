//! What the page asks of the hub. Each question carries its own way back; a hub that is ending drops it.

use atlasbridge_channel::{Card, SessionTag};
use atlasbridge_model::answer::Said;
pub use atlasbridge_model::{Key, Search};
use atlasbridge_model::{Nonce, Picture, PromptId, SessionId};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};

/// The door to the hub. Bounded: a page that asks faster than the hub answers waits.
#[derive(Debug, Clone)]
pub struct HubDoor {
    pub asks: mpsc::Sender<Ask>,
    /// Grows with each change of prompts or sessions: time to ask again. Never a backlog.
    pub changes: watch::Receiver<u64>,
}

/// Who is at the page: the login's name for the record, such as `web:3f9c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor(pub String);

#[derive(Debug)]
pub enum Ask {
    /// Prompts that are not over, oldest first.
    Inbox { reply: oneshot::Sender<Vec<Card>> },
    /// Running sessions, or with `all` the past ones too, newest first.
    Sessions { all: bool, reply: oneshot::Sender<Vec<SessionCard>> },
    /// One session with all its prompts.
    Session { session: SessionId, reply: oneshot::Sender<Option<SessionStory>> },
    /// Past and present prompts, newest first.
    History { search: Search, reply: oneshot::Sender<Vec<Card>> },
    /// Lines of the audit log, newest first.
    Audit { search: Search, reply: oneshot::Sender<Vec<AuditLine>> },
    /// Checks the whole chain; may take a second on a long log.
    VerifyAudit { reply: oneshot::Sender<AuditVerdict> },
    /// A visitor does something, on record by their name.
    Do { deed: Deed, visitor: Visitor, reply: oneshot::Sender<Answer> },
    /// The live screen. Dropping the receiver ends it. `None`: no such running session.
    Watch { session: SessionId, reply: oneshot::Sender<Option<watch::Receiver<Option<Picture>>>> },
    /// The last lines that scrolled off a session's screen, oldest first.
    Lines { session: SessionId, reply: oneshot::Sender<Option<Vec<String>>> },
    /// Spends a one-time link, and keeps the login that it becomes.
    Redeem { link: TokenHash, login: TokenHash, device: String, reply: oneshot::Sender<bool> },
    /// Whether this login is known and not revoked.
    Login { login: TokenHash, reply: oneshot::Sender<Option<Visitor>> },
    /// Forgets this login.
    Logout { login: TokenHash, reply: oneshot::Sender<()> },
    /// Figures for `/metrics` and `/healthz`.
    Figures { reply: oneshot::Sender<Figures> },
    /// A request was refused at the door: on record, without what it carried.
    Refused { reason: &'static str, from: String },
}

/// What a visitor may do.
#[derive(Debug)]
pub enum Deed {
    /// A refusal with a reason tells the tool why: together with the refusal where it takes that, else as its next
    /// instruction. `as_is`: the visitor was told what the first character makes of an instruction, and means it.
    Answer { prompt: PromptId, nonce: Nonce, said: Said, as_is: bool },
    /// The next instruction of a session's tool: sent if the tool waits for one, else kept until it does.
    Send { session: SessionId, text: String, as_is: bool },
    /// Takes back the instruction that waits, or puts away the one that could not be sent.
    TakeBack { session: SessionId },
    /// Keys or a line for a session, through its gate.
    Type { session: SessionId, typing: Typing },
    /// Ends a session's tool.
    StopSession { session: SessionId },
}

/// SHA-256 of a link's or a cookie's secret, in hex: the secret itself is kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHash(pub String);

/// What became of something that a visitor did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Accepted; the card as it stands now, after a bounded wait for its end.
    Done { card: Option<Box<Card>> },
    /// It waits for its tool: why it is not sent at once, in a sentence.
    Queued { told: String },
    /// An ordinary no, in a sentence for a person.
    Refused { why: String },
    /// The first character makes something else of the text: what, in a sentence. A visitor who means it says so.
    NotPlain { why: String },
}

/// A key of the key bar, or a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typing {
    /// A key of the bar.
    Key(Key),
    /// One line without control characters, and whether Enter follows.
    Text { text: String, enter: bool },
}

/// A session as the page gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionCard {
    #[serde(flatten)]
    pub session: SessionTag,
    pub command: Vec<String>,
    /// `active`, `completed`, `crashed`, `terminated`.
    pub status: &'static str,
    /// RFC 3339.
    pub started_at: String,
    pub ended_at: Option<String>,
    pub exit_code: Option<i32>,
    pub prompts: u64,
    pub is_waiting: bool,
    /// Too many answers came over channels: no more are taken from there until an operator resumes it.
    pub is_paused: bool,
    /// Its host is connected to the hub.
    pub is_connected: bool,
    /// What its tool takes as instructions; `None` where it has never waited for one, or has ended.
    pub instructions: Option<Instructions>,
}

/// What a tool takes as its next instruction, and what is kept for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// Longest one, in characters.
    pub max_length: u16,
    /// It may have several lines.
    pub lines: bool,
    pub queued: Option<Words>,
    /// The last one that could not be sent.
    pub unsent: Option<Unsent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unsent {
    pub text: Words,
    pub why: String,
}

/// What a person wrote. It stays out of logs.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Words(pub String);

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Words")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStory {
    pub session: SessionCard,
    pub prompts: Vec<Card>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    pub seq: u64,
    /// RFC 3339, as it was hashed.
    pub at: String,
    pub event: String,
    pub session: Option<String>,
    pub prompt: Option<String>,
    pub value: Option<String>,
    pub source: Option<String>,
    pub decided_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditVerdict {
    pub is_whole: bool,
    pub records: u64,
    /// In a sentence: that all is well, or the first bad line.
    pub told: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    pub sessions_active: u64,
    pub prompts_open: u64,
    pub prompts_total: u64,
    pub replies_total: u64,
    pub rejected_total: u64,
    /// Name and state of each channel; one that is up is `connected`.
    pub channels: Vec<(String, String)>,
    pub trouble: Option<String>,
}
