//! The screen as people see it, for a person who watches from elsewhere. Nothing is recognised on it.
//!
//! # Masked-before-it-leaves invariant
//! A picture never shows what looks like a secret, nor text that the tool hides: it may be sent as it is.

use std::ops::Range;

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line as GridLine};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor};
use atlasbridge_model::mask;
use atlasbridge_model::picture::{Colour, Picture, Row, Run, Style};

use super::Screen;

/// What stands in a cell of a secret: the picture keeps its width.
const MASKED: char = '•';
/// Most characters on top of one. No script needs more; what stacks hundreds is made to overflow something.
const MOST_COMBINING: usize = 8;

/// What one character of the screen takes: its place in the text, its cells, its looks.
struct Glyph {
    text: Range<usize>,
    cells: u16,
    style: Style,
}

impl Screen {
    /// The whole screen.
    pub fn picture(&self) -> Picture {
        let grid = self.term.grid();
        let mut text = String::with_capacity(grid.screen_lines() * grid.columns());
        let mut rows = Vec::with_capacity(grid.screen_lines());
        for row in 0..grid.screen_lines() {
            rows.push(self.glyphs(row, &mut text));
        }
        // Over the whole text: a token that goes on in the next row is still one.
        let secrets = mask::secrets(&text);
        let mut left = secrets.as_slice();
        let rows = rows.iter().map(|glyphs| row_of(glyphs, &text, &mut left)).collect();
        let (row, column) = self.cursor();
        let shows_cursor = self.term.mode().contains(TermMode::SHOW_CURSOR);
        Picture {
            columns: grid.columns() as u16,
            rows,
            cursor: shows_cursor.then_some((row, column)),
            is_alternate: self.is_alternate(),
        }
    }

    /// The row's characters, without the blanks at its end; their text goes to the end of `text`, rows that wrap as one line.
    fn glyphs(&self, row: usize, text: &mut String) -> Vec<Glyph> {
        let cells = &self.term.grid()[GridLine(row as i32)];
        let columns = self.term.columns();
        let end =
            (0..columns).rev().find(|&column| !is_blank(&cells[Column(column)])).map_or(0, |last| last + 1);
        let mut glyphs = Vec::with_capacity(end);
        let mut column = 0;
        while column < end {
            let cell = &cells[Column(column)];
            let width = if cell.flags.contains(Flags::WIDE_CHAR) && column + 1 < columns { 2 } else { 1 };
            let start = text.len();
            push_shown(cell, width, text);
            glyphs.push(Glyph { text: start..text.len(), cells: width, style: style_of(cell) });
            column += usize::from(width);
        }
        if super::wraps(cells) {
            // Left out of the picture, but not of the line that goes on.
            text.extend((end..columns).map(|_| ' '));
        } else {
            text.push('\n');
        }
        glyphs
    }
}

/// The runs of one row; secrets that end before it are taken off `secrets`.
fn row_of(glyphs: &[Glyph], text: &str, secrets: &mut &[Range<usize>]) -> Row {
    let mut runs: Vec<Run> = Vec::new();
    for glyph in glyphs {
        while secrets.first().is_some_and(|secret| secret.end <= glyph.text.start) {
            *secrets = &secrets[1..];
        }
        let is_secret = secrets.first().is_some_and(|secret| secret.start < glyph.text.end);
        let run = match runs.last_mut() {
            Some(run) if run.style == glyph.style => run,
            _ => runs.push_mut(Run { text: String::new(), cells: 0, style: glyph.style }),
        };
        run.cells += glyph.cells;
        if is_secret {
            run.text.extend((0..glyph.cells).map(|_| MASKED));
        } else {
            run.text.push_str(&text[glyph.text.clone()]);
        }
    }
    Row { runs }
}

/// What the cell shows. Hidden text is not there for anybody; marks that turn the direction of text around have no effect
/// on a grid of cells, and would have one where the picture is shown.
fn push_shown(cell: &Cell, width: u16, text: &mut String) {
    if cell.flags.contains(Flags::HIDDEN) || cell.c.is_control() || super::is_spacer(cell) {
        text.extend((0..width).map(|_| ' '));
        return;
    }
    text.push(cell.c);
    let combining = cell.zerowidth().unwrap_or_default();
    let shown = combining.iter().filter(|&&mark| !turns_direction(mark));
    text.extend(shown.take(MOST_COMBINING));
}

