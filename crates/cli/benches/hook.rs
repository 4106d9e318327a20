//! What a hook costs the tool that waits for it: `atlasbridge hook` with a report, as Claude Code starts it, against
//! `/bin/true` started the same way, one after the other in turns, inside a real session. Prints the figures; judges nothing.
//!
//! The tool of the session is a `claude` that is this bench once more: what a session host hears must come from its own tool.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on should say where and stop"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use atlasbridge_testkit::Home;
use serde_json::{Value, json};

const ROUNDS: usize = 200;
/// Names the file for the figures, inside the session.
const INSIDE: &str = "HOOK_BENCH_FIGURES";

fn main() {
    match std::env::var_os(INSIDE) {
        Some(figures) => measure(Path::new(&figures)),
        None => hold_session(),
    }
}

/// Starts the session, and prints what was measured in it.
fn hold_session() {
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config("[web]\nenabled = false\n");
    let claude = home.scratch().join("claude");
    let bench = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.1.325 (Claude Code)'; exit; fi\nexec '{}' \"$@\"\n",
        bench.display()
    );
    fs::write(&claude, script).unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let figures = home.scratch().join("figures");
    let ran = home
        .command(["run", "--quiet", "--"])
        .arg(&claude)
        .env(INSIDE, &figures)
        .env("HOME", home.scratch())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    print!("{}", fs::read_to_string(figures).unwrap());
}

/// Inside: the hook's command stands in the settings that the session was given.
fn measure(figures: &Path) {
    let mut words = std::env::args().skip_while(|word| word != "--settings");
    let settings: Value = serde_json::from_slice(&fs::read(words.nth(1).unwrap()).unwrap()).unwrap();
    let hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let event = json!({
        "session_id": "538569ee-7f02-486e-9539-1be2e7783347", "cwd": "/", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "call_1",
        "tool_input": { "command": "rm -rf build", "description": "Remove the build directory" },
    });
    let (mut nothing, mut hooked) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        nothing.push(timed("/bin/true", &event));
        hooked.push(timed(hook, &event));
    }
    let (nothing, hooked) = (Spread::of(nothing), Spread::of(hooked));
    let over = hooked.median.saturating_sub(nothing.median);
    let told = format!(
        "{ROUNDS} runs each, in turns\n/bin/true        {nothing}\natlasbridge hook {hooked}\n\
         over it, median: {over:.2?}, ratio {:.2}\n",
        hooked.median.as_secs_f64() / nothing.median.as_secs_f64()
    );
    fs::write(figures, told).unwrap();
}

/// From its start until it has ended.
fn timed(command: &str, event: &Value) -> Duration {
    let event = event.to_string();
    let began = Instant::now();
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // `/bin/true` may be gone before it is told anything.
    let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
    let ended = child.wait_with_output().unwrap();
    let took = began.elapsed();
    assert!(ended.status.success() && ended.stdout.is_empty(), "{ended:?}");
    took
}

struct Spread {
    median: Duration,
    p95: Duration,
    longest: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            median: times[times.len() / 2],
            p95: times[times.len() * 95 / 100],
            longest: times[times.len() - 1],
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median, p95, longest } = self;
        write!(f, "median {median:.2?}, p95 {p95:.2?}, longest {longest:.2?}")
    }
}
