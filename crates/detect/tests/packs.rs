//! Packs: the built-in ones are whole and proved by recordings; a wrong one is refused with the line and the cure.

#![expect(clippy::unwrap_used, reason = "a pack that cannot be read fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_detect::{
    Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Pack, Packs, Waits,
};
use atlasbridge_model::{Choices, Sighting};

#[test]
fn every_built_in_pack_is_read() {
    let names: Vec<String> = Packs::embedded().iter().map(|pack| pack.name().to_owned()).collect();
    assert_eq!(
        names,
        [
            "claude",
            "codex",
            "gemini",
            "aider",
            "opencode",
            "qwen",
            "cline",
            "continue",
            "copilot",
            "gptme",
            "open-interpreter",
            "generic"
        ]
    );
}

/// A version without a recording is a rumour.
#[test]
fn every_version_is_proved_by_recordings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    for pack in Packs::embedded().iter().filter(|pack| pack.is_agent()) {
        assert!(!pack.proved().is_empty(), "{}", pack.name());
        for pattern in pack.proved().iter().flat_map(|proved| &proved.recordings) {
            let (tool, name) = pattern.split_once('/').unwrap();
            let stem = name.trim_end_matches('*');
            let found = fs::read_dir(folder.join(tool)).unwrap().any(|entry| {
                let file = entry.unwrap().file_name().into_string().unwrap();
                file.ends_with(".cast") && file.starts_with(stem)
            });
            assert!(found, "{} names {pattern}, which is not there", pack.name());
        }
    }
}

