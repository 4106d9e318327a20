//! `docs/detection.md`, and one line of it for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use super::score::{Note, POLLED, Part, READ, Remark, Tally};

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
| p50, p95 | from the start of the window, when the question is fully visible as its label says, to its sighting |
| byte p50, byte p95 | from the last byte that changed the prompt (for an input box: the screen) to its sighting. Less than the columns before where a label begins early, more where it begins late |
| choices | share of the prompts with choices whose choices were read exactly, in order; marks and numbers in front do not count |
| refusing | share of them in which, besides, the row that refuses was known; the label's `refuses`, which every dialog of an agent has, or else the first choice that begins with a word like *no*, *cancel*, *quit* |
| keys | share of the prompts whose label names keys in which, besides, these were found for each choice named; an Enter that follows only if the prompt still stands does not count. Another key that would do as well counts as wrong |
";

const SOON: &str = "\
Prompts that were found, by what the kernel said when they were seen. A session on Linux has the kernel's word, unless the
tool belongs to somebody else (`sudo`); the recordings of Claude Code and of older Codex have none. There a dialog must stand
450 ms, or 120 ms if its program has just announced it (OSC 7501), and before the first key 700 ms: it could be told sooner,
but then before the window of its label, which in these recordings begins up to 590 ms after the last byte. An idle box waits
until the whole screen has rested, since it stands there while the tool works too: 450 ms with the kernel's word, 1 s without,
and 1.2 s after Enter.
";

pub(super) fn page(report: &Report) -> String {
    let mut page = String::from(OPENING);
    let _ = write!(page, "\n## What must hold\n\n{}", bounds(report));
    let all = BTreeMap::from([("all".to_owned(), report.all.clone())]);
    let tables = [("All", "", &all), ("By kind", "kind", &report.kinds), ("By tool", "tool", &report.tools)];
    for (title, first, rows) in tables {
        let _ = write!(page, "\n## {title}\n\n{}", table(first, rows));
    }
    let _ = write!(page, "\n## How soon\n\n{SOON}\n{}", soon(report));
    let _ = write!(
        page,
        "\n## The same recordings, come otherwise\n\nThe pieces are one to forty characters long. The spinner turns in an \
         empty row far from the cursor. The wider window is not drawn anew by the program, which some programs do not do.\n\n{}\n{}",
        table("variant", &report.variants),
        widths(report)
    );
    if !report.left_out.is_empty() {
        let _ = write!(
            page,
            "\n## Without what is known of the tool itself\n\nEach tool by the recognisers for all and the packs of the \
             others: what to expect of a tool that nobody has described yet.\n\n{}",
            table("tool", &report.left_out)
        );
    }
    let _ = write!(page, "\n{}\n{DEFINITIONS}", findings(report));
    page
}

fn soon(report: &Report) -> String {
    let mut table = String::from(
        "| what | prompts | p50 | p95 | byte p50 | byte p95 | byte longest |\n|---|---|---|---|---|---|---|\n",
    );
    for (name, tally) in &report.witnesses {
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            tally.prompts,
            millis(tally.latency_ms(0.5)),
            millis(tally.latency_ms(0.95)),
            millis(tally.after_byte_ms(0.5)),
            millis(tally.after_byte_ms(0.95)),
            millis(tally.after_byte_ms(1.0))
        );
    }
    table
}

