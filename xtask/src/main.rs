//! Tasks of the house that are not the product's: `cargo xtask tidy`, `cargo xtask detection`, `cargo xtask agents`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who runs it")]

mod agents;
mod detection;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask tidy [--sizes] | detection [--check] | agents [--check]

  tidy                compare the workspace with the rules of the house
  tidy --sizes        how large the product is, its functions and structs
  detection           play every recording through the detector, and write docs/detection.md
  detection --check   the same, and fail if a figure is worse than the committed one
  agents              write docs/agents.md from what the last run of the tests with real agents proved
  agents --check      fail if the committed table is not what that run proved";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["tidy"] => finish(root().and_then(tidy::run)),
        ["tidy", "--sizes"] => finish(root().and_then(tidy::sizes)),
        ["detection"] => finish(root().and_then(detection::write)),
        ["detection", "--check"] => finish(root().and_then(detection::check)),
        ["agents"] => finish(root().and_then(agents::write)),
        ["agents", "--check"] => finish(root().and_then(agents::check)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The root of the workspace, in which xtask lies.
fn root() -> anyhow::Result<&'static Path> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().context("xtask lies in the root of the workspace")
}

fn finish(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
