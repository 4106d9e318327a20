//! The crate on real terminals, real processes and real signals.
//!
//! - `exec`: how a program is found, started and ended
//! - `jobs`: control characters, suspending, the process tree
//! - `bytes`: what goes through the terminal, and what is done to it
//! - `probe`: who waits for the terminal
//! - `guardian`: what is left when a session host is killed
//! - `host`: our own terminal, input, output and signals
//! - `detached`: the process that outlives us
//!
//! Every wait here is for a state, with a limit (`stage::LIMIT`); none is for a duration.

#![allow(unsafe_code, reason = "tests play programs that make odd system calls")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy knows tests only by their attribute"
)]

mod stage;

mod bytes;
mod detached;
mod exec;
mod guardian;
mod host;
mod jobs;
mod probe;
mod role;
