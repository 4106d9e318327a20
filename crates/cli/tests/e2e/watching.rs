//! Watching a session and typing into it from elsewhere. The test is the hub; session host, terminal and tool are real.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, mem};

use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation};
use atlasbridge_model::Picture;
use atlasbridge_model::lifecycle::Departure;
use atlasbridge_testkit::{Home, LIMIT, Terminal, eventually};
use atlasbridge_wire::session::{FromSession, Report, ToSession, Typing};
use atlasbridge_wire::{decode, encode};
use serde_json::{Value, json};

use crate::home;

/// The terminals of these tests.
const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

const ONE: &str = "00000000-0000-4000-8000-000000000001";
const TWO: &str = "00000000-0000-4000-8000-000000000002";

/// A hub that says what the test wants, and notes every report.
struct PlayedHub {
    listener: UnixListener,
    stream: BufReader<UnixStream>,
    epoch: u64,
    asked: u64,
    /// What was sent of the picture so far.
    picture: Picture,
    pictures: usize,
    reports: Vec<Report>,
}

/// Runs a script under a session host whose hub the test plays. It begins with an empty screen: what stood on the
/// terminal before is none of the tool's, and in no picture.
fn watched(home: &Home, script: &str) -> (PlayedHub, Terminal) {
    let listener = UnixListener::bind(home.socket()).unwrap();
    let terminal = home.bash(&format!(r"printf '\e[H\e[2J'; {script}"));
    (PlayedHub::meet(listener, 7), terminal)
}

impl PlayedHub {
    fn meet(listener: UnixListener, epoch: u64) -> Self {
        listener.set_nonblocking(true).unwrap();
        let (stream, _) = eventually("a session host comes", || listener.accept().ok());
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut hub = Self {
            listener,
            stream: BufReader::new(stream),
            epoch,
            asked: 0,
            picture: Picture::default(),
            pictures: 0,
            reports: Vec::new(),
        };
        hub.greet();
        hub
    }

    fn greet(&mut self) {
        let mut hello = String::new();
        self.stream.read_line(&mut hello).unwrap();
        let welcome = json!({
            "greeting": "welcome", "protocol": 1, "version": "9.9", "pid": std::process::id(), "epoch": self.epoch,
        });
        writeln!(self.stream.get_mut(), "{welcome}").unwrap();
        assert!(matches!(self.next(), FromSession::Begin(_)));
    }

    /// Hangs up, and takes the session host that comes back.
    fn restart(self) -> Self {
        let Self { listener, epoch, stream, .. } = self;
        drop(stream);
        Self::meet(listener, epoch + 1)
    }

    fn say(&mut self, message: &ToSession) {
        self.stream.get_mut().write_all(&encode(message)).unwrap();
    }

    fn watch(&mut self, on: bool) {
        self.say(&ToSession::Watch { on });
    }

    fn type_in(&mut self, typing_id: &str, what: Typing) {
        let typing_id = typing_id.to_owned();
        self.say(&ToSession::Type { typing_id, what });
    }

    /// The next frame that is no report. Pictures are applied as they come.
    #[track_caller]
    fn next(&mut self) -> FromSession {
        loop {
            let mut line = Vec::new();
            match self.stream.read_until(b'\n', &mut line) {
                Ok(0) => panic!("the session host has hung up"),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing is said"),
                Err(error) => panic!("{error}"),
            }
            match decode(line.strip_suffix(b"\n").unwrap()).unwrap() {
                FromSession::Report { n, report } => {
                    self.reports.push(report);
                    self.say(&ToSession::Noted { n });
                }
                FromSession::Picture(change) => {
                    self.pictures += 1;
                    self.picture.apply(change.clone().into());
                    return FromSession::Picture(change);
                }
                other => return other,
            }
        }
    }

