//! What the store promises, on real files.
//!
//! - `answers`: one answer wins; the others are told why, on record.
//! - `queue`: sessions, one waiting prompt per session, deadlines, lookups.
//! - `files`: modes, locks, damaged and foreign files, secrets.
//! - `audit`: the log verifies; every change to it is named.
//! - `crash`: torn lines, lost lines, `kill -9`.
//! - `walks`: random walks against the pure model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "Clippy knows test functions, not what helps them"
)]

mod answers;
mod audit;
mod crash;
mod files;
mod queue;
mod walks;
mod world;
