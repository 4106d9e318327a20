//! The HTTP around [`State`]: one thread, one runtime, one listener on the loopback. What it is told to break, breaks
//! here.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::Response;
use axum::serve::IncomingStream;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};

use super::clock::{Clock, Moment};
use super::faults::Fault;
use super::limits::Scope;
use super::params::Params;
use super::refusal::{Answer, Refusal};
use super::state::{Call, State, Waiting};

/// The most that can be uploaded.
const MOST_BODY: usize = 50 * 1024 * 1024;

/// The state, and those who wait for it to change: tests in their threads, calls in the runtime.
#[derive(Debug)]
pub(crate) struct Shared {
    inside: Mutex<(State, Clock)>,
    pub(crate) changed: Condvar,
    woken: Notify,
}

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        Self { inside: Mutex::new((state, Clock::start())), changed: Condvar::new(), woken: Notify::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, (State, Clock)> {
        // A test that failed while it looked is no reason for the others to fail.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts, and tells everybody.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut State, Moment) -> T) -> T {
        let done = self.step(act);
        self.woken.notify_waiters();
        done
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.lock().1.advance(by);
        self.act(|_, _| ());
    }

    /// Acts, and tells the tests only: a waiting poll that woke itself would spin.
    fn step<T>(&self, act: impl FnOnce(&mut State, Moment) -> T) -> T {
        let mut inside = self.lock();
        let now = inside.1.now();
        let done = act(&mut inside.0, now);
        drop(inside);
        self.changed.notify_all();
        done
    }
}

/// A listener and its connections, all of which end with the value.
#[derive(Debug)]
pub(crate) struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(shared: Arc<Shared>, listener: std::net::TcpListener) -> Self {
        let (stop, stopped) = oneshot::channel();
        listener.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let serve = move || {
            runtime.block_on(async {
                let listener = Listener(tokio::net::TcpListener::from_std(listener).unwrap());
                let handle = move |line: ConnectInfo<Line>, request: Request| {
                    handle(Arc::clone(&shared), line.0, request)
                };
                let router = Router::new().fallback(handle);
                let service = router.into_make_service_with_connect_info::<Line>();
                tokio::select! {
                    served = async { axum::serve(listener, service).await } => served.unwrap(),
                    _ = stopped => {}
                }
            });
            // Dropping the runtime drops the connections, answered or not.
        };
        let thread = thread::Builder::new().name("telegram".to_owned()).spawn(serve).unwrap();
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What became of a call.
enum Reply {
    Answer(Answer),
    /// Half of the JSON.
    Cut(Answer),
    /// A gateway's page in place of an answer.
    Page(u16),
    /// Nothing at all: the line is cut.
    Silence,
}

async fn handle(shared: Arc<Shared>, line: Line, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let target = path.strip_prefix("/bot").and_then(|path| path.split_once('/'));
    let Some((token, method)) = target else {
        return json_response(&Err(Refusal::not_found()));
    };
    let Ok(body) = to_bytes(body, MOST_BODY).await else {
        return json_response(&Err(Refusal::too_large()));
    };
    let content_type = head.headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let params = Params::read(head.uri.query(), content_type, &body);
    let number = shared.act(|state, now| state.record(method, params.as_ref().ok(), now));
    let reply = match params {
        Ok(params) => reply(&shared, token, method, &params).await,
        Err(refusal) => Reply::Answer(Err(refusal)),
    };
    let response = match reply {
        Reply::Answer(answer) => {
            if let Err(Refusal { after, .. }) = &answer {
                tokio::time::sleep(*after).await;
            }
            json_response(&answer)
        }
        Reply::Cut(answer) => cut_response(&answer),
        Reply::Page(status) => page(status),
        Reply::Silence => {
            line.cut.store(true, Ordering::Relaxed);
            return Response::new(Body::empty());
        }
    };
    shared.act(|state, now| {
        let call = &mut state.calls[number];
        call.status = Some(response.status().as_u16());
        call.answered_at = Some(now);
    });
    response
}

async fn reply(shared: &Shared, token: &str, method: &str, params: &Params) -> Reply {
    let admitted = shared.act(|state, _| {
        state.check_token(token)?;
        Ok(state.faults.strike(method))
    });
    let fault = match admitted {
        Ok(fault) => fault,
        Err(refusal) => return Reply::Answer(Err(refusal)),
    };
    match fault {
        None => Reply::Answer(answer(shared, method, params).await),
        Some(Fault::Status(status)) => Reply::Page(status),
        Some(Fault::TooManyRequests { retry_after }) => {
            let wait = Duration::from_secs(retry_after);
            let scope = match params.integer("chat_id") {
                Some(chat) => Scope::Chat(chat),
                None => Scope::Method(method.to_owned()),
            };
            Reply::Answer(Err(shared.act(|state, now| {
                let told = state.pace.check_wait(method, params.integer("chat_id"), now);
                told.err().unwrap_or_else(|| state.pace.tell_to_wait(scope, wait, now))
            })))
        }
        Some(Fault::DropBefore) => Reply::Silence,
        Some(Fault::DropAfterHandling) => {
            let _ = answer(shared, method, params).await;
            Reply::Silence
        }
        Some(Fault::CutJson) => Reply::Cut(answer(shared, method, params).await),
        Some(Fault::Hang) => {
            released(shared).await;
            Reply::Answer(answer(shared, method, params).await)
        }
        Some(Fault::HangAfterHandling) => {
            let answer = answer(shared, method, params).await;
            released(shared).await;
            Reply::Answer(answer)
        }
    }
}

async fn answer(shared: &Shared, method: &str, params: &Params) -> Answer {
    if !method.eq_ignore_ascii_case("getUpdates") {
        return shared.act(|state, now| state.call(method, params, now));
    }
    let waiting = shared.act(|state, now| state.begin_poll(params, now))?;
    let poll = Polled { shared, waiting };
    let mut is_new = true;
    loop {
        let mut woken = std::pin::pin!(shared.woken.notified());
        woken.as_mut().enable();
        let (ended, left) = shared.step(|state, now| {
            let left = poll.waiting.deadline.saturating_sub(now);
            (state.continue_poll(&poll.waiting, now), left)
        });
        if std::mem::take(&mut is_new) {
            // This one may have ended another.
            shared.woken.notify_waiters();
        }
        if let Some(answer) = ended {
            return answer;
        }
        let _ = tokio::time::timeout(left, woken).await;
    }
}

/// A poll that its bot may hang up on.
struct Polled<'a> {
    shared: &'a Shared,
    waiting: Waiting,
}

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        self.shared.step(|state, _| state.abandon_poll(&self.waiting));
    }
}

