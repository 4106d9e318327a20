//! What becomes of a prompt: letting a deadline pass, and every other event but an answer.
//!
//! # At-most-once invariant
//! A prompt leaves `awaiting_reply` only through a guarded UPDATE, here or in `accept.rs`.
//!
//! # Told-everywhere invariant
//! Every move asks for the messages that show the prompt to be shown anew, in its own transaction: no crash can lose
//! the edit that takes a button away.

use atlasbridge_model::answer::{self, Refusal, Source, Value};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::{Do, Event, PromptState, Resolution, Step, step};
use atlasbridge_model::{Nonce, Now, PromptId, ReplyId, SessionId};

use crate::inbox::{CameBy, FollowUp, Once};
use crate::offers;
use crate::posts;
use crate::prompts::{self, PromptRecord, Reply};
use crate::rows;
use crate::store::{BackendError, Draft, Store, StoreError};

/// A prompt after its move, and what is to be done now that the move is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub prompt: PromptRecord,
    pub effects: Vec<Do>,
}

/// An operator leaves a prompt to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    pub prompt: PromptId,
    pub nonce: Nonce,
    pub source: Source,
    pub decided_by: String,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one per event: a box would save nothing that anybody notices")]
pub enum Advance {
    Moved(Moved),
    /// Late, repeated or out of place: nothing changed.
    Refused(Refusal),
}

impl Store {
    /// The deadline has passed, as far as the caller knows: a prompt whose time is not up refuses. `fallback` is its
    /// safe default, if it has one; for a queued prompt it is not used, since nothing may be typed for it.
    pub async fn expire(
        &self,
        prompt: PromptId,
        fallback: Option<(ReplyId, Value)>,
        now: Now,
    ) -> Result<Advance, StoreError> {
        self.write(recording(prompt), now, move |draft| Box::pin(pass_deadline(draft, prompt, fallback)))
            .await
    }

    /// Any event but an answer and a deadline.
    pub async fn advance(&self, prompt: PromptId, event: &Event, now: Now) -> Result<Advance, StoreError> {
        let event = event.clone();
        self.write(recording(prompt), now, move |draft| Box::pin(advance(draft, prompt, event))).await
    }

    /// An operator leaves the prompt to the terminal, and must hold its present right to answer, as one who answers must. With
    /// the update that brought it, and all that follows from what became of it, as in [`Store::accept`].
    pub async fn cancel(
        &self,
        cancel: Cancel,
        came: Option<CameBy>,
        then: impl FnOnce(&Advance) -> FollowUp + Send + 'static,
        now: Now,
    ) -> Result<Once<Advance>, StoreError> {
        let what = recording(cancel.prompt);
        self.once(what, came, then, now, move |draft| Box::pin(leave_to_terminal(draft, cancel))).await
    }

    /// Lets the oldest queued prompt of a session wait for its answer, unless another one does.
    pub async fn promote_next(
        &self,
        session: SessionId,
        now: Now,
    ) -> Result<Option<PromptRecord>, StoreError> {
        let what = format!("recording what became of the prompts of session {session}");
        self.write(what, now, move |draft| Box::pin(promote(draft, session))).await
    }
}

fn recording(prompt: PromptId) -> String {
    format!("recording what became of prompt {prompt}")
}

async fn insert_reply(draft: &mut Draft, reply: &Reply) -> Result<(), BackendError> {
    const SQL: &str =
        "INSERT INTO replies (id, prompt_id, session_id, kind, choice_row, value, source, decided_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let (kind, choice_row, text) = rows::value_cells(reply.value.as_ref());
    let value = (kind, choice_row, text.as_deref());
    let by = (&reply.source, &reply.decided_by, reply.at);
    draft.run(SQL, (reply.id, reply.prompt, reply.session, value, by)).await.map(drop)
}

async fn pass_deadline(
    draft: &mut Draft,
    prompt: PromptId,
    fallback: Option<(ReplyId, Value)>,
) -> Result<Advance, BackendError> {
    let Some(found) = draft.one::<PromptRecord>(prompts::BY_ID, prompt).await? else {
        return Ok(Advance::Refused(Refusal::UnknownPrompt));
    };
    if let Some((_, value)) = &fallback
        && answer::default_value(&found.sighting).as_ref() != Ok(value)
    {
        return Err(BackendError::UnsafeFallback);
    }
    let event = Event::Deadline { fallback: fallback.as_ref().map(|(reply, _)| *reply) };
    let reply = fallback.map(|(id, value)| Reply {
        id,
        prompt,
        session: found.session,
        value: Some(value),
        source: Source::Timeout,
        decided_by: Source::Timeout.to_string(),
        at: draft.now.wall,
    });
    perform(draft, found, event, reply.as_ref().map_or(Behind::Nobody, Behind::Reply)).await
}

