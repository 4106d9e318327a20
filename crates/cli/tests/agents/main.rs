//! The real agents under `atlasbridge run`: pinned CLIs, real terminals, a scripted model on the loopback. The truth is what
//! stands in the project afterwards, and what the model heard.
//!
//! `cases` what is asked of every agent · `claude` Claude Code · `claude_plainly` the same as a person starts it, and its plans · `onboarding` its first start, and folders new to it · `codex` ·
//! `gemini` · `aider` · `qwen` · `opencode` · `continue_cli` · `cline`, by what stands on the screen.
//! `codex_structured` Codex by its app-server · `claude_hooks` Claude Code by its hooks · `claude_hook_trouble` the same, when the
//! desk is first, the hub is gone, or somebody forges · `long` many dialogs of one Claude Code, at random;
//! `ATLASBRIDGE_TEST_FULL=1` for all of them · `instructions` what Claude Code is told from elsewhere while it works.
//!
//! What a test proves becomes a row of docs/agents.md (`Stage::proves`, `cargo xtask agents`).
//!
//! A CLI that cannot be installed is left out, loudly. Run with `--features pause-points`, as all tests here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where and stop")]

mod aider;
mod cases;
mod claude;
mod claude_hook_trouble;
mod claude_hooks;
mod claude_plainly;
mod cline;
mod codex;
mod codex_structured;
mod continue_cli;
#[path = "../telegram/dice.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod dice;
mod gemini;
mod instructions;
mod long;
mod onboarding;
mod opencode;
mod qwen;

use atlasbridge_testkit::agents::{Agent, Opening, Stage};

/// The binary under test, about to run this agent, with nothing to go by but its screen.
fn by_screen(agent: Agent) -> Opening {
    Stage::of(agent, env!("CARGO_BIN_EXE_atlasbridge")).by_screen()
}

/// The same with everything that it has: hooks where the agent knows them, and its screen.
fn by_hook(agent: Agent) -> Opening {
    Stage::of(agent, env!("CARGO_BIN_EXE_atlasbridge"))
}
