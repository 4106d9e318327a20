//! Each plan of an injection, row by row, and menus that misbehave at random.

use super::*;
use atlasbridge_model::{PromptId, ReplyId, SightingNo};

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

fn delivery() -> Delivery {
    Delivery {
        reply: ReplyId::from_random([1; 16]),
        prompt: PromptId::from_random([2; 16]),
        sighting: SightingNo(1),
        field: Field::KeyDialog,
        via: Via::Keys,
    }
}

fn in_a_box(strokes: Strokes) -> Injection {
    let delivery = Delivery { field: Field::Text, ..delivery() };
    Injection { delivery, ..typing(strokes) }
}

fn typing(strokes: Strokes) -> Injection {
    let ticket = Ticket { delivery: delivery(), route: Route::Type(strokes) };
    let begun = Injection::begun(ticket, None, Duration::ZERO, at(0));
    Injection { has_reacted: true, ..begun }
}

fn nothing() -> Reaction {
    Reaction { presence: Presence::Shown, is_awaited: true, ..Reaction::default() }
}

fn echoed() -> Reaction {
    Reaction { presence: Presence::Shown, is_awaited: true, shows_typed: true, ..Reaction::default() }
}

fn gone() -> Reaction {
    Reaction { presence: Presence::Gone, ..Reaction::default() }
}

#[test]
fn a_single_stroke_is_proven_by_the_prompts_departure() {
    let mut one = typing(Strokes::once("y\r"));
    assert_eq!(one.next(&nothing(), at(1)), Next::WaitUntil(at(2_000)));
    assert_eq!(one.next(&echoed(), at(2)), Next::WaitUntil(at(2_000)));
    assert_eq!(one.next(&gone(), at(3)), Next::Over(Outcome::Taken));
}

#[test]
fn a_tool_that_does_not_react_is_told_of() {
    let mut one = typing(Strokes::once("y\r"));
    assert_eq!(one.next(&nothing(), at(2_000)), Next::Over(Outcome::NotTaken));
}

#[test]
fn enter_follows_only_while_the_same_prompt_stands() {
    let mut two = typing(Strokes::then_enter_if_still_there("y"));
    assert_eq!(two.next(&nothing(), at(300)), Next::WaitUntil(at(2_000)), "not before the text was seen");
    assert_eq!(two.next(&echoed(), at(100)), Next::WaitUntil(at(200)), "not at once");
    let Next::Press(stroke) = two.next(&echoed(), at(200)) else { panic!("Enter is due") };
    assert_eq!(stroke.bytes, b"\r");
    assert_eq!(two.next(&nothing(), at(201)), Next::WaitUntil(at(2_200)));

    let mut taken_by_the_key = typing(Strokes::then_enter_if_still_there("y"));
    assert_eq!(taken_by_the_key.next(&gone(), at(5)), Next::Over(Outcome::Taken), "no Enter to be sure");
}

/// The rows as they were before the key are no proof of it.
#[test]
fn no_key_follows_one_that_the_tool_has_not_reacted_to() {
    let mut two = Injection { has_reacted: false, ..typing(Strokes::then_enter_if_still_there("y")) };
    assert_eq!(two.next(&echoed(), at(300)), Next::WaitUntil(at(2_000)));
    two.has_reacted = true;
    assert!(matches!(two.next(&echoed(), at(300)), Next::Press(_)));
}

/// The dialog has gone, and the tool says that it did the opposite: nobody calls that applied.
#[test]
fn an_answer_that_the_tool_belies_is_unknown() {
    let mut belied = Injection { is_belied: true, ..typing(Strokes::once("y\r")) };
    assert_eq!(belied.next(&gone(), at(3)), Next::Over(Outcome::Unknown));
    let mut ignored = Injection { is_belied: true, ..typing(Strokes::once("y\r")) };
    assert_eq!(ignored.next(&nothing(), at(2_000)), Next::Over(Outcome::NotTaken));
}

/// Something else on the screen moved: that the key was seen is not known, so no Enter follows it.
#[test]
fn a_key_that_is_not_seen_is_followed_by_no_enter() {
    let mut two = typing(Strokes::then_enter_if_still_there("y"));
    let elsewhere = Reaction { shows_typed: false, ..echoed() };
    assert_eq!(two.next(&elsewhere, at(1_900)), Next::WaitUntil(at(2_000)));
    assert_eq!(two.next(&elsewhere, at(2_000)), Next::Over(Outcome::NotTaken));
}

