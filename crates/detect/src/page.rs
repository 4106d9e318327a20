//! One look at the screen, as plain values: rows of text, what is highlighted, where the cursor stands.

use crate::packs::LazyRegex;

/// The screen at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) lines: Vec<PageLine>,
    pub(crate) cursor: Cursor,
    pub(crate) cols: usize,
    pub(crate) alternate: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PageLine {
    /// Without trailing blanks.
    pub(crate) text: String,
    /// The line goes on in the next row.
    pub(crate) wraps: bool,
    pub(crate) runs: Vec<TextRun>,
}

/// Characters `start..end` of a row that look alike. Style zero is plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextRun {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) style: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) row: usize,
    /// Counted in characters, not in columns.
    pub(crate) column: usize,
    pub(crate) visible: bool,
}

/// The line that the cursor stands in, wrapped rows joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorLine {
    /// First and last row of it.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Before the cursor, trailing blanks removed.
    pub(crate) before: String,
    /// Blanks between that text and the cursor.
    pub(crate) gap: usize,
    /// From the cursor on.
    pub(crate) after: String,
}

impl CursorLine {
    /// The line with what stands behind the cursor.
    pub(crate) fn whole(&self) -> String {
        let gap = if self.after.is_empty() { 0 } else { self.gap };
        format!("{}{}{}", self.before, " ".repeat(gap), self.after).trim().to_owned()
    }
}

impl Page {
    pub(crate) fn text(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", |line| line.text.as_str())
    }

    pub(crate) fn cursor_line(&self) -> CursorLine {
        let row = self.cursor.row.min(self.lines.len().saturating_sub(1));
        let first = self.first_of_line(row);
        let below = (row + 1..self.lines.len()).take_while(|&below| self.lines[below - 1].wraps);
        let last = below.last().unwrap_or(row);
        let mut before: String = (first..row).map(|row| self.filled(row)).collect();
        let here = self.text(row);
        before.extend(here.chars().take(self.cursor.column));
        let missing = self.cursor.column.saturating_sub(here.chars().count());
        let trimmed = before.trim_end().len();
        let gap = before[trimmed..].chars().count() + missing;
        before.truncate(trimmed);
        let mut after: String = here.chars().skip(self.cursor.column).collect();
        for row in row + 1..=last {
            after.push_str(self.text(row));
        }
        CursorLine { first, last, before, gap, after: after.trim_end().to_owned() }
    }

    /// The first row of a line that the terminal wrapped.
    pub(crate) fn first_of_line(&self, row: usize) -> usize {
        (0..row).rev().take_while(|&above| self.lines[above].wraps).last().unwrap_or(row)
    }

    /// Lines from `first` on that one of these patterns knows.
    pub(crate) fn count_marks(&self, first: usize, marks: &[LazyRegex]) -> usize {
        let lines = self.lines.iter().skip(first).map(|line| line.text.trim());
        lines.filter(|text| marks.iter().any(|mark| mark.is_match(text))).count()
    }

    /// A wrapped row keeps the blanks at its end: they belong to the line.
    fn filled(&self, row: usize) -> String {
        let text = self.text(row);
        let missing = self.cols.saturating_sub(text.chars().count());
        if !text.is_ascii() { text.to_owned() } else { format!("{text}{}", " ".repeat(missing)) }
    }

    /// Nothing stands in this row but its frame.
    pub(crate) fn is_blank(&self, row: usize) -> bool {
        self.inner(row).trim().is_empty()
    }

    /// The last row that shows anything; a spinner that turns alone in its row is nothing.
    pub(crate) fn last_row(&self) -> Option<usize> {
        self.lines
            .iter()
            .rposition(|line| line.text.chars().any(|char| !char.is_whitespace() && !is_spinner(char)))
    }

    /// The row without its frame: borders of a box, bars and margins at both sides.
    pub(crate) fn inner(&self, row: usize) -> &str {
        strip_frame(self.text(row))
    }

    /// Rows `first..=last` as text, frames removed, without blank lines at either end.
    pub(crate) fn block(&self, first: usize, last: usize) -> String {
        self.block_of(first, last, |_| true)
    }

    /// The same without rules: they say nothing, and would fill what a message can hold.
    pub(crate) fn block_without_rules(&self, first: usize, last: usize) -> String {
        self.block_of(first, last, |text| !is_rule(text))
    }

    fn block_of(&self, first: usize, last: usize, keeps: impl Fn(&str) -> bool) -> String {
        let rows =
            (first..=last.min(self.lines.len().saturating_sub(1))).filter(|&row| keeps(self.text(row)));
        let rows: Vec<&str> = rows.map(|row| self.inner(row).trim_end()).collect();
        rows.join("\n").trim_matches('\n').to_owned()
    }

