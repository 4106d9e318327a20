//! What the store promises, on real files.
//!
//! - `answers`: one answer wins; the others are told why, on record.
//! - `queue`: sessions, one waiting prompt per session, deadlines, lookups.
//! - `files`: modes, locks, damaged and foreign files, secrets.
//! - `audit`: the log verifies; every change to it is named.
//! - `crash`: torn lines, lost lines, `kill -9`.
//! - `posts`: what is to be shown where, and offers that are replaced.
//! - `inbox`: updates happen once, with all that follows.
//! - `limit`: ten answers a minute.
//! - `logins`: links become logins, once.
//! - `history`: looking back, and databases of earlier versions.
//! - `walks`, `post_walks`: random walks against the pure model, and against a chat.
#![allow(clippy::unwrap_used, clippy::panic, reason = "Clippy knows test functions, not what helps them")]

mod answers;
mod audit;
mod crash;
mod files;
mod history;
mod inbox;
mod limit;
mod logins;
mod post_walks;
mod posts;
mod queue;
mod texts;
mod walks;
mod world;
