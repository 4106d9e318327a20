//! The file itself: whose it is, who can read it, and its text.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::ConfigError;

/// The text of the file; `None` if there is no such file.
pub(crate) fn read_if_present(file: &Path) -> Result<Option<String>, ConfigError> {
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) | Ok(_) => read(file).map(Some),
    }
}

/// The text of a file that only we can reach. A link is followed, and the file at its end is judged.
pub(super) fn read(file: &Path) -> Result<String, ConfigError> {
    let unreadable = ConfigError::unusable("reading", file);
    let here = fs::symlink_metadata(file).map_err(&unreadable)?;
    let target = match fs::metadata(file) {
        Err(error) if here.is_symlink() && error.kind() == io::ErrorKind::NotFound => {
            let file = file.to_owned();
            return Err(ConfigError::DanglingLink { file });
        }
        target => target.map_err(&unreadable)?,
    };
    // Before opening: a named pipe would keep us waiting for its writer.
    if !target.is_file() {
        return Err(ConfigError::NotAFile { file: file.to_owned() });
    }
    let mut open = File::open(file).map_err(&unreadable)?;
    // Judge what was opened, not what had the name a moment ago.
    let metadata = open.metadata().map_err(&unreadable)?;
    let us = our_uid();
    match exposure(metadata.uid(), metadata.mode(), us) {
        None => {}
        Some(Exposure::OtherOwner { owner }) => {
            return Err(ConfigError::NotOurs { file: file.to_owned(), owner, us });
        }
        Some(Exposure::OtherUsers { mode }) => return Err(ConfigError::Open { file: file.to_owned(), mode }),
    }
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).map_err(&unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        ConfigError::NotText { file: file.to_owned(), line: good.split(|byte| *byte == b'\n').count() }
    })
}

/// Why a file or directory is not private to us.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Exposure {
    OtherOwner { owner: u32 },
    OtherUsers { mode: u32 },
}

/// The owner comes first: for a file of another user `chmod` is no cure.
pub(super) fn exposure(owner: u32, mode: u32, us: u32) -> Option<Exposure> {
    match (owner == us, mode & 0o077) {
        (false, _) => Some(Exposure::OtherOwner { owner }),
        (true, 0) => None,
        (true, _) => Some(Exposure::OtherUsers { mode: mode & 0o7777 }),
    }
}

pub(super) fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
