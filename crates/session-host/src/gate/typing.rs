//! The course of one injection after its first write: what must be seen before the next stroke, when it is proven,
//! when it has failed. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::{Pace, PromptId, ReplyId, SightingNo, Stroke, Strokes};
use atlasbridge_wire::twin::Outcome;

use super::{Ticket, Way};

/// How long the screen may take to react before the operator is told that the tool did not take the reply (SPEC 3.5).
pub(crate) const REACTION_LIMIT: Duration = Duration::from_secs(2);

/// Shortest pause between a text and its Enter, where the program reads key by key. Measured: Gemini ignores an Enter that
/// comes within 50 ms of the text, Codex takes it for a pasted line break; 200 ms is safe in all of them.
pub(super) const BEFORE_ENTER: Duration = Duration::from_millis(200);

/// An Enter whose text still stands in the box after this long was not taken.
const INSIST_AFTER: Duration = Duration::from_millis(1200);

/// How long a text may take to show in its box. After that it counts as shown: not every box is read for drafts.
const LATE_ECHO: Duration = Duration::from_millis(1000);

#[derive(Debug)]
pub(crate) struct Typing {
    pub(crate) reply: ReplyId,
    pub(crate) prompt: PromptId,
    pub(crate) sighting: SightingNo,
    pub(crate) is_dialog: bool,
    pub(crate) by_key: bool,
    /// By the tool's hook: nothing is typed.
    pub(crate) is_said: bool,
    /// What was typed, where it is a text that an Enter sends.
    pub(crate) text: Option<String>,
    left: VecDeque<Stroke>,
    /// When what was typed was seen.
    echoed_at: Option<Moment>,
    /// Enter was pressed once more.
    insisted: bool,
    first_at: Moment,
    last_at: Moment,
    /// How long the tool gets to react to one stroke before the next.
    settle: Duration,
}

/// What was seen since the last stroke.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// The prompt has left the screen, or the tool has ended.
    pub(crate) gone: bool,
    /// The screen has changed since the last stroke.
    pub(crate) reacted: bool,
    pub(crate) still_shown: bool,
    /// For an input box: a text stands in it.
    pub(crate) drafted: Option<bool>,
    /// The very text that was typed still stands before the cursor.
    pub(crate) unsent: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Look again when something changes, or then.
    WaitUntil(Moment),
    Press(Stroke),
    Over(Outcome),
}

impl Typing {
    /// The first of the ticket's strokes has been written at `now`.
    pub(crate) fn begun(ticket: Ticket, settle: Duration, now: Moment) -> Self {
        let Ticket {
            reply,
            prompt,
            sighting,
            is_dialog,
            by_key,
            way,
        } = ticket;
        let is_said = matches!(way, Way::Say(_));
        let text = match &way {
            Way::Type(strokes) if !is_dialog => text_of(strokes),
            Way::Type(_) | Way::Say(_) => None,
        };
        let left = match way {
            Way::Type(strokes) => strokes.into_vec().into_iter().skip(1).collect(),
            Way::Say(_) => VecDeque::new(),
        };
        Self {
            reply,
            prompt,
            sighting,
            is_dialog,
            by_key,
            is_said,
            text,
            left,
            echoed_at: None,
            insisted: false,
            first_at: now,
            last_at: now,
            settle: settle.max(BEFORE_ENTER),
        }
    }

    /// All strokes are written.
    pub(crate) fn is_whole(&self) -> bool {
        self.left.is_empty()
    }

    pub(crate) fn next(&mut self, look: Look, now: Moment) -> Next {
        // # What stays in the box was not sent
        // A screen that nothing knows any more is no proof that its text was taken while that very text stands on it.
        if look.gone && !look.unsent {
            return Next::Over(match self.lacks_enter() {
                true => Outcome::NotTaken,
                false => Outcome::Taken,
            });
        }
        let give_up = self.last_at + REACTION_LIMIT;
        if now >= give_up {
            return Next::Over(Outcome::NotTaken);
        }
        if self.left.is_empty() && self.is_text() {
            return self.insist(look, give_up, now);
        }
        if self.left.is_empty() || !look.reacted || !look.still_shown {
            return Next::WaitUntil(give_up);
        }
        // A box that shows no draft though the tool has reacted may be one that is not read so.
        let echo = match look.drafted {
            Some(false) => self.last_at + LATE_ECHO,
            Some(true) | None => *self.echoed_at.get_or_insert(now),
        };
        let ready = (self.last_at + self.settle).max(match self.is_text() {
            true => echo + BEFORE_ENTER,
            false => echo,
        });
        if now < ready {
            return Next::WaitUntil(ready);
        }
        match self.left.pop_front() {
            Some(stroke) => {
                self.last_at = now;
                Next::Press(stroke)
            }
            None => Next::WaitUntil(give_up),
        }
    }

