//! What the gate remembers, and its judgement of a request to type: pure, so that races cost a millisecond to test.
//!
//! # At-most-once invariant
//! [`Ledger::judge`] gives a [`Route`] at most once per prompt and at most once per reply, for as long as the
//! ledger lives, and the ledger lives exactly as long as the PTY. A request that comes again is answered with what
//! became of it.

use std::collections::HashMap;

use atlasbridge_detect::{Decision, Waits};
use atlasbridge_model::answer::Value;
use atlasbridge_model::{
    Effect, Entry, Fingerprint, Kind, Level, PromptId, ReplyId, SafeDefault, Sighting, SightingNo, Stroke,
    Strokes,
};
use atlasbridge_wire::twin::Outcome;

use super::{Aim, PASTE, Route};

/// A hub's request, after its texts were read into ids.
#[derive(Debug, Clone)]
pub(crate) struct InjectRequest {
    pub(crate) reply: ReplyId,
    pub(crate) prompt: PromptId,
    pub(crate) sighting: SightingNo,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) epoch: u64,
    pub(crate) deadline: Option<i64>,
    /// Nobody answered: this is the safe default.
    pub(crate) by_silence: bool,
    pub(crate) value: Option<Value>,
}

impl InjectRequest {
    pub(crate) fn is_for(&self, seen: &Sighting) -> bool {
        seen.no == self.sighting && seen.fingerprint == self.fingerprint
    }
}

/// How the world looks at the moment of the request.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Milliseconds on the boot clock.
    pub(crate) now: i64,
    /// The prompt that the detector sees, if the screen, read again just now, still shows it.
    pub(crate) standing: Option<Sighting>,
    /// The request's sighting was seen to be answered at the keyboard.
    pub(crate) answered_locally: bool,
    /// Characters typed at the terminal have not been taken by the tool yet.
    pub(crate) half_typed: bool,
    /// The process group that reads the terminal is not the one that asked.
    pub(crate) other_foreground: bool,
    /// Who would get what is typed now, by the kernel's word. For nobody keys would lie in the terminal's queue until the
    /// next question.
    pub(crate) reader: Waits,
    /// The kernel collects whole lines: nobody can read a single key.
    pub(crate) takes_lines: bool,
    pub(crate) tool_gone: bool,
    /// What the tool's own hook would be told for this value: better than any key.
    pub(crate) decision: Option<Decision>,
    /// The tool takes pasted text as such.
    pub(crate) takes_paste: bool,
}

/// Why nothing is typed now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// Refused, or seen before. This became of it.
    Answered(Outcome),
    /// From a hub that has been replaced: no answer at all.
    FromOldHub,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    outcomes: HashMap<ReplyId, Outcome>,
    typed_for: HashMap<PromptId, ReplyId>,
    newest_epoch: u64,
    /// Of the hub that introduced itself last.
    connected_epoch: u64,
}

impl Ledger {
    /// A hub of this epoch has introduced itself.
    pub(crate) fn meet_hub(&mut self, epoch: u64) {
        self.connected_epoch = epoch;
        self.newest_epoch = self.newest_epoch.max(epoch);
    }

    /// It was not replaced by a newer one.
    pub(crate) fn obeys_hub(&self) -> bool {
        self.connected_epoch == self.newest_epoch
    }

    /// How the reply may be typed; then it and its prompt are spent.
    pub(crate) fn judge(&mut self, request: &InjectRequest, facts: &Facts) -> Result<Route, NotNow> {
        if request.epoch < self.newest_epoch {
            return Err(NotNow::FromOldHub);
        }
        self.newest_epoch = request.epoch;
        if let Some(outcome) = self.outcomes.get(&request.reply) {
            return Err(NotNow::Answered(*outcome));
        }
        let route = self.route(request, facts);
        // Until the write says otherwise: a crash of this very thought must not look like "not typed".
        let outcome = route.as_ref().err().copied().unwrap_or(Outcome::Unknown);
        self.outcomes.insert(request.reply, outcome);
        if route.is_ok() {
            self.typed_for.insert(request.prompt, request.reply);
        }
        route.map_err(NotNow::Answered)
    }

    /// What became of a reply, for resends.
    pub(crate) fn settle(&mut self, reply: ReplyId, outcome: Outcome) {
        self.outcomes.insert(reply, outcome);
    }

