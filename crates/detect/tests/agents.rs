//! Dialogs of agents that are known by description and not by a recording, at several widths.

#![expect(clippy::panic, reason = "a pack that is not there fails the test")]

use std::time::Duration;

use atlasbridge_detect::{
    Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Packs, Waits,
};
use atlasbridge_model::{Choices, Kind, SafeDefault, Sighting};

const KEYS: KernelWait = KernelWait { wait: Waits::Poll, canonical: false, echo: false };

fn seen(tool: &str, cols: u16, screen: &str) -> Option<Sighting> {
    let config = DetectorConfig {
        pack: Some(Packs::embedded().for_program(tool).unwrap_or_else(|| panic!("no pack for {tool}"))),
        ..DetectorConfig::default()
    };
    let mut detector = Detector::new(config, cols, 40);
    let bytes = screen.replace('\n', "\r\n");
    detector.observe(Observation::Output(bytes.as_bytes()), Moment::default());
    while let Some(due) = detector.next_deadline().filter(|due| due.0 < Duration::from_millis(1900)) {
        detector.observe(Observation::Deadline, due);
        for event in detector.observe(Observation::Kernel(KEYS), due) {
            if let DetectorEvent::Seen(sighting) = event {
                return Some(sighting);
            }
        }
    }
    None
}

/// Kind, then each choice as `label=keys`, the refusing one marked with `!`.
#[track_caller]
fn check(tool: &str, widths: &[u16], screen: &str, question: &str, expected: &str) {
    for &cols in widths {
        let sighting = seen(tool, cols, screen).unwrap_or_else(|| panic!("{tool} at {cols}: nothing seen"));
        let mut told = sighting.kind.to_string();
        let refusing = sighting.choices.as_ref().and_then(Choices::refusing);
        for (index, choice) in sighting.choices.iter().flat_map(Choices::iter).enumerate() {
            let mark = if refusing == Some(index) { "!" } else { "" };
            let keys = choice.keys();
            told.push_str(&format!("\n{mark}{}={}", choice.label, keys.escape_debug()));
        }
        assert_eq!(told, expected, "{tool} at {cols} columns");
        let shown = format!("{} {}", sighting.excerpt.as_str(), sighting.detail.as_str());
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert!(bare(&shown).contains(&bare(question)), "{tool} at {cols}: {shown}");
    }
}

#[test]
fn codex_edits_and_the_trust_of_its_daemon() {
    check(
        "codex",
        &[60, 80, 120, 200],
        "  Would you like to make the following edits?\n\n  Description: fix it\n  Destination: src/main.rs\n\n› 1. Yes, proceed (y)\n  2. Yes, and don't ask again for these files (a)\n  3. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n",
        "Would you like to make the following edits?",
        "multiple_choice\nYes, proceed=y\nYes, and don't ask again for these files=a\n!No, and tell Codex what to do differently=\\u{1b}",
    );
    check(
        "codex",
        &[80, 120],
        "  Folder access\n  /home/dev/project\n\n  Trust this folder? Codex can read, edit, and run files here.\n\n› 1. Trust and continue\n  2. Back to Agent Command Center\n\n  enter continue · esc back\n",
        "Trust this folder?",
        "multiple_choice\nTrust and continue=\\r\n!Back to Agent Command Center=\\u{1b}",
    );
    check(
        "codex",
        &[80],
        "  Would you like to run the following command?\n\n  Environment: local\n  $ git push origin main --force\n\n› 1. Yes, proceed (y)\n  2. Yes, and don't ask again for commands that start with `git push origin main\n     --force` (p)\n  3. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n",
        "git push origin main --force",
        "multiple_choice\nYes, proceed=y\nYes, and don't ask again for commands that start with `git push origin main --force`=p\n!No, and tell Codex what to do differently=\\u{1b}",
    );
}

#[test]
fn gemini_and_qwen_edits() {
    check(
        "gemini",
        &[60, 80, 120],
        "╭──────────────────────────────────────────────────╮\n│ ? Edit  app.py: a => b                           │\n│                                                  │\n│ 1 - a                                            │\n│ 1 + b                                            │\n│                                                  │\n│ Apply this change?                               │\n│                                                  │\n│ ● 1. Allow once                                  │\n│   2. Allow for this session                      │\n│   3. Modify with external editor                 │\n│   4. No, suggest changes (esc)                   │\n│                                                  │\n╰──────────────────────────────────────────────────╯\n",
        "Apply this change?",
        "multiple_choice\nAllow once=1\nAllow for this session=2\nModify with external editor=3\n!No, suggest changes=\\u{1b}",
    );
    check(
        "qwen",
        &[60, 80, 120],
        "╭──────────────────────────────────────────────────╮\n│ ?  Edit app.py                                   │\n│                                                  │\n│ Apply this change?                               │\n│                                                  │\n│ › 1. Yes, allow once                             │\n│   2. Yes, allow always                           │\n│   3. No, suggest changes (esc)                   │\n╰──────────────────────────────────────────────────╯\n⠏ Waiting for user confirmation...\n",
        "Apply this change?",
        "multiple_choice\nYes, allow once=1\nYes, allow always=2\n!No, suggest changes=\\u{1b}",
    );
}

