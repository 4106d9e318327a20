//! Lines that scrolled off the screen, for a person who asks what came before.
//!
//! The emulator keeps the rows as they are; text is made of them when they are asked for, so that a flood costs nothing.

use std::collections::VecDeque;

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::Line as GridLine;
use alacritty_terminal::term::cell::LineLength;

use super::{Screen, characters, shown, wraps};

/// Lines that are kept. The emulator allocates rows by the thousand, so fewer would cost as much.
pub(super) const MOST_LINES: usize = 1000;
/// Longest line, in characters.
const LINE_CHARS: usize = 500;

impl Screen {
    /// The last lines that scrolled off, at most `most`, oldest first, as they are: mask them before they leave. While a
    /// full-screen program has the screen, what scrolled off before it is out of reach.
    pub fn scrolled_off(&self, most: usize) -> Vec<String> {
        let most = most.min(MOST_LINES);
        let rows = self.rows_above();
        let older = self.older.iter().skip((self.older.len() + rows.len()).saturating_sub(most));
        let newer = rows.iter().skip(rows.len().saturating_sub(most));
        older.chain(newer).cloned().collect()
    }

    /// # A resize sees no history
    /// The emulator would pull rows back onto the screen of a window that grows, and recognisers would read them. So
    /// what is there becomes text first.
    pub(super) fn without_history(&mut self, resize: impl FnOnce(&mut Self)) {
        let rows = self.rows_above();
        self.older.extend(rows);
        let surplus = self.older.len().saturating_sub(MOST_LINES);
        self.older.drain(..surplus);
        if !self.is_alternate() {
            self.term.grid_mut().update_history(0);
        }
        resize(self);
        if !self.is_alternate() {
            self.term.grid_mut().update_history(MOST_LINES);
        }
    }

    /// What the emulator holds, oldest first; rows that wrapped are one line.
    fn rows_above(&self) -> VecDeque<String> {
        let grid = self.term.grid();
        let mut lines = VecDeque::with_capacity(grid.history_size());
        let mut line = String::new();
        let mut chars = 0;
        for row in (1..=grid.history_size() as i32).rev() {
            let cells = &grid[GridLine(-row)];
            let shown = characters(&cells[..cells.line_length()]).map(shown).take(LINE_CHARS - chars);
            let before = line.len();
            line.extend(shown);
            chars += line[before..].chars().count();
            if !wraps(cells) {
                line.truncate(line.trim_end().len());
                lines.push_back(std::mem::take(&mut line));
                chars = 0;
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, most: usize, expected: &[&str]) {
        let mut screen = Screen::new(10, 2);
        screen.feed(bytes.as_bytes());
        assert_eq!(screen.scrolled_off(most), expected, "{bytes:?}");
    }

    #[test]
    fn what_scrolled_off_is_kept_in_order() {
        check("a\r\nb", 10, &[]);
        check("a\r\nb  \r\nc\r\nd", 10, &["a", "b"]);
        check("a\r\nb\r\nc\r\nd", 1, &["b"]);
        check("日本\r\n\r\nc\r\nd", 10, &["日本", ""]);
        check("0123456789abc\r\nb\r\nc", 10, &["0123456789abc"]);
    }

    #[test]
    fn a_full_screen_program_leaves_no_lines() {
        let noise = "x\r\n".repeat(50);
        check(&format!("a\r\nb\r\nc\x1b[?1049h{noise}\x1b[?1049l"), 10, &["a"]);
    }

    #[test]
    fn lines_and_their_number_are_bounded() {
        let mut screen = Screen::new(10, 2);
        screen.feed("y".repeat(20_000).as_bytes());
        screen.feed(b"\r\n");
        for number in 0..2 * MOST_LINES {
            screen.feed(format!("{number}\r\n").as_bytes());
        }
        let lines = screen.scrolled_off(usize::MAX);
        assert_eq!(lines.len(), MOST_LINES);
        assert_eq!(lines.last().map(String::as_str), Some("1998"));

        let mut screen = Screen::new(10, 2);
        screen.feed("y".repeat(2_000).as_bytes());
        screen.feed(b"\r\na\r\nb\r\n");
        assert_eq!(screen.scrolled_off(9)[0], "y".repeat(LINE_CHARS));
    }

    #[test]
    fn a_resize_keeps_the_lines_and_shows_none_of_them_again() {
        let mut screen = Screen::new(10, 3);
        screen.feed(b"a\r\nb\r\nc\r\nd\r\ne");
        screen.resize(12, 6);
        assert_eq!(screen.rows(), ["c", "d", "e", "", "", ""]);
        assert_eq!(screen.scrolled_off(9), ["a", "b"]);
        screen.feed(b"\r\nf\r\ng\r\nh\r\ni");
        assert_eq!(screen.scrolled_off(9), ["a", "b", "c"]);
        assert_eq!(screen.scrolled_off(2), ["b", "c"]);
    }
}
