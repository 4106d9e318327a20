//! The loop: one task owns the store's handle, the registry and the timer; everything else sends it events.
//!
//! Every decision is recorded before it is acted on: a store call that fails stops the effect that would follow.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_channel::{Address, Inbound, Target};
use atlasbridge_model::answer::{Source, default_value};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::Do;
use atlasbridge_model::{BootTime, Kind, PromptId, ReplyId, SessionId};
use atlasbridge_store::{
    Advance, Moved, PromptRecord, Recovery, SessionRecord, Store, StoreConfig, StoreError,
};
use atlasbridge_web::desk::Ask;
use atlasbridge_wire::command::{Request, Response};
use atlasbridge_wire::session::{FromSession, Inject, SessionInfo, ToSession};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::answers::Waiter;
use crate::channels::Channels;
use crate::clock::{self, Alarm};
use crate::listener::{self, Identity, Lock};
use crate::page::Page;
use crate::peer::{self, Peer};
use crate::registry::{ConnectionNo, Registry};
use crate::{HubConfig, HubError, Settings, pause};

/// Events that wait for the loop. Senders wait when it is full: back-pressure down to the sockets.
const MAILBOX: usize = 256;
/// After a record that could not be made: how long before it is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Before an end in trouble: so long may those who wait take to hear of it.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Everything that can happen to a hub.
#[derive(Debug)]
pub(crate) enum Event {
    SessionUp {
        no: ConnectionNo,
        info: SessionInfo,
        peer_pid: i32,
        mailbox: mpsc::Sender<ToSession>,
    },
    SessionSaid {
        no: ConnectionNo,
        message: FromSession,
    },
    SessionDown {
        no: ConnectionNo,
    },
    /// The process of a session host has ended.
    HostEnded {
        session: SessionId,
    },
    Asked {
        request: Request,
        peer: Arc<Peer>,
        respond: mpsc::Sender<Response>,
    },
    /// Somebody has waited long enough for the end of a prompt.
    WaitedEnough {
        prompt: PromptId,
    },
    Channel {
        name: &'static str,
        inbound: Inbound,
    },
    /// The worker of a channel has ended.
    ChannelEnded {
        name: &'static str,
    },
    ChannelRestart {
        name: &'static str,
    },
    /// A screen that a chat asked for, or that its host did not tell.
    ScreenCame {
        channel: &'static str,
        target: Target,
        session: SessionId,
        text: Option<String>,
        reply_to: Option<Address>,
    },
    Page(Ask),
    /// The page's server has ended by itself: the one of this number.
    PageEnded {
        no: u64,
    },
    PageRestart {
        no: u64,
    },
}

pub(crate) struct Hub {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) settings: Settings,
    pub(crate) identity: Arc<Identity>,
    pub(crate) boot_id: String,
    pub(crate) started_at: i64,
    pub(crate) events: mpsc::Sender<Event>,
    /// Those who wait for the end of a prompt.
    pub(crate) waiting: HashMap<PromptId, Vec<Waiter>>,
    pub(crate) channels: Channels,
    /// How people on channels call themselves, by the id on record; learnt anew by each hub.
    pub(crate) names: HashMap<String, String>,
    pub(crate) page: Page,
    pub(crate) files: Files,
    /// The list of open prompts, for whoever watches it: the latest, however slow they read.
    pub(crate) pictures: watch::Sender<Response>,
    /// Why remote answers are refused at the moment.
    pub(crate) trouble: Option<String>,
    pub(crate) journals: std::path::PathBuf,
    pub(crate) is_stopping: bool,
    alarm: Alarm,
    /// Deadlines are not looked at before this, after a failure.
    not_before: BootTime,
}

/// What `audit verify` looks at.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) database: std::path::PathBuf,
    pub(crate) audit_log: std::path::PathBuf,
}

/// What could not be done. The loop says so and goes on; a store that is lost ends the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An answer could neither be accepted nor refused.
    #[error("nothing was typed")]
    Answer(#[source] StoreError),
    /// A kernel without randomness: then nothing is decided.
    #[error("the kernel gives no random bytes ({0})")]
    NoRandomness(String),
}

impl Trouble {
    fn is_store_lost(&self) -> bool {
        match self {
            Trouble::Store(error) | Trouble::Answer(error) => error.is_store_lost(),
            Trouble::NoRandomness(_) => false,
        }
    }
}

