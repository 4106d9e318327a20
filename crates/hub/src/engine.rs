//! Turns the rules: reads what an event is judged by, commits what follows, and hands out what leaves the hub.
//!
//! # Recorded-first invariant
//! Acts are carried out one after the other, and what a commit gives is judged before the next act. An error ends the
//! event there: nothing that would have followed is done, and what was committed is found again in the store.

use atlasbridge_channel::Address;
use atlasbridge_model::Now;
use atlasbridge_store::{Advance, FollowUp, Handling, NewPrompt, Outcome, PromptRecord, Store, StoreError};

use crate::core::Core;
use crate::core::acts::{Act, Change, Committed, Errand, Event, Outward, Shown};
use crate::core::view::{Board, Draw, Facts, Reads, Takes, View};
use crate::decide::MUTED_UNTIL;
use crate::pause;

/// Posts of one sort that are read for one target: it is given one task at a time, and what holds one of its new posts back
/// holds all of them. After an outage a thousand may be due.
const PORTION: u32 = 1;

/// What could not be done. The loop says so and goes on; a store that is lost ends the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An answer could neither be accepted nor refused.
    #[error("nothing was typed")]
    Answer(#[source] StoreError),
    /// A kernel without randomness: then nothing is decided.
    #[error("the kernel gives no random bytes ({0})")]
    NoRandomness(String),
    /// A simulated process was killed.
    #[cfg(test)]
    #[error("killed")]
    Killed,
}

impl Trouble {
    pub(crate) fn is_store_lost(&self) -> bool {
        match self {
            Trouble::Store(error) | Trouble::Answer(error) => error.is_store_lost(),
            Trouble::NoRandomness(_) => false,
            #[cfg(test)]
            Trouble::Killed => true,
        }
    }
}

/// What is outside: the real world, or a simulated one.
pub(crate) trait World {
    fn now(&self) -> Now;
    fn draw(&mut self) -> Result<Draw, Trouble>;
    /// What leaves the hub. An event that follows at once comes back.
    fn perform(&mut self, outward: Outward) -> impl Future<Output = Result<Option<Event>, Trouble>>;
    /// A transaction is about to be made, or was made.
    fn around(&mut self, _moment: Commit) -> Result<(), Trouble> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    Before,
    After,
}

/// The rules and the store.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) core: Core,
    pub(crate) store: Store,
}

impl Engine {
    /// An event, and all that follows from it.
    pub(crate) async fn happen(&mut self, event: Event, world: &mut impl World) -> Result<(), Trouble> {
        let mut pending = vec![Act::Then(event)];
        while let Some(act) = pending.pop() {
            let next = match act {
                Act::Then(event) => Some(event),
                Act::Commit(change) => {
                    world.around(Commit::Before)?;
                    let committed = self.commit(*change, || world.now()).await?;
                    world.around(Commit::After)?;
                    Some(Event::Committed(Box::new(committed)))
                }
                Act::Out(outward) => world.perform(*outward).await?,
            };
            if let Some(event) = next {
                let view = self.view(self.core.reads(&event), world).await?;
                pending.extend(self.core.on(event, &view).into_iter().rev());
            }
        }
        Ok(())
    }

    /// Shows what is to be shown, as long as showing it writes something.
    pub(crate) async fn look(&mut self, world: &mut impl World) -> Result<(), Trouble> {
        while self.core.channels.must_look(self.store.writes(), world.now().boot) {
            self.core.channels.looks(self.store.writes(), world.now().boot);
            if let Err(trouble) = self.happen(Event::Look, world).await {
                self.core.channels.look_failed();
                return Err(trouble);
            }
        }
        Ok(())
    }

    async fn view(&self, reads: Reads, world: &mut impl World) -> Result<View, Trouble> {
        let now = world.now();
        let mut view = View::new(now, world.draw()?);
        match reads {
            Reads::Nothing => {}
            Reads::Prompt(id) => {
                view.prompt = self.store.prompt(id).await?;
                if let Some(prompt) = &view.prompt {
                    view.session = self.facts(prompt.session).await?;
                }
            }
            Reads::Session(id) => view.session = self.facts(id).await?,
            Reads::Due => view.prompts = self.store.due(now).await?,
            Reads::Open => {
                let open = self.store.open_prompts().await?;
                view.prompts = open.into_iter().map(|open| open.prompt).collect();
            }
            Reads::Polled(channel) => {
                view.last_poll = self.store.polled_at(channel).await?;
                view.prompts = self.store.shown_and_waiting(channel).await?;
            }
            Reads::Undelivered(session) => view.undelivered = self.store.undelivered(session).await?,
            Reads::Texts => {
                for text in self.store.open_texts().await? {
                    if let Some(session) = self.store.session(text.text.session).await? {
                        view.texts.push((text, session));
                    }
                }
            }
            Reads::Boards(channels) => {
                for (channel, takes) in channels {
                    view.boards.push(self.board(channel, takes, now).await?);
                }
            }
        }
        Ok(view)
    }

    async fn facts(&self, session: atlasbridge_model::SessionId) -> Result<Option<Facts>, Trouble> {
        let Some(record) = self.store.session(session).await? else { return Ok(None) };
        Ok(Some(Facts {
            record,
            prompts: self.store.live_prompts(session).await?,
            idle: self.store.last_idle(session).await?,
            queued: self.store.queued_text(session).await?,
            unsent: self.store.unsent_text(session).await?,
        }))
    }

