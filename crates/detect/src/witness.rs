//! What is known besides the screen's text: the kernel's word about who waits for the terminal.

/// What the kernel says of the terminal's foreground process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelWait {
    pub wait: Waits,
    /// The kernel collects whole lines.
    pub canonical: bool,
    /// Typed characters are shown by the kernel.
    pub echo: bool,
}

/// Who waits for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Blocked in `read` on the terminal: waiting, near certain (123 prompts to 1 look-alike).
    Read,
    /// The terminal is in a `poll`, `select` or `epoll` set: event loops always are, busy or not.
    Poll,
    /// No process waits on the terminal: not a prompt, unless another session reads for it (tmux, pinentry).
    Nobody,
    /// The kernel would not or could not say.
    Unknown,
}

impl KernelWait {
    /// Before anyone asked: nothing is claimed, and nothing follows from it.
    pub const UNKNOWN: KernelWait = KernelWait { wait: Waits::Unknown, canonical: false, echo: false };

    /// A line is read and what is typed stays hidden: nothing but a secret is read so.
    pub fn hides_a_line(self) -> bool {
        self.canonical && !self.echo && !matches!(self.wait, Waits::Nobody)
    }
}
