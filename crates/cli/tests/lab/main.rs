//! The lab from outside, and what it has found.
//!
//! - `scenarios`: every scenario of `lab list`, played through the binary.
//! - `recordings`: `lab replay` and `lab explain` on recordings of real programs; files that are none.
//! - `record`: a tool recorded on a real terminal, and what a replay of it sees.
//! - `captures`: `ATLASBRIDGE_CAPTURE_PROMPTS=1`.
//! - `races`: what a scenario showed now and then, made to happen each time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "Clippy knows test functions, not what helps them")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

mod captures;
mod record;
mod recordings;
mod scenarios;

mod races;

use atlasbridge_testkit::Home;

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_atlasbridge"))
}
