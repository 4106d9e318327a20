//! What the first character of an instruction makes of it.
//!
//! At the input box of an agent the first character decides what a text is: `!rm -rf x` is run by a shell, `/clear` is a
//! command, `@` picks a file. Whoever writes from afar may mean plain words, so such a text is never sent unasked.

use crate::mask::mask;
use crate::visible::is_seen;

/// What a text becomes by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// `!`: a shell runs the rest.
    Shell,
    /// `/`: a command of the tool itself.
    Command,
    /// `@`: a file of that name, or a picker of files.
    File,
    /// `?` and nothing else: a page of help. With words behind it, it is text.
    Help,
    /// `#`: a note that is kept, in older versions of Claude Code.
    Memory,
}

impl Opening {
    /// `None`: plain text. Blanks and characters that nobody sees hide nothing: they are passed over, as tools do.
    pub fn of(text: &str) -> Option<Self> {
        let text = mask(text.trim_matches(|char| !is_seen(char)));
        match text.chars().next()? {
            '!' => Some(Opening::Shell),
            '/' => Some(Opening::Command),
            '@' => Some(Opening::File),
            '#' => Some(Opening::Memory),
            '?' if text == "?" => Some(Opening::Help),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let told = Opening::of(text).map_or("plain".to_owned(), |opening| opening.told(text, "claude"));
        assert_eq!(told, expected, "{text:?}");
    }

    #[test]
    fn the_first_character_decides() {
        check("!rm -rf x", "`!rm -rf x` would be run as a shell command by claude");
        check("/clear", "`/clear` would be taken as a command by claude, not read as text");
        check(
            "@src/main.rs is wrong",
            "`@src/main.rs is wrong` begins with `@`: claude may take that as the name of a file",
        );
        check(
            "# always use tabs",
            "`# always use tabs` begins with `#`: claude may keep it as a note for later instead of acting on it",
        );
        check("?", "`?` alone may open the help of claude instead of being read as text");
    }

    #[test]
    fn words_are_words() {
        for text in [
            "",
            " ",
            "fix the tests",
            "why is a/b not c?",
            "use !important",
            "mail me@example.org",
            "? why is it so",
            "??",
            "1. first",
            "- a point",
            "`!ls` lists files",
            "¿por qué?",
            "！halt",
        ] {
            check(text, "plain");
        }
    }

    #[test]
    fn nothing_that_cannot_be_seen_hides_it() {
        for before in [
            " ",
            "\t",
            "\n",
            "\r\n ",
            "\u{1b}",
            "\u{0}",
            "\u{a0}",
            "\u{feff}",
            "\u{200b} ",
            "\u{2060}",
            "\u{3000}",
            "\u{202e}",
        ] {
            check(&format!("{before}!ls"), "`!ls` would be run as a shell command by claude");
        }
        check(" ? ", "`?` alone may open the help of claude instead of being read as text");
    }
}
