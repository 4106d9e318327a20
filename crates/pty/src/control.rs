//! Everything about the inner terminal that is neither reading nor typing: its size, its settings, who is in front of
//! it. Who waits for it is in `probe.rs`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::pty::OpenptFlags;
use rustix::termios::{QueueSelector, tcsetwinsize};

use crate::host::WindowSize;
use crate::probe::TerminalId;
use crate::terminal::Termios;

/// The inner terminal, to be asked and resized.
#[derive(Debug)]
pub struct Control {
    pub(super) master: Arc<OwnedFd>,
    pub(super) terminal: TerminalId,
    /// The settings that we gave it; the tool may have changed them since.
    pub(super) lent: Termios,
    /// The kernel's own settings for a new terminal.
    pub(super) fresh: Termios,
}

/// How the inner terminal treats what is typed now; the tool changes it at will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMode {
    /// Lines are edited by the kernel and handed over at Enter; otherwise each key goes through at once.
    pub canonical: bool,
    /// The kernel shows what is typed. Canonical without echo is a password.
    pub echo: bool,
    /// The character that ends the input; zero where there is none.
    pub eof: u8,
}

impl Control {
    /// Gives the terminal these settings, those of the outer one, unless the tool has made its own. A job that comes
    /// to the front finds the terminal as the shell hands it over, and not as it was while the shell edited a line.
    pub fn lend(&mut self, settings: Termios) -> io::Result<()> {
        self.set_if_untouched(settings.for_start(self.fresh))
    }

    /// Shows what is typed no longer, unless the tool has made its own settings: what comes from a file or a pipe is not
    /// part of a tool's output.
    pub fn stop_echo(&mut self) -> io::Result<()> {
        self.set_if_untouched(self.lent.without_echo())
    }

    fn set_if_untouched(&mut self, settings: Termios) -> io::Result<()> {
        if self.termios()? == self.lent {
            settings.apply(&self.master)?;
            self.lent = self.termios()?;
        }
        Ok(())
    }

    /// Tells the terminal its new size; its foreground group gets SIGWINCH if it is another than before.
    pub fn resize(&self, size: WindowSize) -> io::Result<()> {
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// The settings as the tool left them: those of the slave, which the kernel also shows on the master.
    pub fn termios(&self) -> io::Result<Termios> {
        Termios::of(&self.master)
    }

    /// The settings that matter to a typist. The kernel refuses them to no holder of a master; if it did,
    /// the settings of a fresh terminal are the answer.
    pub fn line_mode(&self) -> LineMode {
        let fresh = LineMode { canonical: true, echo: true, eof: 0x04 };
        self.termios().map_or(fresh, |settings| LineMode {
            canonical: settings.has_local_flag(libc::ICANON),
            echo: settings.has_local_flag(libc::ECHO),
            eof: settings.special(libc::VEOF),
        })
    }

    /// The process group in front of the terminal, if there is one.
    pub fn foreground_group(&self) -> Option<i32> {
        foreground_group(&self.master)
    }

    /// How many bytes were typed and not read yet. Of a line that the kernel collects, only whole ones count.
    /// `None` where the kernel does not say.
    pub fn unread_input(&self) -> Option<u64> {
        rustix::io::ioctl_fionread(self.tools_side().ok()?).ok()
    }

    /// Takes back what was typed and not read, a line that was begun included.
    pub fn discard_input(&self) -> io::Result<()> {
        rustix::termios::tcflush(self.tools_side()?, QueueSelector::IFlush)?;
        Ok(())
    }

    /// The tool's end of the terminal: only there does the kernel show and drop the queue of typed bytes. It is opened
    /// for one question and closed again, because the end of a session shows as no process having it open.
    fn tools_side(&self) -> io::Result<OwnedFd> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        Ok(rustix::pty::ioctl_tiocgptpeer(&self.master, flags)?)
    }
}

/// Not rustix's `tcgetpgrp`: a terminal without a foreground group answers 0, which is no process.
pub(crate) fn foreground_group(terminal: impl AsFd) -> Option<i32> {
    let mut group: libc::pid_t = 0;
    // SAFETY: TIOCGPGRP writes one `pid_t` to a place that outlives the call.
    let result = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCGPGRP, &raw mut group) };
    (result == 0 && group > 0).then_some(group)
}
