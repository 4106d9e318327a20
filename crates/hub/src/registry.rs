//! The sessions that are connected right now, and what is in flight to them.

use std::collections::{HashMap, HashSet};

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

#[derive(Debug, Default)]
pub(crate) struct Registry {
    live: HashMap<SessionId, Live>,
    /// How often somebody came or went.
    changes: u64,
    session_of: HashMap<ConnectionNo, SessionId>,
    /// Session hosts whose process is known to run, by session.
    hosts: HashMap<SessionId, i32>,
    /// Sessions whose host has ended while what it said last may still be in the socket.
    ended: HashSet<SessionId>,
    questions: HashMap<u64, Question>,
    next_question: u64,
    typings: HashMap<String, oneshot::Sender<TypingOutcome>>,
    /// Screens that somebody looks at.
    screens: HashMap<SessionId, watch::Sender<Option<Picture>>>,
}

/// What a session host was asked, and where its answer goes.
#[derive(Debug)]
enum Question {
    Health(oneshot::Sender<Health>),
    Screen(oneshot::Sender<String>),
    Lines(oneshot::Sender<Vec<String>>),
}

impl Question {
    fn is_given_up(&self) -> bool {
        match self {
            Question::Health(way) => way.is_closed(),
            Question::Screen(way) => way.is_closed(),
            Question::Lines(way) => way.is_closed(),
        }
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
        if let Some(old) = self.live.insert(session, Live { connection, mailbox }) {
            self.session_of.remove(&old.connection);
        }
        self.session_of.insert(connection, session);
        if self.screens.get(&session).is_some_and(|screen| screen.receiver_count() > 0) {
            self.send(session, ToSession::Watch { on: true });
        }
    }

    /// Forgets the connection: what still comes over it is not heard. Returns whose it was.
    pub(crate) fn disconnect(&mut self, connection: ConnectionNo) -> Option<SessionId> {
        let session = self.session_of.remove(&connection)?;
        self.changes += 1;
        self.live.remove(&session);
        Some(session)
    }

    /// Whose connection this is, and the way back.
    pub(crate) fn connection(
        &self,
        connection: ConnectionNo,
    ) -> Option<(SessionId, mpsc::Sender<ToSession>)> {
        let session = *self.session_of.get(&connection)?;
        Some((session, self.live.get(&session)?.mailbox.clone()))
    }

    /// A host that does not read its mailbox is not waited for: what matters is in the store and is sent again.
    pub(crate) fn send(&self, session: SessionId, message: ToSession) -> bool {
        self.live.get(&session).is_some_and(|live| live.mailbox.try_send(message).is_ok())
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn host_runs(&mut self, session: SessionId, pid: i32) {
        self.hosts.insert(session, pid);
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

    /// Whether the end of this session's connection was all that was waited for.
    pub(crate) fn was_waited_for(&mut self, session: SessionId) -> bool {
        self.ended.remove(&session)
    }

    pub(crate) fn hosts(&self) -> Vec<i32> {
        self.hosts.values().copied().collect()
    }

    /// Asks a session host how it is; the answer comes, or the receiver is dropped with the question.
    pub(crate) fn ask_health(&mut self, session: SessionId) -> Option<oneshot::Receiver<Health>> {
        let (way, answer) = oneshot::channel();
        self.ask(session, Question::Health(way), |asked| ToSession::HowAreYou { asked }).then_some(answer)
    }

    /// Asks for the screen of this moment, as text.
    pub(crate) fn ask_screen(&mut self, session: SessionId) -> Option<oneshot::Receiver<String>> {
        let (way, answer) = oneshot::channel();
        self.ask(session, Question::Screen(way), |asked| ToSession::Screen { asked }).then_some(answer)
    }

    /// Asks for the lines that scrolled off the screen last.
    pub(crate) fn ask_lines(
        &mut self,
        session: SessionId,
        most: u32,
    ) -> Option<oneshot::Receiver<Vec<String>>> {
        let (way, answer) = oneshot::channel();
        self.ask(session, Question::Lines(way), |asked| ToSession::Lines { asked, most }).then_some(answer)
    }

    fn ask(&mut self, session: SessionId, question: Question, message: impl Fn(u64) -> ToSession) -> bool {
        self.next_question += 1;
        let asked = self.next_question;
        self.questions.retain(|_, question| !question.is_given_up());
        let is_sent = self.send(session, message(asked));
        if is_sent {
            self.questions.insert(asked, question);
        }
        is_sent
    }

    pub(crate) fn health_came(&mut self, health: Health) {
        if let Some(Question::Health(way)) = self.questions.remove(&health.asked) {
            let _ = way.send(health);
        }
    }

    pub(crate) fn screen_came(&mut self, asked: u64, text: String) {
        if let Some(Question::Screen(way)) = self.questions.remove(&asked) {
            let _ = way.send(text);
        }
    }

    pub(crate) fn lines_came(&mut self, asked: u64, lines: Vec<String>) {
        if let Some(Question::Lines(way)) = self.questions.remove(&asked) {
            let _ = way.send(lines);
        }
    }

    /// Keys for a session: sent once, never again, whatever becomes of them.
    pub(crate) fn type_into(
        &mut self,
        session: SessionId,
        typing_id: String,
        what: Typing,
    ) -> Option<oneshot::Receiver<TypingOutcome>> {
        self.typings.retain(|_, way| !way.is_closed());
        let message = ToSession::Type { typing_id: typing_id.clone(), what };
        if !self.send(session, message) {
            return None;
        }
        let (way, outcome) = oneshot::channel();
        self.typings.insert(typing_id, way);
        Some(outcome)
    }

    pub(crate) fn typing_done(&mut self, typing_id: &str, outcome: TypingOutcome) {
        if let Some(way) = self.typings.remove(typing_id) {
            let _ = way.send(outcome);
        }
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
        let Some(screen) = self.screens.get(&session) else {
            return;
        };
        if screen.receiver_count() == 0 {
            self.screens.remove(&session);
            self.send(session, ToSession::Watch { on: false });
            return;
        }
        screen.send_modify(|picture| match picture {
            Some(picture) => picture.apply(change),
            None if change.is_whole => {
                let mut whole = Picture::default();
                whole.apply(change);
                *picture = Some(whole);
            }
            // The rest of what an earlier viewer saw; the whole one follows.
            None => {}
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
