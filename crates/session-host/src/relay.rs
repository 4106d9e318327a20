//! Bytes from the tool to the terminal: one buffer, back-pressure instead of a queue.
//!
//! The tool is always on a terminal, and there a line ends in CR LF. A person's terminal gets that as it is; a file or a pipe
//! gets the lines as the tool wrote them ([`Plain`]). Whoever looks at the bytes sees what the tool's terminal said.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use atlasbridge_detect::{KernelWait, Waits};
use atlasbridge_pty::{
    Control, HostOutput, PollFlags, ReadHalf, ReadOutcome, TtyWait, WriteOutcome, is_ready,
};

/// A PTY read returns 4 KiB at the median and 19 KiB at most (measured); a buffer of 64 KiB never limits it.
const BUFFER: usize = 64 * 1024;
/// How often in a row a look is put off because the tool has written more: in a flood it always has, and that a prompt
/// is gone must be noticed all the same. Looks are 20 ms apart then.
const MOST_PUT_OFF: u32 = 3;

/// The way from the tool to the terminal, and whose side of it is read.
#[derive(Debug)]
pub struct Relay {
    reader: ReadHalf,
    output: HostOutput,
    buffer: Box<[u8]>,
    plain: Option<Plain>,
    /// What of the buffer, or of its plain form, the terminal has not taken.
    unsent: std::ops::Range<usize>,
    sink: Sink,
    /// The tool's side is closed and drained: reading again would only say so again.
    has_ended: bool,
    /// How often in a row a look was put off because there was more to read.
    put_off: u32,
}

/// What the tool has written and nobody has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backlog {
    Nothing,
    More,
    /// So often in a row that waiting for its end is no use.
    Flood,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    Open,
    /// Nobody reads our output any more. The tool is told as it would be without us; what it still says is dropped.
    Closed,
    /// The tool was hung up on for it.
    HungUp,
}

/// The tool's output without the CR that its terminal put before each LF: lines end as the tool ended them, and
/// `run -- printf 'a\n' | od -c` says what `printf` alone says.
///
/// # Exact where the terminal translates
/// There each LF has such a CR, so taking one away is all there is to undo; a CR that the tool wrote itself stays. A
/// tool that has switched the translation off writes that CR itself; in a log it is as unwanted, and a terminal behind `tee`
/// adds it again. The settings of the moment are not asked: they may be newer than the bytes.
#[derive(Debug, Default)]
struct Plain {
    bytes: Vec<u8>,
    /// The last byte was a CR. Whose it is, the next byte says.
    holds_cr: bool,
}

impl Plain {
    /// Replaces what was there before. `is_last`: nothing comes any more.
    fn take(&mut self, bytes: &[u8], is_last: bool) {
        self.bytes.clear();
        for &byte in bytes {
            if self.holds_cr && byte != b'\n' {
                self.bytes.push(b'\r');
            }
            self.holds_cr = byte == b'\r';
            if !self.holds_cr {
                self.bytes.push(byte);
            }
        }
        if is_last && std::mem::take(&mut self.holds_cr) {
            self.bytes.push(b'\r');
        }
    }
}

impl Relay {
    /// A terminal (`is_terminal`) gets every byte as it came.
    pub fn new(reader: ReadHalf, output: HostOutput, is_terminal: bool) -> Self {
        Self {
            reader,
            output,
            buffer: vec![0; BUFFER].into(),
            plain: (!is_terminal).then(Plain::default),
            unsent: 0..0,
            sink: Sink::Open,
            has_ended: false,
            put_off: 0,
        }
    }

    /// The tool is read only while the terminal has taken everything before.
    pub fn wants_to_read(&self) -> bool {
        self.unsent.is_empty() && !self.has_ended
    }

    /// Everything was read, and taken.
    pub fn has_ended(&self) -> bool {
        self.has_ended && self.unsent.is_empty()
    }

