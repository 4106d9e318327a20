//! What the hub says: replies to type, through the gate, and what became of them.

use atlasbridge_detect::{Moment, Observation};
use atlasbridge_model::{ReplyId, Sighting, SightingNo, Strokes};
use atlasbridge_pty::{PollFlags, Signal, TtyWait, WaitingThread, boot_time};
use atlasbridge_wire::session::{FromSession, Health, Inject, Report, ToSession};
use atlasbridge_wire::twin;

use super::stream::Watch;
use super::{Early, FIRST_TRY_AGAIN, GLANCE, Host, MOST_GLANCES, MOST_TRIES, Phase};
use crate::gate::{
    Aim, Claim, Facts, Field, InjectRequest, Injection, Presence, Progress, Reaction, Settled, Ticket,
    TtyReader, Unread, Via,
};
use crate::link::FromHub;

impl Host {
    pub(super) fn on_hub(&mut self, flags: PollFlags) {
        for heard in self.link.attend(self.now()) {
            match heard {
                FromHub::Hub { epoch } => {
                    self.gate.meet_hub(epoch);
                    self.watch = Watch::Nobody;
                }
                FromHub::Message(ToSession::Inject(inject)) => self.on_inject(&inject),
                FromHub::Message(ToSession::HowAreYou { asked }) => {
                    let silent_for_ms =
                        self.detector.last_output().map(|last| (self.now() - last).as_millis() as u64);
                    self.link.send(&FromSession::Health(Health {
                        asked,
                        pty_alive: matches!(self.phase, Phase::Running | Phase::Ending { .. }),
                        injecting: self.gate.injection().is_some(),
                        silent_for_ms,
                        typed_ms_ago: self.typed_ms_ago(),
                    }));
                }
                FromHub::Message(ToSession::Stop) => self.stop(Signal::Term),
                // The link keeps its own books, and what a newer hub says besides is not for us.
                FromHub::Message(ToSession::Noted { .. } | ToSession::Unknown) => {}
                FromHub::Message(ToSession::Watch { on }) => self.on_watch(on),
                FromHub::Message(ToSession::Screen { asked }) => self.tell_screen(asked),
                FromHub::Message(ToSession::Lines { asked, most }) => self.tell_lines(asked, most),
                FromHub::Message(ToSession::Type { typing_id, what }) => self.on_type(&typing_id, &what),
            }
        }
        if !self.link.is_up() {
            self.watch = Watch::Nobody;
        } else if flags.contains(PollFlags::OUT) {
            self.show();
        }
    }

    pub(super) fn on_inject(&mut self, inject: &Inject) {
        self.consider(inject, 0);
    }

    /// `tries`: how often nobody was found to read the terminal.
    pub(super) fn consider(&mut self, inject: &Inject, tries: u32) {
        // What is no id was never handed out by a hub of this protocol.
        let Some(request) = read_request(inject) else {
            return;
        };
        self.catch_up();
        let (reader, waiting) = self.reader(tries);
        let facts = self.facts(&request, reader);
        if let Some(due) = self.takes_keys_at(&request, &facts, tries) {
            let is_looked_for = reader == TtyReader::Nobody || facts.standing.is_none();
            self.early = Some(Early { inject: inject.clone(), due, tries: tries + u32::from(is_looked_for) });
            return;
        }
        let is_new = self.gate.is_new(&request);
        let outcome = match self.gate.claim(&request, facts) {
            Claim::Granted(ticket) => self.type_reply(ticket, &request, (reader, waiting)),
            Claim::Answered(outcome) => outcome,
            Claim::FromOldHub => return,
        };
        self.tell_outcome(request.reply, &inject.prompt_id, outcome);
        if is_new && self.is_left_open(&request, outcome) {
            self.observe(Observation::Untaken);
        }
    }

    /// # What stands is offered
    /// Nothing was typed for this reply, which is over now, and its question still stands: it is asked again as another
    /// prompt. Where somebody types at the terminal it is theirs, and a hook that was asked waits for its own end.
    fn is_left_open(&self, request: &InjectRequest, outcome: twin::Outcome) -> bool {
        let is_untyped = match outcome {
            twin::Outcome::NotReading | twin::Outcome::TooLate | twin::Outcome::PromptChanged => true,
            twin::Outcome::Typed
            | twin::Outcome::Taken
            | twin::Outcome::AnsweredLocally
            | twin::Outcome::TypingLocally
            | twin::Outcome::NotTaken
            | twin::Outcome::ToolGone
            | twin::Outcome::NotRecorded
            | twin::Outcome::Unknown => false,
        };
        let stands = || {
            let seen = self.detector.current_now();
            seen.is_some_and(|seen| seen.no == request.sighting)
        };
        is_untyped && self.hooks.request_for(request.sighting).is_none() && stands()
    }

