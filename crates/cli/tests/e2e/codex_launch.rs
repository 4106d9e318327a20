//! Codex's command line under `run --structured`: with a server if there is one, else as it was typed and without a word. The
//! `codex` here is a script that prints its arguments, and whose server does not do as it should.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use atlasbridge_testkit::{Finished, Home, Terminal, eventually};

use crate::home;

/// `SERVER` is what its app-server does. It ends with code 7, to be seen in the end.
const CODEX: &str = r#"#!/bin/bash
if [ "$*" = --version ]; then echo "codex-cli VERSION"; exit; fi
if [ "$1" = app-server ]; then echo "$*" >> "SEEN"; SERVER; fi
for word in "$@"; do echo "arg=[$word]"; done
env | grep '^ATLASBRIDGE_' | sed 's/=.*//'
exit 7
"#;

struct Scene {
    home: Home,
    codex: PathBuf,
    /// How its server was called.
    seen: PathBuf,
}

impl Scene {
    fn new(version: &str, server: &str) -> Self {
        let home = home();
        let (codex, seen) = (home.scratch().join("codex"), home.scratch().join("seen"));
        let script = CODEX
            .replace("VERSION", version)
            .replace("SERVER", server)
            .replace("SEEN", &seen.display().to_string());
        fs::write(&codex, script).unwrap();
        fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home, codex, seen }
    }

    #[track_caller]
    fn run(&self, options: &[&str], args: &[&str]) -> Finished {
        let mut command = self.home.command(["run"].iter().chain(options).chain(&["--"]));
        let ran: Finished = command.arg(&self.codex).args(args).output().unwrap().into();
        assert_eq!(ran.code, 7, "{ran:?}");
        ran
    }

    fn server_calls(&self) -> usize {
        fs::read_to_string(&self.seen).map_or(0, |seen| seen.lines().count())
    }

    /// It got what was typed, its own environment, and left nothing.
    #[track_caller]
    fn is_plain(&self, options: &[&str], args: &[&str], notice: Option<&str>) {
        let ran = self.run(options, args);
        let shown: Vec<&str> = ran.stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
        let mut expected: Vec<String> = args.iter().map(|arg| format!("arg=[{arg}]")).collect();
        expected.push("ATLASBRIDGE_SESSION".to_owned());
        assert_eq!(shown, expected, "{ran:?}");
        match notice {
            Some(notice) => assert!(ran.stderr.contains(notice), "{ran:?}"),
            None => assert_eq!(ran.stderr, ""),
        }
        eventually("nothing of the session lies there", || {
            let left = fs::read_dir(self.home.path().join("hooks"));
            left.map_or(true, |mut left| left.next().is_none()).then_some(())
        });
    }
}

const ARGS: [&str; 5] = ["--no-daemon", "-s", "read-only", "-c", "model=x"];

#[test]
fn a_server_that_ends_at_once_is_done_without() {
    let scene = Scene::new("0.166.0", "exit 1");
    scene.is_plain(&["--structured"], &ARGS, None);
    let seen = fs::read_to_string(&scene.seen).unwrap();
    assert!(seen.starts_with("app-server --listen unix://"), "{seen}");
    assert!(seen.ends_with("/s -c model=x\n"), "{seen}");
    // Without the flag there is none to begin with.
    scene.is_plain(&[], &ARGS, None);
    assert_eq!(scene.server_calls(), 1);
    // What people see is what was typed.
    for session in scene.home.sessions() {
        let command = session["command"].to_string();
        assert!(!command.contains("codex-front"), "{command}");
        assert!(command.contains("read-only"), "{command}");
    }
}

#[test]
fn a_server_that_never_listens_is_done_without_and_ended() {
    // A word that only this server has in its command line.
    let mark = format!("ab-silent-{}", std::process::id());
    let scene = Scene::new("0.166.0", &format!("exec -a {mark} sleep 1000"));
    scene.is_plain(&["--structured"], &ARGS, None);
    assert_eq!(scene.server_calls(), 1);
    eventually("the server is gone", || Terminal::process(&mark).is_none().then_some(()));
}

#[test]
fn what_listens_and_is_no_server_is_done_without_and_ended() {
    let mark = format!("ab-other-{}", std::process::id());
    let listens = format!(
        r#"exec -a {mark} python3 -c 'import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1][7:]); s.listen(); c=s.accept()[0]; c.sendall(b"no\n"); time.sleep(1000)' "$3""#
    );
    let scene = Scene::new("0.166.0", &listens);
    scene.is_plain(&["--structured"], &ARGS, None);
    assert_eq!(scene.server_calls(), 1);
    eventually("the server is gone", || Terminal::process(&mark).is_none().then_some(()));
}

#[test]
fn a_start_that_was_not_proved_stays_as_it_was_typed() {
    let old = Scene::new("0.165.0", "exit 1");
    old.is_plain(&["--structured"], &[], Some("it is version 0.165.0"));
    let scene = Scene::new("0.166.0", "exit 1");
    scene.is_plain(&["--structured"], &["--profile", "work"], Some("--profile was not proved"));
    scene.is_plain(&["--structured", "--quiet"], &["--profile", "work"], None);
    scene.is_plain(&["--structured"], &["exec", "hello"], None);
    scene.is_plain(&["--structured"], &["--remote", "unix:///elsewhere"], None);
    assert_eq!((old.server_calls(), scene.server_calls()), (0, 0));
    let refused = scene.home.run(["run", "--structured", "--no-hooks", "true"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let other = scene.home.run(["run", "--structured", "true"]);
    assert!(other.stderr.contains("--structured changes nothing for true"), "{other:?}");
}
