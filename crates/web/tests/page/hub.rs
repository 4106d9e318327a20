//! A hub in memory: real links, logins, prompts and sessions behind a real door. It counts every change.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use atlasbridge_channel::{Answered, Card, SessionTag};
use atlasbridge_model::answer::{Said, Source};
use atlasbridge_model::lifecycle::{PromptState, Resolution};
use atlasbridge_model::{
    Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind, Nonce,
    Picture, PromptId, SessionId, Sighting, SightingNo, Strokes, Takes, Timestamp,
};
use atlasbridge_web::questions::{
    Answer, Ask, AuditLine, AuditVerdict, Deed, Figures, Instructions, Search, SessionCard, SessionStory,
    TokenHash, Typing, Unsent, Visitor, Words,
};
use atlasbridge_web::{HubDoor, PageConfig, Tls, WebHandle, link_hash, new_secret, start};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long anything may take before a test gives up.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) web: WebHandle,
    pub(crate) served: JoinHandle<()>,
    state: Arc<Mutex<State>>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) links: HashSet<TokenHash>,
    pub(crate) logins: HashMap<TokenHash, Visitor>,
    pub(crate) prompts: Vec<Card>,
    pub(crate) sessions: Vec<SessionCard>,
    pub(crate) pictures: HashMap<SessionId, watch::Sender<Option<Picture>>>,
    pub(crate) typed: Vec<(SessionId, Typing)>,
    pub(crate) said: Vec<Said>,
    pub(crate) refused: Vec<&'static str>,
    /// Everything that somebody at the page changed.
    pub(crate) changed: u32,
}

pub(crate) const SESSION: [u8; 16] = [0xab; 16];
pub(crate) const PROMPT: [u8; 16] = [9; 16];

pub(crate) fn session_id() -> SessionId {
    SessionId::from_random(SESSION)
}

pub(crate) fn prompt_id() -> PromptId {
    PromptId::from_random(PROMPT)
}

pub(crate) fn nonce() -> Nonce {
    Nonce::from_random([0xa5; 16])
}

impl Hub {
    /// One running session with one open prompt, on a free port of the loopback.
    pub(crate) fn start() -> Self {
        Self::start_with("127.0.0.1:0", None)
    }

