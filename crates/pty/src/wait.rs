//! Waiting for descriptors, with an end.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::io::Errno;

pub use rustix::event::{PollFd, PollFlags};

/// Waits until one of these is ready or the time is over; returns how many are ready.
///
/// An interruption does not end the wait, nor lengthen it. The timeout is passed in nanoseconds: a poll in
/// milliseconds that rounds down returns before the deadline, finds nothing to do, and spins until it is reached.
pub fn poll(descriptors: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<usize> {
    // A deadline beyond the clock's end is none.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Longer than the kernel can count is without end.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match rustix::event::poll(descriptors, left.as_ref()) {
            Err(Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}