/// Serves until it is told to stop.
pub async fn serve(config: HubConfig) -> Result<(), HubError> {
    // No debugger, no core dump, no stolen descriptors: the tool runs as the same user as we do.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let mut ready = config.ready;
    let (lock, starting) = match Lock::take(&config.lock) {
        Ok(held) => held,
        Err(error) => {
            if let (HubError::AlreadyRunning { .. }, Some(ready)) = (&error, &mut ready) {
                let _ = writeln!(ready, "0");
            }
            return Err(error);
        }
    };
    let started = clock::now();
    let boot_id = clock::boot_id().map_err(HubError::BootId)?;
    let files = Files { database: config.database.clone(), audit_log: config.audit_log.clone() };
    let (store, recovery) = Store::open(
        StoreConfig { database: config.database, audit_log: config.audit_log, boot_id: boot_id.clone() },
        started,
    )
    .await?;
    let socket = listener::bind(&config.socket)?;
    drop(starting);
    // Grows with each start on this boot, and the lock admits one hub at a time.
    let identity = Arc::new(Identity { version: config.version, epoch: started.boot.0.max(1) as u64 });
    let (events, mailbox) = mpsc::channel(MAILBOX);
    let hub = Hub {
        store,
        registry: Registry::default(),
        settings: config.settings,
        identity: identity.clone(),
        boot_id,
        started_at: started.wall.0,
        events: events.clone(),
        waiting: HashMap::new(),
        channels: Channels::default(),
        names: HashMap::new(),
        page: Page::default(),
        files,
        pictures: watch::Sender::new(Response::Approvals { prompts: Vec::new() }),
        trouble: None,
        journals: config.journals,
        is_stopping: false,
        alarm: Alarm::new().map_err(HubError::Runtime)?,
        not_before: BootTime(0),
    };
    tokio::spawn(listener::listen(socket, identity, events));
    let result = hub.run(mailbox, recovery, &config.reload, ready).await;
    // Released last: the next hub must find the store closed.
    let _ = std::fs::remove_file(&config.socket);
    drop(lock);
    result
}

impl Hub {
    async fn run(
        mut self,
        mut mailbox: mpsc::Receiver<Event>,
        recovery: Recovery,
        reload: &(dyn Fn() -> Result<Settings, String> + Send),
        ready: Option<std::fs::File>,
    ) -> Result<(), HubError> {
        let broken_signal = HubError::Runtime;
        let mut terminate = signal(SignalKind::terminate()).map_err(broken_signal)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(broken_signal)?;
        let mut hang_up = signal(SignalKind::hangup()).map_err(broken_signal)?;
        self.start(&recovery).await.map_err(|error| {
            tracing::error!(error = %chain(&error), "the start could not be recorded");
            HubError::StoreLost
        })?;
        let opened = self.open_channels(self.settings.clone()).await;
        if let Err(error) = opened {
            tracing::error!(error = %chain(&error), "the channels could not be started");
            return Err(HubError::StoreLost);
        }
        if let Some(mut ready) = ready {
            let _ = writeln!(ready, "{}", std::process::id());
        }
        while !self.is_stopping {
            if let Err(error) = self.feed_channels().await {
                tracing::error!(error = %chain(&error), "channels cannot be told");
                self.not_before = clock::now().boot.plus_millis(RETRY.as_millis() as i64);
            }
            self.set_alarm().await;
            let result = tokio::select! {
                event = mailbox.recv() => match event {
                    Some(event) => self.handle(event).await,
                    None => break,
                },
                () = self.alarm.rings() => self.expire().await,
                _ = hang_up.recv() => self.reload(reload).await,
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            };
            if let Err(error) = result {
                let reason = chain(&error);
                tracing::error!(error = %reason, "could not be recorded, so it was not done");
                if error.is_store_lost() {
                    tokio::time::sleep(LAST_WORDS).await;
                    return Err(HubError::StoreLost);
                }
                self.trouble = Some(reason);
                self.not_before = clock::now().boot.plus_millis(RETRY.as_millis() as i64);
            }
        }
        let now = clock::now();
        let _ = self.store.audit(AuditEvent::new(EventName::HubStop), now).await;
        let _ = self.store.close().await;
        Ok(())
    }

