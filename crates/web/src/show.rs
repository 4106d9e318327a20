//! Cards as the page gets them; sessions and audit lines are told as [`questions`](crate::questions) has them.
//!
//! What a program wrote is shown as it is, with one exception: characters that nobody can see, or that turn the text
//! around, are named instead; and in a question no gap is so wide that it hides what comes after it.

use atlasbridge_channel::Card;
use atlasbridge_model::visible::{visible, without_gaps};
use atlasbridge_model::{Effect, Kind, Sighting, Span, Timestamp, speech};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) fn card(card: &Card) -> Value {
    let sighting = &card.sighting;
    let row =
        |(label, does): (String, Effect)| json!({ "label": without_gaps(&label), "effect": effect(does) });
    shown(&json!({
        "id": card.prompt.to_string(),
        "code": card.prompt.short(),
        "session": card.session,
        // The right to answer.
        "nonce": card.nonce.to_hex(),
        "kind": sighting.kind.as_str(),
        "confidence": sighting.confidence.level().as_str(),
        "excerpt": without_gaps(sighting.excerpt.as_str()),
        "detail": without_gaps(sighting.detail.as_str()),
        "choices": card.rows().map(row).collect::<Vec<_>>(),
        "max_length": sighting.constraints.max_length,
        "min_choice": sighting.constraints.numbers.map(Span::least),
        "max_choice": sighting.constraints.numbers.map(Span::most),
        "min_picks": sighting.constraints.picks.map(Span::least),
        "max_picks": sighting.constraints.picks.map(Span::most),
        "asked_at": card.asked_at.rfc3339(),
        "expires_at": card.expires_at.map(Timestamp::rfc3339),
        "seconds_left": card.seconds_left,
        "silence": card.silence,
        "if_nobody_answers": speech::if_nobody_answers(card.seconds_left.is_some(), card.silence.as_deref()),
        "status": card.state.status(),
        "reason": card.state.reason(),
        "word": card.word(),
        "wants": format!("{}{}", speech::possibly(sighting.confidence.level()), speech::wants(sighting.kind)),
        "tone": speech::tone(&card.state),
        "meaning": speech::meaning(&card.state, sighting.takes),
        "is_open": card.is_open(),
        "answered": card.answered,
        "takes": takes(card),
    }))
}

/// A card for a file: it tells what happened and gives no right to anything.
pub(crate) fn spent_card(of: &Card) -> Value {
    let mut spent = card(of);
    if let Some(members) = spent.as_object_mut() {
        members.remove("nonce");
    }
    spent
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Accepts => "accepts",
        Effect::Widens(_) => "widens",
        Effect::Refuses => "refuses",
        Effect::Other => "other",
    }
}

fn takes(card: &Card) -> Value {
    let Sighting { kind, takes, .. } = *card.sighting;
    let refuses = card.sighting.rows().any(|row| row.effect == Effect::Refuses);
    json!({
        // A text is an answer.
        "text": match kind {
            Kind::FreeText | Kind::Idle | Kind::Unknown => true,
            Kind::YesNo | Kind::MultipleChoice => takes.own_text,
            Kind::Password => card.takes_secrets,
            Kind::ConfirmEnter => false,
        },
        // A refusal may carry a reason; heard together with it, or as the next instruction.
        "reason": takes.reason || refuses && matches!(kind, Kind::YesNo | Kind::MultipleChoice),
        "reason_at_once": takes.reason,
        // Several rows are an answer: `1,3`; how many, in words.
        "several": takes.several,
        "rows": speech::rows_wanted(card.sighting.constraints.picks),
        "lines": takes.lines,
        // The tool's own hook is told: answers are said, not typed.
        "by_hook": takes.is_by_hook(),
    })
}

/// # Nothing-unseen invariant
/// Whatever a program or a person wrote: of each text that leaves here, the characters that cannot be seen, or that move
/// others, are named.
pub(crate) fn shown(of: &impl Serialize) -> Value {
    let mut value = json!(of);
    make_visible(&mut value);
    value
}

fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible(text).into_owned(),
        Value::Array(members) => members.iter_mut().for_each(make_visible),
        Value::Object(members) => members.values_mut().for_each(make_visible),
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}
