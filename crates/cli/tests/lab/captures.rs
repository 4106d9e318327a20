//! `ATLASBRIDGE_CAPTURE_PROMPTS=1`: prompts that were seen become scenarios.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use atlasbridge_testkit::{Home, Terminal, eventually};
use serde_json::Value;

use crate::home;

/// Assembled at run time, so that no secret scanner takes this file for a leak.
fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(10))
}

fn run(home: &Home, capture: &str, script: &str) -> Terminal {
    let mut env = home.environment();
    env.push(("ATLASBRIDGE_CAPTURE_PROMPTS".to_owned(), capture.to_owned()));
    Terminal::start(home.binary(), &["run", "--quiet", "--", "bash", "--norc", "-c", script], &env, 100, 30)
}

fn captured(home: &Home) -> Vec<PathBuf> {
    let directory = home.path().join("captured_scenarios");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn a_prompt_becomes_a_scenario_that_the_lab_replays() {
    let home = home();
    let script = format!(
        "printf 'using {}\\n1) dev\\n2) prod\\n3) cancel\\n'; read -rp 'Enter choice [1-3]: ' x",
        token()
    );
    let mut terminal = run(&home, "1", &script);
    let files =
        eventually("the scenario is written", || Some(captured(&home)).filter(|files| files.len() == 2));
    terminal.type_keys("3\r");
    assert_eq!(terminal.end().0, 0);

    for file in &files {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains(&token()), "{text}");
    }
    let directory = files[0].parent().unwrap();
    assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);

    let (cast, label) = (&files[0], &files[1]);
    assert!(cast.file_name().unwrap().to_str().unwrap().starts_with("bash-"), "{cast:?}");
    assert!(fs::read_to_string(cast).unwrap().contains("using ••••"));
    let label: Value = serde_json::from_str(&fs::read_to_string(label).unwrap()).unwrap();
    let prompt = &label["prompts"][0];
    assert_eq!(prompt["kind"], "multiple_choice");
    assert_eq!(prompt["refuses"], 2);

    let replayed = home.run(["lab", "replay", cast.to_str().unwrap(), "--json"]);
    let replayed: Value = serde_json::from_str(replayed.stdout.trim()).unwrap();
    for field in ["kind", "excerpt", "choices", "refuses"] {
        assert_eq!(replayed[field], prompt[field], "{field}");
    }
}

/// A tool that says it waits, with a dialog that nobody knows: its screen is kept, and told of.
#[test]
fn a_dialog_that_is_not_recognised_is_kept() {
    let home = home();
    let tool = r#"
import select, sys, tty
tty.setraw(0)
sys.stdout.write("\x1b]7501;state=blocked:app=claude-code\x07~ shall it be? ~\r\n(( aye ))  (( nay ))\r\n")
sys.stdout.flush()
select.select([0], [], [])
sys.stdout.write("\x1b]7501;state=clear\x07")
"#;
    let events = home.path().join("events.jsonl");
    let mut env = home.environment();
    env.push(("ATLASBRIDGE_CAPTURE_PROMPTS".to_owned(), "1".to_owned()));
    let mut terminal = Terminal::start(
        home.binary(),
        &["run", "--adapter", "claude", "--events", events.to_str().unwrap(), "--", "python3", "-c", tool],
        &env,
        100,
        30,
    );
    let files = eventually("the screen is kept", || Some(captured(&home)).filter(|files| files.len() == 2));
    terminal.type_keys("x");
    assert_eq!(terminal.end().0, 0);
    let label: Value = serde_json::from_str(&fs::read_to_string(&files[1]).unwrap()).unwrap();
    assert_eq!(label["drift"], "unrecognised");
    assert_eq!(label["prompts"][0]["confidence"], "low");
    assert!(fs::read_to_string(&files[0]).unwrap().contains("(( aye ))"));
    let told: Vec<String> = fs::read_to_string(&events)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| format!("{} {}", line["event"].as_str().unwrap(), line["sighting"]))
        .collect();
    assert_eq!(told, ["drift 1", "seen 1", "gone 1"]);
}

#[test]
fn nothing_is_captured_unless_asked() {
    for capture in ["", "0"] {
        let home = home();
        let mut terminal = run(&home, capture, "read -rp 'Go on? (y/n) ' x");
        home.one_prompt();
        terminal.type_keys("y\r");
        assert_eq!(terminal.end().0, 0);
        assert!(!home.path().join("captured_scenarios").exists());
    }
}
