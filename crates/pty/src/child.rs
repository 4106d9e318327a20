//! The tool as its parent sees it: what became of it, and how to signal it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustix::process::{Pid, PidfdFlags, WaitOptions, kill_process_group, pidfd_open, wait, waitpid};

use crate::control::foreground_group;
use crate::link::{GuardianNote, HostRequest, REPORT_BYTES, decode_report};
use crate::signals::Signal;
use crate::wait::{PollFd, PollFlags, poll};

/// How long dropping a [`Child`] waits for its leader, which normally exits at once. A person would notice a second.
const LEADER_EXIT_LIMIT: Duration = Duration::from_millis(200);

/// What became of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEvent {
    /// The program runs.
    Started { pid: i32 },
    /// It does not: ENOENT is a shell's 127, all else its 126. Nothing follows.
    ExecFailed { errno: i32 },
    /// Stopped, as by Ctrl-Z; only a parent can continue it.
    Stopped { signal: i32 },
    /// It goes on.
    Continued,
    /// It ended by itself. Its last words may still be in the terminal. Nothing follows.
    Exited { code: i32 },
    /// It was killed. Nothing follows.
    Signaled { signal: i32 },
    /// The leader was killed and took the session with it: what became of the tool is unknown. Nothing follows, and
    /// the descriptor stays readable, so poll it no more.
    LeaderLost,
}

impl ChildEvent {
    /// Nothing follows.
    fn is_last(self) -> bool {
        match self {
            Self::Started { .. } | Self::Stopped { .. } | Self::Continued => false,
            Self::ExecFailed { .. } | Self::Exited { .. } | Self::Signaled { .. } | Self::LeaderLost => true,
        }
    }
}

/// The tool and its leader.
///
/// Dropping it hangs up: a tool that still runs gets SIGHUP, as when a terminal is closed. Leave raw mode first, and
/// say so in a [note](Child::note): to the guardian, a socket that ends is a host that died.
#[derive(Debug)]
pub struct Child {
    pub(super) link: OwnedFd,
    pub(super) master: Arc<OwnedFd>,
    pub(super) leader: Pid,
    /// The tool's end was told.
    pub(super) is_over: bool,
}

impl Child {
    /// The process between us and the tool.
    pub fn leader_pid(&self) -> i32 {
        self.leader.as_raw_pid()
    }

    /// The next thing that happened to the tool, if something did; without waiting. Poll the descriptor to wait.
    pub fn next_event(&mut self) -> io::Result<Option<ChildEvent>> {
        while !self.is_over {
            let mut packet = [0; REPORT_BYTES];
            let event = match recv(&self.link, &mut packet, RecvFlags::DONTWAIT) {
                Ok((0, _)) => ChildEvent::LeaderLost,
                Ok(_) => decode_report(packet).ok_or(io::ErrorKind::InvalidData)?,
                Err(Errno::AGAIN) => return Ok(None),
                // The leader went without reading all: said once, and then comes what it had sent, and its end.
                Err(Errno::INTR | Errno::CONNRESET) => continue,
                Err(errno) => return Err(errno.into()),
            };
            self.is_over = event.is_last();
            return Ok(Some(event));
        }
        Ok(None)
    }

    /// Tells the guardian what to put right should we die. Send it after entering raw mode and after leaving it. The
    /// guardian will not touch a terminal that another process has changed since.
    ///
    /// Without a leader there is no guardian, which [`ChildEvent::LeaderLost`] has said; that is no error here.
    pub fn note(&self, note: &GuardianNote) -> io::Result<()> {
        self.tell(HostRequest::Note(*note))
    }

    /// Puts the tool, or the job of its that was there before, in front of the inner terminal, or takes the terminal
    /// away from it. In the background a tool that reads, or changes the terminal's settings, is stopped by the kernel
    /// (SIGTTIN, SIGTTOU) as it would be outside, which is how we learn that it needs the terminal.
    pub fn set_foreground(&self, is_front: bool) -> io::Result<()> {
        self.tell(HostRequest::Foreground(is_front))
    }

    /// Signals the tool's process group, from the moment of [`crate::spawn`] on. Fails with ESRCH when its end was
    /// reported.
    ///
    /// The leader does it. It knows whether the number is still the tool's, knows it before we do, and may, being of
    /// the same session, continue also a tool of another user (`sudo`).
    pub fn signal_tool(&self, signal: Signal) -> io::Result<()> {
        self.ask_leader(HostRequest::Signal(signal))
    }

    /// Signals the tool and none of its children: a signal that was sent to us alone was meant for it alone.
    pub fn signal_tool_alone(&self, signal: Signal) -> io::Result<()> {
        self.ask_leader(HostRequest::SignalTool(signal))
    }

    fn ask_leader(&self, request: HostRequest) -> io::Result<()> {
        if self.is_over { Err(Errno::SRCH.into()) } else { self.tell(request) }
    }

    fn tell(&self, request: HostRequest) -> io::Result<()> {
        loop {
            match send(&self.link, &request.encode(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) | Err(Errno::PIPE | Errno::CONNREFUSED | Errno::NOTCONN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Signals the group in front of the inner terminal: under a shell, the job and not the shell.
    pub fn signal_foreground(&self, signal: Signal) -> io::Result<()> {
        let group = foreground_group(&self.master).and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        Ok(kill_process_group(group, signal)?)
    }

    /// Collects every child of this process that has ended, without waiting: the leader, and the orphans of the tool,
    /// of which a subreaper becomes the parent. Not for a process that waits for children elsewhere: it takes theirs
    /// too.
    pub fn reap(&self) {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
}

impl Drop for Child {
    /// Lets the leader go, and collects it. It exits at once when the socket ends, so that the wait is one for a
    /// wake-up; the limit is for a leader that was stopped.
    fn drop(&mut self) {
        let _ = shutdown(&self.link, Shutdown::Both);
        // An error: it was reaped, and the number is no longer ours to wait for.
        let Ok(None) = waitpid(Some(self.leader), WaitOptions::NOHANG) else { return };
        let Ok(ended) = pidfd_open(self.leader, PidfdFlags::empty()) else { return };
        let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(LEADER_EXIT_LIMIT));
        let _ = waitpid(Some(self.leader), WaitOptions::NOHANG);
    }
}

/// Readable when [`Child::next_event`] has something to say.
impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}
