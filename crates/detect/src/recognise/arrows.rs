//! Menus moved by arrow keys: one row carries a marker, a tick or a colour, its siblings stand in the same column.

use atlasbridge_model::{Effect, Kind, Strokes};
use regex::Regex;

use super::frame::Frame;
use super::rules::{DOWNWARDS, DialogRules, ENTER, SIDEWAYS, ShownRow, TICK_AND_ENTER, stepped, steps};
use super::{Cut, Look, Pattern, Reading, composer, labels};
use crate::page::{Page, indent, is_faint, is_rule, lit_one, odd_one, only_one};

static MARKED: Pattern = pattern!(
    r"^\s*(?<marker>[❯›▸»▶➤●◉>→])(?:\s+|[◯◉○●]\s*)(?:[◯◉○●☐☑☒✔◻◼⬡⬢]\s+|\[[ xXo*✓✔]?\]\s*)?(?<label>\S.*)$"
);
/// Markers that are hardly ever anything else may touch their label.
static TOUCHING: Pattern = pattern!(r"^\s*(?<marker>[❯▸▶➤●])(?<label>\w.*)$");
/// A star marks a row only where nothing but a menu can be: it begins rows of lists, too.
static STARRED: Pattern = pattern!(r"^\s*(?<marker>\*)\s+(?<label>\S.*)$");
static SIBLING: Pattern = pattern!(r"^\s*(?:[◯◉○●☐☑☒✔◻◼⬡⬢]\s+|\[[ xXo*✓✔]?\]\s*)?(?<label>\S.*)$");
/// A row with a box for a tick, whether or not it is the highlighted one.
static BOXED: Pattern = pattern!(
    r"^\s*(?:[└├]\s*)?(?<marker>[❯›▸»▶➤>→]\s*)?(?<box>[◯◉○●☐☑☒✔✓◻◼⬡⬢▢▣]\s+|\[[ xXo*✓✔]\]\s*|\([ xXo*]\)\s*)(?<label>[^\s\[(].*)$"
);
static ASKING: Pattern = pattern!(
    r"^(?:[?◆▲]|\[\?\])\s+\S|[?:›…»]$|\(Use arrow keys\)|<(?:space|enter|up|down)>|(?i)\b(select|choose|pick)\b"
);
/// The first line of a question of one of the many libraries that draw such menus.
static QUESTION: Pattern = pattern!(r"^(?:[?◆▲]|\[\?\])\s+\S");
static HINT: Pattern = pattern!(
    r"(?i)[↑↓⏎]|\barrow[ -]keys?\b|\b(enter|return|esc|arrow|space)\b.*\b(select|confirm|move|navigate|cancel|submit|toggle|tick|proceed)\b"
);
/// A hint that rows are ticked, and not chosen at once.
static TOGGLES: Pattern = pattern!(r"(?i)\bspace\b|\btoggle\b|\btick\b");
/// A marker, and behind it a box for a tick.
static TICKS: Pattern = pattern!(r"^\s*[❯›▸»▶➤>→]\s*(?:[◯◉○●☐☑☒◻◼⬡⬢]|\[[ xXo*✓✔]?\])\s");
/// What is typed to narrow a list, with a count behind it: `❯ ber  1/3`.
static NARROWS: Pattern = pattern!(r"^\s*[❯›>]\s.*\d+/\d+\s*$");
/// How the keys work, behind a question: it goes away with the first key.
static KEY_HINT: Pattern = pattern!(
    r"(?i)\s*(?:\([^()]*(?:\barrow|\bspace|\benter|\breturn|shortcuts|toggle|\bfilter)[^()]*\)|[›»…]\s+-\s.*|[›»…])\s*$"
);
/// Most rows of a menu that are looked at.
const ROWS: usize = 40;
/// Most rows below a menu that a pack knows.
const BELOW: usize = 12;
/// Most rows without a choice between two choices: a separator, a choice that cannot be taken.
const APART: usize = 2;
/// How far above its rows the question of a menu with ticks may begin: a table of keys may stand between.
const ASKED_ABOVE: usize = 8;

