//! What arrives from the person's side: keys, and the terminal's own replies, which answer no prompt.

/// What one write of the terminal contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Typed {
    /// Any key at all.
    pub(crate) keys: bool,
    /// Enter, or a key that ends a line: Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-\.
    pub(crate) submits: bool,
}

/// Reads the byte stream of the person's terminal, across writes.
#[derive(Debug, Default)]
pub(crate) struct KeyReader {
    state: KeyState,
    /// Printable characters since the last Enter, Ctrl-C, Ctrl-U or Escape.
    half_typed: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum KeyState {
    #[default]
    Ground,
    Escape,
    /// `private`: the first byte was one of `?<=>`. `any`: there were parameters.
    Csi {
        private: u8,
        any: bool,
        dollar: bool,
    },
    /// X10 mouse: three more bytes.
    Mouse(u8),
    Ss3,
    /// OSC, DCS, APC, PM: a reply up to its terminator.
    Text,
    TextEscape,
}

/// Whether any of this is a key, as opposed to a terminal's own replies.
pub fn holds_keys(bytes: &[u8]) -> bool {
    KeyReader::default().read(bytes).keys
}

/// One bullet for each character that could be part of a secret. What makes no secret stays: Enter and other control
/// keys, arrows and function keys, and the terminal's replies to queries.
///
/// Programs that read key by key switch the terminal's echo off as well and show the text themselves, or do not, where
/// it is a secret. Which of both cannot be told from the keys, so their text is hidden too.
pub fn without_text(keys: &str) -> String {
    let mut reader = KeyReader::default();
    let hide = |char: char| {
        let before = reader.state;
        char.to_string().bytes().for_each(|byte| reader.step(byte, &mut Typed::default()));
        let is_alt = before == KeyState::Escape && reader.state == KeyState::Ground;
        let is_text = before == KeyState::Ground || is_alt;
        if is_text && !char.is_control() { '•' } else { char }
    };
    keys.chars().map(hide).collect()
}

impl KeyReader {
    pub(crate) fn half_typed(&self) -> bool {
        self.half_typed > 0
    }

    /// The line was taken: nothing is half typed any more.
    pub(crate) fn forget_line(&mut self) {
        self.half_typed = 0;
    }

    pub(crate) fn read(&mut self, bytes: &[u8]) -> Typed {
        let mut typed = Typed::default();
        for &byte in bytes {
            self.step(byte, &mut typed);
        }
        // A lone Escape is a key: no reply ends there.
        if matches!(self.state, KeyState::Escape) {
            self.state = KeyState::Ground;
            self.escape(&mut typed);
        }
        typed
    }

    fn step(&mut self, byte: u8, typed: &mut Typed) {
        self.state = match (self.state, byte) {
            (KeyState::Ground, 0x1b) => KeyState::Escape,
            (KeyState::Ground, _) => {
                self.key(byte, typed);
                KeyState::Ground
            }
            (KeyState::Escape, b'[') => KeyState::Csi { private: 0, any: false, dollar: false },
            (KeyState::Escape, b']' | b'P' | b'_' | b'^') => KeyState::Text,
            (KeyState::Escape, b'O') => KeyState::Ss3,
            (KeyState::Escape, 0x1b) => {
                self.escape(typed);
                KeyState::Escape
            }
            // Alt with a key, or a key of its own.
            (KeyState::Escape | KeyState::Ss3, _) => {
                typed.keys = true;
                KeyState::Ground
            }
            (KeyState::Csi { private, any, dollar }, _) => self.csi(private, any, dollar, byte, typed),
            (KeyState::Mouse(left), _) if left > 1 => KeyState::Mouse(left - 1),
            (KeyState::Text, 0x1b) => KeyState::TextEscape,
            (KeyState::Mouse(_) | KeyState::TextEscape, _) | (KeyState::Text, 0x07) => KeyState::Ground,
            (KeyState::Text, _) => KeyState::Text,
        };
    }

