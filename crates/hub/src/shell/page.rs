//! What the page asks for. A visitor has shown a right to look and to answer; everything decided here goes through the
//! same doors as any other answer.

use std::time::Duration;

use atlasbridge_channel::Card;
use atlasbridge_model::answer::Source;
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::mask::mask_in_place;
use atlasbridge_model::{ReplyId, SessionId, Timestamp};
use atlasbridge_store::{
    Logins, OpenPrompt, PromptRecord, Redeem, Reply, SessionRecord, SessionStatus, Verification,
};
use atlasbridge_web::questions::{
    self, Ask, AuditLine, AuditVerdict, Deed, Figures, HubDoor, Instructions, Search, SessionCard,
    SessionStory, Typing, Unsent, Visitor, Words,
};
use atlasbridge_web::{PageConfig, WebHandle};
use atlasbridge_wire::command::{ChannelView, LoginView, Response};
use atlasbridge_wire::session::{self, TypingOutcome};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::requests::heard;
use super::{Hub, Input, RESTART_AFTER, RESTARTS, chain, random};
use crate::cards::{card, tag};
use crate::decide::{Actor, Answer, AnswerRight, Matter};
use crate::desks::Way;
use crate::engine::Trouble;
use crate::peer::Peer;
use crate::{WEB, clock, pause};

/// Questions that wait for the loop.
const MAILBOX: usize = 64;
/// How long a one-time link is good for.
const LINK_LIMIT: Duration = Duration::from_secs(300);
/// How long a session host may take to tell its lines, or what became of keys.
const HOST_LIMIT: Duration = Duration::from_secs(5);
/// Sessions in a listing of all.
const MOST_SESSIONS: u32 = 500;

