//! The stream of events: what waits and what runs, at once and after each change.
//!
//! Nothing queues here. The next event is made when the browser has taken the one before, from what is true then.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use serde_json::Value;
use tokio::time::sleep;

use crate::api::{listed_prompts, listed_sessions};
use crate::pace::Paced;
use crate::seats::Seat;
use crate::serve::Connection;
use crate::server::{Problem, StreamKind, Visit};

/// A comment, so that proxies and sleeping phones find out that the line is dead; and a look at whether the login stands.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// Between two looks at the hub: a burst of changes is one event.
const PACE: Duration = Duration::from_millis(100);

struct Listener {
    visit: Visit,
    changes: Paced<u64>,
    /// What the browser has; compared, so that it gets only what changed.
    prompts: Value,
    sessions: Value,
    waiting: Vec<Event>,
    _stream: Seat,
    _connection: Connection,
}

pub(crate) async fn listen(
    visit: Visit,
    Extension(connection): Extension<Connection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let listener = Listener {
        _stream: visit.server.stream(StreamKind::Events, &visit.login)?,
        _connection: connection,
        changes: Paced::new(visit.server.hub.changes.clone(), PACE),
        prompts: Value::Null,
        sessions: Value::Null,
        waiting: Vec::new(),
        visit,
    };
    Ok(Sse::new(stream::unfold(listener, |mut listener| async {
        let event = listener.next_event().await?;
        Some((Ok(event), listener))
    })))
}

impl Listener {
    /// `None` ends the stream: the page is closing, the hub is gone, or the login was revoked.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            tokio::select! {
                () = self.visit.server.closed() => return None,
                () = sleep(HEARTBEAT) => {
                    return self.visit.may_stay().await.then(|| Event::default().comment("still here"));
                }
                due = self.changes.due() => due.ok()?,
            }
            self.look().await?;
        }
    }

    /// The change that led here was seen before the hub is asked: one that comes meanwhile is a reason to ask again.
    async fn look(&mut self) -> Option<()> {
        if !self.visit.may_stay().await {
            return None;
        }
        let prompts = listed_prompts(&self.visit.server).await.ok()?;
        let sessions = listed_sessions(&self.visit.server, false).await.ok()?;
        // What was pushed last is sent first.
        for (name, had, has) in
            [("sessions", &mut self.sessions, sessions), ("prompts", &mut self.prompts, prompts)]
        {
            if *had != has {
                // JSON has no line breaks of its own, so the text is one `data:` line.
                self.waiting.push(Event::default().event(name).data(has.to_string()));
                *had = has;
            }
        }
        Some(())
    }
}
