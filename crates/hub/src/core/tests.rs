//! What follows from each event, given what is known.

use std::collections::HashMap;
use std::time::Duration;

use atlasbridge_channel::{Done, JobNo, Target, Undelivered};
use atlasbridge_model::answer::{Refusal, Said, Source, Value, default_value};
use atlasbridge_model::lifecycle::{self, Departure, Do, Failure, NotApplied, PromptState, Resolution};
use atlasbridge_model::{BootTime, Kind, Now, Sighting};
use atlasbridge_store::{
    Advance, DuePost, FollowUp, Handling, Moved, Notice, Once, OpenText, Outcome, PromptRecord,
    SessionRecord, SessionStatus, TextMove,
};
use atlasbridge_wire::journal::Trace;

use super::acts::{Act, Asker, Committed, Event, Follows, QueuedRefused};
use super::channels::Subscription;
use super::view::{Board, Facts, Reads, Takes, View};
use super::{Core, polled};
use crate::Defaults;
use crate::decide::{Actor, Answer, Busy, Decision, Matter, Verdict};
use crate::sample::*;

/// A hub with a chat of two operators, which has looked at everything.
fn hub() -> Core {
    let mut core = Core::new(settings(), 7);
    core.channels.open(subscription(), NOW);
    core.channels.counted_down(0, NOW.boot);
    core
}

#[track_caller]
fn check(event: Event, view: &View, expected: &str) {
    check_in(&mut hub(), event, view, expected);
}

#[track_caller]
fn check_in(core: &mut Core, event: Event, view: &View, expected: &str) {
    row(&acts(&core.on(event, view)), expected);
}

#[track_caller]
fn check_committed(committed: Committed, view: &View, expected: &str) {
    check_in(&mut hub(), on_record(committed), view, expected);
}

fn on_record(committed: Committed) -> Event {
    Event::Committed(Box::new(committed))
}

fn decided(by: Actor, matter: Matter) -> Event {
    Event::Decided(Box::new(decision(by, matter)))
}

fn asked(by: Actor) -> Asker {
    Asker { by, caller: Some(CALLER) }
}

fn at(millis: i64) -> View {
    let now = Now { wall: NOW.wall.plus_millis(millis), boot: NOW.boot.plus_millis(millis) };
    View { now, ..view() }
}

fn sighted(sighting: Sighting, typed_ago: Option<Duration>) -> Event {
    Event::Sighted { session: session_id(), sighting: Box::new(sighting), typed_ago }
}

fn outcome(what: lifecycle::Event) -> Event {
    Event::Outcome { session: session_id(), prompt: prompt_id(), what }
}

fn moved(prompt: PromptRecord, effects: Vec<Do>) -> Moved {
    Moved { prompt, effects }
}

/// An answer that won with this value.
fn won(value: Option<Value>, by: Actor) -> Committed {
    let reply = reply(value, by.source(), &by.decided_by());
    let moved = moved(prompt(yes_no(), received()), vec![Do::Deliver(reply_id())]);
    Committed::Contended { outcome: Once::First(Outcome::Won { reply, moved }), asked: asked(by) }
}

fn lost(refusal: Refusal, by: Actor) -> Committed {
    Committed::Contended { outcome: Once::First(Outcome::Refused(refusal)), asked: asked(by) }
}

fn noted(verdict: Verdict, handling: Handling) -> Committed {
    Committed::Noted { handling, verdict, asked: asked(tap()) }
}

fn advanced(prompt: PromptRecord, effects: Vec<Do>) -> Committed {
    Committed::Advanced(Advance::Moved(moved(prompt, effects)))
}

fn time_up() -> Event {
    Event::TimeUp { prompt: prompt_id() }
}

fn board(posts: Vec<DuePost>, notices: Vec<Notice>) -> View {
    let posts = posts.into_iter().map(|post| (post, None)).collect();
    View { boards: vec![Board { channel: CHAT, notices, posts, next: None }], ..view() }
}

// Beginnings.

#[test]
fn a_new_hub_passes_turns_on_and_settles_what_an_older_one_left() {
    check(
        Event::Started { sessions: vec![session_id(), other_session()] },
        &view(),
        "promote S | then send what waits for S | promote S2 | then send what waits for S2 | then settle texts",
    );
    check(Event::Started { sessions: Vec::new() }, &view(), "then settle texts");
}

#[test]
fn whoever_wants_to_hear_of_it_is_told_that_a_session_has_started() {
    check(
        Event::Began(Box::new(session())),
        &view(),
        "follow: say to chat/7 claude (51515151) has started in /home/dev.; say to chat/8 claude (51515151) has started in /home/dev.",
    );
    let quiet = Subscription { notify_start: false, ..subscription() };
    let mut core = Core::new(settings(), 7);
    core.channels.open(quiet, NOW);
    check_in(&mut core, Event::Began(Box::new(session())), &view(), "nothing");
}

// Sightings.

#[test]
fn a_sighting_is_recorded_with_its_time() {
    check(sighted(yes_no(), None), &view_of(facts(session())), "record yes_no of S as P'/N for 60 s");
    check(
        sighted(menu(), Some(Duration::from_secs(3))),
        &view_of(facts(session())),
        "record multiple_choice of S as P'/N for 60 s, typed 3 s ago",
    );
}

