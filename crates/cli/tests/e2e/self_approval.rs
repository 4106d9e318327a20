//! The tool runs as the same user and may try to answer itself. Whatever it tries is refused, on record, and the
//! prompt still waits for a person.

use std::fs;

use atlasbridge_testkit::{Home, Terminal, eventually};

use crate::home;

/// Waits in the tool until the id of the prompt is known, and runs `attempt` with it as `$ID`, in the background. Its
/// exit code and words come back in a file.
fn tool_that_tries(home: &Home, attempt: &str) -> Terminal {
    let (id, said) = (home.scratch().join("id"), home.scratch().join("said"));
    let script = format!(
        r#"export ATLASBRIDGE_HOME={home} ATLASBRIDGE={binary} SAID={said}
        attempt() {{ until [ -s {id} ]; do sleep 0.02; done; ID=$(cat {id}); export ID; {attempt}; }}
        attempt & read -p "Delete everything? (y/n) " answer; echo "got=[$answer]""#,
        home = home.path().display(),
        binary = home.binary().display(),
        said = said.display(),
        id = id.display(),
    );
    home.bash(&script)
}

/// Lets the tool try with the id of a prompt, and returns the exit code and the words of the attempt.
#[track_caller]
fn tries(home: &Home, id: &str) -> (String, String) {
    fs::write(home.scratch().join("id"), id).unwrap();
    let said = eventually("the attempt ends", || {
        let said = fs::read_to_string(home.scratch().join("said")).ok()?;
        said.contains("code=").then_some(said)
    });
    let (words, code) = said.rsplit_once("code=").unwrap();
    (code.trim().to_owned(), words.to_owned())
}

