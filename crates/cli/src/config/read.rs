//! From text to meaning: the file is held against the table, section by section, and nothing stops at the first
//! problem. What has passed its rule becomes a `Config` by serde.

use std::ops::Range;
use std::path::Path;

use atlasbridge_model::mask::{MASK, mask};
use toml::de::{DeString, DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::problem::{self, Place};
use super::rules;
use super::schema::{SECTIONS, Section, Setting};
use super::{ConfigError, Environment, Loaded, Web};
use crate::spelling::nearest;

/// A key of the file and its value.
type KeyValue<'a> = (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// The meaning of this text, or everything that is wrong with it. Pure: `file` is only named in messages.
pub(crate) fn parse(text: &str, file: &Path, environment: &Environment) -> Result<Loaded, ConfigError> {
    let (shown, problems, warnings) = (String::new(), Vec::new(), Vec::new());
    let mut reader = ConfigReader { file, text, environment, shown, problems, warnings };
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        reader.not_toml(&errors);
        return Err(reader.refused());
    }
    let table = reader.sections_under("", document.get_ref());
    reader.check_web(&table, document.get_ref());
    if !reader.problems.is_empty() {
        return Err(reader.refused());
    }
    // Its own message could quote a value.
    let Ok(config) = table.try_into() else {
        let what = "the settings have passed their rules, but do not fit this build";
        let cure = "this is a mistake in AtlasBridge: please report it, without your tokens";
        reader.problem(reader.at(0..0), "", what, cure);
        return Err(reader.refused());
    };
    Ok(Loaded { config, shown: reader.shown, warnings: reader.warnings })
}

struct ConfigReader<'a> {
    file: &'a Path,
    text: &'a str,
    environment: &'a Environment,
    /// The settings in force, in the order of the table.
    shown: String,
    /// Each says where it is, which key, what is wrong, what to write instead.
    problems: Vec<(Place, String)>,
    warnings: Vec<String>,
}