    /// A dialog that was just drawn ignores keys for a moment, an event loop that works for a moment reads none, and a
    /// dialog that is being drawn anew is half there. The reply waits for that, and everything about it is judged then; a
    /// hook takes its decision at once.
    fn takes_keys_at(&self, request: &InjectRequest, facts: &Facts, tries: u32) -> Option<Moment> {
        if facts.decision.is_some() || !self.gate.is_new(request) {
            return None;
        }
        let again = (tries < MOST_TRIES).then(|| self.now() + FIRST_TRY_AGAIN * (1 << tries));
        let Some(standing) = &facts.standing else {
            return again.filter(|_| self.has_not_gone(request));
        };
        let listens_at = self.seen_at + self.keys_after;
        match facts.reader {
            _ if standing.choices.is_some() && self.now() < listens_at => Some(listens_at),
            TtyReader::Nobody => again,
            TtyReader::Reads | TtyReader::Listens | TtyReader::Unknown => None,
        }
    }

    /// The request's prompt is not on the screen of this moment, but the detector has not given it up: it is drawn anew, or
    /// about to be seen to go.
    fn has_not_gone(&self, request: &InjectRequest) -> bool {
        let current = self.detector.current();
        current.is_some_and(|seen| seen.no == request.sighting && seen.fingerprint == request.fingerprint)
    }

    /// Who would read what is typed now. Processes of other sessions are looked at only at the last try: there are many.
    fn reader(&self, tries: u32) -> (TtyReader, Option<WaitingThread>) {
        let probe = self.control.probe();
        let reader = match probe.wait {
            TtyWait::Read => TtyReader::Reads,
            TtyWait::Poll => TtyReader::Listens,
            TtyWait::Unknown => TtyReader::Unknown,
            TtyWait::None if tries >= MOST_TRIES && self.control.is_awaited_elsewhere() => TtyReader::Listens,
            TtyWait::None => TtyReader::Nobody,
        };
        (reader, probe.waiting)
    }

    /// # Screen-of-the-moment invariant
    /// Between the last look at the screen and the write stands nothing that waits: the intent is on disk before. Last of
    /// all comes a look at the very thread that waited for the terminal, which must still do so. An event loop may work for
    /// a moment; then the screen is read again, too.
    fn type_reply(
        &mut self,
        ticket: Ticket,
        request: &InjectRequest,
        (reader, waiting): (TtyReader, Option<WaitingThread>),
    ) -> twin::Outcome {
        if self.gate.intend(&ticket).is_err() {
            return self.gate.void(ticket, twin::Outcome::NotRecorded);
        }
        let mut glances = 0;
        loop {
            self.catch_up();
            let facts = self.facts(request, reader);
            let is_said = facts.decision.is_some();
            let is_half_drawn = facts.standing.is_none() && self.has_not_gone(request);
            let objection = self.gate.objection(&ticket, request, facts);
            self.note_deed(request);
            let is_awaited = || is_said || waiting.is_none_or(|thread| self.control.still_waits(thread));
            match objection {
                Some(objection) if glances == MOST_GLANCES || !is_half_drawn => {
                    return self.gate.void(ticket, objection);
                }
                None if is_awaited() => break,
                None if glances == MOST_GLANCES => {
                    return self.gate.void(ticket, twin::Outcome::NotReading);
                }
                Some(_) | None => {}
            }
            glances += 1;
            std::thread::sleep(GLANCE);
        }
        let now = self.now();
        let Self { gate, hooks, .. } = self;
        let outcome = gate.inject(ticket, waiting, |no, decision| hooks.decide(no, decision), now);
        if outcome == twin::Outcome::Typed {
            let whole = self.gate.injection().is_none_or(Injection::is_whole);
            self.observe(Observation::Injected { whole });
        }
        outcome
    }