#[test]
fn waiting_for_an_instruction_never_expires() {
    check(sighted(idle(), None), &view_of(facts(session())), "record idle of S as P'/N for ever");
}

#[test]
fn a_text_question_expires_at_once_where_texts_are_switched_off() {
    let mut core = hub();
    core.settings.free_text_enabled = false;
    check_in(
        &mut core,
        sighted(free_text(), None),
        &view_of(facts(session())),
        "record free_text of S as P'/N for 0 s",
    );
    check_in(
        &mut core,
        sighted(yes_no(), None),
        &view_of(facts(session())),
        "record yes_no of S as P'/N for 60 s",
    );
}

#[test]
fn a_session_that_has_ended_shows_nothing() {
    check(sighted(yes_no(), None), &view_of(facts(ended())), "nothing");
    check(sighted(yes_no(), None), &view(), "nothing");
}

fn recorded(sighting: Sighting, typed_ago: Option<Duration>) -> Committed {
    Committed::Recorded { prompt: waiting(sighting), typed_ago }
}

#[test]
fn a_recorded_prompt_is_offered_everywhere() {
    check_committed(recorded(yes_no(), None), &view(), "offer P to chat/7+8");
    check_in(
        &mut Core::new(settings(), 7),
        on_record(recorded(yes_no(), None)),
        &view(),
        "offer P to nobody",
    );
}

#[test]
fn chats_wait_a_little_while_somebody_types_at_the_terminal() {
    check_committed(
        recorded(yes_no(), Some(Duration::from_secs(3))),
        &view(),
        "offer P to chat/7+8 after 7 s",
    );
    check_committed(recorded(yes_no(), Some(Duration::from_secs(60))), &view(), "offer P to chat/7+8");
}

#[test]
fn a_tool_that_waits_gets_the_instruction_that_was_left_for_it() {
    check_committed(recorded(idle(), None), &view(), "offer P to chat/7+8 | then send what waits for S");
    check_committed(Committed::Promoted(Some(waiting(idle()))), &view(), "then send what waits for S");
    check_committed(Committed::Promoted(Some(waiting(yes_no()))), &view(), "nothing");
    check_committed(Committed::Promoted(None), &view(), "nothing");
}

#[test]
fn a_channel_that_opens_is_offered_what_is_open() {
    let view = View { prompts: vec![waiting(yes_no())], ..view() };
    let mut core = Core::new(settings(), 7);
    check_in(&mut core, Event::ChannelOpened(subscription()), &view, "offer P to chat/7+8");
}

#[test]
fn a_channel_that_is_closed_is_offered_nothing() {
    let mut core = hub();
    core.channels.close(CHAT);
    check_in(&mut core, on_record(recorded(yes_no(), None)), &view(), "offer P to nobody");
}

// Prompts leave.

#[test]
fn a_prompt_that_left_the_screen_is_over_as_it_left() {
    let left = |sighting| Event::Left { session: session_id(), sighting, how: Departure::AnsweredLocally };
    let view = view_of(Facts { prompts: vec![waiting(yes_no())], ..facts(session()) });
    check(left(3), &view, "advance P: left, AnsweredLocally");
    check(left(4), &view, "nothing");
}

#[test]
fn the_hosts_word_about_its_own_reply_is_believed() {
    let typed = lifecycle::Event::Typed { reply: reply_id() };
    check(outcome(typed), &view_on(prompt(yes_no(), received())), "advance P: R0 typed");
    let not = lifecycle::Event::NotApplied { reply: reply_id(), why: NotApplied::AnsweredLocally };
    check(outcome(not), &view_on(prompt(yes_no(), received())), "advance P: R0 not applied: AnsweredLocally");
}

#[test]
fn a_host_is_not_believed_about_another_sessions_prompt() {
    let taken = lifecycle::Event::Taken { reply: reply_id() };
    let what = Event::Outcome { session: other_session(), prompt: prompt_id(), what: taken.clone() };
    check(what, &view_on(prompt(yes_no(), injected())), "nothing");
    check(outcome(taken), &view(), "nothing");
}

// Sessions end.

fn with_one_of_each() -> View {
    let under_way = |state| PromptRecord { id: other_prompt(), ..prompt(yes_no(), state) };
    let expired = PromptState::Expired { fallback: Some(reply_id()) };
    let prompts = vec![waiting(yes_no()), under_way(received()), under_way(injected()), under_way(expired)];
    view_of(Facts { prompts, ..facts(session()) })
}

#[test]
fn prompts_end_before_the_session_that_ends() {
    let ended = Event::ToolEnded { session: session_id(), status: SessionStatus::Completed, code: 3 };
    check(
        ended,
        &with_one_of_each(),
        "advance P2: R0 not applied: Failed(ToolGone) | advance P2: R0 not applied: Failed(Unknown) | advance P2: R0 not applied: Failed(ToolGone) | advance P: left, ToolEnded | end S as completed with Some(3) | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: completed, exit code 3.; say to chat/8 claude (51515151) has ended: completed, exit code 3.",
    );
}

