//! Accepting an answer: who was first, and who is told why not.
//!
//! # At-most-once invariant
//! A reply row exists only for the contender whose guarded UPDATE changed a row. Taps, texts, policy and the deadline
//! contend for the same row under the same guard; a contender that changes zero rows was late, whatever it believed before.

use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source, Value};
use atlasbridge_model::audit::EventName;
use atlasbridge_model::lifecycle::{Event, PromptState, Step, step};
use atlasbridge_model::{Kind, Nonce, Now, PromptId, ReplyId, SessionId};

use crate::inbox::{self, CameBy, FollowUp, Once};
use crate::moves::{self, Behind, Moved};
use crate::offers;
use crate::prompts::{self, PromptRecord, Reply};
use crate::store::{BackendError, Draft, Store, StoreError};
use crate::texts::{self, QueuedText};

/// An answer that fits its prompt, and who sent it. Whether it is the one is decided here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedAnswer {
    pub prompt: PromptId,
    pub session: SessionId,
    pub nonce: Nonce,
    pub value: Value,
    /// The id that the reply gets if this answer wins.
    pub reply: ReplyId,
    pub source: Source,
    pub decided_by: String,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per answer: a box would save nothing that anybody notices"
)]
pub enum Outcome {
    /// It is the reply. The value of a secret is here, and nowhere else.
    Won { reply: Reply, moved: Moved },
    /// It changed nothing, and its sender hears why.
    Refused(Refusal),
}

/// More accepted answers of channels than this, for one session within [`WINDOW_MS`], and its channels are paused
/// (SPEC 4.7).
pub const MOST_ANSWERS: i64 = 10;

/// Milliseconds of the wall clock, because replies carry no other time.
const WINDOW_MS: i64 = 60_000;

impl Store {
    /// Lets exactly one answer win: reply, change of state and audit row are one transaction, with the update that
    /// brought the answer and with all that follows from its outcome, which `then` says. `came` is `None` where answers
    /// have no numbers, as on the page.
    pub async fn accept(
        &self,
        answer: AcceptedAnswer,
        came: Option<CameBy>,
        then: impl FnOnce(&Outcome) -> FollowUp + Send + 'static,
        now: Now,
    ) -> Result<Once<Outcome>, StoreError> {
        self.once(recording(answer.prompt), came, then, now, move |draft| Box::pin(contend(draft, answer)))
            .await
    }

    /// Answers a prompt that waits for the next instruction with the one that waits for it; who sent that is who
    /// answers. `None`: nothing waits, or this prompt takes no instruction. A text that does not fit is not tried again: no
    /// later prompt would take it either. `then` says what follows, in the same transaction.
    pub async fn accept_queued(
        &self,
        prompt: PromptId,
        then: impl FnOnce(&Outcome) -> FollowUp + Send + 'static,
        now: Now,
    ) -> Result<Option<Outcome>, StoreError> {
        self.write(recording(prompt), now, move |draft| {
            Box::pin(async move {
                let outcome = spend_text(draft, prompt).await?;
                if let Some(outcome) = &outcome {
                    inbox::apply(draft, then(outcome)).await?;
                }
                Ok(outcome)
            })
        })
        .await
    }
}

fn recording(prompt: PromptId) -> String {
    format!("recording the reply to prompt {prompt}")
}

async fn spend_text(draft: &mut Draft, prompt: PromptId) -> Result<Option<Outcome>, BackendError> {
    let Some(found) = draft.one::<PromptRecord>(prompts::BY_ID, prompt).await? else { return Ok(None) };
    if found.sighting.kind != Kind::Idle || found.state != PromptState::AwaitingReply {
        return Ok(None);
    }
    let Some(queued) = draft.one::<QueuedText>(texts::WAITING, found.session).await? else { return Ok(None) };
    // The sender was asked when it was queued, where its first character means something else.
    let rules = Rules { as_is: true, ..Rules::default() };
    let value = match answer::check(&Said::Text(queued.text), &found.sighting, rules) {
        Ok(Checked::Type(value)) => value,
        Ok(Checked::Cancel) => return Ok(None),
        Err(refusal) => {
            texts::set_unsent(draft, queued.reply, refusal.name()).await?;
            return Ok(Some(Outcome::Refused(refusal)));
        }
    };
    let answer = AcceptedAnswer {
        prompt,
        session: found.session,
        nonce: found.nonce,
        value,
        reply: queued.reply,
        source: queued.source,
        decided_by: queued.decided_by,
    };
    let outcome = contend(draft, answer).await?;
    if matches!(outcome, Outcome::Won { .. }) {
        texts::set_sent(draft, queued.reply).await?;
    }
    Ok(Some(outcome))
}