/// The page that is served, or why it is not.
#[derive(Debug, Default)]
pub(super) struct Page {
    config: Option<PageConfig>,
    state: Serving,
    /// How often it was started: the end of an earlier server is no news.
    no: u64,
    failures: u32,
    /// Counts what a page may want to look at again.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
enum Serving {
    #[default]
    Off,
    /// Dropped, the page ends.
    On(WebHandle),
    /// It failed, and is started again by itself.
    Again {
        why: String,
    },
    Stopped {
        why: String,
    },
}

impl Page {
    /// Something that a page shows has changed.
    pub(super) fn changed(&mut self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl Hub {
    /// Serves the page as configured now; what has not changed is left alone.
    pub(super) fn set_page(&mut self, wanted: Option<PageConfig>) {
        let is_as_wanted = match &self.page.state {
            Serving::On(_) | Serving::Again { .. } => true,
            Serving::Off => wanted.is_none(),
            // What was wrong may have been mended.
            Serving::Stopped { .. } => false,
        };
        if self.page.config == wanted && is_as_wanted {
            return;
        }
        self.page.config = wanted;
        self.page.failures = 0;
        self.serve_page();
    }

    fn serve_page(&mut self) {
        self.page.state = Serving::Off;
        self.page.no += 1;
        let Some(config) = self.page.config.clone() else { return };
        let (asks, mut asked) = mpsc::channel(MAILBOX);
        let door = HubDoor { asks, changes: self.page.changes.subscribe() };
        match atlasbridge_web::start(config, door) {
            Ok((handle, work)) => {
                let (inputs, no) = (self.inputs.clone(), self.page.no);
                // The server and what it asks end together, and the loop hears of it last.
                tokio::spawn(async move {
                    let mut serving = tokio::spawn(async move {
                        pause::failure("page");
                        work.await;
                    });
                    loop {
                        tokio::select! {
                            _ = &mut serving => break,
                            ask = asked.recv() => {
                                let Some(ask) = ask else { break };
                                if inputs.send(Input::Page(ask)).await.is_err() {
                                    break;
                                }
                            }
                        }
                    }
                    serving.abort();
                    let _ = inputs.send(Input::PageEnded { no }).await;
                });
                tracing::info!(address = %handle.base_url, "the page is served");
                self.page.state = Serving::On(handle);
            }
            Err(error) => {
                let why = chain(&error);
                tracing::error!(error = %why, "the page cannot be served");
                self.page.state = Serving::Stopped { why };
            }
        }
    }

    /// The page's server has ended by itself. The rest goes on; it is tried again, a few times.
    pub(super) fn page_ended(&mut self, no: u64) {
        if self.page.no != no {
            return;
        }
        self.page.failures += 1;
        tracing::error!(failures = self.page.failures, "the page failed");
        if self.page.failures > RESTARTS {
            let why =
                "it failed again and again; the hub's log says why, `atlasbridge hub restart` tries again";
            self.page.state = Serving::Stopped { why: why.to_owned() };
            return;
        }
        self.page.state = Serving::Again { why: "it failed, and is started again".to_owned() };
        self.send_later(RESTART_AFTER, Input::PageRestart { no });
    }

    pub(super) fn page_restart(&mut self, no: u64) {
        if self.page.no == no {
            self.serve_page();
        }
    }

    /// All channels, for `status`: the page first, if there is to be one.
    pub(super) fn channel_views(&self) -> Vec<ChannelView> {
        let page = match &self.page.state {
            Serving::Off => None,
            Serving::On(handle) => {
                let detail = handle.fingerprint.as_ref().map(|print| format!("certificate SHA-256 {print}"));
                Some(("connected", detail, Some(handle.base_url.clone())))
            }
            Serving::Again { why } => Some(("retrying", Some(why.clone()), None)),
            Serving::Stopped { why } => Some(("stopped", Some(why.clone()), None)),
        };
        let page = page.map(|(state, detail, address)| ChannelView {
            name: WEB.to_owned(),
            state: state.to_owned(),
            detail,
            address,
        });
        page.into_iter().chain(self.outside.channels.views()).collect()
    }

    pub(super) async fn page_asked(&mut self, ask: Ask) -> Result<(), Trouble> {
        // Whoever has gone meanwhile does not want the answer: each `send` may fail.
        match ask {
            Ask::Inbox { reply } => drop(reply.send(self.inbox().await?)),
            Ask::Sessions { all, reply } => drop(reply.send(self.session_cards(all).await?)),
            Ask::Session { session, reply } => drop(reply.send(self.story(session).await?)),
            Ask::History { search, reply } => drop(reply.send(self.history(&search).await?)),
            Ask::Audit { search, reply } => drop(reply.send(self.audit_lines(search).await?)),
            Ask::VerifyAudit { reply } => self.verify_audit(reply),
            Ask::Do { deed, visitor: Visitor(login), reply } => {
                let matter = match deed {
                    Deed::Answer { prompt, nonce, said, as_is } => {
                        let on = Ok(AnswerRight { prompt, nonce: Some(nonce) });
                        Matter::Answer(Answer { on, said, as_is, then: None })
                    }
                    Deed::Send { session, text, as_is } => Matter::Instruct { session, text, as_is },
                    Deed::TakeBack { session } => Matter::TakeBack { session, only: None },
                    Deed::StopSession { session } => Matter::Stop { session },
                    Deed::Type { session, typing } => {
                        return self.page_types(session, typing, login, reply).await;
                    }
                };
                return self.decide(Actor::Page { login }, matter, None, Some(Way::Page(reply))).await;
            }
            Ask::Watch { session, reply } => drop(reply.send(self.outside.registry.watch_screen(session))),
            Ask::Lines { session, reply } => {
                let asked = self.outside.registry.ask_lines(session);
                let deadline = Instant::now() + HOST_LIMIT;
                tokio::spawn(async move { drop(reply.send(heard(asked, deadline).await)) });
            }
            Ask::Redeem { link, login, device, reply } => {
                let name = format!("{WEB}:{}", &atlasbridge_model::id::hex(&random()?)[..6]);
                let redeem = Redeem { link_hash: link.0, login_hash: login.0, name, device };
                let is_good = self.engine.store.redeem_link(redeem, clock::now()).await?;
                let _ = reply.send(is_good);
            }
            Ask::Login { login, reply } => {
                let known = self.engine.store.login(&login.0).await?;
                self.engine.store.touch_login(&login.0, clock::now()).await?;
                drop(reply.send(known.map(|login| Visitor(login.name))));
            }
            Ask::Logout { login, reply } => {
                if let Some(login) = self.engine.store.login(&login.0).await? {
                    let by = login.name.clone();
                    self.engine.store.revoke_logins(Logins::Named(login.name), &by, clock::now()).await?;
                }
                let _ = reply.send(());
            }
            Ask::Figures { reply } => drop(reply.send(self.figures().await?)),
            Ask::Refused { reason, from } => {
                let source = Source::Channel(WEB.to_owned());
                self.record_rejection(reason.to_owned(), &source, from).await?;
            }
        }
        Ok(())
    }

    fn card(&self, prompt: &PromptRecord, session: &SessionRecord, reply: Option<&Reply>) -> Card {
        card(prompt, session, reply, self.outside.rules, clock::now())
    }

    async fn card_of(&self, prompt: &PromptRecord, session: &SessionRecord) -> Result<Card, Trouble> {
        let reply = self.engine.store.reply_of(prompt.id).await?;
        Ok(self.card(prompt, session, reply.as_ref()))
    }

    async fn inbox(&self) -> Result<Vec<Card>, Trouble> {
        let standing = self.engine.store.standing_prompts().await?;
        let mut cards = Vec::with_capacity(standing.len());
        for OpenPrompt { prompt, session } in standing {
            cards.push(self.card_of(&prompt, &session).await?);
        }
        Ok(cards)
    }

    async fn session_cards(&self, all: bool) -> Result<Vec<SessionCard>, Trouble> {
        let sessions = self.listed_sessions(all, MOST_SESSIONS).await?;
        let mut cards = Vec::with_capacity(sessions.len());
        for session in sessions {
            cards.push(self.session_card(&session).await?);
        }
        Ok(cards)
    }

    async fn session_card(&self, session: &SessionRecord) -> Result<SessionCard, Trouble> {
        let prompts = self.engine.store.live_prompts(session.id).await?;
        Ok(SessionCard {
            session: tag(session),
            command: session.command.clone(),
            status: session.status.as_str(),
            started_at: session.started_at.rfc3339(),
            ended_at: session.ended_at.map(Timestamp::rfc3339),
            exit_code: session.exit_code,
            prompts: self.engine.store.prompt_count(session.id).await?,
            is_waiting: prompts.iter().any(|prompt| matches!(prompt.state, PromptState::AwaitingReply)),
            is_paused: session.paused_at.is_some(),
            is_connected: self.outside.registry.is_connected(session.id),
            instructions: self.instructions(session).await?,
        })
    }

    async fn instructions(&self, session: &SessionRecord) -> Result<Option<Instructions>, Trouble> {
        let Some(last) = self.engine.store.last_idle(session.id).await? else { return Ok(None) };
        let queued = self.engine.store.queued_text(session.id).await?;
        let unsent = self.engine.store.unsent_text(session.id).await?;
        if session.status != SessionStatus::Active && unsent.is_none() {
            return Ok(None);
        }
        let words = |text: &str| Words(mask_in_place(text).into_owned());
        Ok(Some(Instructions {
            max_length: last.sighting.constraints.max_length,
            lines: last.sighting.takes.lines,
            queued: queued.map(|text| words(&text.text)),
            unsent: unsent.map(|(text, why)| Unsent { text: words(&text.text), why: why.replace('_', " ") }),
        }))
    }

    async fn story(&self, session: SessionId) -> Result<Option<SessionStory>, Trouble> {
        let Some(record) = self.engine.store.session(session).await? else { return Ok(None) };
        let mut prompts = Vec::new();
        for prompt in self.engine.store.prompts_of(session).await? {
            prompts.push(self.card_of(&prompt, &record).await?);
        }
        Ok(Some(SessionStory { session: self.session_card(&record).await?, prompts }))
    }

    async fn history(&self, search: &Search) -> Result<Vec<Card>, Trouble> {
        let found = self.engine.store.search_prompts(search).await?;
        let cards = found.iter().map(|found| self.card(&found.prompt, &found.session, found.reply.as_ref()));
        Ok(cards.collect())
    }

    async fn audit_lines(&self, search: Search) -> Result<Vec<AuditLine>, Trouble> {
        let found = self.engine.store.search_audit(&search).await?;
        let line = |record: atlasbridge_store::AuditRecord| AuditLine {
            seq: record.seq,
            at: record.ts,
            event: record.event,
            session: record.session_id,
            prompt: record.prompt_id,
            value: record.value,
            source: record.source,
            decided_by: record.decided_by,
        };
        Ok(found.into_iter().map(line).collect())
    }

    /// Outside the loop: a long log takes a second or two.
    fn verify_audit(&self, reply: oneshot::Sender<AuditVerdict>) {
        let files = self.files.clone();
        tokio::task::spawn_blocking(move || {
            let told = match atlasbridge_store::verify(&files.audit_log, Some(&files.database)) {
                Ok(verdict) => AuditVerdict {
                    is_whole: matches!(verdict, Verification::Good { .. }),
                    records: match &verdict {
                        Verification::Good { records, .. } => *records,
                        Verification::Truncated { have, .. } | Verification::Behind { have, .. } => *have,
                        Verification::Tampered { line, .. } | Verification::TornTail { line } => {
                            line.saturating_sub(1)
                        }
                        Verification::TableDiffers { in_file, .. } => *in_file,
                    },
                    told: verdict.to_string(),
                },
                Err(error) => AuditVerdict { is_whole: false, records: 0, told: chain(&error) },
            };
            let _ = reply.send(told);
        });
    }

    /// Keys from the page: on record first, sent once, and the gate's word is told.
    async fn page_types(
        &mut self,
        session: SessionId,
        typing: Typing,
        login: String,
        reply: oneshot::Sender<questions::Answer>,
    ) -> Result<(), Trouble> {
        let (value, what) = match typing {
            Typing::Key(key) => (format!("key {key:?}"), session::Typing::Key(key)),
            Typing::Text { text, enter } => (
                format!("text of {} characters", text.chars().count()),
                session::Typing::Text { text, enter },
            ),
        };
        let event = AuditEvent {
            session: Some(session),
            value: Some(value),
            source: Some(WEB.to_owned()),
            decided_by: Some(login),
            ..AuditEvent::new(EventName::ReplyReceived)
        };
        self.engine.store.audit(event, clock::now()).await?;
        let id = ReplyId::from_random(random()?).to_string();
        let outcome = self.outside.registry.type_into(session, id, what);
        tokio::spawn(async move {
            let why = match heard(outcome, Instant::now() + HOST_LIMIT).await {
                Some(TypingOutcome::Typed) => {
                    return drop(reply.send(questions::Answer::Done { card: None }));
                }
                Some(TypingOutcome::Busy) => "an answer is being typed right now; try again",
                Some(TypingOutcome::TypingLocally) => "somebody is in the middle of typing at the terminal",
                Some(TypingOutcome::Refused) => "this cannot be typed: too long, or not plain text",
                Some(TypingOutcome::NotTaken) => "the session did not take it",
                Some(TypingOutcome::NotRecorded) => "it could not be put on record, so it was not typed",
                Some(TypingOutcome::Gone | TypingOutcome::Unknown) | None => {
                    "the session does not answer; whether it was typed is not known"
                }
            };
            drop(reply.send(questions::Answer::Refused { why: why.to_owned() }));
        });
        Ok(())
    }

    async fn figures(&self) -> Result<Figures, Trouble> {
        let figures = self.engine.store.figures().await?;
        Ok(Figures {
            sessions_active: self.engine.store.active_sessions().await?.len() as u64,
            prompts_open: self.engine.store.open_prompts().await?.len() as u64,
            prompts_total: figures.prompts_total,
            replies_total: figures.replies_total,
            rejected_total: figures.rejected_total,
            channels: self.channel_views().into_iter().map(|channel| (channel.name, channel.state)).collect(),
            trouble: self.trouble.clone(),
        })
    }

    /// A one-time link: its secret is told once, to whoever asked, and kept nowhere.
    pub(super) async fn web_link(&self) -> Result<Response, Trouble> {
        let reason = match &self.page.state {
            Serving::On(handle) => return self.new_link(&handle.base_url).await,
            Serving::Again { why } | Serving::Stopped { why } => format!("the page is not served: {why}"),
            Serving::Off => {
                "the page is switched off; set `enabled = true` in [web] and restart the hub".to_owned()
            }
        };
        Ok(Response::Refused { reason })
    }

    async fn new_link(&self, base_url: &str) -> Result<Response, Trouble> {
        let secret =
            atlasbridge_web::new_secret().map_err(|error| Trouble::NoRandomness(error.to_string()))?;
        let now = clock::now();
        let expires_at = now.wall.plus_millis(LINK_LIMIT.as_millis() as i64);
        self.engine.store.add_link(&atlasbridge_web::link_hash(&secret).0, expires_at, now).await?;
        Ok(Response::WebLink { url: atlasbridge_web::link_url(base_url, &secret) })
    }

    pub(super) async fn web_logins(&self) -> Result<Response, Trouble> {
        let mut logins = self.engine.store.logins().await?;
        logins.retain(|login| login.revoked_at.is_none());
        let view = |login: atlasbridge_store::Login| LoginView {
            name: login.name,
            device: login.device,
            created_at: login.created_at.rfc3339(),
            seen_at: login.seen_at.rfc3339(),
        };
        Ok(Response::WebLogins { logins: logins.into_iter().map(view).collect() })
    }

    pub(super) async fn web_revoke(&mut self, name: Option<&str>, peer: &Peer) -> Result<Response, Trouble> {
        let by = format!("uid:{}", peer.uid);
        let which = name.map_or(Logins::All, |name| Logins::Named(name.to_owned()));
        let revoked = self.engine.store.revoke_logins(which, &by, clock::now()).await?;
        Ok(match (revoked, name) {
            (0, Some(_)) => Response::Refused {
                reason: "no browser has this name; `atlasbridge open --list` shows them".to_owned(),
            },
            _ => Response::Done,
        })
    }
}
