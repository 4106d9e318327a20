//! Claude Code asks whether its status is wanted (OSC 7501) and ends the question with DA1. We answer the first, at
//! once; the terminal alone answers the second. Tools that are not known to ask get nothing typed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_testkit::{Home, Terminal, eventually};

use crate::home;

/// Asks, then reads until DA1 is answered, and shows what came in. `?7501` stands for the query.
const ASKS: &str = r#"#!/usr/bin/env python3
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"first screen\r\n\x1b]7501;?\x07\x1b[c")
came = b""
while not came.endswith(b"c"):
    came += os.read(0, 100)
termios.tcsetattr(0, termios.TCSANOW, before)
print("\ncame", came.count(b"]7501;?:states="), came.startswith(b"\x1b]7501;?"), came.endswith(b"\x1b[?62;c"))
sys.stdout.flush()
os.read(0, 1)
"#;

const DA1: &str = "\x1b[?62;c";
const OUR_ANSWER: &str =
    "\x1b]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\x1b\\";

/// A tool of this name that asks, under `run`.
fn asking(home: &Home, name: &str) -> Terminal {
    let tool = home.scratch().join(name);
    fs::write(&tool, ASKS).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = home.run_in_terminal(&["run", "--", &tool.display().to_string()]);
    terminal.wait_for("\x1b[c");
    terminal
}

/// What the terminal showed, without the line that tells what came in.
fn picture(terminal: &Terminal) -> String {
    let shown = eventually("the tool has told", || {
        let text = terminal.text();
        text.contains("came ").then_some(text)
    });
    shown.lines().filter(|line| !line.starts_with("came")).collect()
}

#[test]
fn a_terminal_that_does_not_know_the_query_is_spoken_for() {
    let home = home();
    let mut terminal = asking(&home, "claude");
    terminal.type_keys(DA1);
    picture(&terminal);
    // One answer, before that of DA1.
    terminal.wait_for("came 1 True True");
    terminal.type_keys("\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_terminal_that_answers_too_does_no_harm_and_the_screen_is_the_same() {
    let home = home();
    let mut silent = asking(&home, "claude");
    silent.type_keys(DA1);
    let expected = picture(&silent);
    silent.type_keys("\r");
    silent.end();

    let mut answers_too = asking(&home, "claude");
    answers_too.type_keys(OUR_ANSWER);
    answers_too.type_keys(DA1);
    assert_eq!(picture(&answers_too), expected);
    answers_too.wait_for("came 2 True True");
    answers_too.type_keys("\r");
    assert_eq!(answers_too.end().0, 0);
}

#[test]
fn a_tool_that_is_not_known_to_ask_gets_nothing() {
    let home = home();
    let mut terminal = asking(&home, "something-else");
    terminal.type_keys(DA1);
    picture(&terminal);
    terminal.wait_for("came 0 False True");
    terminal.type_keys("\r");
    assert_eq!(terminal.end().0, 0);
}
