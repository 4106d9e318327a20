//! The TOML of a pack: typed text, then meaning. Every mistake is told with its line and what to write.

use std::path::Path;
use std::time::Duration;

use atlasbridge_model::{Grant, Kind};
use regex::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::{Dialog, Idle, LazyRegex, Pack, PackError, PackErrors, Proved, Rows, Words};
use crate::recognise::{Below, Keys, Manner};
use crate::status::Claim;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tool: Tool,
    #[serde(default)]
    proved: Vec<ProvedOn>,
    status: Option<StatusUse>,
    idle: Option<IdleBox>,
    #[serde(default)]
    busy: Vec<Spanned<String>>,
    #[serde(default)]
    answered: Vec<Spanned<String>>,
    #[serde(default)]
    accepted: Vec<Spanned<String>>,
    #[serde(default)]
    refused: Vec<Spanned<String>>,
    #[serde(default)]
    dialog: Vec<DialogTable>,
    words: Option<super::words::Lists>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: Spanned<String>,
    #[serde(default)]
    binaries: Vec<String>,
    #[serde(default)]
    agent: bool,
    #[serde(default)]
    extends: bool,
    #[serde(default)]
    keys_after_ms: u16,
    version_args: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvedOn {
    version: String,
    recordings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusUse {
    osc7501: Osc7501,
    #[serde(default)]
    idle_title: Vec<Spanned<String>>,
    #[serde(default)]
    working_title: Vec<Spanned<String>>,
    #[serde(default)]
    blocked_title: Vec<Spanned<String>>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdleBox {
    invitation: Option<Spanned<String>>,
    #[serde(rename = "box")]
    box_: Option<Spanned<String>>,
    line: Option<Spanned<String>>,
    #[serde(default)]
    silent: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DialogTable {
    name: Spanned<String>,
    rows: RowsName,
    anchor: Spanned<String>,
    footer: Option<Spanned<String>>,
    /// The line that the dialog begins with.
    begins: Option<Spanned<String>>,
    /// How a person sees more of it at the terminal.
    more: Option<String>,
    /// Lines of its matter that fit into its box.
    window: Option<u16>,
    row: Option<Spanned<String>>,
    kind: Option<KindName>,
    #[serde(default)]
    keys: KeysName,
    /// The key that answers the refusing row.
    refuse_key: Option<RefuseKey>,
    refuses: Option<Spanned<String>>,
    accepts: Option<Spanned<String>>,
    /// What accepting rows grant.
    once: Option<Spanned<String>>,
    session: Option<Spanned<String>>,
    always: Option<Spanned<String>>,
    mode: Option<Spanned<String>>,
    leave_out: Option<Spanned<String>>,
    text_field: Option<Spanned<String>>,
    #[serde(default)]
    keep_hints: bool,
    #[serde(default)]
    keep_columns: bool,
    #[serde(default)]
    below: BelowName,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum RowsName {
    Numbered,
    Marked,
    Buttons,
    Letters,
    Keys,
    Nothing,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum KindName {
    YesNo,
    MultipleChoice,
    ConfirmEnter,
    FreeText,
    Password,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
enum KeysName {
    #[default]
    Shown,
    Number,
    NumberThenEnter,
    Move,
    Letter,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum RefuseKey {
    Esc,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
enum BelowName {
    #[default]
    Description,
    Label,
}

/// The binaries that a built-in pack is for, read off its one line: a session starts with this question to every pack,
/// and reading them whole would cost its tool milliseconds.
pub(super) fn binaries(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find(|line| line.starts_with("binaries = ["));
    line.into_iter().flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// `built_in`: a test has tried its patterns, so they are compiled when they are first asked.
pub(super) fn parse(text: &str, file: &Path, built_in: bool) -> Result<Pack, PackErrors> {
    let mut reader = Reader { text, file, built_in, errors: Vec::new() };
    let parsed: File = match toml::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            reader.wrong(at, error.message(), "See docs/adapters.md for every key and its values");
            return Err(PackErrors(reader.errors));
        }
    };
    let pack = reader.pack(parsed);
    if reader.errors.is_empty() { Ok(pack) } else { Err(PackErrors(reader.errors)) }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    built_in: bool,
    errors: Vec<PackError>,
}

impl Reader<'_> {
    fn wrong(&mut self, at: usize, wrong: impl Into<String>, write: &str) {
        let before = self.text.get(..at).unwrap_or(self.text);
        self.errors.push(PackError {
            file: self.file.to_owned(),
            line: 1 + before.matches('\n').count(),
            wrong: wrong.into(),
            write: write.to_owned(),
        });
    }

    fn regex(&mut self, source: &Spanned<String>) -> Option<LazyRegex> {
        let text = source.get_ref();
        if self.built_in {
            return Some(LazyRegex::built_in(text.clone()));
        }
        let at = source.span().start;
        let regex = match LazyRegex::tried(text) {
            Ok(regex) => regex,
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
                self.wrong(
                    at,
                    format!("this is no regular expression: {reason}"),
                    "Write it in single quotes, with \\ before . ( ) [ ] ? * + that stand for themselves",
                );
                return None;
            }
        };
        if regex.is_match("") {
            self.wrong(
                at,
                "this matches an empty line, so it would match every screen",
                "Write at least one word of the dialog",
            );
            return None;
        }
        Some(regex)
    }

    fn optional(&mut self, source: Option<&Spanned<String>>) -> Option<LazyRegex> {
        source.and_then(|source| self.regex(source))
    }

    fn regexes(&mut self, sources: &[Spanned<String>]) -> Vec<LazyRegex> {
        sources.iter().filter_map(|source| self.regex(source)).collect()
    }

    fn pack(&mut self, parsed: File) -> Pack {
        let name = parsed.tool.name.get_ref().clone();
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-_.".contains(char);
        if name.is_empty() || !name.chars().all(plain) {
            self.wrong(
                parsed.tool.name.span().start,
                format!("the name {name:?} is not usable"),
                "Write lower-case letters, digits, - and _ only: name = \"claude\"",
            );
        }
        let mut titles = Vec::new();
        let mut tells_status = true;
        if let Some(status) = &parsed.status {
            tells_status = status.osc7501 != Osc7501::Never;
            for (list, claim) in [
                (&status.blocked_title, Claim::Blocked),
                (&status.working_title, Claim::Working),
                (&status.idle_title, Claim::Idle),
            ] {
                titles.extend(list.iter().filter_map(|source| Some((self.regex(source)?, claim))));
            }
        }
        let answered = self.regexes(&parsed.answered);
        let accepted = self.regexes(&parsed.accepted);
        let refused = self.regexes(&parsed.refused);
        let busy = self.regexes(&parsed.busy);
        let idle = parsed.idle.as_ref().map(|idle| Idle {
            invitation: self.optional(idle.invitation.as_ref()),
            box_: self.optional(idle.box_.as_ref()),
            line: self.optional(idle.line.as_ref()),
            is_silent: idle.silent,
        });
        let dialogs = parsed.dialog.iter().filter_map(|dialog| self.dialog(&name, dialog)).collect();
        let built_in = self.built_in;
        let read = |lists| match built_in {
            true => Ok(Words::built_in(lists)),
            false => Words::new(lists),
        };
        let words = parsed.words.as_ref().and_then(|lists| match read(lists) {
            Ok(words) => Some(words),
            Err(word) => {
                self.wrong(0, format!("the word {word:?} is no regular expression"), "Write plain words");
                None
            }
        });
        let proved = parsed
            .proved
            .into_iter()
            .map(|proved| Proved { version: proved.version, recordings: proved.recordings });
        Pack {
            binaries: parsed.tool.binaries,
            extends: parsed.tool.extends,
            is_agent: parsed.tool.agent,
            keys_after: Duration::from_millis(parsed.tool.keys_after_ms.into()),
            version_args: parsed.tool.version_args,
            proved: proved.collect(),
            dialogs,
            idle,
            busy,
            answered,
            accepted,
            refused,
            titles,
            tells_status,
            asks_for_status: parsed.status.as_ref().is_some_and(|status| status.osc7501 == Osc7501::Asks),
            words,
            text: self.text.into(),
            name,
        }
    }

    fn dialog(&mut self, pack: &str, table: &DialogTable) -> Option<Dialog> {
        let anchor = self.regex(&table.anchor);
        let footer = self.optional(table.footer.as_ref());
        let row = self.optional(table.row.as_ref());
        let begins = self.optional(table.begins.as_ref());
        if !self.built_in {
            self.check_row(table, row.as_deref());
        }
        self.check_keys(table);
        let manner = Manner {
            name: Some(format!("{pack}/{}", table.name.get_ref())),
            kind: table.kind.map(Kind::from),
            keys: table.keys.into(),
            escape_refuses: matches!(table.refuse_key, Some(RefuseKey::Esc)),
            refuses: self.optional(table.refuses.as_ref()),
            accepts: self.optional(table.accepts.as_ref()),
            once: self.optional(table.once.as_ref().map(whole).as_ref()),
            widens: self.widens(table),
            leave_out: self.optional(table.leave_out.as_ref()),
            text_field: self.optional(table.text_field.as_ref()),
            more: table.more.clone(),
            window: table.window.map(usize::from),
            keeps_hints: table.keep_hints,
            keeps_columns: table.keep_columns,
            below: match table.below {
                BelowName::Description => Below::Wrapped,
                BelowName::Label => Below::Label,
            },
        };
        Some(Dialog { rows: table.rows.into(), anchor: anchor?, footer, begins, row, manner })
    }

    fn widens(&mut self, table: &DialogTable) -> Vec<(LazyRegex, Grant)> {
        let named =
            [(&table.session, Grant::Session), (&table.always, Grant::Always), (&table.mode, Grant::Mode)];
        let named = named.into_iter();
        named.filter_map(|(source, grant)| Some((self.regex(source.as_ref()?)?, grant))).collect()
    }

    /// A row of one's own must say where its label is.
    fn check_row(&mut self, table: &DialogTable, row: Option<&Regex>) {
        let (Some(source), Some(row)) = (&table.row, row) else {
            return;
        };
        let groups: Vec<&str> = row.capture_names().flatten().collect();
        let wanted: &[&str] = match table.rows {
            RowsName::Numbered => &["key", "label"],
            RowsName::Marked => &["marker", "label"],
            RowsName::Buttons | RowsName::Letters | RowsName::Keys | RowsName::Nothing => {
                self.wrong(
                    source.span().start,
                    "`row` is for numbered and marked rows only",
                    "Leave it out here",
                );
                return;
            }
        };
        if let Some(missing) = wanted.iter().find(|name| !groups.contains(name)) {
            self.wrong(
                source.span().start,
                format!("the group `{missing}` is missing"),
                r"Write, for example: row = '^\s*(?<marker>❯)?\s*(?<key>\d+)\. (?<label>.+)$'",
            );
        }
    }

    fn check_keys(&mut self, table: &DialogTable) {
        let at = table.name.span().start;
        let numbered = matches!(table.keys, KeysName::Number | KeysName::NumberThenEnter);
        if numbered && table.rows != RowsName::Numbered {
            self.wrong(
                at,
                "rows without numbers cannot be chosen by number",
                "Write keys = \"move\", or rows = \"numbered\"",
            );
        }
        let needs_kind = table.rows == RowsName::Nothing && table.kind.is_none();
        if needs_kind {
            self.wrong(
                at,
                "a dialog without rows must say its kind",
                "Write kind = \"confirm_enter\", \"free_text\" or \"password\"",
            );
        }
    }
}

/// For nothing less than the whole label.
fn whole(source: &Spanned<String>) -> Spanned<String> {
    Spanned::new(source.span(), format!("^(?:{})$", source.get_ref()))
}

impl From<RowsName> for Rows {
    fn from(name: RowsName) -> Self {
        match name {
            RowsName::Numbered => Rows::Numbered,
            RowsName::Marked => Rows::Marked,
            RowsName::Buttons => Rows::Buttons,
            RowsName::Letters => Rows::Letters,
            RowsName::Keys => Rows::Keys,
            RowsName::Nothing => Rows::Nothing,
        }
    }
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::YesNo => Kind::YesNo,
            KindName::MultipleChoice => Kind::MultipleChoice,
            KindName::ConfirmEnter => Kind::ConfirmEnter,
            KindName::FreeText => Kind::FreeText,
            KindName::Password => Kind::Password,
        }
    }
}

impl From<KeysName> for Keys {
    fn from(name: KeysName) -> Self {
        match name {
            KeysName::Shown => Keys::Shown,
            KeysName::Number => Keys::Number,
            KeysName::NumberThenEnter => Keys::NumberThenEnter,
            KeysName::Move => Keys::Move,
            KeysName::Letter => Keys::Letter,
        }
    }
}