    fn is_text(&self) -> bool {
        !self.is_dialog
    }

    /// # A box that still holds the text has not sent it
    /// A busy tool swallows an Enter that follows its text too soon. While the very text still stands in the box, and
    /// nothing else was asked meanwhile, Enter is pressed once more; never into a dialog, and never twice.
    fn insist(&mut self, look: Look, give_up: Moment, now: Moment) -> Next {
        let due = self.last_at + INSIST_AFTER;
        let stands = look.still_shown && look.drafted == Some(true);
        if self.insisted || !stands {
            return Next::WaitUntil(give_up);
        }
        if now < due {
            return Next::WaitUntil(due);
        }
        self.insisted = true;
        self.last_at = now;
        Next::Press(Stroke {
            bytes: b"\r".to_vec(),
            pace: Pace::IfStillThere,
        })
    }

    /// A key of a dialog may be enough by itself; a text without its Enter never is, whatever left the screen meanwhile.
    fn lacks_enter(&self) -> bool {
        !self.is_dialog && !self.is_whole()
    }

    /// Local keys wait until the reply was taken, at most this long: a dead tool must not freeze the keyboard. For a dialog
    /// they wait as long as its answer is in doubt: two answers on their way at once are nobody's decision.
    pub(crate) fn holds_keyboard_until(&self, echo_window: Duration) -> Moment {
        match self.left.is_empty() && !self.is_dialog {
            true => self.last_at + echo_window,
            false => self.first_at + REACTION_LIMIT,
        }
    }
}

