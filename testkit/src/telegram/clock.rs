//! The fake's time: the machine's, plus what a test has let pass.

use std::time::Instant;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970.
pub(crate) type Moment = Duration;

#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    started_at: Moment,
    advanced: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            started: Instant::now(),
            started_at: since_1970.expect("the machine's clock is set"),
            advanced: Duration::ZERO,
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.started_at + self.started.elapsed() + self.advanced
    }

    pub(crate) fn advance(&mut self, by: Duration) {
        self.advanced += by;
    }
}
