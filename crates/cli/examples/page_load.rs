//! The page under load: many sessions that print, browsers that watch, one of them asleep, and a tool that asks.
//!
//!     cargo build --release -p atlasbridge
//!     cargo run --release -p atlasbridge --example page_load -- [SESSIONS] [MB_PER_SECOND] [QUESTIONS]
//!
//! Fifty sessions, 20 MB/s together and a hundred questions unless said otherwise. The browsers speak the page's own
//! protocol over sockets; what an answer took is told by the tool that read it, on the same clock.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on should say where and stop"
)]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use atlasbridge_testkit::page::Visitor;
use atlasbridge_testkit::{Home, Terminal, eventually};
use serde_json::{Value, json};

/// Browsers that look at a session each.
const BROWSERS: usize = 3;
/// Questions of one tool: a session takes at most ten answers a minute.
const EACH: usize = 10;

/// Writes a tenth of a second's share ten times a second: coloured lines, as a build prints them.
const FLOOD: &str = r#"
import os, sys, time
share = int(float(sys.argv[1]) * 100000)
line = b"\x1b[32m   Compiling\x1b[0m some-crate v1.2.3 (/home/dev/projects/api/crates/some) %d\r\n"
block = b"".join(line % n for n in range(share // len(line) + 1))[:share]
due = time.monotonic()
while True:
    view = memoryview(block)
    while view:
        view = view[os.write(1, view):]
    due = max(due + 0.1, time.monotonic() - 1)
    time.sleep(max(0, due - time.monotonic()))
"#;

const ASK: &str = r#"for n in $(seq 1 "$1"); do read -rp "Continue with step $n? (y/n) " answer; echo "$n $answer $EPOCHREALTIME" >> "$2"; done"#;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<f64>().unwrap());
    let sessions = numbers.next().unwrap_or(50.0) as usize;
    let rate = numbers.next().unwrap_or(20.0);
    let questions = numbers.next().unwrap_or(100.0) as usize;

    let binary = std::env::current_exe().unwrap().parent().unwrap().join("../atlasbridge");
    let home = Home::new(binary);
    home.write_config("[web]\nlisten = \"127.0.0.1:0\"\n");
    assert_eq!(home.run(["hub", "start"]).code, 0);
    let hub = home.hub_pid().unwrap();
    let visitors: Vec<Visitor> = (0..=BROWSERS).map(|_| enter(&home)).collect();
    println!("hub, nobody there                 {:>8} KiB", memory(hub));

    let flood = home.scratch().join("flood.py");
    fs::write(&flood, FLOOD).unwrap();
    let (flood, share) = (flood.display().to_string(), (rate / sessions as f64).to_string());
    let words = ["run", "--quiet", "--", "python3", &flood, &share];
    let floods: Vec<Terminal> = (0..sessions).map(|_| home.run_in_terminal(&words)).collect();
    let ids = eventually("all sessions run", || {
        let running = running(&visitors[0]);
        (running.len() == sessions).then_some(running)
    });
    println!("hub, {sessions} sessions, no browser      {:>8} KiB", memory(hub));

    let is_over = Arc::new(AtomicBool::new(false));
    let counts: Vec<Arc<AtomicU64>> = (0..BROWSERS).map(|_| Arc::default()).collect();
    let mut watching = Vec::new();
    for (number, count) in counts.iter().enumerate() {
        let (visitor, session) = (visitors[number].clone(), ids[number].clone());
        let (count, is_over) = (Arc::clone(count), Arc::clone(&is_over));
        let events = visitor.clone();
        thread::spawn(move || {
            let mut events = events.events();
            while events.next("prompts").is_some() {}
        });
        watching.push(thread::spawn(move || {
            let mut live = visitor.live(&session);
            while !is_over.load(Ordering::Relaxed) && live.hear().is_some() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    // Asleep from the start: it takes nothing, ever.
    let asleep = visitors[BROWSERS].live(&ids[BROWSERS]);

    let askers: Vec<Terminal> = (0..questions.div_ceil(EACH))
        .map(|number| {
            let (label, record) = (format!("asks {number}"), record(&home, &format!("asks {number}")));
            let each = EACH.to_string();
            let ask = ["--", "bash", "-c", ASK, "bash", &each, &record];
            home.run_in_terminal(&[&["run", "--quiet", "--label", &label][..], &ask].concat())
        })
        .collect();
    let questions = askers.len() * EACH;
    let (began, bytes_before) = (Instant::now(), shown(&floods));
    let frames_before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let mut sent: Vec<(String, f64)> = Vec::new();
    let (mut answered, mut most) = (Vec::new(), 0);
    let mut events = visitors[0].events();
    while sent.len() < questions {
        let prompts = events.next("prompts").unwrap();
        let label = |card: &Value| card["session"]["label"].as_str().unwrap_or_default().to_owned();
        for card in prompts["prompts"].as_array().unwrap() {
            if !label(card).starts_with("asks") || card["is_open"] != true || answered.contains(&card["id"]) {
                continue;
            }
            answered.push(card["id"].clone());
            sent.push((label(card), now()));
            let answer = visitors[0].answers(card, json!({ "choice": 0 }));
            assert_eq!(answer.status, 200, "{answer:?}");
            most = most.max(memory(hub));
        }
    }
    let lasted = began.elapsed();
    let bytes = shown(&floods) - bytes_before;
    is_over.store(true, Ordering::Relaxed);
    let mut delays: Vec<f64> = Vec::new();
    for number in 0..askers.len() {
        let label = format!("asks {number}");
        let read = eventually("the tool has read every answer", || {
            let read = fs::read_to_string(record(&home, &label)).unwrap_or_default();
            (read.lines().count() == EACH).then_some(read)
        });
        assert!(read.lines().all(|line| line.contains(" y ")), "{read}");
        let sent = sent.iter().filter(|(known, _)| *known == label);
        let took = |(line, (_, sent)): (&str, &(String, f64))| {
            (line.split(' ').nth(2).unwrap().parse::<f64>().unwrap() - sent) * 1000.0
        };
        delays.extend(read.lines().zip(sent).map(took));
    }
    delays.sort_by(f64::total_cmp);
    println!("hub, {BROWSERS} browsers and one asleep     {most:>8} KiB at most");
    println!(
        "printed                           {:>8.1} MB/s together, {:.1} s",
        bytes as f64 / 1e6 / lasted.as_secs_f64(),
        lasted.as_secs_f64()
    );
    for (count, before) in counts.iter().zip(frames_before) {
        let frames = count.load(Ordering::Relaxed) - before;
        println!("frames of a watched session       {:>8.1} a second", frames as f64 / lasted.as_secs_f64());
    }
    let at = |part: f64| delays[((delays.len() - 1) as f64 * part) as usize];
    println!(
        "answer sent → read by the tool    {:>8.1} ms median, {:.1} ms p95, {:.1} ms at most, {questions} answers",
        at(0.5),
        at(0.95),
        at(1.0)
    );
    drop((asleep, askers, floods));
}

fn enter(home: &Home) -> Visitor {
    let link = home.run(["open", "--json"]).json();
    Visitor::enter(link["url"].as_str().unwrap()).unwrap()
}

fn running(visitor: &Visitor) -> Vec<String> {
    let sessions = visitor.get("/api/sessions").json();
    let connected = sessions["sessions"].as_array().unwrap().iter();
    let id = |session: &Value| session["id"].as_str().unwrap().to_owned();
    connected.filter(|session| session["is_connected"] == true).map(id).collect()
}

fn record(home: &Home, label: &str) -> String {
    home.scratch().join(label).display().to_string()
}

fn shown(terminals: &[Terminal]) -> usize {
    terminals.iter().map(Terminal::count_bytes).sum()
}

fn now() -> f64 {
    let now: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs_f64()
}

/// Resident, in KiB.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
