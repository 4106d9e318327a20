//! `docs/detection.md`, and one line of it for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use super::score::Tally;

const OPENING: &str = "\
# How well prompts are seen

Made by `cargo xtask detection` from the recordings in
[crates/detect/tests/recordings](../crates/detect/tests/recordings/README.md), each played through the detector on its
own clock; do not edit. `cargo xtask detection --check` fails when a figure has become worse.
";

const DEFINITIONS: &str = "\
## What the columns mean

| column | meaning |
|---|---|
| prompts | windows of the labels in which the program waits for a person |
| recall | share of them for which a prompt of a fitting kind was seen within the window, with the label's title in its excerpt or detail; blanks and case do not count. An idle input box may be seen as free text, a secret as free text, and the reverse |
| precision | share of what was seen that was not false |
| false/h | seen with medium or high confidence where no label fits, per hour of recording |
| possible | seen with low confidence where no label fits: told to the operator as a possible prompt, so counted apart |
| twice | seen again though it was found already |
| p50, p95 | from the start of the window, when the question is fully visible, to its sighting |
| choices | share of the prompts with choices whose choices were read exactly, in order; marks and numbers in front do not count |
| refusing | share of them in which, besides, the row that refuses was known; the label's `refuses`, or the first choice that begins with a word like *no*, *cancel*, *quit* |
| keys | share of the prompts whose label names keys in which, besides, these were found for each choice named; an Enter that follows only if the prompt still stands does not count. Another key that would do as well counts as wrong |
";

pub(super) fn page(report: &Report) -> String {
    let mut page = String::from(OPENING);
    let all = BTreeMap::from([("all".to_owned(), report.all.clone())]);
    let tables = [
        ("All", "", &all),
        ("By kind", "kind", &report.kinds),
        ("By tool", "tool", &report.tools),
    ];
    for (title, first, rows) in tables {
        let _ = write!(page, "\n## {title}\n\n{}", table(first, rows));
    }
    if !report.left_out.is_empty() {
        let _ = write!(
            page,
            "\n## Without what is known of the tool itself\n\nEach tool by the recognisers for all and the packs of the \
             others: what to expect of a tool that nobody has described yet.\n\n{}",
            table("tool", &report.left_out)
        );
    }
    let _ = write!(page, "\n{DEFINITIONS}");
    page
}

fn table(first: &str, rows: &BTreeMap<String, Tally>) -> String {
    let header = [
        first,
        "prompts",
        "recall",
        "precision",
        "false/h",
        "possible",
        "twice",
        "p50",
        "p95",
        "choices",
        "refusing",
        "keys",
    ];
    let mut table = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for (name, tally) in rows {
        let _ = writeln!(table, "| {name} | {} |", cells(tally).join(" | "));
    }
    table
}

fn cells(tally: &Tally) -> [String; 11] {
    let millis = |share| {
        tally
            .latency_ms(share)
            .map_or_else(|| "–".to_owned(), |millis| format!("{millis} ms"))
    };
    // A kind has no time of its own.
    let per_hour = match tally.seconds {
        0.0 => tally.wrong.to_string() + " in all",
        seconds => format!("{:.1}", tally.wrong as f64 * 3600.0 / seconds),
    };
    [
        tally.prompts.to_string(),
        share(tally.found, tally.prompts),
        share(tally.sightings - tally.wrong, tally.sightings),
        per_hour,
        tally.possible.to_string(),
        tally.repeated.to_string(),
        millis(0.5),
        millis(0.95),
        share(tally.choices_exact, tally.with_choices),
        share(tally.refusing_right, tally.with_choices),
        share(tally.keys_exact, tally.with_keys),
    ]
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        _ => format!("{:.3}", part as f64 / whole as f64),
    }
}

/// For the person who waits at the terminal.
pub(super) fn summary(report: &Report) -> String {
    let all = &report.all;
    let [
        prompts,
        recall,
        precision,
        per_hour,
        possible,
        _,
        p50,
        p95,
        choices,
        refusing,
        keys,
    ] = cells(all);
    format!(
        "{} recordings, {:.2} h, {prompts} prompts: recall {recall}, precision {precision}, {per_hour} false an hour, \
         {possible} possible, p50 {p50}, p95 {p95}, choices {choices}, refusing {refusing}, keys {keys}",
        all.recordings,
        all.seconds / 3600.0
    )
}
