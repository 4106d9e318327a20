//! A session in which nothing happens costs nothing.

use std::fs;
use std::thread;
use std::time::Duration;

use atlasbridge_testkit::eventually;

use crate::scene::{home, leader_of, status};

/// How often the process was on a processor, and for how many ticks.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Cost {
    switches: Vec<u64>,
    ticks: Vec<u64>,
}

fn cost(pid: i32) -> Cost {
    let switches = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"]
        .map(|name| status(pid, name).unwrap().parse().unwrap());
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let ticks = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse().unwrap())
        .collect();
    Cost { switches: switches.to_vec(), ticks }
}

/// Longer than anything that a session does by itself after its tool has fallen silent: the detector takes two seconds
/// (`stuck_timeout_seconds`) for a last look.
const SETTLED: Duration = Duration::from_millis(2_500);

/// Waits until nothing has happened for a while; what host and leader have cost then, and three seconds later.
#[track_caller]
fn three_seconds(args: &[&str], shows: &str) -> ([Cost; 2], [Cost; 2]) {
    let home = home();
    let terminal = home.run_in_terminal(args);
    terminal.wait_for(shows);
    let host = terminal.pid();
    let pids = [host, leader_of(host)];
    let look = || pids.map(cost);
    let settled = eventually("the session has settled", || {
        let before = look();
        thread::sleep(SETTLED);
        (look() == before).then_some(before)
    });
    // A duration, because that nothing happens can only be seen by waiting.
    thread::sleep(Duration::from_secs(3));
    let after = look();
    terminal.kill();
    (settled, after)
}

#[track_caller]
fn check(args: &[&str], shows: &str) {
    let (settled, after) = three_seconds(args, shows);
    assert_eq!(after, settled, "host and leader of {args:?} woke up though nothing happened");
}

#[test]
fn a_prompt_that_waits_costs_nothing() {
    check(&["run", "--", "bash", "--norc", "-c", "read -p 'Delete 3 files? (y/n) ' x"], "(y/n)");
}

#[test]
fn a_shell_that_waits_costs_nothing() {
    check(&["run", "--", "env", "PS1=ready> ", "bash", "--norc", "--noprofile", "-i"], "ready>");
}

/// Nobody waits for a key, so the next prompt may be one that prints nothing: the detector looks again, and again at
/// twice the distance each time (1, 2, 4, 8 s…). That is one look at most in these three seconds.
#[test]
fn a_tool_that_neither_speaks_nor_reads_costs_a_look_now_and_then() {
    let (before, after) = three_seconds(&["run", "--", "sh", "-c", "echo up; exec sleep 1000"], "up");
    let [host, leader] = &before;
    assert_eq!(after[1], *leader);
    assert!(
        after[0].switches[0] <= host.switches[0] + 1 && after[0].ticks[0] <= host.ticks[0] + 1,
        "{before:?} {after:?}"
    );
}

#[test]
fn a_full_screen_program_that_waits_costs_nothing() {
    check(&["run", "--", "less", "/etc/passwd"], "root");
}