#[test]
fn what_lies_unread_was_not_taken_though_its_prompt_has_gone() {
    let lies = |bytes, is_over| {
        let presence = if is_over { Presence::Ended } else { Presence::Gone };
        Reaction { presence, unread: Unread { bytes, ..Unread::default() }, ..gone() }
    };
    let ends = |look: &Reaction| typing(Strokes::once("y\r")).next(look, at(2_000));
    assert_eq!(ends(&lies(2, false)), Next::Over(Outcome::NotTaken));
    assert_eq!(ends(&lies(2, true)), Next::Over(Outcome::ToolGone));
    assert_eq!(ends(&lies(1, false)), Next::Over(Outcome::Taken), "its first key was read");
    assert_eq!(ends(&lies(0, true)), Next::Over(Outcome::Taken));
}

fn unread(bytes: u64, is_awaited: bool) -> Reaction {
    Reaction { unread: Unread { bytes, is_awaited, ..Unread::default() }, ..nothing() }
}

/// The kernel echoes a line at once, and the question is swept away by it: a slow tool still gets its answer.
#[test]
fn an_answer_that_is_not_read_yet_is_waited_for() {
    let swept = Reaction { presence: Presence::Gone, ..unread(2, true) };
    let mut line = typing(Strokes::once("y\r"));
    assert_eq!(line.next(&swept, at(1)), Next::WaitUntil(at(5)));
    assert_eq!(line.next(&swept, at(200)), Next::WaitUntil(at(250)));
    assert_eq!(line.next(&gone(), at(240)), Next::Over(Outcome::Taken));
    let mut called_away = typing(Strokes::once("2"));
    assert_eq!(called_away.next(&unread(1, true), at(249)), Next::WaitUntil(at(250)));
    assert_eq!(called_away.next(&unread(1, true), at(250)), Next::Over(Outcome::NotTaken));
}

/// On a busy machine a tool that listens waits for a processor first: that time is not counted, up to a limit.
#[test]
fn who_waits_for_a_processor_is_not_called_away() {
    let queued = |millis| {
        let mut look = unread(1, true);
        look.unread.queued = Duration::from_millis(millis);
        look
    };
    let mut slow = typing(Strokes::once("2"));
    assert_eq!(
        slow.next(&queued(9_000), at(100)),
        Next::WaitUntil(at(150)),
        "what was before does not count"
    );
    assert_eq!(slow.next(&queued(9_400), at(600)), Next::WaitUntil(at(650)));
    assert_eq!(slow.next(&queued(9_400), at(650)), Next::Over(Outcome::NotTaken));
    let mut starved = typing(Strokes::once("2"));
    assert!(matches!(starved.next(&queued(0), at(1)), Next::WaitUntil(_)));
    assert_eq!(starved.next(&queued(9_000), at(2_000)), Next::Over(Outcome::NotTaken));
}

/// Whoever asked sleeps over something else: the answer is taken back before the next question.
#[test]
fn an_answer_that_nobody_comes_for_is_taken_back_at_once() {
    let mut line = typing(Strokes::once("y\r"));
    assert!(matches!(line.next(&unread(2, false), at(1)), Next::WaitUntil(_)), "once may be a moment");
    assert!(matches!(line.next(&unread(2, true), at(5)), Next::WaitUntil(_)));
    assert!(matches!(line.next(&unread(2, false), at(9)), Next::WaitUntil(_)));
    assert_eq!(line.next(&unread(2, false), at(13)), Next::Over(Outcome::NotTaken));
}

#[test]
fn a_line_that_was_read_and_changed_nothing_is_unknown() {
    let line = || in_a_box(Strokes::once("hello\r"));
    assert_eq!(line().next(&nothing(), at(2_000)), Next::Over(Outcome::Unknown));
    assert_eq!(line().next(&unread(6, true), at(2_000)), Next::Over(Outcome::NotTaken));
    let in_its_box = Reaction { drafted: Some(true), ..nothing() };
    assert_eq!(line().next(&in_its_box, at(4_000)), Next::Over(Outcome::NotTaken));
}

