//! Codex: when it can be started with an app-server of its own, to which its screen and our bridge both connect.
//!
//! ```text
//!  leader ── codex-front, which becomes Codex's screen: `codex --remote unix://…`
//!               └── codex-bridge, in a session of its own, without a terminal
//!                      └── codex app-server --listen unix://…
//! ```
//!
//! Measured on 0.166.0. The server is private to the session and ends with it; Codex's shared daemon is not touched.

mod arguments;
mod bridge;
mod front;
mod server;
mod talk;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::version::Version;

pub use bridge::run as bridge;
pub use front::front;

use arguments::Arguments;
pub(crate) use server::ServerPlace;

/// The name of its pack.
pub const NAME: &str = "codex";

/// The first whose server was seen to serve two clients at once.
pub const OLDEST: Version = Version(0, 166, 0);

/// How long the server may take to end by itself. 0.166.0 took 0.15 s.
const END_LIMIT: Duration = Duration::from_secs(2);

/// A start of Codex with a server, as `codex-front` and `codex-bridge` are told it.
#[derive(Debug)]
pub struct Start {
    /// Where the session host listens.
    pub hooks: PathBuf,
    /// Where the app-server is to listen.
    pub server: PathBuf,
    /// Codex, and its arguments.
    pub tool: Vec<OsString>,
}

/// Whether this start can have a server. If not, why: nothing where it asks no person, or was given a server.
pub(crate) fn judge(version: Option<Version>, args: &[OsString]) -> Result<(), Option<String>> {
    Arguments::read(args)?;
    match version {
        Some(version) if version >= OLDEST => Ok(()),
        Some(version) => Err(Some(format!("it is version {version}, and {OLDEST} is the first for it"))),
        None => Err(Some("it did not tell its version".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: Option<Version>, line: &str, expected: Result<(), Option<&str>>) {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(judge(version, &args), expected.map_err(|why| why.map(str::to_owned)), "codex {line}");
    }

    #[test]
    fn a_server_is_for_versions_and_starts_that_were_proved() {
        let newest = Some(Version(0, 166, 0));
        check(newest, "", Ok(()));
        check(Some(Version(0, 170, 1)), "-s read-only", Ok(()));
        let too_old = "it is version 0.165.9, and 0.166.0 is the first for it";
        check(Some(Version(0, 165, 9)), "", Err(Some(too_old)));
        check(None, "", Err(Some("it did not tell its version")));
        check(newest, "exec hello", Err(None));
        check(None, "--version", Err(None));
        check(newest, "--profile work", Err(Some("--profile was not proved together with one")));
    }
}
