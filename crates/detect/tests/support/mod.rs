//! Recordings with their labels, and what the detector saw in them.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

pub mod variants;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlasbridge_detect::recording::{Recording, Replayed, replay};
use atlasbridge_detect::{DetectorConfig, Pack, Packs};
use atlasbridge_model::{Choices, Kind, Strokes};
use serde_json::Value;

/// A debug build is ten times slower: there every so many recordings stand for all.
pub const SAMPLE: usize = if cfg!(debug_assertions) { 12 } else { 1 };

/// Tools with a pack.
pub const AGENTS: [&str; 11] = [
    "aider",
    "claude",
    "cline",
    "codex",
    "continue",
    "copilot",
    "gemini",
    "gptme",
    "open-interpreter",
    "opencode",
    "qwen",
];

pub struct Label {
    pub from: f64,
    pub to: f64,
    pub kind: String,
    pub title: String,
    pub choices: Vec<String>,
    /// Choice and keys; the choice by its label.
    pub keys: Vec<(String, String)>,
    /// What the label says of the row that refuses, null included; `None` where it says nothing.
    pub refuses: Option<Option<u64>>,
}

pub struct Labelled {
    pub name: String,
    pub tool: String,
    pub recording: Recording,
    pub prompts: Vec<Label>,
    pub quiet: Vec<(f64, f64)>,
    /// What the detector saw, with the tool's pack.
    pub seen: Vec<Replayed>,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// Every recording, in order of its name, replayed.
pub fn all() -> Vec<Labelled> {
    let mut paths: Vec<PathBuf> = entries(&folder())
        .filter(|path| path.is_dir())
        .flat_map(|tool| entries(&tool).collect::<Vec<_>>())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cast"))
        .collect();
    paths.sort();
    // Two halves at once: replaying all of them is most of the test's time.
    let (odd, even): (Vec<_>, Vec<_>) = paths.iter().enumerate().partition(|(index, _)| index % 2 == 1);
    let mut loaded: Vec<(usize, Labelled)> = std::thread::scope(|scope| {
        let half = |half: Vec<(usize, &PathBuf)>| -> Vec<(usize, Labelled)> {
            half.into_iter().map(|(index, path)| (index, load(path))).collect()
        };
        let other = scope.spawn(move || half(odd));
        let mut loaded = half(even);
        loaded.extend(other.join().unwrap());
        loaded
    });
    loaded.sort_by_key(|(index, _)| *index);
    loaded.into_iter().map(|(_, labelled)| labelled).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}

fn load(path: &Path) -> Labelled {
    let recording = Recording::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let label: Value =
        serde_json::from_str(&fs::read_to_string(path.with_extension("json")).unwrap()).unwrap();
    let list = |name: &str| label[name].as_array().cloned().unwrap_or_default();
    let windows = list("quiet");
    let quiet = windows.iter().map(|window| (time(window, "from"), time(window, "to")));
    let tool = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    Labelled {
        name: format!("{tool}/{}", path.file_stem().unwrap().to_str().unwrap()),
        prompts: list("prompts").iter().map(prompt).collect(),
        quiet: quiet.collect(),
        seen: played(&recording, pack_of(tool)),
        tool: tool.to_owned(),
        recording,
    }
}

fn time(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap()
}

fn prompt(value: &Value) -> Label {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = value["choices"].as_array();
    let choices: Vec<String> = listed.into_iter().flatten().map(text).collect();
    let keys = value["keys"].as_object();
    let keys = keys.into_iter().flatten().map(|(name, keys)| {
        // Some labels name a choice by its number.
        let numbered = name.parse::<usize>().ok().and_then(|number| choices.get(number.wrapping_sub(1)));
        (numbered.unwrap_or(name).clone(), text(keys))
    });
    Label {
        from: time(value, "from"),
        to: time(value, "to"),
        kind: text(&value["kind"]),
        title: text(&value["title"]),
        refuses: value.get("refuses").map(Value::as_u64),
        keys: keys.collect(),
        choices,
    }
}

pub fn pack_of(tool: &str) -> Option<Arc<Pack>> {
    Packs::embedded().for_program(tool)
}

/// How a recording of this tool is read.
pub fn config_of(tool: &str) -> DetectorConfig {
    DetectorConfig { announce_idle: true, pack: pack_of(tool), ..DetectorConfig::default() }
}

pub fn played(recording: &Recording, pack: Option<Arc<Pack>>) -> Vec<Replayed> {
    let config = DetectorConfig { announce_idle: true, pack, ..DetectorConfig::default() };
    replay(recording, config)
}

/// Text as titles are compared: without blanks, in lower case.
fn squeezed(text: &str) -> String {
    let chars = text.chars().filter(|char| !char.is_whitespace());
    chars.flat_map(char::to_lowercase).collect()
}

/// A label without its decoration; `y` is `yes`.
pub fn bare(choice: &str) -> String {
    let decoration = |char: char| char.is_whitespace() || ">❯▶●○◉◯☐☑✔*›»│|-".contains(char);
    match squeezed(choice.trim_start_matches(decoration)).as_str() {
        "y" => "yes".to_owned(),
        "n" => "no".to_owned(),
        other => other.to_owned(),
    }
}

/// An editor is labelled free text and reported as idle: a line typed into it would be no answer.
fn kind_fits(label: &str, kind: Kind) -> bool {
    match label {
        "idle_input" => matches!(kind, Kind::Idle | Kind::FreeText),
        "free_text" => matches!(kind, Kind::FreeText | Kind::Password | Kind::Idle),
        "password" => matches!(kind, Kind::FreeText | Kind::Password),
        other => kind.as_str() == other,
    }
}

impl Label {
    pub fn is_idle(&self) -> bool {
        self.kind == "idle_input"
    }

