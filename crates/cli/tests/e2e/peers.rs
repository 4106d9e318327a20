//! Who else connects to the hub's socket: other versions, broken programs, crowds. Nobody else suffers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use atlasbridge_testkit::{DeafHub, Home, Peer, eventually};
use serde_json::{Value, json};

use crate::home;

/// Connections that say nothing.
const IDLE: usize = 500;
/// One byte over the longest frame of `atlasbridge_wire::MAX_FRAME`.
const TOO_LONG: usize = (1 << 20) + 1;

fn hello(role: &str, oldest: u32, newest: u32) -> Value {
    json!({ "atlasbridge": role, "oldest": oldest, "newest": newest, "version": "9.9" })
}

#[track_caller]
fn hub() -> Home {
    let home = home();
    assert_eq!(home.run(["hub", "start"]).code, 0);
    home
}

#[track_caller]
fn refusal(home: &Home, hello: &Value) -> String {
    let mut peer = Peer::connect(&home.socket());
    peer.say(hello);
    let greeting = peer.hear().unwrap();
    assert_eq!(greeting["greeting"], "refused", "{greeting}");
    assert_eq!(peer.hear(), None, "and hangs up");
    greeting["reason"].as_str().unwrap().to_owned()
}

#[test]
fn other_versions_are_told_what_to_do() {
    let home = hub();
    for role in ["command", "session"] {
        assert!(refusal(&home, &hello(role, 0, 0)).contains("too old for the running hub"));
        assert!(refusal(&home, &hello(role, 7, 9)).contains("hub restart"));
    }
    let mut newer = Peer::connect(&home.socket());
    newer.say(&hello("command", 1, 9));
    assert_eq!(newer.hear().unwrap()["protocol"], 1, "a newer peer that still speaks ours is welcome");
    assert!(refusal(&home, &json!("what?")).contains("not the AtlasBridge protocol"));
}

/// A hub of another protocol, which this test plays: the tool works, and its person is told at the end.
#[test]
fn a_session_works_beside_a_hub_of_another_protocol() {
    let home = home();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let reason = "this program (version 0.1) is too old for the running hub (version 9.9): update it";
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let _ = stream.read_line(&mut String::new());
            let refused = json!({ "greeting": "refused", "reason": reason, "oldest": 7, "newest": 9, "version": "9.9" });
            let _ = writeln!(stream.get_mut(), "{refused}");
        }
    });
    let mut terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    terminal.wait_for("Go on?");
    terminal.type_keys("y\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0);
    assert!(shown.contains("got=[y]") && shown.contains("too old for the running hub"), "{shown:?}");
    let command = home.run(["approvals"]);
    assert_eq!(
        (command.code, command.stderr.contains("too old for the running hub")),
        (1, true),
        "{command:?}"
    );
}

#[test]
fn garbage_ends_its_own_connection_only() {
    let home = hub();
    let mut watching = Peer::connect(&home.socket());
    watching.say(&hello("command", 1, 1));
    watching.hear().unwrap();

    let mut garbage = Peer::connect(&home.socket());
    garbage.send(b"\x00\xff\x1b[2Jnot json\n");
    assert_eq!(garbage.hear().unwrap()["greeting"], "refused");
    assert_eq!(garbage.hear(), None);

    let mut endless = Peer::connect(&home.socket());
    endless.send(&vec![b'x'; TOO_LONG]);
    assert_eq!(endless.hear().map(|greeting| greeting["greeting"].clone()), Some("refused".into()));

    for role in ["command", "session"] {
        let mut nonsense = Peer::connect(&home.socket());
        nonsense.say(&hello(role, 1, 1));
        nonsense.hear().unwrap();
        nonsense.say(&json!({ "request": 1, "type": 1 }));
        assert_eq!(nonsense.hear(), None, "{role}");

        let mut half = Peer::connect(&home.socket());
        half.say(&hello(role, 1, 1));
        half.hear().unwrap();
        half.send(b"{\"request\": \"appro");
        drop(half);
    }

    watching.say(&json!({ "request": "approvals" }));
    assert_eq!(watching.hear().unwrap()["response"], "approvals", "the others go on");
}

#[test]
fn what_a_newer_command_asks_is_refused_in_a_sentence() {
    let home = hub();
    let mut newer = Peer::connect(&home.socket());
    newer.say(&hello("command", 1, 9));
    newer.hear().unwrap();
    newer.say(&json!({ "request": "make_coffee", "strong": true }));
    let answer = newer.hear().unwrap();
    assert_eq!(answer["response"], "refused");
    assert!(answer["reason"].as_str().unwrap().contains("hub restart"), "{answer}");
    newer.say(&json!({ "request": "approvals" }));
    assert_eq!(newer.hear().unwrap()["response"], "approvals", "and is heard on");
}

/// A peer that asks on and never reads is cut off; it does not fill the hub's memory.
#[test]
fn a_watcher_that_floods_is_cut_off() {
    let home = hub();
    let mut flood = Peer::connect(&home.socket());
    flood.say(&hello("command", 1, 1));
    flood.hear().unwrap();
    flood.say(&json!({ "request": "watch" }));
    flood.hear().unwrap();
    flood.send(&vec![b'x'; 2 * TOO_LONG]);
    assert_eq!(flood.hear(), None);
    assert_eq!(home.run(["approvals", "--json"]).code, 0);
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let home = hub();
    let idle: Vec<_> = (0..IDLE).map(|_| Peer::connect(&home.socket())).collect();
    let terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    assert_eq!(home.run(["approve", &id]).code, 0);
    assert!(terminal.end().1.contains("got=[y]"));
    drop(idle);
}

/// More than the hub has seats: those who say nothing lose theirs after a moment.
#[test]
fn a_crowd_over_the_limit_makes_room() {
    let home = hub();
    let _idle: Vec<_> = (0..600).map(|_| Peer::connect(&home.socket())).collect();
    let listed = home.run(["approvals", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
}

/// A hub that neither answers nor has room for another connection: the terminal does not wait for it.
#[test]
fn a_deaf_hub_does_not_stop_the_terminal() {
    let home = home();
    let _deaf = DeafHub::at(&home.socket());
    let mut terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    terminal.wait_for("Go on?");
    terminal.type_keys("y\r");
    terminal.wait_for("got=[y]");
}

/// An id alone takes no session over.
#[test]
fn a_stranger_cannot_speak_for_a_session() {
    let home = home();
    let mut terminal = home.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let prompt = home.one_prompt();
    let mut stranger = Peer::connect(&home.socket());
    stranger.say(&hello("session", 1, 1));
    stranger.hear().unwrap();
    stranger.say(&json!({
        "type": "begin", "session_id": prompt["session_id"], "tool": "evil", "command": [], "cwd": "/", "host_pid": 1,
        "leader_pid": 1, "started_at": 0,
    }));
    stranger.say(&json!({ "type": "report", "n": 1, "report": { "left": { "sighting": 1, "how": "answered_locally" } } }));
    stranger.say(&json!({ "type": "report", "n": 2, "report": { "ended": { "exited": { "code": 0 } } } }));
    stranger.send(b"garbage\n");
    assert_eq!(stranger.hear(), None);
    assert_eq!(home.prompt_id(), prompt["prompt_id"].as_str().unwrap(), "it still waits");
    let session = eventually("the session is asked", || home.sessions().into_iter().next());
    assert_eq!((&session["status"], &session["tool"]), (&"active".into(), &"bash".into()));
    terminal.type_keys("n\r");
    terminal.wait_for("got=[n]");
}
