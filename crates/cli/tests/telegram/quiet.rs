//! A hub with something to show and nobody to show it to sleeps until that changes.

use std::fs;
use std::thread;
use std::time::Duration;

use atlasbridge_testkit::eventually;
use atlasbridge_testkit::telegram::{Fault, Times};

use crate::{Desk, TOKEN, config};

const QUESTION: &str = r#"read -p "Go? (y/n) " a; echo "a=[$a]""#;

/// A hub that asks itself again and again changes threads thousands of times in a second, however busy the machine is;
/// one that waits hears from its poll once in a while.
const SLEEPS: u64 = 200;

/// How often the hub was on a processor, all threads together, and how many ticks it took.
fn cost(hub: i32) -> (u64, u64) {
    let tasks = fs::read_dir(format!("/proc/{hub}/task")).unwrap().flatten();
    let switches = tasks
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .flat_map(|status| {
            let of_line = |line: &str| {
                let (name, value) = line.split_once(':')?;
                name.ends_with("ctxt_switches").then(|| value.trim().parse::<u64>().ok())?
            };
            status.lines().filter_map(of_line).collect::<Vec<_>>()
        })
        .sum();
    let stat = fs::read_to_string(format!("/proc/{hub}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    (switches, ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum())
}

#[track_caller]
fn sleeps(desk: &Desk) {
    let hub = desk.home.hub_pid().unwrap();
    let before = cost(hub);
    // A duration, because that nothing happens can only be seen by waiting.
    thread::sleep(Duration::from_secs(3));
    let after = cost(hub);
    let (switches, ticks) = (after.0 - before.0, after.1 - before.1);
    eprintln!("in 3 s the hub ran {switches} times and took {ticks} ticks");
    assert!(switches < SLEEPS, "the hub ran {switches} times in three seconds, {ticks} ticks");
}

#[test]
fn a_muted_chat_does_not_keep_the_hub_awake() {
    let desk = Desk::new();
    desk.home.run(["hub", "start"]);
    desk.says("/mute 1h");
    desk.hears("No new prompts");
    let _terminal = desk.home.bash(QUESTION);
    desk.home.prompt_id();
    sleeps(&desk);
    desk.says("/mute off");
    desk.prompt("Go?");
    sleeps(&desk);
}

#[test]
fn the_end_of_a_mute_brings_what_waits() {
    let desk = Desk::new();
    desk.home.run(["hub", "start"]);
    desk.says("/mute 4s");
    desk.hears("No new prompts");
    let muted = std::time::Instant::now();
    let terminal = desk.home.bash(QUESTION);
    let prompt = desk.prompt("Go?");
    assert!(muted.elapsed() > Duration::from_secs(2), "it came during the mute");
    desk.taps(&prompt, "Yes");
    terminal.wait_for("a=[y]");
}

#[test]
fn a_prompt_that_waits_for_its_turn_does_not_keep_the_hub_awake() {
    let desk = Desk::new();
    desk.telegram.fails("sendMessage", Fault::Hang, Times::Next(1));
    let _one = desk.home.bash(QUESTION);
    desk.telegram.wait_hanging("the first message is under way");
    let _two = desk.home.bash(QUESTION);
    eventually("both wait", || (desk.home.approvals().len() == 2).then_some(()));
    sleeps(&desk);
    desk.telegram.releases();
}

#[test]
fn a_channel_that_stopped_does_not_keep_the_hub_awake_and_a_reload_starts_it() {
    let desk = Desk::new();
    desk.telegram.revokes_token("123456789:AAEother89012345678901234567890123b");
    let terminal = desk.home.bash(QUESTION);
    desk.home.prompt_id();
    eventually("the channel has stopped", || {
        let status = desk.home.run(["status"]).stdout;
        status.contains("stopped").then_some(())
    });
    sleeps(&desk);
    // The same settings: what stopped is tried again all the same, for the cure may lie on the other side.
    desk.telegram.revokes_token(TOKEN);
    desk.home.write_config(&config(&desk.telegram.api_url(), ""));
    let hub = rustix::process::Pid::from_raw(desk.home.hub_pid().unwrap()).unwrap();
    rustix::process::kill_process(hub, rustix::process::Signal::HUP).unwrap();
    let prompt = desk.prompt("Go?");
    desk.taps(&prompt, "No");
    terminal.wait_for("a=[n]");
}
