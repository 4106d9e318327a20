//! A prompt as a message.
//!
//! The order of accepting and refusing buttons never changes, and where the text looks destructive each has a row of its
//! own: a thumb that has tapped the same place all day must not approve what it has not read.

use atlasbridge_model::answer::Source;
use atlasbridge_model::excerpt::DETAIL_BYTES;
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::visible::{looks_destructive, visible, without_gaps};
use atlasbridge_model::{Effect, Kind, Level, Takes};

use super::{CUT_UNITS, Fitted, Key, MOST_UNITS, Message, escape, fit, more, on_button, units};
use crate::telegram::callback;
use crate::{Card, Tap};

/// How much of the detail each level shows, in characters.
const LEVELS: [usize; 2] = [500, 2000];
/// Longest label in the list of choices, and shorter ones for when nine of them leave no room for the question.
const MOST_LABEL: [usize; 3] = [200, 80, 30];
/// What the list of choices may take of a message.
const CHOICES_UNITS: usize = MOST_UNITS / 2;
const MOST_NAME: usize = 40;
const MOST_DIRECTORY: usize = 80;

pub(crate) fn card(card: &Card) -> Message {
    let choices = listed_choices(card);
    let head = head(card);
    let tail = tail(card);
    let taken: usize = [&head, &choices, &tail].into_iter().map(|part| units(part) + 1).sum();
    let (shown, left_out) = shown(card, MOST_UNITS.saturating_sub(taken + 2 * CUT_UNITS));
    let parts = [head, shown, note_of_cut(card, left_out), choices, tail];
    Message {
        html: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"),
        rows: match card.is_open() {
            true => rows(card, left_out > 0),
            false => Vec::new(),
        },
    }
}

/// Which session, and what it wants.
fn head(card: &Card) -> String {
    let session = &card.session;
    let mut names = vec![format!("<b>{}</b>", name(&session.tool, MOST_NAME))];
    if let Some(label) = session.label.as_deref().filter(|label| !label.trim().is_empty()) {
        names.push(name(label, MOST_NAME));
    }
    names.push(format!("<code>{}</code>", directory(&session.cwd)));
    format!("{}\n{}", names.join(" · "), wants(card))
}

fn wants(card: &Card) -> &'static str {
    if card.confidence == Level::Low {
        return "Possible prompt: the tool seems to wait.";
    }
    match card.kind {
        Kind::YesNo => "Asks yes or no.",
        Kind::ConfirmEnter => "Waits for Enter.",
        Kind::MultipleChoice => "Asks to choose.",
        Kind::FreeText => "Asks for a text.",
        Kind::Password => "Asks for a password or another secret.",
        Kind::Idle => "Has finished and waits for the next instruction.",
        Kind::Unknown => "Possible prompt: the tool seems to wait, and its question was not recognised.",
    }
}

fn name(text: &str, most: usize) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = match line.chars().count() {
        count if count > most => line.chars().take(most - 1).chain(['…']).collect(),
        _ => line,
    };
    escape(&cut)
}

/// The end of a path tells more than its beginning.
fn directory(path: &str) -> String {
    let path = visible(path).replace('\n', " ");
    let count = path.chars().count();
    match count.checked_sub(MOST_DIRECTORY) {
        Some(over) if over > 0 => escape(&format!("…{}", path.chars().skip(over + 1).collect::<String>())),
        _ => escape(&path),
    }
}

/// The question, as much of it as the level says and as fits; and how many characters of the detail are not shown.
fn shown(card: &Card, room: usize) -> (String, usize) {
    let detail = card.detail.as_str();
    let excerpt = card.excerpt.as_str();
    let Fitted { html, left_out } = match level(card) {
        Some(most) => fit(detail, most, room, without_gaps),
        None => {
            let Fitted { html, left_out } = fit(excerpt, usize::MAX, room, without_gaps);
            let seen = excerpt.chars().count() - left_out;
            Fitted { html, left_out: unseen(detail, excerpt, seen).max(left_out) }
        }
    };
    let text = match html.trim().is_empty() {
        true => String::new(),
        false => format!("<pre>{html}</pre>"),
    };
    (text, left_out)
}

