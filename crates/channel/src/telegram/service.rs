//! What poller and worker know of the service together: whether it answers, and when to try again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api::Api;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// What somebody must mend is not tried again by the worker; the hub asks rarely whether it was.
const STOPPED: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) api: Api,
    known: Mutex<Known>,
    /// Until when no tap may be answered: the service counts them by themselves.
    taps_held: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Up,
    Down { failures: u32, until: Instant },
    Stopped,
}

impl Service {
    pub(crate) fn new(api: Api) -> Self {
        Self {
            api,
            known: Mutex::new(Known::Up),
            taps_held: Mutex::new(None),
        }
    }

    /// How long no call makes sense. `None`: now does.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        match *self.known() {
            Known::Up => None,
            Known::Down { until, .. } => until.checked_duration_since(now).filter(|left| !left.is_zero()),
            Known::Stopped => Some(STOPPED),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.known() == Known::Stopped
    }

    pub(crate) fn worked(&self) {
        let mut known = self.known();
        if *known != Known::Stopped {
            *known = Known::Up;
        }
    }

    /// No more calls: the token is wrong. How long until the hub may ask again.
    pub(crate) fn stop(&self) -> Duration {
        *self.known() = Known::Stopped;
        STOPPED
    }

    /// A call failed: how long until the next. Calls that fail together count once.
    pub(crate) fn failed(&self, now: Instant) -> Duration {
        let mut known = self.known();
        let failures = match *known {
            Known::Stopped => return STOPPED,
            Known::Up => 1,
            Known::Down { until, .. } if until > now => return until - now,
            Known::Down { failures, .. } => failures.saturating_add(1),
        };
        let pause = backoff(failures);
        *known = Known::Down {
            failures,
            until: now + pause,
        };
        pause
    }

    /// The service asked everybody for patience.
    pub(crate) fn hold(&self, until: Instant) {
        let mut known = self.known();
        if *known != Known::Stopped {
            *known = Known::Down { failures: 0, until };
        }
    }

    /// When the next tap may be answered.
    pub(crate) fn taps_held(&self) -> Option<Instant> {
        *self.taps_held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold_taps(&self, until: Instant) {
        let mut held = self.taps_held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.max(Some(until));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each write is one assignment: there is no half of one to be afraid of.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 1 s, doubled each time up to a minute, give or take a quarter: many hubs that lost the same service come back one by one.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(6));
    let mut byte = [128];
    // Without random numbers the pause is the plain one.
    let _ = getrandom::fill(&mut byte);
    let share = 0.75 + f64::from(byte[0]) / 512.0;
    doubled.min(LONGEST).mul_f64(share).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::Token;

    fn service() -> Service {
        Service::new(Api::new(Token::new("1:a"), "http://127.0.0.1:1").unwrap())
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        for (failures, seconds) in [
            (1, 1.0),
            (2, 2.0),
            (3, 4.0),
            (6, 32.0),
            (7, 60.0),
            (u32::MAX, 60.0),
        ] {
            let pause = backoff(failures).as_secs_f64();
            assert!(
                (0.75 * seconds..=1.25 * seconds).contains(&pause),
                "{failures}: {pause}"
            );
            assert!(pause <= 60.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_together_counts_once_and_success_forgets() {
        let service = service();
        let now = Instant::now();
        assert_eq!(service.wait(now), None);
        let pause = service.failed(now);
        assert_eq!(service.failed(now), pause);
        assert_eq!(service.wait(now), Some(pause));
        assert_eq!(service.wait(now + pause), None);
        assert!(service.failed(now + pause) > Duration::from_millis(1400));
        service.worked();
        assert_eq!(service.wait(now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_asked_of_all_is_kept() {
        let service = service();
        let now = Instant::now();
        service.hold(now + Duration::from_secs(9));
        assert_eq!(service.wait(now), Some(Duration::from_secs(9)));
        assert_eq!(service.failed(now), Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_token_stays_wrong() {
        let service = service();
        service.stop();
        service.worked();
        assert!(service.is_stopped());
        assert_eq!(service.failed(Instant::now()), STOPPED);
    }
}
