//! The app-server: started, waited for, and ended with everything that it started.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, getpgid, getpgrp, pidfd_open};

use super::END_LIMIT;
use crate::surroundings::create_private;
use crate::wait::{end_group, is_readable_within};

/// How long the server may take to listen. On a busy machine 0.166.0 took 1.2 s.
const START_LIMIT: Duration = Duration::from_secs(5);
/// Nothing says when it listens, so it is looked at this often, within that limit.
const GLANCE: Duration = Duration::from_millis(20);
/// How long its bridge may take to end it: with a server that does not end by itself, a little longer.
const BRIDGE_LIMIT: Duration = Duration::from_secs(3);

/// The directory of the server's socket, which no other user can enter; gone with this value.
#[derive(Debug)]
pub(crate) struct ServerPlace {
    directory: PathBuf,
    socket: PathBuf,
}

impl ServerPlace {
    pub(crate) fn make(socket: &Path) -> io::Result<Self> {
        let directory = socket.parent().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        create_private(directory.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        // One that is there already belongs to another session.
        DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(Self { directory, socket: socket.to_owned() })
    }
}

impl Drop for ServerPlace {
    fn drop(&mut self) {
        end_listener(&self.socket);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The tool has ended, and its bridge is ending the server. One whose bridge was killed is ended here.
fn end_listener(socket: &Path) {
    let Ok(stream) = UnixStream::connect(socket) else { return };
    let Ok(listener) = rustix::net::sockopt::socket_peercred(&stream) else { return };
    drop(stream);
    let (Ok(ended), Ok(group)) = (pidfd_open(listener.pid, PidfdFlags::empty()), getpgid(Some(listener.pid)))
    else {
        return;
    };
    if !is_readable_within(ended.as_fd(), BRIDGE_LIMIT) && group != getpgrp() {
        end_group(group, ended.as_fd(), END_LIMIT);
    }
}

/// A running server; ended and tidied up when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    group: Pid,
    ended: OwnedFd,
    socket: PathBuf,
}

impl Server {
    /// In a process group of its own: its program may be a script that starts another one. It outlives a bridge that is
    /// killed, for the screen needs it; the end of the session ends it then.
    pub(super) fn start(program: &OsString, settings: &[OsString], socket: &Path) -> io::Result<Self> {
        let address = socket.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.arg("app-server").arg("--listen").arg(format!("unix://{address}")).args(settings);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        let group = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { ended: pidfd_open(group, PidfdFlags::empty())?, child, group, socket: socket.to_owned() })
    }

    /// A connection, as soon as the server listens.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if let Ok(stream) = UnixStream::connect(&self.socket) {
                return Ok(stream);
            }
            if is_readable_within(self.ended(), GLANCE) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Readable when it has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where it really listens: it puts a link into its place.
        let real = fs::canonicalize(&self.socket);
        end_group(self.group, self.ended.as_fd(), END_LIMIT);
        let _ = self.child.wait();
        if let Ok(real) = real {
            let mut lock = real.clone().into_os_string();
            lock.push(".lock");
            let _ = fs::remove_file(real);
            let _ = fs::remove_file(lock);
        }
        if let Some(directory) = self.socket.parent() {
            let _ = fs::remove_file(&self.socket);
            let _ = fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn its_place_is_private_and_gone_in_the_end() {
        let home = std::env::temp_dir().join(format!("ab-codex-{}", std::process::id()));
        let directory = home.join("hooks").join("session.d");
        let socket = directory.join("s");
        let place = ServerPlace::make(&socket).unwrap();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(&socket, "").unwrap();
        drop(place);
        assert!(!directory.exists());
        fs::remove_dir_all(&home).unwrap();
    }
}
