//! Somebody at the hub's socket who need not keep to the protocol.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use serde_json::Value;

use crate::LIMIT;

/// A socket that somebody listens at and nobody answers, with room for no further connection.
#[derive(Debug)]
pub struct DeafHub {
    _listener: OwnedFd,
    _waiting: Vec<OwnedFd>,
}

impl DeafHub {
    #[track_caller]
    pub fn at(path: &Path) -> Self {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let (address, listener) = (SocketAddrUnix::new(path).unwrap(), socket());
        bind(&listener, &address).unwrap();
        listen(&listener, 0).unwrap();
        let waiting =
            std::iter::repeat_with(socket).take_while(|socket| connect(socket, &address).is_ok()).collect();
        Self { _listener: listener, _waiting: waiting }
    }
}

#[derive(Debug)]
pub struct Peer {
    stream: BufReader<UnixStream>,
}

impl Peer {
    #[track_caller]
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Bytes as they are. A hub that has hung up already is no failure of the test.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    pub fn say(&mut self, frame: &Value) {
        self.send(format!("{frame}\n").as_bytes());
    }

    /// The next frame, or nothing if the hub has hung up.
    #[track_caller]
    pub fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("the hub neither answers nor hangs up: {error}"),
        }
    }
}
