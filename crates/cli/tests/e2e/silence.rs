//! Silence: what the deadline types, into what, and above all what it does not.

use std::fs;

use atlasbridge_testkit::{Terminal, eventually};
use serde_json::Value;

use crate::home;

/// Every prompt expires after a second.
const IMPATIENT: &str = "[prompts]\ntimeout_seconds = 1\nstuck_timeout_seconds = 0.3\n";

/// A program that seems to wait, and the question that comes after it. Nobody was shown that one when the first expired.
#[test]
fn a_possible_prompt_that_expires_leaves_nothing_for_the_next_question() {
    let home = home();
    home.write_config(IMPATIENT);
    let go = home.scratch().join("go");
    let terminal = home.bash(&format!(
        r#"stty -icanon -echo; echo "Backup runs. Press Enter to continue later"
        while [ ! -e {0} ]; do sleep 0.05; done; stty icanon echo
        read -p "Delete everything? [Y/n] " answer; echo "got=[$answer]""#,
        go.display()
    ));
    let possible = home.one_prompt();
    assert_eq!((&possible["confidence"], &possible["safe_default"]), (&"low".into(), &Value::Null));
    home.audit_has("PROMPT_EXPIRED", possible["prompt_id"].as_str());
    fs::write(&go, "").unwrap();
    terminal.wait_for("Delete everything?");
    eventually("the second question is offered", || {
        home.approvals().into_iter().find(|prompt| prompt["excerpt"].as_str().unwrap().contains("everything"))
    });
    // Its own default is no. An Enter of the first would have said yes.
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[n]"), "{shown:?}");
}

/// A program that listens to its terminal, and takes lines, may be busy with something else: what looks like a question
/// for a text is only possible.
#[test]
fn a_polled_text_that_expires_leaves_nothing_for_the_next_question() {
    let home = home();
    home.write_config(IMPATIENT);
    let go = home.scratch().join("go");
    let script = format!(
        r#"
import os, select, sys, time
print("name of the remote job: ", end="", flush=True)
while not os.path.exists({:?}):
    select.select([0], [], [], 0.2)
    time.sleep(0.02)
print()
print("got=[%s]" % input("Delete everything? [Y/n] "))"#,
        go.display()
    );
    let terminal = home.run_in_terminal(&["run", "--", "python3", "-c", &script]);
    let possible = home.one_prompt();
    assert_eq!(possible["safe_default"], Value::Null, "{possible}");
    home.audit_has("PROMPT_EXPIRED", possible["prompt_id"].as_str());
    fs::write(&go, "").unwrap();
    terminal.wait_for("Delete everything?");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[n]"), "{shown:?}");
}