pub(super) fn menu(look: &Look<'_>) -> Option<Reading> {
    if look.kernel.canonical {
        return None;
    }
    filter(look)
        .or_else(|| ticked(look))
        .or_else(|| Menu::all(look, None).find_map(|menu| menu.reading()))
        .or_else(|| radio_line(look))
        .or_else(|| toggle(look))
        .or_else(|| by_colour(look))
        .or_else(|| by_ink(look))
}

/// The first row of the lowest menu with a marker that asks.
pub(super) fn lowest(look: &Look<'_>) -> Option<usize> {
    let mut menus = Menu::all(look, None).filter(|menu| !menu.is_numbered());
    menus.find_map(|menu| menu.reading().map(|_| menu.first()))
}

/// Rows of which one is highlighted.
pub(super) struct Menu<'a> {
    page: &'a Page,
    rows: Vec<MenuRow<'a>>,
    /// Which of them is highlighted, where that is seen.
    marked: Option<usize>,
    /// Rows are ticked with the space bar; Enter alone would send what is ticked already.
    ticks: bool,
}

impl<'a> Menu<'a> {
    fn first(&self) -> usize {
        self.rows.first().map_or(0, |row| row.row)
    }

    pub(super) fn last(&self) -> usize {
        self.rows.last().map_or(0, |row| row.row)
    }

