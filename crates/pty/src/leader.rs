//! The leader of the inner session: parent of the tool, guardian of the outer terminal. Why there is one is told in
//! `lib.rs`.
//!
//! It is a forked copy of the session host and follows the rules of `after_fork.rs`. All signals stay blocked in it
//! for its whole life: SIGHUP and SIGTERM mean nothing to it, because the host decides what ends when; only SIGKILL
//! removes it, and the host sees that as [`ChildEvent::LeaderLost`]. It waits without a timeout, as everything it
//! waits for wakes it.
//!
//! It lives until the host lets go of the socket, also beyond the tool's end: while the host writes the tool's last
//! words, the outer terminal is still raw and still needs its guardian.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

use rustix::process::{chdir, setsid};

use crate::after_fork::{self, checked};
use crate::child::ChildEvent;
use crate::command::ExecImage;
use crate::link::{GuardianNote, HostRequest, encode_report};
use crate::signals::{Signal, SignalSet};
use crate::terminal::Termios;

/// Ends a string that the host was in the middle of, then ends what tools switch on and shells do not: synchronised
/// updates, mouse and focus reports, a hidden cursor, colours. Harmless where nothing was on.
const SETTLE: &[u8] =
    b"\x1b\\\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?25h\x1b[0m";

/// What shells switch on as well (bracketed paste, key protocols), so only written while no shell can have come to
/// its prompt.
const SETTLE_KEYS: &[u8] = b"\x1b[?2004l\x1b[?1l\x1b>\x1b[<u\r\n";

const LEAVE_ALTERNATE_SCREEN: &[u8] = b"\x1b[?1049l";

/// The inner terminal in the leader: its standard streams, so that the tool inherits them in place, and so that
/// nothing the leader opens can get a number that the tool needs.
const TERMINAL: RawFd = 0;

/// What the leader inherits: all of its descriptors, none of them a standard one.
pub(crate) struct Inheritance {
    /// To the host; blocking on this side.
    pub(crate) link: RawFd,
    /// The inner terminal.
    pub(crate) slave: RawFd,
    /// The outer terminal, if the host is on one.
    pub(crate) outer: Option<RawFd>,
    /// Whether the tool starts in front of the inner terminal.
    pub(crate) foreground: bool,
}

/// The leader's whole life.
pub(crate) fn lead(inheritance: &Inheritance, image: &mut ExecImage) -> ! {
    let Inheritance { link, slave, outer, foreground } = *inheritance;
    let streams = after_fork::become_stdio(slave);
    after_fork::restore_dispositions();
    set_name();
    let mut leader = Leader {
        link,
        outer,
        children: -1,
        tool: ToolProcess::Over,
        note: GuardianNote::default(),
        in_front: None,
    };
    let started =
        streams.and_then(|()| leader.found_session()).and_then(|()| leader.start_tool(image, foreground));
    leader.close_what_is_not_ours(&started);
    match started {
        Ok(tool) => leader.tool = tool,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            leader.tool_is_over(ChildEvent::ExecFailed { errno });
        }
    }
    leader.watch()
}

struct Leader {
    link: RawFd,
    outer: Option<RawFd>,
    /// Readable when the tool stops, continues or ends.
    children: RawFd,
    tool: ToolProcess,
    note: GuardianNote,
    /// The group that was in front of the inner terminal when it was taken away.
    in_front: Option<libc::pid_t>,
}

#[derive(Clone, Copy)]
enum ToolProcess {
    /// Forked; `outcome` will say why it could not execute, or end without a word when it did.
    Starting { pid: libc::pid_t, outcome: RawFd },
    /// It is the tool.
    Running { pid: libc::pid_t },
    /// It has ended, or never was.
    Over,
}

impl ToolProcess {
    fn pid(&self) -> Option<libc::pid_t> {
        match *self {
            ToolProcess::Starting { pid, .. } | ToolProcess::Running { pid } => Some(pid),
            ToolProcess::Over => None,
        }
    }

