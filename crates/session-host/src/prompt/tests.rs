//! Each race that was ever mended, as a row: what happens, when, and what follows from it in words.

use super::*;
use atlasbridge_model::{
    Confidence, Constraints, Detail, Entry, Excerpt, Fingerprint, Kind, PromptId, ReplyId, Takes,
};
use proptest::prelude::*;

const KEYS_AFTER: Duration = Duration::from_millis(100);
const NOBODY: KeyTarget = KeyTarget::Shown(Field::Text, Waits::Nobody);
const READS: KeyTarget = KeyTarget::Shown(Field::Text, Waits::Read);
const DIALOG: KeyTarget = KeyTarget::Shown(Field::KeyDialog, Waits::Poll);
const WITHDRAWN: Departure = Departure::Unprompted { echoed: false };

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

fn sighting(no: u32) -> Sighting {
    Sighting {
        no: SightingNo(no),
        kind: Kind::YesNo,
        confidence: Confidence::new(90).unwrap(),
        excerpt: Excerpt::new("Do you want to proceed?"),
        detail: Detail::new("rm -rf build"),
        choices: None,
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Keys,
        fingerprint: Fingerprint([no as u8; 16]),
    }
}

fn seen(no: u32) -> PromptEvent {
    PromptEvent::Seen { sighting: Box::new(sighting(no)), by: Some(7), awaits_request: false }
}

fn drawn(no: u32) -> PromptEvent {
    PromptEvent::Seen { sighting: Box::new(sighting(no)), by: Some(7), awaits_request: true }
}

fn gone(no: u32, how: Departure) -> PromptEvent {
    PromptEvent::Gone(SightingNo(no), how)
}

fn injected(no: u32) -> PromptEvent {
    PromptEvent::Injected(SightingNo(no))
}

fn reply(no: u32, tries: u32, target: KeyTarget) -> PromptEvent {
    let request = InjectRequest {
        reply: ReplyId::from_random([no as u8; 16]),
        prompt: PromptId::from_random([no as u8; 16]),
        sighting: SightingNo(no),
        fingerprint: Fingerprint([no as u8; 16]),
        epoch: 1,
        deadline: None,
        by_silence: false,
        value: None,
    };
    PromptEvent::Reply(Reply { request, tries }, target)
}

fn settled(no: u32, (field, via): (Field, Via), outcome: Outcome, lies_unread: bool) -> PromptEvent {
    let delivery = Delivery {
        reply: ReplyId::from_random([no as u8; 16]),
        prompt: PromptId::from_random([no as u8; 16]),
        sighting: SightingNo(no),
        field,
        via,
    };
    PromptEvent::Settled { delivery, outcome, lies_unread }
}

fn in_words(effect: &PromptEffect) -> String {
    match effect {
        PromptEffect::NoteUnasked => "unasked".to_owned(),
        PromptEffect::Announce(sighting) => format!("tell {}", sighting.no.0),
        PromptEffect::Consider(reply) => {
            format!("consider {}, try {}", reply.request.sighting.0, reply.tries)
        }
        PromptEffect::Judge(reply) => format!("judge {}", reply.request.sighting.0),
        PromptEffect::Refuse(reply) => format!("refuse {}", reply.request.sighting.0),
        PromptEffect::EndRequest(_, fate) => format!("request {fate:?}"),
        PromptEffect::LookLast(presence) => format!("look last: {presence:?}"),
        PromptEffect::NoteGone(no, how) => match how {
            Some(how) => format!("{} gone: {how:?}", no.0),
            None => format!("{} gone", no.0),
        },
        PromptEffect::ReportLeft(no, how) => format!("report {}: {how:?}", no.0),
        PromptEffect::TakeBackKeys => "take keys back".to_owned(),
        PromptEffect::DropLateKeys => "drop late keys".to_owned(),
        PromptEffect::TellOutcome(_, outcome) => format!("outcome {outcome:?}"),
        PromptEffect::OfferAgain => "offer again".to_owned(),
    }
}

/// What follows from the last of these, each at its millisecond.
#[track_caller]
fn check(events: impl IntoIterator<Item = (u64, PromptEvent)>, expected: &str) -> Prompts {
    let mut prompts = Prompts::new(KEYS_AFTER);
    let mut last = Vec::new();
    for (millis, event) in events {
        last = prompts.step(event, at(millis));
    }
    let told: Vec<String> = last.iter().map(in_words).collect();
    assert_eq!(told.join("; "), expected);
    prompts
}