/// With its turn a tool that has ended would get the text that waits for it, and its prompt would never end.
#[test]
fn the_turn_of_a_session_that_ends_is_passed_to_nobody() {
    let last = PromptRecord { id: other_prompt(), ..prompt(idle(), PromptState::Routed) };
    let view = view_of(Facts { prompts: vec![waiting(yes_no()), last], ..facts(session()) });
    let order = |event| acts(&hub().on(event, &view)).split(" | ").take(2).collect::<Vec<_>>().join(" | ");
    let ended = Event::ToolEnded { session: session_id(), status: SessionStatus::Completed, code: 0 };
    assert_eq!(order(ended), "advance P2: left, ToolEnded | advance P: left, ToolEnded");
    let lost = Event::HostLost { session: session_id(), traces: HashMap::new() };
    assert_eq!(order(lost), "advance P2: host lost | advance P: host lost");
}

#[test]
fn a_host_that_was_killed_is_judged_by_its_journal() {
    let lost = |trace: Option<Trace>| {
        let traces = trace.map(|trace| (reply_id().to_string(), trace));
        Event::HostLost { session: session_id(), traces: HashMap::from_iter(traces) }
    };
    let with = |state| view_of(Facts { prompts: vec![prompt(yes_no(), state)], ..facts(session()) });
    check(
        lost(None),
        &with(PromptState::AwaitingReply),
        "advance P: host lost | end S as crashed with None | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: its host was killed, and th…; say to chat/8 claude (51515151) has ended: its host was killed, and th… | forget the journal of S",
    );
    check(
        lost(None),
        &with(received()),
        "advance P: R0 not applied: Failed(ToolGone) | end S as crashed with None | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: its host was killed, and th…; say to chat/8 claude (51515151) has ended: its host was killed, and th… | forget the journal of S",
    );
    check(
        lost(Some(Trace::NotTyped)),
        &with(received()),
        "advance P: R0 not applied: Failed(ToolGone) | end S as crashed with None | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: its host was killed, and th…; say to chat/8 claude (51515151) has ended: its host was killed, and th… | forget the journal of S",
    );
    check(
        lost(Some(Trace::Unknown)),
        &with(received()),
        "advance P: R0 not applied: Failed(Unknown) | end S as crashed with None | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: its host was killed, and th…; say to chat/8 claude (51515151) has ended: its host was killed, and th… | forget the journal of S",
    );
    check(
        lost(Some(Trace::Typed)),
        &with(received()),
        "advance P: R0 typed | advance P: R0 not applied: Failed(Unknown) | end S as crashed with None | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: its host was killed, and th…; say to chat/8 claude (51515151) has ended: its host was killed, and th… | forget the journal of S",
    );
    // It had said goodbye before.
    check(lost(None), &view_of(facts(ended())), "forget the journal of S");
}

/// The gate has said that it typed: a journal that is lost, or a host that says no more, does not unsay it.
#[test]
fn what_the_gate_has_typed_is_never_said_to_have_reached_nothing() {
    let view = || view_of(Facts { prompts: vec![prompt(yes_no(), injected())], ..facts(session()) });
    for trace in [None, Some(Trace::NotTyped), Some(Trace::Unknown), Some(Trace::Typed)] {
        let traces = HashMap::from_iter(trace.map(|trace| (reply_id().to_string(), trace)));
        let told = acts(&hub().on(Event::HostLost { session: session_id(), traces }, &view()));
        assert!(told.contains("advance P: R0 not applied: Failed(Unknown)"), "{trace:?}: {told}");
        assert!(!told.contains("ToolGone"), "{trace:?}: {told}");
    }
    let ended = Event::ToolEnded { session: session_id(), status: SessionStatus::Completed, code: 0 };
    let told = acts(&hub().on(ended, &view()));
    assert!(told.starts_with("advance P: R0 not applied: Failed(Unknown)"), "{told}");
}

#[test]
fn whoever_wants_to_hear_of_it_is_told_that_a_session_has_ended() {
    let over = || Event::ToolEnded { session: session_id(), status: SessionStatus::Completed, code: 0 };
    check(
        over(),
        &view_of(facts(session())),
        "end S as completed with Some(0) | S is over | then settle texts | follow: say to chat/7 claude (51515151) has ended: completed, exit code 0.; say to chat/8 claude (51515151) has ended: completed, exit code 0.",
    );
    let quiet = Subscription { notify_end: false, ..subscription() };
    let mut core = Core::new(settings(), 7);
    core.channels.open(quiet, NOW);
    let silent = "end S as completed with Some(0) | S is over | then settle texts";
    check_in(&mut core, over(), &view_of(facts(session())), silent);
    check(over(), &view(), silent);
}

// Time.

#[test]
fn silence_takes_the_safe_default_or_nothing() {
    check(time_up(), &view_on(waiting(yes_no())), "expire P with \"no\" as R");
    check(time_up(), &view_on(waiting(menu())), "expire P with \"No\" as R");
    check(time_up(), &view_on(waiting(confirm_enter())), "expire P with \"enter\" as R");
    check(time_up(), &view_on(waiting(free_text())), "expire P with \"enter\" as R");
    check(time_up(), &view_on(waiting(Sighting { offers_default: true, ..free_text() })), "expire P");
    check(time_up(), &view_on(waiting(password())), "expire P");
    check(time_up(), &view_on(waiting(unknown())), "expire P");
    check(time_up(), &view_on(waiting(possible(yes_no()))), "expire P");
    check(time_up(), &view(), "nothing");
}

