//! What session hosts report. Every report may come twice, and is thanked for only once it is on disk.

use std::time::Duration;

use atlasbridge_model::{PromptId, ReplyId, SessionId, Sighting, Timestamp};
use atlasbridge_store::{SessionRecord, SessionStatus};
use atlasbridge_wire::journal::traces;
use atlasbridge_wire::session::{End, FromSession, Report, SessionInfo, ToSession};
use tokio::sync::mpsc;

use super::{Hub, Input, RETRY};
use crate::core::acts::Event;
use crate::engine::Trouble;
use crate::registry::{ConnectionNo, came};
use crate::{clock, peer};

/// Signals that ask a program to end, by their numbers on Linux.
const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

impl Hub {
    /// Sends an input when the host's process ends; at once if it has ended, or if its boot is over.
    pub(super) fn watch_host(&mut self, session: &SessionRecord) {
        let (id, pid, start) = (session.id, session.host_pid, session.host_started);
        let is_same_boot = session.boot_id == self.files.boot_id;
        self.outside.registry.hosts.insert(id, pid);
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            if is_same_boot {
                peer::wait_for_end(pid, start).await;
            }
            let _ = inputs.send(Input::HostEnded { session: id }).await;
        });
    }

    pub(super) async fn session_up(
        &mut self,
        no: ConnectionNo,
        info: SessionInfo,
        peer_pid: i32,
        mailbox: mpsc::Sender<ToSession>,
    ) -> Result<(), Trouble> {
        let Ok(id) = info.session_id.parse::<SessionId>() else { return Ok(()) };
        let Some(host_started) = peer::started(peer_pid) else { return Ok(()) };
        let record = SessionRecord {
            id,
            tool: info.tool,
            command: info.command,
            cwd: info.cwd,
            label: info.label,
            // The kernel's word for the pid, not the peer's.
            host_pid: peer_pid,
            host_started,
            leader_pid: Some(info.leader_pid),
            tool_pid: None,
            boot_id: self.files.boot_id.clone(),
            started_at: Timestamp(info.started_at),
            ended_at: None,
            exit_code: None,
            status: SessionStatus::Active,
            paused_at: None,
        };
        let known = self.engine.store.session(id).await?;
        let is_its_host =
            |known: &SessionRecord| (known.host_pid, known.host_started) == (peer_pid, host_started);
        if !known.as_ref().is_none_or(is_its_host) {
            // A session belongs to the process that began it; an id alone takes nothing over.
            tracing::warn!(session = %id, pid = peer_pid, "another process claimed this session and was turned away");
            return Ok(());
        }
        self.engine.store.begin_session(&record, clock::now()).await?;
        if known.is_none() {
            self.watch_host(&record);
            self.happen(Event::Began(Box::new(record.clone()))).await?;
        }
        self.outside.registry.connect(id, no, mailbox);
        tracing::info!(session = %id, tool = %record.tool, "session connected");
        self.happen(Event::Deliver { session: id }).await
    }

    /// # Nothing-skipped invariant
    /// A report that could not be recorded is not thanked for, and nothing that was reported after it is heard: the
    /// host would take thanks for a later one as thanks for all. It connects again, and says it all again.
    pub(super) fn hang_up_if_broken(
        &mut self,
        no: ConnectionNo,
        mailbox: mpsc::Sender<ToSession>,
        result: Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        if result.is_err() {
            self.outside.registry.disconnect(no);
            tokio::spawn(async move {
                tokio::time::sleep(RETRY).await;
                drop(mailbox);
            });
        }
        result
    }

    pub(super) async fn session_down(&mut self, no: ConnectionNo) -> Result<(), Trouble> {
        match self.outside.registry.disconnect(no) {
            Some(session) if self.outside.registry.ended.remove(&session) => self.host_lost(session).await,
            Some(_) | None => Ok(()),
        }
    }

    pub(super) async fn session_said(
        &mut self,
        session: SessionId,
        message: FromSession,
    ) -> Result<(), Trouble> {
        let registry = &mut self.outside.registry;
        match message {
            FromSession::Report { n, report } => {
                self.report(session, report).await?;
                self.outside.registry.send(session, ToSession::Noted { n });
            }
            FromSession::Health(health) => came(&mut registry.health, health.asked, health),
            FromSession::Picture(change) => registry.picture_came(session, change.into()),
            FromSession::ScreenText { asked, text } => came(&mut registry.texts, asked, text),
            FromSession::Lines { asked, lines } => came(&mut registry.lines, asked, lines),
            FromSession::TypingDone { typing_id, outcome } => came(&mut registry.typings, typing_id, outcome),
            // `Begin` is said once per connection, before this.
            FromSession::Begin(_) | FromSession::Unknown => {}
        }
        Ok(())
    }

    async fn report(&mut self, session: SessionId, report: Report) -> Result<(), Trouble> {
        let event = match report {
            Report::ToolStarted { pid } => {
                return Ok(self.engine.store.set_tool_pid(session, pid, clock::now()).await?);
            }
            Report::Sighted { sighting, typed_ms_ago } => match Sighting::try_from(sighting) {
                Ok(sighting) => Event::Sighted {
                    session,
                    sighting: Box::new(sighting),
                    typed_ago: typed_ms_ago.map(Duration::from_millis),
                },
                Err(error) => {
                    tracing::error!(%session, %error, "an impossible sighting was left out");
                    return Ok(());
                }
            },
            Report::Left { sighting, how } => Event::Left { session, sighting, how },
            Report::Outcome { reply_id, prompt_id, outcome } => {
                match (reply_id.parse::<ReplyId>(), prompt_id.parse::<PromptId>()) {
                    (Ok(reply), Ok(prompt)) => Event::Outcome { session, prompt, what: outcome.event(reply) },
                    (Err(_), _) | (_, Err(_)) => return Ok(()),
                }
            }
            Report::Ended(end) => Event::ToolEnded { session, status: status(end), code: end.code() },
            Report::Unknown(_) => {
                tracing::warn!(%session, "a report of a newer session host was passed over; `atlasbridge hub restart` takes the newer hub");
                return Ok(());
            }
        };
        self.happen(event).await
    }

    /// The host's process has ended, and all that it had said was heard.
    pub(super) async fn host_lost(&mut self, session: SessionId) -> Result<(), Trouble> {
        let journal = std::fs::read_to_string(self.outside.journal(session)).unwrap_or_default();
        self.happen(Event::HostLost { session, traces: traces(&journal) }).await
    }
}

fn status(end: End) -> SessionStatus {
    match end {
        End::Exited { .. } => SessionStatus::Completed,
        // Ctrl-C, a closed terminal, a plain `kill`: somebody's wish, no crash.
        End::Signaled { signal: HANGUP | INTERRUPT | TERMINATE } | End::Terminated { .. } => {
            SessionStatus::Terminated
        }
        End::Signaled { .. } | End::NotStarted { .. } => SessionStatus::Crashed,
    }
}
