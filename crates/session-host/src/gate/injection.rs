//! The plan of one injection after its first write: what must be seen before the next stroke, when it is proven,
//! when it has failed. Pure.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::{Pace, Stroke, Strokes};
use atlasbridge_pty::WaitingThread;
use atlasbridge_wire::twin::Outcome;

use super::{Aim, Delivery, Field, PASTE, Route, Ticket, Via};

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

/// Who listens reads a key at once, as soon as a processor is free: while it waits for one this does not pass. Who does not
/// was called away, and may ask something else when it is back.
const READING_LIMIT: Duration = Duration::from_millis(250);

/// So much of a typed text must be seen before its Enter; the rest may be cut off or wrapped.
const PROVES_A_TEXT: usize = 40;

#[derive(Debug)]
pub(crate) struct Injection {
    pub(crate) delivery: Delivery,
    /// Who waited for the terminal when the first stroke was written: each further one is for them.
    pub(crate) waiting: Option<WaitingThread>,
    plan: Plan,
    /// Bytes of the last stroke.
    last_bytes: u64,
    /// Somebody was about to read what was typed last.
    is_awaited: bool,
    /// [`Unread::queued`] when it was first seen to lie unread.
    queued_before: Option<Duration>,
    first_at: Moment,
    last_at: Moment,
    /// When to look although nothing happened.
    pub(crate) look_at: Moment,
    /// How long the tool gets to react to one stroke before the next.
    settle: Duration,
    /// The tool has written since the first stroke.
    pub(crate) has_reacted: bool,
    /// The tool itself says that it did the opposite: whatever is seen then, it was not taken as it was meant.
    pub(crate) is_belied: bool,
}

/// How it goes on after the first stroke.
#[derive(Debug)]
enum Plan {
    /// By the tool's hook: nothing is typed.
    Said,
    /// Stroke by stroke, as they were at the beginning.
    Listed {
        left: VecDeque<Stroke>,
        typed: String,
        /// Its Enter is a stroke of its own.
        sends_apart: bool,
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
pub(crate) struct Reaction {
    pub(crate) presence: Presence,
    /// This is the screen of the moment, and whoever was to read the first stroke waits for the next.
    pub(crate) is_awaited: bool,
    /// What was typed is to be seen where the prompt is answered.
    pub(crate) shows_typed: bool,
    /// For an input box: a text stands in it.
    pub(crate) drafted: Option<bool>,
    /// The very text that was typed still stands before the cursor.
    pub(crate) unsent: bool,
    /// What the row that is aimed at takes as the screen is now.
    pub(crate) needs: Option<Strokes>,
    pub(crate) unread: Unread,
}

/// Whether the prompt that is answered stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Presence {
    /// On the screen of this moment.
    Shown,
    /// Not to be read in this moment, and not given up.
    #[default]
    Hidden,
    /// It has left the screen.
    Gone,
    /// The tool has ended.
    Ended,
}

/// What lies in the tool's terminal, read by nobody yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Unread {
    pub(crate) bytes: u64,
    /// Somebody reads, or runs and may be about to.
    pub(crate) is_awaited: bool,
    /// How long whoever was to read it has waited for a processor so far, since it was started.
    pub(crate) queued: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Reaction again when something changes, or then.
    WaitUntil(Moment),
    Press(Stroke),
    Over(Outcome),
}

impl Injection {
    /// The first of the ticket's strokes has been written at `now`.
    pub(crate) fn begun(
        ticket: Ticket,
        waiting: Option<WaitingThread>,
        settle: Duration,
        now: Moment,
    ) -> Self {
        let Ticket { delivery, route } = ticket;
        let last_bytes = route.first().len() as u64;
        let plan = match route {
            Route::Type(strokes) => {
                let sends_apart = strokes.len() > 1;
                let mut left = VecDeque::from(strokes.into_vec());
                let first = left.pop_front().map(|stroke| stroke.bytes).unwrap_or_default();
                let typed = without_marks(&first);
                Plan::Listed { left, typed, sends_apart, echoed_at: None, insisted: false }
            }
            Route::Steer { aim, strokes } => Plan::Steered { aim, needed: strokes.len() },
            Route::Say(_) => Plan::Said,
        };
        Self {
            delivery,
            waiting,
            plan,
            last_bytes,
            is_awaited: true,
            queued_before: None,
            first_at: now,
            last_at: now,
            look_at: now,
            settle: settle.max(BEFORE_ENTER),
            has_reacted: false,
            is_belied: false,
        }
    }

    pub(crate) fn aim(&self) -> Option<&Aim> {
        match &self.plan {
            Plan::Steered { aim, .. } => Some(aim),
            Plan::Said | Plan::Listed { .. } => None,
        }
    }

