//! Every recording of a real program, replayed on its own clock and held against its label.
//!
//! The floors below are what the detector reaches today; they may only rise, the ceilings only fall.
//! `tests/recordings/README.md` says how recordings are labelled.

#![expect(clippy::unwrap_used, reason = "a recording that cannot be read fails the test")]

use std::sync::LazyLock;
use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Replay, Replayed, Step, What};
use atlasbridge_detect::{Drift, Moment, Waits};
use atlasbridge_model::{Choices, Effect, Grant, Level, Pace, Strokes};

mod support;

use support::{AGENTS, Label, Labelled, SAMPLE, Score, bare, choices, config_of, pack_of, played, variants};

/// Prompts found, of 479 labelled. Two idle boxes are labelled 1.7 s and 3.3 s after they appeared.
const FOUND: usize = 477;
/// Prompts whose choices are exactly those of the label, of 203. One has twelve rows, of which nine are offered.
const CHOICES_EXACT: usize = 202;
/// Choices whose keys are those of the label, of 626: three labels name a key that submits, two the
/// arrows of numbered rows, one types to filter.
const KEYS_AGREE: usize = 620;
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
            assert!(low, "{} at {:?}: {}", labelled.name, seen.t, seen.sighting.excerpt);
        }
    }
    let all = score(|labelled| labelled.seen.clone(), |_| true);
    assert_eq!(all.possible, POSSIBLE, "{all:?}");
}