    pub(crate) fn is_new(&self, request: &InjectRequest) -> bool {
        !self.outcomes.contains_key(&request.reply) && !self.typed_for.contains_key(&request.prompt)
    }

    fn route(&self, request: &InjectRequest, facts: &Facts) -> Result<Route, Outcome> {
        if self.typed_for.contains_key(&request.prompt) {
            return Err(Outcome::PromptChanged);
        }
        if let Some(objection) = objection(request, facts) {
            return Err(objection);
        }
        // The hub has lost a secret by a restart: nothing was typed, and now nothing can be.
        let value = request.value.as_ref().ok_or(Outcome::NotRecorded)?;
        let standing = facts.standing.as_ref().ok_or(Outcome::PromptChanged)?;
        if let Some(decision) = &facts.decision {
            return Ok(Route::Say(decision.clone()));
        }
        let strokes = strokes_of(value, standing, facts.takes_paste).ok_or(Outcome::PromptChanged)?;
        // It would stay in the line that somebody else begins to read.
        let ends_a_line = |stroke: &Stroke| stroke.bytes.ends_with(b"\r");
        if facts.takes_lines && !strokes.iter().all(ends_a_line) {
            return Err(Outcome::NotReading);
        }
        if let Value::Choice { row, label } = value
            && strokes.is_guided()
        {
            return Ok(Route::Steer { aim: Aim { row: *row, label: label.clone() }, strokes });
        }
        Ok(Route::Type(strokes))
    }
}

/// What speaks against typing this reply as the world looks now: the first that holds. Asked before the intent is written, and once more
/// right before the bytes: a disk may be slow, and the screen of that moment counts.
pub(super) fn objection(request: &InjectRequest, facts: &Facts) -> Option<Outcome> {
    let standing = facts.standing.as_ref();
    let stands = standing.is_some_and(|seen| request.is_for(seen)) && !facts.other_foreground;
    let is_safe = !request.by_silence || standing.is_some_and(|seen| is_safe(request, seen));
    let objections = [
        (facts.tool_gone, Outcome::ToolGone),
        (facts.answered_locally, Outcome::AnsweredLocally),
        (request.deadline.is_some_and(|deadline| deadline <= facts.now), Outcome::TooLate),
        (!stands, Outcome::PromptChanged),
        (facts.half_typed, Outcome::TypingLocally),
        (!standing.is_some_and(|seen| is_heard(request, facts, seen)), Outcome::NotReading),
        (!is_safe, Outcome::PromptChanged),
    ];
    objections.into_iter().find_map(|(holds, outcome)| holds.then_some(outcome))
}

/// The marker stands elsewhere than when the ticket was given out: its first key is not the one that is needed now.
pub(super) fn astray(route: &Route, request: &InjectRequest, facts: &Facts) -> Option<Outcome> {
    let Route::Steer { strokes, .. } = route else { return None };
    let standing = facts.standing.as_ref().zip(request.value.as_ref());
    let needed = standing.and_then(|(standing, value)| strokes_of(value, standing, facts.takes_paste));
    (needed.as_ref() != Some(strokes)).then_some(Outcome::PromptChanged)
}

/// # Nothing-lies-in-wait invariant
/// Nothing is typed unless the kernel, or a dialog that is known for sure, says that this program reads now. What is
/// typed while nobody reads answers whatever asks next, which nobody was shown.
fn is_heard(request: &InjectRequest, facts: &Facts, standing: &Sighting) -> bool {
    let level = standing.confidence.level();
    match facts.reader {
        // A hook was asked, and waits.
        _ if facts.decision.is_some() => true,
        Waits::Nobody => false,
        _ if request.by_silence && level == Level::Low => false,
        Waits::Read | Waits::Poll => true,
        Waits::Unknown if request.by_silence => level == Level::High,
        Waits::Unknown => level >= Level::Medium,
    }
}

/// # Silence-never-approves invariant
/// Whatever a hub sends for a deadline, it must refuse by our own reading of the screen, or be a bare Enter where that
/// is all that is asked for.
fn is_safe(request: &InjectRequest, standing: &Sighting) -> bool {
    match (SafeDefault::of(standing), &request.value) {
        (Some(SafeDefault::Refuse { .. }), Some(Value::Choice { row, .. })) => {
            let rows = standing.choices.as_ref();
            rows.and_then(|rows| rows.get(*row)).is_some_and(|row| row.effect == Effect::Refuses)
        }
        (Some(SafeDefault::Enter | SafeDefault::EmptyLine), Some(Value::Enter)) => true,
        (Some(_) | None, _) => false,
    }
}

