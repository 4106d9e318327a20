//! Every recording of a real program, replayed on its own clock and held against its label.
//!
//! The floors below are what the detector reaches today; they may only rise, the ceilings only fall.
//! `tests/recordings/README.md` says how recordings are labelled.

#![expect(
    clippy::unwrap_used,
    reason = "a recording that cannot be read fails the test"
)]

use std::sync::LazyLock;
use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Replayed, Step, What};
use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation, Waits};
use atlasbridge_model::{Choices, Level, Pace, Strokes};

mod support;

use support::{AGENTS, Label, Labelled, SAMPLE, Score, bare, choices, pack_of, played};

/// Prompts found, of 469 labelled. Two idle boxes are labelled 1.7 s and 3.3 s after they appeared.
const FOUND: usize = 467;
/// Prompts whose choices are exactly those of the label, of 197. The labels of four name other rows than the screen:
/// `recordings/README.md` says which.
const CHOICES_EXACT: usize = 193;
/// Choices whose keys are those of the label, of 610: three labels name a key that submits, two the
/// arrows of numbered rows, one types to filter.
const KEYS_AGREE: usize = 604;
/// Possible prompts (low confidence) where nothing waits.
const POSSIBLE: usize = 0;

/// Every recording with its replay, made once for all tests.
static ALL: LazyLock<Vec<Labelled>> = LazyLock::new(support::all);

fn score(seen: impl Fn(&Labelled) -> Vec<Replayed>, chosen: impl Fn(&Labelled) -> bool) -> Score {
    let mut score = Score::default();
    for labelled in ALL.iter().filter(|labelled| chosen(labelled)) {
        score.add(labelled, &seen(labelled));
    }
    score
}

fn missed() -> String {
    let lines = ALL.iter().flat_map(|labelled| {
        let missed = |label: &&Label| !labelled.seen.iter().any(|seen| label.fits(seen));
        let line = |label: &Label| format!("{} {} {:?}\n", labelled.name, label.from, label.title);
        labelled.prompts.iter().filter(missed).map(line)
    });
    lines.collect()
}

#[test]
fn labelled_prompts_are_found_once_with_their_choices() {
    let all = score(|labelled| labelled.seen.clone(), |_| true);
    println!("{all:?}");
    assert!(all.found >= FOUND, "{all:?}; missed:\n{}", missed());
    assert_eq!(all.again, 0, "{all:?}");
    assert!(all.exact >= CHOICES_EXACT, "{all:?}");
}

/// What matters most: an agent asks, and nobody misses it.
#[test]
fn every_dialog_of_an_agent_is_found() {
    let agents = score(|labelled| labelled.seen.clone(), Labelled::is_agent);
    assert_eq!(agents.dialogs_found, agents.dialogs, "missed:\n{}", missed());
}

#[test]
fn nothing_is_seen_where_nothing_waits() {
    for labelled in ALL.iter() {
        for seen in labelled.seen.iter().filter(|seen| labelled.is_quiet(seen)) {
            let low = seen.sighting.confidence.level() == Level::Low;
            assert!(
                low,
                "{} at {:?}: {}",
                labelled.name, seen.t, seen.sighting.excerpt
            );
        }
    }
    let all = score(|labelled| labelled.seen.clone(), |_| true);
    assert_eq!(all.possible, POSSIBLE, "{all:?}");
}

/// Each labelled choice with its keys and the strokes that would be sent for it.
fn keyed() -> impl Iterator<Item = (&'static Labelled, String, String, Option<Strokes>)> {
    ALL.iter().flat_map(|labelled| {
        labelled
            .prompts
            .iter()
            .filter(|label| !label.choices.is_empty())
            .flat_map(move |label| {
                let hit = labelled.seen.iter().find(|seen| label.fits(seen));
                label.keys.iter().map(move |(name, keys)| {
                    let strokes = hit.and_then(|hit| {
                        let mut rows = choices(hit);
                        let row = rows.find(|(shown, _)| bare(shown) == bare(name));
                        row.map(|(_, strokes)| strokes.clone())
                    });
                    (labelled, name.clone(), keys.clone(), strokes)
                })
            })
    })
}