    /// Menus near the end of the screen that the program has not gone on below, the lowest first.
    fn all<'l>(look: &'l Look<'a>, row: Option<&'l Regex>) -> impl Iterator<Item = Self> + 'l {
        let page = look.page;
        let patterns = match row {
            Some(row) => [Some(row), None, None],
            None => [Some(&*MARKED), Some(&*TOUCHING), page.alternate.then_some(&*STARRED)],
        };
        let last = page.last_row().unwrap_or(0);
        let rows = (last.saturating_sub(ROWS)..=last).rev();
        let menus = rows.filter_map(move |row| {
            let mut patterns = patterns.into_iter().flatten();
            patterns.find_map(|pattern| Self::at(page, row, pattern))
        });
        menus.filter(|menu| {
            let is_past = look.is_past(menu.last()) && !HINT.is_match(&look.line.before);
            !is_past && !look.is_left_behind(menu.last(), |text| HINT.is_match(text))
        })
    }

    /// Those of them below which there is nothing to type into.
    pub(super) fn open<'l>(look: &'l Look<'a>, row: Option<&'l Regex>) -> impl Iterator<Item = Self> + 'l {
        let composer = composer::find(look.page).map_or(0, |found| found.row);
        let bottom = look.page.last_row().unwrap_or(0);
        Self::all(look, row).filter(move |menu| {
            composer <= menu.last() && bottom - menu.last() <= BELOW && !menu.is_numbered()
        })
    }

    /// The menu whose highlighted row this is.
    fn at(page: &'a Page, row: usize, marked: &Regex) -> Option<Self> {
        let ticks = TICKS.is_match(page.inner(row));
        let marked = MenuRow { marked: true, ..MenuRow::at(page, row, marked)? };
        let column = marked.column;
        let mut menu = Self { page, rows: vec![marked], marked: None, ticks };
        let near = 1..=APART + 1;
        while let Some(above) = near
            .clone()
            .map_while(|by| menu.first().checked_sub(by))
            .find_map(|row| menu.sibling(row, column))
        {
            menu.rows.insert(0, above);
        }
        while let Some(below) = near.clone().find_map(|by| menu.sibling(menu.last() + by, column)) {
            menu.rows.push(below);
        }
        menu.marked = menu.rows.iter().position(|row| row.marked);
        (menu.rows.len() >= 2).then_some(menu)
    }

    /// The choice in this row, if nothing but separators and choices that cannot be taken stands between.
    fn sibling(&self, row: usize, column: usize) -> Option<MenuRow<'a>> {
        let page = self.page;
        let mut between = if row < self.first() { row + 1..self.first() } else { self.last() + 1..row };
        let dashed = self.rows.iter().all(|row| row.label.starts_with("- "));
        let is_apart = |row: usize| {
            let text = page.inner(row);
            is_rule(text) && column > 0 || !dashed && is_disabled(text, column)
        };
        let text = page.inner(row);
        if row >= page.lines.len() || is_apart(row) || HINT.is_match(text) || is_rule(text) {
            return None;
        }
        let sibling = MenuRow::at(page, row, &SIBLING).filter(|sibling| sibling.column == column)?;
        between.all(is_apart).then_some(sibling)
    }

    /// Rows with numbers have keys of their own.
    fn is_numbered(&self) -> bool {
        self.rows.iter().all(|row| labels::is_numbered(row.label))
    }

    pub(super) fn frame(&self) -> Option<Frame<'a>> {
        Frame::above(self.page, self.first())
    }

    /// The dialog with all that stands above its question, where that these rows ask is known. Who sees no more than the
    /// excerpt must know what is approved.
    pub(super) fn reading_of(&self, frame: Frame<'_>, rules: &DialogRules) -> Option<Reading> {
        let detail = self.page.block(frame.top, self.page.last_row()?);
        let mut reading = self.build(without_sign(&frame.question()), &frame.subject(), detail, rules);
        if !reading.asks_for_consent() {
            return Some(reading);
        }
        reading.excerpt = without_sign(&frame.with_matter()).to_owned();
        Some(reading.told_as(Cut::of_lines(frame), rules))
    }

    fn reading(&self) -> Option<Reading> {
        let page = self.page;
        let bottom = page.last_row()?;
        let mut frame = self.frame()?;
        let top = frame.top;
        let is_text = |row: &usize| {
            let narrows = page.cursor.row == *row && NARROWS.is_match(page.inner(*row));
            !page.is_blank(*row) && !narrows
        };
        // How the keys work may stand in a line of its own below the question.
        let is_hint = |row: &usize| {
            let text = page.inner(*row).trim();
            text.starts_with('(') && without_key_hint(text).is_empty()
        };
        let asking = |row: &usize| is_text(row) && !is_hint(row);
        let mut above = (top..self.first()).rev();
        let nearest = above.clone().find(asking).or_else(|| above.find(is_text))?;
        let close = self.first() - nearest <= 3;
        // A library that wraps its question itself leaves only its first line to know it by.
        let begins = (nearest.saturating_sub(2).max(top)..=nearest)
            .rev()
            .take_while(|row| is_text(row))
            .find(|&row| QUESTION.is_match(page.inner(row).trim_start()));
        let asks = close && (begins.is_some() || ASKING.is_match(&wrapped_line(page, nearest)));
        let hinted = (self.last() + 1..=bottom).take(4).any(|row| HINT.is_match(page.text(row)));
        let on_cursor = (self.first()..=self.last()).contains(&page.cursor.row);
        let near = on_cursor || (begins.unwrap_or(nearest)..=bottom + 2).contains(&page.cursor.row);
        let below = if on_cursor { 12 } else { 4 };
        let is_asked = asks || hinted || self.decides(top) || on_cursor && !page.cursor.visible;
        if !near || bottom - self.last() > below || !is_asked || composer::stands_below(page, self.last()) {
            return None;
        }
        frame.asks = match begins {
            Some(row) if asks => row,
            None | Some(_) => page.first_of_line(if asks { nearest } else { frame.asks }),
        };
        if !asks || !page.inner(frame.asks).starts_with(['?', '◆', '▲']) {
            return self.reading_of(frame, &DialogRules::default());
        }
        Some(self.asked(&frame.question(), page.block(frame.asks, bottom)))
    }

    /// One row accepts, one refuses, and a question stands above: an approval, however it is drawn.
    fn decides(&self, top: usize) -> bool {
        let effects = || self.rows.iter().map(|row| labels::effect(row.label));
        let asked = (top..self.first()).any(|row| self.page.inner(row).trim_end().ends_with('?'));
        asked && effects().any(Effect::is_accepting) && effects().any(|effect| effect == Effect::Refuses)
    }

    /// The reading of a menu whose question is known, with the sign and the hints that its library draws around it.
    fn asked(&self, question: &str, detail: String) -> Reading {
        let excerpt = without_sign(question);
        self.build(excerpt, without_key_hint(excerpt), detail, &DialogRules::default())
    }

    fn build(&self, excerpt: &str, subject: &str, detail: String, rules: &DialogRules) -> Reading {
        let labels: Vec<&str> = self.rows.iter().map(|row| rules.label(row.label)).collect();
        let kind = rules.kind(&labels);
        let base = if kind == Kind::YesNo { 90 } else { 80 } + if rules.is_packed() { 5 } else { 0 };
        let identity = format!("{subject}\n{}", labels.join("\n"));
        let choices = self.rows.iter().enumerate().filter_map(|(index, row)| {
            let (label, highlighted) = (row.label, self.marked);
            let mut choice =
                rules.choice(&ShownRow { label, number: None, index, highlighted, footer: "" })?;
            if self.ticks {
                let then = if row.is_filled() { ENTER } else { TICK_AND_ENTER };
                choice.strokes = steps(highlighted, index, DOWNWARDS, then);
            }
            Some(choice)
        });
        Reading::block(kind, base, excerpt, detail, identity).by(rules).with_choices(choices.collect())
    }
}

