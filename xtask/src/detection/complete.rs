//! When the last byte of a prompt came: from then on all of it stood on the screen, unchanged, until it was seen.

use atlasbridge_detect::recording::{Recording, Replay, Replayed, What};
use atlasbridge_detect::{DetectorConfig, Moment, Screen};
use atlasbridge_model::Kind;

/// For each sighting the moment at which the last byte that changed it came. For an input box that is the last change of
/// the whole screen: the box itself stands there while the tool works.
pub(super) fn moments(recording: &Recording, config: DetectorConfig, seen: &[Replayed]) -> Vec<Moment> {
    let wanted: Vec<Vec<String>> = seen.iter().map(lines_of).collect();
    let mut since: Vec<Option<Moment>> = vec![None; seen.len()];
    let mut resting: Vec<Moment> = vec![Moment::default(); seen.len()];
    let mut before = String::new();
    let mut replay = Replay::new(recording, config);
    let last = seen.iter().map(|seen| seen.t).max().unwrap_or_default();
    for step in recording.steps.iter().filter(|step| step.at <= last) {
        match step.what {
            What::Output(_) => replay.play_to(step.at),
            // After a key the same words are another question.
            What::Input(_) => {
                since.fill(None);
                continue;
            }
            What::Resize { .. } | What::Kernel(_) => continue,
        }
        let shown = shown(replay.viewer.detector.screen());
        let changed = std::mem::replace(&mut before, shown) != before;
        if !changed {
            continue;
        }
        for (index, _) in seen.iter().enumerate().filter(|(_, seen)| step.at <= seen.t) {
            resting[index] = step.at;
            let stands = wanted[index].iter().all(|line| before.contains(line));
            since[index] = stands.then(|| since[index].unwrap_or(step.at));
        }
    }
    let moment = |(seen, (since, resting)): (&Replayed, (Option<Moment>, Moment))| match seen.sighting.kind {
        Kind::Idle => resting,
        _ => since.unwrap_or(resting),
    };
    seen.iter().zip(since.into_iter().zip(resting)).map(moment).collect()
}

/// The lines of the prompt; the last one of a long text may be cut.
fn lines_of(seen: &Replayed) -> Vec<String> {
    let detail = seen.sighting.detail.as_str();
    let lines = detail.lines().map(squeezed);
    lines.filter(|line| !line.is_empty() && !line.ends_with('…')).collect()
}

/// All that is shown, without blanks and without what turns.
fn shown(screen: &Screen) -> String {
    screen.rows().iter().map(|row| squeezed(row)).collect()
}

fn squeezed(text: &str) -> String {
    let is_moving = |char: char| matches!(char, '\u{2800}'..='\u{28ff}' | '◐' | '◓' | '◑' | '◒');
    text.chars().filter(|char| !char.is_whitespace() && !is_moving(*char)).collect()
}
