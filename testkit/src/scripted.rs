//! An agent of a few lines: it shows the input box of Claude Code, takes an instruction, works until the test lets it finish, and
//! shows its box again. What it was told is on its record.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Home, Terminal, eventually};

/// As agents do, it waits for events and not in a read, takes what comes at once as one text, and draws in one piece.
const AGENT: &str = r#"
import json, os, select, sys, time, tty
place, paste = sys.argv[1], sys.argv[2] == "paste"
tty.setraw(0)
if paste:
    os.write(1, b"\x1b[?2004h")
rule, said, turn = "─" * 60, "Welcome.", 0
while True:
    text = ""
    def draw():
        shown = text.replace("\n", "\r\n  ")
        os.write(1, f"\x1b[H\x1b[J● {said}\r\n\r\n{rule}\r\n❯ {shown}\x1b7\r\n{rule}\r\n  ? for shortcuts\x1b8".encode())
    draw()
    while True:
        select.select([0], [], [])
        keys = os.read(0, 65536).decode()
        if keys == "\r":
            break
        text += keys.replace("\x1b[200~", "").replace("\x1b[201~", "").replace("\r", "\n")
        draw()
    turn += 1
    with open(f"{place}/read", "a") as record:
        record.write(json.dumps(text) + "\n")
    os.write(1, f"\x1b[H\x1b[J● {said}\r\n\r\n✻ Working on turn {turn}… (esc to interrupt)\r\n".encode())
    while not os.path.exists(f"{place}/done-{turn}"):
        time.sleep(0.02)
    said = f"Turn {turn} is done."
"#;

/// Whether the agent's box takes several lines, as a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    One,
    Several,
}

#[derive(Debug)]
pub struct ScriptedAgent {
    pub terminal: Terminal,
    place: PathBuf,
    turn: AtomicU32,
}

impl ScriptedAgent {
    /// `run --adapter claude` with the agent in it, under this label, in a home of a test.
    #[track_caller]
    pub fn start(home: &Home, label: &str, lines: Lines) -> Self {
        let place = home.scratch().join(format!("agent-{label}"));
        fs::create_dir_all(&place).unwrap();
        let script = place.join("agent.py");
        fs::write(&script, AGENT).unwrap();
        let paste = match lines {
            Lines::One => "keys",
            Lines::Several => "paste",
        };
        let (script, directory) = (script.display().to_string(), place.display().to_string());
        let words = ["run", "--label", label, "--adapter", "claude", "--"];
        let words = words.iter().copied().chain(["python3", &script, &directory, paste]);
        let terminal = home.run_in_terminal(&words.collect::<Vec<_>>());
        Self { terminal, place, turn: AtomicU32::new(0) }
    }

    /// All instructions so far.
    pub fn read(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.join("read")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until these are all.
    #[track_caller]
    pub fn was_told(&self, expected: &[&str]) {
        eventually(&format!("the agent is told {expected:?}"), || {
            (self.read().len() >= expected.len()).then_some(())
        });
        assert_eq!(self.read(), expected);
    }

    /// Lets it finish what it works on.
    pub fn finish(&self) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) + 1;
        fs::write(self.place.join(format!("done-{turn}")), "").unwrap();
    }
}
