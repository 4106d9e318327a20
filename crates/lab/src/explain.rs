//! What the detector sees at one moment of a recording, in words.

use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Replay};
use atlasbridge_detect::{Departure, DetectorConfig, KernelWait, Moment, Waits};
use atlasbridge_model::Sighting;

/// The screen and the reasoning at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub at: Moment,
    /// Rows of text, blank ones at the end left out.
    pub screen: Vec<String>,
    pub cursor: (u16, u16),
    /// Columns and rows.
    pub size: (u16, u16),
    pub is_alternate: bool,
    pub title: String,
    pub kernel: String,
    /// What was decided, in one sentence.
    pub decision: String,
    /// Why, one sentence a line.
    pub reasons: Vec<String>,
}

/// Plays the recording up to `at` and says what the detector makes of it.
pub fn explain(recording: &Recording, config: DetectorConfig, at: Moment) -> Explanation {
    let mut replay = Replay::new(recording, config);
    replay.play_to(at);
    let screen = replay.viewer.detector.screen();
    let mut rows = screen.rows();
    while rows.last().is_some_and(|row| row.trim().is_empty()) {
        rows.pop();
    }
    Explanation {
        at,
        screen: rows,
        cursor: screen.cursor(),
        size: screen.size(),
        is_alternate: screen.is_alternate(),
        title: screen.title(),
        kernel: kernel_in_words(replay.viewer.kernel),
        decision: decision(&replay, at),
        reasons: reasons(&replay, at),
    }
}

fn decision(replay: &Replay<'_>, at: Moment) -> String {
    let Some(sighting) = replay.viewer.detector.current() else {
        return "No prompt stands on the screen.".to_owned();
    };
    let seen = replay.viewer.seen.iter().find(|seen| seen.sighting.no == sighting.no);
    let since = seen.map_or(String::new(), |seen| {
        format!(", seen at {} ({} ago)", seconds(seen.t.0), seconds(at - seen.t))
    });
    format!(
        "A prompt stands on the screen: {} with {} confidence ({}){since}.",
        sighting.kind,
        sighting.confidence.level().as_str(),
        sighting.confidence.hundredths()
    )
}

/// Why the detector decided so, in its own words.
fn reasons(replay: &Replay<'_>, at: Moment) -> Vec<String> {
    let detector = &replay.viewer.detector;
    let told = detector.explain(at);
    let mut reasons = Vec::new();
    reasons.push(match detector.last_output() {
        Some(last) => format!("The tool last wrote {} ago.", seconds(at - last)),
        None => "The tool has written nothing yet.".to_owned(),
    });
    reasons.extend(told.read_by.map(|read_by| format!("The screen is read by the {read_by}.")));
    reasons.extend(told.evidence_for.iter().map(|line| format!("For a prompt: {line}.")));
    reasons.extend(told.evidence_against.iter().map(|line| format!("Against one: {line}.")));
    match detector.current() {
        Some(sighting) => reasons.extend(prompt_in_words(sighting)),
        None => reasons.extend(last_departure(replay, at)),
    }
    let change = told.waiting_for.unwrap_or_else(|| "a change of the screen".to_owned());
    reasons.push(format!("It waits for {change}."));
    reasons
}

fn prompt_in_words(sighting: &Sighting) -> Vec<String> {
    let mut words = vec![format!("The question reads: {}", sighting.excerpt.as_str().replace('\n', " / "))];
    let Some(choices) = &sighting.choices else { return words };
    for (row, choice) in choices.iter().enumerate() {
        let refuses = if choices.refusing() == Some(row) { ", which refuses" } else { "" };
        words.push(format!(
            "Choice {}: {:?} with the keys {:?}{refuses}.",
            row + 1,
            choice.label,
            choice.keys()
        ));
    }
    if choices.refusing().is_none() {
        words.push("No choice refuses, so silence would type nothing.".to_owned());
    }
    words
}

fn last_departure(replay: &Replay<'_>, at: Moment) -> Option<String> {
    let seen = replay.viewer.seen.last()?;
    let how = match seen.gone_how? {
        Departure::LocalInput => "answered at the keyboard",
        Departure::Injected => "answered by a reply",
        Departure::Unprompted { echoed: true } => "answered by somebody unknown",
        Departure::Unprompted { echoed: false } => "withdrawn by the tool",
        Departure::Ended => "ended with the tool",
    };
    Some(format!(
        "The last prompt, {:?}, was {how} {} ago.",
        seen.sighting.excerpt.as_str(),
        seconds(at - seen.gone_at?)
    ))
}

fn kernel_in_words(kernel: KernelWait) -> String {
    let who = match kernel.wait {
        Waits::Read => "the tool is blocked reading the terminal",
        Waits::Poll => "the tool has the terminal in an event loop",
        Waits::Nobody => "nobody waits for the terminal",
        Waits::Unknown => return "the kernel says nothing (unreadable, or not in this recording)".to_owned(),
    };
    let mode = match (kernel.canonical, kernel.echo) {
        (true, true) => "whole lines, shown as typed",
        (true, false) => "whole lines, hidden as typed: a secret",
        (false, _) => "key by key",
    };
    format!("{who}; {mode}")
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}
