//! The first line of each side: who is there, and which protocols it speaks.

use serde::{Deserialize, Serialize};

use crate::{OLDEST_PROTOCOL, PROTOCOL};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A session host.
    Session,
    /// A command of the CLI.
    Command,
}

/// What the connecting side says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub atlasbridge: Role,
    pub oldest: u32,
    pub newest: u32,
    pub version: String,
}

/// What the hub answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "greeting", rename_all = "snake_case")]
pub enum Greeting {
    Welcome {
        protocol: u32,
        version: String,
        pid: u32,
        /// Grows with each start of a hub: a session host obeys no hub older than the newest it has seen.
        epoch: u64,
    },
    /// No common protocol, or not allowed. The reason is a sentence for a person, with the next step.
    Refused { reason: String, oldest: u32, newest: u32, version: String },
}

impl Hello {
    pub fn new(role: Role, version: &str) -> Self {
        Self { atlasbridge: role, oldest: OLDEST_PROTOCOL, newest: PROTOCOL, version: version.to_owned() }
    }

    /// The newest protocol that both sides speak, or the sentence that tells the peer what to do.
    pub fn agree(&self, our_version: &str) -> Result<u32, String> {
        if self.newest < OLDEST_PROTOCOL {
            return Err(format!(
                "this program (version {}) is too old for the running hub (version {our_version}): update it, or \
                 restart the hub from it with `atlasbridge hub restart`",
                self.version
            ));
        }
        if self.oldest > PROTOCOL {
            return Err(format!(
                "the running hub (version {our_version}) is too old for this program (version {}): run \
                 `atlasbridge hub restart`; sessions go on meanwhile",
                self.version
            ));
        }
        Ok(self.newest.min(PROTOCOL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_agree_or_are_told_what_to_do() {
        let hello = |oldest, newest| Hello { oldest, newest, ..Hello::new(Role::Command, "9.9") };
        assert_eq!(hello(1, 1).agree("0.1"), Ok(1));
        assert_eq!(hello(1, 7).agree("0.1"), Ok(1));
        assert!(hello(0, 0).agree("0.1").unwrap_err().contains("too old for the running hub"));
        assert!(hello(2, 7).agree("0.1").unwrap_err().contains("hub restart"));
    }
}
