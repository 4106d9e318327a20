//! The next instruction of a tool: sent where the tool waits for one, else kept until it does; and what its sender hears of it.

use atlasbridge_channel::{Address, Target};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source, Value};
use atlasbridge_model::lifecycle::{Cancellation, PromptState, Resolution};
use atlasbridge_model::opening::Opening;
use atlasbridge_model::{Kind, ReplyId, SessionId};
use atlasbridge_store::{
    Handled, HeardAt, NewNotice, OpenText, Outcome, PromptRecord, QueuedText, SessionRecord, SessionStatus,
    TextMove,
};

use crate::channels::{Body, new_notice};
use crate::hub::{Hub, Trouble, random};
use crate::{clock, words};

/// An instruction that fits its tool.
pub(crate) enum Fit {
    /// The tool waits for it, with this prompt.
    Now(Box<PromptRecord>),
    Later(Busy),
}

/// Why a tool takes no instruction right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Working,
    /// A dialog comes first.
    Asking,
    /// It waits, and somebody left that to the terminal.
    LeftToTerminal,
}

/// Why a text is no instruction for this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfit {
    Over,
    TakesNone,
    Empty,
    Shape(Refusal),
}

impl Unfit {
    /// A word for the audit log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Unfit::Over => "session_ended",
            Unfit::TakesNone => "takes_no_instruction",
            Unfit::Empty => "nothing_to_send",
            Unfit::Shape(refusal) => refusal.name(),
        }
    }
}

/// Who wrote an instruction, and where they hear of it.
pub(crate) struct Author {
    pub(crate) source: Source,
    pub(crate) decided_by: String,
    pub(crate) heard_at: Option<HeardAt>,
}

impl Hub {
    /// Whether a text can be an instruction for this session, and whether its tool waits for one. What it takes is known
    /// from the last time that it waited.
    pub(crate) async fn fit(
        &self,
        session: &SessionRecord,
        text: &str,
        as_is: bool,
    ) -> Result<Result<Fit, Unfit>, Trouble> {
        if session.status != SessionStatus::Active {
            return Ok(Err(Unfit::Over));
        }
        let Some(idle) = self.store.last_idle(session.id).await? else {
            return Ok(Err(Unfit::TakesNone));
        };
        let rules = Rules { as_is, ..Rules::default() };
        let said = Said::Text(text.to_owned());
        match answer::check(&said, &idle.sighting, rules) {
            Err(refusal) => return Ok(Err(Unfit::Shape(refusal))),
            Ok(Checked::Type(Value::Text(text))) if !text.trim().is_empty() => {}
            Ok(_) => return Ok(Err(Unfit::Empty)),
        }
        if idle.state == PromptState::AwaitingReply {
            return Ok(Ok(Fit::Now(Box::new(idle))));
        }
        let prompts = self.store.prompts_of(session.id).await?;
        Ok(Ok(Fit::Later(busy(&prompts))))
    }

    /// What follows from keeping a text for its tool, and whether it takes the place of an older one. Whoever sent that one
    /// from elsewhere hears of it.
    pub(crate) async fn queueing(
        &self,
        session: &SessionRecord,
        text: String,
        author: Author,
    ) -> Result<(ReplyId, bool, Handled), Trouble> {
        let reply = ReplyId::from_random(random()?);
        let before = self.store.queued_text(session.id).await?;
        let is_other = |before: &&QueuedText| {
            let place = |source: &Source, at: &Option<HeardAt>| {
                (source.clone(), at.as_ref().map(|at| at.target.clone()))
            };
            place(&before.source, &before.heard_at) != place(&author.source, &author.heard_at)
        };
        let notices = before.as_ref().filter(is_other).and_then(|before| {
            let replaced = words::unsent(session, "a newer text takes its place");
            heard(before, &words::say(replaced))
        });
        let text = QueuedText {
            reply,
            session: session.id,
            text,
            source: author.source,
            decided_by: author.decided_by,
            heard_at: author.heard_at,
        };
        let handled = Handled {
            text: Some(TextMove::Queue(text)),
            notices: notices.into_iter().collect(),
            ..Handled::default()
        };
        Ok((reply, before.is_some(), handled))
    }

    /// The reason of a refusal, for a tool that hears it afterwards; or why that cannot be. A tool that has never waited may
    /// do so yet.
    pub(crate) async fn reason_as_instruction(
        &self,
        session: &SessionRecord,
        reason: String,
        as_is: bool,
        author: Author,
    ) -> Result<Result<Handled, Refusal>, Trouble> {
        if let Some(opening) = Opening::of(&reason).filter(|_| !as_is) {
            return Ok(Err(Refusal::NotPlain { opening, given: reason }));
        }
        if let Err(Unfit::Shape(refusal)) = self.fit(session, &reason, as_is).await? {
            return Ok(Err(refusal));
        }
        let (_, _, handled) = self.queueing(session, reason, author).await?;
        Ok(Ok(handled))
    }

