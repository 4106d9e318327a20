//! The kernel's side of a session: pseudoterminals, processes, signals, and the terminal we were started on.
//!
//! This room knows nothing of prompts, screens or hubs. It hands bytes out ([`ReadHalf`]), takes bytes in
//! ([`WriteHalf`]), says what became of the tool ([`Child`]) and what it is waiting for ([`Probe`]). It never
//! interprets a byte, and it is the only crate of the workspace that may say `unsafe`.
//!
//! # The process tree
//!
//! ```text
//!  shell ── session host (atlasbridge run)          session and terminal of the shell
//!              └── leader                           a new session; the inner terminal controls it
//!                     └── tool                      its own, foreground, process group in that session
//! ```
//!
//! The leader is the host, forked and not executed: a loop over three descriptors, a few pages of its own. It exists
//! for two reasons.
//!
//! * **Ctrl-Z.** A tool that were itself the leader of its session would form an orphaned process group, one without
//!   a parent in the same session, and there the kernel throws SIGTSTP away: no process could ever continue it. With the
//!   leader as its parent, job control works as under a shell. The same parent is allowed to continue a tool of
//!   another user (`sudo`): within a session anybody may send SIGCONT.
//! * **A host that dies by SIGKILL** cannot tidy up. The leader is its *guardian*: it is told what must be restored
//!   ([`GuardianNote`]), and when the socket to the host ends, it restores the outer terminal, hangs up on the tool,
//!   and goes.
//!
//! # Order at the start of a session host
//!
//! [`Signals::block`] before any thread is made, so that all inherit the mask; then [`HostInput`], [`HostOutput`],
//! [`spawn`], [`RawTerminal::enter`], [`Child::note`]. [`protect_this_process`] may come before or after: see there.
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]
#![allow(unsafe_code, reason = "the kernel is touched in this crate so that it is touched in no other")]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "atlasbridge-pty needs Linux: signalfd, child subreapers, and the probe's procfs have no equal elsewhere"
);

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "atlasbridge-pty knows the system call numbers and terminal settings of x86_64 and aarch64 only"
);

mod session;

mod after_fork;
mod child;
mod command;
mod leader;
mod link;

mod control;
mod halves;
mod probe;

mod host;
mod output;
mod signals;
mod terminal;
mod transfer;
mod wait;

mod detached;
mod harden;

pub use child::{Child, ChildEvent};
pub use command::NO_INTERPRETER;
pub use control::{Control, LineMode};
pub use detached::spawn_detached;
pub use halves::{ReadHalf, WriteHalf};
pub use harden::{adopt_orphans, boot_time, end_children, monotonic, protect_this_process};
pub use host::{RawTerminal, WindowSize, is_terminal, window_size};
pub use link::{GuardianNote, TerminalChange};
pub use output::{HostInput, HostOutput, InputKind, is_ready};
pub use probe::{Probe, TtyWait, WaitingThread};
pub use session::{Session, SpawnConfig, SpawnError, spawn};
pub use signals::{Signal, Signals, Stop, stop_self};
pub use terminal::Termios;
pub use transfer::{ReadOutcome, WriteOutcome};
pub use wait::{PollFd, PollFlags, poll};
