//! What is said of a file that does not hold: where, which key, what is wrong, what to write instead.

use std::fmt;
use std::path::PathBuf;

use atlasbridge_model::mask::{MASK, mask};

/// Everything that is wrong with one file, in the order of its lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigErrors {
    pub file: PathBuf,
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub place: Place,
    /// The path of the key; empty where the text is not TOML and there is no key to name.
    pub key: String,
    pub what: String,
    pub cure: String,
    /// The offending line with a caret, for text that is not TOML.
    pub excerpt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Both count from one; the column counts characters.
    File { line: usize, column: usize },
    /// The variable of this name.
    Environment(&'static str),
}

impl Problem {
    pub(super) fn new(place: Place, key: &str, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { place, key: key.to_owned(), what: what.into(), cure: cure.into(), excerpt: None }
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let Problem { key, what, cure, .. } = problem;
            match &problem.place {
                // The column helps only where a caret points at it.
                Place::File { line, column } if problem.excerpt.is_some() => {
                    write!(f, "{}:{line}:{column}: {what}", self.file.display())?;
                }
                Place::File { line, .. } => write!(f, "{}:{line}: {key}: {what}", self.file.display())?,
                Place::Environment(name) => write!(f, "{name} (for {key}): {what}")?,
            }
            if let Some(excerpt) = &problem.excerpt {
                write!(f, "\n{excerpt}")?;
            }
            write!(f, "\n    {cure}")?;
        }
        Ok(())
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