    pub(super) fn facts(&self, request: &InjectRequest, reader: TtyReader) -> Facts {
        let decision = request.value.as_ref().and_then(|value| self.hooks.decision(request.sighting, value));
        // What is said to the request's own connection needs no screen where none has shown it: a clock that runs there
        // would otherwise keep every answer out.
        let asked = || {
            let asks = |seen: &&Sighting| self.detector.still_asks(seen.no, seen.fingerprint);
            self.detector.current().filter(|_| decision.is_some()).filter(asks).cloned()
        };
        Facts {
            now: boot_time().as_millis() as i64,
            standing: self.detector.current_now().or_else(asked),
            decision,
            answered_locally: self.answered_locally.contains(&request.sighting)
                || self.detector.is_being_answered(request.sighting, self.now()),
            half_typed: self.detector.typed_since(request.sighting, self.now()),
            takes_paste: self.detector.screen().input_modes().bracketed_paste,
            other_foreground: self.asked_by.is_some() && self.control.foreground_group() != self.asked_by,
            reader,
            takes_lines: self.control.line_mode().canonical,
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
        self.judge_deed();
        let Some(injection) = self.gate.injection() else { return };
        let no = injection.delivery.sighting;
        let is_current = self.detector.current().is_some_and(|seen| seen.no == no);
        let now_shown = self.detector.current_now().filter(|seen| seen.no == no);
        let presence = match self.phase {
            Phase::LastWords { .. } | Phase::LastNotes { .. } => Presence::Ended,
            Phase::Running | Phase::Ending { .. } if !is_current => Presence::Gone,
            Phase::Running | Phase::Ending { .. } if now_shown.is_some() => Presence::Shown,
            Phase::Running | Phase::Ending { .. } => Presence::Hidden,
        };
        let reaction = Reaction {
            shows_typed: injection.typed().is_some_and(|typed| self.detector.shows_typed(typed)),
            drafted: self.detector.holds_draft(),
            needs: now_shown.and_then(|seen| needs(&seen, injection.aim()?)),
            // Last of all: nothing may come between this and the next key.
            is_awaited: !self.relay.has_more() && self.is_awaited(injection),
            ..self.reaction(presence)
        };
        match self.gate.look(&reaction, self.now()) {
            Progress::Waits => {}
            Progress::Pressed { whole } => self.observe(Observation::Injected { whole }),
            Progress::Over(settled) => self.settle(&settled),
        }
    }

    /// What is seen of a prompt that stands there, or that has gone.
    pub(super) fn reaction(&self, presence: Presence) -> Reaction {
        let text = self.gate.injection().and_then(Injection::text);
        Reaction {
            presence,
            unread: self.unread(),
            unsent: presence != Presence::Ended && text.is_some_and(|text| self.detector.holds_text(text)),
            ..Reaction::default()
        }
    }

    /// Whoever was to read the first stroke, or another in front of the terminal, waits for the next.
    fn is_awaited(&self, injection: &Injection) -> bool {
        let waits = |thread| self.control.still_waits(thread);
        injection.waiting.is_none_or(waits) || self.control.probe().wait != TtyWait::None
    }

    /// What lies in the tool's terminal.
    pub(super) fn unread(&self) -> Unread {
        match self.control.unread_input().unwrap_or(0) {
            0 => Unread::default(),
            bytes => {
                let probe = self.control.probe();
                let is_awaited = probe.wait != TtyWait::None || probe.is_running;
                Unread { bytes, is_awaited }
            }
        }
    }

    /// # Nothing-lies-in-wait invariant
    /// What was typed and not read when its prompt is over would answer the next question, which nobody was shown: it is
    /// taken back. The keyboard was held meanwhile, so nothing of a person's is lost.
    pub(super) fn settle(&mut self, settled: &Settled) {
        // Of a line that was begun, the kernel does not say that it is there.
        let Settled { delivery, outcome } = *settled;
        let is_left = outcome == twin::Outcome::NotTaken
            || self.control.unread_input().is_some_and(|unread| unread > 0);
        if delivery.via == Via::Keys && is_left && self.control.discard_input().is_err() {
            self.link.notice(
                "keys of an answer that came too late could not be taken back; look at what the tool asks next",
            );
        }
        // Lines are typed ahead, and wait; a key that acts at once is not.
        if delivery.field == Field::KeyDialog && outcome == twin::Outcome::Taken {
            self.drop_late_keys();
        }
        self.tell_outcome(delivery.reply, &delivery.prompt.to_string(), outcome);
        // A prompt that took no notice of a key may be answered again. What was said by a hook is on its way until the tool
        // ends it, however long that takes: a second answer could meet the first.
        if delivery.via == Via::Keys && outcome == twin::Outcome::NotTaken && self.reads_all() {
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
            let by = self.gate.injection().filter(|_| outcome == twin::Outcome::Typed);
            let by = by.map(|injection| match injection.delivery.via {
                Via::Hook => "hook",
                Via::Keys => "keys",
            });
            events.injected(&reply.to_string(), &serde_json::json!(outcome), by, now);
        }
        let prompt_id = prompt_id.to_owned();
        self.link.report(Report::Outcome { reply_id: reply.to_string(), prompt_id, outcome });
    }
}

fn read_request(inject: &Inject) -> Option<InjectRequest> {
    Some(InjectRequest {
        reply: inject.reply_id.parse().ok()?,
        prompt: inject.prompt_id.parse().ok()?,
        sighting: SightingNo(inject.sighting),
        fingerprint: inject.fingerprint.parse().ok()?,
        epoch: inject.epoch,
        deadline: inject.deadline,
        by_silence: inject.by_silence,
        value: inject.value.clone().map(Into::into),
    })
}

/// What the row takes as this reading has it.
fn needs(seen: &Sighting, aim: &Aim) -> Option<Strokes> {
    let row = seen.choices.as_ref()?.get(aim.row)?;
    row.strokes.clone().filter(|_| row.label == aim.label)
}
