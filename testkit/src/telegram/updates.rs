//! The queue of what a bot has not confirmed yet, and the one poll that may wait for it.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::clock::Moment;
use super::faults::Faults;

/// An update waits a day for its bot.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// A tap waits 150 seconds, and then nobody hears of it.
pub(crate) const TAP_KEPT: Duration = Duration::from_secs(150);
/// An offset this far beyond the last update is taken for none.
const FUTURE: i64 = 10;

/// Kinds that come without being asked for: all but these.
const ONLY_ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

#[derive(Debug, Clone)]
struct Update {
    id: i64,
    body: Value,
    expires: Moment,
}

impl Update {
    fn to_json(&self) -> Value {
        let mut value = self.body.clone();
        value["update_id"] = json!(self.id);
        value
    }
}

#[derive(Debug)]
pub(crate) struct Updates {
    queue: VecDeque<Update>,
    next_id: i64,
    /// Empty: all kinds but those on request.
    allowed: Vec<String>,
    /// Confirmed ones that come again all the same, if the fake lies.
    echoes: Vec<Update>,
}

impl Default for Updates {
    fn default() -> Self {
        Self { queue: VecDeque::new(), next_id: 871_000_001, allowed: Vec::new(), echoes: Vec::new() }
    }
}

impl Updates {
    /// Queues an update of a kind, if the bot asked for such; its id in that case.
    pub(crate) fn push(&mut self, kind: &str, body: Value, now: Moment) -> Option<i64> {
        let is_allowed = match self.allowed.as_slice() {
            [] => !ONLY_ON_REQUEST.contains(&kind),
            allowed => allowed.iter().any(|allowed| allowed == kind),
        };
        let kept = if kind == "callback_query" { TAP_KEPT } else { KEPT };
        is_allowed.then(|| self.push_raw(json!({ kind: body }), now + kept))
    }

    /// Queues anything, under its own `update_id` if it has one.
    pub(crate) fn push_raw(&mut self, body: Value, expires: Moment) -> i64 {
        let id = body["update_id"].as_i64().unwrap_or(self.next_id);
        self.next_id = self.next_id.max(id + 1);
        self.queue.push_back(Update { id, body, expires });
        id
    }

    pub(crate) fn allow(&mut self, kinds: Vec<String>) {
        self.allowed = kinds;
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    pub(crate) fn pending(&self, now: Moment) -> usize {
        self.queue.iter().filter(|update| update.expires > now).count()
    }

    /// What `getUpdates` with this offset finds. Whatever lies before the offset is confirmed, and gone.
    pub(crate) fn take(&mut self, offset: i64, limit: usize, now: Moment, faults: &mut Faults) -> Vec<Value> {
        self.queue.retain(|update| update.expires > now);
        self.confirm(offset, faults);
        let echoes: Vec<_> = std::mem::take(&mut self.echoes);
        let mut batch: Vec<Value> = echoes.iter().map(Update::to_json).collect();
        for update in self.queue.iter().take(limit) {
            batch.push(update.to_json());
            if faults.dice.falls(faults.lies.duplicates / 2.0) {
                batch.push(update.to_json());
            }
        }
        if batch.len() > 1 && faults.dice.falls(faults.lies.reordering) {
            faults.dice.shuffle(&mut batch);
        }
        batch
    }

    fn confirm(&mut self, offset: i64, faults: &mut Faults) {
        if offset < 0 {
            let kept = offset.unsigned_abs() as usize;
            let gone = self.queue.len().saturating_sub(kept);
            self.queue.drain(..gone);
            return;
        }
        if offset == 0 || offset > self.next_id + FUTURE {
            return;
        }
        let (confirmed, left): (VecDeque<_>, _) =
            self.queue.drain(..).partition(|update: &Update| update.id < offset);
        self.queue = left;
        for update in confirmed {
            if faults.dice.falls(faults.lies.duplicates / 2.0) {
                self.echoes.push(update);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::Lies;
    use super::*;

    const NOW: Moment = Duration::from_secs(1_000_000);
    const FIRST: i64 = 871_000_001;

    fn queue(count: usize) -> Updates {
        let mut updates = Updates::default();
        for _ in 0..count {
            updates.push("message", json!({}), NOW);
        }
        updates
    }

    #[track_caller]
    fn check(updates: &mut Updates, offset: i64, limit: usize, expected: &[i64]) {
        let batch = updates.take(offset, limit, NOW, &mut Faults::default());
        let seen: Vec<_> = batch.iter().map(|update| update["update_id"].as_i64().unwrap() - FIRST).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn an_offset_confirms_what_lies_before_it() {
        let mut updates = queue(4);
        check(&mut updates, 0, 100, &[0, 1, 2, 3]);
        check(&mut updates, 0, 2, &[0, 1]);
        check(&mut updates, FIRST + 2, 100, &[2, 3]);
        // Confirmed is confirmed: an older offset does not bring it back.
        check(&mut updates, FIRST, 100, &[2, 3]);
        check(&mut updates, FIRST + 1_000_000, 100, &[2, 3]);
        check(&mut updates, FIRST + 4, 100, &[]);
    }

    #[test]
    fn a_negative_offset_forgets_all_but_the_last() {
        let mut updates = queue(4);
        check(&mut updates, -1, 100, &[3]);
        check(&mut updates, 0, 100, &[3]);
        check(&mut updates, -100, 100, &[3]);
    }

    #[test]
    fn taps_are_kept_shorter_than_messages() {
        let mut updates = queue(1);
        updates.push("callback_query", json!({}), NOW);
        let mut seen = |seconds: u64| {
            let now = NOW + Duration::from_secs(seconds);
            updates.take(0, 100, now, &mut Faults::default()).len()
        };
        assert_eq!([seen(149), seen(151), seen(86_399), seen(86_401)], [2, 1, 1, 0]);
    }

    #[test]
    fn only_what_is_asked_for_is_queued() {
        let mut updates = queue(0);
        assert_eq!(updates.push("message_reaction", json!({}), NOW), None);
        updates.allow(vec!["callback_query".to_owned()]);
        assert_eq!(updates.push("message", json!({}), NOW), None);
        assert_eq!(updates.push("callback_query", json!({}), NOW), Some(FIRST));
    }

    #[test]
    fn a_lying_queue_repeats_and_shuffles() {
        let mut faults = Faults::default();
        faults.lies = Lies { duplicates: 1.0, reordering: 1.0 };
        let mut updates = queue(50);
        let first = updates.take(0, 100, NOW, &mut faults).len();
        assert!(first > 60, "{first}");
        let again = updates.take(FIRST + 50, 100, NOW, &mut faults).len();
        assert!((10..50).contains(&again), "{again}");
        assert_eq!(updates.take(FIRST + 50, 100, NOW, &mut faults).len(), 0);
    }
}