    /// Where its start is told, or no descriptor.
    fn outcome(&self) -> RawFd {
        match *self {
            ToolProcess::Starting { outcome, .. } => outcome,
            ToolProcess::Running { .. } | ToolProcess::Over => -1,
        }
    }
}

impl Leader {
    /// Makes the session, with the inner terminal to control it.
    fn found_session(&mut self) -> io::Result<()> {
        // A fresh fork leads no group, so this cannot be refused.
        setsid()?;
        // SAFETY: no memory is involved; 0 asks not to steal the terminal from another session.
        checked(unsafe { libc::ioctl(TERMINAL, libc::TIOCSCTTY, 0) })?;
        self.children = SignalSet::of(Signal::CHILD).descriptor()?;
        Ok(())
    }

    /// After the tool's fork and not before: what the shell has handed down without close-on-exec, such as the
    /// `/dev/fd/63` of `run -- diff <(one) <(other)`, is the tool's. What is our own has the flag from birth.
    fn close_what_is_not_ours(&self, started: &io::Result<ToolProcess>) {
        let outcome = started.as_ref().map_or(-1, ToolProcess::outcome);
        let outer = self.outer.unwrap_or(-1);
        after_fork::close_all_except(&mut [0, 1, 2, self.link, self.children, outcome, outer]);
    }

