//! How one read or one write ended, where "not now" and "no more" are ordinary and not errors.

use std::io;
use std::os::fd::AsFd;

use rustix::io::{Errno, read, retry_on_intr};

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes, at least one.
    Data(usize),
    /// Nothing now; poll for readability.
    WouldBlock,
    /// Nothing ever again.
    End,
}

/// What a write achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// This many bytes were taken: at least one, unless none were offered.
    Wrote(usize),
    /// None now; poll for writability.
    WouldBlock,
    /// The other side is gone.
    Closed,
}

impl ReadOutcome {
    /// Reads once from what does not block. A terminal whose other side is gone says EIO where a pipe says nothing: both
    /// are the end.
    pub fn of_read(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<Self> {
        if buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no room to read into"));
        }
        match retry_on_intr(|| read(&descriptor, &mut *buffer)) {
            Ok(0) | Err(Errno::IO | Errno::CONNRESET) => Ok(Self::End),
            Ok(count) => Ok(Self::Data(count)),
            Err(Errno::AGAIN) => Ok(Self::WouldBlock),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl WriteOutcome {
    /// Zero bytes taken of some offered is an error: a caller who counted it as progress would spin.
    pub(crate) fn of(offered: usize, result: Result<usize, Errno>) -> io::Result<Self> {
        match result {
            Ok(0) if offered > 0 => Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => Ok(Self::Wrote(count)),
            Err(Errno::AGAIN) => Ok(Self::WouldBlock),
            Err(Errno::PIPE | Errno::IO | Errno::CONNRESET) => Ok(Self::Closed),
            Err(errno) => Err(errno.into()),
        }
    }
}
