//! `codex-front` and `codex-bridge`: Codex with an app-server of its own, and us as a second client of it.
//!
//! ```text
//!  leader ── codex-front, which becomes Codex's screen: `codex --remote unix://…`
//!               └── codex-bridge, in a session of its own, without a terminal
//!                      └── codex app-server --listen unix://…
//! ```
//!
//! The front has the tool's place and becomes the tool, so that job control, signals and exit codes stay its own. The bridge
//! lives as long as that process. It cannot type: it brings requests to the session host, and decisions back to the server.
//!
//! # Nothing here stops Codex
//! Whatever goes wrong before the screen starts, Codex is started as it was typed, and not a word is said on its terminal.
//! Whatever goes wrong later, its own dialogs stay, and are read off the screen.

mod bridge;
mod server;
mod talk;

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use atlasbridge_pty::{PollFd, PollFlags, poll};

use crate::agents::codex::Arguments;
use crate::args::CodexServer;
use crate::output::Output;

/// How long the bridge may take to say that the server is there: longer than it waits for it itself.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// What it says then.
const READY: &str = "ready";

pub(super) fn front(args: CodexServer) -> ExitCode {
    let mut words = args.tool.iter();
    let Some(program) = words.next() else {
        return ExitCode::from(127);
    };
    let typed: Vec<&OsString> = words.collect();
    let mut command = Command::new(program);
    match screen_arguments(&args) {
        Some(screen) => command.args(screen),
        None => command.args(typed),
    };
    let error = command.exec();
    match error.kind() {
        std::io::ErrorKind::NotFound => ExitCode::from(127),
        _ => ExitCode::from(126),
    }
}

/// Starts the bridge, and with it the server. `None`: there is none.
fn screen_arguments(args: &CodexServer) -> Option<Vec<OsString>> {
    let arguments = Arguments::read(args.tool.get(1..)?).ok()?;
    let address = format!("unix://{}", args.server.to_str()?);
    let mut screen = vec!["--remote".into(), address.into()];
    if !arguments.has_directory {
        // Without it 0.166.0 does not ask whether a new folder is trusted, which it does in a plain start.
        screen.extend(["-C".into(), std::env::current_dir().ok()?.into()]);
    }
    screen.extend(arguments.screen);
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .arg("codex-bridge")
        .arg("--hooks")
        .arg(&args.hooks)
        .arg("--server")
        .arg(&args.server)
        .arg("--screen")
        .arg(std::process::id().to_string())
        .arg("--")
        .arg(args.tool.first()?)
        .args(&arguments.server)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut bridge = command.spawn().ok()?;
    if bridge.stdout.take().is_some_and(is_ready) {
        // It is a child of the process that this one is about to become.
        return Some(screen);
    }
    let _ = bridge.kill();
    let _ = bridge.wait();
    None
}

fn is_ready(mut said: ChildStdout) -> bool {
    let deadline = Instant::now() + READY_LIMIT;
    let mut word = Vec::new();
    while word != format!("{READY}\n").as_bytes() {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut descriptors = [PollFd::from_borrowed_fd(said.as_fd(), PollFlags::IN)];
        if left.is_zero() || !poll(&mut descriptors, Some(left)).is_ok_and(|count| count > 0) {
            return false;
        }
        let mut bytes = [0; 16];
        match said.read(&mut bytes) {
            Ok(count) if count > 0 => word.extend_from_slice(&bytes[..count]),
            Ok(_) | Err(_) => return false,
        }
    }
    true
}

pub(super) fn bridge(args: CodexServer, output: &Output) -> ExitCode {
    match bridge::run(&args, || output.line(READY)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
