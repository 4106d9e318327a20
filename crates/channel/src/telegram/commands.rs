//! What a person asks for in words, pure. Anything that is no command is a text, kept as it is: what may be typed of it
//! is for the hub to say.

use std::time::Duration;

use atlasbridge_model::LONGEST_MUTE;

use crate::Command;

/// Longest word that is repeated to the person.
const MOST_WORD: usize = 32;

/// What a text that begins with a slash is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    Ours(Command),
    /// A command, but none of ours.
    Other,
}

/// `None`: a text. `/switch@our_bot ID` is a command too; in a group the service hands over those of our name only.
pub(crate) fn parse(text: &str) -> Option<Slash> {
    let text = text.trim();
    let rest = text.strip_prefix('/')?;
    let (word, argument) =
        rest.split_once(char::is_whitespace).map_or((rest, ""), |(word, argument)| (word, argument.trim()));
    let word = word.split_once('@').map_or(word, |(word, _)| word);
    // A path or a regular expression is a text, and may well be an answer.
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let session = || (!argument.is_empty()).then(|| cut(argument));
    Some(Slash::Ours(match word.to_ascii_lowercase().as_str() {
        "start" => Command::Start,
        "help" => Command::Help,
        "sessions" => Command::Sessions,
        "switch" => Command::Switch { session: session() },
        "status" => Command::Status,
        "screen" => Command::Screen { session: session() },
        "stop" => Command::Stop { session: session() },
        "mute" => Command::Mute { time: duration(argument) },
        "unmute" => Command::Mute { time: Some(Duration::ZERO) },
        "resume" => Command::Resume { session: session() },
        _ => return Some(Slash::Other),
    }))
}

/// `90s`, `30m`, `2h`, `off`; a number alone is in minutes.
fn duration(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    if text == "off" {
        return Some(Duration::ZERO);
    }
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim() {
        "s" | "sec" => 1,
        "" | "m" | "min" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    let digits = digits.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = Duration::from_secs(digits.parse::<u64>().ok()?.checked_mul(factor)?);
    (time <= LONGEST_MUTE).then_some(time)
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_WORD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Command>) {
        assert_eq!(parse(text), expected.map(Slash::Ours), "{text:?}");
    }

    fn minutes(count: u64) -> Option<Command> {
        Some(Command::Mute { time: Some(Duration::from_secs(count * 60)) })
    }

    #[test]
    fn commands_are_read() {
        let id = || Some("0123abcd".to_owned());
        check("/start", Some(Command::Start));
        check("/start payload", Some(Command::Start));
        check(" /help ", Some(Command::Help));
        check("/HELP", Some(Command::Help));
        check("/sessions@our_bot", Some(Command::Sessions));
        check("/switch 0123abcd", Some(Command::Switch { session: id() }));
        check("/switch@our_bot\n 0123abcd ", Some(Command::Switch { session: id() }));
        check("/switch", Some(Command::Switch { session: None }));
        check("/status", Some(Command::Status));
        check("/screen", Some(Command::Screen { session: None }));
        check("/screen 0123abcd", Some(Command::Screen { session: id() }));
        check("/stop 0123abcd", Some(Command::Stop { session: id() }));
        check("/resume 0123abcd", Some(Command::Resume { session: id() }));
        assert_eq!(parse("/nonsense 1 2"), Some(Slash::Other));
    }

    #[test]
    fn a_silence_has_a_length_and_an_end() {
        check("/mute 30m", minutes(30));
        check("/mute 30", minutes(30));
        check("/mute 2h", minutes(120));
        check("/mute 120s", minutes(2));
        check("/mute 1 h", minutes(60));
        check("/mute 7d", minutes(7 * 24 * 60));
        check("/mute off", minutes(0));
        check("/mute 0", minutes(0));
        check("/unmute", minutes(0));
        for wrong in ["", "soon", "-5m", "5x", "m", "1.5h", "99999999999999999999h", "8d", "400d", "3 0m"] {
            check(&format!("/mute {wrong}"), Some(Command::Mute { time: None }));
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in ["", "yes", "/", "//", "/ stop", "/etc/passwd", "/^a.*$/", "@bot /start", "1/2", "/é"] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left(text in ".{0,60}|/(mute|stop|switch) .{0,30}") {
            let _ = parse(&text);
        }
    }
}
