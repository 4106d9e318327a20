//! The session host's connection to the hub: offers what was seen, takes replies, comes back after every loss.
//!
//! Never waited for. Reports are kept until the hub has noted them; a hub that is absent is started, one that dies
//! is started again, and the tool does not notice either.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::ancestry::{lineage, parent_in_stat};
use atlasbridge_pty::{ReadOutcome, spawn_detached};
use atlasbridge_wire::session::{FromSession, Report, SessionInfo, ToSession};
use atlasbridge_wire::{Greeting, Hello, Lines, Role, decode, encode};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

/// How to start a hub when none answers.
#[derive(Debug, Clone)]
pub struct HubStart {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
}

/// How long a starting hub may take before it counts as failed. A migration of a large database is the slow case.
const START_LIMIT: Duration = Duration::from_secs(30);
/// The hub is looked for once the tool has had a moment to show its first words: these come first.
const AFTER_THE_TOOL: Duration = Duration::from_millis(5);
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// A hub that does not read for this much is treated as dead: the connection is made anew.
const MOST_UNSENT: usize = 4 << 20;
/// What the kernel holds for a hub that does not read, in bytes (it doubles this, and says that there is room below a
/// quarter of that). As large as a picture of the screen, so that a slow hub sees the screen of this moment next, and
/// not those of the last seconds.
const SEND_BUFFER: usize = 16 * 1024;
/// Reports that are kept while there is no hub. A day of prompts; what goes over it drops the oldest.
const MOST_KEPT: usize = 1024;

#[derive(Debug)]
pub(crate) struct Link {
    socket: PathBuf,
    start: HubStart,
    /// What is said first on each connection.
    introduction: Vec<u8>,
    state: LinkState,
    kept: VecDeque<(u64, Report)>,
    next_n: u64,
    retry_after: Duration,
    /// The hub that we started ourselves descends from us, too, and is told from the tool's children by this.
    started_hub: Option<i32>,
    /// The hub was stopped on purpose: it is looked for, and started again only when there is something to report.
    is_resting: bool,
    /// The last attempt to start a hub failed.
    start_failed: bool,
    /// What the operator should know, shown once the terminal is ours again.
    notices: Vec<String>,
}

#[derive(Debug)]
enum LinkState {
    Away { retry_at: Moment },
    Starting { ready: File, give_up: Moment },
    Up { stream: UnixStream, lines: Lines, unsent: Vec<u8>, is_greeted: bool },
}

/// What the hub said.
#[derive(Debug)]
pub(crate) enum FromHub {
    Hub { epoch: u64 },
    Message(ToSession),
}

impl Link {
    pub(crate) fn new(socket: PathBuf, start: HubStart, version: &str, info: SessionInfo) -> Self {
        Self {
            socket,
            start,
            introduction: [encode(&Hello::new(Role::Session, version)), encode(&FromSession::Begin(info))]
                .concat(),
            state: LinkState::Away { retry_at: Moment(AFTER_THE_TOOL) },
            kept: VecDeque::new(),
            next_n: 1,
            retry_after: FIRST_RETRY,
            started_hub: None,
            is_resting: false,
            start_failed: false,
            notices: Vec::new(),
        }
    }

    pub(crate) fn notices(mut self) -> Vec<String> {
        if self.start_failed && !self.is_settled() {
            self.notice(
                "the hub could not be started, so not everything in this session was offered to anybody or put on \
                 record; `atlasbridge hub start` says why",
            );
        }
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
        if let LinkState::Away { retry_at } = &mut self.state
            && std::mem::take(&mut self.is_resting)
        {
            *retry_at = Moment::default();
        }
        if matches!(self.state, LinkState::Up { is_greeted: true, .. }) {
            self.send(&FromSession::Report { n, report });
        }
    }

    pub(crate) fn send(&mut self, message: &FromSession) {
        if let LinkState::Up { unsent, .. } = &mut self.state {
            unsent.extend_from_slice(&encode(message));
        }
    }

