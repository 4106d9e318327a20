//! `atlasbridge run -- TOOL` is `TOOL`: the same bytes, the same screen, the same keys, signals and exit codes.
//!
//! Real programs, in real terminals. Where possible the same thing is done twice, once without us and once with us,
//! and what can be seen of both is compared.
//!
//! Index, in suggested reading order:
//!
//! - `side_by_side`: two tmux panes, the same keys, the same picture: bash, vim, less, top, python, job control.
//! - `bytes`: every byte, both ways: random ones, all recordings, special sequences, queries; a slow terminal.
//! - `pipes`: input and output that are no terminal: pipes, files, sockets, `/dev/null`, nothing at all.
//! - `surfaces`: the same prompts, and answers that arrive, on each of them.
//! - `exits`: exit codes, deadly signals, tools that cannot be started.
//! - `jobs`: Ctrl-C, Ctrl-Z, background jobs, signals to us and to the tool, a killed and a panicking host.
//! - `surroundings`: environment, signal dispositions, descriptors, limits, directory.
//! - `idle`: a session in which nothing happens costs nothing.
//! - `events`: `--events` to a file and to a FIFO.
//! - `status`: a tool that tells its status once we ask for it (OSC 7501).
//!
//! `tmux` and `scene` are what they stand on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "Clippy knows test functions, not what helps them")]

mod bytes;
mod events;
mod exits;
mod idle;
mod jobs;
mod pipes;
mod side_by_side;
mod status;
mod surfaces;
mod surroundings;

mod scene;
mod tmux;
