//! One prompt, answered from another terminal: typed once, refused afterwards, and the truth told each time.

use std::time::Duration;

use atlasbridge_testkit::{Finished, eventually};

use crate::{TWO_QUESTIONS, home};

/// Asks with `script`, answers with `args`, and expects the tool to have read `expected` in `[]`.
#[track_caller]
fn check(script: &str, args: &[&str], expected: &str) {
    let home = home();
    let terminal = home.bash(&format!(r#"{script}; echo "got=[$answer]""#));
    let id = home.prompt_id();
    let told = home.run(args.iter().map(|arg| if *arg == "ID" { id.as_str() } else { arg }));
    assert_eq!((told.code, told.stdout.contains("applied")), (0, true), "{told:?}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0);
    assert!(shown.contains(&format!("got=[{expected}]\r\n")), "{shown:?}");
    assert_eq!(home.end_of(&id), "resolved applied");
}

/// Asks with `script`; the answer is refused in words that contain `reason`, and nothing is typed.
#[track_caller]
fn check_refused(script: &str, args: &[&str], reason: &str) {
    let home = home();
    let mut terminal = home.bash(&format!(r#"{script}; echo "got=[$answer]""#));
    let id = home.prompt_id();
    let told = home.run(args.iter().map(|arg| if *arg == "ID" { id.as_str() } else { arg }));
    assert_eq!((told.code, told.stderr.contains(reason)), (1, true), "{told:?}");
    assert_eq!(home.prompt_id(), id, "the prompt still waits");
    terminal.type_keys("local\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[local]\r\n"), "{shown:?}");
    assert_eq!(home.end_of(&id), "resolved answered_locally");
}

const YES_NO: &str = r#"read -p "Delete 3 files? (y/n) " answer"#;
const TEXT: &str = r#"read -r -p "Commit message: " answer"#;

#[test]
fn five_approvals_type_yes_once() {
    let home = home();
    let mut terminal = home.bash(TWO_QUESTIONS);
    let prompt = home.one_prompt();
    assert_eq!((&prompt["kind"], &prompt["tool"]), (&"yes_no".into(), &"bash".into()));
    let id = prompt["prompt_id"].as_str().unwrap();
    let told: Vec<Finished> = (0..5).map(|_| home.run(["approve", id])).collect();
    assert_eq!((told[0].code, told[0].stdout.contains("applied")), (0, true), "{told:?}");
    for again in &told[1..] {
        assert_eq!((again.code, again.stderr.contains("nothing was typed")), (1, true), "{again:?}");
    }
    let second =
        eventually("the second question waits", || Some(home.prompt_id()).filter(|second| second != id));
    assert_eq!(terminal.count("second="), 0, "nothing was typed ahead");
    terminal.type_keys("n\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[y]\r\n") && shown.contains("second=[n]\r\n"), "{shown:?}");
    assert_eq!(
        home.course_of(id),
        ["PROMPT_DETECTED", "PROMPT_ROUTED", "REPLY_RECEIVED", "REPLY_INJECTED", "PROMPT_RESOLVED"]
    );
    assert_eq!(home.end_of(&second), "resolved answered_locally");
    assert_eq!(home.run(["audit", "verify"]).code, 0);
}

#[test]
fn approvals_at_the_same_time_type_yes_once() {
    let home = home();
    let mut terminal = home.bash(TWO_QUESTIONS);
    let id = home.prompt_id();
    let started: Vec<_> = (0..5).map(|_| home.start(["approve", &id])).collect();
    let codes: Vec<i32> = started.into_iter().map(|command| command.end().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    terminal.wait_for("Delete more?");
    terminal.type_keys("n\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[y]\r\n") && shown.contains("second=[n]\r\n"), "{shown:?}");
}

/// Because the kernel says that the tool reads, and not because it has been silent: that would take a minute here. How
/// fast it is on an idle machine is measured elsewhere.
#[test]
fn a_prompt_is_listed_without_a_wait_for_silence() {
    const SILENCE: Duration = Duration::from_secs(60);
    let home = home();
    home.write_config(&format!("[prompts]\nstuck_timeout_seconds = {}.0\n", SILENCE.as_secs()));
    home.run(["hub", "start"]);
    let terminal = home.bash(YES_NO);
    terminal.wait_for("(y/n) ");
    let asked = std::time::Instant::now();
    let id = home.prompt_id();
    assert!(asked.elapsed() < SILENCE / 2, "{:?}", asked.elapsed());
    home.run(["deny", &id]);
    terminal.end();
}

/// The numbers of the rows are told, kept by the store over a restart, and an answer outside of them is refused in their words.
#[test]
fn a_list_tells_its_numbers() {
    let home = home();
    let terminal = home.bash(
        r#"printf 'Which one?\n  1) logs\n  2) cache\n  3) backups\n  4) none\n'; read -p "Enter choice [1-4]: " answer; echo "got=[$answer]""#,
    );
    let id = home.prompt_id();
    home.run(["hub", "restart"]);
    let prompt = home.one_prompt();
    assert_eq!(
        prompt["constraints"],
        serde_json::json!({ "max_length": 200, "min_choice": 1, "max_choice": 4 })
    );
    let refused = home.run(["reply", &id, "7"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("7 is none of the choices, numbered 1 to 4: logs · cache · backups · none"),
        "{refused:?}"
    );
    let taken = eventually("the session is back", || {
        Some(home.run(["reply", &id, "4"])).filter(|told| told.code == 0)
    });
    assert!(taken.stdout.contains("applied"), "{taken:?}");
    assert!(terminal.end().1.contains("got=[4]"));
}

#[test]
fn yes_and_no_in_every_way_of_saying_it() {
    check(YES_NO, &["approve", "ID"], "y");
    check(YES_NO, &["deny", "ID"], "n");
    check(YES_NO, &["reply", "ID", "No"], "n");
    check(YES_NO, &["reply", "ID", "default"], "n");
    check(r#"read -p "Overwrite? [Y/n] " answer"#, &["deny", "ID"], "n");
    check(r#"read -p "Are you sure (yes/no)? " answer"#, &["approve", "ID"], "yes");
}

#[test]
fn the_beginning_of_an_id_is_enough() {
    let home = home();
    let terminal = home.bash(YES_NO);
    let id = home.prompt_id();
    assert_eq!(home.run(["approve", "0000"]).code, 1);
    assert_eq!(home.run(["approve", &id[..8]]).code, 0);
    terminal.end();
}

#[test]
fn enter_is_pressed_where_enter_is_asked_for() {
    check(r#"read -p "Press Enter to continue" answer"#, &["approve", "ID"], "");
    check(r#"read -p "Press Enter to continue" answer"#, &["reply", "ID", "enter"], "");
}

#[test]
fn a_menu_takes_numbers_and_labels() {
    const MENU: &str = r#"select answer in development staging production; do break; done"#;
    check(MENU, &["reply", "ID", "2"], "staging");
    check(MENU, &["reply", "ID", "production"], "production");
    let home = home();
    let mut terminal = home.bash(&format!(r#"{MENU}; echo "got=[$answer]""#));
    let prompt = home.one_prompt();
    let labels: Vec<_> =
        prompt["choices"].as_array().unwrap().iter().map(|choice| choice["label"].clone()).collect();
    assert_eq!(labels, ["development", "staging", "production"]);
    let id = prompt["prompt_id"].as_str().unwrap();
    let wrong = home.run(["reply", id, "7"]);
    assert_eq!((wrong.code, wrong.stderr.contains("none of the choices")), (1, true), "{wrong:?}");
    terminal.type_keys("1\r");
    assert!(terminal.end().1.contains("got=[development]"));
}

#[test]
fn text_arrives_as_it_was_sent() {
    check(TEXT, &["reply", "ID", "fix: two  spaces"], "fix: two  spaces");
    check(TEXT, &["reply", "ID", "naïve 日本 🎉"], "naïve 日本 🎉");
    check(TEXT, &["reply", "ID", "-n"], "-n");
    check(TEXT, &["reply", "ID", "a\u{1b}[31m\u{3}b\u{7f}"], "a[31mb");
    check(TEXT, &["reply", "ID", "default"], "");
}

#[test]
fn text_that_does_not_fit_is_refused() {
    check_refused(TEXT, &["reply", "ID", &"x".repeat(201)], "at most 200");
    check_refused(TEXT, &["reply", "ID", "one\ntwo"], "one line");
    check_refused(TEXT, &["approve", "ID"], "reply PROMPT VALUE");
    check_refused(TEXT, &["deny", "ID"], "nothing was typed");
    check_refused(YES_NO, &["reply", "ID", "perhaps"], "none of the choices");
}

#[test]
fn a_canceled_prompt_is_left_to_the_terminal() {
    let home = home();
    let mut terminal = home.bash(&format!(r#"{YES_NO}; echo "got=[$answer]""#));
    let id = home.prompt_id();
    assert_eq!(home.run(["reply", &id, "cancel"]).code, 0);
    assert_eq!(home.end_of(&id), "canceled by_operator");
    assert_eq!(home.run(["approve", &id]).code, 1);
    terminal.type_keys("n\r");
    assert!(terminal.end().1.contains("got=[n]"));
}

/// The questions are listed with these words for where they stand.
#[track_caller]
fn listed(home: &atlasbridge_testkit::Home, words: &[&str]) {
    eventually(&format!("what stands on the screens is {words:?}"), || {
        let listed = home.approvals();
        let found: Vec<_> = listed.iter().filter_map(|prompt| prompt["word"].as_str()).collect();
        (found == words).then_some(())
    });
}

#[test]
fn what_is_left_to_the_terminal_is_listed_until_it_is_answered_there() {
    let home = home();
    let mut terminal = home.bash(&format!(r#"{YES_NO}; echo "got=[$answer]"; echo up; sleep 600"#));
    let id = home.prompt_id();
    assert_eq!(home.run(["reply", &id, "cancel"]).code, 0);
    listed(&home, &["left to the terminal"]);
    let prompt = home.approvals().remove(0);
    assert_eq!((&prompt["status"], &prompt["answers"]), (&"canceled".into(), &serde_json::Value::Null));
    home.kill_hub();
    home.run(["hub", "start"]);
    listed(&home, &["left to the terminal"]);
    terminal.type_keys("n\r");
    terminal.wait_for("up");
    listed(&home, &[]);
    assert_eq!(home.end_of(&id), "canceled by_operator");
}

#[test]
fn what_expires_without_a_default_is_listed_until_it_is_answered_at_the_terminal() {
    let home = home();
    home.write_config("[prompts]\ntimeout_seconds = 1\n");
    let mut terminal = home.bash(r#"read -s -p "Password: " answer; echo up; sleep 600"#);
    listed(&home, &["expired, still on the screen"]);
    terminal.type_keys("secret\r");
    terminal.wait_for("up");
    listed(&home, &[]);
}

#[test]
fn a_question_that_is_not_recognised_takes_what_is_offered_and_nothing_else() {
    let home = home();
    let terminal = home.bash(
        r#"printf 'Wipe the disk (y/n), or whatever you like\n\n'; read -r answer; echo "got=[$answer]""#,
    );
    let prompt = home.one_prompt();
    assert_eq!(prompt["kind"], "unknown", "{prompt}");
    assert_eq!(prompt["answers"], serde_json::json!(["enter", "text", "cancel"]));
    let id = prompt["prompt_id"].as_str().unwrap();
    let yes = home.run(["approve", id]);
    assert_eq!((yes.code, yes.stderr.contains("reply PROMPT VALUE")), (1, true), "{yes:?}");
    let no = home.run(["deny", id]);
    assert_eq!((no.code, no.stderr.contains("nothing was typed")), (1, true), "{no:?}");
    assert_eq!(home.prompt_id(), id, "it still waits");
    let (_, shown) = home.run_in_terminal(&["approvals"]).end();
    assert!(shown.contains("enter · text · cancel") && !shown.contains("approve"), "{shown}");
    assert_eq!(home.run(["reply", id, "y"]).code, 0);
    assert!(terminal.end().1.contains("got=[y]"));
}

#[test]
fn two_sessions_do_not_disturb_each_other() {
    let home = home();
    let ask =
        |name: &str| home.bash(&format!(r#"read -p "Drop {name}? (y/n) " answer; echo "got=[$answer]""#));
    let (first, second) = (ask("alpha"), ask("beta"));
    let waiting = eventually("both wait", || Some(home.approvals()).filter(|waiting| waiting.len() == 2));
    for prompt in &waiting {
        assert_eq!(prompt["status"], "awaiting_reply");
        let said = if prompt["excerpt"].as_str().unwrap().contains("beta") { "approve" } else { "deny" };
        assert_eq!(home.run([said, prompt["prompt_id"].as_str().unwrap()]).code, 0);
    }
    assert!(first.end().1.contains("got=[n]"));
    assert!(second.end().1.contains("got=[y]"));
}

#[test]
fn one_prompt_of_a_session_waits_at_a_time() {
    let home = home();
    let terminal = home.bash(TWO_QUESTIONS);
    let first = home.prompt_id();
    assert_eq!(home.run(["deny", &first]).code, 0);
    let second =
        eventually("the second question waits", || Some(home.prompt_id()).filter(|second| *second != first));
    assert_eq!(home.approvals().len(), 1);
    assert_eq!(home.run(["approve", &second]).code, 0);
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[n]\r\n") && shown.contains("second=[y]\r\n"), "{shown:?}");
}

/// A session inside a session sees the same question: two prompts, one answer.
#[test]
fn a_session_in_a_session_reads_one_answer() {
    let home = home();
    let ask = r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]"; read -p "More? (y/n) " answer; echo "second=[$answer]""#;
    let script = format!(
        "ATLASBRIDGE_HOME={} {} run -- bash -c '{ask}'",
        home.path().display(),
        home.binary().display()
    );
    let mut terminal = home.bash(&script);
    let prompts = eventually("both see it", || Some(home.approvals()).filter(|prompts| prompts.len() == 2));
    let codes: Vec<i32> = prompts
        .iter()
        .map(|prompt| home.run(["approve", prompt["prompt_id"].as_str().unwrap()]).code)
        .collect();
    assert!(codes.contains(&0), "{codes:?}");
    let asks_more =
        |prompt: &&serde_json::Value| prompt["excerpt"].as_str().is_some_and(|text| text.contains("More?"));
    eventually("both see the next question", || {
        (home.approvals().iter().filter(asks_more).count() == 2).then_some(())
    });
    assert_eq!(terminal.count("second="), 0);
    // A person reads it first: a key that comes before anybody can have seen that the dialog has gone is dropped.
    std::thread::sleep(Duration::from_millis(500));
    terminal.type_keys("n\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[y]\r\n") && shown.contains("second=[n]\r\n"), "{shown:?}");
}

/// A dialog ignores a key now and then. Nothing is pressed twice: the answer's end is told, and the dialog, which still
/// stands, is offered as another prompt.
#[test]
fn a_dialog_that_ignores_its_answer_is_offered_again() {
    let home = home();
    let script = r#"printf ' Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend'
        read -rsn1 ignored; read -rsn1 answer; echo; echo "got=[$ignored$answer]""#;
    let terminal = home.bash(script);
    let first = home.prompt_id();
    let told = home.run(["approve", &first]);
    assert_eq!((told.code, told.stdout.contains("did not react")), (1, true), "{told:?}");
    let second = eventually("the dialog is offered again", || {
        let waiting = home.approvals();
        let id = waiting.first()?["prompt_id"].as_str()?.to_owned();
        (id != first).then_some(id)
    });
    let told = home.run(["deny", &second]);
    assert_eq!(told.code, 0, "{told:?}");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[12]\r\n"), "{shown:?}");
    assert_eq!(home.end_of(&first), "failed not_taken");
    assert_eq!(home.end_of(&second), "resolved applied");
}

/// A spinner beside a dialog has it drawn anew all the time, and half of it is gone meanwhile. The answer waits for the
/// whole.
#[test]
fn a_dialog_that_is_being_drawn_anew_is_answered_when_it_is_whole() {
    let home = home();
    let go = home.scratch().join("go");
    let script = format!(
        r#"
import os, select, termios
raw = termios.tcgetattr(0)
raw[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(0, termios.TCSANOW, raw)
def half(which):
    halves = ["\x1b[H\x1b[J Do you want to proceed?\n ❯ 1. Yes\n", "   2. No\n\n Esc to cancel · Tab to amend"]
    os.write(1, halves[which].encode())
half(0); half(1)
while not os.path.exists({:?}):
    select.select([0], [], [], 0.05)
while not select.select([0], [], [], 0.03)[0]:
    half(0)
    if select.select([0], [], [], 0.03)[0]:
        break
    half(1)
print("\x1b[H\x1b[Jgot=[%s]" % os.read(0, 100).decode())"#,
        go.display()
    );
    let terminal = home.run_in_terminal(&["run", "--", "python3", "-c", &script]);
    let id = home.prompt_id();
    std::fs::write(&go, "").unwrap();
    let told = home.run(["deny", &id]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(terminal.end().1.contains("got=[2]"));
}

/// Answers a dialog of Claude Code with `word`; its place is then taken by `line`. How the prompt has ended.
#[track_caller]
fn ends_after(word: &str, line: &str) -> String {
    let home = home();
    let over = home.scratch().join("over");
    let script = format!(
        r#"printf '> go on\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend'
        read -rsn1 answer; printf '\e[H\e[J> go on\n\n%s\n' '{line}'; until [ -e '{}' ]; do sleep 0.02; done"#,
        over.display()
    );
    let terminal = home.run_in_terminal(&["run", "--adapter", "claude", "--", "bash", "-c", &script]);
    let id = home.prompt_id();
    let told = home.run([word, &id]);
    let end = home.end_of(&id);
    assert_eq!(told.stdout.contains("applied"), end == "resolved applied", "{told:?}");
    std::fs::write(over, "").unwrap();
    terminal.end();
    end
}

/// What the tool says afterwards is believed where it speaks against the answer, and proves nothing where it does not.
#[test]
fn an_answer_that_the_tool_belies_is_not_told_as_applied() {
    const INTERRUPTED: &str = "  ⎿  Interrupted · What should Claude do instead?";
    for (word, line, expected) in [
        ("approve", "  ⎿  (No content)", "resolved applied"),
        ("approve", INTERRUPTED, "failed unknown"),
        ("deny", INTERRUPTED, "resolved applied"),
    ] {
        assert_eq!(ends_after(word, line), expected, "{word}, then {line:?}");
    }
}
