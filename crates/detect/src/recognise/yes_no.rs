//! Yes or no, asked in one line: `[y/N]`, `(yes/no)`, `(y or n)`, `Is this OK? (yes)`, `rm: remove 'x'?`.

use atlasbridge_model::{Effect, Kind};

use super::{Look, Pattern, Place, Reading, line};
use crate::packs::words;

/// The same with the refusal first, and without brackets.
static SWAPPED: Pattern = pattern!(r"(?i)[\[(]\s*(?:n|no)\s*[/|,]\s*(y|yes)\s*[\])]\s*[:?›>]*$");
static BARE: Pattern = pattern!(r"(?i)(?:^|\s)(y|yes)\s*/\s*(?:n|no)\s*[:?›>]*$");
/// `(y or n)`, `Enter y or n:`, `Please type 'yes' or 'no'`.
static WORDS: Pattern =
    pattern!(r#"(?i)(?:^|[\s(\[])['"]?(y|yes)['"]?\s+or\s+\[?['"]?(?:n|no)['"]?\]?\s*[)\]]?\s*[:?›>.]*$"#);
/// `Ok to proceed? (y)`, `Assume -R? [n]`, `Is this OK? (yes)`.
static DEFAULT_ONLY: Pattern = pattern!(r"(?i)\?\s*[\[(](y|yes|n|no)[\])]\s*[:?›>]*$");
/// `Press y to continue`, `Type 'yes' to confirm:`.
static PRESS_Y: Pattern = pattern!(
    r#"(?i)\b(?:press|type|enter|hit|input)\s+['"<\[(]?(y|yes)['">\])]?\s+(?:to|if|for)\b.*[^\w]?$"#
);
/// `Are you sure? (Type 'yes' in capital letters):`: nothing but YES will do.
static CAPITALS: Pattern =
    pattern!(r#"(?i)\b(?:type|enter)\s+['"]?yes['"]?\s+in\s+(?:capital|upper[ -]?case|block)\b[^:]*:?$"#);
/// Nothing is asked in the line itself: `(y/N)`, `Yes/No?`.
static ONLY_ANSWERS: Pattern =
    pattern!(r"(?i)^\W*(?:y|yes|j|ja|o|oui|s|si)\s*[/|,]\s*(?:n|no|nein|non)\W*(?:[\[(]\w*[\])])?\W*$");
/// How find and xargs ask: `< rm ... ./a > ?`, `rm a ?...`.
static ASKED_BY: Pattern = pattern!(r"(?i)^(?:<.+>\s*\?|\S.*\s\?\.\.\.)$");
static ANYWAY: Pattern = pattern!(r"(?i)\b(anyway|regardless|and continue|to continue)\?$");
/// The lines above say that the whole word is wanted.
static ONLY_YES: Pattern = pattern!(
    r#"(?i)(?:only|type|enter)\s+['"`]?yes['"`]?\s+(?:will be accepted|to (?:confirm|continue|proceed|approve))"#
);

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    if let Some(reading) = before_gap(look) {
        return Some(reading);
    }
    let Some(question) = line::question(look) else { return editor(look) };
    if let Some(asked) = line::asked_above(look)
        && let Some(found) = explicit(asked)
    {
        return Some(found.reading(look, question).asked_as(asked, asked));
    }
    let found =
        explicit(question).or_else(|| by_lines_above(look, question)).or_else(|| implied(question))?;
    let reading = found.reading(look, question);
    let above = look.line.first.checked_sub(1).filter(|_| ONLY_ANSWERS.is_match(question));
    Some(match above.map(|above| look.page.inner(above).trim()) {
        Some(asked) => reading.asked_as(asked, &format!("{asked} {question}")),
        None => reading,
    })
}

/// The question, a gap, and an empty line to type in.
fn before_gap(look: &Look<'_>) -> Option<Reading> {
    let (row, asked) = line::asked_before_gap(look)?;
    let found = explicit(asked)?;
    let found = YesNoAnswers { base: found.base.min(BEFORE_GAP), ..found };
    let mut reading = found.reading(look, asked);
    reading.place = Place::Block;
    if look.pack().is_some_and(|pack| pack.is_agent()) {
        reading.excerpt = line::with_lines_above(look.page, row, asked);
    }
    Some(reading)
}

/// Less than for a question in the line of the cursor itself: the words may be the last ones of a text.
const BEFORE_GAP: u8 = 78;

/// A line editor may show its default behind the cursor: `? Publish? (y/N) ‣ false`.
fn editor(look: &Look<'_>) -> Option<Reading> {
    let whole = look.line.whole();
    if look.kernel.canonical || !whole.starts_with("? ") {
        return None;
    }
    Some(Reading { place: Place::Block, ..explicit(&whole)?.reading(look, &whole) })
}

struct YesNoAnswers {
    base: u8,
    /// What is typed for yes and for no: the word where the word is asked for, else its letter.
    answers: (String, String),
    further: Vec<String>,
}

impl YesNoAnswers {
    fn new(base: u8, yes: &str, no: &str) -> Self {
        Self { base, answers: (yes.to_owned(), no.to_owned()), further: Vec::new() }
    }

    fn reading(&self, look: &Look<'_>, question: &str) -> Reading {
        let (yes, no) = &self.answers;
        let mut choices =
            vec![look.choice("Yes", yes, Effect::Accepts), look.choice("No", no, Effect::Refuses)];
        let further = self.further.iter();
        choices.extend(further.map(|word| look.choice(word, word.trim_matches(['[', ']']), Effect::Other)));
        Reading::line(look, Kind::YesNo, self.base, question).with_choices(choices)
    }
}

/// The line itself names the answers.
fn explicit(question: &str) -> Option<YesNoAnswers> {
    if let Some(captures) = words().alternatives.captures(question) {
        let (yes, no) = (captures.get(1)?.as_str(), captures.get(2)?.as_str());
        if !words().is_pair(yes, no) {
            return None;
        }
        let rest = captures.get(3).map_or("", |rest| rest.as_str());
        let further = rest.split(['/', '|', ',']).map(str::trim).filter(|word| !word.is_empty());
        let further: Vec<String> = further.map(str::to_owned).collect();
        // Many letters are a menu, not a yes or no.
        let found = YesNoAnswers::new(95, &yes.to_lowercase(), &no.to_lowercase());
        return (further.len() <= 3).then_some(YesNoAnswers { further, ..found });
    }
    if CAPITALS.is_match(question) {
        return Some(YesNoAnswers::new(90, "YES", "no"));
    }
    for (pattern, base) in [(&WORDS, 90), (&SWAPPED, 90), (&DEFAULT_ONLY, 90), (&PRESS_Y, 90), (&BARE, 85)] {
        if let Some(captures) = pattern.captures(question) {
            let is_word = captures.get(1).is_some_and(|word| word.len() > 1);
            let (yes, no) = if is_word { ("yes", "no") } else { ("y", "n") };
            return Some(YesNoAnswers::new(base, yes, no));
        }
    }
    None
}

/// "Only 'yes' will be accepted to approve." above, `Enter a value:` in the line.
fn by_lines_above(look: &Look<'_>, question: &str) -> Option<YesNoAnswers> {
    if !question.ends_with([':', '?', '>']) {
        return None;
    }
    let first = look.line.first;
    let above = look.page.block(first.saturating_sub(4), first.saturating_sub(1));
    ONLY_YES.is_match(&above).then(|| YesNoAnswers::new(85, "yes", "no"))
}

fn is_asked_by_a_program(question: &str) -> bool {
    words().asks_about.is_match(question) || ASKED_BY.is_match(question)
}

/// The line names no answer, yet only yes or no fits.
fn implied(question: &str) -> Option<YesNoAnswers> {
    let base = match question {
        _ if is_asked_by_a_program(question) => 90,
        _ if words().asks_plainly.is_match(question) || ANYWAY.is_match(question) => 80,
        _ => return None,
    };
    Some(YesNoAnswers::new(base, "y", "n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_yes_and_no() {
        for (question, whole_word, further) in [
            ("Deploy to production? [y/N]", false, 0),
            ("Do you want to continue? [Y/n]", false, 0),
            ("drop the database? [y/N]:", false, 0),
            ("Proceed (Y/n)?", false, 0),
            ("Are you sure you want to continue connecting (yes/no/[fingerprint])?", true, 1),
            ("Proceed anyway? (y,N)", false, 0),
            ("do you wish to overwrite (y or n)?", false, 0),
            ("Quit anyway? (y or n)", false, 0),
            ("? wipe the disk? (y/n) ›", false, 0),
            ("? Publish? (y/N) ‣ false", false, 0),
            ("Assume -R? [n]", false, 0),
            ("Is this OK? (yes)", true, 0),
            ("Ok to proceed? (y)", false, 0),
            ("Press y to continue", false, 0),
            ("Continue [Y/n/q]?", false, 1),
            ("Enter y or n:", false, 0),
            ("Type 'yes' to continue:", true, 0),
            ("Continue (yes/no) [no]:", true, 0),
        ] {
            let found = explicit(question).unwrap_or_else(|| panic!("{question}"));
            assert_eq!((found.answers.0 == "yes", found.further.len()), (whole_word, further), "{question}");
        }
    }

    #[test]
    fn other_lines_name_no_answers() {
        for question in [
            "Your name?",
            "Stage this hunk [y,n,q,a,d,e,p,?]?",
            "Country Name (2 letter code) [AU]:",
            "a/n",
            "(y/n) was asked",
        ] {
            assert!(explicit(question).is_none(), "{question}");
        }
    }

    #[test]
    fn programs_that_ask_without_saying_how() {
        for question in [
            "cp: overwrite 'b'?",
            "rm: remove regular file 'notes.txt'?",
            "rm: descend into directory 'dir'?",
            "< rm ... ./a.tmp > ?",
            "rm a b ?...",
        ] {
            assert!(is_asked_by_a_program(question), "{question}");
        }
        assert!(!is_asked_by_a_program("app: what is your name?"));
    }
}
