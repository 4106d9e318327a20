//! What the command line knows of this machine and hands over. No other file here reads the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use atlasbridge_model::SessionId;

/// Where an agent is started, and with what.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Everything but our own variables, which may hold tokens: agents are asked and started with these.
    pub env: Vec<(OsString, OsString)>,
    /// Where it will run, and where Claude looks for the settings of a project.
    pub cwd: PathBuf,
    /// Settings and sockets of hooks, one of each per session; made when it is first needed.
    pub hooks_dir: PathBuf,
    /// Which version each program said it is; may be removed at any time.
    pub versions: PathBuf,
}

impl Surroundings {
    /// An empty variable counts as unset, as it does for a shell's `${NAME:-default}`.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from)
    }

    /// Whether it says something other than no, as the tools that read such a variable see it.
    pub(crate) fn is_truthy(&self, name: &str) -> bool {
        let is_no =
            |value: &OsStr| ["0", "false", "no", "off"].iter().any(|no| value.eq_ignore_ascii_case(no));
        self.variable(name).is_some_and(|value| !is_no(value))
    }

    /// Where the hooks of this session call.
    pub(crate) fn hook_socket(&self, session: SessionId) -> PathBuf {
        self.hooks_dir.join(format!("{session}.sock"))
    }

    /// The settings that a tool gets for this session, with our hooks in them.
    pub(crate) fn hook_settings(&self, session: SessionId) -> PathBuf {
        self.hooks_dir.join(format!("{session}.json"))
    }

    /// Where the server of this session's tool listens, in a directory of its own.
    pub(crate) fn tool_server(&self, session: SessionId) -> PathBuf {
        self.hooks_dir.join(format!("{session}.d")).join("s")
    }
}

/// No values: some are tokens of other programs.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Surroundings");
        shown.field("cwd", &self.cwd).field("hooks_dir", &self.hooks_dir).finish_non_exhaustive()
    }
}

/// A directory that no other user can enter. Those above it are there; one that exists is left as it is.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes a file that no other user can read, whole or not at all: two programs may do so at once.
pub fn replace_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut options = File::options();
        let mut new = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        new.write_all(bytes)?;
        new.sync_all()?;
        fs::rename(&unfinished, file)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Why no socket can be here.
pub(crate) fn unusable(socket: &Path) -> Option<String> {
    if socket.to_str().is_none() {
        return Some(format!("{} is not UTF-8", socket.display()));
    }
    SocketAddr::from_pathname(socket).is_err().then(|| {
        format!(
            "{} is too long for the path of a socket; set ATLASBRIDGE_HOME to a shorter one",
            socket.display()
        )
    })
}

/// The path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_told() {
        assert_eq!(unusable(Path::new("/h/s")), None);
        assert_eq!(unusable(Path::new(&format!("/{}", "s".repeat(106)))), None);
        assert!(unusable(Path::new(&format!("/{}", "s".repeat(107)))).unwrap().contains("too long"));
    }

    #[test]
    fn an_empty_variable_is_unset_and_a_no_is_no() {
        let env = [("A", ""), ("B", "Off"), ("C", "1")].map(|(name, value)| (name.into(), value.into()));
        let surroundings = Surroundings { env: env.into(), ..Surroundings::default() };
        assert_eq!((surroundings.path("A"), surroundings.path("C")), (None, Some("1".into())));
        assert_eq!(
            ["A", "B", "C", "D"].map(|name| surroundings.is_truthy(name)),
            [false, false, true, false]
        );
        assert!(!format!("{surroundings:?}").contains("Off"));
    }
}
