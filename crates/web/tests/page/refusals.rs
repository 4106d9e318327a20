//! What must not get in. Each request is one that would work, with one thing wrong; afterwards nothing has changed.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Request, Response};
use crate::hub::{Hub, LIMIT, nonce, prompt_id, session_id};

/// Requests that change something, as the page sends them.
fn changes(hub: &Hub, login: &str) -> Vec<Request> {
    let (prompt, session) = (prompt_id(), session_id());
    let answer = json!({ "nonce": nonce().to_hex(), "answer": { "choice": 0 } });
    vec![
        Request::post(hub, login, &format!("/api/prompts/{prompt}/answer"), &answer),
        Request::post(hub, login, &format!("/api/sessions/{session}/stop"), &json!({})),
        Request::post(hub, login, &format!("/api/sessions/{session}/type"), &json!({ "key": "enter" })),
        Request::post(hub, login, "/api/logout", &json!({})),
    ]
}

/// Rows of the matrix: what is wrong, the request, the status.
fn matrix(hub: &Hub, login: &str) -> Vec<(String, Request, u16)> {
    let port = hub.web.address.port();
    let mut rows: Vec<(String, Request, u16)> = Vec::new();
    let mut row = |what: &str, request: Request, status: u16| rows.push((what.to_owned(), request, status));
    let get = |path: &str| Request::get(hub, login, path);
    let answer = || changes(hub, login).remove(0);

    // Names that are not ours: DNS rebinding, and what resembles us.
    for host in [
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        "127.0.0.1".to_owned(),
        format!("user@127.0.0.1:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        String::new(),
    ] {
        row(&format!("data for Host {host:?}"), get("/api/prompts").with("host", &host), 421);
        row(&format!("an answer for Host {host:?}"), answer().with("host", &host), 421);
    }
    row("the page for another Host", get("/").with("host", "evil.example"), 421);
    row("a file for another Host", get("/assets/app.js").with("host", "evil.example"), 421);
    row("figures for another Host", get("/metrics").with("host", "evil.example"), 421);
    row("two Hosts", get("/api/prompts").and("host", "evil.example"), 421);
    row("an address in the request line", get(&format!("http://127.0.0.1:{port}/api/prompts")), 400);
    row("another's address in the request line", get("http://evil.example/api/prompts"), 400);

    // Pages that are not ours.
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
        "http://127.0.0.1:3000".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.1:{port}.evil.example"),
    ] {
        row(&format!("data for {origin}"), get("/api/history").with("origin", &origin), 403);
        row(&format!("an answer from {origin}"), answer().with("origin", &origin), 403);
    }
    for site in ["cross-site", "same-site"] {
        row(&format!("data, {site}"), get("/api/export").with("sec-fetch-site", site), 403);
        row(&format!("an answer, {site}"), answer().with("sec-fetch-site", site), 403);
    }

    // Forms and scripts of others: no origin, or not JSON.
    for change in changes(hub, login) {
        let path = change.path.clone();
        row(&format!("{path} without an origin"), change.clone().without("origin"), 403);
        row(
            &format!("{path} as a form"),
            change.clone().with("content-type", "application/x-www-form-urlencoded"),
            415,
        );
        row(&format!("{path} as plain text"), change.clone().with("content-type", "text/plain"), 415);
        row(&format!("{path} as nothing"), change.clone().without("content-type"), 415);
        row(&format!("{path} without a login"), change.clone().without("cookie"), 401);
        row(&format!("{path} with another's login"), change.clone().logged_in(&"A".repeat(43)), 401);
        let by = |method: &str| Request { method: method.to_owned(), ..change.clone() };
        for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            row(&format!("{method} {path}"), by(method), 405);
        }
        row(&format!("{path} by override"), by("GET").and("x-http-method-override", "POST"), 405);
    }
    let multipart = answer().with("content-type", "multipart/form-data; boundary=x");
    row("an answer as a form with files", multipart, 415);

    // Logins that are none.
    for (what, cookie) in [
        ("an empty cookie", "atlasbridge=".to_owned()),
        ("half a cookie", format!("atlasbridge={}", &login[..20])),
        ("a cookie and more", format!("atlasbridge={login}x")),
        ("two cookies", format!("atlasbridge={login}; atlasbridge={}", "B".repeat(43))),
        ("another name", format!("atlasbridge2={login}")),
        ("quotes", format!("atlasbridge=\"{login}\"")),
        ("the hash", format!("atlasbridge={}", atlasbridge_web::link_hash(login).0)),
    ] {
        row(&format!("data with {what}"), get("/api/prompts").with("cookie", &cookie), 401);
    }
    for path in [
        "/api/prompts",
        "/api/sessions",
        "/api/history",
        "/api/audit",
        "/api/export",
        "/api/events",
        "/api/me",
    ] {
        row(&format!("{path} without a login"), get(path).without("cookie"), 401);
    }
    row("a login in the address", get(&format!("/api/me?atlasbridge={login}")).without("cookie"), 401);
    row(
        "a login as a bearer",
        get("/api/me").without("cookie").and("authorization", &format!("Bearer {login}")),
        401,
    );

    // Sockets.
    let socket = || {
        let request = get(&format!("/api/sessions/{}/live", session_id()));
        request.upgrade(&hub.web).with("connection", "upgrade, close")
    };
    row("a socket from another origin", socket().with("origin", "http://evil.example"), 403);
    row("a socket from another port", socket().with("origin", "http://127.0.0.1:3000"), 403);
    row("a socket without an origin", socket().without("origin"), 403);
    row("a socket without a login", socket().without("cookie"), 401);
    row("a socket for another Host", socket().with("host", "evil.example"), 421);
    row(
        "a socket by POST",
        Request { method: "POST".to_owned(), ..socket().with("content-type", "application/json") },
        405,
    );
    row("no socket", socket().without("upgrade").with("connection", "close"), 426);

    // Ways out of the table of files.
    for path in [
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/assets/....//etc/passwd",
        "/assets/app.js%00.html",
        "/assets/app.js/",
        "/assets/",
        "/assets/APP.JS",
        "/assets/..\\Cargo.toml",
        "/assets/%ff",
    ] {
        row(&format!("the file {path}"), get(path), 404);
    }
    row("an id that is none", get("/api/sessions/..%2f..%2fetc"), 404);
    row("an id in capitals", get(&format!("/api/sessions/{}", session_id().to_string().to_uppercase())), 404);
    row("an id of another", get("/api/sessions/11111111-1111-4111-8111-111111111111"), 404);

    // Bodies.
    row("a body of 17 KiB", answer().body(vec![b' '; 17 * 1024]), 413);
    row("a body of a gigabyte, so it says", answer().with("content-length", "1073741824"), 413);
    row("no JSON", answer().body("{"), 400);
    row("deep JSON", answer().body("[".repeat(10_000)), 400);
    row("bytes", answer().body(vec![0xff, 0xfe]), 400);
    row("unknown words", answer().body(r#"{"nonce":"x","answer":{"choice":0},"more":1}"#), 400);
    let two = json!({ "nonce": nonce().to_hex(), "answer": { "choice": 0, "text": "y" } });
    row("two answers at once", answer().body(two.to_string()), 400);
    let wrong = |nonce: String| json!({ "nonce": nonce, "answer": { "choice": 0 } }).to_string();
    row("a nonce that is none", answer().body(wrong("a5".repeat(15))), 400);
    row("another's nonce", answer().body(wrong("00".repeat(16))), 409);
    let beyond = json!({ "nonce": nonce().to_hex(), "answer": { "choice": 2 } });
    row("a row beyond the dialog", answer().body(beyond.to_string()), 409);
    let negative = json!({ "nonce": nonce().to_hex(), "answer": { "choice": -1 } });
    row("a row before the dialog", answer().body(negative.to_string()), 400);
    let keys = |text: &str| {
        let body = json!({ "text": text, "enter": true });
        Request::post(hub, login, &format!("/api/sessions/{}/type", session_id()), &body)
    };
    row("an escape sequence as text", keys("\u{1b}[A"), 400);
    row("two lines as text", keys("a\nb"), 400);
    let odd_key =
        Request::post(hub, login, &format!("/api/sessions/{}/type", session_id()), &json!({ "key": "f12" }));
    row("a key that is not on the bar", odd_key, 400);

    // Links.
    let log_in = |body: &str| Request::new(&hub.web, "POST", "/api/login").body(body);
    row("a link that never was", log_in(&json!({ "secret": "C".repeat(43) }).to_string()), 403);
    row("no link", log_in("{}"), 400);
    row("an odd link", log_in(r#"{"secret":"' OR 1=1 --"}"#), 403);
    row("a link by GET", Request { method: "GET".to_owned(), ..log_in("") }, 405);
    row("a link from elsewhere", log_in("{}").with("origin", "http://evil.example"), 403);

    // Searches.
    row("a page before a word", get("/api/history?before=x"), 400);
    row("less than nothing", get("/api/audit?most=-1"), 400);
    row("a session that is none", get("/api/history?session=x"), 400);
    row("a very long search", get(&format!("/api/history?q={}", "x".repeat(300))), 400);
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_these_gets_in_and_nothing_changes() {
    let hub = Hub::start();
    let login = hub.new_login();
    let rows = matrix(&hub, &login);
    assert!(rows.len() >= 60, "{}", rows.len());
    let mut wrong = Vec::new();
    for (what, request, expected) in &rows {
        let response = request.send().await;
        let is_told = request.method == "HEAD" || response.json()["error"].is_string();
        if response.status != *expected || !is_told || response.header("set-cookie").is_some() {
            wrong.push(format!("{what}: {} {:?}", response.status, response.text()));
        }
        if !is_protected(&response) || has_cors(&response) {
            wrong.push(format!("{what}: {:?}", response.headers));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    {
        let state = hub.state();
        assert_eq!(state.changed, 0);
        assert!(state.typed.is_empty() && state.said.is_empty());
        assert!(state.prompts.iter().all(|card| card.is_open()));
        assert_eq!((state.logins.len(), state.pictures.len()), (1, 1));
        // On record, but not so often that it could fill a disk.
        assert!(state.refused.contains(&"foreign_host"));
        assert!(state.refused.len() <= 30, "{}", state.refused.len());
    }
    // With nothing wrong, each of them does what it says.
    for (number, request) in (1..).zip(changes(&hub, &login)) {
        let status = request.send().await.status;
        let expected = if request.path.ends_with("type") { 409 } else { 200 };
        let is_logout = request.path.ends_with("logout");
        assert_eq!(status, if is_logout { 204 } else { expected }, "{}", request.path);
        let changed = if number > 2 { number - 1 } else { number };
        assert_eq!(hub.state().changed, changed, "{}", request.path);
    }
}

fn is_protected(response: &Response) -> bool {
    let policy = response.header("content-security-policy");
    policy
        .is_some_and(|policy| policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "))
        && response.header("x-content-type-options") == Some("nosniff")
        && response.header("referrer-policy") == Some("no-referrer")
        && response.header("cross-origin-resource-policy") == Some("same-origin")
        && response.header("cross-origin-opener-policy") == Some("same-origin")
        && response.header("cache-control") == Some("no-store")
}

fn has_cors(response: &Response) -> bool {
    response.headers.iter().any(|(name, _)| name.starts_with("access-control-"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_its_limit() {
    let hub = Hub::start();
    let large = Request::new(&hub.web, "GET", "/").with("x-large", &"x".repeat(40_000));
    assert_eq!(large.send().await.status, 431);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slow_are_cut_off() {
    let hub = Hub::start();
    let login = hub.new_login();
    let address = hub.web.address;
    let began = Instant::now();
    // Half a head and then a byte now and then; it must not matter that something still comes.
    let slow_head = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut sent = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").await;
        while sent.is_ok() {
            let mut byte = [0];
            let read = timeout(Duration::from_millis(500), stream.read(&mut byte)).await;
            match read {
                Ok(Ok(0)) | Ok(Err(_)) => break,
                Ok(Ok(_)) => continue,
                Err(_) => sent = stream.write_all(b"a").await,
            }
            assert!(began.elapsed() < LIMIT, "a slow head is cut off");
        }
    };
    let silent = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let read = timeout(LIMIT, stream.read(&mut [0; 64])).await;
        assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    };
    let slow_body = async {
        let request = Request::post(&hub, &login, "/api/logout", &json!({})).with("content-length", "100");
        let response = request.send().await;
        assert_eq!(response.status, 408, "{}", response.text());
    };
    tokio::join!(slow_head, silent, slow_body);
    assert_eq!(hub.state().changed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_have_a_limit_and_their_places_are_given_back() {
    let hub = Hub::start();
    let mut held = Vec::new();
    for _ in 0..256 {
        held.push(TcpStream::connect(hub.web.address).await.unwrap());
    }
    let mut one_more = TcpStream::connect(hub.web.address).await.unwrap();
    let read = timeout(LIMIT, one_more.read(&mut [0; 1])).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    assert!(held.iter().all(|stream| {
        stream.try_read(&mut [0; 1]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }));
    drop(held);
    let deadline = Instant::now() + LIMIT;
    loop {
        let mut stream = Request::new(&hub.web, "GET", "/").begin().await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        if bytes.starts_with(b"HTTP/1.1 200") {
            break;
        }
        assert!(Instant::now() < deadline, "places are given back");
    }
}
