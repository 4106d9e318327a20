//! What stands above the rows of a dialog: where it begins, which line asks, what consent is asked for.

use std::ops::Range;

use super::Pattern;
use super::rules::DialogRules;
use crate::page::{Page, indent, is_dashed, is_rule, is_side, without_scroll_bar};

/// A dialog from its first line down to its rows.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) page: &'a Page,
    pub(super) top: usize,
    /// The line that asks.
    pub(super) asks: usize,
    /// The first row to choose from.
    pub(super) first: usize,
}

impl<'a> Frame<'a> {
    /// Of the rows that begin here.
    pub(super) fn above(page: &'a Page, first: usize) -> Option<Self> {
        let top = top_of(page, first);
        Some(Self { page, top, asks: question_row(page, top, first)?, first })
    }

    /// The same as a pack knows it. It may begin with a line of its own: what stands above that is another matter. Its anchor
    /// says which of several questions is asked, and which line asks where none has a question mark.
    pub(super) fn told_by(mut self, rules: &DialogRules) -> Self {
        let Self { page, first, .. } = self;
        let begins =
            |&row: &usize| rules.begins.as_ref().is_some_and(|it| it.is_match(page.inner(row).trim()));
        if let Some(top) = (self.top..first).rfind(begins) {
            self.top = top;
            self.asks = question_row(page, top, first).unwrap_or(self.asks);
        }
        let is_question = |text: &str| text.contains('?') && rules.anchor.is_match(text);
        let is_anchored = |&row: &usize| rules.anchor.is_match(&page.words(row, (row + 3).min(first)));
        let mut rows = self.top..first;
        let asks = match rows.clone().rfind(|&row| is_question(page.inner(row))) {
            None if !page.inner(self.asks).contains('?') => rows.find(is_anchored),
            found => found,
        };
        Self { asks: asks.unwrap_or(self.asks), ..self }
    }

    /// Everything above the rows in one line: wrapping breaks no sentence.
    pub(super) fn words(&self) -> String {
        self.page.words(self.top, self.first)
    }

    /// The question with the lines that follow it directly.
    pub(super) fn question(&self) -> String {
        let words = self.question_rows().map(|row| self.page.inner(row).trim());
        words.collect::<Vec<_>>().join(" ")
    }

    fn question_rows(&self) -> Range<usize> {
        let page = self.page;
        // A question that was wrapped begins in the line above.
        let goes_on = |at: &usize| {
            let above = at - 1;
            let is_text = !page.is_blank(above) && !is_rule(page.text(above));
            is_text && did_not_fit(page, above, page.inner(*at).trim())
        };
        let first = (1..=self.asks).rev().take_while(goes_on).last().map_or(self.asks, |at| at - 1);
        first..(first..self.first).find(|&row| page.is_blank(row)).unwrap_or(self.first)
    }

    /// The question, and what consent is asked for: who sees no more than this must know what is approved.
    pub(super) fn with_matter(&self) -> String {
        let matter = self.matter();
        let question = self.question();
        if matter.is_empty() { question } else { format!("{question} · {matter}") }
    }

    /// What consent is asked for: the command, the change, the address. It stands in a frame of its own above the question,
    /// or unframed above or below it.
    fn matter(&self) -> String {
        let Self { page, top, .. } = *self;
        let question = self.question_rows();
        let is_framed = |row: &usize| !is_rule(page.text(*row));
        let framed = (top..question.start).rfind(is_framed).filter(|last| last + 1 < question.start);
        let upper = framed.and_then(|last| (top..last).rfind(|row| !is_framed(row)));
        let rows = match upper.zip(framed) {
            Some((upper, last)) => upper + 1..last + 1,
            _ => top..question.start,
        };
        let lines = rows
            .chain(question.end..self.first)
            .filter(is_framed)
            .map(|row| page.words(row, row + 1))
            .filter(|line| !line.is_empty() && !line.starts_with("Tip:"));
        lines.collect::<Vec<_>>().join(" · ")
    }

    /// The lines that say what the dialog is about, without those that move and without ticks: ticking off one of
    /// several answers leaves it the same dialog, and so does another width, which wraps its lines elsewhere.
    pub(super) fn subject(&self) -> String {
        let mut subject = String::new();
        for row in self.top..self.first {
            let text = self.page.inner(row).trim();
            if text.is_empty() || moves(text) {
                continue;
            }
            if !subject.is_empty() && !self.page.goes_on_in(row) {
                subject.push(' ');
            }
            subject.push_str(text);
        }
        subject.replace(['☐', '☑', '☒', '✔'], "")
    }
}

/// Where the dialog begins: below a rule, the top of its box, or a gap of blank lines outside every box.
///
/// What is asked about often stands in a box of its own inside the dialog, or between dashed rules, and may hold blank
/// lines: a command, a change to a file. It is part of the dialog: who approves must see it, and another command under
/// the same question is another dialog.
fn top_of(page: &Page, first_row: usize) -> usize {
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
fn question_row(page: &Page, top: usize, first_row: usize) -> Option<usize> {
    let mut texts = (top..first_row).rev().filter(|&row| !page.is_blank(row));
    let asking = texts.clone().find(|&row| page.inner(row).contains('?'));
    let announcing = texts.clone().find(|&row| page.inner(row).ends_with(':'));
    asking.or(announcing).or_else(|| texts.next_back())
}

/// The first word of the next line would not have fitted behind this one: the line was wrapped.
pub(super) fn did_not_fit(page: &Page, row: usize, next: &str) -> bool {
    let text = without_scroll_bar(page.text(row));
    let text = text.trim_end().trim_end_matches(is_side).trim_end();
    let word = next.split(' ').next().map_or(0, |word| word.chars().count());
    text.chars().count() + 1 + word + 4 > page.cols
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
