//! Dialogs of numbered rows with a highlight: what coding agents ask with.

use atlasbridge_model::{Choice, Effect, Kind, Pace, Stroke, Strokes};
use regex::Regex;

use super::frame::{Frame, did_not_fit};
use super::rules::{Below, DialogRules, ShownRow};
use super::{Cut, Look, Pattern, Reading, arrows, composer, line};
use crate::page::{Page, indent, is_rule};
use crate::status::Claim;

pub(super) static ROW: Pattern =
    pattern!(r"^\s*(?<marker>[❯›>●▸»→◉➤▶*]?)\s*(?:\[[ xX✓✔]\]\s*)?(?<key>\d{1,2})[.)]\s+(?<label>\S.*)$");
static FOOTER: Pattern = pattern!(
    r"(?i)\b(enter|esc|escape|return|tab|space)\b.{0,20}\b(confirm|cancel|select|submit|continue|quit|exit|navigate|interrupt|dismiss|amend|toggle|choose|back|go)\b|↑|↑/↓|arrow keys"
);

/// A bar of tabs, the last of which sends: `←  ☐ Checks  ✔ Submit  →`.
static ON_THE_RIGHT: Pattern = pattern!(r"←\s.*\S\s+→");
static SELECTS: Pattern = pattern!(r"(?i)\b(select|navigate|choose|toggle)\b|↑");

/// A question that points at something else: what that is must be seen.
static POINTS: Pattern = pattern!(r"(?i)\b(?:the following|this|these)\b");
/// Rows above a dialog that shows nothing of what it asks about: what was said there is all that tells.
const ABOVE_BARE: usize = 20;

/// A numbered row of the dialog.
struct NumberedRow<'a> {
    row: usize,
    number: u16,
    marked: bool,
    /// Where the label begins, in characters of the inner text.
    label_at: usize,
    /// Its first line, without the box for a tick: ticking changes no identity.
    label: &'a str,
    /// A column of descriptions follows the label.
    described: bool,
    /// The last screen row that belongs to it.
    last: usize,
    /// It has a box: its key ticks it, and something else sends what is ticked.
    has_box: bool,
}

pub(super) fn numbered(look: &Look<'_>) -> Option<Reading> {
    let dialog = Dialog::find(look, &ROW)?;
    // A menu that stands lower is asked now.
    let is_history = arrows::lowest(look).is_some_and(|row| row > dialog.last)
        || look.is_left_behind(dialog.footer.unwrap_or(dialog.last), tells_keys);
    dialog.reading(dialog.frame, &DialogRules::default()).filter(|_| !is_history)
}

/// A line that tells keys and nothing else, `Esc to cancel · Tab to amend`: not one that says something and then asks
/// for Enter.
pub(super) fn tells_keys(line: &str) -> bool {
    static KEYS: Pattern = pattern!(
        r"(?i)^\W*(?:(?:press|use)\s+)?\W*(?:enter|esc|escape|return|tab|shift|ctrl|space|arrow|up|down|\w/\w|[↑↓←→⏎])"
    );
    KEYS.is_match(line) && FOOTER.is_match(line)
}

/// A dialog of numbered rows as it stands on the screen.
pub(super) struct Dialog<'a> {
    pub(super) frame: Frame<'a>,
    rows: Vec<NumberedRow<'a>>,
    /// The last screen row of them.
    pub(super) last: usize,
    highlighted: Option<usize>,
    footer: Option<usize>,
    /// The program itself says that a dialog is open.
    claimed: bool,
    /// The list has more rows than are shown.
    scrolls: bool,
}

