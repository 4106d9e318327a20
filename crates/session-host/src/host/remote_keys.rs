//! Keys and lines from somebody who watches elsewhere. They are typed as the keyboard's are, through the gate, and only
//! while nobody types at the keyboard itself.

use std::time::Duration;

use atlasbridge_detect::Observation;
use atlasbridge_model::TypingId;
use atlasbridge_wire::session::{FromSession, Typing, TypingOutcome};

use super::{Host, Phase, SENDS_A_LINE};
use crate::gate::{RemoteProgress, Surroundings, keys_of};

/// After a key at the terminal, whoever sits there has the word for this long.
const HAS_THE_WORD: Duration = Duration::from_secs(2);
/// The same with a line begun and not ended. Whoever left it longer ago has left, and it stands on the screen for those
/// who watch.
const HALF_A_LINE: Duration = Duration::from_secs(30);

impl Host {
    pub(super) fn on_type(&mut self, typing_id: &str, what: &Typing) {
        // What is no id was never handed out by a hub of this protocol; and a hub that was replaced is not obeyed.
        let Ok(id) = typing_id.parse::<TypingId>() else {
            return;
        };
        if !self.gate.obeys_hub() {
            return;
        }
        let keys = keys_of(what, self.detector.screen().input_modes());
        let around = Surroundings {
            tool_gone: !matches!(self.phase, Phase::Running | Phase::Ending { .. }),
            is_injecting: self.gate.injection().is_some(),
            is_typed_at: self.is_typed_at(),
        };
        match self.gate.type_remotely(id, keys, around, self.now()) {
            RemoteProgress::EnterFollows => self.tell_detector(what),
            RemoteProgress::Done => {
                self.tell_detector(what);
                self.tell_typing(id, TypingOutcome::Typed);
            }
            RemoteProgress::Nothing(outcome) => self.tell_typing(id, outcome),
            RemoteProgress::UnderWay => {}
        }
    }

    /// Enter after a text, once its time has come.
    pub(super) fn end_typing(&mut self) {
        if let Some(id) = self.gate.press_enter(self.now()) {
            self.took_remotely(b"\r");
            self.tell_typing(id, TypingOutcome::Typed);
        }
    }

    /// The tool has ended before the Enter.
    pub(super) fn abandon_typing(&mut self) {
        if let Some(id) = self.gate.abandon_typing() {
            self.tell_typing(id, TypingOutcome::Gone);
        }
    }

    /// # A prompt that is answered from elsewhere is answered at the terminal
    /// For the detector these are keys like any other; without this, a prompt that they answer would be gone without
    /// anybody having typed, and raise an alarm.
    fn tell_detector(&mut self, what: &Typing) {
        match what {
            Typing::Text { text, .. } if text.is_empty() => self.took_remotely(b"\r"),
            Typing::Text { text, .. } => self.took_remotely(text.as_bytes()),
            Typing::Key(_) | Typing::Unknown(_) => {
                if let Some(keys) = keys_of(what, self.detector.screen().input_modes()) {
                    self.took_remotely(&keys.first);
                }
            }
        }
    }

    fn took_remotely(&mut self, keys: &[u8]) {
        self.sent_locally |= keys.iter().any(|key| SENDS_A_LINE.contains(key));
        self.observe(Observation::LocalInput(keys));
    }

    fn is_typed_at(&self) -> bool {
        let silence = self.typed_ms_ago().map(Duration::from_millis);
        silence
            .is_some_and(|silence| silence < HAS_THE_WORD || self.is_half_typed_here && silence < HALF_A_LINE)
    }

    fn tell_typing(&mut self, id: TypingId, outcome: TypingOutcome) {
        let now = self.now();
        if let Some(events) = &mut self.events {
            events.typed(&id.to_string(), &serde_json::json!(outcome), now);
        }
        self.link.send(&FromSession::TypingDone { typing_id: id.to_string(), outcome });
    }
}
