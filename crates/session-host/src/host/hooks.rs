//! What the tool tells through its hooks, beside what its screen shows.

use std::time::Duration;

use atlasbridge_detect::{HookEvent, Moment, Observation, Told, holds_keys};
use atlasbridge_model::{Kind, Sighting};
use atlasbridge_pty::ReadOutcome;

use super::{Host, KEYS};
use crate::hooks::{FromHook, Pairing, RequestId};

/// How long a dialog waits for its request before it is told without. A hook of Claude Code takes 20 ms to start, and a few
/// hundred on a busy machine.
const REQUEST_COMES: Duration = Duration::from_millis(600);

/// Nobody sees that a dialog is gone, and stops a finger on its way, sooner than this.
const UNSEEN: Duration = Duration::from_millis(300);

impl Host {
    pub(super) fn on_hooks(&mut self) {
        for heard in self.hooks.attend(self.child.leader_pid()) {
            match heard {
                FromHook::Asked(id) => self.on_asked(id),
                FromHook::Withdrawn => self.tell_what_waits(),
                FromHook::Event(event) => self.on_hook_event(&event),
            }
        }
    }

    fn on_asked(&mut self, id: RequestId) {
        if let Some((sighting, _)) = self.unjoined.take() {
            self.announce(sighting);
        }
        // The dialog may be drawn already, and not read yet.
        self.catch_up();
        let now = self.now();
        let standing = self.detector.current();
        if let Some(standing) = standing.filter(|seen| self.detector.still_shows(seen.no, seen.fingerprint))
            && self.hooks.pair_standing(standing) == Pairing::Other
            && let Some(events) = &mut self.events
        {
            // Perhaps the next of several that were asked for at once; its own dialog will tell.
            events.drift(standing.no, "other_request", now);
        }
        if let Some(title) = self.hooks.announce(id) {
            self.observe(Observation::Told(Told::Waits { title: &title }));
        }
    }

    /// A dialog was seen: told at once, or when its request has come, or will not come any more.
    pub(super) fn on_sighting(&mut self, sighting: Sighting) {
        if self.hooks.awaits_request(&sighting) {
            self.unjoined = Some((sighting, self.now() + REQUEST_COMES));
            return;
        }
        self.announce(sighting);
    }

    /// The time for a request is over.
    pub(super) fn announce_unjoined(&mut self, now: Moment) {
        if let Some((sighting, _)) = self.unjoined.take_if(|(_, due)| *due <= now) {
            self.hooks.note_unasked();
            self.announce(sighting);
        }
    }

    fn announce(&mut self, mut sighting: Sighting) {
        self.join_word(&mut sighting);
        self.on_seen(&sighting);
    }

    fn on_hook_event(&mut self, event: &HookEvent) {
        self.hear_of_deed(event);
        let released = self.hooks.release(event);
        match event {
            // Told only where nothing else is known: it comes seconds after the dialog that it speaks of.
            HookEvent::Waits { message }
                if self.detector.current().is_none() && self.hooks.has_nothing_to_tell() =>
            {
                self.observe(Observation::Told(Told::Waits { title: message }));
            }
            HookEvent::Asks(_)
            | HookEvent::Done(_)
            | HookEvent::Finished { .. }
            | HookEvent::Works
            | HookEvent::Waits { .. }
            | HookEvent::Ended
            | HookEvent::Other => {}
        }
        if released || matches!(event, HookEvent::Done(_) | HookEvent::Finished { .. } | HookEvent::Ended) {
            self.tell_what_waits();
        }
    }

    /// A request was answered or withdrawn: the detector hears of the next one, or that there is none.
    pub(super) fn tell_what_waits(&mut self) {
        match self.hooks.announce_next() {
            Some(title) => self.observe(Observation::Told(Told::Waits { title: &title })),
            None => self.observe(Observation::Told(Told::GoesOn)),
        }
    }

    /// What the tool told about the prompt that was just seen.
    fn join_word(&mut self, sighting: &mut Sighting) {
        if sighting.kind == Kind::Idle {
            if let Some(words) = self.hooks.last_words() {
                sighting.excerpt = atlasbridge_model::Excerpt::new(words);
                sighting.detail = atlasbridge_model::Detail::new(words);
            }
            return;
        }
        match self.hooks.pair_new(sighting) {
            Pairing::Nobody | Pairing::Same(_) => {}
            Pairing::Other => {
                let now = self.now();
                if let Some(events) = &mut self.events {
                    events.drift(sighting.no, "other_request", now);
                }
                self.link.notice(
                    "the tool asked for one thing by its hook while its screen showed another; such a dialog is answered by \
                     its keys alone. ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps the screen of such a moment",
                );
            }
        }
    }

    /// They were pressed for a dialog that an answer from elsewhere has just closed.
    pub(super) fn come_too_late(&self, keys: &[u8]) -> bool {
        self.now() < self.late_until && holds_keys(keys)
    }

    /// # A lost race presses nothing
    /// Keys that were pressed at the terminal while an answer from elsewhere was on its way were meant for the dialog
    /// that it closed, and so were those that come before anybody can have seen that it is gone. Passed on now, they would
    /// answer the next one, or stand in the input box: they are dropped. A terminal's own replies are not.
    pub(super) fn drop_late_keys(&mut self) {
        if self.terminal.is_none() {
            return;
        }
        self.late_until = self.now() + UNSEEN;
        let mut keys = [0; KEYS];
        while let Ok(ReadOutcome::Data(count)) = self.keyboard.input.read(&mut keys) {
            if !holds_keys(&keys[..count]) {
                let _ = self.gate.type_local(&keys[..count]);
            }
        }
    }
}
