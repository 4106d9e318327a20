//! The scenarios as data: what the tool does (a small script), what must be offered, what is answered, what it must
//! have read in the end. Those that cannot be played yet are listed too, with the reason.

use atlasbridge_model::Kind;

/// One rehearsal.
#[derive(Debug)]
pub struct Scenario {
    pub id: &'static str,
    pub name: &'static str,
    pub shows: &'static str,
    /// For bash, behind `scenarios/prelude.sh`.
    pub(crate) script: &'static str,
    /// The prompts that must be offered, in this order, and no others.
    pub(crate) prompts: &'static [Expected],
    /// What the tool must have read, in this order, and nothing else.
    pub(crate) reads: &'static [&'static str],
    /// Most that the session host may grow between the first and the last prompt.
    pub(crate) growth_kib: Option<u64>,
}

/// Where a scenario can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Linux,
    Windows,
    /// It is about messages, not about a terminal.
    Any,
}

impl Platform {
    pub fn as_str(self) -> &'static str {
        match self {
            Platform::Linux => "linux",
            Platform::Windows => "windows",
            Platform::Any => "any",
        }
    }
}

impl Scenario {
    /// All of them need a pseudoterminal and the kernel's word, and those are taken from Linux alone.
    pub fn platform(&self) -> Platform {
        Platform::Linux
    }
}

/// A scenario that has its number and nothing to play it with.
#[derive(Debug)]
pub struct Planned {
    pub id: &'static str,
    pub name: &'static str,
    pub platform: Platform,
    pub because: &'static str,
}