/// How many characters of the detail to show; `None`: the excerpt instead.
fn level(card: &Card) -> Option<usize> {
    let most = match card.level {
        0 => return None,
        1 => LEVELS[0],
        _ => LEVELS[1],
    };
    (!card.detail.as_str().trim().is_empty()).then_some(most)
}

/// What of the detail the excerpt does not show. An excerpt made of other words shows nothing of it.
fn unseen(detail: &str, excerpt: &str, seen: usize) -> usize {
    let whole = detail.chars().count();
    let words = match detail.contains(excerpt) {
        true => excerpt,
        // The mark of a cut is ours.
        false => excerpt.trim_end_matches('…'),
    };
    match detail.contains(words.trim()) {
        true => whole.saturating_sub(seen.min(words.chars().count())),
        false => whole,
    }
}

fn note_of_cut(card: &Card, left_out: usize) -> String {
    let detail = card.detail.as_str();
    let is_capped = detail.ends_with('…') && detail.len() + '…'.len_utf8() >= DETAIL_BYTES;
    match (left_out, is_capped) {
        (0, false) => String::new(),
        (0, true) => "<i>The dialog goes on; the terminal has all of it.</i>".to_owned(),
        (left_out, false) => format!("<i>{}</i>", more(left_out)),
        (left_out, true) => format!("<i>{}, and the dialog goes on after them</i>", more(left_out)),
    }
}

/// The rows of the dialog with their whole labels, in the order of the screen.
fn listed_choices(card: &Card) -> String {
    if card.choices.is_empty() {
        return String::new();
    }
    let marks = marks(card);
    let list = |most: usize| {
        let rows = card.choices.iter().zip(&marks).map(|(choice, mark)| {
            let one_line = |text| without_gaps(text).replace('\n', " ");
            let Fitted { html, left_out } = fit(choice.label.trim(), most, CHOICES_UNITS, one_line);
            match left_out {
                0 => format!("{mark} {html}"),
                left_out => format!("{mark} {html}… ({})", more(left_out)),
            }
        });
        format!("<pre>{}</pre>", rows.collect::<Vec<_>>().join("\n"))
    };
    let mut lists = MOST_LABEL.into_iter().map(list);
    let fits = |list: &String| units(list) <= CHOICES_UNITS;
    lists.find(fits).unwrap_or_else(|| list(0))
}

/// How each row is named: as the dialog itself names it, if it does so for all; by its number, if it does for none.
///
/// A menu that counts from 0 must not be shown counted from 1: what is typed then means another row.
fn marks(card: &Card) -> Vec<String> {
    let detail = card.detail.as_str();
    let own: Vec<Option<String>> = card
        .choices
        .iter()
        .map(|choice| detail.lines().find_map(|line| mark_before(line, choice.label.trim())))
        .collect();
    if own.iter().all(Option::is_none) {
        return (1..=own.len()).map(|number| format!("{number}.")).collect();
    }
    match own.iter().cloned().collect::<Option<Vec<String>>>() {
        Some(marks) => marks,
        None => vec!["•".to_owned(); own.len()],
    }
}

/// `❯ 2. Yes` → `2.`, for the label `Yes`.
fn mark_before(line: &str, label: &str) -> Option<String> {
    let line = line.trim_start_matches(|char: char| !char.is_alphanumeric() && char != '[' && char != '(');
    let open = line.trim_start_matches(['[', '(']);
    let key: String = open.chars().take_while(|char| char.is_ascii_alphanumeric()).take(2).collect();
    let rest = open[key.len()..].strip_prefix(['.', ')', ']', ':'])?;
    let is_label = !key.is_empty() && !label.is_empty() && rest.trim_start().starts_with(label);
    is_label.then(|| format!("{key}."))
}

