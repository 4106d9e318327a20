//! What the detector says: prompts that come and go, and questions for the kernel.

use atlasbridge_detect::{Departure, Drift, Event, KernelWait, Observation, Waits};
use atlasbridge_model::{Kind, Sighting, SightingNo, lifecycle};
use atlasbridge_pty::TtyWait;
use atlasbridge_wire::session::Report;

use super::{Host, MOST_LEFT_OPEN};
use crate::gate::{Presence, Progress};
use crate::pause;

impl Host {
    pub(super) fn observe(&mut self, observation: Observation<'_>) {
        let events = self.detector.observe(observation, self.now());
        self.on_events(events);
    }

    pub(super) fn on_events(&mut self, mut events: Vec<Event>) {
        while !events.is_empty() {
            let mut more = Vec::new();
            for event in events {
                match event {
                    Event::AskKernel => {
                        let Some(kernel) = self.ask_kernel() else { continue };
                        if let Some(captures) = &mut self.captures {
                            captures.kernel = kernel;
                        }
                        more.extend(self.detector.observe(Observation::Kernel(kernel), self.now()));
                    }
                    // A terminal that takes nothing now would have lost a reply of the outer one as well.
                    Event::AnswerStatusQuery(answer) => drop(self.gate.answer_query(&answer)),
                    Event::Drift { no, how } => self.on_drift(no, how),
                    Event::Seen(sighting) => self.on_sighting(sighting),
                    Event::Gone { no, how } => self.on_gone(no, how),
                }
            }
            events = more;
        }
        self.look();
    }

    /// # The kernel's word is about the screen that was read
    /// A tool that blocks in a read has written its question before. If that still waits to be read here, the kernel
    /// speaks of a question that is not on our screen yet: taken together with the old screen it would make a prompt
    /// of what was just answered. So then the question is left open; the output brings the next look.
    pub(super) fn ask_kernel(&mut self) -> Option<KernelWait> {
        pause::point("host-ask-kernel");
        let probe = self.control.probe();
        let is_ahead = self.relay.has_more();
        if is_ahead && self.left_open < MOST_LEFT_OPEN {
            self.left_open += 1;
            return None;
        }
        self.left_open = 0;
        Some(KernelWait {
            wait: match probe.wait {
                // A flood: whatever it waits for, it is not on the screen.
                _ if is_ahead => Waits::Unknown,
                TtyWait::Read => Waits::Read,
                TtyWait::Poll => Waits::Poll,
                TtyWait::None => Waits::Nobody,
                TtyWait::Unknown => Waits::Unknown,
            },
            canonical: probe.canonical,
            // Where we switched the echo off, its absence says nothing about a secret.
            echo: probe.echo || !self.keyboard.is_shown,
        })
    }

    pub(super) fn on_seen(&mut self, sighting: &Sighting) {
        self.asked_by = self.control.foreground_group();
        self.seen_at = self.now();
        self.sent_locally = false;
        if sighting.kind != Kind::Idle {
            self.deed = None;
        }
        self.gate.arm();
        let now = self.now();
        if let Some(events) = &mut self.events {
            events.seen(sighting, now);
        }
        if let Some(captures) = &mut self.captures {
            captures.seen(sighting, self.detector.screen(), now);
        }
        self.link.report(Report::Sighted { sighting: sighting.into(), typed_ms_ago: self.typed_ms_ago() });
    }

    /// What the tool says of itself and what its screen shows disagree: for whoever improves the detector.
    fn on_drift(&mut self, no: SightingNo, how: Drift) {
        let now = self.now();
        if let Some(events) = &mut self.events {
            events.drift(no, how.as_str(), now);
        }
        match &mut self.captures {
            Some(captures) => captures.drift = Some((no, how)),
            None => self.link.notice(match how {
                Drift::Unrecognised => {
                    "the tool said that it waits, and its dialog was not recognised; \
                     ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps the screen of such a moment"
                }
                Drift::Unannounced => {
                    "a dialog was seen while the tool said that it works; \
                     ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps the screen of such a moment"
                }
            }),
        }
    }

    pub(super) fn on_gone(&mut self, no: SightingNo, how: Departure) {
        let now = self.now();
        if self.unjoined.take_if(|(sighting, _)| sighting.no == no).is_some() {
            // Nobody was told of it.
            return;
        }
        let was_ours = self.gate.injection().is_some_and(|injection| injection.delivery.sighting == no);
        let has_changed = match how {
            Departure::Unprompted { .. } if !was_ours => self.hooks.dialog_lost(no),
            Departure::Unprompted { .. } | Departure::LocalInput | Departure::Injected | Departure::Ended => {
                self.hooks.dialog_gone(no)
            }
        };
        if has_changed || was_ours {
            self.tell_what_waits();
        }
        if was_ours {
            self.judge_deed();
        }
        let presence = if how == Departure::Ended { Presence::Ended } else { Presence::Gone };
        if was_ours && let Progress::Over(settled) = self.gate.look(&self.reaction(presence), now) {
            self.settle(&settled);
        }
        let how = match how {
            Departure::Injected => None,
            Departure::LocalInput => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Unprompted { echoed: true } => Some(lifecycle::Departure::OutOfBand),
            Departure::Unprompted { echoed: false } => Some(lifecycle::Departure::Withdrawn),
            // Its answer was its end: there was no time to see the prompt go.
            Departure::Ended if self.sent_locally => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Ended => Some(lifecycle::Departure::ToolEnded),
        };
        if how == Some(lifecycle::Departure::AnsweredLocally) {
            self.answered_locally.push(no);
            if self.answered_locally.len() > 64 {
                self.answered_locally.remove(0);
            }
        }
        if let Some(events) = &mut self.events {
            let word = match how {
                None => "injected",
                Some(lifecycle::Departure::AnsweredLocally) => "answered_locally",
                Some(lifecycle::Departure::OutOfBand) => "out_of_band",
                Some(lifecycle::Departure::Withdrawn) => "withdrawn",
                Some(lifecycle::Departure::ToolEnded) => "tool_ended",
            };
            events.gone(no, word, now);
        }
        if let Some(how) = how.filter(|_| !was_ours) {
            self.link.report(Report::Left { sighting: no.0, how: how.into() });
        }
    }
}
