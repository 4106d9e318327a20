//! A browser without a screen: what the page does, over plain sockets. A login, requests, the stream of events and live
//! screens; and whoever likes may stop reading in the middle.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use atlasbridge_pty::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::LIMIT;
use crate::http::Answer;

/// A browser that came in by a one-time link.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// `HOST:PORT` of the page.
    host: String,
    cookie: String,
}

impl Visitor {
    /// Spends a link as the page does; an answer other than 204 or 200 is the error.
    pub fn enter(link: &str) -> Result<Self, Answer> {
        let (base, secret) = link.split_once("/open#").expect("a link has a secret");
        let host = base.strip_prefix("http://").expect("an http address").to_owned();
        let nobody = Self { host, cookie: String::new() };
        let answer = nobody.post("/api/login", &json!({ "secret": secret }));
        let cookie =
            answer.head.lines().find_map(|line| line.split_once("set-cookie: ")?.1.split(';').next());
        match cookie {
            Some(cookie) if answer.status < 300 => Ok(Self { cookie: cookie.to_owned(), ..nobody }),
            _ => Err(answer),
        }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.host)
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.whole("GET", path, "")
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.whole("POST", path, &body.to_string())
    }

    /// What waits, as the page gets it.
    #[track_caller]
    pub fn prompts(&self) -> Vec<Value> {
        let answer = self.get("/api/prompts");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["prompts"].as_array().unwrap().clone()
    }

    /// Answers a card of [`Visitor::prompts`].
    #[track_caller]
    pub fn answers(&self, card: &Value, answer: Value) -> Answer {
        let path = format!("/api/prompts/{}/answer", card["id"].as_str().unwrap());
        self.post(&path, &json!({ "nonce": card["nonce"], "answer": answer }))
    }

    /// The stream of events.
    #[track_caller]
    pub fn events(&self) -> Events {
        let mut stream = BufReader::new(self.send("GET", "/api/events", "1.0", "", ""));
        let head = head(&mut stream).unwrap();
        assert!(head.contains(" 200 "), "{head}");
        Events { stream }
    }

    /// The live screen of a session.
    #[track_caller]
    pub fn live(&self, session: &str) -> Live {
        self.try_live(session).unwrap()
    }

    /// The same; what the page said instead is the error.
    pub fn try_live(&self, session: &str) -> Result<Live, String> {
        // The key proves nothing here: it keeps caches from answering, and there is none.
        let more = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
        let mut stream =
            BufReader::new(self.send("GET", &format!("/api/sessions/{session}/live"), "1.1", more, ""));
        let head = head(&mut stream).map_err(|error| error.to_string())?;
        match head.contains(" 101 ") {
            true => Ok(Live { stream }),
            false => Err(head),
        }
    }

    #[track_caller]
    fn whole(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = BufReader::new(self.send(method, path, "1.0", "", body));
        let head = head(&mut stream).unwrap();
        let mut body = String::new();
        stream.read_to_string(&mut body).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer { status: status.unwrap(), head, body }
    }

    /// An answer to HTTP/1.0 ends with its connection and comes in one piece.
    #[track_caller]
    fn send(&self, method: &str, path: &str, version: &str, more: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "{method} {path} HTTP/{version}\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n\
             User-Agent: a test\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}",
            host = self.host,
            cookie = self.cookie,
            length = body.len(),
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }
}

/// The stream of events, read when the test likes.
#[derive(Debug)]
pub struct Events {
    stream: BufReader<TcpStream>,
}

impl Events {
    /// The next event of this name; `None` once the stream has ended.
    #[track_caller]
    pub fn next(&mut self, name: &str) -> Option<Value> {
        let wanted = format!("event: {name}");
        let mut is_wanted = false;
        loop {
            let mut line = String::new();
            match self.stream.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("neither an event nor an end: {error}"),
            }
            match line.trim_end().strip_prefix("data: ") {
                Some(data) if is_wanted => return Some(serde_json::from_str(data).unwrap()),
                Some(_) => {}
                None if line.starts_with("event: ") => is_wanted = line.trim_end() == wanted,
                None => {}
            }
        }
    }
}

/// A live screen, read when the test likes.
#[derive(Debug)]
pub struct Live {
    stream: BufReader<TcpStream>,
}

impl Live {
    /// The next message; `None` once the socket has ended.
    #[track_caller]
    pub fn hear(&mut self) -> Option<Value> {
        match self.message() {
            Ok(message) => message,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) =>
            {
                None
            }
            Err(error) => panic!("neither a message nor an end: {error}"),
        }
    }

    /// Whether something came, now or in a moment.
    pub fn has_come(&self) -> bool {
        let mut descriptors = [PollFd::new(self.stream.get_ref(), PollFlags::IN)];
        !self.stream.buffer().is_empty()
            || poll(&mut descriptors, Some(Duration::from_millis(20))).is_ok_and(|ready| ready > 0)
    }

    pub fn say(&mut self, message: &Value) {
        let _ = self.send(1, message.to_string().as_bytes());
    }

    fn message(&mut self) -> io::Result<Option<Value>> {
        // Heartbeats are no messages, and must not keep anybody waiting for ever.
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            let mut start = [0; 2];
            self.stream.read_exact(&mut start)?;
            let length = match start[1] & 0x7f {
                126 => {
                    let mut length = [0; 2];
                    self.stream.read_exact(&mut length)?;
                    u64::from(u16::from_be_bytes(length))
                }
                127 => {
                    let mut length = [0; 8];
                    self.stream.read_exact(&mut length)?;
                    u64::from_be_bytes(length)
                }
                short => u64::from(short),
            };
            let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            self.stream.read_exact(&mut payload)?;
            match start[0] & 0x0f {
                1 => return Ok(Some(serde_json::from_slice(&payload)?)),
                8 => return Ok(None),
                9 => self.send(10, &payload)?,
                _ => {}
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// One frame, masked as a browser must; with a mask of zeros it reads as it is.
    fn send(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let mut frame = vec![0x80 | kind];
        match u8::try_from(payload.len()) {
            Ok(short) if short < 126 => frame.push(0x80 | short),
            _ => {
                frame.push(0x80 | 126);
                let length = u16::try_from(payload.len()).map_err(io::Error::other)?;
                frame.extend(length.to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.get_mut().write_all(&frame)
    }
}

/// The lines up to the empty one.
fn head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection closed without an answer",
            ));
        }
        if head[before..].trim_end().is_empty() {
            return Ok(head);
        }
    }
}
