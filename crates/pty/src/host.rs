//! The terminal the session host was started on: raw while a session runs, and as it was on every way out.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::termios::tcgetwinsize;

pub use rustix::termios::Winsize as WindowSize;

use crate::link::TerminalChange;
use crate::signals::{Signal, SignalSet};
use crate::terminal::Termios;

/// A terminal in raw mode, until this is dropped or suspended.
#[derive(Debug)]
pub struct RawTerminal {
    terminal: OwnedFd,
    keep_output_processing: bool,
    saved: Termios,
    /// The settings as we made them; `None` while suspended.
    raw: Option<Termios>,
}

impl RawTerminal {
    /// Makes the terminal raw. `keep_output_processing` leaves its output as it is, for a tool whose output does not
    /// go there.
    ///
    /// From the background the kernel stops us here until we are in the foreground, as it would stop an editor.
    pub fn enter(terminal: impl AsFd, keep_output_processing: bool) -> io::Result<Self> {
        let mut terminal = Self::suspended(terminal, keep_output_processing)?;
        terminal.resume()?;
        Ok(terminal)
    }

    /// Leaves it as it is until [`RawTerminal::resume`].
    pub fn suspended(terminal: impl AsFd, keep_output_processing: bool) -> io::Result<Self> {
        let terminal = fcntl_dupfd_cloexec(terminal, 3)?;
        let saved = Termios::of(&terminal)?;
        Ok(Self { terminal, keep_output_processing, saved, raw: None })
    }

    pub fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Whether our process group is in front of it, or it is not the terminal that controls us and has no say.
    pub fn is_in_front(&self) -> bool {
        // SAFETY: no memory is involved.
        unsafe { libc::tcgetpgrp(self.terminal.as_raw_fd()) == libc::getpgrp() || !self.controls_us() }
    }

    fn controls_us(&self) -> bool {
        let mut session: libc::pid_t = 0;
        // SAFETY: TIOCGSID writes one `pid_t` to a place that outlives the call. It is refused for a terminal that
        // does not control us.
        unsafe { libc::ioctl(self.terminal.as_raw_fd(), libc::TIOCGSID, &raw mut session) == 0 }
    }

    /// What we have done to it, while it is not undone.
    pub fn change(&self) -> Option<TerminalChange> {
        self.raw.map(|to| TerminalChange { from: self.saved, to })
    }

    /// Restores the terminal for a while, as before stopping.
    ///
    /// # Only what is ours
    ///
    /// Settings that are no longer as we made them were changed by another program, most likely a shell that took the
    /// terminal back while we were stopped and is editing a line: ours to leave alone. SIGTTOU is blocked meanwhile, or
    /// restoring from the background would stop us, on our way out, for ever.
    pub fn suspend(&mut self) -> io::Result<()> {
        let Some(raw) = self.raw.take() else { return Ok(()) };
        let before = SignalSet::of(Signal::TTOU).block()?;
        let now = Termios::of(&self.terminal);
        let restored = now.and_then(|now| if now == raw { self.saved.apply(&self.terminal) } else { Ok(()) });
        before.replace_mask()?;
        restored
    }

    /// Makes it raw again. What it was meanwhile is what will be restored: the user may have changed it, or a shell
    /// that took it back after a SIGSTOP, of which we were not told.
    pub fn resume(&mut self) -> io::Result<()> {
        let now = Termios::of(&self.terminal)?;
        if self.raw == Some(now) {
            return Ok(());
        }
        self.saved = now;
        self.saved.raw(self.keep_output_processing).apply(&self.terminal)?;
        // What the terminal made of it: it may keep settings that we asked to change, and `suspend` compares.
        self.raw = Some(Termios::of(&self.terminal)?);
        Ok(())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = self.suspend();
    }
}

/// The size of this terminal in characters and, where known, in pixels (zero where not).
pub fn window_size(terminal: impl AsFd) -> io::Result<WindowSize> {
    Ok(tcgetwinsize(terminal)?)
}

/// Whether this is a terminal at all.
pub fn is_terminal(descriptor: impl AsFd) -> bool {
    Termios::of(descriptor).is_ok()
}
