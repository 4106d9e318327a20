//! What commands ask for. Whoever lives inside a supervised session may look, and decide nothing.

use std::time::Duration;

use atlasbridge_channel::Receipt;
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{PromptId, ReplyId, SessionId, Timestamp};
use atlasbridge_store::{
    AcceptedAnswer, Advance, Cancel, Handled, Once, OpenPrompt, Outcome, PromptRecord, Reply, SessionRecord,
    SessionStatus, rfc3339,
};
use atlasbridge_web::desk;
use atlasbridge_wire::PROTOCOL;
use atlasbridge_wire::command::{HubView, Request, Response, SessionView};
use atlasbridge_wire::session::{Health, ToSession};
use tokio::sync::{mpsc, oneshot};

use crate::cards::card;
use crate::hub::{Event, Hub, Trouble, random};
use crate::instructions::{Author, Fit, Unfit};
use crate::peer::Peer;
use crate::views::{Life, prompt_view, session_view, standing_view};
use crate::{clock, pause, words};

/// How long a command waits for the proof that its answer was taken: the gate's own limit and a little more.
const PROOF_LIMIT: Duration = Duration::from_secs(4);
/// How long a tap waits for it: the chat shows a spinner meanwhile.
const RECEIPT_LIMIT: Duration = Duration::from_secs(2);
/// How long a session host may take to say how it is.
const HEALTH_LIMIT: Duration = Duration::from_secs(1);
/// Sessions in a listing.
const MOST_SESSIONS: u32 = 200;

/// Somebody who waits for the end of a prompt, each in their own way.
#[derive(Debug)]
pub(crate) enum Waiter {
    Command(mpsc::Sender<Response>),
    /// A tap in a chat.
    Receipt {
        receipt: Receipt,
        answer: Option<String>,
    },
    Page(oneshot::Sender<desk::Answer>),
}

impl Waiter {
    fn limit(&self) -> Duration {
        match self {
            Waiter::Command(_) | Waiter::Page(_) => PROOF_LIMIT,
            Waiter::Receipt { .. } => RECEIPT_LIMIT,
        }
    }

    fn tell(self, open: &OpenPrompt, reply: Option<&Reply>) {
        match self {
            Waiter::Command(respond) => {
                let _ = respond.try_send(Response::Answered { prompt: prompt_view(open) });
            }
            Waiter::Receipt { receipt: Receipt(way), answer } => {
                let _ = way.send(words::receipt(&open.prompt, answer.as_deref()));
            }
            Waiter::Page(way) => {
                let card = card(&open.prompt, &open.session, reply);
                let _ = way.send(desk::Answer::Done { card: Some(Box::new(card)) });
            }
        }
    }
}

impl Hub {
    pub(crate) async fn asked(
        &mut self,
        request: Request,
        peer: &Peer,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        if decides(&request) && peer.is_inside_a_session(&self.registry.hosts()) {
            let refusal = Refusal::InsideSession;
            self.record_rejection(AuditEvent {
                value: Some(refusal.to_string()),
                source: Some(Source::Command.to_string()),
                decided_by: Some(format!("uid:{} pid:{}", peer.uid, peer.pid)),
                ..AuditEvent::new(EventName::ReplyRejected)
            })
            .await?;
            let _ = respond.try_send(Response::Refused { reason: refusal.to_string() });
            return Ok(());
        }
        let response = match request {
            Request::Answer { prompt, said, as_is } => {
                return self.answer(&prompt, &said.into(), as_is, peer, respond).await;
            }
            Request::Send { session, text, as_is } => {
                return self.send(&session, text, as_is, peer, respond).await;
            }
            Request::TakeBack { session } => self.take_back(&session, peer).await?,
            Request::Watch => return self.watch(respond).await,
            Request::Sessions { all } => return self.sessions(all, respond).await,
            Request::Session { session } => return self.session(&session, respond).await,
            Request::Approvals => self.approvals().await?,
            Request::Status => self.status().await?,
            Request::StopSession { session } => self.stop_session(&session).await?,
            Request::StopHub => {
                self.is_stopping = true;
                Response::Done
            }
            Request::WebLink => self.web_link().await?,
            Request::WebLogins => self.web_logins().await?,
            Request::WebRevoke { name } => self.web_revoke(name.as_deref(), peer).await?,
            Request::ResumeSession { session } => self.resume_session(&session, peer).await?,
            Request::Unknown => Response::Refused {
                reason: format!(
                    "the running hub (version {}) does not know this request: run `atlasbridge hub restart`; sessions \
                     go on meanwhile",
                    self.identity.version
                ),
            },
        };
        // A command that has gone does not want its answer.
        let _ = respond.try_send(response);
        Ok(())
    }

