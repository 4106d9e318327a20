//! Cards to test with.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{Detail, Effect, Excerpt, Kind, Level, Nonce, PromptId, SessionId, Timestamp};

use crate::{Card, Offer, SessionTag};

pub(crate) fn card(kind: Kind, text: &str, choices: &[(&str, Effect)]) -> Card {
    Card {
        prompt: PromptId::from_random([0xa1; 16]),
        session: SessionTag {
            id: SessionId::from_random([0x5e; 16]),
            tool: "claude".to_owned(),
            label: Some("api".to_owned()),
            cwd: "/home/dev/work/api".to_owned(),
        },
        nonce: Nonce::from_random([0x0c; 16]),
        kind,
        confidence: Level::High,
        excerpt: Excerpt::new(text),
        detail: Detail::new(text),
        choices: choices
            .iter()
            .map(|(label, effect)| Offer { label: (*label).to_owned(), effect: *effect })
            .collect(),
        max_length: 200,
        numbers: None,
        picks: None,
        takes: atlasbridge_model::Takes::NOTHING,
        takes_secrets: false,
        asked_at: Timestamp(0),
        expires_at: Some(Timestamp(600_000)),
        seconds_left: Some(540),
        silence: None,
        state: PromptState::AwaitingReply,
        answered: None,
        is_replaced: false,
        level: 0,
    }
}

pub(crate) fn yes_no() -> Card {
    let choices = [("Yes", Effect::Accepts), ("No", Effect::Refuses)];
    Card { silence: Some("No".to_owned()), ..card(Kind::YesNo, "Overwrite config.toml? [y/N]", &choices) }
}
