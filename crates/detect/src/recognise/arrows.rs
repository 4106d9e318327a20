//! Menus moved by arrow keys: one row carries a marker, its siblings stand in the same column.

use atlasbridge_model::{Choice, Effect, Kind, Strokes};
use regex::Regex;

use super::labels::{self, Pattern, pattern};
use super::manner::{Manner, Shown};
use super::{Look, Reading, composer, dialog, manner};
use crate::page::{Page, is_rule};

static MARKED: Pattern = pattern!(
    r"^\s*(?<marker>[❯›▸»▶➤●◉>→])(?:\s+|[◯◉○●]\s*)(?:[◯◉○●☐☑☒✔◻◼]\s+|\[[ x*✓]\]\s*)?(?<label>\S.*)$"
);
static SIBLING: Pattern = pattern!(r"^\s*(?:[◯◉○●☐☑☒✔◻◼]\s+|\[[ x*✓]\]\s*)?(?<label>\S.*)$");
static ASKING: Pattern =
    pattern!(r"^(?:[?◆]|\[\?\])\s+\S|[?:›…»]$|\(Use arrow keys\)|(?i)\b(select|choose|pick)\b");
static HINT: Pattern =
    pattern!(r"(?i)[↑↓⏎]|\b(enter|return|esc|arrow)\b.*\b(select|confirm|move|navigate|cancel|submit)\b");
/// A marker, and behind it a box for a tick.
static TICKS: Pattern = pattern!(r"^\s*[❯›▸»▶➤>→]\s*(?:[◯◉○●☐☑☒◻◼]|\[[ x*✓]\])\s");
/// Most rows of a menu that are looked at.
const ROWS: usize = 40;
/// Most rows below a menu that a pack knows.
const BELOW: usize = 12;

pub(super) fn menu(look: &Look<'_>) -> Option<Reading> {
    if look.kernel.canonical {
        return None;
    }
    filter(look)
        .or_else(|| Menu::all(look.page, None).find_map(|menu| menu.reading(look.page)))
        .or_else(|| radio_line(look))
        .or_else(|| by_colour(look))
}

/// Rows of which one is highlighted.
pub(super) struct Menu {
    first: usize,
    last: usize,
    labels: Vec<String>,
    /// Which of them is highlighted.
    marked: usize,
    /// Rows are ticked with the space bar; Enter alone would send what is ticked already.
    ticks: bool,
}

impl Menu {
    /// Menus near the end of the screen, the lowest first.
    fn all(page: &Page, row: Option<&Regex>) -> impl Iterator<Item = Self> {
        let pattern = row.or(MARKED.regex());
        let last = page.last_row().unwrap_or(0);
        (last.saturating_sub(ROWS)..=last)
            .rev()
            .filter_map(move |row| Self::at(page, row, pattern?))
    }

    /// Those of them below which there is nothing to type into.
    pub(super) fn open(look: &Look<'_>, row: Option<&Regex>) -> impl Iterator<Item = Self> {
        let page = look.page;
        let composer = composer::find(page).map_or(0, |found| found.row);
        let bottom = page.last_row().unwrap_or(0);
        Self::all(page, row)
            .filter(move |menu| composer <= menu.last && bottom - menu.last <= BELOW && !menu.is_numbered())
    }

    /// The menu whose highlighted row this is.
    fn at(page: &Page, row: usize, marked: &Regex) -> Option<Self> {
        let (column, label) = split(page.inner(row), marked)?;
        let sibling = |row: usize| {
            let text = page.inner(row);
            let (at, label) =
                split(text, SIBLING.regex()?).filter(|_| !HINT.is_match(text) && !is_rule(text))?;
            (at == column).then_some(label)
        };
        let mut menu = Menu {
            first: row,
            last: row,
            labels: vec![label],
            marked: 0,
            ticks: TICKS.is_match(page.inner(row)),
        };
        while menu.first > 0
            && let Some(label) = sibling(menu.first - 1)
        {
            menu.labels.insert(0, label);
            menu.first -= 1;
            menu.marked += 1;
        }
        while menu.last + 1 < page.lines.len()
            && let Some(label) = sibling(menu.last + 1)
        {
            menu.labels.push(label);
            menu.last += 1;
        }
        (menu.labels.len() >= 2).then_some(menu)
    }

    /// Rows with numbers have keys of their own.
    fn is_numbered(&self) -> bool {
        static NUMBER: Pattern = pattern!(r"^\d{1,2}[.)]\s");
        self.labels.iter().all(|label| NUMBER.is_match(label))
    }

    pub(super) fn above(&self, page: &Page) -> String {
        page.words(dialog::top_of(page, self.first), self.first)
    }

