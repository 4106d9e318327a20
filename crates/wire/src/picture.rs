//! Pictures of a screen on the wire: short names, and nothing said that can be left out. They come up to twenty times a
//! second for each session that is watched.

use atlasbridge_model::picture as model;
use serde::{Deserialize, Serialize};

/// A whole screen, or the rows that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
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
    pub rows: Vec<(u16, Vec<Run>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    #[serde(rename = "t")]
    pub text: String,
    /// Cells that the text covers, where it is not one for each character.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<u16>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<Colour>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Colour>,
    /// `b`old, `d`im, `i`talic, `u`nderlined, `s`truck, `r`eversed, `h`idden.
    #[serde(rename = "s", default, skip_serializing_if = "String::is_empty")]
    pub style: String,
}

/// A number from the palette, or red, green and blue. The terminal's own colour is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Colour {
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl From<&model::Change> for Change {
    fn from(change: &model::Change) -> Self {
        Self {
            columns: change.columns,
            height: change.height,
            cursor: change.cursor,
            is_alternate: change.is_alternate,
            is_whole: change.is_whole,
            rows: change
                .rows
                .iter()
                .map(|(number, row)| (*number, row.runs.iter().map(Run::from).collect()))
                .collect(),
        }
    }
}

impl From<Change> for model::Change {
    fn from(twin: Change) -> Self {
        Self {
            columns: twin.columns,
            height: twin.height,
            cursor: twin.cursor,
            is_alternate: twin.is_alternate,
            is_whole: twin.is_whole,
            rows: twin
                .rows
                .into_iter()
                .map(|(number, runs)| {
                    let runs = runs.into_iter().map(model::Run::from).collect();
                    (number, model::Row { runs })
                })
                .collect(),
        }
    }
}

impl From<&model::Run> for Run {
    fn from(run: &model::Run) -> Self {
        Self {
            text: run.text.clone(),
            cells: (run.cells != one_for_each(&run.text)).then_some(run.cells),
            foreground: Colour::of(run.style.foreground),
            background: Colour::of(run.style.background),
            style: letters(run.style),
        }
    }
}

impl From<Run> for model::Run {
    fn from(twin: Run) -> Self {
        let is = |letter| twin.style.contains(letter);
        let colour = |twin: Option<Colour>| match twin {
            None => model::Colour::Default,
            Some(Colour::Indexed(index)) => model::Colour::Indexed(index),
            Some(Colour::Rgb(red, green, blue)) => model::Colour::Rgb(red, green, blue),
        };
        Self {
            cells: twin.cells.unwrap_or_else(|| one_for_each(&twin.text)),
            style: model::Style {
                foreground: colour(twin.foreground),
                background: colour(twin.background),
                is_bold: is('b'),
                is_dim: is('d'),
                is_italic: is('i'),
                is_underlined: is('u'),
                is_struck: is('s'),
                is_reversed: is('r'),
                is_hidden: is('h'),
            },
            text: twin.text,
        }
    }
}

impl Colour {
    fn of(colour: model::Colour) -> Option<Self> {
        match colour {
            model::Colour::Default => None,
            model::Colour::Indexed(index) => Some(Colour::Indexed(index)),
            model::Colour::Rgb(red, green, blue) => Some(Colour::Rgb(red, green, blue)),
        }
    }
}

fn letters(style: model::Style) -> String {
    [
        (style.is_bold, 'b'),
        (style.is_dim, 'd'),
        (style.is_italic, 'i'),
        (style.is_underlined, 'u'),
        (style.is_struck, 's'),
        (style.is_reversed, 'r'),
        (style.is_hidden, 'h'),
    ]
    .into_iter()
    .filter_map(|(is_set, letter)| is_set.then_some(letter))
    .collect()
}

fn one_for_each(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
