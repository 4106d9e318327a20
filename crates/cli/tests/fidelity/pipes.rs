//! Input and output that are no terminal.

use std::fs;
use std::io::{PipeReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use atlasbridge_testkit::{Home, eventually};

use crate::scene::{children, home, is_gone, leader_of, python, quoted, status};

/// A shell script in which `$W` is `atlasbridge run --`, without a terminal anywhere; what it printed, and its code.
#[track_caller]
fn sh(home: &Home, script: &str) -> (String, String, i32) {
    let output = shell(home, script).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

fn shell(home: &Home, script: &str) -> Command {
    let mut command = Command::new("timeout");
    // No controlling terminal, whatever the tests were started on; and an end, should it hang.
    command.args(["40", "setsid", "-w", "bash", "-c", script]);
    command.env_clear().envs(home.environment()).env("W", format!("{} run --", home.binary().display()));
    command.current_dir(home.scratch()).stdin(Stdio::null());
    command
}

#[track_caller]
fn check(home: &Home, script: &str, stdout: &str) {
    assert_eq!(sh(home, script), (stdout.to_owned(), String::new(), 0), "{script}");
}

#[test]
fn output_to_a_pipe_a_file_or_nowhere() {
    let home = home();
    check(&home, "$W printf 'a\\nb\\n' | cat", "a\nb\n");
    check(&home, "$W printf 'a\\nb\\n' > out; cat out", "a\nb\n");
    check(
        &home,
        "echo first > out; $W echo second >> out; $W echo third >> out; cat out",
        "first\nsecond\nthird\n",
    );
    check(&home, "$W echo nobody > /dev/null; echo code $?", "code 0\n");
    check(&home, "$W sh -c 'echo out; echo err >&2' > both 2>&1; cat both", "out\nerr\n");
    // Two writers of one file continue each other.
    check(&home, "(echo one; $W echo two; echo three) > out; cat out", "one\ntwo\nthree\n");
    check(&home, "exec 3> out; $W echo by number >&3; echo after >&3; cat out", "by number\nafter\n");
    check(&home, "mkfifo f; $W echo through a fifo > f & cat f; wait", "through a fifo\n");
}

#[test]
fn input_from_a_pipe_or_a_file() {
    let home = home();
    check(&home, "echo x | $W cat", "x\n");
    check(&home, "printf 'no line end' | $W cat", "no line end");
    check(&home, "printf 'one\\ntwo\\nthree' | $W cat", "one\ntwo\nthree");
    check(&home, ": | $W cat; echo over", "over\n");
    check(&home, "echo from a file > in; $W cat < in", "from a file\n");
    check(&home, "$W cat <<< 'a here string'", "a here string\n");
    check(&home, "seq 1 20000 | $W tail -n 2", "19999\n20000\n");
    check(&home, "seq 1 5 | $W sort -r | head -n 2", "5\n4\n");
    check(&home, "echo 'exit 4' | $W bash --norc > /dev/null; echo code $?", "code 4\n");
    check(&home, "(sleep 0.3; echo late) | $W cat", "late\n");
    // What is read leaves the rest: a tool that does not read has no need of the end.
    check(&home, "yes | $W echo does not read", "does not read\n");
}

#[test]
fn no_input_at_all() {
    let home = home();
    check(&home, "$W echo no keyboard < /dev/null", "no keyboard\n");
    check(&home, "$W echo closed <&-", "closed\n");
    check(&home, "$W sh -c 'exit 5' <&- >&- 2>&-; echo code $?", "code 5\n");
    check(&home, "$W sh -c 'exit 6' >&-; echo code $?", "code 6\n");
    check(&home, "$W sh -c 'test -t 0 -a -t 1 && tty | tr -d 0-9' < /dev/null", "/dev/pts/\n");
}

/// Process substitution hands a descriptor down, and a redirected one is the tool's too.
#[test]
fn descriptors_handed_down_by_the_shell() {
    let home = home();
    check(&home, "$W cat <(echo substituted) < /dev/null", "substituted\n");
    check(&home, "$W sh -c 'echo to three >&3' 3> out < /dev/null; cat out", "to three\n");
    check(&home, "$W diff <(echo same) <(echo same) < /dev/null; echo code $?", "code 0\n");
}

#[test]
fn sockets() {
    let home = home();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let input: OwnedFd = theirs.try_clone().unwrap().into();
    let mut child =
        home.command(["run", "--", "cat"]).stdin(input).stdout(OwnedFd::from(theirs)).spawn().unwrap();
    ours.write_all(b"over a socket\n").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    assert_eq!(text, "over a socket\n");
    assert!(child.wait().unwrap().success());

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut ours = listener.accept().unwrap().0;
    let mut child =
        home.command(["run", "--", "seq", "1", "30000"]).stdout(OwnedFd::from(theirs)).spawn().unwrap();
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 30_000);
    assert!(child.wait().unwrap().success());
}

/// A reader that goes away ends the tool, also one that does not die of a broken pipe.
#[test]
fn a_closed_output_ends_the_tool() {
    let home = home();
    let ends = sh(&home, "set -o pipefail; $W yes | head -n 1; echo ${PIPESTATUS[0]}");
    assert_eq!(ends, ("y\n141\n".to_owned(), String::new(), 0), "as yes itself: killed by SIGPIPE");
    let stubborn = format!("$W {} -c 'while True: print(1)' 2> /dev/null | head -n 1", python());
    assert_eq!(sh(&home, &stubborn).0, "1\n");
}

/// A tool that has said more than its pipe took, and has ended: the rest is in its terminal and in our hands.
///
/// All but one page of the pipe is filled beforehand: how much a pipe takes of small pieces is the kernel's secret.
struct FullPipe {
    child: Child,
    reader: PipeReader,
    host: i32,
}

const FILLED: usize = 15 * 4096;
/// 8893 bytes up to here: more than a page, less than a page and a PTY.
const LAST_LINE: u32 = 2000;

impl FullPipe {
    #[track_caller]
    fn new(home: &Home) -> Self {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[b'.'; FILLED]).unwrap();
        let script = format!("$W sh -c 'seq 1 {LAST_LINE}; touch said'");
        let child = shell(home, &script).stdout(writer).spawn().unwrap();
        let host = eventually("the session host runs", || host_below(child.id() as i32));
        eventually("the tool has said everything", || home.scratch().join("said").exists().then_some(()));
        eventually("the tool has ended", || children(leader_of(host)).is_empty().then_some(()));
        Self { child, reader, host }
    }
}