/// What will happen, or what has; then the codes by which people name prompt and session.
fn tail(card: &Card) -> String {
    let code = format!("<code>{}</code> · session <code>{}</code>", card.code(), card.session.id.short());
    let lines = [hint(card), ending(card), replaced(card), code];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn hint(card: &Card) -> String {
    if !card.is_open() {
        return String::new();
    }
    match card.kind {
        Kind::Password if card.takes_secrets => {
            "Reply to this message with it, or type it at the terminal. AtlasBridge keeps it nowhere; this chat does, \
             until you delete your message."
                .to_owned()
        }
        Kind::Password => "Secrets are typed at the terminal, not here.".to_owned(),
        Kind::FreeText | Kind::Idle => {
            let lines = if card.takes.lines {
                ", in one line or several"
            } else {
                ""
            };
            format!(
                "Reply to this message with the text, at most {} characters{lines}.",
                card.max_length
            )
        }
        Kind::YesNo | Kind::ConfirmEnter | Kind::MultipleChoice | Kind::Unknown => besides(card),
    }
}

/// What a dialog takes besides its buttons.
fn besides(card: &Card) -> String {
    let Takes { reason, own_text, several, lines: _ } = card.takes;
    let text = match (own_text, reason) {
        (true, _) => "Or send your own answer as a text.",
        (false, true) => "Or send a text, to refuse with it as the reason.",
        (false, false) => "",
    };
    let example = if card.choices.len() > 2 { "1,3" } else { "1,2" };
    let rows = match (several, card.picks) {
        (true, Some(picks)) => format!("Choose {picks}: send {example}."),
        (true, None) => format!("Several: send {example}."),
        // Ticked one by one, and sent with Enter: by somebody at the terminal.
        (false, Some(picks)) => format!("It takes {picks} of the rows."),
        (false, None) => String::new(),
    };
    [text, &rows].join(" ").trim().to_owned()
}

fn replaced(card: &Card) -> String {
    match card.is_replaced {
        true => "Offered again below; these buttons are void.".to_owned(),
        false => String::new(),
    }
}

/// The one line that says where the prompt stands.
fn ending(card: &Card) -> String {
    match &card.state {
        PromptState::AwaitingReply if card.is_replaced => String::new(),
        PromptState::AwaitingReply => silence(card),
        PromptState::Created | PromptState::Routed => {
            "⏳ Queued: an earlier prompt of this session comes first.".to_owned()
        }
        PromptState::ReplyReceived { .. } if card.takes.is_by_hook() => {
            format!("💬 Answering {}…{}", answer(card), by(card))
        }
        PromptState::ReplyReceived { .. } => format!("⌨️ Typing {}…{}", answer(card), by(card)),
        PromptState::Expired { fallback: Some(_) } if card.takes.is_by_hook() => {
            format!("⌛ Nobody answered in time. Answering {}…", default(card))
        }
        PromptState::Expired { fallback: Some(_) } => {
            format!("⌛ Nobody answered in time. Typing {}…", default(card))
        }
        PromptState::Expired { fallback: None } => {
            "⌛ Expired: nobody answered in time, nothing was typed. The question still stands at the terminal.".to_owned()
        }
        PromptState::Injected {
            source: Source::Timeout,
            ..
        } if card.takes.is_by_hook() => format!(
            "💬 Nobody answered in time. Answered {}; not yet seen to be taken.",
            default(card)
        ),
        PromptState::Injected { .. } if card.takes.is_by_hook() => {
            format!("💬 Answered {}{}; not yet seen to be taken.", answer(card), by(card))
        }
        PromptState::Injected {
            source: Source::Timeout,
            ..
        } => format!("⌨️ Nobody answered in time. Typed {}; not yet seen to be taken.", default(card)),
        PromptState::Injected { .. } => {
            format!("⌨️ Typed {}{}; not yet seen to be taken.", answer(card), by(card))
        }
        PromptState::Resolved { how } => resolved(card, how),
        PromptState::Canceled { why } => canceled(card, *why),
        PromptState::Failed { why } => failed(card, *why),
    }
}

/// What becomes of it if nobody answers.
fn silence(card: &Card) -> String {
    let Some(seconds) = card.seconds_left else {
        return "Waits until somebody answers.".to_owned();
    };
    let time = time_left(seconds);
    match (&card.silence, card.kind) {
        (None, _) => format!("⏳ {time} left; after that nothing is typed."),
        (Some(_), Kind::ConfirmEnter) => format!("⏳ {time} left; then Enter is pressed."),
        (Some(_), Kind::FreeText) => format!("⏳ {time} left; then an empty line is sent."),
        (Some(label), Kind::YesNo | Kind::MultipleChoice | Kind::Password | Kind::Idle | Kind::Unknown) => {
            format!("⏳ {time} left; then {} is chosen.", quoted(label))
        }
    }
}

fn time_left(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h", (seconds + 1800) / 3600),
    }
}

