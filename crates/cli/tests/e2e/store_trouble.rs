//! No record, no action: a hub that cannot write refuses to answer; the keyboard always works.

use std::fs;

use atlasbridge_testkit::{Home, eventually};

use crate::{TWO_QUESTIONS, home};

/// Room for the database, its log and a few prompts.
const SMALL_KIB: u32 = 1024;

fn small_home() -> Option<Home> {
    let home = Home::on_small_disk(env!("CARGO_BIN_EXE_atlasbridge"), SMALL_KIB);
    if home.is_none() {
        eprintln!("not tested: only root can mount a small disk");
    }
    home
}

#[test]
fn a_full_disk_stops_remote_answers_and_not_the_keyboard() {
    let Some(home) = small_home() else { return };
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let filler = home.fill_disk();
    let told = home.run(["approve", &id]);
    assert_eq!((told.code, told.stderr.contains("nothing was typed")), (1, true), "{told:?}");
    assert_eq!(terminal.count("got="), 0);
    terminal.type_keys("n\r");
    terminal.wait_for("got=[n]");
    terminal.wait_for("Delete more?");

    fs::remove_file(filler).unwrap();
    assert_eq!(home.end_of(&id), "resolved answered_locally", "told as soon as it can be recorded");
    let second =
        eventually("the second question waits", || Some(home.prompt_id()).filter(|second| *second != id));
    assert_eq!(home.run(["approve", &second]).code, 0);
    assert!(terminal.end().1.contains("second=[y]"));
    assert_eq!(home.run(["status", "--json"]).json()["hub"]["trouble"], serde_json::Value::Null);
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Asked while nothing can be recorded: offered as soon as there is room, in order, none left out.
#[test]
fn what_is_asked_on_a_full_disk_is_offered_when_there_is_room() {
    let Some(home) = small_home() else { return };
    let events = home.scratch().join("events");
    let script = format!("echo ready; {}; {TWO_QUESTIONS}", home.wait_for_go());
    let mut terminal =
        home.run_in_terminal(&["run", "--events", events.to_str().unwrap(), "--", "bash", "-c", &script]);
    terminal.wait_for("ready");
    eventually("the tool is on record", || home.sessions().first()?["pid"].as_i64());
    let filler = home.fill_disk();
    home.go();
    eventually("the session host has seen it", || {
        fs::read_to_string(&events).ok()?.contains("seen").then_some(())
    });
    terminal.type_keys("n\r");
    terminal.wait_for("Delete more?");
    fs::remove_file(filler).unwrap();
    let second = home.one_prompt();
    assert!(second["excerpt"].as_str().unwrap().contains("Delete more?"), "{second}");
    let first = home.audit_has("PROMPT_DETECTED", None)["prompt_id"].as_str().unwrap().to_owned();
    assert_eq!(home.end_of(&first), "resolved answered_locally");
    assert_eq!(home.run(["approve", second["prompt_id"].as_str().unwrap()]).code, 0);
    assert!(terminal.end().1.contains("second=[y]"));
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

/// The deadline comes while nothing can be recorded: it is not acted on, again and again but not in a rush.
#[test]
fn a_deadline_on_a_full_disk_waits_for_room() {
    let Some(home) = small_home() else { return };
    home.write_config("[prompts]\ntimeout_seconds = 1\n");
    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let hub = home.hub_pid().unwrap();
    let filler = home.fill_disk();
    eventually("the deadline passes", || (home.audit_age_ms("PROMPT_DETECTED") > 2_500).then_some(()));
    assert_eq!(terminal.count("got="), 0, "nothing was typed");
    if home.hub_pid() == Some(hub) {
        assert!(cpu_ms(hub) < 1_000, "the hub tries in circles");
    }
    fs::remove_file(filler).unwrap();
    terminal.wait_for("got=[n]");
    assert_eq!(home.end_of(&id), "resolved applied");
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

/// Processor time of a process so far; fields 14 and 15 of its stat, in hundredths.
fn cpu_ms(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

#[test]
fn a_damaged_database_stops_nobody_from_working() {
    let home = home();
    fs::write(home.path().join("atlasbridge.db"), vec![b'x'; 8192]).unwrap();
    let started = home.run(["hub", "start"]);
    assert_eq!((started.code, started.stderr.contains("hub.log")), (1, true), "{started:?}");
    let log = fs::read_to_string(home.path().join("hub.log")).unwrap();
    assert!(log.contains("move it away"), "{log}");

    let mut terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    terminal.wait_for("Go on?");
    terminal.type_keys("y\r");
    let (code, shown) = terminal.end();
    assert_eq!((code, shown.contains("got=[y]")), (0, true), "{shown:?}");
    assert!(shown.contains("could not be started"), "the person is told: {shown:?}");

    fs::remove_file(home.path().join("atlasbridge.db")).unwrap();
    assert_eq!(home.run(["hub", "start"]).code, 0);
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_torn_last_line_is_repaired_and_said() {
    let home = home();
    home.run(["hub", "start"]);
    home.kill_hub();
    let log = home.path().join("audit.log");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str(r#"{"seq":2,"ts":"20"#);
    fs::write(&log, text).unwrap();
    assert_eq!(home.run(["audit", "verify"]).code, 3);
    home.run(["hub", "start"]);
    assert_eq!(home.run(["audit", "verify"]).code, 0);
    let starts: Vec<_> = home.audit().into_iter().filter(|record| record["event"] == "HUB_START").collect();
    assert!(starts[1]["value"].as_str().unwrap().contains("; "), "{starts:?}");
}
