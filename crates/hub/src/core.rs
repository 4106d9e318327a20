//! The rules of the hub: what happened and what is known go in, what follows comes out.
//!
//! No clock, no socket, no task, no SQL in here: [`Engine`](crate::engine::Engine) reads the [`View`] that an event asks for,
//! commits the changes and performs the rest. So a rule is tested by a row, and a simulation runs a thousand lives of
//! a hub in seconds.
//!
//! # Recorded-first invariant
//! What reaches a session, a chat or a person about a decision follows from [`Event::Committed`], never from the event
//! that asked for it.
//!
//! # Nothing-rung invariant
//! No rule announces that something is to be shown anew. Messages, page and watchers follow from what was written: the
//! shell compares the store's count of writes.

pub(crate) mod acts;
pub(crate) mod channels;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::collections::HashMap;
use std::time::Duration;

use atlasbridge_channel::{Address, Task};
use atlasbridge_model::answer::{Source, Value, default_value};
use atlasbridge_model::lifecycle::{self, Departure, Do, Failure, NotApplied, PromptState};
use atlasbridge_model::speech::{self, Instruction};
use atlasbridge_model::{BootTime, Kind, Now, PromptId, ReplyId, SessionId, Sighting};
use atlasbridge_store::{
    Advance, Delivery, DuePost, FollowUp, Handling, Moved, NewNotice, NewPrompt, Once, Outcome, PromptRecord,
    SessionRecord, SessionStatus, TextMove,
};
use atlasbridge_wire::journal::Trace;
use atlasbridge_wire::session::Inject;
use atlasbridge_wire::twin;

use self::acts::{Act, Asker, Change, Committed, Event, Follows, Outward, QueuedRefused, Shown};
use self::channels::{Channels, Subscription};
use self::view::{Reads, View};
use crate::cards::card;
use crate::decide::{self, Actor, Caller, Decision, Matter, Refused, Ruling, Unfit, Verdict};
use crate::desks::chat;
use crate::notice::Body;
use crate::{Settings, words};

/// How long a command or the page waits for the proof that its answer was taken: the gate's own limit and a little more.
const PROOF_LIMIT: Duration = Duration::from_secs(4);
/// How long a tap waits for it: the chat shows a spinner meanwhile.
const RECEIPT_LIMIT: Duration = Duration::from_secs(2);
/// Telegram keeps a tap for 150 s: after a longer silence some may be lost, and what waits is offered again.
const LONGEST_GAP: Duration = Duration::from_secs(120);

/// What the hub knows that is not in the store. All of it is gone with the process, and none of it is needed again.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) channels: Channels,
    /// Grows with each start: a session host obeys no older hub.
    epoch: u64,
    /// Those who wait for the end of a prompt.
    waiting: Vec<Waiting>,
    /// Secrets on their way to a terminal.
    secrets: HashMap<ReplyId, Value>,
    /// How people on channels call themselves, by the id on record.
    names: HashMap<String, String>,
}

#[derive(Debug)]
struct Waiting {
    caller: Caller,
    prompt: PromptId,
    /// What was accepted.
    answer: Option<String>,
    until: BootTime,
}

impl Core {
    pub(crate) fn new(settings: Settings, epoch: u64) -> Self {
        Self {
            settings,
            channels: Channels::default(),
            epoch,
            waiting: Vec::new(),
            secrets: HashMap::new(),
            names: HashMap::new(),
        }
    }

    pub(crate) fn learn_name(&mut self, id: &str, name: String) {
        self.names.insert(id.to_owned(), name);
    }

    /// When something is to be done without anything happening before; deadlines of prompts are in the store.
    pub(crate) fn next_time(&self) -> Option<BootTime> {
        self.waiting.iter().map(|waiting| waiting.until).chain(self.channels.next_time()).min()
    }

