//! `config show`: the settings in force, as TOML, with the origin of each and every secret masked.

use std::fmt::Write;

use super::Settings;
use super::read::{Given, Origin};
use super::schema::{SECTIONS, SETTINGS};

/// TOML that says the same as the file, with every default written out.
pub(crate) fn show(settings: &Settings) -> String {
    let mut shown = String::new();
    for section in SECTIONS {
        let rows: Vec<(String, String)> = SETTINGS
            .iter()
            .filter(|setting| setting.section() == section.path)
            .filter(|setting| is_in_force(settings, setting.section()))
            .filter_map(|setting| {
                let given = settings.find(setting.path)?;
                Some((format!("{} = {}", setting.key(), given.value), origin(given)))
            })
            .collect();
        write_section(&mut shown, section.path, &rows);
    }
    shown
}

/// A channel without its section does not exist, so its defaults mean nothing.
fn is_in_force(settings: &Settings, section: &str) -> bool {
    match section {
        "telegram" | "slack" | "policy" => settings.has_section(section),
        _ => true,
    }
}

fn origin(given: &Given) -> String {
    match given.origin {
        Origin::Default => "default".to_owned(),
        Origin::File { line } => format!("line {line}"),
        Origin::Environment(name) => name.to_owned(),
    }
}

fn write_section(shown: &mut String, section: &str, rows: &[(String, String)]) {
    let gap = if shown.is_empty() { "" } else { "\n" };
    let width = rows.iter().map(|(row, _)| row.chars().count()).max().unwrap_or(0);
    let header = match rows.is_empty() {
        true => format!("# [{section}] is not configured"),
        false => format!("[{section}]"),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(shown, "{gap}{header}");
    for (row, origin) in rows {
        let _ = writeln!(shown, "{row:<width$}  # {origin}");
    }
}
