//! Between a session host and the hub.
//!
//! What a host reports is numbered and kept by it until the hub has noted it durably, so a hub may be killed at
//! any moment; what the hub sends is kept in its store until the host has reported an outcome.

use serde::{Deserialize, Serialize};

use crate::twin::{Departure, Outcome, Sighting, Value};

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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    ToolStarted {
        pid: i32,
    },
    Sighted(Sighting),
    Left {
        sighting: u32,
        how: Departure,
    },
    Outcome {
        reply_id: String,
        prompt_id: String,
        outcome: Outcome,
    },
    Ended(End),
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub asked: u64,
    pub pty_alive: bool,
    pub injecting: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_for_ms: Option<u64>,
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
    /// Absent when the hub has lost a secret by a restart: then only a remembered outcome can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}