/// The same keys; a last Enter that is only sent while the prompt still stands may be missing in the label.
fn agrees(strokes: &Strokes, keys: &str) -> bool {
    let at_once = strokes.iter().filter(|stroke| stroke.pace == Pace::Now);
    let at_once: Vec<u8> = at_once.flat_map(|stroke| stroke.bytes.clone()).collect();
    strokes.to_text() == keys || at_once == keys.as_bytes()
}

#[test]
fn keys_are_those_of_the_labels() {
    let (mut agree, mut differ) = (0, Vec::new());
    for (labelled, name, keys, strokes) in keyed() {
        match strokes {
            Some(strokes) if agrees(&strokes, &keys) => agree += 1,
            other => differ.push(format!(
                "{} {name:?}: {keys:?} but {:?}",
                labelled.name,
                other.map(|strokes| strokes.to_text())
            )),
        }
    }
    println!("{agree} agree\n{}", differ.join("\n"));
    assert!(agree >= KEYS_AGREE, "{agree} agree; not:\n{}", differ.join("\n"));
}

/// Found by words of its own, so that a mistake in a pack shows.
#[test]
fn the_refusing_row_of_every_agent_dialog() {
    let refusals = ["No", "No,", "Quit", "Reject", "Cancel", "Don't", "Not", "Exit"];
    for labelled in ALL.iter().filter(|labelled| labelled.is_agent()) {
        for label in labelled.prompts.iter().filter(|label| !label.choices.is_empty()) {
            let hit = labelled.seen.iter().find(|seen| label.fits(seen)).unwrap();
            let first_word =
                |(row, _): &(&str, &Strokes)| row.split(' ').next().unwrap_or_default().to_owned();
            let expected = choices(hit).position(|row| refusals.contains(&first_word(&row).as_str()));
            let refusing = hit.sighting.choices.as_ref().and_then(Choices::refusing);
            assert_eq!(refusing, expected, "{} {:?}", labelled.name, label.choices);
        }
    }
}

#[test]
fn every_prompt_of_a_finished_recording_is_gone() {
    for labelled in ALL.iter() {
        for seen in &labelled.seen {
            assert!(seen.gone_at.is_some(), "{}", labelled.name);
        }
    }
}

/// How soon after `from` a prompt is seen, where the kernel's word is in the recording. The Claude recordings have
/// none, and their `from` lags behind the last byte by up to half a second: there the detector waits by design.
#[test]
fn prompts_are_seen_soon() {
    let (mut dialogs, mut read, mut blind) = (Vec::new(), Vec::new(), Vec::new());
    for labelled in ALL.iter() {
        for label in labelled.prompts.iter().filter(|label| !label.is_idle()) {
            let Some(hit) = labelled.seen.iter().find(|seen| label.fits(seen)) else {
                continue;
            };
            let late = hit.t.0.as_secs_f64() - label.from;
            match (
                waits_at(&labelled.recording, hit.t),
                hit.sighting.confidence.level(),
            ) {
                (Some(Waits::Read), _) => read.push(late),
                // Another session reads for it; only silence tells.
                (Some(Waits::Nobody), _) | (_, Level::Low) => {}
                (Some(Waits::Poll), _) => dialogs.push(late),
                (Some(Waits::Unknown) | None, _) => blind.push(late),
            }
        }
    }
    let told = [
        ("polled", &mut dialogs, 0.15),
        ("read", &mut read, 0.05),
        ("blind", &mut blind, 0.75),
    ];
    for (name, times, limit) in told {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        println!(
            "{name}: {} prompts, p50 {:.3} s, p95 {:.3} s",
            times.len(),
            at(0.5),
            at(0.95)
        );
        assert!(at(0.95) <= limit, "{name}: p95 {:.3} s", at(0.95));
    }
}