/// What is refused is on record too, with its reason.
async fn leave_to_terminal(draft: &mut Draft, cancel: Cancel) -> Result<Advance, BackendError> {
    let found: Option<PromptRecord> = draft.one(prompts::BY_ID, cancel.prompt).await?;
    let session = found.as_ref().map(|found| found.session);
    let advance = match found {
        None => Advance::Refused(Refusal::UnknownPrompt),
        Some(found) if found.nonce != cancel.nonce => {
            Advance::Refused(offers::refusal(draft, found.id, cancel.nonce).await?)
        }
        Some(found) => {
            let late = found.refusal();
            match perform(draft, found, Event::CanceledByOperator, Behind::Operator(&cancel)).await? {
                Advance::Refused(_) => Advance::Refused(late),
                moved @ Advance::Moved(_) => moved,
            }
        }
    };
    if let Advance::Refused(refusal) = &advance {
        let (prompt, by) = (session.map(|_| cancel.prompt), Some((&cancel.source, cancel.decided_by)));
        draft.note(EventName::ReplyRejected, session, prompt, refusal.name(), by).await?;
    }
    Ok(advance)
}

async fn advance(draft: &mut Draft, prompt: PromptId, event: Event) -> Result<Advance, BackendError> {
    match event {
        Event::Answered { .. } | Event::Deadline { .. } => return Err(BackendError::OtherDoor),
        Event::Left { .. } | Event::HostLost => {
            // The dialog is gone, whatever had become of its prompt before.
            const LEFT: &str = "UPDATE prompts SET left_at = $1 WHERE id = $2 AND left_at IS NULL";
            draft.run(LEFT, (draft.now.wall, prompt)).await?;
        }
        Event::Routed { .. }
        | Event::Promoted
        | Event::CanceledByOperator
        | Event::Typed { .. }
        | Event::Taken { .. }
        | Event::NotApplied { .. } => {}
    }
    match draft.one(prompts::BY_ID, prompt).await? {
        Some(found) => perform(draft, found, event, Behind::Nobody).await,
        None => Ok(Advance::Refused(Refusal::UnknownPrompt)),
    }
}

async fn promote(draft: &mut Draft, session: SessionId) -> Result<Option<PromptRecord>, BackendError> {
    const SQL: &str = "SELECT * FROM prompts WHERE session_id = $1 AND status = 'routed' AND NOT EXISTS
             (SELECT 1 FROM prompts WHERE session_id = $1 AND status = 'awaiting_reply')
         ORDER BY sighting LIMIT 1";
    let Some(prompt) = draft.one(SQL, session).await? else { return Ok(None) };
    match perform(draft, prompt, Event::Promoted, Behind::Nobody).await? {
        Advance::Moved(moved) => Ok(Some(moved.prompt)),
        Advance::Refused(_) => Ok(None),
    }
}

