//! Who takes nothing for a while, and until when. Pure: every moment is passed in.

use std::collections::HashMap;

use atlasbridge_channel::Target;
use atlasbridge_model::BootTime;

/// Targets that take nothing for a while: the service or its pace says so, whatever is to be shown.
///
/// Who is held is told by what is in here, and never by the clock: a target is held until somebody lifts it, and as long
/// as it is held, its moment is the next one.
#[derive(Debug, Default)]
pub(super) struct Holds(HashMap<Target, BootTime>);

impl Holds {
    pub(super) fn hold(&mut self, target: Target, until: BootTime) {
        self.0.insert(target, until);
    }

    pub(super) fn holds(&self, target: &Target) -> bool {
        self.0.contains_key(target)
    }

    pub(super) fn free(&mut self, target: &Target) {
        self.0.remove(target);
    }

    pub(super) fn free_all(&mut self) {
        self.0.clear();
    }

    /// Time goes by.
    pub(super) fn lift(&mut self, now: BootTime) {
        self.0.retain(|_, until| *until > now);
    }

    pub(super) fn next(&self) -> Option<BootTime> {
        self.0.values().min().copied()
    }
}
