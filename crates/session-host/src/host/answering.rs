//! What the hub says: replies to type, through the gate, and what became of them.

use std::time::Duration;

use atlasbridge_detect::{Observation, Waits};
use atlasbridge_model::{PromptId, ReplyId, Sighting, SightingNo, Strokes};
use atlasbridge_pty::{PollFlags, Signal, TtyWait, WaitingThread, boot_time};
use atlasbridge_wire::session::{FromSession, Health, Inject, Report, ToSession};
use atlasbridge_wire::twin;

use super::Host;
use super::stream::Watcher;
use crate::gate::{
    Aim, Facts, Field, InjectRequest, Injection, NotNow, Presence, Progress, Reaction, Ticket, Unread, Via,
};
use crate::link::FromHub;
use crate::prompt::{KeyTarget, MOST_TRIES, PromptEffect, PromptEvent, Reply};
use crate::relay::waits;

/// Everything else is ready, the intent is on disk, and who is to read works for a moment: how long, and how often to wait.
/// So short that nothing else need go on meanwhile.
const GLANCE: Duration = Duration::from_millis(1);
const MOST_GLANCES: u32 = 40;

impl Host {
    pub(super) fn on_hub(&mut self, flags: PollFlags) {
        for heard in self.link.attend(self.now()) {
            match heard {
                FromHub::Hub { epoch } => {
                    self.gate.meet_hub(epoch);
                    self.watch = None;
                }
                // What is no id was never handed out by a hub of this protocol.
                FromHub::Message(ToSession::Inject(inject)) => {
                    if let Some(request) = read_request(&inject) {
                        self.consider(Reply { request, tries: 0 });
                    }
                }
                FromHub::Message(ToSession::HowAreYou { asked }) => {
                    let silent_for_ms =
                        self.detector.last_output().map(|last| (self.now() - last).as_millis() as u64);
                    self.link.send(&FromSession::Health(Health {
                        asked,
                        pty_alive: !self.is_over(),
                        injecting: self.gate.injection().is_some(),
                        silent_for_ms,
                        typed_ms_ago: self.keyboard.typed_ms_ago(),
                    }));
                }
                FromHub::Message(ToSession::Stop) => self.stop(Signal::TERM),
                // The link keeps its own books, and what a newer hub says besides is not for us.
                FromHub::Message(ToSession::Noted { .. } | ToSession::Unknown) => {}
                FromHub::Message(ToSession::Watch { on }) => {
                    self.watch = on.then(|| Watcher::new(self.now()))
                }
                FromHub::Message(ToSession::Screen { asked }) => self.tell_screen(asked),
                FromHub::Message(ToSession::Lines { asked, most }) => self.tell_lines(asked, most),
                FromHub::Message(ToSession::Type { typing_id, what }) => self.on_type(&typing_id, &what),
            }
        }
        if !self.link.is_up() {
            self.watch = None;
        } else if flags.contains(PollFlags::OUT) {
            self.show();
        }
    }

    /// # One answer at a time
    /// While keys of another reply are on their way nobody is said to read, and no hook is asked: the reply waits.
    pub(super) fn consider(&mut self, reply: Reply) {
        self.catch_up();
        let request = &reply.request;
        let is_other = |injection: &Injection| injection.delivery.sighting != request.sighting;
        let is_busy = self.gate.injection().is_some_and(is_other);
        let (reader, waiting) = if is_busy { (Waits::Nobody, None) } else { self.reader(reply.tries) };
        let mut facts = self.facts(request, reader);
        facts.decision = facts.decision.filter(|_| !is_busy);
        let needs_no_key = facts.decision.is_some() || !self.gate.is_new(request);
        let target = if needs_no_key { KeyTarget::NeedsNoKey } else { self.key_target(request, &facts) };
        let mut effects = self.prompts.step(PromptEvent::Reply(reply, target), self.now());
        if let Some(PromptEffect::Judge(reply)) = effects.pop() {
            self.judge(&reply.request, facts, waiting);
        }
    }

    fn judge(&mut self, request: &InjectRequest, facts: Facts, waiting: Option<WaitingThread>) {
        let is_new = self.gate.is_new(request);
        let reader = facts.reader;
        let outcome = match self.gate.claim(request, facts) {
            Ok(ticket) => self.type_reply(ticket, request, (reader, waiting)),
            Err(NotNow::Answered(outcome)) => outcome,
            Err(NotNow::FromOldHub) => return,
        };
        self.tell_outcome(request.reply, request.prompt, outcome);
        if is_new && self.is_left_open(request, outcome) {
            self.observe(Observation::Untaken);
        }
    }

    /// Its prompt has gone before anybody took its keys: without one, the gate grants nothing.
    pub(super) fn refuse(&mut self, request: &InjectRequest) {
        let facts = Facts { standing: None, ..self.facts(request, Waits::Nobody) };
        self.judge(request, facts, None);
    }

