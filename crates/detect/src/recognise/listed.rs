//! A list printed above, a question below: `1) dev` … `Choose:`, answered by the number and Enter.

use atlasbridge_model::{Choice, Effect, Kind};

use super::labels::{self, Pattern, pattern};
use super::{Look, Reading, line, yes_no};
use crate::packs::words;
use crate::page::is_rule;

/// Most lines between the question and the list, and most lines of a list.
const REACH: usize = 40;
/// Lines of other text that may stand between list and question.
const BETWEEN: usize = 2;

static ENTRY: Pattern = pattern!(r"(?:^\s*|\s{2,}|^[*>]\s*)[\[(]?(\d{1,3})[\]).:]+\s+(\S.*?)(?:\s{2,}|$)");
static LETTER_ENTRY: Pattern = pattern!(r"^\s*(?:[\[(]([A-Za-z])[\])]|([A-Za-z])[).:])\s+(\S.*)$");
static TABLE_ENTRY: Pattern = pattern!(r"^[*>]?\s*(\d{1,3})\s{2,}(\S+)");
static BARE_LETTER: Pattern = pattern!(r"^\s+([a-z])\s{2,}(\S.*)$");
/// A question that is about a list.
static ABOUT: Pattern = pattern!(
    r"(?i)(#\?|\b(select|selection|choice|choose|option|number|pick|what now|which|enter|your|action|area|zone|menu|\d\s*-\s*\d)\b.*[:?>\])]|[:?>])$"
);
/// `Enter choice [1-3]: 2`: that list has had its answer.
static ANSWERED: Pattern = pattern!(r"^(.*(?:[:?>]|#\?)) +\S.{0,40}$");

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look)?;
    let is_for_text = words().textual.is_match(question) && !words().choosing.is_match(question);
    if !ABOUT.is_match(question) || is_for_text || yes_no::read(look).is_some() {
        return None;
    }
    let list = List::above(look, question)?;
    let mut reading = Reading::line(look, Kind::MultipleChoice, 80, question);
    reading.detail = look.page.block(list.first_row, look.line.last);
    reading.identity = format!("{}\n{}", reading.identity, list.labels());
    // `#?` and `>` ask nothing by themselves: the line above the list does.
    let above = list
        .first_row
        .checked_sub(1)
        .map_or("", |row| look.page.inner(row).trim());
    if question.chars().count() <= 2 && above.ends_with(['?', ':']) {
        reading.excerpt = format!("{above} {question}");
        reading.detail = look.page.block(list.first_row - 1, look.line.last);
    }
    Some(reading.with_choices(list.choices(look)))
}

struct List {
    first_row: usize,
    /// What is typed, and what it means; in the order of the numbers.
    entries: Vec<(String, String)>,
    by_letter: bool,
}

impl List {
    fn above(look: &Look<'_>, question: &str) -> Option<Self> {
        let choosing = words().choosing.is_match(question);
        Self::numbered(look)
            .or_else(|| {
                choosing
                    .then(|| Self::of_pattern(look, &LETTER_ENTRY, false))
                    .flatten()
            })
            .or_else(|| {
                choosing
                    .then(|| Self::of_pattern(look, &BARE_LETTER, true))
                    .flatten()
            })
            .or_else(|| {
                choosing
                    .then(|| Self::of_pattern(look, &TABLE_ENTRY, false))
                    .flatten()
            })
    }

    /// Rows of `1) dev`, in one column or several. They must count from 0 or 1 without a gap at the start.
    fn numbered(look: &Look<'_>) -> Option<Self> {
        let mut entries: Vec<(u16, String)> = Vec::new();
        let first_row = walk_up(look, |text| {
            let found = entries_of(text);
            let any = !found.is_empty();
            entries.extend(found);
            any
        })?;
        entries.sort_by_key(|(number, _)| *number);
        entries.dedup_by_key(|(number, _)| *number);
        let (lowest, count) = (entries.first()?.0, entries.len());
        if lowest > 1 || count < 2 || entries[1].0 != lowest + 1 {
            return None;
        }
        let entries = entries
            .into_iter()
            .map(|(number, label)| (number.to_string(), label))
            .collect();
        Some(Self {
            first_row,
            entries,
            by_letter: false,
        })
    }