/// It drew a dialog, listened, and was called away before it read: the key is taken back.
#[test]
fn a_key_that_nobody_reads_is_taken_back() {
    let home = home();
    let script = r#"
import os, select, termios, time
cooked = termios.tcgetattr(0)
raw = termios.tcgetattr(0)
raw[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(0, termios.TCSANOW, raw)
print(" Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend", end="", flush=True)
select.select([0], [], [])
while True:
    time.sleep(0.05)
    if not select.select([0], [], [], 0)[0]:
        break
termios.tcsetattr(0, termios.TCSANOW, cooked)
print("\ntaken back", flush=True)
print("got=[%s]" % input("Which one? "))"#;
    let mut terminal = home.run_in_terminal(&["run", "--", "python3", "-c", script]);
    let first = home.prompt_id();
    let told = home.run(["approve", &first]);
    assert_eq!(told.code, 1, "{told:?}");
    assert_eq!(home.end_of(&first), "failed not_taken");
    terminal.wait_for("Which one?");
    terminal.type_keys("mine\r");
    assert!(terminal.end().1.contains("got=[mine]"));
}

/// Nobody reads: an answer from afar is not typed either.
#[test]
fn nothing_is_typed_while_nobody_reads() {
    let home = home();
    let go = home.scratch().join("go");
    let mut terminal = home.bash(&format!(
        r#"stty -icanon -echo; echo "Backup runs. Press Enter to continue later"
        while [ ! -e {0} ]; do sleep 0.05; done; stty icanon echo
        read -p "Which one? " answer; echo "got=[$answer]""#,
        go.display()
    ));
    let possible = home.prompt_id();
    let told = home.run(["reply", &possible, "enter"]);
    assert_eq!((told.code, told.stdout.contains("nothing was typed")), (1, true), "{told:?}");
    assert_eq!(home.end_of(&possible), "failed not_reading");
    eventually("what still stands there is offered again", || {
        let waiting = home.approvals();
        waiting.iter().find(|prompt| prompt["prompt_id"] != *possible).cloned()
    });
    fs::write(&go, "").unwrap();
    terminal.wait_for("Which one?");
    terminal.type_keys("mine\r");
    assert!(terminal.end().1.contains("got=[mine]"));
}

#[test]
fn an_answer_to_a_possible_prompt_says_what_it_types() {
    let home = home();
    let mut terminal = home.bash(
        r#"stty -icanon -echo; printf ' Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel'
        while :; do sleep 0.05; done"#,
    );
    assert_eq!(home.one_prompt()["confidence"], "low");
    let listed = home.run(["approvals"]).stdout;
    assert!(listed.contains("Yes (types 1) · No (types 2)"), "{listed}");
    terminal.type_keys("\x03");
    terminal.end();
}

/// The menu of an agent without a pack, which loses the second of two arrows that come together (facts: Continue CLI).
const LOSES_ARROWS: &str = r#"
import os, select, sys, termios, time
raw = termios.tcgetattr(0)
raw[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(0, termios.TCSANOW, raw)
rows, marked, last = ["Continue", "Continue + don't ask again", "No, and tell it what to do differently"], 0, 0
def draw():
    for row, label in enumerate(rows):
        print("\x1b[2K" + ("> " if row == marked else "  ") + label)
    sys.stdout.flush()
print("Would you like to continue?")
draw()
while True:
    keys = os.read(0, 100)
    now = time.monotonic()
    if keys.startswith(b"\x1b["):
        if now - last > 0.12:
            marked = (marked + (1 if keys[2:3] == b"B" else -1)) % len(rows)
        last = now
        print("\x1b[%dA" % len(rows), end="")
        draw()
    if b"\r" in keys or b"\n" in keys:
        break
print("took=[%s]" % rows[marked])"#;

#[test]
fn a_refusal_leads_the_marker_to_its_row_step_by_step() {
    let home = home();
    let terminal = home.run_in_terminal(&["run", "--", "python3", "-c", LOSES_ARROWS]);
    let told = home.run(["deny", &home.prompt_id()]);
    assert_eq!(told.code, 0, "{told:?}");
    let (_, shown) = terminal.end();
    assert!(shown.contains("took=[No, and tell"), "{shown:?}");
}

#[test]
fn a_deadline_leads_the_marker_to_its_row_step_by_step() {
    let home = home();
    home.write_config(IMPATIENT);
    let terminal = home.run_in_terminal(&["run", "--", "python3", "-c", LOSES_ARROWS]);
    let (_, shown) = terminal.end();
    assert!(shown.contains("took=[No, and tell"), "{shown:?}");
}

/// The marker does not move at all: no Enter, whoever answers.
#[test]
fn a_marker_that_does_not_move_gets_no_enter() {
    let home = home();
    home.write_config(IMPATIENT);
    let stuck = LOSES_ARROWS.replace("if now - last > 0.12:", "if False:");
    let mut terminal = home.run_in_terminal(&["run", "--", "python3", "-c", &stuck]);
    let first = home.prompt_id();
    assert_eq!(home.end_of(&first), "failed not_taken");
    assert_eq!(terminal.count("took="), 0);
    eventually("the menu, which still stands, is offered again", || {
        home.approvals()
            .first()
            .and_then(|prompt| prompt["prompt_id"].as_str().map(str::to_owned))
            .filter(|id| *id != first)
    });
    terminal.type_keys("\r");
    assert!(terminal.end().1.contains("took=[Continue]"), "the person at the keyboard takes it");
}

/// # Silence never approves, and reaches nobody else
/// Random tools, kinds, ways to read, and moments: each byte that any of them read belongs to the question that it
/// asked, and refuses. A part each time, 10,000 expiries with `ATLASBRIDGE_TEST_FULL=1`; `ATLASBRIDGE_TEST_SEED` rolls
/// other dice.
#[test]
fn ten_thousand_deadlines_answer_nobody_but_who_asked_and_approve_nothing() {
    const SESSIONS: u64 = 20;
    const STEPS: u64 = 24;
    let wanted = match std::env::var_os("ATLASBRIDGE_TEST_FULL") {
        Some(_) => 10_000,
        None => 200,
    };
    let seed: u64 =
        std::env::var("ATLASBRIDGE_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut expired, mut defaults, mut round) = (0, 0, 0);
    while expired < wanted {
        let home = home();
        home.write_config(IMPATIENT);
        let tool = home.scratch().join("tool.py");
        fs::write(&tool, include_str!("silence/tool.py")).unwrap();
        let tools: Vec<(Terminal, std::path::PathBuf, u64)> = (0..SESSIONS)
            .map(|session| {
                let seed = seed * 1_000_003 + round * SESSIONS + session;
                let log = home.scratch().join(format!("log-{session}"));
                let seen = home.scratch().join(format!("seen-{session}"));
                let args = [&tool, &log, &seen].map(|path| path.to_str().unwrap().to_owned());
                let (number, steps) = (seed.to_string(), STEPS.to_string());
                let command =
                    ["run", "--events", &args[2], "--", "python3", &args[0], &number, &steps, &args[1]];
                (home.run_in_terminal(&command), log, seed)
            })
            .collect();
        for (terminal, log, seed) in tools {
            let (code, shown) = terminal.end();
            assert_eq!(code, 0, "seed {seed}: {shown}");
            let lines = fs::read_to_string(&log).unwrap();
            for line in lines.lines() {
                let step: Value = serde_json::from_str(line).unwrap();
                let safe = step["safe"].as_array().unwrap();
                let strange = step["strange"].as_str().unwrap_or_default();
                assert!(
                    safe.contains(&step["read"]) && strange.is_empty(),
                    "seed {seed}: {step}\n{shown}\n{}",
                    fs::read_to_string(log.to_str().unwrap().replace("/log-", "/seen-")).unwrap()
                );
                defaults += usize::from(step["read"] != "");
            }
            assert!(lines.contains("\"form\": \"end\""), "seed {seed}");
        }
        let audit = home.audit();
        expired += audit.iter().filter(|record| record["event"] == "PROMPT_EXPIRED").count();
        round += 1;
    }
    // A gate that types nothing at all would pass the rest.
    assert!(defaults * 4 > expired, "{defaults} defaults arrived, {expired} prompts expired");
    eprintln!("{expired} expiries, {defaults} safe defaults read by who asked, seed {seed}");
}
