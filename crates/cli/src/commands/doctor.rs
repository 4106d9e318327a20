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

/// What was found, in the order in which it was looked at.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn ok(&mut self, check: &str, says: impl Into<String>) {
        self.add(Severity::Ok, check, says, None);
    }

    fn warning(&mut self, check: &str, says: impl Into<String>, next: impl Into<String>) {
        self.add(Severity::Warning, check, says, Some(next.into()));
    }

    fn problem(&mut self, check: &str, says: impl Into<String>, next: impl Into<String>) {
        self.add(Severity::Problem, check, says, Some(next.into()));
    }

    fn add(&mut self, state: Severity, check: &str, says: impl Into<String>, next: Option<String>) {
        self.0.push(Finding { check: check.to_owned(), state, says: says.into(), next });
    }
}

pub(super) fn run(tools: &[OsString], fix: bool, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process();
    let paths = Paths::new(&environment)?;
    let mut findings = Findings::default();
    if fix {
        home::mend(&paths, &environment, &mut findings);
    }
    home::checks(&paths, &environment, &mut findings);
    hub::checks(&paths, &mut findings);
    protection::checks(&paths, &mut findings);
    tools::checks(tools, &paths, output, &mut findings);
    let Findings(findings) = findings;
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

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn found(look: impl FnOnce(&mut Findings)) -> Vec<Finding> {
        let mut findings = Findings::default();
        look(&mut findings);
        findings.0
    }

    #[track_caller]
    pub(super) fn only(look: impl FnOnce(&mut Findings)) -> Finding {
        let [finding] = found(look).try_into().unwrap();
        finding
    }
}