/// The strokes of a value, from our own reading of the dialog: a choice counts by its label.
///
/// # No-sentence-into-a-dialog invariant
/// Whatever a hub sends, a dialog gets a key of one of its rows and nothing else: letters of a text are hot keys there,
/// and Enter takes the highlighted row. `None`: this kind of prompt does not take this kind of value, or only a hook
/// does.
fn strokes_of(value: &Value, standing: &Sighting, takes_paste: bool) -> Option<Strokes> {
    match (value, standing.kind) {
        (Value::Choice { row, label }, Kind::YesNo | Kind::MultipleChoice) => {
            let choice = standing.choices.as_ref()?.get(*row)?;
            choice.strokes.clone().filter(|_| choice.label == *label)
        }
        (Value::Enter, Kind::ConfirmEnter | Kind::FreeText | Kind::Idle | Kind::Unknown) => {
            Some(Strokes::enter())
        }
        (Value::Text(text), Kind::Idle) if takes_paste && standing.entry == Entry::Keys => pasted(text),
        (Value::Text(text), Kind::FreeText | Kind::Idle | Kind::Unknown) => {
            (!text.contains('\n')).then(|| standing.entry.line(text))
        }
        // A hidden line is never echoed, so there is nothing to see before Enter.
        (Value::Secret(secret), Kind::Password) => Some(Entry::Line.line(secret)),
        (
            Value::Choice { .. }
            | Value::Several(_)
            | Value::Refused { .. }
            | Value::Enter
            | Value::Text(_)
            | Value::Secret(_),
            _,
        ) => None,
    }
}

