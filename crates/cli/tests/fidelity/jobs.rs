//! Signals, and the end of things: whoever ends first, the others learn of it and the terminal is as it was.

use std::fs;
use std::path::Path;

use atlasbridge_testkit::{Home, Terminal, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{home, is_gone, leader_of, program, python, status, tool_of};
use crate::tmux::Tmux;

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn ctrl_c_interrupts() {
    let home = home();
    let mut terminal = home.run_in_terminal(&["run", "--", "sleep", "1000"]);
    tool_of(terminal.pid());
    terminal.type_keys("\x03");
    assert_eq!(terminal.end(), (130, "^C".to_owned()));

    let mut terminal =
        home.run_in_terminal(&["run", "--", &python(), "-c", "import time; print('up'); time.sleep(1000)"]);
    terminal.wait_for("up");
    terminal.type_keys("\x03");
    let (code, shown) = terminal.end();
    assert!(code == 130 && shown.contains("KeyboardInterrupt"), "{code} {shown}");
}

#[test]
fn ctrl_backslash_quits() {
    let home = home();
    let mut terminal =
        home.run_in_terminal(&["run", "--", "sh", "-c", "ulimit -c 0; echo up; exec sleep 1000"]);
    terminal.wait_for("up");
    terminal.type_keys("\x1c");
    assert_eq!(terminal.end().0, 131);
}

#[test]
fn a_shell_sees_how_its_job_was_interrupted() {
    let home = home();
    let tmux = Tmux::new(&home);
    tmux.start_shell("shell", &tmux.wrapper());
    let before = tmux.settings("shell");
    tmux.enter("shell", "$W sh -c 'echo up; exec sleep 1000'");
    tmux.wait_for("shell", "\nup\n");
    tmux.press("shell", &["C-c"]);
    tmux.wait_for("shell", "^C");
    // What is typed before is for the tool that ends.
    eventually("the shell is back", || host_in(&tmux).is_none().then_some(()));
    tmux.enter("shell", "echo code $?");
    tmux.wait_for("shell", "code 130");
    assert_eq!(tmux.settings("shell"), before);

    tmux.enter("shell", "clear; $W sleep 1000 &");
    tmux.wait_for("shell", "[1] ");
    tmux.enter("shell", "kill %1; wait %1; echo code $?");
    tmux.wait_for("shell", "code 143");
    tmux.enter("shell", "clear; $W sleep 1000");
    let host = eventually("the session host runs", || host_in(&tmux));
    tool_of(host);
    tmux.press("shell", &["C-z"]);
    tmux.wait_for("shell", "Stopped");
    tmux.enter("shell", "clear; kill %1");
    eventually("the shell says how the job ended", || {
        tmux.press("shell", &["Enter"]);
        tmux.text("shell").contains("Exit 143").then_some(())
    });
    assert_eq!(tmux.settings("shell"), before);
}

/// The session host that the pane's shell has started.
fn host_in(tmux: &Tmux<'_>) -> Option<i32> {
    let shell = tmux.pid("shell");
    crate::scene::children(shell)
        .into_iter()
        .find(|&child| status(child, "Name").is_some_and(|name| name == "atlasbridge"))
}

/// A tool that writes down which signals it gets.
fn watcher(home: &Home) -> (Terminal, std::path::PathBuf) {
    let log = home.scratch().join("signals");
    let script = format!(
        "for s in HUP INT TERM USR1 USR2; do trap \"echo $s >> {0}; case $s in HUP|TERM) exit 0;; esac\" $s; done; echo up; while :; do sleep 0.05; done",
        log.display()
    );
    let terminal = home.run_in_terminal(&["run", "--", "bash", "-c", &script]);
    terminal.wait_for("up");
    (terminal, log)
}

#[track_caller]
fn has_logged(log: &Path, signal: &str) {
    eventually(&format!("the tool gets SIG{signal}"), || {
        fs::read_to_string(log).ok()?.contains(signal).then_some(())
    });
}

#[test]
fn what_is_sent_to_us_reaches_the_tool() {
    let home = home();
    let (terminal, log) = watcher(&home);
    for (signal, name) in
        [(Signal::USR1, "USR1"), (Signal::USR2, "USR2"), (Signal::INT, "INT"), (Signal::TERM, "TERM")]
    {
        send(terminal.pid(), signal);
        has_logged(&log, name);
    }
    assert_eq!(terminal.end().0, 0, "the tool's own code");
}

#[test]
fn sigterm_ends_tool_and_session_and_restores_the_terminal() {
    let home = home();
    let terminal = home.run_in_terminal(&["run", "--", "sh", "-c", "echo up; exec sleep 1000"]);
    let before = settings_when_raw_and_before(&home, &terminal);
    terminal.wait_for("up");
    let tool = tool_of(terminal.pid());
    send(terminal.pid(), Signal::TERM);
    eventually("the tool is gone", || is_gone(tool).then_some(()));
    eventually("the terminal is as it was", || (terminal.control().termios().ok()? == before).then_some(()));
    assert_eq!(terminal.end().0, 143);
}

/// The settings before: those of a fresh terminal, on which a second program is started to look at them.
fn settings_when_raw_and_before(home: &Home, raw: &Terminal) -> atlasbridge_pty::Termios {
    let fresh = Terminal::start(program("sleep").as_ref(), &["1000"], &home.environment(), 100, 30);
    let before = fresh.control().termios().unwrap();
    fresh.kill();
    eventually("the terminal is raw", || (raw.control().termios().ok()? != before).then_some(()));
    before
}

#[test]
fn a_tool_that_ignores_sigterm_is_killed() {
    let home = home();
    let terminal = home.run_in_terminal(&[
        "run",
        "--",
        "sh",
        "-c",
        "trap '' TERM; echo up; while :; do sleep 0.1; done",
    ]);
    terminal.wait_for("up");
    let tool = tool_of(terminal.pid());
    let begun = std::time::Instant::now();
    send(terminal.pid(), Signal::TERM);
    assert_eq!(terminal.end().0, 137);
    let took = begun.elapsed();
    assert!(is_gone(tool) && took.as_secs() >= 3, "after {took:?}");
}

#[test]
fn sighup_is_passed_on() {
    let home = home();
    let (terminal, log) = watcher(&home);
    send(terminal.pid(), Signal::HUP);
    has_logged(&log, "HUP");
    terminal.end();
}

/// The window is closed: nobody is left.
#[test]
fn a_closed_terminal_hangs_up_on_everybody() {
    let home = home();
    let (terminal, log) = watcher(&home);
    let host = terminal.pid();
    let tool = tool_of(host);
    drop(terminal);
    has_logged(&log, "HUP");
    for pid in [tool, host] {
        eventually("nobody is left", || is_gone(pid).then_some(()));
    }
}

#[test]
fn a_killed_host_leaves_a_usable_shell() {
    let home = home();
    let tmux = Tmux::new(&home);
    tmux.start_shell("shell", &tmux.wrapper());
    let before = tmux.settings("shell");
    let full_screen = r"$W sh -c 'printf \\033[?1049h\\033[?1000h\\033[?25lup\\n; exec cat'";
    for tool in ["$W sh -c 'echo up; exec cat'", full_screen] {
        tmux.enter("shell", &format!("clear; {tool}"));
        tmux.wait_for("shell", "up\n");
        let host = eventually("the session host runs", || host_in(&tmux));
        let (leader, tool) = (leader_of(host), tool_of(host));
        // The terminal gets the bytes first; what they mean for the guardian is said before the host sleeps again.
        eventually("the host has nothing to do", || status(host, "State")?.starts_with('S').then_some(()));
        send(host, Signal::KILL);
        for pid in [tool, leader] {
            eventually("nobody is left", || is_gone(pid).then_some(()));
        }
        tmux.wait_for_settings("shell", &before);
        tmux.enter("shell", "echo code $?");
        tmux.wait("shell", "the shell answers", |picture| picture.screen.contains("code 137\n"));
        tmux.enter("shell", "clear; stty -a | head -n 1; echo usable");
        let picture = tmux.wait("shell", "usable", |picture| picture.screen.contains("\nusable\n"));
        let modes = format!("{picture:?}");
        assert!(
            modes.contains("alternate=0") && modes.contains("mouse=0") && modes.contains("visible=1"),
            "{modes}"
        );
    }
}

/// SIGSTOP gives no time to tidy up: the shell takes the terminal, and `fg` gives it back raw.
#[test]
fn a_host_stopped_hard_comes_back() {
    let home = home();
    let tmux = Tmux::new(&home);
    tmux.start_shell("shell", &tmux.wrapper());
    tmux.enter("shell", "$W sh -c 'stty raw; echo up; dd bs=1 count=4 status=none | od -An -c; exit 3'");
    tmux.wait_for("shell", "up");
    let host = eventually("the session host runs", || host_in(&tmux));
    send(host, Signal::STOP);
    tmux.wait_for("shell", "Stopped");
    tmux.enter("shell", "clear; fg");
    tmux.wait_for("shell", "$W sh -c");
    eventually("the terminal is raw again", || tmux.settings("shell").contains("-icanon").then_some(()));
    tmux.press("shell", &["C-c", "C-z", "C-d", "Enter"]);
    tmux.wait_for("shell", r"003 032 004  \r");
    tmux.enter("shell", "echo code $?");
    tmux.wait_for("shell", "code 3");
}

/// A tool without a keyboard can be suspended from the terminal that shows it.
#[test]
fn ctrl_z_without_a_keyboard() {
    let home = home();
    let tmux = Tmux::new(&home);
    tmux.start_shell("shell", &tmux.wrapper());
    tmux.enter("shell", "$W sh -c 'echo up; exec sleep 1000' < /dev/null");
    tmux.wait_for("shell", "\nup\n");
    tmux.press("shell", &["C-z"]);
    tmux.wait_for("shell", "Stopped");
    tmux.enter("shell", "clear; fg");
    tmux.wait_for("shell", "$W sh");
    let host = eventually("the session host runs", || host_in(&tmux));
    let tool = tool_of(host);
    eventually("the tool goes on", || status(tool, "State")?.starts_with('S').then_some(()));
    tmux.press("shell", &["C-c"]);
    tmux.enter("shell", "echo code $?");
    tmux.wait_for("shell", "code 130");
}

#[test]
fn a_storm_of_new_sizes_ends_with_the_last() {
    let home = home();
    let script = "trap 'stty size' WINCH; echo up; while :; do read -t 0.05 line && exit; done";
    let mut terminal = home.run_in_terminal(&["run", "--", "bash", "-c", script]);
    terminal.wait_for("up");
    for n in 0..1000_u16 {
        terminal.resize(40 + n % 100, 10 + n % 50);
    }
    terminal.resize(123, 45);
    eventually("the tool knows the last size", || {
        terminal.text().trim_end().ends_with("45 123").then_some(())
    });
    terminal.type_keys("\r");
    terminal.end();
}

/// Our own mistake costs the session, not the terminal.
#[test]
fn a_panic_restores_the_terminal() {
    let home = home();
    let tmux = Tmux::new(&home);
    tmux.start_shell("shell", &tmux.wrapper());
    let before = tmux.settings("shell");
    let pause = home.scratch().join("pause");
    fs::create_dir_all(&pause).unwrap();
    fs::write(pause.join("host-on-keys.panic"), "").unwrap();
    tmux.enter("shell", "$W sh -c 'echo up; exec cat'");
    tmux.wait_for("shell", "\nup\n");
    let host = eventually("the session host runs", || host_in(&tmux));
    let tool = tool_of(host);
    // Not read, so that the shell gets it: an empty line.
    tmux.press("shell", &["Enter"]);
    tmux.wait_for("shell", "a test asked for it");
    eventually("the tool is gone", || is_gone(tool).then_some(()));
    tmux.enter("shell", "echo code $?");
    tmux.wait_for("shell", "code 101");
    assert_eq!(tmux.settings("shell"), before);
}