/// What the question is about, without a hint of keys.
fn without_key_hint(question: &str) -> &str {
    let hint = KEY_HINT.find(question);
    question[..hint.map_or(question.len(), |hint| hint.start())].trim_end()
}

/// The question without the sign that its library draws before it.
fn without_sign(question: &str) -> &str {
    question.trim_start_matches(['?', '◆', '◇', '▲']).trim()
}

fn wrapped_line(page: &Page, row: usize) -> String {
    page.words(page.first_of_line(row), row + 1)
}

/// A row of a menu.
struct MenuRow<'a> {
    row: usize,
    /// Where the label begins.
    column: usize,
    /// Without a hint that is drawn fainter.
    label: &'a str,
    marked: bool,
    /// Its box for a tick, empty where it has none.
    tick: &'a str,
}

impl<'a> MenuRow<'a> {
    fn at(page: &'a Page, row: usize, pattern: &Regex) -> Option<Self> {
        let text = page.inner(row);
        let captures = pattern.captures(text)?;
        let label = captures.name("label")?;
        let column = text[..label.start()].chars().count();
        Some(Self {
            row,
            column,
            label: without_faint(page, row, column, label.as_str()),
            marked: captures.name("marker").is_some(),
            tick: captures.name("box").map_or("", |tick| tick.as_str().trim_end()),
        })
    }

    fn plain(row: usize, label: &'a str) -> Self {
        Self { row, column: 0, label, marked: false, tick: "" }
    }

    fn is_filled(&self) -> bool {
        self.tick.contains(['◉', '●', '☑', '☒', '◼', '⬢', '▣', 'x', 'X', '*', '✓', '✔']) && self.tick != "✔"
    }
}

/// `Red - warm` and `ESLint (recommended)` where the second part is grey: a row that is not highlighted lacks it.
fn without_faint<'a>(page: &Page, row: usize, column: usize, label: &'a str) -> &'a str {
    let is_faint_at = |inner: usize| is_faint(page.style_at(row, page.column_of(row, inner)));
    let begins = |at: &usize| {
        let before = label[..*at].chars().count();
        (label[*at..].starts_with(" (") || label[*at..].starts_with(" - "))
            && is_faint_at(column + before + 1)
            && is_faint_at(column + before + 3)
    };
    let cut = label.match_indices(' ').map(|(at, _)| at).find(begins);
    let cut = cut.filter(|&at| at > 0 && !is_faint_at(column));
    // A key is often drawn fainter than its row, and is the surest way to take it.
    let cut = cut.filter(|_| labels::only_key(label).is_none());
    label[..cut.unwrap_or(label.len())].trim_end()
}

