//! What the session host knows of the prompt on its screen: one state, and one step from each event. Pure: no clock, no
//! descriptor, no gate. `host` tells what happened and performs what follows, in its order.
//!
//! ```text
//!        seen, its request is to come      told           typed or said       outcome told
//! None ───────────► AwaitingRequest ──────► Open ──────────────────────► Answering ──────────► Settling
//!   └─────────────────────────────────────► Open ◄── due ── Early
//!                    seen                     └── nobody takes keys yet ──┘        gone: from each of them to None
//! ```

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use atlasbridge_detect::{Departure, Moment, Waits};
use atlasbridge_model::{Sighting, SightingNo, lifecycle};
use atlasbridge_wire::twin::Outcome;

use crate::gate::{Delivery, Field, InjectRequest, Presence, Via};

/// How long a dialog waits for its request before it is told without. A hook of Claude Code takes 20 ms to start, and a few
/// hundred on a busy machine.
const REQUEST_COMES: Duration = Duration::from_millis(600);
/// Nobody sees that a dialog is gone, and stops a finger on its way, sooner than this.
const UNSEEN: Duration = Duration::from_millis(300);
/// An event loop that works for a moment reads nothing: how soon, each time twice as late, and how often a reply looks
/// again for somebody who reads. Together two seconds.
const FIRST_TRY_AGAIN: Duration = Duration::from_millis(4);
pub(crate) const MOST_TRIES: u32 = 9;
/// Prompts that were answered at the keyboard and are remembered.
const MOST_ANSWERED: usize = 64;

/// The prompt on the screen, and what earlier ones have left.
#[derive(Debug)]
pub(crate) struct Prompts {
    now: Prompt,
    /// A line was sent from the keyboard since the hub was told of it: a tool that ends now has read it.
    is_line_sent: bool,
    /// Answered at the keyboard: a reply that comes too late is told so.
    answered_here: VecDeque<SightingNo>,
    /// Until then keys were meant for a dialog that is gone.
    keys_late_until: Moment,
    /// A dialog that was just drawn takes no keys yet: for how long.
    keys_after: Duration,
}

#[derive(Debug)]
enum Prompt {
    None,
    /// A dialog is drawn, and the request of its hook has not come: nobody was told of it.
    AwaitingRequest {
        sighting: Sighting,
        by: Option<i32>,
        until: Moment,
    },
    /// The hub was told of it.
    Told(Asked, Stage),
}

#[derive(Debug)]
enum Stage {
    Open,
    /// Its reply came before anybody takes its keys.
    Early {
        reply: Reply,
        due: Moment,
    },
    /// Its reply is typed, or said by a hook, and not proved yet.
    Answering,
    /// What became of its reply is told, and it stands there still.
    Settling,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    no: SightingNo,
    told_at: Moment,
    /// The foreground process group when it was seen.
    by: Option<i32>,
}

/// A reply on its way to the gate.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) request: InjectRequest,
    /// How often nobody was found to read the terminal.
    pub(crate) tries: u32,
}

/// How the prompt of a reply stands in the moment that the reply is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyTarget {
    /// A hook takes the decision at once, or the gate has judged the reply before: no key is to wait for.
    NeedsNoKey,
    Shown(Field, Waits),
    /// Not to be read in this moment, and not given up: it is drawn anew, or about to be seen to go.
    HalfDrawn,
    Gone,
}

#[derive(Debug)]
pub(crate) enum PromptEvent {
    /// The detector sees a prompt, asked by this foreground process group; perhaps a dialog whose request is to come.
    Seen {
        sighting: Sighting,
        by: Option<i32>,
        awaits_request: bool,
    },
    /// A request came by a hook, whichever it is.
    RequestCame,
    Gone(SightingNo, Departure),
    Reply(Reply, KeyTarget),
    /// The gate has begun with its reply.
    Injected(SightingNo),
    /// The gate is done with a reply. Perhaps something lies unread in the tool's terminal.
    Settled {
        delivery: Delivery,
        outcome: Outcome,
        lies_unread: bool,
    },
    /// Enter, Ctrl-C or Ctrl-D from the keyboard, here or elsewhere.
    LineSent,
    /// Time has passed.
    Tick,
}

#[derive(Debug)]
pub(crate) enum PromptEffect {
    NoteUnasked,
    /// The hub is told of it, with what its request adds.
    Announce(Box<Sighting>),
    /// The reply is due: look at the world again, and step with [`PromptEvent::Reply`].
    Consider(Reply),
    /// The gate judges it by the facts of this moment.
    Judge(Reply),
    /// The prompt has gone before anybody took its keys.
    Refuse(Reply),
    /// The dialog of a request has gone.
    EndRequest(SightingNo, RequestFate),
    /// The injection under way hears that its prompt has gone.
    LookLast(Presence),
    /// For who reads the events. `None`: by our answer.
    NoteGone(SightingNo, Option<lifecycle::Departure>),
    ReportLeft(SightingNo, lifecycle::Departure),
    TakeBackKeys,
    DropLateKeys,
    TellOutcome(Delivery, Outcome),
    /// The dialog becomes another prompt, where the tool has read everything.
    OfferAgain,
}