impl<'a> Dialog<'a> {
    /// The lowest dialog, if it is open: something is highlighted, or its footer or its program says so, and
    /// nothing to type into stands below.
    pub(super) fn find(look: &Look<'a>, row: &Regex) -> Option<Self> {
        let page = look.page;
        let rows = rows_of(page, row)?;
        let (first, last) = (rows.first()?.row, rows.last()?.last);
        let bottom = page.last_row()?;
        let footer = (last + 1..=bottom).take(4).find(|&row| FOOTER.is_match(page.text(row)));
        let marked = rows.iter().position(|row| row.marked);
        let reversed =
            rows.iter().position(|row| page.is_reversed_at(row.row, indent(page.text(row.row)) + 1));
        let highlighted = marked.or(reversed);
        let claimed = look.claim == Some(Claim::Blocked);
        let selects = footer.is_some_and(|row| SELECTS.is_match(page.text(row)));
        let is_open = highlighted.is_some() || selects || claimed;
        let is_past = look.is_past(footer.unwrap_or(last)) && !tells_keys(&look.line.before);
        if !is_open || bottom.saturating_sub(last) > 10 || is_past || composer::stands_below(page, last) {
            return None;
        }
        let scrolls = Cut::of_answers(page, first, last).is_some();
        Some(Self { frame: Frame::above(page, first)?, scrolls, highlighted, footer, claimed, rows, last })
    }

    pub(super) fn reading(&self, frame: Frame<'_>, rules: &DialogRules) -> Option<Reading> {
        let page = frame.page;
        let end = self.footer.unwrap_or(self.last);
        let question = frame.question();
        let subject = frame.subject();
        let detail = page.block_without_rules(frame.top, end);
        let texts: Vec<String> = self.rows.iter().map(|row| row.label(page, rules)).collect();
        let labels: Vec<&str> = texts.iter().map(|text| rules.label(text)).collect();
        if let Some(field) = self.rows.iter().position(|row| is_field(page, row)) {
            let others = labels.iter().enumerate().filter(|(index, _)| *index != field);
            let others: Vec<&str> = others.map(|(_, label)| *label).collect();
            let identity = format!("{subject}\n{}", others.join("\n"));
            let reading = Reading::block(Kind::FreeText, 80, &question, detail, identity).by(rules);
            // Enter in an empty field of a dialog may refuse, do nothing or take a row: silence types nothing there.
            return Some(Reading { offers_default: true, ..reading });
        }
        let kept: Vec<usize> = (0..texts.len()).filter(|&index| !rules.is_left_out(&texts[index])).collect();
        let kind = rules.kind(&kept.iter().map(|&index| labels[index]).collect::<Vec<_>>());
        let certain = self.claimed || self.footer.is_some() || rules.is_packed();
        let base = if kind == Kind::YesNo { 90 } else { 85 } + if certain { 5 } else { 0 };
        // Another part of the same list is no other dialog.
        let listed = if self.scrolls { String::new() } else { labels.join("\n") };
        let identity = format!("{subject}\n{listed}");
        let footer = self.footer.map_or("", |row| page.text(row));
        let turns = ON_THE_RIGHT.is_match(&frame.words());
        let choices = kept.iter().filter_map(|&index| {
            let row = &self.rows[index];
            let (number, highlighted) = (Some(row.number), self.highlighted);
            let shown = ShownRow { label: &texts[index], number, index, highlighted, footer };
            let mut choice = rules.choice(&shown)?;
            // Which of the rows accepts least is not known where some are not shown: a person picks.
            if self.scrolls && choice.effect.is_accepting() {
                choice.effect = Effect::Other;
            }
            if row.has_box && turns {
                choice.strokes = choice.strokes.map(then_turn);
            }
            Some(choice)
        });
        let choices: Vec<Choice> = choices.collect();
        let reading = Reading::block(kind, base, &question, detail, identity).by(rules);
        let mut reading = reading.with_choices(choices);
        let mut cut = self.scrolls.then_some(Cut::Answers);
        if reading.asks_for_consent() {
            reading.excerpt = frame.with_matter();
            reading.is_bare = reading.excerpt == question && POINTS.is_match(&question);
            cut = cut.or_else(|| Cut::of_lines(frame));
            if reading.is_bare {
                let above = frame.top.saturating_sub(ABOVE_BARE);
                reading.detail = page.block_without_rules(above, end);
                reading.excerpt = line::with_lines_above(page, frame.top, &question);
                cut = Some(Cut::Everything);
            }
        }
        Some(reading.told_as(cut, rules))
    }
}

