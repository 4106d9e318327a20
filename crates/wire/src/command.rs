//! Between a command of the CLI and the hub: one request, one response, except `watch`.

use serde::{Deserialize, Serialize};

use crate::twin::SaidText;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Prompts that are not over.
    Approvals,
    /// As `Approvals`, again after each change.
    Watch,
    /// `prompt` is an id or the beginning of one.
    Answer {
        prompt: String,
        said: SaidText,
        /// The sender knows what the first character makes of an instruction, and means it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        as_is: bool,
    },
    /// The next instruction of a session's tool: sent if the tool waits for one, else kept until it does.
    Send {
        session: String,
        text: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        as_is: bool,
    },
    /// Takes back the instruction that waits for a session's tool.
    TakeBack {
        session: String,
    },
    Status,
    Sessions {
        all: bool,
    },
    Session {
        session: String,
    },
    StopSession {
        session: String,
    },
    StopHub,
    /// A one-time link to the web page.
    WebLink,
    /// Who has opened the page with a link and may come back.
    WebLogins,
    /// Ends one login by its name, or all of them.
    WebRevoke {
        name: Option<String>,
    },
    /// Offers the prompts of a session again that were held back because it asked too often.
    ResumeSession {
        session: String,
    },
    /// Asked by a newer program.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum Response {
    Approvals {
        prompts: Vec<PromptView>,
    },
    /// An answer was accepted; how the prompt stands now, after a bounded wait for its end.
    Answered {
        prompt: PromptView,
    },
    /// An instruction waits for its tool.
    Queued {
        session_id: String,
        /// Another one waited, and is not sent.
        replaces: bool,
        /// In a sentence: why it is not sent at once.
        told: String,
    },
    Status(HubView),
    Sessions {
        sessions: Vec<SessionView>,
    },
    Session(SessionView),
    WebLink {
        url: String,
    },
    WebLogins {
        logins: Vec<LoginView>,
    },
    /// What was asked for is under way or done.
    Done,
    /// An ordinary no, in a sentence for a person.
    Refused {
        reason: String,
    },
    /// The hub could not do it: its world broke.
    Failed {
        reason: String,
    },
}

/// A prompt as `approvals --json` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptView {
    pub prompt_id: String,
    pub session_id: String,
    pub tool: String,
    pub label: Option<String>,
    pub cwd: String,
    pub kind: String,
    pub confidence: String,
    pub excerpt: String,
    pub detail: String,
    pub choices: Vec<ChoiceView>,
    /// What the prompt says about the answers that it takes.
    #[serde(default)]
    pub constraints: ConstraintsView,
    /// RFC 3339; absent where the prompt does not expire.
    pub expires_at: Option<String>,
    pub expires_in_ms: Option<u64>,
    pub created_at: String,
    pub status: String,
    pub reason: Option<String>,
    /// The one honest word for people.
    pub word: String,
    /// What silence will do: the label of the safe default, or nothing.
    pub safe_default: Option<String>,
    /// The words that would be taken as an answer now: `approve`, `deny`, `choice`, `enter`, `text`, `default`, `cancel`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConstraintsView {
    /// Longest text, in characters.
    pub max_length: u16,
    /// The lowest and the highest number of a row, where rows have numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_choice: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_choice: Option<u16>,
    /// The fewest and the most rows of one answer, where the prompt says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_picks: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_picks: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceView {
    pub label: String,
    pub keys: String,
    pub refuses: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubView {
    pub pid: u32,
    pub version: String,
    pub protocol: u32,
    pub started_at: String,
    pub sessions: usize,
    pub prompts: usize,
    pub channels: Vec<ChannelView>,
    /// Why remote answers are refused at the moment, if they are.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    pub name: String,
    pub state: String,
    /// Why it is not connected, in a sentence.
    pub detail: Option<String>,
    /// Where it is reached: the URL of the page.
    pub address: Option<String>,
}

/// A browser that may open the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginView {
    pub name: String,
    /// What the browser says of itself.
    pub device: String,
    /// RFC 3339.
    pub created_at: String,
    pub seen_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    pub session_id: String,
    pub tool: String,
    pub command: Vec<String>,
    pub cwd: String,
    pub label: Option<String>,
    /// `active`, `completed`, `crashed`, `terminated`.
    pub status: String,
    /// `running`, `awaiting_reply`, `injecting`, `done`.
    pub state: String,
    pub pid: Option<i32>,
    pub host_pid: i32,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub uptime_seconds: u64,
    pub exit_code: Option<i32>,
    pub prompts: u64,
    pub seconds_since_output: Option<u64>,
    pub pty_alive: bool,
    pub host_healthy: bool,
    /// Prompts that wait for an answer, or for their turn.
    #[serde(default)]
    pub waiting: u64,
    /// Too many answers came over channels: no more are taken from there until an operator resumes it.
    #[serde(default)]
    pub paused: bool,
}