#[test]
fn a_default_that_is_switched_off_is_not_taken() {
    let mut core = hub();
    core.settings.defaults =
        Defaults { yes_no: false, confirm_enter: false, multiple_choice: false, free_text: false };
    for sighting in [yes_no(), menu(), confirm_enter(), free_text()] {
        assert!(default_value(&sighting).is_ok());
        check_in(&mut core, time_up(), &view_on(waiting(sighting)), "expire P");
    }
}

/// Such prompts have no default: this is the second bolt.
#[test]
fn no_setting_lets_silence_answer_what_has_no_safe_default() {
    for kind in [Kind::Password, Kind::Idle, Kind::Unknown] {
        assert!(!hub().takes_default(kind), "{kind}");
    }
}

#[test]
fn each_prompt_whose_time_is_up_is_judged_for_itself() {
    let other = PromptRecord { id: other_prompt(), ..waiting(menu()) };
    check(
        Event::Moment,
        &View { prompts: vec![waiting(yes_no()), other], ..view() },
        "then time is up for P | then time is up for P2",
    );
}

#[test]
fn whoever_waits_is_told_after_a_while_how_the_prompt_stands() {
    let mut core = hub();
    core.on(on_record(won(Some(yes()), command())), &view());
    core.on(on_record(won(Some(yes()), tap())), &view());
    check_in(&mut core, Event::Moment, &at(1_999), "nothing");
    check_in(&mut core, Event::Moment, &at(2_000), "tell 1: standing P Some(\"yes\")");
    check_in(&mut core, Event::Moment, &at(4_000), "tell 1: standing P Some(\"yes\")");
    check_in(&mut core, Event::Moment, &at(9_000), "nothing");
}

#[test]
fn the_next_moment_is_the_first_that_somebody_waits_for() {
    let mut core = Core::new(settings(), 7);
    assert_eq!(core.next_time(), None);
    core.on(on_record(won(None, page())), &view());
    assert_eq!(core.next_time(), Some(NOW.boot.plus_millis(4_000)));
    core.on(on_record(won(None, tap())), &view());
    assert_eq!(core.next_time(), Some(NOW.boot.plus_millis(2_000)));
    core.channels.open(subscription(), NOW);
    assert_eq!(core.next_time(), Some(BootTime(0)));
}

// Decisions.

#[test]
fn an_answer_contends_together_with_all_that_would_follow() {
    check(
        decided(tap(), answer(Said::Row(0))),
        &view_on(waiting(yes_no())),
        "contend \"yes\" for P of S with N0 as R by chat chat:7, 2 hear of a pause, somebody waits",
    );
    let offer = Box::new(Decision {
        spent: Some("q0".to_owned()),
        caller: None,
        ..decision(tap(), answer(Said::DenyWith("no".to_owned())))
    });
    check(
        Event::Decided(offer),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by chat chat:7, if won: keep T \"no\" by chat:7, heard at 7, answers q0, 2 hear of a pause",
    );
}

#[test]
fn to_leave_a_prompt_contends_too() {
    check(
        decided(page(), answer(Said::Cancel)),
        &view_on(waiting(yes_no())),
        "leave P, 2 hear of a pause, somebody waits",
    );
}

#[test]
fn an_answer_to_nothing_is_on_record() {
    check(
        decided(tap(), answer(Said::Row(0))),
        &view(),
        "note refused: unknown_prompt; record REPLY_REJECTED unknown_prompt of -/- by chat:7, somebody waits",
    );
}

#[test]
fn a_text_that_is_kept_can_be_taken_back_by_its_button() {
    check(
        decided(writer(), instruct("go on")),
        &view_of(working()),
        "note queued T, Working; say to chat/7 under m1 claude (51515151) is working; this is sent as its next i…; ask 7 q for 604800 s: {\"take_back\":{\"session\":\"S\",\"reply\":\"T\"}}; keep T \"go on\" by chat:7, heard at 7 m1, somebody waits",
    );
    check(
        decided(command(), instruct("go on")),
        &view_of(working()),
        "note queued T, Working; keep T \"go on\" by uid:1000, somebody waits",
    );
}

#[test]
fn the_answer_to_a_question_of_ours_uses_it_up() {
    let stop = Box::new(Decision {
        spent: Some("q0".to_owned()),
        ..decision(tap(), Matter::Stop { session: session_id() })
    });
    check(
        Event::Decided(stop),
        &view_of(facts(session())),
        "note stopping S; record REPLY_RECEIVED stop of S/- by chat:7; answers q0, somebody waits",
    );
}

