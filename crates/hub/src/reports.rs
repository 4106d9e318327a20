//! What session hosts report. Every report may come twice, and is thanked for only once it is on disk.

use std::collections::HashMap;
use std::time::Duration;

use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::{self, Failure, NotApplied, PromptState};
use atlasbridge_model::{Kind, Nonce, PromptId, ReplyId, SessionId, Sighting, Timestamp};
use atlasbridge_store::{Advance, NewPrompt, PromptRecord, SessionRecord, SessionStatus};
use atlasbridge_wire::journal::{Trace, traces};
use atlasbridge_wire::session::{End, FromSession, Report, SessionInfo, ToSession};
use tokio::sync::mpsc;

use crate::hub::{Hub, Trouble, random};
use crate::registry::ConnectionNo;
use crate::{clock, pause, peer, words};

/// Signals that ask a program to end, by their numbers on Linux.
const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

impl Hub {
    pub(crate) async fn session_up(
        &mut self,
        no: ConnectionNo,
        info: SessionInfo,
        peer_pid: i32,
        mailbox: mpsc::Sender<ToSession>,
    ) -> Result<(), Trouble> {
        let Ok(id) = info.session_id.parse::<SessionId>() else {
            return Ok(());
        };
        let Some(host_started) = peer::started(peer_pid) else {
            return Ok(());
        };
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
            boot_id: self.boot_id.clone(),
            started_at: Timestamp(info.started_at),
            ended_at: None,
            exit_code: None,
            status: SessionStatus::Active,
            paused_at: None,
        };
        let known = self.store.session(id).await?;
        if known
            .as_ref()
            .is_some_and(|known| (known.host_pid, known.host_started) != (peer_pid, host_started))
        {
            // A session belongs to the process that began it; an id alone takes nothing over.
            tracing::warn!(session = %id, pid = peer_pid, "another process claimed this session and was turned away");
            return Ok(());
        }
        self.store.begin_session(&record, clock::now()).await?;
        if known.is_none() {
            self.watch_host(&record);
            self.notify_all(|channel| channel.notify_start, &words::started(&record)).await?;
        }
        self.registry.connect(id, no, mailbox);
        tracing::info!(session = %id, tool = %record.tool, "session connected");
        self.page_changed();
        self.deliver(id).await
    }

    pub(crate) async fn session_said(
        &mut self,
        session: SessionId,
        message: FromSession,
    ) -> Result<(), Trouble> {
        match message {
            FromSession::Report { n, report } => {
                self.report(session, report).await?;
                self.registry.send(session, ToSession::Noted { n });
            }
            FromSession::Health(health) => self.registry.health_came(health),
            FromSession::Picture(change) => self.registry.picture_came(session, change.into()),
            FromSession::ScreenText { asked, text } => self.registry.screen_came(asked, text),
            FromSession::Lines { asked, lines } => self.registry.lines_came(asked, lines),
            FromSession::TypingDone { typing_id, outcome } => self.registry.typing_done(&typing_id, outcome),
            // `Begin` is said once per connection, before this.
            FromSession::Begin(_) | FromSession::Unknown => {}
        }
        Ok(())
    }

    async fn report(&mut self, session: SessionId, report: Report) -> Result<(), Trouble> {
        match report {
            Report::ToolStarted { pid } => Ok(self.store.set_tool_pid(session, pid, clock::now()).await?),
            Report::Sighted { sighting, typed_ms_ago } => match Sighting::try_from(sighting) {
                Ok(sighting) => {
                    self.sighted(session, &sighting, typed_ms_ago.map(Duration::from_millis)).await
                }
                Err(error) => {
                    tracing::error!(%session, %error, "an impossible sighting was left out");
                    Ok(())
                }
            },
            Report::Left { sighting, how } => {
                let prompts = self.store.prompts_of(session).await?;
                match prompts.iter().find(|prompt| prompt.sighting.no.0 == sighting) {
                    Some(prompt) => self.advance(prompt.id, &lifecycle::Event::Left { how }).await,
                    None => Ok(()),
                }
            }
            Report::Outcome { reply_id, prompt_id, outcome } => {
                let (Ok(reply), Ok(prompt)) = (reply_id.parse::<ReplyId>(), prompt_id.parse::<PromptId>())
                else {
                    return Ok(());
                };
                pause::point("hub-before-outcome");
                self.registry.forget_secret(reply);
                self.advance(prompt, &outcome.event(reply)).await
            }
            Report::Ended(end) => self.ended(session, end).await,
            Report::Unknown(_) => {
                tracing::warn!(%session, "a report of a newer session host was passed over; `atlasbridge hub restart` takes the newer hub");
                Ok(())
            }
        }
    }

    async fn sighted(
        &mut self,
        session: SessionId,
        sighting: &Sighting,
        typed_ago: Option<Duration>,
    ) -> Result<(), Trouble> {
        let expires = sighting.kind != Kind::Idle;
        let at_once = sighting.kind == Kind::FreeText && !self.settings.free_text_enabled;
        let ttl = if at_once { Duration::ZERO } else { self.settings.ttl };
        pause::point("hub-before-record");
        let new = NewPrompt {
            id: PromptId::from_random(random()?),
            session,
            sighting,
            nonce: Nonce::from_random(random()?),
            ttl: expires.then_some(ttl),
        };
        let recorded = self.store.record_prompt(new, clock::now()).await?;
        self.trouble = None;
        if recorded.fresh {
            tracing::info!(%session, prompt = %recorded.prompt.id, kind = %sighting.kind, "prompt recorded");
        }
        pause::point("hub-after-record");
        self.offer(&recorded.prompt, typed_ago).await?;
        if sighting.kind == Kind::Idle {
            self.send_queued_text(&recorded.prompt).await?;
        }
        self.tell_watchers().await
    }

    pub(crate) async fn advance(
        &mut self,
        prompt: PromptId,
        event: &lifecycle::Event,
    ) -> Result<(), Trouble> {
        match self.store.advance(prompt, event, clock::now()).await? {
            Advance::Moved(moved) => self.perform(moved).await,
            // What was left to the terminal, and has been listed since, is gone from its screen.
            Advance::Refused(_) => self.tell_watchers().await,
        }
    }

    /// The tool has ended. Reports come in order, so a reply without an outcome was certainly not typed.
    ///
    /// Its prompts end before the session does: a hub that is killed in between finds a session to end.
    async fn ended(&mut self, session: SessionId, end: End) -> Result<(), Trouble> {
        let status = match end {
            End::Exited { .. } => SessionStatus::Completed,
            // Ctrl-C, a closed terminal, a plain `kill`: somebody's wish, no crash.
            End::Signaled { signal: HANGUP | INTERRUPT | TERMINATE } | End::Terminated { .. } => {
                SessionStatus::Terminated
            }
            End::Signaled { .. } | End::NotStarted { .. } => SessionStatus::Crashed,
        };
        for prompt in self.store.prompts_of(session).await? {
            match reply_under_way(&prompt) {
                Some(reply) => self.advance(prompt.id, &not_applied(reply, Failure::ToolGone)).await?,
                None => {
                    let left = lifecycle::Event::Left { how: lifecycle::Departure::ToolEnded };
                    self.advance(prompt.id, &left).await?;
                }
            }
        }
        let code = end.code();
        pause::point("hub-before-end");
        self.store.end_session(session, status, Some(code), clock::now()).await?;
        tracing::info!(%session, status = status.as_str(), code, "session ended");
        self.session_over(session, &format!("{}, exit code {code}", status.as_str())).await?;
        self.tell_watchers().await
    }

    async fn session_over(&mut self, session: SessionId, how: &str) -> Result<(), Trouble> {
        self.registry.screen_ended(session);
        self.settle_texts().await?;
        match self.store.session(session).await? {
            Some(record) => self.notify_all(|channel| channel.notify_end, &words::ended(&record, how)).await,
            None => Ok(()),
        }
    }

    /// The host's process has ended. If the session had not, it was killed; its journal says what was typed.
    pub(crate) async fn host_ended(&mut self, session: SessionId) -> Result<(), Trouble> {
        let journal = self.journals.join(format!("{session}.jsonl"));
        let known = self.store.session(session).await?;
        if known.is_some_and(|known| known.status == SessionStatus::Active) {
            tracing::warn!(%session, "the session host was killed; the tool was hung up");
            let traces = traces(&std::fs::read_to_string(&journal).unwrap_or_default());
            for prompt in self.store.prompts_of(session).await? {
                self.lost(&prompt, &traces).await?;
            }
            pause::point("hub-before-end");
            self.store.end_session(session, SessionStatus::Crashed, None, clock::now()).await?;
            self.session_over(session, "its host was killed, and the tool with it").await?;
        }
        // Nobody will ask it again.
        let _ = std::fs::remove_file(journal);
        self.tell_watchers().await
    }

    /// What is known of a prompt whose host was killed.
    async fn lost(&mut self, prompt: &PromptRecord, traces: &HashMap<String, Trace>) -> Result<(), Trouble> {
        let Some(reply) = reply_under_way(prompt) else {
            return self.advance(prompt.id, &lifecycle::Event::HostLost).await;
        };
        let trace = traces.get(&reply.to_string()).copied();
        let why = match trace.unwrap_or(Trace::NotTyped) {
            Trace::NotTyped => Failure::ToolGone,
            Trace::Unknown => Failure::Unknown,
            Trace::Typed => {
                self.advance(prompt.id, &lifecycle::Event::Typed { reply }).await?;
                Failure::ToolGone
            }
        };
        self.advance(prompt.id, &not_applied(reply, why)).await
    }

    /// A refused request of somebody who may not decide, on record.
    pub(crate) async fn record_rejection(&mut self, event: AuditEvent) -> Result<(), Trouble> {
        Ok(self.store.audit(AuditEvent { event: EventName::ReplyRejected, ..event }, clock::now()).await?)
    }
}

/// The reply of this prompt that has no final outcome yet.
fn reply_under_way(prompt: &PromptRecord) -> Option<ReplyId> {
    match &prompt.state {
        PromptState::ReplyReceived { reply, .. }
        | PromptState::Expired { fallback: Some(reply) }
        | PromptState::Injected { reply, .. } => Some(*reply),
        PromptState::Created
        | PromptState::Routed
        | PromptState::AwaitingReply
        | PromptState::Expired { fallback: None }
        | PromptState::Resolved { .. }
        | PromptState::Canceled { .. }
        | PromptState::Failed { .. } => None,
    }
}

fn not_applied(reply: ReplyId, failure: Failure) -> lifecycle::Event {
    lifecycle::Event::NotApplied { reply, why: NotApplied::Failed(failure) }
}
