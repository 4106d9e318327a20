//! The two directions of the inner terminal, as two values: who may look need not be able to type.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{retry_on_intr, write};

use crate::transfer::{ReadOutcome, WriteOutcome};

/// What the tool writes.
#[derive(Debug)]
pub struct ReadHalf {
    pub(super) master: Arc<OwnedFd>,
}

/// The right to type into the tool. Not `Clone`: there is one typist, the gate, and so one order of keys.
#[derive(Debug)]
pub struct WriteHalf {
    pub(super) master: Arc<OwnedFd>,
}

impl ReadHalf {
    /// Reads what is there, without waiting.
    ///
    /// `End` comes when the tool has ended and everything else has closed the terminal; processes that the tool left
    /// behind in the background may hold it open, so after the tool's end wait for `End` only so long.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::of_read(&self.master, buffer)
    }
}

impl WriteHalf {
    /// Types as much as the terminal takes now, without waiting.
    ///
    /// The kernel goes on taking bytes after the last process has closed the terminal, until its buffer is full: that
    /// the tool is gone is told by [`ReadHalf::read`] and [`crate::Child::next_event`], not here.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<WriteOutcome> {
        WriteOutcome::of(bytes.len(), retry_on_intr(|| write(&self.master, bytes)))
    }
}

impl AsFd for ReadHalf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}

impl AsFd for WriteHalf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}
