//! Frames on the hub's Unix socket: one JSON object per line, at most [`MAX_FRAME`] bytes, versioned.
//!
//! This room owns the serialised twins of model types and nothing else: no sockets, no clocks, so the session
//! host (plain poll loop) and the hub (tokio) share it. Every frame has a golden text in `tests/golden.rs`; the
//! contract for other readers is `docs/wire.md`. Members and frames may be added (readers pass over what they do not
//! know); anything else is a new protocol number.
#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod codec;
pub mod command;
pub mod hello;
pub mod journal;
pub mod picture;
pub mod session;
pub mod twin;

pub use codec::{FrameError, Lines, decode, encode};
pub use hello::{Greeting, Hello, Role};

/// The protocol that this build speaks.
pub const PROTOCOL: u32 = 1;
/// The oldest protocol that this build still understands.
pub const OLDEST_PROTOCOL: u32 = 1;
/// Longest frame in bytes, line break included. A prompt with its detail needs under 20 KiB; a peer that sends
/// more without a line break is broken or hostile, and is cut off instead of being buffered.
pub const MAX_FRAME: usize = 1 << 20;