    async fn approvals(&self) -> Result<Response, Trouble> {
        let rules = self.rules();
        let standing = self.store.standing_prompts().await?;
        let prompts = standing.iter().map(|open| standing_view(open, rules)).collect();
        Ok(Response::Approvals { prompts })
    }

    /// What stands on screens, each with the word for it.
    pub(crate) async fn standing(&self) -> Result<Vec<(OpenPrompt, String)>, Trouble> {
        let rules = self.rules();
        let standing = self.store.standing_prompts().await?.into_iter();
        let with_word = |open: OpenPrompt| {
            let word = standing_view(&open, rules).word;
            (open, word)
        };
        Ok(standing.map(with_word).collect())
    }

    /// What is taken as an answer, as the operator has set it.
    pub(crate) fn rules(&self) -> Rules {
        Rules { secrets_over_channels: self.settings.secrets_over_channels, as_is: false }
    }

    async fn status(&self) -> Result<Response, Trouble> {
        Ok(Response::Status(HubView {
            pid: std::process::id(),
            version: self.identity.version.clone(),
            protocol: PROTOCOL,
            started_at: rfc3339(Timestamp(self.started_at)),
            sessions: self.store.active_sessions().await?.len(),
            prompts: self
                .store
                .open_prompts()
                .await?
                .iter()
                .filter(|open| is_waiting(&open.prompt.state))
                .count(),
            channels: self.channel_views(),
            trouble: self.trouble.clone(),
        }))
    }

    /// An answer from the command line: find the prompt, check the shape, contend, deliver, wait for the proof.
    async fn answer(
        &mut self,
        wanted: &str,
        said: &Said,
        as_is: bool,
        peer: &Peer,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        let decided_by = format!("uid:{}", peer.uid);
        let prompt = match self.find(wanted).await? {
            Ok(prompt) => prompt,
            Err(refusal) => return self.refuse(None, &refusal, &decided_by, respond).await,
        };
        if !matches!(prompt.state, PromptState::AwaitingReply) && *said != Said::Cancel {
            // The guard of the store would say the same; asked first, a late answer hears its own reason and not
            // one about its shape.
            return self.refuse(Some(&prompt), &prompt.refusal(), &decided_by, respond).await;
        }
        let rules = Rules { as_is, ..self.rules() };
        // A tool that takes no reason with a refusal gets it as its next instruction.
        let (said, next) = match said {
            Said::DenyWith(reason) if !prompt.sighting.takes.reason => {
                match self.as_next_instruction(&prompt, reason, as_is, &decided_by).await? {
                    Ok(next) => (&Said::Deny, Some(next)),
                    Err(refusal) => {
                        return self.refuse(Some(&prompt), &refusal, &decided_by, respond).await;
                    }
                }
            }
            _ => (said, None),
        };
        match answer::check(said, &prompt.sighting, rules) {
            Err(refusal) => self.refuse(Some(&prompt), &refusal, &decided_by, respond).await,
            Ok(Checked::Cancel) => {
                let cancel =
                    Cancel { prompt: prompt.id, nonce: prompt.nonce, source: Source::Command, decided_by };
                match self.store.cancel(cancel, None, |_| Handled::default(), clock::now()).await? {
                    Once::First(Advance::Moved(moved)) => {
                        self.perform(moved).await?;
                        self.answer_when_over(prompt.id, respond).await
                    }
                    Once::Repeated => Ok(()),
                    Once::First(Advance::Refused(refusal)) => {
                        let _ = respond.try_send(Response::Refused { reason: refusal.to_string() });
                        Ok(())
                    }
                }
            }
            Ok(Checked::Type(value)) => {
                pause::point("hub-before-accept");
                let accepted = AcceptedAnswer {
                    prompt: prompt.id,
                    session: prompt.session,
                    nonce: prompt.nonce,
                    value,
                    reply: ReplyId::from_random(random()?),
                    source: Source::Command,
                    decided_by,
                };
                let then = move |outcome: &Outcome| match outcome {
                    Outcome::Won { .. } => next.unwrap_or_default(),
                    Outcome::Refused(_) => Handled::default(),
                };
                let outcome =
                    self.store.accept(accepted, None, then, clock::now()).await.map_err(Trouble::Answer)?;
                pause::point("hub-after-accept");
                match outcome {
                    Once::First(outcome) => self.accepted(outcome, respond).await,
                    // Commands have no numbers that could come twice.
                    Once::Repeated => Ok(()),
                }
            }
        }
    }

