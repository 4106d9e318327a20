//! A recording through the detector: the prompt line that other programs read, and the settings it is played with.

use atlasbridge_detect::DetectorConfig;
use atlasbridge_detect::recording::Replayed;
use atlasbridge_model::Choices;
use serde::Serialize;

/// The tools that a recording may be said to be of (SPEC §8).
pub const ADAPTERS: [&str; 6] = ["generic", "claude", "codex", "openai", "gemini", "aider"];

/// Nobody knows this tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no adapter {name:?}; known are {}", ADAPTERS.join(", "))]
pub struct UnknownAdapter {
    pub name: String,
}

/// How the detector reads a recording of this tool. Idle is announced, as recordings are labelled with it.
///
/// The one place that turns the name of an adapter into settings. Today all tools are read by the same recognisers,
/// so a name is checked and changes nothing.
pub fn detector_config(adapter: Option<&str>) -> Result<DetectorConfig, UnknownAdapter> {
    if let Some(name) = adapter.filter(|name| !ADAPTERS.contains(name)) {
        return Err(UnknownAdapter {
            name: name.to_owned(),
        });
    }
    Ok(DetectorConfig {
        announce_idle: true,
        ..DetectorConfig::default()
    })
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
        let choices = sighting.choices.as_ref();
        let rows = || choices.iter().flat_map(|choices| choices.iter());
        Self {
            t: replayed.t.0.as_secs_f64(),
            kind: sighting.kind.as_str(),
            confidence: sighting.confidence.level().as_str(),
            excerpt: sighting.excerpt.as_str().to_owned(),
            detail: sighting.detail.as_str().to_owned(),
            choices: rows().map(|choice| choice.label.clone()).collect(),
            refuses: choices.and_then(Choices::refusing),
            keys: rows().map(|choice| choice.strokes.to_text()).collect(),
            gone_at: replayed.gone_at.map(|moment| moment.0.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_adapter_is_named_with_the_known_ones() {
        let error = detector_config(Some("claud")).unwrap_err().to_string();
        assert!(
            error.contains("\"claud\"") && error.contains("claude, codex"),
            "{error}"
        );
        assert!(detector_config(None).unwrap().announce_idle);
    }
}
