//! The channels that run, and what is on its way to them.
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

mod holds;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_channel::{
    Address, Block, Button, Done, Handle, Health, Inbound, JobNo, Notice, Outgoing, Target, Task, Undelivered,
};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{BootTime, Nonce, Now, SessionId, Timestamp};
use atlasbridge_store::{DuePost, NewNotice, NoticeId, PostId, PromptRecord};
use atlasbridge_wire::command::ChannelView;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::holds::Holds;
use crate::clock;
use crate::hub::{Event, Hub, Trouble, random};
use crate::{pause, words};

/// A channel that failed is started again after this, so often; then `status` says so.
pub(crate) const RESTART_AFTER: Duration = Duration::from_secs(1);
pub(crate) const RESTARTS: u32 = 3;
/// What a channel says and the loop has not heard yet. A full one makes the channel wait.
const MAILBOX: usize = 64;
/// How often the time that is left is shown anew.
const COUNTDOWN: Duration = Duration::from_secs(60);
/// Telegram keeps a tap for 150 s: after a longer silence some may be lost, and what waits is offered again.
const LONGEST_GAP: Duration = Duration::from_secs(120);
/// The state of a chat: until when it wants no prompts, and which session plain texts are for.
pub(crate) const MUTED_UNTIL: &str = "muted_until";
pub(crate) const SWITCHED_TO: &str = "switched_to";

pub type ChannelFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts a channel at an update; what it says goes into the mailbox.
pub type ChannelStarter =
    Arc<dyn Fn(Option<i64>, mpsc::Sender<Inbound>) -> (Handle, ChannelFuture) + Send + Sync>;

/// How a channel is started, with the number of the first update that was not handled yet. The hub knows no channel
/// by name: whoever configures it hands over these.
#[derive(Clone)]
pub struct ChannelStart {
    pub name: &'static str,
    pub notify_start: bool,
    pub notify_end: bool,
    /// Changes whenever the configuration of the channel does.
    pub version: u64,
    pub start: ChannelStarter,
}

impl std::fmt::Debug for ChannelStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelStart").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What stands in a notice's row of the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    Notice { blocks: Vec<(Voice, String)>, buttons: Vec<Vec<(String, String)>> },
    File { name: String, text: String },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Voice {
    Ours,
    Program,
}

#[derive(Debug)]
struct Running {
    start: ChannelStart,
    handle: Handle,
    health: Health,
    busy: HashMap<Target, UnderWay>,
    held: Holds,
    failures: u32,
    worker: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    job: JobNo,
    what: Errand,
}

#[derive(Debug, Clone, Copy)]
enum Errand {
    Post { id: PostId, wanted: i64 },
    Notice { id: NoticeId },
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    running: Vec<Running>,
    next_job: u64,
    /// When the time left is shown next; `None` while nothing waits.
    countdown_at: Option<BootTime>,
    /// When the first of the chats that want no prompts, and for which one waits, wants them again.
    unmuted_at: Option<BootTime>,
    /// When the first of the posts and notices becomes due that were not at the last look.
    post_at: Option<BootTime>,
    /// A channel has started, or said something, since the last look; or that look failed.
    is_due: bool,
    /// What the store had written before the last look.
    seen_writes: Option<u64>,
}

impl Running {
    /// Whether it could be given a task now. Whoever holds it back says when that is over: the task under way, or time.
    fn takes(&self, target: &Target) -> bool {
        !self.held.holds(target) && !self.busy.contains_key(target)
    }
}

impl Channels {
    /// Whether any target of a channel could be given a task now.
    fn takes_something(&self, name: &str) -> bool {
        let running = self.running.iter().find(|running| running.start.name == name);
        running.is_some_and(|running| running.handle.targets.iter().any(|target| running.takes(target)))
    }

    /// Whether anything may be to do that was not at the last look.
    fn must_look(&self, writes: u64, now: BootTime) -> bool {
        self.is_due || self.seen_writes != Some(writes) || self.next_time().is_some_and(|at| at <= now)
    }

    /// When a channel has something to do next without anything happening before. It may have passed: then that is now.
    pub(crate) fn next_time(&self) -> Option<BootTime> {
        // A look that failed is made again.
        let now = self.is_due.then_some(BootTime(0));
        let held = self.running.iter().map(|running| running.held.next());
        let others = [now, self.countdown_at, self.unmuted_at, self.post_at];
        others.into_iter().chain(held).flatten().min()
    }