/// What becomes of a request whose dialog has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFate {
    /// Perhaps the dialog is drawn anew.
    WaitsOn,
    Over,
    /// By us: the next one is told in any case.
    Answered,
}

impl Prompts {
    pub(crate) fn new(keys_after: Duration) -> Self {
        Self {
            now: Prompt::None,
            is_line_sent: false,
            answered_here: VecDeque::new(),
            keys_late_until: Moment::default(),
            keys_after,
        }
    }

    pub(crate) fn step(&mut self, event: PromptEvent, now: Moment) -> Vec<PromptEffect> {
        match event {
            PromptEvent::Seen { sighting, by, awaits_request } => {
                let mut effects = Vec::from_iter(self.supersede());
                if awaits_request {
                    self.now = Prompt::AwaitingRequest { sighting, by, until: now + REQUEST_COMES };
                } else {
                    effects.push(self.open(sighting, by, now));
                }
                effects
            }
            PromptEvent::RequestCame => match self.take() {
                Prompt::AwaitingRequest { sighting, by, .. } => vec![self.open(sighting, by, now)],
                other @ (Prompt::None | Prompt::Told(..)) => self.stay(other),
            },
            PromptEvent::Tick => match self.take() {
                Prompt::AwaitingRequest { sighting, by, until } if until <= now => {
                    vec![PromptEffect::NoteUnasked, self.open(sighting, by, now)]
                }
                Prompt::Told(asked, Stage::Early { reply, due }) if due <= now => {
                    self.now = Prompt::Told(asked, Stage::Open);
                    vec![PromptEffect::Consider(reply)]
                }
                other @ (Prompt::None | Prompt::AwaitingRequest { .. } | Prompt::Told(..)) => {
                    self.stay(other)
                }
            },
            PromptEvent::Gone(no, how) => self.gone(no, how),
            PromptEvent::Reply(reply, target) => self.replied(reply, target, now),
            PromptEvent::Injected(no) => {
                if let Prompt::Told(asked, stage @ Stage::Open) = &mut self.now
                    && asked.no == no
                {
                    *stage = Stage::Answering;
                }
                Vec::new()
            }
            PromptEvent::Settled { delivery, outcome, lies_unread } => {
                self.settled(delivery, outcome, lies_unread, now)
            }
            PromptEvent::LineSent => {
                self.is_line_sent = true;
                Vec::new()
            }
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        match &self.now {
            Prompt::AwaitingRequest { until: due, .. } | Prompt::Told(_, Stage::Early { due, .. }) => {
                Some(*due)
            }
            Prompt::None | Prompt::Told(..) => None,
        }
    }

    /// The foreground process group that asks.
    pub(crate) fn asked_by(&self) -> Option<i32> {
        match &self.now {
            Prompt::Told(asked, _) => asked.by,
            Prompt::None | Prompt::AwaitingRequest { .. } => None,
        }
    }

    pub(crate) fn was_answered_here(&self, no: SightingNo) -> bool {
        self.answered_here.contains(&no)
    }

    /// Keys that come now were pressed for a dialog that an answer from elsewhere has just closed.
    pub(crate) fn are_keys_late(&self, now: Moment) -> bool {
        now < self.keys_late_until
    }

    fn take(&mut self) -> Prompt {
        std::mem::replace(&mut self.now, Prompt::None)
    }

    fn stay(&mut self, prompt: Prompt) -> Vec<PromptEffect> {
        self.now = prompt;
        Vec::new()
    }

    /// A dialog that took no notice of its answer stands there as another prompt, and the one before does not go: a reply
    /// that still waits for that one has lost.
    fn supersede(&mut self) -> Option<PromptEffect> {
        match self.take() {
            Prompt::Told(_, Stage::Early { reply, .. }) => Some(PromptEffect::Refuse(reply)),
            Prompt::None | Prompt::AwaitingRequest { .. } | Prompt::Told(..) => None,
        }
    }

    fn open(&mut self, sighting: Sighting, by: Option<i32>, now: Moment) -> PromptEffect {
        self.now = Prompt::Told(Asked { no: sighting.no, told_at: now, by }, Stage::Open);
        self.is_line_sent = false;
        PromptEffect::Announce(Box::new(sighting))
    }

    /// # No key comes too early
    /// A dialog that was just drawn ignores keys for a moment, an event loop that works for a moment reads none, and a
    /// dialog that is being drawn anew is half there. The reply waits for that, and everything about it is judged then. One
    /// that waits for nothing, or whose prompt is not the one on the screen, is judged at once.
    fn replied(&mut self, reply: Reply, target: KeyTarget, now: Moment) -> Vec<PromptEffect> {
        let (no, tries) = (reply.request.sighting, reply.tries);
        let asked = match &self.now {
            Prompt::Told(asked, Stage::Open | Stage::Early { .. }) if asked.no == no => *asked,
            Prompt::None | Prompt::AwaitingRequest { .. } | Prompt::Told(..) => {
                return vec![PromptEffect::Judge(reply)];
            }
        };
        let again = (tries < MOST_TRIES).then(|| now + FIRST_TRY_AGAIN * (1 << tries));
        let listens_at = Some(asked.told_at + self.keys_after).filter(|listens_at| now < *listens_at);
        let (due, tries) = match target {
            KeyTarget::NeedsNoKey | KeyTarget::Gone => (None, tries),
            KeyTarget::HalfDrawn => (again, tries + 1),
            KeyTarget::Shown(field, reader) => {
                let listens_at = listens_at.filter(|_| field != Field::Text);
                match reader {
                    Waits::Nobody => (listens_at.or(again), tries + 1),
                    Waits::Read | Waits::Poll | Waits::Unknown => (listens_at, tries),
                }
            }
        };
        match due {
            Some(due) => {
                let reply = Reply { tries, ..reply };
                self.stay(Prompt::Told(asked, Stage::Early { reply, due }))
            }
            None => {
                self.now = Prompt::Told(asked, Stage::Open);
                vec![PromptEffect::Judge(reply)]
            }
        }
    }

    fn gone(&mut self, no: SightingNo, how: Departure) -> Vec<PromptEffect> {
        let (is_ours, reply) = match self.take() {
            // Nobody was told of it.
            Prompt::AwaitingRequest { sighting, .. } if sighting.no == no => return Vec::new(),
            Prompt::Told(asked, stage) if asked.no == no => match stage {
                Stage::Open | Stage::Settling => (false, None),
                Stage::Early { reply, .. } => (false, Some(reply)),
                Stage::Answering => (true, None),
            },
            other @ (Prompt::None | Prompt::AwaitingRequest { .. } | Prompt::Told(..)) => {
                self.now = other;
                (false, None)
            }
        };
        let fate = match how {
            _ if is_ours => RequestFate::Answered,
            Departure::Unprompted { .. } => RequestFate::WaitsOn,
            Departure::LocalInput | Departure::Injected | Departure::Ended => RequestFate::Over,
        };
        let mut effects = vec![PromptEffect::EndRequest(no, fate)];
        if is_ours {
            let presence = if how == Departure::Ended { Presence::Ended } else { Presence::Gone };
            effects.push(PromptEffect::LookLast(presence));
        }
        let how = match how {
            Departure::Injected => None,
            Departure::LocalInput => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Unprompted { echoed: true } => Some(lifecycle::Departure::OutOfBand),
            Departure::Unprompted { echoed: false } => Some(lifecycle::Departure::Withdrawn),
            // Its answer was its end: there was no time to see the prompt go.
            Departure::Ended if self.is_line_sent => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Ended => Some(lifecycle::Departure::ToolEnded),
        };
        if how == Some(lifecycle::Departure::AnsweredLocally) {
            self.answered_here.truncate(MOST_ANSWERED - 1);
            self.answered_here.push_front(no);
        }
        effects.push(PromptEffect::NoteGone(no, how));
        // What the gate answers is told by its outcome.
        effects.extend(how.filter(|_| !is_ours).map(|how| PromptEffect::ReportLeft(no, how)));
        effects.extend(reply.map(PromptEffect::Refuse));
        effects
    }

    /// # Nothing-lies-in-wait invariant
    /// What was typed and not read when its prompt is over would answer the next question, which nobody was shown: it is
    /// taken back. The keyboard was held meanwhile, so nothing of a person's is lost. Keys of theirs that come before
    /// anybody can have seen that a dialog is gone are dropped; lines are typed ahead, and wait.
    fn settled(
        &mut self,
        delivery: Delivery,
        outcome: Outcome,
        lies_unread: bool,
        now: Moment,
    ) -> Vec<PromptEffect> {
        if let Prompt::Told(asked, stage @ Stage::Answering) = &mut self.now
            && asked.no == delivery.sighting
        {
            *stage = Stage::Settling;
        }
        let is_typed = delivery.via == Via::Keys;
        let mut effects = Vec::new();
        // Of a line that was begun, the kernel does not say that it is there.
        if is_typed && (outcome == Outcome::NotTaken || lies_unread) {
            effects.push(PromptEffect::TakeBackKeys);
        }
        if delivery.field == Field::KeyDialog && outcome == Outcome::Taken {
            self.keys_late_until = now + UNSEEN;
            effects.push(PromptEffect::DropLateKeys);
        }
        effects.push(PromptEffect::TellOutcome(delivery, outcome));
        // A prompt that took no notice of a key may be answered again. What was said by a hook is on its way until the tool
        // ends it, however long that takes: a second answer could meet the first.
        if is_typed && outcome == Outcome::NotTaken {
            effects.push(PromptEffect::OfferAgain);
        }
        effects
    }
}