#[test]
fn what_is_read_for_an_event_is_what_it_is_judged_by() {
    let core = hub();
    let (prompt, session) = (Reads::Prompt(prompt_id()), Reads::Session(session_id()));
    let of_session = session_id();
    let take_back = Matter::TakeBack { session: of_session, only: None };
    let unnamed = Answer { on: Err(Refusal::UnknownPrompt), said: Said::Approve, as_is: false, then: None };
    let noted = |verdict| on_record(noted(verdict, Handling::Done));
    let rows = [
        (decided(tap(), answer(Said::Row(0))), prompt.clone()),
        (decided(command(), Matter::Answer(unnamed)), Reads::Nothing),
        (decided(tap(), instruct("x")), session.clone()),
        (decided(tap(), take_back), session.clone()),
        (decided(tap(), Matter::Stop { session: of_session }), session.clone()),
        (decided(tap(), Matter::Resume { session: of_session }), session.clone()),
        (decided(tap(), Matter::Switch { session: of_session }), session.clone()),
        (decided(tap(), Matter::Mute { time: Duration::ZERO }), Reads::Nothing),
        (time_up(), prompt.clone()),
        (outcome(lifecycle::Event::HostLost), prompt),
        (sighted(yes_no(), None), session.clone()),
        (Event::SendQueued { session: of_session }, session),
        (Event::Moment, Reads::Due),
        (Event::ChannelOpened(subscription()), Reads::Open),
        (Event::SettleTexts, Reads::Texts),
        (Event::Deliver { session: of_session }, Reads::Undelivered(of_session)),
        (Event::Polled { channel: CHAT, gap: None }, Reads::Polled(CHAT)),
        (Event::Look, Reads::Boards(vec![(CHAT, Takes::Something)])),
        (noted(Verdict::TakenBack), Reads::Nothing),
        (on_record(Committed::Done), Reads::Nothing),
        (done(1, "7"), Reads::Nothing),
    ];
    for (event, expected) in rows {
        assert_eq!(core.reads(&event), expected, "{event:?}");
    }
}

// What became of an answer.

#[test]
fn an_answer_that_won_is_delivered_and_its_sender_waits_for_the_end() {
    let mut core = hub();
    check_in(&mut core, on_record(won(Some(yes()), command())), &view(), "then deliver to S");
    let over = advanced(prompt(yes_no(), applied()), vec![Do::PromoteNext]);
    check_in(&mut core, on_record(over), &view(), "promote S | tell 1: standing P Some(\"yes\")");
    check_in(&mut core, Event::Moment, &at(9_000), "nothing");
}

#[test]
fn nobody_is_told_of_the_end_of_another_prompt() {
    let mut core = hub();
    core.on(on_record(won(Some(yes()), command())), &view());
    let other = PromptRecord { id: other_prompt(), ..prompt(yes_no(), applied()) };
    check_in(&mut core, on_record(advanced(other, vec![])), &view(), "nothing");
}

#[test]
fn whoever_does_not_wait_is_not_told() {
    let nobody = Asker { by: tap(), caller: None };
    let outcome = Once::First(Outcome::Refused(Refusal::Expired));
    check_committed(Committed::Contended { outcome, asked: nobody.clone() }, &view(), "nothing");
    let mut core = hub();
    let Committed::Contended { outcome, .. } = won(Some(yes()), tap()) else { unreachable!() };
    check_in(
        &mut core,
        on_record(Committed::Contended { outcome, asked: nobody }),
        &view(),
        "then deliver to S",
    );
    check_in(&mut core, Event::Moment, &at(9_000), "nothing");
}

#[test]
fn a_second_tap_changes_nothing() {
    let waits = Refusal::NotWaiting { status: "reply_received", reason: String::new() };
    check_committed(lost(waits, tap()), &view(), "tell 1: refused: not_waiting");
}

#[test]
fn an_update_that_comes_again_changes_nothing() {
    check_committed(
        Committed::Contended { outcome: Once::Repeated, asked: asked(tap()) },
        &view(),
        "tell 1: repeated",
    );
    check_committed(
        Committed::Left { advance: Once::Repeated, asked: asked(tap()) },
        &view(),
        "tell 1: repeated",
    );
    check_committed(noted(Verdict::TakenBack, Handling::Repeated), &view(), "tell 1: repeated");
}

#[test]
fn a_prompt_that_was_left_to_its_terminal_is_told_as_it_stands() {
    let moved = moved(prompt(yes_no(), left_to_terminal()), vec![Do::PromoteNext]);
    let advance = Once::First(Advance::Moved(moved));
    check_committed(
        Committed::Left { advance, asked: asked(page()) },
        &view(),
        "promote S | tell 1: standing P None",
    );
    let advance = Once::First(Advance::Refused(Refusal::Replaced));
    check_committed(Committed::Left { advance, asked: asked(page()) }, &view(), "tell 1: refused: replaced");
}

#[test]
fn a_move_that_is_refused_changes_nothing() {
    check_committed(Committed::Advanced(Advance::Refused(Refusal::Expired)), &view(), "nothing");
    check_committed(Committed::Done, &view(), "nothing");
}

#[test]
fn an_answer_behind_our_back_is_an_alarm_in_the_log_and_passes_the_turn() {
    let state = PromptState::Resolved { how: Resolution::AnsweredOutOfBand };
    check_committed(
        advanced(prompt(yes_no(), state), vec![Do::Alarm, Do::PromoteNext]),
        &view(),
        "promote S",
    );
}

#[test]
fn a_text_is_settled_when_the_prompt_ends_that_may_have_taken_it() {
    check_committed(
        advanced(prompt(idle(), applied()), vec![Do::PromoteNext]),
        &view(),
        "promote S | then settle texts",
    );
}

#[test]
fn a_question_that_was_answered_before_does_nothing() {
    check_committed(
        noted(Verdict::Stopping { session: session() }, Handling::AskGone),
        &view(),
        "tell 1: question gone",
    );
    check_committed(
        noted(Verdict::Resumed { session: session() }, Handling::AskGone),
        &view(),
        "tell 1: question gone",
    );
}

