//! What a prompt asks for, how it may be answered, and what silence will do.

use super::sentence;
use crate::opening::Opening;
use crate::visible::{is_seen, visible};
use crate::{Kind, Level, Sighting, Span, Takes};

/// Longest beginning of a text that is repeated to its sender, in characters.
const MOST_QUOTED: usize = 60;

/// What the tool wants, after its name: `asks yes or no`.
pub fn wants(kind: Kind) -> &'static str {
    match kind {
        Kind::YesNo => "asks yes or no",
        Kind::ConfirmEnter => "waits for Enter",
        Kind::MultipleChoice => "asks you to choose",
        Kind::FreeText => "asks for a text",
        Kind::Password => "asks for a password or another secret",
        Kind::Idle => "has finished and waits for its next instruction",
        Kind::Unknown => "seems to wait, and its question was not recognised",
    }
}

impl Kind {
    /// The same for a chat, where the tool's name stands above. What is only possible is not said to be asked.
    pub fn in_chat(self, level: Level) -> String {
        match (level, self) {
            (Level::Low, _) => "Possible prompt: the tool seems to wait.".to_owned(),
            (Level::Medium | Level::High, Kind::Unknown) => {
                format!("Possible prompt: the tool {}.", wants(self))
            }
            (Level::Medium | Level::High, kind) => format!("{}.", sentence(wants(kind))),
        }
    }
}

/// What stands before the words of a prompt that is only possible, where the tool's name comes first.
pub fn possibly(level: Level) -> &'static str {
    match level {
        Level::Low => "possible prompt: ",
        Level::Medium | Level::High => "",
    }
}

/// A row's label for the person who answers. Of a prompt that is only possible it says what is typed: it is not known to be one.
pub fn label(label: &str, keys: &str, level: Level) -> String {
    match level {
        Level::Low if !keys.is_empty() => format!("{label} (types {})", keys_in_words(keys)),
        Level::Low | Level::Medium | Level::High => label.to_owned(),
    }
}

