//! The live screen of a session, over a WebSocket: pictures out, and keys in once they were unlocked on this very socket.
//!
//! # Never-a-backlog invariant
//! One frame is under way at a time, made from the newest picture when the one before has left for the network. However
//! much a tool prints and however slow a phone is, this holds two pictures and one frame.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use atlasbridge_model::picture::Change;
use atlasbridge_model::{Picture, SessionId};
use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, timeout};

use crate::api::{Id, TypeBody};
use crate::pace::Paced;
use crate::questions::{Ask, Deed, Typing};
use crate::render;
use crate::seats::Seat;
use crate::serve::Connection;
use crate::server::{Problem, StreamKind, Visit};

/// Between two frames: twenty a second look alive, more only cost a phone its battery.
const PACE: Duration = Duration::from_millis(50);
/// How long one frame may take to leave. A browser that stands still for longer connects again when it is back.
const SEND_TIME: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(20);
/// Between two looks at whether the login stands, however much changes: a revoked one sees no second more.
const DOUBT: Duration = Duration::from_millis(500);
/// Heartbeats without a sign of life after which the other side is gone.
const MOST_MISSED: u32 = 3;
/// What a browser may say in one message.
const MOST_BYTES: usize = 16 * 1024;

pub(crate) async fn live(
    visit: Visit,
    Extension(connection): Extension<Connection>,
    Id(session): Id<SessionId>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|_| Problem::new(StatusCode::UPGRADE_REQUIRED, "This is a WebSocket."))?;
    let stream = visit.server.stream(StreamKind::Live, &visit.login)?;
    // A session that has just ended is told to be gone by the socket itself: a refused one is an error to a browser.
    let watched = visit.server.ask(|reply| Ask::Watch { session, reply }).await?;
    let picture = Paced::new(watched.unwrap_or_else(|| watch::channel(None).1), PACE);
    let viewer = Viewer {
        visit,
        session,
        picture,
        seen: None,
        is_unlocked: false,
        missed: 0,
        _stream: stream,
        _connection: connection,
    };
    Ok(upgrade
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .write_buffer_size(0)
        .on_upgrade(|socket| viewer.run(socket)))
}

struct Viewer {
    visit: Visit,
    session: SessionId,
    picture: Paced<Option<Picture>>,
    /// What the browser has.
    seen: Option<Picture>,
    is_unlocked: bool,
    missed: u32,
    _stream: Seat,
    _connection: Connection,
}

/// Why a socket ends.
enum ViewEnd {
    /// The session is over.
    Gone,
    /// The other side left, stalled or may no longer watch.
    Left,
}

/// What a browser may say.
#[derive(Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum BrowserMessage {
    Unlock,
    Lock,
    Key(Value),
    Text(Value),
}

impl Viewer {
    async fn run(mut self, mut socket: WebSocket) {
        if let Err(ViewEnd::Gone) = self.show(&mut socket).await {
            let _ = send(&mut socket, told(&json!({ "t": "gone" }))).await;
        }
        let _ = send(&mut socket, Message::Close(None)).await;
    }

    /// Until it ends, for one reason or another.
    async fn show(&mut self, socket: &mut WebSocket) -> Result<Infallible, ViewEnd> {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let mut doubts = Paced::new(self.visit.server.hub.changes.clone(), DOUBT);
        let server = self.visit.server.clone();
        let mut closed = std::pin::pin!(server.closed());
        loop {
            tokio::select! {
                () = &mut closed => return Err(ViewEnd::Left),
                message = socket.recv() => match message {
                    Some(Ok(message)) => self.hear(socket, message).await?,
                    Some(Err(_)) | None => return Err(ViewEnd::Left),
                },
                _ = heartbeat.tick() => self.beat(socket).await?,
                due = self.picture.due() => match due {
                    Ok(()) => self.send_picture(socket).await?,
                    Err(_) => return Err(ViewEnd::Gone),
                },
                due = doubts.due() => match due {
                    Ok(()) if self.visit.may_stay().await => (),
                    Ok(()) | Err(_) => return Err(ViewEnd::Left),
                },
            }
        }
    }

    async fn send_picture(&mut self, socket: &mut WebSocket) -> Result<(), ViewEnd> {
        let Some(newest) = self.picture.news.borrow_and_update().clone() else { return Ok(()) };
        if let Some(change) = newest.change_since(self.seen.as_ref()) {
            send(socket, told(&frame(&change))).await?;
            self.seen = Some(newest);
        }
        Ok(())
    }

    /// A login that was revoked ends its sockets, a browser that sleeps is let go.
    async fn beat(&mut self, socket: &mut WebSocket) -> Result<(), ViewEnd> {
        self.missed += 1;
        if self.missed > MOST_MISSED || !self.visit.may_stay().await {
            return Err(ViewEnd::Left);
        }
        send(socket, Message::Ping(Vec::new().into())).await
    }

    async fn hear(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), ViewEnd> {
        self.missed = 0;
        let text = match message {
            Message::Text(text) => text,
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Binary(_) | Message::Close(_) => return Err(ViewEnd::Left),
        };
        let typing = match serde_json::from_str::<BrowserMessage>(&text) {
            Ok(message @ (BrowserMessage::Unlock | BrowserMessage::Lock)) => {
                self.is_unlocked = matches!(message, BrowserMessage::Unlock);
                return Ok(());
            }
            Ok(BrowserMessage::Key(body) | BrowserMessage::Text(body)) => self.typing(body),
            Err(_) => Err("This is not a message that is expected here."),
        };
        let typed = match typing {
            Ok(_) if !self.visit.may_stay().await => return Err(ViewEnd::Left),
            Ok(typing) => {
                let deed = Deed::Type { session: self.session, typing };
                self.visit.act(deed).await.map_err(|problem| problem.sentence)
            }
            Err(why) => Err(why.into()),
        };
        let typed = match typed {
            Ok(_) => json!({ "t": "typed", "ok": true }),
            Err(why) => json!({ "t": "typed", "ok": false, "error": why }),
        };
        send(socket, told(&typed)).await
    }

    fn typing(&self, body: Value) -> Result<Typing, &'static str> {
        if !self.is_unlocked {
            return Err("This screen is only watched; unlock typing first.");
        }
        serde_json::from_value::<TypeBody>(body).map_err(|_| "There is no such key.")?.typing()
    }
}

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), ViewEnd> {
    match timeout(SEND_TIME, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(ViewEnd::Left),
    }
}

fn told(message: &Value) -> Message {
    Message::text(message.to_string())
}

fn frame(change: &Change) -> Value {
    let rows: BTreeMap<u16, String> =
        change.rows.iter().map(|(number, row)| (*number, render::row(row))).collect();
    json!({
        "t": "screen",
        "columns": change.columns,
        "height": change.height,
        "rows": rows,
        "cursor": change.cursor,
        "alternate": change.is_alternate,
        "whole": change.is_whole,
    })
}