#[test]
fn a_pack_is_chosen_by_the_program() {
    let packs = Packs::embedded();
    for (program, expected) in [
        ("claude", Some("claude")),
        ("/usr/local/bin/claude", Some("claude")),
        ("openai", Some("codex")),
        ("codex.exe", Some("codex")),
        ("generic", None),
        ("bash", None),
        ("", None),
    ] {
        let chosen = packs.for_program(program);
        assert_eq!(chosen.as_ref().map(|pack| pack.name()), expected, "{program:?}");
    }
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let errors = Pack::parse(text, Path::new("mine.toml")).unwrap_err();
    assert!(errors.to_string().contains(expected), "{errors}");
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_its_cure() {
    let dialog = "[tool]\nname = \"x\"\n[[dialog]]\nname = \"d\"\n";
    refused("[tool]\nnames = \"x\"\n", "mine.toml:2: unknown field `names`");
    refused("[tool\n", "mine.toml:1:");
    refused(
        "[tool]\nname = \"Big Tool\"\n",
        "mine.toml:2: the name \"Big Tool\" is not usable. Write lower-case",
    );
    refused(
        &format!("{dialog}rows = \"numbered\"\nanchor = '('\n"),
        "mine.toml:6: this is no regular expression",
    );
    refused(
        &format!("{dialog}rows = \"numbered\"\nanchor = '.*'\n"),
        "mine.toml:6: this matches an empty line",
    );
    refused(
        &format!("{dialog}rows = \"columns\"\nanchor = 'x'\n"),
        "expected one of `numbered`, `marked`, `buttons`, `letters`, `keys`, `nothing`",
    );
    refused(
        &format!("{dialog}rows = \"marked\"\nanchor = 'x'\nkeys = \"number\"\n"),
        "mine.toml:4: rows without numbers cannot be chosen by number. Write keys = \"move\"",
    );
    refused(
        &format!("{dialog}rows = \"nothing\"\nanchor = 'x'\n"),
        "mine.toml:4: a dialog without rows must say its kind",
    );
    refused(
        &format!("{dialog}rows = \"numbered\"\nanchor = 'x'\nrow = '^(\\d) (.*)$'\n"),
        "mine.toml:7: the group `key` is missing. Write, for example: row =",
    );
}

#[test]
fn every_mistake_of_every_file_is_told() {
    let files = vec![
        (PathBuf::from("a.toml"), "[tool]\nname = \"A\"\nbinaries = 1\n".to_owned()),
        (PathBuf::from("b.toml"), "busy = ['(', ')']\n[tool]\nname = \"b\"\n".to_owned()),
    ];
    let told = Packs::with_user(files).unwrap_err().to_string();
    assert_eq!(told.lines().count(), 3, "{told}");
}

fn seen(screen: &str, packs: &Packs, program: &str) -> Option<Sighting> {
    let config = DetectorConfig { pack: packs.for_program(program), ..DetectorConfig::default() };
    let kernel = KernelWait { wait: Waits::Poll, canonical: false, echo: false };
    let mut detector = Detector::new(config, 80, 24);
    detector.observe(Observation::Output(screen.as_bytes()), Moment::default());
    while let Some(due) = detector.next_deadline().filter(|due| due.0 < Duration::from_secs(1)) {
        detector.observe(Observation::Deadline, due);
        for event in detector.observe(Observation::Kernel(kernel), due) {
            if let DetectorEvent::Seen(sighting) = event {
                return Some(sighting);
            }
        }
    }
    None
}

fn told(sighting: Option<Sighting>) -> String {
    let Some(sighting) = sighting else {
        return "nothing".to_owned();
    };
    let refusing = sighting.choices.as_ref().and_then(Choices::refusing);
    let rows = sighting.choices.iter().flat_map(Choices::iter).enumerate();
    let rows = rows.map(|(index, choice)| {
        let mark = if refusing == Some(index) { "!" } else { "" };
        format!("{mark}{}={}", choice.label, choice.keys().escape_debug())
    });
    format!("{}: {}", sighting.kind, rows.collect::<Vec<_>>().join(", "))
}

/// A tool that nobody knew, described by the person who uses it: rows that no generic family would take.
#[test]
fn a_pack_of_ones_own_teaches_a_new_dialog() {
    let screen = "Deploy plan ready\r\n\r\n=> a| Ship it\r\n   b| Hold\r\n\r\n";
    let own = r#"
        [tool]
        name = "ship"
        [[dialog]]
        name = "ship"
        rows = "marked"
        anchor = 'Deploy plan ready'
        row = '^\s*(?<marker>=>) +(?<label>.*)$'
        keys = "move"
        refuses = 'Hold'
    "#;
    let packs = Packs::with_user(vec![("ship.toml".into(), own.to_owned())]).unwrap();
    assert_eq!(told(seen(screen, &Packs::embedded(), "ship")), "nothing");
    assert_eq!(
        told(seen(screen, &packs, "/opt/ship")),
        r"multiple_choice: a| Ship it=\r, !b| Hold=\u{1b}[B\r"
    );
}

#[test]
fn a_pack_of_ones_own_goes_before_the_built_in_one_or_takes_its_place() {
    let screen = "Allow execution of [Shell]?\r\n\r\n● 1. Allow once\r\n  2. No (esc)\r\n";
    let own = |extends: bool| {
        let text = format!(
            "[tool]\nname = \"gemini\"\nextends = {extends}\n[[dialog]]\nname = \"d\"\nrows = \"numbered\"\n\
             anchor = 'Something else'\nkeys = \"move\"\n"
        );
        Packs::with_user(vec![("gemini.toml".into(), text)]).unwrap()
    };
    let built_in = r"multiple_choice: Allow once=1, !No=\u{1b}";
    assert_eq!(told(seen(screen, &own(true), "gemini")), built_in);
    let replaced = own(false).for_program("gemini").unwrap();
    assert!(replaced.proved().is_empty(), "the built-in pack is not asked");
}

/// `generic.toml` of one's own adds words for every program.
#[test]
fn words_of_ones_own() {
    let words = "[tool]\nname = \"generic\"\n[words]\nrefuses = ['halt\\b']\n";
    let packs = Packs::with_user(vec![("generic.toml".into(), words.to_owned())]).unwrap();
    let screen = "? Launch\r\n❯ Go\r\n  Halt\r\n";
    assert_eq!(told(seen(screen, &Packs::embedded(), "rocket")), r"multiple_choice: Go=\r, Halt=\u{1b}[B\r");
    assert_eq!(told(seen(screen, &packs, "rocket")), r"multiple_choice: Go=\r, !Halt=\u{1b}[B\r");
}

/// Facts: `n` and Enter approve in Claude Code; in Codex a letter is a hot key. Only keys of rows are ever sent.
#[test]
fn no_letter_and_no_bare_enter_reaches_a_claude_dialog() {
    let screen = "────────────────────────\r\n Bash command\r\n\r\n   rm -rf build\r\n\r\n Do you want to proceed?\r\n \
                  ❯ 1. Yes\r\n   2. Yes, and don’t ask again for: rm *\r\n   3. No\r\n\r\n Esc to cancel · Tab to amend";
    assert_eq!(
        told(seen(screen, &Packs::embedded(), "claude")),
        "multiple_choice: Yes=1, Yes, and don’t ask again for: rm *=2, !No=3"
    );
}

/// The row that `approve` takes, by its label.
fn approved(sighting: Option<Sighting>) -> Option<String> {
    let choices = sighting?.choices?;
    let row = choices.accepting()?;
    choices.get(row).map(|choice| choice.label.clone())
}

fn own(name: &str, dialog: &str) -> Packs {
    let text = format!("[tool]\nname = \"{name}\"\n{dialog}");
    Packs::with_user(vec![(format!("{name}.toml").into(), text)]).unwrap()
}

/// Silence takes what refuses, so no file may call a yes a refusal.
#[test]
fn no_pack_makes_a_refusal_of_a_row_that_accepts() {
    let screen = "May I?\r\n\r\n❯ 1. Yes, do it\r\n  2. Allow always\r\n  3. Hold\r\n";
    let dialog =
        "[[dialog]]\nname = \"d\"\nrows = \"numbered\"\nanchor = 'May I'\nkeys = \"number\"\nrefuses = '.'\n";
    let by_dialog = own("ship", dialog);
    assert_eq!(
        told(seen(screen, &by_dialog, "ship")),
        "multiple_choice: Yes, do it=1, Allow always=2, !Hold=3"
    );
    assert_eq!(approved(seen(screen, &by_dialog, "ship")), None);
    let by_words = own("generic", "[words]\nrefuses = ['yes', 'allow', 'hold']\n");
    assert_eq!(
        told(seen(screen, &by_words, "ship")),
        "multiple_choice: Yes, do it=1, Allow always=2, !Hold=3"
    );
}

/// `once` speaks of the whole label: a row with one more word is another.
#[test]
fn a_row_with_a_word_more_is_not_the_one_that_a_pack_calls_plain() {
    let dialog = "[[dialog]]\nname = \"d\"\nrows = \"numbered\"\nanchor = 'May I'\nkeys = \"number\"\nonce = 'Yes, and go on'\n";
    let packs = own("ship", dialog);
    let screen = |first: &str| format!("May I?\r\n\r\n❯ 1. {first}\r\n  2. No\r\n");
    let taken = |first: &str| approved(seen(&screen(first), &packs, "ship"));
    assert_eq!(taken("Yes, and go on").as_deref(), Some("Yes, and go on"));
    assert_eq!(taken("Yes, and go on with all of it"), None);
    assert_eq!(taken("Yes, and go on unasked"), None);
}

/// Dialogs that no pack knows: `approve` takes the plain row wherever it stands, and no other in its place.
#[test]
fn without_a_pack_the_plain_yes_is_taken_or_none() {
    let taken = |rows: &[&str]| {
        let rows = rows.iter().enumerate().map(|(row, label)| {
            let marker = if row == 0 { "❯" } else { " " };
            format!("{marker} {}. {label}\r\n", row + 1)
        });
        let screen = format!("May I go on?\r\n\r\n{}", rows.collect::<String>());
        approved(seen(&screen, &Packs::embedded(), "rocket"))
    };
    for (rows, expected) in [
        (
            &["Yes, and use auto mode", "Yes, manually approve edits", "No"][..],
            Some("Yes, manually approve edits"),
        ),
        (&["Always allow", "Allow once", "Deny"], Some("Allow once")),
        (&["Allow for this session", "Allow", "Cancel"], Some("Allow")),
        (&["Yes", "Yes, turbo", "No"], Some("Yes")),
        (&["Yes, turbo", "Yes, slowly", "No"], None),
        (&["Allow for this session", "Always allow", "Deny"], None),
        (&["Yes, and don't ask again", "No"], None),
        (&["Approve and trust this folder", "Reject"], None),
        (&["Don't ask again", "Yes", "No"], Some("Yes")),
    ] {
        assert_eq!(taken(rows).as_deref(), expected, "{rows:?}");
    }
}
