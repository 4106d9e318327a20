//! The same question in windows of different width: it must be read the same.

use std::collections::BTreeMap;

use atlasbridge_detect::recording::Replayed;
use atlasbridge_model::Choices;

use super::labels::Labelled;
use super::score;

/// Questions that were recorded at more than one width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) questions: u64,
    /// Recordings in which they stand.
    pub(super) windows: u64,
    /// Those that were found at every width, as one kind with the same choices.
    pub(super) same: u64,
    /// The others.
    pub(super) different: Vec<String>,
    /// Whole scenarios recorded at two widths, with the number of sightings in each.
    pub(super) scenarios: Vec<(String, Vec<(u16, usize)>)>,
}

/// What the labels call the same question: tool, kind, title, choices.
type Question = (String, String, String, Vec<String>);
/// How it was read at one width: the kind and the labels of its choices, unless it was missed.
type AtWidth = (u16, Option<(String, Vec<String>)>);

pub(super) fn compare(played: &[(&Labelled, &[Replayed])]) -> Widths {
    let mut questions: BTreeMap<Question, Vec<AtWidth>> = BTreeMap::new();
    let mut scenarios: BTreeMap<String, Vec<(u16, usize)>> = BTreeMap::new();
    for (labelled, seen) in played {
        let cols = labelled.recording.cols;
        scenarios.entry(without_size(&labelled.name).to_owned()).or_default().push((cols, seen.len()));
        for label in labelled.prompts.iter().filter(|label| !label.title.is_empty()) {
            let choices = label.choices.iter().map(|choice| score::bare(choice)).collect();
            let question =
                (labelled.tool.clone(), label.kind.clone(), score::squeezed(&label.title), choices);
            let hit = seen.iter().find(|seen| score::fits(label, seen)).map(read_as);
            questions.entry(question).or_default().push((cols, hit));
        }
    }
    let mut widths = Widths::default();
    for ((tool, kind, title, _), windows) in questions {
        if windows.iter().all(|(cols, _)| *cols == windows[0].0) {
            continue;
        }
        widths.questions += 1;
        widths.windows += windows.len() as u64;
        let first = &windows[0].1;
        if first.is_some() && windows.iter().all(|(_, read)| read == first) {
            widths.same += 1;
        } else {
            widths.different.push(format!("{tool}, {kind}: {title}"));
        }
    }
    widths.scenarios = scenarios
        .into_iter()
        .filter(|(_, sizes)| sizes.iter().any(|(cols, _)| *cols != sizes[0].0))
        .collect();
    widths
}

fn read_as(seen: &Replayed) -> (String, Vec<String>) {
    let rows = seen.sighting.choices.iter().flat_map(Choices::iter);
    (seen.sighting.kind.as_str().to_owned(), rows.map(|choice| score::bare(&choice.label)).collect())
}

/// `claude/spinner` of `claude/spinner-80x24`.
fn without_size(name: &str) -> &str {
    let is_size = |size: &str| {
        size.split_once('x')
            .is_some_and(|(cols, rows)| cols.parse::<u16>().is_ok() && rows.parse::<u16>().is_ok())
    };
    match name.rsplit_once('-') {
        Some((scenario, size)) if is_size(size) => scenario,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_no_part_of_a_scenario() {
        assert_eq!(without_size("claude/spinner-80x24"), "claude/spinner");
        assert_eq!(without_size("codex/exec-two-queued"), "codex/exec-two-queued");
    }
}