    /// What this event is judged by.
    pub(crate) fn reads(&self, event: &Event) -> Reads {
        match event {
            Event::Decided(decision) => match &decision.matter {
                Matter::Answer(answer) => {
                    answer.on.as_ref().map_or(Reads::Nothing, |offer| Reads::Prompt(offer.prompt))
                }
                Matter::Instruct { session, .. }
                | Matter::TakeBack { session, .. }
                | Matter::Stop { session }
                | Matter::Resume { session }
                | Matter::Switch { session } => Reads::Session(*session),
                Matter::Mute { .. } => Reads::Nothing,
            },
            Event::Outcome { prompt, .. } | Event::TimeUp { prompt } => Reads::Prompt(*prompt),
            Event::Sighted { session, .. }
            | Event::Left { session, .. }
            | Event::ToolEnded { session, .. }
            | Event::HostLost { session, .. }
            | Event::SendQueued { session } => Reads::Session(*session),
            Event::Moment => Reads::Due,
            Event::ChannelOpened(_) => Reads::Open,
            Event::SettleTexts => Reads::Texts,
            Event::Deliver { session } => Reads::Undelivered(*session),
            Event::Polled { channel, .. } => Reads::Polled(channel),
            Event::Look => Reads::Boards(self.channels.boards()),
            Event::Started { .. }
            | Event::Began(_)
            | Event::TaskDone { .. }
            | Event::OfferAgain { .. }
            | Event::Committed(_) => Reads::Nothing,
        }
    }

    /// One event: what follows from it, given what is known.
    pub(crate) fn on(&mut self, event: Event, view: &View) -> Vec<Act> {
        match event {
            Event::Started { sessions } => started(sessions),
            Event::Decided(decision) => self.decided(&decision, view),
            Event::Began(record) => {
                self.tell_all(|channel| channel.notify_start, &words::started(&record)).into_iter().collect()
            }
            Event::Sighted { session, sighting, typed_ago } => {
                self.sighted(session, *sighting, typed_ago, view).into_iter().collect()
            }
            Event::Left { sighting, how, .. } => left(sighting, how, view),
            Event::Outcome { session, what, .. } => self.outcome(session, what, view),
            Event::ToolEnded { session, status, code } => self.tool_ended(session, status, code, view),
            Event::HostLost { session, traces } => self.host_lost(session, &traces, view),
            Event::Moment => self.moment(view),
            Event::TimeUp { prompt } => self.time_up(prompt, view),
            Event::SendQueued { .. } => self.send_queued(view),
            Event::SettleTexts => settle_texts(view),
            Event::Deliver { session } => self.deliver(session, &view.undelivered),
            Event::ChannelOpened(subscription) => {
                self.channels.open(subscription, view.now);
                let offered = view.prompts.iter();
                offered.map(|prompt| self.offer(prompt.id, None, view.now)).collect()
            }
            Event::TaskDone { channel, job, target, done } => {
                self.channels.done(channel, job, &target, done, view.now).into_iter().collect()
            }
            Event::Polled { channel, gap } => polled(channel, gap, view),
            Event::OfferAgain { prompt } => {
                vec![Change::OfferAgain { prompt, nonce: view.draw.nonce }.into()]
            }
            Event::Look => self.look(view),
            Event::Committed(committed) => self.committed(*committed, view),
        }
    }

    /// A decision: what contends goes to the guard, what does not is on record, with the words that its chat is told.
    fn decided(&mut self, decision: &Decision, view: &View) -> Vec<Act> {
        let asked = Asker { by: decision.by.clone(), caller: decision.caller };
        let change = match decide::decide(decision, view, self.settings.rules()) {
            Ruling::Contend { answer, won } => {
                Change::Contend { answer, follows: self.follows(won, decision, view), asked }
            }
            Ruling::Leave(cancel) => {
                let follows = self.follows(FollowUp::default(), decision, view);
                Change::Leave { cancel, follows, asked }
            }
            Ruling::Record { mut follow, verdict } => {
                let told = chat::told(decision, &verdict, view);
                follow.notices.extend(told.notices);
                follow.ask = told.ask;
                follow.take_ask.clone_from(&decision.spent);
                Change::Note { follow, verdict, asked }
            }
        };
        vec![change.into()]
    }

    fn follows(&self, won: FollowUp, decision: &Decision, view: &View) -> Follows {
        Follows {
            won,
            spent: decision.spent.clone(),
            of_pause: view.session.as_ref().map(|facts| self.of_pause(&facts.record)).unwrap_or_default(),
        }
    }

    /// What everybody is told when a session is paused.
    fn of_pause(&self, session: &SessionRecord) -> Vec<NewNotice> {
        self.channels.notices(|_| true, &words::paused(session))
    }

    fn tell_all(&self, wants: impl Fn(&Subscription) -> bool, told: &Body) -> Option<Act> {
        let notices = self.channels.notices(wants, told);
        (!notices.is_empty()).then(|| Change::Follow(FollowUp { notices, ..FollowUp::default() }).into())
    }

