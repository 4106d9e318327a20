//! What may be done between `fork` and `exec`.
//!
//! A forked copy of a process with several threads has one of them, and a lock that another one held stays locked
//! for ever. So code that runs after a fork allocates nothing, takes no lock, prints nothing and never panics: it
//! makes system calls on memory that was prepared before; rustix's functions are bare system calls, too. That holds for
//! this file, for `leader.rs` and what it calls (`ExecImage::exec`, the packets of `link.rs`, `Termios`), and for
//! `become_detached`.

use std::io;
use std::os::fd::RawFd;
use std::ptr;

use rustix::process::Pid;

use crate::signals::SignalSet;

/// The last of the real-time signals (`_NSIG`).
const LAST_SIGNAL: i32 = 64;

/// How far to close descriptors one by one where `close_range` is missing (Linux before 5.9) or forbidden: far beyond
/// what a session host holds, and still done in milliseconds.
const CLOSE_ONE_BY_ONE_UP_TO: u32 = 65_536;

/// Forks; `child` is the whole life of the forked process, from its first instruction with all signals blocked.
///
/// Blocked, because a signal in between would run a handler of ours in a process that is no longer us. What `child`
/// does must follow the rules of this file.
pub(crate) fn fork(child: impl FnOnce()) -> io::Result<Pid> {
    let before = SignalSet::full().replace_mask()?;
    // SAFETY: the child runs only `child`, which is written to the rules of this file, and then exits.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let _exit = ExitOnUnwind;
        child();
        exit(126);
    }
    let error = io::Error::last_os_error();
    before.replace_mask()?;
    if process < 0 { Err(error) } else { Pid::from_raw(process).ok_or(error) }
}

/// A panic that unwound out of a forked child would return into a second session host. It ends here instead.
struct ExitOnUnwind;

impl Drop for ExitOnUnwind {
    fn drop(&mut self) {
        exit(126);
    }
}

/// Forks once more, in a process that is already a forked copy: the bare system call, because libc's `fork` runs
/// handlers that were registered for a process with working locks.
pub(crate) fn fork_again() -> io::Result<libc::pid_t> {
    // SAFETY: without flags and stack this is fork. libc's cached thread id is stale in the child, which only makes
    // system calls.
    checked(unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t)
}

/// Ends this process without any tidying: what there is to tidy belongs to the process we were forked from.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` never returns and touches nothing.
    unsafe { libc::_exit(code) }
}

/// Gives every signal its default meaning. Ignored signals are inherited through `exec`, and a tool that finds SIGINT
/// ignored behaves otherwise: gzip, for one, no longer asks before it overwrites.
///
/// The bare system call, because libc refuses to touch the two signals it keeps for itself, 32 and 33.
/// A parent may have left them ignored, as one had on the machine this was written on.
pub(crate) fn restore_dispositions() {
    // The kernel's `struct sigaction`, all of it zero: SIG_DFL, no flags, no restorer, nothing blocked.
    const DEFAULT: [u64; 4] = [0; 4];
    const MASK_BYTES: usize = 8;
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: the action outlives the call and names no handler. Refused for SIGKILL and SIGSTOP, which have no
        // other meaning.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT.as_ptr(),
                ptr::null_mut::<u64>(),
                MASK_BYTES,
            )
        };
    }
}

/// Lets every signal in.
pub(crate) fn unblock_signals() {
    let _ = SignalSet::empty().replace_mask();
}

/// Makes `descriptor` the process's standard input, output and error. It must itself be none of them.
pub(crate) fn become_stdio(descriptor: RawFd) -> io::Result<()> {
    (0..=2).try_for_each(|standard| duplicate_to(descriptor, standard))
}

pub(crate) fn duplicate_to(descriptor: RawFd, number: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved, and nothing in this process relies on what `number` was.
    checked(unsafe { libc::dup2(descriptor, number) }).map(drop)
}

pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: the caller owns the descriptor and forgets it.
    unsafe { libc::close(descriptor) };
}

/// Closes everything except these.
pub(crate) fn close_all_except(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut first = 0;
    for &kept in &*keep {
        let Ok(kept) = u32::try_from(kept) else { continue };
        if first < kept {
            close_between(first, kept - 1);
        }
        first = kept + 1;
    }
    close_between(first, u32::MAX);
}

fn close_between(first: u32, last: u32) {
    // SAFETY: nothing in this process uses what is closed here; see the callers.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    for descriptor in first..=last.min(CLOSE_ONE_BY_ONE_UP_TO) {
        close(descriptor as RawFd);
    }
}

/// What a system call says: below zero is a failure, and its reason is in `errno`. An error from a number holds no memory.
pub(crate) fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The number of the last failure, a thread's variable.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
