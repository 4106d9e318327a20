use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use atlasbridge_pty::{
    ChildEvent, HostInput, HostOutput, PollFd, PollFlags, RawTerminal, ReadOutcome, Signal, Signals,
    WriteOutcome, boot_time, is_terminal, monotonic, poll, protect_this_process, stop_self, window_size,
};
use rustix::fs::{OFlags, fcntl_getfl};

use crate::role::{drop_privileges, play};
use crate::stage::{SIZE, Scratch, Stage, fresh_settings, until};

/// Stops itself twice, with the signal blocked and read as a session host does.
pub(crate) fn play_stopping() {
    let signals = Signals::block(&[Signal::TSTP, Signal::WINCH]).unwrap();
    for round in 1..=2 {
        println!("stopping {round}.");
        // Whether it was continued cannot be told in a process whose first thread lets SIGCONT in.
        stop_self(Signal::TSTP).unwrap();
        println!("back {round}.");
    }
    assert_eq!(signals.next(), None);
    let _ = std::io::stdin().read(&mut [0; 16]);
}

#[test]
fn a_host_stops_as_a_job_and_comes_back() {
    let mut stage = play("stop", &[]);
    for round in 1..=2 {
        stage.until_output(&format!("stopping {round}."));
        stage.until("a stop", |stage| {
            let stops =
                stage.events.iter().filter(|&&event| event == ChildEvent::Stopped { signal: libc::SIGTSTP });
            (stops.count() == round).then_some(())
        });
        stage.session.child.signal_tool(Signal::CONT).unwrap();
        stage.until_output(&format!("back {round}."));
    }
}

/// Enters raw mode, leaves, enters and is dropped, a step for each line it is told.
pub(crate) fn play_raw() {
    let stdin = std::io::stdin();
    let mut byte = [0];
    let mut step = |word: &str| {
        print!("{word}.");
        std::io::stdout().flush().unwrap();
        rustix::io::read(&stdin, &mut byte).unwrap();
    };
    let mut terminal = RawTerminal::enter(&stdin, true).unwrap();
    step("entered");
    terminal.suspend().unwrap();
    step("suspended");
    terminal.resume().unwrap();
    step("resumed");
    drop(terminal);
    step("left");
}

#[test]
fn raw_mode_is_entered_and_left() {
    let mut stage = play("raw", &[]);
    let before = fresh_settings();
    for (word, is_raw) in [("entered", true), ("suspended", false), ("resumed", true), ("left", false)] {
        stage.until_output(&format!("{word}."));
        let now = stage.session.control.termios().unwrap();
        assert_eq!(now != before, is_raw, "{word}");
        assert_eq!(stage.session.control.line_mode().canonical, !is_raw, "{word}");
        stage.type_in(b"\n");
    }
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 });
}

#[test]
fn settings_that_somebody_changed_meanwhile_are_kept() {
    let stage = Stage::sh("sleep 1000");
    let master = stage.session.reader.as_fd();
    let cooked = stage.session.control.termios().unwrap();
    let terminal = RawTerminal::enter(master, false).unwrap();
    assert_eq!(terminal.change().unwrap().from, cooked);
    let other = RawTerminal::enter(master, true).unwrap();
    assert_ne!(other.change().unwrap().from, cooked);
    cooked.apply(master).unwrap();
    drop(other);
    drop(terminal);
    assert_eq!(stage.session.control.termios().unwrap(), cooked);
}

#[test]
fn a_terminal_is_known_and_measured() {
    let stage = Stage::sh("sleep 1000");
    assert!(is_terminal(stage.session.reader.as_fd()));
    assert_eq!(window_size(stage.session.reader.as_fd()).unwrap(), SIZE);
    let (pipe, _other) = std::io::pipe().unwrap();
    assert!(!is_terminal(&pipe));
    assert!(window_size(&pipe).is_err());
    assert!(RawTerminal::enter(&pipe, false).is_err());
}

fn is_nonblocking(descriptor: impl AsFd) -> bool {
    fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}

/// Fills `output` until it refuses; returns how much went in.
#[track_caller]
fn fill(output: &mut HostOutput) -> usize {
    let mut taken = 0;
    let deadline = Instant::now() + crate::stage::LIMIT;
    while Instant::now() < deadline {
        match output.write(&[b'x'; 10_000]).unwrap() {
            WriteOutcome::Wrote(count) => taken += count,
            WriteOutcome::WouldBlock => return taken,
            WriteOutcome::Closed => panic!("closed"),
        }
    }
    panic!("never full")
}

/// Waited for, because a process that another test forks at this moment holds the reader as well until it has closed
/// or executed.
#[track_caller]
fn until_closed(output: &mut HostOutput) {
    until("closed", || (output.write(b"more").unwrap() == WriteOutcome::Closed).then_some(()));
}

#[test]
fn a_full_pipe_refuses_and_stays_blocking_for_others() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut output = HostOutput::open(&writer).unwrap();
    let taken = fill(&mut output);
    assert!(taken >= 4096);
    assert!(!is_nonblocking(&writer));
    reader.read_exact(&mut vec![0; taken]).unwrap();
    assert_eq!(output.write(b"more").unwrap(), WriteOutcome::Wrote(4));
    drop(reader);
    until_closed(&mut output);
    until_closed(&mut HostOutput::open(&writer).unwrap());
}

#[test]
fn a_full_socket_refuses_and_stays_blocking_for_others() {
    let (reader, writer) = UnixStream::pair().unwrap();
    let mut output = HostOutput::open(&writer).unwrap();
    assert!(fill(&mut output) > 0);
    assert!(!is_nonblocking(&writer));
    drop(reader);
    until_closed(&mut output);
}

