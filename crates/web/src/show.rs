//! Cards, sessions and audit lines as the page gets them.
//!
//! What a program wrote is shown as it is, with one exception: characters that nobody can see, or that turn the text
//! around, are named instead; and in a question no gap is so wide that it hides what comes after it.

use atlasbridge_channel::{Card, SessionTag};
use atlasbridge_model::answer::Source;
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::visible::{visible, without_gaps};
use atlasbridge_model::{Effect, Kind, Level, Span, Timestamp};
use serde::Serialize;

use crate::desk::{AuditLine, Instructions, SessionCard};

#[derive(Debug, Serialize)]
pub(crate) struct CardJson {
    id: String,
    code: String,
    session: TagJson,
    /// The right to answer; left out where a card leaves the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    kind: &'static str,
    confidence: &'static str,
    excerpt: String,
    detail: String,
    choices: Vec<OfferJson>,
    max_length: u16,
    /// The lowest and the highest number of a row, where rows have numbers.
    min_choice: Option<u16>,
    max_choice: Option<u16>,
    /// The fewest and the most rows of one answer, where the prompt says so.
    min_picks: Option<u16>,
    max_picks: Option<u16>,
    asked_at: String,
    expires_at: Option<String>,
    seconds_left: Option<u64>,
    silence: Option<String>,
    status: &'static str,
    reason: Option<&'static str>,
    word: &'static str,
    /// What the tool wants, after its name.
    wants: String,
    /// How the word is meant: `good`, `wary`, `bad`, `calm` or, where something is under way, `busy`.
    tone: &'static str,
    /// What the word means, where that is not plain.
    meaning: Option<&'static str>,
    is_open: bool,
    answered: Option<AnsweredJson>,
    takes: TakesJson,
}

#[derive(Debug, Serialize)]
struct TagJson {
    id: String,
    tool: String,
    label: Option<String>,
    cwd: String,
}

#[derive(Debug, Serialize)]
struct OfferJson {
    label: String,
    effect: &'static str,
}

#[derive(Debug, Serialize)]
struct AnsweredJson {
    value: String,
    by: String,
}

