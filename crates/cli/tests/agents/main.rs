//! The real agents under `atlasbridge run`: pinned CLIs, real terminals, a scripted model on the loopback. The truth is what
//! stands in the project afterwards, and what the model heard.
//!
//! `claude` Claude Code, by its screen.
//! `claude_hooks` Claude Code, by its hooks.
//! `instructions` what Claude Code is told from elsewhere while it works, and why something is refused.
//!
//! A CLI that cannot be installed is left out, loudly. Run with `--features pause-points`, as all tests here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where and stop"
)]

mod claude;
mod claude_hooks;
mod instructions;

use atlasbridge_testkit::agents::{Agent, Opening, Stage};

/// The binary under test, about to run this agent, with nothing to go by but its screen.
fn by_screen(agent: Agent) -> Opening {
    Stage::of(agent, env!("CARGO_BIN_EXE_atlasbridge")).by_screen()
}

/// The same with everything that it has: hooks where the agent knows them, and its screen.
fn by_hook(agent: Agent) -> Opening {
    Stage::of(agent, env!("CARGO_BIN_EXE_atlasbridge"))
}
