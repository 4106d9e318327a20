//! Chance that is the same in each run (xorshift64*), and how much of it is rolled.

/// The numbers of the full run take minutes; the few run each time.
pub(crate) fn full_or(full: usize, few: usize) -> usize {
    match std::env::var_os("ATLASBRIDGE_TEST_FULL") {
        Some(_) => full,
        None => few,
    }
}

pub(crate) fn full_or_a_tenth(full: usize) -> usize {
    full_or(full, full / 10)
}

pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `limit`.
    pub(crate) fn roll(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    pub(crate) fn hex(&mut self, digits: usize) -> String {
        (0..digits).filter_map(|_| char::from_digit(self.roll(16) as u32, 16)).collect()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.roll(last as u64 + 1) as usize);
        }
    }
}