    /// There is a hub, and what was said to it has left this process.
    pub(crate) fn has_sent_all(&self) -> bool {
        matches!(&self.state, LinkState::Up { unsent, is_greeted: true, .. } if unsent.is_empty())
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state, LinkState::Up { .. })
    }

    /// What to wait for: a descriptor, and whether there is something to write to it.
    pub(crate) fn descriptor(&self) -> Option<(BorrowedFd<'_>, bool)> {
        match &self.state {
            LinkState::Away { .. } => None,
            LinkState::Starting { ready, .. } => Some((ready.as_fd(), false)),
            LinkState::Up { stream, unsent, .. } => Some((stream.as_fd(), !unsent.is_empty())),
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        match &self.state {
            LinkState::Away { retry_at } => Some(*retry_at),
            LinkState::Starting { give_up, .. } => Some(*give_up),
            LinkState::Up { .. } => None,
        }
    }

    /// A deadline may have come: try again, or give a start up.
    pub(crate) fn tick(&mut self, now: Moment) {
        match &self.state {
            LinkState::Away { retry_at } if *retry_at <= now => self.connect_or_start(now),
            LinkState::Starting { give_up, .. } if *give_up <= now => self.give_start_up(now),
            LinkState::Away { .. } | LinkState::Starting { .. } | LinkState::Up { .. } => {}
        }
    }

    /// The descriptor is ready, or there is something to send.
    pub(crate) fn attend(&mut self, now: Moment) -> Vec<FromHub> {
        if let LinkState::Starting { ready, .. } = &self.state {
            match read_readiness(ready) {
                Ok(pid) => {
                    self.started_hub = pid;
                    if self.connect().is_err() {
                        self.retreat(now);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.give_start_up(now),
            }
            return Vec::new();
        }
        let mut heard = Vec::new();
        if self.exchange(now, &mut heard).is_err() {
            // A hub that goes away is normal; whether it is replaced shows at once. One that is stopped in an orderly
            // way takes its socket with it, and is not called back before it is needed.
            self.is_resting = self.is_settled() && !self.socket.exists();
            self.state = LinkState::Away { retry_at: now };
        }
        heard
    }

    fn exchange(&mut self, now: Moment, heard: &mut Vec<FromHub>) -> io::Result<()> {
        let LinkState::Up { stream, lines, unsent, .. } = &mut self.state else { return Ok(()) };
        flush(stream, unsent)?;
        // What was said before hanging up counts: a refusal, or thanks.
        let end = read_all(stream, lines);
        while let LinkState::Up { lines, .. } = &mut self.state
            && let Some(line) = lines.next_line().map_err(io::Error::other)?
        {
            self.hear(&line, now, heard)?;
        }
        let LinkState::Up { stream, unsent, .. } = &mut self.state else { return Ok(()) };
        end?;
        flush(stream, unsent)
    }

    fn hear(&mut self, line: &[u8], now: Moment, heard: &mut Vec<FromHub>) -> io::Result<()> {
        let LinkState::Up { is_greeted, .. } = &mut self.state else { return Ok(()) };
        if *is_greeted {
            let message = decode(line).map_err(io::Error::other)?;
            if let ToSession::Noted { n } = message {
                self.kept.retain(|(kept, _)| *kept > n);
            }
            heard.push(FromHub::Message(message));
            return Ok(());
        }
        match decode(line).map_err(io::Error::other)? {
            Greeting::Welcome { epoch, .. } => {
                *is_greeted = true;
                self.retry_after = FIRST_RETRY;
                self.is_resting = false;
                self.start_failed = false;
                heard.push(FromHub::Hub { epoch });
                for (n, report) in self.kept.clone() {
                    self.send(&FromSession::Report { n, report });
                }
            }
            Greeting::Refused { reason, .. } => {
                self.notice(&format!("prompts of this session were not offered to anybody: {reason}"));
                self.state = LinkState::Away { retry_at: now + LAST_RETRY };
            }
        }
        Ok(())
    }

    fn connect_or_start(&mut self, now: Moment) {
        if self.connect().is_ok() {
            return;
        }
        if self.is_resting {
            return self.retreat(now);
        }
        match spawn_detached(&self.start.program, &self.start.args, &self.start.env) {
            Ok(ready) => {
                self.state = LinkState::Starting { ready: ready.into(), give_up: now + START_LIMIT };
            }
            Err(_) => self.give_start_up(now),
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let stream = self.reach()?;
        self.check_hub(&stream)?;
        let unsent = self.introduction.clone();
        self.state = LinkState::Up { stream, lines: Lines::default(), unsent, is_greeted: false };
        Ok(())
    }

    /// # A deaf hub stops nobody
    /// A connection that the listener has no room for would wait without end in `connect`, and with it the terminal.
    fn reach(&self) -> io::Result<UnixStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Failing means more memory of the kernel for a slow hub.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER);
        rustix::net::connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
        Ok(socket.into())
    }

    /// # A tool may not be a hub
    /// Whoever serves the socket could send any answer, so it must be of our user and no tool's child. Everything
    /// that a tool ever starts descends from a session host (they are subreapers), ours or another. So does a hub
    /// that a session host has started: ours is known by its pid, another host's by standing directly below it
    /// under our name. That last part a tool could forge with care; it stops what merely tries.
    fn check_hub(&mut self, stream: &UnixStream) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(stream)?;
        let pid = peer.pid.as_raw_nonzero().get();
        let is_our_user = peer.uid == rustix::process::getuid();
        if is_our_user && (self.started_hub == Some(pid) || is_nobodys_child(pid, std::process::id() as i32))
        {
            return Ok(());
        }
        self.notice("a process inside a session posed as the hub and was not obeyed; look at what the tools have started");
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn retreat(&mut self, now: Moment) {
        self.state = LinkState::Away { retry_at: now + self.retry_after };
        self.retry_after = (self.retry_after * 2).min(LAST_RETRY);
    }

    fn give_start_up(&mut self, now: Moment) {
        self.start_failed = true;
        self.retreat(now);
    }

    pub(crate) fn notice(&mut self, text: &str) {
        if !self.notices.iter().any(|notice| notice == text) {
            self.notices.push(text.to_owned());
        }
    }
}

/// Whether a hub with this pid descends from no tool. A walk that cannot be finished counts as a no.
fn is_nobodys_child(pid: i32, our_pid: i32) -> bool {
    let read = |pid: i32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let is_named_as_we_are =
        |pid: i32| read(pid, "comm").is_some_and(|name| read(our_pid, "comm") == Some(name));
    let Some(line) = lineage(pid, |pid| parent_in_stat(&read(pid, "stat")?)) else { return false };
    match line[1..].iter().position(|&ancestor| ancestor == our_pid || is_named_as_we_are(ancestor)) {
        None => true,
        // Started by another session host, directly below it.
        Some(0) => line[1] != our_pid && is_named_as_we_are(pid),
        Some(_) => false,
    }
}

/// Reads what has come; the end of the connection is an error.
fn read_all(stream: &UnixStream, lines: &mut Lines) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match ReadOutcome::of_read(stream, &mut buffer)? {
            ReadOutcome::Data(count) => lines.push(&buffer[..count]),
            ReadOutcome::WouldBlock => return Ok(()),
            ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
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
    if unsent.len() > MOST_UNSENT { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
}

/// The starting hub writes its pid and a line break once it listens, or 0 if another one already does: its pid if it is
/// the one that we started. What would block is not ready yet; every other error is a hub that could not start.
fn read_readiness(mut ready: &File) -> io::Result<Option<i32>> {
    let mut text = [0; 16];
    let count = ready.read(&mut text)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let pid = str::from_utf8(&text[..count]).ok().and_then(|text| text.trim().parse().ok());
    Ok(pid.filter(|&pid| pid > 0))
}
