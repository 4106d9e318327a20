//! `lab replay` and `lab explain` on recordings of real programs; files that are none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::home;

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../detect/tests/recordings").join(name)
}

/// What a command prints.
#[track_caller]
fn printed(args: &[&str], file: &Path) -> String {
    let home = home();
    let told = home
        .run(["lab", args[0]].into_iter().chain([file.to_str().unwrap()]).chain(args[1..].iter().copied()));
    assert_eq!(told.code, 0, "{told:?}");
    told.stdout
}

#[test]
fn a_menu_of_bash() {
    let file = recording("bash/select-menu.cast");
    insta::assert_snapshot!(printed(&["replay", "--json"], &file));
}

#[test]
fn an_approval_of_an_agent() {
    let file = recording("aider/run-shell.cast");
    insta::assert_snapshot!(printed(&["replay", "--adapter", "aider"], &file));
}

#[test]
fn a_moment_with_a_prompt() {
    let file = recording("bash/select-menu.cast");
    insta::assert_snapshot!(printed(&["explain", "--at", "2"], &file));
}

#[test]
fn a_moment_without_one() {
    let file = recording("bash/select-menu.cast");
    insta::assert_snapshot!(printed(&["explain", "--at", "3.9"], &file));
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["explain", "--at", "3.9", "--json"], &file)).unwrap();
    assert_eq!(json["decision"], "No prompt stands on the screen.");
}

/// 100 times real time is the aim for a release; an unoptimised build on a busy machine has this much at least.
const SLOWEST: f64 = 20.0;

#[test]
fn a_replay_is_fast() {
    let home = home();
    let file = recording("aider/run-shell.cast");
    let told = home.run(["lab", "replay", file.to_str().unwrap(), "--stats", "--json"]);
    assert!(told.stderr.contains("times real time"), "{told:?}");
    let speed: f64 = told.stderr.split(": ").last().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(speed >= SLOWEST, "{told:?}");
}

#[test]
fn files_that_are_no_recordings() {
    let home = home();
    let file = home.scratch().join("x.cast");
    let check = |bytes: &[u8], code: i32, words: &str| {
        fs::write(&file, bytes).unwrap();
        let told = home.run(["lab", "replay", file.to_str().unwrap(), "--json"]);
        assert_eq!((told.code, told.stderr.contains(words)), (code, true), "{words}: {told:?}");
        assert!(told.stdout.is_empty());
    };
    let header = br#"{"version": 2, "width": 80, "height": 24}"#;
    check(b"", 1, "line 1 is not asciicast v2");
    check(br#"{"version": 3, "term": {"cols": 80, "rows": 24}}"#, 1, "line 1 is not asciicast v2");
    check(
        &[header, &b"\n[0.1, \"o\", \"x\"]\n\n[0.2, \"o\"]\n"[..]].concat(),
        1,
        "line 4 is not asciicast v2",
    );
    check(&[header, &b"\n[0.1, \"o\", \"\xff\"]\n"[..]].concat(), 1, "line 2 is not UTF-8");
    let missing = home.run(["lab", "replay", "/no/such/file.cast"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("/no/such/file.cast: No such file"), "{missing:?}");
    let adapter = home.run(["lab", "replay", "/no/such/file.cast", "--adapter", "claud"]);
    assert_eq!(adapter.code, 2);
    assert!(adapter.stderr.contains("known are claude, codex"), "{adapter:?}");
}
