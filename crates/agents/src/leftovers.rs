//! What sessions leave behind whose session host was killed.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::claude::is_left_behind;

/// Settings whose session holds no lock on them any more, sockets on which no process listens, and places of servers that are gone.
pub fn left_behind(hooks_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(hooks_dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|file| is_stale(file)).collect();
    files.sort();
    files
}

fn is_stale(file: &Path) -> bool {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("json") => is_left_behind(file),
        Some("sock") => {
            UnixStream::connect(file).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        }
        // Of a server, which is there only while a session host listens for what it asks.
        Some("d") => [file.with_extension("sock"), file.join("s")]
            .iter()
            .all(|socket| UnixStream::connect(socket).is_err()),
        _ => false,
    }
}

/// Removes one of them.
pub fn remove(file: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(file)?.is_dir() {
        return fs::remove_file(file);
    }
    // The socket of a server, or a link to it; there is nothing else in such a directory.
    let _ = fs::remove_file(file.join("s"));
    fs::remove_dir(file)
}
