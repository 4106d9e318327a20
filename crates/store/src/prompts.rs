//! Prompts and replies: recording a sighting as a prompt, and looking prompts up.
//!
//! What becomes of a prompt afterwards is in `moves.rs`.

use std::time::Duration;

use atlasbridge_model::answer::{Refusal, Source, Value, default_value};
use atlasbridge_model::audit::EventName;
use atlasbridge_model::lifecycle::{Event, PromptState, Step, step};
use atlasbridge_model::{
    BootTime, IdempotencyKey, Kind, Nonce, Now, PromptId, ReplyId, SessionId, Sighting, Span, Timestamp,
};

use crate::rows;
use crate::sessions::SessionRecord;
use crate::sql::{record, unreadable};
use crate::store::{BackendError, Draft, Store, StoreError};

record! {
    /// A prompt as it is stored.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PromptRecord {
        pub id: PromptId,
        pub session: SessionId = "session_id",
        pub sighting: Sighting => rows::sighting,
        pub state: PromptState => rows::state,
        pub nonce: Nonce,
        pub created_at: Timestamp,
        /// For showing; `deadline` decides.
        pub expires_at: Option<Timestamp>,
        pub deadline: Option<BootTime>,
        /// The boot on whose clock `deadline` stands.
        pub boot_id: String,
    }
}

impl PromptRecord {
    /// What a person hears whose answer comes now, unless it waits for one: where the deadline has answered, with what.
    pub fn refusal(&self) -> Refusal {
        let is_by_deadline = rows::reply_and_source(&self.state).1 == Some(Source::Timeout);
        match default_value(&self.sighting) {
            Ok(value) if is_by_deadline => Refusal::DefaultTaken {
                value: value.on_record(),
                applied: matches!(self.state, PromptState::Resolved { .. }),
            },
            Ok(_) | Err(_) => self.state.refusal(),
        }
    }

    /// The deadline on the clock of this boot. Times of another boot cannot be compared: a session host that waited then waits
    /// no more, so they count as passed.
    pub(crate) fn deadline_under(&self, boot_id: &str) -> Option<BootTime> {
        if self.boot_id == boot_id { self.deadline } else { Some(BootTime(i64::MIN)) }
    }
}

record! {
    /// A reply as it is stored.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Reply {
        pub id: ReplyId,
        pub prompt: PromptId = "prompt_id",
        pub session: SessionId = "session_id",
        /// `None` for a secret that was read back: it was never written.
        pub value: Option<Value> => rows::value,
        pub source: Source,
        pub decided_by: String,
        pub at: Timestamp = "created_at",
    }
}

/// A sighting to be recorded, with the random parts that the hub made for it.
#[derive(Debug, Clone)]
pub struct NewPrompt {
    pub id: PromptId,
    pub session: SessionId,
    pub sighting: Sighting,
    pub nonce: Nonce,
    /// `None`: it does not expire.
    pub ttl: Option<Duration>,
}

/// What is stored of a sighting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub prompt: PromptRecord,
    /// `false`: the sighting was known before; `prompt` is what was recorded then.
    pub fresh: bool,
}

/// A prompt that is not over, with its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPrompt {
    pub prompt: PromptRecord,
    pub session: SessionRecord,
}

/// A reply that its session host has not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub reply: Reply,
    pub prompt: PromptRecord,
}

impl Store {
    /// Records a sighting as a prompt and puts it in its session's queue, in one transaction. The same sighting
    /// offered again changes nothing.
    pub async fn record_prompt(&self, new: NewPrompt, now: Now) -> Result<Recorded, StoreError> {
        let ttl = new.ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        let record = PromptRecord {
            id: new.id,
            session: new.session,
            sighting: new.sighting,
            state: PromptState::Created,
            nonce: new.nonce,
            created_at: now.wall,
            expires_at: ttl.map(|millis| now.wall.plus_millis(millis)),
            deadline: ttl.map(|millis| now.boot.plus_millis(millis)),
            boot_id: self.boot_id.to_string(),
        };
        let what = format!("recording a prompt of session {}", new.session);
        self.write(what, now, move |draft| Box::pin(record_once(draft, record))).await
    }

    pub async fn prompt(&self, id: PromptId) -> Result<Option<PromptRecord>, StoreError> {
        self.one("the prompt", BY_ID, id).await
    }

