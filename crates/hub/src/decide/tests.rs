//! One row for each thing that can be decided, and for each way in which it comes to nothing.

use std::time::Duration;

use atlasbridge_channel::Address;
use atlasbridge_model::answer::{Refusal, Rules, Said};
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState};
use atlasbridge_model::{LONGEST_MUTE, Takes};
use atlasbridge_store::{CameBy, PromptRecord};

use super::{Actor, Answer, AnswerRight, Matter, Operator, decide};
use crate::core::view::{Facts, View};
use crate::sample::*;

#[track_caller]
fn check(by: Actor, matter: Matter, view: &View, expected: &str) {
    check_by(by, matter, view, Rules::default(), expected);
}

#[track_caller]
fn check_by(by: Actor, matter: Matter, view: &View, rules: Rules, expected: &str) {
    let ruled = decide(&decision(by, matter), view, rules);
    row(&ruling(&ruled), expected);
}

/// An answer that names its prompt, as whoever looks at the machine itself does.
fn here(said: Said, as_is: bool) -> Matter {
    Matter::Answer(Answer {
        on: Ok(AnswerRight { prompt: prompt_id(), nonce: None }),
        said,
        as_is,
        then: None,
    })
}

/// The button *Deny and send it*.
fn deny_and_say(text: &str) -> Matter {
    let then = Some((text.to_owned(), Some(Address("m0".to_owned()))));
    let offer = AnswerRight { prompt: prompt_id(), nonce: Some(nonce()) };
    Matter::Answer(Answer { on: Ok(offer), said: Said::Deny, as_is: true, then })
}

fn deny_with(reason: &str) -> Said {
    Said::DenyWith(reason.to_owned())
}

fn take_back() -> Matter {
    Matter::TakeBack { session: session_id(), only: None }
}

fn stop() -> Matter {
    Matter::Stop { session: session_id() }
}

fn resume() -> Matter {
    Matter::Resume { session: session_id() }
}

fn switch() -> Matter {
    Matter::Switch { session: session_id() }
}

fn mute(seconds: u64) -> Matter {
    Matter::Mute { time: Duration::from_secs(seconds) }
}

// Answers that fit.

#[test]
fn an_answer_that_fits_contends_with_the_right_that_it_came_with() {
    check(
        tap(),
        answer(Said::Row(0)),
        &view_on(waiting(yes_no())),
        "contend \"yes\" for P of S with N0 as R by chat chat:7",
    );
}

#[test]
fn a_command_answers_with_the_present_right() {
    check(
        command(),
        here(Said::Approve, false),
        &view_on(waiting(yes_no())),
        "contend \"yes\" for P of S with N0 as R by cli:command uid:1000",
    );
}

#[test]
fn the_page_answers_by_its_login() {
    check(
        page(),
        answer(Said::Deny),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by web web:1",
    );
}

#[test]
fn a_right_that_is_not_the_present_one_is_for_the_guard_to_refuse() {
    let forged = AnswerRight { prompt: prompt_id(), nonce: Some(draw().nonce) };
    let matter = Matter::Answer(Answer { on: Ok(forged), said: Said::Row(0), as_is: false, then: None });
    check(
        tap(),
        matter,
        &view_on(waiting(yes_no())),
        "contend \"yes\" for P of S with N as R by chat chat:7",
    );
}

#[test]
fn an_answer_that_fits_a_prompt_that_is_over_is_for_the_guard_to_refuse() {
    check(
        tap(),
        answer(Said::Row(0)),
        &view_on(prompt(yes_no(), applied())),
        "contend \"yes\" for P of S with N0 as R by chat chat:7",
    );
}

#[test]
fn to_cancel_leaves_the_prompt_to_its_terminal() {
    check(tap(), answer(Said::Cancel), &view_on(waiting(password())), "leave P with N0 by chat chat:7");
}

#[test]
fn the_default_is_an_answer_like_any_other() {
    check(
        tap(),
        answer(Said::UseDefault),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by chat chat:7",
    );
}