    /// What must be seen before the Enter that is left.
    pub(crate) fn typed(&self) -> Option<&str> {
        match &self.plan {
            Plan::Listed { left, typed, .. } if !left.is_empty() => {
                let end = typed.char_indices().nth(PROVES_A_TEXT);
                Some(&typed[..end.map_or(typed.len(), |(end, _)| end)])
            }
            Plan::Said | Plan::Listed { .. } | Plan::Steered { .. } => None,
        }
    }

    /// The text that an Enter of its own sends, as it stands in its box.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.plan {
            Plan::Listed { typed, sends_apart: true, .. } if self.is_text() => Some(typed),
            Plan::Said | Plan::Listed { .. } | Plan::Steered { .. } => None,
        }
    }

    /// All strokes are written.
    pub(crate) fn is_whole(&self) -> bool {
        match &self.plan {
            Plan::Said => true,
            Plan::Listed { left, .. } => left.is_empty(),
            Plan::Steered { needed, .. } => *needed <= 1,
        }
    }

    pub(crate) fn next(&mut self, seen: &Reaction, now: Moment) -> Next {
        let give_up = self.gives_up_at();
        if self.lies_unread(seen) && seen.presence != Presence::Ended {
            return self.await_reading(seen, now);
        }
        // # What stays in the box was not sent
        // A screen that nothing knows any more is no proof that its text was taken while that very text stands on it.
        if matches!(seen.presence, Presence::Gone | Presence::Ended) && !seen.unsent {
            return Next::Over(self.departed(seen));
        }
        if now >= give_up {
            return Next::Over(self.given_up(seen));
        }
        match &self.plan {
            Plan::Listed { left, .. } if left.is_empty() && self.is_text() => self.insist(seen, give_up, now),
            Plan::Said | Plan::Listed { .. } | Plan::Steered { .. } => self.go_on(seen, give_up, now),
        }
    }

    /// Nothing of the last stroke was read yet. Until it is, or is taken back, nothing else is judged: the kernel's own
    /// echo sweeps a question away before anybody has read the answer. Nothing announces the reading. Who is woken by a
    /// key runs; if nobody does, twice in a row, whoever asked has gone on to something else.
    fn await_reading(&mut self, seen: &Reaction, now: Moment) -> Next {
        let queued = seen.unread.queued.saturating_sub(*self.queued_before.get_or_insert(seen.unread.queued));
        let limit = self.last_at + (READING_LIMIT + queued).min(REACTION_LIMIT);
        let was_awaited = std::mem::replace(&mut self.is_awaited, seen.unread.is_awaited);
        if now >= limit || !was_awaited && !seen.unread.is_awaited {
            return Next::Over(Outcome::NotTaken);
        }
        Next::WaitUntil((now + LOOK_FOR_READING.max((now - self.last_at) / 2)).min(limit))
    }

    /// The next stroke, once what is seen asks for it, its time has come, and whoever is to read it waits.
    fn go_on(&mut self, seen: &Reaction, give_up: Moment, now: Moment) -> Next {
        let Some((ready, stroke)) = self.following(seen, now) else { return Next::WaitUntil(give_up) };
        if now < ready {
            return Next::WaitUntil(ready.min(give_up));
        }
        if !seen.is_awaited {
            return Next::WaitUntil((now + LOOK_FOR_READING).min(give_up));
        }
        match (&mut self.plan, &seen.needs) {
            (Plan::Steered { needed, .. }, Some(needs)) => *needed = needs.len(),
            (Plan::Listed { left, .. }, _) => drop(left.pop_front()),
            (Plan::Said | Plan::Steered { .. }, _) => {}
        }
        self.press(stroke, now)
    }

    /// The stroke that follows, and how soon it may.
    ///
    /// # No-blind-Enter invariant
    /// Where a marker is led, the next key is the first of those that the row needs *now*, by the rows on the screen, and only
    /// once they are fewer than before: the last key did what it should. A marker that does not move, that moves away, or that
    /// cannot be seen is waited for, and given up. So Enter is pressed only where the marker was seen on the row. Where
    /// strokes are listed, the next one follows once what was typed is seen where the prompt is answered.
    fn following(&mut self, seen: &Reaction, now: Moment) -> Option<(Moment, Stroke)> {
        let is_text = self.is_text();
        let settled = self.last_at + self.settle;
        match &mut self.plan {
            Plan::Said => None,
            Plan::Steered { needed, .. } => {
                let needs = seen.needs.as_ref().filter(|needs| needs.len() < *needed)?;
                Some((settled, needs.iter().next()?.clone()))
            }
            Plan::Listed { left, echoed_at, .. } => {
                let stroke = left.front()?;
                let is_seen = seen.drafted.is_some() || seen.shows_typed || stroke.bytes != b"\r";
                if !self.has_reacted || seen.presence != Presence::Shown || !is_seen {
                    return None;
                }
                // A box that shows no draft though the tool has reacted may be one that is not read so.
                let echo = match seen.drafted {
                    Some(false) => self.last_at + LATE_ECHO,
                    Some(true) | None => *echoed_at.get_or_insert(now),
                };
                let echo = if is_text { echo + BEFORE_ENTER } else { echo };
                Some((settled.max(echo), stroke.clone()))
            }
        }
    }

    fn press(&mut self, stroke: Stroke, now: Moment) -> Next {
        self.last_at = now;
        self.last_bytes = stroke.bytes.len() as u64;
        self.is_awaited = true;
        self.queued_before = None;
        Next::Press(stroke)
    }

    fn gives_up_at(&self) -> Moment {
        let give_up = self.last_at + REACTION_LIMIT;
        match self.plan {
            Plan::Steered { .. } => give_up.min(self.first_at + STEERING_LIMIT),
            Plan::Said | Plan::Listed { .. } => give_up,
        }
    }

    /// The prompt has gone. That was our doing only if the tool has read what was typed, and all of it was typed.
    fn departed(&self, seen: &Reaction) -> Outcome {
        match () {
            () if self.lies_unread(seen) => Outcome::ToolGone,
            () if self.lacks_enter() => Outcome::NotTaken,
            () if self.is_belied => Outcome::Unknown,
            () => Outcome::Taken,
        }
    }

    /// # An outcome is proved
    /// A dialog that stands as it was, a text that stands in its box and keys that lie unread were not taken. A line
    /// that was read, and after which nothing changed, may have been: nobody knows.
    fn given_up(&self, seen: &Reaction) -> Outcome {
        let is_refuted = !self.is_text()
            || !self.is_whole()
            || self.delivery.via == Via::Hook
            || seen.drafted == Some(true)
            || seen.unsent;
        if is_refuted { Outcome::NotTaken } else { Outcome::Unknown }
    }

    /// Nothing of the last stroke was read.
    fn lies_unread(&self, seen: &Reaction) -> bool {
        self.last_bytes > 0 && seen.unread.bytes >= self.last_bytes
    }

    fn is_text(&self) -> bool {
        self.delivery.field == Field::Text
    }

    /// # A box that still holds the text has not sent it
    /// A busy tool swallows an Enter that follows its text too soon. While the very text still stands in the box, and
    /// nothing else was asked meanwhile, Enter is pressed once more; never into a dialog, and never twice.
    fn insist(&mut self, seen: &Reaction, give_up: Moment, now: Moment) -> Next {
        let due = self.last_at + INSIST_AFTER;
        let stands = seen.presence == Presence::Shown && seen.drafted == Some(true);
        match &mut self.plan {
            Plan::Listed { insisted: insisted @ false, .. } if stands => {
                if now < due {
                    return Next::WaitUntil(due);
                }
                *insisted = true;
                self.press(Stroke { bytes: b"\r".to_vec(), pace: Pace::IfStillThere }, now)
            }
            Plan::Said | Plan::Listed { .. } | Plan::Steered { .. } => Next::WaitUntil(give_up),
        }
    }

    /// A key of a dialog may be enough by itself; a text without its Enter never is, whatever left the screen meanwhile,
    /// and a marker that was moved has chosen nothing.
    fn lacks_enter(&self) -> bool {
        let is_led = matches!(self.plan, Plan::Steered { .. });
        (self.is_text() || is_led) && !self.is_whole()
    }

    /// Local keys wait until the reply was taken, at most this long: a dead tool must not freeze the keyboard. For a dialog
    /// they wait as long as its answer is in doubt: two answers on their way at once are nobody's decision.
    pub(crate) fn holds_keyboard_until(&self, echo_window: Duration) -> Moment {
        match self.plan {
            Plan::Steered { .. } => self.gives_up_at(),
            Plan::Said | Plan::Listed { .. } if self.is_whole() && self.is_text() => {
                self.last_at + echo_window
            }
            Plan::Said | Plan::Listed { .. } => self.first_at + REACTION_LIMIT,
        }
    }
}

/// A pasted text as it stands in its box.
pub(crate) fn without_marks(pasted: &[u8]) -> String {
    let text = String::from_utf8_lossy(pasted);
    text.replace(PASTE.0, "").replace(PASTE.1, "")
}
