//! The session's journal: an intent is on disk before a byte is typed.
//!
//! One file per session under the journal directory, made when the first prompt is seen, removed when the hub has
//! noted the session's end. If the host is killed, the hub reads it instead of guessing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use atlasbridge_wire::encode;
use atlasbridge_wire::journal::JournalEntry;

#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Option<File>,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Makes the file before it is needed, so that an injection waits for one flush only. A failure here is met
    /// again, and reported, by the intent that needs the file.
    pub(crate) fn prepare(&mut self) {
        let _ = self.open();
    }

    /// Durable when this returns.
    pub(crate) fn intend(&mut self, entry: &JournalEntry) -> io::Result<()> {
        let file = self.open()?;
        file.write_all(&encode(entry))?;
        file.sync_data()
    }

    /// An outcome that is lost reads as *unknown*, which is true: so it is written, but not waited for.
    pub(crate) fn note(&mut self, entry: &JournalEntry) {
        if let Some(file) = &mut self.file {
            let _ = file.write_all(&encode(entry));
        }
    }

    pub(crate) fn remove(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn open(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let parent = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
                fs::create_dir_all(parent)?;
                let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
                // The name must survive a power cut as well as the content.
                File::open(parent)?.sync_all()?;
                file
            }
        };
        Ok(self.file.insert(file))
    }
}
