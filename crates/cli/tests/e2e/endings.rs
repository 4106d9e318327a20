//! The other ends of a prompt: time runs out, the keyboard is first, the tool changes its mind or goes.

use atlasbridge_testkit::{Home, eventually};

use crate::{TWO_QUESTIONS, home};

/// Long enough to answer in, short enough to wait for.
const ONE_SECOND: &str = "[prompts]\ntimeout_seconds = 1\n";

fn home_with(config: &str) -> Home {
    let home = home();
    home.write_config(config);
    home
}

#[test]
fn silence_says_no_once() {
    let home = home_with(ONE_SECOND);
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    terminal.wait_for("got=[n]");
    assert_eq!(home.end_of(&id), "resolved applied");
    let expired = home.audit_has("PROMPT_EXPIRED", Some(&id));
    let resolved = home.audit_has("PROMPT_RESOLVED", Some(&id));
    assert_eq!((&expired["source"], &resolved["source"]), (&"timeout".into(), &"timeout".into()));
    let late = home.run(["approve", &id]);
    assert_eq!(
        (late.code, late.stderr.contains("“No” was taken at the deadline; your answer came too late")),
        (1, true),
        "{late:?}"
    );
    assert_eq!(terminal.count("second="), 0);
    terminal.wait_for("Delete more?");
    terminal.type_keys("y\r");
    assert!(terminal.end().1.contains("second=[y]"));
}

