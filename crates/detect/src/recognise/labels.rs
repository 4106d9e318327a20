//! What the words of a choice mean, and how a row's decoration comes off.

use atlasbridge_model::{Choice, Effect, Grant, Kind, Strokes};

use super::Pattern;
use crate::packs::words;

/// What choosing this label does.
pub(crate) fn effect(label: &str) -> Effect {
    // "Don't ask again" begins as a refusal does, and may be the widest of all answers.
    static STOPS_ASKING: Pattern = pattern!(
        r"(?i)^\W*(?:don['’]?t|do not|never|stop|skip|no longer|no more)\s+(?:\w+\s+)?(?:ask|prompt|confirm|check|permission|approv|question)"
    );
    if words().refuses.is_match(label) {
        if STOPS_ASKING.is_match(label) { Effect::Other } else { Effect::Refuses }
    } else if words().accepts.is_match(label) {
        accepted(label)
    } else {
        Effect::Other
    }
}

/// How much a label that accepts grants, by its words.
///
/// # Accepting-means-the-least invariant
/// It accepts once only where it says so, or says too little to say more. Words of every wider grant come first, and what
/// is longer than a plain yes and not understood grants [`Grant::Unknown`]: a person picks it by its label.
pub(crate) fn accepted(label: &str) -> Effect {
    match words().grants(label) {
        Some(grant) => Effect::Widens(grant),
        None if words().once.is_match(label) || is_plain(label) => Effect::Accepts,
        None => Effect::Widens(Grant::Unknown),
    }
}

/// Beside a bare yes every longer one says more than yes.
pub(crate) fn beside_each_other(rows: &mut [Choice]) {
    let is_bare = |row: &Choice| row.effect == Effect::Accepts && is_bare(&row.label);
    if rows.iter().any(is_bare) {
        for row in rows.iter_mut().filter(|row| row.effect == Effect::Accepts) {
            if !self::is_bare(&row.label) {
                row.effect = Effect::Widens(Grant::Unknown);
            }
        }
    }
}

/// Yes and nothing else, or a yes that says that it is for once.
fn is_bare(label: &str) -> bool {
    let label = without_hint(label);
    label.split_whitespace().count() == 1 || words().once.is_match(label)
}

/// `strokes` is nothing where no key is known to take this row.
pub(crate) fn choice(label: &str, strokes: impl Into<Option<Strokes>>) -> Choice {
    Choice { label: label.to_owned(), strokes: strokes.into(), effect: effect(label) }
}

static HINTS: Pattern = pattern!(
    r"(?i)\s*(\((?:[a-z0-9]|esc|enter|return|tab|default|current|esc to [a-z]+)\)|\*default\*|\[default\])$"
);

/// The label without the hint of its key, `(y)`, `(esc)`, and without `(default)`.
pub(crate) fn without_hint(label: &str) -> &str {
    let label = label.trim();
    match HINTS.find(label) {
        Some(hint) if hint.start() > 0 => label[..hint.start()].trim_end(),
        _ => label,
    }
}

/// The strokes of a key that has this name: `esc`, `Enter`, `shift + tab`, `y`.
pub(crate) fn named_key(name: &str) -> Strokes {
    match name.to_ascii_lowercase().replace(char::is_whitespace, "").as_str() {
        "enter" | "return" => Strokes::enter(),
        "esc" | "escape" => Strokes::once(*b"\x1b"),
        "tab" => Strokes::once(*b"\t"),
        "shift+tab" => Strokes::once(*b"\x1b[Z"),
        key => Strokes::once(key),
    }
}

/// The key that a row names: `Yes, proceed (y)`, `No (esc)`, `No (Esc to stop)`.
pub(crate) fn hinted_key(label: &str) -> Option<Strokes> {
    static KEY: Pattern = pattern!(r"(?i)\s\(([a-z]|esc)(?: to [a-z]+)?\)$");
    KEY.captures(label.trim()).map(|captures| named_key(&captures[1]))
}