    /// Puts the start on record, and finds out which session hosts survived the hub before us.
    async fn start(&mut self, recovery: &Recovery) -> Result<(), Trouble> {
        let said = recovery.to_string();
        if !said.is_empty() {
            tracing::warn!(recovered = %said, "the store was repaired");
        }
        let value =
            format!("version {}{}{said}", self.identity.version, if said.is_empty() { "" } else { "; " });
        self.store
            .audit(AuditEvent { value: Some(value), ..AuditEvent::new(EventName::HubStart) }, clock::now())
            .await?;
        let kept_since = clock::now().wall.plus_millis(-(self.settings.retention.as_millis() as i64));
        let forgotten = self.store.forget_ended_before(kept_since, clock::now()).await?;
        if forgotten > 0 {
            tracing::info!(sessions = forgotten, "old sessions were forgotten");
        }
        for session in self.store.active_sessions().await? {
            self.watch_host(&session);
            // A hub that was killed between the end of a prompt and the turn of the next.
            self.store.promote_next(session.id, clock::now()).await?;
            // Or between a text and the prompt that takes it.
            self.send_if_idle(session.id).await?;
        }
        self.settle_texts().await
    }

    async fn open_channels(&mut self, settings: Settings) -> Result<(), Trouble> {
        self.set_page(settings.page);
        self.set_channels(settings.channels).await
    }

    /// Sends an event when the host's process ends; at once if it has ended, or if its boot is over.
    pub(crate) fn watch_host(&mut self, session: &SessionRecord) {
        let (id, pid, start) = (session.id, session.host_pid, session.host_started);
        let is_same_boot = session.boot_id == self.boot_id;
        self.registry.host_runs(id, pid);
        let events = self.events.clone();
        tokio::spawn(async move {
            if is_same_boot {
                peer::wait_for_end(pid, start).await;
            }
            let _ = events.send(Event::HostEnded { session: id }).await;
        });
    }

    async fn handle(&mut self, event: Event) -> Result<(), Trouble> {
        match event {
            Event::SessionUp { no, info, peer_pid, mailbox } => {
                let result = self.session_up(no, info, peer_pid, mailbox.clone()).await;
                self.hang_up_if_broken(no, mailbox, result)
            }
            Event::SessionSaid { no, message } => {
                let Some((session, mailbox)) = self.registry.connection(no) else {
                    return Ok(());
                };
                let result = self.session_said(session, message).await;
                self.hang_up_if_broken(no, mailbox, result)
            }
            Event::SessionDown { no } => match self.registry.disconnect(no) {
                Some(session) if self.registry.was_waited_for(session) => self.host_ended(session).await,
                Some(_) | None => Ok(()),
            },
            Event::HostEnded { session } => match self.registry.host_ended(session) {
                true => self.host_ended(session).await,
                false => Ok(()),
            },
            Event::Asked { request, peer, respond } => {
                let result = self.asked(request, &peer, respond.clone()).await;
                if let Err(error) = &result {
                    let _ = respond.try_send(Response::Failed { reason: chain(error) });
                }
                result
            }
            Event::WaitedEnough { prompt } => self.answer_waiting(prompt).await,
            Event::Channel { name, inbound } => self.channel_said(name, inbound).await,
            Event::ChannelEnded { name } => self.channel_ended(name).await,
            Event::ChannelRestart { name } => self.channel_restart(name).await,
            Event::ScreenCame { channel, target, session, text, reply_to } => {
                self.screen_came(channel, &target, session, text.as_deref(), reply_to.as_ref()).await
            }
            Event::Page(ask) => self.page_asked(ask).await,
            Event::PageEnded { no } => {
                self.page_ended(no);
                Ok(())
            }
            Event::PageRestart { no } => {
                self.page_restart(no);
                Ok(())
            }
        }
    }

    /// # Nothing-skipped invariant
    /// A report that could not be recorded is not thanked for, and nothing that was reported after it is heard: the
    /// host would take thanks for a later one as thanks for all. It connects again, and says it all again.
    fn hang_up_if_broken(
        &mut self,
        no: ConnectionNo,
        mailbox: mpsc::Sender<ToSession>,
        result: Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        if result.is_err() {
            self.registry.disconnect(no);
            tokio::spawn(async move {
                tokio::time::sleep(RETRY).await;
                drop(mailbox);
            });
        }
        result
    }

    async fn set_alarm(&mut self) {
        match self.next_deadline().await {
            Ok(deadline) => drop(self.alarm.set(deadline.map(|deadline| deadline.max(self.not_before)))),
            Err(error) => {
                tracing::error!(error = %chain(&error), "deadlines cannot be read");
                // Read again soon: a deadline that nobody knows of would pass unheard.
                let _ = self.alarm.set(Some(clock::now().boot.plus_millis(RETRY.as_millis() as i64)));
            }
        }
    }

    async fn next_deadline(&self) -> Result<Option<BootTime>, Trouble> {
        let deadlines = [self.store.next_deadline().await?, self.channels.next_time()];
        Ok(deadlines.into_iter().flatten().min())
    }

