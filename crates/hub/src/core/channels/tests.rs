//! What each target is given, what becomes of it, and when there is something to do next.

use std::time::Duration;

use atlasbridge_channel::{Address, Done, JobNo, Undelivered};
use atlasbridge_model::{BootTime, Now, Timestamp};
use atlasbridge_store::{DuePost, Notice};

use super::{Channels, Subscription};
use crate::core::view::{Board, Takes};
use crate::sample::*;

const FILE: &str = r#"{"file":{"name":"screen.txt","text":"all of it"}}"#;
const HELLO: &str =
    r#"{"notice":{"blocks":[["ours","hello"],["program","$ ls"]],"buttons":[[["Yes","q:y"]]]}}"#;

/// A chat of two operators, looked at just now.
fn channels() -> Channels {
    let mut channels = Channels::default();
    channels.open(subscription(), NOW);
    channels.counted_down(0, NOW.boot);
    channels.looks(1, NOW.boot);
    channels
}

fn now(millis: i64) -> Now {
    Now { wall: NOW.wall.plus_millis(millis), boot: NOW.boot.plus_millis(millis) }
}

fn board(posts: Vec<DuePost>, notices: Vec<Notice>) -> Board {
    Board { channel: CHAT, notices, posts: posts.into_iter().map(|post| (post, None)).collect(), next: None }
}

fn of_prompt(target: &str) -> DuePost {
    post(target, waiting(yes_no()), None)
}

fn fed(channels: &mut Channels, board: Board, millis: i64) -> String {
    let task = |_: &DuePost| crate::words::say("the prompt").into_task(None);
    acts(&channels.feed(&[board], now(millis), task))
}

#[track_caller]
fn check(channels: &mut Channels, board: Board, expected: &str) {
    row(&fed(channels, board, 0), expected);
}

#[track_caller]
fn check_done(channels: &mut Channels, job: u64, done: Done, expected: &str) {
    row(&acts(channels.done(CHAT, JobNo(job), &target("7"), done, NOW).as_slice()), expected);
}

/// The next moment, in milliseconds from now.
#[track_caller]
fn check_next(channels: &Channels, expected: Option<i64>) {
    assert_eq!(channels.next_time().map(|at| at.0 - NOW.boot.0), expected);
}

fn shown(address: Option<&str>) -> Done {
    Done::Shown { address: address.map(|address| Address(address.to_owned())) }
}

fn later(after: Duration) -> Done {
    Done::NotShown(Undelivered::Later { after })
}

fn never() -> Done {
    Done::NotShown(Undelivered::Never { why: "blocked".to_owned() })
}

#[test]
fn each_target_has_one_task_at_a_time() {
    let mut channels = channels();
    check(
        &mut channels,
        board(vec![of_prompt("7"), of_prompt("7"), of_prompt("8")], vec![]),
        "give chat/7 job 1: say the prompt | give chat/8 job 2: say the prompt",
    );
    check(&mut channels, board(vec![of_prompt("7"), of_prompt("8")], vec![]), "nothing");
    check_done(&mut channels, 1, shown(Some("7:1")), "posted 20 at 7:1, as of 5");
    check(
        &mut channels,
        board(vec![of_prompt("7"), of_prompt("8")], vec![]),
        "give chat/7 job 3: say the prompt",
    );
}

#[test]
fn messages_go_before_prompts() {
    check(
        &mut channels(),
        board(vec![of_prompt("7")], vec![stored_notice(9, "7", HELLO)]),
        "give chat/7 job 1: say hello `$ ls` [Yes=q:y] under m0",
    );
}

#[test]
fn a_long_text_goes_as_a_file() {
    check(
        &mut channels(),
        board(vec![], vec![stored_notice(9, "7", FILE)]),
        "give chat/7 job 1: file screen.txt (all of it) under m0",
    );
}

#[test]
fn a_message_that_nobody_can_read_is_given_up() {
    check(&mut channels(), board(vec![], vec![stored_notice(9, "7", "{}")]), "drop notice 9: unreadable");
}