    /// Waits until the pictures that came amount to what the terminal shows.
    #[track_caller]
    fn see(&mut self, terminal: &Terminal) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let shown = picture_of(&terminal.bytes(), COLUMNS, ROWS);
            if self.picture == shown {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "seen:\n{}\nshown:\n{}",
                self.picture.to_text(),
                shown.to_text()
            );
            self.next();
        }
    }

    /// Asks how it is, and returns the pictures that came before the answer.
    #[track_caller]
    fn pictures_until_health(&mut self) -> usize {
        self.asked += 1;
        let asked = self.asked;
        let before = mem::take(&mut self.pictures);
        self.say(&ToSession::HowAreYou { asked });
        while !matches!(self.next(), FromSession::Health(health) if health.asked == asked) {}
        let came = self.pictures;
        self.pictures += before;
        came
    }

    /// What became of the typing.
    #[track_caller]
    fn outcome(&mut self, id: &str) -> String {
        loop {
            if let FromSession::TypingDone { typing_id, outcome } = self.next() {
                assert_eq!(typing_id, id);
                return json!(outcome).as_str().unwrap().to_owned();
            }
        }
    }

    /// Waits for a report.
    #[track_caller]
    fn report<T>(&mut self, find: impl Fn(&Report) -> Option<T>) -> T {
        loop {
            if let Some(found) = self.reports.iter().find_map(&find) {
                return found;
            }
            self.pictures_until_health();
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What a terminal of this size shows after these bytes.
fn picture_of(bytes: &[u8], columns: u16, rows: u16) -> Picture {
    let mut detector = Detector::new(DetectorConfig::default(), columns, rows);
    detector.observe(Observation::Output(bytes), Moment::default());
    detector.screen().picture()
}

fn text(text: &str, enter: bool) -> Typing {
    Typing::Text { text: text.to_owned(), enter }
}

fn key(name: &str) -> Typing {
    serde_json::from_value(json!({ "key": name })).unwrap()
}

/// In kilobytes.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn the_pictures_of_an_editor_amount_to_its_screen() {
    let home = home();
    let poem = home.scratch().join("poem.txt");
    let lines: String = (1..200).map(|number| format!("{number} 日本 line\n")).collect();
    fs::write(&poem, lines).unwrap();
    // The session outlives the editor: a host that ends may hang up before its last picture is asked for.
    let script = format!("vim -u NONE -i NONE -N -n {}; read -r", poem.display());
    let (mut hub, mut terminal) = watched(&home, &script);
    hub.watch(true);
    terminal.wait_for("日本");
    for keys in [":syntax on\r", "G", "o\x1b[200~new\x1b[201~\x1b", "gg5dd", ":set nu hlsearch\r", "/line\r"]
    {
        terminal.type_keys(keys);
        hub.see(&terminal);
    }
    assert!(hub.picture.is_alternate);
    terminal.type_keys(":q!\r");
    eventually("vim has gone", || {
        hub.next();
        (!hub.picture.is_alternate).then_some(())
    });
}

#[test]
fn a_screen_that_is_redrawn_all_the_time_is_seen_as_it_ends() {
    let home = home();
    let script = format!(
        r"printf '\e[?1049h\e[?25l'; for ((frame = 0; frame < 3000; frame++)); do
             printf '\e[H\e[1;44mframe %05d\e[0m\e[%dm\e[%d;%dH*\e[0m' $frame $((31 + frame % 7)) $((2 + frame % 28)) $((1 + frame % 99))
           done; printf '\e[HTHE END'; {}",
        home.wait_for_go()
    );
    let (mut hub, terminal) = watched(&home, &script);
    hub.watch(true);
    terminal.wait_for("THE END");
    hub.see(&terminal);
    assert_eq!((hub.picture.cursor, hub.picture.is_alternate), (None, true));
    home.go();
}

#[test]
fn a_resized_screen_is_shown_whole() {
    let home = home();
    let script = format!("trap 'echo resized' WINCH; echo ready; while :; do {}; done", "sleep 0.05");
    let (mut hub, terminal) = watched(&home, &script);
    hub.watch(true);
    terminal.wait_for("ready");
    hub.see(&terminal);
    terminal.resize(60, 12);
    terminal.wait_for("resized");
    eventually("the new size is seen", || {
        hub.next();
        (hub.picture.columns == 60 && hub.picture.to_text().contains("resized")).then_some(())
    });
    assert_eq!(hub.picture.rows.len(), 12);
    assert_eq!(hub.picture, picture_of(b"ready\r\nresized\r\n", 60, 12));
}

#[test]
fn nothing_is_sent_while_nobody_watches() {
    let home = home();
    let script = format!("echo one; {}; echo two; read", home.wait_for_go());
    let (mut hub, terminal) = watched(&home, &script);
    assert_eq!(hub.pictures_until_health(), 0);
    terminal.wait_for("one");
    hub.watch(true);
    hub.see(&terminal);
    hub.watch(false);
    hub.pictures_until_health();
    home.go();
    terminal.wait_for("two");
    assert_eq!(hub.pictures_until_health(), 0, "nobody watches any more");

    hub.watch(true);
    hub.see(&terminal);
    let mut hub = hub.restart();
    assert_eq!(hub.pictures_until_health(), 0, "another hub, and it has not asked");
    hub.watch(true);
    hub.see(&terminal);
}

/// How often the process was on a processor.
fn switches(pid: i32) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect()
}

