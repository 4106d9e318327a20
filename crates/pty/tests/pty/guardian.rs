use std::io::Write;
use std::os::fd::AsFd;

use atlasbridge_pty::{ChildEvent, GuardianNote, RawTerminal, SpawnConfig, Termios, spawn};

use crate::role::play;
use crate::stage::{SIZE, Scratch, Stage, fresh_settings, is_dead, started, until};

const MODE: &str = "ATLASBRIDGE_TEST_MODE";
const TOOL: &str = "ATLASBRIDGE_TEST_TOOL";

/// A session host on the terminal it is started on: raw, with a tool that writes down which signal ends it.
pub(crate) fn play_host() {
    let mode = std::env::var(MODE).unwrap();
    let script = std::env::var(TOOL).unwrap();
    let stdin = std::io::stdin();
    let config = SpawnConfig {
        program: "sh".as_ref(),
        args: &["-c".into(), script.into()],
        env: std::env::vars_os().collect(),
        size: SIZE,
        termios: None,
        foreground: true,
        outer_terminal: Some(stdin.as_fd()),
    };
    let mut session = spawn(&config).unwrap();
    let mut terminal = RawTerminal::enter(&stdin, false).unwrap();
    let alternate_screen = mode == "alternate";
    session.child.note(&GuardianNote { restore: terminal.change(), alternate_screen }).unwrap();
    if mode == "suspended" {
        terminal.suspend().unwrap();
        session.child.note(&GuardianNote::default()).unwrap();
    }
    let tool = until("start", || session.child.next_event().unwrap().as_ref().and_then(started));
    print!("tool={tool} leader={}.", session.child.leader_pid());
    std::io::stdout().flush().unwrap();
    until("never: this process is killed", || mode.is_empty().then_some(()));
}

struct Scene {
    outer: Stage,
    before: Termios,
    tool: i32,
    leader: i32,
    host: i32,
    scratch: Scratch,
}

/// Puts a host on the stage and waits until its tool runs.
fn scene(name: &str, mode: &str) -> Scene {
    let scratch = Scratch::new(name);
    let file = scratch.path("signal");
    let tool = format!(
        "trap 'echo HUP >> {file}; exit' HUP; trap 'echo CONT >> {file}' CONT; touch {file}; while :; do sleep 0.05; done",
        file = file.display()
    );
    let mut outer = play("guarded-host", &[(MODE, mode), (TOOL, &tool)]);
    let before = fresh_settings();
    let host = outer.until_started();
    let ids = outer.until("the tool", |stage| {
        let text = stage.text();
        let ids = text.split_once("tool=")?.1.split_once('.')?.0;
        let (tool, leader) = ids.split_once(" leader=")?;
        Some((tool.parse::<i32>().ok()?, leader.parse::<i32>().ok()?))
    });
    until("the tool's traps", || file.exists().then_some(()));
    Scene { outer, before, tool: ids.0, leader: ids.1, host, scratch }
}

impl Scene {
    /// Waits until nobody is left, so that nobody writes into the scratch directory when it is removed.
    #[track_caller]
    fn until_all_are_gone(&self) {
        until("the leader's end", || is_dead(self.leader).then_some(()));
        until("the tool's end", || is_dead(self.tool).then_some(()));
    }
}

fn kill(process: i32) {
    // SAFETY: kills a process that this test started.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

#[test]
fn a_killed_host_leaves_a_usable_terminal_and_no_tool() {
    let mut scene = scene("killed", "raw");
    assert_ne!(scene.outer.session.control.termios().unwrap(), scene.before, "not raw");
    scene.outer.output.clear();
    kill(scene.host);
    scene.outer.until_event(ChildEvent::Signaled { signal: libc::SIGKILL });
    scene.until_all_are_gone();
    let written = std::fs::read_to_string(scene.scratch.path("signal")).unwrap();
    assert!(written.contains("HUP"), "{written:?}");
    assert_eq!(scene.outer.session.control.termios().unwrap(), scene.before);
    scene.outer.until("the guardian's words", |stage| stage.text().contains("\u{1b}[<u\r").then_some(()));
    assert!(scene.outer.text().contains("\u{1b}[?25h"));
    assert!(!scene.outer.text().contains("\u{1b}[?1049l"));
}

#[test]
fn the_alternate_screen_is_left_if_the_tool_was_on_it() {
    let mut scene = scene("alternate", "alternate");
    scene.outer.output.clear();
    kill(scene.host);
    scene.until_all_are_gone();
    scene.outer.until("the guardian's words", |stage| stage.text().contains("\u{1b}[<u\r").then_some(()));
    assert!(scene.outer.text().starts_with("\u{1b}[?1049l"), "{:?}", scene.outer.text());
    assert_eq!(scene.outer.session.control.termios().unwrap(), scene.before);
}

#[test]
fn a_terminal_that_was_not_raw_is_not_touched() {
    let mut scene = scene("suspended", "suspended");
    scene.outer.output.clear();
    kill(scene.host);
    scene.until_all_are_gone();
    scene.outer.pump(std::time::Duration::ZERO);
    assert_eq!(scene.outer.text(), "");
    assert_eq!(scene.outer.session.control.termios().unwrap(), scene.before);
}

#[test]
fn a_terminal_that_somebody_else_has_set_is_left_to_them() {
    let mut scene = scene("taken", "raw");
    let taken = {
        // As a shell would that came back first: settings of its own.
        let mut other = Stage::sh("stty -icanon min 2; echo ready; sleep 1000");
        other.until_output("ready");
        other.session.control.termios().unwrap()
    };
    taken.apply(&scene.outer.session.reader).unwrap();
    scene.outer.output.clear();
    kill(scene.host);
    scene.until_all_are_gone();
    assert_eq!(scene.outer.session.control.termios().unwrap(), taken);
    scene.outer.until_output("\u{1b}[?25h\u{1b}[0m");
    assert!(!scene.outer.text().contains("\u{1b}[?2004l"));
}
