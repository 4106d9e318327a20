//! Between a session host and the hub.
//!
//! What a host reports is numbered and kept by it until the hub has noted it durably, so a hub may be killed at
//! any moment; what the hub sends is kept in its store until the host has reported an outcome.

use std::io;

pub use atlasbridge_model::Key;
use atlasbridge_model::lifecycle::Departure;
use serde::{Deserialize, Serialize};

use crate::picture::PictureChange;
use crate::twin::{Outcome, Sighting, Value, spelled};

/// Everything that a hub must know of a session; sent first on each connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub session_id: String,
    pub tool: String,
    pub command: Vec<String>,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub host_pid: i32,
    pub leader_pid: i32,
    pub started_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromSession {
    Begin(SessionInfo),
    /// Kept and sent again until [`ToSession::Noted`] says otherwise; numbers grow by one.
    Report {
        n: u64,
        report: Report,
    },
    /// The answer to [`ToSession::HowAreYou`].
    Health(Health),
    /// The screen while it is watched: whole at first, then what changed.
    Picture(PictureChange),
    /// The answer to [`ToSession::Screen`]: plain lines, masked and cut.
    ScreenText {
        asked: u64,
        text: String,
    },
    /// The answer to [`ToSession::Lines`]: oldest first, masked and cut.
    Lines {
        asked: u64,
        lines: Vec<String>,
    },
    /// What became of a [`ToSession::Type`].
    TypingDone {
        typing_id: String,
        outcome: TypingOutcome,
    },
    /// Said by a newer session host: passed over.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    ToolStarted {
        pid: i32,
    },
    Sighted {
        #[serde(flatten)]
        sighting: Sighting,
        /// How long ago the last key came from the local terminal, when the prompt was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed_ms_ago: Option<u64>,
    },
    Left {
        sighting: u32,
        #[serde(with = "spelled")]
        how: Departure,
    },
    Outcome {
        reply_id: String,
        prompt_id: String,
        outcome: Outcome,
    },
    Ended(End),
    /// By a newer session host, or unreadable: noted, or it would come again without end.
    #[serde(untagged)]
    Unknown(Unread),
}

/// What cannot be read is not kept either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Unread)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    /// The tool could not be started.
    NotStarted {
        errno: i32,
    },
    /// Ended by `sessions stop`, SIGTERM or a closed terminal.
    Terminated {
        code: i32,
    },
}

impl End {
    /// The exit code as shells give it. What `run` exits with and what is recorded are one number because both ask here.
    pub fn code(self) -> i32 {
        match self {
            End::Exited { code } | End::Terminated { code } => code,
            End::Signaled { signal } => 128 + signal,
            End::NotStarted { errno } => {
                let is_missing = io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::NotFound;
                if is_missing { 127 } else { 126 }
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub asked: u64,
    pub pty_alive: bool,
    pub injecting: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_for_ms: Option<u64>,
    /// How long ago the last key came from the local terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed_ms_ago: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToSession {
    /// All reports up to `n` are on disk.
    Noted {
        n: u64,
    },
    Inject(Inject),
    HowAreYou {
        asked: u64,
    },
    /// End the tool: SIGTERM, three seconds, SIGKILL.
    Stop,
    /// Whether a person looks at the screen. Holds for this connection.
    Watch {
        on: bool,
    },
    /// The screen of this moment as text.
    Screen {
        asked: u64,
    },
    /// The last lines that scrolled off the screen.
    Lines {
        asked: u64,
        most: u32,
    },
    /// Keys or a line, typed at most once, through the gate.
    Type {
        typing_id: String,
        what: Typing,
    },
    /// Said by a newer hub: passed over.
    #[serde(other)]
    Unknown,
}

/// A key by its name, or a line of text: a hub never sends bytes for the terminal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typing {
    Key(#[serde(with = "spelled")] Key),
    /// Without control characters; Enter follows by itself where `enter` says so.
    Text {
        text: String,
        enter: bool,
    },
    /// A key or more that a newer hub names: refused.
    #[serde(untagged)]
    Unknown(Unread),
}

/// What a person typed stays out of logs.
impl std::fmt::Debug for Typing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Typing::Key(key) => f.debug_tuple("Key").field(key).finish(),
            Typing::Unknown(_) => f.write_str("Unknown"),
            Typing::Text { text, enter } => {
                write!(f, "Text({} characters, enter: {enter})", text.chars().count())
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypingOutcome {
    /// The bytes are in the terminal's queue.
    Typed,
    /// A reply is being injected, or another typing is under way.
    Busy,
    /// A person types at the terminal itself.
    TypingLocally,
    /// Control characters, too long, or nothing at all.
    Refused,
    /// The terminal takes nothing: its queue is full of what the tool does not read.
    NotTaken,
    /// The journal could not be written, so nothing was typed.
    NotRecorded,
    /// The tool has ended.
    Gone,
    /// Said by a newer session host.
    #[serde(other)]
    Unknown,
}

/// The right to type one reply, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inject {
    pub reply_id: String,
    pub prompt_id: String,
    pub sighting: u32,
    pub fingerprint: String,
    pub epoch: u64,
    /// Milliseconds on the boot clock after which it must not be typed; absent for the deadline's own reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// No answer came, and this is the safe default: the session host sees to it that it refuses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_silence: bool,
    /// Absent when the hub has lost a secret by a restart: then only a remembered outcome can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}
