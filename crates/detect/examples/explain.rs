//! Plays a recording up to a moment and prints the screen there: `explain FILE.cast SECONDS`.

#![expect(clippy::print_stdout, reason = "printing is what this example is for")]

use std::error::Error;
use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Step, play_until};
use atlasbridge_detect::{DetectorConfig, Moment};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: explain FILE.cast SECONDS")?;
    let seconds: f64 = arguments
        .next()
        .ok_or("usage: explain FILE.cast SECONDS")?
        .parse()?;
    let recording = Recording::parse(&std::fs::read_to_string(path)?)?;
    let until = Moment(Duration::from_secs_f64(seconds));
    let config = DetectorConfig {
        announce_idle: true,
        ..DetectorConfig::default()
    };
    let steps: Vec<Step> = recording
        .steps
        .iter()
        .filter(|step| step.at <= until)
        .cloned()
        .collect();
    let detector = play_until(
        &Recording {
            steps,
            end: until,
            ..recording
        },
        config,
    );
    for (row, text) in detector.screen().rows().iter().enumerate() {
        println!("{row:3}|{text}");
    }
    println!(
        "cursor {:?}, title {:?}",
        detector.screen().cursor(),
        detector.screen().title()
    );
    Ok(())
}
