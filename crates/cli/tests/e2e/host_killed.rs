//! `kill -9` of the session host at every step of an injection: the tool is hung up as with any closed terminal, and
//! what is said of the reply is what is known.

use atlasbridge_testkit::{Home, Terminal, eventually};

use crate::home;

/// A tool that leaves a note when it is hung up.
fn asking(home: &Home) -> Terminal {
    let note = home.scratch().join("hung-up");
    home.bash(&format!(
        r#"trap 'echo hung up > {}; exit 1' HUP; read -p "Go on? (y/n) " answer; while :; do sleep 0.1; done"#,
        note.display()
    ))
}

#[track_caller]
fn the_session_crashed(home: &Home) {
    eventually("the tool is hung up", || home.scratch().join("hung-up").exists().then_some(()));
    let session = home.session_is("crashed");
    assert_eq!((&session["state"], &session["host_healthy"]), (&"done".into(), &false.into()));
    assert!(home.approvals().is_empty());
    eventually("the journal is removed", || {
        let journals = std::fs::read_dir(home.path().join("journal")).ok()?;
        (journals.count() == 0).then_some(())
    });
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_waiting_prompt_is_canceled() {
    let home = home();
    let terminal = asking(&home);
    let id = home.prompt_id();
    terminal.kill();
    assert_eq!(home.end_of(&id), "canceled host_gone");
    the_session_crashed(&home);
    let late = home.run(["approve", &id]);
    assert_eq!((late.code, late.stderr.contains("canceled (host gone)")), (1, true), "{late:?}");
}

/// Killed at `point` of an injection: the prompt ends so, and the command hears it.
#[track_caller]
fn check(point: &str, end: &str, told: &str, events: &[&str]) {
    let home = home();
    let _terminal = asking(&home);
    let id = home.prompt_id();
    let injecting = home.pause_at(point);
    let approve = home.start(["approve", &id]);
    injecting.kill();
    let heard = approve.end();
    assert_eq!((heard.code, heard.stdout.contains(told)), (1, true), "{point}: {heard:?}");
    assert_eq!(home.end_of(&id), end, "{point}");
    assert_eq!(home.course_of(&id)[2..], *events, "{point}");
    the_session_crashed(&home);
}

#[test]
fn without_an_intent_nothing_was_typed() {
    check(
        "gate-before-intent",
        "failed tool_gone",
        "nothing reached it",
        &["REPLY_RECEIVED", "REPLY_REJECTED"],
    );
}

#[test]
fn an_intent_without_an_outcome_is_unknown() {
    check("gate-after-intent", "failed unknown", "nothing proves", &["REPLY_RECEIVED", "REPLY_REJECTED"]);
}

#[test]
fn a_typed_reply_is_told_as_typed() {
    check(
        "gate-after-write",
        "failed unknown",
        "it may have been typed",
        &["REPLY_RECEIVED", "REPLY_INJECTED", "REPLY_REJECTED"],
    );
}

/// Both are killed: the next hub finds the session's end and what was typed, from the journal.
#[test]
fn the_next_hub_reads_the_journal_of_a_host_that_died_with_the_last() {
    let home = home();
    let terminal = asking(&home);
    let id = home.prompt_id();
    let typed = home.pause_at("gate-after-write");
    let approve = home.start(["approve", &id]);
    typed.reached();
    home.kill_hub();
    typed.kill();
    drop(terminal);
    assert_eq!(approve.end().code, 1);
    assert!(home.run(["approvals", "--json"]).json().as_array().is_some(), "a new hub starts");
    assert_eq!(home.end_of(&id), "failed unknown");
    assert_eq!(home.course_of(&id)[2..], ["REPLY_RECEIVED", "REPLY_INJECTED", "REPLY_REJECTED"]);
    the_session_crashed(&home);
}

/// The hub is away when the tool ends and cannot be told in time: what was typed stays known.
#[test]
fn what_a_host_could_not_tell_is_in_its_journal() {
    let home = home();
    let terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    let hearing = home.pause_at("hub-before-outcome");
    let approve = home.start(["approve", &id]);
    hearing.reached();
    // The host waits a second for the hub to note the end, and goes.
    assert!(terminal.end().1.contains("got=[y]"));
    hearing.release();
    approve.end();
    assert_eq!(home.end_of(&id), "resolved applied");
    assert_eq!(home.sessions()[0]["status"], "completed", "its last words were in the socket");
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

/// As before, but the hub dies with the last words unread.
#[test]
fn a_typed_reply_that_nobody_told_the_hub_of_is_not_called_untyped() {
    let home = home();
    let terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    let hearing = home.pause_at("hub-before-outcome");
    let approve = home.start(["approve", &id]);
    hearing.reached();
    assert!(terminal.end().1.contains("got=[y]"));
    hearing.kill();
    approve.end();
    home.run(["hub", "start"]);
    assert_eq!(home.end_of(&id), "failed unknown");
    assert_eq!(home.course_of(&id)[2..], ["REPLY_RECEIVED", "REPLY_INJECTED", "REPLY_REJECTED"]);
}