    /// A session that has ended shows nothing: a prompt of it would wait for ever.
    fn sighted(
        &self,
        session: SessionId,
        sighting: Sighting,
        typed_ago: Option<Duration>,
        view: &View,
    ) -> Option<Act> {
        view.session.as_ref().filter(|facts| facts.is_active())?;
        let expires = sighting.kind != Kind::Idle;
        let at_once = sighting.kind == Kind::FreeText && !self.settings.free_text_enabled;
        let ttl = if at_once { Duration::ZERO } else { self.settings.ttl };
        let new = NewPrompt {
            id: view.draw.prompt,
            session,
            sighting,
            nonce: view.draw.nonce,
            ttl: expires.then_some(ttl),
        };
        Some(Change::Record { new, typed_ago }.into())
    }

    /// Lets every channel show this prompt. A chat waits a little while somebody types at the prompt's own terminal.
    fn offer(&self, prompt: PromptId, typed_ago: Option<Duration>, now: Now) -> Act {
        let grace = typed_ago.map_or(Duration::ZERO, |ago| self.settings.presence_grace.saturating_sub(ago));
        let not_before = now.boot.plus_millis(grace.as_millis() as i64);
        Change::Offer { prompt, to: self.channels.all_targets(), not_before }.into()
    }

    /// # Own-replies-only invariant
    /// A session host is believed about the prompts of its own session, and about no other.
    fn outcome(&mut self, session: SessionId, what: lifecycle::Event, view: &View) -> Vec<Act> {
        let Some(prompt) = view.prompt.as_ref().filter(|prompt| prompt.session == session) else {
            tracing::warn!(%session, "a session host spoke of a prompt that is not its own");
            return Vec::new();
        };
        if let Some((reply, _)) = prompt.state.reply_under_way() {
            self.secrets.remove(&reply);
        }
        vec![Change::Advance { prompt: prompt.id, event: what }.into()]
    }

    /// The tool has ended. Reports come in order, so a reply that was not reported as typed certainly was not.
    ///
    /// Its prompts end before the session does: a hub that is killed in between finds a session to end.
    /// The last one ends first: a turn that is passed finds nobody, who would be given the text that waits.
    fn tool_ended(&self, session: SessionId, status: SessionStatus, code: i32, view: &View) -> Vec<Act> {
        let ended = |prompt: &PromptRecord| {
            let event = match prompt.state.reply_under_way() {
                Some((reply, _)) => not_applied(reply, without_proof(prompt)),
                None => lifecycle::Event::Left { how: Departure::ToolEnded },
            };
            Change::Advance { prompt: prompt.id, event }.into()
        };
        let prompts = view.session.iter().flat_map(|facts| &facts.prompts);
        let mut acts: Vec<Act> = prompts.rev().map(ended).collect();
        let how = format!("{}, exit code {code}", status.as_str());
        acts.extend(self.end(session, status, Some(code), &how, view));
        acts
    }

    /// The host's process has ended. If the session had not, it was killed; its journal says what was typed.
    fn host_lost(&self, session: SessionId, traces: &HashMap<String, Trace>, view: &View) -> Vec<Act> {
        let mut acts = Vec::new();
        if let Some(facts) = view.session.as_ref().filter(|facts| facts.is_active()) {
            tracing::warn!(%session, "the session host was killed; the tool was hung up");
            acts.extend(facts.prompts.iter().rev().flat_map(|prompt| lost(prompt, traces)));
            let how = "its host was killed, and the tool with it";
            acts.extend(self.end(session, SessionStatus::Crashed, None, how, view));
        }
        // Nobody will ask it again.
        acts.push(Outward::ForgetJournal { session }.into());
        acts
    }

    /// A session is over, and then its viewers, the authors of texts and whoever wants to hear of it are told.
    fn end(
        &self,
        session: SessionId,
        status: SessionStatus,
        code: Option<i32>,
        how: &str,
        view: &View,
    ) -> Vec<Act> {
        let mut acts = vec![
            Change::EndSession { session, status, code }.into(),
            Outward::SessionOver { session }.into(),
            Act::Then(Event::SettleTexts),
        ];
        acts.extend(view.session.as_ref().and_then(|facts| {
            self.tell_all(|channel| channel.notify_end, &words::ended(&facts.record, how))
        }));
        acts
    }

    /// Time is up for some prompts, and for some who wait for a verdict.
    fn moment(&mut self, view: &View) -> Vec<Act> {
        let due = view.prompts.iter().map(|prompt| Act::Then(Event::TimeUp { prompt: prompt.id }));
        let mut acts: Vec<Act> = due.collect();
        let enough = self.waiting.extract_if(.., |waiting| waiting.until <= view.now.boot);
        acts.extend(enough.map(Waiting::tell));
        acts
    }