/// Each labelled choice with its keys and the strokes that would be sent for it.
fn keyed() -> impl Iterator<Item = (&'static Labelled, String, String, Option<Strokes>)> {
    ALL.iter().flat_map(|labelled| {
        labelled.prompts.iter().filter(|label| !label.choices.is_empty()).flat_map(move |label| {
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

/// What a timeout types: each label of an agent's dialog says it itself.
#[test]
fn the_refusing_row_of_every_agent_dialog() {
    for labelled in ALL.iter().filter(|labelled| labelled.is_agent()) {
        for label in labelled.prompts.iter().filter(|label| !label.choices.is_empty()) {
            let hit = labelled.seen.iter().find(|seen| label.fits(seen)).unwrap();
            let refusing = hit.sighting.choices.as_ref().and_then(Choices::refusing);
            let told = Some(refusing.map(|row| row as u64));
            assert_eq!(told, label.refuses, "{} {:?}", labelled.name, label.choices);
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
            match (waits_at(&labelled.recording, hit.t), hit.sighting.confidence.level()) {
                (Some(Waits::Read), _) => read.push(late),
                // Another session reads for it; only silence tells.
                (Some(Waits::Nobody), _) | (_, Level::Low) => {}
                (Some(Waits::Poll), _) => dialogs.push(late),
                (Some(Waits::Unknown) | None, _) => blind.push(late),
            }
        }
    }
    let told = [("polled", &mut dialogs, 0.15), ("read", &mut read, 0.05), ("blind", &mut blind, 0.75)];
    for (name, times, limit) in told {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        println!("{name}: {} prompts, p50 {:.3} s, p95 {:.3} s", times.len(), at(0.5), at(0.95));
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
    for (index, labelled) in ALL.iter().enumerate().filter(|(index, _)| index.is_multiple_of(SAMPLE)) {
        let split = played(&variants::in_pieces(&labelled.recording, index as u64), pack_of(&labelled.tool));
        assert_eq!(split, labelled.seen, "{}", labelled.name);
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
        let seen = played(&variants::with_spinner(&labelled.recording), pack_of(&labelled.tool));
        spinning.add(labelled, &seen);
    }
    println!("still    {still:?}\nspinning {spinning:?}");
    assert_eq!(spinning.dialogs_found, still.dialogs_found, "{spinning:?}");
    assert_eq!((spinning.wrong, spinning.again), (0, 0), "{spinning:?}");
    assert!(spinning.exact >= still.exact, "{spinning:?}");
    assert!(spinning.found >= still.found, "{spinning:?}");
}

/// A window that is made wider while a prompt stands, and narrower again, shows the same prompts, each once.
#[test]
fn a_wider_window_does_not_matter() {
    let (mut before, mut wider) = (Score::default(), Score::default());
    for labelled in ALL.iter().step_by(SAMPLE) {
        before.add(labelled, &labelled.seen);
        let seen = played(&variants::widened(&labelled.recording, 120), pack_of(&labelled.tool));
        wider.add(labelled, &seen);
    }
    println!("before {before:?}\nwider  {wider:?}");
    assert_eq!((wider.wrong, wider.again), (0, 0), "{wider:?}");
    assert!(wider.found >= before.found, "{wider:?}");
}

/// Each tool without its pack: what a tool that nobody has described can count on.
#[test]
fn without_their_packs_the_agents_are_still_seen() {
    println!("{:10} {:>9} {:>9} {:>9} {:>6}", "tool", "found", "dialogs", "exact", "wrong");
    let mut all = Score::default();
    for tool in AGENTS {
        let mut score = Score::default();
        let recordings = ALL.iter().filter(|labelled| labelled.tool == tool).step_by(SAMPLE);
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

/// In every recording the tool's own word and what is recognised agree.
#[test]
fn nothing_drifts() {
    for labelled in ALL.iter() {
        let mut replay = Replay::new(&labelled.recording, config_of(&labelled.tool));
        replay.play_to(labelled.recording.end);
        assert_eq!(replay.viewer.drifts, [], "{}", labelled.name);
    }
}

/// The same program with dialogs that nobody can read: each is told once, as possible, and goes when it says so.
#[test]
fn a_dialog_that_is_never_drawn_drifts() {
    let labelled = ALL.iter().find(|labelled| labelled.name == "claude/osc7501-bash-rm-yes-80x24").unwrap();
    let mut hidden = labelled.recording.clone();
    let mut blocked = false;
    for step in &mut hidden.steps {
        let What::Output(text) = &mut step.what else {
            continue;
        };
        if let Some(at) = text.rfind("\x1b]7501;state=") {
            let word = &text[at..=at + text[at..].find('\x07').unwrap()];
            blocked = word.contains("blocked");
            if blocked {
                *text = word.to_owned();
            }
        } else if blocked {
            text.clear();
        }
    }
    let mut replay = Replay::new(&hidden, config_of("claude"));
    replay.play_to(hidden.end);
    let [(no, Drift::Unrecognised)] = &replay.viewer.drifts[..] else {
        panic!("{:?}", replay.viewer.drifts);
    };
    let seen = replay.viewer.seen.iter().find(|seen| seen.sighting.no == *no).unwrap();
    assert_eq!(seen.sighting.confidence.level(), Level::Low);
    assert!(seen.gone_at.is_some(), "it went on");
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

/// What each row of a dialog does, and which one `approve` takes.
fn consent(choices: &Choices) -> String {
    let told = choices.iter().enumerate().map(|(row, choice)| {
        let does = match choice.effect {
            Effect::Accepts if choices.accepting() == Some(row) => " [APPROVE]",
            Effect::Accepts => " [accepts]",
            Effect::Widens(Grant::Session) => " [session]",
            Effect::Widens(Grant::Always) => " [always]",
            Effect::Widens(Grant::Mode) => " [mode]",
            Effect::Widens(Grant::Unknown) => " [more]",
            Effect::Refuses => " [refuses]",
            Effect::Other => "",
        };
        format!("{}{does}", choice.label)
    });
    told.collect::<Vec<_>>().join(" · ")
}

/// The row that `approve` takes in every dialog that was ever recorded, and what the others grant. A row that changes here
/// changes what people have allowed when they said yes: the table is read line by line before it is written anew, with
/// `ATLASBRIDGE_WRITE_TABLES=1`.
#[test]
fn approve_takes_the_row_that_grants_least() {
    let file = support::folder().join("approve.txt");
    let dialogs: std::collections::BTreeSet<String> = ALL
        .iter()
        .flat_map(|labelled| {
            let choices = labelled.seen.iter().filter_map(|seen| seen.sighting.choices.as_ref());
            choices
                .filter(|choices| choices.offers_consent())
                .map(|choices| format!("{}: {}\n", labelled.tool, consent(choices)))
        })
        .collect();
    let table: String = dialogs.into_iter().collect();
    if std::env::var_os("ATLASBRIDGE_WRITE_TABLES").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let new: Vec<&str> = table.lines().filter(|line| !written.lines().any(|old| old == *line)).collect();
    let gone: Vec<&str> = written.lines().filter(|line| !table.lines().any(|now| now == *line)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not in {}:\n{}\nonly there:\n{}",
        file.display(),
        new.join("\n"),
        gone.join("\n")
    );
}
