//! The door: what every request must be before anybody looks at what it asks for.
//!
//! Pure. A page elsewhere that points a name at this machine fails at `Host`; one that sends our visitors' browsers here
//! fails at `Origin` and `Sec-Fetch-Site`; a form cannot send JSON. Static files come through the same door.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, UPGRADE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request was not let in. Ordinary, and worded for the author of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotOurs,
    ForeignHost,
    ForeignOrigin,
    CrossSite,
    NoOrigin,
    NotJson,
    NoLogin,
    UnknownLogin,
    TooManyAttempts,
    WrongLink,
    TooManyStreams,
}

impl Refusal {
    /// The status, and the word on record.
    fn code(self) -> (StatusCode, &'static str) {
        match self {
            Refusal::NotOurs => (StatusCode::BAD_REQUEST, "not_ours"),
            Refusal::ForeignHost => (StatusCode::MISDIRECTED_REQUEST, "foreign_host"),
            Refusal::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign_origin"),
            Refusal::CrossSite => (StatusCode::FORBIDDEN, "cross_site"),
            Refusal::NoOrigin => (StatusCode::FORBIDDEN, "no_origin"),
            Refusal::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json"),
            Refusal::NoLogin => (StatusCode::UNAUTHORIZED, "no_login"),
            Refusal::UnknownLogin => (StatusCode::UNAUTHORIZED, "unknown_login"),
            Refusal::TooManyAttempts => (StatusCode::TOO_MANY_REQUESTS, "too_many_attempts"),
            Refusal::WrongLink => (StatusCode::FORBIDDEN, "wrong_link"),
            Refusal::TooManyStreams => (StatusCode::TOO_MANY_REQUESTS, "too_many_streams"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.code().0
    }

    pub(crate) fn reason(self) -> &'static str {
        self.code().1
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Refusal::NotOurs => "This server answers plain requests for its own paths only.",
            Refusal::ForeignHost => {
                "This server goes by another name: use the address that `atlasbridge open` shows."
            }
            Refusal::ForeignOrigin | Refusal::CrossSite => "This page may be used from its own address only.",
            Refusal::NoOrigin => {
                "A request that changes something must say where it comes from: send its Origin."
            }
            Refusal::NotJson => {
                "A request that changes something must be JSON: send `content-type: application/json`."
            }
            Refusal::NoLogin | Refusal::UnknownLogin => {
                "You are not logged in here: run `atlasbridge open` for a new link."
            }
            Refusal::TooManyAttempts => {
                "Too many attempts to log in; wait a minute, then run `atlasbridge open` for a new link."
            }
            Refusal::WrongLink => {
                "This link was used before, has expired or never was: run `atlasbridge open` for a new one."
            }
            Refusal::TooManyStreams => "Too many windows of this page are open; close some of them.",
        }
    }
}

/// Judges a request by its head, and by the address at which it arrived.
pub(crate) fn judge(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    local: SocketAddr,
    is_tls: bool,
) -> Result<(), Refusal> {
    // An address in the request line would count for more than `Host`; browsers send one only to proxies.
    if uri.authority().is_some() || !uri.path().starts_with('/') {
        return Err(Refusal::NotOurs);
    }
    let host = only(headers, HOST).ok_or(Refusal::ForeignHost)?;
    if !is_our_host(host, local, is_tls) {
        return Err(Refusal::ForeignHost);
    }
    let has_origin = headers.contains_key(ORIGIN);
    if has_origin && !only(headers, ORIGIN).is_some_and(|origin| is_our_origin(origin, host, is_tls)) {
        return Err(Refusal::ForeignOrigin);
    }
    let site = headers.contains_key(&SEC_FETCH_SITE).then(|| only(headers, SEC_FETCH_SITE));
    // Another port of this host is the same *site*, and gets our cookie: only the same *origin* is us. A link that leads
    // here from elsewhere is fine: the page itself holds no data.
    let is_page = matches!(uri.path(), "/" | "/open");
    if !is_page && site.is_some_and(|site| !matches!(site, Some("same-origin" | "none"))) {
        return Err(Refusal::CrossSite);
    }
    if headers.contains_key(UPGRADE) && !has_origin {
        return Err(Refusal::NoOrigin);
    }
    if method == Method::GET || method == Method::HEAD {
        return Ok(());
    }
    if !has_origin && site != Some(Some("same-origin")) {
        return Err(Refusal::NoOrigin);
    }
    if only(headers, CONTENT_TYPE).is_some_and(is_json) { Ok(()) } else { Err(Refusal::NotJson) }
}

