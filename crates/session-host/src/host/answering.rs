//! What the hub says: replies to type, through the gate, and what became of them.

use atlasbridge_detect::Observation;
use atlasbridge_model::{ReplyId, Sighting, SightingNo};
use atlasbridge_pty::{PollFlags, Signal, TtyWait, boot_time};
use atlasbridge_wire::session::{FromSession, Health, Inject, Report, ToSession};
use atlasbridge_wire::twin;

use super::showing::Watch;
use super::{Host, Phase};
use crate::gate::{Claim, Facts, Look, Progress, Request, Settled, Ticket};
use crate::link::Heard;

impl Host {
    pub(super) fn on_hub(&mut self, flags: PollFlags) {
        for heard in self.link.attend(self.now()) {
            match heard {
                Heard::Hub { epoch } => {
                    self.obeys_hub = self.gate.meet_hub(epoch);
                    self.watch = Watch::Nobody;
                }
                Heard::Message(ToSession::Inject(inject)) => self.on_inject(&inject),
                Heard::Message(ToSession::HowAreYou { asked }) => {
                    let silent_for_ms = self
                        .detector
                        .last_output()
                        .map(|last| (self.now() - last).as_millis() as u64);
                    self.link.send(&FromSession::Health(Health {
                        asked,
                        pty_alive: matches!(self.phase, Phase::Running | Phase::Ending { .. }),
                        injecting: self.gate.is_injecting(),
                        silent_for_ms,
                        typed_ms_ago: self.typed_ms_ago(),
                    }));
                }
                Heard::Message(ToSession::Stop) => self.stop(Signal::Term),
                // The link keeps its own books, and what a newer hub says besides is not for us.
                Heard::Message(ToSession::Noted { .. } | ToSession::Unknown) => {}
                Heard::Message(ToSession::Watch { on }) => self.on_watch(on),
                Heard::Message(ToSession::Screen { asked }) => self.tell_screen(asked),
                Heard::Message(ToSession::Lines { asked, most }) => self.tell_lines(asked, most),
                Heard::Message(ToSession::Type { typing_id, what }) => self.on_type(&typing_id, &what),
            }
        }
        if !self.link.is_up() {
            self.watch = Watch::Nobody;
        } else if flags.contains(PollFlags::OUT) {
            self.show();
        }
    }

    pub(super) fn on_inject(&mut self, inject: &Inject) {
        // What is no id was never handed out by a hub of this protocol.
        let Some(request) = read_request(inject) else {
            return;
        };
        self.catch_up();
        let facts = self.facts(&request);
        if self.is_too_early(&request, &facts) {
            self.early = Some((inject.clone(), self.seen_at + self.keys_after));
            return;
        }
        let outcome = match self.gate.claim(&request, facts) {
            Claim::Granted(ticket) => self.type_reply(ticket, &request),
            Claim::Answered(outcome) => outcome,
            Claim::FromOldHub => return,
        };
        self.tell_outcome(request.reply, &inject.prompt_id, outcome);
    }

    /// A dialog that was just drawn ignores keys for a moment. The reply waits for that, and everything about it is judged
    /// then; a hook takes its decision at once.
    fn is_too_early(&self, request: &Request, facts: &Facts) -> bool {
        let is_dialog = facts.standing.as_ref().is_some_and(|seen| seen.choices.is_some());
        is_dialog
            && facts.decision.is_none()
            && self.gate.is_new(request)
            && self.now() < self.seen_at + self.keys_after
    }

    /// # Screen-of-the-moment invariant
    /// Between the last look at the screen and the write stands nothing that waits: the intent is on disk before.
    pub(super) fn type_reply(&mut self, ticket: Ticket, request: &Request) -> twin::Outcome {
        if self.gate.intend(&ticket).is_err() {
            return self.gate.void(ticket, twin::Outcome::NotRecorded);
        }
        self.catch_up();
        if let Some(objection) = self.gate.objection(request, self.facts(request)) {
            return self.gate.void(ticket, objection);
        }
        self.reacted = false;
        let now = self.now();
        let Self { gate, hooks, .. } = self;
        let outcome = gate.inject(ticket, |no, decision| hooks.decide(no, decision), now);
        if outcome == twin::Outcome::Typed {
            let whole = self.gate.is_whole();
            self.observe(Observation::Injected { whole });
        }
        outcome
    }

