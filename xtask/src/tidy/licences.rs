//! Whose licences we can live with. The same list stands in `deny.toml`.

use super::Findings;
use super::duplicates;
use super::files::Files;
use super::metadata::Workspace;
use super::spdx::{Verdict, evaluate};

const ALLOWED: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
];

pub(crate) fn check(workspace: &Workspace) -> Findings {
    let mut findings = Findings::default();
    for package in workspace.packages.values() {
        let place = format!("{} {}", package.name, package.version);
        let Some(licence) = &package.licence else {
            findings.problem(place, "names no licence");
            continue;
        };
        let what = match evaluate(licence, &ALLOWED) {
            Verdict::Allowed => continue,
            Verdict::Forbidden => format!("{licence} is not on our list of licences"),
            Verdict::Unreadable => format!("`{licence}` is not a licence expression"),
        };
        findings.problem(place, what);
    }
    findings
}

/// Those who have cargo-deny must get the same answer from it.
pub(crate) fn check_deny(workspace: &Workspace, files: &Files) -> Findings {
    let mut findings = Findings::default();
    let Some(deny) = files.text("deny.toml") else {
        findings.problem("deny.toml", "is missing");
        return findings;
    };
    let names = ALLOWED.into_iter().chain(duplicates::allowed_names());
    for name in names.filter(|name| !deny.contains(&format!("\"{name}\""))) {
        findings.problem("deny.toml", format!("does not allow \"{name}\", which xtask allows"));
    }
    check_wrappers(workspace, deny, &mut findings);
    findings
}

/// Only the crates named here may use a forbidden one: a name that no crate has forbids nothing it seems to.
fn check_wrappers(workspace: &Workspace, deny: &str, findings: &mut Findings) {
    for (index, line) in deny.lines().enumerate() {
        let listed = line.split_once("wrappers = [").and_then(|(_, rest)| rest.split_once(']'));
        let names = listed.map(|(names, _)| names).unwrap_or_default();
        // Of a crate of ours that is forbidden, the name as well: another one would be forbidden to everybody.
        let forbidden = listed.and_then(|_| line.split_once("crate = ")?.1.split(',').next());
        let names = names.split(',').chain(forbidden).map(|name| name.trim().trim_matches('"'));
        for name in names.filter(|name| !name.is_empty() && workspace.member_named(name).is_none()) {
            findings
                .problem(format!("deny.toml:{}", index + 1), format!("no crate of ours is named `{name}`"));
        }
    }
}