#[test]
fn enter_is_an_answer_where_the_prompt_asks_for_it() {
    check(
        tap(),
        answer(Said::Enter),
        &view_on(waiting(confirm_enter())),
        "contend \"enter\" for P of S with N0 as R by chat chat:7",
    );
}

#[test]
fn a_text_answers_a_text_question() {
    check(
        writer(),
        answer(text("hello")),
        &view_on(waiting(free_text())),
        "contend \"text of 5 characters\" for P of S with N0 as R by chat chat:7",
    );
}

#[test]
fn a_secret_is_an_answer_where_the_operator_has_switched_that_on() {
    let rules = Rules { secrets_over_channels: true, as_is: false };
    check_by(
        writer(),
        answer(text("hunter2")),
        &view_on(waiting(password())),
        rules,
        "contend \"secret\" for P of S with N0 as R by chat chat:7",
    );
}

// Answers that do not.

#[test]
fn an_answer_to_no_prompt_is_refused() {
    check(
        tap(),
        answer(Said::Row(0)),
        &view(),
        "refused: unknown_prompt; record REPLY_REJECTED unknown_prompt of -/- by chat:7",
    );
}

#[test]
fn words_that_name_no_prompt_are_refused_with_their_own_reason() {
    let on = Err(Refusal::AmbiguousPrompt);
    let matter = Matter::Answer(Answer { on, said: Said::Approve, as_is: false, then: None });
    check(
        command(),
        matter,
        &view(),
        "refused: ambiguous_prompt; record REPLY_REJECTED ambiguous_prompt of -/- by uid:1000",
    );
}

#[test]
fn a_text_that_is_no_choice_is_refused() {
    check(
        writer(),
        answer(text("maybe")),
        &view_on(waiting(yes_no())),
        "refused by claude: not_a_choice; record REPLY_REJECTED not_a_choice of S/P by chat:7",
    );
}

#[test]
fn a_secret_is_refused_unless_it_is_switched_on() {
    check(
        writer(),
        answer(text("hunter2")),
        &view_on(waiting(password())),
        "refused by claude: secrets_off; record REPLY_REJECTED secrets_off of S/P by chat:7",
    );
}

#[test]
fn a_prompt_without_a_refusing_answer_is_not_refused_in_name() {
    check(
        command(),
        here(Said::Deny, false),
        &view_on(waiting(free_text())),
        "refused by claude: no_refusing_answer; record REPLY_REJECTED no_refusing_answer of S/P by uid:1000",
    );
}

#[test]
fn a_possible_prompt_has_no_default_to_take() {
    check(
        tap(),
        answer(Said::UseDefault),
        &view_on(waiting(possible(yes_no()))),
        "refused by claude: no_default; record REPLY_REJECTED no_default of S/P by chat:7",
    );
}

#[test]
fn a_late_answer_hears_its_own_reason_and_not_one_about_its_shape() {
    check(
        writer(),
        answer(text("maybe")),
        &view_on(prompt(yes_no(), applied())),
        "refused by claude: not_waiting; record REPLY_REJECTED not_waiting of S/P by chat:7",
    );
    check(
        writer(),
        answer(text("maybe")),
        &view_on(prompt(yes_no(), PromptState::Routed)),
        "refused by claude: queued; record REPLY_REJECTED queued of S/P by chat:7",
    );
    let expired = PromptState::Expired { fallback: None };
    check(
        writer(),
        answer(text("maybe")),
        &view_on(prompt(yes_no(), expired)),
        "refused by claude: expired; record REPLY_REJECTED expired of S/P by chat:7",
    );
}

#[test]
fn a_late_reason_hears_that_it_is_late() {
    check(
        command(),
        here(deny_with("no"), false),
        &view_on(prompt(menu(), applied())),
        "refused by claude: not_waiting; record REPLY_REJECTED not_waiting of S/P by uid:1000",
    );
}

#[test]
fn a_late_reason_that_is_no_instruction_hears_that_it_is_late() {
    let view = view_on(prompt(menu(), applied()));
    check(
        tap(),
        deny_and_say("one line\nand another"),
        &view,
        "refused by claude: not_waiting; record REPLY_REJECTED not_waiting of S/P by chat:7",
    );
}

