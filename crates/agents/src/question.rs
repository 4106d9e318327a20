//! A short question to another program: an end to its time, a bound to its answer, and no process of it left behind.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::surroundings::Surroundings;
use crate::wait::readable;

/// What is asked stands in the first lines; what comes behind this many bytes is not read.
const LONGEST_ANSWER: u64 = 16 * 1024;

/// What a program said to a question.
#[derive(Debug)]
pub struct Printed {
    pub out: String,
    pub err: String,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
}

/// Runs it to its end, in a process group of its own and without our variables. `input` must fit into a pipe.
pub fn ask(
    mut command: Command,
    input: Option<&[u8]>,
    limit: Duration,
    surroundings: &Surroundings,
) -> io::Result<Printed> {
    let stdin = input.map_or_else(Stdio::null, |_| Stdio::piped());
    command.process_group(0).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(surroundings.env.iter().cloned());
    let mut child = command.spawn()?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // One that does not read is judged by what it says.
        let _ = stdin.write_all(input);
    }
    let heard = listen(&mut child, limit);
    // Also after an answer: what it left behind in its group was started for the question alone.
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait()?;
    let (out, err) = heard?;
    Ok(Printed { out, err, code: status.code() })
}

/// What the program prints until it has ended, or until its time is over.
fn listen(child: &mut Child, limit: Duration) -> io::Result<(String, String)> {
    let deadline = Instant::now() + limit;
    let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let mut out = Stream::new(child.stdout.take().map(OwnedFd::from))?;
    let mut err = Stream::new(child.stderr.take().map(OwnedFd::from))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let watched = [Some(ended.as_fd()), out.open(), err.open()];
        let watched: Vec<BorrowedFd<'_>> = watched.into_iter().flatten().collect();
        let ready = readable(&watched, Some(left))?;
        if left.is_zero() || !ready.contains(&true) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        out.read();
        err.read();
        // Children that it left behind may hold the pipes open: its own end is the end.
        if ready[0] {
            return Ok((out.text(), err.text()));
        }
    }
}

/// One of the program's outputs, read without waiting.
struct Stream {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(descriptor: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(descriptor) = &descriptor {
            rustix::io::ioctl_fionbio(descriptor, true)?;
        }
        Ok(Self { file: descriptor.map(File::from), bytes: Vec::new() })
    }

    fn open(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(File::as_fd)
    }

    /// Everything that is there. At the end, and when there is too much of it, the stream is closed.
    fn read(&mut self) {
        let Some(file) = &mut self.file else { return };
        let room = LONGEST_ANSWER.saturating_sub(self.bytes.len() as u64);
        let outcome = file.take(room).read_to_end(&mut self.bytes);
        let is_waiting = outcome.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        if !is_waiting {
            self.file = None;
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
