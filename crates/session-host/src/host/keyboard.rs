//! The keyboard: what comes from it goes to the tool, except keys that come too late; who sits there, and how a piped input
//! ends.

use std::time::Duration;

use atlasbridge_detect::{Moment, Observation, holds_keys};
use atlasbridge_pty::{HostInput, InputKind, ReadOutcome, TtyWait, boot_time};

use super::{Host, Phase};
use crate::pause;
use crate::prompt::PromptEvent;
use crate::terminal::OuterTerminal;

/// The keyboard is read in pieces of this size: what the kernel holds for one terminal.
const KEYS: usize = 4096;
/// Enter in its two forms, Ctrl-C, Ctrl-D: a person has answered with these.
const SENDS_A_LINE: [u8; 4] = [b'\r', b'\n', 0x03, 0x04];
/// A piped input has ended, and the tool does not read yet: how soon, and at the latest how often, to look again.
const FIRST_LOOK_FOR_READER: Duration = Duration::from_millis(5);
const LAST_LOOK_FOR_READER: Duration = Duration::from_secs(1);
/// After a key at the terminal, whoever sits there has the word for this long.
const HAS_THE_WORD: Duration = Duration::from_secs(2);
/// The same with a line begun and not ended. Whoever left it longer ago has left, and it stands on the screen for those
/// who watch.
const HALF_A_LINE: Duration = Duration::from_secs(30);

