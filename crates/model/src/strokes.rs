//! What is typed for an answer: a few strokes, each one write, with what must be seen before the next.
//!
//! One key per write, then look (facts: in most agents text and Enter in one write is no submit, and an Enter
//! "to be sure" approves the next dialog). So a second stroke is never sent blindly.

use std::fmt;

/// When a stroke may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once, after the gate's checks.
    Now,
    /// Only after the screen has shown the stroke before it, and only while the same prompt still stands.
    IfStillThere,
    /// Only while the rows show that it is the next one: see [`Strokes::guided`].
    Guided,
}

/// One write to the terminal.
#[derive(Clone, PartialEq, Eq)]
pub struct Stroke {
    pub bytes: Vec<u8>,
    pub pace: Pace,
}

/// The strokes of one answer, in order. Never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct Strokes(Vec<Stroke>);

impl Strokes {
    /// `None` for no stroke at all, or an empty one.
    pub fn new(strokes: Vec<Stroke>) -> Option<Self> {
        let complete = !strokes.is_empty() && strokes.iter().all(|stroke| !stroke.bytes.is_empty());
        complete.then_some(Self(strokes))
    }

    /// One write: a single key, or a whole line with its Enter.
    pub fn once(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Stroke { bytes: bytes.into(), pace: Pace::Now }])
    }

    /// `text`, and Enter only if the prompt still stands after the text was seen.
    pub fn then_enter_if_still_there(text: impl Into<Vec<u8>>) -> Self {
        Self(vec![
            Stroke { bytes: text.into(), pace: Pace::Now },
            Stroke { bytes: b"\r".to_vec(), pace: Pace::IfStillThere },
        ])
    }

    pub fn enter() -> Self {
        Self::once(*b"\r")
    }

    /// Keys of a row that is reached by moving a marker or a tick, as they are needed while the screen stays as it is.
    ///
    /// # No-blind-Enter invariant
    /// These are never typed as a list. After each key the rows are read again, and what the row takes *then* must be
    /// fewer keys than before; so Enter is pressed only where the marker was seen on the row. Measured: Continue's menu
    /// loses one of two arrows that come together, and an Enter after them ran the command that was refused.
    pub fn guided(keys: impl IntoIterator<Item = Vec<u8>>) -> Option<Self> {
        let pace = Pace::Guided;
        Self::new(keys.into_iter().map(|bytes| Stroke { bytes, pace }).collect())
    }

    pub fn is_guided(&self) -> bool {
        self.0.iter().any(|stroke| stroke.pace == Pace::Guided)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn iter(&self) -> impl Iterator<Item = &Stroke> {
        self.0.iter()
    }

    pub fn into_vec(self) -> Vec<Stroke> {
        self.0
    }

    /// As one string, for prompt records: what would be typed if every stroke were needed.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|stroke| String::from_utf8_lossy(&stroke.bytes)).collect()
    }
}

/// Strokes may carry a typed secret: lengths only.
impl fmt::Debug for Strokes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

impl fmt::Debug for Stroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stroke({} bytes, {:?})", self.bytes.len(), self.pace)
    }
}
