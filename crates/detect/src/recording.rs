//! Recordings: asciicast v2 files replayed through the detector on their own clock.
//!
//! Pure like the rest: the text of a file comes in, sightings come out. The kernel's answers are in the file
//! (`k` events), so a replay sees what a session would have seen.

use std::time::Duration;

use atlasbridge_model::{Sighting, SightingNo};
use serde::{Deserialize, Serialize};

use crate::{
    Departure, Detector, DetectorConfig, DetectorEvent, Drift, KernelWait, Moment, Observation, Waits,
};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotARecording {
    /// Counted from one.
    pub line: usize,
}

impl std::fmt::Display for NotARecording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} is not asciicast v2", self.line)
    }
}

impl std::error::Error for NotARecording {}

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
        "k" => Some(What::Kernel(serde_json::from_str::<KernelEvent>(&text).ok()?.0)),
        _ => None,
    };
    Some((Moment(Duration::from_secs_f64(seconds)), what))
}

/// The text of a `k` event.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct KernelEvent(#[serde(with = "KernelText")] KernelWait);

#[derive(Serialize, Deserialize)]
#[serde(remote = "KernelWait")]
struct KernelText {
    #[serde(with = "WaitsText")]
    wait: Waits,
    canonical: bool,
    echo: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Waits", rename_all = "snake_case")]
enum WaitsText {
    Read,
    Poll,
    #[serde(rename = "none")]
    Nobody,
    #[serde(other)]
    Unknown,
}

/// The kernel's word as a recording holds it.
pub fn kernel_text(kernel: KernelWait) -> String {
    serde_json::to_string(&KernelEvent(kernel)).unwrap_or_default()
}

/// Plays the recording to the end and tells what was seen.
pub fn replay(recording: &Recording, config: DetectorConfig) -> Vec<Replayed> {
    let mut replay = Replay::new(recording, config);
    replay.play_to(recording.end);
    replay.finish();
    replay.seen
}

/// A recording that is being played: it can be stopped at any moment and looked at.
#[derive(Debug)]
pub struct Replay<'a> {
    steps: std::slice::Iter<'a, Step>,
    end: Moment,
    detector: Detector,
    kernel: KernelWait,
    seen: Vec<Replayed>,
    drifts: Vec<(SightingNo, Drift)>,
}

impl<'a> Replay<'a> {
    pub fn new(recording: &'a Recording, config: DetectorConfig) -> Self {
        Self {
            steps: recording.steps.iter(),
            end: recording.end,
            detector: Detector::new(config, recording.cols, recording.rows),
            kernel: KernelWait::UNKNOWN,
            seen: Vec::new(),
            drifts: Vec::new(),
        }
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

    /// The tool has ended, at the end of the recording.
    pub fn finish(&mut self) {
        self.give(Observation::ToolEnded, self.end);
    }

    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// What the kernel says from here to the recording's next word of it.
    pub fn kernel(&self) -> KernelWait {
        self.kernel
    }

    /// What was seen so far.
    pub fn seen(&self) -> &[Replayed] {
        &self.seen
    }

    /// Where the tool's word and the screen disagreed so far.
    pub fn drifts(&self) -> &[(SightingNo, Drift)] {
        &self.drifts
    }

    /// Lets the deadlines before `moment` come.
    fn run_until(&mut self, moment: Moment) {
        while let Some(due) = self.detector.next_deadline().filter(|due| *due < moment) {
            self.give(Observation::Deadline, due);
        }
    }

    fn take(&mut self, what: &What, at: Moment) {
        match what {
            What::Output(text) => self.give(Observation::Output(text.as_bytes()), at),
            What::Input(text) => self.give(Observation::LocalInput(text.as_bytes()), at),
            What::Resize { cols, rows } => self.give(Observation::Resized { cols: *cols, rows: *rows }, at),
            What::Kernel(kernel) => self.kernel = *kernel,
        }
    }

    fn give(&mut self, observation: Observation<'_>, at: Moment) {
        for event in self.detector.observe(observation, at) {
            match event {
                DetectorEvent::Seen(_) | DetectorEvent::Gone { .. } => note(&mut self.seen, event, at),
                DetectorEvent::AskKernel => self.give(Observation::Kernel(self.kernel), at),
                DetectorEvent::Drift { no, how } => self.drifts.push((no, how)),
                // What the terminal answered then is in the recording.
                DetectorEvent::AnswerStatusQuery(_) => {}
            }
        }
    }
}

/// Keeps the list of what was seen, and when and how it went.
pub fn note(seen: &mut Vec<Replayed>, event: DetectorEvent, at: Moment) {
    match event {
        DetectorEvent::Seen(sighting) => {
            seen.push(Replayed { t: at, sighting, gone_at: None, gone_how: None })
        }
        DetectorEvent::Gone { no, how } => {
            for replayed in seen.iter_mut().filter(|replayed| replayed.sighting.no == no) {
                (replayed.gone_at, replayed.gone_how) = (Some(at), Some(how));
            }
        }
        DetectorEvent::Drift { .. } | DetectorEvent::AskKernel | DetectorEvent::AnswerStatusQuery(_) => {}
    }
}
