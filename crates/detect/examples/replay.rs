//! Prints one JSON line per sighting of a recording, as `lab replay --json` will.

#![expect(clippy::print_stdout, reason = "printing is what this example is for")]

use std::error::Error;
use std::path::Path;

use atlasbridge_detect::recording::{Recording, Replayed, replay};
use atlasbridge_detect::{DetectorConfig, Packs};
use atlasbridge_model::Choices;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: replay FILE.cast [--without-pack]")?;
    let without_pack = std::env::args()
        .nth(2)
        .is_some_and(|flag| flag == "--without-pack");
    let recording = Recording::parse(&std::fs::read_to_string(&path)?)?;
    // Recordings stand in a folder named after their tool.
    let tool = Path::new(&path).parent().and_then(Path::file_name);
    let tool = tool.and_then(|tool| tool.to_str()).filter(|_| !without_pack);
    for replayed in replay(
        &recording,
        DetectorConfig {
            announce_idle: true,
            pack: tool.and_then(|tool| Packs::embedded().for_program(tool)),
            ..DetectorConfig::default()
        },
    ) {
        println!("{}", line(&replayed));
    }
    Ok(())
}

fn line(replayed: &Replayed) -> serde_json::Value {
    let sighting = &replayed.sighting;
    let choices: Vec<_> = sighting.choices.iter().flat_map(Choices::iter).collect();
    json!({
        "t": replayed.t.0.as_secs_f64(),
        "kind": sighting.kind.as_str(),
        "confidence": sighting.confidence.level().as_str(),
        "excerpt": sighting.excerpt.as_str(),
        "detail": sighting.detail.as_str(),
        "choices": choices.iter().map(|choice| choice.label.clone()).collect::<Vec<_>>(),
        "refuses": sighting.choices.as_ref().and_then(Choices::refusing),
        "keys": choices.iter().map(|choice| choice.strokes.to_text()).collect::<Vec<_>>(),
        "gone_at": replayed.gone_at.map(|moment| moment.0.as_secs_f64()),
        "gone_how": replayed.gone_how.map(|how| format!("{how:?}")),
    })
}
