//! Dialogs of numbered rows with a highlight: what coding agents ask with.

use std::ops::Range;

use atlasbridge_model::{Choice, Effect, Kind, Pace, Stroke, Strokes};
use regex::Regex;

use super::labels::{Pattern, pattern};
use super::rules::{Below, DialogRules, ShownRow};
use super::{Cut, Look, Reading, arrows, composer, line};
use crate::page::{Page, indent, is_dashed, is_rule, is_side, without_scroll_bar};
use crate::status::Claim;

static ROW: Pattern =
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
#[derive(Clone)]
struct NumberedRow {
    row: usize,
    number: u16,
    marked: bool,
    /// Where the label begins, in characters of the inner text.
    label_at: usize,
    /// Without the lines that describe it.
    label: String,
    /// With its second column.
    whole: String,
    /// With every line below it.
    with_below: String,
    /// A column of descriptions follows the label.
    described: bool,
    /// The last screen row that belongs to it.
    last: usize,
    /// It has a box: its key ticks it, and something else sends what is ticked.
    has_box: bool,
}

pub(super) fn numbered(look: &Look<'_>) -> Option<Reading> {
    let dialog = Dialog::find_usual(look)?;
    // A menu that stands lower is asked now.
    let end = dialog.footer.unwrap_or(dialog.last_row());
    let is_history = arrows::lowest(look).is_some_and(|row| row > dialog.last_row())
        || look.is_left_behind(end, tells_keys);
    dialog.reading(look.page, &DialogRules::default()).filter(|_| !is_history)
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
#[derive(Clone)]
pub(super) struct Dialog {
    rows: Vec<NumberedRow>,
    highlighted: Option<usize>,
    top: usize,
    question_row: usize,
    footer: Option<usize>,
    /// The program itself says that a dialog is open.
    claimed: bool,
    /// The list has more rows than are shown.
    scrolls: bool,
}

impl Dialog {
    /// Rows as most tools draw them.
    pub(super) fn find_usual(look: &Look<'_>) -> Option<Self> {
        Self::find(look, &ROW)
    }

    /// The lowest dialog, if it is open: something is highlighted, or its footer or its program says so, and
    /// nothing to type into stands below.
    pub(super) fn find(look: &Look<'_>, row: &Regex) -> Option<Self> {
        let page = look.page;
        let rows = rows_of(page, row)?;
        let (first, last) = (rows.first()?, rows.last()?);
        if composer::stands_below(page, last.last) {
            return None;
        }
        let bottom = page.last_row()?;
        let footer = (last.last + 1..=bottom).take(4).find(|&row| FOOTER.is_match(page.text(row)));
        let marked = rows.iter().position(|row| row.marked);
        let reversed =
            rows.iter().position(|row| page.is_reversed_at(row.row, indent(page.text(row.row)) + 1));
        let highlighted = marked.or(reversed);
        let claimed = look.claim == Some(Claim::Blocked);
        let selects = footer.is_some_and(|row| SELECTS.is_match(page.text(row)));
        let is_open = highlighted.is_some() || selects || claimed;
        if !is_open || bottom.saturating_sub(last.last) > 10 {
            return None;
        }
        if look.is_past(footer.unwrap_or(last.last)) && !tells_keys(&look.line.before) {
            return None;
        }
        let top = top_of(page, first.row);
        let question_row = question_row(page, top, first.row)?;
        let scrolls = Cut::of_answers(page, first.row, last.last).is_some();
        Some(Self { scrolls, highlighted, top, question_row, footer, claimed, rows })
    }

    fn last_row(&self) -> usize {
        self.rows.last().map_or(0, |row| row.last)
    }

    /// Everything above the rows in one line: wrapping breaks no sentence.
    pub(super) fn above(&self, page: &Page) -> String {
        page.words(self.top, self.rows.first().map_or(0, |row| row.row))
    }

    /// The lines below the rows, in one line.
    pub(super) fn below(&self, page: &Page) -> String {
        page.words(self.last_row() + 1, page.lines.len())
    }

    /// A pack's dialog begins with a line of its own: what stands above that is another matter.
    pub(super) fn begun(mut self, page: &Page, begins: &Regex) -> Self {
        let first = self.rows.first().map_or(0, |row| row.row);
        if let Some(top) = (self.top..first).rfind(|&row| begins.is_match(page.inner(row).trim())) {
            self.top = top;
            self.question_row = question_row(page, top, first).unwrap_or(self.question_row);
        }
        self
    }

    /// A pack's anchor says which of several questions is asked, and which line asks where none has a question mark.
    pub(super) fn anchored(mut self, page: &Page, anchor: &Regex) -> Self {
        let first = self.rows.first().map_or(0, |row| row.row);
        if let Some(row) = (self.top..first).rfind(|&row| is_question(page.inner(row), anchor)) {
            self.question_row = row;
        } else if !page.inner(self.question_row).contains('?') {
            let found =
                (self.top..first).find(|&row| anchor.is_match(&page.words(row, (row + 3).min(first))));
            self.question_row = found.unwrap_or(self.question_row);
        }
        self
    }

    pub(super) fn reading(&self, page: &Page, rules: &DialogRules) -> Option<Reading> {
        let first = self.rows.first()?;
        let end = self.footer.unwrap_or(self.rows.last()?.last);
        let question = paragraph(page, self.question_row, first.row);
        let subject = subject(page, self.top, first.row);
        let detail = page.block_without_rules(self.top, end);
        let texts: Vec<String> = self.rows.iter().map(|row| row.label(rules)).collect();
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
        let turns = ON_THE_RIGHT.is_match(&self.above(page));
        let choices = kept.iter().filter_map(|&index| {
            let choice = rules.choice(&ShownRow {
                label: &texts[index],
                number: Some(self.rows[index].number),
                index,
                highlighted: self.highlighted,
                footer,
            })?;
            // Which of the rows accepts least is not known where some are not shown: a person picks.
            let effect = match choice.effect {
                effect if self.scrolls && effect.is_accepting() => Effect::Other,
                effect => effect,
            };
            let choice = Choice { effect, ..choice };
            Some(match self.rows[index].has_box && turns {
                true => Choice { strokes: choice.strokes.map(then_turn), ..choice },
                false => choice,
            })
        });
        let reading = Reading::block(kind, base, &question, detail, identity).by(rules);
        let mut reading = reading.with_choices(choices.collect());
        let mut cut = self.scrolls.then_some(Cut::Answers);
        if reading.asks_for_consent() {
            reading.excerpt = with_matter(page, self.top, self.question_row, first.row);
            reading.is_bare = reading.excerpt == question && POINTS.is_match(&question);
            cut = cut.or_else(|| Cut::of_lines(page, self.top, first.row));
            if reading.is_bare {
                let above = self.top.saturating_sub(ABOVE_BARE);
                reading.detail = page.block_without_rules(above, end);
                reading.excerpt = line::with_lines_above(page, self.top, &question);
                cut = Some(Cut::Everything);
            }
        }
        Some(reading.told_as(cut, rules))
    }
}

fn is_question(text: &str, anchor: &Regex) -> bool {
    text.contains('?') && anchor.is_match(text)
}

/// The question, and what consent is asked for: who sees no more than this must know what is approved.
pub(super) fn with_matter(page: &Page, top: usize, question_row: usize, first_row: usize) -> String {
    let question = paragraph(page, question_row, first_row);
    let asked = question_rows(page, question_row, first_row);
    let matter = matter(page, top, asked, first_row);
    match matter.is_empty() {
        true => question,
        false => format!("{question} · {matter}"),
    }
}

/// What consent is asked for: the command, the change, the address. It stands in a frame of its own above the question,
/// or unframed above or below it.
fn matter(page: &Page, top: usize, question: Range<usize>, first_row: usize) -> String {
    let is_framed = |row: &usize| !is_rule(page.text(*row));
    let framed = (top..question.start).rfind(is_framed).filter(|last| last + 1 < question.start);
    let upper = framed.and_then(|last| (top..last).rfind(|row| !is_framed(row)));
    let rows = match upper.zip(framed) {
        Some((upper, last)) => upper + 1..last + 1,
        _ => top..question.start,
    };
    let below = question.end..first_row;
    let lines = rows
        .chain(below)
        .filter(|&row| !is_rule(page.text(row)))
        .map(|row| page.words(row, row + 1))
        .filter(|line| !line.is_empty() && !line.starts_with("Tip:"));
    lines.collect::<Vec<_>>().join(" · ")
}

/// Ticked, and then to the next tab, if the dialog still stands: else a choice of several could never be sent.
fn then_turn(strokes: Strokes) -> Strokes {
    let turn = Stroke { bytes: b"\x1b[C".to_vec(), pace: Pace::IfStillThere };
    let all = strokes.clone().into_vec().into_iter().chain([turn]).collect();
    Strokes::new(all).unwrap_or(strokes)
}

impl NumberedRow {
    fn label(&self, rules: &DialogRules) -> String {
        let whole = match rules.below {
            Below::Description if rules.keeps_columns => &self.whole,
            Below::Description => &self.label,
            Below::Label => &self.with_below,
        };
        whole.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Rows that count 1, 2, 3 … the lowest such group on the screen.
fn rows_of(page: &Page, pattern: &Regex) -> Option<Vec<NumberedRow>> {
    let last = page.last_row()?;
    let mut found: Vec<NumberedRow> = Vec::new();
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
        take_wrapped(page, row, end);
    }
    Some(found)
}

fn row_at(page: &Page, row: usize, pattern: &Regex) -> Option<NumberedRow> {
    let text = page.inner(row);
    let captures = pattern.captures(text)?;
    let label = captures.name("label")?;
    let number = captures.name("key")?.as_str().parse().ok()?;
    Some(NumberedRow {
        row,
        number,
        marked: captures.name("marker").is_some_and(|marker| !marker.as_str().is_empty()),
        label_at: text[..label.start()].chars().count(),
        label: first_column(unticked(label.as_str())).to_owned(),
        whole: unticked(label.as_str()).to_owned(),
        with_below: unticked(label.as_str()).to_owned(),
        described: label.as_str().contains("  "),
        last: row,
        has_box: unticked(label.as_str()).len() < label.as_str().len()
            || text[..label.start()].contains(['[', '☐', '☑', '☒']),
    })
}

/// The label without the box that a tick goes into: ticking changes no identity.
fn unticked(label: &str) -> &str {
    static TICK: Pattern = pattern!(r"^(?:\[[ xX✓✔*]?\]|[☐☑☒◯◉○])\s*");
    TICK.find(label).map_or(label, |tick| &label[tick.end()..])
}

/// A label ends where a column of descriptions begins.
fn first_column(label: &str) -> &str {
    label.split("  ").next().unwrap_or(label).trim_end()
}

/// Lines under a row, indented like its label: the rest of a label that did not fit, or a description.
fn take_wrapped(page: &Page, row: &mut NumberedRow, end: usize) {
    let mut previous = row.row;
    // Behind a column of descriptions the next line goes on describing.
    let mut describing = row.described;
    for below in row.row + 1..end {
        let text = page.inner(below);
        let words = text.trim();
        if words.is_empty() || indent(text) + 1 < row.label_at || is_rule(page.text(below)) {
            break;
        }
        describing = describing || !did_not_fit(page, previous, words);
        let goes_on = [
            (&mut row.with_below, true),
            (&mut row.whole, row.described || !describing),
            (&mut row.label, !describing),
        ];
        for (text, _) in goes_on.into_iter().filter(|(_, goes_on)| *goes_on) {
            text.push(' ');
            text.push_str(words);
        }
        row.last = below;
        previous = below;
    }
}

/// The first word of the next line would not have fitted behind this one: the line was wrapped.
fn did_not_fit(page: &Page, row: usize, next: &str) -> bool {
    let text = without_scroll_bar(page.text(row));
    let text = text.trim_end().trim_end_matches(is_side).trim_end();
    let word = next.split(' ').next().map_or(0, |word| word.chars().count());
    text.chars().count() + 1 + word + 4 > page.cols
}

/// The highlighted row is a text field: the cursor is not parked at the marker but stands in the label.
fn is_field(page: &Page, row: &NumberedRow) -> bool {
    let frame = page.text(row.row).chars().count() - page.inner(row.row).chars().count();
    let plain = page.text(row.row).ends_with(page.inner(row.row));
    row.marked && page.cursor.row == row.row && plain && page.cursor.column >= row.label_at + frame
}

/// Where the dialog begins: below a rule, the top of its box, or a gap of blank lines outside every box.
///
/// What is asked about often stands in a box of its own inside the dialog, or between dashed rules, and may hold blank
/// lines: a command, a change to a file. It is part of the dialog: who approves must see it, and another command under
/// the same question is another dialog.
pub(super) fn top_of(page: &Page, first_row: usize) -> usize {
    let (mut blanks, mut within) = (0, false);
    let mut dashed = Dashed::default();
    for row in (first_row.saturating_sub(MOST_ABOVE)..first_row).rev() {
        let raw = page.text(row);
        // Boxes inside the dialog are part of it.
        if is_rule(raw) && indent(raw) <= 3 && !raw.trim_start().starts_with(is_side) {
            if !is_dashed(raw) {
                return row + 1;
            }
            dashed.pass(row);
            (blanks, within) = (0, true);
            continue;
        }
        match page.is_blank(row) {
            // The box goes on: a file that ends in blank lines, or an agent that draws some, hides nothing above them.
            true if is_boxed(raw) => {}
            true => blanks += 1,
            false => {
                blanks = 0;
                within = true;
            }
        }
        // Some dialogs leave two blank lines above their rows; anywhere else two blanks are a gap.
        if blanks > if within { 1 } else { 2 } && !dashed.is_open {
            return row + blanks;
        }
    }
    match dashed.lowest {
        // The upper one has scrolled away: all that is left of the screen lies between the two.
        Some(_) if dashed.is_open => 0,
        Some(lowest) => lowest + 1,
        None => first_row.saturating_sub(MOST_ABOVE),
    }
}

/// It stands between the two sides of a box.
fn is_boxed(raw: &str) -> bool {
    let inside = raw.trim().strip_prefix(is_side);
    inside.is_some_and(|inside| inside.ends_with(is_side))
}

/// Rows above the choices that can belong to a dialog: more than most screens have.
const MOST_ABOVE: usize = 120;

/// Dashed rules, from the bottom upwards: they come in pairs.
#[derive(Default)]
struct Dashed {
    lowest: Option<usize>,
    last: Option<usize>,
    is_open: bool,
}

impl Dashed {
    fn pass(&mut self, row: usize) {
        self.lowest.get_or_insert(row);
        // One that a narrower window has wrapped is still one.
        if self.last != Some(row + 1) {
            self.is_open = !self.is_open;
        }
        self.last = Some(row);
    }
}

/// The line that asks: the nearest one above the rows with a question mark or a colon, else the dialog's first.
pub(super) fn question_row(page: &Page, top: usize, first_row: usize) -> Option<usize> {
    let mut texts = (top..first_row).rev().filter(|&row| !page.is_blank(row));
    let asking = texts.clone().find(|&row| page.inner(row).contains('?'));
    let announcing = texts.clone().find(|&row| page.inner(row).ends_with(':'));
    asking.or(announcing).or_else(|| texts.next_back())
}

/// The question with the lines that follow it directly.
pub(super) fn paragraph(page: &Page, row: usize, first_row: usize) -> String {
    let words = question_rows(page, row, first_row).map(|row| page.inner(row).trim());
    words.collect::<Vec<_>>().join(" ")
}

fn question_rows(page: &Page, row: usize, first_row: usize) -> Range<usize> {
    // A question that was wrapped begins in the line above.
    let goes_on = |at: &usize| {
        let above = at - 1;
        let is_text = !page.is_blank(above) && !is_rule(page.text(above));
        is_text && did_not_fit(page, above, page.inner(*at).trim())
    };
    let first = (1..=row).rev().take_while(goes_on).last().map_or(row, |at| at - 1);
    first..(first..first_row).find(|&row| page.is_blank(row)).unwrap_or(first_row)
}

/// The lines that say what the dialog is about, without those that move and without ticks: ticking off one of
/// several answers leaves it the same dialog, and so does another width, which wraps its lines elsewhere.
pub(super) fn subject(page: &Page, top: usize, first_row: usize) -> String {
    let mut subject = String::new();
    for row in top..first_row {
        let text = page.inner(row).trim();
        if text.is_empty() || moves(text) {
            continue;
        }
        if !subject.is_empty() && !page.goes_on_in(row) {
            subject.push(' ');
        }
        subject.push_str(text);
    }
    subject.replace(['☐', '☑', '☒', '✔'], "")
}

/// Spinners, elapsed times, pictures made of signs: logos are often animated.
pub(crate) fn moves(text: &str) -> bool {
    let (mut signs, mut letters) = (0, 0);
    for char in text.chars().filter(|char| !char.is_whitespace()) {
        signs += 1;
        letters += usize::from(char.is_alphanumeric());
    }
    if signs >= 4 && letters * 5 < signs {
        return true;
    }
    static MOVING: Pattern = pattern!(r"[\u{2800}-\u{28ff}]|^[✢✳✶✻✽·∗◐◓◑◒]\s|\(\d+m? ?\d*s\b|\b\d+s\b");
    MOVING.is_match(text)
}
