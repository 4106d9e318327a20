//! Letters offered inside the line: `[E]xecute, [D]escribe, [A]bort:`, `(Y)es/(N)o [Yes]:`, `[y,n,q,a]?`.

use atlasbridge_model::{Choice, Effect, Kind};

use super::rules::DialogRules;
use super::{Look, Pattern, Reading, labels, line, listed};

/// A bracketed letter with the rest of its word or words.
static LETTERED: Pattern =
    pattern!(r"[\[(]([A-Za-z?!])[\])]((?: ?[A-Za-z'’][A-Za-z'’-]*)(?: [A-Za-z'’-]+)*|)");
/// A bracketed list of single letters: `[y,n,q,a,d,e,p,?]`, `(Y/I/N/O/D/Z)`.
static LETTER_LIST: Pattern =
    pattern!(r"[\[(]((?:[A-Za-z?!]\s*[,/|]\s*){2,}[A-Za-z?!])[\])]\s*(?:[\[(][^\[\]()]*[\])])?\s*[:?>›]*$");
/// The short form of a question that expands: `? Conflict on file.js (Yadxh)`, whose last letter is for help.
static EXPANDS: Pattern = pattern!(r"^\?\s.*\(([A-Za-z]{1,8}[hH]|[hH][A-Za-z]{1,8})\)(?:\s*[A-Za-z])?$");
/// Letters of single keys without a sign between them: `correct 'ecoh' to 'echo' [nyae]?`.
static COMPACT: Pattern = pattern!(r"\[([a-z]{3,6})\]\s*\?$");
/// A bracketed list of words with commas: `Hash type (MD5, SHA1, SHA256):`.
static COMMA_LIST: Pattern =
    pattern!(r"\(((?:[A-Za-z0-9][\w.+-]*, ){1,8}[A-Za-z0-9][\w.+-]*)\)\s*(?:\[([^\[\]]*)\])?\s*[:?>]$");
/// A bracketed list of words with its default: `[Paul/Jessica/Duncan] (Paul):`.
static WORD_LIST: Pattern = pattern!(
    r"[\[(]((?:[A-Za-z][A-Za-z0-9_+-]* *[/|] *){1,8}[A-Za-z][A-Za-z0-9_+-]*)[\])]\s*(?:[\[(]([^\[\]()]*)[\])])?\s*[:?>›]*$"
);

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look)?;
    lettered(look, question, &DialogRules::default())
        .or_else(|| letter_list(look, question))
        .or_else(|| expands(look, question))
        .or_else(|| word_list(look, question))
}

/// The question may wrap to a second line of its own: the letters are searched in the cursor's line only.
pub(super) fn lettered(look: &Look<'_>, question: &str, rules: &DialogRules) -> Option<Reading> {
    if !question.ends_with([':', '?', '>', ']', ')']) {
        return None;
    }
    let options = LETTERED.captures_iter(question).filter_map(|captures| {
        let letter = captures.get(1)?.as_str().chars().next()?;
        let rest = Some(captures.get(2)?.as_str()).filter(|rest| !rest.is_empty())?;
        Some((letter, option_label(letter, rest)))
    });
    let (letters, labels): (Vec<char>, Vec<String>) = options.unzip();
    if labels.len() < 2 {
        return None;
    }
    // Yes, No and perhaps "don't ask again": still a yes or no.
    let is_yes_no = labels.len() <= 3 && labels::is_yes_no_pair(&[&labels[0], &labels[1]]);
    let (kind, base) =
        if is_yes_no { (Kind::YesNo, 95) } else { (rules.kind.unwrap_or(Kind::MultipleChoice), 80) };
    let choice = |(label, key): (&String, char)| look.choice(label, &key.to_string(), rules.effect(label));
    let choices = labels.iter().zip(keys_of(&letters)).map(choice).collect();
    Some(Reading::line(look, kind, base, question).by(rules).with_choices(choices))
}

/// `(O)kay` is "Okay", `[A] Yes to All` is "Yes to All"; a joining "or" at the end is not part of the label.
fn option_label(letter: char, rest: &str) -> String {
    let label = rest.strip_prefix(' ').map_or_else(|| format!("{letter}{rest}"), str::to_owned);
    let label = label.trim_end();
    label.strip_suffix(" or").unwrap_or(label).trim_end().to_owned()
}

