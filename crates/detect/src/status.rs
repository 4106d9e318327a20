//! What the program says of itself: OSC 7501 program status, and window titles that carry a state.
//!
//! Any program can print these, so they raise or veto together with the screen and never decide alone.

/// The state a program last claimed for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Open for the next task: `idle`, `done`, `error`, and `blocked` for want of a login.
    Idle,
    Working,
    /// A dialog is open, or will be within half a second.
    Blocked,
}

/// Follows OSC 7501 through the byte stream.
#[derive(Debug, Default)]
pub(crate) struct Status {
    claim: Option<Claim>,
    /// How often the claim changed: a dialog announced twice is two dialogs.
    changes: u32,
    /// Queries that were not answered yet.
    queries: u32,
    /// What has come of a status line that is not at its end: of its prefix, or all of that and of the payload.
    begun: Vec<u8>,
}

/// The documented answer to the query `ESC ]7501;? BEL`: we listen, and to these states.
pub(crate) const REPLY: &[u8] =
    b"\x1b]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\x1b\\";
/// Most queries answered in one session. A tool asks once at its start; a file that is full of queries, printed by
/// `cat`, must not type into a shell for ever.
pub(crate) const MOST_ANSWERS: u32 = 16;

const PREFIX: &[u8] = b"\x1b]7501;";
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// Longer ones are no status of ours.
const PAYLOAD_BYTES: usize = 1024;

impl Status {
    pub(crate) fn claim(&self) -> Option<Claim> {
        self.claim
    }

    pub(crate) fn changes(&self) -> u32 {
        self.changes
    }

    /// How often the program asked, since the last call, whether anybody listens.
    pub(crate) fn take_queries(&mut self) -> u32 {
        std::mem::take(&mut self.queries)
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.begun.is_empty() {
                let Some(at) = rest.iter().position(|&byte| byte == ESCAPE) else { return };
                rest = &rest[at..];
            }
            self.step(rest[0]);
            rest = &rest[1..];
        }
    }

    fn step(&mut self, byte: u8) {
        let Some(payload) = self.begun.strip_prefix(PREFIX) else {
            if byte != PREFIX[self.begun.len()] {
                self.begun.clear();
            }
            // After anything else, it may begin anew.
            if byte == PREFIX[self.begun.len()] {
                self.begun.push(byte);
            }
            return;
        };
        match (payload.strip_suffix(&[ESCAPE]), byte) {
            (None, BELL) => self.take(String::from_utf8_lossy(payload).into_owned()),
            (Some(payload), b'\\') => self.take(String::from_utf8_lossy(payload).into_owned()),
            (None, _) if byte == ESCAPE || payload.len() < PAYLOAD_BYTES => return self.begun.push(byte),
            (Some(_) | None, _) => {}
        }
        self.begun.clear();
    }

    fn take(&mut self, payload: String) {
        self.queries = self.queries.saturating_add(u32::from(payload == "?"));
        let Some(claim) = parse(&payload) else { return };
        if claim != self.claim {
            self.claim = claim;
            self.changes = self.changes.wrapping_add(1);
        }
    }
}

/// `None`: says nothing about the main program. `Some(None)`: the claim is withdrawn.
fn parse(payload: &str) -> Option<Option<Claim>> {
    let field = |name: &str| payload.split(':').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    // Lines with an id speak of a background helper.
    if payload.starts_with('?') || field("id").is_some() {
        return None;
    }
    match field("state")? {
        "idle" | "done" | "error" => Some(Some(Claim::Idle)),
        "working" => Some(Some(Claim::Working)),
        "blocked" if field("kind") == Some("auth") => Some(Some(Claim::Idle)),
        "blocked" => Some(Some(Claim::Blocked)),
        "clear" => Some(None),
        _ => None,
    }
}

/// What a window title claims, where it claims anything.
pub(crate) fn claim_of_title(title: &str) -> Option<Claim> {
    let title = title.trim_start();
    if title.contains("Action Required") {
        return Some(Claim::Blocked);
    }
    match title.chars().next()? {
        '◐' | '◓' | '◑' | '◒' | '✦' | '\u{2801}'..='\u{28ff}' => Some(Claim::Working),
        '✳' | '◇' => Some(Claim::Idle),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, expected: Option<Claim>) {
        let mut status = Status::default();
        for byte in stream.as_bytes() {
            status.feed(std::slice::from_ref(byte));
        }
        assert_eq!(status.claim(), expected, "{stream:?} byte by byte");
        let mut status = Status::default();
        status.feed(stream.as_bytes());
        assert_eq!(status.claim(), expected, "{stream:?} at once");
    }

    #[test]
    fn the_last_claim_holds() {
        check("x\x1b]7501;state=working:app=codex\x1b\\y", Some(Claim::Working));
        check("\x1b]7501;state=blocked:app=codex:kind=permission\x1b\\", Some(Claim::Blocked));
        check("\x1b]7501;state=blocked:app=claude-code:kind=auth:msg=eA==\x07", Some(Claim::Idle));
        check("\x1b]7501;state=idle\x07\x1b]7501;state=working:id=ab:title=eA==\x07", Some(Claim::Idle));
        check("\x1b]7501;state=idle\x07\x1b]7501;state=clear\x07", None);
        check("\x1b\x1b]7501;state=done\x07", Some(Claim::Idle));
        check("\x1b]7501;?\x07", None);
        check("\x1b]0;state=idle\x07", None);
    }

    #[test]
    fn a_query_is_a_bare_question_mark() {
        let asked = |stream: &str| {
            let mut status = Status::default();
            status.feed(stream.as_bytes());
            status.take_queries()
        };
        assert_eq!(asked("\x1b]7501;?\x07\x1b[c"), 1);
        assert_eq!(asked("\x1b]7501;?\x1b\\"), 1);
        assert_eq!(asked("\x1b]7501;?\x07x\x1b]7501;?\x07"), 2);
        // An answer that is echoed is no query, or two terminals would talk for ever.
        assert_eq!(asked(&String::from_utf8_lossy(REPLY)), 0);
        assert_eq!(asked("\x1b]7501;?"), 0);
        assert_eq!(asked("\x1b]11;?\x07"), 0);
    }

    #[test]
    fn titles_claim_a_state() {
        assert_eq!(claim_of_title("✋  Action Required (dir)"), Some(Claim::Blocked));
        assert_eq!(claim_of_title("⠋ dir"), Some(Claim::Working));
        assert_eq!(claim_of_title("✳ Claude Code"), Some(Claim::Idle));
        assert_eq!(claim_of_title("~/project"), None);
    }
}
