//! What is known besides the screen's text: the kernel's word about who waits for the terminal.

use serde::{Deserialize, Serialize};

/// What the kernel says of the terminal's foreground process group. Recordings hold it as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelWait {
    pub wait: Waits,
    /// The kernel collects whole lines.
    pub canonical: bool,
    /// Typed characters are shown by the kernel.
    pub echo: bool,
}

/// Who waits for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// Blocked in `read` on the terminal: waiting, near certain (123 prompts to 1 look-alike).
    Read,
    /// The terminal is in a `poll`, `select` or `epoll` set: event loops always are, busy or not.
    Poll,
    /// No process waits on the terminal: not a prompt, unless another session reads for it (tmux, pinentry).
    #[serde(rename = "none")]
    Nobody,
    /// The kernel would not or could not say.
    #[serde(other)]
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
