//! `--events`: one JSON line for each thing seen, gone and typed.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use atlasbridge_testkit::{Home, eventually};
use serde_json::Value;

use crate::scene::home;

const QUESTION: &str = r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]""#;

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_file_gets_a_line_for_each_thing() {
    let home = home();
    let file = home.scratch().join("events.jsonl");
    fs::write(&file, "{\"kept\":true}\n").unwrap();
    let events = file.display().to_string();
    let script = format!("{QUESTION}; {QUESTION}");
    let mut terminal =
        home.run_in_terminal(&["run", "--events", &events, "--", "bash", "--norc", "-c", &script]);
    let prompt = home.one_prompt();
    let id = prompt["prompt_id"].as_str().unwrap().to_owned();
    assert_eq!(home.run(["approve", &id]).code, 0);
    terminal.wait_for("got=[y]");
    let seen = |number: u64| {
        eventually("a question is seen", || {
            lines(&file).into_iter().find(|line| line["event"] == "seen" && line["sighting"] == number)
        })
    };
    let first = seen(1);
    assert_eq!(first["kind"], "yes_no");
    assert!(
        first["t"].as_f64().unwrap() > 0.0 && first["session_id"].as_str().unwrap().len() == 36,
        "{first}"
    );
    seen(2);
    terminal.type_keys("n\r");
    assert_eq!(terminal.end().0, 0);

    let all = lines(&file);
    assert_eq!(all[0]["kept"], true, "appended, not overwritten");
    let told: Vec<String> = all[1..]
        .iter()
        .map(|line| {
            let detail =
                ["how", "outcome"].iter().find_map(|key| line[key].as_str()).unwrap_or("").to_owned();
            format!("{} {detail}", line["event"].as_str().unwrap())
        })
        .collect();
    for expected in ["seen ", "injected typed", "gone injected", "injected taken", "gone answered_locally"] {
        assert!(told.iter().any(|line| line == expected), "{expected:?} is missing in {told:?}");
    }
}

/// A FIFO that nobody reads is no reason to wait, nor one whose reader has left.
#[test]
fn a_fifo_nobody_reads_never_holds_the_tool() {
    let home = home();
    let fifo = fifo_in(&home);
    let events = fifo.display().to_string();
    // Far more lines than a pipe holds.
    let script =
        "for n in $(seq 1 300); do read -t 0.01 -p \"Delete $n files? (y/n) \" x; echo; done; echo all asked";
    let terminal = home.run_in_terminal(&["run", "--events", &events, "--", "bash", "--norc", "-c", script]);
    let (code, shown) = terminal.end();
    assert_eq!(code, 0);
    assert!(shown.contains("all asked"));
}

#[test]
fn a_fifo_with_a_reader_gets_the_lines() {
    let home = home();
    let fifo = fifo_in(&home);
    let mut reader = fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(&fifo)
        .unwrap();
    let events = fifo.display().to_string();
    let mut terminal =
        home.run_in_terminal(&["run", "--events", &events, "--", "bash", "--norc", "-c", QUESTION]);
    let mut text = String::new();
    eventually("the question is told", || {
        let mut buffer = [0; 4096];
        if let Ok(count) = reader.read(&mut buffer) {
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        text.contains("\"seen\"").then_some(())
    });
    terminal.type_keys("y\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_file_that_cannot_be_written_stops_us_before_the_tool() {
    let home = home();
    let ended =
        home.run(["run", "--events", "/no/such/folder/events", "--", "touch", "/tmp/never-made-by-fidelity"]);
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("/no/such/folder/events"), "{ended:?}");
    assert!(!Path::new("/tmp/never-made-by-fidelity").exists());
}

fn fifo_in(home: &Home) -> PathBuf {
    let fifo = home.scratch().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    fifo
}
