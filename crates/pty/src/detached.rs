//! A process that owes us nothing: the hub, started by whichever session host needs it first, living on after it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitOptions, chdir, setsid, waitpid};

use crate::after_fork;
use crate::command::ExecImage;

/// The descriptor on which the detached process says that it is ready.
const READY: RawFd = 3;

/// What the child inherits lies above, so that putting it in its place overwrites nothing of it.
const ABOVE_READY: RawFd = 10;

/// Starts `program` in a session of its own, without a terminal, and with nothing of ours: standard streams on
/// `/dev/null`, directory `/`, default signals, no other descriptor than 3, the write end of a pipe.
///
/// Returns the read end, non-blocking: a byte says that the process is ready, the end of the pipe without one that it
/// never will be (it could not be executed, or ended before). How long to wait for either is the caller's to say.
///
/// Forked twice, so that it is no session leader and can never get a controlling terminal. Its parent is init, except
/// where the caller is a subreaper ([`crate::protect_this_process`]): there it is the caller, until that ends, and
/// the caller must [reap](crate::Child::reap).
pub fn spawn_detached(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
) -> io::Result<OwnedFd> {
    let mut image = ExecImage::new(program.as_os_str(), args, env)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let nothing = fcntl_dupfd_cloexec(&nothing, ABOVE_READY)?;
    let (ready, their_ready) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&ready, true)?;
    let their_ready = fcntl_dupfd_cloexec(&their_ready, ABOVE_READY)?;

    let (nothing, theirs) = (nothing.as_raw_fd(), their_ready.as_raw_fd());
    let first = after_fork::fork(|| {
        // A fresh fork leads no group, so this cannot be refused.
        let _ = setsid();
        match after_fork::fork_again() {
            Ok(0) => become_detached(nothing, theirs, &mut image),
            Ok(_) => after_fork::exit(0),
            Err(_) => after_fork::exit(1),
        }
    })?;
    // The first of the two forked processes has exited or is about to: it waits for nothing.
    let _ = retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
    Ok(ready)
}

fn become_detached(nothing: RawFd, ready: RawFd, image: &mut ExecImage) -> ! {
    let placed = after_fork::become_stdio(nothing).and_then(|()| after_fork::duplicate_to(ready, READY));
    if placed.is_ok() {
        after_fork::close_all_except(&mut [0, 1, 2, READY]);
        let _ = chdir(c"/");
        after_fork::restore_dispositions();
        after_fork::unblock_signals();
        image.exec();
    }
    after_fork::exit(127);
}
