//! What a program did with a dialog, by its own word: lines that it writes afterwards, and reports of its hooks. Pure.
//!
//! It only ever takes trust away. A program that draws a dialog can draw such a line too, so none of them proves that an answer was
//! taken; but an answer that the program itself belies is never told as applied.

use atlasbridge_model::Effect;

use crate::packs::{LazyRegex, Pack};
use crate::page::Page;
use crate::recognise::{Pattern, pattern};

/// What became of a dialog, as far as its program has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Accepted,
    Refused,
    /// Nothing was said, or both.
    Unknown,
}

/// How many lines below the last instruction on the screen tell that something was accepted, or refused. What stands above
/// it is of another turn: such lines come into view again when a dialog makes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    accepted: usize,
    refused: usize,
}

/// What a person has told an agent, as agents show it: `> fix the tests`. An empty box is none.
static INSTRUCTION: Pattern = pattern!(r"^\s*[>❯›]\s+\S");

impl Marks {
    pub(crate) fn of(page: &Page, pack: Option<&Pack>) -> Self {
        let last = page.lines.iter().rposition(|line| INSTRUCTION.is_match(&line.text));
        last.zip(pack).map_or_else(Self::default, |(last, pack)| {
            let count = |marks: &[LazyRegex]| page.count_marks(last + 1, marks);
            Self { accepted: count(&pack.accepted), refused: count(&pack.refused) }
        })
    }
}

/// By what stood on the screen when the dialog was answered, what stands there now, and whether a hook has reported that
/// what was asked for has run. A line that scrolled away is no word, so only more lines than before are one.
pub fn did(before: Marks, now: Marks, has_run: bool) -> Did {
    let accepted = has_run || now.accepted > before.accepted;
    let refused = now.refused > before.refused;
    match (accepted, refused) {
        (true, false) => Did::Accepted,
        (false, true) => Did::Refused,
        (true, true) | (false, false) => Did::Unknown,
    }
}

impl Did {
    /// The program did the opposite of what this answer means.
    pub fn belies(self, answer: Effect) -> bool {
        match self {
            Did::Accepted => answer == Effect::Refuses,
            Did::Refused => answer.is_accepting(),
            Did::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packs::Packs;
    use crate::screen::Screen;
    use atlasbridge_model::Grant;

    fn marks(tool: &str, text: &str) -> Marks {
        let mut screen = Screen::new(80, 24);
        screen.feed(format!("> go on\r\n{text}\r\n❯\u{a0}").as_bytes());
        Marks::of(&screen.page(), Packs::embedded().for_program(tool).as_deref())
    }

    #[test]
    fn a_line_more_than_before_is_the_word_of_the_program() {
        let none = Marks::default();
        for (tool, text, expected) in [
            ("claude", "  ⎿  Interrupted · What should Claude do instead?", Did::Refused),
            ("claude", "  ⎿  User rejected write to config.yaml", Did::Refused),
            ("claude", "  ⎿  Wrote 1 line to config.yaml", Did::Unknown),
            ("claude", "● It was Interrupted", Did::Unknown),
            ("codex", "✔ You approved codex to run rm -rf build this time", Did::Accepted),
            ("codex", "✗ You canceled the request to run rm -rf build", Did::Refused),
            ("bash", "✗ You canceled the request", Did::Unknown),
        ] {
            assert_eq!(did(none, marks(tool, text), false), expected, "{text}");
        }
        let one = marks("claude", "  ⎿  Interrupted");
        let two = marks("claude", "  ⎿  Interrupted\r\n\r\n  ⎿  Interrupted");
        assert_eq!(did(one, one, false), Did::Unknown);
        assert_eq!(did(one, two, false), Did::Refused);
        assert_eq!(did(two, one, false), Did::Unknown, "one has scrolled away");
        assert_eq!(did(one, one, true), Did::Accepted);
        assert_eq!(did(one, two, true), Did::Unknown, "it says both");
        let before = marks("claude", "❯ go on after 4\r\n\r\n● Bash(mkdir a)");
        let made_room = marks("claude", "  ⎿  Interrupted\r\n\r\n❯ go on after 4\r\n\r\n● Bash(mkdir a)");
        assert_eq!(did(before, made_room, false), Did::Unknown, "it is of another turn");
    }

    #[test]
    fn only_the_opposite_belies_an_answer() {
        for (did, answer, expected) in [
            (Did::Accepted, Effect::Refuses, true),
            (Did::Accepted, Effect::Accepts, false),
            (Did::Refused, Effect::Accepts, true),
            (Did::Refused, Effect::Widens(Grant::Mode), true),
            (Did::Refused, Effect::Refuses, false),
            (Did::Refused, Effect::Other, false),
            (Did::Unknown, Effect::Accepts, false),
        ] {
            assert_eq!(did.belies(answer), expected, "{did:?} {answer:?}");
        }
    }
}
