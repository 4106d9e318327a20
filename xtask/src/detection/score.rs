//! Sightings held against labels. The definitions are on the page that is made of them (`page.rs`).

use atlasbridge_detect::recording::{Recording, Replayed, What};
use atlasbridge_detect::{Moment, Waits};
use atlasbridge_model::{Choice, Choices, Kind, Level, Pace, Strokes};

use super::labels::{Label, Labelled};

/// One recording, judged.
#[derive(Debug)]
pub(super) struct Judged {
    seconds: f64,
    prompts: Vec<Outcome>,
    sightings: Vec<(String, Fate)>,
    /// What a person should look at, one line each.
    pub(super) notes: Vec<Note>,
}

/// Something that is not as the labels say, or that wants an explanation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note {
    pub(super) recording: String,
    pub(super) second: f64,
    pub(super) what: Remark,
    pub(super) kind: String,
    pub(super) words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remark {
    /// A label that no sighting fits. `early`: it was seen this many milliseconds before its window.
    Missed { early: Option<u64> },
    /// Seen with medium or high confidence where no label fits. `before`: a label begins so many milliseconds later.
    False { quiet: bool, before: Option<u64> },
    /// Seen with low confidence where no label fits.
    Possible,
    /// Seen though it was found already.
    Again,
    /// Found, and read otherwise than its label says.
    Differs(Part),
}

/// The first part of a dialog that differs from its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Choices,
    Refusing,
    Keys,
}

/// What became of a labelled prompt.
#[derive(Debug)]
struct Outcome {
    kind: String,
    latency: Option<f64>,
    /// From the last byte that changed what was seen.
    after_byte: Option<f64>,
    /// What was seen, and what the kernel said then.
    witness: Option<&'static str>,
    has_choices: bool,
    choices_exact: bool,
    refusing_right: bool,
    /// `None`: the label names no keys.
    keys_exact: Option<bool>,
    /// By the label as it was made.
    choices_exact_as_made: bool,
    keys_exact_as_made: Option<bool>,
    is_corrected: bool,
}

/// What a sighting was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Hit,
    /// Of a prompt that was found already: a person would be told twice.
    Again,
    /// Nothing waited, and it was only called possible.
    Possible,
    /// `quiet`: a label says that nothing waits here.
    False {
        quiet: bool,
    },
}

/// Sums over recordings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) recordings: u64,
    pub(super) seconds: f64,
    pub(super) prompts: u64,
    pub(super) found: u64,
    pub(super) sightings: u64,
    pub(super) repeated: u64,
    pub(super) wrong: u64,
    pub(super) possible: u64,
    /// Of the false ones, those where a label says that nothing waits.
    pub(super) in_quiet: u64,
    pub(super) with_choices: u64,
    pub(super) choices_exact: u64,
    pub(super) refusing_right: u64,
    pub(super) with_keys: u64,
    pub(super) keys_exact: u64,
    /// By the labels as they were made, and how many of them were corrected.
    pub(super) choices_exact_as_made: u64,
    pub(super) keys_exact_as_made: u64,
    pub(super) corrected: u64,
    /// In seconds.
    pub(super) latencies: Vec<f64>,
    pub(super) after_bytes: Vec<f64>,
}