    fn of_pattern(look: &Look<'_>, pattern: &Pattern, by_letter: bool) -> Option<Self> {
        let mut entries: Vec<(String, String)> = Vec::new();
        let first_row = walk_up(look, |text| {
            let Some(captures) = pattern.captures(text) else {
                return false;
            };
            let mut groups = captures.iter().skip(1).flatten().map(|group| group.as_str());
            let (Some(key), Some(label)) = (groups.next(), groups.next()) else {
                return false;
            };
            entries.push((key.to_owned(), labels::without_hint(label).to_owned()));
            true
        })?;
        entries.reverse();
        (entries.len() >= 2).then_some(Self {
            first_row,
            entries,
            by_letter,
        })
    }

    fn labels(&self) -> String {
        self.entries
            .iter()
            .map(|(key, label)| format!("{key} {label}\n"))
            .collect()
    }

    fn choices(&self, look: &Look<'_>) -> Vec<Choice> {
        let choice = |(key, label): &(String, String)| {
            // A letter that stands for a table row is known by its letter.
            let shown = if self.by_letter { key } else { label };
            let effect = match labels::effect(label) {
                // In a list of numbers only a plain refusal refuses; "Continue" and "Install" are just entries.
                Effect::Accepts if !labels::is_plain(label) => Effect::Other,
                effect => effect,
            };
            Choice {
                label: shown.clone(),
                strokes: look.answer(key),
                effect,
            }
        };
        self.entries.iter().map(choice).collect()
    }
}

/// Goes up from the question while `take` accepts rows; says where the list begins.
fn walk_up(look: &Look<'_>, mut take: impl FnMut(&str) -> bool) -> Option<usize> {
    let mut first = None;
    let mut between = 0;
    for row in (look.line.first.saturating_sub(REACH)..look.line.first).rev() {
        let text = look.page.text(row);
        if take(text) {
            first = Some(row);
            between = 0;
            continue;
        }
        between += 1;
        let ends = match first {
            // Inside the list a wrapped line or a blank may stand.
            Some(_) => text.trim().is_empty() || !text.starts_with("  ") || between > 1,
            None => between > BETWEEN || is_rule(text) && !text.trim().is_empty() || is_answered(text),
        };
        if ends {
            break;
        }
    }
    first
}

fn is_answered(text: &str) -> bool {
    let question = ANSWERED.captures(text).and_then(|captures| captures.get(1));
    question.is_some_and(|question| {
        ABOUT.is_match(question.as_str()) && words().choosing.is_match(question.as_str())
    })
}

fn entries_of(text: &str) -> Vec<(u16, String)> {
    let Some(regex) = ENTRY.regex() else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(captures) = regex.captures_at(text, at) {
        let (Some(number), Some(label)) = (captures.get(1), captures.get(2)) else {
            break;
        };
        let first = entries.is_empty();
        // The first entry of a row begins the row.
        if first
            && !text[..number.start()]
                .trim_matches(['(', '[', ' ', '*', '>', '\t'])
                .is_empty()
        {
            break;
        }
        if let Ok(number) = number.as_str().parse() {
            entries.push((number, labels::without_hint(label.as_str()).to_owned()));
        }
        at = label.end();
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_list_is_over() {
        assert!(is_answered("Enter choice [1-3]: 2"));
        assert!(is_answered("Your selection? 1"));
        assert!(!is_answered("Please select one:"));
        assert!(!is_answered("The default is 1"));
    }

    #[test]
    fn rows_of_a_list() {
        for (text, expected) in [
            ("1) dev", vec![(1, "dev")]),
            ("   (1) RSA and RSA (default)", vec![(1, "RSA and RSA")]),
            (
                "  (14) Existing key from card",
                vec![(14, "Existing key from card")],
            ),
            (
                "    1: clean                2: filter by pattern",
                vec![(1, "clean"), (2, "filter by pattern")],
            ),
            (
                "  1. Africa   3. Antarctica  11. US",
                vec![(1, "Africa"), (3, "Antarctica"), (11, "US")],
            ),
            ("[2] Second", vec![(2, "Second")]),
            ("see 1. of the manual", vec![]),
        ] {
            let found = entries_of(text);
            let found: Vec<(u16, &str)> = found
                .iter()
                .map(|(number, label)| (*number, label.as_str()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
