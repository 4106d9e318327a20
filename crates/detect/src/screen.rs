//! The rendered screen: a grid, a cursor, a title. Only this file and its parts name the emulator.
//!
//! The emulator never answers a query (its replies are dropped: the person's terminal answers). What scrolls off is kept
//! for people (`history`), and no recogniser reads it. A synchronized update holds its bytes back until it ends; the detector ends it when it lasts too long.

mod history;
mod picture;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::{Dimensions, Row};
use alacritty_terminal::index::Line as GridLine;
use alacritty_terminal::term::cell::{Cell, Flags, LineLength};
// It is the only size that the emulator has, wherever it keeps it.
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term, TermMode};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor, Timeout};

use crate::page::{Cursor, Page, PageLine, TextRun};

/// The emulator misbehaves below this (a wide character needs two columns).
const SMALLEST: u16 = 2;
/// No real window is larger; the grid's memory stays bounded for every resize.
const LARGEST: u16 = 2000;

/// What the tool's output looks like on a terminal.
pub struct Screen {
    term: Term<Listener>,
    parser: Processor<OpenUpdate>,
    /// The window title, which the emulator's listener writes.
    title: Arc<Mutex<String>>,
    /// Lines that scrolled off before the last resize.
    older: VecDeque<String>,
}

/// How the tool wants to be typed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputModes {
    pub application_cursor: bool,
    pub bracketed_paste: bool,
}

impl Screen {
    pub(crate) fn new(cols: u16, rows: u16) -> Self {
        let title = Arc::default();
        let config = Config { scrolling_history: history::MOST_LINES, ..Config::default() };
        let term = Term::new(config, &size(cols, rows), Listener(Arc::clone(&title)));
        Self { term, parser: Processor::new(), title, older: VecDeque::new() }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    pub(crate) fn resize(&mut self, cols: u16, rows: u16) {
        let size = size(cols, rows);
        if (size.columns, size.screen_lines) != (self.term.columns(), self.term.screen_lines()) {
            self.without_history(|screen| screen.term.resize(size));
        }
    }

    /// A synchronized update is open: bytes were taken and not shown.
    pub(crate) fn is_held(&self) -> bool {
        self.parser.sync_timeout().0
    }

    /// Ends a synchronized update that its program forgot to end.
    pub(crate) fn release(&mut self) {
        self.parser.stop_sync(&mut self.term);
    }

    /// The rows as recognisers read them.
    pub(crate) fn page(&self) -> Page {
        let grid = self.term.grid();
        let cursor = grid.cursor.point;
        let row = usize::try_from(cursor.line.0).unwrap_or(0);
        let lines: Vec<PageLine> = (0..grid.screen_lines()).map(|row| self.line(row)).collect();
        // Wide characters take two columns.
        let column = characters(&grid[cursor.line][..cursor.column]).count();
        let cursor = Cursor { row, column, visible: self.term.mode().contains(TermMode::SHOW_CURSOR) };
        Page { lines, cursor, cols: grid.columns(), alternate: self.is_alternate() }
    }

    fn line(&self, row: usize) -> PageLine {
        let cells = &self.term.grid()[GridLine(row as i32)];
        let length = cells.line_length();
        let mut text = String::with_capacity(length.0);
        let mut runs: Vec<TextRun> = Vec::new();
        for (index, cell) in characters(&cells[..length]).enumerate() {
            text.push(shown(cell));
            let style = style_of(cell);
            match runs.last_mut() {
                Some(run) if run.style == style => run.end += 1,
                _ => runs.push(TextRun { start: index, end: index + 1, style }),
            }
        }
        text.truncate(text.trim_end().len());
        PageLine { text, wraps: wraps(cells), runs }
    }

    /// Rows of text, trailing blanks removed.
    pub fn rows(&self) -> Vec<String> {
        (0..self.term.screen_lines()).map(|row| self.line(row).text).collect()
    }

    /// The whole screen as text, without blank lines at its end.
    pub fn text(&self) -> String {
        let mut text = self.rows().join("\n");
        text.truncate(text.trim_end().len());
        text
    }

    /// Row and column, from zero.
    pub fn cursor(&self) -> (u16, u16) {
        let point = self.term.grid().cursor.point;
        (u16::try_from(point.line.0).unwrap_or(0), point.column.0 as u16)
    }

    pub fn title(&self) -> String {
        self.title.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A full-screen program has the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    pub fn input_modes(&self) -> InputModes {
        let mode = self.term.mode();
        InputModes {
            application_cursor: mode.contains(TermMode::APP_CURSOR),
            bracketed_paste: mode.contains(TermMode::BRACKETED_PASTE),
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (self.term.columns() as u16, self.term.screen_lines() as u16)
    }
}

/// What a tool printed stays out of logs.
impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("size", &self.size())
            .field("cursor", &self.cursor())
            .finish_non_exhaustive()
    }
}

/// Keeps the title and drops everything else, above all `PtyWrite`: two answers to one query confuse tools.
struct Listener(Arc<Mutex<String>>);

/// Longest title kept, in characters.
const TITLE_CHARS: usize = 200;

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the emulator's own events: all but titles are dropped"
        )]
        let title = match event {
            Event::Title(title) => title,
            Event::ResetTitle => String::new(),
            _ => return,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = title.chars().take(TITLE_CHARS).collect();
    }
}

/// Whether a synchronized update is open. The emulator's own type would read a clock.
#[derive(Default)]
struct OpenUpdate(bool);

impl Timeout for OpenUpdate {
    fn set_timeout(&mut self, _: Duration) {
        self.0 = true;
    }

    fn clear_timeout(&mut self) {
        self.0 = false;
    }

    fn pending_timeout(&self) -> bool {
        self.0
    }
}

/// A size that the emulator can bear.
fn size(cols: u16, rows: u16) -> TermSize {
    let bearable = |length: u16| usize::from(length.clamp(SMALLEST, LARGEST));
    TermSize::new(bearable(cols), bearable(rows))
}

/// The row's line goes on in the next row.
fn wraps(row: &Row<Cell>) -> bool {
    row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE))
}

/// Those that hold a character: a wide one is followed by a cell that does not.
fn characters(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().filter(|cell| !is_spacer(cell))
}

fn is_spacer(cell: &Cell) -> bool {
    cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
}

/// A tab leaves its own character in the first cell that it skips.
fn shown(cell: &Cell) -> char {
    match cell.c {
        '\t' | '\0' => ' ',
        _ if cell.flags.contains(Flags::HIDDEN) => ' ',
        char => char,
    }
}

/// Colours and weight folded into one number; zero is plain text.
fn style_of(cell: &Cell) -> u64 {
    let flags =
        u64::from((cell.flags & (Flags::INVERSE | Flags::BOLD | Flags::DIM | Flags::UNDERLINE)).bits());
    let number = |color, plain| if color == Color::Named(plain) { 0 } else { color_number(color) };
    let ground = number(cell.bg, NamedColor::Background);
    let ink = number(cell.fg, NamedColor::Foreground);
    flags | ink << 12 | ground << 38
}

fn color_number(color: Color) -> u64 {
    match color {
        Color::Named(named) => 1 + (named as u64 & 0x3ff),
        Color::Indexed(index) => 0x400 + u64::from(index),
        Color::Spec(rgb) => 0x100_0000 | u64::from(rgb.r) << 16 | u64::from(rgb.g) << 8 | u64::from(rgb.b),
    }
}