// Reasons.

#[test]
fn a_reason_goes_with_the_refusal_where_the_tool_takes_one() {
    check(
        page(),
        answer(deny_with("not that one")),
        &view_on(waiting(hooked())),
        "contend \"refused with a reason of 12 characters\" for P of S with N0 as R by web web:1",
    );
}

#[test]
fn a_reason_for_a_tool_that_takes_none_is_kept_as_its_next_instruction() {
    check(
        page(),
        answer(deny_with("not that one")),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by web web:1, if won: keep T \"not that one\" by web:1",
    );
}

#[test]
fn a_tool_that_has_never_waited_may_do_so_yet_and_hears_the_reason_then() {
    let prompt = waiting(menu());
    let view = View { prompt: Some(prompt), ..view_of(facts(session())) };
    check(
        command(),
        here(deny_with("not that one"), false),
        &view,
        "contend \"No\" for P of S with N0 as R by cli:command uid:1000, if won: keep T \"not that one\" by uid:1000",
    );
}

#[test]
fn a_reason_that_would_be_a_command_is_refused_with_the_answer() {
    check(
        command(),
        here(deny_with("!rm -rf x"), false),
        &view_on(waiting(menu())),
        "refused by claude: not_plain; record REPLY_REJECTED not_plain of S/P by uid:1000",
    );
}

#[test]
fn a_reason_whose_sender_knows_what_it_becomes_is_kept() {
    check(
        command(),
        here(deny_with("!ls"), true),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by cli:command uid:1000, if won: keep T \"!ls\" by uid:1000",
    );
}

#[test]
fn a_reason_that_is_too_long_for_an_instruction_is_refused_with_the_answer() {
    let long = "x".repeat(4_001);
    check(
        command(),
        here(deny_with(&long), false),
        &view_on(waiting(menu())),
        "refused by claude: too_long; record REPLY_REJECTED too_long of S/P by uid:1000",
    );
}

#[test]
fn a_reason_in_which_nothing_stands_is_not_kept() {
    check(
        command(),
        here(deny_with(" "), false),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by cli:command uid:1000",
    );
    check(
        command(),
        here(deny_with("\u{1}\u{2}"), false),
        &view_on(waiting(menu())),
        "contend \"No\" for P of S with N0 as R by cli:command uid:1000",
    );
    let never_waited = View { prompt: Some(waiting(menu())), ..view_of(facts(session())) };
    check(
        command(),
        here(deny_with("\t\u{1b}"), false),
        &never_waited,
        "contend \"No\" for P of S with N0 as R by cli:command uid:1000",
    );
}

#[test]
fn a_prompt_whose_session_nobody_knows_takes_no_reason() {
    let view = View { prompt: Some(waiting(menu())), ..view() };
    check(
        command(),
        here(deny_with("no"), false),
        &view,
        "refused: unknown_prompt; record REPLY_REJECTED unknown_prompt of S/P by uid:1000",
    );
}

#[test]
fn deny_and_say_keeps_the_text_under_the_message_that_brought_it() {
    check(
        tap(),
        deny_and_say("!make it green"),
        &view_on(waiting(yes_no())),
        "contend \"no\" for P of S with N0 as R by chat chat:7, if won: keep T \"!make it green\" by chat:7, heard at 7 m0",
    );
}

#[test]
fn a_reason_takes_the_place_of_the_text_that_waited_and_its_author_hears_so() {
    let mut view = view_on(waiting(menu()));
    view.session.as_mut().unwrap().queued = Some(text_of_chat());
    check(
        page(),
        answer(deny_with("not that one")),
        &view,
        "contend \"No\" for P of S with N0 as R by web web:1, if won: say to chat/7 under m0 Not sent to claude (51515151): a newer text takes its pl…; keep T \"not that one\" by web:1",
    );
}

// Instructions.

#[test]
fn an_instruction_answers_the_prompt_that_waits_for_one() {
    check(
        page(),
        instruct("go on"),
        &view_of(idling()),
        "contend \"text of 5 characters\" for P of S with N0 as R by web web:1",
    );
}

