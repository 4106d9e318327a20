//! "Press Enter to continue": any key, or Enter, and nothing to decide.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Reading, line};
use crate::witness::Waits;

static PRESS: Pattern = pattern!(
    r"(?i)\b(?:press|hit|strike|push|tap|touch)\s+(?:the\s+)?[<\[(]?(?:enter|return|any\s+key|a\s+key|space(?:\s*bar)?|⏎|↵)\b"
);
static KEY_FIRST: Pattern = pattern!(r"(?i)^\W*\[?(?:enter|return|any key)\]?\s+(?:to|=)\s+continue\W*$");

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    if let Some(asked) = line::asked_above(look).filter(|asked| is_press(asked)) {
        return Some(Reading::line(look, Kind::ConfirmEnter, 90, asked));
    }
    if let Some(question) = line::question(look) {
        return is_press(question).then(|| Reading::line(look, Kind::ConfirmEnter, 90, question));
    }
    // `echo "Press Enter"; read`: the cursor waits on the empty line below.
    if !look.line.before.is_empty() || !look.line.after.is_empty() {
        return None;
    }
    let row = (0..look.line.first).rev().find(|&row| !look.page.inner(row).trim().is_empty())?;
    let near = look.line.first - row;
    let nearest = if look.kernel.wait == Waits::Read { 2 } else { 3 };
    let text = look.page.inner(row).trim();
    if near > nearest || look.page.last_row() != Some(row) || !is_press(text) || text.len() > 120 {
        return None;
    }
    let detail = look.page.block(row.saturating_sub(8), row);
    let reading = Reading::block(Kind::ConfirmEnter, 85, text, detail, text.to_owned());
    Some(Reading { entry: look.entry(), ..reading })
}

fn is_press(text: &str) -> bool {
    PRESS.is_match(text) || KEY_FIRST.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_ask_for_a_key() {
        for text in [
            "Press Enter to continue…",
            "[Press Enter]",
            "Hit enter",
            "Press any key to continue...",
            "Press ENTER or type command to continue",
            "Press <RETURN>",
            "(press RETURN)",
        ] {
            assert!(is_press(text), "{text}");
        }
        for text in ["press h + enter to show help", "Press ^C at any time to quit.", "suppress entering"] {
            assert!(!is_press(text), "{text}");
        }
    }
}