    /// The prompts, newest first, whose id begins with what a person typed. Fewer than four digits, or anything
    /// that is no part of an id, finds nothing.
    pub async fn find_prompts_by_prefix(&self, prefix: &str) -> Result<Vec<PromptRecord>, StoreError> {
        const SQL: &str = "SELECT * FROM prompts WHERE id >= $1 AND id < $2 ORDER BY created_at DESC, id";
        let prefix = prefix.to_ascii_lowercase();
        let is_part_of_an_id = prefix.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if prefix.len() < SHORTEST_PREFIX || !is_part_of_an_id {
            return Ok(Vec::new());
        }
        // 'g' comes after every character that an id has.
        self.all("prompts by the beginning of their id", SQL, (&prefix, format!("{prefix}g"))).await
    }

    /// What is not over, oldest first.
    pub async fn open_prompts(&self) -> Result<Vec<OpenPrompt>, StoreError> {
        self.listed("the open prompts", "status NOT IN ('resolved', 'canceled', 'failed')").await
    }

    /// What stands on a screen, as far as is known, oldest first: what is not over, and what an operator left to the
    /// terminal and no person has answered there yet.
    pub async fn standing_prompts(&self) -> Result<Vec<OpenPrompt>, StoreError> {
        const STANDING: &str = "status NOT IN ('resolved', 'canceled', 'failed')
             OR (status = 'canceled' AND reason = 'by_operator' AND left_at IS NULL
                 AND session_id IN (SELECT id FROM sessions WHERE status = 'active')
                 AND NOT EXISTS (SELECT 1 FROM prompts later
                     WHERE later.session_id = prompts.session_id AND later.sighting > prompts.sighting))";
        self.listed("the prompts on screens", STANDING).await
    }

    async fn listed(&self, what: &'static str, which: &'static str) -> Result<Vec<OpenPrompt>, StoreError> {
        let sql = format!("SELECT * FROM prompts WHERE {which} ORDER BY created_at, session_id, sighting");
        let mut listed = Vec::new();
        for prompt in self.all::<PromptRecord>(what, sqlx::AssertSqlSafe(sql), ()).await? {
            // A session goes away only with its prompts: then this one is over too.
            if let Some(session) = self.session(prompt.session).await? {
                listed.push(OpenPrompt { prompt, session });
            }
        }
        Ok(listed)
    }

    /// All prompts of a session, in the order in which they were seen.
    pub async fn prompts_of(&self, session: SessionId) -> Result<Vec<PromptRecord>, StoreError> {
        const SQL: &str = "SELECT * FROM prompts WHERE session_id = $1 ORDER BY sighting";
        self.all("the prompts of a session", SQL, session).await
    }

    /// What a session's next events may be about, in the order in which they were seen: what is not over, what was left to
    /// the terminal and may stand there yet, and the last one, whatever became of it.
    pub async fn live_prompts(&self, session: SessionId) -> Result<Vec<PromptRecord>, StoreError> {
        const SQL: &str =
            "SELECT * FROM prompts WHERE session_id = $1 AND (status NOT IN ('resolved', 'canceled', 'failed')
                 OR (status = 'canceled' AND reason = 'by_operator' AND left_at IS NULL)
                 OR sighting = (SELECT MAX(sighting) FROM prompts WHERE session_id = $1)) ORDER BY sighting";
        self.all("the prompts of a session", SQL, session).await
    }

    /// The last prompt of this session that waited for an instruction. `None`: its tool has never taken one.
    pub async fn last_idle(&self, session: SessionId) -> Result<Option<PromptRecord>, StoreError> {
        const SQL: &str =
            "SELECT * FROM prompts WHERE session_id = $1 AND kind = $2 ORDER BY sighting DESC LIMIT 1";
        self.one("the last prompt that waited for an instruction", SQL, (session, Kind::Idle)).await
    }

    /// The reply that won this prompt, if one did.
    pub async fn reply_of(&self, prompt: PromptId) -> Result<Option<Reply>, StoreError> {
        self.one("the reply of a prompt", REPLY_OF, prompt).await
    }

    /// The replies of a session that were decided and not yet reported as typed: to be sent (again) to its host.
    /// A host that has seen one answers with what became of it.
    pub async fn undelivered(&self, session: SessionId) -> Result<Vec<Delivery>, StoreError> {
        const SQL: &str =
            "SELECT * FROM prompts WHERE session_id = $1 AND status IN ('reply_received', 'expired')
                 AND reply_id IS NOT NULL ORDER BY sighting";
        let decided: Vec<PromptRecord> = self.all("undelivered replies", SQL, session).await?;
        let mut deliveries = Vec::with_capacity(decided.len());
        for prompt in decided {
            if let Some(reply) = self.reply_of(prompt.id).await? {
                deliveries.push(Delivery { reply, prompt });
            }
        }
        Ok(deliveries)
    }

    /// When the next prompt's time is up, on the clock of this boot.
    pub async fn next_deadline(&self) -> Result<Option<BootTime>, StoreError> {
        const SQL: &str =
            "SELECT MIN(deadline) FROM prompts WHERE status IN ('awaiting_reply', 'routed') AND boot_id = $1";
        Ok(self.one("the next deadline", SQL, &*self.boot_id).await?.flatten())
    }

    /// The prompts whose time is up, oldest deadline first. Those of another boot are not among them: their session
    /// hosts are gone, which is another event.
    pub async fn due(&self, now: Now) -> Result<Vec<PromptRecord>, StoreError> {
        const SQL: &str =
            "SELECT * FROM prompts WHERE status IN ('awaiting_reply', 'routed') AND boot_id = $1 AND deadline <= $2
             ORDER BY deadline, session_id, sighting";
        self.all("the prompts whose time is up", SQL, (&*self.boot_id, now.boot)).await
    }
}

