//! Recordings with their labels, as `crates/detect/tests/recordings/README.md` describes them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use atlasbridge_detect::recording::Recording;
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Labelled {
    /// The directory that it lies in.
    pub(super) tool: String,
    /// Its file without the ending: `claude/bash-rm-yes-80x24`.
    pub(super) name: String,
    pub(super) recording: Recording,
    pub(super) prompts: Vec<Label>,
    /// From and to of windows in which nothing waits.
    pub(super) quiet: Vec<(f64, f64)>,
}

/// Recordings of programs that never ask: nothing in them is a prompt, labelled quiet or not.
const LOOK_ALIKES: &str = "negative";

impl Labelled {
    /// Nothing waits at this second.
    pub(super) fn is_quiet_at(&self, second: f64) -> bool {
        let within = |(from, to): &(f64, f64)| (*from..=*to).contains(&second);
        self.tool == LOOK_ALIKES || self.quiet.iter().any(within)
    }
}

/// A window in which the program waits for a person.
#[derive(Debug, Clone, Default)]
pub(super) struct Label {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) choices: Vec<String>,
    /// The choices as the label was made, where they were corrected: `README.md` beside the recordings says why.
    pub(super) choices_as_made: Option<Vec<String>>,
    /// What selects a choice: by its label, or by its number counted from one. Not every choice has one.
    pub(super) keys: Vec<(String, String)>,
    pub(super) keys_as_made: Option<Vec<(String, String)>>,
    /// The row that refuses, where the label says so itself.
    pub(super) refuses: Option<Value>,
}

impl Label {
    /// The same before it was corrected.
    pub(super) fn as_made(&self) -> Self {
        let mut label = self.clone();
        label.choices = label.choices_as_made.take().unwrap_or(label.choices);
        label.keys = label.keys_as_made.take().unwrap_or(label.keys);
        label
    }

    /// Its choices or their keys were corrected.
    pub(super) fn is_corrected(&self) -> bool {
        self.choices_as_made.is_some() || self.keys_as_made.is_some()
    }
}

/// All recordings, in the order of their paths.
pub(super) fn load_all(folder: &Path) -> anyhow::Result<Vec<Labelled>> {
    let mut paths = Vec::new();
    for tool in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let is_cast = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "cast");
        paths.extend(entries(&tool)?.into_iter().filter(is_cast));
    }
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let list = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    list.map(|entry| Ok(entry?.path())).collect()
}

fn load(path: &Path) -> anyhow::Result<Labelled> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
    let recording = Recording::parse(&read(path)?).with_context(|| path.display().to_string())?;
    let side = path.with_extension("json");
    let label: Value = serde_json::from_str(&read(&side)?).with_context(|| side.display().to_string())?;
    let prompts = label["prompts"].as_array().into_iter().flatten();
    let quiet = label["quiet"].as_array().into_iter().flatten();
    let quiet = quiet.filter_map(|window| Some((window["from"].as_f64()?, window["to"].as_f64()?)));
    let tool = path.parent().and_then(Path::file_name).unwrap_or_default();
    let tool = tool.to_string_lossy().into_owned();
    let stem = path.file_stem().unwrap_or_default();
    Ok(Labelled {
        name: format!("{tool}/{}", stem.to_string_lossy()),
        tool,
        recording,
        quiet: quiet.collect(),
        prompts: prompts
            .map(|prompt| prompt_of(prompt).with_context(|| side.display().to_string()))
            .collect::<anyhow::Result<_>>()?,
    })
}

fn prompt_of(prompt: &Value) -> anyhow::Result<Label> {
    let time = |name: &str| prompt[name].as_f64().with_context(|| format!("a prompt without `{name}`"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |name: &str| Some(prompt.get(name)?.as_array()?.iter().map(text).collect());
    let keys = |name: &str| {
        let keys = prompt.get(name)?.as_object()?;
        Some(keys.iter().map(|(name, keys)| (name.clone(), text(keys))).collect())
    };
    Ok(Label {
        from: time("from")?,
        to: time("to")?,
        kind: text(&prompt["kind"]),
        title: text(&prompt["title"]),
        choices: list("choices").unwrap_or_default(),
        choices_as_made: list("choices_as_made"),
        keys: keys("keys").unwrap_or_default(),
        keys_as_made: keys("keys_as_made"),
        refuses: prompt.get("refuses").cloned(),
    })
}
