//! A client for tests that need no more than a request and its answer: one connection each, no crate.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::LIMIT;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The lines above the body, as they came.
    pub head: String,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

pub fn get(url: &str) -> io::Result<Answer> {
    request("GET", url, "", b"")
}

pub fn post_json(url: &str, body: &Value) -> io::Result<Answer> {
    request("POST", url, "application/json", body.to_string().as_bytes())
}

/// `url` is `http://HOST:PORT/…`. An answer that never came, or half of it, is an error.
pub fn request(method: &str, url: &str, content_type: &str, body: &[u8]) -> io::Result<Answer> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {url}"));
    let rest = url.strip_prefix("http://").ok_or_else(|| broken("no http:// address"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer).map_err(|_| broken("no text in answer"))?;
    let (head, body) =
        answer.split_once("\r\n\r\n").ok_or_else(|| broken("the connection closed without an answer"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(|| broken("no status"))?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}