/// `complete`: for each sighting, when the last byte of it came; empty where that is not asked.
pub(super) fn judge(labelled: &Labelled, seen: &[Replayed], complete: &[Moment]) -> Judged {
    let mut fates: Vec<Option<Fate>> = vec![None; seen.len()];
    let prompts = labelled
        .prompts
        .iter()
        .map(|label| {
            let mut hit = None;
            for (index, (sighting, fate)) in seen.iter().zip(&mut fates).enumerate() {
                if fate.is_none() && fits(label, sighting) {
                    *fate = Some(if hit.is_none() { Fate::Hit } else { Fate::Again });
                    hit.get_or_insert(index);
                }
            }
            let after_byte = hit.and_then(|hit| Some((seen[hit].t - *complete.get(hit)?).as_secs_f64()));
            Outcome {
                after_byte,
                witness: hit.map(|hit| witness(&labelled.recording, &seen[hit])),
                ..outcome(label, hit.map(|hit| &seen[hit]))
            }
        })
        .collect::<Vec<Outcome>>();
    let unmatched = |sighting: &Replayed| match sighting.sighting.confidence.level() {
        Level::Low => Fate::Possible,
        Level::Medium | Level::High => {
            Fate::False { quiet: labelled.is_quiet_at(sighting.t.0.as_secs_f64()) }
        }
    };
    let fates: Vec<Fate> =
        seen.iter().zip(fates).map(|(sighting, fate)| fate.unwrap_or_else(|| unmatched(sighting))).collect();
    let kinds = seen.iter().map(|seen| label_kind(seen.sighting.kind).to_owned());
    Judged {
        seconds: labelled.recording.end.0.as_secs_f64(),
        notes: notes(labelled, seen, &prompts, &fates),
        sightings: kinds.zip(fates).collect(),
        prompts,
    }
}

/// What was seen, and what the kernel said then: on that depends how soon it can be told.
fn witness(recording: &Recording, hit: &Replayed) -> &'static str {
    let before = recording.steps.iter().take_while(|step| step.at <= hit.t);
    let said = before.filter_map(|step| match step.what {
        What::Kernel(kernel) => Some(kernel.wait),
        What::Output(_) | What::Input(_) | What::Resize { .. } => None,
    });
    let is_idle = hit.sighting.kind == Kind::Idle;
    match (said.last(), is_idle) {
        (Some(Waits::Read), false) => READ,
        (Some(Waits::Poll), false) => POLLED,
        (Some(Waits::Nobody), false) => "prompt, another session reads for it",
        (Some(Waits::Unknown) | None, false) => "prompt, the kernel says nothing",
        (Some(Waits::Read | Waits::Poll | Waits::Nobody), true) => "idle, the kernel says who waits",
        (Some(Waits::Unknown) | None, true) => "idle, the kernel says nothing",
    }
}

/// Its program is blocked in a read.
pub(super) const READ: &str = "prompt, blocked in read";
/// Its program has the terminal in an event loop.
pub(super) const POLLED: &str = "prompt, event loop";

fn notes(labelled: &Labelled, seen: &[Replayed], prompts: &[Outcome], fates: &[Fate]) -> Vec<Note> {
    let note = |second: f64, what: Remark, kind: &str, words: &str| Note {
        recording: labelled.name.clone(),
        second,
        what,
        kind: kind.to_owned(),
        words: words.to_owned(),
    };
    let missed = labelled.prompts.iter().zip(prompts).filter(|(_, outcome)| outcome.latency.is_none()).map(
        |(label, _)| {
            let early = seen.iter().filter_map(|seen| before(label, seen)).min_by(f64::total_cmp);
            let early = early.map(millis);
            note(label.from, Remark::Missed { early }, &label.kind, &label.title)
        },
    );
    let differing = labelled.prompts.iter().zip(prompts).filter_map(|(label, outcome)| {
        let what = Remark::Differs(outcome.differing()?);
        Some(note(label.from, what, &label.kind, &label.title))
    });
    let unfitting = seen.iter().zip(fates).filter_map(|(seen, fate)| {
        let before = labelled.prompts.iter().filter_map(|label| before(label, seen));
        let what = match *fate {
            Fate::Hit => return None,
            Fate::Again => Remark::Again,
            Fate::Possible => Remark::Possible,
            Fate::False { quiet } => {
                Remark::False { quiet, before: before.min_by(f64::total_cmp).map(millis) }
            }
        };
        let second = seen.t.0.as_secs_f64();
        let kind = label_kind(seen.sighting.kind);
        Some(note(second, what, kind, seen.sighting.excerpt.as_str()))
    });
    missed.chain(differing).chain(unfitting).collect()
}

impl Outcome {
    fn differing(&self) -> Option<Part> {
        match () {
            () if self.latency.is_none() || !self.has_choices => None,
            () if !self.choices_exact => Some(Part::Choices),
            () if !self.refusing_right => Some(Part::Refusing),
            () if self.keys_exact == Some(false) => Some(Part::Keys),
            () => None,
        }
    }
}

