//! Buttons: `<Yes>  <No>` of whiptail, dialog and pinentry, buttons told apart by colour, and bars of shortcuts.

use atlasbridge_model::{Choice, Kind, Strokes};
use regex::Match;

use super::frame::Frame;
use super::rules::{DOWNWARDS, DialogRules, ENTER, SIDEWAYS, TICK_AND_ENTER, stepped, steps};
use super::{Cut, Look, Pattern, Reading, labels};
use crate::packs::words;
use crate::page::{Page, indent, is_rule, is_side, odd_one, only_one};

static BUTTON: Pattern = pattern!(r"<\s*([^<>\s](?:[^<>]*[^<>\s])?)\s*>");
static ONLY_BUTTONS: Pattern = pattern!(r"^(?:<\s*[^<>\s][^<>]*>\s*)+$");
static FIELD: Pattern = pattern!(r"_{5,}");
static SECRET: Pattern = pattern!(r"(?i)pass|pin\b|secret|token");
/// The box of a row that is ticked; and of any row.
static TICKED: Pattern = pattern!(r"[\[(][*xX][\])]");
static TICK: Pattern = pattern!(r"^[\[(]([ *xX])[\])]");

/// A framed form whose last line is a row of buttons.
pub(super) fn boxed(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row().filter(|_| !look.kernel.canonical)?;
    let row = (0..=last)
        .rev()
        .find(|&row| page.text(row).contains(is_side) && ONLY_BUTTONS.is_match(page.inner(row).trim()))?;
    let top = (0..row).rev().find(|&above| is_top(page.text(above)))?;
    let text = page.block(top + 1, row - 1);
    let question = first_paragraph(page, top + 1, row);
    let buttons: Vec<(usize, String)> = buttons_of(page.text(row));
    let names: Vec<&str> = buttons.iter().map(|(_, label)| label.trim_matches(['<', '>'])).collect();
    let plain = TICKED.replace_all(&text, "[ ]");
    let identity = format!("{}\n{}", FIELD.replace_all(&plain, ""), names.join(" "));
    let field = (top + 1..row)
        .find(|&row| FIELD.is_match(page.text(row)) || row == look.page.cursor.row && row > top);
    let by_buttons = || button_choices(look, row, &buttons);
    let (kind, base, choices) = match choices_within(page, top + 1, row) {
        _ if labels::is_yes_no_pair(&names) => (Kind::YesNo, 90, by_buttons()),
        // Names of fields to fill in are no choices.
        Some(choices) if choices.iter().all(|choice| choice.label.ends_with(':')) => {
            (Kind::FreeText, 75, Vec::new())
        }
        Some(choices) => (Kind::MultipleChoice, 80, choices),
        None => match field {
            Some(field) if SECRET.is_match(page.inner(field)) || words().secrets.is_match(&question) => {
                (Kind::Password, 85, Vec::new())
            }
            Some(_) => (Kind::FreeText, 75, Vec::new()),
            None if buttons.len() == 1 => (Kind::ConfirmEnter, 85, Vec::new()),
            None => (Kind::MultipleChoice, 80, by_buttons()),
        },
    };
    Some(Reading::block(kind, base, &question, text, identity).with_choices(choices))
}

fn is_top(text: &str) -> bool {
    text.trim_start().starts_with(['┌', '╭', '╔', '┏']) && is_rule(text)
}

fn first_paragraph(page: &Page, first: usize, end: usize) -> String {
    let lines = (first..end).map(|row| page.inner(row).trim()).skip_while(|text| text.is_empty());
    lines.take_while(|text| !text.is_empty() && !is_rule(text)).collect::<Vec<_>>().join(" ")
}

/// Buttons with their place in the row, inner blanks removed: `<  OK  >` is `<OK>`.
fn buttons_of(text: &str) -> Vec<(usize, String)> {
    BUTTON
        .captures_iter(text)
        .filter_map(|captures| {
            let whole = captures.get(0)?;
            Some((text[..whole.start()].chars().count(), format!("<{}>", captures.get(1)?.as_str())))
        })
        .collect()
}

fn button_choices(look: &Look<'_>, row: usize, buttons: &[(usize, String)]) -> Vec<Choice> {
    let places: Vec<(usize, usize)> =
        buttons.iter().map(|(at, label)| (*at, at + label.chars().count())).collect();
    let labels: Vec<&String> = buttons.iter().map(|(_, label)| label).collect();
    stepped(&labels, focused(look, row, &places), ("\x1b[Z", "\t"))
}

/// The part of the row that has the focus: the cursor is in it, or it alone has another background. A button that is
/// alone has it.
fn focused(look: &Look<'_>, row: usize, places: &[(usize, usize)]) -> Option<usize> {
    let page = look.page;
    if page.cursor.row == row
        && let Some(index) = places.iter().position(|(from, to)| (*from..=*to).contains(&page.cursor.column))
    {
        return Some(index);
    }
    let grounds: Vec<u64> = places.iter().map(|(from, _)| page.ground_at(row, from + 1)).collect();
    match places {
        [_] => Some(0),
        _ => odd_one(&grounds).or_else(|| only_one(&grounds, |ground| *ground != form_ground(page, row))),
    }
}

