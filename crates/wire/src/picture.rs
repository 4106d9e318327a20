//! Pictures of a screen on the wire: short names, and nothing said that can be left out. They come up to twenty times a
//! second for each session that is watched.

use atlasbridge_model::picture as model;
use serde::{Deserialize, Serialize};

/// A whole screen, or the rows that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureChange {
    #[serde(rename = "c")]
    pub columns: u16,
    #[serde(rename = "h")]
    pub height: u16,
    /// Row and column; absent while the tool hides the cursor.
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<(u16, u16)>,
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_alternate: bool,
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_whole: bool,
    /// Row number and its runs.
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<(u16, Vec<PictureRun>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureRun {
    #[serde(rename = "t")]
    pub text: String,
    /// Cells that the text covers, where it is not one for each character.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<u16>,
    /// The terminal's own colours are left out.
    #[serde(rename = "f", default, skip_serializing_if = "is_the_terminals", with = "ColourText")]
    pub foreground: model::Colour,
    #[serde(rename = "b", default, skip_serializing_if = "is_the_terminals", with = "ColourText")]
    pub background: model::Colour,
    /// `b`old, `d`im, `i`talic, `u`nderlined, `s`truck, `r`eversed, `h`idden.
    #[serde(rename = "s", default, skip_serializing_if = "String::is_empty")]
    pub style: String,
}

/// A number from the palette, or red, green and blue.
#[derive(Serialize, Deserialize)]
#[serde(remote = "model::Colour", untagged)]
enum ColourText {
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

fn is_the_terminals(colour: &model::Colour) -> bool {
    *colour == model::Colour::Default
}

impl From<&model::Change> for PictureChange {
    fn from(change: &model::Change) -> Self {
        let model::Change { columns, height, cursor, is_alternate, ref rows, is_whole } = *change;
        let rows =
            rows.iter().map(|(number, row)| (*number, row.runs.iter().map(PictureRun::from).collect()));
        Self { columns, height, cursor, is_alternate, is_whole, rows: rows.collect() }
    }
}

impl From<PictureChange> for model::Change {
    fn from(twin: PictureChange) -> Self {
        let PictureChange { columns, height, cursor, is_alternate, is_whole, rows } = twin;
        let row =
            |runs: Vec<PictureRun>| model::Row { runs: runs.into_iter().map(model::Run::from).collect() };
        let rows = rows.into_iter().map(|(number, runs)| (number, row(runs))).collect();
        Self { columns, height, cursor, is_alternate, is_whole, rows }
    }
}

impl From<&model::Run> for PictureRun {
    fn from(run: &model::Run) -> Self {
        let mut style = run.style;
        Self {
            text: run.text.clone(),
            cells: (run.cells != one_for_each(&run.text)).then_some(run.cells),
            foreground: style.foreground,
            background: style.background,
            style: LETTERS.iter().filter(|(_, flag)| *flag(&mut style)).map(|(letter, _)| letter).collect(),
        }
    }
}

impl From<PictureRun> for model::Run {
    fn from(twin: PictureRun) -> Self {
        let mut style = model::Style {
            foreground: twin.foreground,
            background: twin.background,
            ..model::Style::default()
        };
        for (letter, flag) in LETTERS {
            *flag(&mut style) = twin.style.contains(letter);
        }
        Self { cells: twin.cells.unwrap_or_else(|| one_for_each(&twin.text)), style, text: twin.text }
    }
}

type Flag = fn(&mut model::Style) -> &mut bool;

/// The letter of each weight, in the order in which they are written.
const LETTERS: [(char, Flag); 7] = [
    ('b', |style| &mut style.is_bold),
    ('d', |style| &mut style.is_dim),
    ('i', |style| &mut style.is_italic),
    ('u', |style| &mut style.is_underlined),
    ('s', |style| &mut style.is_struck),
    ('r', |style| &mut style.is_reversed),
    ('h', |style| &mut style.is_hidden),
];

fn one_for_each(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
