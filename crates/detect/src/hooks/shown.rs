//! Whether a dialog on the screen shows what a request asks for.
//!
//! # What counts as the same
//! The whole text, as whole lines of the dialog, one after the other, and nothing else on them: `ls` is not shown by
//! `ls -la`, nor by a sentence that names it. How many spaces stand in a row, where a line is wrapped and what frames it
//! change nothing; secrets are masked on both sides. Where the tool, or the limit of a [`Detail`](atlasbridge_model::Detail),
//! has cut the text and says so by a `…` at the end of a line, what stands before it must be how the text begins, and be
//! long. That is [`Extent::Cut`]: enough for a request of which the person is told everything, and for no other.

use atlasbridge_model::mask::mask;

/// How much of what a request asks for its dialog shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Its beginning, up to a `…`.
    Cut,
    Whole,
}

/// Characters before a `…` that make a text known: commands that differ only behind them are rare, and where two wait
/// at once neither is taken.
const LEAST_BEFORE_CUT: usize = 60;

/// The lines of a dialog that say something.
pub(super) struct Lines(Vec<String>);

impl Lines {
    pub(super) fn of(dialog: &str) -> Self {
        Self(dialog.lines().map(plain).filter(|line| !line.is_empty()).collect())
    }

    /// Those above the row with this label, where it is shown.
    pub(super) fn above(mut self, label: &str) -> Self {
        let row = plain(&format!("1. {label}"));
        let is_row = |line: &String| line.trim_start_matches(['›', '❯', '>', ' ']).starts_with(&row);
        self.0.truncate(self.0.iter().position(is_row).unwrap_or(self.0.len()));
        self
    }

    pub(super) fn show(&self, text: &str) -> Option<Extent> {
        self.runs(text).map(|(extent, _)| extent).max()
    }

    /// The text is the last that they say.
    pub(super) fn end_in(&self, text: &str) -> Option<Extent> {
        self.runs(text).filter(|(_, end)| *end == self.0.len()).map(|(extent, _)| extent).max()
    }

    /// Wherever the text begins: how much of it is there, and before which line it ends.
    fn runs(&self, text: &str) -> impl Iterator<Item = (Extent, usize)> {
        let wanted = plain(&mask(text));
        (0..self.0.len()).filter_map(move |start| {
            let (extent, lines) = run(&self.0[start..], &wanted)?;
            Some((extent, start + lines))
        })
    }

    pub(super) fn count(&self, beginning: &str) -> usize {
        self.0.iter().filter(|line| line.starts_with(beginning)).count()
    }
}

/// How much of the text these lines begin with, and in how many of them.
fn run(lines: &[String], wanted: &str) -> Option<(Extent, usize)> {
    let mut rest = wanted;
    for (at, line) in lines.iter().enumerate() {
        let Some(after) = rest.strip_prefix(line.as_str()) else {
            let shown = line.strip_suffix('…').map(str::trim_end).filter(|shown| rest.starts_with(shown))?;
            let before = wanted[..wanted.len() - rest.len() + shown.len()].chars().count();
            return (before >= LEAST_BEFORE_CUT).then_some((Extent::Cut, at + 1));
        };
        // A line is wrapped between two words or within one.
        rest = after.trim_start();
        if rest.is_empty() {
            return Some((Extent::Whole, at + 1));
        }
    }
    None
}

/// Words with one space between them, without frames.
fn plain(text: &str) -> String {
    let is_frame = |char: &char| ('\u{2500}'..='\u{257f}').contains(char);
    let text: String = text.chars().filter(|char| !is_frame(char)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
