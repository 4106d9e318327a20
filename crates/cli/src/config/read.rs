//! From text to checked settings: the document is walked against the table, and nothing stops at the first problem.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::Environment;
use super::problem::{self, ConfigErrors, Place, Problem, Warning};
use super::schema::{self, FROM_ENVIRONMENT, Presence, SECTIONS, SETTINGS, Setting};
use super::secret::Secret;
use super::shape::{self, Value, Wrong};
use crate::spelling::nearest;

/// Checked settings by path, defaults included, each with the place that it came from.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    values: BTreeMap<&'static str, Given>,
    sections: BTreeSet<&'static str>,
}

#[derive(Debug, Clone)]
pub(super) struct Given {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    File { line: usize },
    Environment(&'static str),
}

pub(super) fn read(
    text: &str,
    file: &Path,
    environment: &Environment,
) -> Result<(Settings, Vec<Warning>), ConfigErrors> {
    let failed = |mut problems: Vec<Problem>| {
        problems.sort_by(|one, other| one.place.cmp(&other.place));
        ConfigErrors { file: file.to_owned(), problems }
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(failed(syntax_problems(text, &errors)));
    }
    let mut reader = Reader::new(text);
    reader.table("", document.get_ref());
    reader.take_environment(environment);
    reader.check_required();
    reader.check_web();
    match reader.problems.is_empty() {
        true => Ok((reader.settings, reader.warnings)),
        false => Err(failed(reader.problems)),
    }
}

struct Reader<'a> {
    text: &'a str,
    settings: Settings,
    /// Where each section of the file stands.
    headers: BTreeMap<&'static str, Place>,
    /// Paths that have a value, right or wrong: a wrong one is not missing as well.
    seen: BTreeSet<&'static str>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            settings: Settings::defaults(),
            headers: BTreeMap::new(),
            seen: BTreeSet::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = match prefix {
                "" => key.get_ref().to_string(),
                _ => format!("{prefix}.{}", key.get_ref()),
            };
            if schema::find_section(&path).is_some() {
                self.section(&path, key, value);
            } else if let Some(setting) = schema::find_setting(&path) {
                self.setting(setting, key, value);
            } else {
                self.unknown(prefix, &path, key, value);
            }
        }
    }

    fn section(&mut self, path: &str, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        let section = schema::find_section(path).expect("the caller has found it");
        let place = problem::place(self.text, key.span().start);
        let DeValue::Table(table) = value.get_ref() else {
            let found = shape::name(value.get_ref());
            let what = format!("must be a section, found {found}");
            return self.problem(key.span(), path, what, format!("write [{path}] on a line of its own"));
        };
        self.settings.sections.insert(section.path);
        self.headers.insert(section.path, place);
        if let Some(not_yet) = section.not_yet {
            self.warnings.push(Warning::new(format!("{path} is configured, but {not_yet}")));
        }
        self.table(path, table);
    }

    fn setting(
        &mut self,
        setting: &'static Setting,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        self.seen.insert(setting.path);
        let Place::File { line, .. } = problem::place(self.text, key.span().start) else {
            return;
        };
        match setting.shape.check(value.get_ref()) {
            Ok(value) => self.settings.set(setting, value, Origin::File { line }),
            Err(wrong) => {
                let cure = cure(setting, &wrong, value.get_ref());
                self.problem(wrong.at.unwrap_or(key.span()), setting.path, wrong.what, cure);
            }
        }
    }

    fn unknown(
        &mut self,
        prefix: &str,
        path: &str,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let is_section = matches!(value.get_ref(), DeValue::Table(_));
        let what = match is_section {
            true => "is not a section that AtlasBridge knows",
            false => "is not a setting that AtlasBridge knows",
        };
        self.problem(key.span(), path, what.to_owned(), suggestion(prefix, key.get_ref()));
    }

    /// A variable beats the file, so that a token can be changed for one run. It opens no channel by itself:
    /// without its section nobody would be allowed to answer.
    fn take_environment(&mut self, environment: &Environment) {
        for (name, path) in FROM_ENVIRONMENT {
            let Some(text) = environment.text(name) else {
                continue;
            };
            let setting = schema::find_setting(path).expect("the list names rows of the table");
            let section = setting.section();
            if !self.settings.has_section(section) {
                self.warnings.push(Warning::new(format!(
                    "{name} is set, but the configuration has no [{section}] section: it is not used"
                )));
                continue;
            }
            self.seen.insert(setting.path);
            match setting.shape.check(&DeValue::String(text.into())) {
                Ok(value) => self.settings.set(setting, value, Origin::Environment(name)),
                Err(wrong) => self.problems.push(Problem {
                    place: Place::Environment(name),
                    key: path.to_owned(),
                    cure: wrong.cure.unwrap_or_else(|| format!("unset {name}")),
                    what: wrong.what,
                    excerpt: None,
                }),
            }
        }
    }

    fn check_required(&mut self) {
        for setting in SETTINGS {
            let Presence::Required { example } = setting.presence else {
                continue;
            };
            let Some(header) = self.headers.get(setting.section()) else {
                continue;
            };
            if self.seen.contains(setting.path) {
                continue;
            }
            let variable = FROM_ENVIRONMENT.iter().find(|(_, path)| *path == setting.path);
            let or_variable = variable.map(|(name, _)| format!(", or set {name}")).unwrap_or_default();
            self.problems.push(Problem {
                place: header.clone(),
                key: setting.path.to_owned(),
                what: "is missing".to_owned(),
                cure: format!("write {} = {example}{or_variable}", setting.key()),
                excerpt: None,
            });
        }
    }

    /// # No-open-page invariant
    /// A page that others could reach over the network is encrypted, or somebody has written that it need not be.
    fn check_web(&mut self) {
        let has = |path| self.seen.contains(path);
        let (certificate, key) = (has("web.tls_certificate"), has("web.tls_key"));
        if certificate != key {
            let (there, missing) = match certificate {
                true => ("web.tls_certificate", "tls_key"),
                false => ("web.tls_key", "tls_certificate"),
            };
            let what = format!("needs {missing} beside it");
            return self.problem_at_setting(
                there,
                what,
                format!("add {missing} = \"/path/to/file\" to [web]"),
            );
        }
        if certificate && self.settings.toggle("web.self_signed") {
            let what = "and tls_certificate exclude each other".to_owned();
            return self.problem_at_setting("web.self_signed", what, "remove one of the two".to_owned());
        }
        let listen = self.settings.address("web.listen");
        let has_tls = certificate || self.settings.toggle("web.self_signed");
        if listen.ip().is_loopback() || has_tls || self.settings.toggle("web.insecure") {
            return;
        }
        let what = format!("can be reached from other machines at {listen}, without TLS");
        let cure = "write 127.0.0.1, or add self_signed = true (or tls_certificate and tls_key), or accept the risk with \
             insecure = true";
        self.problem_at_setting("web.listen", what, cure.to_owned());
    }

    fn problem(&mut self, span: Range<usize>, key: &str, what: String, cure: String) {
        self.problems.push(Problem {
            place: problem::place(self.text, span.start),
            key: key.to_owned(),
            what,
            cure,
            excerpt: None,
        });
    }

    /// Says it of a setting that the file has. One that was itself refused has been spoken of already.
    fn problem_at_setting(&mut self, path: &'static str, what: String, cure: String) {
        let Some(&Given { origin: Origin::File { line }, .. }) = self.settings.find(path) else {
            return;
        };
        self.problems.push(Problem {
            place: Place::File { line, column: 1 },
            key: path.to_owned(),
            what,
            cure,
            excerpt: None,
        });
    }
}