    pub(crate) fn start_with(listen: &str, tls: Option<Tls>) -> Self {
        let state = Arc::new(Mutex::new(State {
            sessions: vec![session_card()],
            prompts: vec![card()],
            pictures: HashMap::from([(session_id(), watch::channel(None).0)]),
            ..State::default()
        }));
        let (asks, mut asked) = mpsc::channel(32);
        let (changes, changed) = watch::channel(0);
        let serving = state.clone();
        tokio::spawn(async move {
            while let Some(ask) = asked.recv().await {
                serving.lock().unwrap().hear(ask);
            }
        });
        let config = PageConfig { listen: listen.parse().unwrap(), tls, version: "1.2.3".to_owned() };
        let door = HubDoor { asks, changes: changed };
        let (web, worker) = start(config, door).unwrap();
        Self { web, served: tokio::spawn(worker), state, changes }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Something changed: the page is told that it should look.
    pub(crate) fn announce(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn new_link(&self) -> String {
        let secret = new_secret().unwrap();
        self.state().links.insert(link_hash(&secret));
        secret
    }

    /// A login that exists, as its cookie's secret.
    pub(crate) fn new_login(&self) -> String {
        let secret = new_secret().unwrap();
        let visitor = Visitor("web:test".to_owned());
        self.state().logins.insert(link_hash(&secret), visitor);
        secret
    }

    pub(crate) fn show(&self, picture: Picture) {
        self.state().pictures[&session_id()].send_replace(Some(picture));
    }
}

/// Looks until `look` finds something, or fails with `what`.
pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {LIMIT:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl State {
    fn hear(&mut self, ask: Ask) {
        // Whoever asked may be gone by now; that is no concern of a hub.
        match ask {
            Ask::Inbox { reply } => {
                let _ = reply.send(self.prompts.iter().filter(|card| card.is_open()).cloned().collect());
            }
            Ask::Sessions { all, reply } => {
                let shown = self.sessions.iter().filter(|card| all || card.status == "active");
                let _ = reply.send(shown.cloned().collect());
            }
            Ask::Session { session, reply } => {
                let _ = reply.send(self.story(session));
            }
            Ask::History { search, reply } => {
                let _ = reply.send(self.history(&search));
            }
            Ask::Audit { search, reply } => {
                let _ = reply.send(audit(&search));
            }
            Ask::VerifyAudit { reply } => {
                let _ = reply.send(AuditVerdict {
                    is_whole: true,
                    records: AUDIT_LINES,
                    told: "All records are as they were written.".to_owned(),
                });
            }
            Ask::Do { deed, visitor, reply } => {
                let _ = reply.send(self.done(deed, &visitor));
            }
            Ask::Watch { session, reply } => {
                let _ = reply.send(self.pictures.get(&session).map(watch::Sender::subscribe));
            }
            Ask::Lines { session, reply } => {
                let lines = vec!["first".to_owned(), "se\u{202e}cond".to_owned()];
                let _ = reply.send(self.pictures.contains_key(&session).then_some(lines));
            }
            Ask::Redeem { link, login, reply, .. } => {
                let is_good = self.links.remove(&link);
                if is_good {
                    self.changed += 1;
                    self.logins.insert(login, Visitor("web:new".to_owned()));
                }
                let _ = reply.send(is_good);
            }
            Ask::Login { login, reply } => {
                let _ = reply.send(self.logins.get(&login).cloned());
            }
            Ask::Logout { login, reply } => {
                self.changed += 1;
                self.logins.remove(&login);
                let _ = reply.send(());
            }
            Ask::Figures { reply } => {
                let _ = reply.send(Figures {
                    sessions_active: self.pictures.len() as u64,
                    prompts_open: self.prompts.iter().filter(|card| card.is_open()).count() as u64,
                    channels: vec![("telegram".to_owned(), "connected".to_owned())],
                    ..Figures::default()
                });
            }
            Ask::Refused { reason, .. } => self.refused.push(reason),
        }
    }

    fn done(&mut self, deed: Deed, visitor: &Visitor) -> Answer {
        match deed {
            Deed::Answer { prompt, nonce, said, as_is } => match &said {
                Said::Text(text) if text.starts_with('!') && !as_is => not_plain(),
                _ => self.answer(prompt, nonce, said, visitor),
            },
            Deed::Send { session, text, as_is } => {
                let card = self.sessions.iter_mut().find(|card| card.session.id == session);
                match card.and_then(|card| card.instructions.as_mut()) {
                    None => done_if(false),
                    Some(_) if text.starts_with('!') && !as_is => not_plain(),
                    Some(taken) => {
                        self.changed += 1;
                        taken.queued = Some(Words(text));
                        let told = "claude is working; this is sent when it has finished.".to_owned();
                        Answer::Queued { told }
                    }
                }
            }
            Deed::TakeBack { session } => {
                let card = self.sessions.iter_mut().find(|card| card.session.id == session);
                let taken = card.and_then(|card| card.instructions.as_mut());
                let is_done = taken.is_some_and(|taken| taken.queued.take().is_some());
                if is_done {
                    self.changed += 1;
                }
                done_if(is_done)
            }
            Deed::Type { session, typing } => {
                let is_known = self.pictures.contains_key(&session);
                if is_known {
                    self.changed += 1;
                    self.typed.push((session, typing));
                }
                done_if(is_known)
            }
            Deed::StopSession { session } => {
                let is_known = self.pictures.remove(&session).is_some();
                if is_known {
                    self.changed += 1;
                }
                done_if(is_known)
            }
        }
    }

    fn story(&self, session: SessionId) -> Option<SessionStory> {
        let card = self.sessions.iter().find(|card| card.session.id == session)?;
        let of_it = self.prompts.iter().filter(|card| card.session.id == session);
        Some(SessionStory { session: card.clone(), prompts: of_it.cloned().collect() })
    }

    /// Newest first, by when they were asked; a page of a real hub is as full.
    fn history(&self, search: &Search) -> Vec<Card> {
        let is_found = |card: &&Card| {
            search.before.is_none_or(|before| card.asked_at.0 < before)
                && search.session.is_none_or(|session| session == card.session.id)
                && search.text.as_deref().is_none_or(|text| card.sighting.excerpt.as_str().contains(text))
        };
        self.prompts.iter().rev().filter(is_found).take(search.most as usize).cloned().collect()
    }

    fn answer(&mut self, prompt: PromptId, nonce: Nonce, said: Said, visitor: &Visitor) -> Answer {
        let found = self.prompts.iter_mut().find(|card| card.prompt == prompt);
        let Some(card) = found.filter(|card| card.nonce == nonce && card.is_open()) else {
            let why = "this prompt is not waiting; nothing was typed".to_owned();
            return Answer::Refused { why };
        };
        let value = match &said {
            Said::Row(row) => match card.rows().nth(*row) {
                Some((label, _)) => label,
                None => {
                    let why = "there is no such row".to_owned();
                    return Answer::Refused { why };
                }
            },
            said => format!("{said:?}"),
        };
        card.answered = Some(Answered { value, by: visitor.0.clone() });
        let source = Source::Channel("web".to_owned());
        card.state = PromptState::Resolved { how: Resolution::Applied { source } };
        let card = Some(Box::new(card.clone()));
        self.changed += 1;
        self.said.push(said);
        Answer::Done { card }
    }
}

fn done_if(is_known: bool) -> Answer {
    match is_known {
        true => Answer::Done { card: None },
        false => Answer::Refused { why: "this session is not running".to_owned() },
    }
}

fn not_plain() -> Answer {
    Answer::NotPlain { why: "it would be run as a shell command by claude.".to_owned() }
}

const AUDIT_LINES: u64 = 1200;

fn audit(search: &Search) -> Vec<AuditLine> {
    let before = search.before.map_or(AUDIT_LINES + 1, |before| before as u64);
    let line = |seq| AuditLine {
        seq,
        at: "2026-01-02T03:04:05.678Z".to_owned(),
        event: "HUB_START".to_owned(),
        session: None,
        prompt: None,
        value: None,
        source: Some("hub".to_owned()),
        decided_by: None,
    };
    (1..before).rev().take(search.most as usize).map(line).collect()
}

fn tag() -> SessionTag {
    SessionTag {
        id: session_id(),
        tool: "claude".to_owned(),
        label: Some("fix\u{200b} it".to_owned()),
        cwd: "/srv/project".to_owned(),
    }
}

fn session_card() -> SessionCard {
    SessionCard {
        session: tag(),
        command: vec!["claude".to_owned(), "--resume".to_owned()],
        status: "active",
        started_at: "2026-01-02T03:04:05.678Z".to_owned(),
        ended_at: None,
        exit_code: None,
        prompts: 1,
        is_waiting: true,
        is_paused: false,
        is_connected: true,
        instructions: Some(Instructions {
            max_length: 4000,
            lines: true,
            queued: None,
            unsent: Some(Unsent { text: Words("do it\u{200b}".to_owned()), why: "session ended".to_owned() }),
        }),
    }
}

pub(crate) fn card() -> Card {
    // Keys that no browser may ever see.
    let row =
        |label: &str, effect| Choice { label: label.to_owned(), strokes: Some(Strokes::once("k3y")), effect };
    Card {
        prompt: prompt_id(),
        session: tag(),
        nonce: nonce(),
        sighting: Box::new(Sighting {
            no: SightingNo(1),
            kind: Kind::MultipleChoice,
            confidence: Confidence::CERTAIN,
            excerpt: Excerpt::new("Do you want to run <b>rm</b> \u{202e}txt.x?"),
            detail: Detail::new("Bash command\n  rm -rf build"),
            choices: Choices::new(vec![row("Yes", Effect::Accepts), row("No\u{200b}", Effect::Refuses)]),
            constraints: Constraints::default(),
            offers_default: false,
            takes: Takes::NOTHING,
            entry: Entry::Line,
            fingerprint: Fingerprint([1; 16]),
        }),
        takes_secrets: false,
        asked_at: Timestamp(1_767_323_045_678),
        expires_at: Some(Timestamp(1_767_323_645_678)),
        seconds_left: Some(600),
        silence: Some("No".to_owned()),
        state: PromptState::AwaitingReply,
        answered: None,
        is_replaced: false,
        level: 0,
    }
}