    fn count_down_from(&mut self, now: BootTime) {
        let next = now.plus_millis(COUNTDOWN.as_millis() as i64);
        self.countdown_at.get_or_insert(next);
    }

    pub(crate) fn views(&self) -> Vec<ChannelView> {
        let view = |running: &Running| {
            let (state, detail) = match &running.health {
                Health::Starting => ("starting", None),
                Health::Connected => ("connected", None),
                Health::Retrying { why } => ("retrying", Some(why.clone())),
                Health::Stopped { why } => ("stopped", Some(why.clone())),
            };
            ChannelView {
                name: running.start.name.to_owned(),
                state: state.to_owned(),
                detail,
                address: None,
            }
        };
        self.running.iter().map(view).collect()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.running.iter().map(|running| running.start.name).collect()
    }

    fn find(&mut self, name: &str) -> Option<&mut Running> {
        self.running.iter_mut().find(|running| running.start.name == name)
    }

    fn targets(&self, name: &str) -> Vec<Target> {
        let running = self.running.iter().find(|running| running.start.name == name);
        running.map(|running| running.handle.targets.clone()).unwrap_or_default()
    }
}

impl Hub {
    /// Starts what is configured, stops what is not, and leaves alone what has not changed.
    pub(crate) async fn set_channels(&mut self, wanted: Vec<ChannelStart>) -> Result<(), Trouble> {
        let is_wanted = |running: &Running| {
            wanted
                .iter()
                .any(|start| start.name == running.start.name && start.version == running.start.version)
                // What was wrong with one that stopped may have been mended on the other side.
                && !matches!(running.health, Health::Stopped { .. })
        };
        for running in self.channels.running.extract_if(.., |running| !is_wanted(running)) {
            running.worker.abort();
        }
        for start in wanted {
            if self.channels.find(start.name).is_none() {
                self.start_channel(start, 0).await?;
            }
        }
        self.offer_all().await
    }

    async fn start_channel(&mut self, start: ChannelStart, failures: u32) -> Result<(), Trouble> {
        let offset = self.store.offset(start.name, clock::now()).await?;
        let (inbound, mut said) = mpsc::channel(MAILBOX);
        let (handle, work) = (start.start)(offset, inbound);
        let (events, name) = (self.events.clone(), start.name);
        // The worker and what it says end together, and the loop hears of it last.
        let worker = tokio::spawn(async move {
            let work = tokio::spawn(work);
            while let Some(inbound) = said.recv().await {
                if events.send(Event::Channel { name, inbound }).await.is_err() {
                    break;
                }
            }
            work.abort();
            let _ = work.await;
            let _ = events.send(Event::ChannelEnded { name }).await;
        });
        self.channels.running.push(Running {
            start,
            handle,
            health: Health::Starting,
            busy: HashMap::new(),
            held: Holds::default(),
            failures,
            worker,
        });
        self.channels.is_due = true;
        Ok(())
    }

    /// A channel's worker has ended by itself. Others go on; this one is tried again, a few times.
    pub(crate) async fn channel_ended(&mut self, name: &str) -> Result<(), Trouble> {
        let Some(running) = self.channels.find(name) else {
            return Ok(());
        };
        if matches!(running.health, Health::Stopped { .. }) {
            return Ok(());
        }
        running.failures += 1;
        tracing::error!(channel = name, failures = running.failures, "a channel failed");
        if running.failures > RESTARTS {
            running.health = Health::Stopped {
                why: "it failed again and again; `atlasbridge logs` and the hub's log say why".to_owned(),
            };
            return Ok(());
        }
        let (events, name) = (self.events.clone(), running.start.name);
        tokio::spawn(async move {
            tokio::time::sleep(RESTART_AFTER).await;
            let _ = events.send(Event::ChannelRestart { name }).await;
        });
        Ok(())
    }

    pub(crate) async fn channel_restart(&mut self, name: &str) -> Result<(), Trouble> {
        let Some(at) = self.channels.running.iter().position(|running| running.start.name == name) else {
            return Ok(());
        };
        let old = self.channels.running.remove(at);
        self.start_channel(old.start, old.failures).await
    }