    /// The safe default contends as any answer does; a prompt that has none just expires.
    fn time_up(&self, prompt: PromptId, view: &View) -> Vec<Act> {
        let Some(record) = &view.prompt else { return Vec::new() };
        let default = default_value(&record.sighting).ok();
        let fallback = default.filter(|_| self.takes_default(record.sighting.kind));
        let fallback = fallback.map(|value| (view.draw.reply, value));
        vec![Change::Expire { prompt, fallback }.into()]
    }

    fn takes_default(&self, kind: Kind) -> bool {
        let defaults = self.settings.defaults;
        match kind {
            Kind::YesNo => defaults.yes_no,
            Kind::ConfirmEnter => defaults.confirm_enter,
            Kind::MultipleChoice => defaults.multiple_choice,
            Kind::FreeText => defaults.free_text,
            Kind::Password | Kind::Idle | Kind::Unknown => false,
        }
    }

    /// The tool takes its next instruction, and one may be left for it: it contends as any answer does.
    fn send_queued(&self, view: &View) -> Vec<Act> {
        let Some(facts) = &view.session else { return Vec::new() };
        let (Some(prompt), Some(text)) = (facts.waiting_for_instruction(), &facts.queued) else {
            return Vec::new();
        };
        let refused = QueuedRefused {
            text: text.clone(),
            session: facts.record.clone(),
            of_pause: self.of_pause(&facts.record),
        };
        vec![Change::SendQueued { prompt: prompt.id, refused }.into()]
    }

    /// Every reply that the session's host has not acknowledged is sent; it answers repeats from memory.
    fn deliver(&self, session: SessionId, undelivered: &[Delivery]) -> Vec<Act> {
        let inject = |delivery: &Delivery| {
            let reply = &delivery.reply;
            let value = reply.value.as_ref().or_else(|| self.secrets.get(&reply.id));
            let is_default = matches!(reply.source, Source::Timeout);
            Inject {
                reply_id: reply.id.to_string(),
                prompt_id: delivery.prompt.id.to_string(),
                sighting: delivery.prompt.sighting.no.0,
                fingerprint: delivery.prompt.sighting.fingerprint.to_string(),
                epoch: self.epoch,
                deadline: delivery.prompt.deadline.filter(|_| !is_default).map(|deadline| deadline.0),
                by_silence: is_default,
                value: value.cloned().map(twin::Value),
            }
        };
        let injects = undelivered.iter().map(inject);
        injects.map(|inject| Outward::Inject { session, inject }.into()).collect()
    }

    /// All that is to be shown at one moment. Where the time left is to be shown anew, that is written first, and what was
    /// written is looked at.
    fn look(&mut self, view: &View) -> Vec<Act> {
        if self.channels.must_count_down(view.now.boot) {
            return vec![Change::CountDown { channels: self.channels.names() }.into()];
        }
        let (settings, names) = (&self.settings, &self.names);
        self.channels.feed(&view.boards, view.now, |due| task_for(due, settings, names, view.now))
    }

    /// What follows once a change is on record.
    fn committed(&mut self, committed: Committed, view: &View) -> Vec<Act> {
        match committed {
            Committed::Contended { outcome: Once::Repeated, asked }
            | Committed::Left { advance: Once::Repeated, asked } => tell(&asked, Verdict::Repeated),
            Committed::Contended { outcome: Once::First(Outcome::Refused(refusal)), asked }
            | Committed::Left { advance: Once::First(Advance::Refused(refusal)), asked } => {
                tell(&asked, Verdict::Refused(Refused::Answer { refusal, tool: None }))
            }
            Committed::Contended { outcome: Once::First(Outcome::Won { reply, moved }), asked } => {
                if let Some(value @ Value::Secret(_)) = &reply.value {
                    self.secrets.insert(reply.id, value.clone());
                }
                let answer = reply.value.as_ref().map(Value::on_record);
                self.wait_for_end(&asked, moved.prompt.id, answer, view.now);
                self.moved(moved)
            }
            Committed::Left { advance: Once::First(Advance::Moved(moved)), asked } => {
                self.wait_for_end(&asked, moved.prompt.id, None, view.now);
                self.moved(moved)
            }
            Committed::QueuedSent { outcome: Some(Outcome::Won { moved, .. }) }
            | Committed::Advanced(Advance::Moved(moved)) => self.moved(moved),
            Committed::QueuedSent { outcome: Some(Outcome::Refused(_)) | None }
            | Committed::Advanced(Advance::Refused(_))
            | Committed::Done => Vec::new(),
            Committed::Noted { handling, verdict, asked } => noted(handling, verdict, &asked),
            Committed::Recorded { prompt, typed_ago } => {
                let mut acts = vec![self.offer(prompt.id, typed_ago, view.now)];
                acts.extend(send_if_idle(&prompt));
                acts
            }
            Committed::Promoted(prompt) => prompt.as_ref().and_then(send_if_idle).into_iter().collect(),
            Committed::OfferedAgain(prompt) => {
                prompt.map(|prompt| self.offer(prompt.id, None, view.now)).into_iter().collect()
            }
            Committed::CountedDown { waiting } => {
                self.channels.counted_down(waiting, view.now.boot);
                Vec::new()
            }
        }
    }

