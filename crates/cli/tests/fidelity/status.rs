//! A tool that tells its status once it is asked for (OSC 7501) draws what it draws without us, byte by byte: on a
//! terminal that knows the query and on one that does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_testkit::{Home, Terminal};

use crate::scene::home;

/// Behaves as Claude Code does: asks after its first paint, ends the question with DA1, tells its status from then on
/// if anybody answered before DA1, and takes answers that come later for what they are. Every other byte that comes in
/// is shown, so that nothing stray goes unnoticed.
const TOOL: &str = r#"#!/usr/bin/env python3
import os, re, sys, tty
tty.setraw(0)
def show(text): os.write(1, text.encode())
def key():
    came = b""
    while not came:
        came = re.sub(rb"\x1b\]7501;\?[^\x1b\x07]*(\x1b\\|\x07)", b"", os.read(0, 1000))
    show("\r\nkey " + repr(came))
show("\x1b[2J\x1b[Hfirst screen\r\n")
os.write(1, b"\x1b]7501;?\x07\x1b[c")
came = b""
while not re.search(rb"\x1b\[\?[\d;]*c", came):
    came += os.read(0, 1000)
wanted = b"\x1b]7501;?" in came.split(b"\x1b[?")[0]
def status(word):
    if wanted: os.write(1, b"\x1b]7501;state=" + word + b":app=claude-code\x07")
status(b"idle")
show("\x1b[3;1H" + "─" * 40 + "\r\n❯ \r\n" + "─" * 40 + "\r\nready-1")
key()
status(b"working")
status(b"blocked")
show("\x1b[2J\x1b[HDo you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n\r\nEsc to cancel\r\nready-2")
key()
status(b"done")
show("\x1b[2J\x1b[Hdone\r\nready-3")
key()
status(b"clear")
"#;

const DA1: &str = "\x1b[?62;c";
const ANSWER: &str =
    "\x1b]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\x1b\\";

/// What the terminal answers to the two questions of the tool, and later on.
struct Answers {
    to_queries: String,
    later: &'static str,
}

/// Everything that came to the terminal, without the status itself.
fn shown(home: &Home, wrapped: bool, answers: &Answers) -> String {
    let tool = home.scratch().join("claude");
    fs::write(&tool, TOOL).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let tool = tool.display().to_string();
    let mut terminal = match wrapped {
        true => home.run_in_terminal(&["run", "--", &tool]),
        false => Terminal::start(tool.as_ref(), &[], &home.environment(), 80, 24),
    };
    terminal.wait_for("\x1b[c");
    terminal.type_keys(&answers.to_queries);
    for (ready, key) in [("ready-1", "x"), ("ready-2", "1"), ("ready-3", "q")] {
        terminal.wait_for(ready);
        terminal.type_keys(answers.later);
        terminal.type_keys(key);
    }
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert_eq!(wrapped, text.contains("\x1b]7501;state=blocked"), "{text:?}");
    without_status(&text)
}

fn without_status(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, behind)) = rest.split_once("\x1b]7501;state=") {
        kept.push_str(before);
        rest = behind.split_once('\x07').expect("a status ends").1;
    }
    kept + rest
}

#[test]
fn a_tool_that_tells_its_status_draws_the_same() {
    let home = home();
    let ignorant = Answers { to_queries: DA1.to_owned(), later: "" };
    let alone = shown(&home, false, &ignorant);
    assert!(alone.contains("key b'1'"), "{alone:?}");
    assert_eq!(shown(&home, true, &ignorant), alone, "on a terminal that does not know the query");
    let knowing = Answers { to_queries: format!("{ANSWER}{DA1}"), later: "" };
    assert_eq!(shown(&home, true, &knowing), alone, "on one that answers too");
    let late = Answers { to_queries: format!("{DA1}{ANSWER}"), later: ANSWER };
    assert_eq!(shown(&home, true, &late), alone, "on one that answers late and again");
}