    async fn board(&self, channel: &'static str, takes: Takes, now: Now) -> Result<Board, Trouble> {
        let next = self.store.next_post_time(channel, now).await?;
        let mut board = Board { channel, next, ..Board::default() };
        if takes == Takes::Nothing {
            return Ok(board);
        }
        board.notices = self.store.due_notices(channel).await?;
        for due in self.store.due_posts(channel, PORTION, now).await? {
            let muted = self.store.chat_state(channel, &due.post.target, MUTED_UNTIL).await?;
            let until = muted.and_then(|until| until.parse().ok()).map(atlasbridge_model::Timestamp);
            board.posts.push((due, until));
        }
        Ok(board)
    }

    /// One transaction. What it came to is judged next. Whatever holds us up before it, the guard judges by the time after it:
    /// so the clock is read where the store is called.
    async fn commit(&self, change: Change, now: impl Fn() -> Now) -> Result<Committed, Trouble> {
        let store = &self.store;
        Ok(match change {
            Change::Contend { answer, follows, asked } => {
                pause::point("hub-before-accept");
                let (came, by) = (asked.by.came(), asked.by.clone());
                let then = move |outcome: &Outcome| match outcome {
                    Outcome::Won { .. } => follows.of(None, &by),
                    Outcome::Refused(refusal) => follows.of(Some(refusal), &by),
                };
                let outcome = store.accept(answer, came, then, now()).await.map_err(Trouble::Answer)?;
                pause::point("hub-after-accept");
                Committed::Contended { outcome, asked }
            }
            Change::Leave { cancel, follows, asked } => {
                let (came, by) = (asked.by.came(), asked.by.clone());
                let then = move |advance: &Advance| match advance {
                    Advance::Moved(_) => follows.of(None, &by),
                    Advance::Refused(refusal) => follows.of(Some(refusal), &by),
                };
                Committed::Left { advance: store.cancel(cancel, came, then, now()).await?, asked }
            }
            Change::Note { follow, verdict, asked } => {
                let came = asked.by.came();
                let handling = if came.is_none() && follow == FollowUp::default() {
                    Handling::Done
                } else {
                    store.follow_up(came, follow, now()).await?
                };
                Committed::Noted { handling, verdict, asked }
            }
            Change::SendQueued { prompt, refused } => {
                let then = move |outcome: &Outcome| refused.of(outcome);
                let outcome = store.accept_queued(prompt, then, now()).await.map_err(Trouble::Answer)?;
                Committed::QueuedSent { outcome }
            }
            Change::Follow(follow) => {
                store.follow_up(None, follow, now()).await?;
                Committed::Done
            }
            Change::Expire { prompt, fallback } => {
                pause::point("hub-before-expire");
                Committed::Advanced(store.expire(prompt, fallback, now()).await?)
            }
            Change::Advance { prompt, event } => {
                pause::point("hub-before-outcome");
                Committed::Advanced(store.advance(prompt, &event, now()).await?)
            }
            Change::Record { new, typed_ago } => {
                Committed::Recorded { prompt: self.record(new, now).await?, typed_ago }
            }
            Change::Promote { session } => Committed::Promoted(store.promote_next(session, now()).await?),
            Change::Offer { prompt, to, not_before } => {
                for (channel, targets) in to {
                    store.offer(prompt, channel, &targets, not_before, now()).await?;
                }
                Committed::Done
            }
            Change::OfferAgain { prompt, nonce } => {
                Committed::OfferedAgain(store.reoffer(prompt, nonce, now()).await?)
            }
            Change::EndSession { session, status, code } => {
                pause::point("hub-before-end");
                store.end_session(session, status, code, now()).await?;
                tracing::info!(%session, status = status.as_str(), code, "session ended");
                Committed::Done
            }
            Change::CountDown { channels } => {
                let mut waiting = 0;
                for channel in channels {
                    waiting += store.touch_waiting(channel, now()).await?;
                }
                Committed::CountedDown { waiting }
            }
            Change::Channel(shown) => {
                self.note_shown(shown, now).await?;
                Committed::Done
            }
        })
    }

    async fn record(&self, new: NewPrompt, now: impl Fn() -> Now) -> Result<PromptRecord, StoreError> {
        pause::point("hub-before-record");
        let (session, kind) = (new.session, new.sighting.kind);
        let recorded = self.store.record_prompt(new, now()).await?;
        if recorded.fresh {
            tracing::info!(%session, prompt = %recorded.prompt.id, %kind, "prompt recorded");
        }
        pause::point("hub-after-record");
        Ok(recorded.prompt)
    }

    async fn note_shown(&self, shown: Shown, now: impl Fn() -> Now) -> Result<(), StoreError> {
        pause::point("hub-before-task-done");
        let (store, now) = (&self.store, now());
        match shown {
            Shown::Done { errand: Errand::Post { id, wanted }, address: Some(Address(address)) } => {
                store.posted(id, &address, wanted, now).await
            }
            Shown::Done { errand: Errand::Post { id, wanted }, address: None } => {
                store.edited(id, wanted, now).await
            }
            Shown::Done { errand: Errand::Notice { id }, .. } => store.notice_sent(id, now).await,
            Shown::Dropped { errand: Errand::Post { id, .. }, why } => store.drop_post(id, &why, now).await,
            Shown::Dropped { errand: Errand::Notice { id }, why } => store.drop_notice(id, &why, now).await,
            Shown::Polled { channel } => store.set_polled_at(channel, now).await,
        }?;
        pause::point("hub-after-task-done");
        Ok(())
    }
}
