//! Waiting with an end, and ends of processes. These are followed by descriptor: a pid may be another's by now.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, kill_process_group};

/// Waits until one of these is readable, or the time is over; and which of them are.
pub(crate) fn readable(descriptors: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut watched: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    // A limit beyond the clock's end is none.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    retry_on_intr(|| poll(&mut watched, limit.as_ref()))?;
    Ok(watched.iter().map(|descriptor| !descriptor.revents().is_empty()).collect())
}

/// Whether this one is readable within the limit; a pidfd is when its process has ended.
pub(crate) fn is_readable_within(descriptor: BorrowedFd<'_>, limit: Duration) -> bool {
    readable(&[descriptor], Some(limit)).is_ok_and(|ready| ready[0])
}

/// Asks a group of processes to end, and kills it when its first has ended or the time is over: the program behind a script
/// may be left.
pub(crate) fn end_group(group: Pid, first: BorrowedFd<'_>, limit: Duration) {
    let _ = kill_process_group(group, Signal::TERM);
    is_readable_within(first, limit);
    let _ = kill_process_group(group, Signal::KILL);
}
