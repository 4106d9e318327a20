//! The app-server: started, waited for, and ended with everything that it started.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atlasbridge_pty::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::agents::codex::END_LIMIT;

/// How long the server may take to listen. On a busy machine 0.166.0 took 1.2 s.
const START_LIMIT: Duration = Duration::from_secs(5);
/// Nothing says when it listens, so it is looked at this often, within that limit.
const GLANCE: Duration = Duration::from_millis(20);

/// A running server; ended and tidied up when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    group: Pid,
    ended: OwnedFd,
    socket: PathBuf,
}

impl Server {
    /// In a process group of its own: its program may be a script that starts another one. It outlives a bridge that is
    /// killed, for the screen needs it; the end of the session ends it then.
    pub(super) fn start(program: &OsString, settings: &[OsString], socket: &Path) -> io::Result<Self> {
        let address = socket.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command
            .arg("app-server")
            .arg("--listen")
            .arg(format!("unix://{address}"))
            .args(settings)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn()?;
        let group = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { ended: pidfd_open(group, PidfdFlags::empty())?, child, group, socket: socket.to_owned() })
    }

    /// A connection, as soon as the server listens.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if let Ok(stream) = UnixStream::connect(&self.socket) {
                return Ok(stream);
            }
            if self.has_ended_within(GLANCE) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Readable when it has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    fn has_ended_within(&self, limit: Duration) -> bool {
        let mut descriptors = [PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN)];
        poll(&mut descriptors, Some(limit)).is_ok_and(|count| count > 0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where it really listens: it puts a link into its place.
        let real = fs::canonicalize(&self.socket);
        let _ = kill_process_group(self.group, Signal::TERM);
        self.has_ended_within(END_LIMIT);
        // Also after an end in peace: the program behind a script may be left.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
        if let Ok(real) = real {
            let mut lock = real.clone().into_os_string();
            lock.push(".lock");
            let _ = fs::remove_file(real);
            let _ = fs::remove_file(lock);
        }
        if let Some(directory) = self.socket.parent() {
            let _ = fs::remove_file(&self.socket);
            let _ = fs::remove_dir(directory);
        }
    }
}
