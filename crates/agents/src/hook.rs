//! What an agent runs when something happens in it. Brings the event to the session host, and back what was decided.
//!
//! # A hook never decides
//! If anything goes wrong here, there is no answer: to the agent that is *no decision*, and its own dialog simply stays. It is
//! on the agent's fast path, so it reads no configuration and starts nothing.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest event: the session host takes no longer one either.
const LONGEST_EVENT: u64 = 16 << 20;
/// How long a decision may take: a day, as the hook's own limit in the agent's settings. The end of the session ends it
/// sooner.
const DECISION_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The decision about this event, where there is one.
pub fn decision(event: impl Read, socket: &Path) -> Option<String> {
    ask(event, socket).ok().flatten()
}

fn ask(event: impl Read, socket: &Path) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    event.take(LONGEST_EVENT).read_to_end(&mut line)?;
    // JSON holds line breaks between its parts only: one line says the same.
    for byte in &mut line {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(DECISION_LIMIT))?;
    stream.write_all(&line)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    // Half a line is no decision.
    Ok(answer.strip_suffix('\n').map(str::to_owned))
}
