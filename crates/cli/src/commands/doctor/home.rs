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
use super::Findings;

const FIX: &str = "run: atlasbridge doctor --fix";
const CHECK: &str = "run: atlasbridge config check";

pub(super) fn checks(paths: &Paths, environment: &Environment, findings: &mut Findings) {
    home(paths, findings);
    config(paths, environment, findings);
    leftovers(paths, findings);
    if Cache::read(&paths.versions()).is_none() {
        findings.warning("cache", format!("{} cannot be read", paths.versions().display()), FIX);
    }
}

/// Makes right what costs no other user anything, and says what was done.
pub(super) fn mend(paths: &Paths, environment: &Environment, findings: &mut Findings) {
    for refused in [paths.check_home().err(), load(paths, environment).err()] {
        if let Some(ConfigError::Open { path, closed, .. }) = refused {
            close(&path, closed, findings);
        }
    }
    for file in left_behind(&paths.hooks_dir()) {
        remove(&file, "which an ended session left behind", findings);
    }
    if Cache::read(&paths.versions()).is_none() {
        remove(&paths.versions(), "which could not be read; versions are asked anew", findings);
    }
}

fn close(path: &Path, mode: u32, findings: &mut Findings) {
    let what = format!("the mode of {} is now {mode:04o}: nobody else can reach it", path.display());
    mended(fs::set_permissions(path, fs::Permissions::from_mode(mode)), what, path, findings);
}

fn remove(file: &Path, why: &str, findings: &mut Findings) {
    mended(leftovers::remove(file), format!("removed {}, {why}", file.display()), file, findings);
}

fn mended(result: io::Result<()>, what: String, path: &Path, findings: &mut Findings) {
    match result {
        Ok(()) => findings.ok("fix", what),
        Err(error) => findings.problem(
            "fix",
            format!("{} could not be mended: {error}", path.display()),
            format!("look at it: ls -ld {}", quoted(path)),
        ),
    }
}

fn home(paths: &Paths, findings: &mut Findings) {
    let home = paths.home.display();
    match paths.check_home() {
        Ok(()) => findings.ok("home", format!("{home}, reachable by you alone")),
        Err(ConfigError::Unusable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            findings.ok("home", format!("{home} is made when it is first needed"))
        }
        Err(error) => refused("home", &error, "set ATLASBRIDGE_HOME to a directory of your own", findings),
    }
}

fn config(paths: &Paths, environment: &Environment, findings: &mut Findings) {
    match load(paths, environment) {
        Ok(loaded) => {
            findings.ok("config", holding(&paths.config));
            loaded.warnings.iter().for_each(|warning| findings.warning("config", warning, CHECK));
        }
        Err(error) => refused("config", &error, CHECK, findings),
    }
}

/// An error that says what to do on its further lines, if it does. A mode can be mended.
fn refused(check: &str, error: &ConfigError, otherwise: &str, findings: &mut Findings) {
    let text = chain(error);
    let (says, next) = text.split_once("\n    ").unwrap_or((&text, otherwise));
    let is_mode = matches!(error, ConfigError::Open { .. });
    let or_fix = if is_mode { format!(", or {FIX}") } else { String::new() };
    findings.problem(check, says, format!("{next}{or_fix}"));
}

fn leftovers(paths: &Paths, findings: &mut Findings) {
    let files = left_behind(&paths.hooks_dir());
    let Some(first) = files.first() else { return };
    let says = match files.len() {
        1 => format!("an ended session left {} behind", first.display()),
        count => format!("ended sessions left {count} files in {} behind", paths.hooks_dir().display()),
    };
    findings.warning("leftovers", says, FIX);
}