    pub(super) fn facts(&self, request: &Request) -> Facts {
        let stands = |seen: &&Sighting| self.detector.still_shows(seen.no, seen.fingerprint);
        Facts {
            now: boot_time().as_millis() as i64,
            standing: self.detector.current().filter(stands).cloned(),
            answered_locally: self.answered_locally.contains(&request.sighting)
                || self.detector.is_being_answered(request.sighting, self.now()),
            half_typed: self.detector.typed_since(request.sighting, self.now()),
            decision: request
                .value
                .as_ref()
                .and_then(|value| self.hooks.decision(request.sighting, value)),
            takes_paste: self.detector.screen().input_modes().bracketed_paste,
            other_foreground: self.asked_by.is_some() && self.control.foreground_group() != self.asked_by,
            tool_gone: !matches!(self.phase, Phase::Running | Phase::Ending { .. }),
        }
    }

    /// Reads what the tool has written so far, at most one buffer: the gate judges the screen of this moment.
    pub(super) fn catch_up(&mut self) {
        if self.relay.wants_to_read() {
            self.on_tool(PollFlags::IN);
        }
    }

    pub(super) fn look(&mut self) {
        let Some(no) = self.gate.injecting() else { return };
        let current = self.detector.current().filter(|seen| seen.no == no);
        let still_shown = current.is_some_and(|seen| self.detector.still_shows(seen.no, seen.fingerprint));
        let is_over = matches!(self.phase, Phase::LastWords { .. } | Phase::LastNotes { .. });
        let look = Look {
            gone: current.is_none() || is_over,
            reacted: self.reacted,
            still_shown,
            drafted: self.detector.holds_draft(),
            unsent: !is_over && self.holds_unsent(),
        };
        match self.gate.look(look, self.now()) {
            Progress::Waits => {}
            Progress::Pressed { whole } => self.observe(Observation::Injected { whole }),
            Progress::Over(settled) => self.settle(&settled),
        }
    }

    /// The text that was typed last still stands where it was typed.
    pub(super) fn holds_unsent(&self) -> bool {
        let text = self.gate.text_under_way();
        text.is_some_and(|text| self.detector.holds_text(text))
    }

    pub(super) fn settle(&mut self, settled: &Settled) {
        // Lines are typed ahead, and wait; a key that acts at once is not.
        if settled.is_dialog && settled.by_key && settled.outcome == twin::Outcome::Taken {
            self.drop_late_keys();
        }
        self.tell_outcome(settled.reply, &settled.prompt.to_string(), settled.outcome);
        if settled.leaves_dialog_open() && self.reads_all() {
            self.observe(Observation::Untaken);
        }
    }

    /// # No answer lies in wait
    /// A program that waits for its terminal has read everything that was typed into it: nothing of an earlier answer can
    /// reach a later prompt.
    fn reads_all(&self) -> bool {
        let is_waiting = matches!(self.control.probe().wait, TtyWait::Read | TtyWait::Poll);
        is_waiting && !self.gate.wants_to_write()
    }

    pub(super) fn tell_outcome(&mut self, reply: ReplyId, prompt_id: &str, outcome: twin::Outcome) {
        let now = self.now();
        if let Some(events) = &mut self.events {
            let by = self.gate.route().filter(|_| outcome == twin::Outcome::Typed);
            events.injected(&reply.to_string(), &serde_json::json!(outcome), by, now);
        }
        let prompt_id = prompt_id.to_owned();
        self.link.report(Report::Outcome {
            reply_id: reply.to_string(),
            prompt_id,
            outcome,
        });
    }
}

fn read_request(inject: &Inject) -> Option<Request> {
    Some(Request {
        reply: inject.reply_id.parse().ok()?,
        prompt: inject.prompt_id.parse().ok()?,
        sighting: SightingNo(inject.sighting),
        fingerprint: inject.fingerprint.parse().ok()?,
        epoch: inject.epoch,
        deadline: inject.deadline,
        value: inject.value.clone().map(Into::into),
    })
}