#[test]
fn an_instruction_is_kept_while_the_tool_works() {
    check(
        writer(),
        instruct("go on"),
        &view_of(working()),
        "queued T, Working; keep T \"go on\" by chat:7, heard at 7 m1",
    );
    check(page(), instruct("go on"), &view_of(working()), "queued T, Working; keep T \"go on\" by web:1");
}

/// The instruction is kept, because this stands on the screen.
#[track_caller]
fn check_busy(prompts: Vec<PromptRecord>, expected: &str) {
    check(command(), instruct("go on"), &view_of(Facts { prompts, ..working() }), expected);
}

#[test]
fn a_dialog_comes_before_an_instruction() {
    check_busy(vec![waiting(yes_no())], "queued T, Asking; keep T \"go on\" by uid:1000");
    check_busy(vec![prompt(yes_no(), PromptState::Routed)], "queued T, Asking; keep T \"go on\" by uid:1000");
    check_busy(
        vec![prompt(yes_no(), PromptState::Expired { fallback: None }), prompt(idle(), applied())],
        "queued T, Asking; keep T \"go on\" by uid:1000",
    );
}

#[test]
fn a_tool_whose_prompt_was_left_to_the_terminal_waits_there() {
    check_busy(
        vec![prompt(idle(), left_to_terminal())],
        "queued T, LeftToTerminal; keep T \"go on\" by uid:1000",
    );
    check_busy(
        vec![prompt(idle(), failed(Failure::NotTaken))],
        "queued T, LeftToTerminal; keep T \"go on\" by uid:1000",
    );
}

#[test]
fn a_dialog_under_way_is_work() {
    check_busy(vec![prompt(yes_no(), received())], "queued T, Working; keep T \"go on\" by uid:1000");
    check_busy(
        vec![prompt(idle(), left_to_terminal()), prompt(yes_no(), injected())],
        "queued T, Working; keep T \"go on\" by uid:1000",
    );
    let withdrawn = PromptState::Canceled { why: Cancellation::Withdrawn };
    check_busy(vec![prompt(idle(), withdrawn)], "queued T, Working; keep T \"go on\" by uid:1000");
}

#[test]
fn a_newer_text_takes_the_place_of_the_one_that_waits() {
    let queued = |queued| view_of(Facts { queued: Some(queued), ..working() });
    // Its author wrote both from the same place, and is told with the verdict.
    check(
        writer(),
        instruct("go on"),
        &queued(text_of_chat()),
        "queued T, Working, replaces; keep T \"go on\" by chat:7, heard at 7 m1",
    );
    check(
        Actor::Chat(operator("8", Some("m5"))),
        instruct("go on"),
        &queued(text_of_chat()),
        "queued T, Working, replaces; say to chat/7 under m0 Not sent to claude (51515151): a newer text takes its pl…; keep T \"go on\" by chat:8, heard at 8 m5",
    );
    // At the page the author sees it.
    check(
        command(),
        instruct("go on"),
        &queued(text_of_page()),
        "queued T, Working, replaces; keep T \"go on\" by uid:1000",
    );
}

#[test]
fn an_instruction_that_is_refused_says_why() {
    let over = Facts { record: ended(), ..working() };
    check(
        command(),
        instruct("go on"),
        &view_of(over),
        "no instruction: session_ended; record REPLY_REJECTED session_ended of S/- by uid:1000",
    );
    check(
        command(),
        instruct("go on"),
        &view_of(facts(session())),
        "no instruction: takes_no_instruction; record REPLY_REJECTED takes_no_instruction of S/- by uid:1000",
    );
    check(
        command(),
        instruct("  "),
        &view_of(working()),
        "no instruction: nothing_to_send; record REPLY_REJECTED nothing_to_send of S/- by uid:1000",
    );
    check(
        command(),
        instruct(""),
        &view_of(working()),
        "no instruction: nothing_to_send; record REPLY_REJECTED nothing_to_send of S/- by uid:1000",
    );
    check(
        writer(),
        instruct("/clear"),
        &view_of(idling()),
        "no instruction: not_plain; record REPLY_REJECTED not_plain of S/- by chat:7",
    );
    check(
        command(),
        instruct("one\ntwo"),
        &view_of(idling()),
        "no instruction: not_one_line; record REPLY_REJECTED not_one_line of S/- by uid:1000",
    );
    check(
        command(),
        instruct(&"x".repeat(4_001)),
        &view_of(working()),
        "no instruction: too_long; record REPLY_REJECTED too_long of S/- by uid:1000",
    );
    check(
        command(),
        instruct("go on"),
        &view(),
        "no such session; record REPLY_REJECTED unknown_session of -/- by uid:1000",
    );
}

