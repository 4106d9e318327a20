//! Rehearsals of the detector: scenarios on real terminals, recordings made, replayed and explained.
//!
//! Scenarios go through the product as a person would use it: our own binary in a home of its own, on a terminal of
//! its own, answered over the hub's socket. Recordings go through the detector alone, on their own clock. This room
//! prints nothing, reads no environment, and reaches no hub but the one that a rehearsal has started for itself.
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod scenario;

mod rehearse;

mod cast;
mod explain;
mod record;
mod replay;

pub use cast::{CastError, read_cast};
pub use explain::{Explanation, explain};
pub use record::{RecordConfig, RecordError, RecordingResult, record};
pub use rehearse::{LabConfig, PromptTiming, Rehearsal, RehearseError, rehearse};
pub use replay::{PromptLine, UnknownAdapter, detector_config};
pub use scenario::{PLANNED, Planned, SCENARIOS, Scenario, planned_scenario, scenario};
