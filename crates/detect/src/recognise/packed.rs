//! Dialogs that the tool's pack knows: found by shape and words, read and answered as the pack says.

use std::cell::LazyCell;

use atlasbridge_model::{Choice, Kind};

use super::arrows::Menu;
use super::buttons::Styled;
use super::dialog::{Dialog as Numbered, ROW};
use super::frame::Frame;
use super::{DialogRules, Look, Pattern, Reading, Rows, composer, labels, letters, line};
use crate::page::{Page, is_rule};

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let pack = look.pack()?;
    let usual = LazyCell::new(|| Numbered::find(look, &ROW));
    pack.dialogs.iter().find_map(|dialog| match dialog.rows {
        Rows::Numbered => numbered(look, dialog, usual.as_ref()),
        Rows::Marked => marked(look, dialog),
        Rows::Buttons => buttons(look, dialog),
        Rows::Letters => lettered(look, dialog),
        Rows::Keys => keyed(look, dialog),
        Rows::Nothing => bare(look, dialog),
    })
}

fn numbered(look: &Look<'_>, dialog: &DialogRules, usual: Option<&Numbered<'_>>) -> Option<Reading> {
    let own = dialog.row.as_ref().map(|row| Numbered::find(look, row));
    let found = own.as_ref().map_or(usual, Option::as_ref)?;
    let is_it = dialog.fits(&found.frame.words(), &look.page.words_below(found.last));
    is_it.then(|| found.reading(found.frame.told_by(dialog), dialog))?
}

fn marked(look: &Look<'_>, dialog: &DialogRules) -> Option<Reading> {
    Menu::open(look, dialog.row.as_deref()).find_map(|menu| {
        let frame = menu.frame()?;
        let is_it = dialog.fits(&frame.words(), &look.page.words_below(menu.last()));
        is_it.then(|| menu.reading_of(frame, dialog))
    })?
}

fn buttons(look: &Look<'_>, dialog: &DialogRules) -> Option<Reading> {
    let found = Styled::find(look)?;
    dialog.anchor.is_match(&found.frame.words()).then(|| found.reading(dialog))
}

fn lettered(look: &Look<'_>, dialog: &DialogRules) -> Option<Reading> {
    let question = line::question(look).filter(|question| dialog.anchor.is_match(question))?;
    letters::lettered(look, question, dialog)
}

/// The answers stand in the last paragraph of the screen, each with its key.
fn keyed(look: &Look<'_>, dialog: &DialogRules) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row()?;
    let is_text = |row: &usize| !page.is_blank(*row);
    let footer = (0..=last).rev().take_while(is_text).last()?;
    let top = (0..footer).rev().find(|&row| is_rule(page.text(row)))? + 1;
    let is_typed_below = composer::find(page).is_some_and(|found| found.row >= top);
    if is_typed_below || !dialog.fits(&page.words(top, footer), &page.words(footer, last + 1)) {
        return None;
    }
    let choices = keyed_choices(page, footer, last, dialog)?;
    let frame = Frame { page, top, asks: (top..footer).find(is_text)?, first: footer };
    let kind = dialog.kind.unwrap_or(Kind::MultipleChoice);
    let detail = page.block(top, last);
    Some(Reading::rows(kind, 90, &frame.question(), &frame.subject(), detail, choices).by(dialog))
}

/// `None`: a key or a word is not understood, so what the others do is not known.
fn keyed_choices(page: &Page, first: usize, last: usize, dialog: &DialogRules) -> Option<Vec<Choice>> {
    static KEYED: Pattern = pattern!(r"(?i)^(enter|return|esc|escape|tab|shift\+tab) to (.+)$");
    let mut choices = Vec::new();
    for part in page.words(first, last + 1).split(" · ") {
        let captures = KEYED.captures(part.trim())?;
        let (key, label) = (&captures[1], captures[2].trim());
        if !dialog.is_left_out(label) {
            let strokes = Some(labels::named_key(key));
            choices.push(Choice { label: label.to_owned(), strokes, effect: dialog.effect(label) });
        }
    }
    (choices.len() > 1).then_some(choices)
}

/// Rows at the end of the screen in which a dialog without rows is looked for.
const NEAR: usize = 4;

/// Nothing to choose: the last words of the screen ask for Enter, or for a text.
fn bare(look: &Look<'_>, dialog: &DialogRules) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row()?;
    let mut rows = (last.saturating_sub(NEAR)..=last).rev();
    let row = rows.find(|&row| dialog.anchor.is_match(page.inner(row).trim()))?;
    let text = page.inner(row).trim();
    let below: Vec<&str> = (row + 1..=last).map(|row| page.inner(row).trim()).collect();
    if composer::find(page).is_some() || !dialog.fits(text, &below.join(" ")) {
        return None;
    }
    let kind = dialog.kind.unwrap_or(Kind::ConfirmEnter);
    let detail = page.block(row.saturating_sub(8), last);
    Some(Reading::block(kind, 90, text, detail, text.to_owned()).by(dialog))
}
