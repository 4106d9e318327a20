//! What a terminal is set to: its line settings.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::after_fork::checked;

/// The line settings of a terminal, exactly as the kernel keeps them.
///
/// Not libc's `struct termios`: this one has no padding, so it can be compared and sent as bytes, and reading and
/// setting it are one system call each, which the leader may make after a fork. It leaves the line speed alone.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Termios {
    input: u32,
    output: u32,
    control: u32,
    local: u32,
    discipline: u8,
    special: [u8; Termios::SPECIAL],
}

impl Termios {
    /// `NCCS` of the kernel (not of libc) on x86_64 and aarch64, `asm-generic/termbits.h`.
    const SPECIAL: usize = 19;
    pub(crate) const BYTES: usize = 4 * 4 + 1 + Termios::SPECIAL;

    /// The settings of this terminal now.
    pub fn of(terminal: impl AsFd) -> io::Result<Self> {
        let mut settings = Self::default();
        // SAFETY: TCGETS writes one kernel `struct termios`, whose layout `Self` has, to a place that outlives the
        // call.
        let result = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TCGETS, &raw mut settings) };
        checked(result).map(|_| settings)
    }

    /// Sets the terminal so, at once.
    ///
    /// Never after draining the output: a terminal stopped with Ctrl-S, or gone, never drains, and we would hang in
    /// leaving. Never after flushing the input: what was typed ahead belongs to the tool.
    pub fn apply(&self, terminal: impl AsFd) -> io::Result<()> {
        // SAFETY: TCSETS reads one kernel `struct termios`, whose layout `Self` has, from a place that outlives the
        // call.
        checked(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TCSETS, self) }).map(drop)
    }

    /// As `cfmakeraw`: every byte through, none echoed, none a signal. Output is still processed if
    /// `keep_output_processing`.
    pub(crate) fn raw(mut self, keep_output_processing: bool) -> Self {
        self.input &= !(libc::IGNBRK
            | libc::BRKINT
            | libc::PARMRK
            | libc::ISTRIP
            | libc::INLCR
            | libc::IGNCR
            | libc::ICRNL
            | libc::IXON);
        if !keep_output_processing {
            self.output &= !libc::OPOST;
        }
        self.local &= !(libc::ECHO | libc::ECHONL | libc::ICANON | libc::ISIG | libc::IEXTEN);
        self.control = (self.control & !(libc::CSIZE | libc::PARENB)) | libc::CS8;
        self.special[libc::VMIN] = 1;
        self.special[libc::VTIME] = 0;
        self
    }

    /// These settings for a program that is about to start. A terminal that does not edit lines is in the hands of a program
    /// that reads key by key: a shell's line editor, a pager, one that has started us from its own screen. Those settings
    /// are that program's alone, and a fresh terminal's are taken with this one's special characters.
    pub(crate) fn for_start(self, fresh: Self) -> Self {
        let settings = match self.has_local_flag(libc::ICANON) {
            true => self,
            false => Self { input: fresh.input | self.input & libc::IUTF8, special: self.special, ..fresh },
        };
        settings.with_newline_translation()
    }

    /// LF is written as CR LF, and nothing else is changed on the way out.
    fn with_newline_translation(mut self) -> Self {
        self.output |= libc::OPOST | libc::ONLCR;
        self.output &= !(libc::OCRNL | libc::ONOCR | libc::ONLRET | libc::OLCUC);
        self
    }

    pub(crate) fn without_echo(mut self) -> Self {
        self.local &= !libc::ECHO;
        self
    }

    pub(crate) fn has_local_flag(&self, flag: libc::tcflag_t) -> bool {
        self.local & flag != 0
    }

    /// The character that has this meaning, for instance `libc::VEOF`. Zero means that none has.
    pub(crate) fn special(&self, index: usize) -> u8 {
        self.special.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        // SAFETY: integers alone, as many bytes as they have: no padding, which the assertion below keeps so.
        unsafe { std::mem::transmute(self) }
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        // SAFETY: as above, and every value of an integer is a valid one.
        unsafe { std::mem::transmute(bytes) }
    }
}

// What the kernel reads and writes must be what we declare.
const _: () = assert!(size_of::<Termios>() == Termios::BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_way_to_the_leader() {
        let mut settings = Termios {
            input: 0x0102_0304,
            output: 5,
            control: 0xbf,
            local: 0x8a3b,
            discipline: 7,
            special: [0; Termios::SPECIAL],
        };
        for (index, special) in settings.special.iter_mut().enumerate() {
            *special = index as u8 + 1;
        }
        assert_eq!(Termios::from_bytes(settings.to_bytes()), settings);
    }
}
