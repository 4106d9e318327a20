//! What all requests share: the way to the hub, the limits, the counts.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use atlasbridge_channel::Card;
use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::access::{Attempts, PerMinute, shown_login};
use crate::door::Refusal;
use crate::questions::{Answer, Ask, Deed, HubDoor, TokenHash, Visitor};
use crate::seats::{Seat, Seats};

/// How long the hub may take for an answer. Less than a request may take, so that the page hears why.
const HUB_TIME: Duration = Duration::from_secs(12);
/// Refusals on record in a minute: enough to see an attack, too few to fill a disk.
const REFUSALS_PER_MINUTE: usize = 30;
/// Streams of one kind for one login: a tab needs one of each.
const MOST_STREAMS: usize = 16;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) hub: HubDoor,
    pub(crate) version: String,
    pub(crate) is_tls: bool,
    closing: watch::Receiver<()>,
    pub(crate) attempts: Attempts,
    refusals: PerMinute,
    streams: Seats<(StreamKind, TokenHash)>,
    answered: [AtomicU64; 5],
}

/// A request of a visitor whom the hub knows, and the way to the hub.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) server: Arc<Server>,
    pub(crate) visitor: Visitor,
    pub(crate) login: TokenHash,
}

impl Visit {
    /// Who sends a request with these headers.
    pub(crate) async fn of(server: &Arc<Server>, headers: &HeaderMap) -> Result<Self, Problem> {
        let login = shown_login(headers)?;
        let visitor = server.visitor(&login).await?.ok_or(Refusal::UnknownLogin)?;
        Ok(Self { server: Arc::clone(server), visitor, login })
    }

    /// Asked again by what lasts longer than a request: a login may be revoked meanwhile.
    pub(crate) async fn may_stay(&self) -> bool {
        matches!(self.server.visitor(&self.login).await, Ok(Some(_)))
    }

    /// The prompt that took it, or why it waits; else why it was not taken.
    pub(crate) async fn act(&self, deed: Deed) -> Result<(Option<Box<Card>>, Option<String>), Problem> {
        let visitor = self.visitor.clone();
        match self.server.ask(|reply| Ask::Do { deed, visitor, reply }).await? {
            Answer::Done { card } => Ok((card, None)),
            Answer::Queued { told } => Ok((None, Some(told))),
            Answer::Refused { why } => Err(Problem::new(StatusCode::CONFLICT, why)),
            Answer::NotPlain { why } => Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, why)),
        }
    }
}

impl FromRequestParts<Arc<Server>> for Visit {
    type Rejection = Problem;

    /// Where the door let in a request without a login, nothing is done in anybody's name.
    async fn from_request_parts(parts: &mut Parts, _: &Arc<Server>) -> Result<Self, Problem> {
        Ok(parts.extensions.get::<Visit>().cloned().ok_or(Refusal::NoLogin)?)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum StreamKind {
    Events,
    Live,
    Export,
}

impl Server {
    pub(crate) fn new(hub: HubDoor, version: String, is_tls: bool, closing: watch::Receiver<()>) -> Self {
        Self {
            hub,
            version,
            is_tls,
            closing,
            attempts: Attempts::new(),
            refusals: PerMinute::new(REFUSALS_PER_MINUTE),
            streams: Seats::new(),
            answered: Default::default(),
        }
    }

    /// Returns once the handle is gone.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.clone();
        while closing.changed().await.is_ok() {}
    }

    /// Asks the hub, for a bounded time. A hub that is ending drops the question.
    pub(crate) async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<T>) -> Ask,
    ) -> Result<T, Problem> {
        let (reply, answer) = oneshot::channel();
        let asked = timeout(HUB_TIME, async {
            self.hub.asks.send(question(reply)).await.ok()?;
            answer.await.ok()
        });
        let why = match asked.await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => "The hub is ending; try again in a moment.",
            Err(_) => "The hub did not answer in time; `atlasbridge status` tells what it is doing.",
        };
        Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why))
    }

    async fn visitor(&self, login: &TokenHash) -> Result<Option<Visitor>, Problem> {
        let login = login.clone();
        self.ask(|reply| Ask::Login { login, reply }).await
    }

    pub(crate) fn stream(&self, kind: StreamKind, login: &TokenHash) -> Result<Seat, Problem> {
        let has_room = |_, of_login| of_login < MOST_STREAMS;
        self.streams.take((kind, login.clone()), has_room).ok_or_else(|| Refusal::TooManyStreams.into())
    }

    /// Puts a refusal on record, if the hub has room for it and there were not too many.
    pub(crate) fn tell_refused(&self, reason: &'static str, from: IpAddr) {
        tracing::debug!(reason, %from, "a request to the page was refused");
        if self.refusals.allows(Instant::now()) {
            let from = from.to_canonical().to_string();
            let _ = self.hub.asks.try_send(Ask::Refused { reason, from });
        }
    }

    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.answered[class].fetch_add(1, Ordering::Relaxed);
    }

    /// Requests answered so far, by the first digit of their status.
    pub(crate) fn answered(&self) -> [(&'static str, u64); 5] {
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        std::array::from_fn(|class| (classes[class], self.answered[class].load(Ordering::Relaxed)))
    }
}

/// An answer that is not what was asked for: `{"error": "a sentence"}`.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) sentence: Cow<'static, str>,
    /// The word for the record, where a request was turned away at the door.
    pub(crate) refusal: Option<Refusal>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self { status, sentence: sentence.into(), refusal: None }
    }

    pub(crate) fn not_found(sentence: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence)
    }

    pub(crate) fn bad_request(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::new(refusal.status(), refusal.sentence()) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.sentence }))).into_response();
        if let Some(refusal) = self.refusal {
            response.extensions_mut().insert(refusal);
        }
        response
    }
}
