//! Tasks of the house that are not the product's: `cargo xtask test`, `tidy`, `detection`, `agents`, `simulate`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who runs it")]

mod agents;
mod detection;
mod suite;
mod tidy;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask test | tidy [--sizes] | detection [--check] | agents [--check] | simulate [--seeds N | --seed N]

  test                build and run every test, lints and house rules beside them
  tidy                compare the workspace with the rules of the house
  tidy --sizes        how large the product is, its functions and structs
  detection           play every recording through the detector, and write docs/detection.md
  detection --check   the same, and fail if a figure is worse than the committed one
  agents              write docs/agents.md from what the last run of the tests with real agents proved
  agents --check      fail if the committed table is not what that run proved
  simulate            ten thousand lives of a hub, as the tests run them
  simulate --seeds N  so many lives
  simulate --seed N   this life again, told step by step";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["test"] => finish(root().and_then(suite::run)),
        ["tidy"] => finish(root().and_then(tidy::run)),
        ["tidy", "--sizes"] => finish(root().and_then(tidy::sizes)),
        ["detection"] => finish(root().and_then(detection::write)),
        ["detection", "--check"] => finish(root().and_then(detection::check)),
        ["agents"] => finish(root().and_then(agents::write)),
        ["agents", "--check"] => finish(root().and_then(agents::check)),
        ["simulate"] => finish(simulate(&[])),
        ["simulate", flag @ ("--seeds" | "--seed"), number] if number.parse::<u64>().is_ok() => {
            let variable = if flag == "--seed" { "ATLASBRIDGE_TEST_SEED" } else { "ATLASBRIDGE_TEST_SEEDS" };
            finish(simulate(&[(variable, number)]))
        }
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

/// The simulation is a test of the hub: only there are the rules, the store and the simulated world together.
fn simulate(settings: &[(&str, &str)]) -> anyhow::Result<bool> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--package", "atlasbridge-hub", "--lib", "simulation"])
        .envs(settings.iter().copied())
        .current_dir(root()?)
        .status()
        .context("running cargo test")?;
    Ok(status.success())
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