#[test]
fn a_file_is_continued_where_it_stands() {
    let scratch = Scratch::new("append");
    let path = scratch.path("log");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"before ").unwrap();
    let mut output = HostOutput::open(&file).unwrap();
    assert_eq!(output.write(b"ours ").unwrap(), WriteOutcome::Wrote(5));
    file.write_all(b"after").unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "before ours after");
}

#[test]
fn dev_null_takes_everything() {
    let file = std::fs::File::options().write(true).open("/dev/null").unwrap();
    assert!(matches!(HostOutput::open(&file).unwrap().write(&[0; 9000]).unwrap(), WriteOutcome::Wrote(1..)));
}

#[test]
fn input_is_taken_only_when_there_is_some() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut input = HostInput::open(&reader).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(input.read(&mut buffer).unwrap(), ReadOutcome::WouldBlock);
    writer.write_all(b"hello").unwrap();
    assert_eq!(input.read(&mut buffer).unwrap(), ReadOutcome::Data(5));
    assert!(!is_nonblocking(&reader));
    drop(writer);
    until("the end", || (input.read(&mut buffer).unwrap() == ReadOutcome::End).then_some(()));
}

/// The same on a terminal, without privileges, and from a process that is not dumpable.
pub(crate) fn play_streams() {
    drop_privileges();
    let (reader, writer) = std::io::pipe().unwrap();
    protect_this_process().unwrap();
    let mut output = HostOutput::open(&writer).unwrap();
    assert!(is_nonblocking(&output) && !is_nonblocking(&writer));
    assert_eq!(output.write(b"hello").unwrap(), WriteOutcome::Wrote(5));
    let mut input = HostInput::open(&reader).unwrap();
    assert!(is_nonblocking(&input) && !is_nonblocking(&reader));
    assert_eq!(input.read(&mut [0; 64]).unwrap(), ReadOutcome::Data(5));

    // A terminal of another user: it cannot be opened, and is written to all the same.
    let stdout = std::io::stdout();
    let mut output = HostOutput::open(&stdout).unwrap();
    assert!(!is_nonblocking(&stdout));
    assert!(matches!(output.write(b"streams are well\n").unwrap(), WriteOutcome::Wrote(_)));
}

#[test]
fn streams_work_without_privileges_in_a_protected_process() {
    let mut stage = play("streams", &[]);
    stage.until_output("streams are well");
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 }, "{}", stage.text());
}

#[test]
fn a_terminal_is_opened_for_us_alone() {
    let mut stage = Stage::sh("stty raw -echo; tty; sleep 1000");
    stage.until_output("\n");
    let path = stage.text().trim().to_owned();
    let terminal =
        std::fs::File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path).unwrap();
    let mut output = HostOutput::open(&terminal).unwrap();
    let taken = fill(&mut output);
    stage.output.clear();
    stage.until("all of it", |stage| (stage.output.len() == taken).then_some(()));

    let mut input = HostInput::open(&terminal).unwrap();
    assert_eq!(input.read(&mut [0; 64]).unwrap(), ReadOutcome::WouldBlock);
    stage.type_in("abc");
    stage.until("three letters", |_| {
        (input.read(&mut [0; 64]).unwrap() == ReadOutcome::Data(3)).then_some(())
    });
    assert!(!is_nonblocking(&terminal));
    drop(stage);
    until("the end", || (input.read(&mut [0; 64]).unwrap() == ReadOutcome::End).then_some(()));
    until("closed", || (output.write(b"x").unwrap() == WriteOutcome::Closed).then_some(()));
}

/// Started to ignore SIGHUP, as by `nohup`.
pub(crate) fn play_nohup() {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    let signals = Signals::block(&[Signal::HUP, Signal::USR1]).unwrap();
    // SAFETY: sends signals to this thread, which ignores one and has blocked the other.
    unsafe {
        libc::raise(libc::SIGHUP);
        libc::raise(libc::SIGUSR1);
    }
    assert_eq!(signals.next(), Some(Signal::USR1));
    assert_eq!(signals.next(), None);
}

#[test]
fn what_we_were_started_to_ignore_stays_ignored() {
    let mut stage = play("nohup", &[]);
    assert_eq!(stage.until_end(), ChildEvent::Exited { code: 0 }, "{}", stage.text());
}

#[test]
fn a_signal_waits_to_be_read() {
    let signals = Signals::block(&[Signal::USR1, Signal::WINCH]).unwrap();
    assert_eq!(signals.next(), None);
    // SAFETY: sends signals to this thread, which has just blocked them.
    unsafe {
        libc::raise(libc::SIGUSR1);
        libc::raise(libc::SIGWINCH);
    }
    let mut descriptors = [PollFd::new(&signals, PollFlags::IN)];
    assert_eq!(poll(&mut descriptors, Some(crate::stage::LIMIT)).unwrap(), 1);
    let mut seen: Vec<_> = std::iter::from_fn(|| signals.next()).collect();
    seen.sort_by_key(|signal| signal.as_raw());
    assert_eq!(seen, [Signal::USR1, Signal::WINCH]);
}

#[test]
fn a_wait_is_never_shorter_than_asked() {
    for micros in [1, 900, 1_100, 5_000] {
        let wanted = Duration::from_micros(micros);
        let start = Instant::now();
        assert_eq!(poll(&mut [], Some(wanted)).unwrap(), 0);
        assert!(start.elapsed() >= wanted);
    }
}

#[test]
fn clocks_go_forward() {
    let (mono, boot) = (monotonic(), boot_time());
    assert!(boot >= mono && mono > Duration::ZERO);
    until("the clocks", || (boot_time() > boot && monotonic() > mono).then_some(()));
}
