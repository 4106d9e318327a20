//! Why the detector says what it says, in plain words.

use std::time::Duration;

use super::Detector;
use crate::moment::Moment;
use crate::recognise::{self, Look, Reading};
use crate::status::Claim;
use crate::verdict;
use crate::witness::{KernelWait, Waits};

/// The detector's reasons at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The recogniser, or the pack and its dialog, that reads the screen as it is now.
    pub read_by: Option<String>,
    /// What speaks for a prompt.
    pub evidence_for: Vec<String>,
    /// What speaks against one.
    pub evidence_against: Vec<String>,
    /// What would change it; `None`: nothing but another screen.
    pub waiting_for: Option<String>,
}

impl Detector {
    /// Why it says what it says, as the screen is now.
    pub fn explain(&self, now: Moment) -> Explanation {
        let page = self.screen.page();
        let look = self.look_at(&page, self.kernel);
        let reading = recognise::read(&look);
        let mut told = Explanation::default();
        told.tell_reading(reading.as_ref());
        told.tell_kernel(self.kernel);
        told.tell_claim(&look, self.status.claim().is_some());
        if self.word.as_ref().is_some_and(|word| word.by_hook) {
            told.speaks_for("the tool says by a hook that it waits for a person");
        }
        told.tell_rest(now - self.clock.changed);
        if recognise::is_busy(&look) {
            told.against("the screen says that the tool works");
        }
        self.conclude(&look, reading, now, &mut told);
        told
    }

    fn conclude(&self, look: &Look<'_>, reading: Option<Reading>, now: Moment, told: &mut Explanation) {
        if let Some(standing) = &self.standing {
            told.waiting_for = Some(match standing.missing {
                _ if standing.unseen.is_some() => "the tool to say that it goes on".to_owned(),
                Some(_) => "the prompt to come back, or to stay away".to_owned(),
                None => "an answer, here or from elsewhere".to_owned(),
            });
            return;
        }
        if let Some(due) = self.drifts_at(reading.as_ref()) {
            told.against("no dialog is recognised, though the tool says that it waits");
            told.waiting_for = Some(format!("its dialog to be drawn within {}", seconds(due - now)));
            return;
        }
        let known = self.circumstances(look);
        told.waiting_for = match reading.map(|reading| (verdict::judge(&reading, known), reading)) {
            None => self
                .judge_unknown(look, known)
                .map(|_| format!("{} of silence", seconds(self.config.stuck_timeout))),
            Some((None, _)) => Some("somebody to read the terminal".to_owned()),
            Some((Some(terms), reading)) => {
                let since = self.candidate.as_ref().map_or(now, |candidate| candidate.since);
                let left = self.ripe(&reading, terms, since, now) - now;
                Some(format!("the screen to rest for {} more", seconds(left)))
            }
        };
    }
}

impl Explanation {
    fn speaks_for(&mut self, what: impl Into<String>) {
        self.evidence_for.push(what.into());
    }

    fn against(&mut self, what: impl Into<String>) {
        self.evidence_against.push(what.into());
    }

    fn tell_reading(&mut self, reading: Option<&Reading>) {
        let Some(reading) = reading else {
            self.against("no recogniser knows the screen");
            return;
        };
        self.read_by = Some(match &reading.dialog {
            Some(dialog) => format!("pack dialog {dialog}"),
            None => format!("recogniser of {}", reading.family),
        });
        self.speaks_for(format!("the text reads as {} (0.{:02} by itself)", reading.kind, reading.base));
    }

    fn tell_kernel(&mut self, kernel: KernelWait) {
        let input = match (kernel.canonical, kernel.echo) {
            (true, true) => "a line, shown",
            (true, false) => "a line, hidden",
            (false, _) => "single keys",
        };
        match kernel.wait {
            Waits::Read => self.speaks_for(format!("the kernel: the tool is blocked reading {input}")),
            Waits::Poll => self.speaks_for(format!("the kernel: the tool listens for {input}, busy or not")),
            Waits::Nobody => self.against("the kernel: nobody waits for the terminal"),
            Waits::Unknown => self.against("the kernel did not say who waits"),
        }
    }

    fn tell_claim(&mut self, look: &Look<'_>, by_status: bool) {
        let source = if by_status { "OSC 7501" } else { "the window title" };
        match look.claim {
            Some(Claim::Blocked) => self.speaks_for(format!("{source} says that a dialog is open")),
            Some(Claim::Idle) => self.speaks_for(format!("{source} says that the tool is idle")),
            Some(Claim::Working) => self.against(format!("{source} says that the tool works")),
            None => {}
        }
    }

    fn tell_rest(&mut self, rest: Duration) {
        let said = format!("the visible text has rested for {}", seconds(rest));
        if rest >= verdict::SETTLE { self.speaks_for(said) } else { self.against(said) }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
