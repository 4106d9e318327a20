//! What is shown to somebody elsewhere: pictures while they watch, text and lines when they ask.
//!
//! # A watcher costs nothing that anybody feels
//! At most one picture is on its way, made when the socket has room for it and not before: a hub that reads slowly gets
//! fewer, and a flood of output costs one screen. While nothing changes nothing is sent, and nobody wakes up.

use std::time::Duration;

use atlasbridge_detect::Moment;
use atlasbridge_model::mask::mask;
use atlasbridge_model::picture::{Change, Picture, Row};
use atlasbridge_wire::session::FromSession;

use super::Host;

/// Between two pictures: twenty a second look fluent, and more cost more than they show.
const APART: Duration = Duration::from_millis(50);
/// Most of one picture, in bytes by estimate. What does not fit follows with the next: an ordinary screen is a tenth of
/// this, and the largest frame four times.
const MOST_BYTES: usize = 256 * 1024;
/// What a run costs besides its text.
const RUN_BYTES: usize = 64;
/// Longest answer to `screen`, in characters.
const SCREEN_CHARS: usize = 4000;
/// Most text of one answer to `lines`, in bytes: as JSON it is twice as much at worst, and fits a frame.
const LINES_BYTES: usize = 400 * 1024;

/// What somebody who watches has seen.
#[derive(Debug)]
pub(super) struct Watcher {
    /// The picture as the hub has it.
    known: Option<Picture>,
    /// Something was written since it was made.
    is_stale: bool,
    not_before: Moment,
    /// The row after the last that was sent, where a picture did not fit.
    resume_at: u16,
}

impl Watcher {
    pub(super) fn new(now: Moment) -> Self {
        Self { known: None, is_stale: true, not_before: now, resume_at: 0 }
    }

    /// When there is something to show.
    pub(super) fn due(&self) -> Option<Moment> {
        self.is_stale.then_some(self.not_before)
    }

    /// What to send, if the screen looks different from what is known.
    fn change_to(&mut self, picture: &Picture, now: Moment) -> Option<Change> {
        self.is_stale = false;
        let mut change = picture.change_since(self.known.as_ref())?;
        self.is_stale = cut(&mut change, &mut self.resume_at);
        self.not_before = now + APART;
        self.known.get_or_insert_default().apply(change.clone());
        Some(change)
    }
}

/// Leaves as many rows as fit, beginning with `resume_at`, so that none is put off for ever. True: some are left.
fn cut(change: &mut Change, resume_at: &mut u16) -> bool {
    let first = change.rows.partition_point(|(number, _)| number < resume_at);
    change.rows.rotate_left(first);
    let mut bytes = 0;
    let fits = |(_, row): &&(u16, Row)| {
        bytes += row.runs.iter().map(|run| run.text.len() + RUN_BYTES).sum::<usize>();
        bytes <= MOST_BYTES
    };
    // One row always fits: its width is bounded.
    let count = change.rows.iter().take_while(fits).count().max(1);
    let is_cut = count < change.rows.len();
    change.rows.truncate(count);
    *resume_at = match change.rows.last() {
        Some((number, _)) if is_cut => number + 1,
        Some(_) | None => 0,
    };
    change.rows.sort_by_key(|(number, _)| *number);
    is_cut
}

impl Host {
    /// The screen may look different now.
    pub(super) fn stir(&mut self) {
        if let Some(watcher) = &mut self.watch {
            watcher.is_stale = true;
        }
    }

    /// There is room in the socket: show what changed.
    pub(super) fn show(&mut self) {
        let now = self.now();
        if let Some(watcher) = &mut self.watch
            && self.link.has_sent_all()
            && watcher.due().is_some_and(|due| due <= now)
            && let Some(change) = watcher.change_to(&self.detector.screen().picture(), now)
        {
            self.link.send(&FromSession::Picture((&change).into()));
        }
    }

    pub(super) fn tell_screen(&mut self, asked: u64) {
        let text = self.detector.screen().picture().to_text();
        let surplus = text.chars().count().saturating_sub(SCREEN_CHARS);
        let text = text.chars().skip(surplus).collect();
        self.link.send(&FromSession::ScreenText { asked, text });
    }

    pub(super) fn tell_lines(&mut self, asked: u64, most: u32) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let text = self.detector.screen().scrolled_off(most);
        let lines = newest(&text, LINES_BYTES);
        self.link.send(&FromSession::Lines { asked, lines });
    }
}

/// The newest of the lines that fit, masked: over the whole text, because a key has many lines.
fn newest(lines: &[String], most_bytes: usize) -> Vec<String> {
    let mut bytes = 0;
    let fits = |line: &&String| {
        bytes += line.len() + 4;
        bytes <= most_bytes
    };
    let count = lines.iter().rev().take_while(fits).count();
    if count == 0 {
        return Vec::new();
    }
    let text = lines[lines.len() - count..].join("\n");
    mask(&text).split('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlasbridge_model::picture::{Run, Style};

    fn picture(rows: usize, width: usize, letter: char) -> Picture {
        let run =
            Run { text: letter.to_string().repeat(width), cells: width as u16, style: Style::default() };
        Picture {
            columns: width as u16,
            rows: vec![Row { runs: vec![run] }; rows],
            cursor: None,
            is_alternate: false,
        }
    }

    #[test]
    fn a_still_screen_is_shown_once() {
        let mut watcher = Watcher::new(Moment::default());
        let picture = picture(3, 4, 'a');
        assert!(watcher.change_to(&picture, Moment::default()).is_some_and(|change| change.is_whole));
        assert_eq!(watcher.change_to(&picture, Moment::default()), None);
        assert!(!watcher.is_stale);
    }

    #[test]
    fn a_screen_too_large_for_a_frame_comes_in_parts_and_every_row_has_its_turn() {
        let mut watcher = Watcher::new(Moment::default());
        let mut seen = Picture::default();
        let mut last = None;
        for letter in "abcdefghijkl".chars() {
            let shown = picture(1000, 2000, letter);
            let change = watcher.change_to(&shown, Moment::default()).unwrap();
            let bytes = serde_json::to_vec(&FromSession::Picture((&change).into())).unwrap().len();
            assert!(bytes < 2 * MOST_BYTES, "{bytes}");
            seen.apply(change);
            assert!(watcher.is_stale, "more is to come");
            last = Some(shown);
        }
        let last = last.unwrap();
        assert!(seen.rows.iter().all(|row| !row.runs.is_empty()), "the bottom was shown, too");
        while watcher.is_stale {
            if let Some(change) = watcher.change_to(&last, Moment::default()) {
                seen.apply(change);
            }
        }
        assert_eq!(seen, last);
    }

    #[test]
    fn lines_are_masked_and_bounded() {
        let lines = ["one".to_owned(), "API_KEY=abcdef123".to_owned(), "two".to_owned()];
        assert_eq!(newest(&lines, 1000), ["one", "API_KEY=••••", "two"]);
        assert_eq!(newest(&lines, 8), ["two"]);
        assert!(newest(&lines, 2).is_empty());
        assert!(newest(&[], 1000).is_empty());
    }
}
