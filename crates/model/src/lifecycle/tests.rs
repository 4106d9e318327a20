//! The transition table row by row, and random walks over it.

use proptest::prelude::*;

use super::*;
use crate::Timestamp;

const DEADLINE: BootTime = BootTime(600_000);
const IN_TIME: Now = Now { wall: Timestamp(1), boot: BootTime(1_000) };
const LATE: Now = Now { wall: Timestamp(2), boot: BootTime(600_000) };

fn reply(n: u8) -> ReplyId {
    ReplyId::from_random([n; 16])
}

fn answered(n: u8) -> Event {
    Event::Answered { reply: reply(n), source: Source::Command }
}

fn typed(n: u8) -> Event {
    Event::Typed { reply: reply(n) }
}

fn taken(n: u8) -> Event {
    Event::Taken { reply: reply(n) }
}

fn not_applied(n: u8, failure: Failure) -> Event {
    Event::NotApplied { reply: reply(n), why: NotApplied::Failed(failure) }
}

fn left(how: Departure) -> Event {
    Event::Left { how }
}

/// Plays `events` from `created`, each in time or late, and tells each step in a few words.
#[track_caller]
fn check(events: &[(Event, Now)], expected: &str) {
    let mut state = PromptState::Created;
    let mut told = Vec::new();
    for (event, now) in events {
        match step(&state, event, Some(DEADLINE), *now) {
            Step::Moved(next, effects) => {
                let delivers = effects.iter().any(|effect| matches!(effect, Do::Deliver(_)));
                let reason = next.reason().map(|reason| format!(":{reason}")).unwrap_or_default();
                told.push(format!("{}{reason}{}", next.status(), if delivers { "!" } else { "" }));
                state = next;
            }
            Step::Refused(_) => told.push("-".to_owned()),
        }
    }
    assert_eq!(told.join(" "), expected);
}

fn first() -> (Event, Now) {
    (Event::Routed { first: true }, IN_TIME)
}

fn ok(event: Event) -> (Event, Now) {
    (event, IN_TIME)
}

fn late(event: Event) -> (Event, Now) {
    (event, LATE)
}

#[test]
fn an_answer_goes_all_the_way() {
    check(
        &[first(), ok(answered(1)), ok(typed(1)), ok(taken(1))],
        "awaiting_reply reply_received! injected resolved:applied",
    );
}

#[test]
fn a_second_answer_changes_nothing() {
    check(
        &[
            first(),
            ok(answered(1)),
            ok(answered(2)),
            ok(typed(2)),
            ok(typed(1)),
            ok(typed(1)),
            ok(answered(3)),
        ],
        "awaiting_reply reply_received! - - injected - -",
    );
}

#[test]
fn a_late_answer_is_refused_and_the_deadline_takes_the_safe_default() {
    check(
        &[
            first(),
            late(answered(1)),
            late(Event::Deadline { fallback: Some(reply(9)) }),
            late(answered(2)),
            late(typed(9)),
            late(taken(9)),
        ],
        "awaiting_reply - expired! - injected resolved:applied",
    );
}

#[test]
fn an_early_deadline_does_nothing() {
    check(&[first(), ok(Event::Deadline { fallback: Some(reply(9)) })], "awaiting_reply -");
}

#[test]
fn without_a_safe_default_an_expired_prompt_stays_until_it_leaves_the_screen() {
    let expired = [first(), late(Event::Deadline { fallback: None })];
    let then = |event| [expired.to_vec(), vec![late(event)]].concat();
    check(&then(answered(1)), "awaiting_reply expired -");
    check(&then(left(Departure::AnsweredLocally)), "awaiting_reply expired resolved:answered_locally");
    check(&then(left(Departure::ToolEnded)), "awaiting_reply expired canceled:tool_gone");
}

#[test]
fn a_queued_prompt_waits_its_turn_and_is_never_typed_for() {
    let queued = (Event::Routed { first: false }, IN_TIME);
    check(
        &[queued.clone(), ok(answered(1)), ok(Event::Promoted), ok(answered(2))],
        "routed - awaiting_reply reply_received!",
    );
    check(&[queued, late(Event::Deadline { fallback: Some(reply(9)) })], "routed expired");
}

#[test]
fn the_keyboard_and_the_tool_end_a_waiting_prompt() {
    check(
        &[first(), ok(left(Departure::AnsweredLocally)), ok(answered(1))],
        "awaiting_reply resolved:answered_locally -",
    );
    check(&[first(), ok(left(Departure::Withdrawn))], "awaiting_reply canceled:withdrawn");
    check(&[first(), ok(left(Departure::OutOfBand))], "awaiting_reply resolved:answered_out_of_band");
    check(&[first(), ok(left(Departure::ToolEnded))], "awaiting_reply canceled:tool_gone");
    check(&[first(), ok(Event::CanceledByOperator)], "awaiting_reply canceled:by_operator");
}