#[test]
fn claude_for_screen_readers_and_searching_the_web() {
    check(
        "claude",
        &[80, 120],
        "Bash command\n\nrm -rf build\n\nDo you want to proceed?\n1. Yes\n2. Yes, and don't ask again for: rm *\n3. No\n\nSelect with numbers [1-3]. Then Enter to submit or Escape to cancel:\n",
        "Do you want to proceed?",
        "multiple_choice\nYes=1\\r\nYes, and don't ask again for: rm *=2\\r\n!No=3\\r",
    );
    check(
        "claude",
        &[80, 120],
        "────────────────────────────────────────────────────────────────────────────────\n Tool use\n\n   Web Search(\"rust pty\")\n   Claude wants to search the web for: rust pty\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don't ask again for Web Search commands in /home/dev/project\n   3. No\n\n Esc to cancel · Tab to amend\n",
        "Do you want to proceed?",
        "multiple_choice\nYes=1\nYes, and don't ask again for Web Search commands in /home/dev/project=2\n!No=3",
    );
}

/// A box with several answers: a tick, and then to the tab that sends.
#[test]
fn claude_questions_with_several_answers() {
    check(
        "claude",
        &[80, 120],
        "────────────────────────────────────────────────────────────────────────────────\n←  ☐ CI checks  ✔ Submit  →\n\nWhich checks should run in CI?\n\n❯ 1. [ ] Unit tests\n  Fast\n  2. [✔] Lint\n  Style\n  3. [ ] Type something\n     Submit\n────────────────────────────────────────────────────────────────────────────────\n  4. Chat about this\n\nEnter to select · ↑/↓ to navigate · Esc to cancel\n",
        "Which checks should run in CI?",
        "multiple_choice\nUnit tests=1\\u{1b}[C\nLint=2\\u{1b}[C",
    );
}

/// The row that refuses in words of one's own: its digit only opens a field, and Escape refuses.
#[test]
fn claude_is_refused_by_escape_where_the_last_row_is_a_text_field() {
    check(
        "claude",
        &[80, 120],
        "────────────────────────────────────────────────────────────────────────────────\n Create file config.yaml\n\n Do you want to create config.yaml?\n ❯ 1. Yes\n   2. Yes, allow all edits during this session (shift+tab)\n   3. Type here to tell Claude what to do differently\n\n Esc to cancel\n",
        "Do you want to create config.yaml?",
        "multiple_choice\nYes=1\nYes, allow all edits during this session (shift+tab)=2\n!Type here to tell Claude what to do differently=\\u{1b}",
    );
    check(
        "claude",
        &[80, 120],
        "────────────────────────────────────────────────────────────────────────────────\n Claude has written up a plan and is ready to execute. Would you like to\n proceed?\n\n ❯ 1. Yes, and use auto mode\n   2. Yes, manually approve edits\n   3. Tell Claude what to change\n      shift+tab to approve with this feedback\n",
        "Would you like to proceed?",
        "multiple_choice\nYes, and use auto mode=1\nYes, manually approve edits=2\n!Tell Claude what to change shift+tab to approve with this feedback=\\u{1b}",
    );
    check(
        "claude",
        &[80, 120],
        "────────────────────────────────────────────────────────────────────────────────\n Would you like to proceed?\n\n ❯ 1. Yes, and auto-accept edits\n   2. Yes, and manually approve edits\n   3. No, keep planning\n",
        "Would you like to proceed?",
        "multiple_choice\nYes, and auto-accept edits=1\nYes, and manually approve edits=2\n!No, keep planning=3",
    );
}

/// Somebody has gone into the field of a plan: what Enter does there while it is empty is nobody's promise.
#[test]
fn silence_types_nothing_into_the_text_field_of_a_dialog() {
    let plan = "────────────────────────────────────────────────────────────────────────────────\n Would you like to proceed?\n\n   1. Yes, and use auto mode\n   2. Yes, manually approve edits\n ❯ 3. Tell Claude what to change\n\x1b[6;7H";
    let sighting = seen("claude", 80, plan).unwrap_or_else(|| panic!("nothing seen"));
    assert_eq!(sighting.kind, Kind::FreeText);
    assert_eq!(SafeDefault::of(&sighting), None);
}