/// Fewer digits than this name a prompt by accident.
const SHORTEST_PREFIX: usize = 4;

async fn record_once(draft: &mut Draft, mut prompt: PromptRecord) -> Result<Recorded, BackendError> {
    // The key is no finer than (session, sighting) but binds the text as well.
    const KNOWN: &str =
        "SELECT * FROM prompts WHERE (session_id = $1 AND sighting = $2) OR idempotency_key = $3";
    let key = IdempotencyKey::of(prompt.session, prompt.sighting.no, &prompt.sighting.excerpt);
    if let Some(known) = draft.one(KNOWN, (prompt.session, prompt.sighting.no, key.as_str())).await? {
        return Ok(Recorded { prompt: known, fresh: false });
    }
    // No prompt waits before it, and none is about to be promoted.
    const WAITING: &str =
        "SELECT 1 FROM prompts WHERE session_id = $1 AND status IN ('awaiting_reply', 'routed') LIMIT 1";
    let first = draft.one::<i64>(WAITING, prompt.session).await?.is_none();
    let step = step(&prompt.state, &Event::Routed { first }, prompt.deadline, draft.now);
    let Step::Moved(state, _) = step else { return Err(unreadable("prompt that cannot be routed")) };
    prompt.state = state;
    insert(draft, &prompt, &key).await?;
    let (session, id) = (Some(prompt.session), Some(prompt.id));
    let seen = format!("{} ({})", prompt.sighting.kind, prompt.sighting.confidence.level().as_str());
    draft.note(EventName::PromptDetected, session, id, seen, None).await?;
    draft.note(EventName::PromptRouted, session, id, prompt.state.status(), None).await?;
    Ok(Recorded { prompt, fresh: true })
}

async fn insert(draft: &mut Draft, prompt: &PromptRecord, key: &IdempotencyKey) -> Result<(), BackendError> {
    let Sighting { no, kind, confidence, excerpt, detail, choices, .. } = &prompt.sighting;
    let Sighting { constraints, offers_default, takes, entry, fingerprint, .. } = &prompt.sighting;
    let choices = choices.as_ref().map(rows::choices_text).transpose()?;
    let seen = (no, key.as_str(), kind, confidence, excerpt.as_str(), detail.as_str(), choices);
    let typing = (constraints.max_length, offers_default, entry, fingerprint);
    let times = (prompt.created_at, prompt.expires_at, prompt.deadline, &prompt.boot_id);
    let (numbers, picks) = (constraints.numbers, constraints.picks);
    let limits =
        (numbers.map(Span::least), numbers.map(Span::most), picks.map(Span::least), picks.map(Span::most));
    let of = (prompt.id, prompt.session);
    const SQL: &str =
        "INSERT INTO prompts (id, session_id, sighting, idempotency_key, kind, confidence, excerpt, detail, choices,
                              max_length, offers_default, entry, fingerprint, nonce, status, created_at, changed_at,
                              expires_at, deadline, boot_id, takes, min_choice, max_choice, min_picks, max_picks)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16, $17, $18, $19, $20,
                 $21, $22, $23, $24)";
    let status = prompt.state.status();
    draft.run(SQL, (of, seen, typing, prompt.nonce, status, times, takes, limits)).await.map(drop)
}

pub(crate) const BY_ID: &str = "SELECT * FROM prompts WHERE id = $1";
/// The reply that won a prompt.
pub(crate) const REPLY_OF: &str = "SELECT * FROM replies WHERE prompt_id = $1";
