//! The file itself: whose it is, who can read it, and its text.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{ConfigError, quoted};

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
    let shown = file.display();
    let here = fs::symlink_metadata(file).map_err(&unreadable)?;
    let target = match fs::metadata(file) {
        Err(error) if here.is_symlink() && error.kind() == io::ErrorKind::NotFound => {
            let what = format!("{shown} is a link to a file that does not exist");
            let cure = "create that file, or remove the link to use the defaults";
            return Err(ConfigError::refused(what, cure));
        }
        target => target.map_err(&unreadable)?,
    };
    // Before opening: a named pipe would keep us waiting for its writer.
    if !target.is_file() {
        let cure = "set ATLASBRIDGE_CONFIG to the path of a file";
        return Err(ConfigError::refused(format!("{shown} is not a file"), cure));
    }
    let mut open = File::open(file).map_err(&unreadable)?;
    // Judge what was opened, not what had the name a moment ago.
    let metadata = open.metadata().map_err(&unreadable)?;
    let us = our_uid();
    match exposure(metadata.uid(), metadata.mode(), us) {
        None => {}
        Some(Exposure::OtherOwner { owner }) => {
            let risk = "who could change who may answer for you";
            let what = format!("{shown} belongs to another user (uid {owner}; you are uid {us}), {risk}");
            let cure = format!("copy it to a file of your own, or run: chown {us} {}", quoted(file));
            return Err(ConfigError::refused(what, cure));
        }
        Some(Exposure::OtherUsers { mode }) => {
            let reach = format!("can be read or changed by other users (mode {mode:04o})");
            let says = format!("{shown} {reach}, and it may hold tokens");
            return Err(ConfigError::Open { path: file.to_owned(), closed: 0o600, says });
        }
    }
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).map_err(&unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        ConfigError::refused(format!("{shown} is not UTF-8 text (line {line})"), "save it as UTF-8")
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
