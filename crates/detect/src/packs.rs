//! Packs: what is known of a tool's dialogs, as data. One TOML file per tool, in the binary, and the person's own
//! files over them.
//!
//! Pure: the caller reads the files. A file that is wrong is refused as a whole, with the line and with what to
//! write instead; a dialog half understood would press half-right keys.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;

use crate::recognise::DialogRules;
use crate::status::Claim;

mod lazy;
mod schema;
mod words;

pub(crate) use lazy::{LazyRegex, Located};
use schema::{Osc7501, StatusRules};
use words::Lists;
pub(crate) use words::{Words, widest, words};

/// The packs of the binary, by file name.
const EMBEDDED: &[(&str, &str)] = &[
    ("claude.toml", include_str!("../packs/claude.toml")),
    ("codex.toml", include_str!("../packs/codex.toml")),
    ("gemini.toml", include_str!("../packs/gemini.toml")),
    ("aider.toml", include_str!("../packs/aider.toml")),
    ("opencode.toml", include_str!("../packs/opencode.toml")),
    ("qwen.toml", include_str!("../packs/qwen.toml")),
    ("cline.toml", include_str!("../packs/cline.toml")),
    ("continue.toml", include_str!("../packs/continue.toml")),
    ("copilot.toml", include_str!("../packs/copilot.toml")),
    ("gptme.toml", include_str!("../packs/gptme.toml")),
    ("open-interpreter.toml", include_str!("../packs/open-interpreter.toml")),
    ("generic.toml", include_str!("../packs/generic.toml")),
];

/// All packs that a session may choose from.
#[derive(Debug, Clone)]
pub struct Packs(Vec<PackSource>);

/// A built-in pack is read when it is chosen: a session needs one of them, and patterns take milliseconds.
#[derive(Debug, Clone)]
enum PackSource {
    BuiltIn(usize),
    Own(Arc<Pack>),
}

impl Packs {
    /// Those in the binary.
    pub fn embedded() -> Self {
        Self((0..EMBEDDED.len()).map(PackSource::BuiltIn).collect())
    }

    /// The person's own files over those in the binary. A pack of the same name takes the place of the built-in
    /// one, or goes before it where it says `extends = true`.
    pub fn with_user(files: Vec<(PathBuf, String)>) -> Result<Self, PackErrors> {
        let mut packs = Self::embedded();
        let mut errors = Vec::new();
        for (file, text) in files {
            match Pack::parse(&text, &file) {
                Ok(pack) => packs.add(pack),
                Err(wrong) => errors.extend(wrong.0),
            }
        }
        if errors.is_empty() { Ok(packs) } else { Err(PackErrors(errors)) }
    }

    fn add(&mut self, pack: Pack) {
        let Some(source) = self.0.iter_mut().find(|source| source.is_named(pack.name())) else {
            return self.0.push(PackSource::Own(Arc::new(pack)));
        };
        let under = source.pack().filter(|_| pack.tool.extends);
        *source = PackSource::Own(Arc::new(match under {
            Some(under) => pack.over(&under),
            None => pack,
        }));
    }

    /// The pack of this program: by its binary, with or without a path, or by the pack's name. Where the person's
    /// own generic pack has words, every program gets them, known or not.
    pub fn for_program(&self, program: &str) -> Option<Arc<Pack>> {
        let name = Path::new(program).file_name()?.to_str()?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let own_words = self.0.iter().find_map(|source| match source {
            PackSource::Own(pack) if pack.name() == GENERIC => Some(pack),
            PackSource::Own(_) | PackSource::BuiltIn(_) => None,
        });
        let known = self.0.iter().find(|source| source.is_for(name));
        match (known.and_then(PackSource::pack), own_words) {
            (Some(pack), Some(words)) if pack.words.is_none() => {
                Some(Arc::new(Pack { words: words.words.clone(), ..(*pack).clone() }))
            }
            (Some(pack), _) => Some(pack),
            (None, words) => words.cloned(),
        }
    }

    /// Every pack, read.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Pack>> {
        self.0.iter().filter_map(PackSource::pack)
    }
}

