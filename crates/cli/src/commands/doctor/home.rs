//! Our own files: the home directory, the configuration, what ended sessions left behind. The one part that mends.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atlasbridge_agents::leftovers::{self, left_behind};
use atlasbridge_agents::version::Cache;

use crate::config::{ConfigError, Environment, Paths, load, quoted};
use crate::output::chain;

use super::super::config::holding;
use super::Finding;

const FIX: &str = "run: atlasbridge doctor --fix";
const CHECK: &str = "run: atlasbridge config check";

pub(super) fn checks(paths: &Paths, environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![home(paths)];
    findings.extend(config(paths, environment));
    findings.extend(leftovers(paths));
    findings.extend(cache(paths));
    findings
}

/// Makes right what costs no other user anything, and says what was done.
pub(super) fn mend(paths: &Paths, environment: &Environment) -> Vec<Finding> {
    let mut done = Vec::new();
    for refused in [paths.check_home().err(), load(paths, environment).err()] {
        if let Some(ConfigError::Open { path, closed, .. }) = refused {
            done.push(close(&path, closed));
        }
    }
    for file in left_behind(&paths.hooks_dir()) {
        done.push(remove(&file, "which an ended session left behind"));
    }
    if Cache::read(&paths.versions()).is_none() {
        done.push(remove(&paths.versions(), "which could not be read; versions are asked anew"));
    }
    done
}

fn close(path: &Path, mode: u32) -> Finding {
    let what = format!("the mode of {} is now {mode:04o}: nobody else can reach it", path.display());
    mended(fs::set_permissions(path, fs::Permissions::from_mode(mode)), what, path)
}

fn remove(file: &Path, why: &str) -> Finding {
    mended(leftovers::remove(file), format!("removed {}, {why}", file.display()), file)
}

fn mended(result: io::Result<()>, what: String, path: &Path) -> Finding {
    match result {
        Ok(()) => Finding::ok("fix", what),
        Err(error) => Finding::problem(
            "fix",
            format!("{} could not be mended: {error}", path.display()),
            format!("look at it: ls -ld {}", quoted(path)),
        ),
    }
}

fn home(paths: &Paths) -> Finding {
    let home = paths.home.display();
    match paths.check_home() {
        Ok(()) => Finding::ok("home", format!("{home}, reachable by you alone")),
        Err(ConfigError::Unusable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Finding::ok("home", format!("{home} is made when it is first needed"))
        }
        Err(error) => refused("home", &error, "set ATLASBRIDGE_HOME to a directory of your own"),
    }
}

fn config(paths: &Paths, environment: &Environment) -> Vec<Finding> {
    match load(paths, environment) {
        Ok(loaded) => {
            let warnings = loaded.warnings.iter().map(|warning| Finding::warning("config", warning, CHECK));
            [Finding::ok("config", holding(&paths.config))].into_iter().chain(warnings).collect()
        }
        Err(error) => vec![refused("config", &error, CHECK)],
    }
}

/// An error that says what to do on its further lines, if it does. A mode can be mended.
fn refused(check: &str, error: &ConfigError, otherwise: &str) -> Finding {
    let text = chain(error);
    let (says, next) = text.split_once("\n    ").unwrap_or((&text, otherwise));
    let is_mode = matches!(error, ConfigError::Open { .. });
    let or_fix = if is_mode { format!(", or {FIX}") } else { String::new() };
    Finding::problem(check, says, format!("{next}{or_fix}"))
}

fn leftovers(paths: &Paths) -> Option<Finding> {
    let files = left_behind(&paths.hooks_dir());
    let first = files.first()?;
    let says = match files.len() {
        1 => format!("an ended session left {} behind", first.display()),
        count => format!("ended sessions left {count} files in {} behind", paths.hooks_dir().display()),
    };
    Some(Finding::warning("leftovers", says, FIX))
}

fn cache(paths: &Paths) -> Option<Finding> {
    let file = paths.versions();
    let is_broken = Cache::read(&file).is_none();
    is_broken.then(|| Finding::warning("cache", format!("{} cannot be read", file.display()), FIX))
}
