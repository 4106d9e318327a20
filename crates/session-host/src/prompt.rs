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
    now: Option<OnScreen>,
    /// A line was sent from the keyboard since the hub was told of it: a tool that ends now has read it.
    is_line_sent: bool,
    /// Answered at the keyboard: a reply that comes too late is told so.
    answered_here: VecDeque<SightingNo>,
    /// Until then keys were meant for a dialog that is gone.
    keys_late_until: Moment,
    /// A dialog that was just drawn takes no keys yet: for how long.
    keys_after: Duration,
}

/// The prompt on the screen.
#[derive(Debug)]
struct OnScreen {
    no: SightingNo,
    /// The foreground process group when it was seen.
    by: Option<i32>,
    /// When it was seen; from [`Stage::Open`] on, when the hub was told.
    told_at: Moment,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A dialog is drawn, and the request of its hook has not come: nobody was told of it.
    AwaitingRequest { sighting: Box<Sighting>, until: Moment },
    /// The hub was told of it.
    Open,
    /// Its reply came before anybody takes its keys.
    Early { reply: Reply, due: Moment },
    /// Its reply is typed, or said by a hook, and not proved yet.
    Answering,
    /// What became of its reply is told, and it stands there still.
    Settling,
}

impl OnScreen {
    /// When something follows although nothing happened.
    fn due(&self) -> Option<Moment> {
        match self.stage {
            Stage::AwaitingRequest { until: due, .. } | Stage::Early { due, .. } => Some(due),
            Stage::Open | Stage::Answering | Stage::Settling => None,
        }
    }
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
    Seen { sighting: Box<Sighting>, by: Option<i32>, awaits_request: bool },
    /// A request came by a hook, whichever it is.
    RequestCame,
    /// The detector does not see it any more.
    Gone(SightingNo, Departure),
    /// The hub sent a reply, or the time has come to look at it again.
    Reply(Reply, KeyTarget),
    /// The gate has begun with its reply.
    Injected(SightingNo),
    /// The gate is done with a reply. Perhaps something lies unread in the tool's terminal.
    Settled { delivery: Delivery, outcome: Outcome, lies_unread: bool },
    /// Enter, Ctrl-C or Ctrl-D from the keyboard, here or elsewhere.
    LineSent,
    /// Time has passed.
    Tick,
}

