//! `cargo xtask test`: every test of the workspace, and the checks of the house beside them.
//!
//! Most of the suite waits: for real agents, browsers, terminals. The rest computes. So the test binaries run in lanes beside
//! each other, each lane one binary after the other; the checks step back for all of them. One binary has the machine's cores to
//! itself nowhere; no test may need that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::Value;

/// The same features for everything, so that nothing is built twice. `pause-points` lets tests stop a process at a named
/// point; `cargo build --release` does not have it.
const FEATURES: [&str; 3] = ["--workspace", "--features", "atlasbridge/pause-points"];

/// Longest that one binary may take, in seconds: the longest takes a third of it on two quiet cores.
const LIMIT: &str = "2400";

/// Binaries that run one after the other. What no lane names is computed in the last one.
struct Lane {
    binaries: &'static [&'static str],
    /// Tests of one binary at a time.
    threads: usize,
}

const LANES: [Lane; 3] = [
    // Agents start slowly and then wait for their model, and for a person who reads.
    Lane { binaries: &["agents"], threads: 4 },
    Lane { binaries: &["page", "telegram", "e2e", "fidelity", "lab", "pty"], threads: 2 },
    Lane { binaries: &[], threads: 2 },
];

/// What the last lane does when it has run its tests: offline, and without a word of the tests.
const CHECKS: [(&str, &[&str]); 3] = [
    (
        "lints",
        &[
            "clippy",
            FEATURES[0],
            FEATURES[1],
            FEATURES[2],
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("house rules", &["xtask", "tidy"]),
    ("detection, against the committed figures", &["xtask", "detection", "--check"]),
];

/// One binary of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binary {
    name: String,
    /// The directory of its package, where cargo would start it.
    package: PathBuf,
    program: PathBuf,
}

/// What came of everything so far. Its lock is held while something is printed: outcomes do not mix.
#[derive(Debug, Default)]
struct Sum {
    passed: u64,
    failed: u64,
    /// What did not end well, by name.
    bad: Vec<String>,
}

pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let binaries = build(root)?;
    let logs = target(root).join("test-logs");
    fs::create_dir_all(&logs).with_context(|| format!("making {}", logs.display()))?;
    println!("{} binaries of tests; what each says is in {}", binaries.len(), logs.display());
    let sum = Mutex::new(Sum::default());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for lane in &LANES {
            let (binaries, logs, sum) = (&binaries, &logs, &sum);
            scope.spawn(move || {
                for binary in lane.takes(binaries) {
                    lane.test(binary, logs, sum);
                }
                if lane.binaries.is_empty() {
                    CHECKS.iter().for_each(|(name, words)| check(root, name, words, sum));
                }
            });
        }
    });
    let Sum { passed, failed, bad } = sum.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    println!(
        "\nin {} s; bad: {}",
        started.elapsed().as_secs(),
        if bad.is_empty() { "none".to_owned() } else { bad.join(", ") }
    );
    println!("tests: {passed} passed, {failed} failed");
    Ok(bad.is_empty())
}