/// Keys from row `from` to row `to`, as a menu with its marker on `from` would have them.
fn keys(from: usize, to: usize) -> Option<Strokes> {
    let step = if to < from { "\x1b[A" } else { "\x1b[B" };
    let steps = std::iter::repeat_n(step.as_bytes().to_vec(), to.abs_diff(from));
    Strokes::guided(steps.chain([b"\r".to_vec()]))
}

fn steered(from: usize, to: usize) -> Injection {
    let aim = Aim { row: to, label: "No".to_owned() };
    let ticket =
        Ticket { delivery: delivery(), route: Route::Steer { aim, strokes: keys(from, to).unwrap() } };
    let begun = Injection::begun(ticket, None, Duration::ZERO, at(0));
    Injection { has_reacted: true, ..begun }
}

fn marker_on(row: usize, aim: usize) -> Reaction {
    Reaction { needs: keys(row, aim), ..echoed() }
}

#[test]
fn a_marker_is_led_step_by_step_and_enter_waits_for_it() {
    let mut led = steered(0, 2);
    assert_eq!(led.next(&marker_on(0, 2), at(300)), Next::WaitUntil(at(2_000)), "not moved yet");
    assert_eq!(led.next(&marker_on(1, 2), at(100)), Next::WaitUntil(at(200)), "not at once");
    let Next::Press(step) = led.next(&marker_on(1, 2), at(300)) else { panic!("the second step is due") };
    assert_eq!(step.bytes, b"\x1b[B");
    assert_eq!(led.next(&marker_on(1, 2), at(900)), Next::WaitUntil(at(2_300)), "lost: no Enter");
    let Next::Press(enter) = led.next(&marker_on(2, 2), at(1_000)) else {
        panic!("the marker stands on the row")
    };
    assert_eq!(enter.bytes, b"\r");
    assert_eq!(led.next(&marker_on(2, 2), at(1_500)), Next::WaitUntil(at(3_000)), "never twice");
    assert_eq!(led.next(&gone(), at(1_600)), Next::Over(Outcome::Taken));
}

#[test]
fn a_step_that_is_lost_or_goes_astray_is_given_up() {
    let astray = |look: Reaction| {
        let mut led = steered(0, 2);
        assert_eq!(led.next(&look, at(1_900)), Next::WaitUntil(at(2_000)));
        assert_eq!(led.next(&look, at(2_000)), Next::Over(Outcome::NotTaken));
    };
    astray(marker_on(0, 2));
    astray(marker_on(4, 2));
    astray(Reaction { needs: None, ..echoed() });
    let mut moved_only = steered(0, 2);
    assert_eq!(
        moved_only.next(&gone(), at(5)),
        Next::Over(Outcome::NotTaken),
        "a moved marker has chosen nothing"
    );
}

proptest::proptest! {
    /// A menu that loses keys, wraps, jumps and redraws late: Enter is pressed only while its marker is shown on the
    /// row, and at most once.
    #[test]
    fn enter_meets_only_the_row_that_was_meant(
        rows in 2usize..9, from in 0usize..9, to in 0usize..9,
        fates in proptest::collection::vec((0u8..10, 1u64..400), 1..60),
    ) {
        let (from, to) = (from % rows, to % rows);
        let mut led = steered(from, to);
        // The first key is on its way.
        let mut marker = from;
        let mut pending = Some(keys(from, to).unwrap().into_vec().remove(0).bytes);
        let mut entered = 0;
        let mut now = 0;
        for (fate, pause) in fates {
            now += pause;
            if let Some(key) = pending.take() {
                if key == b"\r" {
                    proptest::prop_assert_eq!(marker, to, "Enter took another row");
                    entered += 1;
                } else {
                    let down = key == b"\x1b[B";
                    marker = match fate {
                        0..=2 => marker,
                        3 => (marker + 2) % rows,
                        _ if down => (marker + 1) % rows,
                        _ => (marker + rows - 1) % rows,
                    };
                }
            }
            let look = match fate {
                9 => Reaction { needs: None, ..echoed() },
                _ => marker_on(marker, to),
            };
            match led.next(&look, at(now)) {
                Next::Press(stroke) => pending = Some(stroke.bytes),
                Next::WaitUntil(_) => {}
                Next::Over(outcome) => {
                    proptest::prop_assert_eq!(outcome, Outcome::NotTaken);
                    break;
                }
            }
        }
        proptest::prop_assert!(entered <= 1);
    }
}

