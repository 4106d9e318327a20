//! How much a bot may send, and what is held against one that does not listen.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::clock::Moment;
use super::refusal::Refusal;

/// What a bot may send. Messages and edits count alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Messages per second to one chat, in the long run.
    pub per_chat: f64,
    /// How many may come at once to one chat.
    pub chat_burst: f64,
    /// Messages per second to all chats.
    pub overall: f64,
    /// Messages within a minute to one group.
    pub group_per_minute: usize,
}

impl Default for Limits {
    /// The figures of the Bot API's FAQ. The burst is our guess at its "short bursts that go over this limit".
    fn default() -> Self {
        Self { per_chat: 1.0, chat_burst: 3.0, overall: 30.0, group_per_minute: 20 }
    }
}

impl Limits {
    /// For tests in which pace is not the subject.
    pub fn none() -> Self {
        Self { per_chat: f64::MAX, chat_burst: f64::MAX, overall: f64::MAX, group_per_minute: usize::MAX }
    }
}

/// What a wait is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Chat(i64),
    Method(String),
    All,
}

#[derive(Debug, Default)]
pub(crate) struct Pace {
    pub(crate) limits: Limits,
    chats: BTreeMap<i64, Bucket>,
    overall: Bucket,
    groups: BTreeMap<i64, VecDeque<Moment>>,
    /// Until when nothing may be asked; whoever asks earlier has been told and did not listen.
    waits: BTreeMap<Scope, Moment>,
    pub(crate) violations: Vec<String>,
}

/// Tokens that have been used, and come back with time.
#[derive(Debug, Default, Clone, Copy)]
struct Bucket {
    used: f64,
    at: Moment,
}

impl Bucket {
    fn settle(&mut self, rate: f64, now: Moment) {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.used = (self.used - passed * rate).max(0.0);
        self.at = now;
    }

    /// How long until one more fits.
    fn wait(&self, rate: f64, size: f64) -> Duration {
        let over = self.used + 1.0 - size;
        // A breath of slack: what is due in a microsecond is due.
        if over <= 1e-6 { Duration::ZERO } else { Duration::from_secs_f64(over / rate) }
    }
}

impl Pace {
    /// Refuses a call that comes although the bot was told to wait.
    pub(crate) fn check_wait(&mut self, method: &str, chat: Option<i64>, now: Moment) -> Result<(), Refusal> {
        self.waits.retain(|_, until| *until > now);
        let scopes = [Some(Scope::All), Some(Scope::Method(method.to_owned())), chat.map(Scope::Chat)];
        let until = scopes.into_iter().flatten().filter_map(|scope| self.waits.get(&scope)).max();
        let Some(left) = until.map(|until| *until - now) else {
            return Ok(());
        };
        self.violations.push(format!("{method} came {left:?} before the end of a retry_after"));
        Err(Refusal::too_many(whole_seconds(left)))
    }

    /// Tells the bot to wait.
    pub(crate) fn tell_to_wait(&mut self, scope: Scope, wait: Duration, now: Moment) -> Refusal {
        let seconds = whole_seconds(wait);
        let until = now + Duration::from_secs(seconds);
        let kept = self.waits.entry(scope).or_insert(until);
        *kept = until.max(*kept);
        Refusal::too_many(seconds)
    }

    /// Counts one message to a chat, or refuses it.
    pub(crate) fn send(&mut self, chat: i64, now: Moment) -> Result<(), Refusal> {
        let limits = self.limits.clone();
        let bucket = self.chats.entry(chat).or_default();
        bucket.settle(limits.per_chat, now);
        self.overall.settle(limits.overall, now);
        let to_chat = bucket.wait(limits.per_chat, limits.chat_burst);
        let to_all = self.overall.wait(limits.overall, limits.overall);
        let to_group = self.group_wait(chat, now);
        if !to_all.is_zero() {
            return Err(self.tell_to_wait(Scope::All, to_all, now));
        }
        let wait = to_chat.max(to_group);
        if !wait.is_zero() {
            return Err(self.tell_to_wait(Scope::Chat(chat), wait, now));
        }
        self.overall.used += 1.0;
        self.chats.entry(chat).or_default().used += 1.0;
        if is_group(chat) {
            self.groups.entry(chat).or_default().push_back(now);
        }
        Ok(())
    }

    fn group_wait(&mut self, chat: i64, now: Moment) -> Duration {
        const MINUTE: Duration = Duration::from_secs(60);
        let sent = self.groups.entry(chat).or_default();
        while sent.front().is_some_and(|first| *first + MINUTE <= now) {
            sent.pop_front();
        }
        if sent.len() < self.limits.group_per_minute {
            return Duration::ZERO;
        }
        sent.front().map_or(Duration::ZERO, |first| *first + MINUTE - now)
    }
}

pub(crate) fn is_group(chat: i64) -> bool {
    chat < 0
}

fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs_f64().ceil() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Duration::from_secs(1_000_000) + Duration::from_millis(milliseconds)
    }

    #[track_caller]
    fn check(chats: &[i64], milliseconds: &[u64], expected: &str) {
        let mut pace = Pace::default();
        let seen = milliseconds.iter().zip(chats.iter().cycle()).map(|(time, chat)| {
            let now = at(*time);
            let sent = pace.check_wait("sendMessage", Some(*chat), now).and_then(|()| pace.send(*chat, now));
            match sent {
                Ok(()) => ".".to_owned(),
                Err(refusal) => refusal.retry_after.unwrap().to_string(),
            }
        });
        let seen: String = seen.collect();
        assert_eq!(format!("{seen} {}", pace.violations.len()), expected);
    }

    #[test]
    fn a_chat_takes_a_burst_and_then_one_a_second() {
        check(&[1], &[0, 0, 0, 1000, 2000, 3000], "...... 0");
        check(&[1], &[0, 0, 0, 1, 500, 1001], "...11. 1");
        // Another chat has its own budget.
        check(&[1, 2], &[0, 0, 0, 0, 0, 0], "...... 0");
    }

    #[test]
    fn all_chats_together_take_thirty_a_second() {
        let chats: Vec<i64> = (1..=31).collect();
        let times = [vec![0; 31], vec![1000]].concat();
        check(&chats, &times, &format!("{}1. 0", ".".repeat(30)));
    }

    #[test]
    fn a_group_takes_twenty_a_minute() {
        let times: Vec<u64> = (0..22).map(|second| second * 1000).collect();
        check(&[-5], &times, &format!("{}4039 1", ".".repeat(20)));
    }
}
