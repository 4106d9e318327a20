use atlasbridge_pty::{ChildEvent, GuardianNote, Signal, protect_this_process};

use crate::role::play;
use crate::stage::{Stage, is_dead, state, until};

const CTRL_C: &[u8] = &[3];
const CTRL_Z: &[u8] = &[26];

#[test]
fn the_terminal_controls_the_tool() {
    let mut stage = Stage::sh("tty; ps -o pid=,pgid=,tpgid=,sid=,ppid= -p $$; sleep 1000 < /dev/tty");
    let tool = stage.until_started();
    stage.until("two lines", |stage| (stage.text().lines().count() >= 2).then_some(()));
    let text = stage.text();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("/dev/pts/"));
    let ids: Vec<i32> = lines.next().unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect();
    let leader = stage.session.child.leader_pid();
    assert_eq!(ids, [tool, tool, tool, leader, leader]);
    assert_eq!(stage.session.control.foreground_group(), Some(tool));
}

#[test]
fn ctrl_c_interrupts() {
    let mut stage = Stage::sh("echo ready; exec sleep 1000");
    stage.until_output("ready");
    stage.type_in(CTRL_C);
    assert_eq!(stage.until_end(), ChildEvent::Signaled { signal: libc::SIGINT });
}

#[test]
fn ctrl_z_suspends_and_the_tool_can_be_continued() {
    let mut stage = Stage::sh("echo ready; exec sleep 1000");
    let tool = stage.until_started();
    stage.until_output("ready");
    for round in 1..=3 {
        stage.type_in(CTRL_Z);
        stage.until("a stop", |stage| {
            (count(stage, ChildEvent::Stopped { signal: libc::SIGTSTP }) == round).then_some(())
        });
        assert_eq!(state(tool), Some('T'));
        stage.session.child.signal_tool(Signal::CONT).unwrap();
        stage.until("going on", |stage| (count(stage, ChildEvent::Continued) == round).then_some(()));
    }
    stage.session.child.signal_tool(Signal::TERM).unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Signaled { signal: libc::SIGTERM });
}

fn count(stage: &Stage, event: ChildEvent) -> usize {
    stage.events.iter().filter(|&&seen| seen == event).count()
}

#[test]
fn signals_reach_the_job_in_front_and_not_its_shell() {
    let mut stage = Stage::run("bash", &["--norc", "--noprofile", "-i"]);
    let shell = stage.until_started();
    stage.type_in("PS1=; echo rea''dy; sleep 1000\r");
    stage.until_output("ready\r\n");
    stage.until("a job in front", |stage| {
        let group = stage.session.control.foreground_group().filter(|&group| group != shell)?;
        // Before it is `sleep` it is a copy of the shell, which handles the signal itself.
        (std::fs::read_to_string(format!("/proc/{group}/comm")).ok()? == "sleep\n").then_some(())
    });
    stage.session.child.signal_foreground(Signal::INT).unwrap();
    stage.type_in("echo status $?; exit 5\r");
    stage.until_output("status 130");
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 5 });
}

#[test]
fn dropping_the_session_hangs_up() {
    let mut stage = Stage::sh("echo ready; sleep 1000; echo never");
    let tool = stage.until_started();
    let leader = stage.session.child.leader_pid();
    stage.until_output("ready");
    drop(stage);
    until("the tool's end", || is_dead(tool).then_some(()));
    until("the leader's end", || is_dead(leader).then_some(()));
}

#[test]
fn a_stopped_tool_hears_of_the_hang_up_too() {
    let mut stage = Stage::sh("echo ready; exec sleep 1000");
    let tool = stage.until_started();
    stage.until_output("ready");
    stage.type_in(CTRL_Z);
    stage.until_event(ChildEvent::Stopped { signal: libc::SIGTSTP });
    drop(stage);
    until("the tool's end", || is_dead(tool).then_some(()));
}

#[test]
fn a_tool_can_be_signalled_before_it_is_known_to_run() {
    let mut stage = Stage::sh("sleep 1000");
    stage.session.child.signal_tool(Signal::TERM).unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Signaled { signal: libc::SIGTERM });
}

#[test]
fn a_killed_tool_is_reported_and_no_longer_signalled() {
    let mut stage = Stage::sh("trap '' HUP INT TERM; echo ready; while :; do sleep 1000; done");
    stage.until_output("ready");
    stage.session.child.signal_tool(Signal::KILL).unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Signaled { signal: libc::SIGKILL });
    let error = stage.session.child.signal_tool(Signal::TERM).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    assert_eq!(stage.session.child.next_event().unwrap(), None);
}

#[test]
fn a_killed_leader_is_reported() {
    let mut stage = Stage::sh("echo ready; exec sleep 1000");
    let tool = stage.until_started();
    stage.until_output("ready");
    // SAFETY: kills the leader that this test started.
    unsafe { libc::kill(stage.session.child.leader_pid(), libc::SIGKILL) };
    stage.until_event(ChildEvent::LeaderLost);
    assert_eq!(stage.session.child.next_event().unwrap(), None);
    stage.session.child.note(&GuardianNote::default()).unwrap();
    // The kernel hangs up on the foreground group of a session whose leader is gone.
    until("the tool's end", || is_dead(tool).then_some(()));
}

#[test]
fn the_leader_does_not_die_of_what_only_means_the_host() {
    let mut stage = Stage::sh("echo ready; read line; exit 4");
    stage.until_output("ready");
    for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP] {
        // SAFETY: signals the leader that this test started.
        unsafe { libc::kill(stage.session.child.leader_pid(), signal) };
    }
    stage.type_in("go\r");
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 4 });
}

#[test]
fn what_the_tool_leaves_in_the_background_lives_on() {
    let mut stage = Stage::sh("sleep 1000 > /dev/null 2>&1 < /dev/null & echo pid=$!.; exit 0");
    stage.until_output(".");
    let text = stage.text();
    let left: i32 = text.trim().trim_start_matches("pid=").trim_end_matches('.').parse().unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 });
    let leader = stage.session.child.leader_pid();
    drop(stage);
    until("the leader's end", || is_dead(leader).then_some(()));
    assert!(!is_dead(left));
    // SAFETY: ends the process that this test left behind.
    unsafe { libc::kill(left, libc::SIGKILL) };
}

/// A protected host, and a tool that leaves an orphan behind.
pub(crate) fn play_reaping_host() {
    protect_this_process().unwrap();
    let mut stage = Stage::sh("(sleep 1000 > /dev/null 2>&1 < /dev/null & echo orphan=$!.)");
    stage.until_output(".");
    let text = stage.text();
    let orphan: i32 = text.trim().trim_start_matches("orphan=").trim_end_matches('.').parse().unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 });
    stage.until_equal(Some(std::process::id() as i32), |_| parent(orphan));
    // SAFETY: ends the process that this test left behind.
    unsafe { libc::kill(orphan, libc::SIGKILL) };
    stage.until_equal(None, |stage| {
        stage.session.child.reap();
        state(orphan)
    });
    println!("all as expected");
}

fn parent(process: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn orphans_come_to_the_host_and_are_reaped() {
    let mut stage = play("reaping-host", &[]);
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 }, "{}", stage.text());
    assert!(stage.text().contains("all as expected"));
}