/// Keys as people name them: `↓ ↓ Enter`, `y Enter`, `Esc`.
fn keys_in_words(keys: &str) -> String {
    const NAMES: [(&str, &str); 10] = [
        ("\x1b[A", "↑"),
        ("\x1b[B", "↓"),
        ("\x1b[C", "→"),
        ("\x1b[D", "←"),
        ("\x1b[Z", "Shift+Tab"),
        ("\x1b", "Esc"),
        ("\t", "Tab"),
        ("\r", "Enter"),
        ("\n", "Enter"),
        (" ", "Space"),
    ];
    let mut words = String::new();
    let mut rest = keys;
    while let Some(char) = rest.chars().next() {
        let named = NAMES.iter().find(|(bytes, _)| rest.starts_with(bytes));
        match named {
            Some((bytes, name)) => {
                words.push_str(&format!(" {name} "));
                rest = &rest[bytes.len()..];
            }
            None => {
                words.push(char);
                rest = &rest[char.len_utf8()..];
            }
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a prompt may be answered beside its buttons, for a chat, where a message is answered by a reply to it.
pub fn answerable(sighting: &Sighting, takes_secrets: bool) -> String {
    let Sighting { kind, takes, constraints, .. } = sighting;
    match kind {
        Kind::Password if takes_secrets => {
            "Reply to this message with it, or type it at the terminal. AtlasBridge keeps it nowhere; this chat does, \
             until you delete your message."
                .to_owned()
        }
        Kind::Password => "Secrets are typed at the terminal, not here.".to_owned(),
        Kind::FreeText | Kind::Idle => {
            let lines = if takes.lines { ", in one line or several" } else { "" };
            format!("Reply to this message with the text, at most {} characters{lines}.", constraints.max_length)
        }
        Kind::YesNo | Kind::ConfirmEnter | Kind::MultipleChoice | Kind::Unknown => {
            besides(*takes, constraints.picks, sighting.rows().count())
        }
    }
}

/// How many rows one answer takes, for the label of a field.
pub fn rows_wanted(picks: Option<Span>) -> String {
    picks.map_or_else(|| "several".to_owned(), |picks| format!("choose {picks}"))
}

/// What a dialog takes besides its `rows` buttons; empty where it takes nothing else.
fn besides(takes: Takes, picks: Option<Span>, rows: usize) -> String {
    let text = match (takes.own_text, takes.reason) {
        (true, _) => "Or send your own answer as a text.",
        (false, true) => "Or send a text, to refuse with it as the reason.",
        (false, false) => "",
    };
    let example = if rows > 2 { "1,3" } else { "1,2" };
    let rows = match (takes.several, picks) {
        (true, Some(picks)) => format!("Choose {picks}: send {example}."),
        (true, None) => format!("Several: send {example}."),
        // Ticked one by one, and sent with Enter: by a person at the terminal.
        (false, Some(picks)) => format!("It takes {picks} of the rows."),
        (false, None) => String::new(),
    };
    [text, &rows].join(" ").trim().to_owned()
}

/// What becomes of a waiting prompt if no answer comes, for a chat: the time left, and the safe default in quotation marks.
pub fn silence(kind: Kind, seconds_left: Option<u64>, default: Option<&str>) -> String {
    let Some(seconds) = seconds_left else {
        return "Waits until somebody answers.".to_owned();
    };
    let then = match (default, kind) {
        (None, _) => "after that nothing is typed".to_owned(),
        (Some(_), Kind::ConfirmEnter) => "then Enter is pressed".to_owned(),
        (Some(_), Kind::FreeText) => "then an empty line is sent".to_owned(),
        (Some(label), Kind::YesNo | Kind::MultipleChoice | Kind::Password | Kind::Idle | Kind::Unknown) => {
            format!("then {label} is chosen")
        }
    };
    format!("⏳ {} left; {then}.", time_left(seconds))
}

/// The same at the page, which counts the time itself.
pub fn if_nobody_answers(expires: bool, default: Option<&str>) -> String {
    let then = match (expires, default) {
        (false, _) => "it waits.",
        (true, None) => "nothing is typed.",
        (true, Some(label)) => label,
    };
    format!("If nobody answers: {then}")
}

/// The same in a table of the command line.
pub fn left(seconds_left: Option<u64>, default: Option<&str>) -> String {
    match seconds_left {
        Some(seconds) => format!("{}, then {}", time_left(seconds), default.unwrap_or("nothing")),
        None => "no limit".to_owned(),
    }
}

pub fn time_left(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h", (seconds + 1800) / 3600),
    }
}

impl Opening {
    /// What this text would be, in half a sentence for its author.
    pub fn told(self, text: &str, tool: &str) -> String {
        let text = quoted(text);
        match self {
            Opening::Shell => format!("`{text}` would be run as a shell command by {tool}"),
            Opening::Command => format!("`{text}` would be taken as a command by {tool}, not read as text"),
            Opening::File => {
                format!("`{text}` begins with `@`: {tool} may take that as the name of a file")
            }
            Opening::Help => {
                format!("`{text}` alone may open the help of {tool} instead of being read as text")
            }
            Opening::Memory => {
                format!(
                    "`{text}` begins with `#`: {tool} may keep it as a note for later instead of acting on it"
                )
            }
        }
    }
}

/// The first line, as much of it as is needed to know it again.
fn quoted(text: &str) -> String {
    let text = text.trim_matches(|char| !is_seen(char));
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(MOST_QUOTED).collect();
    let mark = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", visible(&cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        for (keys, words) in [
            ("y\r", "y Enter"),
            ("\x1b[B\x1b[B\r", "↓ ↓ Enter"),
            ("\x1b", "Esc"),
            ("\x1b[Z", "Shift+Tab"),
            ("\x1b[A \r", "↑ Space Enter"),
            ("no", "no"),
            ("", ""),
        ] {
            assert_eq!(keys_in_words(keys), words, "{keys:?}");
        }
    }

    #[test]
    fn only_a_possible_prompt_tells_its_keys() {
        assert_eq!(label("No", "n\r", Level::Low), "No (types n Enter)");
        assert_eq!(label("No", "", Level::Low), "No");
        assert_eq!(label("No", "n\r", Level::Medium), "No");
    }

    #[test]
    fn a_long_text_is_known_by_its_beginning() {
        let long = format!("!{}", "x".repeat(100));
        let told = Opening::Shell.told(&long, "claude");
        assert!(told.starts_with(&format!("`!{}…` would", "x".repeat(59))), "{told}");
        assert_eq!(
            Opening::Shell.told("!ls\nsecond", "claude"),
            "`!ls…` would be run as a shell command by claude"
        );
    }
}
