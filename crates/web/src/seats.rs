//! How many of each there are at once: a seat is taken, and given back when the last clone of it is dropped.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Counts as one of its key for as long as anybody holds it.
pub(crate) type Seat = Arc<()>;

#[derive(Debug)]
pub(crate) struct Seats<K>(Mutex<Vec<(K, Weak<()>)>>);

impl<K: Eq> Seats<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One more of this key, if `has_room` says so of all that are taken together and of those of the key.
    pub(crate) fn take(&self, key: K, has_room: impl FnOnce(usize, usize) -> bool) -> Option<Seat> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|(_, seat)| seat.strong_count() > 0);
        let of_key = taken.iter().filter(|(of, _)| *of == key).count();
        has_room(taken.len(), of_key).then(|| {
            let seat = Seat::default();
            taken.push((key, Arc::downgrade(&seat)));
            seat
        })
    }
}