fn waits_at(recording: &Recording, at: Moment) -> Option<Waits> {
    let before = recording.steps.iter().take_while(|step| step.at <= at);
    before
        .filter_map(|step| match step.what {
            What::Kernel(kernel) => Some(kernel.wait),
            What::Output(_) | What::Input(_) | What::Resize { .. } => None,
        })
        .last()
}

/// Where the kernel cuts the output into reads must not matter.
#[test]
fn chunks_do_not_matter() {
    for (index, labelled) in ALL
        .iter()
        .enumerate()
        .filter(|(index, _)| index.is_multiple_of(SAMPLE))
    {
        let split = played(
            &in_pieces(&labelled.recording, index as u64),
            pack_of(&labelled.tool),
        );
        assert_eq!(split, labelled.seen, "{}", labelled.name);
    }
}

fn in_pieces(recording: &Recording, seed: u64) -> Recording {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut steps = Vec::new();
    for step in &recording.steps {
        let What::Output(text) = &step.what else {
            steps.push(step.clone());
            continue;
        };
        let mut rest: Vec<char> = text.chars().collect();
        while !rest.is_empty() {
            let piece: String = rest.drain(..(1 + next() % 40).min(rest.len())).collect();
            steps.push(Step {
                at: step.at,
                what: What::Output(piece),
            });
        }
    }
    Recording {
        steps,
        ..recording.clone()
    }
}

/// Something spins at the edge of the screen, twenty times a second, for as long as the program runs.
#[test]
fn a_spinner_elsewhere_does_not_matter() {
    // Twenty looks a second take their time.
    let chosen = |index: usize| index.is_multiple_of(SAMPLE * if cfg!(debug_assertions) { 3 } else { 1 });
    let (mut still, mut spinning) = (Score::default(), Score::default());
    for (_, labelled) in ALL.iter().enumerate().filter(|(index, _)| chosen(*index)) {
        still.add(labelled, &labelled.seen);
        let seen = played(&with_spinner(&labelled.recording), pack_of(&labelled.tool));
        spinning.add(labelled, &seen);
    }
    println!("still    {still:?}\nspinning {spinning:?}");
    assert_eq!(spinning.dialogs_found, still.dialogs_found, "{spinning:?}");
    assert_eq!((spinning.wrong, spinning.again), (0, 0), "{spinning:?}");
    assert!(spinning.exact >= still.exact, "{spinning:?}");
    // The box of a tool that starts is believed later while bytes come, and three labels end before.
    assert!(spinning.found + 3 >= still.found, "{spinning:?}");
}

/// The spinner is drawn while the program pauses, at the end of an empty row, and the cursor is put back.
fn with_spinner(recording: &Recording) -> Recording {
    const EVERY: Duration = Duration::from_millis(50);
    /// A sequence of the program that was cut in two comes whole within this.
    const CLEAR: Duration = Duration::from_millis(8);
    let mut screen = Detector::new(DetectorConfig::default(), recording.cols, recording.rows);
    let mut steps: Vec<Step> = Vec::new();
    let mut next = Moment(EVERY);
    let mut turn = 0;
    for (index, step) in recording.steps.iter().enumerate() {
        steps.push(step.clone());
        match &step.what {
            What::Output(text) => _ = screen.observe(Observation::Output(text.as_bytes()), step.at),
            What::Resize { cols, rows } => {
                let (cols, rows) = (*cols, *rows);
                _ = screen.observe(Observation::Resized { cols, rows }, step.at);
            }
            What::Input(_) | What::Kernel(_) => {}
        }
        if matches!(&step.what, What::Output(text) if is_cut(text)) {
            continue;
        }
        let until = recording
            .steps
            .get(index + 1)
            .map_or(recording.end, |step| step.at);
        next = next.max(step.at + CLEAR);
        while next + CLEAR < until {
            turn += 1;
            // Before the program goes on the spinner is wiped: what scrolls is not ours.
            let glyph = match next + EVERY + CLEAR < until {
                true => ['⠋', '⠙', '⠹', '⠸'][turn % 4],
                false => ' ',
            };
            steps.extend(spin(&screen, glyph).map(|text| Step {
                at: next,
                what: What::Output(text),
            }));
            next = next + EVERY;
        }
    }
    Recording {
        steps,
        ..recording.clone()
    }
}

