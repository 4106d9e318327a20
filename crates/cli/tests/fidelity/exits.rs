//! How a tool ends is how we end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_testkit::Home;

use crate::scene::{home, program};

#[test]
fn every_exit_code() {
    let home = home();
    // Sixteen at a time: two hundred and fifty-six one after another would take their time.
    let codes: Vec<i32> = (0..=255).collect();
    for some in codes.chunks(16) {
        let started: Vec<_> = some
            .iter()
            .map(|code| {
                (code, home.command(["run", "--", "sh", "-c", &format!("exit {code}")]).spawn().unwrap())
            })
            .collect();
        for (code, mut child) in started {
            assert_eq!(child.wait().unwrap().code(), Some(*code));
        }
    }
}

#[test]
fn a_deadly_signal_is_a_hundred_and_twenty_eight_more() {
    let home = home();
    for (name, number) in [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ABRT", 6),
        ("KILL", 9),
        ("USR1", 10),
        ("SEGV", 11),
        ("PIPE", 13),
        ("TERM", 15),
        ("XCPU", 24),
    ] {
        let ended = home.run(["run", "--", "sh", "-c", &format!("ulimit -c 0; kill -{name} $$")]);
        assert_eq!((ended.code, ended.stderr.as_str()), (128 + number, ""), "{name}");
    }
    let ended = home.run(["run", "--", "sh", "-c", "ulimit -c 0; kill -40 $$"]);
    assert_eq!(ended.code, 168, "a real-time signal");
}

/// On a terminal: restored before the message, so that its lines end where lines end.
#[test]
fn what_cannot_be_started_is_said_on_a_restored_terminal() {
    let home = home();
    let plain = home.scratch().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    let folder = home.scratch().display().to_string();
    let plain = plain.display().to_string();
    let executable = |name: &str, content: &[u8]| {
        let file = home.scratch().join(name);
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file.display().to_string()
    };
    let foreign = executable("foreign", b"\x00no program of this machine");
    let orphan = executable("orphan", b"#!/no/such/interpreter\n");
    for (tool, code, says) in [
        ("no-such-tool", 127, "no-such-tool: command not found"),
        ("/no/such/tool", 127, "/no/such/tool: command not found"),
        (plain.as_str(), 126, "cannot be executed: Permission denied"),
        (folder.as_str(), 126, "cannot be executed: Permission denied"),
        (foreign.as_str(), 126, "cannot be executed: Exec format error"),
        (
            orphan.as_str(),
            126,
            "cannot be executed: the interpreter that its first line names, or its loader, is not there",
        ),
    ] {
        let ended = home.run(["run", "--", tool]);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{tool}");
        assert!(ended.stderr.contains(says), "{ended:?}");
        assert_recorded(&home, code);

        let script = format!(
            "stty -a > before; {} run -- {tool}; echo $? > code; stty -a > after",
            home.binary().display()
        );
        let script = format!("cd {folder}; {script}");
        let terminal = atlasbridge_testkit::Terminal::start(
            program("bash").as_ref(),
            &["-c", &script],
            &home.environment(),
            100,
            30,
        );
        let (_, shown) = terminal.end();
        assert!(shown.contains(says) && shown.ends_with("\r\n"), "{shown:?}");
        let file = |name: &str| fs::read_to_string(home.scratch().join(name)).unwrap();
        assert_eq!(file("code"), format!("{code}\n"));
        assert_eq!(file("before"), file("after"));
    }
}

/// The same code wherever it is told: in the list, in `sessions show`, on the audit log.
#[track_caller]
fn assert_recorded(home: &Home, code: i32) {
    let session = home.session_is("crashed");
    assert_eq!(session["exit_code"], code);
    let id = session["session_id"].as_str().unwrap();
    let shown = home.run(["sessions", "show", id, "--json"]).json();
    assert_eq!(shown["exit_code"], code, "{shown:#}");
    let end = home.audit().into_iter().rev().find(|record| record["event"] == "SESSION_END");
    assert!(
        end.as_ref().is_some_and(
            |end| end["session_id"] == id && end["value"].as_str().unwrap().contains(&code.to_string())
        ),
        "{end:#?}"
    );
}

#[test]
fn a_script_without_a_first_line_is_run_by_a_shell() {
    let home = home();
    let script = home.scratch().join("script");
    fs::write(&script, "echo ran with $1; exit 3\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = home.run(["run", "--", &script.display().to_string(), "this"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, "ran with this\n"));
}

#[test]
fn the_last_words_come_before_the_end() {
    let home = home();
    for _ in 0..20 {
        let terminal = home.run_in_terminal(&["run", "--", "sh", "-c", "seq 1 3000; exit 4"]);
        let (code, shown) = terminal.end();
        assert_eq!(code, 4);
        assert_eq!(shown, (1..=3000).map(|n| format!("{n}\r\n")).collect::<String>());
    }
}
