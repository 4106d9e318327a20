//! The course of one injection after its first write: what must be seen before the next stroke, when it is proven,
//! when it has failed. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::{Pace, PromptId, ReplyId, SightingNo, Stroke, Strokes};
use atlasbridge_wire::twin::Outcome;

use super::{Aim, Ticket, Way};

/// How long the screen may take to react before the operator is told that the tool did not take the reply (SPEC 3.5).
pub(crate) const REACTION_LIMIT: Duration = Duration::from_secs(2);

/// Shortest pause between a text and its Enter, where the program reads key by key. Measured: Gemini ignores an Enter that
/// comes within 50 ms of the text, Codex takes it for a pasted line break; 200 ms is safe in all of them.
pub(super) const BEFORE_ENTER: Duration = Duration::from_millis(200);

/// An Enter whose text still stands in the box after this long was not taken.
const INSIST_AFTER: Duration = Duration::from_millis(1200);

/// How long a text may take to show in its box. After that it counts as shown: not every box is read for drafts.
const LATE_ECHO: Duration = Duration::from_millis(1000);

/// How long a marker may be led from row to row, all steps together.
const STEERING_LIMIT: Duration = Duration::from_secs(10);

/// How soon to look whether an answer was read, for the first time; the pauses grow with the time that it took so far.
const LOOK_FOR_READING: Duration = Duration::from_millis(4);

/// An event loop that listens reads a key at once. One that does not was called away, and may ask something else when it
/// is back; who is blocked in a read gets the key in any case.
const READING_LIMIT: Duration = Duration::from_millis(250);

/// So much of a typed text must be seen before its Enter; the rest may be cut off or wrapped.
const PROVES_A_TEXT: usize = 40;

#[derive(Debug)]
pub(crate) struct Typing {
    pub(crate) reply: ReplyId,
    pub(crate) prompt: PromptId,
    pub(crate) sighting: SightingNo,
    pub(crate) is_dialog: bool,
    pub(crate) by_key: bool,
    is_blocked: bool,
    /// Its Enter is a stroke of its own.
    sends_apart: bool,
    course: Course,
    /// Bytes of the last stroke.
    last_bytes: u64,
    first_at: Moment,
    last_at: Moment,
    /// How long the tool gets to react to one stroke before the next.
    settle: Duration,
}

/// How it goes on after the first stroke.
#[derive(Debug)]
enum Course {
    /// By the tool's hook: nothing is typed.
    Said,
    /// Stroke by stroke, as they were at the beginning.
    Listed {
        left: VecDeque<Stroke>,
        typed: String,
        /// When what was typed was seen.
        echoed_at: Option<Moment>,
        /// Enter was pressed once more.
        insisted: bool,
    },
    /// As the rows show it. So many strokes were needed when the last one was written, that one included.
    Steered { aim: Aim, needed: usize },
}

