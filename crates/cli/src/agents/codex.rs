//! Codex: when it can be started with an app-server of its own, to which its screen and our bridge both connect.
//!
//! Measured on 0.166.0. The server is private to the session and ends with it; Codex's shared daemon is not touched.

mod arguments;

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_pty::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, Signal, getpgid, getpgrp, kill_process_group, pidfd_open};

use crate::config::{Paths, create_private};

use super::version::Version;

pub(crate) use arguments::Arguments;
use arguments::Odd;

/// The name of its pack.
pub(crate) const NAME: &str = "codex";

/// The first whose server was seen to serve two clients at once.
pub(crate) const OLDEST: Version = Version(0, 166, 0);

/// How long the server may take to end by itself. 0.166.0 took 0.15 s.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(2);
/// How long its bridge may take to end it: with a server that does not end by itself, a little longer.
const BRIDGE_LIMIT: Duration = Duration::from_secs(3);

/// Why it is started as it was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Off {
    /// It asks nobody in this start, or was given a server.
    AsWished,
    VersionUnknown,
    TooOld(Version),
    /// An argument of which nobody knows what it means to a server.
    Unproved(String),
}

impl Off {
    /// For people, where they might have expected otherwise.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Off::AsWished => None,
            Off::VersionUnknown => Some("it did not tell its version".to_owned()),
            Off::TooOld(version) => {
                Some(format!("it is version {version}, and {OLDEST} is the first for it"))
            }
            Off::Unproved(argument) => Some(format!("{argument} was not proved together with one")),
        }
    }
}

pub(crate) fn judge(version: Option<Version>, args: &[OsString]) -> Result<(), Off> {
    match Arguments::read(args) {
        Ok(_) => {}
        Err(Odd::NotInteractive) => return Err(Off::AsWished),
        Err(Odd::Unknown(argument)) => return Err(Off::Unproved(argument)),
    }
    match version {
        Some(version) if version >= OLDEST => Ok(()),
        Some(version) => Err(Off::TooOld(version)),
        None => Err(Off::VersionUnknown),
    }
}

/// Why no server can listen here.
pub(crate) fn unusable(socket: &Path, longest: usize) -> Option<String> {
    if socket.to_str().is_none() {
        return Some(format!("{} is not UTF-8", socket.display()));
    }
    (socket.as_os_str().len() > longest).then(|| {
        format!(
            "{} is too long for the path of a socket; set ATLASBRIDGE_HOME to a shorter one",
            socket.display()
        )
    })
}

/// The directory of the server's socket, which nobody else can enter; gone with this value.
#[derive(Debug)]
pub(crate) struct ServerPlace {
    directory: PathBuf,
    socket: PathBuf,
}

impl ServerPlace {
    pub(crate) fn make(paths: &Paths, socket: &Path) -> io::Result<Self> {
        create_private(&paths.hooks_dir())?;
        let directory = socket.parent().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
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
    let Ok(stream) = UnixStream::connect(socket) else {
        return;
    };
    let Ok(listener) = rustix::net::sockopt::socket_peercred(&stream) else {
        return;
    };
    drop(stream);
    let (Ok(ended), Ok(group)) = (pidfd_open(listener.pid, PidfdFlags::empty()), getpgid(Some(listener.pid)))
    else {
        return;
    };
    let has_ended = |limit: Duration| {
        let mut descriptors = [PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
        poll(&mut descriptors, Some(limit)).is_ok_and(|count| count > 0)
    };
    if has_ended(BRIDGE_LIMIT) || group == getpgrp() {
        return;
    }
    let _ = kill_process_group(group, Signal::TERM);
    has_ended(END_LIMIT);
    let _ = kill_process_group(group, Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: Option<Version>, line: &str, expected: Result<(), Off>) {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(judge(version, &args), expected, "codex {line}");
    }

    #[test]
    fn a_server_is_for_versions_and_starts_that_were_proved() {
        let newest = Some(Version(0, 166, 0));
        check(newest, "", Ok(()));
        check(Some(Version(0, 170, 1)), "-s read-only", Ok(()));
        check(Some(Version(0, 165, 9)), "", Err(Off::TooOld(Version(0, 165, 9))));
        check(None, "", Err(Off::VersionUnknown));
        check(newest, "exec hello", Err(Off::AsWished));
        check(None, "--version", Err(Off::AsWished));
        check(newest, "--profile work", Err(Off::Unproved("--profile".to_owned())));
    }

    #[test]
    fn its_place_is_private_and_gone_in_the_end() {
        use std::os::unix::fs::PermissionsExt;
        let home = std::env::temp_dir().join(format!("ab-codex-{}", std::process::id()));
        let paths = Paths { config: home.join("config.toml"), home: home.clone() };
        let socket = paths.tool_server(atlasbridge_model::SessionId::from_random([7; 16]));
        let place = ServerPlace::make(&paths, &socket).unwrap();
        let directory = socket.parent().unwrap();
        assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(&socket, "").unwrap();
        drop(place);
        assert!(!directory.exists());
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn a_path_that_is_too_long_is_told() {
        assert_eq!(unusable(Path::new("/h/s"), 10), None);
        assert!(unusable(Path::new("/a/long/way"), 10).unwrap().contains("too long"));
    }
}