/// A choice that cannot be taken, and that arrow keys pass by: `- pnpm (not installed)`.
fn is_disabled(text: &str, column: usize) -> bool {
    text.trim_start().starts_with("- ") && (indent(text) == column || indent(text) + 2 == column)
}

/// Rows that are ticked with the space bar, with or without a marker at the highlighted one.
fn ticked(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let bottom = page.last_row()?;
    let boxes = boxes_of(page, bottom)?;
    let (first, last) = (boxes.first()?.row, boxes.last()?.row);
    if composer::stands_below(page, last) {
        return None;
    }
    let named = (first.saturating_sub(ASKED_ABOVE)..first)
        .rev()
        .take_while(|&row| !is_rule(page.text(row)))
        .find(|&row| QUESTION.is_match(page.text(row).trim_start()));
    let nearest = (first.saturating_sub(3)..first).rev().find(|&row| !page.is_blank(row));
    let hint = (last + 1..=bottom).find(|&row| HINT.is_match(page.text(row)));
    let top = named.or(nearest).unwrap_or(first);
    let marker = boxes.iter().position(|one| one.marked);
    let toggles = (top..=bottom).any(|row| TOGGLES.is_match(page.text(row)));
    let round = boxes.iter().all(|one| one.tick.contains(['◯', '◉', '○', '●']));
    let ticks = marker.is_some() || toggles || !round;
    let asks = nearest.is_some_and(|row| ASKING.is_match(&wrapped_line(page, row)));
    // A list of things to do looks alike; what works beside it may be stopped with a key, but ticks nothing.
    let ticks_by_hint = hint.is_some_and(|row| TOGGLES.is_match(page.text(row)));
    let is_asked = named.is_some() || ticks_by_hint || marker.is_some() && (asks || hint.is_some());
    if !ticks || !is_asked || !(top..=bottom + 2).contains(&page.cursor.row) {
        return None;
    }
    let styles: Vec<u64> =
        boxes.iter().map(|one| page.style_at(one.row, page.column_of(one.row, one.column))).collect();
    // A hidden cursor is parked somewhere.
    let on_cursor = || boxes.iter().position(|one| one.row == page.cursor.row && page.cursor.visible);
    let marked = marker.or(lit_one(&styles)).or_else(on_cursor);
    let question = match named.or(nearest.filter(|_| asks)) {
        Some(row) => Frame { page, top, asks: row, first }.question(),
        None => page.inner(hint?).trim().to_owned(),
    };
    let menu = Menu { page, rows: boxes, marked, ticks: true };
    Some(menu.asked(&question, page.block(top, bottom)))
}

/// The lowest group of such rows, not far from the end of the screen.
fn boxes_of(page: &Page, bottom: usize) -> Option<Vec<MenuRow<'_>>> {
    let last =
        (bottom.saturating_sub(BELOW / 2)..=bottom).rev().find(|&row| boxed_at(page, row).is_some())?;
    let mut boxes: Vec<MenuRow<'_>> = Vec::new();
    let mut apart = 0;
    for row in (last.saturating_sub(ROWS)..=last).rev() {
        let text = page.inner(row);
        match boxed_at(page, row) {
            Some(found) => {
                boxes.push(found);
                apart = 0;
            }
            None if apart < APART && (is_rule(text) || text.trim_start().starts_with("- ")) => apart += 1,
            None => break,
        }
    }
    boxes.reverse();
    (boxes.len() >= 2).then_some(boxes)
}

fn boxed_at(page: &Page, row: usize) -> Option<MenuRow<'_>> {
    MenuRow::at(page, row, &BOXED).filter(|_| !HINT.is_match(page.inner(row)))
}

