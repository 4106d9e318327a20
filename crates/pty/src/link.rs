//! What the session host and the leader say to each other: small packets over a socket pair, between two copies of
//! one program.

use crate::child::ChildEvent;
use crate::signals::Signal;
use crate::terminal::Termios;

/// What we have done to the outer terminal's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalChange {
    /// As we found it.
    pub from: Termios,
    /// As we made it. Said by us and not looked up by the guardian when the note arrives: by then we may be dead, and
    /// the settings those of the shell that is back.
    pub to: Termios,
}

/// What must be put right on the outer terminal if the session host dies now.
///
/// Send one whenever raw mode is entered or left and whenever the tool enters or leaves the alternate screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardianNote {
    /// What to undo; `None` while the terminal is as we found it, and then the guardian will not touch it.
    pub restore: Option<TerminalChange>,
    /// The terminal shows the alternate screen, because the tool asked for it.
    pub alternate_screen: bool,
}

/// What the session host tells the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostRequest {
    Note(GuardianNote),
    /// For the tool's process group.
    Signal(Signal),
    /// For the tool alone.
    SignalTool(Signal),
    /// Whether the tool may have the inner terminal's foreground, because we have the outer one's.
    Foreground(bool),
}

impl HostRequest {
    /// A kind; the alternate screen, the signal or the foreground; the settings before and after.
    pub(crate) const BYTES: usize = 2 + 2 * Termios::BYTES;

    const CLEAR: u8 = 0;
    const RESTORE: u8 = 1;
    const SIGNAL: u8 = 2;
    const SIGNAL_TOOL: u8 = 3;
    const FOREGROUND: u8 = 4;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut packet = [0; Self::BYTES];
        let (kind, detail) = match self {
            Self::Signal(signal) => (Self::SIGNAL, signal.as_raw() as u8),
            Self::SignalTool(signal) => (Self::SIGNAL_TOOL, signal.as_raw() as u8),
            Self::Foreground(is_front) => (Self::FOREGROUND, is_front.into()),
            Self::Note(GuardianNote { restore: None, alternate_screen }) => {
                (Self::CLEAR, alternate_screen.into())
            }
            Self::Note(GuardianNote { restore: Some(TerminalChange { from, to }), alternate_screen }) => {
                packet[2..].copy_from_slice([from.to_bytes(), to.to_bytes()].as_flattened());
                (Self::RESTORE, alternate_screen.into())
            }
        };
        packet[..2].copy_from_slice(&[kind, detail]);
        packet
    }

    pub(crate) fn decode(packet: &[u8; Self::BYTES]) -> Option<Self> {
        let [kind, detail, settings @ ..] = packet;
        let signal = || Signal::from_named_raw((*detail).into());
        let note = |restore| Self::Note(GuardianNote { restore, alternate_screen: *detail != 0 });
        match *kind {
            Self::CLEAR => Some(note(None)),
            Self::RESTORE => {
                let (from, to) = settings.split_first_chunk()?;
                let (from, to) = (Termios::from_bytes(*from), Termios::from_bytes(*to.first_chunk()?));
                Some(note(Some(TerminalChange { from, to })))
            }
            Self::SIGNAL => signal().map(Self::Signal),
            Self::SIGNAL_TOOL => signal().map(Self::SignalTool),
            Self::FOREGROUND => Some(Self::Foreground(*detail != 0)),
            _ => None,
        }
    }
}

/// A kind and a number.
pub(crate) const REPORT_BYTES: usize = 8;

/// What the leader tells the session host. That it is lost it cannot say, and so that has no packet.
pub(crate) fn encode_report(event: ChildEvent) -> Option<[u8; REPORT_BYTES]> {
    let (kind, value) = match event {
        ChildEvent::Started { pid } => (1_i32, pid),
        ChildEvent::ExecFailed { errno } => (2, errno),
        ChildEvent::Stopped { signal } => (3, signal),
        ChildEvent::Continued => (4, 0),
        ChildEvent::Exited { code } => (5, code),
        ChildEvent::Signaled { signal } => (6, signal),
        ChildEvent::LeaderLost => return None,
    };
    let mut packet = [0; REPORT_BYTES];
    packet[..4].copy_from_slice(&kind.to_ne_bytes());
    packet[4..].copy_from_slice(&value.to_ne_bytes());
    Some(packet)
}

pub(crate) fn decode_report(packet: [u8; REPORT_BYTES]) -> Option<ChildEvent> {
    let [k0, k1, k2, k3, v0, v1, v2, v3] = packet;
    let value = i32::from_ne_bytes([v0, v1, v2, v3]);
    match i32::from_ne_bytes([k0, k1, k2, k3]) {
        1 => Some(ChildEvent::Started { pid: value }),
        2 => Some(ChildEvent::ExecFailed { errno: value }),
        3 => Some(ChildEvent::Stopped { signal: value }),
        4 => Some(ChildEvent::Continued),
        5 => Some(ChildEvent::Exited { code: value }),
        6 => Some(ChildEvent::Signaled { signal: value }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_way() {
        for event in [
            ChildEvent::Started { pid: 70_000 },
            ChildEvent::ExecFailed { errno: libc::ENOENT },
            ChildEvent::Stopped { signal: libc::SIGTSTP },
            ChildEvent::Continued,
            ChildEvent::Exited { code: 255 },
            ChildEvent::Signaled { signal: libc::SIGKILL },
        ] {
            assert_eq!(encode_report(event).and_then(decode_report), Some(event));
        }
    }

    #[test]
    fn requests_survive_the_way() {
        let change = TerminalChange {
            from: Termios::from_bytes(std::array::from_fn(|index| index as u8)),
            to: Termios::from_bytes(std::array::from_fn(|index| 200 - index as u8)),
        };
        for restore in [None, Some(change)] {
            for alternate_screen in [false, true] {
                let request = HostRequest::Note(GuardianNote { restore, alternate_screen });
                assert_eq!(HostRequest::decode(&request.encode()), Some(request));
            }
        }
        for request in [
            HostRequest::Signal(Signal::KILL),
            HostRequest::SignalTool(Signal::USR1),
            HostRequest::Foreground(true),
            HostRequest::Foreground(false),
        ] {
            assert_eq!(HostRequest::decode(&request.encode()), Some(request));
        }
    }
}
