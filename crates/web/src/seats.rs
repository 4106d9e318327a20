//! How many of each there are at once: a seat is taken, and given back when it is dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Seats<K>(Arc<Mutex<HashMap<K, usize>>>);

/// Counts as one of its kind until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat<K: Eq + Hash> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    key: K,
}

impl<K> Default for Seats<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> Seats<K> {
    /// One more of this key, if `has_room` says so of all that are taken together and of those of the key.
    pub(crate) fn take(&self, key: K, has_room: impl FnOnce(usize, usize) -> bool) -> Option<Seat<K>> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_key = taken.get(&key).copied().unwrap_or(0);
        has_room(taken.values().sum(), of_key).then(|| {
            taken.insert(key.clone(), of_key + 1);
            Seat { taken: Arc::clone(&self.0), key }
        })
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl<K: Eq + Hash> Drop for Seat<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
        }
        taken.retain(|_, count| *count > 0);
    }
}
