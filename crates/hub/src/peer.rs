//! Who is at the other end of a connection, and whether it lives inside a supervised session.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use atlasbridge_model::SessionId;
use atlasbridge_model::ancestry::{lineage, parent_in_stat, start_in_stat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::UnixStream;

use crate::descriptor::watched;

/// What our processes are called in `/proc/PID/comm`.
const OUR_NAME: &str = "atlasbridge";

/// What every process inside a session has in its environment, unless it takes it out on purpose.
const MARKER: &str = "ATLASBRIDGE_SESSION=";

/// A process that has connected, pinned: its number cannot become somebody else's unnoticed.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) pid: i32,
    pub(crate) uid: u32,
    pin: OwnedFd,
}

impl Peer {
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        let pid = credentials.pid().and_then(Pid::from_raw).ok_or(io::ErrorKind::PermissionDenied)?;
        let pin = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid: pid.as_raw_nonzero().get(), uid: credentials.uid(), pin })
    }

    /// # Self-approval invariant
    /// A process that descends from a session host, of this hub or of any other, may decide nothing. All that a
    /// tool starts stays below its session host, which is a subreaper; so the walk to the first process meets it.
    /// A walk that cannot be finished, or a peer that has ended meanwhile, counts as inside.
    ///
    /// What outlives its session has lost that ancestor, and shows by the marker in its environment alone. A tool that
    /// removes the marker, leaves the tree and waits for the session's end is not recognised.
    pub(crate) fn is_inside_a_session(&self, hosts: &HashMap<SessionId, i32>) -> bool {
        let Some(line) = lineage(self.pid, parent_of) else { return true };
        let is_host =
            |pid: i32| hosts.values().any(|host| *host == pid) || name_of(pid).as_deref() == Some(OUR_NAME);
        let is_inside =
            line.iter().skip(1).any(|pid| is_host(*pid)) || line.iter().any(|pid| is_marked(*pid));
        is_inside || self.has_ended()
    }

    fn has_ended(&self) -> bool {
        let mut descriptors = [PollFd::new(&self.pin, PollFlags::IN)];
        poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_or(true, |ready| ready > 0)
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    parent_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn name_of(pid: i32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

/// Other users' processes do not show their environment, and are no tools of ours.
fn is_marked(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(MARKER.as_bytes()))
    })
}

/// When this process started; with its pid the name of a process for ever.
pub(crate) fn started(pid: i32) -> Option<u64> {
    start_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Waits for the end of the process that had this pid and start time; at once if it is not there any more.
pub(crate) async fn wait_for_end(pid: i32, start: u64) {
    let Some(pin) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return;
    };
    if started(pid) != Some(start) {
        return;
    }
    if let Ok(pin) = watched(pin) {
        let _ = pin.readable().await;
    }
}
