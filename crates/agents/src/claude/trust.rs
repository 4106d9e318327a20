//! Whether Claude trusts the folder it is started in. In one that it does not trust it asks first, and no hook of any
//! settings runs before the answer.
//!
//! Measured on 2.1.325, 2.1.197 and 2.0.77: the folder itself or one above it must be remembered as trusted. 2.1.325
//! looks no higher than the root of the repository; the older two look up to the root of the disk.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::version::Version;

use super::Places;

/// The newest that is known to look above the root of the repository.
const LOOKS_ABOVE: Version = Version(2, 1, 197);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// In this folder, which is the current one or lies above it.
    Accepted { folder: PathBuf },
    /// Claude will ask.
    Asks,
}

pub(super) fn trust(version: Version, places: &Places) -> Trust {
    let state = places.state.as_ref().and_then(|file| fs::read(file).ok());
    let state: Value = state.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let cwd = fs::canonicalize(&places.cwd).unwrap_or_else(|_| places.cwd.clone());
    let repository =
        cwd.ancestors().find(|folder| folder.join(".git").exists()).filter(|_| version > LOOKS_ABOVE);
    match trusted_folder(&state, &cwd, repository) {
        Some(folder) => Trust::Accepted { folder: folder.to_owned() },
        None => Trust::Asks,
    }
}

/// The nearest folder that is remembered, no higher than `top`.
fn trusted_folder<'a>(state: &Value, cwd: &'a Path, top: Option<&Path>) -> Option<&'a Path> {
    let is_below_top = |folder: &&Path| top.is_none_or(|top| folder.starts_with(top));
    cwd.ancestors().take_while(is_below_top).find(|folder| {
        let folder = folder.to_str().unwrap_or_default();
        state["projects"][folder]["hasTrustDialogAccepted"] == true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(trusted: &[&str], cwd: &str, top: Option<&str>, expected: Option<&str>) {
        let accepted = json!({ "hasTrustDialogAccepted": true });
        let mut projects = json!({ "/else": { "hasTrustDialogAccepted": false } });
        for folder in trusted {
            projects[*folder] = accepted.clone();
        }
        let state = json!({ "projects": projects });
        let found = trusted_folder(&state, Path::new(cwd), top.map(Path::new));
        assert_eq!(found, expected.map(Path::new), "{trusted:?} {cwd} {top:?}");
    }

    /// Each row was measured: the trust dialog came, or a hook of `SessionStart` ran.
    #[test]
    fn the_folder_or_one_above_it_up_to_the_repository() {
        check(&[], "/p", None, None);
        check(&["/p"], "/p", None, Some("/p"));
        check(&["/p"], "/p/sub/deep", None, Some("/p"));
        check(&["/p"], "/p/sub/deep", Some("/p"), Some("/p"));
        check(&["/p"], "/p/sub", Some("/p/sub"), None);
        check(&["/p/sub"], "/p/sub", Some("/p"), Some("/p/sub"));
        check(&["/p"], "/private", None, None);
        check(&[], "/else", None, None);
        assert_eq!(trusted_folder(&Value::Null, Path::new("/p"), None), None);
    }
}
