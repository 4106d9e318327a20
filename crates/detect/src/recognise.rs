//! Reading a screen: one file per family of prompts, each a pure function from a look to a reading.
//!
//! A recogniser looks at the live region only: the line of the cursor, or the dialog at the bottom of what is
//! shown. `(y/n)` in text that scrolled by is no prompt. Whether the program really waits is not decided here but
//! in `verdict.rs`. What a tool's pack knows comes first; the generic families read every program.

use std::sync::{Arc, LazyLock};

use atlasbridge_model::mask::mask;
use atlasbridge_model::{Choice, Choices, Constraints, Effect, Entry, Kind, Span};
use regex::Regex;

use crate::packs::{Pack, Words};
use crate::page::{CursorLine, Page, is_rule};
use crate::status::Claim;
use crate::witness::KernelWait;

/// Compiled when it is first asked; a test compiles all of them.
pub(crate) type Pattern = LazyLock<Regex>;

/// A static [`Pattern`].
macro_rules! pattern {
    ($source:expr) => {
        std::sync::LazyLock::new(|| regex::Regex::new($source).expect("a test compiles every pattern"))
    };
}
pub(crate) use pattern;

mod packed;

mod composer;
mod dialog;

mod arrows;
mod buttons;

mod editor;
mod enter;
mod letters;
mod line;
mod listed;
mod named;
mod pager;
mod repl;
mod secret;
mod text;
mod yes_no;

mod cut;
mod frame;
mod labels;
mod rules;

pub(crate) use composer::{box_top, is_busy, without_marker};
pub(crate) use cut::Cut;
pub(crate) use frame::moves;
pub(crate) use line::stated_picks;
pub(crate) use rules::{DialogRules, Keys, Rows};

/// All that a recogniser may know.
pub(crate) struct Look<'a> {
    pub(crate) page: &'a Page,
    /// The line of the cursor, joined.
    pub(crate) line: CursorLine,
    pub(crate) kernel: KernelWait,
    pub(crate) claim: Option<Claim>,
    /// What is known of this very tool.
    pub(crate) pack: Option<Arc<Pack>>,
}

/// A prompt as one recogniser read it.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) kind: Kind,
    /// In hundredths, by kind and pattern alone.
    pub(crate) base: u8,
    pub(crate) excerpt: String,
    pub(crate) detail: String,
    pub(crate) choices: Option<Choices>,
    pub(crate) constraints: Constraints,
    pub(crate) offers_default: bool,
    pub(crate) entry: Entry,
    pub(crate) place: Place,
    /// What makes this prompt the same prompt when it is drawn again: question, subject and choices.
    pub(crate) identity: String,
    /// The family that read it.
    pub(crate) family: &'static str,
    /// The pack's dialog that knew it.
    pub(crate) dialog: Option<String>,
    /// Consent is asked for, and not a word says for what: perhaps that part is not drawn yet.
    pub(crate) is_bare: bool,
}

/// Where on the screen the prompt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The cursor stands behind this question; what is typed appears there.
    Line { question: String },
    /// A dialog drawn around or above the cursor.
    Block,
    /// The input box of an agent. `drafted`: a person has begun to write in it.
    Composer { drafted: bool },
}

