//! When the next message may go, pure: 1 a second for each chat, 20 a minute for each group, 30 a second in all, and
//! never before the service said so. Where the operator allows more than 1 a second, the other two grow alike.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// What the service allows a bot in all chats together.
const ALL_PER_SECOND: f64 = 30.0;
/// What the service allows a bot in one group, whatever the pace within the minute.
const GROUP_PER_MINUTE: f64 = 20.0;
const MINUTE: Duration = Duration::from_secs(60);

/// Hands out the moments at which messages go.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Between two messages to the same chat.
    step: Duration,
    /// Between two messages to anybody.
    step_of_all: Duration,
    group_per_minute: usize,
    next: Option<Instant>,
    chats: HashMap<i64, Chat>,
}

#[derive(Debug, Default)]
struct Chat {
    next: Option<Instant>,
    held: Option<Instant>,
    /// Of a group: when its latest messages went, at most a minute's worth.
    sent: VecDeque<Instant>,
}

impl Pace {
    /// Nonsense (zero, negative, not a number) counts as one a second.
    pub(crate) fn new(messages_per_second: f64) -> Self {
        let per_second = match messages_per_second {
            rate if rate.is_finite() && rate > 0.0 => rate.clamp(0.01, 1000.0),
            _ => 1.0,
        };
        let wider = per_second.max(1.0);
        Self {
            step: Duration::from_secs_f64(1.0 / per_second),
            step_of_all: Duration::from_secs_f64(1.0 / (ALL_PER_SECOND * wider)),
            group_per_minute: (GROUP_PER_MINUTE * wider) as usize,
            next: None,
            chats: HashMap::new(),
        }
    }

    /// The moment for one message to this chat; it is taken with the call. If it is further away than `most`, it is not
    /// taken, and the distance is told: by then there may be other things to say.
    pub(crate) fn slot(&mut self, chat: i64, now: Instant, most: Duration) -> Result<Instant, Duration> {
        let own = self.chats.entry(chat).or_default();
        let mut at = [self.next, own.next, own.held].into_iter().flatten().fold(now, Instant::max);
        if is_group(chat) {
            while own.sent.front().is_some_and(|sent| *sent + MINUTE <= at) {
                own.sent.pop_front();
            }
            if own.sent.len() >= self.group_per_minute {
                at = own.sent.front().map_or(at, |oldest| at.max(*oldest + MINUTE));
            }
        }
        match at.duration_since(now) {
            far if far > most => return Err(far),
            _ if is_group(chat) => own.sent.push_back(at),
            _ => {}
        }
        own.next = Some(at + self.step);
        // A moment far ahead that one chat has to wait for does not make the others wait.
        self.next = Some(self.next.map_or(now, |next| next.max(now)) + self.step_of_all);
        Ok(at)
    }

    /// The service asked for patience with this chat. Two chats asked at the same time: it means everybody.
    pub(crate) fn hold(&mut self, chat: i64, until: Instant, now: Instant) {
        let also = self
            .chats
            .iter()
            .filter(|(other, _)| **other != chat)
            .filter_map(|(_, chat)| chat.held)
            .any(|held| held > now);
        let own = self.chats.entry(chat).or_default();
        own.held = own.held.max(Some(until));
        if also {
            self.next = self.next.max(Some(until));
        }
    }
}

/// The service numbers groups below zero.
fn is_group(chat: i64) -> bool {
    chat < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(pace: &mut Pace, chat: i64, now: Instant, start: Instant) -> u128 {
        (pace.slot(chat, now, Duration::MAX).unwrap() - start).as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn a_chat_gets_one_message_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        assert_eq!(millis(&mut pace, 7, start, start), 0);
        assert_eq!(millis(&mut pace, 7, start, start), 1000);
        assert_eq!(millis(&mut pace, 7, start, start), 2000);
        let later = start + Duration::from_secs(10);
        assert_eq!(millis(&mut pace, 7, later, start), 10_000);
    }

    #[tokio::test(start_paused = true)]
    async fn all_chats_together_get_thirty_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        let slots: Vec<u128> = (1..=90).map(|chat| millis(&mut pace, chat, start, start)).collect();
        for second in 0..2 {
            let within =
                slots.iter().filter(|at| (second * 1000..second * 1000 + 1000).contains(*at)).count();
            assert!(within <= 31, "{within} in second {second}");
        }
        assert!((2900..3000).contains(&slots[89]), "{}", slots[89]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_chat_does_not_hold_up_the_others() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        for _ in 0..5 {
            pace.slot(7, start, Duration::MAX).unwrap();
        }
        assert!(millis(&mut pace, 8, start, start) < 200);
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_gets_twenty_a_minute() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        let slots: Vec<u128> = (0..41).map(|_| millis(&mut pace, -100, start, start)).collect();
        assert_eq!((slots[19], slots[20], slots[39], slots[40]), (19_000, 60_000, 79_000, 120_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_of_ones_own_takes_more() {
        let start = Instant::now();
        let mut pace = Pace::new(100.0);
        let last = (0..1000).map(|_| millis(&mut pace, -100, start, start)).last();
        assert!(last < Some(10_100), "{last:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn patience_is_kept_for_one_chat_and_for_all_when_two_are_asked() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        pace.hold(7, start + Duration::from_secs(9), start);
        assert_eq!(millis(&mut pace, 7, start, start), 9000);
        assert!(millis(&mut pace, 8, start, start) < 100);
        pace.hold(8, start + Duration::from_secs(5), start);
        assert_eq!(millis(&mut pace, 9, start, start), 5000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_moment_too_far_away_is_not_taken() {
        let start = Instant::now();
        let mut pace = Pace::new(0.1);
        let soon = Duration::from_secs(2);
        assert_eq!(pace.slot(7, start, soon), Ok(start));
        for _ in 0..3 {
            assert_eq!(pace.slot(7, start, soon), Err(Duration::from_secs(10)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_nonsensical_pace_is_the_usual_one() {
        let start = Instant::now();
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut pace = Pace::new(rate);
            pace.slot(7, start, Duration::MAX).unwrap();
            assert_eq!(millis(&mut pace, 7, start, start), 1000, "{rate}");
        }
    }
}
