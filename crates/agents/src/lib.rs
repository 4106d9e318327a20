//! What is special about one agent beyond its pack: how it is started, which settings and hooks it gets for one session,
//! what is said to its server, and which version it is.
//!
//! The agent's own files are left alone, and nothing here stops it from starting: what cannot be done is told in a
//! sentence, and the agent's dialogs are read off the screen as those of any other program.
//!
//! # An agent's neighbour cannot type
//! This crate has no terminal, no database and no channel. It brings what an agent asks to the session host, and what was
//! decided there back to the agent.
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod launch;
mod surroundings;

pub mod claude;
pub mod codex;
pub mod hook;
pub mod leftovers;
pub mod question;
pub mod version;
mod wait;

pub use launch::{Hooks, Launch, Prepared, Ways, hook_command, prepare};
pub use surroundings::{Surroundings, quoted, replace_private};

/// Whether this is one of the words of a list.
fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}
