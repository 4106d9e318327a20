//! `codex-front`: has the tool's place and becomes the tool, so that job control, signals and exit codes stay its own.
//!
//! # Nothing here stops Codex
//! If anything goes wrong before the screen starts, Codex is started as it was typed, and not a word is said on its terminal.
//! If anything goes wrong later, its own dialogs stay, and are read off the screen.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Arguments, Start};
use crate::wait::is_readable_within;

/// How long the bridge may take to say that the server is there: longer than it waits for it itself.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// Comes back only if Codex cannot be executed, with the code to exit with.
pub fn front(start: &Start) -> u8 {
    let Some((program, typed)) = start.tool.split_first() else { return 127 };
    let mut command = Command::new(program);
    match screen_arguments(start) {
        Some(screen) => command.args(screen),
        None => command.args(typed),
    };
    let is_missing = command.exec().kind() == std::io::ErrorKind::NotFound;
    if is_missing { 127 } else { 126 }
}

/// Starts the bridge, and with it the server. `None`: there is none.
fn screen_arguments(start: &Start) -> Option<Vec<OsString>> {
    let (program, typed) = start.tool.split_first()?;
    let arguments = Arguments::read(typed).ok()?;
    let address = format!("unix://{}", start.server.to_str()?);
    let mut screen = vec!["--remote".into(), address.into()];
    if !arguments.has_directory {
        // Without it 0.166.0 does not ask whether a new folder is trusted, which it does in a plain start.
        screen.extend(["-C".into(), std::env::current_dir().ok()?.into()]);
    }
    screen.extend(arguments.screen);
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg("codex-bridge").arg("--hooks").arg(&start.hooks).arg("--server").arg(&start.server);
    command.arg("--screen").arg(std::process::id().to_string());
    command.arg("--").arg(program).args(&arguments.server);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut bridge = command.spawn().ok()?;
    if bridge.stdout.take().is_some_and(is_ready) {
        // It is a child of the process that this one is about to become.
        return Some(screen);
    }
    let _ = bridge.kill();
    let _ = bridge.wait();
    None
}

/// The bridge prints a line as soon as the server knows it.
fn is_ready(mut said: ChildStdout) -> bool {
    let deadline = Instant::now() + READY_LIMIT;
    let mut byte = [0];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_readable_within(said.as_fd(), left) {
            return false;
        }
        match said.read(&mut byte) {
            Ok(1) if byte == *b"\n" => return true,
            Ok(1) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}