type Recogniser = fn(&Look<'_>) -> Option<Reading>;

/// In order of how much a match proves: the first reading counts.
const FAMILIES: &[(&str, Recogniser)] = &[
    ("a hidden line", secret::hidden_line),
    ("a dialog of the pack", packed::read),
    ("more", pager::more),
    ("letters in the line", letters::read),
    ("a form with buttons", buttons::boxed),
    ("numbered rows", dialog::numbered),
    ("keys named in a row", named::read),
    ("a menu moved by arrows", arrows::menu),
    ("a question drawn as a block", text::drawn),
    ("buttons told apart by colour", buttons::styled),
    ("a bar of shortcuts", buttons::shortcut_bar),
    ("an editor", editor::read),
    ("an input box", composer::idle),
    ("a list above a question", listed::read),
    ("yes or no", yes_no::read),
    ("press Enter", enter::read),
    ("a secret", secret::by_text),
    ("a pager", pager::less),
    ("a shell or interpreter", repl::read),
    ("free text", text::read),
];

/// The prompt that stands on the screen, if any family knows it.
pub(crate) fn read(look: &Look<'_>) -> Option<Reading> {
    if is_being_drawn(look) {
        return None;
    }
    let mut reading = FAMILIES
        .iter()
        .find_map(|(name, family)| family(look).map(|reading| Reading { family: name, ..reading }))?;
    if let Some(words) = look.pack().and_then(|pack| pack.words.as_ref())
        && reading.dialog.is_none()
    {
        reading.judge_by(words);
    }
    if look.pack().is_some_and(|pack| pack.is_agent())
        && matches!(reading.place, Place::Line { .. })
        && reading.asks_for_consent()
    {
        reading.excerpt = line::with_lines_above(look.page, look.line.first, &reading.excerpt);
    }
    Some(reading)
}

/// Claude Code draws the frame of an edit first, with a mark in the place of its lines.
fn is_being_drawn(look: &Look<'_>) -> bool {
    let page = look.page;
    let is_mark = |row: usize| page.text(row).trim() == "…";
    let is_framed = |row: usize| is_rule(page.text(row - 1)) && is_rule(page.text(row + 1));
    look.pack().is_some() && (1..page.last_row().unwrap_or(0)).any(|row| is_mark(row) && is_framed(row))
}

/// The reading of last resort: a program that waits in a way no family knows.
pub(crate) fn unknown(look: &Look<'_>) -> Reading {
    let question = if look.line.before.is_empty() { last_words(look) } else { look.line.before.clone() };
    let detail = look.page.block(look.line.last.saturating_sub(5), look.line.last);
    Reading { family: "nothing known", detail, ..Reading::line(look, Kind::Unknown, 60, &question) }
}

/// The nearest line with any text, from the cursor upwards.
fn last_words(look: &Look<'_>) -> String {
    (0..=look.line.last)
        .rev()
        .map(|row| look.page.inner(row).trim())
        .find(|text| !text.is_empty())
        .unwrap_or_default()
        .to_owned()
}

impl Look<'_> {
    pub(crate) fn pack(&self) -> Option<&Pack> {
        self.pack.as_deref()
    }

    /// The program has written on below this row, and the cursor stands behind its words: what asks above was
    /// answered, or given up, and keys would go to what stands at the cursor. A hidden cursor is parked anywhere.
    pub(crate) fn is_past(&self, row: usize) -> bool {
        let line = &self.line;
        let says_something = self.page.cursor.visible && line.before.contains(char::is_alphanumeric);
        line.first > row && says_something && line.gap <= 1 && line.after.is_empty()
    }

    /// Or it has written whole lines below this row that are no part of what asks there, and stands before the next.
    pub(crate) fn is_left_behind(&self, row: usize, is_part: impl Fn(&str) -> bool) -> bool {
        let page = self.page;
        let cursor = page.cursor.row;
        let wrote = |row: usize| {
            let text = page.inner(row).trim();
            !text.is_empty() && !is_rule(text) && !is_part(text)
        };
        let is_shown = page.cursor.visible && page.cursor.column == 0;
        let at_a_fresh_line = is_shown && page.text(cursor).trim().is_empty();
        at_a_fresh_line && (row + 1..cursor).any(wrote)
    }

    /// How a typed line is taken here.
    pub(crate) fn entry(&self) -> Entry {
        if self.kernel.canonical { Entry::Line } else { Entry::Keys }
    }

    /// The choice that this word takes as the answer to a line question.
    pub(crate) fn choice(&self, label: &str, word: &str, effect: Effect) -> Choice {
        Choice { label: label.to_owned(), strokes: Some(self.entry().line(word)), effect }
    }
}

impl Reading {
    /// A question in the cursor's line. Its detail begins with the lines just above: the subject is often there.
    pub(crate) fn line(look: &Look<'_>, kind: Kind, base: u8, question: &str) -> Self {
        let detail = look.page.block(line::subject_from(look), look.line.last);
        Self {
            constraints: line::constraints(question),
            offers_default: line::offers_default(question),
            entry: look.entry(),
            place: Place::Line { question: look.line.before.clone() },
            ..Self::block(kind, base, question, detail, question.trim().to_owned())
        }
    }

