//! The command line's end of the hub's socket: blocking, with an end to every wait.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use atlasbridge_pty::{PollFd, PollFlags, poll, spawn_detached};
use atlasbridge_wire::command::{HubView, Request, Response};
use atlasbridge_wire::{Greeting, Hello, Lines, Role, decode, encode};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::config::Paths;

/// The one variable of ours that the tool may see: which session it runs in. No secret.
pub(crate) const SESSION_MARKER: &str = "ATLASBRIDGE_SESSION";

/// How long the hub may take to answer; longer than it waits for the proof of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// How long a starting hub may take: a migration of a large database is the slow case.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How often a hub is started for one command: one that ends at the wrong moment may be met twice.
const ATTEMPTS: usize = 3;
/// How soon to ask again a hub that has no room for another connection.
const ROOM: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("the hub does not run; `atlasbridge hub start` starts it")]
    NotRunning,
    #[error("the hub did not start; {} says why", log.display())]
    NotStarted { log: std::path::PathBuf },
    #[error(
        "the hub does not run, and one that was started inside a supervised session would be obeyed by nobody; run \
         `atlasbridge hub start` in another terminal"
    )]
    InsideSession,
    #[error("starting the hub")]
    Start(#[source] io::Error),
    /// It speaks another protocol.
    #[error("{0}")]
    Refused(String),
    /// An ordinary no to what was asked.
    #[error("{0}")]
    Declined(String),
    /// The hub could not do it.
    #[error("{0}")]
    Failed(String),
    #[error("the hub answered something else: {0:?}")]
    Unexpected(Box<Response>),
    #[error("the hub hung up; it may be restarting, try again")]
    HungUp(#[source] io::Error),
    #[error("the hub did not answer within {} seconds; `atlasbridge hub restart` replaces it", ANSWER_LIMIT.as_secs())]
    Silent,
}

/// The answer of this shape, or an error that shows the other one.
macro_rules! answered {
    ($response:expr, $pattern:pat => $value:expr) => {{
        let response = $response;
        if let $pattern = response {
            $value
        } else {
            return Err($crate::client::ClientError::from(response).into());
        }
    }};
}
pub(crate) use answered;

#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
    lines: Lines,
    /// What the hub said of itself.
    pub(crate) version: String,
}

impl Client {
    /// The running hub.
    pub(crate) fn connect(paths: &Paths) -> Result<Self, ClientError> {
        let stream = reach(paths)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT)).map_err(ClientError::HungUp)?;
        stream.set_write_timeout(Some(ANSWER_LIMIT)).map_err(ClientError::HungUp)?;
        let mut client = Self { stream, lines: Lines::default(), version: String::new() };
        client.send(&Hello::new(Role::Command, env!("CARGO_PKG_VERSION")))?;
        match client.receive()? {
            Greeting::Welcome { version, .. } => client.version = version,
            Greeting::Refused { reason, .. } => return Err(ClientError::Refused(reason)),
        }
        Ok(client)
    }

    /// The running hub, if one runs.
    pub(crate) fn if_running(paths: &Paths) -> Result<Option<Self>, ClientError> {
        match Self::connect(paths) {
            Err(ClientError::NotRunning) => Ok(None),
            connected => connected.map(Some),
        }
    }

    /// The running hub, or a new one. One that dies or stops right now is replaced: nothing was asked of it yet.
    pub(crate) fn connect_or_start(paths: &Paths) -> Result<Self, ClientError> {
        for _ in 0..ATTEMPTS {
            match Self::connect(paths) {
                Err(ClientError::NotRunning | ClientError::HungUp(_)) => start_hub(paths)?,
                result => return result,
            }
        }
        Self::connect(paths)
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.send(request)?;
        self.hear()
    }

    /// What the hub says of itself.
    pub(crate) fn status(&mut self) -> Result<HubView, ClientError> {
        Ok(answered!(self.ask(&Request::Status)?, Response::Status(view) => view))
    }

    /// The next picture of a watch: there is no limit to how long nothing may happen.
    pub(crate) fn next(&mut self) -> Result<Response, ClientError> {
        self.stream.set_read_timeout(None).map_err(ClientError::HungUp)?;
        self.hear()
    }

    /// What is not a no.
    fn hear(&mut self) -> Result<Response, ClientError> {
        let response = self.receive()?;
        if let Response::Refused { reason } = response {
            Err(ClientError::Declined(reason))
        } else if let Response::Failed { reason } = response {
            Err(ClientError::Failed(reason))
        } else {
            Ok(response)
        }
    }

    fn send<T: serde::Serialize>(&mut self, frame: &T) -> Result<(), ClientError> {
        self.stream.write_all(&encode(frame)).map_err(ClientError::HungUp)
    }

    fn receive<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, ClientError> {
        let mut buffer = [0; 16 * 1024];
        loop {
            if let Some(line) = self.lines.next_line().map_err(garbled)? {
                return decode(&line).map_err(garbled);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ClientError::HungUp(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.lines.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(ClientError::Silent),
                Err(error) => return Err(ClientError::HungUp(error)),
            }
        }
    }
}

/// Something else than the one shape that was waited for.
impl From<Response> for ClientError {
    fn from(response: Response) -> Self {
        Self::Unexpected(Box::new(response))
    }
}

/// A connection that the hub has no room for would wait without end in a plain `connect`.
fn reach(paths: &Paths) -> Result<UnixStream, ClientError> {
    let connected = || -> rustix::io::Result<UnixStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(paths.socket())?)?;
        Ok(socket.into())
    };
    let deadline = Instant::now() + ANSWER_LIMIT;
    loop {
        match connected() {
            Ok(stream) => {
                stream.set_nonblocking(false).map_err(ClientError::HungUp)?;
                return Ok(stream);
            }
            Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(ROOM),
            Err(Errno::AGAIN) => return Err(ClientError::Silent),
            Err(_) => return Err(ClientError::NotRunning),
        }
    }
}

fn garbled(error: atlasbridge_wire::FrameError) -> ClientError {
    ClientError::HungUp(io::Error::other(error))
}

/// How our own binary becomes a hub.
pub(crate) fn hub_command() -> io::Result<(std::path::PathBuf, Vec<OsString>)> {
    Ok((std::env::current_exe()?, ["hub", "serve", "--background"].map(OsString::from).into()))
}

/// Starts a hub and waits until it listens.
fn start_hub(paths: &Paths) -> Result<(), ClientError> {
    if std::env::var_os(SESSION_MARKER).is_some() {
        return Err(ClientError::InsideSession);
    }
    let (program, args) = hub_command().map_err(ClientError::Start)?;
    let env: Vec<_> = std::env::vars_os().collect();
    let ready = spawn_detached(&program, &args, &env).map_err(ClientError::Start)?;
    let failed = || ClientError::NotStarted { log: paths.hub_log() };
    let mut descriptors = [PollFd::from_borrowed_fd(ready.as_fd(), PollFlags::IN)];
    if poll(&mut descriptors, Some(START_LIMIT)).map_err(ClientError::Start)? == 0 {
        return Err(failed());
    }
    let mut said = [0; 16];
    match std::fs::File::from(ready).read(&mut said) {
        Ok(1..) => Ok(()),
        Ok(_) | Err(_) => Err(failed()),
    }
}
