//! What is on its way to each channel, and when there is something to do for it next.
//!
//! # One-at-a-time invariant
//! A target has at most one task under way. The next is chosen, and made from what is true then, when that one is done:
//! so edits coalesce, order is kept, and an outage leaves nothing stale behind.
//!
//! # Nothing-forgotten invariant
//! Whether anything is to be done is not announced, it is derived, in [`Channels::must_look`]: something was written since
//! the last look, a channel said something, or a moment has come. One look is made at one moment: what is not due
//! then is due at a moment after it, and `next_time` counts it, however long the look took. A moment that has passed
//! meanwhile rings at once.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use atlasbridge_channel::{Address, Done, JobNo, Outgoing, Target, Task, Undelivered};
use atlasbridge_model::{BootTime, Now, Timestamp};
use atlasbridge_store::{DuePost, NewNotice};

use super::acts::{Act, Change, Errand, Outward, Shown};
use super::view::{Board, Takes};
use crate::notice::{Body, new_notice};

/// How often the time that is left is shown anew.
const COUNTDOWN: Duration = Duration::from_secs(60);

/// A channel that runs: whom it reaches, and what they want to hear.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    pub(crate) name: &'static str,
    pub(crate) targets: Vec<Target>,
    pub(crate) notify_start: bool,
    pub(crate) notify_end: bool,
}

#[derive(Debug)]
struct Channel {
    subscription: Subscription,
    busy: HashMap<Target, UnderWay>,
    /// Targets that take nothing until then: the service or its pace says so, whatever is to be shown. Who is held is told
    /// by what is in here, and never by the clock.
    held: HashMap<Target, BootTime>,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    job: JobNo,
    what: Errand,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    open: Vec<Channel>,
    next_job: u64,
    /// When the time left is shown next; `None` while nothing waits.
    countdown_at: Option<BootTime>,
    /// When the first of the chats that want no prompts, and for which one waits, wants them again.
    unmuted_at: Option<BootTime>,
    /// When the first of the posts and notices becomes due that were not at the last look.
    post_at: Option<BootTime>,
    /// A channel has opened, or said something, since the last look.
    has_news: bool,
    /// What the store had written before the last look.
    seen_writes: Option<u64>,
}

impl Channel {
    /// Whether it could be given a task now. Whoever holds it back says when that is over: the task under way, or time.
    fn takes(&self, target: &Target) -> bool {
        !self.held.contains_key(target) && !self.busy.contains_key(target)
    }
}

impl Channels {
    pub(crate) fn open(&mut self, subscription: Subscription, now: Now) {
        self.close(subscription.name);
        self.open.push(Channel { subscription, busy: HashMap::new(), held: HashMap::new() });
        self.countdown_at = Some(now.boot);
        self.has_news = true;
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.open.retain(|channel| channel.subscription.name != name);
    }

    pub(crate) fn ready(&mut self, name: &str) {
        if let Some(channel) = self.find(name) {
            channel.held.clear();
        }
        self.has_news = true;
    }

    /// Whether anything may be to do that was not at the last look.
    pub(crate) fn must_look(&self, writes: u64, now: BootTime) -> bool {
        self.has_news || self.seen_writes != Some(writes) || self.next_time().is_some_and(|at| at <= now)
    }

    /// A look begins, at what had been written by then. Holds whose time is over are lifted before anything is read: what
    /// is read is for whoever takes something at this moment.
    pub(crate) fn looks(&mut self, writes: u64, now: BootTime) {
        self.has_news = false;
        self.seen_writes = Some(writes);
        for channel in &mut self.open {
            channel.held.retain(|_, until| *until > now);
        }
    }

    /// The look failed: it is made again.
    pub(crate) fn look_failed(&mut self) {
        self.has_news = true;
    }

    /// When a channel has something to do next without anything happening before. It may have passed: then that is now.
    pub(crate) fn next_time(&self) -> Option<BootTime> {
        let now = self.has_news.then_some(BootTime(0));
        let held = self.open.iter().filter_map(|channel| channel.held.values().min().copied());
        let others = [now, self.countdown_at, self.unmuted_at, self.post_at];
        others.into_iter().flatten().chain(held).min()
    }

    pub(crate) fn all_targets(&self) -> Vec<(&'static str, Vec<String>)> {
        let named = |channel: &Channel| {
            let targets = channel.subscription.targets.iter().map(|target| target.0.clone());
            (channel.subscription.name, targets.collect())
        };
        self.open.iter().map(named).collect()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.open.iter().map(|channel| channel.subscription.name).collect()
    }

    /// Which boards to read, and whether what is due there could be given to anybody.
    pub(crate) fn boards(&self) -> Vec<(&'static str, Takes)> {
        let board = |channel: &Channel| {
            let takes_something = channel.subscription.targets.iter().any(|target| channel.takes(target));
            let takes = if takes_something { Takes::Something } else { Takes::Nothing };
            (channel.subscription.name, takes)
        };
        self.open.iter().map(board).collect()
    }