/// A hook is a process that must start first: on a busy machine its dialog was told without it.
#[test]
fn a_dialog_waits_for_its_request() {
    check([(0, seen(1))], "tell 1");
    let waits = check([(0, drawn(1))], "");
    assert_eq!(waits.next_deadline(), Some(at(600)));
    check([(0, drawn(1)), (20, PromptEvent::RequestCame)], "tell 1");
    check([(0, drawn(1)), (599, PromptEvent::Tick)], "");
    check([(0, drawn(1)), (600, PromptEvent::Tick)], "unasked; tell 1");
    check([(0, drawn(1)), (600, PromptEvent::Tick), (700, PromptEvent::RequestCame)], "");
    check([(0, drawn(1)), (300, gone(1, WITHDRAWN))], "");
    check([(0, drawn(1)), (300, gone(1, WITHDRAWN)), (600, PromptEvent::Tick)], "");
}

/// Answering it by a key before it listens would lose the key, or answer what comes next.
#[test]
fn a_reply_waits_until_keys_are_taken() {
    let early = check([(0, seen(1)), (40, reply(1, 0, DIALOG))], "");
    assert_eq!(early.next_deadline(), Some(at(100)));
    check([(0, seen(1)), (40, reply(1, 0, DIALOG)), (100, PromptEvent::Tick)], "consider 1, try 0");
    check([(0, seen(1)), (100, reply(1, 0, DIALOG))], "judge 1");
    check([(0, seen(1)), (40, reply(1, 0, READS))], "judge 1");
    // Counted from when it was told: a dialog that waited for its request has stood for long, and is not hurried.
    check([(0, drawn(1)), (600, PromptEvent::Tick), (650, reply(1, 0, DIALOG))], "");
}

/// An event loop that works for a moment reads nothing, and half a repaint is no other prompt.
#[test]
fn a_reply_looks_again_for_who_reads_and_for_the_whole_dialog() {
    for target in [NOBODY, KeyTarget::HalfDrawn] {
        let first = check([(0, seen(1)), (200, reply(1, 0, target))], "");
        assert_eq!(first.next_deadline(), Some(at(204)));
        check([(0, seen(1)), (200, reply(1, 0, target)), (204, PromptEvent::Tick)], "consider 1, try 1");
        let later = check([(0, seen(1)), (200, reply(1, 8, target))], "");
        assert_eq!(later.next_deadline(), Some(at(200 + 4 * 256)));
        check([(0, seen(1)), (200, reply(1, MOST_TRIES, target))], "judge 1");
    }
}

#[test]
fn what_waits_for_no_key_is_judged_at_once() {
    check([(0, seen(1)), (1, reply(1, 0, KeyTarget::NeedsNoKey))], "judge 1");
    check([(0, seen(1)), (1, reply(1, 0, KeyTarget::Gone))], "judge 1");
    check([(0, reply(1, 0, NOBODY))], "judge 1");
    // The prompt of another reply: it does not wait for this one to listen.
    check([(0, seen(2)), (1, reply(1, 0, DIALOG))], "judge 1");
    // While one is typed, a repeat of it is answered from memory.
    check([(0, seen(1)), (200, injected(1)), (201, reply(1, 0, NOBODY))], "judge 1");
}

/// The hub sends a reply until it hears of it: the one that waits is not forgotten, and not judged twice.
#[test]
fn a_reply_that_comes_again_takes_the_place_of_the_first() {
    let early = [(0, seen(1)), (200, reply(1, 3, NOBODY)), (201, reply(1, 0, NOBODY))];
    assert_eq!(check(early, "").next_deadline(), Some(at(205)));
    let ready = [(0, seen(1)), (200, reply(1, 3, NOBODY)), (201, reply(1, 0, READS))];
    assert_eq!(check(ready, "judge 1").next_deadline(), None);
}

/// Somebody at the keyboard was first: the reply is refused in their favour, and not typed into what comes next.
#[test]
fn a_reply_that_waits_is_refused_when_its_prompt_goes() {
    let answered = [(0, seen(1)), (10, reply(1, 0, DIALOG)), (50, gone(1, Departure::LocalInput))];
    let after = "request Over; 1 gone: AnsweredLocally; report 1: AnsweredLocally; refuse 1";
    let prompts = check(answered, after);
    assert!(prompts.was_answered_here(SightingNo(1)), "the refusal says so");
    assert_eq!(prompts.next_deadline(), None);
    let next = [
        (0, seen(1)),
        (10, reply(1, 0, DIALOG)),
        (50, gone(1, WITHDRAWN)),
        (51, seen(2)),
        (100, PromptEvent::Tick),
    ];
    check(next, "");
}

