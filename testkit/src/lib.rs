//! What the tests of the whole program stand on. Dev only: nobody depends on it outside dev-dependencies.
//!
//! A [`Home`] is an `ATLASBRIDGE_HOME` of a test's own, whose processes end with it; a [`Terminal`] is a person's
//! terminal with a program on it; a [`Pause`] stops a process at a named point; a [`Peer`] speaks to the hub's socket
//! without manners; [`telegram::FakeTelegram`] is a Bot API server and everybody who uses it; an [`agents::Stage`] is a real
//! agent at work on a scripted model, a [`ScriptedAgent`] one of a few lines. Waiting is always for a state, with
//! a reason and a limit, never for a duration.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where and stop")]

pub mod agents;
mod home;
pub mod http;
mod packages;
pub mod page;
mod pause;
mod peer;
mod scripted;
pub mod telegram;
mod terminal;
mod wait;

pub use home::{Finished, Following, Home, Running, kill};
pub use packages::{npm_package, python_package};
pub use pause::Pause;
pub use peer::{DeafHub, Peer};
pub use scripted::{Lines, ScriptedAgent};
pub use terminal::Terminal;
pub use wait::{LIMIT, eventually};
