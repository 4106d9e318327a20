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
    /// `2026-01-02T03:04:05.678Z`. A clock before the year 0 or beyond 9999 is shown as that end.
    pub fn rfc3339(self) -> String {
        const YEAR_0: i64 = -62_167_219_200_000;
        let at = jiff::Timestamp::from_millisecond(self.0.max(YEAR_0)).unwrap_or(jiff::Timestamp::MAX);
        format!("{at:.3}")
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_the_standard_has_them() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_767_323_045_070, "2026-01-02T03:04:05.070Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (i64::MAX, "9999-12-30T22:00:00.999Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(millis).rfc3339(), text);
        }
    }
}
