//! `cargo xtask agents`: what the tests with real agents proved, as a table.
//!
//! Each test leaves a line in the target directory when the file system and the model have shown that an answer did what it
//! should. The table has one row for each, and nothing that was not proven by the last run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

const TABLE: &str = "docs/agents.md";

const HEAD: &str = "\
# Agents

<!-- Written by `cargo xtask agents` from what the tests in crates/cli/tests/agents proved. -->

Answers that were given through AtlasBridge to the real programs, at these versions, and did what they should: the file system
and a scripted model say so, each time the tests run. *Screen* means that keys were typed into the dialog that stood there; *hook*
that the agent asked by itself and was told.

| tool | version | dialog | answer | route | keys |
|---|---|---|---|---|---|
";

/// Cells in the order of the columns.
type Row = [String; 6];

/// What the tests left behind.
#[derive(Debug, Default)]
struct Proved {
    rows: BTreeSet<Row>,
    /// Tool and version that could not be had.
    skipped: BTreeSet<[String; 2]>,
}

pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let proved = read()?;
    fs::write(root.join(TABLE), page(&proved.rows)).with_context(|| format!("writing {TABLE}"))?;
    println!("wrote {TABLE}: {} rows", proved.rows.len());
    for [tool, version] in &proved.skipped {
        println!("! {tool} {version} could not be had, and has no row");
    }
    Ok(true)
}

/// The committed table must be what was proven, agents aside that could not be had.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let proved = read()?;
    let text = fs::read_to_string(root.join(TABLE)).with_context(|| format!("reading {TABLE}"))?;
    let findings = differences(&rows_of(&text), &proved);
    for finding in &findings {
        println!("✗ {finding}");
    }
    for [tool, version] in &proved.skipped {
        println!("! {tool} {version} could not be had: its rows were not checked");
    }
    if findings.is_empty() {
        println!("✓ {TABLE} is what the tests proved: {} rows", proved.rows.len());
    }
    Ok(findings.is_empty())
}

fn differences(committed: &BTreeSet<Row>, proved: &Proved) -> Vec<String> {
    let is_skipped = |row: &&Row| !proved.skipped.contains(&[row[0].clone(), row[1].clone()]);
    let said = committed.difference(&proved.rows).filter(is_skipped);
    let said = said.map(|row| format!("not proven: {}", row.join(" | ")));
    let unsaid = proved.rows.difference(committed);
    let unsaid =
        unsaid.map(|row| format!("not in the table (`cargo xtask agents` writes it): {}", row.join(" | ")));
    said.chain(unsaid).collect()
}

fn read() -> anyhow::Result<Proved> {
    let file = proofs()?;
    let text = fs::read_to_string(&file).with_context(|| {
        format!("reading {}: run the tests of crates/cli/tests/agents first", file.display())
    })?;
    parse(&text)
}

/// Where the tests leave their lines: this program runs as `target/PROFILE/xtask`.
fn proofs() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("finding the target directory")?;
    let target = program.ancestors().nth(2).context("xtask runs in the target directory")?;
    Ok(target.join("agents-proved.jsonl"))
}

fn parse(text: &str) -> anyhow::Result<Proved> {
    let mut proved = Proved::default();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("in {line:?}"))?;
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        if line.get("skipped").is_some() {
            proved.skipped.insert([word("skipped"), word("version")]);
            continue;
        }
        let row = ["tool", "version", "dialog", "answer", "route", "keys"].map(word);
        if row[..5].iter().any(String::is_empty) {
            bail!("a proof without all of its parts: {line}");
        }
        proved.rows.insert(row.map(|cell| cell.replace('|', "/")));
    }
    Ok(proved)
}

fn page(rows: &BTreeSet<Row>) -> String {
    let lines = rows.iter().map(|row| format!("| {} |\n", row.join(" | ")));
    std::iter::once(HEAD.to_owned()).chain(lines).collect()
}

/// The rows of a page that [`page`] made.
fn rows_of(text: &str) -> BTreeSet<Row> {
    let body = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = body.filter_map(|line| {
        let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<String> = inner.split(" | ").map(str::to_owned).collect();
        cells.try_into().ok()
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"{"tool":"codex","version":"1","dialog":"command","answer":"accepted","route":"screen","keys":"y"}
{"tool":"claude","version":"2","dialog":"edit","answer":"refused","route":"hook","keys":""}
{"skipped":"aider","version":"3"}"#;

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let proved = parse(TWO).unwrap();
        assert_eq!(proved.rows.len(), 2);
        assert_eq!(rows_of(&page(&proved.rows)), proved.rows);
        assert!(differences(&proved.rows, &proved).is_empty());
    }

    #[test]
    fn a_row_too_many_or_too_few_is_a_difference_unless_its_agent_was_not_to_be_had() {
        let proved = parse(TWO).unwrap();
        let row = |tool: &str, version: &str| -> Row {
            [tool, version, "command", "refused", "screen", "Esc"].map(str::to_owned)
        };
        let mut committed = proved.rows.clone();
        committed.insert(row("aider", "3"));
        assert!(differences(&committed, &proved).is_empty());
        committed.insert(row("codex", "1"));
        assert_eq!(differences(&committed, &proved).len(), 1);
        committed.retain(|row| row[0] == "aider");
        assert_eq!(differences(&committed, &proved).len(), 2);
    }
}