/// What was seen since the last stroke.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// The prompt has left the screen, or the tool has ended.
    pub(crate) gone: bool,
    /// The tool has ended.
    pub(crate) over: bool,
    /// The screen has changed since the last stroke.
    pub(crate) reacted: bool,
    pub(crate) still_shown: bool,
    /// What was typed is to be seen where the prompt is answered.
    pub(crate) shows_typed: bool,
    /// For an input box: a text stands in it.
    pub(crate) drafted: Option<bool>,
    /// The very text that was typed still stands before the cursor.
    pub(crate) unsent: bool,
    /// What the row that is aimed at takes as the screen is now.
    pub(crate) needs: Option<Strokes>,
    /// Bytes that lie in the tool's terminal, read by nobody.
    pub(crate) unread: u64,
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
            is_blocked,
            way,
        } = ticket;
        let bytes_of = |strokes: &Strokes| strokes.iter().next().map_or(0, |first| first.bytes.len() as u64);
        let last_bytes = match &way {
            Way::Type(strokes) | Way::Steer { strokes, .. } => bytes_of(strokes),
            Way::Say(_) => 0,
        };
        let sends_apart = match &way {
            Way::Type(strokes) => strokes.len() > 1,
            Way::Steer { .. } | Way::Say(_) => false,
        };
        let course = match way {
            Way::Type(strokes) => {
                let mut left = VecDeque::from(strokes.into_vec());
                let first = left.pop_front().map(|stroke| stroke.bytes).unwrap_or_default();
                Course::Listed {
                    left,
                    typed: without_marks(&first),
                    echoed_at: None,
                    insisted: false,
                }
            }
            Way::Steer { aim, strokes } => Course::Steered {
                aim,
                needed: strokes.len(),
            },
            Way::Say(_) => Course::Said,
        };
        Self {
            reply,
            prompt,
            sighting,
            is_dialog,
            by_key,
            is_blocked,
            sends_apart,
            course,
            last_bytes,
            first_at: now,
            last_at: now,
            settle: settle.max(BEFORE_ENTER),
        }
    }

    pub(crate) fn is_said(&self) -> bool {
        matches!(self.course, Course::Said)
    }

    pub(crate) fn aim(&self) -> Option<&Aim> {
        match &self.course {
            Course::Steered { aim, .. } => Some(aim),
            Course::Said | Course::Listed { .. } => None,
        }
    }

    /// What must be seen before the Enter that is left.
    pub(crate) fn typed(&self) -> Option<&str> {
        match &self.course {
            Course::Listed { left, typed, .. } if !left.is_empty() => {
                let end = typed.char_indices().nth(PROVES_A_TEXT);
                Some(&typed[..end.map_or(typed.len(), |(end, _)| end)])
            }
            Course::Said | Course::Listed { .. } | Course::Steered { .. } => None,
        }
    }

    /// The text that an Enter of its own sends, as it stands in its box.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.course {
            Course::Listed { typed, .. } if self.is_text() && self.sends_apart => Some(typed),
            Course::Said | Course::Listed { .. } | Course::Steered { .. } => None,
        }
    }

    /// All strokes are written.
    pub(crate) fn is_whole(&self) -> bool {
        match &self.course {
            Course::Said => true,
            Course::Listed { left, .. } => left.is_empty(),
            Course::Steered { needed, .. } => *needed <= 1,
        }
    }

    pub(crate) fn next(&mut self, look: &Look, now: Moment) -> Next {
        let give_up = self.gives_up_at();
        if self.lies_unread(look) && !look.over {
            return self.await_reading(now);
        }
        // # What stays in the box was not sent
        // A screen that nothing knows any more is no proof that its text was taken while that very text stands on it.
        if look.gone && !look.unsent {
            return Next::Over(self.departed(look));
        }
        if now >= give_up {
            return Next::Over(self.given_up(look));
        }
        match &self.course {
            Course::Said => Next::WaitUntil(give_up),
            Course::Steered { needed, .. } => {
                let next = look.needs.as_ref().filter(|needs| needs.len() < *needed);
                let next = next.and_then(|needs| Some((needs.len(), needs.iter().next()?.clone())));
                self.steer(next, give_up, now)
            }
            Course::Listed { left, .. } if left.is_empty() && self.is_text() => {
                self.insist(look, give_up, now)
            }
            Course::Listed { .. } => self.go_on(look, give_up, now),
        }
    }

    /// Nothing of the last stroke was read yet. Until it is, or is taken back, nothing else is judged: the kernel's own
    /// echo sweeps a question away before anybody has read the answer. Nothing announces the reading.
    fn await_reading(&self, now: Moment) -> Next {
        let limit = self.last_at
            + if self.is_blocked {
                REACTION_LIMIT
            } else {
                READING_LIMIT
            };
        match now < limit {
            true => Next::WaitUntil((now + LOOK_FOR_READING.max((now - self.last_at) / 2)).min(limit)),
            false => Next::Over(Outcome::NotTaken),
        }
    }

    /// # No-blind-Enter invariant
    /// The next key is the first of those that the row needs *now*, by the rows on the screen, and only once they are
    /// fewer than before: the last key did what it should. A marker that does not move, that moves away, or that cannot
    /// be seen is waited for, and given up. So Enter is pressed only where the marker was seen on the row.
    fn steer(&mut self, next: Option<(usize, Stroke)>, give_up: Moment, now: Moment) -> Next {
        let Some((needs, stroke)) = next else {
            return Next::WaitUntil(give_up);
        };
        let ready = self.last_at + self.settle;
        if now < ready {
            return Next::WaitUntil(ready.min(give_up));
        }
        if let Course::Steered { needed, .. } = &mut self.course {
            *needed = needs;
        }
        self.press(stroke, now)
    }

    /// The next stroke, once what was typed is seen where the prompt is answered.
    fn go_on(&mut self, look: &Look, give_up: Moment, now: Moment) -> Next {
        let is_text = self.is_text();
        let (last_at, settle) = (self.last_at, self.settle);
        let Course::Listed { left, echoed_at, .. } = &mut self.course else {
            return Next::WaitUntil(give_up);
        };
        let Some(stroke) = left.front() else {
            return Next::WaitUntil(give_up);
        };
        let is_enter = stroke.bytes == b"\r";
        let is_seen = look.drafted.is_some() || look.shows_typed || !is_enter;
        if !look.reacted || !look.still_shown || !is_seen {
            return Next::WaitUntil(give_up);
        }
        // A box that shows no draft though the tool has reacted may be one that is not read so.
        let echo = match look.drafted {
            Some(false) => last_at + LATE_ECHO,
            Some(true) | None => *echoed_at.get_or_insert(now),
        };
        let ready = (last_at + settle).max(match is_text {
            true => echo + BEFORE_ENTER,
            false => echo,
        });
        if now < ready {
            return Next::WaitUntil(ready);
        }
        match left.pop_front() {
            Some(stroke) => self.press(stroke, now),
            None => Next::WaitUntil(give_up),
        }
    }

    fn press(&mut self, stroke: Stroke, now: Moment) -> Next {
        self.last_at = now;
        self.last_bytes = stroke.bytes.len() as u64;
        Next::Press(stroke)
    }

    fn gives_up_at(&self) -> Moment {
        let give_up = self.last_at + REACTION_LIMIT;
        match self.course {
            Course::Steered { .. } => give_up.min(self.first_at + STEERING_LIMIT),
            Course::Said | Course::Listed { .. } => give_up,
        }
    }

    /// The prompt has gone. That was our doing only if the tool has read what was typed, and all of it was typed.
    fn departed(&self, look: &Look) -> Outcome {
        match () {
            () if self.lies_unread(look) => Outcome::ToolGone,
            () if self.lacks_enter() => Outcome::NotTaken,
            () => Outcome::Taken,
        }
    }

    /// # An outcome is proved
    /// A dialog that stands as it was, a text that stands in its box and keys that lie unread were not taken. A line
    /// that was read, and after which nothing changed, may have been: nobody knows.
    fn given_up(&self, look: &Look) -> Outcome {
        let is_refuted =
            self.is_dialog || !self.is_whole() || self.is_said() || look.drafted == Some(true) || look.unsent;
        match is_refuted {
            true => Outcome::NotTaken,
            false => Outcome::Unknown,
        }
    }

    /// Nothing of the last stroke was read.
    fn lies_unread(&self, look: &Look) -> bool {
        self.last_bytes > 0 && look.unread >= self.last_bytes
    }

    fn is_text(&self) -> bool {
        !self.is_dialog
    }

    /// # A box that still holds the text has not sent it
    /// A busy tool swallows an Enter that follows its text too soon. While the very text still stands in the box, and
    /// nothing else was asked meanwhile, Enter is pressed once more; never into a dialog, and never twice.
    fn insist(&mut self, look: &Look, give_up: Moment, now: Moment) -> Next {
        let due = self.last_at + INSIST_AFTER;
        let stands = look.still_shown && look.drafted == Some(true);
        let Course::Listed { insisted, .. } = &mut self.course else {
            return Next::WaitUntil(give_up);
        };
        if *insisted || !stands {
            return Next::WaitUntil(give_up);
        }
        if now < due {
            return Next::WaitUntil(due);
        }
        *insisted = true;
        let stroke = Stroke {
            bytes: b"\r".to_vec(),
            pace: Pace::IfStillThere,
        };
        self.press(stroke, now)
    }

    /// A key of a dialog may be enough by itself; a text without its Enter never is, whatever left the screen meanwhile,
    /// and a marker that was moved has chosen nothing.
    fn lacks_enter(&self) -> bool {
        let is_led = matches!(self.course, Course::Steered { .. });
        (!self.is_dialog || is_led) && !self.is_whole()
    }

    /// Local keys wait until the reply was taken, at most this long: a dead tool must not freeze the keyboard. For a dialog
    /// they wait as long as its answer is in doubt: two answers on their way at once are nobody's decision.
    pub(crate) fn holds_keyboard_until(&self, echo_window: Duration) -> Moment {
        match self.course {
            Course::Steered { .. } => self.gives_up_at(),
            Course::Said | Course::Listed { .. } if self.is_whole() && !self.is_dialog => {
                self.last_at + echo_window
            }
            Course::Said | Course::Listed { .. } => self.first_at + REACTION_LIMIT,
        }
    }
}