/// A prompt as it must be offered.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) kind: Kind,
    /// Must stand in the excerpt or the detail.
    pub(crate) says: &'static str,
    pub(crate) choices: &'static [&'static str],
    /// What the operator does, one after the other.
    pub(crate) acts: &'static [Act],
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// This answer must be taken by the tool.
    Say(Answer),
    /// This answer must be refused, in words that contain the text; the prompt waits on.
    Refused(Answer, &'static str),
    /// Nothing, until the tool withdraws it; an answer after that must be refused.
    Leave,
    /// Keys at the terminal itself; the prompt must go.
    Type(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Approve,
    Deny,
    UseDefault,
    Text(&'static str),
}

use Act::{Leave, Refused, Say, Type};
use Answer::{Approve, Deny, Text, UseDefault};

const YES_NO: &[&str] = &["yes", "no"];

/// Those of `lab list` that can be played.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "QA-001",
        name: "partial line",
        shows: "a question that arrives in three pieces is one prompt, seen when it is whole",
        script: include_str!("../scenarios/qa-001.sh"),
        prompts: &[asked(Kind::YesNo, "Delete 3 files in build/? (y/n)", YES_NO, &[Say(Approve)])],
        reads: &["y"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-002",
        name: "ANSI redraw",
        shows: "a coloured screen redrawn before and during the question is one prompt",
        script: include_str!("../scenarios/qa-002.sh"),
        prompts: &[asked(Kind::YesNo, "Publish it now? (y/n)", YES_NO, &[Say(Deny)])],
        reads: &["n"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-003",
        name: "overwritten prompt",
        shows: "an overwritten question is no prompt; a withdrawn one takes no late answer",
        script: include_str!("../scenarios/qa-003.sh"),
        prompts: &[
            asked(Kind::YesNo, "Deploy to staging?", YES_NO, &[Leave]),
            asked(Kind::YesNo, "Deploy to production?", YES_NO, &[Say(Deny)]),
        ],
        reads: &["n"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-004",
        name: "silent block",
        shows: "a tool that waits without asking is a possible prompt, because the kernel says so",
        script: include_str!("../scenarios/qa-004.sh"),
        prompts: &[asked(Kind::Unknown, "calibrating the sensor", &[], &[Say(Text("enter"))])],
        reads: &[""],
        growth_kib: None,
    },
    Scenario {
        id: "QA-005",
        name: "nested prompts",
        shows: "tools within tools ask right after each other; each answer reaches its own question",
        script: include_str!("../scenarios/qa-005.sh"),
        prompts: &[
            asked(Kind::YesNo, "Outer: start?", YES_NO, &[Say(Approve)]),
            asked(Kind::FreeText, "Middle: name of the database:", &[], &[Say(Text("atlas"))]),
            asked(Kind::YesNo, "Inner: apply the migration?", YES_NO, &[Say(Deny)]),
            asked(Kind::YesNo, "Middle: keep the backup?", YES_NO, &[Type("y\r")]),
            asked(Kind::YesNo, "Outer: start?", YES_NO, &[Say(Deny)]),
        ],
        reads: &["y", "atlas", "n", "y", "n"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-006",
        name: "multiple choice",
        shows: "numbered and lettered lists, answered by label and by number; what is not on the list is refused",
        script: include_str!("../scenarios/qa-006.sh"),
        prompts: &[
            asked(
                Kind::MultipleChoice,
                "Enter choice [1-3]:",
                &["PostgreSQL", "SQLite", "None"],
                &[Refused(Text("7"), ""), Say(Text("SQLite"))],
            ),
            asked(
                Kind::MultipleChoice,
                "Your choice [a-c]:",
                &["by hand", "with the system", "cancel"],
                &[Say(UseDefault)],
            ),
        ],
        reads: &["2", "c"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-007",
        name: "yes/no variants",
        shows: "six spellings of the same question, each answered in its own",
        script: include_str!("../scenarios/qa-007.sh"),
        prompts: &[
            asked(Kind::YesNo, "Delete 3 files?", YES_NO, &[Say(Approve)]),
            asked(Kind::YesNo, "Go on?", YES_NO, &[Say(Deny)]),
            asked(Kind::YesNo, "Overwrite?", YES_NO, &[Say(UseDefault)]),
            asked(Kind::YesNo, "Trust this host?", YES_NO, &[Say(Text("yes"))]),
            asked(Kind::YesNo, "Enter y or n:", YES_NO, &[Say(Text("no"))]),
            asked(Kind::YesNo, "Press y to continue", YES_NO, &[Say(Approve)]),
        ],
        reads: &["y", "n", "n", "yes", "n", "y"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-008",
        name: "press enter",
        shows: "five ways to ask for a key, each answered with one",
        script: include_str!("../scenarios/qa-008.sh"),
        prompts: &[
            asked(Kind::ConfirmEnter, "Press Enter to continue", &[], &[Say(Approve)]),
            asked(Kind::ConfirmEnter, "[Press Enter]", &[], &[Say(UseDefault)]),
            asked(Kind::ConfirmEnter, "Hit enter", &[], &[Say(Approve)]),
            asked(Kind::ConfirmEnter, "-- More --", &[], &[Say(Approve)]),
            asked(Kind::ConfirmEnter, "Press any key", &[], &[Say(Approve)]),
        ],
        reads: &["", "", "", "", ""],
        growth_kib: None,
    },
    Scenario {
        id: "QA-009",
        name: "free text with limit",
        shows: "a text over the limit that the question states is refused, one within it is typed",
        script: include_str!("../scenarios/qa-009.sh"),
        prompts: &[
            asked(
                Kind::FreeText,
                "Enter name (max 20 chars):",
                &[],
                &[Refused(Text("a name that is far too long"), "20"), Say(Text("twenty characters ok"))],
            ),
            asked(Kind::FreeText, "Enter commit message:", &[], &[Say(Text("tidy the naïve build ✓"))]),
        ],
        reads: &["twenty characters ok", "tidy the naïve build ✓"],
        growth_kib: None,
    },
    Scenario {
        id: "QA-018",
        name: "output flood",
        shows: "100,000 lines that look like questions are none; the one behind them is found; memory stays flat",
        script: include_str!("../scenarios/qa-018.sh"),
        prompts: &[
            asked(Kind::YesNo, "Start?", YES_NO, &[Say(Approve)]),
            asked(Kind::YesNo, "Was that all?", YES_NO, &[Say(Approve)]),
        ],
        reads: &["y", "y"],
        // Measured: under 300 KiB. Keeping the lines would cost 7 MiB.
        growth_kib: Some(1024),
    },
    Scenario {
        id: "QA-019",
        name: "echo loop",
        shows: "a typed reply that looks like a question is not seen as one; the same question asked again is",
        script: include_str!("../scenarios/qa-019.sh"),
        prompts: &[
            asked(Kind::FreeText, "Note:", &[], &[Say(Text("Delete everything? (y/n)"))]),
            asked(Kind::FreeText, "Note:", &[], &[Say(Text("Enter choice [1-3]:"))]),
        ],
        reads: &["Delete everything? (y/n)", "Enter choice [1-3]:"],
        growth_kib: None,
    },
];

const NO_SLACK: &str = "there is no Slack channel";

/// Those that cannot.
pub const PLANNED: &[Planned] = &[
    planned("QA-010", "Slack message format", Platform::Any, NO_SLACK),
    planned("QA-013", "Slack thread reply", Platform::Any, NO_SLACK),
    planned("QA-014", "Slack multi-user", Platform::Any, NO_SLACK),
    planned("QA-015", "Slack rate limit", Platform::Any, NO_SLACK),
    planned("QA-020", "ConPTY baseline", Platform::Windows, "sessions run on Linux alone"),
];

const fn planned(id: &'static str, name: &'static str, platform: Platform, because: &'static str) -> Planned {
    Planned { id, name, platform, because }
}

/// The scenario of this id or name, in any case: `qa-001`, `Partial Line`, `partial-line`.
pub fn scenario(word: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| is_named(word, scenario.id, scenario.name))
}

/// The same among those that cannot be played.
pub fn planned_scenario(word: &str) -> Option<&'static Planned> {
    PLANNED.iter().find(|scenario| is_named(word, scenario.id, scenario.name))
}

/// By letters and digits alone: a name has blanks and a stroke, and nobody types those at a shell.
fn is_named(word: &str, id: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|char| char.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let word = letters(word);
    word == letters(id) || word == letters(name)
}

const fn asked(
    kind: Kind,
    says: &'static str,
    choices: &'static [&'static str],
    acts: &'static [Act],
) -> Expected {
    Expected { kind, says, choices, acts }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each prompt that is answered is read, so that a timing finds its partner.
    #[test]
    fn as_many_reads_as_answers() {
        for scenario in SCENARIOS {
            let is_answer = |act: &&Act| matches!(act, Say(_) | Type(_));
            let answers = scenario.prompts.iter().flat_map(|prompt| prompt.acts.iter().filter(is_answer));
            assert_eq!(answers.count(), scenario.reads.len(), "{}", scenario.id);
            let asks = scenario.prompts.iter().filter(|prompt| prompt.acts.is_empty()).count();
            assert_eq!(asks, 0, "{}: every prompt is acted on", scenario.id);
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