/// How long before its window the prompt of this label was seen and stood into it.
fn before(label: &Label, seen: &Replayed) -> Option<f64> {
    let early = label.from - seen.t.0.as_secs_f64();
    let stood = seen.gone_at.is_none_or(|gone| gone.0.as_secs_f64() > label.from);
    (early > 0.0 && stood && is_of(label, seen)).then_some(early)
}

fn millis(seconds: f64) -> u64 {
    (seconds * 1e3).round().max(0.0) as u64
}

/// Within the window, of a fitting kind, with the title in excerpt or detail; blanks and case do not count.
pub(super) fn fits(label: &Label, seen: &Replayed) -> bool {
    let at = seen.t.0.as_secs_f64();
    (label.from - 0.001..=label.to).contains(&at) && is_of(label, seen)
}

/// The same whenever it was seen.
fn is_of(label: &Label, seen: &Replayed) -> bool {
    let words = format!("{}{}", seen.sighting.excerpt.as_str(), seen.sighting.detail.as_str());
    kind_fits(&label.kind, seen.sighting.kind) && squeezed(&words).contains(&squeezed(&label.title))
}

/// An input box and a line of text are told apart by habit only; so are a line of text and a secret.
fn kind_fits(label: &str, kind: Kind) -> bool {
    match label {
        "idle_input" => matches!(kind, Kind::Idle | Kind::FreeText),
        "free_text" => matches!(kind, Kind::FreeText | Kind::Password | Kind::Idle),
        "password" => matches!(kind, Kind::FreeText | Kind::Password),
        other => kind.as_str() == other,
    }
}

/// As labels spell it.
fn label_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Idle => "idle_input",
        other => other.as_str(),
    }
}

fn outcome(label: &Label, hit: Option<&Replayed>) -> Outcome {
    let as_made = compared(&label.as_made(), hit);
    let compared = compared(label, hit);
    let choices = hit.and_then(|hit| hit.sighting.choices.as_ref());
    let refuses = choices.and_then(Choices::refusing);
    Outcome {
        kind: label.kind.clone(),
        latency: hit.map(|hit| hit.t.0.as_secs_f64() - label.from),
        after_byte: None,
        witness: None,
        has_choices: !label.choices.is_empty(),
        choices_exact: compared.choices_exact,
        refusing_right: compared.choices_exact && refuses == refusing(label, &bare_choices(label)),
        keys_exact: compared.keys_exact,
        choices_exact_as_made: as_made.choices_exact,
        keys_exact_as_made: as_made.keys_exact,
        is_corrected: label.is_corrected(),
    }
}

/// The rows of a label held against those that were read.
struct Compared {
    choices_exact: bool,
    /// `None`: the label names no keys.
    keys_exact: Option<bool>,
}

fn compared(label: &Label, hit: Option<&Replayed>) -> Compared {
    let wanted = bare_choices(label);
    let choices = hit.and_then(|hit| hit.sighting.choices.as_ref());
    let rows = || choices.into_iter().flat_map(Choices::iter);
    let labels: Vec<String> = rows().map(|choice| bare(&choice.label)).collect();
    let choices_exact = !wanted.is_empty() && labels == wanted;
    let wanted_keys = wanted_keys(label, &wanted);
    let is_typed =
        |(row, wanted): &(usize, String)| rows().nth(*row).is_some_and(|choice| types(choice, wanted));
    let keys_exact = choices_exact && wanted_keys.iter().all(is_typed);
    Compared { choices_exact, keys_exact: (!wanted_keys.is_empty()).then_some(keys_exact) }
}

fn bare_choices(label: &Label) -> Vec<String> {
    label.choices.iter().map(|choice| bare(choice)).collect()
}

/// The keys that the label names, by row.
fn wanted_keys(label: &Label, wanted: &[String]) -> Vec<(usize, String)> {
    let row_of = |name: &str| {
        let by_label = wanted.iter().position(|choice| *choice == bare(name));
        by_label.or_else(|| name.parse::<usize>().ok()?.checked_sub(1).filter(|row| *row < wanted.len()))
    };
    let keys = label.keys.iter();
    keys.filter_map(|(name, keys)| Some((row_of(name)?, keys.clone()))).collect()
}

