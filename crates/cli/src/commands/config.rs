//! `config`: where it is, what is in force, whether it holds.

use std::path::Path;

use crate::args::ConfigCommand;
use crate::config::{Environment, Paths, load, load_file, reference};
use crate::output::Output;

pub(super) fn run(command: ConfigCommand, output: &Output) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let paths = Paths::new(&environment)?;
    match command {
        ConfigCommand::Path => output.line(&paths.config.display().to_string()),
        ConfigCommand::Show => output.raw(&load(&paths, &environment)?.shown),
        ConfigCommand::Reference => output.raw(&reference()),
        ConfigCommand::Check { file } => {
            let (loaded, file) = match file {
                Some(file) => (load_file(&file, &environment)?, file),
                None => (load(&paths, &environment)?, paths.config),
            };
            for warning in &loaded.warnings {
                output.warn(warning);
            }
            output.line(&holding(&file));
        }
    }
    Ok(())
}

/// Of a file that has no problem.
pub(super) fn holding(file: &Path) -> String {
    let found = if file.exists() { "holds" } else { "does not exist; the defaults hold" };
    format!("{} {found}", file.display())
}
