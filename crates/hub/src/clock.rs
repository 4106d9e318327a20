//! The clocks, and the one timer: on the clock that counts since boot, so that neither a changed wall clock nor a
//! suspended machine moves a deadline.

use std::io;
use std::os::fd::OwnedFd;
use std::time::SystemTime;

use atlasbridge_model::{BootTime, Now, Timestamp};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::descriptor::watched;

pub(crate) fn now() -> Now {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let boot = clock_gettime(ClockId::Boottime);
    Now {
        wall: Timestamp(wall.as_millis() as i64),
        boot: BootTime(boot.tv_sec * 1_000 + boot.tv_nsec / 1_000_000),
    }
}

/// Which boot of which machine this is: times since boot mean nothing under another one.
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[derive(Debug)]
pub(crate) struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self { timer: watched(timer)? })
    }

    /// Rings once at `deadline`, or never.
    pub(crate) fn set(&self, deadline: Option<BootTime>) -> io::Result<()> {
        const NEVER: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would switch the timer off; a deadline that has passed rings at the next possible moment.
        let at = deadline.map_or(NEVER, |BootTime(millis)| {
            let millis = millis.max(1);
            Timespec { tv_sec: millis / 1_000, tv_nsec: millis % 1_000 * 1_000_000 }
        });
        let value = Itimerspec { it_interval: NEVER, it_value: at };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &value)?;
        Ok(())
    }

    /// Waits until it rings. Dropped meanwhile, nothing is lost: it rings for the next who waits.
    pub(crate) async fn rings(&self) {
        loop {
            let Ok(mut guard) = self.timer.readable().await else { return std::future::pending().await };
            let mut count = [0; 8];
            match rustix::io::read(self.timer.get_ref(), &mut count) {
                Ok(_) => return,
                Err(_) => guard.clear_ready(),
            }
        }
    }
}