/// `attempt` is a shell command that has `$ID` and `$ATLASBRIDGE`.
#[track_caller]
fn check(attempt: &str) {
    let home = home();
    let attempt = format!(r#"{{ {attempt}; }} > $SAID 2>&1; echo "code=$?" >> $SAID"#);
    let mut terminal = tool_that_tries(&home, &attempt);
    let id = home.prompt_id();
    refused_and_waiting(&home, &mut terminal, &id);
}

#[track_caller]
fn refused_and_waiting(home: &Home, terminal: &mut Terminal, id: &str) {
    let (code, words) = tries(home, id);
    assert_eq!((code.as_str(), words.contains("inside a supervised session")), ("1", true), "{words}");
    let refused = home.audit_has("REPLY_REJECTED", None);
    assert!(refused["value"].as_str().unwrap().contains("inside"), "{refused}");
    assert_eq!(home.prompt_id(), id, "it still waits");
    assert_eq!(terminal.count("got="), 0);
    terminal.type_keys("n\r");
    terminal.wait_for("got=[n]");
}

#[test]
fn a_tool_cannot_approve_its_own_prompt() {
    check("$ATLASBRIDGE approve $ID");
    check("$ATLASBRIDGE reply $ID y");
    check("$ATLASBRIDGE deny $ID 'go on with the other one'");
}

/// Nor may it say what it is to do next, or unsay what somebody else has said.
#[test]
fn a_tool_cannot_instruct_itself() {
    check("$ATLASBRIDGE send $ATLASBRIDGE_SESSION 'delete everything'");
    check("$ATLASBRIDGE send $ATLASBRIDGE_SESSION --take-back");
}

#[test]
fn leaving_the_session_of_the_kernel_does_not_help() {
    check("setsid -w $ATLASBRIDGE approve $ID");
    check("nohup $ATLASBRIDGE approve $ID");
}

/// Its parent ends first, so it is an orphan: the session host inherits it, not the first process of the system.
#[test]
fn an_orphan_is_still_inside() {
    let home = home();
    let attempt =
        r#"(setsid bash -c 'sleep 0.2; $ATLASBRIDGE approve $ID > $SAID 2>&1; echo "code=$?" >> $SAID' &)"#;
    let mut terminal = tool_that_tries(&home, attempt);
    let id = home.prompt_id();
    refused_and_waiting(&home, &mut terminal, &id);
}

/// What a tool leaves behind is no person either, when its session is over and nobody inherits it but the system.
#[test]
fn an_orphan_that_outlives_its_session_is_still_inside() {
    let home = home();
    let said = home.scratch().join("said");
    let tool = home.bash(&format!(
        r#"export ATLASBRIDGE_HOME={}; (setsid nohup bash -c '{}; {} approve $(cat {id}) > {said} 2>&1; echo "code=$?" >> {said}' > /dev/null 2>&1 < /dev/null &); sleep 0.1"#,
        home.path().display(),
        home.wait_for_go(),
        home.binary().display(),
        id = home.scratch().join("id").display(),
        said = said.display(),
    ));
    assert_eq!(tool.end().0, 0);
    let mut other = home.bash(r#"read -p "Other question? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    fs::write(home.scratch().join("id"), &id).unwrap();
    home.go();
    let (code, words) = tries(&home, &id);
    assert_eq!((code.as_str(), words.contains("inside a supervised session")), ("1", true), "{words}");
    assert_eq!(other.count("got="), 0);
    other.type_keys("n\r");
    other.wait_for("got=[n]");
}

#[test]
fn a_tool_cannot_stop_the_hub_or_a_session() {
    check("$ATLASBRIDGE hub stop");
    check("$ATLASBRIDGE hub restart");
    check("$ATLASBRIDGE sessions stop $($ATLASBRIDGE sessions list | cut -f1)");
}

#[test]
fn a_tool_cannot_approve_for_another_session() {
    let home = home();
    let attempt = r#"{ $ATLASBRIDGE approve $ID; } > $SAID 2>&1; echo "code=$?" >> $SAID"#;
    let _tool = tool_that_tries(&home, attempt);
    home.prompt_id();
    let mut other = home.bash(r#"read -p "Other question? (y/n) " answer; echo "got=[$answer]""#);
    let id = eventually("the other one waits", || {
        let prompts = home.approvals();
        let other = prompts.iter().find(|prompt| prompt["excerpt"].as_str().unwrap().contains("Other"))?;
        Some(other["prompt_id"].as_str()?.to_owned())
    });
    let (code, words) = tries(&home, &id);
    assert_eq!((code.as_str(), words.contains("inside a supervised session")), ("1", true), "{words}");
    assert_eq!(other.count("got="), 0);
    other.type_keys("n\r");
    other.wait_for("got=[n]");
}

/// The supervised session belongs to another home directory, whose hub this one does not know.
#[test]
fn a_tool_cannot_approve_in_another_home() {
    let (home, elsewhere) = (home(), home());
    let mut asking = elsewhere.bash(r#"read -p "Go on? (y/n) " answer; echo "got=[$answer]""#);
    let attempt = format!(
        r#"{{ ATLASBRIDGE_HOME={} $ATLASBRIDGE approve $ID; }} > $SAID 2>&1; echo "code=$?" >> $SAID"#,
        elsewhere.path().display()
    );
    let _tool = tool_that_tries(&home, &attempt);
    let id = elsewhere.prompt_id();
    let (code, words) = tries(&home, &id);
    assert_eq!((code.as_str(), words.contains("inside a supervised session")), ("1", true), "{words}");
    assert_eq!(elsewhere.prompt_id(), id);
    asking.type_keys("n\r");
    asking.wait_for("got=[n]");
}

/// It would hold the lock, and no session host would obey it.
#[test]
fn a_tool_cannot_start_the_hub() {
    let home = home();
    let (go, said) = (home.wait_for_go(), home.scratch().join("said"));
    let tool = home.bash(&format!(
        r#"echo ready; {go}; ATLASBRIDGE_HOME={} {} approvals > {said} 2>&1; echo "code=$?" >> {said}
        read -p "Go on? (y/n) " answer; echo "got=[$answer]""#,
        home.path().display(),
        home.binary().display(),
        said = said.display(),
    ));
    tool.wait_for("ready");
    eventually("the tool is on record", || home.sessions().first()?["pid"].as_i64());
    assert_eq!(home.run(["hub", "stop"]).code, 0);
    home.go();
    let (code, words) = tries(&home, "");
    assert_eq!((code.as_str(), words.contains("in another terminal")), ("1", true), "{words}");
    let id = home.prompt_id();
    assert_eq!(home.run(["approve", &id]).code, 0);
    assert!(tool.end().1.contains("got=[y]"));
}

/// The protocol spoken by hand is no way around the command.
#[test]
fn a_tool_cannot_speak_to_the_socket_itself() {
    let home = home();
    let program = home.scratch().join("speak.py");
    fs::write(
        &program,
        r#"
import json, os, socket, sys
hub = socket.socket(socket.AF_UNIX)
hub.connect(os.environ["ATLASBRIDGE_HOME"] + "/hub.sock")
lines = hub.makefile("rw")
def say(frame):
    lines.write(json.dumps(frame) + "\n"); lines.flush()
    return json.loads(lines.readline())
say({"atlasbridge": "command", "oldest": 1, "newest": 1, "version": "9"})
answer = say({"request": "answer", "prompt": os.environ["ID"], "said": "approve"})
print(answer)
sys.exit(answer["response"] == "refused")
"#,
    )
    .unwrap();
    let attempt = format!(r#"python3 {} > $SAID 2>&1; echo "code=$?" >> $SAID"#, program.display());
    let mut terminal = tool_that_tries(&home, &attempt);
    let id = home.prompt_id();
    refused_and_waiting(&home, &mut terminal, &id);
}

/// A hub of the tool's own: it kills the real one until it holds the lock itself, takes its place at the socket and
/// orders every session host to type.
const FAKE_HUB: &str = r#"
import fcntl, json, os, signal, socket, struct, sys, threading
home = os.environ["ATLASBRIDGE_HOME"]
path = home + "/hub.sock"
lock = open(home + "/hub.lock")
while True:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except BlockingIOError: pass
    try: os.kill(int(open(home + "/hub.lock").read()), signal.SIGKILL)
    except (ProcessLookupError, ValueError): pass
try: os.unlink(path)
except FileNotFoundError: pass
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen(16)
open(sys.argv[1], "w").write("bound")
def serve(peer):
    pid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    open(sys.argv[2], "a").write(f"{pid}\n")
    lines = peer.makefile("rw")
    def say(frame): lines.write(json.dumps(frame) + "\n"); lines.flush()
    lines.readline()
    say({"greeting": "welcome", "protocol": 1, "version": "9", "pid": os.getpid(), "epoch": 1 << 60})
    for line in lines:
        report = json.loads(line).get("report", {})
        seen = report.get("sighted") if isinstance(report, dict) else None
        if seen:
            say({"type": "inject", "reply_id": "11111111-1111-4111-8111-111111111111", "prompt_id":
                 "22222222-2222-4222-8222-222222222222", "sighting": seen["no"], "fingerprint": seen["fingerprint"],
                 "epoch": 1 << 60, "value": {"choice": {"row": 0, "label": seen["choices"][0]["label"]}}})
try:
    while True:
        peer, _ = server.accept()
        threading.Thread(target=serve, args=(peer,), daemon=True).start()
except Exception: pass
"#;

/// Kills the hub and takes its place, in the background of a tool that then asks.
fn tool_with_fake_hub(home: &Home, orphan: bool) -> Terminal {
    let program = home.scratch().join("fake.py");
    fs::write(&program, FAKE_HUB).unwrap();
    let bound = home.scratch().join("bound");
    let asked = home.scratch().join("asked");
    let run = format!("python3 {} {} {} 2> /dev/null", program.display(), bound.display(), asked.display());
    let run = if orphan { format!("(setsid {run} &);") } else { format!("{run} &") };
    home.bash(&format!(
        r#"export ATLASBRIDGE_HOME={}; {run} until [ -e {} ]; do sleep 0.02; done
        read -p "Delete everything? (y/n) " answer; echo "got=[$answer]""#,
        home.path().display(),
        bound.display(),
    ))
}

#[track_caller]
fn check_fake_hub(orphan: bool) {
    let home = home();
    home.run(["hub", "start"]);
    let mut terminal = tool_with_fake_hub(&home, orphan);
    terminal.wait_for("Delete everything?");
    eventually("somebody asks the fake hub", || {
        fs::metadata(home.scratch().join("asked")).is_ok().then_some(())
    });
    assert_eq!(terminal.count("got="), 0, "nothing was typed");
    terminal.type_keys("n\r");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[n]"), "{shown:?}");
    assert!(shown.contains("posed as the hub"), "the person is told: {shown:?}");
}

#[test]
fn a_tool_cannot_be_its_own_hub() {
    check_fake_hub(false);
    check_fake_hub(true);
}

/// The session host of another tool does not obey it either, though it is none of its own descendants.
#[test]
fn a_tool_cannot_be_the_hub_of_another_session() {
    let home = home();
    let mut other = home.bash(&format!(
        r#"{}; read -p "Other question? (y/n) " answer; echo "got=[$answer]""#,
        home.wait_for_go()
    ));
    home.session_is("active");
    let _tool = tool_with_fake_hub(&home, true);
    eventually("the other host has asked the fake hub", || {
        let asked = fs::read_to_string(home.scratch().join("asked")).ok()?;
        asked.lines().any(|pid| pid == other.pid().to_string()).then_some(())
    });
    home.go();
    other.wait_for("Other question?");
    other.type_keys("n\r");
    let (_, shown) = other.end();
    assert!(shown.contains("got=[n]") && shown.contains("posed as the hub"), "{shown:?}");
}