    fn csi(&mut self, private: u8, any: bool, dollar: bool, byte: u8, typed: &mut Typed) -> KeyState {
        match byte {
            b'?' | b'<' | b'=' | b'>' if !any => KeyState::Csi { private: byte, any: true, dollar },
            0x20..=0x3f => KeyState::Csi { private, any: true, dollar: dollar || byte == b'$' },
            b'M' if private == 0 && !any => KeyState::Mouse(3),
            0x40..=0x7e => {
                typed.keys |= !is_reply(private, any, dollar, byte);
                KeyState::Ground
            }
            // Not a sequence after all.
            _ => {
                self.key(byte, typed);
                KeyState::Ground
            }
        }
    }

    fn key(&mut self, byte: u8, typed: &mut Typed) {
        typed.keys = true;
        match byte {
            b'\r' | b'\n' | 0x03 | 0x04 | 0x1a | 0x1c => {
                typed.submits = true;
                self.half_typed = 0;
            }
            0x15 => self.half_typed = 0,
            0x08 | 0x7f => self.half_typed = self.half_typed.saturating_sub(1),
            // Of a character of several bytes the first one counts.
            0x20..=0x7e | 0xc0.. => self.half_typed = self.half_typed.saturating_add(1),
            _ => {}
        }
    }

    fn escape(&mut self, typed: &mut Typed) {
        typed.keys = true;
        self.half_typed = 0;
    }
}

/// Device attributes, cursor and mode reports, window reports, focus, mouse, the keyboard protocol's own replies.
fn is_reply(private: u8, any: bool, dollar: bool, last: u8) -> bool {
    match last {
        b'c' | b'R' | b'n' | b't' => any,
        b'I' | b'O' => !any,
        b'M' | b'm' => private == b'<',
        b'u' => private == b'?',
        b'y' => dollar,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let whole = KeyReader::default().read(input.as_bytes());
        let said = match whole {
            Typed { keys: false, .. } => "nothing",
            Typed { submits: true, .. } => "submits",
            Typed { .. } => "keys",
        };
        assert_eq!(said, expected, "{input:?}");
    }

    #[test]
    fn replies_of_the_terminal_are_no_keys() {
        for reply in [
            "\x1b[?62;22c",
            "\x1b[>0;276;0c",
            "\x1b[24;80R",
            "\x1b[I",
            "\x1b[O",
            "\x1b[<0;10;20M",
            "\x1b[<0;10;20m",
            "\x1b[M !!",
            "\x1b]11;rgb:0000/0000/0000\x1b\\",
            "\x1b]7501;?:states=idle\x07",
            "\x1bP>|term 1\x1b\\",
            "\x1b[?1u",
            "\x1b[?2026;2$y",
            "\x1b[8;24;80t",
            "\x1b[0n",
            "\x1b[?997;1n",
            "\x1b_Gi=1;OK\x1b\\",
        ] {
            check(reply, "nothing");
        }
    }

    #[test]
    fn keys_are_keys() {
        for (input, expected) in [
            ("y", "keys"),
            ("y\r", "submits"),
            ("\x03", "submits"),
            ("\x1b", "keys"),
            ("\x1b[A", "keys"),
            ("\x1bOB", "keys"),
            ("\x1bf", "keys"),
            ("\x1b[200~hi\x1b[201~", "keys"),
            ("\x1b[13;5u", "keys"),
            ("é", "keys"),
        ] {
            check(input, expected);
        }
    }

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
            assert_eq!(without_text(keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn a_half_typed_line_is_remembered_until_it_is_sent() {
        let mut keys = KeyReader::default();
        keys.read(b"ab\x7f");
        assert!(keys.half_typed());
        keys.read(b"\x7f");
        assert!(!keys.half_typed());
        keys.read(b"x");
        keys.read(b"\r");
        assert!(!keys.half_typed());
    }

    #[test]
    fn a_reply_may_come_in_pieces() {
        let mut keys = KeyReader::default();
        for piece in [&b"\x1b[?6"[..], b"2", b"c"] {
            assert_eq!(keys.read(piece), Typed::default());
        }
    }
}
