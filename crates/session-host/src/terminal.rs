//! The terminal that we were started on: ours while our job is in front of it, left alone while it is not.
//!
//! `run -- make &`, `bg`, and `run -- seq 9999 | less`, where the pager needs the keyboard and the tool does not, are
//! jobs that must neither read the terminal nor change its settings. The tool is then in the background of its own
//! terminal too. If it needs a terminal after all, the kernel stops it there, and we take ours, or stop as well.

use std::io;
use std::os::fd::AsFd;

use atlasbridge_pty::RawTerminal;

#[derive(Debug)]
pub(crate) struct OuterTerminal {
    pub(crate) raw: RawTerminal,
    /// The tool is shown there, or was stopped for want of it.
    pub(crate) is_needed: bool,
}

impl OuterTerminal {
    /// Changes nothing yet. `shows_tool`: the tool's output goes to a terminal as well.
    pub(crate) fn of(terminal: impl AsFd, shows_tool: bool) -> io::Result<Self> {
        Ok(Self { raw: RawTerminal::suspended(terminal, !shows_tool)?, is_needed: shows_tool })
    }

    /// The keyboard is read, and the tool is in front of its own terminal, while this holds.
    pub(crate) fn is_ours(&self) -> bool {
        self.raw.is_raw()
    }

    pub(crate) fn may_take(&self) -> bool {
        self.is_needed && self.raw.is_in_front()
    }

    /// Takes the terminal if it is ours to take, and leaves it alone otherwise.
    pub(crate) fn take_or_leave(&mut self) -> io::Result<()> {
        if self.may_take() { self.raw.resume() } else { self.raw.suspend() }
    }
}
