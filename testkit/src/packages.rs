//! Programs of others that tests drive: fetched once, at a pinned version, into a cache that all suites share.
//!
//! What cannot be fetched fails the test with the reason; nothing is skipped. Only the agents of `agents` may be left out, and say
//! so: they come from `try_npm_package` and `try_python_package`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of a virtual environment with this package from PyPI.
#[track_caller]
pub fn python_package(name: &str, version: &str) -> PathBuf {
    try_python_package(name, version).unwrap_or_else(|reason| panic!("{reason}"))
}

/// The `node_modules` with this package from npm; for `NODE_PATH`.
#[track_caller]
pub fn npm_package(name: &str, version: &str) -> PathBuf {
    try_npm_package(name, version).unwrap_or_else(|reason| panic!("{reason}"))
}

/// The same, or why it cannot be had.
pub(crate) fn try_python_package(name: &str, version: &str) -> Result<PathBuf, String> {
    let place = format!("python-{name}-{version}");
    let proof = "bin/python";
    let directory = kept(&cache(), &place, proof, |directory| {
        run(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        run(Command::new(directory.join(proof))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(format!("{name}=={version}")))
    })?;
    Ok(directory.join(proof))
}

/// The same, or why it cannot be had.
pub(crate) fn try_npm_package(name: &str, version: &str) -> Result<PathBuf, String> {
    let place = format!("npm-{}-{version}", name.replace('/', "-"));
    let proof = format!("node_modules/{name}/package.json");
    let directory = kept(&cache(), &place, &proof, |directory| {
        fs::create_dir_all(directory).unwrap();
        let quiet = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error"];
        run(Command::new("npm")
            .arg("install")
            .args(quiet)
            .arg("--prefix")
            .arg(directory)
            .arg(format!("{name}@{version}")))
    })?;
    Ok(directory.join("node_modules"))
}

/// A directory of the cache, made by `make` unless it was made before. Two suites at once make it once.
fn kept(
    cache: &Path,
    name: &str,
    proof: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    fs::create_dir_all(cache).unwrap();
    let directory = cache.join(name);
    let lock = File::create(cache.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    // Written last: without it the making was cut short. The proof goes with the Python that it points to.
    let complete = directory.join(".complete");
    if !complete.exists() || !directory.join(proof).exists() {
        let _ = fs::remove_dir_all(&directory);
        make(&directory)?;
        fs::write(complete, "").unwrap();
    }
    Ok(directory)
}

fn cache() -> PathBuf {
    let of_user = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
    let of_user = of_user.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cache"))
    });
    of_user.unwrap_or_else(std::env::temp_dir).join("atlasbridge-tests")
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?} does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?} failed\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_short_is_made_again_and_what_is_complete_is_not() {
        let cache = std::env::temp_dir().join(format!("ab-packages-{}", std::process::id()));
        let _ = fs::remove_dir_all(&cache);
        let make = |directory: &Path| {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("proof"), "new").unwrap();
            Ok(())
        };
        fs::create_dir_all(cache.join("a")).unwrap();
        fs::write(cache.join("a/proof"), "half").unwrap();
        let made = kept(&cache, "a", "proof", make).unwrap();
        assert_eq!(fs::read_to_string(made.join("proof")).unwrap(), "new");
        kept(&cache, "a", "proof", |_| panic!("made twice")).unwrap();
        fs::remove_file(made.join("proof")).unwrap();
        let gone = kept(&cache, "a", "proof", |_| Err("nobody sells it".to_owned()));
        assert_eq!(gone.unwrap_err(), "nobody sells it");
        kept(&cache, "a", "proof", make).unwrap();
        assert!(made.join("proof").exists());
        fs::remove_dir_all(cache).unwrap();
    }
}