    pub(crate) async fn channel_said(&mut self, name: &'static str, inbound: Inbound) -> Result<(), Trouble> {
        match inbound {
            Inbound::Done { job, target, done } => self.task_done(name, job, &target, done).await,
            Inbound::Update(update) => self.updated(name, update).await,
            Inbound::Health(health) => {
                if let Some(running) = self.channels.find(name) {
                    match &health {
                        Health::Connected => tracing::info!(channel = name, "connected"),
                        Health::Retrying { why } | Health::Stopped { why } => {
                            tracing::warn!(channel = name, %why, "not connected");
                        }
                        Health::Starting => {}
                    }
                    running.health = health;
                }
                self.page_changed();
                Ok(())
            }
            Inbound::Polled { gap } => self.polled(name, gap).await,
            Inbound::Ready => {
                if let Some(running) = self.channels.find(name) {
                    running.held.free_all();
                }
                self.channels.is_due = true;
                Ok(())
            }
        }
    }

    /// # No-lost-tap invariant
    /// Whatever waited through a gap in which taps may have been lost is offered again under a new nonce.
    async fn polled(&mut self, name: &'static str, gap: Option<Duration>) -> Result<(), Trouble> {
        let now = clock::now();
        let before = self.store.polled_at(name).await?;
        let since =
            before.map(|before| Duration::from_millis(now.wall.0.saturating_sub(before.0).max(0) as u64));
        if gap.max(since).is_some_and(|gap| gap > LONGEST_GAP) {
            self.offer_again(name).await?;
        }
        // Last: a hub that dies before this finds the gap again.
        Ok(self.store.set_polled_at(name, now).await?)
    }

    async fn offer_again(&mut self, name: &'static str) -> Result<(), Trouble> {
        for open in self.store.open_prompts().await? {
            let waits = matches!(open.prompt.state, PromptState::AwaitingReply);
            let posts = self.store.posts_of(open.prompt.id).await?;
            if !waits || !posts.iter().any(|post| post.channel == name && post.address.is_some()) {
                continue;
            }
            let nonce = Nonce::from_random(random()?);
            if let Some(prompt) = self.store.reoffer(open.prompt.id, nonce, clock::now()).await? {
                tracing::info!(prompt = %prompt.id, "offered again after a gap");
                self.offer(&prompt, None).await?;
            }
        }
        self.tell_watchers().await
    }

    /// Lets every channel show this prompt; `typed_ago`: when somebody last typed at its terminal.
    pub(crate) async fn offer(
        &mut self,
        prompt: &PromptRecord,
        typed_ago: Option<Duration>,
    ) -> Result<(), Trouble> {
        let now = clock::now();
        let grace = typed_ago.map_or(Duration::ZERO, |ago| self.settings.presence_grace.saturating_sub(ago));
        let not_before = now.wall.plus_millis(grace.as_millis() as i64);
        for name in self.channels.names() {
            let targets = self.channels.targets(name);
            let targets: Vec<String> = targets.into_iter().map(|target| target.0).collect();
            self.store.offer(prompt.id, name, &targets, not_before, now).await?;
        }
        Ok(())
    }

    /// What a hub before us recorded and did not get to offer.
    async fn offer_all(&mut self) -> Result<(), Trouble> {
        for open in self.store.open_prompts().await? {
            self.offer(&open.prompt, None).await?;
        }
        self.channels.countdown_at = Some(clock::now().boot);
        Ok(())
    }

    /// Gives each free target its next task.
    pub(crate) async fn feed_channels(&mut self) -> Result<(), Trouble> {
        let (writes, now) = (self.store.writes(), clock::now());
        if !self.channels.must_look(writes, now.boot) {
            return Ok(());
        }
        self.channels.is_due = false;
        self.channels.seen_writes = Some(writes);
        let looked = self.look(now).await;
        self.channels.is_due |= looked.is_err();
        looked
    }

