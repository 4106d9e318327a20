//! `doctor`: what is wrong or will go wrong, before a person leaves the terminal; and what to do next.
//!
//! It looks and asks, starts no hub and makes nothing. Only `--fix` changes something: modes and leftovers of our own.

mod home;
mod hub;
mod protection;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use serde::Serialize;

use crate::config::{Environment, Paths};
use crate::output::{Output, Severity};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    check: String,
    state: Severity,
    says: String,
    /// What to do, where there is something to do.
    next: Option<String>,
}

impl Finding {
    fn ok(check: &str, says: impl Into<String>) -> Self {
        Self { check: check.to_owned(), state: Severity::Ok, says: says.into(), next: None }
    }

    fn warning(check: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: Severity::Warning, next: Some(next.into()), ..Self::ok(check, says) }
    }

    fn problem(check: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: Severity::Problem, next: Some(next.into()), ..Self::ok(check, says) }
    }
}

pub(super) fn run(tools: &[OsString], fix: bool, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process();
    let paths = Paths::new(&environment)?;
    let mut findings = if fix { home::mend(&paths, &environment) } else { Vec::new() };
    findings.extend(home::checks(&paths, &environment));
    findings.extend(hub::checks(&paths));
    findings.extend(protection::checks(&paths));
    findings.extend(tools::checks(tools, &paths, output));
    let has_problem = findings.iter().any(|finding| finding.state == Severity::Problem);
    if json {
        output.json(&findings)?
    } else {
        findings.iter().for_each(|finding| tell(finding, output))
    }
    Ok(ExitCode::from(u8::from(has_problem)))
}

fn tell(finding: &Finding, output: &Output) {
    output.marked(finding.state, &format!("{}: {}", finding.check, finding.says));
    if let Some(next) = &finding.next {
        output.line(&format!("    → {next}"));
    }
}
