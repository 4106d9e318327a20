//! Shells and interpreters: a state rather than a question, so `Kind::Idle`.

use atlasbridge_model::Kind;

use super::{Look, Pattern, Reading, composer, line};
use crate::status::Claim;

/// `user@host:~/x$`, `[root@box dir]#`, `bash-5.2$`, `%`.
static SHELL: Pattern = pattern!(r"^(?:\([\w.-]+\) )?(?:\[?[\w.@:~/ \\+-]*[\w\]~/)])?\s?[$#%❯➜λ]$");
/// `>>>`, `...`, `sqlite>`, `...>`, `postgres=#`, `(gdb)`, `In [3]:`, `irb(main):001:0>`.
static REPL: Pattern = pattern!(
    r"^(?:>>>|\.\.\.|\.\.\.>|->|[A-Za-z0-9_.@:/~-]{1,40}(?:\([\w.:]+\))?(?::\d+)*[=*-]?[>#]|\([a-zA-Z]{2,8}\)|In \[\d+\]:|[\w-]+\[\d+\][>:]?|\d+\s?>)$"
);

pub(super) fn read(look: &Look<'_>) -> Option<Reading> {
    let question = line::question(look)?;
    // An agent's input box looks like a shell; only its own family may say that it is idle.
    if look.claim == Some(Claim::Working) || composer::is_busy(look) || composer::find(look.page).is_some() {
        return None;
    }
    let fits = look.line.gap <= 1 && question.chars().count() <= 80;
    (fits && is_prompt(question)).then(|| Reading::line(look, Kind::Idle, 75, question))
}

fn is_prompt(text: &str) -> bool {
    // A percentage or a price is no shell.
    let counted = text.ends_with(['%', '$'])
        && text.chars().rev().nth(1).is_some_and(|char| char.is_ascii_digit())
        && !text.contains(['-', '@', ':', '~']);
    !counted && !text.contains(" %") && (SHELL.is_match(text) || REPL.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_shells_and_interpreters() {
        for text in [
            "dev2@host:~/project/shell-prompt$",
            "$",
            "#",
            "[root@box etc]#",
            "bash-5.2$",
            "(venv) me@box:~$",
            ">>>",
            "...",
            "...>",
            "sqlite>",
            "postgres=#",
            "(gdb)",
            "ftp>",
            "router>",
            "In [3]:",
            "irb(main):001:0>",
            "mysql>",
        ] {
            assert!(is_prompt(text), "{text}");
        }
        for text in ["48%", "What now>", "Name:", "100 %", "Downloading... 3%", "Cost: 5$ or so", ">"] {
            assert!(!is_prompt(text), "{text}");
        }
    }
}
