//! Programs of others that tests drive: fetched once, at a pinned version, into a cache that all suites share.
//!
//! What cannot be fetched fails the test with the reason; nothing is skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of a virtual environment with this package from PyPI.
#[track_caller]
pub fn python_package(name: &str, version: &str) -> PathBuf {
    let directory = kept(&format!("python-{name}-{version}"), |directory| {
        run(Command::new("python3").args(["-m", "venv"]).arg(directory));
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(directory.join("bin/python"))
            .args(pip)
            .arg(format!("{name}=={version}")));
    });
    directory.join("bin/python")
}

/// The `node_modules` with this package from npm; for `NODE_PATH`.
#[track_caller]
pub fn npm_package(name: &str, version: &str) -> PathBuf {
    let directory = kept(
        &format!("npm-{}-{version}", name.replace('/', "-")),
        |directory| {
            fs::create_dir_all(directory).unwrap();
            let quiet = [
                "--silent",
                "--no-audit",
                "--no-fund",
                "--no-save",
                "--ignore-scripts",
            ];
            run(Command::new("npm")
                .arg("install")
                .args(quiet)
                .arg("--prefix")
                .arg(directory)
                .arg(format!("{name}@{version}")));
        },
    );
    directory.join("node_modules")
}

/// A directory of the cache, made by `make` unless it was made before. Two suites at once make it once.
#[track_caller]
fn kept(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let directory = cache().join(name);
    fs::create_dir_all(cache()).unwrap();
    let lock = File::create(cache().join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    // Written last: without it the making was cut short.
    let complete = directory.join(".complete");
    if !complete.exists() {
        let _ = fs::remove_dir_all(&directory);
        make(&directory);
        fs::write(complete, "").unwrap();
    }
    directory
}

fn cache() -> PathBuf {
    let of_user = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
    let of_user = of_user.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cache"))
    });
    of_user
        .unwrap_or_else(std::env::temp_dir)
        .join("atlasbridge-tests")
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
