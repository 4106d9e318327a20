//! A list printed above, a question below: `1) dev` … `Choose:`, answered by the number and Enter.

use atlasbridge_model::{Choice, Effect, Kind, Strokes};

use super::{Look, Pattern, Reading, labels, line, yes_no};
use crate::packs::words;
use crate::page::is_rule;

/// Most lines between the question and the list, and most lines of a list.
const REACH: usize = 40;
/// Lines of other text that may stand between list and question.
const BETWEEN: usize = 2;
/// Most lines that describe one row of a list.
const DESCRIPTION: usize = 2;

static ENTRY: Pattern =
    pattern!(r"(?:^\s*|\s{2,}|^[*>]\s*)[\[(]?(\d{1,3})(?:[\]).:]+\s+|\s+[-–—]\s+)(\S.*?)(?:\s{2,}|$)");
static LETTER_ENTRY: Pattern = pattern!(r"^\s*(?:[\[(]([A-Za-z])[\])]|([A-Za-z])[).:])\s+(\S.*)$");
static TABLE_ENTRY: Pattern = pattern!(r"^[*>]?\s*(\d{1,3})\s{2,}(\S.*)$");
static BARE_LETTER: Pattern = pattern!(r"^\s+([a-z])\s{2,}(\S.*)$");
/// A question that is about a list.
static ABOUT: Pattern = pattern!(
    r"(?i)(#\?|\b(select|selection|choice|choose|option|number|pick|what now|which|enter|your|action|area|zone|menu|\d\s*-\s*\d)\b.*[:?>\])]|[:?>])$"
);
/// `Enter choice [1-3]: 2`: that list has had its answer.
static ANSWERED: Pattern = pattern!(r"^(.*(?:[:?>]|#\?)) +\S.{0,40}$");

/// What Enter alone does: `Press <enter> to keep the current choice[*], or type selection number:`.
static ENTER_DOES: Pattern =
    pattern!(r"(?i)\b(?:press|hit)\s+[<\[(]?(?:enter|return)[>\])]?\s+to\s+(\w+)\b.*\bor\b");

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    below(look).or_else(|| above(look))
}

fn above(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look)?;
    let is_for_text = words().textual.is_match(question) && !words().choosing.is_match(question);
    if !ABOUT.is_match(question) || is_for_text || yes_no::read(look).is_some() {
        return None;
    }
    let list = List::above(look, question)?;
    let mut reading = Reading::line(look, Kind::MultipleChoice, 80, question);
    reading.identity = format!("{}\n{}", reading.identity, list.labels());
    let reading = list.announced(look, reading);
    let mut choices = list.choices(look);
    if let Some(does) = ENTER_DOES.captures(question).and_then(|captures| captures.get(1)) {
        choices.insert(0, labels::choice(does.as_str(), Strokes::enter()));
    }
    Some(reading.with_choices(choices))
}

/// A line editor's question with its list below: `? Pick one`, `  1) npm`.
fn below(look: &Look<'_>) -> Option<Reading> {
    let question = look.line.whole();
    if look.kernel.canonical || !question.starts_with("? ") {
        return None;
    }
    let first_row = look.line.last + 1;
    let only_entry = |row: usize| <[(u16, String); 1]>::try_from(entries_of(look.page.text(row))).ok();
    let rows = (first_row..look.page.lines.len()).map_while(only_entry).flatten();
    let counted = rows.zip(1..).take_while(|((number, _), count)| number == count);
    let entries: Vec<_> = counted.map(|((number, label), _)| (number.to_string(), label)).collect();
    let end = first_row + entries.len();
    if entries.len() < 2 {
        return None;
    }
    let list = List { first_row, entries, by_letter: false };
    // The number of the highlighted row may stand behind the question already.
    let asked = question.trim_end_matches(|char: char| char.is_ascii_digit()).trim();
    let detail = look.page.block(look.line.first, end.saturating_sub(1));
    let identity = format!("{asked}\n{}", list.labels());
    let excerpt = asked.trim_start_matches('?');
    let reading = Reading::block(Kind::MultipleChoice, 80, excerpt, detail, identity);
    Some(reading.with_choices(list.choices(look)))
}

/// Longest text before a list that goes into the excerpt beside the question itself, in bytes.
const LONGEST_LEAD: usize = 120;
/// Most lines of such a text.
const LEAD_LINES: usize = 3;