    /// The words of rows `first..end` in one line: wrapping breaks no sentence.
    pub(crate) fn words(&self, first: usize, end: usize) -> String {
        let words = (first..end).flat_map(|row| self.inner(row).split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    }

    /// All words below this row.
    pub(crate) fn words_below(&self, row: usize) -> String {
        self.words(row + 1, self.lines.len())
    }

    /// The terminal broke a word between the row above and this one.
    pub(crate) fn goes_on_in(&self, row: usize) -> bool {
        let above = row.checked_sub(1).and_then(|above| self.lines.get(above));
        above.is_some_and(|line| line.wraps && line.text.chars().count() >= self.cols)
    }

    /// Where on the screen this character of [`Page::inner`] stands.
    pub(crate) fn column_of(&self, row: usize, inner: usize) -> usize {
        let text = self.text(row);
        let frame = text.find(self.inner(row)).map_or(0, |at| text[..at].chars().count());
        frame + inner
    }

    /// How the character looks; zero is plain.
    pub(crate) fn style_at(&self, row: usize, column: usize) -> u64 {
        let runs = self.lines.get(row).map_or(&[][..], |line| &line.runs);
        runs.iter().find(|run| run.start <= column && column < run.end).map_or(0, |run| run.style)
    }

    /// Its background; zero is plain.
    pub(crate) fn ground_at(&self, row: usize, column: usize) -> u64 {
        ground_of(self.style_at(row, column))
    }

    /// Whether any character of the row at `column..` is highlighted by its background.
    pub(crate) fn is_reversed_at(&self, row: usize, column: usize) -> bool {
        self.ground_at(row, column) != 0
    }
}

/// The background, reverse video included; zero is plain.
pub(crate) fn ground_of(style: u64) -> u64 {
    style >> 38 << 1 | style & 1
}

/// Blanks before the first character.
pub(crate) fn indent(text: &str) -> usize {
    text.chars().take_while(|char| *char == ' ').count()
}

/// Dim, or grey: what is said beside the point, such as hints and invitations.
pub(crate) fn is_faint(style: u64) -> bool {
    const DIM: u64 = 0x80;
    const GREYS: [u64; 2] = [1 + 8, 0x400 + 8];
    style & DIM != 0 || GREYS.contains(&(style >> 12 & 0x3ff_ffff))
}

/// The only one of which this holds.
pub(crate) fn only_one<T>(all: &[T], is_it: impl Fn(&T) -> bool) -> Option<usize> {
    let mut found = (0..all.len()).filter(|&index| is_it(&all[index]));
    found.next().filter(|_| found.next().is_none())
}

/// The one that differs from all others, if the others agree.
pub(crate) fn odd_one(styles: &[u64]) -> Option<usize> {
    let is_alone = |style: &u64| styles.iter().filter(|other| *other == style).count() == 1;
    only_one(styles, is_alone).filter(|_| styles.len() > 1)
}

/// The one that is lit: it differs from all others or, of two, it alone is neither plain nor faint.
pub(crate) fn lit_one(styles: &[u64]) -> Option<usize> {
    odd_one(styles).or_else(|| only_one(styles, |style| *style != 0 && !is_faint(*style)))
}

/// Characters that turn while something works.
pub(crate) fn is_spinner(char: char) -> bool {
    const SPINNERS: &str = "◐◓◑◒◴◷◶◵✢✳✶✻✽";
    matches!(char, '\u{2800}'..='\u{28ff}') || SPINNERS.contains(char)
}

/// The row without a spinner that turns apart from all words: alone in its row, or at the end behind a gap. A
/// spinner before words says that these words are being worked on; this one says nothing about the row.
pub(crate) fn without_lone_spinner(text: &str) -> &str {
    let Some(last) = text.chars().next_back() else { return text };
    let before = &text[..text.len() - last.len_utf8()];
    let apart = before.trim().is_empty() || before.ends_with("  ");
    let turns = is_spinner(last) || matches!(last, '|' | '/' | '-' | '\\');
    if turns && apart { before.trim_end() } else { text }
}

/// Characters that draw the sides of a box.
pub(crate) fn is_side(char: char) -> bool {
    matches!(char, '│' | '┃' | '║' | '▏' | '▕' | '▌' | '▐')
}

/// The row without a scroll bar at its end, behind a gap.
pub(crate) fn without_scroll_bar(text: &str) -> &str {
    let before = text.trim_end().trim_end_matches(['█', '▓', '▒', '░']);
    if before.len() < text.len() && before.ends_with("  ") { before.trim_end() } else { text }
}

fn strip_frame(text: &str) -> &str {
    let text = without_scroll_bar(text);
    let text = text.trim_end_matches(|char: char| is_side(char) || char.is_whitespace());
    let mut rest = text;
    loop {
        let next = rest.trim_start_matches(' ');
        match next.chars().next() {
            Some(char) if is_side(char) => rest = &next[char.len_utf8()..],
            _ => return rest.trim_end(),
        }
    }
}

/// A row that only draws: a rule, the top or bottom of a box.
pub(crate) fn is_rule(text: &str) -> bool {
    let text = text.trim();
    let drawn = text.chars().filter(|char| "─━═╌┄┈▄▀▁▔-_=╍".contains(*char)).count();
    let all = text.chars().count();
    drawn >= 4 && (drawn * 10 >= all * 7 || text.starts_with(['╭', '╰', '┌', '└', '╔', '╚', '┏', '┗']))
}

/// A rule that divides a dialog and does not bound it.
pub(crate) fn is_dashed(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().all(|char| "╌╍┄┅┈┉".contains(char))
}
