//! `cargo xtask tidy`: the rules that no compiler checks, offline and within seconds.
//!
//! What the crates may reach (`arrows`, `reach`), what we may ship (`licences`, `duplicates`), and what our files
//! look like (`sources`, `sizes`, `documents`). Each check is a function from facts to findings; only `run` prints.

mod arrows;
mod code;
mod documents;
mod duplicates;
mod files;
mod licences;
mod metadata;
mod reach;
mod sizes;
mod sources;
mod spdx;

use std::path::Path;

use files::Files;
use metadata::Workspace;

/// What one check has to say. Warnings do not fail the run.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn problem(&mut self, place: impl AsRef<str>, what: impl AsRef<str>) {
        self.problems.push(format!("{}: {}", place.as_ref(), what.as_ref()));
    }

    fn warn(&mut self, place: impl AsRef<str>, what: impl AsRef<str>) {
        self.warnings.push(format!("{}: {}", place.as_ref(), what.as_ref()));
    }
}

/// Runs every check and says what it found. `false` if anything must be mended.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let (workspace, notes) = Workspace::load(root)?;
    let files = Files::read(root)?;
    for note in notes {
        println!("! {note}");
    }
    let checks = [
        ("arrows between our crates", arrows::check(&workspace)),
        ("what each room can reach", reach::check(&workspace)),
        ("licences", licences::check(&workspace)),
        ("one version of each crate", duplicates::check(&workspace)),
        ("deny.toml agrees with this tool", licences::check_deny(&workspace, &files)),
        ("source files", sources::check(&files)),
        ("sizes", sizes::check(&files)),
        ("documents", documents::check(&files)),
    ];
    for (name, findings) in &checks {
        report(name, findings);
    }
    Ok(checks.iter().all(|(_, findings)| findings.problems.is_empty()))
}

/// Says how large the product is.
pub(crate) fn sizes(root: &Path) -> anyhow::Result<bool> {
    sizes::print(&Files::read(root)?);
    Ok(true)
}

fn report(name: &str, findings: &Findings) {
    match findings.problems.len() {
        0 => println!("✓ {name}"),
        1 => println!("✗ {name}: 1 problem"),
        count => println!("✗ {name}: {count} problems"),
    }
    for problem in &findings.problems {
        println!("    {problem}");
    }
    for warning in &findings.warnings {
        println!("    warning: {warning}");
    }
}