#[test]
fn a_channel_that_is_closed_is_given_nothing() {
    let mut channels = channels();
    channels.close(CHAT);
    check(&mut channels, board(vec![of_prompt("7")], vec![stored_notice(9, "7", HELLO)]), "nothing");
    check_done(&mut channels, 1, shown(None), "nothing");
    channels.ready(CHAT);
    assert_eq!(channels.names(), Vec::<&str>::new());
}

#[test]
fn what_became_of_a_prompts_task_is_written() {
    let after = |done, expected| {
        let mut channels = channels();
        fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
        check_done(&mut channels, 1, done, expected);
    };
    after(shown(Some("7:1")), "posted 20 at 7:1, as of 5");
    after(shown(None), "edited 20, as of 5");
    after(never(), "drop post 20: blocked");
    // It stays due.
    after(later(Duration::from_secs(3)), "nothing");
}

#[test]
fn what_became_of_a_message_is_written() {
    let after = |done, expected| {
        let mut channels = channels();
        fed(&mut channels, board(vec![], vec![stored_notice(9, "7", HELLO)]), 0);
        check_done(&mut channels, 1, done, expected);
    };
    after(shown(None), "notice 9 is sent");
    after(never(), "drop notice 9: blocked");
    after(later(Duration::from_secs(3)), "nothing");
}

#[test]
fn the_end_of_a_task_of_an_earlier_run_is_no_news() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    channels.open(subscription(), NOW);
    check_done(&mut channels, 1, shown(Some("7:1")), "nothing");
    check(&mut channels, board(vec![of_prompt("7")], vec![]), "give chat/7 job 2: say the prompt");
    check_done(&mut channels, 1, shown(Some("7:1")), "nothing");
    check_done(&mut channels, 2, shown(Some("7:2")), "posted 20 at 7:2, as of 5");
}

#[test]
fn a_target_that_asked_for_patience_is_held_and_the_moment_is_known() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    check_done(&mut channels, 1, later(Duration::from_micros(2_999_001)), "nothing");
    channels.looks(1, NOW.boot);
    check_next(&channels, Some(3_000));
    check(&mut channels, board(vec![of_prompt("7")], vec![]), "nothing");
    // Too early would be told to come later once more.
    channels.looks(1, now(2_999).boot);
    assert_eq!(fed(&mut channels, board(vec![of_prompt("7")], vec![]), 2_999), "nothing");
    channels.looks(1, now(3_000).boot);
    row(&fed(&mut channels, board(vec![of_prompt("7")], vec![]), 3_000), "give chat/7 job 2: say the prompt");
}

#[test]
fn patience_without_an_end_does_not_overflow() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    check_done(&mut channels, 1, later(Duration::MAX), "nothing");
    channels.looks(1, NOW.boot);
    assert_eq!(channels.next_time(), Some(BootTime(i64::MAX)));
}

#[test]
fn a_hold_that_ends_while_the_loop_looks_is_not_forgotten() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    check_done(&mut channels, 1, later(Duration::from_secs(3)), "nothing");
    // The look began a moment before the hold ended, and what it read was for whoever took something then.
    channels.looks(1, now(2_999).boot);
    assert_eq!(fed(&mut channels, board(vec![of_prompt("7")], vec![]), 3_005), "nothing");
    check_next(&channels, Some(3_000));
    assert!(channels.must_look(1, now(3_005).boot));
}

#[test]
fn a_service_that_answers_again_lifts_every_hold() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    check_done(&mut channels, 1, later(Duration::from_secs(3_600)), "nothing");
    channels.ready(CHAT);
    check(&mut channels, board(vec![of_prompt("7")], vec![]), "give chat/7 job 2: say the prompt");
}

#[test]
fn a_full_mailbox_is_tried_again_a_little_later() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    // Not that task.
    check_done(&mut channels, 9, later(Duration::from_secs(1)), "nothing");
    check_next(&channels, None);
    check_done(&mut channels, 1, later(Duration::from_secs(1)), "nothing");
    channels.looks(1, NOW.boot);
    check_next(&channels, Some(1_000));
    channels.looks(1, now(1_000).boot);
    row(&fed(&mut channels, board(vec![of_prompt("7")], vec![]), 1_000), "give chat/7 job 2: say the prompt");
}