/// Where the text begins that leads to the list: the lines right above it, or above one blank line.
fn lead_of(look: &Look<'_>, first_row: usize) -> Option<usize> {
    let is_text = |row: usize| {
        let text = look.page.text(row);
        !text.trim().is_empty() && !is_rule(text) && !is_answered(text)
    };
    let nearest =
        (first_row.saturating_sub(2)..first_row).rev().find(|&row| !look.page.text(row).trim().is_empty())?;
    let rows = (nearest.saturating_sub(LEAD_LINES - 1)..=nearest).rev().take_while(|&row| is_text(row));
    let begins_line = |row: usize| {
        let above = row.checked_sub(1).map_or("", |above| look.page.text(above).trim());
        // A line that ends a sentence, or a short one, does not go on here.
        above.ends_with(['.', '!', '?', ':']) || above.chars().count() * 2 < look.page.cols
    };
    rows.clone().find(|&row| begins_line(row)).or(rows.last())
}

pub(super) struct List {
    first_row: usize,
    /// What is typed, and what it means; in the order of the numbers.
    pub(super) entries: Vec<(String, String)>,
    by_letter: bool,
}

/// The letters that the lines above explain: `a) Install`, `(r) Retry`.
pub(super) fn lettered(look: &Look<'_>, question: &str) -> Option<List> {
    List::of_pattern(look, question, &LETTER_ENTRY)
}

impl List {
    fn above(look: &Look<'_>, question: &str) -> Option<Self> {
        let of_pattern = |pattern: &Pattern| Self::of_pattern(look, question, pattern);
        Self::numbered(look, question).or_else(|| {
            words().choosing.is_match(question).then_some(())?;
            of_pattern(&LETTER_ENTRY)
                .or_else(|| Some(Self { by_letter: true, ..of_pattern(&BARE_LETTER)? }))
                .or_else(|| of_pattern(&TABLE_ENTRY).map(Self::by_column))
        })
    }

    /// Rows of `1) dev`, in one column or several. They must count from 0 or 1 without a gap at the start.
    fn numbered(look: &Look<'_>, question: &str) -> Option<Self> {
        // Above its first row another list ends.
        let is_over = |entries: &[(u16, String)], found: &[(u16, String)]| {
            entries.iter().any(|(number, _)| *number == 1) && found.iter().any(|(number, _)| *number > 0)
        };
        let (first_row, mut entries) = walk_up(look, question, 1, entries_of, is_over)?;
        let way_out = entries.first().is_some_and(|(number, _)| *number == 0);
        entries.sort_by_key(|(number, _)| *number);
        entries.dedup_by_key(|(number, _)| *number);
        let (lowest, count) = (entries.first()?.0, entries.len());
        if lowest > 1 || count < 2 || entries[1].0 != lowest + 1 {
            return None;
        }
        // `0) Exit` below all others stays there.
        if way_out {
            entries.rotate_left(1);
        }
        let entries = entries.into_iter().map(|(number, label)| (number.to_string(), label)).collect();
        Some(Self { first_row, entries, by_letter: false })
    }

    fn of_pattern(look: &Look<'_>, question: &str, pattern: &Pattern) -> Option<Self> {
        let entry = |text: &str| {
            let captures = pattern.captures(text)?;
            let mut groups = captures.iter().skip(1).flatten().map(|group| group.as_str());
            Some((groups.next()?.to_owned(), labels::without_hint(groups.next()?).to_owned()))
        };
        let entries_of = |text: &str| Vec::from_iter(entry(text));
        let (first_row, mut entries) = walk_up(look, question, 0, entries_of, |_, _| false)?;
        entries.reverse();
        (entries.len() >= 2).then_some(Self { first_row, entries, by_letter: false })
    }

    /// Rows of a table are told apart by their first column, or else by all of them.
    fn by_column(mut self) -> Self {
        let columns = |label: &str| label.split("  ").next().unwrap_or(label).trim_end().to_owned();
        let short: Vec<String> = self.entries.iter().map(|(_, label)| columns(label)).collect();
        let differ = !labels::is_any_twice(&short);
        for ((_, label), short) in self.entries.iter_mut().zip(short) {
            *label = if differ { short } else { label.split_whitespace().collect::<Vec<_>>().join(" ") };
        }
        self
    }

