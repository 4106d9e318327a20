//! Signals as something to read, in their turn, from the one loop; and stopping oneself as a job is stopped.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::io::{read, retry_on_intr};

use crate::after_fork::checked;

/// The signals a session host lives with, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Signal {
    Winch = libc::SIGWINCH,
    Child = libc::SIGCHLD,
    Term = libc::SIGTERM,
    Hup = libc::SIGHUP,
    Int = libc::SIGINT,
    Quit = libc::SIGQUIT,
    Tstp = libc::SIGTSTP,
    Ttin = libc::SIGTTIN,
    Ttou = libc::SIGTTOU,
    Cont = libc::SIGCONT,
    Pipe = libc::SIGPIPE,
    Usr1 = libc::SIGUSR1,
    Usr2 = libc::SIGUSR2,
}

impl Signal {
    const ALL: [Self; 13] = {
        use Signal::{Child, Cont, Hup, Int, Pipe, Quit, Term, Tstp, Ttin, Ttou, Usr1, Usr2, Winch};
        [Winch, Child, Term, Hup, Int, Quit, Tstp, Ttin, Ttou, Cont, Pipe, Usr1, Usr2]
    };

    pub fn number(self) -> i32 {
        self as i32
    }

    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// Whether being ignored at our start is a wish of the process that started us (`nohup`, a shell without job control); for
    /// the others it is an accident, and one that would make `waitpid` blind.
    fn may_be_refused(self) -> bool {
        match self {
            Self::Term | Self::Hup | Self::Int | Self::Quit => true,
            Self::Tstp | Self::Ttin | Self::Ttou => true,
            Self::Pipe | Self::Usr1 | Self::Usr2 => true,
            Self::Winch | Self::Child | Self::Cont => false,
        }
    }
}

