//! The input box of an agent: empty, and nothing going on, means that the agent has finished.

use atlasbridge_model::{Kind, MAX_INSTRUCTION};
use regex::Regex;

use super::{Look, Pattern, Place, Reading, labels, line};
use crate::page::{Page, TextRun, ground_of, is_rule, is_side};
use crate::status::Claim;

/// Words that stand on the screen only while the agent works.
static BUSY: Pattern = pattern!(
    r"(?i)\b(?:esc|ctrl[+-]c|escape) (?:to )?(?:interrupt|stop)\b|\(esc to cancel|\besc again to (?:interrupt|stop)"
);
/// Rows below the box that may stand there: hints, model and directory.
const BELOW: usize = 8;

/// Whether the lower part of the screen says that the agent works.
pub(crate) fn is_busy(look: &Look<'_>) -> bool {
    let last = look.page.last_row().unwrap_or(0);
    let marks = look.pack().map_or(&[][..], |pack| &pack.busy);
    (last.saturating_sub(14)..=last).any(|row| {
        let text = look.page.text(row);
        BUSY.is_match(text) || marks.iter().any(|mark| mark.is_match(text))
    })
}

/// The box: its row, and the marker before the text.
pub(super) struct Box {
    pub(super) row: usize,
    pub(super) top: usize,
    pub(super) bottom: usize,
}

/// Finds the input box near the bottom of the screen.
pub(super) fn find(page: &Page) -> Option<Box> {
    let last = page.last_row()?;
    (last.saturating_sub(BELOW)..=last).rev().find_map(|row| box_at(page, row, last)).or_else(|| barred(page))
}

/// There is something to type into below this row.
pub(super) fn stands_below(page: &Page, row: usize) -> bool {
    find(page).is_some_and(|found| found.row > row)
}

/// A box with a bar at its left and a foot: text, a gap, and last the agent's own line.
fn barred(page: &Page) -> Option<Box> {
    let foot = (0..=page.last_row()?).rev().find(|&row| page.text(row).trim_start().starts_with("╹▀"))?;
    let has_bar = |row: &usize| page.text(*row).trim_start().starts_with('┃');
    let top = (0..foot).rev().take_while(has_bar).last()?;
    let mut written = (top..foot).filter(|&row| !page.is_blank(row));
    // The agent's own line is always there.
    written.next_back()?;
    Some(Box { row: written.next().unwrap_or(top), top, bottom: foot })
}

/// The first row of the input box, its frame included.
pub(crate) fn box_top(look: &Look<'_>) -> Option<usize> {
    find(look.page).or_else(|| written_in(look)).map(|found| found.top)
}

fn box_at(page: &Page, row: usize, last: usize) -> Option<Box> {
    let text = page.inner(row).trim_start();
    let marker = text
        .chars()
        .next()
        // Claude Code's box for a shell command begins with `!`.
        .filter(|char| matches!(char, '❯' | '›' | '>' | '!'))?;
    let content = text[marker.len_utf8()..].trim();
    // A highlighted choice is no input box: `❯ 1. Yes`.
    if labels::is_numbered(content) {
        return None;
    }
    let framed_above = row > 0 && is_rule(page.text(row - 1));
    // A draft of several lines grows downwards.
    let bottom = (row + 1..=last).find(|&below| is_rule(page.text(below)));
    let is_box = match (marker, framed_above, bottom) {
        ('!', _, bottom) => framed_above && bottom.is_some(),
        (_, true, Some(_)) => true,
        // Under a rule, with nothing below: a line editor's prompt, such as aider's.
        (_, true, None) => page.cursor.row == row && row == last,
        // Without a frame the cursor must stand in it, behind what was written, and hints must follow.
        ('›', false, None) => holds_cursor(page, row) && row + 2 <= last,
        _ => false,
    };
    is_box.then(|| Box { row, top: if framed_above { row - 1 } else { row }, bottom: bottom.unwrap_or(last) })
}

/// The cursor stands in this row, or at the end of a draft that begins here and goes on in the rows below.
fn holds_cursor(page: &Page, row: usize) -> bool {
    let cursor = page.cursor.row;
    row <= cursor && (row + 1..=cursor).all(|below| page.text(below).starts_with("  "))
}

/// The text of a row without the frame and the marker of an input box.
pub(crate) fn without_marker(text: &str) -> &str {
    let is_frame = |char: char| is_side(char) || char.is_whitespace();
    let text = text.trim_start_matches(is_frame);
    text.strip_prefix(['❯', '›', '>']).unwrap_or(text)
}

