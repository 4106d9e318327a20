//! Tools that ask, and keep a record of what they read.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use atlasbridge_testkit::page::Visitor;
use atlasbridge_testkit::{Terminal, eventually};
use serde_json::Value;

use crate::Desk;

/// A dialog as an agent draws it: arrows move, Enter and digits choose, other keys do nothing. Everything read is noted.
const APPROVAL: &str = r#"
at=1
rows=("Yes" "Yes, and don't ask again for cargo test commands" "No, and tell it what to do differently")
draw() {
  printf '\e[H\e[2J\e[1m● Bash command\e[0m\r\n\r\n  \e[36mcargo test -p api\e[0m\r\n  Run the tests of the api\r\n\r\nDo you want to proceed?\r\n'
  for row in 1 2 3; do
    if [ $row = $at ]; then printf '\e[34m❯ %s. %s\e[0m\r\n' $row "${rows[row - 1]}"; else printf '  %s. %s\r\n' $row "${rows[row - 1]}"; fi
  done
}
stty raw -echo
draw
while :; do
  IFS= read -rsn1 key
  case "$key" in
    $'\e') rest=; IFS= read -rsn2 -t 0.05 rest
      case "$rest" in
        '[A') [ $at -gt 1 ] && at=$((at - 1)); draw ;;
        '[B') [ $at -lt 3 ] && at=$((at + 1)); draw ;;
        *) note "escape" ;;
      esac ;;
    [123]) at=$key; break ;;
    $'\r' | '') break ;;
    *) note "key $key" ;;
  esac
done
note "chose $at"
stty sane
printf '\e[H\e[2J● %s\n' "${rows[at - 1]}"
"#;

const YES_NO: &str =
    r#"read -rp "Publish version 2.4.0? (y/n) " answer; note "answer $answer"; echo "-> $answer""#;
const TEXT: &str = r#"read -rp "Enter commit message: " answer; note "text $answer"; echo "-> $answer""#;

/// Markup, a handler, a character that turns the line around, one that nobody sees.
const HOSTILE: &str = r#"printf 'Delete <script>document.title="owned"</script><img src=x onerror="document.title=1"> \u2800\u202efdp.exe\u202c pay\u200bload? (y/n) '
read -r answer; note "answer $answer"; echo "-> $answer""#;

/// The empty input box of an agent that has finished, after the dialog. As agents do, it waits for events and not in a
/// read, takes what comes at once as one text, and draws a frame in one piece. A line sent there is noted.
const AGENT: &str = r#"
export RECORD CHOSEN="${rows[at - 1]}"
exec python3 -c '
import os, select, sys, tty
tty.setraw(0)
line, rule, chosen = "", "─" * 40, os.environ["CHOSEN"]
def draw():
    frame = f"\x1b[H\x1b[J● {chosen}\x1b[3H{rule}\x1b[4H❯ {line}\x1b[5H{rule}\x1b[6H  ? for shortcuts\x1b[4;{3 + len(line)}H"
    os.write(1, frame.encode())
draw()
while True:
    select.select([0], [], [])
    text = os.read(0, 4096).decode()
    if text == "\r":
        break
    line += text
    draw()
open(os.environ["RECORD"], "a").write(f"instruction {line}\n")
os.write(1, "\x1b[H\x1b[J● done\r\n".encode())
'
"#;

/// All tools of one home, their terminals and what each of them read.
pub(crate) struct Tools<'a> {
    desk: &'a Desk,
    visitor: Visitor,
    terminals: Mutex<Vec<(String, Terminal)>>,
    count: AtomicU32,
}

impl<'a> Tools<'a> {
    pub(crate) fn new(desk: &'a Desk) -> Self {
        Self { desk, visitor: desk.visitor(), terminals: Mutex::default(), count: AtomicU32::new(0) }
    }

    pub(crate) fn visitor(&self) -> &Visitor {
        &self.visitor
    }

    /// Starts a tool that asks this, and returns its card once it waits.
    pub(crate) fn ask(&self, what: &str) -> Value {
        if what == "agent" {
            return self.ask_with(&["--adapter", "claude"], &format!("{APPROVAL}{AGENT}"));
        }
        if what == "brief" {
            return self.desk.briefly(|| self.ask("yes_no"));
        }
        let script = match what {
            "approval" => APPROVAL,
            "yes_no" => YES_NO,
            "text" => TEXT,
            "hostile" => HOSTILE,
            other => panic!("nobody asks {other}"),
        };
        self.ask_with(&[], script)
    }

    /// The same with a script of the test's own; `note` puts something on the tool's record.
    pub(crate) fn ask_with(&self, args: &[&str], script: &str) -> Value {
        let label = self.start(args, script);
        eventually(&format!("{label} waits for an answer"), || self.card_of(&label))
    }

    /// Runs a script, with these arguments of `run` before it, and returns the session's label.
    pub(crate) fn start(&self, args: &[&str], script: &str) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let label = format!("tool {number}");
        let file = self.desk.home.scratch().join(format!("tool-{number}.sh"));
        let record = self.record(&label);
        let note =
            format!("RECORD='{}'\nnote() {{ printf '%s\\n' \"$1\" >> \"$RECORD\"; }}\n", record.display());
        fs::write(&file, format!("#!/bin/bash\n{note}{script}\n")).unwrap();
        let file = file.display().to_string();
        // A label is shown as much as what the tool prints, and may be as hostile.
        let told = match script == HOSTILE {
            true => format!("{label} \u{202e}elif\u{200b} <b>tool</b>"),
            false => label.clone(),
        };
        let mut words = vec!["run", "--quiet", "--label", &told];
        words.extend(args);
        words.extend(["--", "bash", "--norc", &file]);
        let terminal = self.desk.home.run_in_terminal(&words);
        self.terminals.lock().unwrap().push((label.clone(), terminal));
        label
    }

    fn card_of(&self, label: &str) -> Option<Value> {
        let cards = self.visitor.prompts().into_iter();
        cards.filter(|card| card["is_open"] == true).find(|card| {
            let told = card["session"]["label"].as_str().unwrap_or_default();
            told == label || told.starts_with(&format!("{label} "))
        })
    }

    /// What the tool of this label read so far, a line for each thing.
    pub(crate) fn read(&self, label: &str) -> Vec<String> {
        let text = fs::read_to_string(self.record(label)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn with_terminal<T>(&self, label: &str, act: impl FnOnce(&mut Terminal) -> T) -> T {
        let mut terminals = self.terminals.lock().unwrap();
        let (_, terminal) =
            terminals.iter_mut().find(|(known, _)| known == label).expect("a tool of this label");
        act(terminal)
    }

    /// Ends the tool itself, as if it had crashed.
    #[track_caller]
    pub(crate) fn end(&self, label: &str) {
        let file = format!("/{}.sh", label.replace(' ', "-"));
        let is_it = |pid: &i32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).into_owned();
            command.starts_with("bash\0") && command.contains(&file) && command.contains(&self.place())
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
        atlasbridge_testkit::kill(pids.find(is_it).expect("the tool runs"));
    }

    fn place(&self) -> String {
        self.desk.home.scratch().display().to_string()
    }

    fn record(&self, label: &str) -> PathBuf {
        self.desk.home.scratch().join(format!("{}.read", label.replace(' ', "-")))
    }
}
