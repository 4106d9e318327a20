//! The gate: sole owner of the way into the terminal. Local keys and injections meet here, one after the other.
//!
//! `Gate::claim` judges a hub's request and, if it may be typed, hands out a [`Ticket`]; `Gate::inject` or
//! `Gate::void` eats it. A ticket cannot be copied, made elsewhere, or used twice.
//!
//! # Intent-before-bytes invariant
//! The journal holds the intent durably before the first byte is written; if it cannot, nothing is written.

mod injection;
mod ledger;
mod remote_keys;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use atlasbridge_detect::{Decision, Moment};
use atlasbridge_model::{PromptId, ReplyId, Sighting, SightingNo, Strokes, TypingId};
use atlasbridge_pty::{WaitingThread, WriteHalf, WriteOutcome};
use atlasbridge_wire::journal::JournalEntry;
use atlasbridge_wire::session::TypingOutcome;
use atlasbridge_wire::twin::Outcome;

pub(crate) use injection::{Injection, Presence, Reaction, Unread, without_marks};
pub(crate) use ledger::{Facts, InjectRequest, NotNow};
pub(crate) use remote_keys::{RemoteProgress, Surroundings, keys_of};

use crate::journal::Journal;
use crate::pause;
use injection::Next;
use ledger::Ledger;
use remote_keys::{Keys, RemoteKeys};

/// Around a text, where the tool takes a pasted one as such (bracketed paste).
const PASTE: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// The right to type one reply, once.
#[must_use = "a ticket that is not injected leaves its reply unanswered"]
#[derive(Debug)]
pub(crate) struct Ticket {
    delivery: Delivery,
    route: Route,
}

/// Which reply answers which prompt, and how. The same from the ticket to what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) reply: ReplyId,
    pub(crate) prompt: PromptId,
    pub(crate) sighting: SightingNo,
    pub(crate) field: Field,
    pub(crate) via: Via,
}

/// What takes the reply. It decides what proves it, and which keys of the keyboard must wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// A dialog of a tool that takes each key at once.
    KeyDialog,
    /// A dialog of a tool that reads lines, which may be typed ahead.
    LineDialog,
    /// A line or an input box.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Hook,
    Keys,
}

impl Field {
    pub(crate) fn of(standing: Option<&Sighting>) -> Self {
        match standing.filter(|seen| seen.choices.is_some()).map(|seen| seen.entry) {
            Some(atlasbridge_model::Entry::Keys) => Field::KeyDialog,
            Some(atlasbridge_model::Entry::Line) => Field::LineDialog,
            None => Field::Text,
        }
    }
}

/// How a reply reaches the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// Stroke by stroke, as they are now.
    Type(Strokes),
    /// A marker is led to a row, each key as the rows show it then; `strokes` as they are needed now.
    Steer { aim: Aim, strokes: Strokes },
    /// Said by the tool's own hook; nothing is typed.
    Say(Decision),
}

impl Route {
    fn via(&self) -> Via {
        match self {
            Route::Type(_) | Route::Steer { .. } => Via::Keys,
            Route::Say(_) => Via::Hook,
        }
    }

    /// The bytes of the first stroke.
    fn first(&self) -> &[u8] {
        match self {
            Route::Type(strokes) | Route::Steer { strokes, .. } => {
                strokes.iter().next().map(|stroke| stroke.bytes.as_slice()).unwrap_or_default()
            }
            Route::Say(_) => &[],
        }
    }
}

/// The row that a marker is led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aim {
    pub(crate) row: usize,
    pub(crate) label: String,
}

/// How an injection that is under way goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// For something to happen, or for its time.
    Waits,
    /// A further stroke was written. `whole`: the last one.
    Pressed { whole: bool },
    /// This became of it.
    Over(Delivery, Outcome),
}

#[derive(Debug)]
pub(crate) struct Gate {
    writer: WriteHalf,
    journal: Journal,
    ledger: Ledger,
    injection: Option<Injection>,
    remote: RemoteKeys,
    /// Bytes that the terminal has not taken yet, in order. At most one keyboard read and one stroke.
    unsent: VecDeque<u8>,
    config: GateConfig,
}

#[derive(Debug, Clone, Copy)]
pub struct GateConfig {
    /// Longest time for which an injection holds the keyboard.
    pub echo_window: Duration,
    /// How long the tool gets to react to one stroke before the next.
    pub settle: Duration,
    /// The tool reports its status to whoever says that it is wanted (OSC 7501). Only for a tool that is known to
    /// ask: for any other the answer would be stray input.
    pub answers_status_query: bool,
}

impl Gate {
    pub(crate) fn new(writer: WriteHalf, journal: Journal, config: GateConfig) -> Self {
        Self {
            writer,
            journal,
            ledger: Ledger::default(),
            injection: None,
            remote: RemoteKeys::default(),
            unsent: VecDeque::new(),
            config,
        }
    }