/// A pasted text as it stands in its box.
fn without_marks(pasted: &[u8]) -> String {
    let text = String::from_utf8_lossy(pasted);
    text.replace("\x1b[200~", "").replace("\x1b[201~", "")
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
            is_blocked: true,
            way: Way::Type(strokes),
        };
        Typing::begun(ticket, Duration::ZERO, at(0))
    }

    fn nothing() -> Look {
        Look {
            still_shown: true,
            ..Look::default()
        }
    }

    fn echoed() -> Look {
        Look {
            reacted: true,
            still_shown: true,
            shows_typed: true,
            ..Look::default()
        }
    }

    fn gone() -> Look {
        Look {
            gone: true,
            reacted: true,
            ..Look::default()
        }
    }

    #[test]
    fn a_single_stroke_is_proven_by_the_prompts_departure() {
        let mut one = typing(Strokes::once("y\r"));
        assert_eq!(one.next(&nothing(), at(1)), Next::WaitUntil(at(2_000)));
        assert_eq!(one.next(&echoed(), at(2)), Next::WaitUntil(at(2_000)));
        assert_eq!(one.next(&gone(), at(3)), Next::Over(Outcome::Taken));
    }

    #[test]
    fn a_tool_that_does_not_react_is_told_of() {
        let mut one = typing(Strokes::once("y\r"));
        assert_eq!(one.next(&nothing(), at(2_000)), Next::Over(Outcome::NotTaken));
    }

    #[test]
    fn enter_follows_only_while_the_same_prompt_stands() {
        let mut two = typing(Strokes::then_enter_if_still_there("y"));
        assert_eq!(
            two.next(&nothing(), at(300)),
            Next::WaitUntil(at(2_000)),
            "not before the text was seen"
        );
        assert_eq!(
            two.next(&echoed(), at(100)),
            Next::WaitUntil(at(200)),
            "not at once"
        );
        let Next::Press(stroke) = two.next(&echoed(), at(200)) else {
            panic!("Enter is due")
        };
        assert_eq!(stroke.bytes, b"\r");
        assert_eq!(two.next(&nothing(), at(201)), Next::WaitUntil(at(2_200)));

        let mut taken_by_the_key = typing(Strokes::then_enter_if_still_there("y"));
        assert_eq!(
            taken_by_the_key.next(&gone(), at(5)),
            Next::Over(Outcome::Taken),
            "no Enter to be sure"
        );
    }

    /// Something else on the screen moved: that the key was seen is not known, so no Enter follows it.
    #[test]
    fn a_key_that_is_not_seen_is_followed_by_no_enter() {
        let mut two = typing(Strokes::then_enter_if_still_there("y"));
        let elsewhere = Look {
            shows_typed: false,
            ..echoed()
        };
        assert_eq!(two.next(&elsewhere, at(1_900)), Next::WaitUntil(at(2_000)));
        assert_eq!(two.next(&elsewhere, at(2_000)), Next::Over(Outcome::NotTaken));
    }

    #[test]
    fn what_lies_unread_was_not_taken_though_its_prompt_has_gone() {
        let lies = |unread, over| Look {
            unread,
            over,
            ..gone()
        };
        let ends = |look: &Look| typing(Strokes::once("y\r")).next(look, at(2_000));
        assert_eq!(ends(&lies(2, false)), Next::Over(Outcome::NotTaken));
        assert_eq!(ends(&lies(2, true)), Next::Over(Outcome::ToolGone));
        assert_eq!(
            ends(&lies(1, false)),
            Next::Over(Outcome::Taken),
            "its first key was read"
        );
        assert_eq!(ends(&lies(0, true)), Next::Over(Outcome::Taken));
    }

    /// The kernel echoes a line at once, and the question is swept away by it: a slow tool still gets its answer.
    #[test]
    fn an_answer_that_is_not_read_yet_is_waited_for() {
        let unread = Look { unread: 2, ..gone() };
        let mut line = typing(Strokes::once("y\r"));
        assert_eq!(line.next(&unread, at(1)), Next::WaitUntil(at(5)));
        assert_eq!(line.next(&unread, at(1_000)), Next::WaitUntil(at(1_500)));
        assert_eq!(line.next(&gone(), at(1_200)), Next::Over(Outcome::Taken));
        let mut listened_to = Typing {
            is_blocked: false,
            ..typing(Strokes::once("2"))
        };
        let unread = Look {
            unread: 1,
            ..nothing()
        };
        assert_eq!(listened_to.next(&unread, at(249)), Next::WaitUntil(at(250)));
        assert_eq!(
            listened_to.next(&unread, at(250)),
            Next::Over(Outcome::NotTaken),
            "it was called away"
        );
    }

    #[test]
    fn a_line_that_was_read_and_changed_nothing_is_unknown() {
        let line = || Typing {
            is_dialog: false,
            ..typing(Strokes::once("hello\r"))
        };
        assert_eq!(line().next(&nothing(), at(2_000)), Next::Over(Outcome::Unknown));
        let unread = Look {
            unread: 6,
            ..nothing()
        };
        assert_eq!(line().next(&unread, at(2_000)), Next::Over(Outcome::NotTaken));
        let in_its_box = Look {
            drafted: Some(true),
            ..nothing()
        };
        assert_eq!(line().next(&in_its_box, at(4_000)), Next::Over(Outcome::NotTaken));
    }

    /// Keys from row `from` to row `to`, as a menu with its marker on `from` would have them.
    fn keys(from: usize, to: usize) -> Option<Strokes> {
        let step = if to < from { "\x1b[A" } else { "\x1b[B" };
        let steps = std::iter::repeat_n(step.as_bytes().to_vec(), to.abs_diff(from));
        Strokes::guided(steps.chain([b"\r".to_vec()]))
    }

    fn steered(from: usize, to: usize) -> Typing {
        let aim = Aim {
            row: to,
            label: "No".to_owned(),
        };
        let ticket = Ticket {
            reply: ReplyId::from_random([1; 16]),
            prompt: PromptId::from_random([2; 16]),
            sighting: SightingNo(1),
            is_dialog: true,
            by_key: true,
            is_blocked: true,
            way: Way::Steer {
                aim,
                strokes: keys(from, to).unwrap(),
            },
        };
        Typing::begun(ticket, Duration::ZERO, at(0))
    }

    fn marker_on(row: usize, aim: usize) -> Look {
        Look {
            needs: keys(row, aim),
            ..echoed()
        }
    }

    #[test]
    fn a_marker_is_led_step_by_step_and_enter_waits_for_it() {
        let mut led = steered(0, 2);
        assert_eq!(
            led.next(&marker_on(0, 2), at(300)),
            Next::WaitUntil(at(2_000)),
            "not moved yet"
        );
        assert_eq!(
            led.next(&marker_on(1, 2), at(100)),
            Next::WaitUntil(at(200)),
            "not at once"
        );
        let Next::Press(step) = led.next(&marker_on(1, 2), at(300)) else {
            panic!("the second step is due")
        };
        assert_eq!(step.bytes, b"\x1b[B");
        assert_eq!(
            led.next(&marker_on(1, 2), at(900)),
            Next::WaitUntil(at(2_300)),
            "lost: no Enter"
        );
        let Next::Press(enter) = led.next(&marker_on(2, 2), at(1_000)) else {
            panic!("the marker stands on the row")
        };
        assert_eq!(enter.bytes, b"\r");
        assert_eq!(
            led.next(&marker_on(2, 2), at(1_500)),
            Next::WaitUntil(at(3_000)),
            "never twice"
        );
        assert_eq!(led.next(&gone(), at(1_600)), Next::Over(Outcome::Taken));
    }

    #[test]
    fn a_step_that_is_lost_or_goes_astray_is_given_up() {
        let astray = |look: Look| {
            let mut led = steered(0, 2);
            assert_eq!(led.next(&look, at(1_900)), Next::WaitUntil(at(2_000)));
            assert_eq!(led.next(&look, at(2_000)), Next::Over(Outcome::NotTaken));
        };
        astray(marker_on(0, 2));
        astray(marker_on(4, 2));
        astray(Look {
            needs: None,
            ..echoed()
        });
        let mut moved_only = steered(0, 2);
        assert_eq!(
            moved_only.next(&gone(), at(5)),
            Next::Over(Outcome::NotTaken),
            "a moved marker has chosen nothing"
        );
    }

    proptest::proptest! {
        /// A menu that loses keys, wraps, jumps and redraws late: Enter is pressed only while its marker is shown on the
        /// row, and at most once.
        #[test]
        fn enter_meets_only_the_row_that_was_meant(
            rows in 2usize..9, from in 0usize..9, to in 0usize..9,
            fates in proptest::collection::vec((0u8..10, 1u64..400), 1..60),
        ) {
            let (from, to) = (from % rows, to % rows);
            let mut led = steered(from, to);
            // The first key is on its way.
            let mut marker = from;
            let mut pending = Some(keys(from, to).unwrap().into_vec().remove(0).bytes);
            let mut entered = 0;
            let mut now = 0;
            for (fate, pause) in fates {
                now += pause;
                if let Some(key) = pending.take() {
                    if key == b"\r" {
                        proptest::prop_assert_eq!(marker, to, "Enter took another row");
                        entered += 1;
                    } else {
                        let down = key == b"\x1b[B";
                        marker = match fate {
                            0..=2 => marker,
                            3 => (marker + 2) % rows,
                            _ if down => (marker + 1) % rows,
                            _ => (marker + rows - 1) % rows,
                        };
                    }
                }
                let look = match fate {
                    9 => Look { needs: None, ..echoed() },
                    _ => marker_on(marker, to),
                };
                match led.next(&look, at(now)) {
                    Next::Press(stroke) => pending = Some(stroke.bytes),
                    Next::WaitUntil(_) => {}
                    Next::Over(outcome) => {
                        proptest::prop_assert_eq!(outcome, Outcome::NotTaken);
                        break;
                    }
                }
            }
            proptest::prop_assert!(entered <= 1);
        }
    }

    #[test]
    fn a_text_without_its_enter_was_not_taken() {
        let mut text = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert_eq!(text.next(&gone(), at(5)), Next::Over(Outcome::NotTaken));
    }

    /// Nothing knows the screen any more, and yet the text stands there: that is no proof that it was sent.
    #[test]
    fn a_text_that_still_stands_before_the_cursor_was_not_taken() {
        let mut text = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert!(matches!(text.next(&echoed(), at(1_000)), Next::WaitUntil(_)));
        assert!(matches!(text.next(&echoed(), at(1_200)), Next::Press(_)));
        let lies_there = Look {
            unsent: true,
            ..gone()
        };
        assert_eq!(text.next(&lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
        assert_eq!(text.next(&lies_there, at(3_200)), Next::Over(Outcome::NotTaken));

        let mut sent = Typing {
            is_dialog: false,
            ..typing(Strokes::then_enter_if_still_there("hello"))
        };
        assert!(matches!(sent.next(&echoed(), at(1_000)), Next::WaitUntil(_)));
        assert!(matches!(sent.next(&echoed(), at(1_200)), Next::Press(_)));
        assert_eq!(sent.next(&lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
        assert_eq!(
            sent.next(&gone(), at(1_600)),
            Next::Over(Outcome::Taken),
            "a slow tool took it late"
        );
    }

    #[test]
    fn a_pasted_text_is_known_without_its_marks() {
        let text = |strokes| Typing {
            is_dialog: false,
            ..typing(strokes)
        };
        let pasted = text(Strokes::then_enter_if_still_there("\x1b[200~two words\x1b[201~"));
        assert_eq!(pasted.text(), Some("two words"));
        let line = text(Strokes::once("y\r"));
        assert_eq!(line.text(), None, "a line is sent as it is typed");
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
            ..echoed()
        };
        assert_eq!(text.next(&seen(false), at(300)), Next::WaitUntil(at(1_200)));
        assert_eq!(text.next(&seen(true), at(700)), Next::WaitUntil(at(900)));
        assert!(matches!(text.next(&seen(true), at(900)), Next::Press(_)));
        assert_eq!(text.next(&seen(true), at(1_000)), Next::WaitUntil(at(2_100)));
        let emptied = text.next(&seen(false), at(2_200));
        assert_eq!(emptied, Next::WaitUntil(at(2_900)), "nothing is left to send");
        assert!(matches!(text.next(&seen(true), at(2_200)), Next::Press(_)));
        assert_eq!(
            text.next(&seen(true), at(3_500)),
            Next::WaitUntil(at(4_200)),
            "never a third time"
        );
        assert_eq!(text.next(&gone(), at(3_600)), Next::Over(Outcome::Taken));
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
        assert!(settled(false, Outcome::NotTaken).leaves_prompt_open());
        assert!(
            !settled(true, Outcome::NotTaken).leaves_prompt_open(),
            "it may still come"
        );
        assert!(!settled(false, Outcome::Taken).leaves_prompt_open());
    }
}
