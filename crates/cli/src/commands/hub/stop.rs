//! The end of a running hub: it is asked on its socket, and ended by signal if it does not answer or does not go.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use atlasbridge_pty::{PollFd, PollFlags, poll};
use atlasbridge_wire::command::{Request, Response};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::client::{Client, ClientError};
use crate::config::Paths;
use crate::output::Output;

/// How long a hub may take to finish what it is recording.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Whether there was one to stop.
pub(in crate::commands) fn stop(paths: &Paths, output: &Output) -> anyhow::Result<bool> {
    let Some(hub) = Holder::find(&paths.lock()).context("looking for the holder of the hub's lock")? else {
        return Ok(false);
    };
    match Client::connect(paths).and_then(|mut client| client.ask(&Request::StopHub)) {
        Ok(Response::Done) => {
            if hub.has_ended_within(STOP_LIMIT)? {
                return Ok(true);
            }
        }
        Ok(other) => return Err(ClientError::from(other).into()),
        Err(no @ (ClientError::Declined(_) | ClientError::Failed(_))) => return Err(no.into()),
        // One of another protocol cannot be asked.
        Err(ClientError::Refused(_)) => {}
        // It was ending by itself.
        Err(_) if hub.has_ended_within(Duration::ZERO)? => return Ok(true),
        Err(_) => {
            let pid = hub.pid;
            output
                .warn(&format!("the hub (pid {pid}) does not answer on its socket; it is ended by a signal"));
        }
    }
    if hub.end(STOP_LIMIT)? == Ending::Killed {
        output.warn(&format!(
            "the hub (pid {}) did not stop within {} seconds and was killed; nothing that was recorded is lost",
            hub.pid,
            STOP_LIMIT.as_secs()
        ));
    }
    Ok(true)
}

/// How a process ended that was told to.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Asked,
    Killed,
}

/// The process that holds the hub's lock. It is followed by descriptor: its pid may be another's later.
#[derive(Debug)]
struct Holder {
    pid: Pid,
    process: OwnedFd,
}

impl Holder {
    /// # No other process is meant
    /// The kernel tells who holds the lock; the pid in the file may be that of a hub before it. It is asked again once the
    /// process is held by its descriptor: the process that holds the lock still is the one that was held before.
    fn find(lock: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(lock) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let Some(pid) = pid_of_holder(&file)? else { return Ok(None) };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(None),
            opened => opened?,
        };
        Ok((pid_of_holder(&file)? == Some(pid)).then_some(Self { pid, process }))
    }

    /// A signal that asks, and after the limit one that no process can refuse.
    fn end(&self, limit: Duration) -> anyhow::Result<Ending> {
        self.signal(Signal::TERM)?;
        if self.has_ended_within(limit)? {
            return Ok(Ending::Asked);
        }
        self.signal(Signal::KILL)?;
        match self.has_ended_within(limit)? {
            true => Ok(Ending::Killed),
            false => bail!("the hub (pid {}) cannot be killed: the kernel does not let it go", self.pid),
        }
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        match pidfd_send_signal(&self.process, signal) {
            // It has ended meanwhile.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).context("stopping the hub"),
        }
    }

    fn has_ended_within(&self, limit: Duration) -> anyhow::Result<bool> {
        let mut descriptors = [PollFd::from_borrowed_fd(self.process.as_fd(), PollFlags::IN)];
        Ok(poll(&mut descriptors, Some(limit)).context("waiting for the hub's end")? > 0)
    }
}

/// By lines as `3: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`. One who only waits for a lock has `->` behind the number.
fn pid_of_holder(file: &File) -> io::Result<Option<Pid>> {
    let inode = file.metadata()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks")?;
    let mut holders = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, "WRITE", pid, place, ..] if place.rsplit(':').next() == Some(&inode) => {
                Pid::from_raw(pid.parse().ok()?)
            }
            _ => None,
        }
    });
    Ok(holders.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn the_holder_of_the_lock_is_meant_and_nobody_else() {
        let lock = std::env::temp_dir().join(format!("ab-holder-{}", std::process::id()));
        assert!(Holder::find(&lock).unwrap().is_none());
        // The pid in the file is that of init.
        fs::write(&lock, "1\n").unwrap();
        assert!(Holder::find(&lock).unwrap().is_none());
        let file = File::open(&lock).unwrap();
        file.lock().unwrap();
        let holder = Holder::find(&lock).unwrap().unwrap();
        assert_eq!(holder.pid, rustix::process::getpid());
        fs::remove_file(&lock).unwrap();
    }

    #[track_caller]
    fn check(script: &str, expected: Ending) {
        let mut child = Command::new("bash")
            .args(["-c", &format!("{script}; echo; while :; do read -t 0.05 < /dev/zero; done")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let pid = Pid::from_child(&child);
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let limit = Duration::from_millis(500);
        assert_eq!(Holder { pid, process }.end(limit).unwrap(), expected, "{script}");
        child.wait().unwrap();
    }

    #[test]
    fn one_that_does_not_end_when_asked_is_killed() {
        check("true", Ending::Asked);
        check("trap '' TERM", Ending::Killed);
    }
}
