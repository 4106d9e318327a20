//! The real agents under `atlasbridge run`: pinned CLIs, real terminals, a scripted model on the loopback. The truth is what
//! stands in the project afterwards, and what the model heard.
//!
//! `cases` what is asked of every agent · `claude` Claude Code · `onboarding` its first start, and folders new to it · `codex` ·
//! `gemini` · `aider` · `qwen` · `opencode`. All of them by what stands on the screen.
//!
//! What a test proves becomes a row of docs/agents.md (`Stage::proves`, `cargo xtask agents`).
//!
//! A CLI that cannot be installed is left out, loudly. Run with `--features pause-points`, as all tests here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where and stop"
)]

mod aider;
mod cases;
mod claude;
mod codex;
mod gemini;
mod onboarding;
mod opencode;
mod qwen;

use atlasbridge_testkit::agents::{Agent, Opening, Stage};

/// The binary under test, about to run this agent, with nothing to go by but its screen.
fn by_screen(agent: Agent) -> Opening {
    Stage::of(agent, env!("CARGO_BIN_EXE_atlasbridge")).by_screen()
}
