//! Seeing: bytes in, sightings out.
//!
//! What a tool writes is fed to a terminal emulator; when the output pauses, recognisers read the rendered screen
//! and the [`Detector`] says which prompt appeared and which one went away. Nothing here has a clock, a thread or a
//! file: the time is passed in, the kernel's word is passed in, so a recording replays to the same result as live.
//!
//! It must never answer a terminal query (but one: a tool that asks whether its status is heard is told yes), never look at raw bytes for a prompt, and never fail on any input: a
//! screen that cannot be understood shows nothing.

#![forbid(unsafe_code)]
// A new variant asks every reader of an enum what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod detector;
mod moment;
mod verdict;
mod witness;

mod deed;
mod hooks;
mod packs;
mod recognise;

mod keys;
mod page;
mod screen;
mod status;

pub mod recording;

pub use deed::{Did, Marks, did};
pub use detector::{
    Departure, Detector, DetectorConfig, DetectorEvent, Drift, Explanation, Observation, ToolWord,
};
pub use hooks::{Decision, Extent, HookEvent, HookRequest, ToolUse};
pub use keys::{holds_keys, without_text};
pub use moment::Moment;
pub use packs::{Pack, PackError, PackErrors, Packs, Proved};
pub use screen::{InputModes, Screen};
pub use witness::{KernelWait, Waits};