type Effects = Vec<PromptEffect>;

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
            now: None,
            is_line_sent: false,
            answered_here: VecDeque::new(),
            keys_late_until: Moment::default(),
            keys_after,
        }
    }

    pub(crate) fn step(&mut self, event: PromptEvent, now: Moment) -> Effects {
        match event {
            PromptEvent::Seen { sighting, by, awaits_request } => {
                let mut effects = Vec::from_iter(self.supersede());
                if awaits_request {
                    let no = sighting.no;
                    let stage = Stage::AwaitingRequest { sighting, until: now + REQUEST_COMES };
                    self.now = Some(OnScreen { no, by, told_at: now, stage });
                } else {
                    effects.push(self.open(sighting, by, now));
                }
                effects
            }
            PromptEvent::RequestCame => Vec::from_iter(self.open_awaited(now)),
            PromptEvent::Tick => self.tick(now),
            PromptEvent::Gone(no, how) => self.gone(no, how),
            PromptEvent::Reply(reply, target) => self.replied(reply, target, now),
            PromptEvent::Injected(no) => {
                if let Some(stage @ Stage::Open) = self.stage_of(no) {
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
        self.now.as_ref()?.due()
    }

    /// The foreground process group that asks.
    pub(crate) fn asked_by(&self) -> Option<i32> {
        let told = |asked: &&OnScreen| !matches!(asked.stage, Stage::AwaitingRequest { .. });
        self.now.as_ref().filter(told)?.by
    }

    pub(crate) fn was_answered_here(&self, no: SightingNo) -> bool {
        self.answered_here.contains(&no)
    }

    /// Keys that come now were pressed for a dialog that an answer from elsewhere has just closed.
    pub(crate) fn are_keys_late(&self, now: Moment) -> bool {
        now < self.keys_late_until
    }

    fn stage_of(&mut self, no: SightingNo) -> Option<&mut Stage> {
        self.now.as_mut().filter(|asked| asked.no == no).map(|asked| &mut asked.stage)
    }

    /// A dialog that took no notice of its answer stands there as another prompt, and the one before does not go: a reply
    /// that still waits for that one has lost.
    fn supersede(&mut self) -> Option<PromptEffect> {
        match self.now.take()?.stage {
            Stage::Early { reply, .. } => Some(PromptEffect::Refuse(reply)),
            Stage::AwaitingRequest { .. } | Stage::Open | Stage::Answering | Stage::Settling => None,
        }
    }

    fn open(&mut self, sighting: Box<Sighting>, by: Option<i32>, now: Moment) -> PromptEffect {
        self.now = Some(OnScreen { no: sighting.no, by, told_at: now, stage: Stage::Open });
        self.is_line_sent = false;
        PromptEffect::Announce(sighting)
    }

    /// The hub is told of a dialog without waiting any longer for its request.
    fn open_awaited(&mut self, now: Moment) -> Option<PromptEffect> {
        let awaits = |asked: &mut OnScreen| matches!(asked.stage, Stage::AwaitingRequest { .. });
        let OnScreen { by, stage: Stage::AwaitingRequest { sighting, .. }, .. } = self.now.take_if(awaits)?
        else {
            return None;
        };
        Some(self.open(sighting, by, now))
    }

    fn tick(&mut self, now: Moment) -> Effects {
        let Some(asked) = self.now.take_if(|asked| asked.due().is_some_and(|due| due <= now)) else {
            return Vec::new();
        };
        match asked.stage {
            Stage::AwaitingRequest { sighting, .. } => {
                vec![PromptEffect::NoteUnasked, self.open(sighting, asked.by, now)]
            }
            Stage::Early { reply, .. } => {
                self.now = Some(OnScreen { stage: Stage::Open, ..asked });
                vec![PromptEffect::Consider(reply)]
            }
            Stage::Open | Stage::Answering | Stage::Settling => Vec::new(),
        }
    }

    /// # No key comes too early
    /// A dialog that was just drawn ignores keys for a moment, an event loop that works for a moment reads none, and a
    /// dialog that is being drawn anew is half there. The reply waits for that, and everything about it is judged then. One
    /// that waits for nothing, or whose prompt is not the one on the screen, is judged at once.
    fn replied(&mut self, reply: Reply, target: KeyTarget, now: Moment) -> Effects {
        let (no, tries) = (reply.request.sighting, reply.tries);
        let waits = |asked: &&mut OnScreen| {
            asked.no == no && matches!(asked.stage, Stage::Open | Stage::Early { .. })
        };
        let Some(asked) = self.now.as_mut().filter(waits) else { return vec![PromptEffect::Judge(reply)] };
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
                asked.stage = Stage::Early { reply: Reply { tries, ..reply }, due };
                Vec::new()
            }
            None => {
                asked.stage = Stage::Open;
                vec![PromptEffect::Judge(reply)]
            }
        }
    }

    fn gone(&mut self, no: SightingNo, how: Departure) -> Effects {
        let gone = self.now.take_if(|asked| asked.no == no);
        let (is_ours, reply) = match gone.map(|asked| asked.stage) {
            // Nobody was told of it.
            Some(Stage::AwaitingRequest { .. }) => return Vec::new(),
            Some(Stage::Early { reply, .. }) => (false, Some(reply)),
            Some(Stage::Answering) => (true, None),
            Some(Stage::Open | Stage::Settling) | None => (false, None),
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
    fn settled(&mut self, delivery: Delivery, outcome: Outcome, lies_unread: bool, now: Moment) -> Effects {
        if let Some(stage @ Stage::Answering) = self.stage_of(delivery.sighting) {
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
