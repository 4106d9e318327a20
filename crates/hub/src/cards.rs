//! Prompts as channels show them.

use atlasbridge_channel::{Answered, Card, SessionTag};
use atlasbridge_model::Now;
use atlasbridge_model::answer::{Rules, Value};
use atlasbridge_model::speech;
use atlasbridge_store::{PromptRecord, Reply, SessionRecord};

use crate::views::safe_default;

/// The card of a prompt as it stands now, for an offer that carries the prompt's present nonce.
pub(crate) fn card(
    prompt: &PromptRecord,
    session: &SessionRecord,
    reply: Option<&Reply>,
    rules: Rules,
    now: Now,
) -> Card {
    Card {
        prompt: prompt.id,
        session: tag(session),
        nonce: prompt.nonce,
        sighting: Box::new(prompt.sighting.clone()),
        takes_secrets: rules.secrets_over_channels,
        asked_at: prompt.created_at,
        expires_at: prompt.expires_at,
        seconds_left: prompt.deadline.map(|deadline| deadline.millis_after(now.boot).div_ceil(1_000)),
        silence: safe_default(prompt),
        state: prompt.state.clone(),
        answered: reply.map(answered),
        is_replaced: false,
        level: 0,
    }
}

pub(crate) fn tag(session: &SessionRecord) -> SessionTag {
    SessionTag {
        id: session.id,
        tool: session.tool.clone(),
        label: session.label.clone(),
        cwd: session.cwd.clone(),
    }
}

fn answered(reply: &Reply) -> Answered {
    Answered {
        value: reply.value.as_ref().map_or_else(|| "secret".to_owned(), Value::on_record),
        by: speech::by(&reply.source, &reply.decided_by).to_owned(),
    }
}
