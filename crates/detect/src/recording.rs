//! Recordings: asciicast v2 files replayed through the detector on their own clock.
//!
//! Pure like the rest: the text of a file comes in, sightings come out. The kernel's answers are in the file
//! (`k` events), so a replay sees what a session would have seen.

use std::time::Duration;

use atlasbridge_model::{Kind, Sighting, SightingNo};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Departure, Detector, DetectorConfig, DetectorEvent, Drift, KernelWait, Moment, Observation};

/// A parsed asciicast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub cols: u16,
    pub rows: u16,
    pub steps: Vec<Step>,
    /// When the recording ends: remarks and other events after the last step count.
    pub end: Moment,
}

/// One event of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub at: Moment,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Output(String),
    Input(String),
    Resize { cols: u16, rows: u16 },
    Kernel(KernelWait),
}

/// The text is no asciicast v2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not asciicast v2")]
pub struct NotARecording {
    /// Counted from one.
    pub line: usize,
}

/// A sighting of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    pub t: Moment,
    pub sighting: Sighting,
    pub gone_at: Option<Moment>,
    pub gone_how: Option<Departure>,
}

impl Recording {
    /// Reads the text of a `.cast` file. Unknown kinds of events are skipped.
    pub fn parse(text: &str) -> Result<Self, NotARecording> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (number, header) = lines.next().unwrap_or_default();
        let wrong = |line: usize| NotARecording { line: line + 1 };
        let header: Header = serde_json::from_str(header).map_err(|_| wrong(number))?;
        if header.version != 2 {
            return Err(wrong(number));
        }
        let mut recording =
            Self { cols: header.width, rows: header.height, steps: Vec::new(), end: Moment::default() };
        for (number, line) in lines {
            let (at, what) = event(line).ok_or_else(|| wrong(number))?;
            recording.end = recording.end.max(at);
            recording.steps.extend(what.map(|what| Step { at, what }));
        }
        Ok(recording)
    }
}

#[derive(Deserialize)]
struct Header {
    version: u16,
    width: u16,
    height: u16,
}

/// `None`: not an event. An event of a kind that we do not need has a moment and no more.
fn event(line: &str) -> Option<(Moment, Option<What>)> {
    let (seconds, kind, text): (f64, String, String) = serde_json::from_str(line).ok()?;
    let seconds = Some(seconds).filter(|seconds| (0.0..1e9).contains(seconds))?;
    let what = match kind.as_str() {
        "o" => Some(What::Output(text)),
        "i" => Some(What::Input(text)),
        "r" => {
            let (cols, rows) = text.split_once('x')?;
            Some(What::Resize { cols: cols.parse().ok()?, rows: rows.parse().ok()? })
        }
        "k" => Some(What::Kernel(serde_json::from_str(&text).ok()?)),
        _ => None,
    };
    Some((Moment(Duration::from_secs_f64(seconds)), what))
}

/// A prompt as the label of a recording names it; `shown`: what is written of the label of a choice.
pub fn prompt_label(sighting: &Sighting, from: f64, to: f64, shown: fn(&str) -> String) -> Value {
    let keys: Map<String, Value> =
        sighting.rows().map(|choice| (shown(&choice.label), choice.keys().into())).collect();
    // The last line of the question, which is where it asks; whole, so that it can be found again.
    let title = sighting.excerpt.as_str().lines().rev().find(|line| !line.trim().is_empty());
    json!({
        "from": from,
        "to": to,
        "kind": if sighting.kind == Kind::Idle { "idle_input" } else { sighting.kind.as_str() },
        "title": title.unwrap_or_default().trim().trim_end_matches('…'),
        "choices": sighting.rows().map(|choice| shown(&choice.label)).collect::<Vec<_>>(),
        "keys": keys,
    })
}

/// Plays the recording to the end and tells what was seen.
pub fn replay(recording: &Recording, config: DetectorConfig) -> Vec<Replayed> {
    let mut replay = Replay::new(recording, config);
    replay.play_to(recording.end);
    replay.viewer.give(Observation::ToolEnded, recording.end);
    replay.viewer.seen
}

/// A recording that is being played: it can be stopped at any moment and looked at.
#[derive(Debug)]
pub struct Replay<'a> {
    steps: std::slice::Iter<'a, Step>,
    pub viewer: Viewer,
}

impl<'a> Replay<'a> {
    pub fn new(recording: &'a Recording, config: DetectorConfig) -> Self {
        let viewer = Viewer::new(config, recording.cols, recording.rows);
        Self { steps: recording.steps.iter(), viewer }
    }

    /// Plays everything up to and including this moment.
    pub fn play_to(&mut self, moment: Moment) {
        while let Some(step) = self.steps.as_slice().first().filter(|step| step.at <= moment) {
            self.steps.next();
            self.run_until(step.at);
            self.take(&step.what, step.at);
        }
        self.run_until(moment);
    }

    /// Lets the deadlines before `moment` come.
    fn run_until(&mut self, moment: Moment) {
        while let Some(due) = self.viewer.detector.next_deadline().filter(|due| *due < moment) {
            self.viewer.give(Observation::Deadline, due);
        }
    }

    fn take(&mut self, what: &What, at: Moment) {
        let observation = match what {
            What::Output(text) => Observation::Output(text.as_bytes()),
            What::Input(text) => Observation::LocalInput(text.as_bytes()),
            What::Resize { cols, rows } => Observation::Resized { cols: *cols, rows: *rows },
            What::Kernel(kernel) => {
                self.viewer.kernel = *kernel;
                return;
            }
        };
        self.viewer.give(observation, at);
    }
}

/// A detector and what it saw, while a recording is played or made.
#[derive(Debug)]
pub struct Viewer {
    pub detector: Detector,
    /// What the kernel says, until it says something else.
    pub kernel: KernelWait,
    /// What was seen so far, and when and how it went.
    pub seen: Vec<Replayed>,
    /// Where the tool's word and the screen disagreed so far.
    pub drifts: Vec<(SightingNo, Drift)>,
}

impl Viewer {
    pub fn new(config: DetectorConfig, cols: u16, rows: u16) -> Self {
        let detector = Detector::new(config, cols, rows);
        Self { detector, kernel: KernelWait::UNKNOWN, seen: Vec::new(), drifts: Vec::new() }
    }

    pub fn give(&mut self, observation: Observation<'_>, at: Moment) {
        for event in self.detector.observe(observation, at) {
            match event {
                DetectorEvent::Seen(sighting) => {
                    self.seen.push(Replayed { t: at, sighting, gone_at: None, gone_how: None });
                }
                DetectorEvent::Gone { no, how } => {
                    for replayed in self.seen.iter_mut().filter(|replayed| replayed.sighting.no == no) {
                        (replayed.gone_at, replayed.gone_how) = (Some(at), Some(how));
                    }
                }
                DetectorEvent::AskKernel => self.give(Observation::Kernel(self.kernel), at),
                DetectorEvent::Drift { no, how } => self.drifts.push((no, how)),
                // A recording holds what the terminal answered to the tool, and only `run` answers for it.
                DetectorEvent::AnswerStatusQuery(_) => {}
            }
        }
    }
}