    /// The keyboard is read only while this holds: what is not read waits in the outer terminal and is not lost. While
    /// a reply `lies_unread` in the tool's terminal nothing may be put behind it: it may have to be taken back.
    pub(crate) fn takes_keys(&self, now: Moment, lies_unread: impl FnOnce() -> bool) -> bool {
        let held = self.injection.as_ref().is_some_and(|injection| {
            now < injection.holds_keyboard_until(self.config.echo_window) || lies_unread()
        });
        !held && !self.remote.is_under_way() && self.unsent.is_empty()
    }

    /// What a person typed, or a terminal answered: passed on as it is.
    pub(crate) fn type_local(&mut self, bytes: &[u8]) {
        self.unsent.extend(bytes);
        self.flush();
    }

    /// The one query of a tool that we answer in the terminal's place: whether its status is wanted (OSC 7501).
    pub(crate) fn answer_query(&mut self, answer: &[u8]) {
        if self.config.answers_status_query {
            self.type_local(answer);
        }
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// A terminal that takes no input, or fails, shows as keys that wait and a prompt that does not react; the tool's end
    /// clears them.
    pub(crate) fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match self.writer.write(self.unsent.make_contiguous()) {
                Ok(WriteOutcome::Wrote(count)) => drop(self.unsent.drain(..count)),
                Ok(WriteOutcome::WouldBlock) | Err(_) => break,
                // The tool is gone; nobody will ever read this.
                Ok(WriteOutcome::Closed) => self.unsent.clear(),
            }
        }
    }

    /// The injection that is under way.
    pub(crate) fn injection(&self) -> Option<&Injection> {
        self.injection.as_ref()
    }

    pub(crate) fn injection_mut(&mut self) -> Option<&mut Injection> {
        self.injection.as_mut()
    }

    /// A hub has introduced itself.
    pub(crate) fn meet_hub(&mut self, epoch: u64) {
        self.ledger.meet_hub(epoch);
    }

    /// The hub that introduced itself last is the newest that was met.
    pub(crate) fn obeys_hub(&self) -> bool {
        self.ledger.obeys_hub()
    }

    /// A prompt is on the screen: get ready for its answer.
    pub(crate) fn arm(&mut self) {
        self.journal.prepare();
    }

    /// Nothing became of this reply yet.
    pub(crate) fn is_new(&self, request: &InjectRequest) -> bool {
        self.ledger.is_new(request)
    }

    /// May this be typed? At most once per reply and per prompt the answer is a ticket.
    pub(crate) fn claim(&mut self, request: &InjectRequest, facts: Facts) -> Result<Ticket, NotNow> {
        let facts = self.with_unsent(facts);
        let route = self.ledger.judge(request, &facts)?;
        let InjectRequest { reply, prompt, sighting, .. } = *request;
        let field = Field::of(facts.standing.as_ref());
        let delivery = Delivery { reply, prompt, sighting, field, via: route.via() };
        Ok(Ticket { delivery, route })
    }

    /// What speaks against typing this, as the world looks now.
    pub(crate) fn objection(
        &self,
        ticket: &Ticket,
        request: &InjectRequest,
        facts: Facts,
    ) -> Option<Outcome> {
        let facts = self.with_unsent(facts);
        ledger::objection(request, &facts).or_else(|| ledger::astray(&ticket.route, request, &facts))
    }

    /// Keys that the terminal has not taken yet are half-typed as well, and so is a line from elsewhere without its Enter.
    fn with_unsent(&self, facts: Facts) -> Facts {
        let half_typed = facts.half_typed || !self.unsent.is_empty() || self.remote.is_under_way();
        Facts { half_typed, ..facts }
    }

    /// Puts on disk that this reply is about to be typed. On failure nothing may be typed.
    pub(crate) fn intend(&mut self, ticket: &Ticket) -> io::Result<()> {
        pause::point("gate-before-intent");
        let Delivery { reply, prompt, .. } = ticket.delivery;
        let (reply_id, prompt_id) = (reply.to_string(), prompt.to_string());
        self.journal.intend(&JournalEntry::Intent { reply_id, prompt_id })?;
        pause::point("gate-after-intent");
        Ok(())
    }

    /// Something spoke against typing after all: the ticket is spent, and nothing was typed.
    pub(crate) fn void(&mut self, ticket: Ticket, outcome: Outcome) -> Outcome {
        self.ledger.settle(ticket.delivery.reply, outcome);
        outcome
    }

    /// Types the reply, whose intent is on disk, or has it said by `say`, the tool's hook. `Typed` is provisional:
    /// [`Gate::look`] says how it ended.
    pub(crate) fn inject(
        &mut self,
        ticket: Ticket,
        waiting: Option<WaitingThread>,
        say: impl FnOnce(SightingNo, &Decision) -> bool,
        now: Moment,
    ) -> Outcome {
        let reply = ticket.delivery.reply;
        let outcome = match &ticket.route {
            Route::Type(_) | Route::Steer { .. } => match self.write_first(ticket.route.first()) {
                WriteOutcome::Wrote(_) => Outcome::Typed,
                WriteOutcome::WouldBlock => Outcome::NotTaken,
                WriteOutcome::Closed => Outcome::ToolGone,
            },
            Route::Say(decision) => match say(ticket.delivery.sighting, decision) {
                true => Outcome::Typed,
                // The tool has taken its question back in this very moment.
                false => Outcome::PromptChanged,
            },
        };
        if outcome == Outcome::Typed {
            self.journal.note(&JournalEntry::Typed { reply_id: reply.to_string() });
        }
        pause::point("gate-after-write");
        self.ledger.settle(reply, outcome);
        if outcome == Outcome::Typed {
            self.injection = Some(Injection::begun(ticket, waiting, self.config.settle, now));
        }
        outcome
    }

    /// What begins a reply, or keys from elsewhere. Where the terminal's queue is full of what nobody reads, not one byte
    /// goes in; a short write is finished inside this hold, before any key of the keyboard.
    fn write_first(&mut self, first: &[u8]) -> WriteOutcome {
        let outcome = self.writer.write(first).unwrap_or(WriteOutcome::Closed);
        if let WriteOutcome::Wrote(count) = outcome {
            self.unsent.extend(&first[count..]);
        }
        outcome
    }

    /// When [`Gate::look`] or [`Gate::press_enter`] wants to be called although nothing happened.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        let look_at = self.injection.as_ref().map(|injection| injection.look_at);
        let enter_at = self.remote.pending.map(|(_, at)| at);
        [look_at, enter_at].into_iter().flatten().min()
    }

    /// The screen was looked at: go on with the strokes, or say how it ended.
    pub(crate) fn look(&mut self, reaction: &Reaction, now: Moment) -> Progress {
        let Some(injection) = self.injection.as_mut() else { return Progress::Waits };
        match injection.next(reaction, now) {
            Next::WaitUntil(moment) => {
                let keyboard = injection.holds_keyboard_until(self.config.echo_window);
                injection.look_at = if keyboard > now { moment.min(keyboard) } else { moment };
                Progress::Waits
            }
            Next::Press(stroke) => {
                let whole = injection.is_whole();
                injection.look_at = now + injection::REACTION_LIMIT;
                self.unsent.extend(&stroke.bytes);
                self.flush();
                Progress::Pressed { whole }
            }
            Next::Over(outcome) => {
                let delivery = injection.delivery;
                self.injection = None;
                self.ledger.settle(delivery.reply, outcome);
                Progress::Over(delivery, outcome)
            }
        }
    }

    /// Types what somebody sent from elsewhere, for no prompt: at most once, with the intent on disk before. `keys` is
    /// nothing where it may not be typed at all.
    pub(crate) fn type_remotely(
        &mut self,
        id: TypingId,
        keys: Option<&Keys>,
        around: Surroundings,
        now: Moment,
    ) -> RemoteProgress {
        let is_typed_at = around.is_typed_at || !self.unsent.is_empty();
        let around = Surroundings { is_injecting: self.injection.is_some(), is_typed_at, ..around };
        let keys = match self.remote.judge(id, keys, around) {
            Ok(keys) => keys,
            Err(outcome) => return RemoteProgress { is_written: false, outcome },
        };
        pause::point("gate-before-typing-intent");
        let typing_id = id.to_string();
        if self.journal.intend(&JournalEntry::TypingIntent { typing_id }).is_err() {
            return self.end_remote(id, TypingOutcome::NotRecorded);
        }
        match self.write_first(&keys.first) {
            WriteOutcome::Wrote(_) => {}
            WriteOutcome::WouldBlock => return self.end_remote(id, TypingOutcome::NotTaken),
            WriteOutcome::Closed => return self.end_remote(id, TypingOutcome::Gone),
        }
        pause::point("gate-after-typing");
        if keys.then_enter {
            self.remote.pending = Some((id, now + injection::BEFORE_ENTER));
            return RemoteProgress { is_written: true, outcome: None };
        }
        self.note_typed(id);
        RemoteProgress { is_written: true, outcome: Some(TypingOutcome::Typed) }
    }

    fn end_remote(&mut self, id: TypingId, outcome: TypingOutcome) -> RemoteProgress {
        self.remote.settle(id, outcome);
        RemoteProgress { is_written: false, outcome: Some(outcome) }
    }

    fn note_typed(&mut self, id: TypingId) {
        let typing_id = id.to_string();
        self.journal.note(&JournalEntry::TypingDone { typing_id });
        self.remote.settle(id, TypingOutcome::Typed);
    }

    /// The Enter of a text from elsewhere, in a write of its own, if it is due; returns whose it was.
    pub(crate) fn press_enter(&mut self, now: Moment) -> Option<TypingId> {
        let id = self.remote.take_due(Some(now))?;
        self.unsent.push_back(b'\r');
        // A terminal that takes nothing now takes it behind what it has not taken either.
        self.flush();
        self.note_typed(id);
        Some(id)
    }

    /// The tool has ended: an Enter that is still due has nobody to go to.
    pub(crate) fn abandon_typing(&mut self) -> Option<TypingId> {
        let id = self.remote.take_due(None)?;
        self.remote.settle(id, TypingOutcome::Gone);
        Some(id)
    }

    /// The hub has noted the session's end: nobody will ask the journal.
    pub(crate) fn close(&mut self) {
        self.journal.remove();
    }
}
