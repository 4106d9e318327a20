//! `config show`: the settings in force, as TOML, with the origin of each and every secret masked.

use std::fmt::Write;

use super::Settings;
use super::read::Origin;
use super::schema::SECTIONS;

/// TOML that says the same as the file, with every default written out.
pub(crate) fn show(settings: &Settings) -> String {
    let mut shown = String::new();
    for section in SECTIONS {
        let rows = settings.0.iter().filter(|setting| setting.section == section.path);
        let rows: Vec<_> = rows.map(|row| (format!("{} = {}", row.key, row.value), &row.origin)).collect();
        let width = rows.iter().map(|(row, _)| row.chars().count()).max().unwrap_or(0);
        let gap = if shown.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = match rows.is_empty() {
            true => writeln!(shown, "{gap}# [{}] is not configured", section.path),
            false => writeln!(shown, "{gap}[{}]", section.path),
        };
        for (row, origin) in rows {
            let _ = match origin {
                Origin::Default => writeln!(shown, "{row:<width$}  # default"),
                Origin::File { line } => writeln!(shown, "{row:<width$}  # line {line}"),
                Origin::Environment(name) => writeln!(shown, "{row:<width$}  # {name}"),
            };
        }
    }
    shown
}
