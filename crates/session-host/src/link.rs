//! The session host's connection to the hub: offers what was seen, takes replies, comes back after every loss.
//!
//! Never waited for. Reports are kept until the hub has noted them; a hub that is absent is started, one that dies
//! is started again, and the tool does not notice either.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::ancestry::{lineage, parent_in_stat};
use atlasbridge_pty::spawn_detached;
use atlasbridge_wire::session::{FromSession, Report, SessionInfo, ToSession};
use atlasbridge_wire::{Greeting, Hello, Lines, Role, decode, encode};

/// How to start a hub when none answers.
#[derive(Debug, Clone)]
pub struct HubStart {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
}

/// How long a starting hub may take before it counts as failed. A migration of a large database is the slow case.
const START_LIMIT: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// A hub that does not read for this much is treated as dead: the connection is made anew.
const MOST_UNSENT: usize = 4 << 20;
/// Reports that are kept while there is no hub. A day of prompts; what goes over it drops the oldest.
const MOST_KEPT: usize = 1024;

#[derive(Debug)]
pub(crate) struct Link {
    socket: PathBuf,
    start: HubStart,
    version: String,
    info: SessionInfo,
    state: State,
    kept: VecDeque<(u64, Report)>,
    next_n: u64,
    retry_after: Duration,
    /// The hub that we started ourselves descends from us, too, and is told from the tool's children by this.
    started_hub: Option<i32>,
    /// What the operator should know, shown once the terminal is ours again.
    notices: Vec<String>,
}

#[derive(Debug)]
enum State {
    Away {
        retry_at: Moment,
    },
    Starting {
        ready: OwnedFd,
        give_up: Moment,
    },
    Up {
        stream: UnixStream,
        lines: Lines,
        unsent: Vec<u8>,
        is_greeted: bool,
    },
}

/// What the hub said.
#[derive(Debug)]
pub(crate) enum Heard {
    Hub { epoch: u64 },
    Message(ToSession),
}

impl Link {
    pub(crate) fn new(socket: PathBuf, start: HubStart, version: String, info: SessionInfo) -> Self {
        Self {
            socket,
            start,
            version,
            info,
            state: State::Away {
                retry_at: Moment::default(),
            },
            kept: VecDeque::new(),
            next_n: 1,
            retry_after: FIRST_RETRY,
            started_hub: None,
            notices: Vec::new(),
        }
    }

    pub(crate) fn notices(self) -> Vec<String> {
        self.notices
    }

    /// Nothing that was reported is still unnoted.
    pub(crate) fn is_settled(&self) -> bool {
        self.kept.is_empty()
    }

    /// Keeps the report until it is noted, and sends it if there is a hub.
    pub(crate) fn report(&mut self, report: Report) {
        let n = self.next_n;
        self.next_n += 1;
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((n, report.clone()));
        if matches!(self.state, State::Up { is_greeted: true, .. }) {
            self.send(&FromSession::Report { n, report });
        }
    }

    pub(crate) fn send(&mut self, message: &FromSession) {
        if let State::Up { unsent, .. } = &mut self.state {
            unsent.extend_from_slice(&encode(message));
        }
    }