    /// The same words for every target of the channels that want them.
    pub(crate) fn notices(&self, wants: impl Fn(&Subscription) -> bool, body: &Body) -> Vec<NewNotice> {
        let channels = self.open.iter().map(|channel| &channel.subscription);
        let wanting = channels.filter(|subscription| wants(subscription));
        wanting
            .flat_map(|to| to.targets.iter().map(|target| new_notice(to.name, target, body, None)))
            .collect()
    }

    pub(crate) fn must_count_down(&self, now: BootTime) -> bool {
        self.countdown_at.is_some_and(|at| at <= now)
    }

    pub(crate) fn counted_down(&mut self, waiting: u64, now: BootTime) {
        self.countdown_at = (waiting > 0).then(|| now.plus_millis(COUNTDOWN.as_millis() as i64));
    }

    /// Gives each free target its next task. `task_for` makes a post's task from what is true now.
    pub(crate) fn feed(
        &mut self,
        boards: &[Board],
        now: Now,
        task_for: impl Fn(&DuePost) -> Task,
    ) -> Vec<Act> {
        self.unmuted_at = None;
        self.post_at = None;
        let mut acts = Vec::new();
        for board in boards {
            let name = board.channel;
            for notice in &board.notices {
                let reply_to = notice.reply_to.clone().map(Address);
                let errand = Errand::Notice { id: notice.id };
                match serde_json::from_str::<Body>(&notice.body) {
                    Ok(body) => {
                        let target = Target(notice.target.clone());
                        acts.extend(self.give(name, target, errand, || body.into_task(reply_to)));
                    }
                    Err(_) => acts.push(
                        Change::Channel(Shown::Dropped { errand, why: "unreadable".to_owned() }).into(),
                    ),
                }
            }
            self.post_at = earliest(self.post_at, board.next);
            for (due, muted_until) in &board.posts {
                let until = muted_until.filter(|until| due.post.address.is_none() && *until > now.wall);
                if let Some(until) = until {
                    self.unmuted_at = earliest(self.unmuted_at, Some(in_boot_time(until, now)));
                    continue;
                }
                let errand = Errand::Post { id: due.post.id, wanted: due.post.wanted };
                let target = Target(due.post.target.clone());
                acts.extend(self.give(name, target, errand, || task_for(due)));
            }
        }
        acts
    }

    fn give(
        &mut self,
        name: &'static str,
        target: Target,
        what: Errand,
        task: impl FnOnce() -> Task,
    ) -> Option<Act> {
        let job = JobNo(self.next_job + 1);
        let channel = self.find(name)?;
        if !channel.takes(&target) {
            return None;
        }
        channel.busy.insert(target.clone(), UnderWay { job, what });
        self.next_job = job.0;
        Some(Outward::Give { channel: name, outgoing: Outgoing { job, target, task: task() } }.into())
    }

    /// What became of a task. One of an earlier run of the channel is no news.
    pub(crate) fn done(
        &mut self,
        name: &'static str,
        job: JobNo,
        target: &Target,
        done: Done,
        now: Now,
    ) -> Option<Act> {
        let channel = self.find(name)?;
        let errand = channel.busy.get(target).filter(|busy| busy.job == job)?.what;
        channel.busy.remove(target);
        channel.held.remove(target);
        let shown = match done {
            Done::Shown { address } => Some(Shown::Done { errand, address }),
            // It stays due; its target is held.
            Done::NotShown(Undelivered::Later { after }) => {
                // Rounded up: too early would be told to come later once more.
                let millis = after.as_micros().div_ceil(1_000).try_into().unwrap_or(i64::MAX);
                channel.held.insert(target.clone(), now.boot.plus_millis(millis));
                None
            }
            Done::NotShown(Undelivered::Never { why }) => {
                match errand {
                    Errand::Post { .. } => {
                        tracing::warn!(channel = name, %why, "a prompt could not be shown");
                    }
                    Errand::Notice { .. } => {
                        tracing::warn!(channel = name, %why, "a message could not be sent");
                    }
                }
                Some(Shown::Dropped { errand, why })
            }
        };
        if let Some(Shown::Done { errand: Errand::Post { .. }, .. }) = shown {
            self.countdown_at.get_or_insert(now.boot.plus_millis(COUNTDOWN.as_millis() as i64));
        }
        self.has_news = true;
        shown.map(|shown| Change::Channel(shown).into())
    }

    fn find(&mut self, name: &str) -> Option<&mut Channel> {
        self.open.iter_mut().find(|channel| channel.subscription.name == name)
    }
}

fn earliest(one: Option<BootTime>, other: Option<BootTime>) -> Option<BootTime> {
    one.into_iter().chain(other).min()
}

/// A moment of the wall clock on the clock that does not jump; one that has passed is now.
fn in_boot_time(at: Timestamp, now: Now) -> BootTime {
    now.boot.plus_millis(at.0.saturating_sub(now.wall.0).max(0))
}
