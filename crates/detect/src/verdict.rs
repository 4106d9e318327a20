//! Witnesses together: does the program wait for a person, and how sure is that?
//!
//! The screen says what a prompt would be; the kernel says whether anybody reads keys; silence stands in where the
//! kernel cannot say. One alone rarely decides, and a screen that still changes vetoes.

use std::time::Duration;

use atlasbridge_model::{Confidence, Kind};

use crate::recognise::{Place, Reading};
use crate::status::Claim;
use crate::witness::{KernelWait, Waits};

/// A recognised prompt must stand unchanged this long when only an event loop listens: shorter than anyone
/// notices, longer than the pauses within one repaint.
pub(crate) const SETTLE: Duration = Duration::from_millis(60);
/// The same for a line that might merely be unfinished output.
const SETTLE_TEXT: Duration = Duration::from_millis(120);
/// Where the kernel says nothing. Repaints of a busy agent pause for up to 400 ms between two halves of a dialog.
const SETTLE_BLIND: Duration = Duration::from_millis(450);
/// The same when the program itself has just said that a dialog opens: the word comes before or with the dialog, which
/// is then drawn in one piece.
const SETTLE_ANNOUNCED: Duration = Duration::from_millis(120);
const SETTLE_TEXT_BLIND: Duration = Duration::from_millis(400);
/// The same before the first key: a tool that starts draws its first dialog over again (Gemini: 640 ms later).
const SETTLE_STARTING: Duration = Duration::from_millis(700);
/// A dialog that asks for consent without a word of what for: the most that was seen between the frame of a dialog and
/// its matter, on a busy machine, was under a second.
const SETTLE_BARE: Duration = Duration::from_millis(1500);
/// An agent's input box counts as idle when the whole screen has rested: spinners turn faster than this.
const IDLE_REST: Duration = Duration::from_millis(450);
/// The same where the kernel says nothing, for every claim of the program: "done" comes before the last words are
/// painted, and a tool that has just started says "ready" while it still loads.
const IDLE_REST_BLIND: Duration = Duration::from_millis(1000);
/// And before the first key no byte may have come for this long, which a tool that loads cannot keep.
const IDLE_SILENCE: Duration = Duration::from_millis(300);
/// Where the tool writes nothing while it waits, and does not say what it does: no byte for this long, however long the
/// text has rested. An answer that streams is drawn piece by piece, and a line of it shows only once it is whole: with
/// Codex 0.107 every piece is a repaint that changes nothing. Pieces come many times a second; a model that says nothing
/// for longer than this cannot be told from one that has finished.
const IDLE_SILENCE_OF_SILENT: Duration = Duration::from_millis(2000);
/// But some tools send bytes for ever: text that rests this long is enough.
pub(crate) const BYTES_ENOUGH: Duration = Duration::from_millis(1500);
/// And some keep a frozen spinner turning: words that rest this long are enough.
pub(crate) const WORDS_ENOUGH: Duration = Duration::from_secs(3);
/// How many times as long a dialog that the tool's pack knows may stand unread before it is doubted: a
/// tool that is starved on a busy machine was seen not to listen for two seconds under its first dialog.
const BUSY_LOOP: u32 = 3;
/// Blocked in a read behind some text that no family knows.
const UNKNOWN_READ: Duration = Duration::from_millis(100);

/// The tool said so itself, and the screen agrees.
const CERTAIN: u8 = 99;
/// The highest confidence that is still low.
const LOW: u8 = 64;

/// What is known about a reading besides itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) kernel: KernelWait,
    pub(crate) claim: Option<Claim>,
    pub(crate) alternate: bool,
    /// A hook says that a person is waited for.
    pub(crate) told: bool,
    /// The program said `blocked` (OSC 7501), and no key was given since.
    pub(crate) announced: bool,
    /// No key was given yet.
    pub(crate) starting: bool,
    /// The tool writes nothing while it waits for its next instruction.
    pub(crate) silent: bool,
    /// The cursor stands right behind some text.
    pub(crate) behind_text: bool,
    pub(crate) stuck_timeout: Duration,
}

/// When a reading becomes a sighting, if it stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) confidence: u8,
    /// The reading must have stood unchanged this long.
    pub(crate) settle: Duration,
    /// The whole screen must have been unchanged this long.
    pub(crate) rest: Duration,
    /// No byte may have come for this long, unless the screen has rested for [`BYTES_ENOUGH`].
    pub(crate) silence: Duration,
    /// However long the screen has rested.
    pub(crate) strict: bool,
}