impl ConfigReader<'_> {
    /// What holds in the sections right under this path, and a word on each key that is in no table.
    ///
    /// # One-name invariant
    /// Names are compared piece by piece: a quoted name with a dot in it is one name, which the table does not have.
    fn sections_under(&mut self, path: &str, file: &DeTable<'_>) -> Table {
        let mut table = Table::new();
        for section in Section::under(path) {
            if let Some(inner) = self.section(section, file.get_key_value(section.name())) {
                table.insert(section.name().to_owned(), Value::Table(inner));
            }
        }
        let names = names_under(path);
        for (key, value) in file.iter().filter(|(key, _)| !names.contains(&key.get_ref().as_ref())) {
            let what = if value.get_ref().is_table() { "section" } else { "setting" };
            let what = format!("is not a {what} that AtlasBridge knows");
            let cure = suggestion(path, key.get_ref());
            self.problem(self.at(key.span()), &joined(path, &shown(key.get_ref())), &what, &cure);
        }
        table
    }

    /// `None` for a channel that is not configured, and for what is no section.
    fn section(&mut self, section: &Section, entry: Option<KeyValue<'_>>) -> Option<Table> {
        let none = DeTable::new();
        let file = match entry {
            Some((key, value)) => value.get_ref().as_table().or_else(|| {
                let what = format!("must be a section, found {}", rules::name(value.get_ref()));
                let cure = format!("write [{}] on a line of its own", section.path);
                self.problem(self.at(key.span()), section.path, &what, &cure);
                None
            })?,
            None if section.is_channel() => {
                self.warn_of_unused_variables(section);
                self.show(section, &[]);
                return None;
            }
            None => &none,
        };
        if let (Some(_), Some(not_yet)) = (entry, section.not_yet) {
            self.warnings.push(format!("{} is configured, but {not_yet}", section.path));
        }
        let header = self.at(entry.map_or(0..0, |(key, _)| key.span()));
        let (mut table, mut rows) = (Table::new(), Vec::new());
        for setting in section.settings {
            let held = self.setting(section, setting, header, file.get_key_value(setting.key));
            let Some((value, origin)) = held else { continue };
            let shown = if setting.variable().is_some() { &Value::from(MASK) } else { &value };
            rows.push((format!("{} = {shown}", setting.key), origin));
            table.insert(setting.key.to_owned(), value);
        }
        self.show(section, &rows);
        table.extend(self.sections_under(section.path, file));
        Some(table)
    }

    /// TOML that says the same as the file, with every default written out and secrets masked.
    fn show(&mut self, section: &Section, rows: &[(String, String)]) {
        let width = rows.iter().map(|(row, _)| row.chars().count()).max().unwrap_or(0);
        self.shown.push_str(if self.shown.is_empty() { "" } else { "\n" });
        self.shown.push_str(&match rows {
            [] => format!("# [{}] is not configured\n", section.path),
            [..] => format!("[{}]\n", section.path),
        });
        for (row, origin) in rows {
            self.shown.push_str(&format!("{row:<width$}  # {origin}\n"));
        }
    }

    /// What holds, and where it came from. A variable beats the file, so that a token can be changed for one run.
    fn setting(
        &mut self,
        section: &Section,
        setting: &Setting,
        header: Place,
        entry: Option<KeyValue<'_>>,
    ) -> Option<(Value, String)> {
        let path = joined(section.path, setting.key);
        let variable = setting.variable().and_then(|name| {
            let text = self.environment.text(name)?;
            Some((name, DeValue::String(text.into())))
        });
        if entry.is_none() && variable.is_none() && setting.is_required() {
            let or_variable = setting.variable().map(|name| format!(", or set {name}")).unwrap_or_default();
            let cure = format!("write {} = {}{or_variable}", setting.key, setting.example);
            self.problem(header, &path, "is missing", &cure);
        }
        let written =
            entry.and_then(|(key, value)| self.checked(&path, setting, self.at(key.span()), value.get_ref()));
        let exported =
            variable.and_then(|(name, text)| self.checked(&path, setting, Place::Environment(name), &text));
        let default = || Some((setting.default()?, "default".to_owned()));
        exported.or(written).or_else(default)
    }

    /// The value as its rule has it, and where it came from.
    fn checked(
        &mut self,
        path: &str,
        setting: &Setting,
        place: Place,
        value: &DeValue<'_>,
    ) -> Option<(Value, String)> {
        let wrong = match setting.rule.check(value) {
            Ok(value) => return Some((value, place.to_string())),
            Err(wrong) => wrong,
        };
        let cure = wrong.cure.unwrap_or_else(|| match place {
            Place::File { .. } => cure(setting, value),
            Place::Environment(name) => format!("unset {name}"),
        });
        self.problem(wrong.at.map_or(place, |span| self.at(span)), path, &wrong.what, &cure);
        None
    }

    /// A variable opens no channel by itself: without its section no person would be allowed to answer.
    fn warn_of_unused_variables(&mut self, section: &Section) {
        let names = section.settings.iter().filter_map(Setting::variable);
        for name in names.filter(|name| self.environment.text(name).is_some()) {
            let path = section.path;
            let unused =
                format!("{name} is set, but the configuration has no [{path}] section: it is not used");
            self.warnings.push(unused);
        }
    }

    /// # No-open-page invariant
    /// A page that others could reach over the network is encrypted, or the operator has written that it need not be.
    fn check_web(&mut self, table: &Table, document: &DeTable<'_>) {
        const KEY_TOO: &str = "add tls_key = \"/path/to/file\" to [web]";
        const CERTIFICATE_TOO: &str = "add tls_certificate = \"/path/to/file\" to [web]";
        const ONE: &str = "remove one of the two";
        const CLOSE: &str = "write 127.0.0.1, or add self_signed = true (or tls_certificate and tls_key), or accept the risk \
                             with insecure = true";
        let Some(held) = table.get("web") else { return };
        let Ok(web) = held.clone().try_into::<Web>() else { return };
        let written = document.get("web").and_then(|web| web.get_ref().as_table());
        let key = |name: &str| written.and_then(|web| web.get_key_value(name)).map(|(key, _)| key.span());
        let (has_certificate, has_key) = (key("tls_certificate").is_some(), key("tls_key").is_some());
        let is_open = !web.listen.ip().is_loopback() && !has_certificate && !web.self_signed && !web.insecure;
        let reached = format!("can be reached from other machines at {}, without TLS", web.listen);
        let rules = [
            (has_certificate && !has_key, "tls_certificate", "needs tls_key beside it", KEY_TOO),
            (has_key && !has_certificate, "tls_key", "needs tls_certificate beside it", CERTIFICATE_TOO),
            (
                has_certificate && web.self_signed,
                "self_signed",
                "and tls_certificate exclude each other",
                ONE,
            ),
            (is_open, "listen", reached.as_str(), CLOSE),
        ];
        let Some((_, name, what, cure)) = rules.into_iter().find(|(is_broken, ..)| *is_broken) else {
            return;
        };
        // A value that was itself refused has been spoken of already.
        if let (Some(span), Some(_)) = (key(name), held.get(name)) {
            self.problem(self.at(span), &joined("web", name), what, cure);
        }
    }

    /// One problem per line: the parser stumbles on after the first, and what it says then misleads.
    fn not_toml(&mut self, errors: &[toml::de::Error]) {
        let mut lines = Vec::new();
        for error in errors {
            let offset = error.span().map_or(self.text.len(), |span| span.start);
            let (line, column) = problem::position(self.text, offset);
            if lines.contains(&line) {
                continue;
            }
            lines.push(line);
            let (what, cure) = match error.message().trim_end_matches(", expected nothing") {
                "duplicate key" => ("this name is there already".to_owned(), "keep one of the two"),
                message => (
                    format!("this is not TOML: {message}"),
                    "write settings as key = value, sections as [name], and text in \"quotes\"",
                ),
            };
            let excerpt = problem::excerpt(self.text, line, column);
            let says = format!("{}:{line}:{column}: {what}\n{excerpt}\n    {cure}", self.file.display());
            self.problems.push((Place::File { line, column }, says));
        }
    }

    fn at(&self, span: Range<usize>) -> Place {
        let (line, column) = problem::position(self.text, span.start);
        Place::File { line, column }
    }

    fn problem(&mut self, place: Place, key: &str, what: &str, cure: &str) {
        let subject = match place {
            Place::File { line, .. } => format!("{}:{line}: {key}", self.file.display()),
            Place::Environment(name) => format!("{name} (for {key})"),
        };
        self.problems.push((place, format!("{subject}: {what}\n    {cure}")));
    }

    /// All problems, in the order of the lines.
    fn refused(mut self) -> ConfigError {
        self.problems.sort_by_key(|(place, _)| *place);
        let says: Vec<_> = self.problems.into_iter().map(|(_, says)| says).collect();
        ConfigError::Refused(says.join("\n"))
    }
}

