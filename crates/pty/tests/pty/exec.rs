use std::os::fd::AsRawFd;

use atlasbridge_pty::{ChildEvent, SpawnError};

use crate::stage::{SIZE, Scratch, Stage};

#[test]
fn exit_codes_come_through() {
    for code in [0, 1, 2, 42, 126, 127, 128, 130, 255] {
        let mut stage = Stage::sh(&format!("exit {code}"));
        assert_eq!(stage.until_end(), ChildEvent::Exited { code });
        assert!(
            matches!(stage.events[..], [ChildEvent::Started { .. }, ChildEvent::Exited { .. }]),
            "{:?}",
            stage.events
        );
    }
}

#[test]
fn deadly_signals_come_through() {
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGABRT, libc::SIGUSR1, libc::SIGPIPE] {
        let mut stage = Stage::sh(&format!("kill -{signal} $$"));
        assert_eq!(stage.until_end(), ChildEvent::Signaled { signal });
    }
}

#[test]
fn the_last_words_are_not_lost() {
    let mut stage = Stage::sh("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 3");
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 3 });
    assert!(stage.text().ends_with("line 1999\r\n"));
    assert_eq!(stage.text().lines().count(), 2000);
}

#[track_caller]
fn check_exec(program: &str, expected: ChildEvent) {
    let mut stage = Stage::run(program, &["argument"]);
    assert_eq!(stage.until_end(), expected, "{program}: {}", stage.text());
}

#[test]
fn what_cannot_be_executed_says_why() {
    let scratch = Scratch::new("exec");
    let failed = |errno| ChildEvent::ExecFailed { errno };
    check_exec("atlasbridge-no-such-program", failed(libc::ENOENT));
    check_exec("/no/such/program", failed(libc::ENOENT));
    check_exec("", failed(libc::ENOENT));
    check_exec("/tmp", failed(libc::EACCES));
    check_exec(&scratch.file("plain", "#!/bin/sh\n", 0o644), failed(libc::EACCES));
    check_exec(&scratch.file("foreign", b"\x7fELF\0\0nonsense\n", 0o755), failed(libc::ENOEXEC));
    let file = scratch.file("file", "", 0o755);
    check_exec(&format!("{file}/below"), failed(libc::ENOENT));
}

#[test]
fn a_script_without_a_first_line_is_run_by_the_shell() {
    let scratch = Scratch::new("script");
    let script = scratch.file("script", "echo \"$0 says $1\"\nexit 7\n", 0o755);
    let mut stage = Stage::run(&script, &["hello"]);
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 7 });
    assert_eq!(stage.text(), format!("{script} says hello\r\n"));
}

#[test]
fn the_search_passes_over_what_cannot_be_run() {
    let scratch = Scratch::new("path");
    for directory in ["a", "b", "c"] {
        std::fs::create_dir(scratch.path(directory)).unwrap();
    }
    scratch.file("a/tool", "#!/bin/sh\nexit 1\n", 0o644);
    std::fs::create_dir(scratch.path("b/tool")).unwrap();
    scratch.file("c/tool", "#!/bin/sh\nexit 9\n", 0o755);
    let place = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    let search = |path: String| {
        let mut stage = Stage::run_with("tool", &[], &[], |config| {
            config.env = vec![("PATH".into(), path.into())];
        });
        stage.until_end()
    };
    assert_eq!(search([place("a"), place("b"), place("c")].join(":")), ChildEvent::Exited { code: 9 });
    assert_eq!(search([place("a"), place("b")].join(":")), ChildEvent::ExecFailed { errno: libc::EACCES });
    assert_eq!(search(place("b")), ChildEvent::ExecFailed { errno: libc::ENOENT });
}

#[test]
fn the_environment_is_exactly_the_given_one() {
    let mut stage = Stage::run_with("/usr/bin/env", &[], &[], |config| {
        config.env = vec![("ONE".into(), "1".into()), ("EMPTY".into(), "".into())];
    });
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 });
    assert_eq!(stage.text(), "ONE=1\r\nEMPTY=\r\n");
}

#[test]
fn the_tool_gets_what_the_shell_passed_on_and_nothing_of_ours() {
    // As a shell passes on the file of a process substitution: without close-on-exec, and far up.
    let passed_on = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 63).unwrap();
    rustix::io::fcntl_setfd(&passed_on, rustix::io::FdFlags::empty()).unwrap();
    let number = passed_on.as_raw_fd().to_string();
    let mut expected: Vec<String> = open_without_close_on_exec();
    let mut stage = Stage::run("ls", &["/proc/self/fd"]);
    stage.until_end();
    drop(passed_on);
    let mut found: Vec<_> = stage.text().split_whitespace().map(str::to_owned).collect();
    // The lowest free number is the directory that `ls` itself reads.
    expected.push((3..).map(|free| free.to_string()).find(|free| !expected.contains(free)).unwrap());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(found.contains(&number));
    // The leader, which lives as long as the host, keeps none of it.
    let leader = format!("/proc/{}/fd", stage.session.child.leader_pid());
    let kept = std::fs::read_dir(leader)
        .unwrap()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy() == *number);
    assert!(!kept);
}

/// What this process would hand down; whoever started the tests may have left something open, too.
fn open_without_close_on_exec() -> Vec<String> {
    let numbers = std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let is_handed_down = |number: &String| {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags =
            info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default().trim().to_owned();
        i32::from_str_radix(&flags, 8).is_ok_and(|flags| flags & libc::O_CLOEXEC == 0)
    };
    numbers.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_handed_down).collect()
}

#[test]
fn all_signals_mean_what_they_mean_by_default() {
    // SAFETY: no other test here is sent SIGINT, and ignoring it harms none.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let mut stage = Stage::sh("grep -E '^Sig(Blk|Ign)' /proc/self/status");
    stage.until_end();
    assert_eq!(stage.text(), "SigBlk:\t0000000000000000\r\nSigIgn:\t0000000000000000\r\n");
}

#[test]
fn a_nul_byte_is_refused() {
    let config = atlasbridge_pty::SpawnConfig {
        program: "a\0b".as_ref(),
        args: &[],
        env: Vec::new(),
        size: SIZE,
        termios: None,
        foreground: true,
        outer_terminal: None,
    };
    assert!(matches!(atlasbridge_pty::spawn(&config), Err(SpawnError::Nul(_))));
}