impl Terms {
    /// Below the threshold a prompt is only possible, which is what low confidence means.
    pub(crate) fn confidence(self, threshold: u8) -> Option<Confidence> {
        let possible = self.confidence < threshold;
        Confidence::new(if possible { self.confidence.min(LOW) } else { self.confidence })
    }
}

/// The terms for a reading; `None` is a veto.
pub(crate) fn judge(reading: &Reading, known: Circumstances) -> Option<Terms> {
    let terms = judge_drawn(reading, known)?;
    let least = if reading.is_bare { SETTLE_BARE } else { Duration::ZERO };
    Some(Terms { settle: terms.settle.max(least), ..terms })
}

/// The same for a dialog that is drawn as far as it ever will be.
fn judge_drawn(reading: &Reading, known: Circumstances) -> Option<Terms> {
    match reading.place {
        // A person writes there, or left a draft: news only once nothing has moved for long.
        Place::Composer { drafted: true } => {
            return composer(reading, known).map(|terms| Terms { rest: known.stuck_timeout, ..terms });
        }
        Place::Composer { drafted: false } => return composer(reading, known),
        Place::Line { .. } | Place::Block => {}
    }
    let is_text = reading.base < 80;
    let is_block = reading.place == Place::Block;
    let settled = |settle| Terms { confidence: reading.base, settle, ..POSSIBLE };
    if known.told {
        return Some(Terms { confidence: CERTAIN, ..settled(SETTLE) });
    }
    Some(match known.kernel.wait {
        Waits::Read => Terms { confidence: (reading.base + 5).min(99), ..settled(Duration::ZERO) },
        // A program that polls without taking single keys is mostly busy elsewhere: ssh with a remote job.
        Waits::Poll if known.kernel.canonical && known.kernel.echo && is_text => doubted(known.stuck_timeout),
        Waits::Poll if is_text => settled(SETTLE_TEXT),
        Waits::Poll => settled(SETTLE),
        Waits::Unknown if known.kernel.hides_a_line() => settled(SETTLE),
        Waits::Unknown if is_text => Terms { rest: SETTLE_TEXT_BLIND, ..settled(SETTLE_TEXT_BLIND) },
        Waits::Unknown if known.announced && is_block => settled(SETTLE_ANNOUNCED),
        Waits::Unknown if known.starting && is_block => settled(SETTLE_STARTING),
        Waits::Unknown => settled(SETTLE_BLIND),
        Waits::Nobody if known.kernel.canonical => return None,
        // A busy event loop reads nothing for a moment. Its own dialog stands there: look again before it is doubted.
        Waits::Nobody if reading.dialog.is_some() => doubted(known.stuck_timeout * BUSY_LOOP),
        // Another session may read for it: tmux, screen, pinentry.
        Waits::Nobody if known.alternate || is_block || reading.kind == Kind::Idle => {
            doubted(known.stuck_timeout)
        }
        Waits::Nobody => return None,
    })
}

fn composer(reading: &Reading, known: Circumstances) -> Option<Terms> {
    if known.told {
        return None;
    }
    let claimed = known.claim == Some(Claim::Idle);
    let (rest, silence) = match known.kernel.wait {
        Waits::Nobody => return None,
        Waits::Unknown if known.starting => (IDLE_REST_BLIND, IDLE_SILENCE),
        Waits::Unknown => (IDLE_REST_BLIND, Duration::ZERO),
        Waits::Read | Waits::Poll => (IDLE_REST, Duration::ZERO),
    };
    let strict = known.silent && known.claim.is_none();
    Some(Terms {
        confidence: if claimed { 90 } else { reading.base },
        settle: SETTLE,
        rest,
        silence: if strict { IDLE_SILENCE_OF_SILENT } else { silence },
        strict,
    })
}

/// Only possible, at once: the caller has waited already.
pub(crate) const POSSIBLE: Terms = Terms {
    confidence: 60,
    settle: Duration::ZERO,
    rest: Duration::ZERO,
    silence: Duration::ZERO,
    strict: false,
};

/// The same reading, doubted: it must stand for long, and is only possible then.
pub(crate) fn doubted(rest: Duration) -> Terms {
    Terms { settle: rest, rest, ..POSSIBLE }
}

/// The terms when no family knows the screen: a possible prompt, nothing more.
pub(crate) fn judge_unknown(known: Circumstances) -> Option<Terms> {
    if known.claim == Some(Claim::Working) {
        return None;
    }
    Some(doubted(match known.kernel.wait {
        Waits::Read if known.behind_text => UNKNOWN_READ,
        Waits::Read => known.stuck_timeout,
        Waits::Poll | Waits::Unknown if known.behind_text && !known.alternate => known.stuck_timeout,
        Waits::Poll | Waits::Unknown | Waits::Nobody => return None,
    }))
}
