//! A chat service with two operators: messages that stand there, tasks under way, and taps that come again until they are
//! confirmed.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use atlasbridge_channel::{Address, Card, Done, Outgoing, Target, Task, Undelivered};
use atlasbridge_model::BootTime;

use super::dice::Dice;
use crate::core::acts::Event;
use crate::core::channels::Subscription;
use crate::decide::Matter;

pub(super) const CHANNEL: &str = "chat";
pub(super) const OPERATORS: [&str; 2] = ["7", "8"];

/// A message of a prompt.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) target: Target,
    pub(super) card: Card,
}

/// Something that an operator did, by its number.
#[derive(Debug, Clone)]
pub(super) struct Update {
    pub(super) no: i64,
    pub(super) target: Target,
    pub(super) matter: Matter,
}

#[derive(Debug)]
pub(super) struct Chat {
    pub(super) is_online: bool,
    wants_notices: bool,
    pub(super) tasks: VecDeque<Outgoing>,
    pub(super) messages: HashMap<String, Message>,
    /// Until when each target takes nothing, as it said.
    pub(super) held: HashMap<Target, BootTime>,
    /// What was done there and not confirmed.
    pub(super) updates: VecDeque<Update>,
    next: i64,
}

impl Chat {
    pub(super) fn new(wants_notices: bool) -> Self {
        Self {
            wants_notices,
            is_online: true,
            tasks: VecDeque::new(),
            messages: HashMap::new(),
            held: HashMap::new(),
            updates: VecDeque::new(),
            next: 1,
        }
    }

    pub(super) fn subscription(&self) -> Subscription {
        Subscription {
            name: CHANNEL,
            targets: OPERATORS.map(|id| Target(id.to_owned())).to_vec(),
            notify_start: self.wants_notices,
            notify_end: self.wants_notices,
        }
    }

    pub(super) fn act(&mut self, target: Target, matter: Matter) {
        self.next += 1;
        self.updates.push_back(Update { no: self.next, target, matter });
    }

    /// What becomes of the oldest task, and what the hub hears of it.
    pub(super) fn work(&mut self, dice: &mut Dice, now: BootTime) -> Option<Event> {
        let Outgoing { job, target, task } = self.tasks.pop_front()?;
        let done = if !self.is_online || dice.once_in(15) {
            let after = Duration::from_millis(dice.next() % 20_000);
            self.held.insert(target.clone(), now.plus_millis(after.as_millis() as i64 + 1));
            Done::NotShown(Undelivered::Later { after })
        } else {
            self.held.remove(&target);
            Done::Shown { address: self.show(&target, task) }
        };
        Some(Event::TaskDone { channel: CHANNEL, job, target, done })
    }

    /// The hub died: what was under way may have arrived, and nobody heard of it.
    pub(super) fn lose_tasks(&mut self, dice: &mut Dice) {
        while let Some(Outgoing { target, task, .. }) = self.tasks.pop_front() {
            if self.is_online && dice.once_in(2) {
                self.show(&target, task);
            }
        }
        self.held.clear();
    }

    fn show(&mut self, target: &Target, task: Task) -> Option<Address> {
        match task {
            Task::Post(card) => {
                self.next += 1;
                let address = format!("{}:{}", target.0, self.next);
                self.messages.insert(address.clone(), Message { target: target.clone(), card });
                Some(Address(address))
            }
            Task::Edit { address, card } => {
                self.messages.insert(address.0, Message { target: target.clone(), card });
                None
            }
            Task::Notify { .. } | Task::File { .. } => None,
        }
    }
}
