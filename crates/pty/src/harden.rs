//! What shields the session host from the tool it runs, and the clocks that deadlines are kept by.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open,
    set_child_subreaper, set_dumpable_behavior, waitpid,
};
use rustix::time::{ClockId, clock_gettime};

use crate::wait::{PollFd, PollFlags, poll};

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
    adopt_orphans()
}

/// What this process starts, and what that starts and abandons, stays below it.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Ends every child of this process, and those of theirs that become ours by it. Returns when there is none left, so that
/// none of them writes any more where it wrote; or when one of them has not gone within `limit`.
///
/// Of use after [`adopt_orphans`], and for a process that has no children of another's.
pub fn end_children(limit: Duration) -> io::Result<()> {
    loop {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        for child in children {
            // An error: it was collected before.
            let Ok(ended) = pidfd_open(child, PidfdFlags::empty()) else { continue };
            let _ = kill_process(child, Signal::KILL);
            if poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(limit))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
    }
}

/// Of all threads: an orphan becomes the child of any of them.
fn children() -> io::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let listed = fs::read_to_string(thread?.path().join("children"))?;
        let pids = listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        children.extend(pids.filter_map(Pid::from_raw));
    }
    Ok(children)
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
    Duration::try_from(clock_gettime(id)).unwrap_or_default()
}
