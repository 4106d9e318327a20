//! Which prompt does a text mean that names none?
//!
//! A text typed into a chat has no button behind it. It may answer a prompt only where there is no doubt which one, and
//! only one that its sender can have seen: a prompt that appeared after the text was sent is never meant by it.

use crate::{SessionId, Timestamp};

/// Which one is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant<'a, T> {
    Means(&'a T),
    /// Nothing waits, or nothing in the session that the chat talks to.
    NothingWaits,
    Several,
    /// The only one that could be meant appeared after the text was sent.
    TooNew(&'a T),
}

/// Of the prompts that wait, each with its session and when it was asked. `switched_to` is the session that the chat talks
/// to, since somebody said so.
pub fn meant<T>(
    waiting: &[T],
    asked: impl Fn(&T) -> (SessionId, Timestamp),
    switched_to: Option<SessionId>,
    sent_at: Timestamp,
) -> Meant<'_, T> {
    let mut candidates =
        waiting.iter().filter(|one| switched_to.is_none_or(|session| session == asked(one).0));
    match (candidates.next(), candidates.next()) {
        (Some(_), Some(_)) => Meant::Several,
        (Some(only), None) if asked(only).1 > sent_at => Meant::TooNew(only),
        (Some(only), None) => Meant::Means(only),
        (None, _) => Meant::NothingWaits,
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
    /// The chat talks to a session that has ended or takes none.
    NotThere,
}

/// The session that somebody named, or the only one that there is. Another one is never meant instead.
pub fn addressee(running: &[Running], switched_to: Option<SessionId>) -> Addressee {
    let mut willing = running
        .iter()
        .filter(|one| one.takes_instructions && switched_to.is_none_or(|session| session == one.session));
    match (willing.next(), willing.next(), switched_to) {
        (Some(only), None, _) => Addressee::Session(only.session),
        (Some(_), Some(_), _) => Addressee::Several,
        (None, _, Some(_)) => Addressee::NotThere,
        (None, _, None) => Addressee::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(no: u8) -> SessionId {
        SessionId::from_random([no; 16])
    }

    /// A prompt by its number and its session's, and when it was asked.
    type Asked = (u8, u8, i64);

    fn asked(&(_, of, at): &Asked) -> (SessionId, Timestamp) {
        (session(of), Timestamp(at))
    }

    #[track_caller]
    fn check(waiting: &[Asked], switched_to: Option<u8>, expected: Meant<'_, Asked>) {
        assert_eq!(meant(waiting, asked, switched_to.map(session), Timestamp(100)), expected);
    }

    #[test]
    fn the_only_one_is_meant_if_it_was_there() {
        check(&[], None, Meant::NothingWaits);
        check(&[(1, 1, 50)], None, Meant::Means(&(1, 1, 50)));
        check(&[(1, 1, 100)], None, Meant::Means(&(1, 1, 100)));
        check(&[(1, 1, 101)], None, Meant::TooNew(&(1, 1, 101)));
    }

    #[test]
    fn of_several_none_is_meant_not_even_the_older_one() {
        check(&[(1, 1, 50), (2, 2, 60)], None, Meant::Several);
        check(&[(1, 1, 50), (2, 2, 101)], None, Meant::Several);
    }

    #[test]
    fn a_chat_talks_to_one_session() {
        let two = [(1, 1, 50), (2, 2, 101)];
        check(&two, Some(1), Meant::Means(&two[0]));
        check(&two, Some(2), Meant::TooNew(&two[1]));
        check(&two, Some(3), Meant::NothingWaits);
        check(&two[..1], Some(3), Meant::NothingWaits);
        check(&[], Some(3), Meant::NothingWaits);
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
            (vec![running(1, true), running(2, false)], Some(2), Addressee::NotThere),
            (vec![running(1, true)], Some(3), Addressee::NotThere),
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
            let there: Vec<_> = all.iter().filter(|one| switched.is_none_or(|no| no == one.1)).collect();
            match meant(&all, asked, switched.map(session), Timestamp(sent_at)) {
                Meant::Means(prompt) => {
                    prop_assert_eq!(there, vec![prompt]);
                    prop_assert!(prompt.2 <= sent_at);
                }
                Meant::TooNew(prompt) => {
                    prop_assert_eq!(there, vec![prompt]);
                    prop_assert!(prompt.2 > sent_at);
                }
                Meant::Several => prop_assert!(there.len() > 1),
                Meant::NothingWaits => prop_assert!(there.is_empty()),
            }
        }
    }
}