/// Asks the table of the lifecycle what an answer would make of the prompt, and lets the guard say whether it was the
/// first: state, session, nonce, boot, deadline and pace, in one statement.
async fn contend(draft: &mut Draft, answer: AcceptedAnswer) -> Result<Outcome, BackendError> {
    let Some(prompt) = draft.one::<PromptRecord>(prompts::BY_ID, answer.prompt).await? else {
        return refuse(draft, answer, Refusal::UnknownPrompt, None).await;
    };
    if prompt.session != answer.session {
        return refuse(draft, answer, Refusal::UnknownPrompt, Some("wrong_session")).await;
    }
    let event = Event::Answered { reply: answer.reply, source: answer.source.clone() };
    let (state, effects) = match step(&prompt.state, &event, prompt.deadline_under(&draft.boot_id), draft.now)
    {
        Step::Moved(state, effects) => (state, effects),
        Step::Refused(Refusal::NotWaiting { .. }) => {
            return refuse(draft, answer, prompt.refusal(), None).await;
        }
        Step::Refused(refusal) => return refuse(draft, answer, refusal, None).await,
    };
    if !is_first(draft, &answer, &state).await? {
        return lost(draft, answer, prompt.nonce).await;
    }
    let reply = Reply {
        id: answer.reply,
        prompt: answer.prompt,
        session: answer.session,
        value: Some(answer.value),
        source: answer.source,
        decided_by: answer.decided_by,
        at: draft.now.wall,
    };
    let prompt = moves::moved(draft, prompt, state, Behind::Reply(&reply)).await?;
    Ok(Outcome::Won { reply, moved: Moved { prompt, effects } })
}

/// The guard.
async fn is_first(
    draft: &mut Draft,
    answer: &AcceptedAnswer,
    state: &PromptState,
) -> Result<bool, BackendError> {
    const SQL: &str =
        "UPDATE prompts SET status = $12, nonce_used = 1, reply_id = $1, source = $2, changed_at = $3
         WHERE id = $4 AND session_id = $5 AND status = 'awaiting_reply' AND nonce = $6 AND nonce_used = 0
             AND boot_id = $7 AND (deadline IS NULL OR deadline > $8)
             AND (NOT $9 OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = $5 AND s.paused_at IS NULL
                 AND $10 > (SELECT COUNT(*) FROM replies r WHERE r.session_id = s.id
                     AND r.source NOT IN ('cli:local', 'cli:command', 'timeout')
                     AND r.created_at > $3 - $11 AND r.created_at <= $3
                     AND r.created_at > COALESCE(s.resumed_at, -9223372036854775808))))";
    let AcceptedAnswer { prompt, session, nonce, reply, source, .. } = answer;
    let what = (reply, source, draft.now.wall, prompt, session, nonce);
    let when = (draft.boot_id.to_string(), draft.now.boot);
    let limit = (is_limited(source), MOST_ANSWERS, WINDOW_MS);
    Ok(draft.run(SQL, (what, when, limit, state.status())).await? == 1)
}

/// The person at the machine may answer as fast as they can type.
fn is_limited(source: &Source) -> bool {
    match source {
        Source::Channel(_) => true,
        Source::Keyboard | Source::Command | Source::Timeout => false,
    }
}

/// Why the guard let nothing through though the prompt waits. The state was looked at before the nonce: who taps an old
/// button hears that the prompt was answered, not that it never was.
async fn lost(draft: &mut Draft, answer: AcceptedAnswer, valid: Nonce) -> Result<Outcome, BackendError> {
    if answer.nonce != valid {
        let refusal = offers::refusal(draft, answer.prompt, answer.nonce).await?;
        let word = (refusal == Refusal::UnknownPrompt).then_some("wrong_nonce");
        return refuse(draft, answer, refusal, word).await;
    }
    // All is well but for how often this session was answered.
    const PAUSE: &str = "UPDATE sessions SET paused_at = $1 WHERE id = $2 AND paused_at IS NULL";
    let is_new = draft.run(PAUSE, (draft.now.wall, answer.session)).await? == 1;
    refuse(draft, answer, if is_new { Refusal::TooMany } else { Refusal::Paused }, None).await
}

/// On record, with a word of its own where the sender is told less than is known.
async fn refuse(
    draft: &mut Draft,
    answer: AcceptedAnswer,
    refusal: Refusal,
    word: Option<&str>,
) -> Result<Outcome, BackendError> {
    let AcceptedAnswer { prompt, session, source, decided_by, .. } = answer;
    let value = word.unwrap_or(refusal.name());
    draft
        .note(EventName::ReplyRejected, Some(session), Some(prompt), value, Some((&source, decided_by)))
        .await?;
    Ok(Outcome::Refused(refusal))
}