pub(super) fn idle(look: &Look<'_>) -> Option<Reading> {
    if matches!(look.claim, Some(Claim::Working | Claim::Blocked)) || is_busy(look) {
        return None;
    }
    let idle = look.pack().and_then(|pack| pack.idle.as_ref());
    let line = idle.and_then(|idle| idle.line.as_deref());
    if let Some(question) = line::question(look)
        && line.is_some_and(|line| line.is_match(question))
    {
        return Some(Reading::line(look, Kind::Idle, 85, question));
    }
    let invitation = idle.and_then(|idle| idle.invitation.as_deref());
    let found = find(look.page).or_else(|| written_in(look)).or_else(|| titled(look.page, invitation))?;
    let detail = look.page.block(found.top.saturating_sub(12), found.bottom);
    // An empty box is told by the next line in it.
    let mut lines = (found.row..=found.bottom).map(|row| look.page.inner(row).trim());
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let mut reading = Reading::block(Kind::Idle, 75, line, detail, "input box".to_owned());
    reading.constraints.max_length = MAX_INSTRUCTION;
    reading.place = Place::Composer { drafted: is_drafted(look.page, found.row, invitation) };
    Some(reading)
}

/// A person has begun to write: text before the cursor, or, where the cursor is elsewhere, text behind the marker
/// that is neither dim nor coloured as an invitation is.
fn is_drafted(page: &Page, row: usize, invitation: Option<&Regex>) -> bool {
    static INVITES: Pattern = pattern!(r#"^(?:[>❯›]?\s*|●\s*▋)(Type your message|Ask \w+|Try ")"#);
    const DIM: u64 = 0x80;
    let Some(line) = page.lines.get(row) else { return false };
    // Only a person writes before the cursor, and what is written may begin as an invitation does.
    if page.cursor.row == row && page.cursor.visible && is_written_before(page, row) {
        return true;
    }
    let inner = page.inner(row).trim_start();
    if INVITES.is_match(inner) || invitation.is_some_and(|invites| invites.is_match(inner)) {
        return false;
    }
    if page.cursor.row == row {
        return is_written_before(page, row);
    }
    let marker = behind_marker(&line.text);
    let chars: Vec<char> = line.text.chars().collect();
    let has_text = |run: &&TextRun| {
        let (from, to) = (run.start.max(marker), run.end.min(chars.len()));
        from < to && chars[from..to].iter().any(|char| char.is_alphanumeric())
    };
    let is_dim = |run: &TextRun| run.style & DIM != 0 || run.style >> 12 & 0x3ff_ffff != 0;
    // A drawn cursor reverses the first letter of an invitation.
    line.runs
        .iter()
        .filter(has_text)
        .any(|run| !(is_dim(run) || ground_of(run.style) != 0 && run.end - run.start == 1))
}

/// Where the text of a box begins.
fn behind_marker(text: &str) -> usize {
    text.chars().position(|char| matches!(char, '❯' | '›' | '>' | '┃' | '!')).map_or(0, |at| at + 1)
}

/// Text stands between the marker and the cursor, which is in this row.
fn is_written_before(page: &Page, row: usize) -> bool {
    let text = page.text(row);
    let typed = text.chars().take(page.cursor.column).skip(behind_marker(text));
    typed.into_iter().any(|char| !char.is_whitespace())
}

/// An input box without a frame that a person writes in, known by what its pack says of it and of the rows below.
fn written_in(look: &Look<'_>) -> Option<Box> {
    let page = look.page;
    let known = look.pack()?.idle.as_ref()?.filled_box.as_deref()?;
    let last = page.last_row()?;
    let row = (last.saturating_sub(BELOW)..=last)
        .rev()
        .find(|&row| known.is_match(&page.words(row, last + 1)))
        .filter(|&row| {
            !labels::is_numbered(page.inner(row).trim_start().trim_start_matches(['›', '❯', '>']).trim())
        })?;
    Some(Box { row, top: row, bottom: last })
}

/// An input box known by its invitation alone.
fn titled(page: &Page, invitation: Option<&Regex>) -> Option<Box> {
    // A dot begins what agents say, too: only a cursor behind it, drawn as a letter, makes a box of it.
    static INVITATION: Pattern =
        pattern!(r#"(?i)^(?:[>❯›]?\s*|●\s*▋)(Type your message|Ask anything\b|Ask \w+ to do anything)"#);
    let last = page.last_row()?;
    let row = (0..=last).rev().find(|&row| {
        let text = page.inner(row).trim_start();
        INVITATION.is_match(text) || invitation.is_some_and(|invites| invites.is_match(text))
    })?;
    Some(Box { row, top: row, bottom: last })
}
