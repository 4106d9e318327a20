//! Links, cookies, the limits of trying, certificates, ports, and the end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use atlasbridge_web::{Tls, link_hash};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::client::{Request, Response, read_until, watch};
use crate::hub::{Hub, LIMIT, eventually};

fn log_in(hub: &Hub, secret: &str) -> Request {
    Request::new(&hub.web, "POST", "/api/login").body(json!({ "secret": secret }).to_string())
}

fn cookie_of(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a cookie is set");
    let value = cookie.strip_prefix("atlasbridge=").unwrap();
    value.split(';').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_spent_once_and_becomes_a_cookie() {
    let hub = Hub::start();
    let link = hub.new_link();
    let response = log_in(&hub, &link).send().await;
    assert_eq!((response.status, response.text()), (204, ""));
    let login = cookie_of(&response);
    let cookie = response.header("set-cookie").unwrap();
    assert_eq!(cookie, format!("atlasbridge={login}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"));
    assert_ne!(login, link);
    assert!(hub.state().logins.contains_key(&link_hash(&login)), "only its hash is kept");

    let me = Request::get(&hub, &login, "/api/me").send().await;
    assert_eq!(me.json(), json!({ "visitor": "web:new", "version": "1.2.3" }));
    let again = log_in(&hub, &link).send().await;
    assert_eq!(again.status, 403);
    assert!(again.header("set-cookie").is_none());

    let out = Request::post(&hub, &login, "/api/logout", &json!({})).send().await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(Request::get(&hub, &login, "/api/me").send().await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_spend_one_link_at_once_are_one_login() {
    let hub = Hub::start();
    let link = hub.new_link();
    let (one, other) = (log_in(&hub, &link), log_in(&hub, &link));
    let (one, other) = tokio::join!(one.send(), other.send());
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 403]);
    assert_eq!(hub.state().logins.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_eleventh_attempt_is_refused_even_with_a_good_link() {
    let hub = Hub::start();
    for _ in 0..10 {
        assert_eq!(log_in(&hub, &"D".repeat(43)).send().await.status, 403);
    }
    let link = hub.new_link();
    assert_eq!(log_in(&hub, &link).send().await.status, 429);
    assert_eq!(hub.state().links.len(), 1, "the link was not spent");
    let is_told = || hub.state().refused.contains(&"too_many_attempts").then_some(());
    eventually("the attempt is on record", is_told).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_static_and_open_to_all_who_find_it() {
    let hub = Hub::start();
    let get = |path: &str| Request::new(&hub.web, "GET", path);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/open", "text/html; charset=utf-8"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
    ] {
        let response = get(path).send().await;
        assert_eq!((response.status, response.header("content-type")), (200, Some(kind)));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
        let tag = response.header("etag").unwrap();
        let again = get(path).with("if-none-match", tag).send().await;
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
    // A link in a chat leads here from elsewhere; that alone spends nothing.
    let followed = get("/open").with("sec-fetch-site", "cross-site").send().await;
    assert_eq!(followed.status, 200);
    assert_eq!(hub.state().changed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_are_for_this_machine_or_a_login() {
    let hub = Hub::start();
    let health = Request::new(&hub.web, "GET", "/healthz").send().await;
    assert_eq!(health.json(), json!({ "status": "ok", "version": "1.2.3", "trouble": null }));
    let metrics = Request::new(&hub.web, "GET", "/metrics").send().await;
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        "atlasbridge_sessions_active 1",
        "atlasbridge_prompts_open 1",
        "atlasbridge_channel_up{channel=\"telegram\"} 1",
        "atlasbridge_http_requests_total{class=\"2xx\"} 1",
        "atlasbridge_build_info{version=\"1.2.3\"} 1",
    ] {
        assert!(metrics.text().lines().any(|found| found == line), "{line}\n{}", metrics.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taken_port_is_passed_over() {
    let first = Hub::start();
    let taken = first.web.address;
    let second = Hub::start_with(&taken.to_string(), None);
    assert!(second.web.address.port() > taken.port() && second.web.address.port() < taken.port() + 20);
    assert_eq!(second.web.base_url, format!("http://{}", second.web.address));
    // Each is known by its own port only.
    let crossed = Request::new(&second.web, "GET", "/").with("host", &taken.to_string());
    assert_eq!(crossed.send().await.status, 421);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_handle_ends_everything() {
    let hub = Hub::start();
    let login = hub.new_login();
    let mut socket = watch(&hub, &login).await;
    let mut events = Request::get(&hub, &login, "/api/events").begin().await;
    read_until(&mut events, "event: sessions").await;
    let address = hub.web.address;
    let Hub { web, served, .. } = hub;
    drop(web);
    timeout(LIMIT, served).await.expect("the server ends").unwrap();
    assert_eq!(socket.hear().await, None);
    let mut rest = Vec::new();
    let _ = timeout(LIMIT, events.read_to_end(&mut rest)).await.expect("the stream ends");
    assert!(TcpStream::connect(address).await.is_err());
}

/// A directory of this test's own, removed with it.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        let name = format!("atlasbridge-web-{}", atlasbridge_web::new_secret().unwrap());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn send_over_tls(hub: &Hub, certificate: CertificateDer<'static>, request: &Request) -> Response {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(hub.web.address).await.unwrap();
    let name = ServerName::from(hub.web.address.ip());
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(&request.to_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let _ = timeout(LIMIT, stream.read_to_end(&mut bytes)).await.expect("an answer");
    Response::parse(&bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_our_making_is_kept_and_has_one_fingerprint() {
    let dir = Dir::new();
    let tls = || Some(Tls::SelfSigned { dir: dir.0.clone() });
    let hub = Hub::start_with("127.0.0.1:0", tls());
    let fingerprint = hub.web.fingerprint.clone().unwrap();
    assert_eq!(fingerprint.len(), 32 * 3 - 1);
    assert!(hub.web.base_url.starts_with("https://127.0.0.1:"));
    let file = dir.0.join("page.pem");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let certificate = CertificateDer::from_pem_file(&file).unwrap();
    let link = hub.new_link();
    let response = send_over_tls(&hub, certificate.clone(), &log_in(&hub, &link)).await;
    assert_eq!(response.status, 204);
    assert!(response.header("set-cookie").unwrap().ends_with("; Secure"));
    let plain = log_in(&hub, &link).with("origin", &hub.web.base_url.replace("https", "http"));
    assert_eq!(
        send_over_tls(&hub, certificate, &plain).await.status,
        403,
        "another scheme is another origin"
    );

    let again = Hub::start_with("127.0.0.1:0", tls());
    assert_eq!(again.web.fingerprint, Some(fingerprint.clone()));
    let files = Tls::Files { certificate: file.clone(), key: file.clone() };
    let own = Hub::start_with("127.0.0.1:0", Some(files));
    assert_eq!(own.web.fingerprint, None, "whoever brings a certificate knows it");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(tls()).contains("can be read by others"));
    std::fs::remove_file(&file).unwrap();
    let renewed = Hub::start_with("127.0.0.1:0", tls());
    assert_ne!(renewed.web.fingerprint, Some(fingerprint));
}

/// Why a page with this certificate cannot be served.
fn refused(tls: Option<Tls>) -> String {
    let config =
        atlasbridge_web::PageConfig { listen: "127.0.0.1:0".parse().unwrap(), tls, version: String::new() };
    let hub = atlasbridge_web::HubDoor {
        asks: tokio::sync::mpsc::channel(1).0,
        changes: tokio::sync::watch::channel(0).1,
    };
    match atlasbridge_web::start(config, hub) {
        Ok(_) => panic!("it was served"),
        Err(error) => std::error::Error::source(&error).unwrap().to_string(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_none_is_told() {
    let dir = Dir::new();
    std::fs::create_dir(&dir.0).unwrap();
    let path = dir.0.join("none.pem");
    let files = || Some(Tls::Files { certificate: path.clone(), key: path.clone() });
    assert!(refused(files()).starts_with("reading "));
    std::fs::write(&path, "not a certificate").unwrap();
    assert!(refused(files()).contains("holds no usable certificate or key"));
}