#[test]
fn what_is_on_record_is_told_to_whoever_decided_it() {
    let busy = Busy::Working;
    let queued = Verdict::Queued { session: session(), busy, replaces: false, text: text_id() };
    check_committed(noted(queued, Handling::Done), &view(), "tell 1: queued T0, Working");
    check_committed(noted(Verdict::TakenBack, Handling::Done), &view(), "tell 1: taken back");
    check_committed(
        noted(Verdict::Muted { time: Duration::ZERO }, Handling::Done),
        &view(),
        "tell 1: muted 0 s",
    );
    check_committed(
        noted(Verdict::Switched { session: session() }, Handling::Done),
        &view(),
        "tell 1: switched to S",
    );
    let standing = Verdict::Standing { prompt: prompt_id(), answer: None };
    check_committed(noted(standing, Handling::Done), &view(), "tell 1: standing P None");
}

#[test]
fn a_session_is_stopped_once_that_is_on_record() {
    let stopping = || noted(Verdict::Stopping { session: session() }, Handling::Done);
    check_committed(stopping(), &view(), "stop S of host 4711, somebody waits");
}

#[test]
fn a_session_that_is_resumed_gets_what_waited_for_it() {
    check_committed(
        noted(Verdict::Resumed { session: session() }, Handling::Done),
        &view(),
        "then send what waits for S | tell 1: resumed S",
    );
}

// What follows a refusal.

#[track_caller]
fn check_follows(refusal: Option<Refusal>, by: Actor, expected: &str) {
    let core = hub();
    let won = FollowUp { text: Some(TextMove::Queue(text_of_chat())), ..FollowUp::default() };
    let view = view_on(waiting(yes_no()));
    let question = Decision { spent: Some("q0".to_owned()), ..decision(by.clone(), answer(Said::Deny)) };
    let follows: Follows = core.follows(won, &question, &view);
    row(&follow(&follows.of(refusal.as_ref(), &by)), expected);
}

#[test]
fn what_was_to_follow_follows_only_if_the_answer_wins() {
    check_follows(None, tap(), "answers q0; keep T0 \"and test it\" by chat:7, heard at 7 m0");
    check_follows(Some(Refusal::Expired), tap(), "answers q0");
}

#[test]
fn whoever_wrote_a_message_that_lost_is_told_so() {
    check_follows(
        Some(Refusal::Expired),
        writer(),
        "say to chat/7 under m1 This prompt has expired. Nothing was typed.; answers q0",
    );
    check_follows(Some(Refusal::Expired), page(), "answers q0");
}

#[test]
fn everybody_hears_of_the_answer_that_was_one_too_many() {
    check_follows(
        Some(Refusal::TooMany),
        writer(),
        "say to chat/7 claude (51515151) got more than 10 answers from afar wit…; say to chat/8 claude (51515151) got more than 10 answers from afar wit…; answers q0",
    );
    check_follows(
        Some(Refusal::Paused),
        writer(),
        "say to chat/7 under m1 This session is paused after too many answers. Send /res…; answers q0",
    );
}

#[track_caller]
fn check_queued_refused(outcome: &Outcome, expected: &str) {
    let of_pause = hub().of_pause(&session());
    let refused = QueuedRefused { text: text_of_chat(), session: session(), of_pause };
    row(&follow(&refused.of(outcome)), expected);
}

#[test]
fn the_author_of_a_text_that_is_refused_is_told_why() {
    let reply = reply(Some(yes()), Source::Command, "uid:1000");
    let moved = moved(prompt(idle(), received()), vec![]);
    check_queued_refused(&Outcome::Won { reply, moved }, "nothing else");
    check_queued_refused(
        &Outcome::Refused(Refusal::NotOneLine),
        "say to chat/7 under m0 Not sent to claude (51515151): The answer must be one li…",
    );
    check_queued_refused(
        &Outcome::Refused(Refusal::Paused),
        "say to chat/7 under m0 Not sent to claude (51515151): This session is paused af…",
    );
    check_queued_refused(
        &Outcome::Refused(Refusal::TooMany),
        "say to chat/7 under m0 Not sent to claude (51515151): More than 10 answers with…; say to chat/7 claude (51515151) got more than 10 answers from afar wit…; say to chat/8 claude (51515151) got more than 10 answers from afar wit…",
    );
}

// Texts for tools.

#[test]
fn a_text_is_sent_when_its_tool_waits_and_not_before() {
    let send = || Event::SendQueued { session: session_id() };
    let queued = |facts| view_of(Facts { queued: Some(text_of_chat()), ..facts });
    check(send(), &queued(idling()), "send T0 to P");
    check(send(), &queued(working()), "nothing");
    check(send(), &view_of(idling()), "nothing");
    check(send(), &view(), "nothing");
}

