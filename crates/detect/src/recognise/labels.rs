//! What the words of a choice mean, and how a row's decoration comes off.

use std::sync::LazyLock;

use atlasbridge_model::{Choice, Effect, Strokes};
use regex::Regex;

use crate::packs::words;

/// Compiles once; a pattern that would not compile matches nothing (a test proves that all of them do).
pub(crate) struct Pattern {
    source: &'static str,
    regex: LazyLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) fn regex(&self) -> Option<&Regex> {
        debug_assert!(self.regex.is_some(), "pattern does not compile: {}", self.source);
        self.regex.as_ref()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<regex::Captures<'t>> {
        self.regex()?.captures(text)
    }
}

/// A static [`Pattern`].
macro_rules! pattern {
    ($source:expr) => {
        crate::recognise::labels::Pattern::new(
            $source,
            std::sync::LazyLock::new(|| regex::Regex::new($source).ok()),
        )
    };
}
pub(crate) use pattern;

impl Pattern {
    pub(crate) const fn new(source: &'static str, regex: LazyLock<Option<Regex>>) -> Self {
        Self { source, regex }
    }
}

/// What choosing this label does.
pub(crate) fn effect(label: &str) -> Effect {
    if words().refuses.is_match(label) {
        Effect::Refuses
    } else if words().accepts.is_match(label) {
        Effect::Accepts
    } else {
        Effect::Other
    }
}

pub(crate) fn choice(label: &str, strokes: Strokes) -> Choice {
    Choice {
        label: label.to_owned(),
        strokes: Some(strokes),
        effect: effect(label),
    }
}

static HINTS: Pattern = pattern!(
    r"(?i)\s*(\((?:[a-z0-9]|esc|enter|return|tab|default|current|esc to [a-z]+)\)|\*default\*|\[default\])$"
);

/// The label without the hint of its key, `(y)`, `(esc)`, and without `(default)`.
pub(crate) fn without_hint(label: &str) -> &str {
    let label = label.trim();
    match HINTS.captures(label).and_then(|captures| captures.get(0)) {
        Some(hint) if hint.start() > 0 => label[..hint.start()].trim_end(),
        _ => label,
    }
}

/// The key that a row names: `Yes, proceed (y)`, `No (esc)`, `No (Esc to stop)`.
pub(crate) fn hinted_key(label: &str) -> Option<String> {
    static KEY: Pattern = pattern!(r"(?i)\s\(([a-z]|esc)(?: to [a-z]+)?\)$");
    let captures = KEY.captures(label.trim())?;
    let key = captures.get(1)?.as_str().to_ascii_lowercase();
    Some(if key == "esc" { "\x1b".to_owned() } else { key })
}

/// A plain yes or no, short enough to say nothing more: "Yes, and don't ask again" is neither.
pub(crate) fn is_plain(label: &str) -> bool {
    static MORE: Pattern = pattern!(r"(?i)^\W*(yes|no)\W+(and|but|for|always|don)\b");
    label.split_whitespace().count() <= 6 && !MORE.is_match(label)
}

/// Whether two labels are a plain yes and a plain no, in either order.
pub(crate) fn is_yes_no_pair(labels: &[&str]) -> bool {
    static YES: Pattern = pattern!(r"(?i)^\W*(yes|y|yep|yeah)\b");
    static NO: Pattern = pattern!(r"(?i)^\W*(no|n|not|nope|nah)\b");
    let [first, second] = labels else { return false };
    let paired = YES.is_match(first) && NO.is_match(second) || NO.is_match(first) && YES.is_match(second);
    paired && is_plain(first) && is_plain(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_effects() {
        for (label, expected) in [
            ("Yes", Effect::Accepts),
            ("Yes, and don't ask again", Effect::Accepts),
            ("No, suggest changes", Effect::Refuses),
            ("Don't trust", Effect::Refuses),
            ("Don’t ask", Effect::Refuses),
            ("Trust and continue", Effect::Accepts),
            ("Allow once", Effect::Accepts),
            ("Reject", Effect::Refuses),
            ("<Cancel>", Effect::Refuses),
            ("SQLite", Effect::Other),
            ("Notes", Effect::Other),
        ] {
            assert_eq!(effect(label), expected, "{label}");
        }
    }

    #[test]
    fn hints_come_off() {
        for (label, expected) in [
            ("Yes, proceed (y)", "Yes, proceed"),
            ("No, suggest changes (esc)", "No, suggest changes"),
            ("No, and say why (Esc to stop)", "No, and say why"),
            ("RSA and RSA (default)", "RSA and RSA"),
            ("ECC (sign and encrypt) *default*", "ECC (sign and encrypt)"),
            ("SQLite (Recommended)", "SQLite (Recommended)"),
        ] {
            assert_eq!(without_hint(label), expected);
        }
    }

    #[test]
    fn a_pair_says_yes_and_no_and_nothing_more() {
        for (labels, expected) in [
            (["Yes", "No"], true),
            (["No, exit", "Yes, I trust this folder"], true),
            (["Yes, try it", "Not now"], true),
            (["Yes, and switch to default", "No"], false),
            (["Trust and continue", "Quit"], false),
        ] {
            assert_eq!(is_yes_no_pair(&labels), expected, "{labels:?}");
        }
    }
}
