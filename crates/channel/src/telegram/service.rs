//! What poller and worker know of the service together: whether it answers, and when to try again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::api::Api;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// What the operator must mend is not tried again by the worker; the hub asks rarely whether it was.
const STOPPED: Duration = Duration::from_secs(600);

/// The two directions of talking to the service. What fails in one may work in the other, so each has pauses of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Polling,
    Sending,
}

impl Direction {
    fn other(self) -> Self {
        match self {
            Direction::Polling => Direction::Sending,
            Direction::Sending => Direction::Polling,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) api: Api,
    known: Mutex<Known>,
    /// By direction: a call that waits to be tried again need not wait any longer.
    freed: [Notify; 2],
    /// A poll was answered.
    heard: Notify,
}

/// Pure: every moment is passed in.
#[derive(Debug, Default)]
struct Known {
    polling: DirectionState,
    sending: DirectionState,
    /// The service asked for patience in all chats: that is kept.
    patience: Option<Instant>,
    /// Until when no tap may be answered: the service counts them by themselves.
    taps_held: Option<Instant>,
    is_stopped: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct DirectionState {
    /// The last good answer.
    worked_at: Option<Instant>,
    down: Option<Down>,
    /// When the other direction had news: a call that was begun before says nothing about the time after.
    freed_at: Option<Instant>,
}

/// No good answer since then.
#[derive(Debug, Clone, Copy)]
struct Down {
    since: Instant,
    failures: u32,
    until: Instant,
}

impl Service {
    pub(crate) fn new(api: Api) -> Self {
        Self { api, known: Mutex::default(), freed: Default::default(), heard: Notify::new() }
    }

    /// How long no call makes sense. `None`: now does.
    pub(crate) fn wait(&self, direction: Direction, now: Instant) -> Option<Duration> {
        self.known().wait(direction, now)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.known().is_stopped
    }

    /// A good answer. Where it is the first sign of life, a call that waits in the other direction need not wait any longer.
    pub(crate) fn worked(&self, direction: Direction, now: Instant) {
        let is_news = self.known().worked(direction, now);
        if direction == Direction::Polling {
            self.heard.notify_one();
        }
        if is_news {
            self.freed[direction.other() as usize].notify_one();
        }
    }

    /// Waits until a direction that was down may be tried again before its pause is over. Dropped meanwhile, it loses nothing.
    pub(crate) async fn freed(&self, direction: Direction) {
        self.freed[direction as usize].notified().await;
    }

    /// Waits until a poll was answered since this was last asked. Dropped meanwhile, it loses nothing.
    pub(crate) async fn heard(&self) {
        self.heard.notified().await;
    }

    /// No more calls: the token is wrong. How long until the hub may ask again.
    pub(crate) fn stop(&self) -> Duration {
        self.known().is_stopped = true;
        STOPPED
    }

    /// A call that was begun then has failed: how long until the next. Calls that fail together count once.
    pub(crate) fn failed(&self, direction: Direction, began: Instant, now: Instant) -> Duration {
        self.known().failed(direction, began, now)
    }

    /// The service asked everybody for patience.
    pub(crate) fn hold(&self, until: Instant) {
        let mut known = self.known();
        known.patience = known.patience.max(Some(until));
    }

    /// When the next tap may be answered.
    pub(crate) fn taps_held(&self) -> Option<Instant> {
        self.known().taps_held
    }