/// The same value without the quotes around it, if that would do; else an example.
fn cure(setting: &Setting, found: &DeValue<'_>) -> String {
    let would_do =
        |text: &&str| DeValue::parse(text).is_ok_and(|value| setting.rule.check(value.get_ref()).is_ok());
    match found.as_str().filter(would_do) {
        Some(text) => format!("write {} = {text}", setting.key),
        None => format!("write, for example, {} = {}", setting.key, setting.example),
    }
}

/// The nearest name in the same section, else the section where the name belongs, else all names there are.
fn suggestion(path: &str, key: &str) -> String {
    let names = names_under(path);
    if key.contains('.') {
        return "write it without the quotes: within them a dot is part of the name".to_owned();
    }
    if let Some(near) = nearest(&key.replace('-', "_"), &names) {
        return format!("did you mean `{near}`?");
    }
    match SECTIONS.iter().find(|section| section.find(key).is_some()) {
        Some(section) => format!("`{key}` belongs under [{}]", section.path),
        None if path.is_empty() => format!("the sections are {}", names.join(", ")),
        None => format!("[{path}] has {}", names.join(", ")),
    }
}

/// The names that may stand in this section: those of sections, then those of settings.
fn names_under(path: &str) -> Vec<&'static str> {
    let settings =
        SECTIONS.iter().filter(|section| section.path == path).flat_map(|section| section.settings);
    Section::under(path).map(Section::name).chain(settings.map(|setting| setting.key)).collect()
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A key as the file must have it; a person may have put a token there.
fn shown(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if key.chars().all(is_bare) { mask(key).into_owned() } else { format!("{:?}", mask(key)) }
}