/// Until the test lets go whoever hangs.
async fn released(shared: &Shared) {
    let began = shared.step(|state, _| {
        state.hanging += 1;
        state.releases
    });
    let _hanging = Hanging(shared);
    loop {
        let mut woken = std::pin::pin!(shared.woken.notified());
        woken.as_mut().enable();
        if shared.step(|state, _| state.releases > began) {
            return;
        }
        woken.await;
    }
}

struct Hanging<'a>(&'a Shared);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.step(|state, _| state.hanging -= 1);
    }
}

fn envelope(answer: &Answer) -> (u16, String) {
    match answer {
        Ok(result) => (200, json!({"ok": true, "result": result}).to_string()),
        Err(refusal) => (refusal.code, refusal.envelope().to_string()),
    }
}

fn json_response(answer: &Answer) -> Response {
    let (status, body) = envelope(answer);
    let retry_after = answer.as_ref().err().and_then(|refusal| refusal.retry_after);
    let mut response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        response = response.header(RETRY_AFTER, seconds);
    }
    response.body(Body::from(body)).expect("status and headers are well formed")
}

fn cut_response(answer: &Answer) -> Response {
    let (status, body) = envelope(answer);
    let half: String = body.chars().take(body.chars().count() / 2).collect();
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(Body::from(half)).expect("status and headers are well formed")
}

/// The server's own failures are JSON, those of what stands before it a page.
fn page(status: u16) -> Response {
    if matches!(status, 500 | 502) {
        return json_response(&Err(Refusal::broken(status)));
    }
    let description = Refusal::broken(status).description;
    let page = format!("<html><head><title>{status} {description}</title></head></html>\r\n");
    let response = Response::builder().status(status).header(CONTENT_TYPE, "text/html");
    response.body(Body::from(page)).expect("a status between 100 and 999")
}

/// A connection's name for its handler, which can cut it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    cut: Arc<AtomicBool>,
}

impl axum::extract::connect_info::Connected<IncomingStream<'_, Listener>> for Line {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.remote_addr().clone()
    }
}

struct Listener(tokio::net::TcpListener);

impl axum::serve::Listener for Listener {
    type Io = Wire;
    type Addr = Line;

    async fn accept(&mut self) -> (Wire, Line) {
        let (stream, _) = axum::serve::Listener::accept(&mut self.0).await;
        let line = Line::default();
        let wire = Wire { stream, line: line.clone() };
        (wire, line)
    }

    fn local_addr(&self) -> io::Result<Line> {
        Ok(Line::default())
    }
}

/// A connection that can be cut before anything is written.
struct Wire {
    stream: TcpStream,
    line: Line,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.line.cut.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl State {
    fn record(&mut self, method: &str, params: Option<&Params>, now: Moment) -> usize {
        let params = params.map_or(serde_json::Value::Null, Params::to_json);
        let method = method.to_owned();
        self.calls.push(Call { method, at: now, params, status: None, answered_at: None });
        self.calls.len() - 1
    }
}
