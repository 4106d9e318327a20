//! The TOML of a pack: typed text, then meaning. Every mistake is told with its line and what to write.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::words::Lists;
use super::{Idle, LazyRegex, Located, Pack, PackError, PackErrors, Proved, Words};
use crate::recognise::{DialogRules, Keys, Rows};
use crate::status::Claim;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tool: ToolTable,
    #[serde(default)]
    proved: Vec<Proved>,
    status: Option<StatusTable>,
    idle: Option<Idle>,
    #[serde(default)]
    busy: Vec<LazyRegex>,
    #[serde(default)]
    answered: Vec<LazyRegex>,
    #[serde(default)]
    accepted: Vec<LazyRegex>,
    #[serde(default)]
    refused: Vec<LazyRegex>,
    #[serde(default)]
    dialog: Vec<DialogRules>,
    words: Option<Lists>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ToolTable {
    name: Located,
    binaries: Vec<String>,
    agent: bool,
    extends: bool,
    keys_after_ms: u16,
    version_args: Option<Vec<String>>,
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

#[derive(Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Osc7501 {
    /// Tells its state once the query is answered.
    Asks,
    /// Tells it unasked.
    Tells,
    /// Never: what looks like it comes from elsewhere.
    Never,
}

/// The binaries that a built-in pack is for, read off its one line: a session starts with this question to every pack,
/// and reading them whole would cost its tool milliseconds.
pub(super) fn binaries(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find(|line| line.starts_with("binaries = ["));
    line.into_iter().flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// A pack of the binary: a test has checked it, so its patterns are compiled when they are first asked.
pub(super) fn parse_built_in(text: &str) -> Option<Pack> {
    let file: File = toml::from_str(text).ok()?;
    let words = file.words.as_ref().and_then(|lists| Words::new(lists, |_| true).ok());
    Some(pack(file, words, text))
}

/// A pack of the person's: all that is wrong with it is told.
pub(super) fn parse(text: &str, file: &Path) -> Result<Pack, PackErrors> {
    let mut checker = PackChecker { text, file, errors: Vec::new() };
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            checker.wrong(at, error.message(), "See docs/adapters.md for every key and its values");
            return Err(PackErrors(checker.errors));
        }
    };
    checker.check_name(&file.tool.name);
    let words = checker.words(file.words.as_ref());
    let pack = pack(file, words, text);
    pack.patterns().for_each(|pattern| checker.check_pattern(pattern));
    for dialog in &pack.dialogs {
        checker.check_row(dialog);
        checker.check_keys(dialog);
    }
    if checker.errors.is_empty() { Ok(pack) } else { Err(PackErrors(checker.errors)) }
}

fn pack(file: File, words: Option<Words>, text: &str) -> Pack {
    let name = file.tool.name.text;
    let named = |mut dialog: DialogRules| {
        dialog.name.text = format!("{name}/{}", dialog.name.text);
        dialog.once = dialog.once.map(LazyRegex::whole);
        dialog
    };
    let osc7501 = file.status.as_ref().map(|status| status.osc7501);
    let titles = file.status.into_iter().flat_map(|status| {
        let claimed = |titles: Vec<LazyRegex>, claim| titles.into_iter().map(move |title| (title, claim));
        claimed(status.blocked_title, Claim::Blocked)
            .chain(claimed(status.working_title, Claim::Working))
            .chain(claimed(status.idle_title, Claim::Idle))
    });
    Pack {
        binaries: file.tool.binaries,
        extends: file.tool.extends,
        is_agent: file.tool.agent,
        keys_after: Duration::from_millis(file.tool.keys_after_ms.into()),
        version_args: file.tool.version_args,
        proved: file.proved,
        dialogs: file.dialog.into_iter().map(named).collect(),
        idle: file.idle,
        busy: file.busy,
        answered: file.answered,
        accepted: file.accepted,
        refused: file.refused,
        titles: titles.collect(),
        tells_status: osc7501 != Some(Osc7501::Never),
        asks_for_status: osc7501 == Some(Osc7501::Asks),
        words,
        text: text.into(),
        name,
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
        match Words::new(lists?, |pattern| pattern.compiled().is_ok()) {
            Ok(words) => Some(words),
            Err(word) => {
                self.wrong(0, format!("the word {word:?} is no regular expression"), "Write plain words");
                None
            }
        }
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
        let Some((row, Ok(regex))) = dialog.row.as_ref().map(|row| (row, row.compiled())) else {
            return;
        };
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