    fn key_target(&self, request: &InjectRequest, facts: &Facts) -> KeyTarget {
        let is_it = |seen: &Sighting| request.is_for(seen);
        match &facts.standing {
            Some(seen) if is_it(seen) => KeyTarget::Shown(Field::of(Some(seen)), facts.reader),
            None if self.detector.current().is_some_and(is_it) => KeyTarget::HalfDrawn,
            Some(_) | None => KeyTarget::Gone,
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
        let stands = || self.detector.current_now().is_some_and(|seen| seen.no == request.sighting);
        is_untyped && self.hooks.request_for(request.sighting).is_none() && stands()
    }

    /// Who would read what is typed now. Processes of other sessions are looked at only at the last try: there are many.
    fn reader(&self, tries: u32) -> (Waits, Option<WaitingThread>) {
        let probe = self.control.probe();
        let reader = waits(probe.wait);
        let is_elsewhere =
            reader == Waits::Nobody && tries >= MOST_TRIES && self.control.is_awaited_elsewhere();
        (if is_elsewhere { Waits::Poll } else { reader }, probe.waiting)
    }

    /// # Screen-of-the-moment invariant
    /// Between the last look at the screen and the write stands nothing that waits: the intent is on disk before. Last of
    /// all comes a look at the very thread that waited for the terminal, which must still do so. An event loop may work for
    /// a moment; then the screen is read again, too.
    fn type_reply(
        &mut self,
        ticket: Ticket,
        request: &InjectRequest,
        (reader, waiting): (Waits, Option<WaitingThread>),
    ) -> twin::Outcome {
        if self.gate.intend(&ticket).is_err() {
            return self.gate.void(ticket, twin::Outcome::NotRecorded);
        }
        let mut glances = 0;
        loop {
            self.catch_up();
            let facts = self.facts(request, reader);
            let is_said = facts.decision.is_some();
            let is_half_drawn = self.key_target(request, &facts) == KeyTarget::HalfDrawn;
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
            self.step(PromptEvent::Injected(request.sighting));
            let whole = self.gate.injection().is_none_or(Injection::is_whole);
            self.observe(Observation::Injected { whole });
        }
        outcome
    }

    pub(super) fn facts(&self, request: &InjectRequest, reader: Waits) -> Facts {
        let decision = request.value.as_ref().and_then(|value| self.hooks.decision(request.sighting, value));
        // What is said to the request's own connection needs no screen where none has shown it: a clock that runs there
        // would otherwise keep every answer out.
        let asked = || {
            let asks = |seen: &&Sighting| self.detector.still_asks(seen.no, seen.fingerprint);
            self.detector.current().filter(|_| decision.is_some()).filter(asks).cloned()
        };
        let asked_by = self.prompts.asked_by();
        Facts {
            now: boot_time().as_millis() as i64,
            standing: self.detector.current_now().or_else(asked),
            decision,
            answered_locally: self.prompts.was_answered_here(request.sighting)
                || self.detector.is_being_answered(request.sighting, self.now()),
            half_typed: self.detector.typed_since(request.sighting, self.now()),
            takes_paste: self.detector.screen().input_modes().bracketed_paste,
            other_foreground: asked_by.is_some() && self.control.foreground_group() != asked_by,
            reader,
            takes_lines: self.control.line_mode().canonical,
            tool_gone: self.is_over(),
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
        let presence = match (self.is_over(), is_current, &now_shown) {
            (true, ..) => Presence::Ended,
            (false, false, _) => Presence::Gone,
            (false, true, Some(_)) => Presence::Shown,
            (false, true, None) => Presence::Hidden,
        };
        let mut reaction = self.reaction(presence);
        reaction.shows_typed = injection.typed().is_some_and(|typed| self.detector.shows_typed(typed));
        reaction.drafted = self.detector.holds_draft();
        reaction.needs = now_shown.and_then(|seen| needs(&seen, injection.aim()?));
        // Last of all: nothing may come between this and the next key.
        reaction.is_awaited = !self.relay.has_more() && self.is_awaited(injection);
        let progress = self.gate.look(&reaction, self.now());
        self.follow(progress);
    }

    pub(super) fn follow(&mut self, progress: Progress) {
        match progress {
            Progress::Waits => {}
            Progress::Pressed { whole } => self.observe(Observation::Injected { whole }),
            Progress::Over(delivery, outcome) => {
                let lies_unread = self.control.unread_input().is_some_and(|unread| unread > 0);
                self.step(PromptEvent::Settled { delivery, outcome, lies_unread });
            }
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
                let reader = self.gate.injection().and_then(|injection| injection.waiting);
                let queued = reader.map(WaitingThread::queued).unwrap_or_default();
                Unread { bytes, is_awaited, queued }
            }
        }
    }

    /// # No answer lies in wait
    /// A program that waits for its terminal has read everything that was typed into it: nothing of an earlier answer can
    /// reach a later prompt.
    pub(super) fn reads_all(&self) -> bool {
        let is_waiting = matches!(self.control.probe().wait, TtyWait::Read | TtyWait::Poll);
        is_waiting && !self.gate.wants_to_write()
    }

    pub(super) fn tell_outcome(&mut self, reply: ReplyId, prompt: PromptId, outcome: twin::Outcome) {
        let by = self.gate.injection().filter(|_| outcome == twin::Outcome::Typed);
        let by = by.map(|injection| match injection.delivery.via {
            Via::Hook => "hook",
            Via::Keys => "keys",
        });
        self.events.injected(&reply.to_string(), &serde_json::json!(outcome), by, self.now());
        let (reply_id, prompt_id) = (reply.to_string(), prompt.to_string());
        self.link.report(Report::Outcome { reply_id, prompt_id, outcome });
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
        value: inject.value.clone().map(|value| value.0),
    })
}

/// What the row takes as this reading has it.
fn needs(seen: &Sighting, aim: &Aim) -> Option<Strokes> {
    let row = seen.choices.as_ref()?.get(aim.row)?;
    row.strokes.clone().filter(|_| row.label == aim.label)
}