#[derive(Debug, Serialize)]
struct TakesJson {
    /// A text is an answer.
    text: bool,
    /// A refusal may carry a reason.
    reason: bool,
    /// It is heard together with the refusal, and not as the next instruction.
    reason_at_once: bool,
    /// Several rows are an answer: `1,3`.
    several: bool,
    /// How many rows are one, in words: `several`, `choose 1 to 3`.
    rows: String,
    /// A text may have several lines.
    lines: bool,
    /// The tool's own hook is told: answers are said, not typed.
    by_hook: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionJson {
    #[serde(flatten)]
    session: TagJson,
    command: Vec<String>,
    status: &'static str,
    started_at: String,
    ended_at: Option<String>,
    exit_code: Option<i32>,
    prompts: u64,
    is_waiting: bool,
    is_paused: bool,
    is_connected: bool,
    instructions: Option<InstructionsJson>,
}

#[derive(Serialize)]
struct InstructionsJson {
    max_length: u16,
    lines: bool,
    queued: Option<String>,
    unsent: Option<UnsentJson>,
}

#[derive(Serialize)]
struct UnsentJson {
    text: String,
    why: String,
}

/// Texts stay out of logs.
impl std::fmt::Debug for InstructionsJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Instructions")
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct AuditJson {
    seq: u64,
    at: String,
    event: String,
    session: Option<String>,
    prompt: Option<String>,
    value: Option<String>,
    source: Option<String>,
    decided_by: Option<String>,
}

pub(crate) fn card(card: &Card) -> CardJson {
    CardJson {
        id: card.prompt.to_string(),
        code: card.code(),
        session: tag(&card.session),
        nonce: Some(card.nonce.to_hex()),
        kind: card.kind.as_str(),
        confidence: card.confidence.as_str(),
        excerpt: without_gaps(card.excerpt.as_str()),
        detail: without_gaps(card.detail.as_str()),
        choices: card
            .choices
            .iter()
            .map(|offer| OfferJson { label: without_gaps(&offer.label), effect: effect(offer.effect) })
            .collect(),
        max_length: card.max_length,
        min_choice: card.numbers.map(Span::least),
        max_choice: card.numbers.map(Span::most),
        min_picks: card.picks.map(Span::least),
        max_picks: card.picks.map(Span::most),
        asked_at: rfc3339(card.asked_at),
        expires_at: card.expires_at.map(rfc3339),
        seconds_left: card.seconds_left,
        silence: card.silence.as_deref().map(shown),
        status: card.state.status(),
        reason: card.state.reason(),
        word: card.word(),
        wants: wants(card),
        tone: tone(&card.state),
        meaning: meaning(card),
        is_open: card.is_open(),
        answered: card
            .answered
            .as_ref()
            .map(|answered| AnsweredJson { value: shown(&answered.value), by: shown(&answered.by) }),
        takes: takes(card),
    }
}

/// A card for a file: it tells what happened and gives no right to anything.
pub(crate) fn spent_card(of: &Card) -> CardJson {
    CardJson { nonce: None, ..card(of) }
}

pub(crate) fn session(card: &SessionCard) -> SessionJson {
    SessionJson {
        session: tag(&card.session),
        command: card.command.iter().map(|word| shown(word)).collect(),
        status: card.status,
        started_at: rfc3339(card.started_at),
        ended_at: card.ended_at.map(rfc3339),
        exit_code: card.exit_code,
        prompts: card.prompts,
        is_waiting: card.is_waiting,
        is_paused: card.is_paused,
        is_connected: card.is_connected,
        instructions: card.instructions.as_ref().map(instructions),
    }
}

fn instructions(taken: &Instructions) -> InstructionsJson {
    InstructionsJson {
        max_length: taken.max_length,
        lines: taken.lines,
        queued: taken.queued.as_deref().map(shown),
        unsent: taken.unsent.as_ref().map(|(text, why)| UnsentJson { text: shown(text), why: why.clone() }),
    }
}

pub(crate) fn audit_line(line: &AuditLine) -> AuditJson {
    let shown_too = |text: &Option<String>| text.as_deref().map(shown);
    AuditJson {
        seq: line.seq,
        at: line.at.clone(),
        event: line.event.clone(),
        session: line.session.clone(),
        prompt: line.prompt.clone(),
        value: shown_too(&line.value),
        source: shown_too(&line.source),
        decided_by: shown_too(&line.decided_by),
    }
}

fn tag(tag: &SessionTag) -> TagJson {
    TagJson {
        id: tag.id.to_string(),
        tool: shown(&tag.tool),
        label: tag.label.as_deref().map(shown),
        cwd: shown(&tag.cwd),
    }
}

fn wants(card: &Card) -> String {
    let possible = match card.confidence {
        Level::Low => "possible prompt: ",
        Level::Medium | Level::High => "",
    };
    let wants = match card.kind {
        Kind::YesNo => "asks yes or no",
        Kind::ConfirmEnter => "waits for Enter",
        Kind::MultipleChoice => "asks you to choose",
        Kind::FreeText => "asks for a text",
        Kind::Password => "asks for a password",
        Kind::Idle => "has finished and waits for its next instruction",
        Kind::Unknown => "seems to wait for something",
    };
    format!("{possible}{wants}")
}

fn tone(state: &PromptState) -> &'static str {
    match state {
        PromptState::Created | PromptState::Routed => "calm",
        PromptState::AwaitingReply | PromptState::ReplyReceived { .. } | PromptState::Injected { .. } => {
            "busy"
        }
        PromptState::Expired { .. } => "wary",
        PromptState::Resolved { how } => match how {
            Resolution::Applied { source: Source::Timeout } => "wary",
            Resolution::Applied { .. } => "good",
            Resolution::AnsweredLocally => "calm",
            Resolution::AnsweredOutOfBand => "bad",
        },
        PromptState::Canceled { .. } => "calm",
        PromptState::Failed { .. } => "bad",
    }
}

