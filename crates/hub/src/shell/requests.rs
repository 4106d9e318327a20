//! What commands ask for. Whoever lives inside a supervised session may look, and decide nothing.

use std::time::Duration;

use atlasbridge_model::answer::{Refusal, Source};
use atlasbridge_model::audit::EventName;
use atlasbridge_model::{PromptId, SessionId, Timestamp};
use atlasbridge_store::{SessionRecord, SessionStatus};
use atlasbridge_wire::PROTOCOL;
use atlasbridge_wire::command::{HubView, Request, Response, SessionView};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::Hub;
use crate::clock;
use crate::decide::{Actor, Answer, AnswerRight, Matter, on_record};
use crate::desks::{NO_SESSION, Way};
use crate::engine::Trouble;
use crate::peer::Peer;
use crate::views::{is_waiting, session_view, set_health, standing_view};

/// How long a session host may take to say how it is.
const HEALTH_LIMIT: Duration = Duration::from_secs(1);
/// Sessions in a listing.
const MOST_SESSIONS: u32 = 200;

impl Hub {
    pub(super) async fn asked(
        &mut self,
        request: Request,
        peer: &Peer,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        if decides(&request) && peer.is_inside_a_session(&self.outside.registry.hosts) {
            let reason = Refusal::InsideSession.to_string();
            let decided_by = format!("uid:{} pid:{}", peer.uid, peer.pid);
            self.record_rejection(reason.clone(), &Source::Command, decided_by).await?;
            let _ = respond.try_send(Response::Refused { reason });
            return Ok(());
        }
        let by = Actor::Command { uid: peer.uid };
        // What is to be decided, or else what can be said at once.
        let matter = match request {
            Request::Answer { prompt, said, as_is } => {
                let on = self.named_prompt(&prompt).await?;
                Ok(Matter::Answer(Answer { on, said: said.into(), as_is, then: None }))
            }
            Request::Send { session, text, as_is } => {
                let session = self.named_session(&session).await?;
                session.map(|session| Matter::Instruct { session: session.id, text, as_is })
            }
            Request::TakeBack { session } => {
                let session = self.named_session(&session).await?;
                session.map(|session| Matter::TakeBack { session: session.id, only: None })
            }
            Request::StopSession { session } => {
                self.named_session(&session).await?.map(|session| Matter::Stop { session: session.id })
            }
            Request::ResumeSession { session } => {
                self.named_session(&session).await?.map(|session| Matter::Resume { session: session.id })
            }
            Request::Watch => return self.watch(respond).await,
            Request::Sessions { all } => {
                let sessions = self.listed_sessions(all, MOST_SESSIONS).await?;
                let response = |sessions| Some(Response::Sessions { sessions });
                return self.tell_sessions(sessions, respond, response).await;
            }
            Request::Session { session } => match self.named_session(&session).await? {
                Ok(session) => {
                    let response = |mut views: Vec<SessionView>| views.pop().map(Response::Session);
                    return self.tell_sessions(vec![session], respond, response).await;
                }
                Err(refused) => Err(refused),
            },
            Request::Approvals => Err(self.approvals().await?),
            Request::Status => Err(self.status().await?),
            Request::StopHub => {
                self.is_stopping = true;
                Err(Response::Done)
            }
            Request::WebLink => Err(self.web_link().await?),
            Request::WebLogins => Err(self.web_logins().await?),
            Request::WebRevoke { name } => Err(self.web_revoke(name.as_deref(), peer).await?),
            Request::Unknown => Err(Response::Refused {
                reason: format!(
                    "the running hub (version {}) does not know this request: run `atlasbridge hub restart`; sessions \
                     go on meanwhile",
                    self.identity.version
                ),
            }),
        };
        match matter {
            Ok(matter) => self.decide(by, matter, None, Some(Way::Command(respond))).await,
            Err(response) => {
                // A command that has gone does not want its answer.
                let _ = respond.try_send(response);
                Ok(())
            }
        }
    }

    /// A refused request of somebody who may not decide, on record.
    pub(super) async fn record_rejection(
        &mut self,
        reason: String,
        source: &Source,
        decided_by: String,
    ) -> Result<(), Trouble> {
        let event = on_record(EventName::ReplyRejected, source, decided_by, reason);
        Ok(self.engine.store.audit(event, clock::now()).await?)
    }

    /// By id, or by the beginning of one if it is enough to tell it from the others.
    async fn named_prompt(&self, wanted: &str) -> Result<Result<AnswerRight, Refusal>, Trouble> {
        let offer = |prompt| Ok(AnswerRight { prompt, nonce: None });
        if let Ok(id) = wanted.parse::<PromptId>() {
            return Ok(offer(id));
        }
        let found = self.engine.store.find_prompts_by_prefix(wanted).await?;
        Ok(match &found[..] {
            [] => Err(Refusal::UnknownPrompt),
            [only] => offer(only.id),
            [..] => Err(Refusal::AmbiguousPrompt),
        })
    }