impl Settings {
    fn defaults() -> Self {
        let default = |setting: &'static Setting| {
            let Presence::Default(text) = setting.presence else {
                return None;
            };
            let value = DeValue::parse(text).ok()?;
            let value = setting.shape.check(value.get_ref()).ok()?;
            let origin = Origin::Default;
            Some((setting.path, Given { value, origin }))
        };
        Self { values: SETTINGS.iter().filter_map(default).collect(), sections: BTreeSet::new() }
    }

    fn set(&mut self, setting: &'static Setting, value: Value, origin: Origin) {
        self.values.insert(setting.path, Given { value, origin });
    }

    pub(super) fn has_section(&self, path: &str) -> bool {
        self.sections.contains(path)
    }

    pub(super) fn is_given(&self, path: &str) -> bool {
        self.values.contains_key(path)
    }

    pub(super) fn find(&self, path: &str) -> Option<&Given> {
        self.values.get(path)
    }

    /// The readers below ask for rows of the table, by its own names and shapes, and only for those that are
    /// required or have a default. Each of them is asked on each start, so no test run can miss a slip.
    fn given(&self, path: &str) -> &Given {
        self.find(path).expect("the table has this setting, with a default or required")
    }

    pub(super) fn toggle(&self, path: &str) -> bool {
        matches!(self.given(path).value, Value::Toggle(true))
    }

    pub(super) fn whole(&self, path: &str) -> u64 {
        match self.given(path).value {
            Value::Whole(number) => number,
            ref other => unreachable!("{path} is a whole number in the table, not {other:?}"),
        }
    }

    pub(super) fn decimal(&self, path: &str) -> f64 {
        match self.given(path).value {
            Value::Decimal(number) => number,
            ref other => unreachable!("{path} is a decimal in the table, not {other:?}"),
        }
    }

    pub(super) fn text(&self, path: &str) -> String {
        match &self.given(path).value {
            Value::Text(text) => text.clone(),
            other => unreachable!("{path} is a text in the table, not {other:?}"),
        }
    }

    pub(super) fn secret(&self, path: &str) -> Secret {
        match &self.given(path).value {
            Value::Secret(secret) => secret.clone(),
            other => unreachable!("{path} is a secret in the table, not {other:?}"),
        }
    }

    pub(super) fn numbers(&self, path: &str) -> Vec<i64> {
        match &self.given(path).value {
            Value::Numbers(numbers) => numbers.clone(),
            other => unreachable!("{path} is a list of numbers in the table, not {other:?}"),
        }
    }

    pub(super) fn texts(&self, path: &str) -> Vec<String> {
        match &self.given(path).value {
            Value::Texts(texts) => texts.clone(),
            other => unreachable!("{path} is a list of texts in the table, not {other:?}"),
        }
    }

    pub(super) fn address(&self, path: &str) -> SocketAddr {
        let text = self.text(path);
        text.parse().expect("the table lets only addresses through")
    }
}