    pub fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub fn tool(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    pub fn terminal(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// The tool's side holds something that was not read yet.
    pub(crate) fn has_more(&self) -> bool {
        is_ready(&self.reader, PollFlags::IN).unwrap_or(false)
    }

    /// Somebody does not want to wait for the terminal any longer.
    pub(crate) fn give_up(&mut self) {
        if self.sink == Sink::Open {
            self.sink = Sink::Closed;
        }
        self.unsent = 0..0;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sink != Sink::Open
    }

    /// The tool is to be told that nobody reads its output any more. False: it was told before.
    pub(crate) fn hang_up(&mut self) -> bool {
        std::mem::replace(&mut self.sink, Sink::HungUp) != Sink::HungUp
    }

    /// Whether the screen that was read is the screen of this moment.
    fn backlog(&mut self) -> Backlog {
        let backlog = match self.has_more() {
            false => Backlog::Nothing,
            true if self.put_off < MOST_PUT_OFF => Backlog::More,
            true => Backlog::Flood,
        };
        self.put_off = if backlog == Backlog::More { self.put_off + 1 } else { 0 };
        backlog
    }

    /// # The kernel's word is about the screen that was read
    /// A tool that blocks in a read has written its question before. If that still waits to be read here, the kernel
    /// speaks of a question that is not on our screen yet: taken together with the old screen it would make a prompt
    /// of what was just answered. So then there is no word, and the output is to be read first.
    pub fn ask_kernel(&mut self, control: &Control) -> Option<KernelWait> {
        let probe = control.probe();
        let wait = match self.backlog() {
            Backlog::More => return None,
            // Whatever it waits for, it is not on the screen.
            Backlog::Flood => Waits::Unknown,
            Backlog::Nothing => waits(probe.wait),
        };
        Some(KernelWait { wait, canonical: probe.mode.canonical, echo: probe.mode.echo })
    }

    /// # Terminal-first invariant
    /// The bytes are offered to the terminal before [`Relay::read`] shows them to anybody.
    pub fn pump(&mut self) -> io::Result<ReadOutcome> {
        let outcome = self.reader.read(&mut self.buffer)?;
        let count = match outcome {
            ReadOutcome::Data(count) => count,
            ReadOutcome::WouldBlock => return Ok(outcome),
            ReadOutcome::End => 0,
        };
        self.has_ended = outcome == ReadOutcome::End;
        self.unsent = 0..count;
        if let Some(plain) = &mut self.plain {
            plain.take(&self.buffer[..count], self.has_ended);
            self.unsent = 0..plain.bytes.len();
        }
        self.flush()?;
        Ok(outcome)
    }

    /// What the last turn brought.
    pub fn read(&self, count: usize) -> &[u8] {
        &self.buffer[..count]
    }

    pub fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() && self.sink == Sink::Open {
            let bytes = self.plain.as_ref().map_or(&*self.buffer, |plain| &plain.bytes);
            match self.output.write(&bytes[self.unsent.clone()])? {
                WriteOutcome::Wrote(count) => self.unsent.start += count,
                WriteOutcome::WouldBlock => return Ok(()),
                WriteOutcome::Closed => self.sink = Sink::Closed,
            }
        }
        self.unsent = 0..0;
        Ok(())
    }
}

/// The kernel's word, in the detector's terms and the gate's.
pub(crate) fn waits(wait: TtyWait) -> Waits {
    match wait {
        TtyWait::Read => Waits::Read,
        TtyWait::Poll => Waits::Poll,
        TtyWait::None => Waits::Nobody,
        TtyWait::Unknown => Waits::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one piece, and cut at each place: the terminal's bytes come as they like.
    #[track_caller]
    fn check(terminal: &str, tool: &str) {
        for cut in 0..=terminal.len() {
            let (first, second) = terminal.as_bytes().split_at(cut);
            let mut plain = Plain::default();
            let mut written = Vec::new();
            for piece in [first, second] {
                plain.take(piece, false);
                written.extend_from_slice(&plain.bytes);
            }
            plain.take(b"", true);
            written.extend_from_slice(&plain.bytes);
            assert_eq!(written.escape_ascii().to_string(), tool.as_bytes().escape_ascii().to_string());
        }
    }

    #[test]
    fn one_cr_comes_off_each_line_end() {
        check("a\r\nb\r\n", "a\nb\n");
        check("\r\n\r\n", "\n\n");
        check("made for\r\r\nanother\r\r\n", "made for\r\nanother\r\n");
        check("10%\r20%\r", "10%\r20%\r");
        check("\r\r\r", "\r\r\r");
        check("", "");
    }
}
