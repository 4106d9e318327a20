//! Dialogs of numbered rows with a highlight: what coding agents ask with.

use atlasbridge_model::{Choice, Kind, Strokes};

use super::labels::{self, Pattern, pattern};
use super::{Look, Reading, composer};
use crate::page::{Page, is_rule};
use crate::status::Claim;

static ROW: Pattern = pattern!(r"^(\s*)([❯›>●▸»→◉➤▶*]?)(\s*)(?:\[[ xX✓✔]\]\s*)?(\d{1,2})[.)]\s+(\S.*)$");
static FOOTER: Pattern = pattern!(
    r"(?i)\b(enter|esc|escape|return|tab|space)\b.{0,20}\b(confirm|cancel|select|submit|continue|quit|exit|navigate|interrupt|dismiss|amend|toggle|choose|back|go)\b|↑|↑/↓|arrow keys"
);

static SELECTS: Pattern = pattern!(r"(?i)\b(select|navigate|choose|toggle)\b|↑");

/// A numbered row of the dialog.
struct Row {
    row: usize,
    number: u16,
    marked: bool,
    /// Where the label begins, in characters of the inner text.
    label_at: usize,
    label: String,
    /// A column of descriptions follows the label.
    described: bool,
    /// The last screen row that belongs to it.
    last: usize,
}

pub(super) fn numbered(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let rows = rows_of(page)?;
    let (first, last) = (rows.first()?, rows.last()?);
    let dialog_end = last.last;
    // Something to type into below: the dialog is only quoted above it.
    if composer::find(page).is_some_and(|found| found.row > dialog_end) {
        return None;
    }
    let bottom = page.last_row()?;
    let footer = (dialog_end + 1..=bottom)
        .take(4)
        .find(|&row| FOOTER.is_match(page.text(row)));
    let marked = rows.iter().position(|row| row.marked);
    let reversed = rows
        .iter()
        .position(|row| page.is_reversed_at(row.row, indent(page, row.row) + 1));
    let highlighted = marked.or(reversed);
    let claimed = look.claim == Some(Claim::Blocked);
    let selects = footer.is_some_and(|row| SELECTS.is_match(page.text(row)));
    if highlighted.is_none() && !selects && !claimed || bottom.saturating_sub(dialog_end) > 10 {
        return None;
    }
    let top = top_of(page, first.row);
    let question_row = question_row(page, top, first.row)?;
    let end = footer.unwrap_or(dialog_end);
    let labels: Vec<&str> = rows.iter().map(|row| labels::without_hint(&row.label)).collect();
    let kind = if labels::is_yes_no_pair(&labels) {
        Kind::YesNo
    } else {
        Kind::MultipleChoice
    };
    let base = if kind == Kind::YesNo { 90 } else { 85 } + if claimed || footer.is_some() { 5 } else { 0 };
    let question = paragraph(page, question_row, first.row);
    let subject = subject(page, top, first.row);
    if let Some(field) = rows.iter().position(|row| is_field(page, row)) {
        let others: Vec<&str> = labels
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != field)
            .map(|(_, label)| *label)
            .collect();
        let identity = format!("{subject}\n{}", others.join("\n"));
        return Some(Reading::block(
            Kind::FreeText,
            80,
            &question,
            page.block(top, end),
            identity,
        ));
    }
    let identity = format!("{subject}\n{}", labels.join("\n"));
    let reading = Reading::block(kind, base, &question, page.block(top, end), identity);
    let footer = footer.map_or("", |row| page.text(row));
    let choice = |(index, row): (usize, &Row)| choice(row, highlighted == Some(index), footer);
    let choices = rows.iter().enumerate().map(choice).collect();
    Some(reading.with_choices(choices))
}

/// Rows that count 1, 2, 3 … the lowest such group on the screen.
fn rows_of(page: &Page) -> Option<Vec<Row>> {
    let last = page.last_row()?;
    let mut found: Vec<Row> = Vec::new();
    let mut row = last + 1;
    // From the bottom upwards, until a row numbered 1 closes the group.
    while row > 0 {
        row -= 1;
        let Some(mut next) = row_at(page, row) else {
            continue;
        };
        if found
            .last()
            .is_some_and(|below| below.number != next.number + 1 || below.row - next.row > 8)
        {
            found.clear();
        }
        next.last = row;
        let number = next.number;
        found.push(next);
        if number == 1 {
            break;
        }
    }
    found.reverse();
    if found.first()?.number != 1 || found.len() < 2 {
        return None;
    }
    let ends: Vec<usize> = found
        .iter()
        .skip(1)
        .map(|row| row.row)
        .chain([last + 1])
        .collect();
    for (row, end) in found.iter_mut().zip(ends) {
        take_wrapped(page, row, end);
    }
    Some(found)
}

fn row_at(page: &Page, row: usize) -> Option<Row> {
    let text = page.inner(row);
    let captures = ROW.captures(text)?;
    let label = captures.get(5)?;
    let number = captures.get(4)?.as_str().parse().ok()?;
    Some(Row {
        row,
        number,
        marked: captures.get(2).is_some_and(|marker| !marker.as_str().is_empty()),
        label_at: text[..label.start()].chars().count(),
        label: first_column(unticked(label.as_str())).to_owned(),
        described: label.as_str().contains("  "),
        last: row,
    })
}

