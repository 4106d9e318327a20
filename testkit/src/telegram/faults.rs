//! What can go wrong between a bot and the Bot API, on demand and by the dice of a seed.

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A gateway answers in place of the server, and the call is not handled.
    Status(u16),
    /// Not handled and not answered, until [`super::FakeTelegram::releases`].
    Hang,
    /// Handled, and not answered until released.
    HangAfterHandling,
    /// Handled, and half of the answer comes.
    CutJson,
    /// Handled, and the connection closes without an answer.
    DropAfterHandling,
    /// The connection closes before the call is handled.
    DropBefore,
    /// Not handled; whoever comes again too early has violated the limit.
    TooManyRequests { retry_after: u64 },
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Times {
    Next(usize),
    /// Each call with this chance, of 1.
    Chance(f64),
    Always,
}

#[derive(Debug)]
struct Planned {
    method: String,
    fault: Fault,
    times: Times,
}

/// How the delivery of updates lies. Each chance is of 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lies {
    /// That an update comes twice: within its batch, or again after it was confirmed.
    pub duplicates: f64,
    /// That a batch is shuffled.
    pub reordering: f64,
}

#[derive(Debug)]
pub(crate) struct Faults {
    planned: Vec<Planned>,
    pub(crate) lies: Lies,
    pub(crate) dice: Dice,
}

impl Default for Faults {
    fn default() -> Self {
        Self { planned: Vec::new(), lies: Lies::default(), dice: Dice(1) }
    }
}

impl Faults {
    /// `method` as the Bot API spells it, or `*` for all of them.
    pub(crate) fn plan(&mut self, method: &str, fault: Fault, times: Times) {
        let method = method.to_lowercase();
        self.planned.push(Planned { method, fault, times });
    }

    pub(crate) fn heal(&mut self) {
        self.planned.clear();
        self.lies = Lies::default();
    }

    /// What happens to this call: the first plan that strikes.
    pub(crate) fn strike(&mut self, method: &str) -> Option<Fault> {
        let method = method.to_lowercase();
        for planned in &mut self.planned {
            if planned.method != "*" && planned.method != method {
                continue;
            }
            let strikes = match &mut planned.times {
                Times::Next(0) => false,
                Times::Next(left) => {
                    *left -= 1;
                    true
                }
                Times::Chance(chance) => self.dice.falls(*chance),
                Times::Always => true,
            };
            if strikes {
                return Some(planned.fault.clone());
            }
        }
        None
    }
}

/// Chance that is the same in each run (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Without a chance nothing is rolled, so that polls that do not lie leave the dice alone.
    pub(crate) fn falls(&mut self, chance: f64) -> bool {
        if chance <= 0.0 {
            return false;
        }
        let unit = (self.roll() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < chance
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.roll() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_by_method_count_and_chance() {
        let mut faults = Faults::default();
        faults.plan("sendMessage", Fault::Status(502), Times::Next(2));
        faults.plan("*", Fault::Hang, Times::Chance(0.5));
        assert_eq!(faults.strike("SENDMESSAGE"), Some(Fault::Status(502)));
        assert_eq!(faults.strike("sendMessage"), Some(Fault::Status(502)));
        let hung = (0..1000).filter(|_| faults.strike("getMe") == Some(Fault::Hang)).count();
        assert!((400..600).contains(&hung), "{hung}");
        faults.heal();
        assert_eq!(faults.strike("getMe"), None);
    }
}