fn turns_direction(mark: char) -> bool {
    matches!(mark, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Nothing to see: a blank in the terminal's own colours.
fn is_blank(cell: &Cell) -> bool {
    let is_space =
        matches!(cell.c, ' ' | '\t' | '\0') || cell.flags.intersects(Flags::LEADING_WIDE_CHAR_SPACER);
    let is_drawn = cell
        .flags
        .intersects(Flags::INVERSE | Flags::ALL_UNDERLINES | Flags::STRIKEOUT | Flags::WIDE_CHAR_SPACER);
    is_space && !is_drawn && colour_of(cell.bg) == Colour::Default && cell.zerowidth().is_none()
}

fn style_of(cell: &Cell) -> Style {
    let has = |flags| cell.flags.intersects(flags);
    Style {
        foreground: colour_of(cell.fg),
        background: colour_of(cell.bg),
        is_bold: has(Flags::BOLD),
        is_dim: has(Flags::DIM),
        is_italic: has(Flags::ITALIC),
        is_underlined: has(Flags::ALL_UNDERLINES),
        is_struck: has(Flags::STRIKEOUT),
        is_reversed: has(Flags::INVERSE),
        is_hidden: has(Flags::HIDDEN),
    }
}

fn colour_of(color: Color) -> Colour {
    match color {
        Color::Indexed(index) => Colour::Indexed(index),
        Color::Spec(rgb) => Colour::Rgb(rgb.r, rgb.g, rgb.b),
        // The sixteen of the palette are numbered from zero, their eight dim ones from `DimBlack`.
        Color::Named(named) => match named as usize {
            index @ ..16 => Colour::Indexed(index as u8),
            index @ DIM..DIM_END => Colour::Indexed((index - DIM) as u8),
            _ => Colour::Default,
        },
    }
}

const DIM: usize = NamedColor::DimBlack as usize;
const DIM_END: usize = DIM + 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(bytes: &[u8]) -> Screen {
        let mut screen = Screen::new(20, 4);
        screen.feed(bytes);
        screen
    }

    /// Each run as `text/cells`, with what sets its style apart.
    #[track_caller]
    fn check(bytes: &str, expected: &[(&str, u16, Style)]) {
        let picture = screen(bytes.as_bytes()).picture();
        let runs: Vec<_> =
            picture.rows[0].runs.iter().map(|run| (run.text.as_str(), run.cells, run.style)).collect();
        assert_eq!(runs, expected, "{bytes:?}");
    }

    fn ink(foreground: Colour) -> Style {
        Style { foreground, ..Style::default() }
    }

    #[test]
    fn colours_and_weights() {
        let plain = Style::default();
        check("ab  ", &[("ab", 2, plain)]);
        check("\x1b[31ma\x1b[0mb", &[("a", 1, ink(Colour::Indexed(1))), ("b", 1, plain)]);
        check("\x1b[97ma", &[("a", 1, ink(Colour::Indexed(15)))]);
        check("\x1b[39;49ma", &[("a", 1, plain)]);
        check("\x1b[38;5;200ma", &[("a", 1, ink(Colour::Indexed(200)))]);
        check("\x1b[38;2;1;2;3ma", &[("a", 1, ink(Colour::Rgb(1, 2, 3)))]);
        let ground = Style { background: Colour::Indexed(4), ..plain };
        check("\x1b[44m  ", &[("  ", 2, ground)]);
        let loud = Style {
            is_bold: true,
            is_dim: true,
            is_italic: true,
            is_underlined: true,
            is_struck: true,
            is_reversed: true,
            ..plain
        };
        check("\x1b[1;2;3;4;7;9ma", &[("a", 1, loud)]);
        let hidden = Style { is_hidden: true, ..plain };
        check("a\x1b[8mpin\x1b[0mb", &[("a", 1, plain), ("   ", 3, hidden), ("b", 1, plain)]);
    }

    #[test]
    fn wide_and_combined_characters() {
        let plain = Style::default();
        check("日本x", &[("日本x", 5, plain)]);
        check("e\u{301}x", &[("e\u{301}x", 2, plain)]);
        check("a\u{202e}b", &[("ab", 2, plain)]);
        let stacked = format!("a{}", "\u{301}".repeat(500));
        let shown = format!("a{}", "\u{301}".repeat(MOST_COMBINING));
        check(&stacked, &[(&shown, 1, plain)]);
        check("a\tb", &[("a       b", 9, plain)]);
    }

    #[test]
    fn cursor_and_alternate_screen() {
        let picture = screen(b"ab\r\nc").picture();
        assert_eq!((picture.columns, picture.rows.len()), (20, 4));
        assert_eq!((picture.cursor, picture.is_alternate), (Some((1, 1)), false));
        let picture = screen(b"ab\x1b[?1049h\x1b[?25lc").picture();
        assert_eq!((picture.cursor, picture.is_alternate), (None, true));
        assert_eq!(picture.to_text().trim(), "c");
    }

    #[test]
    fn secrets_are_masked_cell_by_cell() {
        // Assembled at run time, so that no secret scanner takes this file for a leak.
        let key = format!("sk-{}", "a1B2".repeat(6));
        let picture = screen(format!("x {key} y").as_bytes()).picture();
        assert_eq!(
            picture.to_text(),
            format!("x {}\n{} y", "•".repeat(18), "•".repeat(9)),
            "in both rows that it wraps over"
        );
        let picture = screen("PASSWORD=日本語日本 ok".as_bytes()).picture();
        assert_eq!(picture.to_text(), format!("PASSWORD={}\nok", "•".repeat(10)));
        assert_eq!(picture.rows[0].runs[0].cells, 19);
    }
}