/// The background of the form itself: that of the cell behind its border in this row.
fn form_ground(page: &Page, row: usize) -> u64 {
    let border = page.text(row).chars().position(is_side);
    page.ground_at(row, border.map_or(0, |border| border + 1))
}

/// The rows of a list inside the form.
fn choices_within(page: &Page, first: usize, end: usize) -> Option<Vec<Choice>> {
    /// What a scroll bar draws at the right of a list.
    static BAR: Pattern = pattern!(r"\s{2,}[\^v▲▼↑↓█▒░▮]$");
    let is_gap = |row: usize| page.is_blank(row) || is_rule(page.inner(row));
    let text_from = (first..end).find(|&row| !is_gap(row))?;
    // The last rows before the buttons that stand together, with something above them.
    let last = (text_from..end).rev().find(|&row| !is_gap(row))?;
    let above = (text_from..last).rev().find(|&row| is_gap(row))?;
    let rows: Vec<usize> = (above + 1..=last).collect();
    let aligned = rows.iter().all(|&row| indent(page.inner(row)) == indent(page.inner(last)));
    let boxes = rows.iter().all(|&row| page.inner(row).trim().starts_with(['[', '(']));
    let grounds: Vec<u64> = rows.iter().map(|&row| page.style_at(row, label_column(page, row))).collect();
    let on_cursor = rows.iter().position(|&row| row == page.cursor.row);
    let is_lit = |row: &usize| page.ground_at(*row, label_column(page, *row)) != form_ground(page, *row);
    let highlighted = on_cursor.or_else(|| odd_one(&grounds)).or_else(|| only_one(&rows, is_lit));
    if rows.is_empty()
        || !aligned
        || highlighted.is_none() && !boxes
        || rows.iter().any(|&row| FIELD.is_match(page.text(row)))
    {
        return None;
    }
    let without_bar = |row: &usize| {
        let text = page.inner(*row).trim();
        BAR.find(text).map_or(text, |bar| &text[..bar.start()])
    };
    let texts: Vec<&str> = rows.iter().map(without_bar).collect();
    let tag = tag_width(&texts);
    let choice = |(index, text): (usize, &&str)| {
        let is_to_tick = TICK.captures(text).is_some_and(|tick| &tick[1] == " ");
        let then = if is_to_tick { TICK_AND_ENTER } else { ENTER };
        let label: String = text.chars().skip(tag).collect();
        labels::choice(label.trim(), steps(highlighted, index, DOWNWARDS, then))
    };
    Some(texts.iter().enumerate().map(choice).collect())
}

/// How wide the column of tags before the labels is, box included: the words behind it begin in one column.
fn tag_width(texts: &[&str]) -> usize {
    static TAG: Pattern = pattern!(r"^((?:[\[(][ *xX][\])]\s*)?)(\S+\s+)?\S");
    let widths = |text: &&str| {
        let captures = TAG.captures(text)?;
        let box_width = captures.get(1)?.as_str().chars().count();
        let tag = captures.get(2).map(|tag| tag.as_str().chars().count());
        Some((box_width, tag.map(|tag| box_width + tag)))
    };
    let found: Vec<(usize, Option<usize>)> = texts.iter().filter_map(widths).collect();
    let Some(&(box_width, tag)) = found.first() else { return 0 };
    let agree = tag.is_some() && found.iter().all(|(_, other)| *other == tag);
    tag.filter(|_| agree).unwrap_or(box_width)
}

/// Where the last word of the row stands: its colour tells whether the row is highlighted.
fn label_column(page: &Page, row: usize) -> usize {
    let is_frame = |char: char| is_side(char) || char.is_whitespace();
    let text = page.text(row).trim_end_matches(is_frame);
    text.chars().count().saturating_sub(1)
}

pub(super) fn styled(look: &Look<'_>) -> Option<Reading> {
    match Styled::find(look) {
        Some(found) => Some(found.reading(&DialogRules::default())),
        None => bracketed(look),
    }
}

/// A row of `[ New ]  [ Quit ]` with the cursor in it, on a full screen.
fn bracketed(look: &Look<'_>) -> Option<Reading> {
    static ONLY_BRACKETS: Pattern = pattern!(r"^(?:\[\s*\w[\w ]*\]\s*){2,}$");
    static BRACKETS: Pattern = pattern!(r"\[\s*(\w(?:[\w ]*\w)?)\s*\]");
    let page = look.page;
    let row = page.cursor.row;
    let text = page.text(row);
    if look.kernel.canonical || !page.alternate || !ONLY_BRACKETS.is_match(text.trim()) {
        return None;
    }
    let found: Vec<Match<'_>> = BRACKETS.captures_iter(text).filter_map(|found| found.get(1)).collect();
    let labels: Vec<&str> = found.iter().map(Match::as_str).collect();
    let columns = found.iter().map(|found| text[..found.start()].chars().count());
    let grounds: Vec<u64> = columns.map(|column| page.ground_at(row, column)).collect();
    let focused = odd_one(&grounds)?;
    let title = first_paragraph(page, 0, row);
    let choices = stepped(&labels, Some(focused), SIDEWAYS);
    Some(Reading::rows(Kind::MultipleChoice, 80, &title, &title, page.block(0, row), choices))
}

