//! Every recording of a real program, replayed on its own clock and held against its label.
//!
//! The floors below are what the detector reaches today; they may only rise. `tests/recordings/README.md` says how
//! recordings are labelled.

#![expect(
    clippy::unwrap_used,
    reason = "a recording that cannot be read fails the test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Replayed, Step, What, replay};
use atlasbridge_detect::{DetectorConfig, Moment};
use atlasbridge_model::{Kind, Level};
use serde_json::Value;

/// Prompts found, of 396 labelled.
const FOUND: usize = 385;
/// Prompts whose choices are exactly those of the label, of 149 with choices.
const CHOICES_EXACT: usize = 131;

struct Label {
    from: f64,
    to: f64,
    kind: String,
    title: String,
    choices: Vec<String>,
}

struct Labelled {
    path: PathBuf,
    recording: Recording,
    prompts: Vec<Label>,
    quiet: Vec<(f64, f64)>,
    /// What the detector saw.
    seen: Vec<Replayed>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// Every recording with its replay, made once for all tests.
static ALL: LazyLock<Vec<Labelled>> = LazyLock::new(all);

fn all() -> Vec<Labelled> {
    let mut found = Vec::new();
    for tool in fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for path in fs::read_dir(tool).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|extension| extension == "cast") {
                found.push(load(path));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn load(path: PathBuf) -> Labelled {
    let recording = Recording::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    let label: Value =
        serde_json::from_str(&fs::read_to_string(path.with_extension("json")).unwrap()).unwrap();
    let list = |name: &str| label[name].as_array().cloned().unwrap_or_default();
    let time = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let prompts = list("prompts").into_iter().map(|prompt| Label {
        from: time(&prompt, "from"),
        to: time(&prompt, "to"),
        kind: text(&prompt["kind"]),
        title: text(&prompt["title"]),
        choices: prompt["choices"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect(),
    });
    let quiet = list("quiet")
        .iter()
        .map(|window| (time(window, "from"), time(window, "to")))
        .collect();
    let seen = played(&recording);
    Labelled {
        prompts: prompts.collect(),
        quiet,
        seen,
        recording,
        path,
    }
}

fn played(recording: &Recording) -> Vec<Replayed> {
    replay(
        recording,
        DetectorConfig {
            announce_idle: true,
            ..DetectorConfig::default()
        },
    )
}

/// Text as titles are compared: without blanks, in lower case.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|char| !char.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

/// A label without its decoration; `y` is `yes`.
fn bare(choice: &str) -> String {
    let choice =
        choice.trim_start_matches(|char: char| char.is_whitespace() || ">❯▶●○◉◯☐☑✔*›»│|-".contains(char));
    match squeezed(choice).as_str() {
        "y" => "yes".to_owned(),
        "n" => "no".to_owned(),
        other => other.to_owned(),
    }
}

fn kind_fits(label: &str, kind: Kind) -> bool {
    match label {
        "idle_input" => matches!(kind, Kind::Idle | Kind::FreeText),
        "free_text" | "password" => matches!(kind, Kind::FreeText | Kind::Password),
        other => kind.as_str() == other,
    }
}

fn fits(label: &Label, seen: &Replayed) -> bool {
    let at = seen.t.0.as_secs_f64();
    let words = squeezed(&format!(
        "{}{}",
        seen.sighting.excerpt.as_str(),
        seen.sighting.detail.as_str()
    ));
    (label.from - 0.001..=label.to).contains(&at)
        && kind_fits(&label.kind, seen.sighting.kind)
        && words.contains(&squeezed(&label.title))
}

fn choices_of(seen: &Replayed) -> Vec<String> {
    seen.sighting
        .choices
        .iter()
        .flat_map(|choices| choices.iter())
        .map(|choice| bare(&choice.label))
        .collect()
}

#[test]
fn labelled_prompts_are_found_with_their_choices() {
    let (mut found, mut exact, mut missed) = (0, 0, Vec::new());
    for labelled in ALL.iter() {
        for label in &labelled.prompts {
            let Some(hit) = labelled.seen.iter().find(|seen| fits(label, seen)) else {
                missed.push(format!(
                    "{} {} {:?}",
                    labelled.path.display(),
                    label.from,
                    label.title
                ));
                continue;
            };
            found += 1;
            let wanted: Vec<String> = label.choices.iter().map(|choice| bare(choice)).collect();
            exact += usize::from(!wanted.is_empty() && choices_of(hit) == wanted);
        }
    }
    assert!(
        found >= FOUND,
        "found {found}, were {FOUND}; missed:\n{}",
        missed.join("\n")
    );
    assert!(
        exact >= CHOICES_EXACT,
        "choices exact {exact}, were {CHOICES_EXACT}"
    );
}

#[test]
fn nothing_is_seen_where_nothing_waits() {
    for labelled in ALL.iter() {
        let negative = labelled.path.parent().unwrap().ends_with("negative");
        let in_quiet = |at: f64| {
            labelled
                .quiet
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&at))
        };
        for seen in &labelled.seen {
            let at = seen.t.0.as_secs_f64();
            let labelled_prompt = labelled.prompts.iter().any(|label| fits(label, seen));
            let wrong = (negative || in_quiet(at)) && !labelled_prompt;
            let low = seen.sighting.confidence.level() == Level::Low;
            assert!(
                !wrong || low,
                "{} at {at}: {}",
                labelled.path.display(),
                seen.sighting.excerpt
            );
        }
    }
}

#[test]
fn every_prompt_of_a_finished_recording_is_gone() {
    for labelled in ALL.iter() {
        for seen in &labelled.seen {
            assert!(seen.gone_at.is_some(), "{}", labelled.path.display());
        }
    }
}

/// Where the kernel cuts the output into reads must not matter.
#[test]
fn chunks_do_not_matter() {
    for (index, labelled) in ALL.iter().enumerate().filter(|(index, _)| index % 9 == 0) {
        let split = played(&in_pieces(&labelled.recording, index as u64));
        assert_eq!(split, labelled.seen, "{}", labelled.path.display());
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

/// With silence added at the end no further prompt appears: what stands was seen, and a session that waits sleeps.
#[test]
fn waiting_longer_adds_no_certain_prompt() {
    for labelled in ALL.iter().step_by(5) {
        let mut longer = labelled.recording.clone();
        longer.end = longer.end + Duration::from_secs(60);
        let before = labelled.seen.len();
        let late = played(&longer).into_iter().skip(before);
        for seen in late {
            let soon = seen.t <= Moment(labelled.recording.end.0 + Duration::from_secs(2));
            let low = seen.sighting.confidence.level() == Level::Low;
            assert!(
                soon || low,
                "{}: {}",
                labelled.path.display(),
                seen.sighting.excerpt
            );
        }
    }
}
