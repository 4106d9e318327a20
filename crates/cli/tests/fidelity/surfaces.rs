//! Whatever the tool is started on, a terminal, a pipe, a file, nothing: its own terminal is one, so what it asks is read
//! alike, and an answer from elsewhere reaches it.

use std::fs;
use std::process::{Child, Command, Stdio};

use atlasbridge_testkit::{Home, Terminal, eventually};
use serde_json::{Value, json};

use crate::scene::{home, program, python};

/// A list, yes or no, a menu moved by arrows, a text; what it has read goes to the file `taken`.
const ASKS: &str = r#"
import os, sys, termios, tty

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def line(question):
    say(question)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += os.read(0, 100)
    return answer.decode().strip()

def menu(question, rows):
    before = termios.tcgetattr(0)
    tty.setraw(0)
    at = 0
    say(question + "\r\n")
    while True:
        for number, row in enumerate(rows):
            say("\x1b[2K" + ("❯ " if number == at else "  ") + row + "\r\n")
        key = os.read(0, 10)
        if key in (b"\r", b"\n"):
            break
        at = (at + {b"\x1b[A": -1, b"\x1b[B": 1}.get(key, 0)) % len(rows)
        say("\x1b[%dA" % len(rows))
    termios.tcsetattr(0, termios.TCSADRAIN, before)
    return rows[at]

say("Which database?\n  1) PostgreSQL\n  2) SQLite\n  3) None\n")
taken = [line("Enter choice [1-3]: ")]
taken.append(line("Overwrite 3 files? (y/n) "))
taken.append(menu("? Deploy where?", ["staging", "production", "None of these"]))
taken.append(line("Enter commit message: "))
say("done\n")
open("taken", "w").write(",".join(taken))
"#;

/// The kind, the question, the whole dialog, the rows and what they do, as an operator is offered them.
fn offered(prompt: &Value) -> Value {
    json!([
        prompt["kind"],
        prompt["confidence"],
        prompt["excerpt"],
        prompt["detail"],
        prompt["choices"],
        prompt["safe_default"]
    ])
}

/// What the prompts were, answered one after the other from elsewhere.
#[track_caller]
fn answered(home: &Home) -> Vec<Value> {
    let mut seen = Vec::new();
    for answer in ["3", "no", "production", "tidy up"] {
        let prompt = home.one_prompt();
        let id = prompt["prompt_id"].as_str().unwrap();
        let told = home.run(["reply", id, answer]);
        assert_eq!(told.code, 0, "{prompt:#} {told:?}");
        assert_eq!(home.end_of(id), "resolved applied", "{prompt:#}");
        seen.push(offered(&prompt));
    }
    seen
}

/// A shell with `$W` for `atlasbridge run …`, in the home's directory.
struct Started {
    home: Home,
    shell: Shell,
}

enum Shell {
    OnTerminal(Terminal),
    OnNothing(Child),
}

fn prepared() -> (Home, Vec<(String, String)>) {
    let home = home();
    fs::write(home.scratch().join("asks.py"), ASKS).unwrap();
    let tool = format!("{} run --quiet -- {} asks.py", home.binary().display(), python());
    let mut environment = home.environment();
    environment.push(("W".to_owned(), tool));
    (home, environment)
}

impl Started {
    fn on_terminal(script: &str) -> Self {
        let (home, environment) = prepared();
        let script = format!("cd {}; {script}", home.scratch().display());
        let shell = Terminal::start(program("bash").as_ref(), &["-c", &script], &environment, 100, 30);
        Self { home, shell: Shell::OnTerminal(shell) }
    }

    fn on_nothing(script: &str) -> Self {
        let (home, environment) = prepared();
        let child = Command::new("setsid")
            .args(["-w", "bash", "-c", script])
            .env_clear()
            .envs(environment)
            .current_dir(home.scratch())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { home, shell: Shell::OnNothing(child) }
    }

