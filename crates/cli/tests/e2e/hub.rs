//! The background process: one per home directory, started by whoever needs it, stopped by whoever may.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use atlasbridge_testkit::{Home, eventually};

use crate::home;

/// Sessions that start at the same time.
const CROWD: usize = 10;

fn count(home: &Home, event: &str) -> usize {
    home.audit().iter().filter(|record| record["event"] == event).count()
}

fn signal(pid: i32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn it_starts_tells_of_itself_and_stops() {
    let home = home();
    let stopped = home.run(["hub", "status", "--json"]);
    assert_eq!((stopped.code, stopped.json()["running"].clone()), (0, false.into()));
    assert_eq!(home.run(["hub", "start"]).code, 0);
    let status = home.run(["hub", "status", "--json"]).json();
    assert_eq!(status["running"], true);
    assert_eq!(status["socket"], home.socket().display().to_string());
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["sessions"], 0);
    let page = &status["channels"][0];
    assert_eq!((&page["name"], &page["state"]), (&"web".into(), &"connected".into()));
    assert!(page["address"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{page}");
    let first = home.hub_pid().unwrap();
    assert_eq!(home.run(["hub", "start"]).code, 0, "it runs already");
    assert_eq!(home.hub_pid(), Some(first));
    assert_eq!(home.run(["daemon", "restart"]).code, 0);
    assert_ne!(home.hub_pid(), Some(first));
    assert!(home.run(["hub", "stop"]).stdout.contains("has stopped"));
    assert!(home.run(["hub", "stop"]).stdout.contains("does not run"));
    assert_eq!(home.hub_pid(), None);
    assert_eq!((count(&home, "HUB_START"), count(&home, "HUB_STOP")), (2, 2));
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

#[test]
fn its_socket_is_for_its_user_alone() {
    let home = home();
    fs::remove_dir(home.path()).unwrap();
    home.run(["hub", "start"]);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(home.path()), mode(home.socket())), (0o700, 0o600));
    for file in ["audit.log", "atlasbridge.db", "hub.log", "hub.lock"] {
        assert_eq!(mode(home.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_home_that_others_can_reach_is_refused() {
    let home = home();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let refused = home.run(["hub", "start"]);
    assert_eq!((refused.code, refused.stderr.contains("chmod 700")), (2, true), "{refused:?}");
}

#[test]
fn a_second_one_is_refused_with_the_pid_of_the_first() {
    let home = home();
    home.run(["hub", "start"]);
    let pid = home.hub_pid().unwrap();
    let second = home.run(["hub", "serve"]);
    assert_eq!((second.code, second.stderr.contains(&format!("(pid {pid})"))), (1, true), "{second:?}");
    assert_eq!(home.hub_pid(), Some(pid));
}

#[test]
fn many_sessions_at_once_start_one_hub() {
    let home = home();
    let terminals: Vec<_> =
        (0..CROWD).map(|_| home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#)).collect();
    let prompts = eventually("all wait", || Some(home.approvals()).filter(|prompts| prompts.len() == CROWD));
    assert_eq!(count(&home, "HUB_START"), 1);
    for prompt in prompts {
        assert_eq!(home.run(["deny", prompt["prompt_id"].as_str().unwrap()]).code, 0);
    }
    for terminal in terminals {
        assert!(terminal.end().1.contains("got=[n]"));
    }
    assert_eq!(home.run(["hub", "status", "--json"]).json()["sessions"], 0);
}

#[test]
fn a_polite_signal_stops_it_on_record() {
    let home = home();
    home.run(["hub", "start"]);
    signal(home.hub_pid().unwrap(), "-TERM");
    home.audit_has("HUB_STOP", None);
    eventually("the socket is gone", || (!home.socket().exists()).then_some(()));
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_session_goes_on_without_the_hub_that_was_stopped() {
    let home = home();
    let terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    assert_eq!(home.run(["hub", "restart"]).code, 0);
    assert_eq!(home.prompt_id(), id);
    let approved =
        eventually("the session is back", || Some(home.run(["approve", &id])).filter(|told| told.code == 0));
    assert!(approved.stdout.contains("applied"));
    assert!(terminal.end().1.contains("got=[y]"));
}

#[test]
fn a_stopped_hub_rests_until_the_next_prompt() {
    let home = home();
    let terminal = home.bash(&format!(
        r#"echo ready; {}; read -p "Go on? (y/n) " answer; echo "got=[$answer]""#,
        home.wait_for_go()
    ));
    terminal.wait_for("ready");
    eventually("the tool is on record", || {
        home.sessions().first().is_some_and(|session| session["pid"].is_i64()).then_some(())
    });
    assert_eq!(home.run(["hub", "stop"]).code, 0);
    // The session looks for it a few times meanwhile, and leaves it alone.
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(home.hub_pid(), None);
    home.go();
    terminal.wait_for("Go on?");
    eventually("the prompt starts it", || home.hub_pid());
    let id = home.prompt_id();
    assert_eq!(home.run(["deny", &id]).code, 0);
    terminal.wait_for("got=[n]");
}

#[test]
fn settings_change_while_it_runs_and_broken_ones_do_not() {
    let home = home();
    let mut terminal = home.bash(r#"read -s -p "Password: " answer; echo "got ${#answer}""#);
    let id = home.prompt_id();
    let reply = |text: &str| home.run(["reply", &id, text]);
    assert!(reply("sesame").stderr.contains("secrets_over_channels"));

    home.write_config("[prompts]\nsecrets_over_channels = maybe\n");
    signal(home.hub_pid().unwrap(), "-HUP");
    let broken = home.audit_has("CONFIG_RELOADED", None);
    assert!(broken["value"].as_str().unwrap().contains("the old settings stay"), "{broken}");
    assert!(reply("sesame").stderr.contains("secrets_over_channels"));
    let log = fs::read_to_string(home.path().join("hub.log")).unwrap();
    let told = log.lines().find(|line| line.contains("the old settings stay"));
    assert!(told.is_some_and(|line| line.contains("secrets_over_channels")), "{log}");
    // Every line is an event, and begins with its time.
    let is_event = |line: &str| line.starts_with("20") && line.contains('Z');
    assert_eq!(log.lines().find(|line| !is_event(line)), None, "{log}");

    home.write_config("[prompts]\nsecrets_over_channels = true\n");
    signal(home.hub_pid().unwrap(), "-HUP");
    eventually("the good settings are on record", || {
        home.audit()
            .iter()
            .any(|record| record["event"] == "CONFIG_RELOADED" && record["value"] == "ok")
            .then_some(())
    });
    assert_eq!(reply("sesame").code, 0);
    terminal.wait_for("got 6");
    terminal.type_keys("\r");
}