    fn start_tool(&self, image: &mut ExecImage, foreground: bool) -> io::Result<ToolProcess> {
        let mut pipe = [-1; 2];
        // SAFETY: the kernel writes two descriptors to a place that outlives the call.
        checked(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) })?;
        let [outcome, report] = pipe;
        let pid = after_fork::fork_again()?;
        if pid == 0 {
            become_tool(report, image, foreground);
        }
        after_fork::close(report);
        // The tool does the same: whichever is first, the group exists when either relies on it.
        // SAFETY: no memory is involved.
        unsafe { libc::setpgid(pid, pid) };
        // The tool has the host's directory; the leader must not keep it from being unmounted.
        let _ = chdir(c"/");
        Ok(ToolProcess::Starting { pid, outcome })
    }

    fn watch(&mut self) -> ! {
        loop {
            self.sleep();
            self.empty_signals();
            self.learn_whether_it_started();
            self.follow_tool();
            self.hear_host();
        }
    }

    fn sleep(&self) {
        let mut descriptors = [self.link, self.children, self.tool.outcome()]
            .map(|descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 });
        // SAFETY: the list outlives the call. The kernel passes over descriptors below zero.
        unsafe { libc::poll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, -1) };
    }

    /// SIGCHLD says only that there is something to ask `waitpid` about.
    fn empty_signals(&self) {
        let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: the kernel writes at most one record to a place that outlives the call.
        while unsafe { libc::read(self.children, record.as_mut_ptr().cast(), record.len()) } > 0 {}
    }

    /// Asked before `waitpid`, so that the host hears of a start before it hears of an end.
    fn learn_whether_it_started(&mut self) {
        let ToolProcess::Starting { pid, outcome } = self.tool else { return };
        let mut errno = [0_u8; 4];
        // SAFETY: the kernel writes at most four bytes to a place that outlives the call.
        let count = unsafe { libc::read(outcome, errno.as_mut_ptr().cast(), errno.len()) };
        if count < 0 {
            return;
        }
        after_fork::close(outcome);
        self.tool = ToolProcess::Running { pid };
        if count == 0 {
            self.report(ChildEvent::Started { pid });
            return;
        }
        // SAFETY: no status is asked for. The process has said its last word and is exiting; killed, because it
        // could have been stopped in between, and this wait must end.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, ptr::null_mut(), 0);
        }
        self.tool_is_over(ChildEvent::ExecFailed { errno: i32::from_ne_bytes(errno) });
    }

    /// Not while it is starting: its exit would be taken for the tool's own, before the word was read why there is no
    /// tool. That word, or its absence, wakes the loop as well.
    fn follow_tool(&mut self) {
        while let ToolProcess::Running { pid } = self.tool {
            let mut status = 0;
            let options = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED;
            // SAFETY: the kernel writes a status to a place that outlives the call.
            if unsafe { libc::waitpid(pid, &raw mut status, options) } <= 0 {
                return;
            }
            if libc::WIFSTOPPED(status) {
                let signal = libc::WSTOPSIG(status);
                if matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
                    // It needs the terminal itself, in place of any other group: it is what to put in front next.
                    set_foreground(own_group());
                    self.in_front = None;
                }
                self.report(ChildEvent::Stopped { signal });
            } else if libc::WIFCONTINUED(status) {
                self.report(ChildEvent::Continued);
            } else if libc::WIFSIGNALED(status) {
                self.tool_is_over(ChildEvent::Signaled { signal: libc::WTERMSIG(status) });
            } else {
                self.tool_is_over(ChildEvent::Exited { code: libc::WEXITSTATUS(status) });
            }
        }
    }

    /// Takes the terminal back, as a shell does when a job ends, and closes it, so that the host sees its end.
    ///
    /// Taken back, because the kernel sends SIGHUP to the foreground group when a session leader exits, and what the
    /// tool left running in the background should live on as it does under a shell.
    fn tool_is_over(&mut self, event: ChildEvent) {
        self.tool = ToolProcess::Over;
        set_foreground(own_group());
        for stream in 0..=2 {
            after_fork::close(stream);
        }
        self.report(event);
    }

    /// Waits while the socket is full (the host is stopped): a report is never lost. The host's death ends the wait.
    fn report(&self, event: ChildEvent) {
        let Some(packet) = encode_report(event) else { return };
        // SAFETY: the packet outlives the call.
        unsafe { libc::send(self.link, packet.as_ptr().cast(), packet.len(), libc::MSG_NOSIGNAL) };
    }

    fn hear_host(&mut self) {
        loop {
            let mut packet = [0_u8; HostRequest::BYTES];
            // SAFETY: the kernel writes at most one packet to a place that outlives the call.
            let count = unsafe {
                libc::recv(self.link, packet.as_mut_ptr().cast(), packet.len(), libc::MSG_DONTWAIT)
            };
            match count {
                0 => self.host_is_gone(),
                1.. => self.obey(&packet),
                _ => match after_fork::errno() {
                    // The peer went without reading all: said once, and then comes what it had sent, and its end.
                    libc::EINTR | libc::ECONNRESET => {}
                    libc::EAGAIN => return,
                    _ => self.host_is_gone(),
                },
            }
        }
    }

    fn obey(&mut self, packet: &[u8; HostRequest::BYTES]) {
        match HostRequest::decode(packet) {
            Some(HostRequest::Note(note)) => self.note = note,
            Some(HostRequest::Signal(signal)) => self.signal_tool(signal, |pid| -pid),
            Some(HostRequest::SignalTool(signal)) => self.signal_tool(signal, |pid| pid),
            Some(HostRequest::Foreground(true)) => self.give_terminal(),
            Some(HostRequest::Foreground(false)) => self.take_terminal(),
            None => {}
        }
    }

    /// While it is there: its number may be another's afterwards.
    fn signal_tool(&self, signal: Signal, receiver: fn(libc::pid_t) -> libc::pid_t) {
        if let Some(pid) = self.tool.pid() {
            // SAFETY: no memory is involved.
            unsafe { libc::kill(receiver(pid), signal.as_raw()) };
        }
    }

    fn give_terminal(&mut self) {
        if let Some(pid) = self.tool.pid()
            && foreground() == Some(own_group())
        {
            let group = self.in_front.take().unwrap_or(pid);
            // That group may have ended meanwhile; the tool is there.
            if !set_foreground(group) {
                set_foreground(pid);
            }
        }
    }

    fn take_terminal(&mut self) {
        if self.tool.pid().is_some()
            && let Some(group) = foreground().filter(|&group| group != own_group())
        {
            self.in_front = Some(group);
            set_foreground(own_group());
        }
    }

    /// # Guardian's promise
    ///
    /// However the host ended, the outer terminal is usable and the tool knows. The writing comes last: it is the
    /// only step that could wait, if the terminal could not be opened for us alone.
    fn host_is_gone(&self) -> ! {
        let words = self.restore_settings();
        self.hang_up();
        if let (Some(words), Some(outer)) = (words, self.outer) {
            if self.note.alternate_screen {
                write_if_ready(outer, LEAVE_ALTERNATE_SCREEN);
            }
            for word in words {
                write_if_ready(outer, word);
            }
        }
        after_fork::exit(0);
    }

    /// Returns what to write then. Settings that are no longer those the host had set belong to another program, most
    /// likely a shell that is already editing a line: they are left alone, and so is its prompt.
    fn restore_settings(&self) -> Option<&'static [&'static [u8]]> {
        let change = self.note.restore?;
        let outer = borrow(self.outer?);
        if Termios::of(outer).ok() != Some(change.to) {
            return Some(&[SETTLE]);
        }
        // From another session the kernel asks for no foreground.
        let _ = change.from.apply(outer);
        Some(&[SETTLE, SETTLE_KEYS])
    }

    /// As a terminal that is closed: SIGHUP, and SIGCONT so that a stopped tool hears it. Where another group was in
    /// the foreground the terminal is by now too dead to say so; the kernel remembers, and hangs up on that group as
    /// this process, the leader of the session, exits.
    fn hang_up(&self) {
        let Some(pid) = self.tool.pid() else { return };
        hang_up_on(pid);
        if let Some(group) = foreground().filter(|&group| group != pid && group != own_group()) {
            hang_up_on(group);
        }
    }
}

