//! Words and rules of AtlasBridge: what a prompt is, who may answer it, and what may follow from what.
//!
//! This room reaches nothing. No files, no sockets, no clock, no random numbers, no serde: time and random bytes
//! are passed in, and `wire` and `store` own the serialised twins of these types. That is what lets the rules be
//! tested by the thousand in milliseconds.
//!
//! Suggested reading order is the order of the modules.
#![forbid(unsafe_code)]
// A new variant asks every reader of these enums what it means.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod ancestry;
pub mod answer;
pub mod audit;
pub mod excerpt;
pub mod id;
pub mod keys;
pub mod lifecycle;
pub mod mask;
pub mod names;
pub mod opening;
pub mod picture;
pub mod prompt;
pub mod routing;
pub mod search;
pub mod session;
pub mod sighting;
pub mod speech;
pub mod strokes;
pub mod time;
pub mod visible;

pub use excerpt::{Detail, Excerpt};
pub use id::{IdempotencyKey, Nonce, PromptId, ReplyId, SessionId, SightingNo, TypingId};
pub use keys::Key;
pub use picture::Picture;
pub use prompt::{
    Choice, Choices, Confidence, Constraints, Effect, Entry, Grant, Kind, Level, MAX_INSTRUCTION, MAX_LENGTH,
    SafeDefault, Span, Takes,
};
pub use search::Search;
pub use session::SessionStatus;
pub use sighting::{Fingerprint, Sighting};
pub use strokes::{Pace, Stroke, Strokes};
pub use time::{BootTime, LONGEST_MUTE, Now, Timestamp};