    /// A prompt has moved: what the lifecycle asks for, and those who wait for its end.
    fn moved(&mut self, moved: Moved) -> Vec<Act> {
        let Moved { prompt, effects } = moved;
        tracing::info!(session = %prompt.session, prompt = %prompt.id, status = prompt.state.status(),
            reason = prompt.state.reason(), "prompt moved");
        let mut acts = Vec::new();
        for effect in effects {
            match effect {
                Do::Deliver(_) => acts.push(Act::Then(Event::Deliver { session: prompt.session })),
                Do::Alarm => tracing::warn!(session = %prompt.session, prompt = %prompt.id,
                    "answered though neither the keyboard nor AtlasBridge typed anything"),
                Do::PromoteNext => acts.push(Change::Promote { session: prompt.session }.into()),
            }
        }
        if prompt.state.is_over() {
            let waiting = self.waiting.extract_if(.., |waiting| waiting.prompt == prompt.id);
            acts.extend(waiting.map(Waiting::tell));
            if prompt.sighting.kind == Kind::Idle {
                acts.push(Act::Then(Event::SettleTexts));
            }
        }
        acts
    }

    fn wait_for_end(&mut self, asked: &Asker, prompt: PromptId, answer: Option<String>, now: Now) {
        let Some(caller) = asked.caller else { return };
        let limit = match asked.by {
            Actor::Command { .. } | Actor::Page { .. } => PROOF_LIMIT,
            Actor::Chat(_) => RECEIPT_LIMIT,
        };
        let until = now.boot.plus_millis(limit.as_millis() as i64);
        self.waiting.push(Waiting { caller, prompt, answer, until });
    }
}

impl Waiting {
    fn tell(self) -> Act {
        let verdict = Verdict::Standing { prompt: self.prompt, answer: self.answer };
        Outward::Tell { caller: self.caller, verdict }.into()
    }
}

fn tell(asked: &Asker, verdict: Verdict) -> Vec<Act> {
    asked.caller.map(|caller| Outward::Tell { caller, verdict }.into()).into_iter().collect()
}

/// A hub that was killed may have left a turn unpassed, or a text and the prompt that takes it apart.
fn started(sessions: Vec<SessionId>) -> Vec<Act> {
    let of_session = |session| [Change::Promote { session }.into(), Act::Then(Event::SendQueued { session })];
    let mut acts: Vec<Act> = sessions.into_iter().flat_map(of_session).collect();
    acts.push(Act::Then(Event::SettleTexts));
    acts
}

fn left(sighting: u32, how: Departure, view: &View) -> Vec<Act> {
    let prompts = view.session.iter().flat_map(|facts| &facts.prompts);
    let found = prompts.filter(|prompt| prompt.sighting.no.0 == sighting);
    let event = lifecycle::Event::Left { how };
    found.map(|prompt| Change::Advance { prompt: prompt.id, event: event.clone() }.into()).collect()
}

/// What is known of a prompt whose host was killed.
fn lost(prompt: &PromptRecord, traces: &HashMap<String, Trace>) -> Vec<Act> {
    let advance = |event| Change::Advance { prompt: prompt.id, event }.into();
    let Some((reply, _)) = prompt.state.reply_under_way() else {
        return vec![advance(lifecycle::Event::HostLost)];
    };
    match traces.get(&reply.to_string()).copied().unwrap_or(Trace::NotTyped) {
        Trace::NotTyped => vec![advance(not_applied(reply, without_proof(prompt)))],
        Trace::Unknown => vec![advance(not_applied(reply, Failure::Unknown))],
        // Typed, and nothing proves that the tool took it before it was hung up.
        Trace::Typed => {
            vec![advance(lifecycle::Event::Typed { reply }), advance(not_applied(reply, Failure::Unknown))]
        }
    }
}