/// These keys are typed for the choice. An Enter that follows only if the prompt still stands is not part of them.
fn types(choice: &Choice, wanted: &str) -> bool {
    let strokes = choice.strokes.iter().flat_map(Strokes::iter);
    let at_once = strokes.filter(|stroke| stroke.pace == Pace::Now);
    let at_once: Vec<u8> = at_once.flat_map(|stroke| stroke.bytes.clone()).collect();
    choice.keys() == wanted || at_once == wanted.as_bytes()
}

/// The row that refuses: the label's own word, as every dialog of an agent has, or the first that says so by its first
/// word.
fn refusing(label: &Label, wanted: &[String]) -> Option<usize> {
    if let Some(said) = &label.refuses {
        return said.as_u64().and_then(|row| usize::try_from(row).ok());
    }
    const WHOLE: [&str; 5] = ["no", "q", "none", "nothing", "never"];
    const BEGINS: [&str; 14] = [
        "no,",
        "no(",
        "noneofthe",
        "cancel",
        "quit",
        "exit",
        "abort",
        "reject",
        "deny",
        "decline",
        "don't",
        "donot",
        "notnow",
        "typehereto",
    ];
    wanted.iter().position(|choice| {
        let choice = choice.trim_matches(['<', '>']);
        WHOLE.contains(&choice) || BEGINS.iter().any(|begin| choice.starts_with(begin))
    })
}

/// Without blanks, in lower case.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// A choice without marks and numbers in front; `y` is `yes`.
pub(super) fn bare(choice: &str) -> String {
    let choice =
        choice.trim_start_matches(|char: char| char.is_whitespace() || ">❯▶●○◉◯☐☑✔*›»│|-".contains(char));
    match squeezed(without_number(choice)).as_str() {
        "y" => "yes".to_owned(),
        "n" => "no".to_owned(),
        other => other.to_owned(),
    }
}

/// `1. `, `(2) `, `3] `, `[ ] ` and `[x] ` are not part of a label.
fn without_number(choice: &str) -> &str {
    for mark in ["[ ]", "[x]"] {
        if let Some(rest) = choice.strip_prefix(mark) {
            return rest;
        }
    }
    let inner = choice.strip_prefix('(').unwrap_or(choice);
    let rest = inner.trim_start_matches(|char: char| char.is_ascii_digit());
    match rest.strip_prefix(['.', ')', ':', ']']) {
        Some(label) if rest.len() < inner.len() => label,
        _ => choice,
    }
}

impl Judged {
    /// The prompts that were found, apart by what the kernel said.
    pub(super) fn by_witness(&self) -> Vec<(&'static str, Tally)> {
        let found = self.prompts.iter().filter_map(|outcome| {
            let mut tally = Tally::default();
            tally.prompt(outcome);
            Some((outcome.witness?, tally))
        });
        found.collect()
    }

    /// The same, apart by kind: prompts by their label's, sightings by their own.
    pub(super) fn by_kind(&self) -> Vec<(String, Tally)> {
        let prompts = self.prompts.iter().map(|outcome| {
            let mut tally = Tally::default();
            tally.prompt(outcome);
            (outcome.kind.clone(), tally)
        });
        let sightings = self.sightings.iter().map(|(kind, fate)| {
            let mut tally = Tally::default();
            tally.sighting(*fate);
            (kind.clone(), tally)
        });
        prompts.chain(sightings).collect()
    }
}

impl Tally {
    pub(super) fn add(&mut self, judged: &Judged) {
        self.recordings += 1;
        self.seconds += judged.seconds;
        for outcome in &judged.prompts {
            self.prompt(outcome);
        }
        for (_, fate) in &judged.sightings {
            self.sighting(*fate);
        }
    }

