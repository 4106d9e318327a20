//! Editors: a person must write and leave. What they want to be told is not guessed, only that they wait.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Reading};
use crate::page::Page;

/// What the operator reads.
const WAITING: &str = "waiting in an editor";
/// Rows of `~` below the text: vi and its kin.
const FEWEST_TILDES: usize = 3;
/// The last row of vi: its mode, or the file that was read, or where the cursor stands.
static VI_STATUS: Pattern = pattern!(
    r#"(?i)^-- (?:insert|replace|visual|normal|terminal).*--|^".*" ?(?:\[[^\]]*\]\s*)*(?:\d+L|\d+ lines?|\[New\])|\d+,\d+(?:-\d+)?\s+(?:All|Top|Bot|\d+%)\s*$"#
);
static NANO: Pattern = pattern!(r"^\s*(?:GNU nano|UW PICO|micro)\b");
static NANO_KEYS: Pattern = pattern!(r"\^G\s+Help|\^X\s+Exit|\^G Get Help");
/// The mode line of emacs.
static EMACS: Pattern = pattern!(r"^-[U\-:*%@A-Za-z0-9]{2,}-?\s+\S.*\s\(.*\)|^[-U]:[-*%@]{2,}-?\s");

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    if look.kernel.canonical || !(is_vi(look.page) || is_nano(look.page) || is_emacs(look.page)) {
        return None;
    }
    let page = look.page;
    let shown: Vec<&str> = page
        .lines
        .iter()
        .map(|line| line.text.trim_end())
        .filter(|text| !text.is_empty() && *text != "~")
        .collect();
    let mut reading = Reading::block(Kind::Idle, 75, WAITING, shown.join("\n"), WAITING.to_owned());
    // The text under the cursor is written all the time; it stays the same editor.
    reading.identity = WAITING.to_owned();
    Some(reading)
}

fn is_vi(page: &Page) -> bool {
    let last = page.lines.len().saturating_sub(1);
    let tildes = page.lines.iter().filter(|line| line.text == "~").count();
    let above_status = last > 0 && page.text(last - 1) == "~";
    let status = VI_STATUS.is_match(page.text(last));
    page.cursor.row < last && (tildes >= FEWEST_TILDES && above_status || page.alternate && status)
}

fn is_nano(page: &Page) -> bool {
    let last = page.lines.len().saturating_sub(1);
    NANO.is_match(page.text(0))
        && (last.saturating_sub(1)..=last).any(|row| NANO_KEYS.is_match(page.text(row)))
        && page.cursor.row + 3 <= last
}

fn is_emacs(page: &Page) -> bool {
    let last = page.lines.len().saturating_sub(1);
    page.alternate
        && page.cursor.row + 1 < last
        && (last.saturating_sub(2)..=last).any(|row| EMACS.is_match(page.text(row)))
}
