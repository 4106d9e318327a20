//! The text files of the repository, read once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Texts by path from the root, in order.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    texts: Vec<(String, String)>,
}

/// Made by tools, not by us.
const SKIPPED: [&str; 4] = ["target", ".git", "node_modules", "Cargo.lock"];

impl Files {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Self { root: root.to_owned(), texts: Vec::new() };
        files.walk(root)?;
        files.texts.sort();
        Ok(files)
    }

    #[cfg(test)]
    pub(crate) fn fake(texts: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { root: PathBuf::from("/nonexistent"), texts: texts.iter().map(own).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == path).map(|(_, text)| text)
    }

    /// Whether a path from the root names a file or directory.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.text(path).is_some() || self.root.join(path).exists()
    }

    fn walk(&mut self, directory: &Path) -> anyhow::Result<()> {
        let entries = fs::read_dir(directory).with_context(|| format!("listing {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(&path)?;
            } else if kind.is_file() {
                self.keep_text(&path);
            }
        }
        Ok(())
    }

    /// What is not UTF-8 is not text, and what vanished since it was listed is not there.
    fn keep_text(&mut self, path: &Path) {
        let (Ok(text), Ok(relative)) = (fs::read_to_string(path), path.strip_prefix(&self.root)) else {
            return;
        };
        self.texts.push((relative.display().to_string(), text));
    }
}