    fn prompt(&mut self, outcome: &Outcome) {
        self.prompts += 1;
        self.found += u64::from(outcome.latency.is_some());
        self.latencies.extend(outcome.latency);
        self.after_bytes.extend(outcome.after_byte);
        self.with_choices += u64::from(outcome.has_choices);
        self.choices_exact += u64::from(outcome.choices_exact);
        self.refusing_right += u64::from(outcome.refusing_right);
        self.with_keys += u64::from(outcome.has_choices && outcome.keys_exact.is_some());
        self.keys_exact += u64::from(outcome.keys_exact == Some(true));
        self.choices_exact_as_made += u64::from(outcome.choices_exact_as_made);
        self.keys_exact_as_made += u64::from(outcome.keys_exact_as_made == Some(true));
        self.corrected += u64::from(outcome.is_corrected);
    }

    fn sighting(&mut self, fate: Fate) {
        self.sightings += 1;
        match fate {
            Fate::Hit => {}
            Fate::Again => self.repeated += 1,
            Fate::Possible => self.possible += 1,
            Fate::False { quiet } => {
                self.wrong += 1;
                self.in_quiet += u64::from(quiet);
            }
        }
    }

    pub(super) fn merge(&mut self, other: Tally) {
        self.recordings += other.recordings;
        self.seconds += other.seconds;
        self.prompts += other.prompts;
        self.found += other.found;
        self.sightings += other.sightings;
        self.repeated += other.repeated;
        self.wrong += other.wrong;
        self.possible += other.possible;
        self.in_quiet += other.in_quiet;
        self.with_choices += other.with_choices;
        self.choices_exact += other.choices_exact;
        self.refusing_right += other.refusing_right;
        self.with_keys += other.with_keys;
        self.keys_exact += other.keys_exact;
        self.choices_exact_as_made += other.choices_exact_as_made;
        self.keys_exact_as_made += other.keys_exact_as_made;
        self.corrected += other.corrected;
        self.latencies.extend(other.latencies);
        self.after_bytes.extend(other.after_bytes);
    }

    /// The dialogs with choices alone.
    pub(super) fn dialogs_of(judged: &Judged) -> Self {
        let mut tally = Self::default();
        for outcome in judged.prompts.iter().filter(|outcome| outcome.has_choices) {
            tally.prompt(outcome);
        }
        tally
    }

    /// The latency that this share of the found prompts does not exceed, in whole milliseconds.
    pub(super) fn latency_ms(&self, share: f64) -> Option<u64> {
        at_share(&self.latencies, share)
    }

    /// The same, counted from the last byte that changed what was seen.
    pub(super) fn after_byte_ms(&self, share: f64) -> Option<u64> {
        at_share(&self.after_bytes, share)
    }
}

fn at_share(seconds: &[f64], share: f64) -> Option<u64> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = ((share * sorted.len() as f64) as usize).min(sorted.len().checked_sub(1)?);
    sorted.get(index).copied().map(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_compared_without_decoration() {
        for (choice, expected) in [
            ("❯ 1. Yes", "yes"),
            ("y", "yes"),
            ("(2) No, thanks", "no,thanks"),
            ("[x] Web server", "webserver"),
            ("12", "12"),
            ("3rd-party platform", "3rd-partyplatform"),
        ] {
            assert_eq!(bare(choice), expected, "{choice}");
        }
    }

    #[test]
    fn the_refusing_row_is_known_by_its_word() {
        let check = |choices: &[&str], expected: Option<usize>| {
            let wanted: Vec<String> = choices.iter().map(|choice| bare(choice)).collect();
            assert_eq!(refusing(&Label::default(), &wanted), expected, "{choices:?}");
        };
        check(&["Yes", "Yes, and don’t ask again", "No"], Some(2));
        check(&["y", "n"], Some(1));
        check(&["PostgreSQL", "Notebook"], None);
        check(&["<Yes>", "<No>"], Some(1));
        check(&["Allow once", "No, suggest changes (esc)"], Some(1));
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let tally = Tally { latencies: vec![0.3, 0.1, 0.2, 0.4], ..Tally::default() };
        assert_eq!((tally.latency_ms(0.5), tally.latency_ms(0.95)), (Some(300), Some(400)));
        assert_eq!(Tally::default().latency_ms(0.5), None);
    }
}
