//! A row of keys that are named with what they do, below a question: `[y] Approve   [n] Deny`.
//!
//! Such a key acts at once and without Enter. The row stands for itself: nothing else may stand in it, and of its answers
//! one must accept and one refuse, so that a row of ticked boxes or a list of footnotes is none.

use atlasbridge_model::{Choice, Effect, Kind, Strokes};

use super::frame::Frame;
use super::labels::{self, Pattern, pattern};
use super::{Look, Reading, composer};
use crate::page::Page;

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
    let keys: Vec<(String, String)> = (first..=lowest).flat_map(|row| keys_of(page, row)).collect();
    let is_twice = |at: usize| keys[..at].iter().any(|(key, _)| *key == keys[at].0);
    let choices: Vec<Choice> = keys.iter().map(|(key, label)| choice(key, label)).collect();
    let has = |effect: Effect| choices.iter().any(|choice| choice.effect == effect);
    if (0..keys.len()).any(is_twice) || !has(Effect::Accepts) || !has(Effect::Refuses) {
        return None;
    }
    let frame = Frame::above(page, first).filter(|frame| page.inner(frame.asks).contains('?'))?;
    let kind = if choices.len() == 2 { Kind::YesNo } else { Kind::MultipleChoice };
    let detail = page.block(frame.top, lowest);
    Some(Reading::rows(kind, 85, &frame.with_matter(), &frame.subject(), detail, choices))
}

fn keys_of(page: &Page, row: usize) -> Vec<(String, String)> {
    KEY.captures_iter(page.inner(row))
        .filter_map(|captures| {
            let key = captures.get(1)?.as_str().to_ascii_lowercase();
            Some((key, captures.get(2)?.as_str().to_owned()))
        })
        .collect()
}

fn choice(key: &str, label: &str) -> Choice {
    let strokes = match key {
        "esc" => Strokes::once(*b"\x1b"),
        "enter" => Strokes::enter(),
        key => Strokes::once(key),
    };
    labels::choice(label, strokes)
}
