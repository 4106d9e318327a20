//! Keys that the terminal did not show must not stand in a file: only that there were some.

/// One bullet for each character that could be part of a secret. What makes no secret stays: Enter and other control
/// keys, arrows and function keys, and the terminal's replies to queries.
///
/// Programs that read key by key switch the terminal's echo off as well and show the text themselves, or do not, where
/// it is a secret. Which of both cannot be told from here, so their text is hidden too.
pub(super) fn hidden(keys: &str) -> String {
    let mut hidden = String::with_capacity(keys.len());
    let mut rest = keys;
    while let Some(char) = rest.chars().next() {
        let length = match char {
            '\x1b' => sequence(rest),
            char => char.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        match char.is_control() {
            true => hidden.push_str(part),
            false => hidden.push('•'),
        }
        rest = after;
    }
    hidden
}

/// Length of the escape sequence that `keys` begins with; one for a lone Escape.
fn sequence(keys: &str) -> usize {
    let rest = keys.get(1..).unwrap_or_default();
    let end = match rest.chars().next() {
        Some('[') => rest
            .char_indices()
            .skip(1)
            .find(|(_, char)| matches!(char, '\x40'..='\x7e'))
            .map(|(at, _)| at + 1),
        Some('O') => rest.chars().nth(1).map(|char| 1 + char.len_utf8()),
        Some(']' | 'P' | '_' | '^') => rest
            .find(['\x07', '\x1b'])
            .map(|at| if rest[at..].starts_with("\x1b\\") { at + 2 } else { at + 1 }),
        _ => Some(0),
    };
    // A sequence that is cut in the middle is no key that anybody typed as text.
    end.map_or(keys.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::hidden;

    #[test]
    fn text_is_hidden_and_keys_are_not() {
        for (keys, expected) in [
            ("hunter2\r", "•••••••\r"),
            ("pässwort", "••••••••"),
            ("\x1b[A\x1b[B\r", "\x1b[A\x1b[B\r"),
            ("\x1bOA\t\x7f\x03", "\x1bOA\t\x7f\x03"),
            ("\x1b[200~se cret\x1b[201~", "\x1b[200~•••••••\x1b[201~"),
            ("\x1b]11;rgb:0/0/0\x1b\\x", "\x1b]11;rgb:0/0/0\x1b\\•"),
            ("\x1bx", "\x1b•"),
            ("\x1b", "\x1b"),
            ("\x1b[1;5", "\x1b[1;5"),
            ("", ""),
        ] {
            assert_eq!(hidden(keys), expected, "{keys:?}");
        }
    }
}