/// The text as a paste, so that a line break is none of its own and no letter is a command, and Enter once it is seen.
fn pasted(text: &str) -> Option<Strokes> {
    let is_plain = text.chars().all(|char| !char.is_control() || char == '\n');
    let paste = [PASTE.0, &text.replace('\n', "\r"), PASTE.1].concat();
    is_plain.then(|| Strokes::then_enter_if_still_there(paste))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlasbridge_model::{Choice, Choices, Confidence, Constraints, Detail, Effect, Excerpt, Takes};
    use proptest::prelude::*;

    fn sighting(no: u32) -> Sighting {
        let choice = |label: &str, keys: &str, effect| Choice {
            label: label.to_owned(),
            strokes: Some(Strokes::once(keys)),
            effect,
        };
        Sighting {
            no: SightingNo(no),
            kind: Kind::YesNo,
            confidence: Confidence::new(95).unwrap(),
            excerpt: Excerpt::new("Delete 3 files? (y/n)"),
            detail: Detail::new("Delete 3 files? (y/n)"),
            choices: Choices::new(vec![
                choice("yes", "y\r", Effect::Accepts),
                choice("no", "n\r", Effect::Refuses),
            ]),
            constraints: Constraints::default(),
            offers_default: false,
            takes: Takes::NOTHING,
            entry: Entry::Line,
            fingerprint: Fingerprint([no as u8; 16]),
        }
    }

    fn request(reply: u8, prompt: u8, no: u32) -> InjectRequest {
        InjectRequest {
            reply: ReplyId::from_random([reply; 16]),
            prompt: PromptId::from_random([prompt; 16]),
            sighting: SightingNo(no),
            fingerprint: Fingerprint([no as u8; 16]),
            epoch: 5,
            deadline: Some(1_000),
            by_silence: false,
            value: Some(Value::Choice { row: 0, label: "yes".to_owned() }),
        }
    }

    fn facts(standing: &Sighting) -> Facts {
        Facts {
            now: 10,
            standing: Some(standing.clone()),
            answered_locally: false,
            half_typed: false,
            other_foreground: false,
            reader: Waits::Read,
            takes_lines: true,
            tool_gone: false,
            decision: None,
            takes_paste: false,
        }
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut InjectRequest, &mut Facts), expected: Outcome) {
        let standing = sighting(1);
        let (mut request, mut facts) = (request(1, 1, 1), facts(&standing));
        change(&mut request, &mut facts);
        assert_eq!(Ledger::default().judge(&request, &facts), Err(NotNow::Answered(expected)));
    }

    #[test]
    fn a_fitting_reply_is_typed_once_and_then_remembered() {
        let standing = sighting(1);
        let mut ledger = Ledger::default();
        assert_eq!(ledger.judge(&request(1, 1, 1), &facts(&standing)), Ok(Route::Type(Strokes::once("y\r"))));
        ledger.settle(ReplyId::from_random([1; 16]), Outcome::Taken);
        assert_eq!(ledger.judge(&request(1, 1, 1), &facts(&standing)), Err(NotNow::Answered(Outcome::Taken)));
        assert_eq!(
            ledger.judge(&request(2, 1, 1), &facts(&standing)),
            Err(NotNow::Answered(Outcome::PromptChanged))
        );
    }

    #[test]
    fn each_check_refuses_in_its_own_words() {
        refused(|_, facts| facts.standing = None, Outcome::PromptChanged);
        refused(|request, _| request.sighting = SightingNo(2), Outcome::PromptChanged);
        refused(|request, _| request.fingerprint = Fingerprint([9; 16]), Outcome::PromptChanged);
        refused(|_, facts| facts.other_foreground = true, Outcome::PromptChanged);
        refused(|_, facts| facts.answered_locally = true, Outcome::AnsweredLocally);
        refused(|_, facts| facts.half_typed = true, Outcome::TypingLocally);
        refused(|_, facts| facts.now = 1_000, Outcome::TooLate);
        refused(|_, facts| facts.reader = Waits::Nobody, Outcome::NotReading);
        refused(|_, facts| facts.tool_gone = true, Outcome::ToolGone);
        refused(|request, _| request.value = None, Outcome::NotRecorded);
        let other_label = Value::Choice { row: 0, label: "no".to_owned() };
        refused(|request, _| request.value = Some(other_label), Outcome::PromptChanged);
    }

    #[test]
    fn a_dialog_takes_only_its_rows_whatever_a_hub_sends() {
        for value in [Value::Enter, Value::Text("stop".to_owned()), Value::Secret("y".to_owned())] {
            for kind in [Kind::YesNo, Kind::MultipleChoice] {
                refused(
                    |request, facts| {
                        request.value = Some(value.clone());
                        facts.standing.iter_mut().for_each(|standing| standing.kind = kind);
                    },
                    Outcome::PromptChanged,
                );
            }
        }
        let takes =
            |value: &Value, kind| strokes_of(value, &Sighting { kind, ..sighting(1) }, false).is_some();
        assert!(takes(&Value::Enter, Kind::ConfirmEnter));
        assert!(takes(&Value::Text("a".to_owned()), Kind::FreeText));
        assert!(takes(&Value::Secret("a".to_owned()), Kind::Password));
        assert!(
            !takes(&Value::Text("a".to_owned()), Kind::Password),
            "a text is on record, a password never"
        );
        assert!(!takes(&Value::Enter, Kind::Password));
    }

    /// Row by row: who reads, how sure the prompt is, and whether a person or the deadline answers.
    #[test]
    fn nothing_is_typed_unless_it_is_known_that_somebody_reads() {
        use Level::{High, Low, Medium};
        let goes = |reader, level, by_silence| {
            let hundredths = match level {
                Low => 62,
                Medium => 75,
                High => 90,
            };
            let mut standing = sighting(1);
            standing.confidence = Confidence::new(hundredths).unwrap();
            let mut request = request(1, 1, 1);
            request.by_silence = by_silence;
            request.value = Some(Value::Choice { row: 1, label: "no".to_owned() });
            let facts = Facts { reader, ..facts(&standing) };
            Ledger::default().judge(&request, &facts).is_ok()
        };
        let row = |reader, by_silence| [Low, Medium, High].map(|level| goes(reader, level, by_silence));
        assert_eq!(row(Waits::Read, false), [true, true, true]);
        assert_eq!(row(Waits::Poll, false), [true, true, true]);
        assert_eq!(row(Waits::Unknown, false), [false, true, true]);
        assert_eq!(row(Waits::Nobody, false), [false, false, false]);
        assert_eq!(row(Waits::Read, true), [false, true, true]);
        assert_eq!(row(Waits::Poll, true), [false, true, true]);
        assert_eq!(row(Waits::Unknown, true), [false, false, true]);
        assert_eq!(row(Waits::Nobody, true), [false, false, false]);
    }

    #[test]
    fn a_key_is_not_typed_where_the_kernel_collects_lines() {
        let by_key = |takes_lines| {
            let mut standing = sighting(1);
            standing.choices = Choices::new(vec![Choice {
                label: "yes".to_owned(),
                strokes: Some(Strokes::once("1")),
                effect: Effect::Accepts,
            }]);
            let facts = Facts { takes_lines, ..facts(&standing) };
            Ledger::default().judge(&request(1, 1, 1), &facts)
        };
        assert_eq!(by_key(true), Err(NotNow::Answered(Outcome::NotReading)));
        assert!(by_key(false).is_ok());
    }

    #[test]
    fn whatever_a_hub_sends_for_a_deadline_refuses() {
        let by_silence = |value: Value, kind| {
            refused(
                |request, facts| {
                    request.by_silence = true;
                    request.deadline = None;
                    request.value = Some(value.clone());
                    facts.standing.iter_mut().for_each(|standing| standing.kind = kind);
                },
                Outcome::PromptChanged,
            );
        };
        let accepts = Value::Choice { row: 0, label: "yes".to_owned() };
        by_silence(accepts.clone(), Kind::YesNo);
        by_silence(accepts, Kind::MultipleChoice);
        by_silence(Value::Enter, Kind::Idle);
        by_silence(Value::Enter, Kind::Unknown);
        by_silence(Value::Text("go on".to_owned()), Kind::FreeText);
    }

    /// Between the ticket and the key the marker was moved: Enter would take another row.
    #[test]
    fn a_marker_that_has_moved_meanwhile_voids_its_ticket() {
        let menu = |marked: usize| {
            let keys = |row: usize| {
                let steps = vec![b"\x1b[B".to_vec(); row.saturating_sub(marked)];
                Strokes::guided(steps.into_iter().chain([b"\r".to_vec()]))
            };
            let row = |(row, label): (usize, &str)| Choice {
                label: label.to_owned(),
                strokes: keys(row),
                effect: Effect::Other,
            };
            Sighting {
                choices: Choices::new(["yes", "no"].into_iter().enumerate().map(row).collect()),
                ..sighting(1)
            }
        };
        let seen = |marked| Facts { takes_lines: false, ..facts(&menu(marked)) };
        let mut request = request(1, 1, 1);
        request.value = Some(Value::Choice { row: 1, label: "no".to_owned() });
        let Ok(route) = Ledger::default().judge(&request, &seen(1)) else { panic!("it may be typed") };
        assert_eq!(astray(&route, &request, &seen(1)), None);
        assert_eq!(astray(&route, &request, &seen(0)), Some(Outcome::PromptChanged));
    }

    #[test]
    fn a_replaced_hub_is_not_obeyed() {
        let standing = sighting(1);
        let mut ledger = Ledger::default();
        ledger.meet_hub(6);
        assert!(ledger.obeys_hub());
        ledger.meet_hub(5);
        assert!(!ledger.obeys_hub());
        assert_eq!(ledger.judge(&request(1, 1, 1), &facts(&standing)), Err(NotNow::FromOldHub));
    }

    proptest! {
        /// Duplicated, reordered, foreign and late requests: at most one typing per prompt and per reply.
        #[test]
        fn at_most_one_typing(walk in prop::collection::vec((0u8..5, 0u8..3, 0u32..3, 0i64..2_000, 4u64..7), 1..80)) {
            let mut ledger = Ledger::default();
            let mut typed_replies = Vec::new();
            let mut typed_prompts = Vec::new();
            for (reply, prompt, shown, now, epoch) in walk {
                let standing = sighting(shown);
                let request = InjectRequest { epoch, ..request(reply, prompt, u32::from(prompt)) };
                let verdict = ledger.judge(&request, &Facts { now, ..facts(&standing) });
                if verdict.is_ok() {
                    prop_assert!(now < 1_000, "typed after the deadline");
                    prop_assert_eq!(shown, u32::from(prompt), "typed into another prompt");
                    prop_assert!(!typed_replies.contains(&reply) && !typed_prompts.contains(&prompt));
                    typed_replies.push(reply);
                    typed_prompts.push(prompt);
                }
            }
        }
    }
}
