//! Where the files of this user lie, and the promise that no other user can reach them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::Environment;
use super::source::{self, Exposure};

/// The home directory of AtlasBridge and the configuration file. Both are absolute: the hub runs elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    pub home: PathBuf,
    pub config: PathBuf,
}

/// No usable path could be made of the environment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathsError {
    #[error(
        "neither ATLASBRIDGE_HOME nor HOME is set, so there is no place for AtlasBridge's files\n    \
         set ATLASBRIDGE_HOME to an absolute path"
    )]
    NoHome,
    #[error(
        "{name} must be an absolute path, found `{}`\n    \
         write the whole path, from the first `/`; a `~` in quotes is not expanded",
        path.display()
    )]
    Relative { name: &'static str, path: PathBuf },
}

/// The home directory could not be made, or may not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HomeError {
    #[error("{doing} {}", home.display())]
    Unusable {
        doing: &'static str,
        home: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a directory\n    set ATLASBRIDGE_HOME to another path, or move that file away", home.display())]
    NotADirectory { home: PathBuf },
    #[error(
        "{} belongs to another user (uid {owner}; you are uid {us})\n    \
         set ATLASBRIDGE_HOME to a directory of your own",
        home.display()
    )]
    NotOurs { home: PathBuf, owner: u32, us: u32 },
    #[error(
        "{} can be reached by other users (mode {mode:04o}): your prompts and tokens lie there\n    \
         run: chmod 700 {}",
        home.display(), source::quoted(home)
    )]
    Open { home: PathBuf, mode: u32 },
    #[error(
        "the path of the hub's socket has {length} bytes, and the system takes {LONGEST_SOCKET} at most: {}\n    \
         set ATLASBRIDGE_HOME to a shorter path, for example /tmp/atlasbridge-$USER",
        socket.display()
    )]
    SocketTooLong { socket: PathBuf, length: usize },
}

/// `sun_path` holds this many bytes beside its final zero: 108 on Linux, 104 on macOS and the BSDs.
pub(super) const LONGEST_SOCKET: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

const CONFIG_FILE: &str = "config.toml";

/// What lies in the home directory.
macro_rules! files {
    ($($(#[doc = $doc:literal])* $name:ident = $file:literal;)+) => {
        impl Paths {
            $($(#[doc = $doc])* pub(crate) fn $name(&self) -> PathBuf {
                self.home.join($file)
            })+
        }
    };
}

files! {
    database = "atlasbridge.db";
    audit_log = "audit.log";
    socket = "hub.sock";
    /// Held by the one hub of this home.
    lock = "hub.lock";
    /// The person's own adapters, `*.toml`.
    adapters = "adapters";
    hub_log = "hub.log";
    /// What session hosts have not yet been able to tell the hub.
    journal_dir = "journal";
    /// Which version each tool said it is; may be removed at any time.
    versions = "cache/versions.json";
    /// Settings and sockets of hooks, one of each per session.
    hooks_dir = "hooks";
    /// Prompts that were seen, as scenarios for the lab.
    captures = "captured_scenarios";
}

impl Paths {
    pub(crate) fn new(environment: &Environment) -> Result<Self, PathsError> {
        let home = match absolute(environment, "ATLASBRIDGE_HOME")? {
            Some(home) => home,
            None => absolute(environment, "HOME")?.ok_or(PathsError::NoHome)?.join(".atlasbridge"),
        };
        let config = absolute(environment, "ATLASBRIDGE_CONFIG")?;
        Ok(Self { config: config.unwrap_or_else(|| home.join(CONFIG_FILE)), home })
    }

    /// Makes the home directory if there is none.
    ///
    /// # Private-home invariant
    /// When this returns `Ok`, the directory is this user's alone: the socket, the database and the logs in
    /// it need no further protection, whatever their own modes and the umask.
    pub(crate) fn ensure_home(&self) -> Result<(), HomeError> {
        self.check_socket_length()?;
        create_private(&self.home).map_err(|source| self.unusable("creating", source))?;
        self.check_home()
    }

    /// Whether the home directory is this user's alone; nothing is made.
    pub(crate) fn check_home(&self) -> Result<(), HomeError> {
        self.check_socket_length()?;
        let metadata = fs::metadata(&self.home).map_err(|source| self.unusable("looking at", source))?;
        let home = self.home.clone();
        if !metadata.is_dir() {
            return Err(HomeError::NotADirectory { home });
        }
        let us = source::our_uid();
        match source::exposure(metadata.uid(), metadata.mode(), us) {
            None => Ok(()),
            Some(Exposure::OtherOwner { owner }) => Err(HomeError::NotOurs { home, owner, us }),
            Some(Exposure::OtherUsers { mode }) => Err(HomeError::Open { home, mode }),
        }
    }

    fn unusable(&self, doing: &'static str, source: io::Error) -> HomeError {
        HomeError::Unusable { doing, home: self.home.clone(), source }
    }

    pub(super) fn check_socket_length(&self) -> Result<(), HomeError> {
        let socket = self.socket();
        match socket.as_os_str().as_bytes().len() {
            length if length > LONGEST_SOCKET => Err(HomeError::SocketTooLong { socket, length }),
            _ => Ok(()),
        }
    }

    /// A person who names a file means it to be read; that it is not there deserves a word.
    pub(super) fn named_but_missing(&self) -> Option<String> {
        let named = self.config != self.home.join(CONFIG_FILE);
        named.then(|| {
            format!(
                "ATLASBRIDGE_CONFIG names {}, which does not exist: the defaults are used",
                self.config.display()
            )
        })
    }
}

fn absolute(environment: &Environment, name: &'static str) -> Result<Option<PathBuf>, PathsError> {
    match environment.path(name) {
        Some(path) if path.is_relative() => Err(PathsError::Relative { name, path }),
        path => Ok(path),
    }
}

/// Parents get the usual mode; only the directory itself is ours alone. One that exists is left as it is.
fn create_private(home: &Path) -> io::Result<()> {
    if let Some(parent) = home.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(home) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}