/// The detector calls what ignored its answer another prompt, and says nothing of the first.
#[test]
fn a_prompt_that_is_offered_again_takes_the_place_of_the_first() {
    let ignored = settled(1, (Field::KeyDialog, Via::Keys), Outcome::NotTaken, false);
    let again =
        [(0, seen(1)), (200, injected(1)), (2200, ignored), (2300, seen(2)), (2500, reply(2, 0, DIALOG))];
    check(again, "judge 2");
    let unread = [(0, seen(1)), (200, reply(1, 2, NOBODY)), (210, seen(2))];
    assert_eq!(check(unread, "refuse 1; tell 2").next_deadline(), None);
    check([(0, seen(1)), (200, reply(1, 2, NOBODY)), (210, drawn(2))], "refuse 1");
}

#[test]
fn each_departure_in_its_own_word() {
    for (how, expected) in [
        (Departure::LocalInput, "request Over; 1 gone: AnsweredLocally; report 1: AnsweredLocally"),
        (Departure::Unprompted { echoed: true }, "request WaitsOn; 1 gone: OutOfBand; report 1: OutOfBand"),
        // A dialog that is drawn anew keeps its request.
        (WITHDRAWN, "request WaitsOn; 1 gone: Withdrawn; report 1: Withdrawn"),
        (Departure::Ended, "request Over; 1 gone: ToolEnded; report 1: ToolEnded"),
        (Departure::Injected, "request Over; 1 gone"),
    ] {
        check([(0, seen(1)), (500, gone(1, how))], expected);
    }
}

/// Its answer was its end: there was no time to see the prompt go.
#[test]
fn a_tool_that_ends_after_a_line_was_answered_with_it() {
    let answered = "request Over; 1 gone: AnsweredLocally; report 1: AnsweredLocally";
    check([(0, seen(1)), (10, PromptEvent::LineSent), (20, gone(1, Departure::Ended))], answered);
    let before = [(0, PromptEvent::LineSent), (5, seen(1)), (20, gone(1, Departure::Ended))];
    check(before, "request Over; 1 gone: ToolEnded; report 1: ToolEnded");
}

/// What the gate answers is told by its outcome alone, whatever the departure looks like.
#[test]
fn a_prompt_that_is_being_answered_goes_without_a_report() {
    for how in [Departure::Injected, WITHDRAWN] {
        let word = if how == WITHDRAWN { "1 gone: Withdrawn" } else { "1 gone" };
        let expected = format!("request Answered; look last: Gone; {word}");
        check([(0, seen(1)), (200, injected(1)), (300, gone(1, how))], &expected);
    }
    let ends = [(0, seen(1)), (200, injected(1)), (300, gone(1, Departure::Ended))];
    check(ends, "request Answered; look last: Ended; 1 gone: ToolEnded");
    // Its outcome was told: what happens to it now is news again.
    let ignored = settled(1, (Field::Text, Via::Keys), Outcome::Unknown, false);
    let later = [(0, seen(1)), (200, injected(1)), (2200, ignored), (3000, gone(1, Departure::LocalInput))];
    check(later, "request Over; 1 gone: AnsweredLocally; report 1: AnsweredLocally");
}

#[test]
fn each_outcome_and_what_follows_from_it() {
    let by_key = (Field::KeyDialog, Via::Keys);
    let by_hook = (Field::KeyDialog, Via::Hook);
    let by_line = (Field::LineDialog, Via::Keys);
    let typed = (Field::Text, Via::Keys);
    for (delivery, outcome, lies_unread, expected) in [
        (by_key, Outcome::Taken, false, "drop late keys; outcome Taken"),
        (by_hook, Outcome::Taken, false, "drop late keys; outcome Taken"),
        // Lines are typed ahead, and wait.
        (by_line, Outcome::Taken, false, "outcome Taken"),
        (typed, Outcome::Taken, false, "outcome Taken"),
        // What lies unread would answer the next question.
        (typed, Outcome::Taken, true, "take keys back; outcome Taken"),
        (typed, Outcome::Unknown, true, "take keys back; outcome Unknown"),
        (by_key, Outcome::ToolGone, false, "outcome ToolGone"),
        // A dialog that ignored its key may be answered again; one that a hook has answered may not.
        (by_key, Outcome::NotTaken, false, "take keys back; outcome NotTaken; offer again"),
        (by_hook, Outcome::NotTaken, false, "outcome NotTaken"),
        // Keys of somebody else are not a hook's to take back.
        (by_hook, Outcome::NotTaken, true, "outcome NotTaken"),
    ] {
        let events = [(0, seen(1)), (200, injected(1)), (250, settled(1, delivery, outcome, lies_unread))];
        check(events, expected);
    }
}