/// What was promised, and whether it is kept.
fn bounds(report: &Report) -> String {
    let Report { all, agent_dialogs, .. } = report;
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let at_least = |name: &str, part: u64, whole: u64, bound: f64| {
        let kept = ratio(part, whole) >= bound;
        row(name, &format!("≥ {bound}"), &format!("{} ({part} of {whole})", share(part, whole)), kept)
    };
    let at_most = |name: &str, count: u64, bound: u64| {
        let bound_text = if bound == 0 { "0".to_owned() } else { format!("≤ {bound}") };
        row(name, &bound_text, &count.to_string(), count <= bound)
    };
    let mut rows = vec![
        at_least("recall, all prompts", all.found, all.prompts, 0.99),
        at_least("recall, dialogs of agents", agent_dialogs.found, agent_dialogs.prompts, 0.995),
        at_most("seen twice", all.repeated, 0),
        at_most(
            "medium or high confidence where a label says that nothing waits, and in `negative`",
            all.in_quiet,
            0,
        ),
        at_most("possible prompts (low confidence) where no label fits", all.possible, 10),
        at_least("choices exact", all.choices_exact, all.with_choices, 0.99),
        at_least(
            "choices exact, against the labels as they were made",
            all.choices_exact_as_made,
            all.with_choices,
            0.99,
        ),
        at_least(
            "refusing row right, dialogs of agents",
            agent_dialogs.refusing_right,
            agent_dialogs.prompts,
            1.0,
        ),
    ];
    for (name, bound) in [(READ, 50), (POLLED, 150)] {
        let late = report.witnesses.get(name).and_then(|tally| tally.after_byte_ms(0.95));
        rows.push(row(
            &format!("{name}: p95 after its last byte"),
            &format!("≤ {bound} ms"),
            &millis(late),
            late.is_some_and(|late| late <= bound),
        ));
    }
    for (name, tally) in &report.variants {
        rows.push(at_least(&format!("recall, {name}"), tally.found, tally.prompts, 0.99));
        rows.push(at_most(
            &format!("twice, or where nothing waits, {name}"),
            tally.repeated + tally.in_quiet,
            0,
        ));
    }
    format!("| what | bound | measured | |\n|---|---|---|---|\n{}\n{}", rows.concat(), corrections(all))
}

/// Both figures, wherever labels were corrected.
fn corrections(all: &Tally) -> String {
    format!(
        "Some labels named rows that are not on their screen, or a key that does not answer: {} were corrected, and keep what \
         they said beside it. [Their README](../crates/detect/tests/recordings/README.md#labels-that-were-corrected) says which, \
         why, and how to check it. Against the labels as they are now {} of {} have their choices and {} of {} their keys; \
         against the labels as they were made {} and {}. Everything below is against the labels as they are now.\n",
        all.corrected,
        all.choices_exact,
        all.with_choices,
        all.keys_exact,
        all.with_keys,
        all.choices_exact_as_made,
        all.keys_exact_as_made,
    )
}

fn row(name: &str, bound: &str, measured: &str, kept: bool) -> String {
    let kept = if kept { "kept" } else { "**not kept**" };
    format!("| {name} | {bound} | {measured} | {kept} |\n")
}

fn widths(report: &Report) -> String {
    let widths = &report.widths;
    let mut text = format!(
        "{} questions (one tool, kind, title and set of choices) were recorded at more than one width, in {} windows; {} were \
         found at every width as one kind with the same choices.\n",
        widths.questions, widths.windows, widths.same
    );
    for question in &widths.different {
        let _ = writeln!(text, "- different: {question}");
    }
    for (scenario, sizes) in &widths.scenarios {
        let sizes: Vec<String> =
            sizes.iter().map(|(cols, seen)| format!("{seen} sightings at {cols} columns")).collect();
        let _ = writeln!(text, "- whole scenario {scenario}: {}", sizes.join(", "));
    }
    text
}