/// Signals that wait to be read instead of interrupting.
///
/// They stay blocked when this is dropped: one that came late must not kill a host that is about to restore the
/// terminal.
#[derive(Debug)]
pub struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    /// Blocks these in the calling thread, and in all it starts from now on; call it first thing in `main`.
    ///
    /// A signal that we were started to ignore, as by `nohup`, stays ignored and is never reported.
    pub fn block(signals: &[Signal]) -> io::Result<Self> {
        let mut set = SignalSet::empty();
        for &signal in signals {
            let is_ignored = disposition(signal.number())?.sa_sigaction == libc::SIG_IGN;
            if is_ignored && signal.may_be_refused() {
                continue;
            }
            if is_ignored {
                set_disposition(signal.number(), &default_action())?;
            }
            set.add(signal.number());
        }
        set.block()?;
        // SAFETY: the set is initialised and outlives the call.
        let raw =
            checked(unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: signalfd just made this descriptor, and no other code knows it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { descriptor })
    }

    /// The next signal that came, if one did. Several of one kind may have become one.
    pub fn next(&self) -> Option<Signal> {
        loop {
            let mut record = [0; size_of::<libc::signalfd_siginfo>()];
            let count = retry_on_intr(|| read(&self.descriptor, &mut record)).ok()?;
            if count < record.len() {
                return None;
            }
            // The number is the record's first field.
            let number = i32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
            if let Some(signal) = Signal::from_number(number) {
                return Some(signal);
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Whether stopping ourselves did stop us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// We were stopped, and another process has continued us.
    Continued,
    /// There is no process to continue us, so we were not stopped: the kernel drops the signal in an orphaned group, and
    /// one that we were started to ignore stays ignored.
    Refused,
}

/// Suspends our whole process group as Ctrl-Z (`Tstp`) or a background read (`Ttin`) would, and returns when it is
/// continued. SIGCONT must be among the [blocked](Signals::block) signals: it is how we know.
///
/// The group, because the shell started it as one job: in `atlasbridge run … | tee log` both must stop for the shell
/// to say so.
pub fn stop_self(signal: Signal) -> io::Result<Stop> {
    let before = disposition(signal.number())?;
    if before.sa_sigaction == libc::SIG_IGN {
        return Ok(Stop::Refused);
    }
    set_disposition(signal.number(), &default_action())?;
    let stopped = stop_with_default_action(signal.number());
    let restored = set_disposition(signal.number(), &before);
    let stopped = stopped?;
    restored.map(|()| stopped)
}

fn stop_with_default_action(number: i32) -> io::Result<Stop> {
    let mut stop = SignalSet::empty();
    stop.add(number);
    // Sent while blocked and then let in, so that it acts in the line that unblocks it and nowhere else.
    let before = stop.block()?;
    // SAFETY: sends a signal to our own group; no memory is involved.
    let sent = checked(unsafe { libc::kill(0, number) });
    let stopped = stop.unblock();
    // A stop signal discards a waiting SIGCONT, so one that waits now has come since.
    let was_continued = SignalSet::pending().has(libc::SIGCONT);
    before.replace_mask()?;
    sent?;
    stopped?;
    Ok(if was_continued { Stop::Continued } else { Stop::Refused })
}

/// A set of signals, and what is done with the thread's mask by it.
#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    pub(crate) fn empty() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the whole set and cannot fail with a valid pointer.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    pub(crate) fn full() -> Self {
        let mut set = Self::empty();
        // SAFETY: the set is initialised.
        unsafe { libc::sigfillset(&raw mut set.0) };
        set
    }

    pub(crate) fn add(&mut self, number: i32) {
        // SAFETY: the set is initialised. An unknown number is refused and changes nothing.
        unsafe { libc::sigaddset(&raw mut self.0, number) };
    }

    /// What was sent to us and is blocked.
    fn pending() -> Self {
        let mut set = Self::empty();
        // SAFETY: the set is initialised and outlives the call, which fails for bad pointers only.
        unsafe { libc::sigpending(&raw mut set.0) };
        set
    }

    fn has(&self, number: i32) -> bool {
        // SAFETY: the set is initialised.
        unsafe { libc::sigismember(&raw const self.0, number) == 1 }
    }

    pub(crate) fn as_ptr(&self) -> *const libc::sigset_t {
        &raw const self.0
    }

    /// Adds these to what the thread blocks; returns what it blocked before.
    pub(crate) fn block(&self) -> io::Result<Self> {
        self.change_mask(libc::SIG_BLOCK)
    }

    fn unblock(&self) -> io::Result<()> {
        self.change_mask(libc::SIG_UNBLOCK).map(drop)
    }

    /// Makes these, and only these, what the thread blocks; returns what it blocked before.
    pub(crate) fn replace_mask(&self) -> io::Result<Self> {
        self.change_mask(libc::SIG_SETMASK)
    }

    fn change_mask(&self, how: libc::c_int) -> io::Result<Self> {
        let mut before = Self::empty();
        // SAFETY: both sets are initialised and outlive the call.
        match unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) } {
            0 => Ok(before),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

fn default_action() -> libc::sigaction {
    libc::sigaction {
        sa_sigaction: libc::SIG_DFL,
        sa_mask: SignalSet::empty().0,
        sa_flags: 0,
        sa_restorer: None,
    }
}

fn disposition(number: i32) -> io::Result<libc::sigaction> {
    let mut action = default_action();
    // SAFETY: a query; the kernel writes the action to a place that outlives the call.
    checked(unsafe { libc::sigaction(number, ptr::null(), &raw mut action) }).map(|_| action)
}

fn set_disposition(number: i32, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: the action is the default one, or one that was in force before; either is valid for the whole process.
    checked(unsafe { libc::sigaction(number, action, ptr::null_mut()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        for signal in Signal::ALL {
            assert_eq!(Signal::from_number(signal.number()), Some(signal));
        }
        assert_eq!(Signal::from_number(libc::SIGKILL), None);
    }
}
