//! The same recording as it might have come otherwise: cut into other reads, beside a spinner, in a window that grows
//! and shrinks. What is seen must not depend on any of these. Shared by the tests here and `cargo xtask detection`.

use std::time::Duration;

use atlasbridge_detect::recording::{Recording, Step, What};
use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation, Screen};

/// How often the spinner turns: twenty times a second.
const TURN: Duration = Duration::from_millis(50);
/// A sequence of the program that was cut in two comes whole within this.
const CLEAR: Duration = Duration::from_millis(8);
/// A window is made wider no sooner than this after the program wrote, and is back this long before it writes again:
/// a program that wrote for one width is never shown at another.
const STILL: Duration = Duration::from_millis(300);

/// Cut at random: where the kernel ends a read is chance.
pub(crate) fn in_pieces(recording: &Recording, seed: u64) -> Recording {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut steps = Vec::new();
    for step in &recording.steps {
        let What::Output(text) = &step.what else {
            steps.push(step.clone());
            continue;
        };
        let mut rest: Vec<char> = text.chars().collect();
        while !rest.is_empty() {
            let piece: String = rest.drain(..(1 + next() % 40).min(rest.len())).collect();
            steps.push(output(step.at, piece));
        }
    }
    with_steps(recording, steps)
}

/// Something spins at the edge of the screen, twenty times a second, for as long as the program runs. It is drawn
/// while the program pauses, at the end of an empty row, and the cursor is put back.
pub(crate) fn with_spinner(recording: &Recording) -> Recording {
    let mut detector = Detector::new(DetectorConfig::default(), recording.cols, recording.rows);
    let mut steps: Vec<Step> = Vec::new();
    let mut next = Moment(TURN);
    let mut turn = 0;
    for (index, step) in recording.steps.iter().enumerate() {
        steps.push(step.clone());
        match &step.what {
            What::Output(text) => drop(detector.observe(Observation::Output(text.as_bytes()), step.at)),
            What::Resize { cols, rows } => {
                drop(detector.observe(Observation::Resized { cols: *cols, rows: *rows }, step.at));
            }
            What::Input(_) | What::Kernel(_) => {}
        }
        if matches!(&step.what, What::Output(text) if is_cut(text)) {
            continue;
        }
        let until = recording.steps.get(index + 1).map_or(recording.end, |step| step.at);
        next = next.max(step.at + CLEAR);
        while next + CLEAR < until {
            turn += 1;
            // Before the program goes on the spinner is wiped: what scrolls is not ours.
            let glyph = match next + TURN + CLEAR < until {
                true => ['⠋', '⠙', '⠹', '⠸'][turn % 4],
                false => ' ',
            };
            steps.extend(spin(detector.screen(), glyph).map(|text| output(next, text)));
            next = next + TURN;
        }
    }
    with_steps(recording, steps)
}

/// Whenever the program has been silent for a while its window is made `cols` columns wide, and is as it was
/// before the program goes on. The program draws nothing anew, as some do not.
pub(crate) fn widened(recording: &Recording, cols: u16) -> Recording {
    let mut size = (recording.cols, recording.rows);
    let mut steps: Vec<Step> = Vec::new();
    for (index, step) in recording.steps.iter().enumerate() {
        steps.push(step.clone());
        if let What::Resize { cols, rows } = step.what {
            size = (cols, rows);
        }
        let until = recording.steps.get(index + 1).map_or(recording.end, |step| step.at);
        if until - step.at > 3 * STILL && size.0 < cols {
            let back = Moment(until.0.saturating_sub(STILL));
            steps.push(resize(step.at + STILL, cols, size.1));
            steps.push(resize(back, size.0, size.1));
        }
    }
    with_steps(recording, steps)
}

fn with_steps(recording: &Recording, steps: Vec<Step>) -> Recording {
    Recording { steps, ..*recording }
}

fn output(at: Moment, text: String) -> Step {
    Step { at, what: What::Output(text) }
}

fn resize(at: Moment, cols: u16, rows: u16) -> Step {
    Step { at, what: What::Resize { cols, rows } }
}

/// The text ends inside a sequence of the terminal: its rest is still to come.
fn is_cut(text: &str) -> bool {
    let Some((_, tail)) = text.rsplit_once('\x1b') else {
        return false;
    };
    let mut chars = tail.chars();
    match chars.next() {
        None => true,
        Some('[') => !chars.any(|char| ('@'..='~').contains(&char)),
        Some(']' | 'P' | '_') => !tail.contains('\x07'),
        Some(_) => false,
    }
}

fn spin(screen: &Screen, glyph: char) -> Option<String> {
    let (row, column) = screen.cursor();
    let (cols, _) = screen.size();
    // Behind the last column a line waits to be wrapped, which putting the cursor back would undo.
    if column + 1 >= cols {
        return None;
    }
    let rows = screen.rows();
    // Far from the cursor, between empty rows: a spinner inside a dialog is the dialog's own.
    let is_free = |at: usize| rows.get(at).is_none_or(String::is_empty) && at.abs_diff(usize::from(row)) > 3;
    let at = (1..rows.len().saturating_sub(1)).rev().find(|&at| (at - 1..=at + 1).all(is_free))?;
    let (to_row, to_column) = (at + 1, cols.saturating_sub(2));
    Some(format!("\x1b[{to_row};{to_column}H{glyph}\x1b[{};{}H", row + 1, column + 1))
}