    /// The reason of a refusal, for a tool that hears it afterwards; or why that cannot be.
    async fn as_next_instruction(
        &self,
        prompt: &PromptRecord,
        reason: &str,
        as_is: bool,
        decided_by: &str,
    ) -> Result<Result<Handled, Refusal>, Trouble> {
        let Some(session) = self.store.session(prompt.session).await? else {
            return Ok(Err(Refusal::UnknownPrompt));
        };
        self.reason_as_instruction(&session, reason.to_owned(), as_is, at_the_machine(decided_by)).await
    }

    /// The next instruction of a session: as an answer where its tool waits for one, else kept until it does.
    async fn send(
        &mut self,
        wanted: &str,
        text: String,
        as_is: bool,
        peer: &Peer,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        let decided_by = format!("uid:{}", peer.uid);
        let session = match self.find_session(wanted).await? {
            Ok(session) => session,
            Err(reason) => {
                let _ = respond.try_send(Response::Refused { reason });
                return Ok(());
            }
        };
        let busy = match self.fit(&session, &text, as_is).await? {
            Ok(Fit::Now(prompt)) => {
                let id = prompt.id.to_string();
                return self.answer(&id, &Said::Text(text), as_is, peer, respond).await;
            }
            Ok(Fit::Later(busy)) => busy,
            Err(unfit) => {
                self.store
                    .reject(None, Some(session.id), unfit.name(), &Source::Command, &decided_by, clock::now())
                    .await?;
                let reason = match &unfit {
                    Unfit::Shape(refusal) => told(refusal, &session.tool),
                    Unfit::Over => format!("this session is over ({})", session.status.as_str()),
                    Unfit::TakesNone => format!(
                        "{} has not waited for an instruction in this session, so nothing can be sent to it; \
                         `atlasbridge reply` answers prompts",
                        session.tool
                    ),
                    Unfit::Empty => "there is nothing to send".to_owned(),
                };
                let _ = respond.try_send(Response::Refused { reason });
                return Ok(());
            }
        };
        let author = at_the_machine(&decided_by);
        let (_, replaces, handled) = self.queueing(&session, text, author).await?;
        self.store.handle(handled, clock::now()).await?;
        self.page_changed();
        let _ = respond.try_send(Response::Queued {
            session_id: session.id.to_string(),
            replaces,
            told: words::queued(&session, busy, replaces),
        });
        Ok(())
    }

    async fn take_back(&mut self, wanted: &str, peer: &Peer) -> Result<Response, Trouble> {
        let session = match self.find_session(wanted).await? {
            Ok(session) => session,
            Err(reason) => return Ok(Response::Refused { reason }),
        };
        let by = format!("uid:{}", peer.uid);
        if self.take_back_text(&session, &Source::Command, &by).await? {
            return Ok(Response::Done);
        }
        let reason = match self.store.unsent_text(session.id).await? {
            Some((_, why)) => format!(
                "no instruction waits for this session; the last one was not sent ({})",
                why.replace('_', " ")
            ),
            None => "no instruction waits for this session".to_owned(),
        };
        Ok(Response::Refused { reason })
    }

    async fn accepted(&mut self, outcome: Outcome, respond: mpsc::Sender<Response>) -> Result<(), Trouble> {
        match outcome {
            Outcome::Refused(refusal) => {
                let _ = respond.try_send(Response::Refused { reason: refusal.to_string() });
                Ok(())
            }
            Outcome::Won { reply, moved } => {
                if let Some(value @ answer::Value::Secret(_)) = &reply.value {
                    self.registry.keep_secret(reply.id, value.clone());
                }
                let id = moved.prompt.id;
                self.perform(moved).await?;
                self.answer_when_over(id, respond).await
            }
        }
    }

