//! The audit chain: what a record is, its canonical bytes, and the rule that links each to the one before.
//!
//! A record's hash is SHA-256 over its RFC 8785 (JCS) form without the `hash` member. The shape is closed: ten
//! members, always present, integers and strings only; so the canonical form is a page of code here, and the store
//! checks it against an independent implementation. A chain alone proves nothing against somebody who can rewrite
//! the whole file: docs/audit.md says so.

use sha2::{Digest, Sha256};

use crate::id::hex;
use crate::names::named;
use crate::{PromptId, SessionId};

/// What stands as `prev_hash` of the first record.
pub const GENESIS: &str = "genesis";

named! { "event":
    /// The events of SPEC §10.
    pub enum EventName {
        SessionStart = "SESSION_START",
        PromptDetected = "PROMPT_DETECTED",
        PromptRouted = "PROMPT_ROUTED",
        ReplyReceived = "REPLY_RECEIVED",
        ReplyInjected = "REPLY_INJECTED",
        PromptExpired = "PROMPT_EXPIRED",
        PromptCanceled = "PROMPT_CANCELED",
        PromptResolved = "PROMPT_RESOLVED",
        PolicyDecision = "POLICY_DECISION",
        ReplyRejected = "REPLY_REJECTED",
        SessionEnd = "SESSION_END",
        HubStart = "HUB_START",
        HubStop = "HUB_STOP",
        ConfigReloaded = "CONFIG_RELOADED",
    }
}

/// Something to be put on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    pub event: EventName,
    pub session: Option<SessionId>,
    pub prompt: Option<PromptId>,
    /// Closed choices by their label, texts by their length only, a reason where something was refused.
    pub value: Option<String>,
    pub source: Option<String>,
    pub decided_by: Option<String>,
}

impl AuditEvent {
    pub fn new(event: EventName) -> Self {
        Self { event, session: None, prompt: None, value: None, source: None, decided_by: None }
    }
}

/// One link, as texts: it is read back from files that anybody may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    pub seq: u64,
    /// RFC 3339 in UTC with milliseconds.
    pub ts: &'a str,
    pub event: &'a str,
    pub session_id: Option<&'a str>,
    pub prompt_id: Option<&'a str>,
    pub value: Option<&'a str>,
    pub source: Option<&'a str>,
    pub decided_by: Option<&'a str>,
    pub prev_hash: &'a str,
}

impl Link<'_> {
    /// `sha256:` and 64 hex digits.
    pub fn hash(&self, scratch: &mut String) -> String {
        scratch.clear();
        self.write(None, scratch);
        format!("sha256:{}", hex(&Sha256::digest(scratch.as_bytes())))
    }

    /// The record as it stands in the file, without the line break: canonical JSON with its hash.
    pub fn line(&self, hash: &str) -> String {
        let mut line = String::with_capacity(384);
        self.write(Some(hash), &mut line);
        line
    }

    /// Canonical JSON: members in the order of their names, no white space (RFC 8785).
    pub fn write(&self, hash: Option<&str>, out: &mut String) {
        let strings = |members: &[(&str, Option<&str>)], out: &mut String| {
            for (name, value) in members {
                out.push_str(name);
                match value {
                    Some(value) => write_string(value, out),
                    None => out.push_str("null"),
                }
            }
        };
        strings(&[("{\"decided_by\":", self.decided_by), (",\"event\":", Some(self.event))], out);
        if hash.is_some() {
            strings(&[(",\"hash\":", hash)], out);
        }
        strings(&[(",\"prev_hash\":", Some(self.prev_hash)), (",\"prompt_id\":", self.prompt_id)], out);
        out.push_str(",\"seq\":");
        out.push_str(&self.seq.to_string());
        strings(&[(",\"session_id\":", self.session_id), (",\"source\":", self.source)], out);
        strings(&[(",\"ts\":", Some(self.ts)), (",\"value\":", self.value)], out);
        out.push('}');
    }
}

/// A JSON string as RFC 8785 §3.2.2.2 writes it.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            0x0c => "\\f",
            b'\r' => "\\r",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain_from..index]);
        plain_from = index + 1;
        if escape.is_empty() {
            out.push_str("\\u00");
            out.push_str(&hex(&[byte]));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}

/// Where a verification stands: the next record must carry this number and this link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEnd {
    pub next_seq: u64,
    pub hash: String,
}

impl Default for ChainEnd {
    fn default() -> Self {
        Self { next_seq: 1, hash: GENESIS.to_owned() }
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("its number is {found} where {expected} must follow")]
    WrongNumber { expected: u64, found: u64 },
    #[error("its prev_hash is not the hash of the record before it")]
    BrokenLink,
    #[error("its hash does not fit its content")]
    WrongHash,
}

impl ChainEnd {
    /// Checks the next record and moves on.
    pub fn follow(&mut self, link: &Link<'_>, hash: &str, scratch: &mut String) -> Result<(), ChainError> {
        if link.seq != self.next_seq {
            return Err(ChainError::WrongNumber { expected: self.next_seq, found: link.seq });
        }
        if link.prev_hash != self.hash {
            return Err(ChainError::BrokenLink);
        }
        if link.hash(scratch) != hash {
            return Err(ChainError::WrongHash);
        }
        self.next_seq += 1;
        self.hash.clear();
        self.hash.push_str(hash);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link<'a>(seq: u64, prev_hash: &'a str, value: Option<&'a str>) -> Link<'a> {
        Link {
            seq,
            ts: "2026-01-02T03:04:05.678Z",
            event: EventName::ReplyReceived.as_str(),
            session_id: None,
            prompt_id: None,
            value,
            source: Some("cli:command"),
            decided_by: Some("uid:1000"),
            prev_hash,
        }
    }

    #[test]
    fn a_line_is_canonical_json() {
        let line = link(7, GENESIS, Some("a\"b\\\n\u{1}é")).line("sha256:00");
        assert_eq!(
            line,
            r#"{"decided_by":"uid:1000","event":"REPLY_RECEIVED","hash":"sha256:00","prev_hash":"genesis","prompt_id":null,"seq":7,"session_id":null,"source":"cli:command","ts":"2026-01-02T03:04:05.678Z","value":"a\"b\\\n\u0001é"}"#
        );
    }

    #[test]
    fn a_chain_is_followed_and_each_change_is_named() {
        let mut scratch = String::new();
        let first = link(1, GENESIS, Some("yes"));
        let first_hash = first.hash(&mut scratch);
        let second = link(2, &first_hash, None);
        let second_hash = second.hash(&mut scratch);

        let mut end = ChainEnd::default();
        assert_eq!(end.follow(&first, &first_hash, &mut scratch), Ok(()));
        assert_eq!(end.clone().follow(&second, &second_hash, &mut scratch), Ok(()));

        let changed = Link { value: Some("no"), ..second };
        assert_eq!(end.clone().follow(&changed, &second_hash, &mut scratch), Err(ChainError::WrongHash));
        let moved = Link { prev_hash: GENESIS, ..second };
        assert_eq!(end.clone().follow(&moved, &second_hash, &mut scratch), Err(ChainError::BrokenLink));
        let skipped = Link { seq: 3, ..second };
        assert_eq!(
            end.clone().follow(&skipped, &second_hash, &mut scratch),
            Err(ChainError::WrongNumber { expected: 2, found: 3 })
        );
    }
}