    pub fn fits(&self, seen: &Replayed) -> bool {
        let at = seen.t.0.as_secs_f64();
        let (excerpt, detail) = (seen.sighting.excerpt.as_str(), seen.sighting.detail.as_str());
        (self.from - 0.001..=self.to).contains(&at)
            && kind_fits(&self.kind, seen.sighting.kind)
            && squeezed(&format!("{excerpt}{detail}")).contains(&squeezed(&self.title))
    }

    pub fn has_these_choices(&self, seen: &Replayed) -> bool {
        let wanted: Vec<String> = self.choices.iter().map(|choice| bare(choice)).collect();
        let shown: Vec<String> = choices(seen).map(|(label, _)| bare(label)).collect();
        !wanted.is_empty() && shown == wanted
    }
}

pub fn choices(seen: &Replayed) -> impl Iterator<Item = (&str, &Strokes)> {
    let rows = seen.sighting.choices.iter().flat_map(Choices::iter);
    rows.filter_map(|choice| Some((choice.label.as_str(), choice.strokes.as_ref()?)))
}

/// How one way of replaying did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    pub prompts: usize,
    pub found: usize,
    /// Of the prompts that are not idle boxes.
    pub dialogs: usize,
    pub dialogs_found: usize,
    /// Seen again though already found.
    pub again: usize,
    pub with_choices: usize,
    pub exact: usize,
    /// Sightings of high or medium confidence where nothing waits.
    pub wrong: usize,
    /// The same of low confidence.
    pub possible: usize,
}

impl Score {
    pub fn add(&mut self, labelled: &Labelled, seen: &[Replayed]) {
        for label in &labelled.prompts {
            let mut hits = seen.iter().filter(|seen| label.fits(seen));
            let hit = hits.next();
            self.prompts += 1;
            self.found += usize::from(hit.is_some());
            self.dialogs += usize::from(!label.is_idle());
            self.dialogs_found += usize::from(!label.is_idle() && hit.is_some());
            self.again += hits.count();
            self.with_choices += usize::from(!label.choices.is_empty());
            self.exact += usize::from(hit.is_some_and(|hit| label.has_these_choices(hit)));
        }
        for sighting in seen.iter().filter(|seen| labelled.is_quiet(seen)) {
            match sighting.sighting.confidence.level() {
                atlasbridge_model::Level::Low => self.possible += 1,
                atlasbridge_model::Level::Medium | atlasbridge_model::Level::High => self.wrong += 1,
            }
        }
    }
}

impl Labelled {
    /// Seen where nothing waits.
    pub fn is_quiet(&self, seen: &Replayed) -> bool {
        let at = seen.t.0.as_secs_f64();
        let quiet = self.quiet.iter().any(|(from, to)| (*from..=*to).contains(&at));
        (quiet || self.tool == "negative") && !self.prompts.iter().any(|label| label.fits(seen))
    }

    pub fn is_agent(&self) -> bool {
        AGENTS.contains(&self.tool.as_str())
    }
}