#[test]
fn boards_are_read_only_for_whoever_takes_something() {
    let mut channels = channels();
    assert_eq!(channels.boards(), [(CHAT, Takes::Something)]);
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    assert_eq!(channels.boards(), [(CHAT, Takes::Something)]);
    fed(&mut channels, board(vec![of_prompt("8")], vec![]), 0);
    assert_eq!(channels.boards(), [(CHAT, Takes::Nothing)]);
}

fn muted(until: i64, address: Option<&str>) -> Board {
    let until = Some(Timestamp(NOW.wall.0 + until));
    Board { posts: vec![(post("7", waiting(yes_no()), address), until)], ..board(vec![], vec![]) }
}

#[test]
fn a_chat_that_wants_no_prompts_gets_them_when_the_time_is_over() {
    let mut channels = channels();
    check(&mut channels, muted(5_000, None), "nothing");
    check_next(&channels, Some(5_000));
    check(&mut channels, muted(0, None), "give chat/7 job 1: say the prompt");
    check_next(&channels, None);
}

#[test]
fn what_stands_in_a_muted_chat_is_still_kept_up_to_date() {
    check(&mut channels(), muted(5_000, Some("7:1")), "give chat/7 job 1: say the prompt");
}

#[test]
fn a_post_that_is_due_later_is_counted() {
    let mut channels = channels();
    let later = Board { next: Some(now(7_000).boot), ..board(vec![], vec![]) };
    check(&mut channels, later, "nothing");
    check_next(&channels, Some(7_000));
}

#[test]
fn the_time_left_is_shown_anew_while_something_waits() {
    let mut channels = channels();
    channels.counted_down(2, NOW.boot);
    check_next(&channels, Some(60_000));
    assert!(!channels.must_count_down(now(59_999).boot));
    assert!(channels.must_count_down(now(60_000).boot));
    channels.counted_down(0, now(60_000).boot);
    check_next(&channels, None);
}

#[test]
fn a_prompt_that_is_shown_starts_the_count() {
    let mut channels = channels();
    fed(&mut channels, board(vec![of_prompt("7")], vec![]), 0);
    check_done(&mut channels, 1, shown(Some("7:1")), "posted 20 at 7:1, as of 5");
    channels.looks(1, NOW.boot);
    check_next(&channels, Some(60_000));
}

#[test]
fn a_look_is_made_when_something_was_written_said_or_has_come() {
    let mut channels = channels();
    assert!(!channels.must_look(1, NOW.boot));
    assert!(channels.must_look(2, NOW.boot));
    channels.counted_down(1, NOW.boot);
    assert!(channels.must_look(1, now(60_000).boot));
    channels.ready(CHAT);
    assert!(channels.must_look(1, NOW.boot));
    channels.looks(1, NOW.boot);
    assert!(!channels.must_look(1, NOW.boot));
    channels.look_failed();
    assert!(channels.must_look(1, NOW.boot));
}

#[test]
fn words_go_to_every_target_of_the_channels_that_want_them() {
    let mut channels = channels();
    let quiet = Subscription { name: "other", targets: vec![target("9")], ..subscription() };
    channels.open(Subscription { notify_start: false, ..quiet }, NOW);
    let told = |wants: fn(&Subscription) -> bool| {
        let body = crate::words::say("hello");
        let notices = channels.notices(wants, &body);
        notices.iter().map(|new| format!("{}/{} {}", new.channel, new.target, words(new))).collect::<Vec<_>>()
    };
    assert_eq!(told(|channel| channel.notify_start), ["chat/7 hello", "chat/8 hello"]);
    assert_eq!(told(|_| true), ["chat/7 hello", "chat/8 hello", "other/9 hello"]);
    assert_eq!(channels.names(), [CHAT, "other"]);
}