fn resolved(card: &Card, how: &Resolution) -> String {
    match how {
        Resolution::Applied { source: Source::Timeout } => {
            format!("⌛ Expired: nobody answered in time; {} was applied.", default(card))
        }
        Resolution::Applied { .. } => format!("✅ Applied: {}{}.", answer(card), by(card)),
        Resolution::AnsweredLocally => "✅ Answered at the terminal.".to_owned(),
        Resolution::AnsweredOutOfBand => {
            "⚠️ Answered, but neither at the terminal's keyboard nor by AtlasBridge. Look at that session."
                .to_owned()
        }
    }
}

fn canceled(card: &Card, why: Cancellation) -> String {
    match why {
        Cancellation::Withdrawn => "✖️ Canceled: the tool took its question back.".to_owned(),
        Cancellation::ToolGone => "✖️ Canceled: the tool has ended.".to_owned(),
        Cancellation::HostGone => "✖️ Canceled: the session has ended unexpectedly.".to_owned(),
        Cancellation::ByOperator => {
            format!("✖️ Canceled{}: nothing was typed, the question is left to the terminal.", by(card))
        }
    }
}

fn failed(card: &Card, why: Failure) -> String {
    let what = match why {
        Failure::PromptChanged => {
            "❌ Prompt changed: the screen no longer shows this question; nothing was typed."
        }
        Failure::TypingLocally => "❌ Failed: somebody was typing at the terminal; nothing was typed.",
        Failure::NotTaken if card.takes.is_by_hook() => {
            "❌ Failed: it was answered, but the tool did not react. Look at the terminal."
        }
        Failure::NotTaken => "❌ Failed: it was typed, but the tool did not react. Look at the terminal.",
        Failure::NotReading => "❌ Failed: the program does not read its terminal now; nothing was typed.",
        Failure::ToolGone => "❌ Failed: the tool has ended.",
        Failure::TooLate => "❌ Failed: the answer reached the session too late; nothing was typed.",
        Failure::NotRecorded => "❌ Failed: it could not be put on record first, so nothing was typed.",
        Failure::Unknown => {
            "❓ Unknown: it may have been typed, and nothing proves that the tool took it. It is not tried again. Look at the terminal."
        }
        Failure::NoChannel => "❌ Failed: nothing could take this prompt.",
    };
    match &card.answered {
        Some(_) => format!("{what} (The answer was {}{}.)", answer(card), by(card)),
        None => what.to_owned(),
    }
}

/// What was answered: the hub never hands over the words of a free text.
fn answer(card: &Card) -> String {
    match &card.answered {
        Some(answered) => quoted(&answered.value),
        None => "the answer".to_owned(),
    }
}

fn by(card: &Card) -> String {
    match &card.answered {
        Some(answered) if !answered.by.trim().is_empty() => format!(", by {}", name(&answered.by, MOST_NAME)),
        Some(_) | None => String::new(),
    }
}