/// Who or what is behind a move, where the event does not say it.
#[derive(Clone, Copy)]
pub(crate) enum Behind<'a> {
    /// The event says all that there is to say.
    Nobody,
    /// The operator who leaves it to the terminal.
    Operator(&'a Cancel),
    /// The answer that won, or the safe default, in case the prompt may have it.
    Reply(&'a Reply),
}

/// One move: ask the table of the lifecycle, change the row if it still stands as it was read, put it on record.
async fn perform(
    draft: &mut Draft,
    prompt: PromptRecord,
    event: Event,
    behind: Behind<'_>,
) -> Result<Advance, BackendError> {
    let deadline = prompt.deadline_under(&draft.boot_id);
    let (state, effects) = match step(&prompt.state, &event, deadline, draft.now) {
        Step::Moved(state, effects) => (state, effects),
        Step::Refused(refusal) => return Ok(Advance::Refused(refusal)),
    };
    if !update(draft, &prompt, &state).await? {
        return Ok(Advance::Refused(Refusal::NotWaiting {
            status: prompt.state.status(),
            reason: String::new(),
        }));
    }
    let prompt = moved(draft, prompt, state, behind).await?;
    Ok(Advance::Moved(Moved { prompt, effects }))
}

/// What belongs to a move once its guard has let it through: its reply, its messages and its record.
pub(crate) async fn moved(
    draft: &mut Draft,
    mut prompt: PromptRecord,
    state: PromptState,
    behind: Behind<'_>,
) -> Result<PromptRecord, BackendError> {
    prompt.state = state;
    if prompt.state.is_over() || matches!(prompt.state, PromptState::Injected { .. }) {
        mask_reply(draft, prompt.id).await?;
    }
    posts::touch(draft, &prompt).await?;
    // A queued prompt expires without its fallback: only the new state says whether there is a reply.
    if let Behind::Reply(reply) = behind
        && rows::reply_and_source(&prompt.state).0.is_some()
    {
        insert_reply(draft, reply).await?;
    }
    on_record(draft, &prompt, behind).await?;
    Ok(prompt)
}

/// # Kept-no-longer-than-needed invariant
/// A reply is kept as it is to be typed until it is known to be typed, or that it never will be: a hub that dies before that
/// sends it again. The move that settles it takes out what looks like a secret, in its own transaction.
async fn mask_reply(draft: &mut Draft, prompt: PromptId) -> Result<(), BackendError> {
    const SQL: &str = "SELECT value FROM replies WHERE prompt_id = $1 AND kind IN ('text', 'refused')";
    draft.mask(SQL, "UPDATE replies SET value = $2 WHERE prompt_id = $1", prompt).await
}

/// `false`: another move came since it was read. Columns of an earlier state are kept: a prompt that failed
/// still knows which reply it had.
async fn update(draft: &mut Draft, prompt: &PromptRecord, state: &PromptState) -> Result<bool, BackendError> {
    let (reply, source) = rows::reply_and_source(state);
    const SQL: &str = "UPDATE prompts SET status = $1, reason = $2, reply_id = COALESCE($3, reply_id),
             source = COALESCE($4, source), nonce_used = CASE WHEN $5 THEN 1 ELSE nonce_used END, changed_at = $6
         WHERE id = $7 AND status = $8";
    let now = (state.status(), state.reason(), reply, source, !posts::is_answerable(state), draft.now.wall);
    Ok(draft.run(SQL, (now, prompt.id, prompt.state.status())).await? == 1)
}

/// The audit event that belongs to the state that a prompt has just reached.
async fn on_record(draft: &mut Draft, prompt: &PromptRecord, behind: Behind<'_>) -> Result<(), BackendError> {
    let reply: Option<Reply> = draft.one(prompts::REPLY_OF, prompt.id).await?;
    let typed = || match &reply {
        Some(Reply { value: Some(value), .. }) => value.on_record(),
        Some(_) => "secret".to_owned(),
        None => "nothing".to_owned(),
    };
    let (event, value) = match &prompt.state {
        PromptState::Created | PromptState::Routed | PromptState::AwaitingReply => {
            (EventName::PromptRouted, prompt.state.status().to_owned())
        }
        PromptState::ReplyReceived { .. } => (EventName::ReplyReceived, typed()),
        PromptState::Expired { .. } => (EventName::PromptExpired, typed()),
        PromptState::Injected { .. } => (EventName::ReplyInjected, typed()),
        PromptState::Resolved { how } => (EventName::PromptResolved, how.as_str().to_owned()),
        PromptState::Canceled { why } => (EventName::PromptCanceled, why.as_str().to_owned()),
        PromptState::Failed { why } => (EventName::ReplyRejected, why.as_str().to_owned()),
    };
    let (source, decided_by) = match (behind, &prompt.state, reply) {
        (Behind::Operator(by), ..) => (Some(by.source.to_string()), Some(by.decided_by.clone())),
        (_, PromptState::Resolved { how: Resolution::AnsweredLocally }, _) => {
            (Some(Source::Keyboard.to_string()), None)
        }
        (_, PromptState::Expired { .. }, None) => (Some(Source::Timeout.to_string()), None),
        (_, _, Some(reply)) => (Some(reply.source.to_string()), Some(reply.decided_by)),
        (_, _, None) => (None, None),
    };
    let (session, prompt) = (Some(prompt.session), Some(prompt.id));
    draft.record(AuditEvent { event, session, prompt, value: Some(value), source, decided_by }).await
}
