//! `cargo xtask detection`: how well the detector sees, on every recording of a real program, by one set of definitions.
//!
//! Writes `docs/detection.md` for people and `docs/detection.json` for `--check`, which fails when any figure has become
//! worse than the committed one. Everything runs in this process, on the recordings' own clock, so the figures are the
//! same on every machine.

mod complete;
mod figures;
mod labels;
mod page;
mod score;
#[path = "../../crates/detect/tests/support/variants.rs"]
mod variants;
mod widths;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use atlasbridge_detect::recording::{Recording, Replay, Replayed, replay};
use atlasbridge_detect::{DetectorConfig, Moment, Packs};

use figures::Figures;
use labels::Labelled;
use score::{Judged, Note, Remark, Tally};
use widths::Widths;

const RECORDINGS: &str = "crates/detect/tests/recordings";
const PAGE: &str = "docs/detection.md";
const FIGURES: &str = "docs/detection.json";

/// Columns of the window that is made wider while a prompt stands.
const WIDE: u16 = 120;

/// What was measured: everything, by tool and by kind.
#[derive(Debug, Default)]
struct Report {
    all: Tally,
    /// Dialogs with choices of tools that have a pack.
    agent_dialogs: Tally,
    tools: BTreeMap<String, Tally>,
    kinds: BTreeMap<String, Tally>,
    /// By what the kernel said.
    witnesses: BTreeMap<&'static str, Tally>,
    /// The same recordings as they might have come otherwise.
    variants: BTreeMap<&'static str, Tally>,
    widths: Widths,
    /// The same without what is known of the tool itself, where something is.
    left_out: BTreeMap<String, Tally>,
    notes: Vec<Note>,
    /// What only a variant shows.
    variant_notes: Vec<(&'static str, Note)>,
    /// Why the detector took each possible prompt for one, in its own words.
    explained: Vec<(Note, Vec<String>)>,
}

/// One recording, played every way.
struct Played {
    seen: Vec<Replayed>,
    judged: Judged,
    variants: Vec<(&'static str, Judged)>,
    left_out: Option<Judged>,
    explained: Vec<(Note, Vec<String>)>,
}

/// Measures and writes the page.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let report = measure(&load(root)?);
    fs::write(root.join(PAGE), page::page(&report)).with_context(|| format!("writing {PAGE}"))?;
    let figures = format!("{:#}\n", Figures::of(&report).to_json());
    fs::write(root.join(FIGURES), figures).with_context(|| format!("writing {FIGURES}"))?;
    println!("{}", page::summary(&report));
    println!("wrote {PAGE} and {FIGURES}");
    Ok(true)
}

/// Measures and compares with the committed figures. `false` if any has become worse.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let report = measure(&load(root)?);
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

fn load(root: &Path) -> anyhow::Result<Vec<Labelled>> {
    let recordings = labels::load_all(&root.join(RECORDINGS))?;
    let silent = without_refusal(&recordings);
    anyhow::ensure!(
        silent.is_empty(),
        "labels of agents' dialogs without `refuses` (the row from zero, or null): {}",
        silent.join(", ")
    );
    Ok(recordings)
}

/// What a timeout types into an agent's dialog is too grave to be guessed from words: its label must say it.
fn without_refusal(recordings: &[Labelled]) -> Vec<String> {
    let agents = recordings.iter().filter(|labelled| config(&labelled.tool).pack.is_some());
    let silent = agents.flat_map(|labelled| {
        let dialogs = labelled.prompts.iter().filter(|label| !label.choices.is_empty());
        let silent = dialogs.filter(|label| label.refuses.is_none());
        silent.map(|label| format!("{} at {} s", labelled.name, label.from))
    });
    silent.collect()
}

fn measure(recordings: &[Labelled]) -> Report {
    let mut report = Report::default();
    let played = play_all(recordings);
    for (labelled, played) in recordings.iter().zip(&played) {
        report.take(labelled, played);
    }
    let seen: Vec<_> =
        recordings.iter().zip(&played).map(|(labelled, played)| (labelled, played.seen.as_slice())).collect();
    report.widths = widths::compare(&seen);
    report
}

impl Report {
    fn take(&mut self, labelled: &Labelled, played: &Played) {
        let judged = &played.judged;
        let tool = || labelled.tool.clone();
        self.all.add(judged);
        self.tools.entry(tool()).or_default().add(judged);
        for (kind, tally) in judged.by_kind() {
            self.kinds.entry(kind).or_default().merge(tally);
        }
        for (witness, tally) in judged.by_witness() {
            self.witnesses.entry(witness).or_default().merge(tally);
        }
        for (name, judged) in &played.variants {
            self.variants.entry(name).or_default().add(judged);
            let news = judged.notes.iter().filter(|note| is_news(note, &played.judged));
            self.variant_notes.extend(news.map(|note| (*name, note.clone())));
        }
        if let Some(left_out) = &played.left_out {
            self.agent_dialogs.merge(Tally::dialogs_of(judged));
            self.left_out.entry(tool()).or_default().add(left_out);
        }
        self.notes.extend(judged.notes.iter().cloned());
        self.explained.extend(played.explained.iter().cloned());
    }
}

/// Missed, seen twice or seen where nothing waits, and not so as it was recorded.
fn is_news(note: &Note, recorded: &Judged) -> bool {
    let is_known =
        recorded.notes.iter().any(|known| (known.second, &known.words) == (note.second, &note.words));
    match note.what {
        Remark::Missed { .. } | Remark::Again => !is_known,
        Remark::False { quiet, .. } => quiet && !is_known,
        Remark::Possible | Remark::Differs(_) => false,
    }
}

/// Every recording through the detector, on as many threads as there are processors.
fn play_all(recordings: &[Labelled]) -> Vec<Played> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = recordings.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = recordings
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().map(play).collect::<Vec<_>>()))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a replay does not panic on any recording"))
            .collect()
    })
}

