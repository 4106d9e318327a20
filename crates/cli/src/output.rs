//! The one place that prints. Tables and colours only on a terminal; an error says what is wrong, where, and what next.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use atlasbridge_model::visible::visible;
use comfy_table::{ContentArrangement, Table, presets};
use owo_colors::OwoColorize;
use serde::Serialize;

#[derive(Debug)]
pub(crate) struct Output {
    is_terminal: bool,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    Ok,
    Warning,
    Problem,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { is_terminal: io::stdout().is_terminal() }
    }

    /// Whether a person looks at it right now.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub(crate) fn line(&self, text: &str) {
        self.write(&format!("{}\n", shown(text)));
    }

    /// Text that stands as it is: documents, scripts, JSON lines.
    pub(crate) fn raw(&self, text: &str) {
        self.write(text);
    }

    /// `name  value` rows.
    pub(crate) fn fields(&self, fields: &[(&str, String)]) {
        let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in fields {
            let padded = format!("{name:width$}");
            self.write(&format!("{}  {}\n", padded.dimmed(), shown(value)));
        }
    }

    /// A line under a mark that says how something stands: a coloured sign on a terminal, a word elsewhere.
    pub(crate) fn marked(&self, severity: Severity, text: &str) {
        let mark = match (severity, self.is_terminal) {
            (Severity::Ok, true) => "✔".green().bold().to_string(),
            (Severity::Warning, true) => "!".yellow().bold().to_string(),
            (Severity::Problem, true) => "✖".red().bold().to_string(),
            (Severity::Ok, false) => "ok     ".to_owned(),
            (Severity::Warning, false) => "warning".to_owned(),
            (Severity::Problem, false) => "problem".to_owned(),
        };
        self.write(&format!("{mark} {}\n", shown(text)));
    }

    /// A warning, beside the result.
    pub(crate) fn warn(&self, text: &str) {
        self.beside("warning:".yellow().bold(), text);
    }

    /// What the operator should know, after a session gave the terminal back.
    pub(crate) fn notice(&self, text: &str) {
        self.beside("atlasbridge:".bold(), text);
    }

    /// An error with its causes, once each.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.beside("atlasbridge:".red().bold(), &chain(error.as_ref()));
    }

    /// On standard error, where it is no part of the result.
    fn beside(&self, mark: impl std::fmt::Display, text: &str) {
        let _ = writeln!(AutoStream::auto(io::stderr()), "{mark} {}", shown(text));
    }

    pub(crate) fn json<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        self.write(&format!("{}\n", serde_json::to_string_pretty(value)?));
        Ok(())
    }

    /// As JSON where that was asked for, else as a line.
    pub(crate) fn told<T: Serialize>(&self, json: bool, value: &T, text: &str) -> anyhow::Result<()> {
        if json {
            return self.json(value);
        }
        self.line(text);
        Ok(())
    }

    pub(crate) fn json_line<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        self.write(&format!("{}\n", serde_json::to_string(value)?));
        Ok(())
    }

    /// A table that fits the terminal, or a sentence there if it has no rows; tab-separated where a program reads it.
    pub(crate) fn table(&self, header: &[&str], rows: impl Iterator<Item = Vec<String>>, if_empty: &str) {
        let mut rows = rows.peekable();
        if !self.is_terminal {
            for row in rows {
                let cells: Vec<_> = row.iter().map(|cell| shown(cell).replace(['\n', '\t'], " ")).collect();
                self.write(&format!("{}\n", cells.join("\t")));
            }
            return;
        }
        if rows.peek().is_none() {
            return self.line(if_empty);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if let Ok(size) = atlasbridge_pty::window_size(io::stdout()) {
            table.set_width(size.ws_col);
        }
        table.set_header(header.iter().map(|name| name.to_uppercase()).collect::<Vec<_>>());
        for row in rows {
            table.add_row(row.iter().map(|cell| shown(cell)).collect::<Vec<_>>());
        }
        self.write(&format!("{table}\n"));
    }

    /// What is being done, for as long as it takes, for a person who waits; gone with the next line.
    pub(crate) fn progress(&self, text: &str) {
        if io::stderr().is_terminal() {
            let _ = write!(io::stderr(), "\r\x1b[2K{}", shown(text));
        }
    }

    /// Begins a picture anew, on a terminal.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            self.write("\x1b[H\x1b[2J");
        }
    }

    /// A reader that has gone away (`| head`) is no failure of ours.
    fn write(&self, text: &str) {
        let choice = if self.is_terminal && std::env::var_os("NO_COLOR").is_none() {
            ColorChoice::Always
        } else {
            ColorChoice::Never
        };
        let mut stdout = AutoStream::new(io::stdout().lock(), choice);
        let _ = stdout.write_all(text.as_bytes());
        let _ = stdout.flush();
    }
}

/// An error and its causes in one line. A cause that its parent has told already is not told again.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for cause in anyhow::Chain::new(error) {
        let cause = cause.to_string();
        if !cause.is_empty() && !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

/// Text of a wrapped tool, made visible: control, invisible and direction-changing characters could make a person
/// read something else than what stands there. Tabs stay: they are layout.
pub(crate) fn shown(text: &str) -> String {
    let parts: Vec<_> = text.split('\t').map(visible).collect();
    parts.join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_made_visible() {
        assert_eq!(shown("rm \u{202e}gpj.exe\u{200b}\u{1b}[2J"), "rm ⟨U+202E⟩gpj.exe⟨U+200B⟩⟨U+001B⟩[2J");
        assert_eq!(shown("naïve\n日本"), "naïve\n日本");
    }
}
