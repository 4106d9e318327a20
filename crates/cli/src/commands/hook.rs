//! `hook`: what the tool runs when something happens in it. Brings the event to the session host, and back what was decided.
//!
//! # A hook never decides
//! Whatever goes wrong here, nothing is printed and the exit code is 0: to the tool that is *no decision*, and its own
//! dialog simply stays. It is on the tool's fast path, so it reads no configuration and starts nothing.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::output::Output;

/// Longest event: the session host takes no longer one either.
const LONGEST_EVENT: u64 = 16 << 20;
/// How long a decision may take: a day, as the hook's own limit in the tool's settings. The end of the session ends it
/// sooner.
const DECISION_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn run(socket: &Path, output: &Output) -> ExitCode {
    if let Ok(Some(decision)) = ask(socket) {
        output.line(&decision);
    }
    ExitCode::SUCCESS
}

fn ask(socket: &Path) -> io::Result<Option<String>> {
    let mut event = Vec::new();
    io::stdin().take(LONGEST_EVENT).read_to_end(&mut event)?;
    // JSON holds line breaks between its parts only: one line says the same.
    for byte in &mut event {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    event.push(b'\n');
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(DECISION_LIMIT))?;
    stream.write_all(&event)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    // Half a line is no decision.
    Ok(answer.strip_suffix('\n').map(str::to_owned))
}
