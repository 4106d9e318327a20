//! A prompt as a message.
//!
//! The order of accepting and refusing buttons never changes, and where the text looks destructive each has a row of its
//! own: a thumb that has tapped the same place all day must not approve what it has not read.

use atlasbridge_model::excerpt::DETAIL_BYTES;
use atlasbridge_model::speech::{self, Fate};
use atlasbridge_model::visible::{looks_destructive, visible, without_gaps};
use atlasbridge_model::{Effect, Kind};

use super::{CUT_UNITS, Fitted, Key, MOST_UNITS, Message, escape, fit, line, more, on_button, units};
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
        rows: if card.is_open() { rows(card, left_out > 0) } else { Vec::new() },
    }
}

/// Which session, and what it wants.
fn head(card: &Card) -> String {
    let session = &card.session;
    let mut names = vec![format!("<b>{}</b>", escape(&line(&session.tool, MOST_NAME)))];
    if let Some(label) = session.label.as_deref().filter(|label| !label.trim().is_empty()) {
        names.push(escape(&line(label, MOST_NAME)));
    }
    names.push(format!("<code>{}</code>", directory(&session.cwd)));
    format!("{}\n{}", names.join(" · "), card.sighting.kind.in_chat(card.sighting.confidence.level()))
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
    let detail = card.sighting.detail.as_str();
    let excerpt = card.sighting.excerpt.as_str();
    let Fitted { html, left_out } = match level(card) {
        Some(most) => fit(detail, most, room, without_gaps),
        None => {
            let Fitted { html, left_out } = fit(excerpt, usize::MAX, room, without_gaps);
            let seen = excerpt.chars().count() - left_out;
            Fitted { html, left_out: unseen(detail, excerpt, seen).max(left_out) }
        }
    };
    let text = if html.trim().is_empty() { String::new() } else { format!("<pre>{html}</pre>") };
    (text, left_out)
}

/// How many characters of the detail to show; `None`: the excerpt instead.
fn level(card: &Card) -> Option<usize> {
    let most = match card.level {
        0 => return None,
        1 => LEVELS[0],
        _ => LEVELS[1],
    };
    (!card.sighting.detail.as_str().trim().is_empty()).then_some(most)
}

/// What of the detail the excerpt does not show. An excerpt made of other words shows nothing of it.
fn unseen(detail: &str, excerpt: &str, seen: usize) -> usize {
    let whole = detail.chars().count();
    let words = match detail.contains(excerpt) {
        true => excerpt,
        // The mark of a cut is ours.
        false => excerpt.trim_end_matches('…'),
    };
    if detail.contains(words.trim()) { whole.saturating_sub(seen.min(words.chars().count())) } else { whole }
}

