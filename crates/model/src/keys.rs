//! The keys that somebody who watches a session may press from afar.

use crate::names::named;

named! { "key":
    /// A key by the name that the page and the wire use: what it sends depends on the tool's modes, and is for the session host
    /// to say.
    pub enum Key {
        Escape = "escape",
        Tab = "tab",
        Up = "up",
        Down = "down",
        Left = "left",
        Right = "right",
        Enter = "enter",
        Backspace = "backspace",
        CtrlC = "ctrl_c",
        CtrlD = "ctrl_d",
    }
}