/// The same for a row without a number, which has no other key of its own: `Continue (tab)`. Not Enter, which takes
/// the row that is highlighted, which may be any.
pub(crate) fn only_key(label: &str) -> Option<Strokes> {
    static TAB: Pattern = pattern!(r"(?i)\s\(((?:shift\s?\+\s?)?tab)\)$");
    let tab = || TAB.captures(label.trim()).map(|captures| named_key(&captures[1]));
    hinted_key(label).or_else(tab)
}

/// Two of them are the same.
pub(crate) fn is_any_twice<Name: PartialEq>(names: &[Name]) -> bool {
    (1..names.len()).any(|at| names[..at].contains(&names[at]))
}

/// It begins with its number: `1. Yes`.
pub(crate) fn is_numbered(label: &str) -> bool {
    static NUMBER: Pattern = pattern!(r"^\d{1,2}[.)]\s");
    NUMBER.is_match(label)
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

/// Yes or no for a plain pair of them, else a choice among rows.
pub(crate) fn kind(labels: &[&str]) -> Kind {
    if is_yes_no_pair(labels) { Kind::YesNo } else { Kind::MultipleChoice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_effects() {
        for (label, expected) in [
            ("Yes", Effect::Accepts),
            ("Yes, proceed", Effect::Accepts),
            ("Yes, manually approve edits", Effect::Accepts),
            ("Yes, and don't ask again", Effect::Widens(Grant::Always)),
            ("Yes, and don’t ask again for: git push *", Effect::Widens(Grant::Always)),
            ("Yes, and use auto mode", Effect::Widens(Grant::Mode)),
            ("Yes, and auto-accept edits", Effect::Widens(Grant::Mode)),
            ("Yes, clear context and auto-accept edits", Effect::Widens(Grant::Mode)),
            (
                "Yes, and switch to accept edits (auto-approve file edits) for this session",
                Effect::Widens(Grant::Mode),
            ),
            ("Yes, allow all edits during this session", Effect::Widens(Grant::Mode)),
            (
                "Yes, allow Codex to work in this folder without asking for approval",
                Effect::Widens(Grant::Mode),
            ),
            ("Yes, and bypass permissions", Effect::Widens(Grant::Mode)),
            ("Allow for this session", Effect::Widens(Grant::Session)),
            ("Allow for all future sessions", Effect::Widens(Grant::Always)),
            ("Always allow run 'rm *' commands in this project", Effect::Widens(Grant::Always)),
            ("Yes to all", Effect::Widens(Grant::Always)),
            ("Yes, and do the rest as you like", Effect::Widens(Grant::Unknown)),
            ("Yes, I have read the words of this dialog to their end", Effect::Widens(Grant::Unknown)),
            ("No, suggest changes", Effect::Refuses),
            ("No, and don't ask again", Effect::Refuses),
            ("Don't trust", Effect::Refuses),
            ("Don’t ask", Effect::Other),
            ("Never ask again", Effect::Other),
            ("Skip all permission checks", Effect::Other),
            ("Trust and continue", Effect::Widens(Grant::Always)),
            ("Allow once", Effect::Accepts),
            ("Reject", Effect::Refuses),
            ("<Cancel>", Effect::Refuses),
            ("SQLite", Effect::Other),
            ("Notes", Effect::Other),
            ("None", Effect::Other),
            ("None of these", Effect::Other),
            ("Quite a lot", Effect::Other),
            ("Exits on error", Effect::Other),
            ("Denylist", Effect::Other),
            ("Allowlist", Effect::Other),
            ("Installation guide", Effect::Other),
            ("Accepted licences", Effect::Other),
            ("Refuser", Effect::Refuses),
            ("Continuer", Effect::Accepts),
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
            (["Yes", "None"], false),
            (["Yesterday", "No"], false),
        ] {
            assert_eq!(is_yes_no_pair(&labels), expected, "{labels:?}");
        }
    }
}
