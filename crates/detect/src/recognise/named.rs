//! A row of keys that are named with what they do, below a question: `[y] Approve   [n] Deny`.
//!
//! Such a key acts at once and without Enter. The row stands for itself: nothing else may stand in it, and of its answers
//! one must accept and one refuse, so that a row of ticked boxes or a list of footnotes is none.

use atlasbridge_model::{Choice, Effect, Kind};

use super::frame::Frame;
use super::{Look, Pattern, Reading, composer, labels};

/// One or more keys with their words, and nothing else.
static ROW: Pattern = pattern!(
    r"^\s*(?:[\[(](?i:[a-z0-9]|esc|enter)[\])] +[^\s\[\](){}]+(?: [^\s\[\](){}]+){0,5}(?:\s{2,}|$))+\s*$"
);
static KEY: Pattern =
    pattern!(r"[\[(]((?i:[a-z0-9]|esc|enter))[\])] +([^\s\[\](){}]+(?: [^\s\[\](){}]+){0,5})(?:\s{2,}|$)");

/// Rows below the keys that may stand there: model, directory, hints.
const BELOW: usize = 6;

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let page = look.page;
    let last = page.last_row().filter(|_| !look.kernel.canonical)?;
    let lowest = (last.saturating_sub(BELOW)..=last).rev().find(|&row| ROW.is_match(page.inner(row)))?;
    let first = (0..=lowest).rev().take_while(|&row| ROW.is_match(page.inner(row))).last()?;
    if composer::stands_below(page, lowest) {
        return None;
    }
    let rows = (first..=lowest).flat_map(|row| KEY.captures_iter(page.inner(row)));
    let keys: Vec<[&str; 2]> = rows.map(|captures| captures.extract().1).collect();
    let names: Vec<String> = keys.iter().map(|[key, _]| key.to_ascii_lowercase()).collect();
    let choices = keys.iter().map(|[key, label]| labels::choice(label, labels::named_key(key)));
    let choices: Vec<Choice> = choices.collect();
    let has = |effect: Effect| choices.iter().any(|choice| choice.effect == effect);
    if labels::is_any_twice(&names) || !has(Effect::Accepts) || !has(Effect::Refuses) {
        return None;
    }
    let frame = Frame::above(page, first).filter(|frame| page.inner(frame.asks).contains('?'))?;
    let kind = if choices.len() == 2 { Kind::YesNo } else { Kind::MultipleChoice };
    let detail = page.block(frame.top, lowest);
    Some(Reading::rows(kind, 85, &frame.with_matter(), &frame.subject(), detail, choices))
}
