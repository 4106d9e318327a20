//! Everything outside a simulated hub, and the promises about what leaves it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use atlasbridge_channel::{Done, Undelivered};
use atlasbridge_model::answer::{Value, default_value};
use atlasbridge_model::{Now, PromptId, SessionId};
use atlasbridge_store::Store;
use atlasbridge_wire::session::Inject;

use super::chat::Chat;
use super::dice::Dice;
use super::host::Host;
use super::life::Figures;
use crate::core::acts::{Event, Outward};
use crate::core::view::Draw;
use crate::decide::{Caller, Verdict};
use crate::engine::{Commit, Trouble, World};

/// Everything outside the hub.
pub(super) struct Outer {
    pub(super) now: Now,
    pub(super) dice: Dice,
    pub(super) hosts: Vec<Host>,
    pub(super) chat: Chat,
    /// For checks only: what is on record when something leaves the hub.
    pub(super) store: Option<Store>,
    /// The commit at which this hub dies, and on which side of it.
    pub(super) dies: Option<(u32, Commit)>,
    pub(super) commits: u32,
    /// Values that somebody gave for a prompt, and texts for a session.
    pub(super) said: HashMap<PromptId, Vec<Value>>,
    pub(super) instructed: HashSet<(SessionId, String)>,
    /// The one reply that was sent for each prompt.
    pub(super) sent: HashMap<PromptId, String>,
    /// Who waits for a verdict of this hub.
    pub(super) callers: HashSet<Caller>,
    pub(super) next_caller: u64,
    pub(super) broken: Option<String>,
    /// Only where somebody will read it: most of the time would go into telling.
    pub(super) story: Option<String>,
    pub(super) figures: Figures,
}

impl Outer {
    pub(super) fn tell(&mut self, line: std::fmt::Arguments<'_>) {
        if let Some(story) = &mut self.story {
            let _ = writeln!(story, "{:>9} {line}", self.now.boot.0);
        }
    }

    pub(super) fn promise(&mut self, is_kept: bool, what: std::fmt::Arguments<'_>) {
        if !is_kept && self.broken.is_none() {
            self.tell(format_args!("BROKEN: {what}"));
            self.broken = Some(what.to_string());
        }
    }

    /// # What is promised of everything that is to be typed
    /// It is on record; it is the only reply of its prompt; somebody said it, or silence refuses with it.
    async fn check_inject(&mut self, inject: &Inject) {
        let Some(store) = self.store.clone() else { return };
        let prompt: PromptId = inject.prompt_id.parse().unwrap();
        let reply = store.reply_of(prompt).await.unwrap();
        let reply = reply.filter(|reply| reply.id.to_string() == inject.reply_id);
        self.promise(reply.is_some(), format_args!("a reply was sent that is not on record"));
        let (Some(reply), Some(record)) = (reply, store.prompt(prompt).await.unwrap()) else { return };
        let first = self.sent.entry(prompt).or_insert_with(|| inject.reply_id.clone()).clone();
        self.promise(first == inject.reply_id, format_args!("two replies were sent for prompt {prompt}"));
        let value = reply.value.clone();
        if inject.by_silence {
            self.figures.silences += 1;
            let safe = default_value(&record.sighting).ok();
            self.promise(value == safe && safe.is_some(), format_args!("silence typed {value:?}"));
        } else {
            let by_text = match &value {
                Some(Value::Text(text)) => self.instructed.contains(&(record.session, text.clone())),
                _ => false,
            };
            let by_answer = value
                .as_ref()
                .is_some_and(|value| self.said.get(&prompt).is_some_and(|said| said.contains(value)));
            self.promise(by_answer || by_text, format_args!("nobody said {value:?} to {prompt}"));
        }
    }
}

impl World for Outer {
    fn now(&self) -> Now {
        self.now
    }

    fn draw(&mut self) -> Result<Draw, Trouble> {
        let dice = &mut self.dice;
        Ok(Draw::from_random([dice.bytes(), dice.bytes(), dice.bytes(), dice.bytes(), dice.bytes()]))
    }

    async fn perform(&mut self, outward: Outward) -> Result<Option<Event>, Trouble> {
        match outward {
            Outward::Inject { session, inject } => {
                self.check_inject(&inject).await;
                let host = self.hosts.iter_mut().find(|host| host.session() == session);
                if let Some(host) = host.filter(|host| host.is_connected) {
                    host.inbox.push(inject);
                }
            }
            Outward::Give { channel, outgoing } => {
                if self.dice.once_in(40) {
                    let (job, target) = (outgoing.job, outgoing.target);
                    self.chat.held.insert(target.clone(), self.now.boot.plus_millis(1_000));
                    let done = Done::NotShown(Undelivered::Later { after: Duration::from_secs(1) });
                    return Ok(Some(Event::TaskDone { channel, job, target, done }));
                }
                self.chat.tasks.push_back(outgoing);
            }
            Outward::Tell { caller, verdict } => {
                if self.story.is_some() {
                    self.tell(format_args!("{caller:?} hears {}", short(&verdict)));
                }
                let waited = self.callers.remove(&caller);
                self.promise(waited, format_args!("{caller:?} was told twice"));
            }
            Outward::Stop { session, caller, .. } => {
                let host =
                    self.hosts.iter_mut().find(|host| host.session() == session.id && host.is_connected);
                if let Some(host) = host {
                    host.end();
                }
                if let Some(caller) = caller {
                    self.callers.remove(&caller);
                }
            }
            Outward::SessionOver { .. } => {}
            Outward::ForgetJournal { session } => {
                if let Some(host) = self.hosts.iter_mut().find(|host| host.session() == session) {
                    host.journal.clear();
                }
            }
        }
        Ok(None)
    }

    fn around(&mut self, moment: Commit) -> Result<(), Trouble> {
        if moment == Commit::Before {
            self.commits += 1;
        }
        match self.dies {
            Some(dies) if dies == (self.commits, moment) => Err(Trouble::Killed),
            Some(_) | None => Ok(()),
        }
    }
}

fn short(verdict: &Verdict) -> String {
    let mut text = format!("{verdict:?}");
    text.truncate(text.floor_char_boundary(120));
    text
}