impl PackSource {
    fn pack(&self) -> Option<Arc<Pack>> {
        static READ: [OnceLock<Option<Arc<Pack>>>; EMBEDDED.len()] =
            [const { OnceLock::new() }; EMBEDDED.len()];
        match self {
            PackSource::Own(pack) => Some(Arc::clone(pack)),
            PackSource::BuiltIn(index) => {
                // A test proves that all of them can be read.
                let read = || schema::parse_built_in(EMBEDDED[*index].1).map(Arc::new);
                READ[*index].get_or_init(read).clone()
            }
        }
    }

    fn is_named(&self, name: &str) -> bool {
        match self {
            PackSource::Own(pack) => pack.name() == name,
            PackSource::BuiltIn(index) => EMBEDDED[*index].0.strip_suffix(".toml") == Some(name),
        }
    }

    /// Asked without reading a built-in pack whole. The generic one is never chosen: it holds for every program.
    fn is_for(&self, program: &str) -> bool {
        let is_for = match self {
            PackSource::Own(pack) => pack.binaries().iter().any(|binary| binary == program),
            PackSource::BuiltIn(index) => {
                schema::binaries(EMBEDDED[*index].1).any(|binary| binary == program)
            }
        };
        (is_for || self.is_named(program)) && !self.is_named(GENERIC)
    }
}

/// The pack that holds for every program.
const GENERIC: &str = "generic";

/// What is known of one tool, as its file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    tool: Tool,
    #[serde(default)]
    proved: Vec<Proved>,
    #[serde(default, rename = "dialog")]
    pub(crate) dialogs: Vec<DialogRules>,
    pub(crate) idle: Option<Idle>,
    #[serde(default)]
    pub(crate) busy: Vec<LazyRegex>,
    /// Lines that it writes when a dialog was answered.
    #[serde(default)]
    pub(crate) answered: Vec<LazyRegex>,
    /// Lines that it writes when something was accepted, and when it was refused.
    #[serde(default)]
    pub(crate) accepted: Vec<LazyRegex>,
    #[serde(default)]
    pub(crate) refused: Vec<LazyRegex>,
    #[serde(default)]
    status: StatusRules,
    /// The lists of its words, and what is made of them.
    #[serde(rename = "words")]
    lists: Option<Lists>,
    #[serde(skip)]
    pub(crate) words: Option<Words>,
    /// Its text: two packs are equal when they were written equal.
    #[serde(skip)]
    text: Arc<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tool {
    name: Located,
    binaries: Vec<String>,
    agent: bool,
    extends: bool,
    keys_after_ms: u16,
    version_args: Option<Vec<String>>,
}

/// A version that the pack was proved on, and the recordings that prove it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proved {
    pub version: String,
    pub recordings: Vec<String>,
}

/// The empty input box of the tool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Idle {
    /// What an empty box invites to; not a draft.
    pub(crate) invitation: Option<LazyRegex>,
    /// The box with a text in it, and all that stands below it.
    #[serde(rename = "box")]
    pub(crate) filled_box: Option<LazyRegex>,
    /// The line of the cursor, for tools that have no box.
    pub(crate) line: Option<LazyRegex>,
    /// Nothing is written while the box waits: a tool that writes, works.
    #[serde(rename = "silent")]
    pub(crate) is_silent: bool,
}

