//! What the detector says: prompts that come and go, and questions for the kernel.

use atlasbridge_detect::{DetectorEvent, Drift, KernelWait, Observation};
use atlasbridge_model::{Kind, Sighting, SightingNo, lifecycle};
use atlasbridge_wire::session::Report;

use super::Host;
use crate::pause;
use crate::prompt::{PromptEffect, PromptEvent, RequestFate};

impl Host {
    pub(super) fn observe(&mut self, observation: Observation<'_>) {
        let events = self.detector.observe(observation, self.now());
        self.on_events(events);
    }

    pub(super) fn on_events(&mut self, mut events: Vec<DetectorEvent>) {
        while !events.is_empty() {
            let mut more = Vec::new();
            for event in events {
                match event {
                    DetectorEvent::AskKernel => {
                        let Some(kernel) = self.ask_kernel() else { continue };
                        self.captures.kernel = kernel;
                        more.extend(self.detector.observe(Observation::Kernel(kernel), self.now()));
                    }
                    // A terminal that takes nothing now would have lost a reply of the outer one as well.
                    DetectorEvent::AnswerStatusQuery(answer) => self.gate.answer_query(&answer),
                    DetectorEvent::Drift { no, how } => self.on_drift(no, how),
                    DetectorEvent::Seen(sighting) => {
                        let by = self.control.foreground_group();
                        let awaits_request = self.hooks.awaits_request(&sighting);
                        self.step(PromptEvent::Seen { sighting: sighting.into(), by, awaits_request });
                    }
                    DetectorEvent::Gone { no, how } => self.step(PromptEvent::Gone(no, how)),
                }
            }
            events = more;
        }
        self.look();
    }

    /// Without a word the question is left open; the output brings the next look.
    pub(super) fn ask_kernel(&mut self) -> Option<KernelWait> {
        pause::point("host-ask-kernel");
        let kernel = self.relay.ask_kernel(&self.control)?;
        // Where we switched the echo off, its absence says nothing about a secret.
        Some(KernelWait { echo: kernel.echo || !self.keyboard.is_shown, ..kernel })
    }

    pub(super) fn step(&mut self, event: PromptEvent) {
        for effect in self.prompts.step(event, self.now()) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: PromptEffect) {
        match effect {
            PromptEffect::NoteUnasked => self.hooks.note_unasked(),
            PromptEffect::Announce(sighting) => self.announce(*sighting),
            PromptEffect::Consider(reply) | PromptEffect::Judge(reply) => self.consider(reply),
            PromptEffect::Refuse(reply) => self.refuse(&reply.request),
            PromptEffect::EndRequest(no, fate) => self.end_request(no, fate),
            PromptEffect::LookLast(presence) => {
                self.judge_deed();
                let progress = self.gate.look(&self.reaction(presence), self.now());
                self.follow(progress);
            }
            PromptEffect::NoteGone(no, how) => {
                let word = how.map_or("injected", |how| match how {
                    lifecycle::Departure::AnsweredLocally => "answered_locally",
                    lifecycle::Departure::OutOfBand => "out_of_band",
                    lifecycle::Departure::Withdrawn => "withdrawn",
                    lifecycle::Departure::ToolEnded => "tool_ended",
                });
                self.events.happened("gone", no, word, self.now());
            }
            PromptEffect::ReportLeft(no, how) => {
                self.link.report(Report::Left { sighting: no.0, how });
            }
            PromptEffect::TakeBackKeys if self.control.discard_input().is_err() => self.link.notice(
                "keys of an answer that came too late could not be taken back; look at what the tool asks next",
            ),
            PromptEffect::TakeBackKeys => {}
            PromptEffect::DropLateKeys => self.drop_late_keys(),
            PromptEffect::TellOutcome(delivery, outcome) => {
                self.tell_outcome(delivery.reply, delivery.prompt, outcome);
            }
            PromptEffect::OfferAgain if self.reads_all() => self.observe(Observation::Untaken),
            PromptEffect::OfferAgain => {}
        }
    }

    fn announce(&mut self, mut sighting: Sighting) {
        self.join_word(&mut sighting);
        if sighting.kind != Kind::Idle {
            self.deed = None;
        }
        self.gate.arm();
        let now = self.now();
        self.events.seen(&sighting, now);
        self.captures.seen(&sighting, self.detector.screen(), now);
        let typed_ms_ago = self.keyboard.typed_ms_ago();
        self.link.report(Report::Sighted { sighting: (&sighting).into(), typed_ms_ago });
    }

    /// The dialog of a request has gone: the detector hears of the next one, or that there is none.
    fn end_request(&mut self, no: SightingNo, fate: RequestFate) {
        let has_changed = match fate {
            RequestFate::WaitsOn => self.hooks.dialog_lost(no),
            RequestFate::Over | RequestFate::Answered => self.hooks.dialog_gone(no),
        };
        if has_changed || fate == RequestFate::Answered {
            self.tell_what_waits();
        }
    }

    /// What the tool says of itself and what its screen shows disagree: for whoever improves the detector.
    fn on_drift(&mut self, no: SightingNo, how: Drift) {
        self.events.happened("drift", no, how.as_str(), self.now());
        self.captures.drift = Some((no, how));
        if !self.captures.is_on() {
            let what = match how {
                Drift::Unrecognised => "the tool said that it waits, and its dialog was not recognised",
                Drift::Unannounced => "a dialog was seen while the tool said that it works",
            };
            let keeps = "ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps the screen of such a moment";
            self.link.notice(&format!("{what}; {keeps}"));
        }
    }
}
