//! Whether the tool did what it was told, by its own word.

use atlasbridge_detect::{HookEvent, HookRequest, Marks, did};
use atlasbridge_model::Effect;
use atlasbridge_model::answer::Value;

use super::Host;
use crate::gate::InjectRequest;

/// The last answer to a dialog, and what was known when it was given.
#[derive(Debug)]
pub(super) struct Deed {
    answer: Effect,
    before: Marks,
    /// What was asked for, where the tool has said so by its hook.
    asked: Option<HookRequest>,
    /// The tool has reported that it ran.
    has_run: bool,
}

impl Host {
    /// Right before an answer is typed or said.
    pub(super) fn note_deed(&mut self, request: &InjectRequest) {
        let current = self.detector.current().filter(|seen| seen.no == request.sighting);
        let choices = current.and_then(|seen| seen.choices.as_ref());
        let answer = match &request.value {
            Some(Value::Choice { row, .. }) => {
                choices.and_then(|choices| choices.get(*row)).map(|choice| choice.effect)
            }
            Some(Value::Refused { .. }) => Some(Effect::Refuses),
            Some(Value::Several(_) | Value::Enter | Value::Text(_) | Value::Secret(_)) | None => None,
        };
        self.deed = answer.map(|answer| Deed {
            answer,
            before: self.detector.marks(),
            asked: self.hooks.request_for(request.sighting).cloned(),
            has_run: false,
        });
    }

    /// # No answer is told as applied that the tool belies
    /// Asked whenever the answer under way is looked at: the gate then does not say that it was taken.
    pub(super) fn judge_deed(&mut self) {
        let Some(deed) = &self.deed else { return };
        let Some(injection) = self.gate.injection_mut() else { return };
        injection.is_belied |= did(deed.before, self.detector.marks(), deed.has_run).belies(deed.answer);
    }

    /// A hook reports what was done. It comes seconds after a refused dialog is gone, and its answer is long told: so it is
    /// said at the end, and to whoever reads the events.
    pub(super) fn hear_of_deed(&mut self, event: &HookEvent) {
        let Some(deed) = &mut self.deed else { return };
        let is_its = |asked: &HookRequest| matches!(event, HookEvent::Done(_)) && event.answers(asked);
        let Some(asked) = deed.asked.as_ref().filter(|asked| is_its(asked)) else { return };
        deed.has_run = true;
        if deed.answer == Effect::Refuses {
            let told = format!("the tool says that it ran what was refused: {}", asked.title);
            self.link.notice(&told);
        }
        self.judge_deed();
    }
}
