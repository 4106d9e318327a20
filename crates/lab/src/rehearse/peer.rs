//! One connection to the hub of a rehearsal: requests out, responses in, never waiting but at the greeting.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use atlasbridge_wire::command::Response;
use atlasbridge_wire::{Greeting, Hello, Lines, Role, decode, encode};

/// How long the hub may take to greet.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Peer {
    stream: UnixStream,
    lines: Lines,
}

impl Peer {
    pub(crate) fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut peer = Self { stream, lines: Lines::default() };
        peer.send(&Hello::new(Role::Command, env!("CARGO_PKG_VERSION")))?;
        let line = loop {
            peer.receive()?;
            if let Some(line) = peer.lines.next_line().map_err(io::Error::other)? {
                break line;
            }
        };
        match decode(&line).map_err(io::Error::other)? {
            Greeting::Welcome { .. } => Ok(peer),
            Greeting::Refused { reason, .. } => Err(io::Error::other(reason)),
        }
    }

    /// What has come since the last call.
    pub(crate) fn hear(&mut self) -> io::Result<Vec<Response>> {
        self.stream.set_nonblocking(true)?;
        let received = self.receive();
        self.stream.set_nonblocking(false)?;
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => received?,
        }
        let mut heard = Vec::new();
        while let Some(line) = self.lines.next_line().map_err(io::Error::other)? {
            heard.push(decode(&line).map_err(io::Error::other)?);
        }
        Ok(heard)
    }

    pub(crate) fn send<T: serde::Serialize>(&mut self, frame: &T) -> io::Result<()> {
        self.stream.write_all(&encode(frame))
    }

    /// One read. The hub that hangs up is an error.
    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer)?;
        self.lines.push(buffer.get(..count).unwrap_or_default());
        if count > 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