/// The one value of a header; `None` where it is missing, repeated or not plain text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// # Own-name invariant
/// A name that a foreign DNS may point here is never ours: names are `localhost` and the address at which this
/// very connection arrived, with the right port.
fn is_our_host(host: &str, local: SocketAddr, is_tls: bool) -> bool {
    let ip = local.ip().to_canonical();
    let literal = match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let loopback: &[&str] = if ip.is_loopback() { &["localhost", "127.0.0.1", "[::1]"] } else { &[] };
    let usual_port = if is_tls { 443 } else { 80 };
    let name = match host.strip_suffix(&format!(":{}", local.port())) {
        Some(name) => name,
        None if local.port() == usual_port => host,
        None => return false,
    };
    name.eq_ignore_ascii_case(&literal) || loopback.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn is_our_origin(origin: &str, host: &str, is_tls: bool) -> bool {
    let scheme = if is_tls { "https://" } else { "http://" };
    origin.strip_prefix(scheme).is_some_and(|name| name.eq_ignore_ascii_case(host))
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// What every answer carries.
pub(crate) fn protect(headers: &mut HeaderMap) {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
                          frame-ancestors 'none'";
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Static files say themselves how long they are good for.
    if !headers.contains_key(axum::http::header::ETAG) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(local: &str, is_tls: bool, request: &str) -> Result<(), Refusal> {
        let mut lines = request.split('|').map(str::trim);
        let (method, uri) = lines.next().unwrap().split_once(' ').unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        judge(&method.parse().unwrap(), &uri.parse().unwrap(), &headers, local.parse().unwrap(), is_tls)
    }

    #[track_caller]
    fn check(request: &str, expected: Result<(), Refusal>) {
        assert_eq!(at("127.0.0.1:8787", false, request), expected, "{request}");
    }

    #[test]
    fn the_page_goes_by_its_own_names_only() {
        for host in ["127.0.0.1:8787", "localhost:8787", "LocalHost:8787", "[::1]:8787"] {
            check(&format!("GET / | host: {host}"), Ok(()));
        }
        for host in [
            "evil.example:8787",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:87870",
            "127.0.0.1:8787:8787",
            "localhost",
            "localhost.:8787",
            "localhost.evil.example:8787",
            "evil@127.0.0.1:8787",
            "0.0.0.0:8787",
            "127.1:8787",
            "2130706433:8787",
            "127.0.0.2:8787",
            ":8787",
        ] {
            check(&format!("GET / | host: {host}"), Err(Refusal::ForeignHost));
        }
        check("GET /", Err(Refusal::ForeignHost));
        check("GET / | host: 127.0.0.1:8787 | host: 127.0.0.1:8787", Err(Refusal::ForeignHost));
        check("GET http://127.0.0.1:8787/ | host: 127.0.0.1:8787", Err(Refusal::NotOurs));
    }

    #[test]
    fn on_a_network_the_name_is_the_address_that_was_reached() {
        let row = |local, is_tls, host: &str, expected| {
            assert_eq!(at(local, is_tls, &format!("GET / | host: {host}")), expected, "{host} at {local}");
        };
        row("192.0.2.7:8787", true, "192.0.2.7:8787", Ok(()));
        row("[2001:db8::7]:8787", true, "[2001:db8::7]:8787", Ok(()));
        row("[::ffff:192.0.2.7]:8787", true, "192.0.2.7:8787", Ok(()));
        row("192.0.2.7:443", true, "192.0.2.7", Ok(()));
        row("192.0.2.7:80", true, "192.0.2.7", Err(Refusal::ForeignHost));
        row("192.0.2.7:8787", true, "192.0.2.8:8787", Err(Refusal::ForeignHost));
        row("192.0.2.7:8787", true, "localhost:8787", Err(Refusal::ForeignHost));
        row("192.0.2.7:8787", true, "box.evil.example:8787", Err(Refusal::ForeignHost));
    }

    #[test]
    fn only_our_own_page_may_ask() {
        let get = |rest: &str| format!("GET /api/prompts | host: localhost:8787{rest}");
        check(&get(" | origin: http://localhost:8787"), Ok(()));
        check(&get(" | sec-fetch-site: same-origin"), Ok(()));
        check(&get(" | sec-fetch-site: none"), Ok(()));
        for origin in [
            "http://evil.example",
            "https://localhost:8787",
            "http://localhost:3000",
            "http://localhost",
            "http://127.0.0.1:8787",
            "http://localhost:8787.evil.example",
            "http://localhost:8787/",
            "null",
        ] {
            check(&get(&format!(" | origin: {origin}")), Err(Refusal::ForeignOrigin));
        }
        let twice = " | origin: http://localhost:8787 | origin: http://evil.example";
        check(&get(twice), Err(Refusal::ForeignOrigin));
        check(&get(" | sec-fetch-site: cross-site"), Err(Refusal::CrossSite));
        check(&get(" | sec-fetch-site: same-site"), Err(Refusal::CrossSite));
        check(&get(" | sec-fetch-site: same-origin | sec-fetch-site: none"), Err(Refusal::CrossSite));
        check(&get(" | upgrade: websocket"), Err(Refusal::NoOrigin));
        check("GET /open | host: localhost:8787 | sec-fetch-site: cross-site", Ok(()));
    }

    #[test]
    fn a_change_needs_an_origin_and_json() {
        let post = |rest: &str| format!("POST /api/login | host: localhost:8787{rest}");
        let json = " | content-type: application/json";
        let origin = " | origin: http://localhost:8787";
        check(&post(&format!("{origin}{json}")), Ok(()));
        check(&post(&format!("{origin}{json}; charset=utf-8")), Ok(()));
        check(&post(&format!(" | sec-fetch-site: same-origin{json}")), Ok(()));
        check(&post(json), Err(Refusal::NoOrigin));
        check(&post(&format!(" | sec-fetch-site: none{json}")), Err(Refusal::NoOrigin));
        check(&post(origin), Err(Refusal::NotJson));
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "application/jsonp",
            "text/plain; application/json",
        ] {
            check(&post(&format!("{origin} | content-type: {kind}")), Err(Refusal::NotJson));
        }
    }
}