    /// Time is up for some prompts: the safe default of each contends as any answer does.
    async fn expire(&mut self) -> Result<(), Trouble> {
        for prompt in self.store.due(clock::now()).await? {
            self.expire_one(&prompt).await?;
        }
        Ok(())
    }

    pub(crate) async fn expire_one(&mut self, prompt: &PromptRecord) -> Result<(), Trouble> {
        let fallback = default_value(&prompt.sighting)
            .ok()
            .filter(|_| self.takes_default(prompt.sighting.kind))
            .map(|value| Ok::<_, Trouble>((ReplyId::from_random(random()?), value)))
            .transpose()?;
        pause::point("hub-before-expire");
        match self.store.expire(prompt.id, fallback, clock::now()).await? {
            Advance::Moved(moved) => self.perform(moved).await,
            Advance::Refused(_) => Ok(()),
        }
    }

    fn takes_default(&self, kind: Kind) -> bool {
        let defaults = self.settings.defaults;
        match kind {
            Kind::YesNo => defaults.yes_no,
            Kind::ConfirmEnter => defaults.confirm_enter,
            Kind::MultipleChoice => defaults.multiple_choice,
            Kind::FreeText => defaults.free_text,
            Kind::Password | Kind::Idle | Kind::Unknown => false,
        }
    }

    /// Does what the lifecycle asks for, now that the move is on record.
    pub(crate) async fn perform(&mut self, moved: Moved) -> Result<(), Trouble> {
        let Moved { prompt, effects } = moved;
        self.trouble = None;
        tracing::info!(session = %prompt.session, prompt = %prompt.id, status = prompt.state.status(),
            reason = prompt.state.reason(), "prompt moved");
        for effect in effects {
            match effect {
                Do::Deliver(_) => self.deliver(prompt.session).await?,
                // The move has asked for it in its own transaction; the loop feeds the channels before it waits.
                Do::Tell => {}
                Do::Alarm => tracing::warn!(session = %prompt.session, prompt = %prompt.id,
                    "answered though neither the keyboard nor AtlasBridge typed anything"),
                Do::PromoteNext => {
                    let next = self.store.promote_next(prompt.session, clock::now()).await?;
                    if let Some(next) = next.filter(|next| next.sighting.kind == Kind::Idle) {
                        Box::pin(self.send_queued_text(&next)).await?;
                    }
                }
            }
        }
        if prompt.state.is_over() {
            self.answer_waiting(prompt.id).await?;
            if prompt.sighting.kind == Kind::Idle {
                self.settle_texts().await?;
            }
        }
        self.tell_watchers().await
    }

    /// Sends every reply that the session's host has not acknowledged; it answers repeats from memory.
    pub(crate) async fn deliver(&mut self, session: SessionId) -> Result<(), Trouble> {
        pause::point("hub-before-deliver");
        for delivery in self.store.undelivered(session).await? {
            let reply = delivery.reply;
            let value = reply.value.as_ref().or_else(|| self.registry.secret(reply.id));
            let is_default = matches!(reply.source, Source::Timeout);
            let inject = Inject {
                reply_id: reply.id.to_string(),
                prompt_id: delivery.prompt.id.to_string(),
                sighting: delivery.prompt.sighting.no.0,
                fingerprint: delivery.prompt.sighting.fingerprint.to_string(),
                epoch: self.identity.epoch,
                deadline: delivery.prompt.deadline.filter(|_| !is_default).map(|deadline| deadline.0),
                by_silence: is_default,
                value: value.map(Into::into),
            };
            self.registry.send(session, ToSession::Inject(inject));
        }
        pause::point("hub-after-deliver");
        Ok(())
    }

    async fn reload(
        &mut self,
        reload: &(dyn Fn() -> Result<Settings, String> + Send),
    ) -> Result<(), Trouble> {
        let value = match reload() {
            Ok(settings) => {
                self.settings = settings.clone();
                self.open_channels(settings).await?;
                "ok".to_owned()
            }
            Err(reason) => {
                tracing::error!(%reason, "the configuration is broken; the old settings stay");
                format!("refused, the old settings stay: {reason}")
            }
        };
        let event = AuditEvent { value: Some(value), ..AuditEvent::new(EventName::ConfigReloaded) };
        Ok(self.store.audit(event, clock::now()).await?)
    }
}

/// Random bytes for ids and nonces.
pub(crate) fn random() -> Result<[u8; 16], Trouble> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Trouble::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
