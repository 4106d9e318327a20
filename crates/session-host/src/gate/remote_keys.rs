//! Keys and lines that somebody types elsewhere, for no prompt in particular: what they are in bytes, whether they may
//! be typed, and what became of them. Pure.
//!
//! # At-most-once invariant
//! [`RemoteKeys::judge`] gives keys out at most once for each id that it remembers. A hub sends an id once, and once more
//! at most when a connection was lost meanwhile.

use std::collections::VecDeque;

use atlasbridge_detect::{InputModes, Moment};
use atlasbridge_model::TypingId;
use atlasbridge_wire::session::{Key, Typing, TypingOutcome};

use super::PASTE;

/// Longest text, in characters. Longer than any prompt takes, shorter than the kernel's line of 4096 bytes.
const MOST_CHARS: usize = 1000;
/// Outcomes that are remembered for repeats.
const MOST_REMEMBERED: usize = 1024;

/// What is written first, and whether Enter follows by itself after a pause.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) first: Vec<u8>,
    pub(crate) then_enter: bool,
}

/// How things stand at the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings {
    pub(crate) tool_gone: bool,
    /// A reply is being injected.
    pub(crate) is_injecting: bool,
    /// Somebody types at the terminal itself.
    pub(crate) is_typed_at: bool,
}

/// What becomes of keys or a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RemoteProgress {
    /// They were written just now; not if they were refused, or seen before.
    pub(crate) is_written: bool,
    /// `None` where it comes by itself: an Enter follows after a pause, and the outcome with it.
    pub(crate) outcome: Option<TypingOutcome>,
}

#[derive(Debug, Default)]
pub(crate) struct RemoteKeys {
    outcomes: VecDeque<(TypingId, TypingOutcome)>,
    /// A text was typed, and its Enter is due then.
    pub(super) pending: Option<(TypingId, Moment)>,
}

impl RemoteKeys {
    /// The keys, if they may be typed, or what became of them; `None` while this very typing is under way.
    pub(crate) fn judge<'a>(
        &mut self,
        id: TypingId,
        keys: Option<&'a Keys>,
        around: Surroundings,
    ) -> Result<&'a Keys, Option<TypingOutcome>> {
        if let Some((_, outcome)) = self.outcomes.iter().find(|(known, _)| *known == id) {
            return Err(Some(*outcome));
        }
        if self.pending.is_some_and(|(pending, _)| pending == id) {
            return Err(None);
        }
        let refusal = match keys {
            _ if around.tool_gone => TypingOutcome::Gone,
            None => TypingOutcome::Refused,
            Some(_) if self.is_under_way() || around.is_injecting => TypingOutcome::Busy,
            Some(_) if around.is_typed_at => TypingOutcome::TypingLocally,
            Some(keys) => return Ok(keys),
        };
        self.settle(id, refusal);
        Err(Some(refusal))
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.pending.is_some()
    }

    /// The typing whose Enter is due, or every one that is under way if `now` is not given.
    pub(crate) fn take_due(&mut self, now: Option<Moment>) -> Option<TypingId> {
        let (id, _) = self.pending.take_if(|(_, at)| now.is_none_or(|now| *at <= now))?;
        Some(id)
    }

    pub(crate) fn settle(&mut self, id: TypingId, outcome: TypingOutcome) {
        if self.outcomes.len() == MOST_REMEMBERED {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back((id, outcome));
    }
}

/// The bytes of a key or a line, as the tool wants to be typed to. `None`: nothing that may be typed.
pub(crate) fn keys_of(what: &Typing, modes: InputModes) -> Option<Keys> {
    let arrow = |letter| vec![0x1b, if modes.application_cursor { b'O' } else { b'[' }, letter];
    let key = match what {
        Typing::Text { text, enter } => return line(text, *enter, modes.bracketed_paste),
        Typing::Unknown(_) => return None,
        Typing::Key(Key::Escape) => vec![0x1b],
        Typing::Key(Key::Tab) => vec![b'\t'],
        Typing::Key(Key::Up) => arrow(b'A'),
        Typing::Key(Key::Down) => arrow(b'B'),
        Typing::Key(Key::Right) => arrow(b'C'),
        Typing::Key(Key::Left) => arrow(b'D'),
        Typing::Key(Key::Enter) => vec![b'\r'],
        Typing::Key(Key::Backspace) => vec![0x7f],
        Typing::Key(Key::CtrlC) => vec![0x03],
        Typing::Key(Key::CtrlD) => vec![0x04],
    };
    Some(Keys { first: key, then_enter: false })
}

