//! What the caller tells the detector, and what it is told.

use std::sync::Arc;
use std::time::Duration;

use atlasbridge_model::{Sighting, SightingNo};

use crate::packs::Pack;
use crate::witness::KernelWait;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectorConfig {
    /// Silence that stands in for the kernel's word.
    pub stuck_timeout: Duration,
    /// Longest time for which an injection holds the detector.
    pub echo_suppression: Duration,
    /// Below this, in hundredths, a prompt is only possible.
    pub threshold: u8,
    /// Report `Kind::Idle` too.
    pub announce_idle: bool,
    /// What is known of the tool: [`crate::Packs::for_program`].
    pub pack: Option<Arc<Pack>>,
}

impl Default for DetectorConfig {
    fn default() -> Self {
        Self {
            stuck_timeout: Duration::from_secs(2),
            echo_suppression: Duration::from_millis(500),
            threshold: 65,
            announce_idle: false,
            pack: None,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation<'a> {
    /// The tool wrote.
    Output(&'a [u8]),
    Resized {
        cols: u16,
        rows: u16,
    },
    /// The person typed, or the terminal replied to a query.
    LocalInput(&'a [u8]),
    /// The gate has just written a stroke. `whole`: the last one, so that the reply is given.
    Injected {
        whole: bool,
    },
    /// The tool did nothing with an answer, and reads on: the dialog that still stands is another prompt from now on, for
    /// another answer.
    Untaken,
    /// The answer to [`DetectorEvent::AskKernel`].
    Kernel(KernelWait),
    /// The tool says so itself, by a hook or another way that nothing on its screen can forge.
    Told(ToolWord<'a>),
    /// [`next_deadline`](crate::Detector::next_deadline) has come.
    Deadline,
    ToolEnded,
}

/// What a tool says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolWord<'a> {
    /// It waits for a person. Kind, choices and keys are read off the screen, where they are pressed; the title names
    /// the prompt if nothing there is recognised, and may be empty.
    Waits { title: &'a str },
    /// It goes on: what it waited for was answered or withdrawn.
    GoesOn,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectorEvent {
    Seen(Sighting),
    Gone {
        no: SightingNo,
        how: Departure,
    },
    /// The tool's word and the screen disagree about the prompt that is seen next, which is therefore only possible.
    /// Worth keeping: a recogniser is missing, or one is wrong.
    Drift {
        no: SightingNo,
        how: Drift,
    },
    /// Ask the kernel now and answer with [`Observation::Kernel`].
    AskKernel,
    /// The tool asked whether anybody listens to its status (OSC 7501): write these bytes to it, now, before the
    /// person's terminal answers the next query. Nothing else that a tool asks is ever answered.
    AnswerStatusQuery(Vec<u8>),
}

/// How the tool's word and the screen disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// The tool says that it waits, and no recogniser sees a dialog.
    Unrecognised,
    /// A dialog is recognised, and the tool says that it works.
    Unannounced,
}

impl Drift {
    pub fn as_str(self) -> &'static str {
        match self {
            Drift::Unrecognised => "unrecognised",
            Drift::Unannounced => "unannounced",
        }
    }
}

/// Why a prompt left the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Keys were typed at the terminal since it was seen.
    LocalInput,
    /// Our stroke.
    Injected,
    /// No key of the terminal and no stroke of ours. `echoed`: text appeared right behind the question as if typed.
    Unprompted {
        echoed: bool,
    },
    Ended,
}
