//! Offers: the right to answer that a message carries, and what becomes of the message when there is a newer one.

use atlasbridge_model::answer::Refusal;
use atlasbridge_model::audit::EventName;
use atlasbridge_model::id::is_hex;
use atlasbridge_model::{Nonce, Now, PromptId};

use crate::posts::{self, Post};
use crate::prompts::{self, PromptRecord};
use crate::store::{BackendError, Draft, Store, StoreError};

/// The prompt behind a card that a person tapped, and the whole of the right that the card carried: the present one
/// or that of an earlier offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub prompt: PromptRecord,
    pub nonce: Nonce,
}

impl Store {
    /// A person tapped a message that we sent and never heard of: a crash came between. It is ours from now on, and
    /// will be shown anew. `None`: no such prompt.
    pub async fn adopt_post(
        &self,
        offered: &Offered,
        channel: &str,
        target: &str,
        address: &str,
        now: Now,
    ) -> Result<Option<Post>, StoreError> {
        let (prompt, nonce) = (offered.prompt.id, offered.nonce);
        let at = (channel.to_owned(), target.to_owned(), address.to_owned());
        const WHAT: &str = "recording a message that was found again";
        self.write(WHAT, now, move |draft| Box::pin(adopt(draft, prompt, nonce, at))).await
    }

    /// Offers a waiting prompt again under a new right to answer, wherever it was offered; the old messages are
    /// worth nothing from then on, and will say so. `None`: it does not wait any more.
    pub async fn reoffer(
        &self,
        prompt: PromptId,
        nonce: Nonce,
        now: Now,
    ) -> Result<Option<PromptRecord>, StoreError> {
        const WHAT: &str = "recording that a prompt is offered again";
        self.write(WHAT, now, move |draft| Box::pin(replace_nonce(draft, prompt, nonce))).await
    }

    /// The prompt that a card's button names by the beginnings of its ids (8 digits each) and of its right to answer
    /// (16 digits). Earlier offers are found too, so that a person who taps an old card hears why it is worth nothing.
    pub async fn find_offer(
        &self,
        prompt: &str,
        session: &str,
        nonce: &str,
    ) -> Result<Option<Offered>, StoreError> {
        if !is_hex(prompt, 8) || !is_hex(session, 8) || !is_hex(nonce, 16) {
            return Ok(None);
        }
        let mut found = None;
        for candidate in self.find_prompts_by_prefix(prompt).await? {
            if !candidate.session.to_string().starts_with(session) {
                continue;
            }
            const SQL: &str = "SELECT DISTINCT nonce FROM posts WHERE prompt_id = $1";
            let earlier: Vec<Nonce> = self.all("the prompt of a button", SQL, candidate.id).await?;
            for known in earlier.into_iter().chain([candidate.nonce]) {
                let digits = known.to_hex();
                if is_same(digits.as_bytes().get(..nonce.len()).unwrap_or_default(), nonce.as_bytes()) {
                    found = Some(Offered { prompt: candidate.clone(), nonce: known });
                }
            }
        }
        Ok(found)
    }
}

/// Takes the same time wherever the first difference is: no caller learns a right to answer digit by digit.
fn is_same(known: &[u8], given: &[u8]) -> bool {
    let differences =
        known.iter().zip(given).fold(0, |differences, (known, given)| differences | (known ^ given));
    known.len() == given.len() && std::hint::black_box(differences) == 0
}

/// Why a right to answer that is not the present one is worth nothing: it was that of an earlier offer, or never was one,
/// which is told as little as an unknown prompt.
pub(crate) async fn refusal(
    draft: &mut Draft,
    prompt: PromptId,
    nonce: Nonce,
) -> Result<Refusal, BackendError> {
    const SQL: &str = "SELECT 1 FROM posts WHERE prompt_id = $1 AND nonce = $2 LIMIT 1";
    let was_offered = draft.one::<i64>(SQL, (prompt, nonce)).await?.is_some();
    Ok(if was_offered { Refusal::Replaced } else { Refusal::UnknownPrompt })
}

/// A message in a chat that no post knows: its channel, its target and its address.
async fn adopt(
    draft: &mut Draft,
    prompt: PromptId,
    nonce: Nonce,
    (channel, target, address): (String, String, String),
) -> Result<Option<Post>, BackendError> {
    let Some(prompt) = draft.one::<PromptRecord>(prompts::BY_ID, prompt).await? else { return Ok(None) };
    if let Some(known) = draft.one(posts::AT, (&channel, &address)).await? {
        return Ok(Some(known));
    }
    let is_closed = nonce != prompt.nonce || !posts::is_answerable(&prompt.state);
    let closed = is_closed.then_some(1_i64);
    // Its row may have been made and not filled, or filled by a second sending: then this is one more copy.
    const SQL: &str =
        "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, copy, address, closed, not_before)
         SELECT $1, $2, $3, $4, $5,
             COALESCE((SELECT MAX(copy) + 1 FROM posts WHERE channel = $1 AND target = $2 AND prompt_id = $3
                 AND nonce = $5 AND address IS NOT NULL), 0), $6, $7, $8
         WHERE true
         ON CONFLICT (channel, target, prompt_id, nonce, copy) DO UPDATE SET address = excluded.address, dead = NULL
         RETURNING *";
    let of = (prompt.id, prompt.session, nonce);
    draft.one(SQL, (channel, target, of, address, closed, draft.now.boot)).await
}

async fn replace_nonce(
    draft: &mut Draft,
    prompt: PromptId,
    nonce: Nonce,
) -> Result<Option<PromptRecord>, BackendError> {
    const REPLACED: &str =
        "UPDATE prompts SET nonce = $1 WHERE id = $2 AND status = 'awaiting_reply' AND nonce_used = 0
             AND boot_id = $3 AND (deadline IS NULL OR deadline > $4)";
    const OFFERED: &str = "INSERT INTO posts (channel, target, prompt_id, session_id, nonce, not_before)
         SELECT DISTINCT channel, target, prompt_id, session_id, $1, $2 FROM posts
             WHERE prompt_id = $3 AND closed IS NULL AND dead IS NULL";
    const CLOSED: &str = "UPDATE posts SET wanted = wanted + 1, closed = wanted + 1,
             dead = CASE WHEN address IS NULL THEN 'the prompt was offered again' ELSE dead END
         WHERE prompt_id = $1 AND nonce <> $2 AND closed IS NULL";
    let boot_id = draft.boot_id.to_string();
    if draft.run(REPLACED, (nonce, prompt, boot_id, draft.now.boot)).await? == 0 {
        return Ok(None);
    }
    draft.run(OFFERED, (nonce, draft.now.boot, prompt)).await?;
    draft.run(CLOSED, (prompt, nonce)).await?;
    let record = draft.one::<PromptRecord>(prompts::BY_ID, prompt).await?.ok_or(sqlx::Error::RowNotFound)?;
    draft.note(EventName::PromptRouted, Some(record.session), Some(prompt), "offered again", None).await?;
    Ok(Some(record))
}