    /// What to wait for: a descriptor, and whether there is something to write to it.
    pub(crate) fn descriptor(&self) -> Option<(BorrowedFd<'_>, bool)> {
        match &self.state {
            State::Away { .. } => None,
            State::Starting { ready, .. } => Some((ready.as_fd(), false)),
            State::Up { stream, unsent, .. } => Some((stream.as_fd(), !unsent.is_empty())),
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        match &self.state {
            State::Away { retry_at } => Some(*retry_at),
            State::Starting { give_up, .. } => Some(*give_up),
            State::Up { .. } => None,
        }
    }

    /// A deadline may have come: try again, or give a start up.
    pub(crate) fn tick(&mut self, now: Moment) {
        match &self.state {
            State::Away { retry_at } if *retry_at <= now => self.connect_or_start(now),
            State::Starting { give_up, .. } if *give_up <= now => self.retreat(now),
            State::Away { .. } | State::Starting { .. } | State::Up { .. } => {}
        }
    }

    /// The descriptor is ready, or there is something to send.
    pub(crate) fn attend(&mut self, now: Moment) -> Vec<Heard> {
        if let State::Starting { ready, .. } = &self.state {
            match read_readiness(ready) {
                Readiness::NotYet => {}
                Readiness::Ready(pid) => {
                    self.started_hub = pid;
                    self.connect_or_retreat(now);
                }
                Readiness::Failed => self.retreat(now),
            }
            return Vec::new();
        }
        let mut heard = Vec::new();
        if self.exchange(now, &mut heard).is_err() {
            // A hub that goes away is normal; whether it is replaced shows at once.
            self.state = State::Away { retry_at: now };
        }
        heard
    }

    fn exchange(&mut self, now: Moment, heard: &mut Vec<Heard>) -> io::Result<()> {
        let State::Up {
            stream,
            lines,
            unsent,
            ..
        } = &mut self.state
        else {
            return Ok(());
        };
        flush(stream, unsent)?;
        let mut buffer = [0; 16 * 1024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => lines.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        while let Some(line) = self.next_line()? {
            self.hear(&line, now, heard)?;
        }
        let State::Up { stream, unsent, .. } = &mut self.state else {
            return Ok(());
        };
        flush(stream, unsent)
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        match &mut self.state {
            State::Up { lines, .. } => lines.next_line().map_err(io::Error::other),
            State::Away { .. } | State::Starting { .. } => Ok(None),
        }
    }

    fn hear(&mut self, line: &[u8], now: Moment, heard: &mut Vec<Heard>) -> io::Result<()> {
        let State::Up { is_greeted, .. } = &mut self.state else {
            return Ok(());
        };
        if *is_greeted {
            match decode(line).map_err(io::Error::other)? {
                ToSession::Noted { n } => self.kept.retain(|(kept, _)| *kept > n),
                message => heard.push(Heard::Message(message)),
            }
            return Ok(());
        }
        match decode(line).map_err(io::Error::other)? {
            Greeting::Welcome { epoch, .. } => {
                *is_greeted = true;
                self.retry_after = FIRST_RETRY;
                heard.push(Heard::Hub { epoch });
                for (n, report) in self.kept.clone() {
                    self.send(&FromSession::Report { n, report });
                }
            }
            Greeting::Refused { reason, .. } => {
                self.notice(&format!(
                    "prompts of this session were not offered to anybody: {reason}"
                ));
                self.state = State::Away {
                    retry_at: now + LAST_RETRY,
                };
            }
        }
        Ok(())
    }

    fn connect_or_start(&mut self, now: Moment) {
        if self.connect().is_ok() {
            return;
        }
        match spawn_detached(&self.start.program, &self.start.args, &self.start.env) {
            Ok(ready) => {
                self.state = State::Starting {
                    ready,
                    give_up: now + START_LIMIT,
                }
            }
            Err(_) => self.retreat(now),
        }
    }

    fn connect_or_retreat(&mut self, now: Moment) {
        if self.connect().is_err() {
            self.retreat(now);
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let stream = UnixStream::connect(&self.socket)?;
        self.check_hub(&stream)?;
        stream.set_nonblocking(true)?;
        let mut unsent = encode(&Hello::new(Role::Session, &self.version));
        unsent.extend(encode(&FromSession::Begin(self.info.clone())));
        self.state = State::Up {
            stream,
            lines: Lines::default(),
            unsent,
            is_greeted: false,
        };
        Ok(())
    }

    /// # A tool may not be its own hub
    /// Whoever serves the socket could send any answer. It must be of our user, and must not descend from us, which
    /// all that the tool ever starts does (we are its subreaper), unless it is the hub that we started.
    fn check_hub(&mut self, stream: &UnixStream) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(stream)?;
        let pid = peer.pid.as_raw_nonzero().get();
        let parent_of = |pid| parent_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
        let is_ours = lineage(pid, parent_of).is_none_or(|line| line.contains(&self.info.host_pid));
        if is_ours && self.started_hub != Some(pid) {
            self.notice(
                "a process inside this session posed as the hub and was not obeyed; look at what the tool has started",
            );
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    fn retreat(&mut self, now: Moment) {
        self.state = State::Away {
            retry_at: now + self.retry_after,
        };
        self.retry_after = (self.retry_after * 2).min(LAST_RETRY);
        if self.retry_after == LAST_RETRY {
            self.notice("the hub could not be started, so prompts of this session were not offered to anybody; `atlasbridge hub start` says why");
        }
    }

    fn notice(&mut self, text: &str) {
        if !self.notices.iter().any(|notice| notice == text) {
            self.notices.push(text.to_owned());
        }
    }
}

fn flush(stream: &mut UnixStream, unsent: &mut Vec<u8>) -> io::Result<()> {
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => drop(unsent.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if unsent.len() > MOST_UNSENT {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(())
    }
}

enum Readiness {
    NotYet,
    /// A hub listens; its pid if it is the one that we started.
    Ready(Option<i32>),
    Failed,
}

/// The starting hub writes its pid and a line break once it listens, or 0 if another one already does.
fn read_readiness(ready: &OwnedFd) -> Readiness {
    let mut text = [0; 16];
    let file = match ready.try_clone() {
        Ok(fd) => fs::File::from(fd),
        Err(_) => return Readiness::Failed,
    };
    match (&file).read(&mut text) {
        Ok(0) => Readiness::Failed,
        Ok(count) => {
            let pid = str::from_utf8(&text[..count])
                .ok()
                .and_then(|text| text.trim().parse().ok());
            Readiness::Ready(pid.filter(|&pid| pid > 0))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Readiness::NotYet,
        Err(_) => Readiness::Failed,
    }
}