/// The tool's life until it is the tool.
fn become_tool(report: RawFd, image: &mut ExecImage, foreground: bool) -> ! {
    // SAFETY: no memory is involved.
    unsafe { libc::setpgid(0, 0) };
    if foreground {
        set_foreground(own_group());
    }
    // The leader's dispositions are the default ones already, and are inherited.
    after_fork::unblock_signals();
    let errno = image.exec().to_ne_bytes();
    // SAFETY: the bytes outlive the call; four of them fit into an empty pipe.
    unsafe { libc::write(report, errno.as_ptr().cast(), errno.len()) };
    after_fork::exit(127);
}

/// The group in front of the inner terminal.
fn foreground() -> Option<libc::pid_t> {
    // SAFETY: no memory is involved.
    let group = unsafe { libc::tcgetpgrp(TERMINAL) };
    (group > 0).then_some(group)
}

/// Whether the group was there to be put in front. SIGTTOU is blocked, so a background group may ask.
fn set_foreground(group: libc::pid_t) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::tcsetpgrp(TERMINAL, group) == 0 }
}

fn own_group() -> libc::pid_t {
    // SAFETY: no memory is involved.
    unsafe { libc::getpgrp() }
}

fn hang_up_on(group: libc::pid_t) {
    // SAFETY: no memory is involved.
    unsafe {
        libc::kill(-group, libc::SIGHUP);
        libc::kill(-group, libc::SIGCONT);
    }
}

fn write_if_ready(terminal: RawFd, words: &[u8]) {
    let mut descriptor = libc::pollfd { fd: terminal, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the one descriptor outlives the call, which does not wait.
    let is_ready =
        unsafe { libc::poll(&raw mut descriptor, 1, 0) } == 1 && descriptor.revents & libc::POLLOUT != 0;
    if is_ready {
        // SAFETY: the words outlive the call.
        unsafe { libc::write(terminal, words.as_ptr().cast(), words.len()) };
    }
}

fn borrow(descriptor: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the leader keeps its descriptors open until it exits, and is past `close_all_except`.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// What `ps` shows, so that it is not taken for a second session host.
fn set_name() {
    // SAFETY: the name ends in NUL within 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"atlasbridge-tty".as_ptr()) };
}
