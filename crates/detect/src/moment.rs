//! Time as the detector knows it: how long the session has run, as its caller says.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Time since the session began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(pub Duration);

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, later: Duration) -> Moment {
        Moment(self.0.saturating_add(later))
    }
}

/// How long after `earlier`; zero if it is not later.
impl Sub<Moment> for Moment {
    type Output = Duration;

    fn sub(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