    /// By id, or by the beginning of one if it is enough to tell it from the others.
    async fn find(&self, wanted: &str) -> Result<Result<PromptRecord, Refusal>, Trouble> {
        if let Ok(id) = wanted.parse::<PromptId>() {
            return Ok(self.store.prompt(id).await?.ok_or(Refusal::UnknownPrompt));
        }
        let mut found = self.store.find_prompts_by_prefix(wanted).await?;
        Ok(match found.len() {
            0 => Err(Refusal::UnknownPrompt),
            1 => Ok(found.remove(0)),
            _ => Err(Refusal::AmbiguousPrompt),
        })
    }

    async fn refuse(
        &mut self,
        prompt: Option<&PromptRecord>,
        refusal: &Refusal,
        decided_by: &str,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        let tool = match prompt {
            Some(prompt) => self.store.session(prompt.session).await?.map(|session| session.tool),
            None => None,
        };
        // What the sender wrote stays off the record: the kind of refusal is enough.
        let reason = refusal.name();
        let (id, session) = (prompt.map(|prompt| prompt.id), prompt.map(|prompt| prompt.session));
        self.store.reject(id, session, reason, &Source::Command, decided_by, clock::now()).await?;
        let _ = respond
            .try_send(Response::Refused { reason: told(refusal, tool.as_deref().unwrap_or("the tool")) });
        Ok(())
    }

    /// The response comes with the prompt's end, or after a while with how it stands then.
    async fn answer_when_over(
        &mut self,
        prompt: PromptId,
        respond: mpsc::Sender<Response>,
    ) -> Result<(), Trouble> {
        self.wait_for_end(prompt, Waiter::Command(respond));
        if self.store.prompt(prompt).await?.is_none_or(|prompt| prompt.state.is_over()) {
            return self.answer_waiting(prompt).await;
        }
        Ok(())
    }