/// `? Enable TypeScript? › No / Yes`: two words in a row, one of them lit, moved by the arrow keys.
fn toggle(look: &Look<'_>) -> Option<Reading> {
    static TOGGLE: Pattern =
        pattern!(r"^\?\s+(?<question>\S.*?)\s+[›‣»]\s+(?<left>[^\s/][^/]*?)\s+/\s+(?<right>[^\s/][^/]*)$");
    let row = look.line.first;
    let text = look.page.text(row).trim_end();
    let captures = TOGGLE.captures(text).filter(|_| look.line.last == row)?;
    let (left, right) = (captures.name("left")?, captures.name("right")?);
    let style = |at: usize| look.page.style_at(row, text[..at].chars().count());
    let is_plain = |at: usize| style(at) == 0 || is_faint(style(at));
    // Where both are, or neither is, nothing shows which of the two Enter would take.
    let lit = only_one(&[left.start(), right.start()], |at| !is_plain(*at));
    let labels = [left.as_str(), right.as_str().trim_end()];
    let choices = stepped(&labels, lit, SIDEWAYS);
    let question = captures.name("question")?.as_str();
    Some(Reading::rows(labels::kind(&labels), 85, question, question, text.to_owned(), choices))
}

/// Rows below a question at the cursor, told apart by the colour of their letters alone.
fn by_ink(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let question = look.line.whole();
    let (first, bottom) = (look.line.last + 1, page.last_row()?);
    if !QUESTION.is_match(&question) || first >= bottom || bottom - first > ROWS {
        return None;
    }
    let column = indent(page.text(first));
    let end = (first..=bottom)
        .take_while(|&row| !page.text(row).trim().is_empty() && indent(page.text(row)) == column)
        .last()?;
    let styles: Vec<u64> = (first..=end).map(|row| page.style_at(row, column)).collect();
    let marked = odd_one(&styles).filter(|_| end == bottom || end + 2 >= bottom)?;
    let rows = (first..=end).map(|row| MenuRow::plain(row, page.text(row).trim())).collect();
    let menu = Menu { page, rows, marked: Some(marked), ticks: false };
    (!menu.is_numbered()).then(|| menu.asked(&question, page.block(look.line.first, bottom)))
}

/// Rows without a marker: one has a background of its own. Something must ask above them, or hint below.
fn by_colour(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row()?;
    let rows = (last.saturating_sub(ROWS)..=last).rev();
    let menu = rows.filter(|&row| is_lit(page, row)).find_map(|row| {
        let label = |row: usize| {
            let text = page.inner(row).trim();
            let button = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
            button.unwrap_or(text).trim()
        };
        let is_sibling = |at: usize| {
            let text = page.text(at);
            let plain = !text.trim().is_empty() && !is_rule(text) && !HINT.is_match(text);
            plain
                && !is_lit(page, at)
                && indent(text) == indent(page.text(row))
                && !ASKING.is_match(text.trim())
        };
        let first = (0..row).rev().take_while(|&at| is_sibling(at)).last().unwrap_or(row);
        let end = (row + 1..=last).take_while(|&at| is_sibling(at)).last().unwrap_or(row);
        let rows = (first..=end).map(|row| MenuRow::plain(row, label(row))).collect();
        (end > first).then_some(Menu { page, rows, marked: Some(row - first), ticks: false })
    })?;
    let above = menu.first().checked_sub(1)?;
    let nearest = (above.saturating_sub(1)..=above).rev().find(|&row| !page.text(row).trim().is_empty());
    let asks = nearest.is_some_and(|row| ASKING.is_match(page.text(row).trim()));
    let hinted = (menu.last() + 1..=last).take(3).any(|row| HINT.is_match(page.text(row)));
    if !(asks || hinted) || last - menu.last() > 4 || composer::find(page).is_some() {
        return None;
    }
    let question = nearest.map(|row| page.inner(row).trim()).unwrap_or_default();
    let detail = page.block(nearest.unwrap_or(menu.first()), last);
    Some(menu.build(question, question, detail, &DialogRules::default()))
}

