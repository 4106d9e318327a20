//! What may be asked, and who answers it. `api/openapi.json` describes each of these routes; a test compares them.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlasbridge_model::answer::Said;
use atlasbridge_model::{Nonce, Picture, PromptId, SessionId};
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json, Router};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::door::{self, Refusal};
use crate::questions::{Ask, AuditVerdict, Deed, Key, Search, Typing};
use crate::serve::Connection;
use crate::server::{Problem, Server, Visit};
use crate::show::{card, shown};
use crate::{access, assets, events, export, figures, live, render};

/// For reading a request and making its answer; streams go on after it.
const REQUEST_TIME: Duration = Duration::from_secs(15);
/// The longest body that anything here takes.
const MOST_BODY: usize = 16 * 1024;
/// Rows of a search, unless the page asks for another number.
const USUAL_ROWS: u32 = 50;
pub(crate) const MOST_ROWS: u32 = 500;
/// More than a person looks for; longer ones only cost the hub time.
const LONGEST_SEARCH: usize = 200;
/// For a session's first picture: its host may be busy with a flood.
const PICTURE_TIME: Duration = Duration::from_secs(5);

pub(crate) fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for (_, path, handler) in routes() {
        router = router.route(path, handler);
    }
    router
        .fallback(async || Problem::not_found("There is nothing here."))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "This cannot be done with this method.")
        })
        .layer(middleware::from_fn_with_state(server.clone(), admit))
        .with_state(server)
}

fn routes() -> Vec<(Method, &'static str, MethodRouter<Arc<Server>>)> {
    let get_ = |path, handler| (Method::GET, path, handler);
    let post_ = |path, handler| (Method::POST, path, handler);
    vec![
        get_("/", get(assets::serve)),
        get_("/open", get(assets::serve)),
        get_("/assets/{name}", get(assets::serve)),
        get_("/healthz", get(figures::health)),
        get_("/metrics", get(figures::metrics)),
        post_("/api/login", post(login)),
        post_("/api/logout", post(logout)),
        get_("/api/me", get(me)),
        get_("/api/prompts", get(prompts)),
        post_("/api/prompts/{id}/answer", post(answer)),
        get_("/api/sessions", get(sessions)),
        get_("/api/sessions/{id}", get(story)),
        get_("/api/sessions/{id}/lines", get(lines)),
        get_("/api/sessions/{id}/screen", get(screen)),
        get_("/api/sessions/{id}/live", get(live::live)),
        post_("/api/sessions/{id}/stop", post(stop)),
        post_("/api/sessions/{id}/type", post(type_into)),
        post_("/api/sessions/{id}/send", post(send)),
        post_("/api/sessions/{id}/take_back", post(take_back)),
        get_("/api/history", get(history)),
        get_("/api/audit", get(audit)),
        get_("/api/audit/verify", get(verify_audit)),
        get_("/api/export", get(export::download)),
        get_("/api/events", get(events::listen)),
    ]
}

/// # Every request passes here
/// Nothing is routed, static files included, before the door has judged it; and nothing but the page's own files, the
/// login and this machine's own look at the figures is answered without a login that the hub knows.
async fn admit(
    State(server): State<Arc<Server>>,
    Extension(connection): Extension<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let peer = connection.peer.ip();
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
    let answered = timeout(REQUEST_TIME, async {
        match enter(&server, &connection, request).await {
            Ok(request) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    });
    let mut response = answered
        .await
        .unwrap_or_else(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "This took too long.").into_response());
    match response.extensions().get::<Refusal>() {
        // A page whose login has ended looks in now and then: nothing to put on record.
        Some(Refusal::NoLogin) if !is_change => (),
        Some(refusal) => server.tell_refused(refusal.reason(), peer),
        None => (),
    }
    server.count(response.status());
    door::protect(response.headers_mut());
    response
}

async fn enter(
    server: &Arc<Server>,
    connection: &Connection,
    mut request: Request,
) -> Result<Request, Problem> {
    door::judge(request.method(), request.uri(), request.headers(), connection.local, server.is_tls)?;
    if !is_open_to(connection.peer.ip(), request.uri().path()) {
        let visit = Visit::of(server, request.headers()).await?;
        request.extensions_mut().insert(visit);
    }
    let body = read(std::mem::take(request.body_mut())).await;
    *request.body_mut() = body.ok_or_else(|| {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "This is more than anything here takes.")
    })?;
    Ok(request)
}

