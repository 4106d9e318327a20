//! The keys that somebody who watches a session may press from afar.

use std::str::FromStr;

/// A key by its name: what it sends depends on the tool's modes, and is for the session host to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Escape,
    Tab,
    Up,
    Down,
    Left,
    Right,
    Enter,
    Backspace,
    CtrlC,
    CtrlD,
}

impl Key {
    /// With the names that the page and the wire use.
    const NAMES: [(Key, &'static str); 10] = [
        (Key::Escape, "escape"),
        (Key::Tab, "tab"),
        (Key::Up, "up"),
        (Key::Down, "down"),
        (Key::Left, "left"),
        (Key::Right, "right"),
        (Key::Enter, "enter"),
        (Key::Backspace, "backspace"),
        (Key::CtrlC, "ctrl_c"),
        (Key::CtrlD, "ctrl_d"),
    ];

    pub fn name(self) -> &'static str {
        Key::NAMES.iter().find(|(key, _)| *key == self).map_or("", |(_, name)| name)
    }
}

/// The text names no key that may be pressed from afar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such key")]
pub struct KeyError;

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Key::NAMES.iter().find(|(_, name)| *name == text).map(|(key, _)| *key).ok_or(KeyError)
    }
}
