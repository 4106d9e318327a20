//! Every byte, both ways, whatever it means.

use std::fs;
use std::path::Path;
use std::time::Instant;

use atlasbridge_testkit::{Home, LIMIT, Terminal, eventually};

use crate::scene::{Noise, assert_same_bytes, home, python, status, tool_of};

/// A hundred megabytes: far more than all buffers on the way together.
const NOISE: usize = 100 << 20;

/// The bytes of a file through `run`, from a tool in raw mode, as the outer terminal gets them.
#[track_caller]
fn shown(home: &Home, file: &Path) -> Vec<u8> {
    let script = format!("stty raw -echo; exec cat {}", file.display());
    let terminal = home.run_in_terminal(&["run", "--", "sh", "-c", &script]);
    let (code, bytes) = terminal.end_bytes();
    assert_eq!(code, 0);
    bytes
}

#[test]
fn noise_from_the_tool_is_the_same_noise() {
    let home = home();
    let noise = Noise::new(1).bytes(NOISE);
    let file = home.scratch().join("noise");
    fs::write(&file, &noise).unwrap();
    assert_same_bytes(&shown(&home, &file), &noise, "noise");
}

/// As fast as a terminal is typed into: the tool writes down what it reads until it has all.
#[test]
fn noise_into_the_tool_is_the_same_noise() {
    let home = home();
    let noise = Noise::new(2).bytes(NOISE);
    let file = home.scratch().join("typed");
    let script =
        format!("stty raw -echo; echo ready; head -c {} > {}; echo all", noise.len(), file.display());
    let mut terminal = home.run_in_terminal(&["run", "--", "sh", "-c", &script]);
    terminal.wait_for("ready");
    terminal.type_keys(&noise);
    let (code, _) = terminal.end();
    assert_eq!(code, 0);
    assert_same_bytes(&fs::read(&file).unwrap(), &noise, "typed noise");
}

#[test]
fn every_recording_comes_out_as_it_was() {
    let home = home();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../detect/tests/recordings");
    let mut all = Vec::new();
    for folder in fs::read_dir(&recordings).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()) {
            if file.extension().is_some_and(|extension| extension == "cast") {
                all.push(output_of(&file));
            }
        }
    }
    assert!(all.len() > 100, "only {} recordings", all.len());
    // One tool for all of them: what they switch on and leave on is then also behind the next.
    let joined = all.concat();
    let file = home.scratch().join("recordings");
    fs::write(&file, &joined).unwrap();
    assert_same_bytes(&shown(&home, &file), &joined, "recordings");
}

/// What an asciicast v2 file says was written.
fn output_of(file: &Path) -> Vec<u8> {
    let text = fs::read_to_string(file).unwrap();
    let events = text.lines().skip(1).filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    events
        .filter(|event| event[1] == "o")
        .flat_map(|event| event[2].as_str().unwrap_or("").as_bytes().to_vec())
        .collect()
}

/// What terminals and programs say to each other besides text.
const SPECIAL: &[(&str, &[u8])] = &[
    ("bracketed paste", b"\x1b[?2004h\x1b[200~pasted\nlines\r\x1b[201~"),
    ("mouse", b"\x1b[?1000h\x1b[?1006h\x1b[<0;10;20M\x1b[<0;10;20m\x1b[M !!"),
    ("kitty keyboard", b"\x1b[>1u\x1b[?u\x1b[97;5u\x1b[57441;2:3u\x1b[<u"),
    ("synchronised output", b"\x1b[?2026hdrawn at once\x1b[?2026l"),
    ("clipboard", b"\x1b]52;c;aGVsbG8=\x07\x1b]52;c;?\x1b\\"),
    ("queries", b"\x1b[c\x1b[>c\x1b[6n\x1b[5n\x1b[?2026$p\x1bP+q544e\x1b\\\x1b]11;?\x07\x1b[18t"),
    ("answers", b"\x1b[?62;22c\x1b[>1;95;0c\x1b[12;40R\x1b[0n\x1b[?2026;2$y\x1bP1+r544e=78\x1b\\"),
    ("graphics", b"\x1b_Gf=24,s=1,v=1;AAAA\x1b\\\x1bPq#0;2;0;0;0#0~~@@vv$\x1b\\"),
    ("program status", b"\x1b]7501;?\x07\x1b]7501;working\x07"),
    ("titles", b"\x1b]0;\xe2\x9c\xb3 title\x07\x1b]2;unfinished"),
    ("invalid UTF-8", b"\xff\xfe\xc3\x28\xe2\x82\xf0\x9f\x92 \xed\xa0\x80 \xc0\xaf \x80\xbf"),
    ("8-bit controls", b"\x9b31m\x90q\x9c\x9d0;t\x9c\x84\x85\x88\x8d\x9e\x9f"),
    ("all bytes", &ALL_BYTES),
    ("broken off", b"\x1b[38;2;1"),
];

const ALL_BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