#[test]
fn an_instruction_with_lines_is_sent_where_the_tool_takes_them() {
    let mut facts = idling();
    facts.idle.as_mut().unwrap().sighting.takes = Takes { lines: true, ..Takes::NOTHING };
    check(
        command(),
        instruct("one\ntwo"),
        &view_of(facts),
        "contend \"text of 7 characters\" for P of S with N0 as R by cli:command uid:1000",
    );
}

#[test]
fn a_command_of_the_tool_is_sent_where_its_sender_means_it() {
    let matter = Matter::Instruct { session: session_id(), text: "/clear".to_owned(), as_is: true };
    check(
        command(),
        matter,
        &view_of(idling()),
        "contend \"text of 6 characters\" for P of S with N0 as R by cli:command uid:1000",
    );
}

// What was queued.

fn with_queued() -> View {
    view_of(Facts { queued: Some(text_of_chat()), ..working() })
}

fn with_unsent() -> View {
    view_of(Facts { unsent: Some((text_of_chat(), "not_taken".to_owned())), ..working() })
}

#[test]
fn a_text_that_waits_is_taken_back() {
    check(tap(), take_back(), &with_queued(), "taken back; take back T0 by chat:7");
}

#[test]
fn the_author_hears_that_somebody_else_took_their_text_back() {
    check(
        command(),
        take_back(),
        &with_queued(),
        "taken back; say to chat/7 under m0 Not sent to claude (51515151): somebody took it back.; take back T0 by uid:1000",
    );
    check(
        Actor::Chat(operator("8", None)),
        take_back(),
        &with_queued(),
        "taken back; say to chat/7 under m0 Not sent to claude (51515151): somebody took it back.; take back T0 by chat:8",
    );
}

/// A name says nothing without its channel: two services may have a person 7.
#[test]
fn the_same_name_on_another_channel_is_somebody_else() {
    let operator = Operator { channel: "other", ..operator("7", None) };
    check(
        Actor::Chat(operator),
        take_back(),
        &with_queued(),
        "taken back; say to chat/7 under m0 Not sent to claude (51515151): somebody took it back.; take back T0 by chat:7",
    );
}

#[test]
fn only_the_text_of_the_button_is_taken_back() {
    let only = |only| Matter::TakeBack { session: session_id(), only: Some(only) };
    check(tap(), only(text_id()), &with_queued(), "taken back; take back T0 by chat:7");
    check(tap(), only(reply_id()), &with_queued(), "nothing queued, unsent None; nothing else");
}

#[test]
fn what_could_not_be_sent_is_put_away_at_the_page() {
    check(page(), take_back(), &with_unsent(), "taken back; take back T0 by web:1");
}

#[test]
fn what_could_not_be_sent_is_told_elsewhere() {
    check(command(), take_back(), &with_unsent(), "nothing queued, unsent Some(\"not taken\"); nothing else");
    check(tap(), take_back(), &with_unsent(), "nothing queued, unsent Some(\"not taken\"); nothing else");
}

#[test]
fn where_nothing_waits_nothing_is_taken_back() {
    check(page(), take_back(), &view_of(working()), "nothing queued, unsent None; nothing else");
    check(
        command(),
        take_back(),
        &view(),
        "no such session; record REPLY_REJECTED unknown_session of -/- by uid:1000",
    );
}

