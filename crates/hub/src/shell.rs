//! The loop: one task owns the engine and everything outside it; whatever else runs sends it inputs.
//!
//! Next input → the event that it is → [`Engine::happen`] → what is to be shown anew. Nothing is decided here.

mod chats;
mod open_channels;
mod outside;
mod page;
mod requests;
mod sessions;

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use atlasbridge_channel::Inbound;
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::{BootTime, SessionId};
use atlasbridge_store::{NewNotice, Recovery, Store, StoreConfig};
use atlasbridge_web::questions::Ask;
use atlasbridge_wire::command::{Request, Response};
use atlasbridge_wire::session::{FromSession, SessionInfo, ToSession};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use self::open_channels::OpenChannels;
pub use self::open_channels::{ChannelFuture, ChannelStart, ChannelStarter};
use self::outside::Outside;
use self::page::Page;
use crate::clock::{self, Alarm};
use crate::core::Core;
use crate::core::acts::Event;
use crate::decide::{Actor, Decision, Matter};
use crate::desks::Way;
use crate::engine::{Engine, Trouble};
use crate::listener::{self, Identity};
use crate::peer::Peer;
use crate::registry::{ConnectionNo, Registry};
use crate::{HubConfig, HubError, ReadSettings, Settings};

/// Inputs that wait for the loop. Senders wait when it is full: back-pressure down to the sockets.
const MAILBOX: usize = 256;
/// After a record that could not be made: how long before it is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Before an end in trouble: so long may those who wait take to hear of it.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// A part that failed is started again after this, so often; then `status` says so.
const RESTART_AFTER: Duration = Duration::from_secs(1);
const RESTARTS: u32 = 3;

