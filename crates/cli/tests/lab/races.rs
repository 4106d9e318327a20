//! What a scenario showed now and then, made to happen each time.

use std::fs;

use atlasbridge_testkit::eventually;
use serde_json::Value;

use crate::home;

/// QA-008, one run in fifty on a busy machine: Enter was typed, its echo read, and before the next look the tool had
/// asked again and blocked. The kernel's word was about a question that was not read yet.
#[test]
fn the_kernels_word_counts_only_for_the_screen_that_was_read() {
    let home = home();
    let events = home.scratch().join("events");
    let script = "read -rp 'Press Enter to continue'; sleep 0.3; read -rp '[Press Enter]'; echo";
    let events_path = events.display().to_string();
    let mut terminal =
        home.run_in_terminal(&["run", "--events", &events_path, "--", "bash", "--norc", "-c", script]);
    home.one_prompt();
    let pause = home.pause_at("host-ask-kernel");
    terminal.type_keys("\r");
    let host = pause.reached();
    eventually("the tool reads again", || reads_again(host).then_some(()));
    pause.release();
    eventually("the second question waits", || {
        (home.one_prompt()["excerpt"] == "[Press Enter]").then_some(())
    });
    terminal.type_keys("\r");
    assert_eq!(terminal.end().0, 0);
    let seen: Vec<Value> = fs::read_to_string(&events)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event: &Value| event["event"] == "seen")
        .collect();
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// Whether the shell below this session host has slept, and is back in a read of the terminal.
fn reads_again(host: i32) -> bool {
    let children = |pid: i32| {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    };
    let tools = children(host).into_iter().flat_map(children);
    let mut shells = tools.filter(|pid| children(*pid).is_empty());
    shells.any(|pid| {
        let said = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        said("cmdline").contains("[Press Enter]") && said("syscall").starts_with("0 ")
    })
}
