//! A recording through the detector: the prompt line that other programs read, and the settings it is played with.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use atlasbridge_detect::recording::Replayed;
use atlasbridge_detect::{DetectorConfig, Packs};
use atlasbridge_model::{Choice, Choices};
use serde::Serialize;

/// No adapter has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no adapter {name:?}; known are {known}")]
pub struct UnknownAdapter {
    name: String,
    known: String,
}

impl UnknownAdapter {
    pub fn new(name: &str, packs: &Packs) -> Self {
        let known: Vec<_> = packs.iter().map(|pack| pack.name().to_owned()).collect();
        Self { name: name.to_owned(), known: known.join(", ") }
    }
}

/// How the detector reads a recording of this tool. Idle is announced, as recordings are labelled with it.
///
/// Without a name the tool is looked for where recordings tell it: the first word of the title in the header, then
/// the name of the folder. `generic` reads it as a program of which nothing is known.
pub fn detector_config(
    adapter: Option<&str>,
    recording: Option<&Path>,
    packs: &Packs,
) -> Result<DetectorConfig, UnknownAdapter> {
    let pack = match adapter {
        Some("generic") => None,
        Some(name) => Some(packs.for_program(name).ok_or_else(|| UnknownAdapter::new(name, packs))?),
        None => recording.and_then(|file| tools_of(file).iter().find_map(|tool| packs.for_program(tool))),
    };
    Ok(DetectorConfig { announce_idle: true, pack, ..DetectorConfig::default() })
}

fn tools_of(file: &Path) -> Vec<String> {
    let header = || -> Option<String> {
        let mut line = String::new();
        BufReader::new(File::open(file).ok()?).read_line(&mut line).ok()?;
        let header: serde_json::Value = serde_json::from_str(&line).ok()?;
        let title = header["title"].as_str().or(header["command"].as_str())?;
        title.split_whitespace().next().map(str::to_owned)
    };
    let folder =
        file.canonicalize().ok().and_then(|file| Some(file.parent()?.file_name()?.to_str()?.to_owned()));
    header().into_iter().chain(folder).collect()
}

/// One prompt of a replay: the fields of SPEC §11, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptLine {
    /// Seconds since the recording began.
    pub t: f64,
    pub kind: &'static str,
    pub confidence: &'static str,
    pub excerpt: String,
    pub detail: String,
    pub choices: Vec<String>,
    /// The choice that refuses, counted from zero.
    pub refuses: Option<usize>,
    /// What would be typed for each choice.
    pub keys: Vec<String>,
    pub gone_at: Option<f64>,
}

impl From<&Replayed> for PromptLine {
    fn from(replayed: &Replayed) -> Self {
        let sighting = &replayed.sighting;
        Self {
            t: replayed.t.0.as_secs_f64(),
            kind: sighting.kind.as_str(),
            confidence: sighting.confidence.level().as_str(),
            excerpt: sighting.excerpt.as_str().to_owned(),
            detail: sighting.detail.as_str().to_owned(),
            choices: sighting.rows().map(|choice| choice.label.clone()).collect(),
            refuses: sighting.choices.as_ref().and_then(Choices::refusing),
            keys: sighting.rows().map(Choice::keys).collect(),
            gone_at: replayed.gone_at.map(|moment| moment.0.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_adapter_is_named_with_the_known_ones() {
        let error = detector_config(Some("claud"), None, &Packs::embedded()).unwrap_err().to_string();
        assert!(
            error.contains("\"claud\"") && error.contains("claude") && error.contains("codex"),
            "{error}"
        );
        let config = detector_config(None, None, &Packs::embedded()).unwrap();
        assert!(config.announce_idle && config.pack.is_none());
        let config = detector_config(Some("claude"), None, &Packs::embedded()).unwrap();
        assert_eq!(config.pack.unwrap().name(), "claude");
    }
}
