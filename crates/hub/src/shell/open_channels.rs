//! The channels that run: their workers, how they are, and starting them again.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_channel::{Done, Handle, Health, Inbound, Outgoing, Undelivered};
use atlasbridge_wire::command::ChannelView;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Hub, Input, RESTART_AFTER, RESTARTS};
use crate::core::acts::Event;
use crate::core::channels::Subscription;
use crate::engine::Trouble;
use crate::{clock, pause};

/// What a channel says and the loop has not heard yet. A full one makes the channel wait.
const MAILBOX: usize = 64;
/// After this a channel's own mailbox that was full is tried again.
const FULL_FOR: Duration = Duration::from_secs(1);

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

#[derive(Debug)]
struct Running {
    start: ChannelStart,
    handle: Handle,
    health: Health,
    failures: u32,
    worker: JoinHandle<()>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct OpenChannels {
    running: BTreeMap<&'static str, Running>,
    /// How often the health of one was told.
    pub(super) changes: u64,
}

impl OpenChannels {
    /// Hands a task to a channel; if its mailbox is full, it comes back as one that is to come later.
    pub(super) fn give(&mut self, name: &'static str, outgoing: Outgoing) -> Option<Event> {
        pause::point("hub-before-task");
        let running = self.running.get(name);
        let (job, target) = (outgoing.job, outgoing.target.clone());
        let is_given = running.is_some_and(|running| running.handle.tasks.try_send(outgoing).is_ok());
        let done = Done::NotShown(Undelivered::Later { after: FULL_FOR });
        (!is_given).then_some(Event::TaskDone { channel: name, job, target, done })
    }

    pub(super) fn views(&self) -> Vec<ChannelView> {
        let view = |running: &Running| {
            let (state, detail) = match &running.health {
                Health::Starting => ("starting", None),
                Health::Connected => ("connected", None),
                Health::Retrying { why } => ("retrying", Some(why.clone())),
                Health::Stopped { why } => ("stopped", Some(why.clone())),
            };
            let name = running.start.name.to_owned();
            ChannelView { name, state: state.to_owned(), detail, address: None }
        };
        self.running.values().map(view).collect()
    }

    fn set_health(&mut self, name: &str, health: Health) {
        self.changes += 1;
        match &health {
            Health::Connected => tracing::info!(channel = name, "connected"),
            Health::Retrying { why } | Health::Stopped { why } => {
                tracing::warn!(channel = name, %why, "not connected");
            }
            Health::Starting => {}
        }
        if let Some(running) = self.running.get_mut(name) {
            running.health = health;
        }
    }
}

impl Hub {
    /// Starts what is configured, stops what is not, and leaves alone what has not changed.
    pub(super) async fn set_channels(&mut self, wanted: Vec<ChannelStart>) -> Result<(), Trouble> {
        let is_wanted = |running: &Running| {
            wanted
                .iter()
                .any(|start| start.name == running.start.name && start.version == running.start.version)
                // What was wrong with one that stopped may have been mended on the other side.
                && !matches!(running.health, Health::Stopped { .. })
        };
        let running = &mut self.outside.channels.running;
        for (name, unwanted) in running.extract_if(.., |_, running| !is_wanted(running)) {
            unwanted.worker.abort();
            self.engine.core.channels.close(name);
        }
        for start in wanted {
            if !self.outside.channels.running.contains_key(start.name) {
                self.start_channel(start, 0).await?;
            }
        }
        Ok(())
    }

    async fn start_channel(&mut self, start: ChannelStart, failures: u32) -> Result<(), Trouble> {
        let offset = self.engine.store.offset(start.name, clock::now()).await?;
        let (inbound, mut said) = mpsc::channel(MAILBOX);
        let (handle, work) = (start.start)(offset, inbound);
        let (inputs, name) = (self.inputs.clone(), start.name);
        // The worker and what it says end together, and the loop hears of it last.
        let worker = tokio::spawn(async move {
            let work = tokio::spawn(work);
            while let Some(inbound) = said.recv().await {
                if inputs.send(Input::Channel { name, inbound }).await.is_err() {
                    break;
                }
            }
            work.abort();
            let _ = work.await;
            let _ = inputs.send(Input::ChannelEnded { name }).await;
        });
        let subscription = Subscription {
            name,
            targets: handle.targets.clone(),
            notify_start: start.notify_start,
            notify_end: start.notify_end,
        };
        let running = Running { start, handle, health: Health::Starting, failures, worker };
        self.outside.channels.running.insert(name, running);
        self.happen(Event::ChannelOpened(subscription)).await
    }

    /// A channel's worker has ended by itself. Others go on; this one is tried again, a few times.
    pub(super) fn channel_ended(&mut self, name: &'static str) {
        let Some(running) = self.outside.channels.running.get_mut(name) else { return };
        if matches!(running.health, Health::Stopped { .. }) {
            return;
        }
        running.failures += 1;
        tracing::error!(channel = name, failures = running.failures, "a channel failed");
        if running.failures > RESTARTS {
            let why = "it failed again and again; `atlasbridge logs` and the hub's log say why".to_owned();
            self.outside.channels.set_health(name, Health::Stopped { why });
            return;
        }
        self.send_later(RESTART_AFTER, Input::ChannelRestart { name });
    }

    pub(super) async fn channel_restart(&mut self, name: &str) -> Result<(), Trouble> {
        let Some(old) = self.outside.channels.running.remove(name) else { return Ok(()) };
        self.start_channel(old.start, old.failures).await
    }

    pub(super) async fn channel_said(
        &mut self,
        channel: &'static str,
        inbound: Inbound,
    ) -> Result<(), Trouble> {
        match inbound {
            Inbound::Done { job, target, done } => {
                return self.happen(Event::TaskDone { channel, job, target, done }).await;
            }
            Inbound::Update(update) => return self.updated(channel, update).await,
            Inbound::Polled { gap } => return self.happen(Event::Polled { channel, gap }).await,
            Inbound::Health(health) => self.outside.channels.set_health(channel, health),
            Inbound::Ready => self.engine.core.channels.ready(channel),
        }
        Ok(())
    }
}