/// How a reply ends that its tool left behind: one that the gate has typed may have been taken, and nothing proves it.
fn without_proof(prompt: &PromptRecord) -> Failure {
    let is_typed = matches!(prompt.state, PromptState::Injected { .. });
    if is_typed { Failure::Unknown } else { Failure::ToolGone }
}

fn not_applied(reply: ReplyId, failure: Failure) -> lifecycle::Event {
    lifecycle::Event::NotApplied { reply, why: NotApplied::Failed(failure) }
}

/// # Nothing-lost-silently invariant
/// The authors of texts are told what became of them, as far as that is known by now. After a crash it is asked again.
fn settle_texts(view: &View) -> Vec<Act> {
    let mut acts = Vec::new();
    for (open, session) in &view.texts {
        let reply = open.text.reply;
        let unsent = |why: &str| TextMove::Unsent { reply, why: why.to_owned() };
        let (change, told) = match &open.sent_to {
            Some(prompt) if prompt.state.is_over() => (
                match speech::instruction(&prompt.state) {
                    Instruction::Sent => TextMove::Done(reply),
                    Instruction::Unsent(_) | Instruction::Unknown => {
                        unsent(prompt.state.reason().unwrap_or("failed"))
                    }
                },
                words::instruction_ended(session, &prompt.state),
            ),
            None if session.status != SessionStatus::Active => {
                (unsent(Unfit::Over.name()), words::unsent(session, "the session has ended"))
            }
            Some(_) | None => continue,
        };
        let notices = decide::heard(&open.text, told);
        acts.push(Change::Follow(FollowUp { notices, text: Some(change), ..FollowUp::default() }).into());
    }
    acts
}

/// # No-lost-tap invariant
/// Whatever waited through a gap in which taps may have been lost is offered again under a new nonce. That the channel was
/// heard of is written last: a hub that dies before finds the gap again.
fn polled(channel: &'static str, gap: Option<Duration>, view: &View) -> Vec<Act> {
    let since = view
        .last_poll
        .map(|before| Duration::from_millis(view.now.wall.0.saturating_sub(before.0).max(0) as u64));
    let mut acts = Vec::new();
    if gap.max(since).is_some_and(|gap| gap > LONGEST_GAP) {
        let again = view.prompts.iter().map(|prompt| Event::OfferAgain { prompt: prompt.id });
        acts.extend(again.map(Act::Then));
    }
    acts.push(Change::Channel(Shown::Polled { channel }).into());
    acts
}

fn send_if_idle(prompt: &PromptRecord) -> Option<Act> {
    let is_idle = prompt.sighting.kind == Kind::Idle;
    is_idle.then_some(Act::Then(Event::SendQueued { session: prompt.session }))
}

/// A decision that contends with nobody is on record.
fn noted(handling: Handling, verdict: Verdict, asked: &Asker) -> Vec<Act> {
    let verdict = match handling {
        Handling::Done => verdict,
        Handling::AskGone => Verdict::Refused(Refused::QuestionGone),
        Handling::Repeated => Verdict::Repeated,
    };
    if let Verdict::Stopping { session } = verdict {
        return vec![Outward::Stop { session, caller: asked.caller }.into()];
    }
    let mut acts = Vec::new();
    if let Verdict::Resumed { session } = &verdict {
        acts.push(Act::Then(Event::SendQueued { session: session.id }));
    }
    acts.extend(tell(asked, verdict));
    acts
}

/// What a message of a prompt shows, from what is true now.
fn task_for(due: &DuePost, settings: &Settings, names: &HashMap<String, String>, now: Now) -> Task {
    let rules = settings.rules();
    let mut card = card(&due.prompt, &due.session, due.reply.as_ref(), rules, now);
    card.level = due.post.level.max(if settings.show_detail { 2 } else { 0 });
    card.is_replaced = due.is_replaced();
    card.nonce = due.post.nonce;
    if let Some(answered) = &mut card.answered
        && let Some(name) = names.get(&answered.by).filter(|name| !name.is_empty())
    {
        answered.by = format!("{name} ({})", answered.by);
    }
    match &due.post.address {
        None => Task::Post(card),
        Some(address) => Task::Edit { address: Address(address.clone()), card },
    }
}
