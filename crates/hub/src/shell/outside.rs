//! The real world: clocks, the kernel's randomness, the session hosts, the channels, and the people who wait.

use std::collections::HashMap;
use std::path::PathBuf;

use atlasbridge_model::answer::Rules;
use atlasbridge_model::{Now, PromptId};
use atlasbridge_store::{OpenPrompt, Store};
use atlasbridge_wire::session::ToSession;

use super::open_channels::OpenChannels;
use super::random;
use crate::core::acts::{Event, Outward};
use crate::core::view::Draw;
use crate::decide::{Caller, Refused, Verdict};
use crate::desks::{PromptNow, Way};
use crate::engine::{Trouble, World};
use crate::registry::Registry;
use crate::{clock, pause};

pub(super) struct Outside {
    pub(super) store: Store,
    pub(super) registry: Registry,
    pub(super) channels: OpenChannels,
    pub(super) ways: HashMap<Caller, Way>,
    pub(super) next_caller: u64,
    pub(super) journals: PathBuf,
    pub(super) rules: Rules,
}

impl Outside {
    /// Somebody waits for a verdict.
    pub(super) fn caller(&mut self, way: Way) -> Caller {
        self.next_caller += 1;
        let caller = Caller(self.next_caller);
        self.ways.insert(caller, way);
        caller
    }

    /// Grows with everything that people see and that is not stored.
    pub(super) fn changes(&self) -> u64 {
        self.registry.changes + self.channels.changes
    }

    pub(super) fn journal(&self, session: atlasbridge_model::SessionId) -> PathBuf {
        self.journals.join(format!("{session}.jsonl"))
    }

    async fn tell(&mut self, caller: Caller, verdict: &Verdict) -> Result<(), Trouble> {
        let Some(way) = self.ways.remove(&caller) else { return Ok(()) };
        let mut standing = None;
        if let Verdict::Standing { prompt, .. } = verdict {
            standing = self.standing(*prompt).await?;
        }
        way.tell(verdict, standing.as_ref());
        Ok(())
    }

    async fn standing(&self, prompt: PromptId) -> Result<Option<PromptNow>, Trouble> {
        let Some(prompt) = self.store.prompt(prompt).await? else { return Ok(None) };
        let session = self.store.session(prompt.session).await?;
        let reply = self.store.reply_of(prompt.id).await?;
        let (rules, now) = (self.rules, self.now());
        Ok(session.map(|session| PromptNow { open: OpenPrompt { prompt, session }, reply, rules, now }))
    }
}

impl World for Outside {
    fn now(&self) -> Now {
        clock::now()
    }

    fn draw(&mut self) -> Result<Draw, Trouble> {
        Ok(Draw::from_random([random()?, random()?, random()?, random()?, random()?]))
    }

    async fn perform(&mut self, outward: Outward) -> Result<Option<Event>, Trouble> {
        match outward {
            Outward::Inject { session, inject } => {
                pause::point("hub-before-deliver");
                self.registry.send(session, ToSession::Inject(inject));
                pause::point("hub-after-deliver");
            }
            Outward::Give { channel, outgoing } => return Ok(self.channels.give(channel, outgoing)),
            Outward::Tell { caller, verdict } => self.tell(caller, &verdict).await?,
            Outward::Stop { session, caller } => {
                let host_pid = session.host_pid;
                let verdict = match self.registry.send(session.id, ToSession::Stop) {
                    true => Verdict::Stopping { session },
                    false => Verdict::Refused(Refused::HostAway { host_pid }),
                };
                if let Some(caller) = caller {
                    self.tell(caller, &verdict).await?;
                }
            }
            Outward::SessionOver { session } => self.registry.screen_ended(session),
            Outward::ForgetJournal { session } => drop(std::fs::remove_file(self.journal(session))),
        }
        Ok(None)
    }
}