    /// What it asked, after it has read all answers and ended.
    #[track_caller]
    fn asked(self) -> (Home, Vec<Value>) {
        let seen = answered(&self.home);
        match self.shell {
            Shell::OnTerminal(terminal) => drop(terminal.end()),
            Shell::OnNothing(mut child) => drop(child.wait().unwrap()),
        }
        let taken = fs::read_to_string(self.home.scratch().join("taken"));
        assert_eq!(taken.unwrap(), "3,n,production,tidy up");
        (self.home, seen)
    }
}

/// `hold` is a pipe that stays open and says nothing, as a supervisor gives one.
const HOLD: &str = "mkfifo hold; exec 9<>hold;";

#[test]
fn a_tool_asks_the_same_wherever_it_is_started() {
    let (_, expected) = Started::on_terminal("$W").asked();
    let kinds: Vec<_> = expected.iter().map(|prompt| prompt[0].clone()).collect();
    assert_eq!(kinds, ["multiple_choice", "yes_no", "multiple_choice", "free_text"]);
    let labels = |prompt: &Value| -> Vec<String> {
        let choices = prompt[4].as_array().unwrap().iter();
        choices.map(|choice| choice["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&expected[0]), ["PostgreSQL", "SQLite", "None"]);
    assert_eq!(labels(&expected[2]), ["staging", "production", "None of these"]);
    assert_eq!(
        expected[0][3],
        "Which database?\n  1) PostgreSQL\n  2) SQLite\n  3) None\nEnter choice [1-3]:"
    );

    let on_terminal = [
        "TERM=dumb $W",
        "$W | cat",
        "$W | tee log",
        "$W > out",
        "$W < /dev/null",
        "$W < /dev/null | cat",
        &format!("{HOLD} $W < hold"),
        &format!("{HOLD} $W < hold > out"),
        "script -qec \"$W\" typescript",
        "stty -onlcr; $W",
        "stty -onlcr; $W | cat",
        "stty raw; $W; stty sane",
    ];
    let on_nothing = [
        "$W",
        "$W | cat",
        "$W > out",
        &format!("{HOLD} $W < hold > out"),
        // Its input stays open: of one that has ended, `script` makes an end of file at the keyboard.
        &format!("{HOLD} script -qec \"$W\" typescript < hold"),
        "unset TERM; $W | cat",
    ];
    let started = on_terminal.into_iter().map(|script| (script, Started::on_terminal(script)));
    let started = started.chain(on_nothing.into_iter().map(|script| (script, Started::on_nothing(script))));
    for (script, started) in started {
        let (_, seen) = started.asked();
        for (seen, expected) in seen.iter().zip(&expected) {
            assert_eq!(seen, expected, "{script}");
        }
    }
}

/// Lines end in a file as the tool ended them, the answers among them as a terminal shows them.
#[test]
fn a_file_has_the_lines_of_the_tool() {
    let (home, _) = Started::on_nothing("$W > out").asked();
    let out = fs::read_to_string(home.scratch().join("out")).unwrap();
    let begins = "Which database?\n  1) PostgreSQL\n  2) SQLite\n  3) None\nEnter choice [1-3]: 3\nOverwrite 3 files? (y/n) n\n";
    assert!(out.starts_with(begins), "{out:?}");
    assert!(out.ends_with("Enter commit message: tidy up\ndone\n"), "{out:?}");
    assert!(!out.contains('\r') || out.contains("\x1b[2K"), "{out:?}");
}

/// What a pipe brings is typed and not shown; who asks is read alike.
#[test]
fn answers_from_a_pipe_are_taken_in_turn() {
    let (home, environment) = prepared();
    let two = "import os\nfor question in ['Overwrite? (y/n) ', 'Name: ']:\n  print(question, flush=True)\n  print('took', os.read(0, 100))\n";
    fs::write(home.scratch().join("asks.py"), two).unwrap();
    let output = Command::new("bash")
        .args(["-c", "printf 'y\\nAtlas\\n' | $W | cat"])
        .env_clear()
        .envs(environment)
        .current_dir(home.scratch())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Overwrite? (y/n) \ntook b'y\\n'\nName: \ntook b'Atlas\\n'\n"
    );
    // Read from the session's own record: nothing else tells when a hub that nobody asked has noted it.
    eventually("the session is on record", || {
        home.sessions().first().filter(|session| session["status"] == "completed").map(drop)
    });
}
