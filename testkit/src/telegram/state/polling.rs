//! `getUpdates`: one poll waits at a time, and whoever comes later ends it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::State;
use crate::telegram::clock::Moment;
use crate::telegram::params::Params;
use crate::telegram::refusal::{Answer, Refusal};

/// Whoever causes conflicts is answered slowly from the second on.
const CONFLICT_PAUSE: Duration = Duration::from_secs(3);
/// The longest wait that is granted.
const MOST_SECONDS: i64 = 50;

/// A poll as it came.
#[derive(Debug, Clone)]
pub struct Poll {
    pub offset: i64,
    pub limit: i64,
    /// In seconds, as asked for.
    pub timeout: i64,
    /// In the fake's time since 1970.
    pub at: Duration,
    /// How many updates it brought; nothing while it waits, and if it ended otherwise.
    pub brought: Option<usize>,
}

/// A poll under way.
#[derive(Debug)]
pub(crate) struct Waiting {
    number: usize,
    offset: i64,
    limit: usize,
    pub(crate) deadline: Moment,
}

#[derive(Debug, Default)]
pub(crate) struct Polling {
    pub(crate) polls: Vec<Poll>,
    pub(crate) waiting: Option<usize>,
    /// Polls that were ended by another, and by a webhook.
    ended: BTreeSet<usize>,
    ended_by_webhook: BTreeSet<usize>,
    next_conflict: Moment,
}

impl Polling {
    pub(super) fn end_by_webhook(&mut self) {
        self.ended_by_webhook.extend(self.waiting.take());
    }

    fn conflict(&mut self, what: &str, now: Moment) -> Refusal {
        if now < self.next_conflict {
            return Refusal::conflict(what, CONFLICT_PAUSE);
        }
        self.next_conflict = now + CONFLICT_PAUSE;
        Refusal::conflict(what, Duration::ZERO)
    }
}

impl State {
    pub(crate) fn begin_poll(&mut self, params: &Params, now: Moment) -> Result<Waiting, Refusal> {
        self.admit("getUpdates", params, now)?;
        if self.webhook.is_some() {
            let what = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
            return Err(self.polling.conflict(what, now));
        }
        self.allow_updates(params);
        let integer = |name: &str, absent: i64| params.integer(name).unwrap_or(absent);
        let poll = Poll {
            offset: integer("offset", 0),
            limit: integer("limit", 100).clamp(1, 100),
            timeout: integer("timeout", 0).clamp(0, MOST_SECONDS),
            at: now,
            brought: None,
        };
        let (mut limit, mut timeout) = (poll.limit as usize, poll.timeout as u64);
        // Whoever asks the same again at once is slowed down.
        let before = self.polling.polls.last();
        if let Some(before) = before.filter(|before| before.offset == poll.offset) {
            let since = now.saturating_sub(before.at);
            if since < Duration::from_secs(3) {
                timeout = timeout.max(3);
            }
            if since < Duration::from_millis(500) {
                limit = 1;
            }
        }
        let waiting = Waiting {
            number: self.polling.polls.len(),
            offset: poll.offset,
            limit,
            deadline: now + Duration::from_secs(timeout),
        };
        self.polling.polls.push(poll);
        Ok(waiting)
    }

    /// The end of a poll, if it has come.
    pub(crate) fn continue_poll(&mut self, poll: &Waiting, now: Moment) -> Option<Answer> {
        if self.polling.ended.remove(&poll.number) {
            let what =
                "terminated by other getUpdates request; make sure that only one bot instance is running";
            return Some(Err(self.polling.conflict(what, now)));
        }
        if self.polling.ended_by_webhook.remove(&poll.number) {
            return Some(Err(self.polling.conflict("terminated by setWebhook request", now)));
        }
        let batch = self.updates.take(poll.offset, poll.limit, now, &mut self.faults);
        if batch.is_empty() && now < poll.deadline {
            if self.polling.waiting != Some(poll.number) {
                let earlier = self.polling.waiting.replace(poll.number);
                self.polling.ended.extend(earlier);
            }
            return None;
        }
        self.abandon_poll(poll);
        self.polling.polls[poll.number].brought = Some(batch.len());
        Some(Ok(Value::Array(batch)))
    }

    /// Nobody waits for this one any more.
    pub(crate) fn abandon_poll(&mut self, poll: &Waiting) {
        if self.polling.waiting == Some(poll.number) {
            self.polling.waiting = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Moment = Duration::from_secs(1_000_000);

    fn poll(state: &mut State, params: Value, milliseconds: u64) -> (usize, Duration) {
        let body = params.to_string();
        let params = Params::read(None, "application/json", body.as_bytes()).unwrap();
        let now = NOW + Duration::from_millis(milliseconds);
        let waiting = state.begin_poll(&params, now).unwrap();
        (waiting.limit, waiting.deadline - now)
    }

    #[test]
    fn whoever_asks_the_same_at_once_is_slowed_down() {
        let mut state = State::new("1:x");
        let [none, three, fifty] = [0, 3, 50].map(Duration::from_secs);
        assert_eq!(poll(&mut state, json!({"timeout": 99}), 0), (100, fifty));
        assert_eq!(poll(&mut state, json!({"limit": 7}), 499), (1, three));
        assert_eq!(poll(&mut state, json!({"limit": 7}), 1000), (7, three));
        assert_eq!(poll(&mut state, json!({"limit": 7}), 4001), (7, none));
        assert_eq!(poll(&mut state, json!({"offset": 5}), 4002), (100, none));
    }

    #[test]
    fn conflicts_soon_after_each_other_are_answered_slowly() {
        let mut polling = Polling::default();
        let mut pause = |seconds: u64| polling.conflict("x", NOW + Duration::from_secs(seconds)).after;
        assert_eq!([pause(0), pause(1), pause(3)], [Duration::ZERO, CONFLICT_PAUSE, Duration::ZERO]);
    }
}
