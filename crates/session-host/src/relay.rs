//! Bytes from the tool to the terminal: one buffer, back-pressure instead of a queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use atlasbridge_pty::{HostOutput, PollFd, PollFlags, ReadHalf, ReadOutcome, WriteOutcome, poll};

/// A PTY read returns 4 KiB at the median and 19 KiB at most (measured); a buffer of 64 KiB never limits it.
const BUFFER: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Relay {
    reader: ReadHalf,
    output: HostOutput,
    buffer: Box<[u8]>,
    /// What of the buffer the terminal has not taken.
    unsent: std::ops::Range<usize>,
    sink: Sink,
    /// The tool's side is closed and drained: reading again would only say so again.
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    Open,
    /// Nobody reads our output any more. The tool is told as it would be without us; what it still says is dropped.
    Closed,
}

/// What one turn brought.
#[derive(Debug)]
pub(crate) enum Turn<'a> {
    /// These bytes came from the tool and are on their way to the terminal.
    Data(&'a [u8]),
    Nothing,
    /// The tool's side is closed and drained.
    End,
}

impl Relay {
    pub(crate) fn new(reader: ReadHalf, output: HostOutput) -> Self {
        Self {
            reader,
            output,
            buffer: vec![0; BUFFER].into(),
            unsent: 0..0,
            sink: Sink::Open,
            has_ended: false,
        }
    }

    /// The tool is read only while the terminal has taken everything before.
    pub(crate) fn wants_to_read(&self) -> bool {
        self.unsent.is_empty() && !self.has_ended
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(crate) fn tool(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    pub(crate) fn terminal(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// The tool's side holds something that was not read yet.
    pub(crate) fn has_more(&self) -> bool {
        let mut tool = [PollFd::new(&self.reader, PollFlags::IN)];
        poll(&mut tool, Some(Duration::ZERO)).is_ok_and(|ready| ready > 0)
    }

    /// Somebody does not want to wait for the terminal any longer.
    pub(crate) fn give_up(&mut self) {
        self.sink = Sink::Closed;
        self.unsent = 0..0;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sink == Sink::Closed
    }

    /// # Terminal-first invariant
    /// The bytes are offered to the terminal before they are returned for anybody to look at.
    pub(crate) fn pump(&mut self) -> io::Result<Turn<'_>> {
        match self.reader.read(&mut self.buffer)? {
            ReadOutcome::Data(count) => {
                self.unsent = 0..count;
                self.flush()?;
                Ok(Turn::Data(&self.buffer[..count]))
            }
            ReadOutcome::WouldBlock => Ok(Turn::Nothing),
            ReadOutcome::End => {
                self.has_ended = true;
                Ok(Turn::End)
            }
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() && self.sink == Sink::Open {
            match self.output.write(&self.buffer[self.unsent.clone()])? {
                WriteOutcome::Wrote(count) => self.unsent.start += count,
                WriteOutcome::WouldBlock => return Ok(()),
                WriteOutcome::Closed => self.sink = Sink::Closed,
            }
        }
        self.unsent = 0..0;
        Ok(())
    }
}