    /// With the text that leads to the list: it often is the question, and the line of the cursor only `Your choice:`.
    pub(super) fn announced(&self, look: &Look<'_>, mut reading: Reading) -> Reading {
        let first_row = self.first_row;
        let lead = lead_of(look, first_row);
        reading.detail = look.page.block(lead.unwrap_or(first_row), look.line.last);
        let text = lead.map(|row| look.page.words(row, first_row));
        // A line right above the list is its title, though it may end in no sign.
        let is_title = lead.is_some_and(|row| row + 1 == first_row);
        let is_bare = reading.excerpt.chars().count() <= 2;
        let leads =
            |text: &String| (is_title || is_bare || text.ends_with(['?', ':'])) && text.len() <= LONGEST_LEAD;
        if let Some(text) = text.filter(leads) {
            reading.excerpt = format!("{text} {}", reading.excerpt);
        }
        reading
    }

    fn labels(&self) -> String {
        self.entries.iter().map(|(key, label)| format!("{key} {label}\n")).collect()
    }

    fn choices(&self, look: &Look<'_>) -> Vec<Choice> {
        let choice = |(key, label): &(String, String)| {
            // A letter that stands for a table row is known by its letter.
            let shown = if self.by_letter { key } else { label };
            // In a list of numbers only a plain refusal refuses; "Continue" and "Install" are just entries.
            let effect = labels::effect(label);
            let is_entry = effect.is_accepting() && !labels::is_plain(label);
            let effect = if is_entry { Effect::Other } else { effect };
            look.choice(shown, key, effect)
        };
        self.entries.iter().map(choice).collect()
    }
}

/// Goes up from the question and takes the entries of each row, until they belong to another list; says where the list
/// begins. Numbers hold a list together over `blanks_within` blank lines; letters do not.
fn walk_up<Entry>(
    look: &Look<'_>,
    question: &str,
    blanks_within: usize,
    entries_of: impl Fn(&str) -> Vec<Entry>,
    is_over: impl Fn(&[Entry], &[Entry]) -> bool,
) -> Option<(usize, Vec<Entry>)> {
    let mut first = None;
    let mut entries = Vec::new();
    let (mut between, mut blanks) = (0, 0);
    let mut limit = BETWEEN;
    for row in (look.line.first.saturating_sub(REACH)..look.line.first).rev() {
        let text = look.page.text(row);
        let found = entries_of(text);
        if is_over(&entries, &found) {
            break;
        }
        if !found.is_empty() {
            entries.extend(found);
            first = Some(row);
            (between, blanks) = (0, 0);
            continue;
        }
        // The same question answered further up: the answer was not taken, and the list still counts.
        if first.is_none() && text.trim_start().starts_with(question) {
            limit += BETWEEN;
            continue;
        }
        between += 1;
        blanks += usize::from(text.trim().is_empty());
        let ends = match first {
            // Inside the list a description or a blank line may stand.
            Some(_) if text.trim().is_empty() => blanks > blanks_within,
            Some(_) => !text.starts_with("  ") || between - blanks > DESCRIPTION,
            None => between > limit || is_rule(text) && !text.trim().is_empty() || is_answered(text),
        };
        if ends {
            break;
        }
    }
    Some((first?, entries))
}

fn is_answered(text: &str) -> bool {
    let question = ANSWERED.captures(text).and_then(|captures| captures.get(1));
    question.is_some_and(|question| {
        ABOUT.is_match(question.as_str()) && words().choosing.is_match(question.as_str())
    })
}

fn entries_of(text: &str) -> Vec<(u16, String)> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(captures) = ENTRY.captures_at(text, at) {
        let (Some(number), Some(label)) = (captures.get(1), captures.get(2)) else { break };
        let first = entries.is_empty();
        // The first entry of a row begins the row.
        if first && !text[..number.start()].trim_matches(['(', '[', ' ', '*', '>', '\t']).is_empty() {
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
            ("  (14) Existing key from card", vec![(14, "Existing key from card")]),
            (
                "    1: clean                2: filter by pattern",
                vec![(1, "clean"), (2, "filter by pattern")],
            ),
            ("  1. Africa   3. Antarctica  11. US", vec![(1, "Africa"), (3, "Antarctica"), (11, "US")]),
            ("[2] Second", vec![(2, "Second")]),
            ("see 1. of the manual", vec![]),
        ] {
            let found = entries_of(text);
            let found: Vec<(u16, &str)> =
                found.iter().map(|(number, label)| (*number, label.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
