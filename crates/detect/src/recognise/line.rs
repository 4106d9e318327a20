//! The cursor's line as a question: what a line must look like to be one, its subject, its default, its limits.

use atlasbridge_model::{Constraints, MAX_LENGTH, Span};

use super::{Look, Pattern};
use crate::page::{Page, indent, is_rule};
use crate::witness::Waits;

/// Most blanks between a question and the cursor: a column further right is a table, not a question.
const WIDEST_GAP: usize = 2;
/// How many lines above a question are shown with it: what a person at the desk would have read.
const SUBJECT_LINES: usize = 20;

/// The question in the cursor's line: text right before the cursor and nothing behind it.
pub(crate) fn question<'a>(look: &'a Look<'_>) -> Option<&'a str> {
    let line = &look.line;
    let text = line.before.trim_start();
    (!text.is_empty() && line.gap <= WIDEST_GAP && line.after.trim().is_empty()).then_some(text)
}

/// The line above, where the cursor's own is but a mark to type behind, as installers do: `Accept? [yes|no]`, `>>> `.
pub(crate) fn asked_above<'a>(look: &'a Look<'_>) -> Option<&'a str> {
    let is_mark = look.kernel.canonical && matches!(look.line.before.trim(), ">>>" | ">>" | ">" | ":" | "->");
    let above = look.line.first.checked_sub(1).filter(|_| is_mark && look.line.after.is_empty())?;
    Some(look.page.inner(above).trim()).filter(|text| !text.is_empty())
}

/// The nearest line above, where the cursor stands in a line of its own below it: `Run this code? (y/n)`, a gap, and the
/// place to type, perhaps with a short answer in it. Only a program that reads lines says by that alone that it asks; one
/// that waits for keys must have put the place to type under the words.
pub(crate) fn asked_before_gap<'a>(look: &'a Look<'_>) -> Option<(usize, &'a str)> {
    let page = look.page;
    let row = page.cursor.row;
    let typed = look.line.before.trim();
    let is_last = page.last_row().is_some_and(|last| last <= row);
    if !is_last || typed.chars().count() > ANSWER || !look.line.after.trim().is_empty() {
        return None;
    }
    let above = (row.saturating_sub(GAP)..row).rev().find(|&above| !page.text(above).trim().is_empty())?;
    let place = if typed.is_empty() { page.cursor.column } else { indent(page.text(row)) };
    let asked = page.text(above);
    let is_aligned = page.cursor.visible && place > 0 && indent(asked) == place;
    let reads = match look.kernel.wait {
        Waits::Read => true,
        Waits::Poll => !look.kernel.canonical && is_aligned,
        Waits::Nobody | Waits::Unknown => false,
    };
    reads.then(|| (above, asked.trim()))
}

/// The longest answer to a yes or no, in characters.
const ANSWER: usize = 3;
/// Rows from a question down to the cursor, where the place to type is below it.
const GAP: usize = 2;

/// First row of the lines that a person would read with the question: up to a rule, or the limit.
pub(crate) fn subject_from(look: &Look<'_>) -> usize {
    let first = look.line.first;
    let above = (first.saturating_sub(SUBJECT_LINES)..first).rev();
    above.take_while(|&row| !is_rule(look.page.text(row))).last().unwrap_or(first)
}

/// A question with the lines right above `row`, where the command or the file of an agent stands: who sees no more than
/// this must know what is approved. The nearest paragraph comes first, since an excerpt is cut at its end.
pub(crate) fn with_lines_above(page: &Page, row: usize, question: &str) -> String {
    let above = (0..row).rev().map(|above| page.inner(above).trim());
    let above = above.take_while(|text| !is_rule(text));
    let mut paragraphs: Vec<Vec<&str>> = vec![Vec::new()];
    let mut left = MATTER_LINES;
    for text in above.filter(|text| !text.starts_with("```")) {
        match paragraphs.last_mut() {
            Some(lines) if !text.is_empty() && left > 0 => {
                left -= 1;
                lines.push(text);
            }
            _ if text.is_empty() => paragraphs.push(Vec::new()),
            _ => break,
        }
    }
    let lines = paragraphs.iter().flat_map(|lines| lines.iter().rev());
    let all: Vec<&str> = [question].into_iter().chain(lines.copied()).collect();
    all.join(" · ")
}

/// Lines of an excerpt besides the question; more would not fit.
const MATTER_LINES: usize = 4;

/// A default in brackets: `[AU]`, `(1.0.0)`, `(default p)`; empty brackets offer none.
pub(crate) fn offers_default(question: &str) -> bool {
    static DEFAULT: Pattern = pattern!(r"(?i)(\[[^\[\]]+\]|\([^()]+\))\s*[:?>›]*\s*$|\bdefault\b");
    DEFAULT.is_match(question)
}

