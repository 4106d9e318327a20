//! `kill -9` of the hub at every step: the tool does not notice, a reply arrives once or not at all, and whoever asks
//! again hears the truth.

use atlasbridge_testkit::{Home, Terminal, eventually};

use crate::{TWO_QUESTIONS, home};

/// Prompts in the loop with a hub that is killed at any time.
const PROMPTS: usize = 20;

/// Ends the second question at the keyboard, and expects that nobody else has.
#[track_caller]
fn nothing_was_typed_twice(mut terminal: Terminal) {
    terminal.wait_for("Delete more?");
    terminal.type_keys("keyboard\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("second=[keyboard]\r\n"), "{shown:?}");
    assert_eq!(shown.matches("got=[").count(), 1, "{shown:?}");
}

#[track_caller]
fn the_log_holds(home: &Home) {
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Killed while it records the prompt: the prompt is offered all the same, once.
#[track_caller]
fn check_recording(point: &str) {
    let home = home();
    let recording = home.pause_at(point);
    let terminal = home.bash(TWO_QUESTIONS);
    recording.kill();
    let id = home.prompt_id();
    let detected = home.audit().iter().filter(|record| record["event"] == "PROMPT_DETECTED").count();
    assert_eq!(detected, 1, "{point}");
    assert_eq!(home.run(["approve", &id]).code, 0);
    terminal.wait_for("got=[y]");
    nothing_was_typed_twice(terminal);
    the_log_holds(&home);
}

#[test]
fn a_prompt_survives_a_hub_that_dies_recording_it() {
    check_recording("hub-before-record");
    check_recording("hub-after-record");
}

#[test]
fn an_answer_that_was_not_recorded_was_not_given() {
    let home = home();
    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let accepting = home.pause_at("hub-before-accept");
    let approve = home.start(["approve", &id]);
    accepting.kill();
    let told = approve.end();
    assert_eq!((told.code, told.stderr.contains("hung up")), (1, true), "{told:?}");
    assert_eq!(home.prompt_id(), id, "it still waits, under the same id");
    assert_eq!(terminal.count("got="), 0);
    assert_eq!(home.run(["deny", &id]).code, 0, "the next answer is free");
    terminal.wait_for("got=[n]");
    nothing_was_typed_twice(terminal);
    the_log_holds(&home);
}

/// Killed after the answer is on record: it reaches the tool all the same, once; asked again, the hub knows.
#[track_caller]
fn check_delivering(point: &str) {
    let home = home();
    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let delivering = home.pause_at(point);
    let approve = home.start(["approve", &id]);
    delivering.kill();
    assert_eq!(approve.end().code, 1, "{point}");
    terminal.wait_for("got=[y]");
    assert_eq!(home.end_of(&id), "resolved applied", "{point}");
    let again = home.run(["deny", &id]);
    assert_eq!((again.code, again.stderr.contains("resolved (applied)")), (1, true), "{point}: {again:?}");
    nothing_was_typed_twice(terminal);
    let course = home.course_of(&id);
    assert_eq!(course[2..], ["REPLY_RECEIVED", "REPLY_INJECTED", "PROMPT_RESOLVED"], "{point}");
    the_log_holds(&home);
}

#[test]
fn an_answer_on_record_arrives_once() {
    check_delivering("hub-after-accept");
    check_delivering("hub-before-deliver");
    check_delivering("hub-after-deliver");
    check_delivering("hub-before-outcome");
}

#[test]
fn a_deadline_survives_a_hub_that_dies_at_it() {
    let home = home();
    home.write_config("[prompts]\ntimeout_seconds = 1\n");
    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    home.pause_at("hub-before-expire").kill();
    terminal.wait_for("got=[n]");
    assert_eq!(home.end_of(&id), "resolved applied");
    the_log_holds(&home);
}

#[test]
fn a_prompt_waits_on_while_hubs_come_and_go() {
    let home = home();
    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    for _ in 0..3 {
        let killed = home.hub_pid();
        home.kill_hub();
        eventually("the session host starts another hub", || {
            home.hub_pid().filter(|pid| Some(*pid) != killed)
        });
        assert_eq!(home.prompt_id(), id);
    }
    assert_eq!(home.sessions()[0]["status"], "active");
    assert_eq!(home.run(["approve", &id]).code, 0);
    terminal.wait_for("got=[y]");
    nothing_was_typed_twice(terminal);
    the_log_holds(&home);
}

/// Told while there was no hub: the tool asked, was answered at the keyboard and ended, and the next hub knows.
#[test]
fn what_happened_without_a_hub_is_told_to_the_next() {
    let home = home();
    let recording = home.pause_at("hub-before-record");
    let mut terminal =
        home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]"; read -p "More? (y/n) " answer"#);
    recording.reached();
    terminal.type_keys("n\r");
    terminal.wait_for("More?");
    recording.kill();
    let waiting = home.one_prompt();
    assert!(waiting["excerpt"].as_str().unwrap().contains("More?"), "{waiting}");
    let detected: Vec<_> =
        home.audit().into_iter().filter(|record| record["event"] == "PROMPT_DETECTED").collect();
    assert_eq!(detected.len(), 2);
    assert_eq!(home.end_of(detected[0]["prompt_id"].as_str().unwrap()), "resolved answered_locally");
}

/// Killed while it ends a session: nothing of it waits for ever.
#[test]
fn a_session_that_a_hub_died_ending_is_ended_by_the_next() {
    let home = home();
    let terminal =
        home.bash(&format!(r#"({}; kill -KILL $$) & read -p "Go on? (y/n) " answer"#, home.wait_for_go()));
    let id = home.prompt_id();
    let ending = home.pause_at("hub-before-end");
    home.go();
    ending.kill();
    assert_eq!(terminal.end().0, 137);
    home.run(["hub", "start"]);
    home.session_is("crashed");
    assert_eq!(home.end_of(&id), "canceled tool_gone");
    assert!(home.approvals().is_empty());

    let terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let ending = home.pause_at("hub-before-end");
    terminal.kill();
    ending.kill();
    home.run(["hub", "start"]);
    home.session_is("crashed");
    assert_eq!(home.end_of(&id), "canceled host_gone");
    the_log_holds(&home);
}

/// A hub that is killed at any moment: each prompt gets one answer, and each command hears what became of its own.
#[test]
fn a_hub_that_is_killed_all_the_time_types_each_answer_once() {
    let home = home();
    let script = format!(
        r#"for no in $(seq {PROMPTS}); do read -p "Step $no? (y/n) " answer; echo "step $no=[$answer]"; done"#
    );
    let terminal = home.bash(&script);
    for no in 1..=PROMPTS {
        let id = eventually("the next step asks", || {
            home.approvals().iter().find_map(|prompt| {
                let is_next = prompt["excerpt"].as_str()?.contains(&format!("Step {no}?"));
                is_next.then(|| prompt["prompt_id"].as_str().map(str::to_owned))?
            })
        });
        let pid = home.hub_pid();
        let approve = home.start(["approve", &id]);
        // Spread over the few milliseconds that an answer takes.
        std::thread::sleep(std::time::Duration::from_micros(no as u64 * 700));
        if let Some(pid) = pid {
            atlasbridge_testkit::kill(pid);
        }
        approve.end();
        // Heard or not: asked again, the hub either takes it now or says what became of the first.
        let again = home.run(["approve", &id]);
        assert!(again.code == 0 || again.stderr.contains("nothing was typed"), "{again:?}");
        terminal.wait_for(&format!("step {no}=["));
        assert_eq!(home.end_of(&id), "resolved applied");
    }
    let (code, shown) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(shown.matches("=[y]").count(), PROMPTS, "{shown:?}");
    the_log_holds(&home);
}