#[test]
fn a_text_that_was_sent_is_delivered_like_any_reply() {
    let reply = reply(Some(Value::Text("go on".to_owned())), Source::Command, "uid:1000");
    let moved = moved(prompt(idle(), received()), vec![Do::Deliver(reply_id())]);
    check_committed(
        Committed::QueuedSent { outcome: Some(Outcome::Won { reply, moved }) },
        &view(),
        "then deliver to S",
    );
    let refused = Some(Outcome::Refused(Refusal::Paused));
    check_committed(Committed::QueuedSent { outcome: refused }, &view(), "nothing");
    check_committed(Committed::QueuedSent { outcome: None }, &view(), "nothing");
}

#[track_caller]
fn check_settled(sent_to: Option<PromptState>, session: SessionRecord, expected: &str) {
    let sent_to = sent_to.map(|state| prompt(idle(), state));
    let texts = vec![(OpenText { text: text_of_chat(), sent_to }, session)];
    check(Event::SettleTexts, &View { texts, ..view() }, expected);
}

#[test]
fn the_author_of_a_text_is_told_what_became_of_it() {
    check_settled(
        Some(applied()),
        session(),
        "follow: say to chat/7 under m0 Sent to claude (51515151), as its next instruction.; T0 is done",
    );
    check_settled(
        Some(failed(Failure::NotTaken)),
        session(),
        "follow: say to chat/7 under m0 Not sent to claude (51515151): it was typed, but the too…; T0 is unsent: not_taken",
    );
    check_settled(
        Some(failed(Failure::Unknown)),
        session(),
        "follow: say to chat/7 under m0 It is not known whether claude (51515151) took this: it …; T0 is unsent: unknown",
    );
    check_settled(
        Some(PromptState::Resolved { how: Resolution::AnsweredLocally }),
        session(),
        "follow: say to chat/7 under m0 Not sent to claude (51515151): somebody gave it an instr…; T0 is unsent: answered_locally",
    );
    check_settled(
        Some(left_to_terminal()),
        session(),
        "follow: say to chat/7 under m0 Not sent to claude (51515151): the tool no longer waits …; T0 is unsent: by_operator",
    );
    check_settled(
        None,
        ended(),
        "follow: say to chat/7 under m0 Not sent to claude (51515151): the session has ended.; T0 is unsent: session_ended",
    );
}

#[test]
fn a_text_whose_end_is_not_known_is_left_alone() {
    check_settled(Some(injected()), session(), "nothing");
    check_settled(None, session(), "nothing");
}

#[test]
fn the_author_at_the_page_sees_for_themselves_what_became_of_a_text() {
    let texts = vec![(OpenText { text: text_of_page(), sent_to: None }, ended())];
    check(Event::SettleTexts, &View { texts, ..view() }, "follow: T0 is unsent: session_ended");
}

// Replies on their way.

#[test]
fn every_reply_that_a_host_has_not_acknowledged_is_sent() {
    let deliver = || Event::Deliver { session: session_id() };
    let with = |delivery| View { undelivered: vec![delivery], ..view() };
    let received = || prompt(yes_no(), received());
    check(
        deliver(),
        &with(delivery(received(), Some(yes()), Source::Command)),
        "inject into S: R0 Some(\"yes\") for P, sighting 3, epoch 7, not after 55 s",
    );
    check(
        deliver(),
        &with(delivery(received(), Some(yes()), Source::Timeout)),
        "inject into S: R0 Some(\"yes\") for P, sighting 3, epoch 7, by silence",
    );
    check(
        deliver(),
        &with(delivery(prompt(idle(), injected()), Some(yes()), Source::Command)),
        "inject into S: R0 Some(\"yes\") for P, sighting 3, epoch 7",
    );
    check(deliver(), &view(), "nothing");
}

#[test]
fn a_secret_is_remembered_until_its_host_has_spoken_and_no_longer() {
    let mut core = hub();
    let deliver = || Event::Deliver { session: session_id() };
    let secret = || prompt(password(), received());
    let view_of_it = View { undelivered: vec![delivery(secret(), None, Source::Command)], ..view() };
    core.on(on_record(won(Some(Value::Secret("hunter2".to_owned())), tap())), &view());
    check_in(
        &mut core,
        deliver(),
        &view_of_it,
        "inject into S: R0 Some(\"secret\") for P, sighting 3, epoch 7, not after 55 s",
    );
    core.on(outcome(lifecycle::Event::Typed { reply: reply_id() }), &view_on(secret()));
    check_in(
        &mut core,
        deliver(),
        &view_of_it,
        "inject into S: R0 None for P, sighting 3, epoch 7, not after 55 s",
    );
}

// Channels.

#[test]
fn a_gap_in_which_taps_may_be_lost_offers_everything_again() {
    let heard = |gap: u64, last: Option<i64>| {
        let last_poll = last.map(|seconds| NOW.wall.plus_millis(-seconds * 1_000));
        let view = View { last_poll, prompts: vec![waiting(yes_no())], ..view() };
        acts(&polled(CHAT, (gap > 0).then(|| Duration::from_secs(gap)), &view))
    };
    row(&heard(0, None), "chat was heard of");
    row(&heard(121, None), "then offer P again | chat was heard of");
    row(&heard(120, Some(120)), "chat was heard of");
    row(&heard(5, Some(121)), "then offer P again | chat was heard of");
    // The wall clock was set back: the gap that the channel knows of counts.
    row(&heard(200, Some(-3_600)), "then offer P again | chat was heard of");
}