/// Builds all tests; what the compiler says is shown as it comes.
fn build(root: &Path) -> anyhow::Result<Vec<Binary>> {
    let built = Command::new(env!("CARGO"))
        .arg("test")
        .args(FEATURES)
        .args(["--lib", "--bins", "--tests", "--no-run", "--message-format=json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo test --no-run")?;
    if !built.status.success() {
        bail!("the tests could not be built");
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut binaries: Vec<Binary> = messages.filter_map(|message: Value| binary(&message)).collect();
    binaries.sort_by(|one, other| one.name.cmp(&other.name));
    match binaries.is_empty() {
        true => bail!("cargo built no test"),
        false => Ok(binaries),
    }
}

/// The binary of tests that this message of cargo announces.
fn binary(message: &Value) -> Option<Binary> {
    if message["profile"]["test"] != true {
        return None;
    }
    Some(Binary {
        name: message["target"]["name"].as_str()?.to_owned(),
        package: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        program: message["executable"].as_str()?.into(),
    })
}

impl Lane {
    /// In the order that the lane names.
    fn takes<'b>(&self, binaries: &'b [Binary]) -> Vec<&'b Binary> {
        let place = |lane: &Lane, binary: &Binary| lane.binaries.iter().position(|name| *name == binary.name);
        let is_ours = |binary: &&Binary| match self.binaries {
            [] => LANES.iter().all(|lane| place(lane, binary).is_none()),
            _ => place(self, binary).is_some(),
        };
        let mut ours: Vec<&Binary> = binaries.iter().filter(is_ours).collect();
        ours.sort_by_key(|binary| place(self, binary));
        ours
    }

    fn test(&self, binary: &Binary, logs: &Path, sum: &Mutex<Sum>) {
        let started = Instant::now();
        let log = logs.join(format!("{}.log", binary.program.file_name().unwrap_or_default().display()));
        let ended = self.run(binary, &log);
        let said = fs::read_to_string(&log).unwrap_or_default();
        let (passed, failed) = counts(&said);
        let mut sum = sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        println!("\n== {} ({} s)", binary.name, started.elapsed().as_secs());
        said.lines().filter(|line| is_worth_telling(line)).for_each(|line| println!("{line}"));
        sum.passed += passed;
        sum.failed += failed;
        if let Err(error) = ended {
            println!("{error:#}");
            sum.bad.push(binary.name.clone());
        }
    }

    /// As cargo would, with an end.
    fn run(&self, binary: &Binary, log: &Path) -> anyhow::Result<()> {
        let output = fs::File::create(log).with_context(|| format!("making {}", log.display()))?;
        let ended = Command::new("timeout")
            .args(["--kill-after=10", LIMIT])
            .arg(&binary.program)
            .arg(format!("--test-threads={}", self.threads))
            .env("CARGO_MANIFEST_DIR", &binary.package)
            .current_dir(&binary.package)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()
            .with_context(|| format!("starting {}", binary.name))?;
        match ended.code() {
            Some(0) => Ok(()),
            Some(124 | 137) => bail!("{} did not end within {LIMIT} s", binary.name),
            _ => bail!("{} ended with {ended}", binary.name),
        }
    }
}

fn check(root: &Path, name: &str, words: &[&str], sum: &Mutex<Sum>) {
    let started = Instant::now();
    let ended = Command::new("nice").args(["-n", "10", env!("CARGO")]).args(words).current_dir(root).output();
    let mut sum = sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    println!("\n== {name} ({} s)", started.elapsed().as_secs());
    match ended {
        Ok(output) => {
            print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                sum.bad.push(name.to_owned());
            }
        }
        Err(error) => {
            println!("cargo could not be started: {error}");
            sum.bad.push(name.to_owned());
        }
    }
}

/// Everything but the tests that went well.
fn is_worth_telling(line: &str) -> bool {
    let went_well = line.starts_with("test ") && line.ends_with(" ... ok");
    !went_well && !line.trim().is_empty()
}

/// How many passed and failed, by the harness's closing line.
fn counts(said: &str) -> (u64, u64) {
    let Some(line) = said.lines().rev().find(|line| line.starts_with("test result:")) else { return (0, 0) };
    let before = |word: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|found| found.trim_end_matches(';') == word)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    (before("passed").unwrap_or(0), before("failed").unwrap_or(0))
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Binary {
        Binary { name: name.to_owned(), package: PathBuf::new(), program: PathBuf::new() }
    }

    #[test]
    fn every_binary_runs_in_one_lane() {
        let binaries = ["agents", "atlasbridge_hub", "e2e", "lab", "page", "page", "xtask"].map(named);
        let names = |lane: &Lane| lane.takes(&binaries).iter().map(|binary| binary.name.clone()).collect();
        let lanes: Vec<Vec<String>> = LANES.iter().map(names).collect();
        assert_eq!(
            lanes,
            [vec!["agents"], vec!["page", "page", "e2e", "lab"], vec!["atlasbridge_hub", "xtask"]]
        );
    }

    #[test]
    fn what_cargo_built_is_known_by_its_messages() {
        let message = serde_json::json!({
            "reason": "compiler-artifact", "manifest_path": "/a/Cargo.toml", "target": { "name": "e2e" },
            "profile": { "test": true }, "executable": "/t/e2e-1",
        });
        let expected = Binary { name: "e2e".to_owned(), package: "/a".into(), program: "/t/e2e-1".into() };
        assert_eq!(binary(&message), Some(expected));
        let mut library = message.clone();
        library["executable"] = Value::Null;
        assert_eq!(binary(&library), None);
        let mut program = message;
        program["profile"]["test"] = false.into();
        assert_eq!(binary(&program), None);
    }

    #[test]
    fn the_closing_line_is_counted() {
        let said = "test a ... ok\n\ntest result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; finished in 1.0s\n";
        assert_eq!(counts(said), (12, 3));
        assert_eq!(counts("killed"), (0, 0));
        assert!(!is_worth_telling("test a ... ok") && is_worth_telling("test a ... FAILED"));
    }
}