/// Ticked, and then to the next tab, if the dialog still stands: else a choice of several could never be sent.
fn then_turn(strokes: Strokes) -> Strokes {
    let turn = Stroke { bytes: b"\x1b[C".to_vec(), pace: Pace::IfStillThere };
    let all = strokes.clone().into_vec().into_iter().chain([turn]).collect();
    Strokes::new(all).unwrap_or(strokes)
}

impl NumberedRow<'_> {
    /// Its label, and of the lines under it those that go on with it: the rest of a label that did not fit, or as the rules say.
    fn label(&self, page: &Page, rules: &DialogRules) -> String {
        let keeps_columns = rules.keeps_columns || rules.below == Below::Label;
        // A label ends where a column of descriptions begins.
        let column = if keeps_columns { None } else { self.label.split("  ").next() };
        let mut words: Vec<&str> = column.unwrap_or(self.label).split_whitespace().collect();
        // Behind a column of descriptions the next line goes on describing.
        let mut describing = self.described;
        for below in self.row + 1..=self.last {
            let text = page.inner(below).trim();
            describing = describing || !did_not_fit(page, below - 1, text);
            let goes_on = match rules.below {
                Below::Label => true,
                Below::Description => !describing || rules.keeps_columns && self.described,
            };
            words.extend(text.split_whitespace().filter(|_| goes_on));
        }
        words.join(" ")
    }
}

/// Rows that count 1, 2, 3 … the lowest such group on the screen.
fn rows_of<'a>(page: &'a Page, pattern: &Regex) -> Option<Vec<NumberedRow<'a>>> {
    let last = page.last_row()?;
    let mut found: Vec<NumberedRow<'_>> = Vec::new();
    // From the bottom upwards, until a row numbered 1 closes the group.
    for next in (0..=last).rev().filter_map(|row| row_at(page, row, pattern)) {
        if found.last().is_some_and(|below| below.number != next.number + 1 || below.row - next.row > 8) {
            found.clear();
        }
        let number = next.number;
        found.push(next);
        if number == 1 {
            break;
        }
    }
    found.reverse();
    let first = found.first()?;
    let begins = first.number == 1 || Cut::of_answers(page, first.row, last).is_some();
    if !begins || found.len() < 2 {
        return None;
    }
    let ends: Vec<usize> = found.iter().skip(1).map(|row| row.row).chain([last + 1]).collect();
    for (row, end) in found.iter_mut().zip(ends) {
        let is_under = |below: &usize| {
            let text = page.inner(*below);
            !text.trim().is_empty() && indent(text) + 1 >= row.label_at && !is_rule(page.text(*below))
        };
        // Lines under a row, indented like its label.
        row.last = (row.row + 1..end).take_while(is_under).last().unwrap_or(row.row);
    }
    Some(found)
}

fn row_at<'a>(page: &'a Page, row: usize, pattern: &Regex) -> Option<NumberedRow<'a>> {
    let text = page.inner(row);
    let captures = pattern.captures(text)?;
    let shown = captures.name("label")?;
    let (before, label) = (&text[..shown.start()], unticked(shown.as_str()));
    Some(NumberedRow {
        row,
        number: captures.name("key")?.as_str().parse().ok()?,
        marked: captures.name("marker").is_some_and(|marker| !marker.is_empty()),
        label_at: before.chars().count(),
        label,
        described: shown.as_str().contains("  "),
        last: row,
        has_box: label.len() < shown.len() || before.contains(['[', '☐', '☑', '☒']),
    })
}

fn unticked(label: &str) -> &str {
    static TICK: Pattern = pattern!(r"^(?:\[[ xX✓✔*]?\]|[☐☑☒◯◉○])\s*");
    TICK.find(label).map_or(label, |tick| &label[tick.end()..])
}

/// The highlighted row is a text field: the cursor is not parked at the marker but stands in the label.
fn is_field(page: &Page, row: &NumberedRow<'_>) -> bool {
    let frame = page.text(row.row).chars().count() - page.inner(row.row).chars().count();
    let plain = page.text(row.row).ends_with(page.inner(row.row));
    row.marked && page.cursor.row == row.row && plain && page.cursor.column >= row.label_at + frame
}