#[test]
fn a_prompt_that_is_offered_again_has_a_new_right() {
    check(Event::OfferAgain { prompt: prompt_id() }, &view(), "offer P again with N");
    check_committed(Committed::OfferedAgain(Some(waiting(yes_no()))), &view(), "offer P to chat/7+8");
    check_committed(Committed::OfferedAgain(None), &view(), "nothing");
}

#[test]
fn a_message_is_posted_and_then_edited() {
    check(
        Event::Look,
        &board(vec![post("7", waiting(yes_no()), None)], vec![]),
        "give chat/7 job 1: post P/N0 awaiting_reply, level 0",
    );
    check(
        Event::Look,
        &board(vec![post("7", waiting(yes_no()), Some("7:1"))], vec![]),
        "give chat/7 job 1: edit 7:1 P/N0 awaiting_reply, level 0",
    );
}

#[test]
fn a_message_shows_who_answered_by_the_name_that_they_go_by() {
    let mut core = hub();
    core.learn_name("chat:7", "Ada".to_owned());
    core.learn_name("chat:8", String::new());
    let answered = |by: &str| {
        let mut due = post("7", prompt(yes_no(), applied()), Some("7:1"));
        due.reply = Some(reply(Some(yes()), Source::Channel(CHAT.to_owned()), by));
        board(vec![due], vec![])
    };
    check_in(
        &mut core,
        Event::Look,
        &answered("chat:7"),
        "give chat/7 job 1: edit 7:1 P/N0 resolved, level 0, \"yes\" by Ada (chat:7)",
    );
    core.channels.ready(CHAT);
    core.on(done(1, "7"), &view());
    check_in(
        &mut core,
        Event::Look,
        &answered("chat:8"),
        "give chat/7 job 2: edit 7:1 P/N0 resolved, level 0, \"yes\" by chat:8",
    );
}

fn done(job: u64, target: &str) -> Event {
    let (job, target) = (JobNo(job), Target(target.to_owned()));
    Event::TaskDone { channel: CHAT, job, target, done: Done::Shown { address: None } }
}

#[test]
fn a_message_of_an_older_offer_says_that_it_was_replaced() {
    let mut core = hub();
    core.settings.show_detail = true;
    let mut due = post("7", waiting(yes_no()), Some("7:1"));
    due.post.nonce = draw().nonce;
    check_in(
        &mut core,
        Event::Look,
        &board(vec![due], vec![]),
        "give chat/7 job 1: edit 7:1 P/N awaiting_reply, level 2, replaced",
    );
}

#[test]
fn the_time_left_is_written_before_anything_is_shown() {
    let mut core = Core::new(settings(), 7);
    core.on(Event::ChannelOpened(subscription()), &view());
    let due = board(vec![post("7", waiting(yes_no()), None)], vec![]);
    check_in(&mut core, Event::Look, &due, "count down on chat");
    check_in(&mut core, on_record(Committed::CountedDown { waiting: 1 }), &view(), "nothing");
    check_in(&mut core, Event::Look, &due, "give chat/7 job 1: post P/N0 awaiting_reply, level 0");
}

#[test]
fn what_a_channel_says_reaches_its_books() {
    let mut core = hub();
    core.on(Event::Look, &board(vec![post("7", waiting(yes_no()), None)], vec![]));
    let (job, target) = (JobNo(1), Target("7".to_owned()));
    let later = Done::NotShown(Undelivered::Later { after: Duration::from_secs(1) });
    check_in(&mut core, Event::TaskDone { channel: CHAT, job, target, done: later }, &view(), "nothing");
    check_in(&mut core, done(1, "7"), &view(), "nothing");
    check_in(&mut core, Event::Polled { channel: CHAT, gap: None }, &view(), "chat was heard of");
}

// All at once.

/// # Recorded-first invariant
/// No event but a commit lets anything about a decision out: what was decided is written first.
#[test]
fn nothing_about_a_decision_leaves_before_it_is_on_record() {
    let matters = || {
        [
            answer(Said::Row(0)),
            answer(Said::Cancel),
            answer(text("maybe")),
            instruct("go on"),
            Matter::TakeBack { session: session_id(), only: None },
            Matter::Stop { session: session_id() },
            Matter::Resume { session: session_id() },
            Matter::Mute { time: Duration::from_secs(60) },
            Matter::Switch { session: session_id() },
        ]
    };
    for by in [command(), page(), tap(), writer()] {
        for state in states() {
            for matter in matters() {
                let event = decided(by.clone(), matter);
                let acts = hub().on(event, &view_on(prompt(yes_no(), state.clone())));
                assert!(matches!(&acts[..], [Act::Commit(_)]), "{acts:?}");
            }
        }
    }
}

/// Whoever waited is told once, whatever ends the prompt.
#[test]
fn whoever_waits_is_told_once() {
    for state in states() {
        let mut core = hub();
        core.on(on_record(won(Some(yes()), command())), &view());
        let over = state.is_over();
        let told = acts(&core.on(on_record(advanced(prompt(yes_no(), state), vec![])), &view()));
        assert_eq!(told, if over { "tell 1: standing P Some(\"yes\")" } else { "nothing" });
        let later = acts(&core.on(Event::Moment, &at(9_000)));
        assert_eq!(later, if over { "nothing" } else { "tell 1: standing P Some(\"yes\")" });
    }
}