/// A body, whole; `None`: it is too long.
async fn read(body: Body) -> Option<Body> {
    // One that announces too much is told at once, not when it has sent it.
    if body.size_hint().lower() > MOST_BODY as u64 {
        return None;
    }
    to_bytes(body, MOST_BODY).await.ok().map(Body::from)
}

/// What is answered without a login. The figures carry no names of sessions and no text, but they are no
/// other machine's business either.
fn is_open_to(peer: IpAddr, path: &str) -> bool {
    match path {
        "/" | "/open" | "/api/login" => true,
        "/healthz" | "/metrics" => peer.to_canonical().is_loopback(),
        path => path.starts_with("/assets/"),
    }
}

/// What the body of a request says, if it is what is expected there.
struct Given<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let wrong = |_| Problem::bad_request("This is not the JSON that is expected here.");
        Json::from_request(request, state).await.map(|Json(body)| Self(body)).map_err(wrong)
    }
}

/// An id out of the path.
pub(crate) struct Id<T>(pub(crate) T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let nothing = || Problem::not_found("There is no such id.");
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| nothing())?;
        text.parse().map(Id).map_err(|_| nothing())
    }
}

/// What the query of a request says, if it can be read.
struct Asked<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(query) = Query::from_request_parts(parts, state).await.map_err(|_| {
            Problem::bad_request("`before` and `most` are numbers, and each name stands once.")
        })?;
        Ok(Self(query))
    }
}

type JsonAnswer = Result<Json<Value>, Problem>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    secret: String,
}

async fn login(
    State(server): State<Arc<Server>>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, Problem> {
    if !server.attempts.allows(connection.peer.ip(), Instant::now()) {
        return Err(Refusal::TooManyAttempts.into());
    }
    let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
    let device = access::device(user_agent.unwrap_or_default());
    let Given(LoginBody { secret }) = Given::from_request(request, &server).await?;
    if !access::is_secret(&secret) {
        return Err(Refusal::WrongLink.into());
    }
    let cookie = access::new_secret().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "This machine has no random numbers just now.")
    })?;
    let (link, login) = (access::link_hash(&secret), access::link_hash(&cookie));
    let is_spent = server.ask(|reply| Ask::Redeem { link, login, device, reply }).await?;
    if !is_spent {
        return Err(Refusal::WrongLink.into());
    }
    Ok(cookie_set(&server, Some(&cookie)))
}

async fn logout(Visit { server, login, .. }: Visit) -> Result<Response, Problem> {
    server.ask(|reply| Ask::Logout { login, reply }).await?;
    Ok(cookie_set(&server, None))
}

fn cookie_set(server: &Server, secret: Option<&str>) -> Response {
    let headers = [(SET_COOKIE, access::cookie(secret, server.is_tls))];
    (StatusCode::NO_CONTENT, headers).into_response()
}

async fn me(Visit { server, visitor, .. }: Visit) -> Json<Value> {
    Json(json!({ "visitor": visitor.0, "version": server.version }))
}

async fn prompts(State(server): State<Arc<Server>>) -> JsonAnswer {
    listed_prompts(&server).await.map(Json)
}