/// Everything that can reach a hub.
#[derive(Debug)]
pub(crate) enum Input {
    /// A session host has connected.
    SessionUp { no: ConnectionNo, info: SessionInfo, peer_pid: i32, mailbox: mpsc::Sender<ToSession> },
    /// A session host says something.
    SessionSaid { no: ConnectionNo, message: FromSession },
    /// The connection of a session host is gone.
    SessionDown { no: ConnectionNo },
    /// The process of a session host has ended.
    HostEnded { session: SessionId },
    /// A command asks.
    Asked { request: Request, peer: Arc<Peer>, respond: mpsc::Sender<Response> },
    /// A channel says something.
    Channel { name: &'static str, inbound: Inbound },
    /// The worker of a channel has ended.
    ChannelEnded { name: &'static str },
    /// It is time to start a channel again.
    ChannelRestart { name: &'static str },
    /// A chat is to be told something: the screen that it asked for, or that its host did not tell it.
    Say(NewNotice),
    /// The page asks.
    Page(Ask),
    /// The page's server has ended by itself: the one of this number.
    PageEnded { no: u64 },
    /// It is time to serve the page again.
    PageRestart { no: u64 },
}

pub(crate) struct Hub {
    engine: Engine,
    outside: Outside,
    identity: Arc<Identity>,
    read_settings: ReadSettings,
    started_at: i64,
    inputs: mpsc::Sender<Input>,
    page: Page,
    /// Where the store is: `audit verify` looks at it beside us.
    files: StoreConfig,
    /// The list of open prompts, for whoever watches it: the latest, however slow they read.
    pictures: watch::Sender<Response>,
    /// Why remote answers are refused at the moment.
    trouble: Option<String>,
    is_stopping: bool,
    alarm: Alarm,
    /// Deadlines are not looked at before this, after a failure.
    not_before: BootTime,
    /// What page and watchers have been shown: the store's count, and that of what is not stored.
    shown: (u64, u64),
}

/// Serves until it is told to stop.
pub async fn serve(config: HubConfig) -> Result<(), HubError> {
    // No debugger, no core dump, no stolen descriptors: the tool runs as the same user as we do.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let mut ready = config.ready;
    let (lock, starting) = match listener::lock(&config.lock) {
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
    let files = StoreConfig { database: config.database, audit_log: config.audit_log, boot_id };
    let (store, recovery) = Store::open(files.clone(), started).await?;
    let socket = listener::bind(&config.socket)?;
    drop(starting);
    // Grows with each start on this boot, and the lock admits one hub at a time.
    let identity = Arc::new(Identity { version: config.version, epoch: started.boot.0.max(1) as u64 });
    let (inputs, mailbox) = mpsc::channel(MAILBOX);
    let hub = Hub {
        outside: Outside {
            store: store.clone(),
            registry: Registry::default(),
            channels: OpenChannels::default(),
            ways: HashMap::new(),
            next_caller: 0,
            journals: config.journals,
            rules: config.settings.rules(),
        },
        engine: Engine { core: Core::new(config.settings, identity.epoch), store },
        identity: identity.clone(),
        read_settings: config.reload,
        started_at: started.wall.0,
        inputs: inputs.clone(),
        page: Page::default(),
        files,
        pictures: watch::Sender::new(Response::Approvals { prompts: Vec::new() }),
        trouble: None,
        is_stopping: false,
        alarm: Alarm::new().map_err(HubError::Runtime)?,
        not_before: BootTime(0),
        shown: (0, 0),
    };
    tokio::spawn(listener::listen(socket, identity, inputs));
    let result = hub.run(mailbox, recovery, ready).await;
    // Released last: the next hub must find the store closed.
    let _ = std::fs::remove_file(&config.socket);
    drop(lock);
    result
}

impl Hub {
    async fn run(
        mut self,
        mut mailbox: mpsc::Receiver<Input>,
        recovery: Recovery,
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
        if let Some(mut ready) = ready {
            let _ = writeln!(ready, "{}", std::process::id());
        }
        while !self.is_stopping {
            self.show_what_is_new().await;
            self.set_alarm().await;
            let writes = self.engine.store.writes();
            let result = tokio::select! {
                input = mailbox.recv() => match input {
                    Some(input) => self.handle(input).await,
                    None => break,
                },
                () = self.alarm.rings() => self.happen(Event::Moment).await,
                _ = hang_up.recv() => self.reload().await,
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            };
            match result {
                Ok(()) if self.engine.store.writes() != writes => self.trouble = None,
                Ok(()) => {}
                Err(error) => self.in_trouble(&error).await?,
            }
        }
        let now = clock::now();
        let _ = self.engine.store.audit(AuditEvent::new(EventName::HubStop), now).await;
        let Hub { engine, outside, .. } = self;
        drop(outside);
        let _ = engine.store.close().await;
        Ok(())
    }

    /// Says what could not be done; whatever it was is tried again. Only a store that is lost ends the hub.
    async fn in_trouble(&mut self, error: &Trouble) -> Result<(), HubError> {
        let reason = chain(error);
        tracing::error!(error = %reason, "could not be recorded, so it was not done");
        if error.is_store_lost() {
            tokio::time::sleep(LAST_WORDS).await;
            return Err(HubError::StoreLost);
        }
        self.trouble = Some(reason);
        self.not_before = clock::now().boot.plus_millis(RETRY.as_millis() as i64);
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
        let store = &self.engine.store;
        store
            .audit(AuditEvent { value: Some(value), ..AuditEvent::new(EventName::HubStart) }, clock::now())
            .await?;
        let settings = self.engine.core.settings.clone();
        let kept_since = clock::now().wall.plus_millis(-(settings.retention.as_millis() as i64));
        let forgotten = store.forget_ended_before(kept_since, clock::now()).await?;
        if forgotten > 0 {
            tracing::info!(sessions = forgotten, "old sessions were forgotten");
        }
        let active = store.active_sessions().await?;
        for session in &active {
            self.watch_host(session);
        }
        let sessions = active.iter().map(|session| session.id).collect();
        self.happen(Event::Started { sessions }).await?;
        self.open(settings).await
    }

    /// Serves the page and the channels as configured now.
    async fn open(&mut self, settings: Settings) -> Result<(), Trouble> {
        self.set_page(settings.page);
        self.set_channels(settings.channels).await
    }

    pub(crate) async fn happen(&mut self, event: Event) -> Result<(), Trouble> {
        self.engine.happen(event, &mut self.outside).await
    }

    /// Somebody decides, perhaps in answer to a question of ours. `way`: where they wait for the verdict; it is closed if
    /// there can be none.
    async fn decide(
        &mut self,
        by: Actor,
        matter: Matter,
        spent: Option<String>,
        way: Option<Way>,
    ) -> Result<(), Trouble> {
        let caller = way.map(|way| self.outside.caller(way));
        let decision = Decision { by, matter, caller, spent };
        let result = self.happen(Event::Decided(Box::new(decision))).await;
        if let (Err(_), Some(caller)) = (&result, caller) {
            // There will be no verdict: whoever waits hears that by the end of their way.
            self.outside.ways.remove(&caller);
        }
        result
    }

    /// Whatever was written since the last time is shown: messages, page, watchers. Nobody has to say so.
    async fn show_what_is_new(&mut self) {
        let mut result = self.engine.look(&mut self.outside).await;
        let now = (self.engine.store.visible_writes(), self.outside.changes());
        if self.shown != now {
            self.shown = now;
            self.page.changed();
            if self.pictures.receiver_count() > 0 {
                match self.approvals().await {
                    Ok(picture) => drop(self.pictures.send_replace(picture)),
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        if let Err(error) = result {
            tracing::error!(error = %chain(&error), "what is new cannot be shown");
            self.not_before = clock::now().boot.plus_millis(RETRY.as_millis() as i64);
        }
    }

    async fn handle(&mut self, input: Input) -> Result<(), Trouble> {
        match input {
            Input::SessionUp { no, info, peer_pid, mailbox } => {
                let result = self.session_up(no, info, peer_pid, mailbox.clone()).await;
                self.hang_up_if_broken(no, mailbox, result)
            }
            Input::SessionSaid { no, message } => {
                let Some((session, mailbox)) = self.outside.registry.connection(no) else { return Ok(()) };
                let result = self.session_said(session, message).await;
                self.hang_up_if_broken(no, mailbox, result)
            }
            Input::SessionDown { no } => self.session_down(no).await,
            Input::HostEnded { session } if self.outside.registry.host_ended(session) => {
                self.host_lost(session).await
            }
            Input::HostEnded { .. } => Ok(()),
            Input::Asked { request, peer, respond } => {
                let result = self.asked(request, &peer, respond.clone()).await;
                if let Err(error) = &result {
                    let _ = respond.try_send(Response::Failed { reason: chain(error) });
                }
                result
            }
            Input::Channel { name, inbound } => self.channel_said(name, inbound).await,
            Input::ChannelRestart { name } => self.channel_restart(name).await,
            Input::Say(notice) => self.say(notice).await,
            Input::Page(ask) => self.page_asked(ask).await,
            Input::ChannelEnded { name } => {
                self.channel_ended(name);
                Ok(())
            }
            Input::PageEnded { no } => {
                self.page_ended(no);
                Ok(())
            }
            Input::PageRestart { no } => {
                self.page_restart(no);
                Ok(())
            }
        }
    }

    async fn set_alarm(&mut self) {
        match self.engine.store.next_deadline().await {
            Ok(deadline) => {
                let next = deadline.into_iter().chain(self.engine.core.next_time()).min();
                let _ = self.alarm.set(next.map(|next| next.max(self.not_before)));
            }
            Err(error) => {
                tracing::error!(error = %chain(&error), "deadlines cannot be read");
                // Read again soon: a deadline that nobody knows of would pass unheard.
                let _ = self.alarm.set(Some(clock::now().boot.plus_millis(RETRY.as_millis() as i64)));
            }
        }
    }

    async fn reload(&mut self) -> Result<(), Trouble> {
        let value = match (self.read_settings)() {
            Ok(settings) => {
                self.outside.rules = settings.rules();
                self.engine.core.settings = settings.clone();
                self.open(settings).await?;
                "ok".to_owned()
            }
            Err(reason) => {
                tracing::error!(%reason, "the configuration is broken; the old settings stay");
                format!("refused, the old settings stay: {reason}")
            }
        };
        let event = AuditEvent { value: Some(value), ..AuditEvent::new(EventName::ConfigReloaded) };
        Ok(self.engine.store.audit(event, clock::now()).await?)
    }

    /// Sends an input later.
    fn send_later(&self, after: Duration, input: Input) {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let _ = inputs.send(input).await;
        });
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