fn default(card: &Card) -> String {
    match (&card.answered, &card.silence) {
        (Some(answered), _) => format!("the default {}", quoted(&answered.value)),
        (None, Some(label)) => format!("the default {}", quoted(label)),
        (None, None) => "the default".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("“{}”", name(text, super::MOST_BUTTON))
}

fn rows(card: &Card, has_more: bool) -> Vec<Vec<Key>> {
    let mut rows = answers(card);
    let looks = match (has_more, card.level, card.kind) {
        (true, 0, Kind::Unknown) => Some(("Show last output", Tap::ShowMore)),
        (true, 0 | 1, _) => Some(("Show more", Tap::ShowMore)),
        (true, 2.., _) => Some(("Send all as a file", Tap::ShowMore)),
        (false, ..) => None,
    };
    let screen = match (looks, card.kind) {
        (None, Kind::Unknown) => "Show last output",
        _ => "Show screen",
    };
    let looks = looks.into_iter().chain([(screen, Tap::ShowScreen)]);
    rows.push(looks.filter_map(|(text, tap)| key(card, text, tap)).collect());
    rows
}

/// The buttons that answer, by kind.
fn answers(card: &Card) -> Vec<Vec<Key>> {
    let one = |text: &str, tap: Tap| key(card, text, tap).into_iter().collect::<Vec<_>>();
    let default = match &card.silence {
        Some(label) => one(&format!("Use default ({label})"), Tap::UseDefault),
        None => Vec::new(),
    };
    let mut rows = match card.kind {
        Kind::YesNo | Kind::MultipleChoice => {
            let mut rows = choice_rows(card);
            rows.push(default);
            rows
        }
        Kind::ConfirmEnter => vec![one("Press Enter", Tap::Enter), one_default(card)],
        Kind::FreeText => vec![one_default(card)],
        Kind::Password => vec![one("Cancel", Tap::Cancel)],
        Kind::Idle => Vec::new(),
        Kind::Unknown => vec![one("Send Enter", Tap::Enter), one("Cancel", Tap::Cancel)],
    };
    rows.retain(|row| !row.is_empty());
    rows
}

fn one_default(card: &Card) -> Vec<Key> {
    card.silence.iter().filter_map(|_| key(card, "Use default", Tap::UseDefault)).collect()
}

/// One row each, in the order of the screen; a plain yes and no share a row, yes before no, unless it looks destructive.
fn choice_rows(card: &Card) -> Vec<Vec<Key>> {
    let button = |row: usize| {
        let choice = card.choices.get(row)?;
        key(card, choice.label.trim(), Tap::Row(row))
    };
    let effects: Vec<Effect> = card.choices.iter().map(|choice| choice.effect).collect();
    let pair = match effects[..] {
        [Effect::Accepts, Effect::Refuses] => Some([0, 1]),
        [Effect::Refuses, Effect::Accepts] => Some([1, 0]),
        _ => None,
    };
    match pair {
        Some(pair) if is_harmless(card) => vec![pair.into_iter().filter_map(button).collect()],
        Some(pair) => pair.into_iter().filter_map(button).map(|key| vec![key]).collect(),
        None => (0..card.choices.len()).filter_map(button).map(|key| vec![key]).collect(),
    }
}

/// Nothing that destroys was read, and the labels are short enough to be read side by side.
fn is_harmless(card: &Card) -> bool {
    const SIDE_BY_SIDE: usize = 16;
    let labels = card.choices.iter().map(|choice| choice.label.as_str());
    let texts = [card.detail.as_str(), card.excerpt.as_str()];
    labels.clone().all(|label| label.chars().count() <= SIDE_BY_SIDE)
        && !texts.into_iter().chain(labels).any(looks_destructive)
}

fn key(card: &Card, text: &str, tap: Tap) -> Option<Key> {
    Some(Key { text: on_button(text), data: callback::of_card(card, tap)? })
}
