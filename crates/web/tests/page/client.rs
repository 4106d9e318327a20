//! A client that writes its own bytes: it can say what no browser would.

use std::net::SocketAddr;

use atlasbridge_web::WebHandle;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::hub::{Hub, LIMIT};

/// A request as our own page would send it; then made worse.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) address: SocketAddr,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(web: &WebHandle, method: &str, path: &str) -> Self {
        let request = Self {
            address: web.address,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let request = request.with("host", &web.address.to_string()).with("connection", "close");
        match method {
            "GET" | "HEAD" => request,
            _ => request.with("origin", &web.base_url).with("content-type", "application/json"),
        }
    }

    pub(crate) fn get(hub: &Hub, login: &str, path: &str) -> Self {
        Self::new(&hub.web, "GET", path).logged_in(login)
    }

    pub(crate) fn post(hub: &Hub, login: &str, path: &str, body: &Value) -> Self {
        Self::new(&hub.web, "POST", path).logged_in(login).body(body.to_string())
    }

    pub(crate) fn logged_in(self, login: &str) -> Self {
        self.with("cookie", &format!("atlasbridge={login}"))
    }

    /// Sets a header, in place of one of the name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header, beside one of the name.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn upgrade(self, web: &WebHandle) -> Self {
        self.with("origin", &web.base_url)
            .with("connection", "upgrade")
            .with("upgrade", "websocket")
            .with("sec-websocket-version", "13")
            .with("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_length = self.headers.iter().any(|(name, _)| name == "content-length");
        if !self.body.is_empty() && !has_length {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }

    pub(crate) async fn send(&self) -> Response {
        let mut stream = self.begin().await;
        let mut bytes = Vec::new();
        let read = timeout(LIMIT, stream.read_to_end(&mut bytes)).await;
        // A server that refuses a body may close before it was sent; what it said counts.
        let _ = read.expect("the server closes the connection");
        Response::parse(&bytes)
    }

    /// Connects and writes; the answer is the caller's to read.
    pub(crate) async fn begin(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let _ = stream.write_all(&self.to_bytes()).await;
        stream
    }
}

impl Response {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = find(bytes, b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_lowercase(), value.trim().to_owned())
            })
            .collect();
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = &bytes[end + 4..];
        Self { status, headers, body: if is_chunked { unchunked(body) } else { body.to_vec() } }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = find(bytes, b"\r\n").expect("a chunk has a length");
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 4 + length..];
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Reads until the text has come, and returns everything up to its end.
pub(crate) async fn read_until<S: AsyncRead + Unpin>(stream: &mut S, wanted: &str) -> String {
    let reading = async {
        let mut bytes = Vec::new();
        while !bytes.ends_with(wanted.as_bytes()) {
            match stream.read_u8().await {
                Ok(byte) => bytes.push(byte),
                Err(_) => panic!("the end came before {wanted:?}: {}", String::from_utf8_lossy(&bytes)),
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    timeout(LIMIT, reading).await.unwrap_or_else(|_| panic!("{wanted:?} did not come"))
}

/// The open socket of a live screen.
pub(crate) struct Socket<S> {
    stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(crate) async fn accepted(mut stream: S) -> Self {
        let head = read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        Self { stream }
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.try_to_say(message).await.unwrap();
    }

    /// An error where the server has closed already.
    pub(crate) async fn try_to_say(&mut self, message: &Value) -> std::io::Result<()> {
        let text = message.to_string();
        assert!(text.len() < 126, "short messages are enough here");
        // A mask of zeroes is a mask.
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).await
    }

    /// The next message; `None` once the server has closed.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        timeout(LIMIT, self.next_message()).await.expect("a message, or the end")
    }

    async fn next_message(&mut self) -> Option<Value> {
        loop {
            let kind = self.stream.read_u8().await.ok()?;
            let length = match self.stream.read_u8().await.ok()? {
                126 => usize::from(self.stream.read_u16().await.ok()?),
                127 => usize::try_from(self.stream.read_u64().await.ok()?).unwrap(),
                length => usize::from(length),
            };
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).await.ok()?;
            match kind {
                0x81 => return Some(serde_json::from_slice(&body).unwrap()),
                0x89 => continue,
                0x88 => return None,
                kind => panic!("a frame of kind {kind:#x}"),
            }
        }
    }
}

/// The live screen of the hub's session.
pub(crate) async fn watch(hub: &Hub, login: &str) -> Socket<TcpStream> {
    let path = format!("/api/sessions/{}/live", crate::hub::session_id());
    let request = Request::get(hub, login, &path).upgrade(&hub.web);
    Socket::accepted(request.begin().await).await
}
