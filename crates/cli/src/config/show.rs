//! `config show`: the settings in force, as TOML, with the origin of each and every secret masked.

use std::fmt::Write;

use super::schema::SECTIONS;

/// One setting in force.
#[derive(Debug, Clone)]
pub(crate) struct ShownSetting {
    pub(super) section: &'static str,
    /// As the file would have it, with secrets masked.
    pub(super) row: String,
    pub(super) origin: String,
}

/// TOML that says the same as the file, with every default written out.
pub(crate) fn show(settings: &[ShownSetting]) -> String {
    let mut shown = String::new();
    for section in SECTIONS {
        let rows: Vec<_> = settings.iter().filter(|setting| setting.section == section.path).collect();
        let width = rows.iter().map(|setting| setting.row.chars().count()).max().unwrap_or(0);
        let gap = if shown.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = match rows.is_empty() {
            true => writeln!(shown, "{gap}# [{}] is not configured", section.path),
            false => writeln!(shown, "{gap}[{}]", section.path),
        };
        for ShownSetting { row, origin, .. } in rows {
            let _ = writeln!(shown, "{row:<width$}  # {origin}");
        }
    }
    shown
}