#[test]
fn a_menu_without_a_refusal_outlives_its_deadline() {
    let home = home_with(ONE_SECOND);
    let mut terminal = home.bash(r#"select answer in red green; do break; done; echo "got=[$answer]""#);
    let id = home.prompt_id();
    home.audit_has("PROMPT_EXPIRED", Some(&id));
    assert_eq!(home.approvals()[0]["status"], "expired");
    let late = home.run(["reply", &id, "red"]);
    assert_eq!((late.code, late.stderr.contains("expired")), (1, true), "{late:?}");
    assert_eq!(terminal.count("got="), 0, "nothing was typed");
    terminal.type_keys("2\r");
    assert!(terminal.end().1.contains("got=[green]"));
    assert_eq!(home.end_of(&id), "resolved answered_locally");
}

#[test]
fn an_approval_that_meets_the_deadline_changes_nothing() {
    let home = home_with(ONE_SECOND);
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let expiring = home.pause_at("hub-before-expire");
    expiring.reached();
    let approve = home.start(["approve", &id]);
    expiring.release();
    let told = approve.end();
    assert_eq!(
        (told.code, told.stderr.contains("your answer came too late and was not typed")),
        (1, true),
        "{told:?}"
    );
    answered_once(&home, &mut terminal, &id, "n");
}

#[test]
fn a_deadline_that_meets_an_approval_changes_nothing() {
    let home = home_with(ONE_SECOND);
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let accepting = home.pause_at("hub-after-accept");
    let approve = home.start(["approve", &id]);
    accepting.reached();
    // The deadline passes while the reply is on record and not yet delivered: it is late at the gate, and says so.
    eventually("the deadline passes", || (home.audit_age_ms("PROMPT_DETECTED") > 1_100).then_some(()));
    accepting.release();
    let told = approve.end();
    assert_eq!(
        (told.code, told.stdout.contains("it reached the session too late, nothing was typed")),
        (1, true),
        "{told:?}"
    );
    assert_eq!(home.end_of(&id), "failed too_late");
    assert_eq!(terminal.count("got="), 0);
    terminal.type_keys("n\r");
    terminal.wait_for("got=[n]");
}

#[test]
fn an_approval_checked_before_the_deadline_and_recorded_after_it_is_late() {
    let home = home_with(ONE_SECOND);
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let accepting = home.pause_at("hub-before-accept");
    let approve = home.start(["approve", &id]);
    accepting.reached();
    eventually("the deadline passes", || (home.audit_age_ms("PROMPT_DETECTED") > 1_100).then_some(()));
    accepting.release();
    let told = approve.end();
    assert_eq!((told.code, told.stderr.contains("expired")), (1, true), "{told:?}");
    answered_once(&home, &mut terminal, &id, "n");
}

/// The first question got `answer`, and the second none until somebody types one.
#[track_caller]
fn answered_once(home: &Home, terminal: &mut atlasbridge_testkit::Terminal, id: &str, answer: &str) {
    terminal.wait_for(&format!("got=[{answer}]"));
    assert_eq!(home.end_of(id), "resolved applied");
    assert_eq!(terminal.count("got="), 1);
    assert_eq!(terminal.count("second="), 0);
    terminal.wait_for("Delete more?");
    terminal.type_keys("y\r");
    terminal.wait_for("second=[y]");
}

#[test]
fn the_keyboard_is_first() {
    let home = home();
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    terminal.type_keys("n\r");
    assert_eq!(home.end_of(&id), "resolved answered_locally");
    let late = home.run(["approve", &id]);
    assert_eq!((late.code, late.stderr.contains("resolved (answered locally)")), (1, true), "{late:?}");
    assert_eq!(terminal.count("second="), 0);
    terminal.type_keys("n\r");
    assert!(terminal.end().1.contains("second=[n]"));
}

#[test]
fn an_approval_on_its_way_finds_the_keyboard_first() {
    let home = home();
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let delivering = home.pause_at("hub-before-deliver");
    let approve = home.start(["approve", &id]);
    delivering.reached();
    terminal.type_keys("n\r");
    terminal.wait_for("Delete more?");
    delivering.release();
    let told = approve.end();
    assert_eq!((told.code, told.stdout.contains("keyboard was first")), (1, true), "{told:?}");
    assert_eq!(home.end_of(&id), "resolved answered_locally");
    assert_eq!(terminal.count("second="), 0);
}

#[test]
fn a_half_typed_line_is_not_completed_by_an_approval() {
    let home = home();
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    terminal.type_keys("no");
    terminal.wait_for("(y/n) no");
    let told = home.run(["approve", &id]);
    assert_eq!((told.code, told.stdout.contains("somebody was typing")), (1, true), "{told:?}");
    assert_eq!(home.end_of(&id), "failed typing_locally");
    terminal.type_keys("\r");
    terminal.wait_for("got=[no]");
}

#[test]
fn a_question_that_is_withdrawn_is_canceled() {
    let home = home();
    let terminal = home.bash(r#"read -t 1 -p "Go on? (y/n) " answer; echo; echo "too late"; sleep 60"#);
    let id = home.prompt_id();
    assert_eq!(home.end_of(&id), "canceled withdrawn");
    terminal.wait_for("too late");
    let late = home.run(["approve", &id]);
    assert_eq!((late.code, late.stderr.contains("canceled (withdrawn)")), (1, true), "{late:?}");
}

#[test]
fn a_tool_that_goes_takes_its_prompt_with_it() {
    let home = home();
    let terminal =
        home.bash(&format!(r#"({}; kill -KILL $$) & read -p "Go on? (y/n) " answer"#, home.wait_for_go()));
    let id = home.prompt_id();
    home.go();
    assert_eq!(terminal.end().0, 128 + 9);
    assert_eq!(home.end_of(&id), "canceled tool_gone");
    let session = home.session_is("crashed");
    assert_eq!((&session["exit_code"], &session["state"]), (&137.into(), &"done".into()));
    let late = home.run(["approve", &id]);
    assert_eq!((late.code, late.stderr.contains("canceled (tool gone)")), (1, true), "{late:?}");
}

/// The reply is on its way when the tool asks something else.
/// A tool that was asked to end has not crashed.
#[test]
fn a_tool_that_is_asked_to_end_is_terminated() {
    let home = home();
    let mut terminal = home.bash("read -p 'Go on? (y/n) ' answer");
    home.prompt_id();
    terminal.type_keys("\x03");
    assert_eq!(terminal.end().0, 128 + 2);
    assert_eq!(home.session_is("terminated")["exit_code"], 130);
}

#[test]
fn a_changed_screen_gets_nothing_typed() {
    let home = home();
    let go = home.scratch().join("go");
    let script = format!(
        r#"read_or_go() {{ while ! read -t 0.05 -p "" answer; do [ -e {go} ] && return; done; }}
        printf 'Delete the cache? (y/n) '; read_or_go
        printf '\nDelete the DATABASE? (y/n) '; read answer; echo "got=[$answer]""#,
        go = go.display()
    );
    let mut terminal = home.bash(&script);
    let id = home.prompt_id();
    let delivering = home.pause_at("hub-before-deliver");
    let approve = home.start(["approve", &id]);
    delivering.reached();
    std::fs::write(&go, "").unwrap();
    terminal.wait_for("DATABASE? (y/n) ");
    delivering.release();
    let told = approve.end();
    assert_eq!((told.code, told.stdout.contains("no longer shows this prompt")), (1, true), "{told:?}");
    assert_eq!(home.end_of(&id), "failed prompt_changed");
    let second = home.prompt_id();
    assert_ne!(second, id);
    assert_eq!(terminal.count("got="), 0);
    terminal.type_keys("n\r");
    assert!(terminal.end().1.contains("got=[n]"));
}

#[test]
fn free_text_that_is_switched_off_gets_its_default_at_once() {
    let home = home_with("[prompts]\nfree_text_enabled = false\n");
    let terminal = home.bash(r#"read -p "Commit message: " answer; echo "got=[$answer]""#);
    assert!(terminal.end().1.contains("got=[]"));
}
