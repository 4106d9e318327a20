//! Free text: a line that ends in `:`, `?` or `>` with the cursor behind it.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Place, Reading, line};

/// A mark at the end, or a default in brackets behind one: `version: (1.0.0)`, `keysize do you want? (3072)`.
static ASKS: Pattern = pattern!(r"[:?>›»»‣]$|[:?]\s*[\[(][^\[\]()]*[\])]$");
/// Editors of the inquirer family begin their line with a question mark.
static MARKED: Pattern = pattern!(r"^[?◆]\s+\S");
static MARKED_DEFAULT: Pattern = pattern!(r"^[?◆]\s+\S.*\s(\([^()]*\))$");
/// A time, a path, an arrow of a log: no question.
static NOT_ASKING: Pattern = pattern!(r"(?:^|\s)\d{1,2}:\d{2}(?::\d{2})?:?$|https?:$|[-=]>$|::$|\d+\s?>$");

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look)?;
    if NOT_ASKING.is_match(question) && question.chars().count() > 2 && !MARKED.is_match(question) {
        return None;
    }
    let base = match question {
        _ if ASKS.is_match(question) => 70,
        _ if MARKED.is_match(question) => 68,
        _ => return None,
    };
    let mut reading = Reading::line(look, Kind::FreeText, base, question);
    // A default in brackets goes away with the first letter typed.
    if let Some(default) = MARKED_DEFAULT.captures(question).and_then(|captures| captures.get(1))
        && let Place::Line { question } = &mut reading.place
        && question.len() > default.len()
    {
        question.truncate(question.trim_end().len() - default.len());
        question.truncate(question.trim_end().len());
    }
    Some(reading)
}

/// A question drawn as a block, with the cursor parked below it: the clack family.
pub(super) fn drawn(look: &Look<'_>) -> Option<Reading> {
    static SECRET: Pattern = pattern!(r"(?i)\b(password|passphrase|secret|token|api key)\b");
    let page = look.page;
    let last = page.last_row()?;
    let open = page.text(last).starts_with('└') && (last..=last + 1).contains(&page.cursor.row);
    if look.kernel.canonical || !open {
        return None;
    }
    let row = (last.saturating_sub(6)..last).rev().find(|&row| page.text(row).starts_with('◆'))?;
    let question = page.text(row).trim_start_matches('◆').trim();
    if question.is_empty() {
        return None;
    }
    let (kind, base) = if SECRET.is_match(question) { (Kind::Password, 85) } else { (Kind::FreeText, 80) };
    Some(Reading::block(kind, base, question, page.block(row, last), question.to_owned()))
}
