//! Where a dialog shows less than the whole: said in so many words, because no person should approve what they did not see without
//! knowing that.

use super::Pattern;
use super::frame::Frame;
use crate::page::Page;

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The dialog itself says that it leaves lines out, or its upper end has left the screen.
    Lines,
    /// Its box is full: there may be more.
    Full,
    /// It shows nothing of what it asks about.
    Everything,
    /// Its list scrolls: there are more answers than these.
    Answers,
}

/// `… +12 lines`, `... first 5 lines hidden ...`, `(12 more lines)`, `ctrl+r to expand`, `Bash(cat <<EOF...)`.
static LEFT_OUT: Pattern = pattern!(
    r"(?i)(?:…|\.\.\.)\s*\(?\+?\s?\d+ (?:more )?(?:lines?|rows?|characters?)\b|\b\d+ (?:more )?(?:lines?|rows?) (?:hidden|omitted|truncated|not shown)\b|\(\+?\d+ more (?:lines?|rows?)\)|\bctrl[+-][a-z] to (?:expand|show (?:more|all|the rest))\b|\w\(.*(?:…|\.\.\.)\)$"
);
/// A row that only says that a list goes on: `▼`, `↓ 3 more`.
static SCROLLS: Pattern =
    pattern!(r"(?i)^(?:[▲▼△▽↑↓⌃⌄⬆⬇](?:\s*\(?\d+ more\b.*)?|\d+ more (?:below|above)\b.*)$");

impl Cut {
    /// The lines above the rows of a dialog say, or show, that they are not all.
    pub(super) fn of_lines(Frame { page, top, first, .. }: Frame<'_>) -> Option<Self> {
        let says = (top..first).any(|row| LEFT_OUT.is_match(page.inner(row)));
        (says || has_scrolled(page, top)).then_some(Cut::Lines)
    }

    /// The list that begins and ends in these rows has more rows than are shown.
    pub(super) fn of_answers(page: &Page, first: usize, last: usize) -> Option<Self> {
        let scrolls = |row: usize| SCROLLS.is_match(page.inner(row).trim());
        let above = first.checked_sub(1).is_some_and(scrolls);
        (above || scrolls(last + 1)).then_some(Cut::Answers)
    }

    /// In an excerpt, and in a detail.
    pub(crate) fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Cut::Lines => ("not all of it is shown", "Not all of this is shown: the dialog is cut"),
            Cut::Full => (
                "perhaps not all of it is shown",
                "Perhaps not all of this is shown: the box of the dialog is full",
            ),
            Cut::Everything => (
                "it does not show what",
                "The dialog does not show what it asks about; this is what stands above it",
            ),
            Cut::Answers => (
                "more answers at the terminal",
                "These are not all answers: the list scrolls, and the others are seen at the terminal only",
            ),
        }
    }
}

/// The dialog begins in the first row of a screen that is full to its end: what stood above has scrolled away.
fn has_scrolled(page: &Page, top: usize) -> bool {
    let is_full = page.last_row().is_some_and(|last| last + 2 >= page.lines.len());
    // Between the sides of a box a blank row is one of the dialog's, too.
    top == 0 && is_full && !page.text(0).trim().is_empty()
}
