//! A pattern that is compiled when it is first asked. A session meets few of the dialogs that its pack knows, and
//! compiling all of them costs it milliseconds at its start and megabytes for as long as it lives.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;
use toml::Spanned;

/// A text of a pack's file, and where in the file it begins, in bytes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Spanned<String>")]
pub(crate) struct Located {
    pub(crate) text: String,
    pub(super) at: usize,
}

impl From<Spanned<String>> for Located {
    fn from(source: Spanned<String>) -> Self {
        Self { at: source.span().start, text: source.into_inner() }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Located")]
pub(crate) struct LazyRegex {
    source: Located,
    regex: OnceLock<Regex>,
}

impl From<Located> for LazyRegex {
    fn from(source: Located) -> Self {
        Self { source, regex: OnceLock::new() }
    }
}

impl LazyRegex {
    pub(super) fn new(text: String) -> Self {
        Self::from(Located { text, at: 0 })
    }

    /// For nothing less than the whole text.
    pub(super) fn whole(self) -> Self {
        let Located { text, at } = self.source;
        Self::from(Located { text: format!("^(?:{text})$"), at })
    }

    pub(super) fn at(&self) -> usize {
        self.source.at
    }

    /// Compiled at once, so that the author of a file learns what is wrong with it.
    pub(super) fn compiled(&self) -> Result<&Regex, regex::Error> {
        let regex = Regex::new(&self.source.text)?;
        Ok(self.regex.get_or_init(|| regex))
    }
}

impl Deref for LazyRegex {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| {
            Regex::new(&self.source.text).expect(
                "a test compiles every pattern of the binary, and others were compiled when they were read",
            )
        })
    }
}
