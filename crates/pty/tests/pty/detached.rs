use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;

use atlasbridge_pty::{PollFd, PollFlags, poll, spawn_detached};

use crate::stage::{LIMIT, Scratch};

/// What comes first: the byte, or the end.
fn wait_ready(ready: &OwnedFd) -> usize {
    let mut descriptors = [PollFd::new(ready, PollFlags::IN)];
    assert_eq!(poll(&mut descriptors, Some(LIMIT)).unwrap(), 1, "neither ready nor gone");
    rustix::io::read(ready, &mut [0; 8]).unwrap()
}

#[test]
fn it_owes_us_nothing() {
    let scratch = Scratch::new("detached");
    let file = scratch.path("report");
    let script = format!(
        "{{ pwd; ls /proc/self/fd | tr '\\n' ' '; echo; ps -o tty= -p $$; ps -o sid= -p $$; echo $$; \
         grep SigIgn /proc/self/status; readlink /proc/$$/fd/0; echo $GREETING; }} > {}; printf R >&3",
        file.display()
    );
    let args: Vec<OsString> = vec!["-c".into(), script.into()];
    let env = [("PATH".into(), std::env::var_os("PATH").unwrap()), ("GREETING".into(), "hello".into())];
    let ready = spawn_detached(Path::new("/bin/sh"), &args, &env).unwrap();
    assert_eq!(wait_ready(&ready), 1);
    let report = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    let [pwd, descriptors, tty, session, pid, ignored, stdin, greeting] = lines[..] else {
        panic!("{report}")
    };
    assert_eq!(pwd, "/");
    // 3 is the pipe, 4 the directory that `ls` itself reads.
    assert_eq!(descriptors, "0 1 2 3 4");
    assert_eq!(tty, "?");
    assert_ne!(session, pid, "a session leader could get a terminal");
    assert_eq!(ignored, "SigIgn:\t0000000000000000");
    assert_eq!(stdin, "/dev/null");
    assert_eq!(greeting, "hello");
}

#[test]
fn what_never_gets_ready_says_so() {
    let ready = spawn_detached(Path::new("/no/such/program"), &[], &[]).unwrap();
    assert_eq!(wait_ready(&ready), 0);
    let ready = spawn_detached(Path::new("/bin/false"), &[], &[]).unwrap();
    assert_eq!(wait_ready(&ready), 0);
}
