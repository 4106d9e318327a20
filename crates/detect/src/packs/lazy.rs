//! A pattern that is compiled when it is first asked. A session meets few of the dialogs that its pack knows, and
//! compiling all of them costs it milliseconds at its start and megabytes for as long as it lives.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

#[derive(Debug, Clone)]
pub(crate) struct LazyRegex {
    source: String,
    regex: OnceLock<Regex>,
}

impl LazyRegex {
    /// The source is known to be good: it is part of this binary, and a test compiles all of those.
    pub(super) fn built_in(source: String) -> Self {
        Self { source, regex: OnceLock::new() }
    }

    /// Compiled at once, so that whoever wrote it learns what is wrong with it.
    pub(super) fn tried(source: &str) -> Result<Self, regex::Error> {
        Ok(Self { source: source.to_owned(), regex: OnceLock::from(Regex::new(source)?) })
    }
}

impl Deref for LazyRegex {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| {
            Regex::new(&self.source)
                .expect("a test compiles every pattern of the binary, and others were tried")
        })
    }
}