#[test]
fn a_watched_screen_that_stands_still_costs_nothing() {
    let home = home();
    let (mut hub, terminal) = watched(&home, r#"read -p "Go on? (y/n) " answer"#);
    hub.watch(true);
    terminal.wait_for("Go on?");
    hub.see(&terminal);
    let sighted = |report: &Report| matches!(report, Report::Sighted { .. }).then_some(());
    hub.report(sighted);
    hub.pictures_until_health();
    let pid = terminal.pid();
    // Durations, because that nothing happens can only be seen by waiting.
    let settled = eventually("the session has settled", || {
        let before = switches(pid);
        thread::sleep(Duration::from_millis(2_500));
        (switches(pid) == before).then_some(before)
    });
    thread::sleep(Duration::from_secs(1));
    assert_eq!(switches(pid), settled);
    assert_eq!(hub.pictures_until_health(), 0);
}

/// Sixty megabytes of changing screens for a hub that reads nothing: the terminal gets them all, nothing piles up, and
/// what the hub then sees first is not old.
#[test]
fn a_hub_that_does_not_read_gets_fewer_pictures_and_no_backlog() {
    let home = home();
    let script = format!(
        r#"echo up; {}; python3 -c '
import sys
for number in range(600000):
    sys.stdout.write("\x1b[%dm%099d\n" % (31 + number % 7, number))
sys.stdout.write("\x1b[0mTHE END\n")'; read"#,
        home.wait_for_go()
    );
    let (mut hub, terminal) = watched(&home, &script);
    hub.watch(true);
    terminal.wait_for("up");
    hub.see(&terminal);
    home.go();
    let deadline = Instant::now() + LIMIT;
    while !terminal.bytes().ends_with(b"THE END\r\n") {
        assert!(Instant::now() < deadline, "the flood does not end");
        thread::sleep(Duration::from_millis(50));
    }
    let most = memory(terminal.pid());
    // Measured: 7 MB. Pages of the binary itself are not counted: a build without optimisation has many.
    assert!(most < 20_000, "{most} kB");
    let waiting = hub.pictures_until_health();
    assert!(waiting <= 20, "{waiting} pictures had piled up");
    let tail = terminal.bytes();
    let last = picture_of(&tail[tail.len() - 100_000..], COLUMNS, ROWS);
    while hub.picture != last {
        hub.next();
    }
}

#[test]
fn text_and_lines_are_told_masked() {
    let home = home();
    let script = r#"for n in $(seq 1 1200); do echo "line $n"; done; echo API_KEY=abcdef123; seq 1 40; echo PASSWORD=hunter22; read -p "ready "#;
    let (mut hub, terminal) = watched(&home, &format!("{script}\" x"));
    terminal.wait_for("ready");
    hub.say(&ToSession::Screen { asked: 5 });
    let FromSession::ScreenText { asked: 5, text } = hub.next() else { panic!("no text") };
    assert!(text.ends_with("40\nPASSWORD=••••••••\nready"), "{text}");
    hub.say(&ToSession::Lines { asked: 6, most: u32::MAX });
    let FromSession::Lines { asked: 6, lines } = hub.next() else { panic!("no lines") };
    assert_eq!(lines.len(), 1000);
    assert!(lines.contains(&"API_KEY=••••".to_owned()), "{lines:?}");
    hub.say(&ToSession::Lines { asked: 7, most: 2 });
    let FromSession::Lines { asked: 7, lines } = hub.next() else { panic!("no lines") };
    assert_eq!(lines, ["11", "12"]);
}

#[test]
fn a_line_from_afar_is_typed_once_and_answers_at_the_terminal() {
    let home = home();
    let events = home.scratch().join("events");
    let script = r#"read -p "Name? " name; echo "got=[$name]"; read -p "More? " more; echo "more=[$more]""#;
    let listener = UnixListener::bind(home.socket()).unwrap();
    let events_path = events.display().to_string();
    let terminal =
        home.run_in_terminal(&["run", "--events", &events_path, "--", "bash", "--norc", "-c", script]);
    let mut hub = PlayedHub::meet(listener, 7);
    let presence = hub.report(|report| match report {
        Report::Sighted { typed_ms_ago, .. } => Some(*typed_ms_ago),
        _ => None,
    });
    assert_eq!(presence, None, "nobody has typed here");

    hub.type_in(ONE, text("Ada", true));
    hub.type_in(ONE, text("Ada", true));
    assert_eq!(hub.outcome(ONE), "typed");
    terminal.wait_for("got=[Ada]");
    terminal.wait_for("More?");
    hub.report(|report| match report {
        Report::Left { sighting: 1, how: Departure::AnsweredLocally } => Some(()),
        _ => None,
    });
    hub.type_in(ONE, text("Ada", true));
    assert_eq!(hub.outcome(ONE), "typed", "as is remembered");
    hub.type_in(TWO, key("ctrl_d"));
    assert_eq!(hub.outcome(TWO), "typed");
    terminal.wait_for("more=[]");
    assert_eq!(terminal.count("Ada"), 2, "echoed once, told once: {}", terminal.text());

    let told: Vec<Value> = fs::read_to_string(&events)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event: &Value| event["event"] == "typed")
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!((&told[0]["typing_id"], &told[0]["outcome"]), (&json!(ONE), &json!("typed")));
}