/// The text that an Enter of its own sends, as it stands in its box.
fn text_of(strokes: &Strokes) -> Option<String> {
    let mut strokes = strokes.iter();
    let (first, _enter) = (strokes.next()?, strokes.next()?);
    let text = String::from_utf8_lossy(&first.bytes);
    Some(text.replace("\x1b[200~", "").replace("\x1b[201~", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Settled;

    fn at(millis: u64) -> Moment {
        Moment(Duration::from_millis(millis))
    }

    fn typing(strokes: Strokes) -> Typing {
        let ticket = Ticket {
            reply: ReplyId::from_random([1; 16]),
            prompt: PromptId::from_random([2; 16]),
            sighting: SightingNo(1),
            is_dialog: true,
            by_key: true,
            way: Way::Type(strokes),
        };
        Typing::begun(ticket, Duration::ZERO, at(0))
    }

    const NOTHING: Look = Look {
        gone: false,
        reacted: false,
        still_shown: true,
        drafted: None,
        unsent: false,
    };
    const ECHOED: Look = Look {
        gone: false,
        reacted: true,
        still_shown: true,
        drafted: None,
        unsent: false,
    };
    const GONE: Look = Look {
        gone: true,
        reacted: true,
        still_shown: false,
        drafted: None,
        unsent: false,
    };

    #[test]
    fn a_single_stroke_is_proven_by_the_prompts_departure() {
        let mut one = typing(Strokes::once("y\r"));
        assert_eq!(one.next(NOTHING, at(1)), Next::WaitUntil(at(2_000)));
        assert_eq!(one.next(ECHOED, at(2)), Next::WaitUntil(at(2_000)));
        assert_eq!(one.next(GONE, at(3)), Next::Over(Outcome::Taken));
    }

    #[test]
    fn a_tool_that_does_not_react_is_told_of() {
        let mut one = typing(Strokes::once("y\r"));
        assert_eq!(one.next(NOTHING, at(2_000)), Next::Over(Outcome::NotTaken));
    }

    #[test]
    fn enter_follows_only_while_the_same_prompt_stands() {
        let mut two = typing(Strokes::then_enter_if_still_there("y"));
        assert_eq!(
            two.next(NOTHING, at(300)),
            Next::WaitUntil(at(2_000)),
            "not before the text was seen"
        );
        assert_eq!(two.next(ECHOED, at(100)), Next::WaitUntil(at(200)), "not at once");
        let Next::Press(stroke) = two.next(ECHOED, at(200)) else {
            panic!("Enter is due")
        };
        assert_eq!(stroke.bytes, b"\r");
        assert_eq!(two.next(NOTHING, at(201)), Next::WaitUntil(at(2_200)));

        let mut taken_by_the_key = typing(Strokes::then_enter_if_still_there("y"));
        assert_eq!(
            taken_by_the_key.next(GONE, at(5)),
            Next::Over(Outcome::Taken),
            "no Enter to be sure"
        );
    }

    #[test]
    fn a_text_without_its_enter_was_not_taken() {
        let mut text = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert_eq!(text.next(GONE, at(5)), Next::Over(Outcome::NotTaken));
    }

    /// Nothing knows the screen any more, and yet the text stands there: that is no proof that it was sent.
    #[test]
    fn a_text_that_still_stands_before_the_cursor_was_not_taken() {
        let mut text = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert!(matches!(text.next(ECHOED, at(1_000)), Next::WaitUntil(_)));
        assert!(matches!(text.next(ECHOED, at(1_200)), Next::Press(_)));
        let lies_there = Look { unsent: true, ..GONE };
        assert_eq!(text.next(lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
        assert_eq!(text.next(lies_there, at(3_200)), Next::Over(Outcome::NotTaken));

        let mut sent = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert!(matches!(sent.next(ECHOED, at(1_000)), Next::WaitUntil(_)));
        assert!(matches!(sent.next(ECHOED, at(1_200)), Next::Press(_)));
        assert_eq!(sent.next(lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
        assert_eq!(
            sent.next(GONE, at(1_600)),
            Next::Over(Outcome::Taken),
            "a slow tool took it late"
        );
    }

    #[test]
    fn a_pasted_text_is_known_without_its_marks() {
        let pasted = Strokes::then_enter_if_still_there("\x1b[200~two words\x1b[201~");
        assert_eq!(text_of(&pasted).as_deref(), Some("two words"));
        assert_eq!(
            text_of(&Strokes::once("y\r")),
            None,
            "a line is sent as it is typed"
        );
    }

    /// A text is sent once it is seen in its box, a moment later; and once more only if it still stands there.
    #[test]
    fn an_instruction_is_sent_when_it_is_seen_and_insisted_on_while_it_stands() {
        let mut text = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        let seen = |drafted| Look {
            drafted: Some(drafted),
            ..ECHOED
        };
        assert_eq!(text.next(seen(false), at(300)), Next::WaitUntil(at(1_200)));
        assert_eq!(text.next(seen(true), at(700)), Next::WaitUntil(at(900)));
        assert!(matches!(text.next(seen(true), at(900)), Next::Press(_)));
        assert_eq!(text.next(seen(true), at(1_000)), Next::WaitUntil(at(2_100)));
        let emptied = text.next(seen(false), at(2_200));
        assert_eq!(emptied, Next::WaitUntil(at(2_900)), "nothing is left to send");
        assert!(matches!(text.next(seen(true), at(2_200)), Next::Press(_)));
        assert_eq!(
            text.next(seen(true), at(3_500)),
            Next::WaitUntil(at(4_200)),
            "never a third time"
        );
        assert_eq!(text.next(GONE, at(3_600)), Next::Over(Outcome::Taken));
    }

    #[test]
    fn only_a_key_that_was_ignored_leaves_its_dialog_open() {
        let settled = |is_said, outcome| Settled {
            reply: ReplyId::from_random([1; 16]),
            prompt: PromptId::from_random([2; 16]),
            is_dialog: true,
            by_key: true,
            is_said,
            outcome,
        };
        assert!(settled(false, Outcome::NotTaken).leaves_dialog_open());
        assert!(
            !settled(true, Outcome::NotTaken).leaves_dialog_open(),
            "it may still come"
        );
        assert!(!settled(false, Outcome::Taken).leaves_dialog_open());
    }
}
