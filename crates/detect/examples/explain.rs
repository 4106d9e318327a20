//! Plays a recording up to a moment and says what the detector thinks there, and why: `explain FILE.cast SECONDS`.

#![expect(clippy::print_stdout, reason = "printing is what this example is for")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use atlasbridge_detect::recording::{Recording, play_until};
use atlasbridge_detect::{DetectorConfig, Moment, Packs};

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: explain FILE.cast SECONDS";
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or(usage)?;
    let until: f64 = arguments.next().ok_or(usage)?.parse()?;
    let recording = Recording::parse(&std::fs::read_to_string(&path)?)?;
    // Recordings stand in a folder named after their tool.
    let tool = Path::new(&path).parent().and_then(Path::file_name);
    let config = DetectorConfig {
        announce_idle: true,
        pack: tool.and_then(|tool| Packs::embedded().for_program(tool.to_str()?)),
        ..DetectorConfig::default()
    };
    let detector = play_until(&recording, config, Moment(Duration::from_secs_f64(until)));
    for (row, text) in detector.screen().rows().iter().enumerate() {
        println!("{row:3}|{text}");
    }
    let screen = detector.screen();
    println!("cursor {:?}, title {:?}", screen.cursor(), screen.title());
    println!("{}", detector.explain());
    Ok(())
}
