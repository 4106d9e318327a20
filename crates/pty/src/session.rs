//! A tool on its own terminal, from a description of both.

use std::ffi::{NulError, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::tcsetwinsize;

use crate::after_fork;
use crate::child::Child;
use crate::command::ExecImage;
use crate::control::Control;
use crate::halves::{ReadHalf, WriteHalf};
use crate::host::WindowSize;
use crate::leader::{Inheritance, lead};
use crate::output::reopen;
use crate::probe::TerminalId;
use crate::terminal::Termios;

/// What to run, and on what kind of terminal.
#[derive(Debug)]
pub struct SpawnConfig<'a> {
    /// As typed: with a slash a path, otherwise looked for in the PATH of `env`.
    pub program: &'a OsStr,
    pub args: &'a [OsString],
    /// The complete environment of the tool.
    pub env: Vec<(OsString, OsString)>,
    pub size: WindowSize,
    /// The initial line settings, best those of the outer terminal; `None` for the kernel's. Lines are edited and end in
    /// CR LF all the same: the outer terminal may be raw.
    pub termios: Option<Termios>,
    /// Whether the tool starts in front of its terminal: see [`Child::set_foreground`].
    pub foreground: bool,
    /// The terminal that the guardian restores, if we are on one.
    pub outer_terminal: Option<BorrowedFd<'a>>,
}

/// A tool and its terminal, in parts, because each has its own owner.
#[derive(Debug)]
pub struct Session {
    pub reader: ReadHalf,
    pub writer: WriteHalf,
    pub child: Child,
    pub control: Control,
}

/// Why there is no session. That the program could not be executed is not among it: see
/// [`crate::ChildEvent::ExecFailed`].
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the command or its environment contains a NUL byte, which no program can be given")]
    Nul(#[source] NulError),
    #[error("opening a pseudoterminal")]
    OpenTerminal(#[source] io::Error),
    #[error("setting up the pseudoterminal")]
    SetUpTerminal(#[source] io::Error),
    #[error("opening the socket to the session's leader")]
    OpenLink(#[source] io::Error),
    #[error("starting the session's leader")]
    Fork(#[source] io::Error),
}

/// Starts the tool, and returns before it runs: whether it does is the first event of [`Session::child`].
pub fn spawn(config: &SpawnConfig<'_>) -> Result<Session, SpawnError> {
    let mut image = ExecImage::new(config.program, config.args, &config.env).map_err(SpawnError::Nul)?;
    let (master, slave) = open_terminal().map_err(SpawnError::OpenTerminal)?;
    let (terminal, settings, fresh) = set_up(slave.as_fd(), config).map_err(SpawnError::SetUpTerminal)?;
    let (ours, theirs) = open_link().map_err(SpawnError::OpenLink)?;
    let outer = config.outer_terminal.and_then(terminal_for_guardian);

    let inheritance = Inheritance {
        link: theirs.as_raw_fd(),
        slave: slave.as_raw_fd(),
        outer: outer.as_ref().map(AsRawFd::as_raw_fd),
        foreground: config.foreground,
    };
    let leader = after_fork::fork(|| lead(&inheritance, &mut image)).map_err(SpawnError::Fork)?;

    let master = Arc::new(master);
    Ok(Session {
        reader: ReadHalf { master: Arc::clone(&master) },
        writer: WriteHalf { master: Arc::clone(&master) },
        child: Child { link: ours, master: Arc::clone(&master), leader, is_over: false },
        control: Control { master, terminal, lent: settings, fresh },
    })
}

/// The master does not block; the slave, which becomes the tool's standard input, does.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    // Asked of the master and not opened by name: right in every mount namespace.
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    Ok((master, above_stdio(slave)?))
}

fn set_up(slave: BorrowedFd<'_>, config: &SpawnConfig<'_>) -> io::Result<(TerminalId, Termios, Termios)> {
    let fresh = Termios::of(slave)?;
    let settings = config.termios.unwrap_or(fresh);
    settings.for_start(fresh).apply(slave)?;
    tcsetwinsize(slave, config.size)?;
    Ok((TerminalId::of(&fstat(slave)?), Termios::of(slave)?, fresh))
}

/// Packets, so that a report is read whole or not at all.
fn open_link() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok((ours, above_stdio(theirs)?))
}

/// Opened anew where that is allowed, so that the guardian's writes never wait and no flag of ours shows in the
/// shell's.
fn terminal_for_guardian(terminal: BorrowedFd<'_>) -> Option<OwnedFd> {
    Termios::of(terminal).ok()?;
    let ours = reopen(terminal, OFlags::RDWR).or_else(|_| fcntl_dupfd_cloexec(terminal, 3)).ok()?;
    above_stdio(ours).ok()
}

/// A host that was started with a closed standard input gets the lowest numbers for its own descriptors. In the
/// forked processes those are overwritten, so what they inherit lies above.
pub(crate) fn above_stdio(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, 3)?)
}
