//! What is said of a home or a file that cannot be used, and where something stands in it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

// The cures are there to be copied.
pub(crate) use atlasbridge_agents::quoted;
use atlasbridge_model::mask::{MASK, mask};

use super::paths::LONGEST_SOCKET;

/// The home directory or the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(
        "neither ATLASBRIDGE_HOME nor HOME is set, so there is no place for AtlasBridge's files\n    \
         set ATLASBRIDGE_HOME to an absolute path"
    )]
    NoHome,
    #[error(
        "{name} must be an absolute path, found `{}`\n    \
         write the whole path, from the first `/`; a `~` in quotes is not expanded",
        path.display()
    )]
    Relative { name: &'static str, path: PathBuf },
    #[error("{doing} {}", path.display())]
    Unusable {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a directory\n    set ATLASBRIDGE_HOME to another path, or move that file away", home.display())]
    NotADirectory { home: PathBuf },
    #[error(
        "{} belongs to another user (uid {owner}; you are uid {us})\n    \
         set ATLASBRIDGE_HOME to a directory of your own",
        home.display()
    )]
    HomeNotOurs { home: PathBuf, owner: u32, us: u32 },
    #[error(
        "{} can be reached by other users (mode {mode:04o}): your prompts and tokens lie there\n    \
         run: chmod 700 {}",
        home.display(), quoted(home)
    )]
    HomeOpen { home: PathBuf, mode: u32 },
    #[error(
        "the path of the hub's socket has {length} bytes, and the system takes {LONGEST_SOCKET} at most: {}\n    \
         set ATLASBRIDGE_HOME to a shorter path, for example /tmp/atlasbridge-$USER",
        socket.display()
    )]
    SocketTooLong { socket: PathBuf, length: usize },
    #[error(
        "{} is a link to a file that does not exist\n    \
         create that file, or remove the link to use the defaults",
        file.display()
    )]
    DanglingLink { file: PathBuf },
    #[error("{} is not a file\n    set ATLASBRIDGE_CONFIG to the path of a file", file.display())]
    NotAFile { file: PathBuf },
    #[error("{} is not UTF-8 text (line {line})\n    save it as UTF-8", file.display())]
    NotText { file: PathBuf, line: usize },
    #[error(
        "{} belongs to another user (uid {owner}; you are uid {us}), who could change who may answer for you\n    \
         copy it to a file of your own, or run: chown {us} {}",
        file.display(), quoted(file)
    )]
    NotOurs { file: PathBuf, owner: u32, us: u32 },
    #[error(
        "{} can be read or changed by other users (mode {mode:04o}), and it may hold tokens\n    \
         run: chmod 600 {}",
        file.display(), quoted(file)
    )]
    Open { file: PathBuf, mode: u32 },
    /// Everything that is wrong with its text, in the order of the lines.
    #[error("{0}")]
    Invalid(String),
}

impl ConfigError {
    pub(super) fn unusable(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Unusable { doing, path: path.to_owned(), source }
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