    pub(super) fn below(&self, page: &Page) -> String {
        page.words(self.last + 1, page.lines.len())
    }

    /// As a pack says: that these rows ask is known.
    pub(super) fn reading_by(&self, page: &Page, manner: &Manner) -> Option<Reading> {
        let top = dialog::top_of(page, self.first);
        let question_row = dialog::question_row(page, top, self.first)?;
        let question = dialog::paragraph(page, question_row, self.first);
        let subject = dialog::subject(page, top, self.first);
        let detail = page.block(top, page.last_row()?);
        Some(self.build(&question, &subject, detail, manner))
    }

    fn reading(&self, page: &Page) -> Option<Reading> {
        let bottom = page.last_row()?;
        let top = dialog::top_of(page, self.first);
        let nearest = (top..self.first)
            .rev()
            .find(|&row| !page.inner(row).trim().is_empty())?;
        let close = self.first - nearest <= 3;
        let asks = close && ASKING.is_match(&wrapped_line(page, nearest));
        let hinted = (self.last + 1..=bottom)
            .take(3)
            .any(|row| HINT.is_match(page.text(row)));
        let on_cursor = (self.first..=self.last).contains(&page.cursor.row);
        let near = on_cursor || (nearest..=bottom + 2).contains(&page.cursor.row);
        let below = if on_cursor { 12 } else { 4 };
        let decides = self.decides(page, top);
        let is_asked = asks || hinted || decides || on_cursor && !page.cursor.visible;
        if !near || bottom - self.last > below || !is_asked {
            return None;
        }
        if composer::find(page).is_some_and(|found| found.row > self.last) {
            return None;
        }
        let question_row = if asks {
            nearest
        } else {
            dialog::question_row(page, top, self.first)?
        };
        let question_row = first_of_line(page, question_row);
        let question = dialog::paragraph(page, question_row, self.first);
        let excerpt = question.trim_start_matches(['?', '◆', '◇']).trim();
        let (first, subject) = if asks && page.inner(question_row).starts_with(['?', '◆']) {
            (question_row, excerpt.to_owned())
        } else {
            (top, dialog::subject(page, top, self.first))
        };
        Some(self.build(excerpt, &subject, page.block(first, bottom), &Manner::default()))
    }

    /// One row accepts, one refuses, and a question stands above: an approval, however it is drawn.
    fn decides(&self, page: &Page, top: usize) -> bool {
        let has = |wanted| self.labels.iter().any(|label| labels::effect(label) == wanted);
        let asked = (top..self.first).any(|row| page.inner(row).trim_end().ends_with('?'));
        asked && has(Effect::Accepts) && has(Effect::Refuses)
    }

    fn build(&self, excerpt: &str, subject: &str, detail: String, manner: &Manner) -> Reading {
        let labels: Vec<&str> = self.labels.iter().map(|label| manner.label(label)).collect();
        let kind = manner.kind(&labels);
        let base = if kind == Kind::YesNo { 90 } else { 80 } + if manner.name.is_some() { 5 } else { 0 };
        let identity = format!("{subject}\n{}", labels.join("\n"));
        let choices = self.labels.iter().enumerate().filter_map(|(index, label)| {
            let choice = manner.choice(&Shown {
                label,
                number: None,
                index,
                highlighted: Some(self.marked),
                footer: "",
            })?;
            Some(match self.ticks {
                true => Choice {
                    strokes: manner::tick(self.marked, index),
                    ..choice
                },
                false => choice,
            })
        });
        Reading::block(kind, base, excerpt, detail, identity)
            .by(manner)
            .with_choices(choices.collect())
    }
}

/// The first row of a line that the terminal wrapped.
fn first_of_line(page: &Page, row: usize) -> usize {
    let wrapped = |row: &usize| *row > 0 && page.lines[*row - 1].wraps;
    std::iter::successors(Some(row), |row| wrapped(row).then(|| row - 1))
        .last()
        .unwrap_or(row)
}

fn wrapped_line(page: &Page, row: usize) -> String {
    page.words(first_of_line(page, row), row + 1)
}

/// Where the label begins, and the label.
fn split(text: &str, pattern: &Regex) -> Option<(usize, String)> {
    let captures = pattern.captures(text)?;
    let label = captures.name("label")?;
    Some((
        text[..label.start()].chars().count(),
        label.as_str().trim_end().to_owned(),
    ))
}

