//! Signals as something to read, in their turn, from the one loop; and stopping oneself as a job is stopped.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::{read, retry_on_intr};
use rustix::process::kill_current_process_group;

pub use rustix::process::Signal;

use crate::after_fork::checked;

/// Being ignored at our start is a wish of the process that started us (`nohup`, a shell without job control); for these
/// it is an accident, and one that would make `waitpid` blind.
const NEVER_IGNORED: [Signal; 3] = [Signal::WINCH, Signal::CHILD, Signal::CONT];

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
            if disposition(signal)?.sa_sigaction == libc::SIG_IGN {
                if !NEVER_IGNORED.contains(&signal) {
                    continue;
                }
                set_disposition(signal, &default_action())?;
            }
            set.add(signal);
        }
        set.block()?;
        // SAFETY: the kernel just made this descriptor, and no other code knows it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(set.descriptor()?) };
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
            if let Some(signal) = Signal::from_named_raw(number) {
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
    let before = disposition(signal)?;
    if before.sa_sigaction == libc::SIG_IGN {
        return Ok(Stop::Refused);
    }
    set_disposition(signal, &default_action())?;
    let stopped = stop_with_default_action(signal);
    let restored = set_disposition(signal, &before);
    let stopped = stopped?;
    restored.map(|()| stopped)
}

fn stop_with_default_action(signal: Signal) -> io::Result<Stop> {
    let stop = SignalSet::of(signal);
    // Sent while blocked and then let in, so that it acts in the line that unblocks it and nowhere else.
    let before = stop.block()?;
    let sent = kill_current_process_group(signal);
    let stopped = stop.change_mask(libc::SIG_UNBLOCK);
    // A stop signal discards a waiting SIGCONT, so one that waits now has come since.
    let was_continued = SignalSet::pending().has(Signal::CONT);
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

    pub(crate) fn of(signal: Signal) -> Self {
        let mut set = Self::empty();
        set.add(signal);
        set
    }

    fn add(&mut self, signal: Signal) {
        // SAFETY: the set is initialised. An unknown number is refused and changes nothing.
        unsafe { libc::sigaddset(&raw mut self.0, signal.as_raw()) };
    }

    /// What was sent to us and is blocked.
    fn pending() -> Self {
        let mut set = Self::empty();
        // SAFETY: the set is initialised and outlives the call, which fails for bad pointers only.
        unsafe { libc::sigpending(&raw mut set.0) };
        set
    }

    fn has(&self, signal: Signal) -> bool {
        // SAFETY: the set is initialised.
        unsafe { libc::sigismember(&raw const self.0, signal.as_raw()) == 1 }
    }

    /// A descriptor that is readable when one of these has come; it does not block.
    pub(crate) fn descriptor(&self) -> io::Result<RawFd> {
        // SAFETY: the set is initialised and outlives the call.
        checked(unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })
    }

    /// Adds these to what the thread blocks; returns what it blocked before.
    pub(crate) fn block(&self) -> io::Result<Self> {
        self.change_mask(libc::SIG_BLOCK)
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

fn disposition(signal: Signal) -> io::Result<libc::sigaction> {
    let mut action = default_action();
    // SAFETY: a query; the kernel writes the action to a place that outlives the call.
    checked(unsafe { libc::sigaction(signal.as_raw(), ptr::null(), &raw mut action) }).map(|_| action)
}

fn set_disposition(signal: Signal, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: the action is the default one, or one that was in force before; either is valid for the whole process.
    checked(unsafe { libc::sigaction(signal.as_raw(), action, ptr::null_mut()) }).map(drop)
}