/// The label without the box that a tick goes into: ticking changes no identity.
fn unticked(label: &str) -> &str {
    static TICK: Pattern = pattern!(r"^(?:\[[ xX✓✔*]?\]|[☐☑☒◯◉○])\s*");
    match TICK.captures(label).and_then(|captures| captures.get(0)) {
        Some(tick) => &label[tick.end()..],
        None => label,
    }
}

/// A label ends where a column of descriptions begins.
fn first_column(label: &str) -> &str {
    label.split("  ").next().unwrap_or(label).trim_end()
}

/// Lines under a row, indented like its label: the rest of a label that did not fit, or a description.
fn take_wrapped(page: &Page, row: &mut Row, end: usize) {
    let mut previous = row.row;
    // Behind a column of descriptions the next line goes on describing.
    let mut describing = row.described;
    for below in row.row + 1..end {
        let text = page.inner(below);
        let indented = text.chars().take_while(|char| *char == ' ').count();
        let words = text.trim();
        if words.is_empty() || indented + 1 < row.label_at || is_rule(page.text(below)) {
            break;
        }
        describing = describing || !did_not_fit(page, previous, words);
        if !describing {
            row.label.push(' ');
            row.label.push_str(words);
        }
        row.last = below;
        previous = below;
    }
}

/// The first word of the next line would not have fitted behind this one: the line was wrapped.
fn did_not_fit(page: &Page, row: usize, next: &str) -> bool {
    let text = page
        .text(row)
        .trim_end()
        .trim_end_matches(crate::page::is_side)
        .trim_end();
    let word = next.split(' ').next().map_or(0, |word| word.chars().count());
    text.chars().count() + 1 + word + 4 > page.cols
}

/// The highlighted row is a text field: the cursor is not parked at the marker but stands in the label.
fn is_field(page: &Page, row: &Row) -> bool {
    let frame = page.text(row.row).chars().count() - page.inner(row.row).chars().count();
    let plain = page.text(row.row).ends_with(page.inner(row.row));
    row.marked && page.cursor.row == row.row && plain && page.cursor.column >= row.label_at + frame
}

fn indent(page: &Page, row: usize) -> usize {
    page.text(row).chars().take_while(|char| *char == ' ').count()
}

/// Where the dialog begins: below a rule, the top of its box, or a gap of blank lines.
pub(super) fn top_of(page: &Page, first_row: usize) -> usize {
    let (mut blanks, mut within) = (0, false);
    for row in (first_row.saturating_sub(30)..first_row).rev() {
        let raw = page.text(row);
        // Boxes inside the dialog are part of it.
        if is_rule(raw) && indent(page, row) <= 3 {
            return row + 1;
        }
        match page.inner(row).trim().is_empty() {
            true => blanks += 1,
            false => {
                blanks = 0;
                within = true;
            }
        }
        // Some dialogs leave two blank lines above their rows; anywhere else two blanks are a gap.
        if blanks > if within { 1 } else { 2 } {
            return row + blanks;
        }
    }
    first_row.saturating_sub(30)
}

/// The line that asks: the nearest one above the rows with a question mark or a colon, else the dialog's first.
pub(super) fn question_row(page: &Page, top: usize, first_row: usize) -> Option<usize> {
    let mut texts = (top..first_row)
        .rev()
        .filter(|&row| !page.inner(row).trim().is_empty());
    let asking = texts.clone().find(|&row| page.inner(row).contains('?'));
    let announcing = texts.clone().find(|&row| page.inner(row).ends_with(':'));
    asking.or(announcing).or_else(|| texts.next_back())
}

/// The question with the lines that follow it directly.
pub(super) fn paragraph(page: &Page, row: usize, first_row: usize) -> String {
    let mut first = row;
    // A question that was wrapped begins in the line above.
    while first > 0
        && !page.inner(first - 1).trim().is_empty()
        && !is_rule(page.text(first - 1))
        && did_not_fit(page, first - 1, page.inner(first).trim())
    {
        first -= 1;
    }
    let words = (first..first_row)
        .map(|row| page.inner(row).trim())
        .take_while(|text| !text.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The lines that say what the dialog is about, without those that move and without ticks: ticking off one of
/// several answers leaves it the same dialog.
pub(super) fn subject(page: &Page, top: usize, first_row: usize) -> String {
    let lines = (top..first_row)
        .map(|row| page.inner(row).trim())
        .filter(|text| !text.is_empty() && !moves(text));
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace(['☐', '☑', '☒', '✔'], "")
}

/// Spinners, elapsed times.
fn moves(text: &str) -> bool {
    static MOVING: Pattern = pattern!(r"[\u{2800}-\u{28ff}]|^[✢✳✶✻✽·∗◐◓◑◒]\s|\(\d+m? ?\d*s\b|\b\d+s\b");
    MOVING.is_match(text)
}

/// A digit chooses at once where rows are numbered; a dialog that says "enter continue" wants Enter.
fn choice(row: &Row, is_highlighted: bool, footer: &str) -> Choice {
    static CONTINUE: Pattern = pattern!(r"(?i)\benter (?:to )?continue\b");
    let strokes = match labels::hinted_key(&row.label) {
        Some(key) => Strokes::once(key),
        None if is_highlighted && CONTINUE.is_match(footer) => Strokes::enter(),
        None => Strokes::once(row.number.to_string()),
    };
    labels::choice(labels::without_hint(&row.label), strokes)
}
