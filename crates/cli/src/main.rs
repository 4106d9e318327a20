//! The binary: arguments, configuration, one file per command, one place that prints, one that exits.
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod args;
mod commands;

mod client;
mod config;
mod output;
mod spelling;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use output::Output;

fn main() -> ExitCode {
    let args = Args::parse();
    let output = Output::new();
    match commands::run(args, &output) {
        Ok(code) => code,
        Err(error) => {
            output.error(&error);
            ExitCode::from(commands::code_of(&error))
        }
    }
}