impl Pack {
    /// Reads a pack. `file` is only named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<Self, PackErrors> {
        schema::parse(text, file)
    }

    pub fn name(&self) -> &str {
        &self.tool.name.text
    }

    pub fn binaries(&self) -> &[String] {
        &self.tool.binaries
    }

    pub fn proved(&self) -> &[Proved] {
        &self.proved
    }

    /// An agent's empty input box is worth a message; a shell's is not.
    pub fn is_agent(&self) -> bool {
        self.tool.agent
    }

    /// A dialog that it has just drawn takes no keys for this long.
    pub fn keys_after(&self) -> Duration {
        Duration::from_millis(self.tool.keys_after_ms.into())
    }

    /// What makes the tool print its version and end, if it can be asked: what the pack says, `--version` for an agent.
    /// Others are not asked: a program that does not know the option might do its work instead.
    pub fn version_args(&self) -> Option<Vec<String>> {
        match (&self.tool.version_args, self.tool.agent) {
            (Some(args), _) => Some(args.clone()).filter(|args| !args.is_empty()),
            (None, true) => Some(vec!["--version".to_owned()]),
            (None, false) => None,
        }
    }

    /// It tells its status only to a terminal that says it wants it (OSC 7501).
    pub fn asks_for_status(&self) -> bool {
        self.status.osc7501 == Osc7501::Asks
    }

    /// What looks like a status of it is one.
    pub(crate) fn tells_status(&self) -> bool {
        self.status.osc7501 != Osc7501::Never
    }

    /// Its text, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a window title of this tool claims.
    pub(crate) fn claim_of_title(&self, title: &str) -> Option<Claim> {
        let found = self.status.titles.iter().find(|(pattern, _)| pattern.is_match(title));
        found.map(|(_, claim)| *claim)
    }

    /// All of them but its words.
    fn patterns(&self) -> impl Iterator<Item = &LazyRegex> {
        let lists = [&self.busy, &self.answered, &self.accepted, &self.refused].into_iter().flatten();
        let titles = self.status.titles.iter().map(|(title, _)| title);
        let idle =
            self.idle.iter().flat_map(|idle| [&idle.invitation, &idle.filled_box, &idle.line]).flatten();
        lists.chain(titles).chain(idle).chain(self.dialogs.iter().flat_map(DialogRules::patterns))
    }

    /// Its own dialogs first, then those of the pack under it.
    fn over(mut self, under: &Pack) -> Self {
        self.tool.binaries.extend(under.tool.binaries.iter().cloned());
        self.tool.agent |= under.tool.agent;
        self.tool.keys_after_ms = self.tool.keys_after_ms.max(under.tool.keys_after_ms);
        self.tool.version_args = self.tool.version_args.or_else(|| under.tool.version_args.clone());
        self.proved.extend(under.proved.iter().cloned());
        self.dialogs.extend(under.dialogs.iter().cloned());
        self.busy.extend(under.busy.iter().cloned());
        self.answered.extend(under.answered.iter().cloned());
        self.accepted.extend(under.accepted.iter().cloned());
        self.refused.extend(under.refused.iter().cloned());
        self.status.titles.extend(under.status.titles.iter().cloned());
        self.status.osc7501 = self.status.osc7501.min(under.status.osc7501);
        self.idle = self.idle.or_else(|| under.idle.clone());
        self.words = self.words.or_else(|| under.words.clone());
        self.text = format!("{}\n{}", self.text, under.text).into();
        self
    }
}

impl PartialEq for Pack {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pack {}

/// What is wrong with a pack, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackError {
    pub file: PathBuf,
    /// Counted from one.
    pub line: usize,
    pub wrong: String,
    /// What to write.
    pub write: String,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, wrong, write } = self;
        write!(f, "{}:{line}: {wrong}. {write}", file.display())
    }
}

/// Everything that is wrong, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackErrors(pub Vec<PackError>);

impl fmt::Display for PackErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(PackError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for PackErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_version_args(tool: &str, expected: Option<&[&str]>) {
        let pack = Pack::parse(&format!("[tool]\nname = \"x\"\n{tool}"), Path::new("x.toml")).unwrap();
        let expected = expected.map(|args| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(pack.version_args(), expected, "{tool:?}");
    }

    #[test]
    fn only_agents_are_asked_their_version_unbidden() {
        check_version_args("", None);
        check_version_args("agent = true", Some(&["--version"]));
        check_version_args("agent = true\nversion_args = []", None);
        check_version_args("version_args = [\"version\", \"--short\"]", Some(&["version", "--short"]));
    }

    /// What a built-in pack skips when it is read: every pattern compiles, and says something.
    #[test]
    fn built_in_packs_are_as_good_as_those_of_a_person() {
        for (file, text) in EMBEDDED {
            if let Err(errors) = Pack::parse(text, Path::new(file)) {
                panic!("{errors}");
            }
        }
    }
}