/// Everything that does not agree with its label, by name.
fn findings(report: &Report) -> String {
    let mut text = String::from("## Where labels and sightings differ\n");
    let listed = |chosen: fn(&Remark) -> bool| report.notes.iter().filter(move |note| chosen(&note.what));
    section(&mut text, "Missed", listed(|what| matches!(what, Remark::Missed { .. })));
    text.push_str(
        "\nWhat was seen before its window and stood into it counts as missed here and as false below; \
         [the recordings' README](../crates/detect/tests/recordings/README.md#windows-that-begin-late) says why that is right.\n",
    );
    section(
        &mut text,
        "Found, and read otherwise than the label says",
        listed(|what| matches!(what, Remark::Differs(_))),
    );
    section(
        &mut text,
        "Seen with medium or high confidence where no label fits",
        listed(|what| matches!(what, Remark::False { .. })),
    );
    let _ = writeln!(
        text,
        "\n{} of these lie where a label says that nothing waits. Labels name the input boxes and shell prompts that a recording \
         is about, not every one that stands there for a moment: nearly all of these are such.",
        report.all.in_quiet
    );
    let _ = write!(text, "\n### Only in a variant\n\n");
    if report.variant_notes.is_empty() {
        text.push_str("None.\n");
    }
    for (variant, note) in &report.variant_notes {
        let _ = writeln!(text, "- {variant}: {}: {}", told(note), why(note));
    }
    let _ = write!(text, "\n### Possible prompts where no label fits\n\n");
    if report.explained.is_empty() {
        text.push_str("None.\n");
    }
    for (note, reasons) in &report.explained {
        let _ = writeln!(text, "- {}: {}", told(note), reasons.join("; "));
    }
    text
}

fn section<'a>(text: &mut String, title: &str, notes: impl Iterator<Item = &'a Note>) {
    let _ = write!(text, "\n### {title}\n\n");
    let mut notes = notes.peekable();
    if notes.peek().is_none() {
        text.push_str("None.\n");
    }
    for note in notes {
        let _ = writeln!(text, "- {}: {}", told(note), why(note));
    }
}

fn why(note: &Note) -> String {
    match note.what {
        Remark::Missed { early: Some(early) } => format!("seen {early} ms before its window begins"),
        Remark::Missed { early: None } => "not seen".to_owned(),
        Remark::False { quiet: true, .. } => "nothing waits there".to_owned(),
        Remark::False { before: Some(before), .. } => {
            format!("the label of the same words begins {before} ms later")
        }
        Remark::False { .. } => "no label".to_owned(),
        Remark::Possible => "only possible".to_owned(),
        Remark::Again => "seen twice".to_owned(),
        Remark::Differs(Part::Choices) => "other choices".to_owned(),
        Remark::Differs(Part::Refusing) => "another row refuses".to_owned(),
        Remark::Differs(Part::Keys) => "other keys".to_owned(),
    }
}

fn told(note: &Note) -> String {
    let words: String = note.words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words: String = words.chars().take(60).collect();
    format!("{} at {:.3} s, {}, `{}`", note.recording, note.second, note.kind, words.replace('`', "'"))
}

fn table<Name: std::fmt::Display>(first: &str, rows: &BTreeMap<Name, Tally>) -> String {
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
        "byte p50",
        "byte p95",
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

fn cells(tally: &Tally) -> [String; 13] {
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
        millis(tally.latency_ms(0.5)),
        millis(tally.latency_ms(0.95)),
        millis(tally.after_byte_ms(0.5)),
        millis(tally.after_byte_ms(0.95)),
        share(tally.choices_exact, tally.with_choices),
        share(tally.refusing_right, tally.with_choices),
        share(tally.keys_exact, tally.with_keys),
    ]
}

fn millis(millis: Option<u64>) -> String {
    millis.map_or_else(|| "–".to_owned(), |millis| format!("{millis} ms"))
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
    let [prompts, recall, precision, per_hour, possible, _, p50, p95, _, byte_p95, choices, refusing, keys] =
        cells(all);
    format!(
        "{} recordings, {:.2} h, {prompts} prompts: recall {recall}, precision {precision}, {per_hour} false an hour, \
         {possible} possible, p50 {p50}, p95 {p95} ({byte_p95} after the last byte), choices {choices}, refusing {refusing}, keys {keys}",
        all.recordings,
        all.seconds / 3600.0
    )
}
