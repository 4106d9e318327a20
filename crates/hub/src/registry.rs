//! The sessions that are connected right now, and what is in flight to them.

use std::collections::{HashMap, HashSet};

use atlasbridge_model::ReplyId;
use atlasbridge_model::SessionId;
use atlasbridge_model::answer::Value;
use atlasbridge_wire::session::{Health, ToSession};
use tokio::sync::{mpsc, oneshot};

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
    session_of: HashMap<ConnectionNo, SessionId>,
    /// Session hosts whose process is known to run, by session.
    hosts: HashMap<SessionId, i32>,
    /// Sessions whose host has ended while what it said last may still be in the socket.
    ended: HashSet<SessionId>,
    /// Secrets on their way: in memory only, gone with this process.
    secrets: HashMap<ReplyId, Value>,
    questions: HashMap<u64, oneshot::Sender<Health>>,
    next_question: u64,
}

impl Registry {
    pub(crate) fn connect(
        &mut self,
        session: SessionId,
        connection: ConnectionNo,
        mailbox: mpsc::Sender<ToSession>,
    ) {
        if let Some(old) = self.live.insert(session, Live { connection, mailbox }) {
            self.session_of.remove(&old.connection);
        }
        self.session_of.insert(connection, session);
    }

    /// Forgets the connection: what still comes over it is not heard. Returns whose it was.
    pub(crate) fn disconnect(&mut self, connection: ConnectionNo) -> Option<SessionId> {
        let session = self.session_of.remove(&connection)?;
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
        self.live
            .get(&session)
            .is_some_and(|live| live.mailbox.try_send(message).is_ok())
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

    pub(crate) fn keep_secret(&mut self, reply: ReplyId, value: Value) {
        self.secrets.insert(reply, value);
    }

    pub(crate) fn secret(&self, reply: ReplyId) -> Option<&Value> {
        self.secrets.get(&reply)
    }

    pub(crate) fn forget_secret(&mut self, reply: ReplyId) {
        self.secrets.remove(&reply);
    }

    /// Asks a session host how it is; the answer comes, or the receiver is dropped with the connection.
    pub(crate) fn ask_health(&mut self, session: SessionId) -> Option<oneshot::Receiver<Health>> {
        self.next_question += 1;
        let asked = self.next_question;
        if !self.send(session, ToSession::HowAreYou { asked }) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.questions.retain(|_, waiting| !waiting.is_closed());
        self.questions.insert(asked, sender);
        Some(receiver)
    }

    pub(crate) fn health_came(&mut self, health: Health) {
        if let Some(waiting) = self.questions.remove(&health.asked) {
            let _ = waiting.send(health);
        }
    }
}
