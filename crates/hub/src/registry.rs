//! The sessions that are connected right now, and what is in flight to them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use atlasbridge_model::{Picture, SessionId, picture};
use atlasbridge_wire::session::{Health, ToSession, Typing, TypingOutcome};
use tokio::sync::{mpsc, oneshot, watch};

/// One connection, counted from the start of the hub: a session may come back on another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionNo(pub(crate) u64);

#[derive(Debug)]
struct Live {
    connection: ConnectionNo,
    mailbox: mpsc::Sender<ToSession>,
}

/// Lines of scrollback.
const MOST_LINES: u32 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    live: HashMap<SessionId, Live>,
    /// How often somebody came or went.
    pub(crate) changes: u64,
    /// Session hosts whose process is known to run, by session.
    pub(crate) hosts: HashMap<SessionId, i32>,
    /// Sessions whose host has ended while what it said last may still be in the socket: its end is waited for.
    pub(crate) ended: HashSet<SessionId>,
    next_question: u64,
    pub(crate) health: Questions<u64, Health>,
    pub(crate) texts: Questions<u64, String>,
    pub(crate) lines: Questions<u64, Vec<String>>,
    pub(crate) typings: Questions<String, TypingOutcome>,
    /// Screens that somebody looks at.
    screens: HashMap<SessionId, watch::Sender<Option<Picture>>>,
}

/// What session hosts were asked, and where each answer goes.
type Questions<K, T> = HashMap<K, oneshot::Sender<T>>;

fn wait<K: Eq + Hash, T>(asked: &mut Questions<K, T>, question: K) -> oneshot::Receiver<T> {
    asked.retain(|_, way| !way.is_closed());
    let (way, answer) = oneshot::channel();
    asked.insert(question, way);
    answer
}

/// A session host has answered.
pub(crate) fn came<K: Eq + Hash, T>(asked: &mut Questions<K, T>, question: K, answer: T) {
    if let Some(way) = asked.remove(&question) {
        let _ = way.send(answer);
    }
}

impl Registry {
    pub(crate) fn connect(
        &mut self,
        session: SessionId,
        connection: ConnectionNo,
        mailbox: mpsc::Sender<ToSession>,
    ) {
        self.changes += 1;
        self.live.insert(session, Live { connection, mailbox });
        if self.screens.get(&session).is_some_and(|screen| screen.receiver_count() > 0) {
            self.send(session, ToSession::Watch { on: true });
        }
    }

    /// Forgets the connection: what still comes over it is not heard. Returns whose it was.
    pub(crate) fn disconnect(&mut self, connection: ConnectionNo) -> Option<SessionId> {
        let (session, _) = self.connection(connection)?;
        self.changes += 1;
        self.live.remove(&session);
        Some(session)
    }

    /// Whose connection this is, and the way back.
    pub(crate) fn connection(
        &self,
        connection: ConnectionNo,
    ) -> Option<(SessionId, mpsc::Sender<ToSession>)> {
        let (session, live) = self.live.iter().find(|(_, live)| live.connection == connection)?;
        Some((*session, live.mailbox.clone()))
    }

    /// A host that does not read its mailbox is not waited for: what matters is in the store and is sent again.
    pub(crate) fn send(&self, session: SessionId, message: ToSession) -> bool {
        self.live.get(&session).is_some_and(|live| live.mailbox.try_send(message).is_ok())
    }

    /// The host's process has ended. False: its connection is still to be read to its end.
    pub(crate) fn host_ended(&mut self, session: SessionId) -> bool {
        self.hosts.remove(&session);
        let is_read = !self.live.contains_key(&session);
        if !is_read {
            self.ended.insert(session);
        }
        is_read
    }

    /// Asks a session host how it is; the answer comes, or the receiver is dropped with the question.
    pub(crate) fn ask_health(&mut self, session: SessionId) -> Option<oneshot::Receiver<Health>> {
        let asked = self.ask(session, |asked| ToSession::HowAreYou { asked })?;
        Some(wait(&mut self.health, asked))
    }

    /// Asks for the screen of this moment, as text.
    pub(crate) fn ask_screen(&mut self, session: SessionId) -> Option<oneshot::Receiver<String>> {
        let asked = self.ask(session, |asked| ToSession::Screen { asked })?;
        Some(wait(&mut self.texts, asked))
    }

    /// Asks for the lines that scrolled off the screen last.
    pub(crate) fn ask_lines(&mut self, session: SessionId) -> Option<oneshot::Receiver<Vec<String>>> {
        let asked = self.ask(session, |asked| ToSession::Lines { asked, most: MOST_LINES })?;
        Some(wait(&mut self.lines, asked))
    }

    fn ask(&mut self, session: SessionId, message: impl Fn(u64) -> ToSession) -> Option<u64> {
        self.next_question += 1;
        self.send(session, message(self.next_question)).then_some(self.next_question)
    }

    /// Keys for a session: sent once, never again, whatever becomes of them.
    pub(crate) fn type_into(
        &mut self,
        session: SessionId,
        typing_id: String,
        what: Typing,
    ) -> Option<oneshot::Receiver<TypingOutcome>> {
        let message = ToSession::Type { typing_id: typing_id.clone(), what };
        self.send(session, message).then(|| wait(&mut self.typings, typing_id))
    }

    /// The live screen of a session, from now on. `None`: it is not connected.
    pub(crate) fn watch_screen(&mut self, session: SessionId) -> Option<watch::Receiver<Option<Picture>>> {
        let watched = self.screens.get(&session);
        if let Some(screen) = watched.filter(|screen| screen.receiver_count() > 0) {
            return Some(screen.subscribe());
        }
        if !self.send(session, ToSession::Watch { on: true }) {
            return None;
        }
        // Whoever looked before has gone, and the picture may be old.
        let (screen, receiver) = watch::channel(None);
        self.screens.insert(session, screen);
        Some(receiver)
    }

    pub(crate) fn picture_came(&mut self, session: SessionId, change: picture::Change) {
        let Some(screen) = self.screens.get(&session) else { return };
        if screen.receiver_count() == 0 {
            self.screens.remove(&session);
            self.send(session, ToSession::Watch { on: false });
            return;
        }
        screen.send_modify(|picture| {
            // Without a whole one before it, this is the rest of what an earlier viewer saw; the whole one follows.
            if picture.is_some() || change.is_whole {
                picture.get_or_insert_default().apply(change);
            }
        });
    }

    /// The session is over: its viewers are told by the end of their pictures.
    pub(crate) fn screen_ended(&mut self, session: SessionId) {
        self.screens.remove(&session);
    }

    pub(crate) fn is_connected(&self, session: SessionId) -> bool {
        self.live.contains_key(&session)
    }
}
