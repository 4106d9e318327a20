//! The steps of `testkit/browser` against the real hub. Their pictures stay under `target/page`.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use crate::Desk;
use crate::tools::Tools;

#[test]
fn everything_works_in_chromium_at_a_desk_and_on_a_phone() {
    drive("run.mjs");
}

#[test]
fn a_prompt_is_answered_in_firefox() {
    drive("firefox.mjs");
}

/// Runs a browser's steps to their end, and does meanwhile what they ask for.
#[track_caller]
fn drive(steps: &str) {
    let desk = Desk::new();
    let tools = Tools::new(&desk);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let hook = desk.home.scratch().join("hook");
    write_hook(&hook, address.port());
    let is_over = AtomicBool::new(false);
    let told = thread::scope(|scope| {
        let (desk, tools, is_over) = (&desk, &tools, &is_over);
        scope.spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                scope.spawn(move || serve(stream, desk, tools));
            }
        });
        let told = Command::new("node")
            .arg(root().join("testkit/browser").join(steps))
            .args(["--base", &desk.base(), "--hook"])
            .arg(&hook)
            .arg("--out")
            .arg(pictures())
            .output();
        is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(address);
        told.expect("node is needed: apt-get install nodejs npm")
    });
    let text = String::from_utf8_lossy(&told.stdout);
    eprintln!("{text}");
    assert!(
        told.status.success() && text.contains("# all passed"),
        "{text}{}",
        String::from_utf8_lossy(&told.stderr)
    );
}

/// The program that the steps call; it hands each request to this very process.
fn write_hook(file: &Path, port: u16) {
    let script = format!(
        "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port}\nprintf '%s\\n' \"$*\" >&3\nread -r verdict <&3\ncat <&3\n[ \"$verdict\" = ok ]\n"
    );
    fs::write(file, script).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn serve(mut stream: TcpStream, desk: &Desk, tools: &Tools<'_>) {
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    let line = line.trim().to_owned();
    // A panic here is a step's failure: the hook ends with 1 and what it was is in the log.
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| perform(&line, desk, tools)));
    let _ = match done {
        Ok(said) => writeln!(stream, "ok\n{said}"),
        Err(_) => writeln!(stream, "failed"),
    };
}

fn perform(line: &str, desk: &Desk, tools: &Tools<'_>) -> String {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("link", _) => desk.link(),
        ("ask", what) => tools.ask(what).to_string(),
        ("read", label) => serde_json::to_string(&tools.read(label)).unwrap(),
        ("type", rest) => {
            let (label, keys) = rest.rsplit_once(' ').unwrap();
            tools.with_terminal(label, |terminal| terminal.type_keys(format!("{keys}\r")));
            String::new()
        }
        ("end", label) => {
            tools.end(label);
            String::new()
        }
        ("revoke", name) => {
            let ran = desk.home.run(["open", "--revoke", name]);
            assert_eq!(ran.code, 0, "{ran:?}");
            String::new()
        }
        (verb @ ("stop" | "start"), _) => {
            let ran = desk.home.run(["hub", verb]);
            assert_eq!(ran.code, 0, "{ran:?}");
            String::new()
        }
        _ => panic!("{line} is nothing that can be done"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Kept for whoever wants to look.
fn pictures() -> PathBuf {
    root().join("target/page")
}