/// The text ends inside a sequence of the terminal: its rest is still to come.
fn is_cut(text: &str) -> bool {
    let Some((_, tail)) = text.rsplit_once('\x1b') else {
        return false;
    };
    let mut chars = tail.chars();
    match chars.next() {
        None => true,
        Some('[') => !chars.any(|char| ('@'..='~').contains(&char)),
        Some(']' | 'P' | '_') => !tail.contains('\x07'),
        Some(_) => false,
    }
}

fn spin(screen: &Detector, glyph: char) -> Option<String> {
    let (row, column) = screen.screen().cursor();
    let (cols, _) = screen.screen().size();
    // Behind the last column a line waits to be wrapped, which putting the cursor back would undo.
    if column + 1 >= cols {
        return None;
    }
    let rows = screen.screen().rows();
    // Far from the cursor, between empty rows: a spinner inside a dialog is the dialog's own.
    let is_free = |at: usize| rows.get(at).is_none_or(String::is_empty) && at.abs_diff(usize::from(row)) > 3;
    let at = (1..rows.len().saturating_sub(1))
        .rev()
        .find(|&at| (at - 1..=at + 1).all(is_free))?;
    let (to_row, to_column) = (at + 1, cols.saturating_sub(2));
    Some(format!(
        "\x1b[{to_row};{to_column}H{glyph}\x1b[{};{}H",
        row + 1,
        column + 1
    ))
}

/// Each tool without its pack: what a tool that nobody has described can count on.
#[test]
fn without_their_packs_the_agents_are_still_seen() {
    println!(
        "{:10} {:>9} {:>9} {:>9} {:>6}",
        "tool", "found", "dialogs", "exact", "wrong"
    );
    let mut all = Score::default();
    for tool in AGENTS {
        let mut score = Score::default();
        let recordings = ALL
            .iter()
            .filter(|labelled| labelled.tool == tool)
            .step_by(SAMPLE);
        for labelled in recordings {
            let seen = played(&labelled.recording, None);
            score.add(labelled, &seen);
            all.add(labelled, &seen);
        }
        let of = |part: usize, whole: usize| format!("{part}/{whole}");
        println!(
            "{tool:10} {:>9} {:>9} {:>9} {:>6}",
            of(score.found, score.prompts),
            of(score.dialogs_found, score.dialogs),
            of(score.exact, score.with_choices),
            score.wrong
        );
    }
    assert!(all.found * 100 >= all.prompts * 97, "{all:?}");
    assert_eq!(all.dialogs_found, all.dialogs, "{all:?}");
    assert!(all.exact * 100 >= all.with_choices * 80, "{all:?}");
    assert_eq!(all.wrong, 0, "{all:?}");
}

/// With silence added at the end no further prompt appears: what stands was seen, and a session that waits sleeps.
#[test]
fn waiting_longer_adds_no_certain_prompt() {
    for labelled in ALL.iter().step_by(SAMPLE) {
        let mut longer = labelled.recording.clone();
        // At the end the recorder could not ask any more.
        let unasked =
            |step: &Step| matches!(&step.what, What::Kernel(kernel) if kernel.wait == Waits::Unknown);
        while longer.steps.last().is_some_and(unasked) {
            longer.steps.pop();
        }
        longer.end = longer.end + Duration::from_secs(60);
        let before = labelled.seen.len();
        let late = played(&longer, pack_of(&labelled.tool)).into_iter().skip(before);
        for seen in late {
            let soon = seen.t <= Moment(labelled.recording.end.0 + Duration::from_secs(2));
            let low = seen.sighting.confidence.level() == Level::Low;
            assert!(soon || low, "{}: {}", labelled.name, seen.sighting.excerpt);
        }
    }
}