    pub(crate) fn hold_taps(&self, until: Instant) {
        let mut known = self.known();
        known.taps_held = known.taps_held.max(Some(until));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing below panics between two writes: there is no half of one to be afraid of.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn states(&mut self, direction: Direction) -> (&mut DirectionState, &mut DirectionState) {
        match direction {
            Direction::Polling => (&mut self.polling, &mut self.sending),
            Direction::Sending => (&mut self.sending, &mut self.polling),
        }
    }

    fn wait(&mut self, direction: Direction, now: Instant) -> Option<Duration> {
        if self.is_stopped {
            return Some(STOPPED);
        }
        let pause = self.states(direction).0.down.map(|down| down.until);
        let until = pause.max(self.patience)?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Whether it is news for the other direction.
    ///
    /// # One-sign-of-life invariant
    /// A direction is freed when the other one comes back, and by the first good answer of the other one since it went down
    /// itself; not by those that follow. So a service that answers polls and refuses messages is asked at growing distances
    /// all the same.
    fn worked(&mut self, direction: Direction, now: Instant) -> bool {
        let (own, other) = self.states(direction);
        let was_down = own.down.take().is_some();
        let worked_at = own.worked_at.replace(now);
        let is_first = other.down.is_some_and(|down| worked_at < Some(down.since));
        if !was_down && !is_first {
            return false;
        }
        other.freed_at = Some(now);
        if let Some(down) = &mut other.down {
            down.until = now;
            if was_down {
                down.failures = 0;
            }
        }
        true
    }

    fn failed(&mut self, direction: Direction, began: Instant, now: Instant) -> Duration {
        if self.is_stopped {
            return STOPPED;
        }
        let line = self.states(direction).0;
        if line.freed_at.is_some_and(|freed| began < freed) {
            return self.wait(direction, now).unwrap_or_default();
        }
        let before = match line.down {
            Some(down) if down.until > now => return down.until - now,
            before => before,
        };
        let failures = before.map_or(0, |down| down.failures).saturating_add(1);
        let pause = backoff(failures);
        line.down = Some(Down { since: before.map_or(now, |down| down.since), failures, until: now + pause });
        pause.max(self.wait(direction, now).unwrap_or_default())
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
    use crate::Secret;

    fn service() -> Service {
        Service::new(Api::new(Secret::new("1:a"), "http://127.0.0.1:1").unwrap())
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        for (failures, seconds) in [(1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (u32::MAX, 60.0)] {
            let pause = backoff(failures).as_secs_f64();
            assert!((0.75 * seconds..=1.25 * seconds).contains(&pause), "{failures}: {pause}");
            assert!(pause <= 60.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_together_counts_once_and_success_forgets() {
        let service = service();
        let now = Instant::now();
        assert_eq!(service.wait(Direction::Sending, now), None);
        let pause = service.failed(Direction::Sending, now, now);
        assert_eq!(service.failed(Direction::Sending, now, now), pause);
        assert_eq!(service.wait(Direction::Sending, now), Some(pause));
        assert_eq!(service.wait(Direction::Sending, now + pause), None);
        assert!(service.failed(Direction::Sending, now + pause, now + pause) > Duration::from_millis(1400));
        service.worked(Direction::Sending, now);
        assert_eq!(service.wait(Direction::Sending, now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_asked_of_all_is_kept() {
        let service = service();
        let now = Instant::now();
        service.hold(now + Duration::from_secs(9));
        assert_eq!(service.wait(Direction::Sending, now), Some(Duration::from_secs(9)));
        service.worked(Direction::Polling, now);
        assert_eq!(service.failed(Direction::Sending, now, now), Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_token_stays_wrong() {
        let service = service();
        let now = Instant::now();
        service.stop();
        service.worked(Direction::Polling, now);
        assert!(service.is_stopped());
        assert_eq!(service.failed(Direction::Polling, now, now), STOPPED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_from_before_the_sign_of_life_is_no_reason_to_wait() {
        let service = service();
        let now = Instant::now();
        let second = Duration::from_secs(1);
        service.failed(Direction::Sending, now, now);
        service.failed(Direction::Polling, now, now);
        service.worked(Direction::Polling, now + 2 * second);
        assert_eq!(service.failed(Direction::Sending, now + second, now + 3 * second), Duration::ZERO);
        assert_eq!(service.wait(Direction::Sending, now + 3 * second), None);
        let pause = service.failed(Direction::Sending, now + 3 * second, now + 4 * second);
        assert!(pause > second / 2, "{pause:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn messages_that_alone_fail_are_tried_at_growing_distances() {
        let service = service();
        let mut now = Instant::now();
        let mut tries = 0;
        service.failed(Direction::Sending, now, now);
        // Ten minutes, a poll that is answered each second.
        for _ in 0..600 {
            now += Duration::from_secs(1);
            service.worked(Direction::Polling, now);
            if service.wait(Direction::Sending, now).is_none() {
                service.failed(Direction::Sending, now, now);
                tries += 1;
            }
        }
        assert!((10..=25).contains(&tries), "{tries}");
    }

    /// One outage of both ways and its end, on a clock of its own: each direction tries when it may.
    fn tries_after_an_outage(seed: u64) -> (u64, u64) {
        let mut chance = seed;
        let mut roll = |limit: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % limit
        };
        let mut known = Known::default();
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let over = 1 + roll(200_000);
        let asked = roll(over + 5_000);
        let mut polls_at = roll(1_000);
        let mut first_good = None;
        for now in 0.. {
            if now >= polls_at {
                match now >= over {
                    true => {
                        known.worked(Direction::Polling, at(now));
                        first_good.get_or_insert(now);
                        polls_at = now + 30_000;
                    }
                    false => {
                        let began = at(now.saturating_sub(roll(500)));
                        polls_at =
                            now + known.failed(Direction::Polling, began, at(now)).as_millis() as u64 + 1;
                    }
                }
            }
            if now >= asked && known.wait(Direction::Sending, at(now)).is_none() {
                match now >= over {
                    true => {
                        known.worked(Direction::Sending, at(now));
                        return (first_good.unwrap_or(now).max(asked), now);
                    }
                    false => drop(known.failed(Direction::Sending, at(now), at(now))),
                }
            }
        }
        unreachable!("the loop has no other end")
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_good_answer_lets_everybody_try() {
        for seed in 0..300 {
            let (known, sent) = tries_after_an_outage(seed);
            assert!(sent <= known + 1, "seed {seed}: known at {known} ms, sent at {sent} ms");
        }
    }
}