/// The last words wait for a reader who takes his time.
#[test]
fn a_slow_reader_gets_everything() {
    let home = home();
    let mut pipe = FullPipe::new(&home);
    // The limit for what else holds the terminal open has long passed when the reader begins.
    std::thread::sleep(std::time::Duration::from_millis(400));
    let mut text = String::new();
    pipe.reader.read_to_string(&mut text).unwrap();
    let lines: String = (1..=LAST_LINE).map(|n| format!("{n}\n")).collect();
    assert_eq!(text[FILLED..], lines);
    assert!(pipe.child.wait().unwrap().success());
}

/// Somebody below this process that is a session host.
fn host_below(pid: i32) -> Option<i32> {
    if status(pid, "Name")? == "atlasbridge" {
        return Some(pid);
    }
    children(pid).into_iter().find_map(host_below)
}

/// A reader that never reads can be interrupted.
#[test]
fn a_wait_for_the_reader_ends_with_a_signal() {
    let home = home();
    let mut pipe = FullPipe::new(&home);
    let process = rustix::process::Pid::from_raw(pipe.host).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    eventually("the session host has ended", || is_gone(pipe.host).then_some(()));
    drop(pipe.reader);
    pipe.child.wait().unwrap();
}

#[test]
fn scripts_and_background_jobs() {
    let home = home();
    fs::write(home.scratch().join("script.sh"), "$W echo in a script; $W sh -c 'exit 9'; echo $?\n").unwrap();
    assert_eq!(sh(&home, "bash script.sh").0, "in a script\n9\n");
    assert_eq!(sh(&home, "sh script.sh").0, "in a script\n9\n");
    check(&home, "$W sh -c 'sleep 0.1; echo behind' & wait $!; echo code $?", "behind\ncode 0\n");
    check(&home, "for n in 1 2 3; do $W echo $n & done | sort; wait", "1\n2\n3\n");
    check(&home, "nohup $W echo kept 2> /dev/null; cat nohup.out 2> /dev/null; true", "kept\n");
    check(&home, "x=$($W echo captured); echo [$x]", "[captured]\n");
    check(&home, "echo a b c | xargs $W echo", "a b c\n");
    check(&home, "find . -maxdepth 0 -exec $W echo found {} ';'", "found .\n");
    let timed =
        format!("timeout 0.5 {} run -- sleep 100; echo $?", quoted(&home.binary().display().to_string()));
    assert_eq!(sh(&home, &timed).0, "124\n");
}

/// What the tool leaves running does not hold the shell up.
#[test]
fn something_left_behind_does_not_keep_us() {
    let home = home();
    let (out, _, code) = sh(&home, "$W sh -c '(trap \"\" HUP; exec sleep 30) & echo $!; exit 2'");
    assert_eq!(code, 2);
    let left: i32 = out.trim().parse().unwrap();
    assert!(!is_gone(left), "it lives on, as it would without us");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(left).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    // It may also go on talking.
    let (out, _, code) = sh(&home, "$W sh -c 'yes & exit 3' | tail -n 1 | cut -c 1");
    assert_eq!((out.as_str(), code), ("y\n", 0));
}