/// A limit that the question states: "max 50 characters".
pub(crate) fn constraints(question: &str) -> Constraints {
    static LIMIT: Pattern = pattern!(
        r"(?i)\b(?:max(?:imum)?\.?(?: of)?|up to|at most|limit(?:ed to)?:?|no more than|<=?)\s*(\d{1,5})\s*(?:char|letter|symbol|byte)"
    );
    static CODE: Pattern =
        pattern!(r"(?i)\b(\d{1,4})[ -]?(?:char(?:acter)?s?|letters?)\b(?: code| max| or (?:less|fewer))");
    let limit = |pattern: &Pattern| pattern.captures(question)?.get(1)?.as_str().parse().ok();
    let found = limit(&LIMIT).or_else(|| limit(&CODE));
    Constraints { max_length: found.unwrap_or(MAX_LENGTH), numbers: None, picks: None }
}

/// The numbers that a question states for its rows: `Enter choice [1-4]:`, `Your selection (0-20)?`.
pub(crate) fn stated_numbers(question: &str) -> Option<Span> {
    static RANGE: Pattern = pattern!(r"[\[(<]\s*(\d{1,3})\s*(?:-|–|\.\.\.?|to)\s*(\d{1,3})\s*[\])>]");
    span_of(&RANGE.captures(question)?)
}

/// How many rows one answer takes, where a question says so: `Pick 1 to 3`, `select up to two`, `choose exactly 2 options`.
/// Numbers alone are none: `Choose 2` and `Select 1-4:` name rows.
pub(crate) fn stated_picks(question: &str, rows: usize) -> Option<Span> {
    static BETWEEN: Pattern = pattern!(
        r"(?i)\b(?:pick|choose|select|check|tick|mark)\s+(?:between\s+|from\s+)?(\d{1,2}|one|two|three|four|five|six)\s*(?:-|–|to|and)\s*(\d{1,2}|one|two|three|four|five|six)\s+[a-z]"
    );
    static COUNTED: Pattern = pattern!(
        r"(?i)\b(?:pick|choose|select|check|tick|mark)\s+(?:(?<exactly>exactly)|(?<most>up to|at most|no more than|a maximum of)|(?<least>at least|no fewer than|a minimum of))\s+(?<count>\d{1,2}|one|two|three|four|five|six)\b"
    );
    let one = |how: &str| {
        let said = COUNTED.captures_iter(question).find(|captures| captures.name(how).is_some())?;
        count_of(said.name("count")?.as_str())
    };
    if let Some(captures) = BETWEEN.captures(question) {
        return span_of(&captures);
    }
    if let Some(exactly) = one("exactly") {
        return Span::new(exactly, exactly);
    }
    let rows = u16::try_from(rows).ok()?;
    match (one("least"), one("most")) {
        (None, None) => None,
        (least, most) => Span::new(least.unwrap_or(0), most.unwrap_or(rows)),
    }
}

fn span_of(captures: &regex::Captures<'_>) -> Option<Span> {
    Span::new(count_of(captures.get(1)?.as_str())?, count_of(captures.get(2)?.as_str())?)
}

fn count_of(word: &str) -> Option<u16> {
    const WORDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let word = word.to_ascii_lowercase();
    let spelled = (1..).zip(WORDS).find(|(_, name)| *name == word);
    word.parse().ok().or(spelled.map(|(count, _)| count))
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
    fn numbers_of_rows_are_in_brackets() {
        for (question, expected) in [
            ("Enter choice [1-4]:", Some((1, 4))),
            ("Your selection (0-20)?", Some((0, 20))),
            ("Which one? <2..7>", Some((2, 7))),
            ("Range [9-1]:", None),
            ("First sector (2048-40959, default 2048):", None),
            ("Enter choice:", None),
        ] {
            let span = stated_numbers(question).map(|span| (span.least(), span.most()));
            assert_eq!(span, expected, "{question}");
        }
    }

    #[test]
    fn counts_of_rows_are_said_in_words() {
        for (question, expected) in [
            ("Pick 1 to 3 toppings:", Some((1, 3))),
            ("Choose between two and four features", Some((2, 4))),
            ("Select exactly 2:", Some((2, 2))),
            ("Select up to three of these", Some((0, 3))),
            ("Tick at least one box", Some((1, 5))),
            ("Select 1-4:", None),
            ("Choose 2", None),
            ("Choose 1 or 2 please", None),
            ("Which package manager?", None),
        ] {
            let span = stated_picks(question, 5).map(|span| (span.least(), span.most()));
            assert_eq!(span, expected, "{question}");
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