// Sessions.

#[test]
fn a_session_is_stopped_and_that_is_on_record() {
    check(
        command(),
        stop(),
        &view_of(facts(session())),
        "stopping S; record REPLY_RECEIVED stop of S/- by uid:1000",
    );
    check(
        page(),
        stop(),
        &view_of(facts(session())),
        "stopping S; record REPLY_RECEIVED stop of S/- by web:1",
    );
    check(
        tap(),
        stop(),
        &view_of(facts(session())),
        "stopping S; record REPLY_RECEIVED stop of S/- by chat:7",
    );
}

#[test]
fn a_session_that_is_over_is_not_stopped() {
    check(command(), stop(), &view_of(facts(ended())), "over; nothing else");
    check(
        command(),
        stop(),
        &view(),
        "no such session; record REPLY_REJECTED unknown_session of -/- by uid:1000",
    );
}

#[test]
fn a_paused_session_is_resumed() {
    check(writer(), resume(), &view_of(facts(paused())), "resumed S; resume S by chat:7");
    check(command(), resume(), &view_of(facts(session())), "not paused; nothing else");
    check(
        command(),
        resume(),
        &view(),
        "no such session; record REPLY_REJECTED unknown_session of -/- by uid:1000",
    );
}

// Chats.

#[test]
fn a_chat_is_muted_for_a_while_and_never_for_ever() {
    check(
        writer(),
        mute(1_800),
        &view(),
        "muted 1800 s; remember for chat/7: muted_until=Some(\"1001800000\")",
    );
    check(writer(), mute(0), &view(), "muted 0 s; remember for chat/7: muted_until=None");
    check(
        writer(),
        mute(LONGEST_MUTE.as_secs() + 1),
        &view(),
        "muted 604800 s; remember for chat/7: muted_until=Some(\"1604800000\")",
    );
}

#[test]
fn plain_messages_of_a_chat_are_for_a_session() {
    check(
        writer(),
        switch(),
        &view_of(facts(session())),
        "switched to S; remember for chat/7: switched_to=Some(\"S\")",
    );
    check(
        writer(),
        switch(),
        &view(),
        "no such session; record REPLY_REJECTED unknown_session of -/- by chat:7",
    );
}

#[test]
fn commands_and_the_page_have_nothing_that_could_remember() {
    check(command(), mute(60), &view(), "muted 60 s; nothing else");
    check(page(), switch(), &view_of(facts(session())), "switched to S; nothing else");
}

/// What has a number may come twice; the store takes it once.
#[test]
fn only_what_comes_from_a_chat_has_a_number() {
    assert_eq!(command().came(), None);
    assert_eq!(page().came(), None);
    assert_eq!(tap().came(), Some(CameBy { channel: CHAT.to_owned(), update: 12 }));
}

// All at once.

/// # Shape-before-race invariant
/// What contends is what the check lets through, in whatever state the prompt is; and nothing is recorded as won.
#[test]
fn in_no_state_does_a_row_do_anything_but_contend() {
    for state in states() {
        let view = view_on(prompt(yes_no(), state.clone()));
        let ruled = decide(&decision(tap(), answer(Said::Row(1))), &view, Rules::default());
        let expected = "contend \"no\" for P of S with N0 as R by chat chat:7";
        assert_eq!(ruling(&ruled), expected, "{state:?}");
    }
}

/// A text that is no answer is refused in every state, and says the state where the prompt no longer waits.
#[test]
fn in_every_state_a_misfit_is_refused() {
    let refused = |state: PromptState| {
        let view = view_on(prompt(yes_no(), state));
        let ruled = ruling(&decide(&decision(writer(), answer(text("maybe"))), &view, Rules::default()));
        ruled.split(';').next().unwrap_or_default().replace("refused by claude: ", "")
    };
    let told: Vec<String> = states().into_iter().map(refused).collect();
    row(
        &told.join(" "),
        "not_waiting queued not_a_choice not_waiting expired expired not_waiting not_waiting not_waiting not_waiting not_waiting not_waiting not_waiting",
    );
}
