//! Words that mean the same in many programs, as data: what refuses, what accepts, how yes and no are spelled.

use std::sync::LazyLock;

use atlasbridge_model::Grant;
use regex::Regex;
use serde::Deserialize;

use super::{GENERIC, LazyRegex, Packs};

/// The lists of `[words]` in a pack.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Lists {
    /// A label that begins with one of these refuses.
    refuses: Vec<String>,
    accepts: Vec<String>,
    /// What an accepting label grants, by words anywhere in it: nothing more, until the end, for ever, a mode that asks less.
    once: Vec<String>,
    session: Vec<String>,
    always: Vec<String>,
    mode: Vec<String>,
    /// Pairs of yes and no, as they stand in `[y/N]`.
    yes_no: Vec<(String, String)>,
    /// What is typed hidden.
    secrets: Vec<String>,
    /// Beginnings of questions that only yes or no answers.
    asks_plainly: Vec<String>,
    /// What programs ask about a file: `rm: remove 'x'?`.
    asks_about: Vec<String>,
    /// Words of a question about a list.
    choosing: Vec<String>,
    /// Words of a question for a text of one's own.
    textual: Vec<String>,
}

/// The lists, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) refuses: LazyRegex,
    pub(crate) accepts: LazyRegex,
    pub(crate) once: LazyRegex,
    session: LazyRegex,
    always: LazyRegex,
    mode: LazyRegex,
    pub(crate) yes_no: Vec<(String, String)>,
    /// `[y/N]`: groups 1 and 2 are the pair, 3 what else is offered.
    pub(crate) alternatives: LazyRegex,
    pub(crate) secrets: LazyRegex,
    pub(crate) asks_plainly: LazyRegex,
    pub(crate) asks_about: LazyRegex,
    pub(crate) choosing: LazyRegex,
    pub(crate) textual: LazyRegex,
}

impl Words {
    /// `is_good` says whether a pattern may stay; the word that makes one bad is handed back.
    pub(super) fn new(lists: &Lists, is_good: impl Fn(&LazyRegex) -> bool) -> Result<Self, String> {
        let regex = |before: &str, words: &[String], after: &str| {
            let pattern = LazyRegex::new(format!("{before}(?i:{}){after}", any(words)));
            let broken = || words.iter().find(|word| Regex::new(word).is_err()).cloned();
            if is_good(&pattern) { Ok(pattern) } else { Err(broken().unwrap_or_else(|| words.join(" "))) }
        };
        let begins = format!("^{SIGN}*");
        let secrets: Vec<String> = lists.secrets.iter().map(|word| whole(word)).collect();
        let (yes, no): (Vec<_>, Vec<_>) =
            lists.yes_no.iter().map(|(yes, no)| (regex::escape(yes), regex::escape(no))).unzip();
        let (yes, no, b) = (any(&yes), any(&no), BLANKS);
        Ok(Self {
            refuses: regex(&begins, &lists.refuses, "")?,
            accepts: regex(&begins, &lists.accepts, "")?,
            once: regex(r"\b", &lists.once, "")?,
            session: regex(r"\b", &lists.session, "")?,
            always: regex(r"\b", &lists.always, "")?,
            mode: regex(r"\b", &lists.mode, "")?,
            // A row of the screen has no blanks but these; all that Unicode knows would make it ten times as large.
            alternatives: LazyRegex::new(format!(
                r"[\[(<{{]{b}((?i:{yes})){b}[/|,:]{b}((?i:{no}))((?:{b}[/|,]{b}[^ \[\]()/|,]+|{b}[/|,]{b}\[[^\[\]]+\])*){b}[\])>}}]{b}(?:[\[(][^\[\]()]*[\])])?{b}[:?？：›>‣»…!.]*{b}(?i:true|false|yes|no)?$"
            )),
            yes_no: lists.yes_no.clone(),
            secrets: regex("", &secrets, r"[^:：?>›]*(?:\([^()]*\)|\[[^\[\]]*\])?\s*[:：?>›]*$")?,
            asks_plainly: regex(&format!("^(?:{SIGN}{{0,3}} *)?"), &lists.asks_plainly, ".*[?？]$")?,
            asks_about: regex(r"^[A-Za-z0-9_.+/-]+: .*\b", &lists.asks_about, r"\b.*\?$")?,
            choosing: regex(r"\b", &lists.choosing, r"\b")?,
            textual: regex(r"\b", &lists.textual, r"\b")?,
        })
    }

    /// What a label grants besides what is asked, the widest that it names. `None`: it names nothing.
    pub(crate) fn grants(&self, label: &str) -> Option<Grant> {
        widest([&self.mode, &self.always, &self.session].map(Some), label)
    }

    /// Whether these two are a pair of yes and no.
    pub(crate) fn is_pair(&self, yes: &str, no: &str) -> bool {
        let (yes, no) = (yes.to_lowercase(), no.to_lowercase());
        self.yes_no.iter().any(|pair| pair.0 == yes && pair.1 == no)
    }
}

/// The widest grant that a label names; the patterns are of a mode, of always and of a session.
pub(crate) fn widest(patterns: [Option<&LazyRegex>; 3], label: &str) -> Option<Grant> {
    let named = |pattern: &LazyRegex| pattern.is_match(label);
    let mut grants = patterns.into_iter().zip([Grant::Mode, Grant::Always, Grant::Session]);
    grants.find(|(pattern, _)| pattern.is_some_and(named)).map(|(_, grant)| grant)
}

/// Any number of blanks, plain and wide.
const BLANKS: &str = r"[ \u{a0}\u{3000}]*";

/// A sign that decorates a label: marks, boxes, arrows, pictures. `\W` would say the same in seven hundred ranges.
const SIGN: &str = r"[ -/:-@\[-^`{-\u{bf}\u{2000}-\u{2bff}\u{3000}-\u{303f}\u{fe00}-\u{fe0f}\u{ff00}-\u{ff0f}\u{1f000}-\u{1faff}]";

/// As a word of its own, where the script has such words.
fn whole(word: &str) -> String {
    let is_word = word.starts_with(|char: char| char.is_ascii_alphanumeric());
    if is_word { format!(r"\b{word}\b") } else { word.to_owned() }
}

/// One of these; of none, nothing.
fn any(words: &[String]) -> String {
    // Matches no text at all.
    const NOTHING: &str = r"[^\s\S]";
    if words.is_empty() { NOTHING.to_owned() } else { words.join("|") }
}

/// The words of the generic pack in the binary.
pub(crate) fn words() -> &'static Words {
    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let generic = Packs::embedded().0.into_iter().find(|source| source.is_named(GENERIC));
        let words = generic.and_then(|source| source.pack()?.words.clone());
        words.expect("a test reads every pack of the binary, and the generic one has words")
    });
    &WORDS
}