/// The whole text of the row has another background than the screen.
fn is_lit(page: &Page, row: usize) -> bool {
    let text = page.text(row);
    let (begin, end) = (indent(text), text.chars().count());
    begin < end && (begin..end).all(|column| page.is_reversed_at(row, column))
}

/// A list that is filtered by typing: matches above or below, a count, and what is typed at the cursor.
fn filter(look: &Look<'_>) -> Option<Reading> {
    static COUNT: Pattern = pattern!(r"^\s*\d+/\d+(?:\s|$)");
    static MATCH: Pattern = pattern!(r"^(?:[>▌❯|] ?|\s)[>•▪+*┃✓ ]?\s?(\S.*)$");
    let page = look.page;
    let row = look.line.first;
    let is_count = |row: usize| COUNT.is_match(unframed(page.text(row)));
    let (counted, upwards) = match row.checked_sub(1).filter(|&above| is_count(above)) {
        Some(above) => (above, true),
        None if is_count(look.line.last + 1) => (look.line.last + 1, false),
        None => return None,
    };
    let prompt = unframed(&look.line.before).trim();
    if !prompt.contains(['>', '❯', ':', '›', '$', '?']) {
        return None;
    }
    let label = |row: usize| Some(MATCH.captures(unframed(page.text(row)))?.get(1)?.as_str().trim());
    // From the count outwards.
    let outward = |by: usize| if upwards { counted.checked_sub(by) } else { Some(counted + by) };
    let outwards = (1..page.lines.len()).map_while(outward);
    let (rows, labels): (Vec<usize>, Vec<&str>) = outwards.map_while(|row| Some((row, label(row)?))).unzip();
    let furthest = *rows.last().filter(|_| rows.len() >= 2)?;
    let count = unframed(page.text(counted)).trim();
    let count = count.trim_end_matches(['─', ' ']);
    let excerpt = match prompt {
        ">" | "❯" | "›" => count.to_owned(),
        _ => format!("{prompt} {count}"),
    };
    let detail = page.block(furthest.min(row), furthest.max(look.line.last));
    let (up, down) = DOWNWARDS;
    let keys = if upwards { (down, up) } else { (up, down) };
    let points = |row: usize| unframed(page.text(row)).starts_with(['>', '▌', '❯']);
    let marked = rows.iter().position(|&row| points(row));
    let reading = Reading::block(Kind::MultipleChoice, 75, &excerpt, detail, "filter".to_owned());
    Some(reading.with_choices(stepped(&labels, marked, keys)))
}

/// The row without the border of a box around it; a bar inside it may be the marker of a row.
fn unframed(text: &str) -> &str {
    const BORDERS: [char; 3] = ['│', '┃', '║'];
    let text = text.trim_end();
    match text.trim_start().strip_prefix(BORDERS) {
        Some(inner) => {
            inner.strip_suffix(BORDERS).unwrap_or(inner).strip_prefix(' ').unwrap_or(inner).trim_end()
        }
        None => text,
    }
}

/// `● Yes / ○ No` in one row.
fn radio_line(look: &Look<'_>) -> Option<Reading> {
    static RADIO: Pattern = pattern!(r"^[●○]\s+(\S.*?)\s+/\s+[●○]\s+(\S.*)$");
    let page = look.page;
    let last = page.last_row()?;
    let row = (last.saturating_sub(6)..=last).rev().find(|&row| RADIO.is_match(page.inner(row).trim()))?;
    let (_, labels) = RADIO.captures(page.inner(row).trim())?.extract::<2>();
    let question = page.inner(row.checked_sub(1)?).trim().trim_start_matches(['◆', '?']).trim();
    // The letter chooses at once. Where it did not, no Enter follows: the row with the light is the one it would take.
    let choices = labels.iter().map(|label| {
        let key: String = label.chars().take(1).flat_map(char::to_lowercase).collect();
        labels::choice(label, Strokes::once(key))
    });
    let detail = page.block(row - 1, last);
    Some(Reading::rows(labels::kind(&labels), 90, question, question, detail, choices.collect()))
}