pub(crate) async fn listed_prompts(server: &Server) -> Result<Value, Problem> {
    let cards = server.ask(|reply| Ask::Inbox { reply }).await?;
    Ok(json!({ "prompts": cards.iter().map(card).collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    nonce: String,
    answer: AnswerWord,
    #[serde(default)]
    as_is: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    Choice(usize),
    Say(#[serde(with = "PlainAnswer")] Said),
    Text(String),
    DenyWithReason(String),
}

/// What is said in one word.
#[derive(Deserialize)]
#[serde(remote = "Said", rename_all = "snake_case")]
enum PlainAnswer {
    Approve,
    Deny,
    #[serde(rename = "default")]
    UseDefault,
    Cancel,
    Enter,
}

async fn answer(
    visit: Visit,
    Id(prompt): Id<PromptId>,
    Given(AnswerBody { nonce, answer, as_is }): Given<AnswerBody>,
) -> JsonAnswer {
    let nonce: Nonce =
        nonce.parse().map_err(|_| Problem::bad_request("The nonce of a prompt has 32 hex digits."))?;
    let said = match answer {
        AnswerWord::DenyWithReason(reason) if reason.trim().is_empty() => {
            return Err(Problem::bad_request("The reason is empty; to refuse without one, say `deny`."));
        }
        AnswerWord::DenyWithReason(reason) => Said::DenyWith(reason),
        AnswerWord::Choice(row) => Said::Row(row),
        AnswerWord::Text(text) => Said::Text(text),
        AnswerWord::Say(said) => said,
    };
    let (prompt, _) = visit.act(Deed::Answer { prompt, nonce, said, as_is }).await?;
    Ok(Json(json!({ "prompt": prompt.as_deref().map(card) })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SendBody {
    text: String,
    #[serde(default)]
    as_is: bool,
}

async fn send(
    visit: Visit,
    Id(session): Id<SessionId>,
    Given(SendBody { text, as_is }): Given<SendBody>,
) -> JsonAnswer {
    let (prompt, queued) = visit.act(Deed::Send { session, text, as_is }).await?;
    Ok(Json(json!({ "prompt": prompt.as_deref().map(card), "queued": queued })))
}

async fn take_back(visit: Visit, Id(session): Id<SessionId>) -> JsonAnswer {
    done(&visit, Deed::TakeBack { session }).await
}

#[derive(Deserialize)]
struct SessionsQuery {
    all: Option<String>,
}

async fn sessions(State(server): State<Arc<Server>>, Asked(query): Asked<SessionsQuery>) -> JsonAnswer {
    listed_sessions(&server, query.all.is_some_and(|all| all == "1")).await.map(Json)
}

pub(crate) async fn listed_sessions(server: &Server, all: bool) -> Result<Value, Problem> {
    let cards = server.ask(|reply| Ask::Sessions { all, reply }).await?;
    Ok(json!({ "sessions": shown(&cards) }))
}

const NO_SESSION: &str = "There is no such session.";
const NOT_RUNNING: &str = "This session is not running.";

async fn story(State(server): State<Arc<Server>>, Id(id): Id<SessionId>) -> JsonAnswer {
    let story = server.ask(|reply| Ask::Session { session: id, reply }).await?;
    let story = story.ok_or_else(|| Problem::not_found(NO_SESSION))?;
    let prompts: Vec<_> = story.prompts.iter().map(card).collect();
    Ok(Json(json!({ "session": shown(&story.session), "prompts": prompts })))
}

async fn lines(State(server): State<Arc<Server>>, Id(id): Id<SessionId>) -> JsonAnswer {
    let lines = server.ask(|reply| Ask::Lines { session: id, reply }).await?;
    let lines = lines.ok_or_else(|| Problem::not_found(NOT_RUNNING))?;
    Ok(Json(json!({ "lines": shown(&lines) })))
}

async fn watch_screen(
    server: &Server,
    session: SessionId,
) -> Result<watch::Receiver<Option<Picture>>, Problem> {
    let watching = server.ask(|reply| Ask::Watch { session, reply }).await?;
    watching.ok_or_else(|| Problem::not_found(NOT_RUNNING))
}

async fn screen(State(server): State<Arc<Server>>, Id(id): Id<SessionId>) -> JsonAnswer {
    let mut watching = watch_screen(&server, id).await?;
    let first = timeout(PICTURE_TIME, watching.wait_for(Option::is_some)).await;
    let picture = match first {
        Ok(Ok(picture)) => (*picture).clone(),
        Ok(Err(_)) => None,
        Err(_) => {
            let late = "This session has not shown its screen yet; try again in a moment.";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, late));
        }
    };
    let picture = picture.ok_or_else(|| Problem::not_found(NOT_RUNNING))?;
    Ok(Json(json!({
        "columns": picture.columns,
        "rows": picture.rows.iter().map(render::row).collect::<Vec<_>>(),
        "cursor": picture.cursor,
        "alternate": picture.is_alternate,
    })))
}

async fn stop(visit: Visit, Id(session): Id<SessionId>) -> JsonAnswer {
    done(&visit, Deed::StopSession { session }).await
}

async fn type_into(visit: Visit, Id(session): Id<SessionId>, Given(body): Given<TypeBody>) -> JsonAnswer {
    let typing = body.typing().map_err(Problem::bad_request)?;
    done(&visit, Deed::Type { session, typing }).await
}

async fn done(visit: &Visit, deed: Deed) -> JsonAnswer {
    visit.act(deed).await?;
    Ok(Json(json!({ "ok": true })))
}

/// `{"key": "escape"}` or `{"text": "…", "enter": true}`.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum TypeBody {
    Key {
        #[serde(deserialize_with = "key")]
        key: Key,
    },
    Text {
        text: String,
        #[serde(default)]
        enter: bool,
    },
}

impl TypeBody {
    /// What is to be typed; else why not. Nothing that came as text may press a key.
    pub(crate) fn typing(self) -> Result<Typing, &'static str> {
        match self {
            TypeBody::Key { key } => Ok(Typing::Key(key)),
            TypeBody::Text { text, .. } if text.chars().any(char::is_control) => {
                Err("A text is one line without control characters; keys are sent by their names.")
            }
            TypeBody::Text { text, enter: false } if text.is_empty() => Err("There is nothing to type."),
            TypeBody::Text { text, enter } => Ok(Typing::Text { text, enter }),
        }
    }
}

fn key<'de, D: Deserializer<'de>>(text: D) -> Result<Key, D::Error> {
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

#[derive(Deserialize)]
struct SearchQuery {
    q: Option<String>,
    session: Option<String>,
    before: Option<i64>,
    most: Option<u32>,
}

impl SearchQuery {
    fn search(self) -> Result<Search, Problem> {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let text = given(self.q);
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_SEARCH) {
            return Err(Problem::bad_request("What you look for is too long."));
        }
        let session = given(self.session)
            .map(|id| id.parse())
            .transpose()
            .map_err(|_| Problem::bad_request("This is not the id of a session."))?;
        Ok(Search {
            text,
            session,
            before: self.before,
            most: self.most.unwrap_or(USUAL_ROWS).clamp(1, MOST_ROWS),
        })
    }
}

async fn history(State(server): State<Arc<Server>>, Asked(query): Asked<SearchQuery>) -> JsonAnswer {
    let search = query.search()?;
    let most = search.most;
    let cards = server.ask(|reply| Ask::History { search, reply }).await?;
    let prompts: Vec<_> = cards.iter().map(card).collect();
    Ok(Json(json!({ "prompts": prompts, "next": next(&cards, most, |card| card.asked_at.0) })))
}

async fn audit(State(server): State<Arc<Server>>, Asked(query): Asked<SearchQuery>) -> JsonAnswer {
    let search = query.search()?;
    let most = search.most;
    let lines = server.ask(|reply| Ask::Audit { search, reply }).await?;
    Ok(Json(json!({ "lines": shown(&lines), "next": next(&lines, most, |line| line.seq as i64) })))
}

/// What is [`Search::before`] for the page after this one; `None`: this one is not full, and so the last. Prompts of one
/// moment are never torn apart, so a full page may be longer than asked for.
pub(crate) fn next<T>(rows: &[T], most: u32, place: fn(&T) -> i64) -> Option<i64> {
    rows.last().filter(|_| rows.len() >= most as usize).map(place)
}

async fn verify_audit(State(server): State<Arc<Server>>) -> Result<Json<AuditVerdict>, Problem> {
    server.ask(|reply| Ask::VerifyAudit { reply }).await.map(Json)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_description_has_each_route_and_no_other() {
        let described: Value = serde_json::from_str(include_str!("../api/openapi.json")).unwrap();
        let described: BTreeSet<String> = described["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect();
        let served: BTreeSet<String> =
            routes().iter().map(|(method, path, _)| format!("{method} {path}")).collect();
        assert_eq!(described, served);
    }

    #[test]
    fn without_a_login_only_what_tells_nothing_is_open() {
        let (here, there): (IpAddr, IpAddr) = ([127, 0, 0, 1].into(), [192, 0, 2, 7].into());
        for (_, path, _) in routes() {
            let is_page = matches!(path, "/" | "/open" | "/assets/{name}" | "/api/login");
            let is_figures = matches!(path, "/healthz" | "/metrics");
            assert_eq!(is_open_to(there, path), is_page, "{path}");
            assert_eq!(is_open_to(here, path), is_page || is_figures, "{path}");
        }
    }

    #[test]
    fn a_text_presses_no_key() {
        let typing = |text: &str| serde_json::from_str::<TypeBody>(text).unwrap().typing();
        assert_eq!(typing(r#"{"key":"ctrl_c"}"#), Ok(Typing::Key(Key::CtrlC)));
        let text = "ls".to_owned();
        assert_eq!(typing(r#"{"text":"ls","enter":true}"#), Ok(Typing::Text { text, enter: true }));
        for text in [r"\u001b[A", r"a\nb", r"\u0003", r"\u009b"] {
            assert!(typing(&format!(r#"{{"text":"{text}"}}"#)).is_err(), "{text}");
        }
        assert!(typing(r#"{"text":""}"#).is_err());
        for body in [r#"{"key":"f1"}"#, r#"{"key":"up","text":"a"}"#, r#"{"text":"a","more":1}"#, "{}"] {
            assert!(serde_json::from_str::<TypeBody>(body).is_err(), "{body}");
        }
    }
}
