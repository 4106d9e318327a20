//! The scenarios: what the tool does (a small script), what must be offered, what is answered, what it must have read in
//! the end. They are data, `scenarios/scenarios.toml`; those that cannot be played yet are listed there too, with the reason.

use std::sync::LazyLock;

use atlasbridge_wire::twin::SaidText;
use serde::Deserialize;

/// One rehearsal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub id: &'static str,
    pub name: &'static str,
    pub shows: &'static str,
    /// The prompts that must be offered, in this order, and no others.
    pub(crate) prompts: Vec<Expected>,
    /// What the tool must have read, in this order, and nothing else.
    #[serde(borrow)]
    pub(crate) reads: Vec<&'static str>,
    /// What the tool does: for bash, behind `scenarios/prelude.sh`.
    pub(crate) script: &'static str,
    /// Most that the session host may grow between the first and the last prompt.
    pub(crate) growth_kib: Option<u64>,
}

impl Scenario {
    /// All of them need a pseudoterminal and the kernel's word, and those are taken from Linux alone.
    pub const PLATFORM: &'static str = "linux";
}

/// A scenario that has its number and nothing to play it with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    pub id: &'static str,
    pub name: &'static str,
    /// Where it could be played; `any` if it is about messages, not about a terminal.
    pub platform: &'static str,
    pub because: &'static str,
}

/// A prompt as it must be offered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) kind: &'static str,
    /// Must stand in the excerpt or the detail.
    pub(crate) says: &'static str,
    #[serde(borrow, default)]
    pub(crate) choices: Vec<&'static str>,
    /// What the operator does, one after the other.
    pub(crate) acts: Vec<Act>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// This answer must be taken by the tool.
    Say(SaidText),
    /// This answer must be refused, in words that contain the text; the prompt waits on.
    Refused(SaidText, &'static str),
    /// Nothing, until the tool withdraws it; an answer after that must be refused.
    Leave,
    /// Keys at the terminal itself; the prompt must go.
    Type(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct File {
    scenario: Vec<Scenario>,
    planned: Vec<Planned>,
}

fn file() -> File {
    toml::from_str(include_str!("../scenarios/scenarios.toml"))
        .expect("a test reads the scenarios of the binary")
}

/// Those of `lab list` that can be played.
pub static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| file().scenario);
/// Those that cannot.
pub static PLANNED: LazyLock<Vec<Planned>> = LazyLock::new(|| file().planned);

/// The scenario of this id or name, in any case: `qa-001`, `Partial Line`, `partial-line`.
pub fn scenario(word: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| is_named(word, scenario.id, scenario.name))
}

/// The same among those that cannot be played.
pub fn planned_scenario(word: &str) -> Option<&'static Planned> {
    PLANNED.iter().find(|scenario| is_named(word, scenario.id, scenario.name))
}

/// By letters and digits alone: a name has blanks and a stroke, which are awkward at a shell.
fn is_named(word: &str, id: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|char| char.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let word = letters(word);
    word == letters(id) || word == letters(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlasbridge_model::Kind;

    /// Each prompt that is answered is read, so that a timing finds its partner.
    #[test]
    fn as_many_reads_as_answers() {
        for scenario in SCENARIOS.iter() {
            let is_answer = |act: &&Act| matches!(act, Act::Say(_) | Act::Type(_));
            let answers = scenario.prompts.iter().flat_map(|prompt| prompt.acts.iter().filter(is_answer));
            assert_eq!(answers.count(), scenario.reads.len(), "{}", scenario.id);
            let asks = scenario.prompts.iter().filter(|prompt| prompt.acts.is_empty()).count();
            assert_eq!(asks, 0, "{}: every prompt is acted on", scenario.id);
            for prompt in &scenario.prompts {
                assert!(prompt.kind.parse::<Kind>().is_ok(), "{}: {}", scenario.id, prompt.kind);
            }
            assert!(!scenario.script.is_empty(), "{}", scenario.id);
        }
    }

    #[test]
    fn ids_and_names_are_found_in_any_case() {
        for (word, id) in [
            ("qa-019", "QA-019"),
            ("Echo Loop", "QA-019"),
            ("ansi-redraw", "QA-002"),
            ("yes/no variants", "QA-007"),
            ("YES_NO_VARIANTS", "QA-007"),
        ] {
            assert_eq!(scenario(word).map(|found| found.id), Some(id), "{word}");
        }
        assert!(scenario("QA-999").is_none() && scenario("").is_none() && scenario("echo").is_none());
        assert_eq!(planned_scenario("conpty baseline").map(|found| found.id), Some("QA-020"));
    }

    #[test]
    fn platforms_are_known_ones() {
        let known = [Scenario::PLATFORM, "windows", "any"];
        assert!(PLANNED.iter().all(|planned| known.contains(&planned.platform)));
    }

    /// A word must mean one scenario.
    #[test]
    fn ids_and_names_are_taken_once() {
        let played = SCENARIOS.iter().flat_map(|scenario| [scenario.id, scenario.name]);
        let planned = PLANNED.iter().flat_map(|scenario| [scenario.id, scenario.name]);
        let mut all: Vec<String> = played.chain(planned).map(str::to_lowercase).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
