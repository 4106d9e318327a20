//! What is said of a home or a file that cannot be used, and where something stands in it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

// The cures are there to be copied.
pub(crate) use atlasbridge_agents::quoted;
use atlasbridge_model::mask::{MASK, mask};

/// The home directory or the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{doing} {}", path.display())]
    Unusable {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Other users can reach it, and could not if it had the mode `closed`.
    #[error("{says}\n    run: chmod {closed:o} {}", quoted(path))]
    Open { path: PathBuf, closed: u32, says: String },
    /// What is wrong, each with its cure on a line of its own.
    #[error("{0}")]
    Refused(String),
}

impl ConfigError {
    pub(super) fn unusable(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Unusable { doing, path: path.to_owned(), source }
    }

    pub(super) fn refused(what: impl fmt::Display, cure: impl fmt::Display) -> Self {
        Self::Refused(format!("{what}\n    {cure}"))
    }
}

/// In the order in which problems are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Both count from one; the column counts characters.
    File { line: usize, column: usize },
    /// The variable of this name.
    Environment(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { line, .. } => write!(f, "line {line}"),
            Place::Environment(name) => f.write_str(name),
        }
    }
}

/// The line and the column of a byte of the text.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The line with a caret under the column. Tokens are often what a syntax error is about (a missing quote), so
/// the line is masked first; then the caret would point at nothing and is left out.
pub(super) fn excerpt(text: &str, line: usize, column: usize) -> String {
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let shown = without_secrets(source);
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let mut excerpt = format!("    {number} | {shown}");
    if shown == source {
        let tabs_kept = |c: char| if c == '\t' { '\t' } else { ' ' };
        let padding: String = source.chars().take(column - 1).map(tabs_kept).collect();
        excerpt.push_str(&format!("\n    {gutter} | {padding}^"));
    }
    excerpt
}

/// Everything behind the word "token" goes, quoted or not; `mask` knows what else looks like a secret.
fn without_secrets(line: &str) -> String {
    match line.to_ascii_lowercase().find("token") {
        Some(start) => format!("{} … {MASK}", &line[..start + "token".len()]),
        None => mask(line).into_owned(),
    }
}
