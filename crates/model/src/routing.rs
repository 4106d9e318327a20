//! Which prompt does a text mean that names none?
//!
//! A text typed into a chat has no button behind it. It may answer a prompt only where there is no doubt which one, and
//! only one that its sender can have seen: a prompt that appeared after the text was sent is never meant by it.

use crate::{PromptId, SessionId, Timestamp};

/// A prompt that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub prompt: PromptId,
    pub session: SessionId,
    pub asked_at: Timestamp,
}

/// What is known of a text besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// It was sent as a reply to the message of this prompt.
    pub replied_to: Option<PromptId>,
    /// Its chat talks to this session, since somebody said so.
    pub switched_to: Option<SessionId>,
    pub sent_at: Timestamp,
}

/// Which one is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    Means(PromptId),
    NothingWaits,
    /// Others wait, but not in the session that the chat talks to.
    NothingWaitsThere(SessionId),
    Several,
    /// The only one that could be meant appeared after the text was sent.
    TooNew(PromptId),
}

/// A reply to a message means the prompt of that message, whatever became of it since: the store's guard then says so.
pub fn meant(waiting: &[Waiting], context: Context) -> Meant {
    if let Some(prompt) = context.replied_to {
        return Meant::Means(prompt);
    }
    let mut candidates =
        waiting.iter().filter(|one| context.switched_to.is_none_or(|session| session == one.session));
    match (candidates.next(), candidates.next(), context.switched_to) {
        (Some(_), Some(_), _) => Meant::Several,
        (Some(only), None, _) if only.asked_at > context.sent_at => Meant::TooNew(only.prompt),
        (Some(only), None, _) => Meant::Means(only.prompt),
        (None, _, Some(session)) if !waiting.is_empty() => Meant::NothingWaitsThere(session),
        (None, _, _) => Meant::NothingWaits,
    }
}

/// A session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    pub session: SessionId,
    /// Its tool has waited for an instruction before, so it will again.
    pub takes_instructions: bool,
}

/// Whose next instruction a text is that answers no prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee {
    Session(SessionId),
    /// No running session takes instructions.
    Nobody,
    Several,
    /// The chat talks to this session, which has ended or takes none.
    NotThere(SessionId),
}

/// The session that somebody named, or the only one that there is. Another one is never meant instead.
pub fn addressee(running: &[Running], switched_to: Option<SessionId>) -> Addressee {
    let mut willing = running
        .iter()
        .filter(|one| one.takes_instructions && switched_to.is_none_or(|session| session == one.session));
    match (willing.next(), willing.next(), switched_to) {
        (Some(only), None, _) => Addressee::Session(only.session),
        (Some(_), Some(_), _) => Addressee::Several,
        (None, _, Some(session)) => Addressee::NotThere(session),
        (None, _, None) => Addressee::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompt(no: u8) -> PromptId {
        PromptId::from_random([no; 16])
    }

    fn session(no: u8) -> SessionId {
        SessionId::from_random([no; 16])
    }

    fn waits(prompt_no: u8, session_no: u8, asked_at: i64) -> Waiting {
        Waiting { prompt: prompt(prompt_no), session: session(session_no), asked_at: Timestamp(asked_at) }
    }

    #[track_caller]
    fn check(waiting: &[Waiting], replied_to: Option<u8>, switched_to: Option<u8>, expected: Meant) {
        let context = Context {
            replied_to: replied_to.map(prompt),
            switched_to: switched_to.map(session),
            sent_at: Timestamp(100),
        };
        assert_eq!(meant(waiting, context), expected);
    }

    #[test]
    fn the_only_one_is_meant_if_it_was_there() {
        check(&[], None, None, Meant::NothingWaits);
        check(&[waits(1, 1, 50)], None, None, Meant::Means(prompt(1)));
        check(&[waits(1, 1, 100)], None, None, Meant::Means(prompt(1)));
        check(&[waits(1, 1, 101)], None, None, Meant::TooNew(prompt(1)));
    }

    #[test]
    fn of_several_none_is_meant_not_even_the_older_one() {
        check(&[waits(1, 1, 50), waits(2, 2, 60)], None, None, Meant::Several);
        check(&[waits(1, 1, 50), waits(2, 2, 101)], None, None, Meant::Several);
    }

    #[test]
    fn a_chat_talks_to_one_session() {
        let two = [waits(1, 1, 50), waits(2, 2, 101)];
        check(&two, None, Some(1), Meant::Means(prompt(1)));
        check(&two, None, Some(2), Meant::TooNew(prompt(2)));
        check(&two, None, Some(3), Meant::NothingWaitsThere(session(3)));
        check(&two[..1], None, Some(3), Meant::NothingWaitsThere(session(3)));
        check(&[], None, Some(3), Meant::NothingWaits);
    }

    #[test]
    fn a_reply_means_the_prompt_of_its_message() {
        let two = [waits(1, 1, 50), waits(2, 2, 60)];
        check(&two, Some(2), None, Meant::Means(prompt(2)));
        check(&two, Some(2), Some(1), Meant::Means(prompt(2)));
        check(&[], Some(9), None, Meant::Means(prompt(9)));
    }

    #[test]
    fn an_instruction_is_for_the_session_named_or_the_only_one() {
        let running = |no, takes_instructions| Running { session: session(no), takes_instructions };
        let rows = [
            (vec![], None, Addressee::Nobody),
            (vec![running(1, false)], None, Addressee::Nobody),
            (vec![running(1, false), running(2, true)], None, Addressee::Session(session(2))),
            (vec![running(1, true), running(2, true)], None, Addressee::Several),
            (vec![running(1, true), running(2, true)], Some(2), Addressee::Session(session(2))),
            (vec![running(1, true), running(2, false)], Some(2), Addressee::NotThere(session(2))),
            (vec![running(1, true)], Some(3), Addressee::NotThere(session(3))),
        ];
        for (running, switched_to, expected) in rows {
            let found = addressee(&running, switched_to.map(session));
            assert_eq!(found, expected, "{running:?} {switched_to:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_without_a_message_means_only_what_waited_and_was_not_newer(
            all in prop::collection::vec((0..20_u8, 0..4_u8, 0..200_i64), 0..6),
            switched in prop::option::of(0..5_u8),
            sent_at in 0..200_i64,
        ) {
            let waiting: Vec<_> = all.iter().map(|&(id, of, at)| waits(id, of, at)).collect();
            let context = Context {
                replied_to: None,
                switched_to: switched.map(session),
                sent_at: Timestamp(sent_at),
            };
            let there: Vec<_> = waiting
                .iter()
                .filter(|one| switched.is_none_or(|no| session(no) == one.session))
                .collect();
            match meant(&waiting, context) {
                Meant::Means(prompt) => {
                    prop_assert_eq!(there.len(), 1);
                    prop_assert_eq!(there[0].prompt, prompt);
                    prop_assert!(there[0].asked_at.0 <= sent_at);
                }
                Meant::TooNew(prompt) => {
                    prop_assert_eq!(there.len(), 1);
                    prop_assert_eq!(there[0].prompt, prompt);
                    prop_assert!(there[0].asked_at.0 > sent_at);
                }
                Meant::Several => prop_assert!(there.len() > 1),
                Meant::NothingWaits => prop_assert!(waiting.is_empty()),
                Meant::NothingWaitsThere(_) => prop_assert!(there.is_empty() && !waiting.is_empty()),
            }
        }
    }
}