/// # Who approves sees what
/// The command or change is part of the dialog, in a frame or not: it is in the excerpt, and another one under the same
/// question makes another prompt.
#[test]
fn what_is_to_be_approved_is_part_of_the_dialog() {
    let claude = |command: &str| {
        format!(
            "● Bash({command})\n\n{}\n Bash command\n Remove build directory\n{}\n {command}\n\n echo done\n{}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n",
            "─".repeat(80),
            "╌".repeat(80),
            "╌".repeat(80)
        )
    };
    let gemini = |command: &str| {
        format!(
            "╭──────────────────────────────────────╮\n│ ? Shell  {command:<28}│\n│ ╭──────────────────────────────────╮ │\n│ │ {command:<33}│ │\n│ ╰──────────────────────────────────╯ │\n│ Allow execution of [Shell]?          │\n│                                      │\n│ ● 1. Allow once                      │\n│   2. No, suggest changes (esc)       │\n╰──────────────────────────────────────╯\n"
        )
    };
    let codex = |command: &str| {
        format!(
            "  Would you like to run the following command?\n\n  Environment: local\n  Reason: May I run this?\n\n  $ {command}\n\n› 1. Yes, proceed (y)\n  2. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n"
        )
    };
    type Draw<'a> = &'a dyn Fn(&str) -> String;
    let screens: [(&str, Draw<'_>); 3] = [("claude", &claude), ("gemini", &gemini), ("codex", &codex)];
    for (tool, screen) in screens {
        let [one, other] = ["rm -rf build", "rm -rf src"].map(|command| {
            let sighting = seen(tool, 80, &screen(command)).unwrap_or_else(|| panic!("{tool}: nothing seen"));
            let excerpt = sighting.excerpt.as_str().to_owned();
            assert!(excerpt.contains(command), "{tool}: {excerpt}");
            assert!(sighting.detail.as_str().contains(command), "{tool}");
            sighting.fingerprint
        });
        assert_ne!(one, other, "{tool}: two commands, two prompts");
    }
}

/// An input box is empty, then a text stands in it: still the same box, and nothing that was taken.
#[track_caller]
fn check_first_word(tool: &str, empty: &str, written: &str) {
    let config = DetectorConfig {
        pack: Packs::embedded().for_program(tool),
        announce_idle: true,
        ..DetectorConfig::default()
    };
    let mut detector = Detector::new(config, 80, 20);
    let shown = |text: &str| format!("\x1b[H\x1b[2J{}", text.replace('\n', "\r\n"));
    detector.observe(Observation::Output(shown(empty).as_bytes()), Moment::default());
    rest(&mut detector, 5_000);
    let Some(idle) = detector.current().cloned() else {
        panic!("no idle prompt in\n{}", detector.screen().text())
    };
    assert_eq!((idle.kind.as_str(), idle.excerpt.as_str().is_empty()), ("idle", false));
    let at = |millis| Moment(Duration::from_millis(millis));
    detector.observe(Observation::Injected { whole: false }, at(5_000));
    detector.observe(Observation::Output(shown(written).as_bytes()), at(5_020));
    let events = rest(&mut detector, 5_400);
    assert!(events.is_empty(), "{events:?}");
    assert!(detector.still_shows(idle.no, idle.fingerprint));
}

/// Codex 0.166 begins with a logo that vanishes with the first key.
#[test]
fn a_first_word_in_the_box_of_codex_is_no_answer_yet() {
    let screen = |logo: &str, box_line: &str, column: usize| {
        let above = "\n  >_ OpenAI Codex (v0.166.0)\n     ~/project\n";
        let below = "  fake-model default · ~/project\n  ? for shortcuts";
        format!("{above}\n{logo}\n\n\n› {box_line}\n\n{below}\x1b[8;{column}H")
    };
    let logo = "     ⢀⣾⣿⣿⠿⠋⠉⠉⢉⣭⣿⣿⣿⣿⣿⠿⣿⣿⣿⣿⣷⣄";
    check_first_word(
        "codex",
        &screen(logo, "\x1b[2mAsk Codex to do anything\x1b[0m", 3),
        &screen("", "please clean", 15),
    );
}

/// Without true colours the box of Gemini has no frame, and hints above it go with the first letter.
#[test]
fn a_first_word_in_the_box_of_gemini_is_no_answer_yet() {
    let rule = "─".repeat(80);
    let below = "\n workspace (/directory)          branch          sandbox          /model\n ~/project    main    no sandbox    Auto";
    let hints = format!("⚠  Warning: no true colours.\n\n{:>80}", "? for shortcuts");
    let screen = |above: &str, line: &str| {
        format!("\n{above}\n{rule}\n Shift+Tab to accept edits\n\n > {line}\n{below}")
    };
    check_first_word(
        "gemini",
        &screen(&hints, "  Type your message or @path/to/file"),
        &screen("", "please clean"),
    );
}

/// opencode draws a bar and a foot; a draft may look like a question, and is none.
#[test]
fn a_first_word_in_the_box_of_opencode_is_no_answer_yet() {
    let foot = format!("  ╹{}\n{:>78}", "▀".repeat(70), "tab agents  ctrl+p commands");
    let screen = |line: &str, column: usize| {
        format!(
            "\x1b[?1049h\n  All done.\n\n  ┃\n  ┃  {line}\n  ┃\n  ┃  \x1b[34mBuild\x1b[0m · Fake Model\n{foot}\x1b[5;{column}H"
        )
    };
    check_first_word("opencode", &screen("", 6), &screen("say hello, then wait (y/n)?", 33));
}

/// Lets the time pass, with a kernel that says what it says of agents.
fn rest(detector: &mut Detector, until: u64) -> Vec<DetectorEvent> {
    let mut events = Vec::new();
    while let Some(due) = detector.next_deadline().filter(|due| due.0 < Duration::from_millis(until)) {
        detector.observe(Observation::Deadline, due);
        events.extend(detector.observe(Observation::Kernel(KEYS), due));
    }
    events
}

/// What is seen of a screen by a tool with this pack, or without any.
#[track_caller]
fn excerpt(tool: &str, screen: &str) -> String {
    let sighting = seen(tool, 100, screen).unwrap_or_else(|| panic!("{tool}: nothing seen"));
    sighting.excerpt.as_str().to_owned()
}

#[test]
fn cline_names_its_keys_in_a_row() {
    let dialog = " Cline needs permission\n\n Approve tool call?\n\n run_commands\n\n   $ rm -rf build\n\n";
    check(
        "cline",
        &[60, 80, 120],
        &format!("{dialog}  [y] Approve   [n] Deny\n\n fake-model (1) $0.00\n project (master)\n"),
        "$ rm -rf build",
        "yes_no\nApprove=y\n!Deny=n",
    );
    check(
        "cline",
        &[80],
        &format!("{dialog}  [y] Approve   [a] Approve all   [Esc] Cancel\n"),
        "Approve tool call?",
        "multiple_choice\nApprove=y\nApprove all=a\n!Cancel=\\u{1b}",
    );
    // Boxes that are ticked, footnotes, and a row without a question are none.
    for row in ["  [x] Approve   [ ] Deny\n", "  [1] Approve   [1] Deny\n", "  [y] One   [n] Two\n"] {
        assert!(seen("cline", 80, &format!("{dialog}{row}")).is_none(), "{row}");
    }
    assert!(seen("cline", 80, "See below.\n\n  [y] Approve   [n] Deny\n").is_none());
}

/// The dialog of Continue about `title`, with `lines` below it, in a box of 60 columns.
fn continue_dialog(title: &str, lines: &[&str]) -> String {
    let rows = [
        ("> Continue", "(tab)"),
        ("  Continue + don't ask again", "(shift+tab)"),
        ("  No, and tell Continue what to do differently", "(esc)"),
    ];
    let side = "\x1b[35m│\x1b[39m";
    let row = |text: &str| format!("{side}{text:<58}{side}\n");
    let hinted = |(label, key): (&str, &str)| {
        let gap = " ".repeat(58 - 3 - label.len() - key.len());
        format!("{side}  {label}\x1b[2m\x1b[90m {key}\x1b[39m\x1b[22m{gap}{side}\n")
    };
    let above = [title, ""].into_iter().chain(lines.iter().copied());
    let above = above.chain(["", "Would you like to continue?", ""]);
    let above: String = above.map(|text| row(&format!("  {text}"))).collect();
    let below: String = rows.map(hinted).concat();
    let edge = "─".repeat(58);
    format!("\x1b[?25l╭{edge}╮\n{above}{below}╰{edge}╯\n  /home/dev/project ⊦main     ◉ Continue CLI\n")
}

/// Its keys stand behind its rows, fainter than they are.
#[test]
fn continue_names_its_keys_behind_its_rows() {
    check(
        "cn",
        &[60, 80, 120],
        &continue_dialog("Bash(rm -rf build)", &["⎿ Will run: rm -rf build"]),
        "Bash(rm -rf build)",
        "multiple_choice\nContinue=\\t\nContinue + don't ask again (shift+tab)=\\u{1b}[Z\n!No, and tell Continue what to do differently=\\u{1b}",
    );
}

/// The end of a file, or whoever writes one, could hide its name, and make one dialog of two files.
#[test]
fn blank_lines_in_a_box_hide_nothing_above_them() {
    let [one, other] = ["one.txt", "two.txt"].map(|file| {
        let title = format!("Write({file})");
        let screen = continue_dialog(&title, &["⎿ New file content:", "hello", "", "", "", ""]);
        let sighting = seen("cn", 100, &screen).unwrap_or_else(|| panic!("nothing seen"));
        let excerpt = sighting.excerpt.as_str().to_owned();
        assert_eq!(excerpt, format!("Would you like to continue? · {title} · ⎿ New file content: · hello"));
        sighting.fingerprint
    });
    assert_ne!(one, other);
}

#[test]
fn a_list_that_scrolls_is_not_told_as_a_whole() {
    let screen = |first: &str, second: &str| {
        format!(
            "╭────────────────────────────────────────────────╮\n│ Answer Questions                               │\n│                                                │\n│ Which one?                                     │\n│                                                │\n│ ▲                                              │\n│ ● {first:<45}│\n│   {second:<45}│\n│ ▼                                              │\n│                                                │\n│ Enter to select · ↑/↓ to navigate · Esc to cancel │\n╰────────────────────────────────────────────────╯\n"
        )
    };
    let upper = screen("1.  Yes, all of it", "2.  Yes, a part");
    check(
        "gemini",
        &[60, 100],
        &upper,
        "These are not all answers",
        "multiple_choice\nYes, all of it=1\nYes, a part=2",
    );
    assert_eq!(excerpt("gemini", &upper), "[more answers at the terminal] Which one?");
    let sighting =
        seen("gemini", 100, &upper).map(|seen| seen.choices.and_then(|choices| choices.accepting()));
    assert_eq!(sighting, Some(None), "which row accepts least is not known");
    // Scrolled, it is the same dialog.
    let lower = screen("2.  Yes, a part", "3.  No");
    let fingerprint = |screen: &str| seen("gemini", 100, screen).map(|seen| seen.fingerprint);
    assert_eq!(fingerprint(&lower), fingerprint(&upper));
}

#[test]
fn what_a_dialog_leaves_out_is_told_first() {
    let rows = "\n› 1. Yes, proceed (y)\n  2. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n";
    let command = "  Would you like to run the following command?\n\n  $ cat <<EOF\n";
    let cut = excerpt("codex", &format!("{command}    … +12 lines\n{rows}"));
    assert!(cut.starts_with("[not all of it is shown] Would you like to run"), "{cut}");
    // Of a command of several lines Continue shows the first.
    let first = excerpt("cn", &continue_dialog("Bash(cd build...)", &["⎿ Will run: cd build"]));
    assert!(first.starts_with("[not all of it is shown] Would you like to continue?"), "{first}");
    let box_of_many = continue_dialog("Write(one.txt)", &[""; 60]);
    let scrolled = excerpt("cn", &box_of_many);
    assert!(scrolled.starts_with("[not all of it is shown]"), "{scrolled}");
    let whole = excerpt("codex", &format!("{command}{rows}"));
    assert!(whole.starts_with("Would you like to run"), "{whole}");
    let bare = excerpt(
        "codex",
        &format!(
            "• I change the greeting in hello.py.\n\n\n  Would you like to make the following edits?\n{rows}"
        ),
    );
    assert_eq!(
        bare,
        "[it does not show what] Would you like to make the following edits? · • I change the greeting in hello.py."
    );
}

#[test]
fn the_excerpt_of_an_agent_names_what_is_approved() {
    for (tool, screen, expected) in [
        (
            "aider",
            "rm -rf build\nRun shell command? (Y)es/(N)o/(D)on't ask again [Yes]: ",
            "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: · rm -rf build",
        ),
        (
            "gptme",
            "```shell\nrm -rf build\n```\n\nExecute shell? [Y/n/c/e/a/?] ",
            "Execute shell? [Y/n/c/e/a/?] · rm -rf build",
        ),
        (
            "interpreter",
            "  rm -rf build\n\n\n  Would you like to run this code? (y/n)\n\n  ",
            "Would you like to run this code? (y/n) · rm -rf build",
        ),
    ] {
        assert_eq!(excerpt(tool, screen), expected);
    }
}