    /// Takes back what waits for this session's tool. `false`: nothing does.
    pub(crate) async fn take_back_text(
        &mut self,
        session: &SessionRecord,
        source: &Source,
        decided_by: &str,
    ) -> Result<bool, Trouble> {
        let Some(text) = self.store.queued_text(session.id).await? else {
            return Ok(false);
        };
        let is_other = text.source != *source || text.decided_by != decided_by;
        let notice = is_other.then(|| words::say(words::unsent(session, "somebody took it back")));
        let handled = Handled {
            notices: notice.iter().filter_map(|notice| heard(&text, notice)).collect(),
            text: Some(TextMove::TakeBack {
                reply: text.reply,
                source: source.clone(),
                decided_by: decided_by.to_owned(),
            }),
            ..Handled::default()
        };
        self.store.handle(handled, clock::now()).await?;
        self.page_changed();
        Ok(true)
    }

    /// Puts away what could not be sent, now that somebody has seen it. `false`: there is nothing.
    pub(crate) async fn put_away_text(
        &mut self,
        session: SessionId,
        source: &Source,
        decided_by: &str,
    ) -> Result<bool, Trouble> {
        let Some((text, _)) = self.store.unsent_text(session).await? else {
            return Ok(false);
        };
        let handled = Handled {
            text: Some(TextMove::TakeBack {
                reply: text.reply,
                source: source.clone(),
                decided_by: decided_by.to_owned(),
            }),
            ..Handled::default()
        };
        self.store.handle(handled, clock::now()).await?;
        self.page_changed();
        Ok(true)
    }

    /// The tool takes its next instruction, and one may be left for it: it contends as any answer does.
    pub(crate) async fn send_queued_text(&mut self, prompt: &PromptRecord) -> Result<(), Trouble> {
        let Some(text) = self.store.queued_text(prompt.session).await? else {
            return Ok(());
        };
        let Some(session) = self.store.session(prompt.session).await? else {
            return Ok(());
        };
        let of_pause = self.notices_of_pause(prompt.session).await?;
        let then = move |outcome: &Outcome| {
            let Outcome::Refused(refusal) = outcome else {
                return Handled::default();
            };
            let mut notices: Vec<NewNotice> =
                heard(&text, &words::say(words::not_yet(&session, refusal))).into_iter().collect();
            if *refusal == Refusal::TooMany {
                notices.extend(of_pause);
            }
            Handled { notices, ..Handled::default() }
        };
        match self.store.accept_queued(prompt.id, then, clock::now()).await.map_err(Trouble::Answer)? {
            Some(Outcome::Won { moved, .. }) => self.perform(moved).await,
            Some(Outcome::Refused(_)) | None => {
                self.page_changed();
                Ok(())
            }
        }
    }

    /// The same for a session whose tool may wait already.
    pub(crate) async fn send_if_idle(&mut self, session: SessionId) -> Result<(), Trouble> {
        match self.store.last_idle(session).await? {
            Some(idle) if idle.state == PromptState::AwaitingReply => self.send_queued_text(&idle).await,
            Some(_) | None => Ok(()),
        }
    }

    /// # Nothing-lost-silently invariant
    /// Tells the senders of texts what became of them, as far as that is known by now. After a crash it is asked again.
    pub(crate) async fn settle_texts(&mut self) -> Result<(), Trouble> {
        for OpenText { text, sent_to } in self.store.open_texts().await? {
            let Some(session) = self.store.session(text.session).await? else {
                continue;
            };
            let reply = text.reply;
            let unsent = |why: &str| TextMove::Unsent { reply, why: why.to_owned() };
            let (change, told) = match sent_to {
                Some(prompt) if prompt.state.is_over() => (
                    match prompt.state {
                        PromptState::Resolved { how: Resolution::Applied { .. } } => TextMove::Done(reply),
                        ref state => unsent(state.reason().unwrap_or("failed")),
                    },
                    words::instruction_ended(&session, &prompt.state),
                ),
                None if session.status != SessionStatus::Active => {
                    (unsent(Unfit::Over.name()), words::unsent(&session, "the session has ended"))
                }
                Some(_) | None => continue,
            };
            let handled = Handled {
                notices: heard(&text, &words::say(told)).into_iter().collect(),
                text: Some(change),
                ..Handled::default()
            };
            self.store.handle(handled, clock::now()).await?;
            self.page_changed();
        }
        Ok(())
    }
}

/// A message for the sender of a text, under the one that brought it.
fn heard(text: &QueuedText, notice: &atlasbridge_channel::Notice) -> Option<NewNotice> {
    let (Source::Channel(channel), Some(HeardAt { target, reply_to })) = (&text.source, &text.heard_at)
    else {
        return None;
    };
    let reply_to = reply_to.clone().map(Address);
    Some(new_notice(channel, &Target(target.clone()), &Body::from(notice), reply_to.as_ref()))
}

fn busy(prompts: &[PromptRecord]) -> Busy {
    let is_asking = |prompt: &PromptRecord| {
        prompt.sighting.kind != Kind::Idle
            && matches!(
                prompt.state,
                PromptState::Routed | PromptState::AwaitingReply | PromptState::Expired { .. }
            )
    };
    let is_left = |prompt: &PromptRecord| {
        let canceled = PromptState::Canceled { why: Cancellation::ByOperator };
        prompt.sighting.kind == Kind::Idle
            && (prompt.state == canceled || matches!(prompt.state, PromptState::Failed { .. }))
    };
    match prompts {
        prompts if prompts.iter().any(is_asking) => Busy::Asking,
        [.., last] if is_left(last) => Busy::LeftToTerminal,
        _ => Busy::Working,
    }
}
