//! Looking back at what was.

use crate::SessionId;

/// What to look for in past prompts or in the audit log, and how much of it; by default everything, and none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// Somewhere in the text. Letters of either case are found; in words that mix the cases of letters beyond ASCII,
    /// as they were written.
    pub text: Option<String>,
    pub session: Option<SessionId>,
    /// Only what is older, for the next page: for prompts the time of the last one, for the audit log its `seq`.
    pub before: Option<i64>,
    pub most: u32,
}
