//! Pagers: more waits for the next page, less and man show their own prompt in the last row.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Reading};
use crate::witness::Waits;

static MORE: Pattern = pattern!(r"(?i)^(?:-- ?more ?--|\[more\]$)");
static LESS: Pattern = pattern!(
    r"(?i)^(:|\(END\)|.*\(END\)|lines \d+-\d+.*|Manual page .*|.*\(press h for help or q to quit\)|.*\(press RETURN\))$"
);

/// `--More--(6%)` at the cursor.
pub(super) fn more(look: &Look<'_>) -> Option<Reading> {
    let text = own_row(look);
    MORE.is_match(text).then(|| Reading::line(look, Kind::ConfirmEnter, 90, text))
}

/// The last row of a raw screen: a colon, a status line, or a file name in reverse video.
pub(super) fn less(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let last = page.lines.len().checked_sub(1)?;
    let text = own_row(look);
    let is_pager = !look.kernel.canonical
        && look.line.last == last
        && look.line.gap == 0
        && look.line.after.is_empty()
        && (LESS.is_match(text) || look.kernel.wait == Waits::Read && is_reversed(look));
    is_pager.then(|| Reading::line(look, Kind::Idle, 75, text))
}

/// The cursor's row up to the cursor. A text line that fills its row exactly seems to go on here, and does not.
fn own_row<'a>(look: &'a Look<'_>) -> &'a str {
    let cursor = look.page.cursor;
    let text = look.page.text(cursor.row);
    let end = text.char_indices().nth(cursor.column).map_or(text.len(), |(at, _)| at);
    text[..end].trim()
}

fn is_reversed(look: &Look<'_>) -> bool {
    let width = look.line.before.chars().count();
    width > 0
        && look.page.is_reversed_at(look.line.last, 0)
        && look.page.is_reversed_at(look.line.last, width - 1)
}
