//! Time as a value. The rules never read a clock: a shell passes `Now` in.

use std::time::Duration;

/// Wall-clock milliseconds since 1970, for showing to people only: it may jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Milliseconds on the clock that counts since boot, suspend included: it does not jump, so deadlines live on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(pub i64);

/// Both clocks, read together once per event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub wall: Timestamp,
    pub boot: BootTime,
}

impl Timestamp {
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

impl BootTime {
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// How long until `self`, never negative.
    pub fn millis_after(self, earlier: BootTime) -> u64 {
        self.0.saturating_sub(earlier.0).max(0) as u64
    }
}

/// The longest silence that a chat may ask for. Whoever wants more than a week has left, and should leave the list.
pub const LONGEST_MUTE: Duration = Duration::from_secs(7 * 24 * 3_600);