    /// All that is to be done at one moment, and the next one.
    async fn look(&mut self, now: Now) -> Result<(), Trouble> {
        for running in &mut self.channels.running {
            running.held.lift(now.boot);
        }
        self.count_down(now).await?;
        self.channels.unmuted_at = None;
        self.channels.post_at = None;
        for name in self.channels.names() {
            for notice in self.store.due_notices(name, now).await? {
                let target = Target(notice.target.clone());
                let reply_to = notice.reply_to.clone().map(Address);
                let errand = Errand::Notice { id: notice.id };
                match serde_json::from_str(&notice.body) {
                    Ok(body) => self.give(name, target, errand, task_of(body, reply_to)),
                    Err(_) => self.store.drop_notice(notice.id, "unreadable", now).await?,
                };
            }
            let next = self.store.next_post_time(name, now).await?;
            let next = next.map(|next| in_boot_time(next, now));
            self.channels.post_at = [self.channels.post_at, next].into_iter().flatten().min();
            if !self.channels.takes_something(name) {
                continue;
            }
            for due in self.store.due_posts(name, now).await? {
                let target = Target(due.post.target.clone());
                if due.post.address.is_none() && !self.may_post(name, &due, now).await? {
                    continue;
                }
                let errand = Errand::Post { id: due.post.id, wanted: due.post.wanted };
                let task = self.task_for(&due);
                self.give(name, target, errand, task);
            }
        }
        Ok(())
    }

    /// Whether a prompt may appear in a chat now that has not been there before.
    async fn may_post(&mut self, name: &str, due: &DuePost, now: Now) -> Result<bool, Trouble> {
        let muted = self.store.chat_state(name, &due.post.target, MUTED_UNTIL).await?;
        let until = muted.and_then(|until| until.parse().ok()).map(Timestamp);
        let until = until.filter(|until| *until > now.wall);
        let first = [self.channels.unmuted_at, until.map(|until| in_boot_time(until, now))];
        self.channels.unmuted_at = first.into_iter().flatten().min();
        Ok(until.is_none())
    }

    fn task_for(&self, due: &DuePost) -> Task {
        let mut card = self.card(&due.prompt, &due.session, due.reply.as_ref());
        card.level = due.post.level.max(if self.settings.show_detail { 2 } else { 0 });
        card.is_replaced = due.is_replaced();
        if let Some(answered) = &mut card.answered
            && let Some(name) = self.names.get(&answered.by).filter(|name| !name.is_empty())
        {
            answered.by = format!("{name} ({})", answered.by);
        }
        card.nonce = due.post.nonce;
        match &due.post.address {
            None => Task::Post(card),
            Some(address) => Task::Edit { address: Address(address.clone()), card },
        }
    }

    fn give(&mut self, name: &str, target: Target, what: Errand, task: Task) {
        self.channels.next_job += 1;
        let job = JobNo(self.channels.next_job);
        let Some(running) = self.channels.find(name) else {
            return;
        };
        if !running.takes(&target) {
            return;
        }
        pause::point("hub-before-task");
        let outgoing = Outgoing { job, target: target.clone(), task };
        // A full mailbox: the next task that is done asks again.
        if running.handle.tasks.try_send(outgoing).is_ok() {
            running.busy.insert(target, UnderWay { job, what });
        }
    }

    async fn task_done(
        &mut self,
        name: &str,
        job: JobNo,
        target: &Target,
        done: Done,
    ) -> Result<(), Trouble> {
        let Some(running) = self.channels.find(name) else {
            return Ok(());
        };
        let Some(UnderWay { what, .. }) = running.busy.get(target).copied().filter(|busy| busy.job == job)
        else {
            return Ok(());
        };
        running.busy.remove(target);
        let now = clock::now();
        match &done {
            Done::NotShown(Undelivered::Later { after }) => {
                // Rounded up: too early would be told to come later once more.
                let millis = after.as_micros().div_ceil(1_000);
                let until = now.boot.plus_millis(millis.try_into().unwrap_or(i64::MAX));
                running.held.hold(target.clone(), until);
            }
            Done::Shown { .. } | Done::NotShown(Undelivered::Never { .. }) => {
                running.held.free(target);
            }
        }
        self.channels.is_due = true;
        pause::point("hub-before-task-done");
        match (what, done) {
            (Errand::Post { id, wanted }, Done::Shown { address: Some(address) }) => {
                self.store.posted(id, &address.0, wanted, now).await?;
                self.channels.count_down_from(now.boot);
            }
            (Errand::Post { id, wanted }, Done::Shown { address: None }) => {
                self.store.edited(id, wanted, now).await?;
                // What was behind when time was last shown may have been all there was.
                self.channels.count_down_from(now.boot);
            }
            (Errand::Notice { id }, Done::Shown { .. }) => self.store.notice_sent(id, now).await?,
            // It stays due; its target is held.
            (_, Done::NotShown(Undelivered::Later { .. })) => {}
            (Errand::Post { id, .. }, Done::NotShown(Undelivered::Never { why })) => {
                tracing::warn!(channel = name, %why, "a prompt could not be shown");
                self.store.drop_post(id, &why, now).await?;
            }
            (Errand::Notice { id }, Done::NotShown(Undelivered::Never { why })) => {
                tracing::warn!(channel = name, %why, "a message could not be sent");
                self.store.drop_notice(id, &why, now).await?;
            }
        }
        pause::point("hub-after-task-done");
        Ok(())
    }

