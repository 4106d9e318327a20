//! What the tool tells through its hooks, beside what its screen shows.

use atlasbridge_detect::{HookEvent, Observation, ToolWord};
use atlasbridge_model::{Detail, Excerpt, Kind, Sighting};

use super::Host;
use crate::hooks::{FromHook, Pairing, RequestId};
use crate::prompt::PromptEvent;

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
        self.step(PromptEvent::RequestCame);
        // The dialog may be drawn already, and not read yet.
        self.catch_up();
        let now = self.now();
        let standing = self.detector.current();
        if let Some(standing) = standing.filter(|seen| self.detector.still_shows(seen.no, seen.fingerprint))
            && self.hooks.pair_standing(standing) == Pairing::Other
        {
            // Perhaps the next of several that were asked for at once; its own dialog will tell.
            self.events.happened("drift", standing.no, "other_request", now);
        }
        if let Some(title) = self.hooks.announce(id) {
            self.observe(Observation::Told(ToolWord::Waits { title: &title }));
        }
    }

    fn on_hook_event(&mut self, event: &HookEvent) {
        self.hear_of_deed(event);
        let released = self.hooks.release(event);
        // Told only where nothing else is known: it comes seconds after the dialog that it speaks of.
        if let HookEvent::Waits { message } = event
            && self.detector.current().is_none()
            && self.hooks.has_nothing_to_tell()
        {
            self.observe(Observation::Told(ToolWord::Waits { title: message }));
        }
        if released || matches!(event, HookEvent::Done(_) | HookEvent::Finished { .. } | HookEvent::Ended) {
            self.tell_what_waits();
        }
    }

    /// A request was answered or withdrawn: the detector hears of the next one, or that there is none.
    pub(super) fn tell_what_waits(&mut self) {
        let title = self.hooks.announce_next();
        let word = title.as_ref().map_or(ToolWord::GoesOn, |title| ToolWord::Waits { title });
        self.observe(Observation::Told(word));
    }

    /// What the tool told about the prompt that was just seen.
    pub(super) fn join_word(&mut self, sighting: &mut Sighting) {
        if sighting.kind == Kind::Idle {
            if let Some(words) = self.hooks.last_words() {
                sighting.excerpt = Excerpt::new(words);
                sighting.detail = Detail::new(words);
            }
            return;
        }
        if self.hooks.pair_new(sighting) == Pairing::Other {
            self.events.happened("drift", sighting.no, "other_request", self.now());
            self.link.notice(
                "the tool asked for one thing by its hook while its screen showed another; such a dialog is answered by \
                 its keys alone. ATLASBRIDGE_CAPTURE_PROMPTS=1 keeps the screen of such a moment",
            );
        }
    }
}
