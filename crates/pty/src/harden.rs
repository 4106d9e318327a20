//! What shields the session host from the tool it runs, and the clocks that deadlines are kept by.

use std::io;
use std::time::Duration;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use rustix::time::{ClockId, clock_gettime};

/// Makes this process hard to reach for its own descendants, which run as the same user.
///
/// * Not dumpable: no other process of the user may attach a debugger, read `/proc/PID/mem`, open our descriptors
///   through `/proc/PID/fd` or take them with `pidfd_getfd`. That protects the write half (only the gate types) and
///   the hub's socket. A forked leader inherits it; an executed tool does not, so the probe can read the tool.
/// * Child subreaper: what the tool starts and abandons becomes our child and not init's, so that its descent from
///   this session can still be proved to the hub. The price: we collect them when they end ([`crate::Child::reap`]).
///
/// # Order
///
/// Not dumpable also means that `/proc/self` belongs to root. The kernel still lets a process follow its own
/// descriptors, so [`crate::HostOutput::open`], [`crate::HostInput::open`] and [`crate::spawn`] work before and
/// after, also without privileges (tested); other processes' view of `/proc/PID/fd` is what goes away.
pub fn protect_this_process() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    Ok(())
}

/// Time since boot, sleep included: an answer that comes after a night with a closed lid is late.
pub fn boot_time() -> Duration {
    clock(ClockId::Boottime)
}

/// Time since boot, sleep excluded: for how long something has been on the screen.
pub fn monotonic() -> Duration {
    clock(ClockId::Monotonic)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