/// Rows without a marker: one has a background of its own. Something must ask above them, or hint below.
fn by_colour(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row()?;
    let rows = (last.saturating_sub(ROWS)..=last).rev();
    let menu = rows.filter(|&row| is_lit(page, row)).find_map(|row| {
        let begins = |row: usize| page.text(row).chars().take_while(|char| *char == ' ').count();
        let label = |row: usize| page.inner(row).trim().to_owned();
        let is_sibling = |at: usize| {
            let text = page.text(at);
            let plain = !text.trim().is_empty() && !is_rule(text) && !HINT.is_match(text);
            plain && !is_lit(page, at) && begins(at) == begins(row) && !ASKING.is_match(text.trim())
        };
        let first = (0..row)
            .rev()
            .take_while(|&at| is_sibling(at))
            .last()
            .unwrap_or(row);
        let end = (row + 1..=last)
            .take_while(|&at| is_sibling(at))
            .last()
            .unwrap_or(row);
        (end > first).then(|| Menu {
            first,
            last: end,
            labels: (first..=end).map(label).collect(),
            marked: row - first,
            ticks: false,
        })
    })?;
    let above = menu.first.checked_sub(1)?;
    let nearest = (above.saturating_sub(1)..=above)
        .rev()
        .find(|&row| !page.text(row).trim().is_empty());
    let asks = nearest.is_some_and(|row| ASKING.is_match(page.text(row).trim()));
    let hinted = (menu.last + 1..=last)
        .take(3)
        .any(|row| HINT.is_match(page.text(row)));
    if !(asks || hinted) || last - menu.last > 4 || composer::find(page).is_some() {
        return None;
    }
    let question = nearest.map(|row| page.inner(row).trim()).unwrap_or_default();
    let detail = page.block(nearest.unwrap_or(menu.first), last);
    Some(menu.build(question, question, detail, &Manner::default()))
}

/// The whole text of the row has another background than the screen.
fn is_lit(page: &Page, row: usize) -> bool {
    let text = page.text(row);
    let begin = text.chars().take_while(|char| *char == ' ').count();
    let end = text.chars().count();
    begin < end && (begin..end).all(|column| page.is_reversed_at(row, column))
}

/// A list that is filtered by typing: matches above, a count, and `> ` at the cursor.
fn filter(look: &Look<'_>) -> Option<Reading> {
    static COUNT: Pattern = pattern!(r"^\s*\d+/\d+(?:\s|$)");
    static MATCH: Pattern = pattern!(r"^[>▌❯ ]\s(\S.*)$");
    let page = look.page;
    let counted = look.line.first.checked_sub(1)?;
    if !look.line.before.starts_with('>') || !COUNT.is_match(page.text(counted)) {
        return None;
    }
    let matches = (0..counted).rev().map(|row| MATCH.captures(page.text(row)));
    let labels: Vec<String> = matches
        .map_while(|captures| Some(captures?.get(1)?.as_str().trim().to_owned()))
        .collect();
    let count = page.text(counted).trim().trim_end_matches(['─', ' ']).to_owned();
    let detail = page.block(counted.saturating_sub(labels.len()), look.line.last);
    let choices = labels.iter().enumerate().map(|(index, label)| {
        let strokes = if index == 0 {
            Strokes::enter()
        } else {
            Strokes::then_enter_if_still_there("\x1b[A".repeat(index))
        };
        labels::choice(label, strokes)
    });
    let choices: Vec<Choice> = choices.collect();
    (choices.len() >= 2).then(|| {
        Reading::block(Kind::MultipleChoice, 75, &count, detail, "filter".to_owned()).with_choices(choices)
    })
}

/// `● Yes / ○ No` in one row.
fn radio_line(look: &Look<'_>) -> Option<Reading> {
    static RADIO: Pattern = pattern!(r"^[●○]\s+(\S.*?)\s+/\s+[●○]\s+(\S.*)$");
    let page = look.page;
    let last = page.last_row()?;
    let row = (last.saturating_sub(6)..=last)
        .rev()
        .find(|&row| RADIO.is_match(page.inner(row).trim()))?;
    let captures = RADIO.captures(page.inner(row).trim())?;
    let labels = [captures.get(1)?.as_str(), captures.get(2)?.as_str()];
    let question = page
        .inner(row.checked_sub(1)?)
        .trim()
        .trim_start_matches(['◆', '?'])
        .trim();
    let kind = if labels::is_yes_no_pair(&labels) {
        Kind::YesNo
    } else {
        Kind::MultipleChoice
    };
    let choices = labels.iter().map(|label| {
        let key: String = label.chars().take(1).flat_map(char::to_lowercase).collect();
        labels::choice(label, Strokes::then_enter_if_still_there(key))
    });
    let identity = format!("{question}\n{}", labels.join("\n"));
    Some(
        Reading::block(kind, 90, question, page.block(row - 1, last), identity)
            .with_choices(choices.collect()),
    )
}
