//! Somebody at the hub's socket who need not keep to the protocol.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use crate::LIMIT;

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
        Self {
            stream: BufReader::new(stream),
        }
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
