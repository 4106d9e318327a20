//! How the Bot API says no: a status, a sentence, and sometimes how long to wait.

use std::time::Duration;

use serde_json::{Value, json};

/// What a method gives back.
pub(crate) type Answer = Result<Value, Refusal>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) description: String,
    pub(crate) retry_after: Option<u64>,
    /// How long the server sits on it: repeated conflicts are answered slowly.
    pub(crate) after: Duration,
}

impl Refusal {
    fn new(code: u16, description: String) -> Self {
        Self { code, description, retry_after: None, after: Duration::ZERO }
    }

    pub(crate) fn bad(what: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", what.as_ref()))
    }

    pub(crate) fn forbidden(what: &str) -> Self {
        Self::new(403, format!("Forbidden: {what}"))
    }

    pub(crate) fn conflict(what: &str, after: Duration) -> Self {
        Self { after, ..Self::new(409, format!("Conflict: {what}")) }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found".to_owned())
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized".to_owned())
    }

    pub(crate) fn too_large() -> Self {
        Self::new(413, "Request Entity Too Large".to_owned())
    }

    pub(crate) fn too_many(retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(429, format!("Too Many Requests: retry after {retry_after}"))
        }
    }

    pub(crate) fn broken(code: u16) -> Self {
        let description = match code {
            500 => "Internal Server Error",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Error",
        };
        Self::new(code, description.to_owned())
    }

    pub(crate) fn envelope(&self) -> Value {
        let mut envelope = json!({"ok": false, "error_code": self.code, "description": self.description});
        if let Some(seconds) = self.retry_after {
            envelope["parameters"] = json!({"retry_after": seconds});
        }
        envelope
    }
}
