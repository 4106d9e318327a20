//! The TOML of a pack: typed text, then meaning. Every mistake is told with its line and what to write.

use std::path::Path;

use serde::Deserialize;

use super::words::Lists;
use super::{LazyRegex, Located, Pack, PackError, PackErrors, Words};
use crate::recognise::{DialogRules, Keys, Rows};
use crate::status::Claim;

/// How the tool tells its state.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "StatusTable")]
pub(super) struct StatusRules {
    pub(super) osc7501: Osc7501,
    pub(super) titles: Vec<(LazyRegex, Claim)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusTable {
    osc7501: Osc7501,
    #[serde(default)]
    idle_title: Vec<LazyRegex>,
    #[serde(default)]
    working_title: Vec<LazyRegex>,
    #[serde(default)]
    blocked_title: Vec<LazyRegex>,
}

/// Of two packs over each other the first that either says counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Osc7501 {
    /// Tells its state once the query is answered.
    Asks,
    /// Tells it unasked.
    #[default]
    Tells,
    /// Never: what looks like it comes from elsewhere.
    Never,
}

impl From<StatusTable> for StatusRules {
    fn from(table: StatusTable) -> Self {
        let claimed = |titles: Vec<LazyRegex>, claim| titles.into_iter().map(move |title| (title, claim));
        let titles = claimed(table.blocked_title, Claim::Blocked)
            .chain(claimed(table.working_title, Claim::Working))
            .chain(claimed(table.idle_title, Claim::Idle));
        Self { osc7501: table.osc7501, titles: titles.collect() }
    }
}

/// The binaries that a built-in pack is for, read off its one line: a session starts with this question to every pack,
/// and reading them whole would cost its tool milliseconds.
pub(super) fn binaries(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find(|line| line.starts_with("binaries = ["));
    line.into_iter().flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// A pack of the binary: a test has checked it, so its patterns are compiled when they are first asked.
pub(super) fn parse_built_in(text: &str) -> Option<Pack> {
    let mut pack: Pack = toml::from_str(text).ok()?;
    pack.words = pack.lists.as_ref().and_then(|lists| Words::new(lists, |_| true).ok());
    pack.complete(text);
    Some(pack)
}

/// A pack of the person's: all that is wrong with it is told.
pub(super) fn parse(text: &str, file: &Path) -> Result<Pack, PackErrors> {
    let mut checker = PackChecker { text, file, errors: Vec::new() };
    let mut pack: Pack = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        checker.wrong(at, error.message(), "See docs/adapters.md for every key and its values");
        PackErrors(std::mem::take(&mut checker.errors))
    })?;
    checker.check_name(&pack.tool.name);
    pack.words = checker.words(pack.lists.as_ref());
    pack.complete(text);
    pack.patterns().for_each(|pattern| checker.check_pattern(pattern));
    for dialog in &pack.dialogs {
        checker.check_row(dialog);
        checker.check_keys(dialog);
    }
    if checker.errors.is_empty() { Ok(pack) } else { Err(PackErrors(checker.errors)) }
}

impl Pack {
    /// What its file says elsewhere than where it is asked for.
    fn complete(&mut self, text: &str) {
        for dialog in &mut self.dialogs {
            dialog.name.text = format!("{}/{}", self.tool.name.text, dialog.name.text);
            dialog.once = dialog.once.take().map(LazyRegex::whole);
        }
        self.text = text.into();
    }
}

struct PackChecker<'a> {
    text: &'a str,
    file: &'a Path,
    errors: Vec<PackError>,
}

impl PackChecker<'_> {
    fn wrong(&mut self, at: usize, wrong: impl Into<String>, write: &str) {
        let before = self.text.get(..at).unwrap_or(self.text);
        self.errors.push(PackError {
            file: self.file.to_owned(),
            line: 1 + before.matches('\n').count(),
            wrong: wrong.into(),
            write: write.to_owned(),
        });
    }

    fn check_name(&mut self, name: &Located) {
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-_.".contains(char);
        if name.text.is_empty() || !name.text.chars().all(plain) {
            let wrong = format!("the name {:?} is not usable", name.text);
            self.wrong(name.at, wrong, "Write lower-case letters, digits, - and _ only: name = \"claude\"");
        }
    }

    fn words(&mut self, lists: Option<&Lists>) -> Option<Words> {
        let words = Words::new(lists?, |pattern| pattern.compiled().is_ok());
        let wrong = |word| format!("the word {word:?} is no regular expression");
        words.map_err(|word: String| self.wrong(0, wrong(word), "Write plain words")).ok()
    }

    fn check_pattern(&mut self, pattern: &LazyRegex) {
        match pattern.compiled() {
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                self.wrong(
                    pattern.at(),
                    format!("this is no regular expression: {reason}"),
                    "Write it in single quotes, with \\ before . ( ) [ ] ? * + that stand for themselves",
                );
            }
            Ok(regex) if regex.is_match("") => self.wrong(
                pattern.at(),
                "this matches an empty line, so it would match every screen",
                "Write at least one word of the dialog",
            ),
            Ok(_) => {}
        }
    }

    /// A row of one's own must say where its label is.
    fn check_row(&mut self, dialog: &DialogRules) {
        let Some((row, Ok(regex))) = dialog.row.as_ref().map(|row| (row, row.compiled())) else { return };
        let wanted: &[&str] = match dialog.rows {
            Rows::Numbered => &["key", "label"],
            Rows::Marked => &["marker", "label"],
            Rows::Buttons | Rows::Letters | Rows::Keys | Rows::Nothing => {
                return self.wrong(
                    row.at(),
                    "`row` is for numbered and marked rows only",
                    "Leave it out here",
                );
            }
        };
        let groups: Vec<&str> = regex.capture_names().flatten().collect();
        if let Some(missing) = wanted.iter().find(|name| !groups.contains(name)) {
            self.wrong(
                row.at(),
                format!("the group `{missing}` is missing"),
                r"Write, for example: row = '^\s*(?<marker>❯)?\s*(?<key>\d+)\. (?<label>.+)$'",
            );
        }
    }

    fn check_keys(&mut self, dialog: &DialogRules) {
        let at = dialog.name.at;
        let by_number = matches!(dialog.keys, Keys::Number | Keys::NumberThenEnter);
        if by_number && dialog.rows != Rows::Numbered {
            self.wrong(
                at,
                "rows without numbers cannot be chosen by number",
                "Write keys = \"move\", or rows = \"numbered\"",
            );
        }
        if dialog.rows == Rows::Nothing && dialog.kind.is_none() {
            self.wrong(
                at,
                "a dialog without rows must say its kind",
                "Write kind = \"confirm_enter\", \"free_text\" or \"password\"",
            );
        }
    }
}
