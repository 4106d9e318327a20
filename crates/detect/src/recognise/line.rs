//! The cursor's line as a question: what a line must look like to be one, its subject, its default, its limits.

use std::sync::LazyLock;

use atlasbridge_model::Constraints;
use regex::Regex;

use super::Look;
use crate::page::is_rule;

/// Most blanks between a question and the cursor: a column further right is a table, not a question.
const WIDEST_GAP: usize = 2;
/// How many lines above a question are shown as its subject.
const SUBJECT_LINES: usize = 8;

/// The question in the cursor's line: text right before the cursor and nothing behind it.
pub(crate) fn question<'a>(look: &'a Look<'_>) -> Option<&'a str> {
    let line = &look.line;
    let text = line.before.trim_start();
    (!text.is_empty() && line.gap <= WIDEST_GAP && line.after.trim().is_empty()).then_some(text)
}

/// The line above, where the cursor's own is but a mark to type behind, as installers do: `Accept? [yes|no]`, `>>> `.
pub(crate) fn asked_above<'a>(look: &'a Look<'_>) -> Option<&'a str> {
    let is_mark = look.kernel.canonical && matches!(look.line.before.trim(), ">>>" | ">>" | ">" | ":" | "->");
    let above = look
        .line
        .first
        .checked_sub(1)
        .filter(|_| is_mark && look.line.after.is_empty())?;
    Some(look.page.inner(above).trim()).filter(|text| !text.is_empty())
}

/// First row of the lines that belong to the question: up to a blank line, a rule, or the limit.
pub(crate) fn subject_from(look: &Look<'_>) -> usize {
    let mut first = look.line.first;
    let lowest = first.saturating_sub(SUBJECT_LINES);
    while first > lowest {
        let text = look.page.text(first - 1);
        if text.trim().is_empty() || is_rule(text) {
            break;
        }
        first -= 1;
    }
    first
}

/// A default in brackets: `[AU]`, `(1.0.0)`, `(default p)`; empty brackets offer none.
pub(crate) fn offers_default(question: &str) -> bool {
    static DEFAULT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)(\[[^\[\]]+\]|\([^()]+\))\s*[:?>›]*\s*$|\bdefault\b").ok());
    DEFAULT.as_ref().is_some_and(|regex| regex.is_match(question))
}

/// A limit that the question states: "max 50 characters".
pub(crate) fn constraints(question: &str) -> Constraints {
    static LIMIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:max(?:imum)?\.?(?: of)?|up to|at most|limit(?:ed to)?:?|no more than|<=?)\s*(\d{1,5})\s*(?:char|letter|symbol|byte)").ok()
    });
    static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(\d{1,4})[ -]?(?:char(?:acter)?s?|letters?)\b(?: code| max| or (?:less|fewer))")
            .ok()
    });
    let found = [&LIMIT, &CODE].into_iter().find_map(|regex| {
        let captures = regex.as_ref()?.captures(question)?;
        captures.get(1)?.as_str().parse().ok()
    });
    found.map_or_else(Constraints::default, |max_length| Constraints { max_length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_off_the_question() {
        for (question, expected) in [
            ("Commit message (max 50 characters):", 50),
            ("Name (up to 12 chars):", 12),
            ("Country Name (2 letter code) [AU]:", 2),
            ("Name:", 200),
        ] {
            assert_eq!(constraints(question).max_length, expected, "{question}");
        }
    }

    #[test]
    fn defaults_are_in_brackets() {
        for (question, expected) in [
            ("Country Name (2 letter code) [AU]:", true),
            ("version: (1.0.0)", true),
            ("Full Name []:", false),
            ("First sector (2048-40959, default 2048):", true),
            ("Name:", false),
        ] {
            assert_eq!(offers_default(question), expected, "{question}");
        }
    }
}