#[test]
fn a_text_without_its_enter_was_not_taken() {
    let mut text = in_a_box(Strokes::then_enter_if_still_there("hello"));
    assert_eq!(text.next(&gone(), at(5)), Next::Over(Outcome::NotTaken));
}

/// The rows look right, but more is written already, or nobody waits: the next key is not for what comes then.
#[test]
fn no_further_key_is_pressed_while_nobody_waits_for_it() {
    let mut led = steered(0, 2);
    let busy = Reaction { is_awaited: false, ..marker_on(1, 2) };
    assert_eq!(led.next(&busy, at(300)), Next::WaitUntil(at(304)));
    assert!(matches!(led.next(&marker_on(1, 2), at(304)), Next::Press(_)));
    let mut two = typing(Strokes::then_enter_if_still_there("y"));
    let busy = Reaction { is_awaited: false, ..echoed() };
    assert_eq!(two.next(&busy, at(300)), Next::WaitUntil(at(304)));
    assert!(matches!(two.next(&echoed(), at(304)), Next::Press(_)));
}

/// Nothing knows the screen any more, and yet the text stands there: that is no proof that it was sent.
#[test]
fn a_text_that_still_stands_before_the_cursor_was_not_taken() {
    let mut text = in_a_box(Strokes::then_enter_if_still_there("hello"));
    assert!(matches!(text.next(&echoed(), at(1_000)), Next::WaitUntil(_)));
    assert!(matches!(text.next(&echoed(), at(1_200)), Next::Press(_)));
    let lies_there = Reaction { unsent: true, ..gone() };
    assert_eq!(text.next(&lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
    assert_eq!(text.next(&lies_there, at(3_200)), Next::Over(Outcome::NotTaken));

    let mut sent = in_a_box(Strokes::then_enter_if_still_there("hello"));
    assert!(matches!(sent.next(&echoed(), at(1_000)), Next::WaitUntil(_)));
    assert!(matches!(sent.next(&echoed(), at(1_200)), Next::Press(_)));
    assert_eq!(sent.next(&lies_there, at(1_500)), Next::WaitUntil(at(3_200)));
    assert_eq!(sent.next(&gone(), at(1_600)), Next::Over(Outcome::Taken), "a slow tool took it late");
}

#[test]
fn a_pasted_text_is_known_without_its_marks() {
    let pasted = in_a_box(Strokes::then_enter_if_still_there("\x1b[200~two words\x1b[201~"));
    assert_eq!(pasted.text(), Some("two words"));
    let line = in_a_box(Strokes::once("y\r"));
    assert_eq!(line.text(), None, "a line is sent as it is typed");
}

/// A text is sent once it is seen in its box, a moment later; and once more only if it still stands there.
#[test]
fn an_instruction_is_sent_when_it_is_seen_and_insisted_on_while_it_stands() {
    let mut text = in_a_box(Strokes::then_enter_if_still_there("hello"));
    let seen = |drafted| Reaction { drafted: Some(drafted), ..echoed() };
    assert_eq!(text.next(&seen(false), at(300)), Next::WaitUntil(at(1_200)));
    assert_eq!(text.next(&seen(true), at(700)), Next::WaitUntil(at(900)));
    assert!(matches!(text.next(&seen(true), at(900)), Next::Press(_)));
    assert_eq!(text.next(&seen(true), at(1_000)), Next::WaitUntil(at(2_100)));
    let emptied = text.next(&seen(false), at(2_200));
    assert_eq!(emptied, Next::WaitUntil(at(2_900)), "nothing is left to send");
    assert!(matches!(text.next(&seen(true), at(2_200)), Next::Press(_)));
    assert_eq!(text.next(&seen(true), at(3_500)), Next::WaitUntil(at(4_200)), "never a third time");
    assert_eq!(text.next(&gone(), at(3_600)), Next::Over(Outcome::Taken));
}
