use atlasbridge_pty::{ChildEvent, Probe, Signal, TtyWait};

use crate::role::{drop_privileges, play};
use crate::stage::Stage;

#[derive(Debug, PartialEq)]
enum Lines {
    Shown,
    Hidden,
    Raw,
}

fn lines(probe: &Probe) -> Lines {
    match (probe.mode.canonical, probe.mode.echo) {
        (true, true) => Lines::Shown,
        (true, false) => Lines::Hidden,
        (false, _) => Lines::Raw,
    }
}

/// Waits until the probe says this.
#[track_caller]
fn check(mut stage: Stage, expected: (TtyWait, Lines)) {
    stage.until_output("ready");
    stage.until_equal(expected, |stage| {
        let probe = stage.session.control.probe();
        (probe.wait, lines(&probe))
    });
}

/// Sees that the probe says this and, while the tool comes to rest and after, nothing else.
#[track_caller]
fn check_never_another(mut stage: Stage, expected: TtyWait) {
    stage.until_output("ready");
    let resting = |stage: &Stage| {
        let group = stage.session.control.foreground_group().unwrap();
        crate::stage::state(group)
    };
    stage.until_equal(Some('S'), resting);
    for _ in 0..20 {
        assert_eq!(stage.session.control.probe().wait, expected);
        stage.pump(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_question_is_a_read() {
    check(Stage::bash("echo ready; read answer"), (TtyWait::Read, Lines::Shown));
}

#[test]
fn a_password_is_a_read_without_echo() {
    // Bash prompts with echo still on for a moment; what counts is where it comes to rest.
    check(Stage::bash("echo ready; read -s answer"), (TtyWait::Read, Lines::Hidden));
}

#[test]
fn a_read_in_raw_mode() {
    check(Stage::sh("stty raw -echo; echo ready; exec cat"), (TtyWait::Read, Lines::Raw));
}

#[test]
fn another_descriptor_than_standard_input() {
    check(Stage::sh("echo ready; exec cat 7< /dev/tty <&7 7<&-"), (TtyWait::Read, Lines::Shown));
    check(Stage::sh("echo ready; exec cat /dev/tty < /dev/null"), (TtyWait::Read, Lines::Shown));
    check(Stage::sh("echo ready; exec cat $(tty) < /dev/null"), (TtyWait::Read, Lines::Shown));
}

#[test]
fn a_reader_that_is_not_the_first_of_its_group() {
    check(Stage::sh("echo ready; cat /dev/tty; :"), (TtyWait::Read, Lines::Shown));
    check(Stage::sh("echo ready; sleep 1000 | cat /dev/tty"), (TtyWait::Read, Lines::Shown));
}

#[test]
fn one_thread_of_many() {
    check(play("read", &[]), (TtyWait::Read, Lines::Shown));
    check(play("dev-tty", &[]), (TtyWait::Read, Lines::Shown));
}

#[test]
fn event_loops_poll() {
    for role in ["poll", "select", "epoll"] {
        check(play(role, &[]), (TtyWait::Poll, Lines::Shown));
    }
}

#[test]
fn only_interest_in_input_counts() {
    check_never_another(play("poll-other", &[]), TtyWait::None);
}

#[test]
fn who_sleeps_does_not_wait() {
    check_never_another(Stage::sh("echo ready; exec sleep 1000"), TtyWait::None);
}

#[test]
fn a_read_of_something_else_is_none() {
    check_never_another(Stage::sh("sleep 1000 | { echo ready; read line; }"), TtyWait::None);
}

#[test]
fn a_background_reader_does_not_count() {
    // It is stopped by SIGTTIN, in another group than the one in front.
    check_never_another(
        Stage::run("bash", &["--norc", "--noprofile", "-m", "-c", "cat /dev/tty & echo ready; sleep 1000"]),
        TtyWait::None,
    );
}

#[test]
fn who_is_stopped_does_not_wait() {
    let mut stage = Stage::sh("echo ready; exec cat");
    stage.until_output("ready");
    stage.until_equal(TtyWait::Read, |stage| stage.session.control.probe().wait);
    stage.type_in([26]);
    stage.until_equal(TtyWait::None, |stage| stage.session.control.probe().wait);
    stage.session.child.signal_tool(Signal::CONT).unwrap();
    stage.until_equal(TtyWait::Read, |stage| stage.session.control.probe().wait);
}

#[test]
fn after_the_end_nobody_waits_for_sure() {
    let mut stage = Stage::sh("exit 0");
    stage.until_end();
    let wait = stage.session.control.probe().wait;
    assert!(matches!(wait, TtyWait::None | TtyWait::Unknown), "{wait:?}");
}

/// A host without privileges looks at a program like any other, and at one that does not let itself be looked at.
pub(crate) fn play_unprivileged_host() {
    drop_privileges();
    check(Stage::sh("echo ready; read answer"), (TtyWait::Read, Lines::Shown));
    check(play("poll", &[]), (TtyWait::Poll, Lines::Shown));
    check(play("not-dumpable", &[]), (TtyWait::Unknown, Lines::Shown));
    println!("all as expected");
}

#[test]
fn what_cannot_be_looked_at_is_unknown() {
    let mut stage = play("unprivileged-host", &[]);
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 }, "{}", stage.text());
    assert!(stage.text().contains("all as expected"));
}
