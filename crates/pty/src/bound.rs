//! A process that must not outlive the one that started it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The process gets SIGTERM when the thread that starts it has ended, however that ends: also by SIGKILL. An `execve` of the
/// parent is no end.
pub fn end_with_parent(command: &mut Command) {
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: only system calls are made between fork and exec, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
                return Err(io::Error::last_os_error());
            }
            // It ended before it could be watched.
            match libc::getppid() == parent {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        });
    }
}