pub(super) struct Keyboard {
    pub(super) input: HostInput,
    /// The terminal that it belongs to, if it is one.
    pub(super) terminal: Option<OuterTerminal>,
    state: KeyboardState,
    /// The tool's terminal shows what is typed, unless the tool wants otherwise. Not from the first byte on that came
    /// from a file or a pipe: it would stand in the output as if the tool had said it. A pipe that is silent, as a
    /// supervisor holds it open, changes nothing: the lines of those who answer from elsewhere end on the screen.
    pub(super) is_shown: bool,
    /// No line was begun and not ended: one end-of-file character is enough.
    ends_in_line: bool,
    /// When the last key came, on the boot clock: a night of sleep counts.
    last_key: Option<Duration>,
    /// A line was begun by a person, and not ended.
    is_half_typed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyboardState {
    /// More may come.
    Open,
    /// A file or pipe has ended. The tool is told so when it reads next: typed while a shell is still starting, the
    /// end of file would be a NUL by the time it reads.
    Ending { look_at: Moment, again_after: Duration },
    /// Nothing comes any more, and the tool was told so where it had to be.
    Ended,
}

impl Keyboard {
    pub(super) fn new(input: HostInput, terminal: Option<OuterTerminal>) -> Self {
        Self {
            input,
            terminal,
            state: KeyboardState::Open,
            is_shown: true,
            ends_in_line: true,
            last_key: None,
            is_half_typed: false,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Moment> {
        match self.state {
            KeyboardState::Ending { look_at, .. } => Some(look_at),
            KeyboardState::Open | KeyboardState::Ended => None,
        }
    }

    /// Somebody sits there, or sat there this long ago.
    pub(super) fn typed_ms_ago(&self) -> Option<u64> {
        let ago = boot_time().saturating_sub(self.last_key?);
        u64::try_from(ago.as_millis()).ok()
    }

    pub(super) fn is_typed_at(&self) -> bool {
        let silence = self.typed_ms_ago().map(Duration::from_millis);
        silence.is_some_and(|silence| silence < HAS_THE_WORD || self.is_half_typed && silence < HALF_A_LINE)
    }
}

impl Host {
    /// Not beyond the tool's end: what is typed then is for the shell.
    pub(super) fn reads_keyboard(&self, now: Moment) -> bool {
        self.keyboard.state == KeyboardState::Open
            && matches!(self.phase, Phase::Running | Phase::Ending { .. })
            && self.keyboard.terminal.as_ref().is_none_or(OuterTerminal::is_ours)
            && self.gate.takes_keys(now, || self.control.unread_input().is_some_and(|unread| unread > 0))
    }

    pub(super) fn on_keys(&mut self) {
        pause::point("host-on-keys");
        let mut keys = [0; KEYS];
        match self.keyboard.input.read(&mut keys) {
            Ok(ReadOutcome::Data(count)) => self.on_keys_read(&keys[..count]),
            Ok(ReadOutcome::WouldBlock) => {}
            Ok(ReadOutcome::End) | Err(_) => self.on_end_of_keys(),
        }
    }

    fn on_keys_read(&mut self, keys: &[u8]) {
        let is_terminal = self.keyboard.terminal.is_some();
        if is_terminal && self.prompts.are_keys_late(self.now()) && holds_keys(keys) {
            return;
        }
        if self.keyboard.is_shown && self.keyboard.input.kind() == InputKind::Stream {
            self.keyboard.is_shown = false;
            let _ = self.control.stop_echo();
        }
        self.keyboard.ends_in_line = keys.ends_with(b"\n");
        self.gate.type_local(keys);
        let before = self.now();
        self.took_keys(keys);
        // Somebody is there: a terminal's own replies and a pipe are nobody.
        let was_key = self.detector.last_key().is_some_and(|key| key >= before);
        if was_key && self.keyboard.input.kind() == InputKind::Terminal {
            self.keyboard.last_key = Some(boot_time());
            self.keyboard.is_half_typed = self.detector.is_half_typed();
        }
    }

    /// They were written to the tool, for no reply of ours.
    pub(super) fn took_keys(&mut self, keys: &[u8]) {
        if keys.iter().any(|key| SENDS_A_LINE.contains(key)) {
            self.step(PromptEvent::LineSent);
        }
        self.observe(Observation::LocalInput(keys));
    }

    /// # A lost race presses nothing
    /// Keys that were pressed at the terminal while an answer from elsewhere was on its way were meant for the dialog
    /// that it closed, and so were those that come before anybody can have seen that it is gone. Passed on now, they would
    /// answer the next one, or stand in the input box: they are dropped. A terminal's own replies are not.
    pub(super) fn drop_late_keys(&mut self) {
        if self.keyboard.terminal.is_none() {
            return;
        }
        let mut keys = [0; KEYS];
        while let Ok(ReadOutcome::Data(count)) = self.keyboard.input.read(&mut keys) {
            if !holds_keys(&keys[..count]) {
                self.gate.type_local(&keys[..count]);
            }
        }
    }

    /// The end of a file or pipe is the tool's end of file, as it would be without us. `/dev/null` is no keyboard that
    /// has ended but none at all: the session is answered from elsewhere.
    fn on_end_of_keys(&mut self) {
        self.keyboard.state = match self.keyboard.input.kind() {
            InputKind::Stream => {
                KeyboardState::Ending { look_at: self.now(), again_after: FIRST_LOOK_FOR_READER }
            }
            InputKind::Terminal | InputKind::Nobody => KeyboardState::Ended,
        };
    }

    pub(super) fn end_input(&mut self, now: Moment) {
        let KeyboardState::Ending { look_at, again_after } = self.keyboard.state else { return };
        if look_at > now {
            return;
        }
        let is_read = match self.control.probe().wait {
            TtyWait::Read | TtyWait::Poll => true,
            TtyWait::None => false,
            // Another user's program: it had time enough to start.
            TtyWait::Unknown => again_after == LAST_LOOK_FOR_READER,
        };
        if !is_read || self.gate.wants_to_write() {
            let again_after = (again_after * 2).min(LAST_LOOK_FOR_READER);
            self.keyboard.state = KeyboardState::Ending { look_at: now + again_after, again_after };
            return;
        }
        let mode = self.control.line_mode();
        // In the middle of a line the first one only hands over what there is of it.
        let count = if mode.canonical && !self.keyboard.ends_in_line { 2 } else { 1 };
        let ends = &[mode.eof; 2][..count];
        self.gate.type_local(ends);
        self.observe(Observation::LocalInput(ends));
        self.keyboard.state = KeyboardState::Ended;
    }
}
