//! Cards, sessions and audit lines as the page gets them.
//!
//! What a program wrote is shown as it is, with one exception: characters that nobody can see, or that turn the text
//! around, are named instead; and in a question no gap is so wide that it hides what comes after it.

use atlasbridge_channel::{Card, SessionTag};
use atlasbridge_model::visible::{visible, without_gaps};
use atlasbridge_model::{Effect, Kind, Sighting, Span, Timestamp, speech};
use serde_json::{Value, json};

use crate::questions::{AuditLine, Instructions, SessionCard};

pub(crate) fn card(card: &Card) -> Value {
    let sighting = &card.sighting;
    let row =
        |(label, does): (String, Effect)| json!({ "label": without_gaps(&label), "effect": effect(does) });
    json!({
        "id": card.prompt.to_string(),
        "code": card.code(),
        "session": tag(&card.session),
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
        "silence": card.silence.as_deref().map(shown),
        "status": card.state.status(),
        "reason": card.state.reason(),
        "word": card.word(),
        "wants": format!("{}{}", speech::possibly(sighting.confidence.level()), speech::wants(sighting.kind)),
        "tone": speech::tone(&card.state),
        "meaning": speech::meaning(&card.state, sighting.takes),
        "is_open": card.is_open(),
        "answered": card
            .answered
            .as_ref()
            .map(|answered| json!({ "value": shown(&answered.value), "by": shown(&answered.by) })),
        "takes": takes(card),
    })
}

/// A card for a file: it tells what happened and gives no right to anything.
pub(crate) fn spent_card(of: &Card) -> Value {
    let mut spent = card(of);
    if let Some(members) = spent.as_object_mut() {
        members.remove("nonce");
    }
    spent
}

pub(crate) fn session(card: &SessionCard) -> Value {
    let mut shown_session = tag(&card.session);
    shown_session["command"] = card.command.iter().map(|word| shown(word)).collect();
    shown_session["status"] = card.status.into();
    shown_session["started_at"] = card.started_at.rfc3339().into();
    shown_session["ended_at"] = card.ended_at.map(Timestamp::rfc3339).into();
    shown_session["exit_code"] = card.exit_code.into();
    shown_session["prompts"] = card.prompts.into();
    shown_session["is_waiting"] = card.is_waiting.into();
    shown_session["is_paused"] = card.is_paused.into();
    shown_session["is_connected"] = card.is_connected.into();
    shown_session["instructions"] = card.instructions.as_ref().map(instructions).into();
    shown_session
}

fn instructions(taken: &Instructions) -> Value {
    let unsent = taken.unsent.as_ref().map(|(text, why)| json!({ "text": shown(text), "why": why }));
    json!({
        "max_length": taken.max_length,
        "lines": taken.lines,
        "queued": taken.queued.as_deref().map(shown),
        "unsent": unsent,
    })
}

pub(crate) fn audit_line(line: &AuditLine) -> Value {
    let shown_too = |text: &Option<String>| text.as_deref().map(shown);
    json!({
        "seq": line.seq,
        "at": line.at,
        "event": line.event,
        "session": line.session,
        "prompt": line.prompt,
        "value": shown_too(&line.value),
        "source": shown_too(&line.source),
        "decided_by": shown_too(&line.decided_by),
    })
}

fn tag(tag: &SessionTag) -> Value {
    json!({
        "id": tag.id.to_string(),
        "tool": shown(&tag.tool),
        "label": tag.label.as_deref().map(shown),
        "cwd": shown(&tag.cwd),
    })
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
    let Sighting { kind, takes, .. } = card.sighting;
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

/// What a program or a person wrote, with each character that cannot be seen, or that moves others, named.
pub(crate) fn shown(text: &str) -> String {
    visible(text).into_owned()
}