/// What is typed for each of these letters: in lower case, unless `n` and `N` mean different things.
fn keys_of(letters: &[char]) -> Vec<char> {
    let small: Vec<char> = letters.iter().map(char::to_ascii_lowercase).collect();
    if labels::is_any_twice(&small) { letters.to_vec() } else { small }
}

fn letter_list(look: &Look<'_>, question: &str) -> Option<Reading> {
    let captures = LETTER_LIST.captures(question)?;
    let letters: Vec<char> = captures
        .get(1)?
        .as_str()
        .chars()
        .filter(|char| char.is_alphabetic() || "?!".contains(*char))
        .collect();
    // Three letters of which two are yes and no are left to the yes/no family.
    if letters.len() <= 5 && letters.iter().take(2).map(char::to_ascii_lowercase).eq(['y', 'n']) {
        return None;
    }
    // The lines above may say what each letter does.
    let list = listed::lettered(look, question);
    let explanation = |letter: &char| {
        let named = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(&letter.to_string());
        list.as_ref()?.entries.iter().find(named).map(|(_, label)| label.as_str())
    };
    let labels: Option<Vec<&str>> = letters.iter().map(explanation).collect();
    let choices = keys_of(&letters).into_iter().enumerate().map(|(index, key)| {
        match labels.as_ref().and_then(|labels| labels.get(index)) {
            Some(label) => look.choice(label, &key.to_string(), labels::effect(label)),
            None => letter_choice(look, letters[index], key),
        }
    });
    let choices = choices.collect();
    let reading = Reading::line(look, Kind::MultipleChoice, 80, question);
    let reading = match list.as_ref().filter(|_| labels.is_some()) {
        Some(list) => list.announced(look, reading),
        None => reading,
    };
    Some(reading.with_choices(choices))
}

fn letter_choice(look: &Look<'_>, label: char, key: char) -> Choice {
    let effect = match key {
        'y' => Effect::Accepts,
        'n' | 'q' => Effect::Refuses,
        _ => Effect::Other,
    };
    look.choice(&label.to_string(), &key.to_string(), effect)
}

/// Each letter once; the one in upper case is what Enter takes.
fn expands(look: &Look<'_>, question: &str) -> Option<Reading> {
    let captures = EXPANDS
        .captures(question)
        .or_else(|| COMPACT.captures(question))
        .filter(|_| !look.kernel.canonical)?;
    let letters = captures.get(1)?.as_str();
    let keys: Vec<char> = letters.to_ascii_lowercase().chars().collect();
    let capitals = letters.chars().filter(|letter| letter.is_uppercase()).count();
    let decides = letters.contains('y') && letters.contains('n');
    if labels::is_any_twice(&keys) || capitals > 1 || COMPACT.is_match(question) && !decides {
        return None;
    }
    let choices = keys.into_iter().map(|key| letter_choice(look, key, key)).collect();
    Some(Reading::line(look, Kind::MultipleChoice, 80, question).with_choices(choices))
}

/// At least three words, or two and a default that is one of them: `[origin/main]` is a default, not a list.
fn word_list(look: &Look<'_>, question: &str) -> Option<Reading> {
    let captures = WORD_LIST.captures(question).or_else(|| COMMA_LIST.captures(question))?;
    let words: Vec<&str> = captures.get(1)?.as_str().split(['/', '|', ',']).map(str::trim).collect();
    let default = captures.get(2).map(|default| default.as_str().trim());
    let choice = |word: &&str| look.choice(word, word, labels::effect(word));
    let choices: Vec<Choice> = words.iter().map(choice).collect();
    let accepts = choices.iter().any(|choice| choice.effect.is_accepting());
    let decides = accepts && choices.iter().any(|choice| choice.effect == Effect::Refuses);
    let listed = words.len() >= 3 || decides || default.is_some_and(|default| words.contains(&default));
    let is_yes_no = words.len() >= 2 && labels::is_yes_no_pair(&words[..2]);
    if !listed || is_yes_no {
        return None;
    }
    Some(Reading::line(look, Kind::MultipleChoice, 80, question).with_choices(choices))
}
