//! Where the files of this user lie, and the promise that no other user can reach them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::source::{self, Exposure};
use super::{ConfigError, Environment};

/// The home directory of AtlasBridge and the configuration file. Both are absolute: the hub runs elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    pub home: PathBuf,
    pub config: PathBuf,
}

/// `sun_path` holds this many bytes beside its final zero: 108 on Linux, 104 on macOS and the BSDs.
pub(super) const LONGEST_SOCKET: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

pub(super) const CONFIG_FILE: &str = "config.toml";

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
    pub(crate) fn new(environment: &Environment) -> Result<Self, ConfigError> {
        let home = match absolute(environment, "ATLASBRIDGE_HOME")? {
            Some(home) => home,
            None => absolute(environment, "HOME")?.ok_or_else(no_home)?.join(".atlasbridge"),
        };
        let config = absolute(environment, "ATLASBRIDGE_CONFIG")?;
        Ok(Self { config: config.unwrap_or_else(|| home.join(CONFIG_FILE)), home })
    }

    /// Makes the home directory if there is none.
    ///
    /// # Private-home invariant
    /// When this returns `Ok`, the directory is this user's alone: the socket, the database and the logs in
    /// it need no further protection, whatever their own modes and the umask.
    pub(crate) fn ensure_home(&self) -> Result<(), ConfigError> {
        self.check_socket_length()?;
        create_private(&self.home).map_err(ConfigError::unusable("creating", &self.home))?;
        self.check_home()
    }

    /// Whether the home directory is this user's alone; nothing is made.
    pub(crate) fn check_home(&self) -> Result<(), ConfigError> {
        self.check_socket_length()?;
        let metadata = fs::metadata(&self.home).map_err(ConfigError::unusable("looking at", &self.home))?;
        let home = self.home.display();
        if !metadata.is_dir() {
            let cure = "set ATLASBRIDGE_HOME to another path, or move that file away";
            return Err(ConfigError::refused(format!("{home} is not a directory"), cure));
        }
        let us = source::our_uid();
        match source::exposure(metadata.uid(), metadata.mode(), us) {
            None => Ok(()),
            Some(Exposure::OtherOwner { owner }) => Err(ConfigError::refused(
                format!("{home} belongs to another user (uid {owner}; you are uid {us})"),
                "set ATLASBRIDGE_HOME to a directory of your own",
            )),
            Some(Exposure::OtherUsers { mode }) => {
                let lie = "your prompts and tokens lie there";
                let says = format!("{home} can be reached by other users (mode {mode:04o}): {lie}");
                Err(ConfigError::Open { path: self.home.clone(), closed: 0o700, says })
            }
        }
    }

    pub(super) fn check_socket_length(&self) -> Result<(), ConfigError> {
        let socket = self.socket();
        let length = socket.as_os_str().as_bytes().len();
        if length <= LONGEST_SOCKET {
            return Ok(());
        }
        let most = format!("has {length} bytes, and the system takes {LONGEST_SOCKET} at most");
        Err(ConfigError::refused(
            format!("the path of the hub's socket {most}: {}", socket.display()),
            "set ATLASBRIDGE_HOME to a shorter path, for example /tmp/atlasbridge-$USER",
        ))
    }
}

fn no_home() -> ConfigError {
    ConfigError::refused(
        "neither ATLASBRIDGE_HOME nor HOME is set, so there is no place for AtlasBridge's files",
        "set ATLASBRIDGE_HOME to an absolute path",
    )
}

fn absolute(environment: &Environment, name: &str) -> Result<Option<PathBuf>, ConfigError> {
    match environment.path(name) {
        Some(path) if path.is_relative() => Err(ConfigError::refused(
            format!("{name} must be an absolute path, found `{}`", path.display()),
            "write the whole path, from the first `/`; a `~` in quotes is not expanded",
        )),
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
