//! Cards to test with.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{
    Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Kind, Nonce,
    PromptId, SessionId, Sighting, SightingNo, Takes, Timestamp,
};

use crate::{Card, SessionTag};

pub(crate) fn card(kind: Kind, text: &str, choices: &[(&str, Effect)]) -> Card {
    let choice = |(label, effect): &(&str, Effect)| Choice {
        label: (*label).to_owned(),
        strokes: None,
        effect: *effect,
    };
    Card {
        prompt: PromptId::from_random([0xa1; 16]),
        session: SessionTag {
            id: SessionId::from_random([0x5e; 16]),
            tool: "claude".to_owned(),
            label: Some("api".to_owned()),
            cwd: "/home/dev/work/api".to_owned(),
        },
        nonce: Nonce::from_random([0x0c; 16]),
        sighting: Box::new(Sighting {
            no: SightingNo(1),
            kind,
            confidence: Confidence::new(90).unwrap(),
            excerpt: Excerpt::new(text),
            detail: Detail::new(text),
            choices: Choices::new(choices.iter().map(choice).collect()),
            constraints: Constraints::default(),
            offers_default: false,
            takes: Takes::NOTHING,
            entry: Entry::Line,
            fingerprint: Fingerprint([1; 16]),
        }),
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

/// The same, seen otherwise.
pub(crate) fn seen(mut card: Card, change: impl FnOnce(&mut Sighting)) -> Card {
    change(&mut card.sighting);
    card
}

/// The same, only possibly a prompt.
pub(crate) fn possible(card: Card) -> Card {
    seen(card, |sighting| sighting.confidence = Confidence::new(60).unwrap())
}