#[test]
fn special_sequences_reach_the_terminal() {
    let home = home();
    let joined: Vec<u8> = SPECIAL.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let file = home.scratch().join("special");
    fs::write(&file, &joined).unwrap();
    assert_same_bytes(&shown(&home, &file), &joined, "special sequences");
}

#[test]
fn special_sequences_reach_the_tool() {
    let home = home();
    let joined: Vec<u8> = SPECIAL.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let file = home.scratch().join("typed");
    let script = format!("stty raw -echo; echo ready; head -c {} > {}", joined.len(), file.display());
    let mut terminal = home.run_in_terminal(&["run", "--", "sh", "-c", &script]);
    terminal.wait_for("ready");
    // Key by key, as from fingers, and not in one piece.
    for piece in joined.chunks(7) {
        terminal.type_keys(piece);
    }
    assert_eq!(terminal.end().0, 0);
    assert_same_bytes(&fs::read(&file).unwrap(), &joined, "typed sequences");
}

/// The outer terminal answers a query, and nobody else does: the tool reads the one answer that was typed.
#[test]
fn a_query_is_answered_once_and_by_the_terminal() {
    let home = home();
    let file = home.scratch().join("answers");
    let asks = "printf '\\033[c\\033[6n\\033[?u\\033]11;?\\007\\033]7501;?\\007'";
    let reads = format!("dd bs=1 count=17 status=none > {0}.part; mv {0}.part {0}", file.display());
    // What comes beyond the one answer would be read by the second dd.
    let rest = "stty min 0 time 3; dd bs=1 count=100 status=none | od -An -c; echo end";
    let script = format!("stty raw -echo; {asks}; {reads}; {rest}");
    let mut terminal = home.run_in_terminal(&["run", "--", "sh", "-c", &script]);
    terminal.wait_for("\u{1b}]7501;?\u{7}");
    let expected = b"\x1b[c\x1b[6n\x1b[?u\x1b]11;?\x07\x1b]7501;?\x07";
    assert_same_bytes(&terminal.bytes(), expected, "queries as the terminal gets them");
    let answers = b"\x1b[?62;22c\x1b[12;40R";
    assert_eq!(answers.len(), 17);
    terminal.type_keys(answers);
    let (code, shown) = terminal.end();
    assert_eq!(code, 0);
    assert_same_bytes(&fs::read(&file).unwrap(), answers, "answers as the tool gets them");
    assert!(shown.ends_with("end\n"), "{shown:?}");
    let beyond = shown.strip_prefix(std::str::from_utf8(expected).unwrap()).unwrap();
    assert_eq!(beyond, "end\n", "somebody else has answered too");
}

/// A terminal that hardly takes anything: the tool waits for it, nothing is piled up, and keys go through.
#[test]
fn a_slow_terminal_slows_the_tool_and_not_the_keyboard() {
    let home = home();
    let noted = home.scratch().join("noted");
    let script = format!(
        "import os, sys, threading, tty\n\
         tty.setraw(0)\n\
         def read():\n\
         \x20   while True:\n\
         \x20       key = os.read(0, 1)\n\
         \x20       open({:?}, 'ab').write(key)\n\
         \x20       if key == b'q': os._exit(7)\n\
         threading.Thread(target=read).start()\n\
         while True: os.write(1, b'0123456789abcdef' * 256)\n",
        noted.display().to_string()
    );
    let program = home.scratch().join("flood.py");
    fs::write(&program, script).unwrap();
    let args = ["run", "--", &python(), &program.display().to_string()];
    let mut terminal = Terminal::start_unread(home.binary(), &args, &home.environment(), 100, 30);
    let host = terminal.pid();
    // What the file of the program itself takes shrinks and grows with other things.
    let memory = || status(host, "RssAnon").unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    let tool = tool_of(host);
    eventually("the tool waits for the terminal", || {
        let state = fs::read_to_string(format!("/proc/{tool}/wchan")).unwrap_or_default();
        (state.contains("write") || state.contains("wait_woken")).then_some(())
    });
    let mut before = 0;
    let deadline = Instant::now() + LIMIT;
    for round in 0..50 {
        // Patterns are compiled and buffers made when they are first used.
        if round == 10 {
            before = memory();
        }
        terminal.type_keys(b"k");
        eventually("a key reaches the tool", || {
            (fs::read(&noted).unwrap_or_default().len() > round).then_some(())
        });
        // A few bytes a round: the terminal is slow, not dead.
        terminal.take(64);
        assert!(Instant::now() < deadline, "keys take {:?} each", LIMIT / round as u32);
    }
    let grown = memory().saturating_sub(before);
    // A thousand lines of scrollback at 100 columns are 2.4 MB, and no more; what waits for the terminal is bounded too.
    assert!(grown < 8192, "grown by {grown} kB, from {before} kB");
    terminal.type_keys(b"q");
    terminal.read_on();
    let (code, _) = terminal.end_bytes();
    assert_eq!(code, 7);
}
