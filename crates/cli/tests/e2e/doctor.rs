//! `doctor`: each trouble is found and named with what to do next; `--fix` mends what can be mended, and nothing else is
//! touched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use atlasbridge_testkit::{Finished, Home, Terminal};
use serde_json::{Value, json};

use crate::home;

/// A home whose page listens nowhere, a PATH with our agents alone, and a user of one's own.
struct Scene {
    home: Home,
    bin: PathBuf,
    user: PathBuf,
    project: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let home = home();
        home.write_config("[web]\nenabled = false\n");
        let [bin, user, project] = ["bin", "user", "project"].map(|name| home.scratch().join(name));
        for directory in [&bin, &user.join(".claude"), &project.join(".claude")] {
            fs::create_dir_all(directory).unwrap();
        }
        Self { home, bin, user, project }
    }

    fn agent(&self, name: &str, version: &str) {
        let file = self.bin.join(name);
        fs::write(&file, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("PATH", self.bin.display().to_string()), ("HOME", self.user.display().to_string())]
    }

    fn run(&self, args: &[&str]) -> Finished {
        let mut command = self.home.command(["doctor"].iter().chain(args));
        command.envs(self.environment()).current_dir(&self.project);
        for name in
            ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SANDBOXED"]
        {
            command.env_remove(name);
        }
        command.output().unwrap().into()
    }

    /// The findings, and the exit code that belongs to them.
    #[track_caller]
    fn findings(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.run(&[&["--json"], args].concat());
        let findings = match ran.json() {
            Value::Array(findings) => findings,
            other => panic!("no array: {other}"),
        };
        for finding in &findings {
            let keys: Vec<_> = finding.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["check", "next", "says", "state"], "{finding}");
            let is_ok = finding["state"] == "ok";
            assert!(is_ok || finding["next"].is_string(), "says what to do: {finding}");
        }
        let has_problem = findings.iter().any(|finding| finding["state"] == "problem");
        assert_eq!(ran.code, i32::from(has_problem), "{findings:#?}");
        findings
    }

    /// The findings of one check.
    #[track_caller]
    fn check(&self, check: &str) -> Vec<Value> {
        let mut findings = self.findings(&[]);
        findings.retain(|finding| finding["check"] == check);
        findings
    }

    /// The one finding of a check: its state, and words that it says or advises.
    #[track_caller]
    fn expect(&self, check: &str, state: &str, words: &[&str]) {
        let findings = self.check(check);
        let [finding] = findings.as_slice() else { panic!("{check}: {findings:?}") };
        assert_eq!(finding["state"], state, "{finding}");
        for word in words {
            assert!(finding.to_string().contains(word), "{word} in {finding}");
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_machine_on_which_nothing_is_wrong() {
    let scene = Scene::new();
    let before = fs::read_dir(scene.home.path()).unwrap().count();
    scene.expect("home", "ok", &["you alone"]);
    scene.expect("config", "ok", &["holds"]);
    scene.expect("hub", "ok", &["does not run"]);
    scene.expect("audit", "ok", &["nothing"]);
    scene.expect("agents", "ok", &[]);
    assert_eq!(scene.home.hub_pid(), None, "it starts no hub");
    assert_eq!(fs::read_dir(scene.home.path()).unwrap().count(), before, "and makes nothing");

    scene.home.run(["hub", "start"]);
    scene.expect("hub", "ok", &["runs, pid"]);
    scene.expect("audit", "ok", &["good"]);
    scene.expect("database", "ok", &["opens"]);
    for check in ["protected", "not protected", "tiocsti", "ptrace"] {
        assert_eq!(scene.check(check).len(), 1, "{check}");
    }
    // A home that does not exist yet is no trouble, and is not made.
    let mut command = scene.home.command(["doctor", "--json"]);
    let nowhere = scene.home.scratch().join("nowhere");
    let ran: Finished = command.env("ATLASBRIDGE_HOME", &nowhere).output().unwrap().into();
    assert_eq!((ran.code, nowhere.exists()), (0, false), "{ran:?}");
}

#[test]
fn modes_are_found_and_mended() {
    let scene = Scene::new();
    let config = scene.home.path().join("config.toml");
    set_mode(&config, 0o644);
    set_mode(&scene.home.path(), 0o755);
    scene.expect("home", "problem", &["0755", "chmod 700", "doctor --fix"]);
    scene.expect("config", "problem", &["0644", "chmod 600", "doctor --fix"]);
    assert_eq!(scene.run(&[]).code, 1);

    let mended = scene.findings(&["--fix"]);
    let told: Vec<_> = mended.iter().filter(|finding| finding["check"] == "fix").collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((mode(&scene.home.path()), mode(&config)), (0o700, 0o600));
    scene.expect("home", "ok", &[]);
    scene.expect("config", "ok", &[]);
    let nothing = scene.findings(&["--fix"]);
    assert!(nothing.iter().all(|finding| finding["check"] != "fix"), "{nothing:?}");
}

#[test]
fn what_fix_cannot_mend_stays_a_problem() {
    let scene = Scene::new();
    scene.home.write_config("[prompts]\ntimeout_secs = 5\n");
    scene.expect("config", "problem", &["config.toml:2", "timeout_seconds"]);
    assert_eq!(scene.run(&["--fix"]).code, 1);
    scene.home.write_config("[web]\nenabled = false\n");

    let adapters = scene.home.path().join("adapters");
    fs::create_dir_all(&adapters).unwrap();
    fs::write(adapters.join("x.toml"), "[tool]\nnam = 1\n").unwrap();
    scene.expect("adapters", "problem", &["x.toml:2"]);
    fs::remove_dir_all(&adapters).unwrap();

    scene.home.run(["hub", "start"]);
    scene.home.run(["hub", "stop"]);
    let log = scene.home.path().join("audit.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("HUB_START", "HUB_STOPS", 1)).unwrap();
    scene.expect("audit", "problem", &["tampered", "audit verify"]);
    fs::write(&log, text).unwrap();
    scene.expect("audit", "ok", &[]);
    let database = scene.home.path().join("atlasbridge.db");
    for name in ["atlasbridge.db-wal", "atlasbridge.db-shm"] {
        let _ = fs::remove_file(scene.home.path().join(name));
    }
    fs::write(&database, "this is no database at all, whatever its name says").unwrap();
    scene.expect("database", "problem", &["atlasbridge.db"]);
}

#[test]
fn what_ended_sessions_left_behind_goes_and_what_is_in_use_stays() {
    let scene = Scene::new();
    let hooks = scene.home.path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let [dead_json, live_json] = ["dead.json", "live.json"].map(|name| hooks.join(name));
    fs::write(&dead_json, "{}").unwrap();
    fs::write(&live_json, "{}").unwrap();
    // As a session host holds it.
    let held = fs::File::open(&live_json).unwrap();
    held.lock().unwrap();
    let [dead_socket, live_socket] = ["dead.sock", "live.sock"].map(|name| hooks.join(name));
    drop(UnixListener::bind(&dead_socket).unwrap());
    let listening = UnixListener::bind(&live_socket).unwrap();
    // Places of servers, with the link that Codex makes there.
    let [dead_place, live_place] = ["dead.d", "live.d"].map(|name| hooks.join(name));
    for place in [&dead_place, &live_place] {
        fs::create_dir(place).unwrap();
        std::os::unix::fs::symlink("/nowhere/s", place.join("s")).unwrap();
    }
    let cache = scene.home.path().join("cache");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("versions.json"), "{ torn").unwrap();

    scene.expect("leftovers", "warning", &["3 files", "--fix"]);
    scene.expect("cache", "warning", &["versions.json", "--fix"]);
    assert!(dead_json.exists() && dead_socket.exists(), "looking changes nothing");
    let told = scene.findings(&["--fix"]);
    let told: Vec<_> = told.iter().filter(|finding| finding["check"] == "fix").collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(!dead_place.exists() && live_place.exists());
    assert!(!dead_json.exists() && !dead_socket.exists() && !cache.join("versions.json").exists());
    assert!(live_json.exists() && live_socket.exists());
    assert_eq!(scene.check("leftovers"), [json!(null); 0]);
    drop((held, listening));
}

#[test]
fn agents_are_told_with_their_versions() {
    let scene = Scene::new();
    scene.agent("claude", "2.1.325 (Claude Code)");
    scene.agent("codex", "codex-cli 0.166.0");
    scene.agent("gemini", "99.0.0");
    scene.agent("aider", "no idea");
    scene.expect("claude", "ok", &["2.1.325", "bin/claude", "1.0.128"]);
    scene.expect("codex", "ok", &["0.166.0"]);
    scene.expect("codex hooks", "ok", &["trust"]);
    scene.expect("codex server", "ok", &["--structured"]);
    scene.expect("codex daemon", "ok", &["--no-daemon"]);
    scene.expect("gemini", "warning", &["99.0.0", "newer", "0.61.0", "ATLASBRIDGE_CAPTURE_PROMPTS=1"]);
    scene.expect("gemini hooks", "ok", &["off the screen"]);
    scene.expect("aider", "warning", &["did not tell its version"]);
    assert_eq!(scene.check("qwen"), [json!(null); 0], "not installed, not named");

    let named = scene.findings(&["claude"]);
    assert!(named.iter().any(|finding| finding["check"] == "claude"));
    assert!(named.iter().all(|finding| finding["check"] != "codex"));
    let missing = scene.findings(&["qwen"]);
    let missing = missing.iter().find(|finding| finding["check"] == "qwen").unwrap();
    assert_eq!(missing["state"], "problem", "{missing}");
}

#[test]
fn whether_the_hooks_of_claude_will_run_here() {
    let scene = Scene::new();
    scene.agent("claude", "2.1.325 (Claude Code)");
    scene.expect("claude hooks", "ok", &["9 events"]);
    scene.expect("claude trust", "warning", &["project", "no hook"]);
    let project = fs::canonicalize(&scene.project).unwrap().display().to_string();
    let state = json!({ "projects": { project: { "hasTrustDialogAccepted": true } } });
    fs::write(scene.user.join(".claude.json"), state.to_string()).unwrap();
    scene.expect("claude trust", "ok", &["is trusted"]);

    let settings = scene.user.join(".claude/settings.json");
    fs::write(&settings, r#"{"disableAllHooks":true}"#).unwrap();
    scene.expect("claude hooks", "warning", &["user/.claude/settings.json", "remove", "disableAllHooks"]);
    fs::write(scene.project.join(".claude/settings.json"), r#"{"disableAllHooks":false}"#).unwrap();
    scene.expect("claude hooks", "ok", &[]);

    scene.agent("claude", "1.0.17");
    scene.expect("claude hooks", "warning", &["older than 1.0.61"]);
    let proof = scene.check("claude hook command");
    if scene.home.run(["hook", "--help"]).code == 0 {
        assert_eq!(proof[0]["state"], "ok", "{proof:?}");
    } else {
        assert_eq!(proof, [json!(null); 0]);
    }
}

#[test]
fn people_see_marks_and_programs_see_words() {
    let scene = Scene::new();
    scene.agent("gemini", "99.0.0");
    let piped = scene.run(&[]);
    assert_eq!(piped.code, 0);
    assert!(!piped.stdout.contains('\x1b') && piped.stdout.contains("ok      home: "), "{piped:?}");
    assert!(piped.stdout.contains("warning gemini: ") && piped.stdout.contains("    → "), "{piped:?}");
    let mut env = scene.home.environment();
    env.retain(|(name, _)| !["NO_COLOR", "PATH", "HOME"].contains(&name.as_str()));
    env.extend(scene.environment().into_iter().map(|(name, value)| (name.to_owned(), value)));
    let (code, shown) = Terminal::start(scene.home.binary(), &["doctor"], &env, 120, 40).end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains('\x1b') && shown.contains("✔") && shown.contains("home: "), "{shown:?}");
}