/// A digit that came milliseconds after the dialog was closed stood in the input box, or answered the next dialog.
#[test]
fn keys_come_too_late_for_as_long_as_nobody_can_have_seen() {
    let taken = || settled(1, (Field::KeyDialog, Via::Hook), Outcome::Taken, false);
    let prompts = check([(0, seen(1)), (200, injected(1)), (250, taken())], "drop late keys; outcome Taken");
    assert!(prompts.are_keys_late(at(549)) && !prompts.are_keys_late(at(550)));
    let events = [
        (0, seen(1)),
        (200, injected(1)),
        (250, taken()),
        (251, gone(1, Departure::Injected)),
        (260, seen(2)),
    ];
    assert!(check(events, "tell 2").are_keys_late(at(300)), "the next dialog is not answered by them");
    let by_line = settled(1, (Field::LineDialog, Via::Keys), Outcome::Taken, false);
    let prompts = check([(0, seen(1)), (200, injected(1)), (250, by_line)], "outcome Taken");
    assert!(!prompts.are_keys_late(at(251)));
}

#[test]
fn who_asked_is_known_while_it_stands() {
    assert_eq!(check([(0, drawn(1))], "").asked_by(), None);
    assert_eq!(check([(0, drawn(1)), (1, PromptEvent::RequestCame)], "tell 1").asked_by(), Some(7));
    let prompts = check([(0, seen(1)), (9, gone(1, Departure::Injected))], "request Over; 1 gone");
    assert_eq!(prompts.asked_by(), None);
}

#[test]
fn what_was_answered_here_is_remembered_for_a_while() {
    let mut prompts = Prompts::new(KEYS_AFTER);
    for no in 0..100 {
        prompts.step(seen(no), at(0));
        prompts.step(gone(no, Departure::LocalInput), at(1));
    }
    assert!(!prompts.was_answered_here(SightingNo(35)) && prompts.was_answered_here(SightingNo(36)));
    assert!(prompts.was_answered_here(SightingNo(99)));
}

proptest! {
    /// Whatever comes in whatever order: nobody hears of a departure without the arrival, a reply is judged, refused or
    /// waits, and none is forgotten.
    #[test]
    fn no_reply_is_lost_and_nothing_leaves_that_nobody_was_told_of(
        walk in prop::collection::vec((0u8..9, 0u64..700), 1..80)
    ) {
        let mut prompts = Prompts::new(KEYS_AFTER);
        let (mut now, mut no, mut stands) = (0, 0, false);
        let mut told = Vec::new();
        let mut unanswered: Option<u32> = None;
        for (what, pause) in walk {
            now += pause;
            let event = match what {
                0 | 1 if !stands || pause % 3 == 0 => {
                    no += 1;
                    stands = true;
                    if what == 0 { seen(no) } else { drawn(no) }
                }
                2 if stands => {
                    stands = false;
                    gone(no, if pause % 2 == 0 { Departure::LocalInput } else { WITHDRAWN })
                }
                3 | 4 => {
                    unanswered = Some(no);
                    reply(no, 0, if what == 3 { NOBODY } else { DIALOG })
                }
                5 => PromptEvent::RequestCame,
                6 => PromptEvent::LineSent,
                7 => injected(no),
                _ => PromptEvent::Tick,
            };
            for effect in prompts.step(event, at(now)) {
                match effect {
                    PromptEffect::Announce(sighting) => told.push(sighting.no),
                    PromptEffect::ReportLeft(no, _) | PromptEffect::NoteGone(no, _) => {
                        prop_assert!(told.contains(&no), "{no:?} left untold");
                    }
                    PromptEffect::Judge(reply) | PromptEffect::Refuse(reply) | PromptEffect::Consider(reply) => {
                        prop_assert_eq!(unanswered.take(), Some(reply.request.sighting.0));
                    }
                    PromptEffect::NoteUnasked
                    | PromptEffect::EndRequest(..)
                    | PromptEffect::LookLast(_)
                    | PromptEffect::TakeBackKeys
                    | PromptEffect::DropLateKeys
                    | PromptEffect::TellOutcome(..)
                    | PromptEffect::OfferAgain => {}
                }
            }
            let waits = matches!(prompts.now, Some(OnScreen { stage: Stage::Early { .. }, .. }));
            prop_assert_eq!(unanswered.is_some(), waits, "a reply waits as long as it is not answered");
        }
    }
}