fn play(labelled: &Labelled) -> Played {
    let recording = &labelled.recording;
    let seen = replay(recording, config(&labelled.tool));
    let complete = complete::moments(recording, config(&labelled.tool), &seen);
    let judged = score::judge(labelled, &seen, &complete);
    let otherwise = |recording: &Recording| {
        let seen = replay(recording, config(&labelled.tool));
        score::judge(labelled, &seen, &[])
    };
    let seed = labelled.name.bytes().map(u64::from).sum();
    let variants = vec![
        ("as recorded, cut into random pieces", otherwise(&variants::in_pieces(recording, seed))),
        ("beside a spinner of 20 Hz", otherwise(&variants::with_spinner(recording))),
        (
            "made 120 columns wide, and back, whenever it pauses",
            otherwise(&variants::widened(recording, WIDE)),
        ),
    ];
    let without = config_without_pack(&labelled.tool);
    Played {
        variants,
        left_out: without.map(|config| score::judge(labelled, &replay(recording, config), &[])),
        explained: explained(labelled, &judged),
        judged,
        seen,
    }
}

/// The detector's own reasons for each possible prompt, at the moment at which it was told.
fn explained(labelled: &Labelled, judged: &Judged) -> Vec<(Note, Vec<String>)> {
    let possible = judged.notes.iter().filter(|note| note.what == Remark::Possible);
    possible
        .map(|note| {
            let at = Moment(Duration::from_secs_f64(note.second));
            let mut replay = Replay::new(&labelled.recording, config(&labelled.tool));
            replay.play_to(at);
            let told = replay.viewer.detector.explain(at);
            let against = told.evidence_against.iter().map(|line| format!("but {line}"));
            (note.clone(), told.evidence_for.iter().cloned().chain(against).collect())
        })
        .collect()
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
    config.pack.is_some().then(|| DetectorConfig { pack: None, ..config })
}

#[cfg(test)]
mod tests {
    use super::*;
    use labels::Label;

    #[test]
    fn a_dialog_of_an_agent_must_say_what_refuses() {
        let labelled = |tool: &str, refuses: Option<serde_json::Value>| Labelled {
            tool: tool.to_owned(),
            name: format!("{tool}/x"),
            recording: Recording::parse(r#"{"version": 2, "width": 80, "height": 24}"#).unwrap(),
            prompts: vec![Label {
                choices: vec!["Yes".to_owned(), "No".to_owned()],
                refuses,
                ..Label::default()
            }],
            quiet: Vec::new(),
        };
        let null = Some(serde_json::Value::Null);
        let silent = |recordings: &[Labelled]| without_refusal(recordings);
        assert_eq!(silent(&[labelled("claude", None)]), ["claude/x at 0 s"]);
        assert!(silent(&[labelled("claude", null), labelled("bash", None)]).is_empty());
    }
}
