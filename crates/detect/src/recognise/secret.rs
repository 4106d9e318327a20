//! Passwords: a line read with echo off, or a line that asks for a secret.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Reading, last_words, line};
use crate::packs::words;
use crate::witness::Waits;

/// `? Deploy key [input is masked]`, `Code (hidden):`.
static SAYS_HIDDEN: Pattern = pattern!(
    r"(?i)[\[(](?:input (?:is|will be) (?:masked|hidden|invisible)|hidden|masked|(?:typing|input) (?:will )?not (?:be )?(?:shown|echoed|visible))[\])]\s*[:?>]*$"
);

/// The kernel reads a line and hides it: nothing else is read so, and the text need not say it.
pub(super) fn hidden_line(look: &Look<'_>) -> Option<Reading> {
    if !look.kernel.hides_a_line() {
        return None;
    }
    let question = match line::question(look) {
        Some(question) => question.to_owned(),
        None if look.kernel.wait == Waits::Read => last_words(look),
        None => return None,
    };
    let says_so = words().secrets.is_match(&question);
    let base = match look.kernel.wait {
        Waits::Read => 95,
        Waits::Poll | Waits::Nobody | Waits::Unknown if says_so => 90,
        Waits::Poll | Waits::Nobody | Waits::Unknown => 70,
    };
    Some(Reading::line(look, Kind::Password, base, &question))
}

/// A raw program hides what is typed itself; only the text tells.
pub(super) fn by_text(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look).or_else(|| question_above(look))?;
    let asked = question.ends_with([':', '：', '?', '>', '›', '‣', '»']) || question.starts_with("? ");
    let words_of = question.trim_end_matches(['‣', '»', '…', ' ']);
    let is_secret = words().secrets.is_match(words_of) || SAYS_HIDDEN.is_match(words_of);
    if !asked || !is_secret || look.kernel.canonical && look.kernel.echo {
        return None;
    }
    Some(Reading::line(look, Kind::Password, 85, question))
}

/// Some editors park the cursor at the start of the line while a secret is asked.
fn question_above<'a>(look: &'a Look<'_>) -> Option<&'a str> {
    let parked = look.line.before.is_empty() && look.line.after.starts_with("? ");
    parked.then_some(look.line.after.as_str())
}
