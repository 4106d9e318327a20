//! Many sessions at once, browsers that watch, one that has fallen asleep. How fast it is tells the example `page_load`;
//! here is what must hold however fast.

use std::fs;

use atlasbridge_testkit::eventually;
use serde_json::json;

use crate::Desk;
use crate::tools::Tools;

const FLOODS: usize = 6;
/// What each flood prints, in lines of a hundred bytes, before the asking begins.
const LINES: usize = 100_000;
/// More than the hub may grow by while sixty megabytes are printed before its eyes.
const MOST_KIB: u64 = 48 * 1024;

#[test]
fn a_flood_costs_neither_answers_nor_memory_and_a_sleeper_wakes_to_the_newest_screen() {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let flood = format!(
        "line=$(printf '%098d' 0); for n in $(seq {LINES}); do echo \"$line\"; done; note flooded; printf '\\e[H\\e[2Jthe end'; sleep 600"
    );
    let labels: Vec<String> = (0..FLOODS).map(|_| tools.start(&[], &flood)).collect();
    let sessions = eventually("all sessions run", || {
        let sessions = tools.visitor().get("/api/sessions").json()["sessions"].clone();
        let sessions = sessions.as_array().unwrap().clone();
        let are_connected = sessions.iter().filter(|session| session["is_connected"] == true);
        (are_connected.count() == FLOODS).then_some(sessions)
    });
    let id = |number: usize| sessions[number]["id"].as_str().unwrap();
    let before = memory(desk.home.hub_pid().unwrap());
    let mut watched = [desk.visitor().live(id(0)), desk.visitor().live(id(1))];
    let mut asleep = desk.visitor().live(id(0));
    let card = tools.ask("yes_no");
    let label = card["session"]["label"].as_str().unwrap();
    assert_eq!(tools.visitor().answers(&card, json!({ "choice": 0 })).status, 200);
    eventually("the answer was read in the middle of it", || {
        (tools.read(label) == ["answer y"]).then_some(())
    });
    for live in &mut watched {
        let is_end = |frame: &serde_json::Value| frame["rows"]["0"].as_str() == Some("the end");
        while !is_end(&live.hear().expect("the session goes on")) {}
    }
    for label in &labels {
        eventually("every flood has gone by", || (tools.read(label) == ["flooded"]).then_some(()));
    }
    let after = memory(desk.home.hub_pid().unwrap());
    assert!(after < before + MOST_KIB, "the hub has grown from {before} to {after} KiB");
    // Wakes up, and needs no more than what was on its way already.
    let newest = (0..2_000).find_map(|_| {
        let frame = asleep.hear()?;
        (frame["rows"]["0"] == "the end").then_some(())
    });
    assert!(newest.is_some(), "the newest screen comes");
}

/// Resident, in KiB.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
