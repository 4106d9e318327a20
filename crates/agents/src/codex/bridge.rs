//! `codex-bridge`: one loop between the server's connection and those of the session host, one of these for each request.
//!
//! It lives as long as Codex's screen. It cannot type: it brings requests to the session host, and decisions back to the server.
//! One thread, no clock: it waits until one side says something, the screen has ended, or the server has.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{PidfdFlags, getppid, pidfd_open, setsid};
use serde_json::Value;
use tungstenite::protocol::WebSocket;
use tungstenite::{Error, Message};

use super::Start;
use super::server::Server;
use super::talk::{Errand, Talk};
use crate::wait::readable;

/// How long the server may take to answer our first words.
const GREETING_LIMIT: Duration = Duration::from_secs(3);
/// How long either side may take to take a message: each reads at once.
const WRITE_LIMIT: Duration = Duration::from_secs(2);
/// Longest decision. A few words, as a rule.
const LONGEST_DECISION: usize = 1 << 20;

/// Until the screen or the server has ended. `ready` is called as soon as the server knows us.
pub fn run(start: &Start, screen: Option<i32>, ready: impl Fn()) -> io::Result<()> {
    // One that has ended already has another in its place.
    let screen = getppid().filter(|parent| Some(parent.as_raw_nonzero().get()) == screen);
    let screen = pidfd_open(screen.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    // Away from the terminal: its signals are for the screen.
    setsid()?;
    let (program, settings) = start.tool.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let server = Server::start(program, settings, &start.server)?;
    let mut bridge = Bridge::open(server.connect()?, start.hooks.clone())?;
    ready();
    while bridge.wait(screen.as_fd(), server.ended())? {}
    // Both may be gone, or one: what is left of the server ends with this.
    drop(server);
    Ok(())
}

struct Bridge {
    /// Nothing, after the server has hung up on us. It may be there for the screen still.
    server: Option<WebSocket<UnixStream>>,
    talk: Talk,
    hooks: PathBuf,
    requests: Vec<OpenRequest>,
}

/// A request at the session host.
struct OpenRequest {
    id: Value,
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl Bridge {
    fn open(stream: UnixStream, hooks: PathBuf) -> io::Result<Self> {
        stream.set_read_timeout(Some(GREETING_LIMIT))?;
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        let (server, _) = tungstenite::client("ws://localhost/", stream).map_err(io::Error::other)?;
        let (talk, greeting) = Talk::begin(env!("CARGO_PKG_VERSION"));
        let mut bridge = Self { server: Some(server), talk, hooks, requests: Vec::new() };
        bridge.say(&greeting);
        while !bridge.hear_one()? {}
        if let Some(server) = &bridge.server {
            server.get_ref().set_nonblocking(true)?;
        }
        // What came right behind the greeting may be read already, and would not wake the loop.
        bridge.hear();
        Ok(bridge)
    }

    /// Waits for the next word and passes it on. False: the screen or the server has ended.
    fn wait(&mut self, screen: BorrowedFd<'_>, ended: BorrowedFd<'_>) -> io::Result<bool> {
        let server = self.server.iter().map(|server| server.get_ref().as_fd());
        let requests = self.requests.iter().map(|request| request.stream.as_fd());
        let watched: Vec<BorrowedFd<'_>> =
            [screen, ended].into_iter().chain(server).chain(requests).collect();
        if readable(&watched, None)?[..2].contains(&true) {
            return Ok(false);
        }
        // Who was answered already is told first: a decision that comes too late is not sent.
        self.hear();
        self.bring_back();
        Ok(true)
    }

    /// One message of a connection that waits for it. True: we are known now.
    fn hear_one(&mut self) -> io::Result<bool> {
        let server = self.server.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        server.get_ref().set_nonblocking(false)?;
        let message = server.read().map_err(io::Error::other)?;
        let errands = self.errands(&message);
        if errands.contains(&Errand::Refused) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let is_known = errands.contains(&Errand::Greeted);
        errands.into_iter().for_each(|errand| self.run(errand));
        Ok(is_known)
    }

    /// Everything that the server has said by now.
    fn hear(&mut self) {
        while let Some(server) = &mut self.server {
            match server.read() {
                Ok(message) => {
                    for errand in self.errands(&message) {
                        self.run(errand);
                    }
                }
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.lose_server(),
            }
        }
    }

    fn errands(&mut self, message: &Message) -> Vec<Errand> {
        let Message::Text(text) = message else { return Vec::new() };
        serde_json::from_str(text).map(|message| self.talk.hear(&message)).unwrap_or_default()
    }

    fn run(&mut self, errand: Errand) {
        match errand {
            Errand::Say(message) => self.say(&message),
            Errand::Greeted | Errand::Refused => {}
            Errand::Ask { id, event } => {
                let is_new = self.requests.iter().all(|request| request.id != id);
                if is_new && let Ok(stream) = self.call(&event) {
                    self.requests.push(OpenRequest { id, stream, bytes: Vec::new() });
                }
            }
            Errand::Withdraw { id } => self.requests.retain(|request| request.id != id),
            // Where no session host listens the screen is all there is.
            Errand::Tell(event) => drop(self.call(&event)),
        }
    }

    /// Calls the session host with one event.
    fn call(&self, event: &Value) -> io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.hooks)?;
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        stream.write_all(format!("{event}\n").as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    /// Decisions of the session host go to the server.
    fn bring_back(&mut self) {
        for mut request in std::mem::take(&mut self.requests) {
            match request.decision() {
                Ok(None) => self.requests.push(request),
                // The session host decides no more: the screen is all there is.
                Err(_) => {}
                Ok(Some(decision)) => {
                    if let Some(message) = Talk::decided(&request.id, &decision) {
                        self.say(&message);
                    }
                }
            }
        }
    }

    fn say(&mut self, message: &Value) {
        let Some(server) = &mut self.server else { return };
        let _ = server.get_ref().set_nonblocking(false);
        let said = server.send(Message::text(message.to_string()));
        let _ = server.get_ref().set_nonblocking(true);
        if said.is_err() {
            self.lose_server();
        }
    }

    /// No decision could be told any more: the requests are taken back.
    fn lose_server(&mut self) {
        self.server = None;
        self.requests.clear();
    }
}

impl OpenRequest {
    /// What the session host has decided, once it has. An error: it hung up.
    fn decision(&mut self) -> io::Result<Option<String>> {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // Half a line is no decision.
            if let Some(line) = self.bytes.strip_suffix(b"\n") {
                return Ok(Some(String::from_utf8_lossy(line).into_owned()));
            }
            if self.bytes.len() > LONGEST_DECISION {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
}