    async fn named_session(&self, wanted: &str) -> Result<Result<SessionRecord, Response>, Trouble> {
        let refused = |reason: &str| Response::Refused { reason: reason.to_owned() };
        if let Ok(id) = wanted.parse::<SessionId>() {
            return Ok(self.engine.store.session(id).await?.ok_or_else(|| refused(NO_SESSION)));
        }
        let is_prefix = wanted.len() >= 4;
        let sessions = self.engine.store.sessions(MOST_SESSIONS).await?;
        let mut found =
            sessions.into_iter().filter(|session| is_prefix && session.id.to_string().starts_with(wanted));
        Ok(match (found.next(), found.next()) {
            (Some(session), None) => Ok(session),
            (None, _) => Err(refused(NO_SESSION)),
            (Some(_), Some(_)) => {
                Err(refused("several sessions begin with these digits; give more of the id"))
            }
        })
    }

    pub(super) async fn approvals(&self) -> Result<Response, Trouble> {
        let (rules, now) = (self.outside.rules, clock::now());
        let standing = self.engine.store.standing_prompts().await?;
        let prompts = standing.iter().map(|open| standing_view(open, rules, now)).collect();
        Ok(Response::Approvals { prompts })
    }

    async fn status(&self) -> Result<Response, Trouble> {
        let store = &self.engine.store;
        let open = store.open_prompts().await?;
        Ok(Response::Status(HubView {
            pid: std::process::id(),
            version: self.identity.version.clone(),
            protocol: PROTOCOL,
            started_at: Timestamp(self.started_at).rfc3339(),
            sessions: store.active_sessions().await?.len(),
            prompts: open.iter().filter(|open| is_waiting(&open.prompt.state)).count(),
            trouble: self.trouble.clone(),
            channels: self.channel_views(),
        }))
    }

    /// The list, and again after each change, until whoever watches has gone. A slow one misses pictures in
    /// between, never the last.
    async fn watch(&mut self, respond: mpsc::Sender<Response>) -> Result<(), Trouble> {
        self.pictures.send_replace(self.approvals().await?);
        let mut pictures = self.pictures.subscribe();
        tokio::spawn(async move {
            loop {
                let picture = pictures.borrow_and_update().clone();
                if respond.send(picture).await.is_err() {
                    return;
                }
                tokio::select! {
                    changed = pictures.changed() => if changed.is_err() { return },
                    () = respond.closed() => return,
                }
            }
        });
        Ok(())
    }

    /// Running sessions, or with `all` the past ones too, newest first.
    pub(super) async fn listed_sessions(&self, all: bool, most: u32) -> Result<Vec<SessionRecord>, Trouble> {
        let store = &self.engine.store;
        Ok(if all { store.sessions(most).await? } else { store.active_sessions().await? })
    }

    /// Tells how sessions are, once their hosts have said it; they are awaited outside the loop.
    async fn tell_sessions(
        &mut self,
        sessions: Vec<SessionRecord>,
        respond: mpsc::Sender<Response>,
        response: fn(Vec<SessionView>) -> Option<Response>,
    ) -> Result<(), Trouble> {
        let mut asked = Vec::with_capacity(sessions.len());
        for session in sessions {
            let is_active = session.status == SessionStatus::Active;
            let health = is_active.then(|| self.outside.registry.ask_health(session.id)).flatten();
            asked.push((self.session_view(&session).await?, health));
        }
        tokio::spawn(async move {
            let deadline = Instant::now() + HEALTH_LIMIT;
            let mut views = Vec::with_capacity(asked.len());
            for (mut view, health) in asked {
                if let Some(health) = heard(health, deadline).await {
                    set_health(&mut view, &health);
                }
                views.push(view);
            }
            if let Some(response) = response(views) {
                let _ = respond.send(response).await;
            }
        });
        Ok(())
    }

    /// A session as the store knows it; nobody is asked how it is.
    async fn session_view(&self, session: &SessionRecord) -> Result<SessionView, Trouble> {
        let live = self.engine.store.live_prompts(session.id).await?;
        let prompts = self.engine.store.prompt_count(session.id).await?;
        Ok(session_view(session, prompts, live.iter().map(|prompt| &prompt.state), clock::now()))
    }

    pub(super) async fn active_views(&self) -> Result<Vec<SessionView>, Trouble> {
        let mut views = Vec::new();
        for session in self.engine.store.active_sessions().await? {
            views.push(self.session_view(&session).await?);
        }
        Ok(views)
    }
}

/// What a session host answers until then. `None`: it was not asked, has gone or takes longer.
pub(super) async fn heard<T>(answer: Option<oneshot::Receiver<T>>, deadline: Instant) -> Option<T> {
    tokio::time::timeout_at(deadline, answer?).await.ok()?.ok()
}

/// Requests that change what happens, as opposed to looking.
fn decides(request: &Request) -> bool {
    match request {
        Request::Answer { .. }
        | Request::Send { .. }
        | Request::TakeBack { .. }
        | Request::StopSession { .. }
        | Request::StopHub
        | Request::WebLink
        | Request::WebRevoke { .. }
        | Request::ResumeSession { .. } => true,
        Request::Approvals
        | Request::Watch
        | Request::Status
        | Request::Sessions { .. }
        | Request::Session { .. }
        | Request::WebLogins
        | Request::Unknown => false,
    }
}
