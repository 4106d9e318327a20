//! Who may come in: one-time links, the cookies that they become, and how often it may be tried.
//!
//! A secret is told to its bearer once. We, and the hub behind the door, keep only its hash.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use atlasbridge_model::id::hex;
use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest, Sha256};

use crate::door::Refusal;
use crate::questions::TokenHash;

const COOKIE_NAME: &str = "atlasbridge";
/// Thirty days, in seconds: a phone that answers now and then stays known. `open --revoke` ends it sooner.
const COOKIE_AGE: u32 = 2_592_000;
/// Characters of 32 bytes in base64url.
const SECRET_LENGTH: usize = 43;

/// The secret of a link or a cookie: 32 random bytes in base64url.
pub fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(base64url(&bytes))
}

/// What is kept of a link's secret.
pub fn link_hash(secret: &str) -> TokenHash {
    TokenHash(hex(&Sha256::digest(secret.as_bytes())))
}

/// The link to hand out. What follows the `#` never leaves the browser by itself: it is in no request, in no log, and
/// no preview of the link can spend it. The page reads it and sends it in the body of a POST.
pub fn link_url(base_url: &str, secret: &str) -> String {
    format!("{base_url}/open#{secret}")
}

/// Whether a text could be a secret at all; everything else is refused before it is hashed.
pub(crate) fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LENGTH
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The login that a request shows. Unknown is what is not a cookie that we could have set, and several of the name:
/// another port of this host may have set one of them.
pub(crate) fn shown_login(headers: &HeaderMap) -> Result<TokenHash, Refusal> {
    let mut found = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE_NAME)
        .map(|(_, value)| value);
    match (found.next(), found.next()) {
        (None, _) => Err(Refusal::NoLogin),
        (Some(secret), None) if is_secret(secret) => Ok(link_hash(secret)),
        (Some(_), _) => Err(Refusal::UnknownLogin),
    }
}

/// The cookie of a login, or, without a secret, its end.
pub(crate) fn cookie(secret: Option<&str>, is_tls: bool) -> String {
    let age = secret.map_or(0, |_| COOKIE_AGE);
    let secret = secret.unwrap_or_default();
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}")
}

/// A name for the list of logins, such as `Firefox on Android`. Made of our own words: what a browser sends is not shown.
pub(crate) fn device(user_agent: &str) -> String {
    let first_of = |names: &[(&str, &'static str)]| {
        names.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, name)| *name)
    };
    // The order matters: each of these also carries the signs of those after it.
    let browser = first_of(&[
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("HeadlessChrome/", "headless Chrome"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = first_of(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "a browser".to_owned(),
    }
}

/// At most so many in any minute, of all tasks together.
#[derive(Debug)]
pub(crate) struct PerMinute {
    most: usize,
    times: Mutex<VecDeque<Instant>>,
}

impl PerMinute {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, times: Mutex::default() }
    }

    /// Whether one more is allowed; if so it counts.
    pub(crate) fn allows(&self, now: Instant) -> bool {
        const MINUTE: Duration = Duration::from_secs(60);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        while times.front().is_some_and(|&time| now.duration_since(time) >= MINUTE) {
            times.pop_front();
        }
        let is_allowed = times.len() < self.most;
        if is_allowed {
            times.push_back(now);
        }
        is_allowed
    }
}

/// Attempts to log in, good or bad. The secrets cannot be guessed; this keeps the attempts off the record and the hub.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// This machine and all others are counted apart: no other machine can lock the owner out at the keyboard.
    here: PerMinute,
    elsewhere: PerMinute,
}

/// Of all peers of a side together, and so of each of them.
const ATTEMPTS_PER_MINUTE: usize = 10;

impl Attempts {
    pub(crate) fn new() -> Self {
        Self { here: PerMinute::new(ATTEMPTS_PER_MINUTE), elsewhere: PerMinute::new(ATTEMPTS_PER_MINUTE) }
    }

    pub(crate) fn allows(&self, peer: IpAddr, now: Instant) -> bool {
        if peer.to_canonical().is_loopback() { self.here.allows(now) } else { self.elsewhere.allows(now) }
    }
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=chunk.len() {
            text.push(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_is_as_the_standard_has_it() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64url(bytes.as_bytes()), text);
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn a_secret_is_new_each_time_and_is_hashed_as_its_text() {
        let (one, other) = (new_secret().unwrap(), new_secret().unwrap());
        assert!(is_secret(&one) && is_secret(&other) && one != other);
        assert_eq!(link_hash("abc").0, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(link_url("http://127.0.0.1:8787", "s3cret"), "http://127.0.0.1:8787/open#s3cret");
    }

    #[test]
    fn one_cookie_of_the_name_is_a_login() {
        let secret = "A".repeat(43);
        let login = || Ok(link_hash(&secret));
        #[track_caller]
        fn check(lines: &[&str], expected: Result<TokenHash, Refusal>) {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, line.parse().unwrap());
            }
            assert_eq!(shown_login(&headers), expected);
        }
        check(&[], Err(Refusal::NoLogin));
        check(&["other=1; atlasbridged=2"], Err(Refusal::NoLogin));
        check(&[&format!("atlasbridge={secret}")], login());
        check(&[&format!("a=b; atlasbridge={secret} ;c=d")], login());
        check(&["a=b", &format!("atlasbridge={secret}")], login());
        check(&["atlasbridge="], Err(Refusal::UnknownLogin));
        check(&[&format!("atlasbridge={secret}x")], Err(Refusal::UnknownLogin));
        check(&[&format!("atlasbridge=x; atlasbridge={secret}")], Err(Refusal::UnknownLogin));
        check(&[&format!("atlasbridge={}", "é".repeat(21))], Err(Refusal::NoLogin));
    }

    #[test]
    fn a_device_is_named_in_our_own_words() {
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1";
        let edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0";
        let linux = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        assert_eq!(device(phone), "Safari on iPhone");
        assert_eq!(device(edge), "Edge on Windows");
        assert_eq!(device(linux), "Firefox on Linux");
        assert_eq!(device("<script>"), "a browser");
    }

    #[test]
    fn the_eleventh_attempt_in_a_minute_is_one_too_many() {
        let (start, here, there) = (Instant::now(), [127, 0, 0, 1].into(), [192, 0, 2, 7].into());
        let attempts = Attempts::new();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!((0..10).all(|second| attempts.allows(there, at(second))));
        assert!(!attempts.allows([192, 0, 2, 8].into(), at(11)), "another peer, the same side");
        assert!(attempts.allows(here, at(11)), "the owner is not locked out");
        assert!(attempts.allows(there, at(60)));
        assert!(!attempts.allows(there, at(60)));
    }
}