/// One problem per line: the parser stumbles on after the first, and what it says then misleads.
fn syntax_problems(text: &str, errors: &[toml::de::Error]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for error in errors {
        let offset = error.span().map_or(text.len(), |span| span.start);
        let place = problem::place(text, offset);
        let Place::File { line, column } = place else {
            continue;
        };
        let is_told = |told: &Problem| matches!(told.place, Place::File { line: there, .. } if there == line);
        if problems.iter().any(is_told) {
            continue;
        }
        let (what, cure) = in_our_words(error.message());
        problems.push(Problem {
            place,
            key: String::new(),
            what,
            cure: cure.to_owned(),
            excerpt: Some(problem::excerpt(text, line, column)),
        });
    }
    problems
}

fn in_our_words(message: &str) -> (String, &'static str) {
    let message = message.trim_end_matches(", expected nothing");
    match message {
        "duplicate key" => ("this name is there already".to_owned(), "keep one of the two"),
        _ => (
            format!("this is not TOML: {message}"),
            "write settings as key = value, sections as [name], and text in \"quotes\"",
        ),
    }
}

/// The rule's own advice; else the same value without the quotes around it, if that would do; else an example.
fn cure(setting: &Setting, wrong: &Wrong, found: &DeValue<'_>) -> String {
    if let Some(cure) = &wrong.cure {
        return cure.clone();
    }
    let unquoted = found
        .as_str()
        .filter(|text| DeValue::parse(text).is_ok_and(|value| setting.shape.check(value.get_ref()).is_ok()));
    match unquoted {
        Some(text) => format!("write {} = {text}", setting.key()),
        None => format!("write, for example, {} = {}", setting.key(), setting.example()),
    }
}

/// The nearest name in the same section, else the section where the name belongs, else all names there are.
fn suggestion(prefix: &str, key: &str) -> String {
    let paths = || SECTIONS.iter().map(|s| s.path).chain(SETTINGS.iter().map(|s| s.path));
    let neighbours: Vec<&str> =
        paths().map(schema::split).filter(|(section, _)| *section == prefix).map(|(_, key)| key).collect();
    if let Some(near) = nearest(&key.replace('-', "_"), &neighbours) {
        return format!("did you mean `{near}`?");
    }
    let elsewhere = SETTINGS.iter().find(|setting| setting.key() == key);
    match (elsewhere, prefix) {
        (Some(setting), _) => format!("`{key}` belongs under [{}]", setting.section()),
        (None, "") => format!("the sections are {}", neighbours.join(", ")),
        (None, _) => format!("[{prefix}] has {}", neighbours.join(", ")),
    }
}