    /// A dialog of its own, with everything that matters in `detail`.
    pub(crate) fn block(kind: Kind, base: u8, excerpt: &str, detail: String, identity: String) -> Self {
        Self {
            kind,
            base,
            excerpt: excerpt.trim().to_owned(),
            detail,
            choices: None,
            constraints: Constraints::default(),
            offers_default: false,
            entry: Entry::Keys,
            place: Place::Block,
            identity: format!("{kind}\n{identity}"),
            family: "",
            dialog: None,
            is_bare: false,
        }
    }

    /// A dialog with its rows, known again by what it is about and by their labels.
    pub(crate) fn rows(
        kind: Kind,
        base: u8,
        excerpt: &str,
        subject: &str,
        detail: String,
        choices: Vec<Choice>,
    ) -> Self {
        let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
        let identity = format!("{subject}\n{}", labels.join("\n"));
        Self::block(kind, base, excerpt, detail, identity).with_choices(choices)
    }

    /// Read by these rules, which may be a pack's.
    pub(crate) fn by(mut self, rules: &DialogRules) -> Self {
        self.dialog = rules.is_packed().then(|| rules.name.text.clone());
        self
    }

    /// # What is not shown is told
    /// A person who answers from elsewhere sees an excerpt, and the detail on demand: both begin with the word that they are
    /// not the whole, and the detail says how the person at the terminal sees the rest.
    pub(crate) fn told_as(mut self, cut: Option<Cut>, rules: &DialogRules) -> Self {
        let Some(cut) = cut else { return self };
        let more = rules.more.as_ref().map(|more| format!(" {more}.")).unwrap_or_default();
        let (in_short, in_full) = cut.in_words();
        self.excerpt = format!("[{in_short}] {}", self.excerpt);
        self.detail = format!("[{in_full}.{more}]\n{}", self.detail);
        self
    }

    /// The question stands in another line than the cursor's.
    fn asked_as(mut self, asked: &str, excerpt: &str) -> Self {
        self.excerpt = excerpt.trim().to_owned();
        self.identity = format!("{}\n{asked}", self.identity);
        self
    }

    /// Some row accepts: something is to be allowed.
    pub(crate) fn asks_for_consent(&self) -> bool {
        self.choices.as_ref().is_some_and(Choices::offers_consent)
    }

    /// Words that the person's own pack adds say what a choice does. They make no refusal of a row that accepts, and no
    /// plain yes of one that grants more.
    fn judge_by(&mut self, words: &Words) {
        let judged = |choice: &Choice| {
            let (label, effect) = (choice.label.as_str(), choice.effect);
            let accepted = || {
                let by_words = if effect.is_accepting() { effect } else { labels::accepted(label) };
                words.grants(label).map_or(by_words, Effect::Widens)
            };
            let (refuses, accepts) = (words.refuses.is_match(label), words.accepts.is_match(label));
            Choice { effect: rules::judged(effect, refuses, accepts, accepted), ..choice.clone() }
        };
        if let Some(choices) = &self.choices {
            self.choices = Choices::new(choices.iter().map(judged).collect());
        }
    }

    /// # Masked-labels invariant
    /// A row may quote a command with a token in it ("don't ask again for: curl -H …"): what leaves here is masked
    /// as excerpts are. The identity, a hash in the end, keeps the text as it is.
    pub(crate) fn with_choices(mut self, rows: Vec<Choice>) -> Self {
        let masked = |row: Choice| Choice { label: mask(&row.label).into_owned(), ..row };
        if self.kind == Kind::MultipleChoice {
            self.constraints.numbers = line::stated_numbers(&self.excerpt).or_else(|| numbers_of(&rows));
            self.constraints.picks = stated_picks(&self.excerpt, rows.len());
        }
        let mut rows: Vec<Choice> = rows.into_iter().map(masked).collect();
        labels::beside_each_other(&mut rows);
        self.choices = Choices::new(rows);
        self
    }
}

/// The numbers that rows are selected by, where all but those that refuse have one.
fn numbers_of(rows: &[Choice]) -> Option<Span> {
    let number = |row: &Choice| -> Option<u16> {
        let keys = row.strokes.as_ref()?.to_text();
        keys.trim_end_matches('\r').parse().ok()
    };
    let is_counted = |row: &&Choice| row.effect != Effect::Refuses || number(row).is_some();
    let numbers: Vec<u16> = rows.iter().filter(is_counted).map(number).collect::<Option<_>>()?;
    Span::new(*numbers.iter().min()?, *numbers.iter().max()?)
}
