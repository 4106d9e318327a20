//! `cargo xtask detection`: how well the detector sees, on every recording of a real program, by one set of definitions.
//!
//! Writes `docs/detection.md` for people and `docs/detection.json` for `--check`, which fails when any figure has become
//! worse than the committed one. Everything runs in this process, on the recordings' own clock, so the figures are the
//! same on every machine.

mod figures;
mod labels;
mod page;
mod score;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use atlasbridge_detect::recording::{Replayed, replay};
use atlasbridge_detect::{DetectorConfig, Packs};

use figures::Figures;
use labels::Labelled;
use score::Tally;

const RECORDINGS: &str = "crates/detect/tests/recordings";
const PAGE: &str = "docs/detection.md";
const FIGURES: &str = "docs/detection.json";

/// What was measured: everything, by tool and by kind.
#[derive(Debug, Default)]
struct Report {
    all: Tally,
    tools: BTreeMap<String, Tally>,
    kinds: BTreeMap<String, Tally>,
    /// The same without what is known of the tool itself, where something is.
    left_out: BTreeMap<String, Tally>,
}

/// Measures and writes the page.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let report = measure(&labels::load_all(&root.join(RECORDINGS))?);
    fs::write(root.join(PAGE), page::page(&report)).with_context(|| format!("writing {PAGE}"))?;
    let figures = format!("{:#}\n", Figures::of(&report).to_json());
    fs::write(root.join(FIGURES), figures).with_context(|| format!("writing {FIGURES}"))?;
    println!("{}", page::summary(&report));
    println!("wrote {PAGE} and {FIGURES}");
    Ok(true)
}

/// Measures and compares with the committed figures. `false` if any has become worse.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let report = measure(&labels::load_all(&root.join(RECORDINGS))?);
    let committed = fs::read_to_string(root.join(FIGURES)).with_context(|| format!("reading {FIGURES}"))?;
    let committed = Figures::from_json(&serde_json::from_str(&committed).context("reading the figures")?)?;
    let now = Figures::of(&report);
    println!("{}", page::summary(&report));
    let worse = now.worse_than(&committed);
    for finding in &worse {
        println!("✗ {finding}");
    }
    if worse.is_empty() && now != committed {
        println!("! the figures have changed and none is worse: `cargo xtask detection` writes them down");
    }
    Ok(worse.is_empty())
}

fn measure(recordings: &[Labelled]) -> Report {
    let mut report = Report::default();
    for (labelled, seen) in recordings.iter().zip(replay_all(recordings)) {
        let judged = score::judge(labelled, &seen);
        report.all.add(&judged);
        report
            .tools
            .entry(labelled.tool.clone())
            .or_default()
            .add(&judged);
        for (kind, tally) in judged.by_kind() {
            report.kinds.entry(kind).or_default().merge(tally);
        }
        if let Some(config) = config_without_pack(&labelled.tool) {
            let judged = score::judge(labelled, &replay(&labelled.recording, config));
            report
                .left_out
                .entry(labelled.tool.clone())
                .or_default()
                .add(&judged);
        }
    }
    report
}

/// Every recording through the detector, on as many threads as there are processors.
fn replay_all(recordings: &[Labelled]) -> Vec<Vec<Replayed>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = recordings.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = recordings
            .chunks(share)
            .map(|share| {
                scope.spawn(move || {
                    let play = |labelled: &Labelled| replay(&labelled.recording, config(&labelled.tool));
                    share.iter().map(play).collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a replay does not panic on any recording"))
            .collect()
    })
}

/// How the detector reads a recording of this tool: with the pack of its name, if there is one.
fn config(tool: &str) -> DetectorConfig {
    DetectorConfig {
        announce_idle: true,
        pack: Packs::embedded().for_program(tool),
        ..DetectorConfig::default()
    }
}

/// The same with what is known of the tool left out; `None` where nothing is, so that it would change nothing.
fn config_without_pack(tool: &str) -> Option<DetectorConfig> {
    let config = config(tool);
    config
        .pack
        .is_some()
        .then(|| DetectorConfig { pack: None, ..config })
}
