//! Rust without its comments and literals, so that a word found in it is code.

/// The text with every comment, string and character literal blanked out. Lines stay where they are.
pub(crate) fn code_only(text: &str) -> String {
    blanked(text, |_| true)
}

/// The text with every comment blanked out. Lines stay where they are.
pub(crate) fn without_comments(text: &str) -> String {
    blanked(text, |opening| opening == '/')
}

/// The text without the comments and literals that open with what `is_unwanted` says.
fn blanked(text: &str, is_unwanted: impl Fn(char) -> bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match literal_end(&chars, at) {
            Some(end) => end,
            None => {
                code.push(chars[at]);
                at += 1;
                continue;
            }
        };
        let is_kept = |c: char| c == '\n' || !is_unwanted(chars[at]);
        code.extend(chars[at..end].iter().map(|c| if is_kept(*c) { *c } else { ' ' }));
        at = end;
    }
    code
}

/// The numbers of the lines that have this word; for a macro, with its `!`.
pub(crate) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |line: &str, start: usize| {
        let after = &line[start + word.len()..];
        !line[..start].ends_with(is_name) && (word.ends_with('!') || !after.starts_with(is_name))
    };
    code.lines()
        .enumerate()
        .filter(|(_, line)| line.match_indices(word).any(|(start, _)| stands_alone(line, start)))
        .map(|(index, _)| index + 1)
        .collect()
}

/// Where the comment or literal that begins here ends; `None` if none begins here.
fn literal_end(chars: &[char], at: usize) -> Option<usize> {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => Some(find(chars, at, |c| c == '\n')),
        '/' if next == Some('*') => Some(block_comment_end(chars, at)),
        '"' => Some(string_end(chars, at)),
        'r' if !follows_name(chars, at) => raw_string_end(chars, at),
        '\'' if next == Some('\\') => Some((find(chars, at + 3, |c| c == '\'') + 1).min(chars.len())),
        // `'x'` is a character; `'x` alone a lifetime.
        '\'' if chars.get(at + 2) == Some(&'\'') => Some(at + 3),
        _ => None,
    }
}

/// `br"…"` is a raw string as well; `for"…"` is not.
fn follows_name(chars: &[char], at: usize) -> bool {
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    match at.checked_sub(1).map(|before| chars[before]) {
        Some('b') => at >= 2 && is_name(&chars[at - 2]),
        Some(before) => is_name(&before),
        None => false,
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    let rest = chars.get(from..).unwrap_or_default();
    rest.iter().position(|c| is_end(*c)).map_or(chars.len(), |length| from + length)
}

/// Block comments nest.
fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut here = at;
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                here += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    here
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while here < chars.len() {
        match chars[here] {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |quote: usize| {
        let after = chars.get(quote + 1..quote + 1 + hashes);
        chars[quote] == '"' && after.is_some_and(|after| after.iter().all(|c| *c == '#'))
    };
    let quote = (open + 1..chars.len()).find(|here| closes(*here));
    Some(quote.map_or(chars.len(), |quote| quote + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, word: &str, expected: &[usize]) {
        assert_eq!(lines_with_word(&code_only(source), word), expected, "{source}");
    }

    #[test]
    fn only_code_counts() {
        check("unsafe { x }", "unsafe", &[1]);
        check("// unsafe\n/* unsafe /* nested */ unsafe */\n\"unsafe\"", "unsafe", &[]);
        check("#![forbid(unsafe_code)]", "unsafe", &[]);
        check("r#\"a \" unsafe\"# ; unsafe", "unsafe", &[1]);
        check("br\"\\\"; unsafe; // \"", "unsafe", &[1]);
        check("'\"'; unsafe; '\"'", "unsafe", &[1]);
        check("'\\''; unsafe; '\\u{41}'; '\"'\nunsafe", "unsafe", &[1, 2]);
        check("fn a<'a>(b: &'a str) { unsafe }", "unsafe", &[1]);
        check("\"a\\\"b\"\nunsafe", "unsafe", &[2]);
        check("std::println!(\"x\")", "println!", &[1]);
        check("eprintln!(\"x\")", "println!", &[]);
        check("\"open", "unsafe", &[]);
    }
}