/// A program that reads key by key sees the text first and Enter later, and arrows as it asked for them.
#[test]
fn keys_come_as_the_program_wants_them() {
    let home = home();
    let script = r#"stty raw -echo; printf '\e[?1h\e[?2004hready'
        for n in 1 2 3; do IFS= LC_ALL=C dd bs=100 count=1 2>/dev/null | od -An -c | tr -d ' \n'; printf ';'; done; stty sane"#;
    let (mut hub, terminal) = watched(&home, script);
    terminal.wait_for("ready");
    hub.type_in(ONE, key("up"));
    assert_eq!(hub.outcome(ONE), "typed");
    terminal.wait_for(r"033OA;");
    hub.type_in(TWO, text("hi", true));
    assert_eq!(hub.outcome(TWO), "typed");
    terminal.wait_for(r"033[200~hi033[201~;\r;");
}

#[test]
fn what_is_no_line_is_refused() {
    let home = home();
    let (mut hub, mut terminal) = watched(&home, r#"read -p "Name? " name; echo "got=[$name]""#);
    terminal.wait_for("Name?");
    let long = "a".repeat(1001);
    for (number, bad) in ["a\rb", "\x1b[A", "\x03", "\u{9b}A", &long, ""].into_iter().enumerate() {
        let id = format!("00000000-0000-4000-8000-1000000000{number:02}");
        hub.type_in(&id, text(bad, false));
        assert_eq!(hub.outcome(&id), "refused", "{bad:?}");
    }
    hub.say(&ToSession::Unknown);
    hub.stream.get_mut().write_all(b"{\"type\":\"explode\",\"how\":[1]}\n").unwrap();
    hub.type_in("no id", key("enter"));
    hub.pictures_until_health();

    terminal.type_keys("A");
    terminal.wait_for("Name? A");
    hub.type_in(ONE, key("enter"));
    assert_eq!(hub.outcome(ONE), "typing_locally");
    terminal.type_keys("da\r");
    terminal.wait_for("got=[Ada]");
}

/// A hub that another one has replaced types nothing.
#[test]
fn a_replaced_hub_types_nothing() {
    let home = home();
    let (mut hub, terminal) = watched(&home, r#"read -p "Name? " name; echo "got=[$name]""#);
    terminal.wait_for("Name?");
    hub.epoch = 3;
    let mut hub = hub.restart();
    hub.type_in(ONE, text("Eve", true));
    hub.pictures_until_health();
    let mut hub = PlayedHub { epoch: 8, ..hub }.restart();
    hub.type_in(TWO, text("Ada", true));
    assert_eq!(hub.outcome(TWO), "typed");
    terminal.wait_for("got=[Ada]");
}

/// The intent is on disk before the first byte is typed.
#[test]
fn a_host_killed_in_the_middle_of_typing_leaves_its_intent() {
    let home = home();
    let (mut hub, terminal) = watched(&home, r#"read -p "Name? " name"#);
    terminal.wait_for("Name?");
    let pause = home.pause_at("gate-after-typing");
    hub.type_in(ONE, text("Ada", true));
    pause.reached();
    let journal = fs::read_dir(home.path().join("journal")).unwrap().next().unwrap().unwrap();
    let left = fs::read_to_string(journal.path()).unwrap();
    assert_eq!(left.trim_end(), format!(r#"{{"entry":"typing_intent","typing_id":"{ONE}"}}"#));
    pause.kill();
}

/// Somebody who sits at the terminal is known to the hub; a terminal's own words are nobody.
#[test]
fn presence_is_told_with_a_prompt() {
    let home = home();
    let script = r#"read -s first; read -p "Go on? (y/n) " answer"#;
    let (mut hub, mut terminal) = watched(&home, script);
    terminal.type_keys("\x1b[?62;c\x1b[5;5R");
    hub.report(|report| matches!(report, Report::ToolStarted { .. }).then_some(()));
    hub.say(&ToSession::HowAreYou { asked: 99 });
    let FromSession::Health(health) = hub.next() else { panic!("no health") };
    assert_eq!(health.typed_ms_ago, None);
    terminal.type_keys("x\r");
    let presence = hub.report(|report| match report {
        Report::Sighted { sighting, typed_ms_ago } if sighting.kind == "yes_no" => Some(*typed_ms_ago),
        _ => None,
    });
    assert!(presence.is_some());
}