fn note_of_cut(card: &Card, left_out: usize) -> String {
    let detail = card.sighting.detail.as_str();
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
    let marks = marks(card);
    if marks.is_empty() {
        return String::new();
    }
    let list = |most: usize| {
        let rows = card.rows().zip(&marks).map(|((label, _), mark)| {
            let one_line = |text| without_gaps(text).replace('\n', " ");
            let Fitted { html, left_out } = fit(label.trim(), most, CHOICES_UNITS, one_line);
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
    let detail = card.sighting.detail.as_str();
    let own: Vec<Option<String>> = card
        .rows()
        .map(|(label, _)| detail.lines().find_map(|line| mark_before(line, label.trim())))
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
    let code =
        format!("<code>{}</code> · session <code>{}</code>", card.prompt.short(), card.session.id.short());
    let lines = [hint(card), ending(card), replaced(card), code];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn hint(card: &Card) -> String {
    if card.is_open() { speech::answerable(&card.sighting, card.takes_secrets) } else { String::new() }
}

fn replaced(card: &Card) -> String {
    if card.is_replaced { "Offered again below; these buttons are void.".to_owned() } else { String::new() }
}

/// The one line that says where the prompt stands.
fn ending(card: &Card) -> String {
    let default = card.silence.as_deref().map(quoted);
    if card.is_open() {
        return escape(&speech::silence(card.sighting.kind, card.seconds_left, default.as_deref()));
    }
    let answer = card.answered.as_ref().map(|answered| quoted(&answered.value));
    let by = card.answered.as_ref().map(|answered| line(&answered.by, MOST_NAME));
    let fate = Fate {
        state: &card.state,
        takes: card.sighting.takes,
        answer: answer.as_deref(),
        by: by.as_deref().filter(|by| !by.is_empty()),
        default: default.as_deref(),
    };
    escape(&fate.in_chat().unwrap_or_default())
}

fn quoted(text: &str) -> String {
    format!("“{}”", line(text, super::MOST_BUTTON))
}

fn rows(card: &Card, has_more: bool) -> Vec<Vec<Key>> {
    let mut rows = answers(card);
    let looks = match (has_more, card.level, card.sighting.kind) {
        (true, 0, Kind::Unknown) => Some(("Show last output", Tap::ShowMore)),
        (true, 0 | 1, _) => Some(("Show more", Tap::ShowMore)),
        (true, 2.., _) => Some(("Send all as a file", Tap::ShowMore)),
        (false, ..) => None,
    };
    let screen = match (looks, card.sighting.kind) {
        (None, Kind::Unknown) => "Show last output",
        _ => "Show screen",
    };
    let looks = looks.into_iter().chain([(screen, Tap::ShowScreen)]);
    rows.push(looks.filter_map(|(text, tap)| key(card, text, tap)).collect());
    rows
}

/// The buttons that answer, by kind.
fn answers(card: &Card) -> Vec<Vec<Key>> {
    let one = |text: &str, tap: Tap| key(card, text, tap).map(|key| vec![key]);
    let default = card.silence.as_ref().and_then(|label| match card.sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => one(&format!("Use default ({label})"), Tap::UseDefault),
        Kind::ConfirmEnter | Kind::FreeText => one("Use default", Tap::UseDefault),
        Kind::Password | Kind::Idle | Kind::Unknown => None,
    });
    let own = match card.sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => choice_rows(card).into_iter().map(Some).collect(),
        Kind::ConfirmEnter => vec![one("Press Enter", Tap::Enter)],
        Kind::FreeText | Kind::Idle => Vec::new(),
        Kind::Password => vec![one("Cancel", Tap::Cancel)],
        Kind::Unknown => vec![one("Send Enter", Tap::Enter), one("Cancel", Tap::Cancel)],
    };
    own.into_iter().chain([default]).flatten().filter(|row| !row.is_empty()).collect()
}

/// One row each, in the order of the screen; a plain yes and no share a row, yes before no, unless it looks destructive.
fn choice_rows(card: &Card) -> Vec<Vec<Key>> {
    let (labels, effects): (Vec<String>, Vec<Effect>) = card.rows().unzip();
    let button = |row: usize| key(card, labels[row].trim(), Tap::Row(row));
    let pair = match effects[..] {
        [Effect::Accepts, Effect::Refuses] => Some([0, 1]),
        [Effect::Refuses, Effect::Accepts] => Some([1, 0]),
        _ => None,
    };
    match pair {
        Some(pair) if is_harmless(card) => vec![pair.into_iter().filter_map(button).collect()],
        Some(pair) => pair.into_iter().filter_map(button).map(|key| vec![key]).collect(),
        None => (0..labels.len()).filter_map(button).map(|key| vec![key]).collect(),
    }
}

/// Nothing that destroys was read, and the labels are short enough to be read side by side.
fn is_harmless(card: &Card) -> bool {
    const SIDE_BY_SIDE: usize = 16;
    let labels: Vec<String> = card.rows().map(|(label, _)| label).collect();
    let texts = [card.sighting.detail.as_str(), card.sighting.excerpt.as_str()];
    labels.iter().all(|label| label.chars().count() <= SIDE_BY_SIDE)
        && !texts.into_iter().chain(labels.iter().map(String::as_str)).any(looks_destructive)
}

fn key(card: &Card, text: &str, tap: Tap) -> Option<Key> {
    Some(Key { text: on_button(text), data: callback::of_card(card, tap)? })
}