fn meaning(card: &Card) -> Option<&'static str> {
    Some(match &card.state {
        PromptState::AwaitingReply | PromptState::ReplyReceived { .. } | PromptState::Injected { .. } => {
            return None;
        }
        PromptState::Created | PromptState::Routed => "Another prompt of this session comes first.",
        PromptState::Expired { fallback: Some(_) } => "Nobody answered in time.",
        PromptState::Expired { fallback: None } => {
            "Nobody answered in time. Nothing was typed; it can be answered at the terminal."
        }
        PromptState::Resolved { how } => match how {
            Resolution::Applied { source: Source::Timeout } => "Nobody answered in time.",
            Resolution::Applied { .. } => "The tool took the answer.",
            Resolution::AnsweredLocally => "Somebody typed the answer at the keyboard.",
            Resolution::AnsweredOutOfBand => {
                "Neither AtlasBridge nor the keyboard answered it. Look at the session."
            }
        },
        PromptState::Canceled { why: Cancellation::ByOperator } => {
            "Nothing was typed. The question is left to the terminal."
        }
        PromptState::Canceled { .. } => "Nothing was typed.",
        PromptState::Failed { why } => match why {
            Failure::PromptChanged => "The screen showed something else by then. Nothing was typed.",
            Failure::TypingLocally => "Somebody was typing at the terminal. Nothing was typed.",
            Failure::NotTaken if card.takes.is_by_hook() => "It was answered, but the tool did not react.",
            Failure::NotTaken => "It was typed, but the tool did not react.",
            Failure::NotReading => "The program does not read its terminal now. Nothing was typed.",
            Failure::ToolGone => "The tool has ended.",
            Failure::TooLate => "It reached the session too late. Nothing was typed.",
            Failure::NotRecorded => "It could not be put on record first, so nothing was typed.",
            Failure::Unknown => "It may have been typed; nothing proves it. Look at the terminal.",
            Failure::NoChannel => "The answer did not reach the tool.",
        },
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

fn takes(card: &Card) -> TakesJson {
    let takes = card.takes;
    let refuses = card.choices.iter().any(|offer| offer.effect == Effect::Refuses);
    TakesJson {
        text: match card.kind {
            Kind::FreeText | Kind::Idle | Kind::Unknown => true,
            Kind::YesNo | Kind::MultipleChoice => takes.own_text,
            Kind::Password => card.takes_secrets,
            Kind::ConfirmEnter => false,
        },
        reason: takes.reason || refuses && matches!(card.kind, Kind::YesNo | Kind::MultipleChoice),
        reason_at_once: takes.reason,
        several: takes.several,
        rows: card.picks.map_or_else(|| "several".to_owned(), |picks| format!("choose {picks}")),
        lines: takes.lines,
        by_hook: takes.is_by_hook(),
    }
}

/// What a program or a person wrote, with each character that cannot be seen, or that moves others, named.
pub(crate) fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// `2026-01-02T03:04:05.678Z`. A clock before the year 0 or beyond 9999 is shown as that end.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    const DAY: i64 = 86_400_000;
    let millis = at.0.clamp(-62_167_219_200_000, 253_402_300_799_999);
    let (day, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, date) = civil(day);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil(day: i64) -> (i64, i64, i64) {
    // Counted from 1 March of the year 0, leap days come last in their year, and each 400 years have 146 097 days.
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let january_first = month >= 10;
    (era * 400 + year + i64::from(january_first), if january_first { month - 9 } else { month + 3 }, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_the_standard_has_them() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Timestamp(millis)), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil(-719_528);
        assert_eq!(before, (0, 1, 1));
        for day in -719_527..100_000 {
            let now = civil(day);
            let next_day = (before.0, before.1, before.2 + 1);
            let next_month = (before.0, before.1 + 1, 1);
            let next_year = (before.0 + 1, 1, 1);
            assert!(now == next_day || now == next_month || now == next_year, "{before:?} {now:?}");
            before = now;
        }
    }
}