/// Buttons side by side, told apart by colour, with a hint that Enter confirms.
pub(super) struct Styled<'a> {
    /// It begins with its question.
    pub(super) frame: Frame<'a>,
    labels: Vec<String>,
    focused: usize,
}

impl<'a> Styled<'a> {
    pub(super) fn find(look: &Look<'a>) -> Option<Self> {
        static CONFIRM: Pattern = pattern!(r"(?i)\benter\s+(confirm|select|submit)\b");
        let page = look.page;
        let last = page.last_row().filter(|_| !look.kernel.canonical)?;
        let row = (last.saturating_sub(6)..=last).rev().find(|&row| CONFIRM.is_match(page.text(row)))?;
        let (columns, labels): (Vec<usize>, Vec<String>) = segments_of(page.text(row)).into_iter().unzip();
        let grounds: Vec<u64> = columns.iter().map(|column| page.ground_at(row, *column)).collect();
        let focused = odd_one(&grounds)?;
        let above = (0..row).rev().find(|&above| !page.text(above).contains(is_side));
        let top = above.map_or(0, |above| above + 1);
        Some(Self { frame: Frame { page, top, asks: top, first: row }, labels, focused })
    }

    pub(super) fn reading(&self, rules: &DialogRules) -> Reading {
        let Frame { page, top, first, .. } = self.frame;
        let detail = page.block(top, first.saturating_sub(1));
        let question = first_paragraph(page, top, first);
        let labels: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        let mut choices = stepped(&labels, Some(self.focused), SIDEWAYS);
        choices.iter_mut().for_each(|choice| choice.effect = rules.effect(&choice.label));
        let excerpt = question.trim_start_matches(['△', '▲', '!']).trim_start();
        let mut reading =
            Reading::rows(rules.kind(&labels), 85, excerpt, &detail.clone(), detail, choices).by(rules);
        if !reading.asks_for_consent() {
            return reading;
        }
        // The lines below the first paragraph: what consent is asked for.
        let lines = (top..first).map(|row| page.words(row, row + 1));
        let below = lines.skip_while(String::is_empty).skip_while(|line| !line.is_empty());
        let matter: Vec<String> = below.filter(|line| !line.is_empty() && !is_rule(line)).collect();
        reading.is_bare = matter.is_empty();
        if !matter.is_empty() {
            reading.excerpt = format!("{excerpt} · {}", matter.join(" · "));
        }
        let is_full = rules.window.is_some_and(|window| matter.len() >= usize::from(window));
        reading.told_as(Cut::of_lines(self.frame).or(is_full.then_some(Cut::Full)), rules)
    }
}

/// Words separated by two blanks or more, up to the wide gap before the hints.
fn segments_of(text: &str) -> Vec<(usize, String)> {
    static SEGMENT: Pattern = pattern!(r"[^ ]+(?: [^ ]+)*");
    let text = text.replace(is_side, " ");
    let mut segments = Vec::new();
    let mut end = None;
    for found in SEGMENT.find_iter(&text) {
        if end.is_some_and(|end| found.start() - end > 6) {
            break;
        }
        end = Some(found.end());
        segments.push((text[..found.start()].chars().count(), found.as_str().to_owned()));
    }
    segments
}

/// A question above a bar of shortcuts: ` Y Yes   N No   ^C Cancel`.
pub(super) fn shortcut_bar(look: &Look<'_>) -> Option<Reading> {
    static SHORTCUT: Pattern = pattern!(r"(?:^|\s)(\^[A-Z]|M-[A-Z]|[A-Z])\s([A-Z][A-Za-z]+)");
    let page = look.page;
    let rows = page.lines.len();
    let first = look.line.last + 1;
    if look.kernel.canonical || first >= rows || rows - first > 3 || look.line.before.is_empty() {
        return None;
    }
    let shortcuts = (first..rows).flat_map(|row| SHORTCUT.captures_iter(page.text(row)));
    let bar: Vec<(&str, &str)> = shortcuts.map(|found| found.extract().1.into()).collect();
    let question = look.line.whole();
    let has = |key: &str| bar.iter().any(|(shortcut, _)| *shortcut == key);
    if !has("^C") {
        return None;
    }
    if has("Y") && has("N") {
        let choices = bar.iter().filter_map(|(key, label)| shortcut_choice(key, label)).collect();
        return Some(Reading::line(look, Kind::YesNo, 90, &question).with_choices(choices));
    }
    let prefilled = question.split_once(':').is_some_and(|(_, value)| !value.trim().is_empty());
    let kind = if prefilled { Kind::ConfirmEnter } else { Kind::FreeText };
    Some(Reading::line(look, kind, 85, &question))
}

fn shortcut_choice(key: &str, label: &str) -> Option<Choice> {
    let bytes = match key.as_bytes() {
        [b'^', letter] => vec![letter & 0x1f],
        [letter] => vec![letter.to_ascii_lowercase()],
        _ => return None,
    };
    Some(labels::choice(label, Strokes::once(bytes)))
}
