//! Waiting for a state that no descriptor announces.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything in these tests may take. Generous: the machine may be busy, and a test that fails waits only once.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Looks until `look` finds something, or fails with `what`.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {LIMIT:?} in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