    /// Tells somebody how a prompt ended, or after a while how it stands then.
    pub(crate) fn wait_for_end(&mut self, prompt: PromptId, waiter: Waiter) {
        let limit = waiter.limit();
        self.waiting.entry(prompt).or_default().push(waiter);
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            let _ = events.send(Event::WaitedEnough { prompt }).await;
        });
    }

    pub(crate) async fn answer_waiting(&mut self, prompt: PromptId) -> Result<(), Trouble> {
        let Some(waiting) = self.waiting.remove(&prompt) else {
            return Ok(());
        };
        let Some(record) = self.store.prompt(prompt).await? else {
            return Ok(());
        };
        let Some(session) = self.store.session(record.session).await? else {
            return Ok(());
        };
        let reply = self.store.reply_of(prompt).await?;
        let open = OpenPrompt { prompt: record, session };
        for waiter in waiting {
            waiter.tell(&open, reply.as_ref());
        }
        Ok(())
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

    pub(crate) async fn tell_watchers(&mut self) -> Result<(), Trouble> {
        if self.pictures.receiver_count() > 0 {
            self.pictures.send_replace(self.approvals().await?);
        }
        self.page_changed();
        Ok(())
    }

    async fn sessions(&mut self, all: bool, respond: mpsc::Sender<Response>) -> Result<(), Trouble> {
        let sessions = match all {
            true => self.store.sessions(MOST_SESSIONS).await?,
            false => self.store.active_sessions().await?,
        };
        let mut asked = Vec::with_capacity(sessions.len());
        for session in sessions {
            let life = self.life(&session).await?;
            asked.push((session, life));
        }
        tokio::spawn(async move {
            let deadline = tokio::time::Instant::now() + HEALTH_LIMIT;
            let mut views = Vec::with_capacity(asked.len());
            for (session, (mut life, health)) in asked {
                life.health = heard(health, deadline).await;
                views.push(session_view(&session, &life));
            }
            let _ = respond.send(Response::Sessions { sessions: views }).await;
        });
        Ok(())
    }

    async fn session(&mut self, wanted: &str, respond: mpsc::Sender<Response>) -> Result<(), Trouble> {
        let session = match self.find_session(wanted).await? {
            Ok(session) => session,
            Err(reason) => {
                let _ = respond.try_send(Response::Refused { reason });
                return Ok(());
            }
        };
        let (mut life, health) = self.life(&session).await?;
        tokio::spawn(async move {
            life.health = heard(health, tokio::time::Instant::now() + HEALTH_LIMIT).await;
            let _ = respond.send(Response::Session(session_view(&session, &life))).await;
        });
        Ok(())
    }

    /// What the store knows, and the question to the host; its answer is awaited outside the loop.
    async fn life(
        &mut self,
        session: &SessionRecord,
    ) -> Result<(Life, Option<oneshot::Receiver<Health>>), Trouble> {
        let prompts = self.store.prompts_of(session.id).await?;
        let is_awaiting = prompts.iter().any(|prompt| matches!(prompt.state, PromptState::AwaitingReply));
        let health = match session.status {
            SessionStatus::Active => self.registry.ask_health(session.id),
            SessionStatus::Completed | SessionStatus::Crashed | SessionStatus::Terminated => None,
        };
        Ok((
            Life {
                health: None,
                prompts: prompts.len() as u64,
                waiting: prompts.iter().filter(|prompt| is_waiting(&prompt.state)).count() as u64,
                is_awaiting,
            },
            health,
        ))
    }

    async fn find_session(&self, wanted: &str) -> Result<Result<SessionRecord, String>, Trouble> {
        let nobody = || "there is no such session; `atlasbridge sessions list --all` shows them".to_owned();
        if let Ok(id) = wanted.parse::<SessionId>() {
            return Ok(self.store.session(id).await?.ok_or_else(nobody));
        }
        let is_prefix = wanted.len() >= 4;
        let sessions = self.store.sessions(MOST_SESSIONS).await?;
        let mut found =
            sessions.into_iter().filter(|session| is_prefix && session.id.to_string().starts_with(wanted));
        Ok(match (found.next(), found.next()) {
            (Some(session), None) => Ok(session),
            (None, _) => Err(nobody()),
            (Some(_), Some(_)) => {
                Err("several sessions begin with these digits; give more of the id".to_owned())
            }
        })
    }

    /// Running sessions as the store knows them; nobody is asked how they are.
    pub(crate) async fn active_views(&mut self) -> Result<Vec<SessionView>, Trouble> {
        let mut views = Vec::new();
        for session in self.store.active_sessions().await? {
            let (life, _) = self.life(&session).await?;
            views.push(session_view(&session, &life));
        }
        Ok(views)
    }

    async fn resume_session(&mut self, wanted: &str, peer: &Peer) -> Result<Response, Trouble> {
        let session = match self.find_session(wanted).await? {
            Ok(session) => session,
            Err(reason) => return Ok(Response::Refused { reason }),
        };
        let by = format!("uid:{}", peer.uid);
        let was_paused = self.store.resume_session(session.id, &Source::Command, &by, clock::now()).await?;
        self.send_if_idle(session.id).await?;
        Ok(match was_paused {
            true => Response::Done,
            false => Response::Refused {
                reason: "this session is not paused; its channels' answers are taken".to_owned(),
            },
        })
    }

    async fn stop_session(&mut self, wanted: &str) -> Result<Response, Trouble> {
        let session = match self.find_session(wanted).await? {
            Ok(session) => session,
            Err(reason) => return Ok(Response::Refused { reason }),
        };
        if session.status != SessionStatus::Active {
            let reason = format!("this session is over ({})", session.status.as_str());
            return Ok(Response::Refused { reason });
        }
        Ok(match self.registry.send(session.id, ToSession::Stop) {
            true => Response::Done,
            false => Response::Refused {
                reason: format!(
                    "the session host (pid {}) is not connected at the moment; try again, or `kill {}`",
                    session.host_pid, session.host_pid
                ),
            },
        })
    }
}

/// Somebody may still answer it.
pub(crate) fn is_waiting(state: &PromptState) -> bool {
    matches!(state, PromptState::Created | PromptState::Routed | PromptState::AwaitingReply)
}

async fn heard(health: Option<oneshot::Receiver<Health>>, deadline: tokio::time::Instant) -> Option<Health> {
    tokio::time::timeout_at(deadline, health?).await.ok()?.ok()
}

/// Whoever sits at the machine looks for themselves what became of an instruction.
fn at_the_machine(decided_by: &str) -> Author {
    Author { source: Source::Command, decided_by: decided_by.to_owned(), heard_at: None }
}

/// A refusal in the words of the command line.
fn told(refusal: &Refusal, tool: &str) -> String {
    match refusal {
        Refusal::NotPlain { opening, given } => {
            format!("{}; nothing was sent, `--as-is` sends it all the same", opening.told(given, tool))
        }
        refusal => refusal.to_string(),
    }
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