#[test]
fn while_a_reply_is_under_way_only_the_gate_ends_it() {
    check(
        &[
            first(),
            ok(answered(1)),
            ok(left(Departure::AnsweredLocally)),
            ok(not_applied(1, Failure::PromptChanged)),
        ],
        "awaiting_reply reply_received! - failed:prompt_changed",
    );
    let keyboard_first = Event::NotApplied { reply: reply(1), why: NotApplied::AnsweredLocally };
    check(
        &[first(), ok(answered(1)), ok(keyboard_first)],
        "awaiting_reply reply_received! resolved:answered_locally",
    );
    check(
        &[first(), ok(answered(1)), ok(typed(1)), ok(not_applied(1, Failure::NotTaken))],
        "awaiting_reply reply_received! injected failed:not_taken",
    );
}

#[test]
fn a_dead_host_leaves_no_prompt_open() {
    check(&[first(), ok(Event::HostLost)], "awaiting_reply canceled:host_gone");
    check(&[first(), ok(answered(1)), ok(Event::HostLost)], "awaiting_reply reply_received! failed:unknown");
    check(
        &[first(), ok(answered(1)), ok(typed(1)), ok(Event::HostLost)],
        "awaiting_reply reply_received! injected failed:unknown",
    );
}

fn any_event() -> impl Strategy<Value = Event> {
    let reply_id = (0u8..4).prop_map(reply);
    let source = prop_oneof![Just(Source::Command), Just(Source::Channel("telegram".into()))];
    prop_oneof![
        any::<bool>().prop_map(|first| Event::Routed { first }),
        Just(Event::Promoted),
        (reply_id.clone(), source).prop_map(|(reply, source)| Event::Answered { reply, source }),
        Just(Event::CanceledByOperator),
        // The deadline's own reply ids are apart from the people's, as in the hub.
        prop::option::of((10u8..12).prop_map(reply)).prop_map(|fallback| Event::Deadline { fallback }),
        (0u8..12).prop_map(typed),
        (0u8..12).prop_map(taken),
        (0u8..12, 0..Failure::ALL.len()).prop_map(|(n, why)| not_applied(n, Failure::ALL[why])),
        prop_oneof![
            Just(Departure::AnsweredLocally),
            Just(Departure::OutOfBand),
            Just(Departure::Withdrawn),
            Just(Departure::ToolEnded)
        ]
        .prop_map(left),
        Just(Event::HostLost),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Any order of duplicates, late and foreign events: at most one reply is delivered, none of a person's after
    /// the deadline, `injected` is entered at most once and only with the delivered reply, and an end is an end.
    #[test]
    fn at_most_one_injection_and_none_by_a_late_answer(
        walk in prop::collection::vec((any_event(), 0i64..1_200_000), 1..60)
    ) {
        let mut state = PromptState::Created;
        let mut clock = 0;
        let mut delivered: Vec<ReplyId> = Vec::new();
        let mut injections = 0;
        for (event, wait) in walk {
            clock += wait / 20;
            let now = Now { wall: Timestamp(0), boot: BootTime(clock) };
            let Step::Moved(next, effects) = step(&state, &event, Some(DEADLINE), now) else { continue };
            prop_assert!(!state.is_over(), "{state:?} moved by {event:?}");
            for effect in &effects {
                let Do::Deliver(reply) = effect else { continue };
                delivered.push(*reply);
                match &event {
                    Event::Answered { .. } => prop_assert!(now.boot < DEADLINE),
                    Event::Deadline { fallback } => prop_assert_eq!(fallback.as_ref(), Some(reply)),
                    other => prop_assert!(false, "{other:?} delivered"),
                }
            }
            if let PromptState::Injected { reply, .. } = &next {
                injections += 1;
                prop_assert_eq!(delivered.as_slice(), &[*reply]);
            }
            state = next;
        }
        prop_assert!(delivered.len() <= 1);
        prop_assert!(injections <= 1);
    }

    /// Whatever happened before, a dead host ends it.
    #[test]
    fn a_lost_host_always_ends_a_prompt(walk in prop::collection::vec(any_event(), 0..30)) {
        let mut state = PromptState::Created;
        for event in walk.iter().chain([&Event::HostLost]) {
            if let Step::Moved(next, _) = step(&state, event, Some(DEADLINE), IN_TIME) {
                state = next;
            }
        }
        prop_assert!(state.is_over(), "{state:?}");
    }
}
