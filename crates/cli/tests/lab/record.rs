//! A tool recorded on a real terminal, and what a replay of it sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atlasbridge_testkit::{Home, Terminal, eventually};
use serde_json::Value;

use crate::home;

const SECRET: &str = "correct-horse-battery";

fn record(home: &Home, file: &Path, script: &str) -> Terminal {
    let file = file.to_str().unwrap();
    home.run_in_terminal(&["lab", "record", "-o", file, "--", "bash", "--norc", "-c", script])
}

fn events(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until the tool is blocked in a read of the terminal, as the recording says.
fn wait_for_reader(file: &Path, after: &str) {
    eventually("the tool reads", || {
        let text = fs::read_to_string(file).ok()?;
        // The command line, in the header, has the script's words too.
        let (_, rest) = text.split_once('\n')?.1.rsplit_once(after)?;
        rest.contains(r#"\"wait\":\"read\""#).then_some(())
    });
}

#[test]
fn what_is_recorded_replays_as_it_was_seen() {
    let home = home();
    let file = home.scratch().join("deploy.cast");
    let script = r#"
        read -rp "Deploy to production? (y/n) " answer
        printf 'one\ntwo\n\e[32m❯ ok\e[0m\n'
        read -rsp "Password: " secret
        printf '\n1) now\n2) later\n3) never\n'
        read -rp "Enter choice [1-3]: " when
        exit 7"#;
    let mut terminal = record(&home, &file, script);
    wait_for_reader(&file, "(y/n)");
    terminal.type_keys("y\r");
    wait_for_reader(&file, "Password:");
    terminal.type_keys(format!("{SECRET}\r"));
    wait_for_reader(&file, "Enter choice");
    terminal.resize(90, 28);
    eventually("the new size is recorded", || {
        events(&file).iter().any(|event| event[1] == "r" && event[2] == "90x28").then_some(())
    });
    terminal.type_keys("2\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, 7, "{shown}");
    assert!(shown.contains("3 prompts are in the draft") && shown.contains("as bullets"), "{shown}");

    let cast = fs::read_to_string(&file).unwrap();
    assert!(!cast.contains(SECRET), "{cast}");
    let typed: Vec<String> = events(&file)
        .iter()
        .filter(|event| event[1] == "i")
        .map(|event| event[2].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(typed.concat(), format!("y\r{}\r2\r", "•".repeat(SECRET.len())));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let label: Value =
        serde_json::from_str(&fs::read_to_string(file.with_extension("json")).unwrap()).unwrap();
    let drafted: Vec<_> = label["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| (prompt["from"].clone(), prompt["to"].clone(), prompt["kind"].clone()))
        .collect();
    let replayed = home.run(["lab", "replay", file.to_str().unwrap(), "--json"]).stdout;
    let replayed: Vec<_> = replayed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|prompt| (prompt["t"].clone(), prompt["gone_at"].clone(), prompt["kind"].clone()))
        .collect();
    assert_eq!(replayed.len(), 3);
    assert_eq!(replayed, drafted);
    let kinds: Vec<&str> = drafted.iter().map(|(_, _, kind)| kind.as_str().unwrap()).collect();
    assert_eq!(kinds, ["yes_no", "password", "multiple_choice"]);
    assert_eq!(label["prompts"][2]["choices"], serde_json::json!(["now", "later", "never"]));
    assert_eq!(label["exit"], 7);
}

#[test]
fn a_tool_that_cannot_be_started_is_told_as_by_a_shell() {
    let home = home();
    let file = home.scratch().join("x.cast");
    let terminal =
        home.run_in_terminal(&["lab", "record", "-o", file.to_str().unwrap(), "--", "no-such-tool"]);
    let (code, shown) = terminal.end();
    assert_eq!(code, 127);
    assert!(shown.contains("no-such-tool: command not found"), "{shown}");
}

#[test]
fn a_recording_is_never_overwritten() {
    let home = home();
    let file = home.scratch().join("kept.cast");
    fs::write(&file, "precious").unwrap();
    let (code, shown) = record(&home, &file, "echo ran").end();
    assert_eq!(code, 1);
    assert!(shown.contains("kept.cast exists") && !shown.contains("ran\r\n"), "{shown}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn a_pipe_is_no_terminal() {
    let told = home().run(["lab", "record", "--", "true"]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains("needs a terminal"), "{told:?}");
}
