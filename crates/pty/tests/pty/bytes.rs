use std::os::fd::AsFd;

use atlasbridge_pty::{ChildEvent, LineMode, Signal, TtyWait, WindowSize, WriteOutcome};
use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, tcgetattr};

use crate::stage::Stage;

/// What we are told of the line mode, and what the kernel says besides.
#[derive(Debug, PartialEq)]
struct Settings {
    mode: LineMode,
    /// `intr` and `susp` are signals; otherwise ordinary bytes.
    signals: bool,
    /// Enter, which sends CR, arrives as LF.
    cr_to_nl: bool,
    intr: u8,
    susp: u8,
}

const COOKED: Settings = Settings {
    mode: LineMode { canonical: true, echo: true, eof: 4 },
    signals: true,
    cr_to_nl: true,
    intr: 3,
    susp: 26,
};

fn settings(stage: &Stage) -> Settings {
    let kernel = tcgetattr(stage.session.reader.as_fd()).unwrap();
    Settings {
        mode: stage.session.control.line_mode(),
        signals: kernel.local_modes.contains(LocalModes::ISIG),
        cr_to_nl: kernel.input_modes.contains(InputModes::ICRNL),
        intr: kernel.special_codes[SpecialCodeIndex::VINTR],
        susp: kernel.special_codes[SpecialCodeIndex::VSUSP],
    }
}

#[test]
fn every_byte_goes_through_both_ways() {
    let mut stage = Stage::sh("stty raw -echo; echo ready; exec cat");
    stage.until_output("ready\n");
    stage.output.clear();
    // Every byte value after every other, and long runs; four megabytes.
    let block: Vec<u8> =
        (0..=255_u8).flat_map(|first| (0..=255).flat_map(move |second| [first, second])).collect();
    let sent: Vec<u8> = block.iter().copied().cycle().take(4 << 20).collect();
    stage.type_in(&sent);
    stage.until("all bytes", |stage| (stage.output.len() >= sent.len()).then_some(()));
    assert!(stage.output == sent, "the bytes differ");
}

/// Whatever the outer terminal was set to: the tool has one on which lines are edited and end as lines do.
#[test]
fn a_tool_starts_on_a_sane_terminal() {
    for settings in ["sane", "raw -echo", "-icanon -echo min 2", "-onlcr", "-opost", "ocrnl onlret"] {
        let mut outer = Stage::sh(&format!("stty {settings}; echo ready; sleep 1000"));
        outer.until_output("ready");
        let settings = outer.session.control.termios().unwrap();
        let mut stage = Stage::run_with("printf", &["a\\nb\\rc\\n"], &[], |config| {
            config.termios = Some(settings);
        });
        stage.until_end();
        assert_eq!(stage.text(), "a\r\nb\rc\r\n");
        assert_eq!(self::settings(&stage), COOKED);
    }
}

#[test]
fn the_tool_starts_with_the_given_settings() {
    let mut first = Stage::sh("stty -echo intr ^B -icrnl; echo ready; sleep 1000");
    first.until_output("ready");
    let settings = first.session.control.termios().unwrap();
    let mut second = Stage::run_with("stty", &["-a"], &[], |config| config.termios = Some(settings));
    second.until_end();
    assert!(second.text().contains("intr = ^B"));
    assert!(second.text().contains(" -echo "));
    let mode = LineMode { echo: false, ..COOKED.mode };
    assert_eq!(self::settings(&second), Settings { mode, intr: 2, cr_to_nl: false, ..COOKED });
}

#[test]
fn the_line_mode_follows_the_tool() {
    let mut stage = Stage::sh("read a; stty raw -echo; read b; stty sane; read c");
    stage.until_equal(COOKED, settings);
    stage.type_in("\r");
    let mode = LineMode { canonical: false, echo: false, ..COOKED.mode };
    let raw = Settings { mode, signals: false, cr_to_nl: false, ..COOKED };
    stage.until_equal(raw, settings);
    stage.type_in("\n");
    stage.until_equal(COOKED, settings);
}

#[test]
fn a_new_size_is_signalled() {
    let mut stage = Stage::bash("trap 'stty size' WINCH; stty size; while :; do read -t 1000; done");
    stage.until_output("24 80\r\n");
    // A signal that comes before bash waits is kept until the wait is over.
    stage.until_equal(TtyWait::Poll, |stage| stage.session.control.probe().wait);
    stage
        .session
        .control
        .resize(WindowSize { ws_col: 132, ws_row: 50, ws_xpixel: 1320, ws_ypixel: 1000 })
        .unwrap();
    stage.until_output("50 132\r\n");
}

#[test]
fn a_terminal_nobody_reads_says_so_instead_of_blocking() {
    let mut stage = Stage::sh("stty raw -echo; echo ready; exec sleep 1000");
    stage.until_output("ready");
    let chunk = [b'x'; 4096];
    // The kernel buffers some hundred kilobytes at most.
    let refused = (0..1000).any(|_| stage.session.writer.write(&chunk).unwrap() == WriteOutcome::WouldBlock);
    assert!(refused);
    stage.session.child.signal_tool(Signal::KILL).unwrap();
    assert_eq!(stage.until_end(), ChildEvent::Signaled { signal: libc::SIGKILL });
    // The kernel takes what is typed to nobody; it must only never be an error or a wait.
    stage.session.writer.write(b"x").unwrap();
}
