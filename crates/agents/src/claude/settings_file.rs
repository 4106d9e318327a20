//! The settings of one session, in a file of its own: there while the session lives, gone with it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::surroundings::create_private;

/// Removed when this is dropped. A session host that is killed leaves it behind; the lock on it is gone then, which
/// tells `doctor` that no session needs it any more.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
    /// Locked for as long as the session lives.
    _locked: File,
}

impl SettingsFile {
    /// Settings may hold what a person put into their own, so no other user may read them.
    pub(crate) fn write(path: PathBuf, settings: &Value) -> io::Result<Self> {
        create_private(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        file.lock()?;
        let made = Self { path, _locked: file.try_clone()? };
        file.write_all(&serde_json::to_vec_pretty(settings)?)?;
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SettingsFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the session of these settings has ended without removing them.
pub(crate) fn is_left_behind(settings: &Path) -> bool {
    File::open(settings).is_ok_and(|file| file.try_lock_shared().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_locked_and_gone_in_the_end() {
        let home = std::env::temp_dir().join(format!("ab-hooks-{}", std::process::id()));
        let path = home.join("hooks").join("session.json");
        let file = SettingsFile::write(path.clone(), &serde_json::json!({ "hooks": {} })).unwrap();
        assert_eq!(file.path(), path);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&home.join("hooks"))), (0o600, 0o700));
        assert!(!is_left_behind(&path));
        // As a killed session host leaves it: the file without the lock.
        let left = home.join("hooks").join("left.json");
        fs::copy(&path, &left).unwrap();
        assert!(is_left_behind(&left));
        drop(file);
        assert!(!path.exists());
        fs::remove_dir_all(&home).unwrap();
    }
}
