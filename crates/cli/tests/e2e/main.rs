//! The whole program from outside: real PTYs, real sockets, a real database, real signals. The truth is what the
//! tool read.
//!
//! One prompt: `answers` what may be answered and what is typed · `endings` expiry, keyboard, withdrawal, changed
//! screens · `instructions` what an agent does next · `secrets` passwords leave no trace · `silence` what deadlines type.
//! Crashes: `hub_killed` · `host_killed` · `store_trouble` full disks.
//! Who may ask: `self_approval` the tool may not answer itself · `hub` one per home, start, stop, reload · `peers`
//! other versions, garbage, crowds.
//! Tools that are known: `status_query` the one query that we answer · `adapters` packs, built in and one's own ·
//! `versions` asked and compared · `hook_settings` Claude's command line, with our hooks or as it was typed ·
//! `codex_launch` Codex's, with a server or as it was typed.
//! From elsewhere: `watching` live screens, lines that scrolled away, keys and lines typed from afar.
//! For people and scripts: `commands` exit codes, listings, help · `doctor` what is wrong, and what to do.
//!
//! Run with `--features pause-points`: races are tested by stopping a process at a named point.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on should say where and stop"
)]

mod answers;
mod endings;
mod instructions;
mod secrets;
mod silence;

mod host_killed;
mod hub_killed;
mod store_trouble;

mod hub;
mod peers;
mod self_approval;

mod adapters;
mod codex_launch;
mod hook_settings;
mod status_query;
mod versions;

mod watching;

mod commands;
mod doctor;

use atlasbridge_testkit::Home;

/// A question whose answer is shown as the tool read it, and a second one, into which a doubled answer would fall.
const TWO_QUESTIONS: &str = r#"
    read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]"
    read -p "Delete more? (y/n) " answer; echo "second=[$answer]""#;

/// A home for one test, with the binary under test.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_atlasbridge"))
}
