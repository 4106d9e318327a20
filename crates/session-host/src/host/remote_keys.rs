//! Keys and lines from somebody who watches elsewhere. They are typed as the keyboard's are, through the gate, and only
//! while nobody types at the keyboard itself.

use atlasbridge_model::TypingId;
use atlasbridge_wire::session::{FromSession, Typing, TypingOutcome};

use super::Host;
use crate::gate::{RemoteProgress, Surroundings, keys_of, without_marks};

impl Host {
    pub(super) fn on_type(&mut self, typing_id: &str, what: &Typing) {
        // What is no id was never handed out by a hub of this protocol; and a hub that was replaced is not obeyed.
        let Some(id) = typing_id.parse().ok().filter(|_| self.gate.obeys_hub()) else { return };
        let keys = keys_of(what, self.detector.screen().input_modes());
        let (tool_gone, is_typed_at) = (self.is_over(), self.keyboard.is_typed_at());
        let around = Surroundings { tool_gone, is_typed_at, ..Surroundings::default() };
        let RemoteProgress { is_written, outcome } =
            self.gate.type_remotely(id, keys.as_ref(), around, self.now());
        // # A prompt that is answered from elsewhere is answered at the terminal
        // For the detector these are keys like any other; without this, a prompt that they answer would be gone without
        // anybody having typed, and raise an alarm.
        if let Some(keys) = keys.filter(|_| is_written) {
            self.took_keys(without_marks(&keys.first).as_bytes());
        }
        if let Some(outcome) = outcome {
            self.tell_typing(id, outcome);
        }
    }

    /// Enter after a text, once its time has come.
    pub(super) fn end_typing(&mut self) {
        if let Some(id) = self.gate.press_enter(self.now()) {
            self.took_keys(b"\r");
            self.tell_typing(id, TypingOutcome::Typed);
        }
    }

    /// The tool has ended before the Enter.
    pub(super) fn abandon_typing(&mut self) {
        if let Some(id) = self.gate.abandon_typing() {
            self.tell_typing(id, TypingOutcome::Gone);
        }
    }

    fn tell_typing(&mut self, id: TypingId, outcome: TypingOutcome) {
        self.events.typed(&id.to_string(), &serde_json::json!(outcome), self.now());
        self.link.send(&FromSession::TypingDone { typing_id: id.to_string(), outcome });
    }
}
