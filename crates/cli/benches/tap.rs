//! How long from a tap to the tool: the real binary, a Bot API server on the loopback, a shell that asks.
//!
//! The clock starts before the tap is put into the service's queue, where a long poll waits for it, and stops when the
//! shell has read the answer; so the shell's own wake-up counts too. Prints the figures; judges nothing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on should say where and stop"
)]

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atlasbridge_testkit::telegram::{FakeTelegram, Limits};
use atlasbridge_testkit::{Home, eventually};

const TOKEN: &str = "123456789:AAE0123456789012345678901234567890a";
const ANN: i64 = 4242;
/// A session takes ten answers of channels in a minute.
const SESSIONS: usize = 10;
const QUESTIONS: usize = 10;

fn main() {
    let telegram = FakeTelegram::start(TOKEN);
    telegram.limits(Limits::none());
    let chat = telegram.private_chat(ANN, "Ann");
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config(&format!(
        "[prompts]\npresence_grace_seconds = 0\n[web]\nenabled = false\n[telegram]\nbot_token = \"{TOKEN}\"\n\
         allowed_users = [{ANN}]\napi_url = \"{}\"\nmessages_per_second = 30\nnotify_start = false\nnotify_end = false\n",
        telegram.api_url()
    ));
    let mut took = Vec::new();
    for session in 0..SESSIONS {
        let read = home.scratch().join(format!("read-{session}"));
        let script = format!(
            r#"for n in {{1..{QUESTIONS}}}; do read -p "s{session} q$n? (y/n) " a; echo "$EPOCHREALTIME" >> {}; done; sleep 600"#,
            read.display()
        );
        let terminal = home.run_in_terminal(&["run", "--quiet", "--", "bash", "--norc", "-c", &script]);
        for question in 1..=QUESTIONS {
            let text = format!("s{session} q{question}?");
            let prompt = telegram.wait_message(
                chat,
                |message| message.text.contains(&text) && !message.buttons.is_empty(),
                "the prompt appears",
            );
            telegram.wait_polled("the hub listens");
            let tapped = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            telegram.taps(ANN, chat, prompt.id, "Yes");
            let at = eventually("the tool has read it", || {
                let text = fs::read_to_string(&read).ok()?;
                let line = text.split_inclusive('\n').nth(question - 1)?;
                line.strip_suffix('\n')?.parse::<f64>().ok()
            });
            took.push(Duration::from_secs_f64(at).saturating_sub(tapped));
        }
        terminal.kill();
    }
    took.sort();
    let of = |share: usize| took[(took.len() - 1) * share / 100];
    println!(
        "tap → read by the tool, {} taps: median {:?}, p95 {:?}, longest {:?}",
        took.len(),
        of(50),
        of(95),
        of(100)
    );
}