    async fn count_down(&mut self, now: Now) -> Result<(), Trouble> {
        if self.channels.countdown_at.is_none_or(|at| at > now.boot) {
            return Ok(());
        }
        let mut waiting = 0;
        for name in self.channels.names() {
            waiting += self.store.touch_waiting(name, now).await?;
        }
        self.channels.countdown_at =
            (waiting > 0).then(|| now.boot.plus_millis(COUNTDOWN.as_millis() as i64));
        Ok(())
    }

    /// Says something to every target of the channels that want to hear it.
    pub(crate) async fn notify_all(
        &mut self,
        wants: impl Fn(&ChannelStart) -> bool,
        notice: &Notice,
    ) -> Result<(), Trouble> {
        let channels: Vec<(&'static str, Vec<Target>)> = self
            .channels
            .running
            .iter()
            .filter(|running| wants(&running.start))
            .map(|running| (running.start.name, running.handle.targets.clone()))
            .collect();
        for (name, targets) in channels {
            for target in targets {
                let notice = new_notice(name, &target, &Body::from(notice), None);
                self.store.notify(notice, clock::now()).await?;
            }
        }
        Ok(())
    }
}

impl Hub {
    /// What everybody is told when a session is paused: with the answer that did it, or not at all.
    pub(crate) async fn notices_of_pause(&self, session: SessionId) -> Result<Vec<NewNotice>, Trouble> {
        let Some(session) = self.store.session(session).await? else {
            return Ok(Vec::new());
        };
        let body = Body::from(&words::paused(&session));
        let notices = self.channels.running.iter().flat_map(|running| {
            let targets = running.handle.targets.iter();
            targets.map(|target| new_notice(running.start.name, target, &body, None))
        });
        Ok(notices.collect())
    }
}

/// A moment of the wall clock on the clock that does not jump; one that has passed is now.
fn in_boot_time(at: Timestamp, now: Now) -> BootTime {
    now.boot.plus_millis(at.0.saturating_sub(now.wall.0).max(0))
}

pub(crate) fn new_notice(
    channel: &str,
    target: &Target,
    body: &Body,
    reply_to: Option<&Address>,
) -> NewNotice {
    NewNotice {
        channel: channel.to_owned(),
        target: target.0.clone(),
        body: serde_json::to_string(body).expect("strings and lists are always JSON"),
        reply_to: reply_to.map(|address| address.0.clone()),
        session: None,
        not_before: None,
    }
}

fn task_of(body: Body, reply_to: Option<Address>) -> Task {
    match body {
        Body::File { name, text } => Task::File { name, text, reply_to },
        Body::Notice { blocks, buttons } => Task::Notify {
            notice: Notice {
                blocks: blocks
                    .into_iter()
                    .map(|(voice, text)| match voice {
                        Voice::Ours => Block::Ours(text),
                        Voice::Program => Block::Program(text),
                    })
                    .collect(),
                buttons: buttons
                    .into_iter()
                    .map(|row| row.into_iter().map(|(label, token)| Button { label, token }).collect())
                    .collect(),
            },
            reply_to,
        },
    }
}

impl From<&Notice> for Body {
    fn from(notice: &Notice) -> Self {
        let block = |block: &Block| match block {
            Block::Ours(text) => (Voice::Ours, text.clone()),
            Block::Program(text) => (Voice::Program, text.clone()),
        };
        let button = |button: &Button| (button.label.clone(), button.token.clone());
        Body::Notice {
            blocks: notice.blocks.iter().map(block).collect(),
            buttons: notice.buttons.iter().map(|row| row.iter().map(button).collect()).collect(),
        }
    }
}
