//! The session host's own input and output: a terminal, a pipe, a file or a socket that belongs to the shell and
//! outlives us.
//!
//! O_NONBLOCK belongs to the *open file description*, which we share with the shell and with every other program of
//! the pipeline; set there, it would break them. So a terminal or a pipe is opened once more, for us alone; a file
//! never, as its position is shared on purpose.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, retry_on_intr, write};
use rustix::net::{SendFlags, send};

use crate::host::is_terminal;
use crate::transfer::{ReadOutcome, WriteOutcome};
use crate::wait::{PollFd, PollFlags, poll};

/// `PIPE_BUF`: a pipe that polls writable takes at least this much without blocking.
const ROOM_IN_PIPE: usize = 4096;

/// A terminal that polls writable holds fewer than 256 bytes of output (`WAKEUP_CHARS` in the kernel) and has room,
/// of unknown size; so little that a write of as many again does not wait in practice.
const ROOM_IN_TERMINAL: usize = 256;

/// Where the tool's bytes go.
#[derive(Debug)]
pub struct HostOutput {
    descriptor: OwnedFd,
    mode: OutputMode,
}

#[derive(Clone, Copy, Debug)]
enum OutputMode {
    /// It does not block: opened by us alone, or a file.
    Direct,
    /// Asked not to block with each call.
    Socket,
    /// Shared and blocking: ask first, then write at most this much.
    AfterPoll { at_most: usize },
}

impl HostOutput {
    /// Finds out what `output` is; it is neither changed nor kept.
    pub fn open(output: impl AsFd) -> io::Result<Self> {
        let output = output.as_fd();
        let kind = FileType::from_raw_mode(fstat(output)?.st_mode);
        if let Some(descriptor) = opened_anew(kind, output, OFlags::WRONLY) {
            return Ok(Self { descriptor, mode: OutputMode::Direct });
        }
        // Not ours to open (a terminal after `su`, a pipe without a reader), or not to be opened.
        let mode = if kind == FileType::RegularFile {
            OutputMode::Direct
        } else if kind == FileType::Socket {
            OutputMode::Socket
        } else {
            OutputMode::AfterPoll {
                at_most: if is_terminal(output) { ROOM_IN_TERMINAL } else { ROOM_IN_PIPE },
            }
        };
        Ok(Self { descriptor: fcntl_dupfd_cloexec(output, 3)?, mode })
    }

    /// Writes what is taken now, without waiting. A reader that is gone is `Closed`; that takes SIGPIPE to be
    /// ignored, as it is in every Rust program.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<WriteOutcome> {
        let result = match self.mode {
            OutputMode::Direct => retry_on_intr(|| write(&self.descriptor, bytes)),
            OutputMode::Socket => {
                retry_on_intr(|| send(&self.descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL))
            }
            OutputMode::AfterPoll { .. } if !is_ready(&self.descriptor, PollFlags::OUT)? => Err(Errno::AGAIN),
            OutputMode::AfterPoll { at_most } => {
                let some = bytes.get(..at_most).unwrap_or(bytes);
                retry_on_intr(|| write(&self.descriptor, some))
            }
        };
        WriteOutcome::of(bytes.len(), result)
    }
}

impl AsFd for HostOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Where the local keyboard's bytes come from.
#[derive(Debug)]
pub struct HostInput {
    descriptor: OwnedFd,
    kind: InputKind,
}

/// Who is at the other end of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A person.
    Terminal,
    /// A file, a pipe or a socket: bytes, and an end.
    Stream,
    /// `/dev/null` or the like: no bytes ever.
    Nobody,
}

impl HostInput {
    /// Finds out what `input` is; it is neither changed nor kept.
    pub fn open(input: impl AsFd) -> io::Result<Self> {
        let input = input.as_fd();
        let file = FileType::from_raw_mode(fstat(input)?.st_mode);
        let ours = opened_anew(file, input, OFlags::RDONLY);
        let descriptor = ours.map_or_else(|| fcntl_dupfd_cloexec(input, 3), Ok)?;
        let kind = match file == FileType::CharacterDevice {
            true if is_terminal(input) => InputKind::Terminal,
            true => InputKind::Nobody,
            false => InputKind::Stream,
        };
        Ok(Self { descriptor, kind })
    }

    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// Reads what is there, without waiting: only after the kernel has said that there is something, also where we
    /// are alone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        if !is_ready(&self.descriptor, PollFlags::IN)? {
            return Ok(ReadOutcome::WouldBlock);
        }
        ReadOutcome::of_read(&self.descriptor, buffer)
    }
}

impl AsFd for HostInput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Opens the same terminal or pipe, for reading or writing or both, as a new, non-blocking open file description.
pub(crate) fn reopen(descriptor: BorrowedFd<'_>, access: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    open(path, access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

/// For us alone, where it may be: a terminal or a pipe that is ours to open.
fn opened_anew(kind: FileType, descriptor: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
    let may_be = kind == FileType::Fifo || kind == FileType::CharacterDevice && is_terminal(descriptor);
    may_be.then(|| reopen(descriptor, access).ok()).flatten()
}

/// Whether it can be read or written now. An error or a hang-up is also something to be told by that.
pub fn is_ready(descriptor: impl AsFd, interest: PollFlags) -> io::Result<bool> {
    let mut descriptors = [PollFd::new(&descriptor, interest)];
    Ok(poll(&mut descriptors, Some(Duration::ZERO))? > 0)
}