/// # No-control-characters invariant
/// A text holds none: neither a key that it is not, nor the end of a bracketed paste, can come in by it.
fn line(text: &str, enter: bool, bracketed_paste: bool) -> Option<Keys> {
    let chars = text.chars().count();
    if chars > MOST_CHARS || text.chars().any(char::is_control) {
        return None;
    }
    match (chars, enter) {
        (0, false) => None,
        (0, true) => Some(Keys { first: vec![b'\r'], then_enter: false }),
        (_, then_enter) => {
            let (begin, end) = if bracketed_paste && chars > 1 { PASTE } else { ("", "") };
            Some(Keys { first: [begin, text, end].concat().into_bytes(), then_enter })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlasbridge_wire::session::Unread;
    use std::time::Duration;

    const PLAIN: InputModes = InputModes { application_cursor: false, bracketed_paste: false };
    const FULL: InputModes = InputModes { application_cursor: true, bracketed_paste: true };

    fn text(text: &str, enter: bool) -> Typing {
        Typing::Text { text: text.to_owned(), enter }
    }

    #[track_caller]
    fn check(what: &Typing, modes: InputModes, first: &str, then_enter: bool) {
        let keys = Keys { first: first.as_bytes().to_vec(), then_enter };
        assert_eq!(keys_of(what, modes), Some(keys), "{what:?}");
    }

    fn key() -> Option<Keys> {
        keys_of(&Typing::Key(Key::Tab), PLAIN)
    }

    fn id(number: u8) -> TypingId {
        TypingId::from_random([number; 16])
    }

    #[test]
    fn keys_and_lines_in_bytes() {
        check(&Typing::Key(Key::Escape), PLAIN, "\x1b", false);
        check(&Typing::Key(Key::Up), PLAIN, "\x1b[A", false);
        check(&Typing::Key(Key::Left), FULL, "\x1bOD", false);
        check(&Typing::Key(Key::CtrlD), PLAIN, "\x04", false);
        check(&text("ls", true), PLAIN, "ls", true);
        check(&text("ls", false), FULL, "\x1b[200~ls\x1b[201~", false);
        check(&text("y", true), FULL, "y", true);
        check(&text("", true), FULL, "\r", false);
    }

    #[test]
    fn what_is_no_key_and_no_line_is_not_typed() {
        let long = "a".repeat(MOST_CHARS + 1);
        for bad in ["a\rb", "a\nb", "\x1b[A", "\x03", "\u{9b}A", "a\x7f", "\t", &long, ""] {
            assert_eq!(keys_of(&text(bad, false), FULL), None, "{bad:?}");
        }
        assert_eq!(keys_of(&Typing::Unknown(Unread), PLAIN), None);
        assert!(keys_of(&text(&"日".repeat(MOST_CHARS), true), FULL).is_some());
    }

    #[test]
    fn an_id_is_typed_once() {
        let mut remote = RemoteKeys::default();
        let free = Surroundings::default();
        assert!(remote.judge(id(1), key().as_ref(), free).is_ok());
        remote.pending = Some((id(1), Moment(Duration::from_millis(200))));
        assert_eq!(remote.judge(id(1), key().as_ref(), free), Err(None));
        assert_eq!(remote.judge(id(2), key().as_ref(), free), Err(Some(TypingOutcome::Busy)));
        assert_eq!(remote.take_due(Some(Moment(Duration::from_millis(199)))), None);
        assert_eq!(remote.take_due(Some(Moment(Duration::from_millis(200)))), Some(id(1)));
        remote.settle(id(1), TypingOutcome::Typed);
        assert_eq!(remote.judge(id(1), key().as_ref(), free), Err(Some(TypingOutcome::Typed)));
        let busy = Err(Some(TypingOutcome::Busy));
        assert_eq!(remote.judge(id(2), key().as_ref(), free), busy, "what was refused stays refused");
        assert!(remote.judge(id(3), key().as_ref(), free).is_ok());
    }

    #[test]
    fn each_objection_in_its_own_word() {
        let (free, keys) = (Surroundings::default(), key());
        let typed_at = Surroundings { is_typed_at: true, ..free };
        let injecting = Surroundings { is_injecting: true, ..typed_at };
        let tool_gone = Surroundings { tool_gone: true, ..injecting };
        for (keys, around, outcome) in [
            (None, tool_gone, TypingOutcome::Gone),
            (keys.as_ref(), tool_gone, TypingOutcome::Gone),
            (None, injecting, TypingOutcome::Refused),
            (keys.as_ref(), injecting, TypingOutcome::Busy),
            (keys.as_ref(), typed_at, TypingOutcome::TypingLocally),
            (None, free, TypingOutcome::Refused),
        ] {
            let judged = RemoteKeys::default().judge(id(1), keys, around);
            assert_eq!(judged, Err(Some(outcome)));
        }
    }
}
