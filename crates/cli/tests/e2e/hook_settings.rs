//! Claude's command line under `run`: our hooks are added for one session, or it stays as it was typed. The `claude`
//! here is a script that prints its version, its arguments, and the settings file that it was handed.
//!
//! Nothing may be added while the binary has no `hook` command: Claude shows a failing hook at each event.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atlasbridge_testkit::{Finished, Home};
use serde_json::{Value, json};

use crate::home;

/// Prints one line per argument, and what the settings file holds while it runs.
const CLAUDE: &str = r#"#!/bin/bash
if [ "$*" = --version ]; then echo "VERSION (Claude Code)"; exit; fi
for word in "$@"; do echo "arg=[$word]"; done
while [ $# -gt 0 ]; do
  case "$1" in
    --settings) file=$2; shift ;;
    --settings=*) file=${1#--settings=} ;;
  esac
  shift
done
if [ -f "$file" ]; then echo "mode=[$(stat -c %a "$file")]"; echo "settings=$(tr -d '\n' < "$file")"; fi
"#;

struct Scene {
    home: Home,
    claude: PathBuf,
    project: PathBuf,
}

impl Scene {
    fn new(version: &str) -> Self {
        let home = home();
        let claude = home.scratch().join("claude");
        fs::write(&claude, CLAUDE.replace("VERSION", version)).unwrap();
        fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
        let project = home.scratch().join("project");
        fs::create_dir_all(project.join(".claude")).unwrap();
        fs::create_dir_all(home.scratch().join("user/.claude")).unwrap();
        Self { home, claude, project }
    }

    /// `run OPTIONS -- claude ARGS` in the project, as a user of one's own.
    #[track_caller]
    fn run(&self, options: &[&str], args: &[&str]) -> Finished {
        let mut command = self.home.command(["run"].iter().chain(options).chain(&["--"]));
        command.arg(&self.claude).args(args).current_dir(&self.project);
        command.env("HOME", self.home.scratch().join("user"));
        for name in ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"] {
            command.env_remove(name);
        }
        let ran: Finished = command.output().unwrap().into();
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    }

    fn can_hook(&self) -> bool {
        self.home.run(["hook", "--help"]).code == 0
    }

    /// What is left of a session's files after it.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.path().join("hooks")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

fn args_of(ran: &Finished) -> Vec<String> {
    let lines = ran.stdout.lines().map(|line| line.trim_end_matches('\r'));
    lines.filter_map(|line| Some(line.strip_prefix("arg=[")?.strip_suffix(']')?.to_owned())).collect()
}

#[track_caller]
fn settings_of(ran: &Finished) -> Value {
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix("settings="));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no settings in {ran:?}"))).unwrap()
}

#[track_caller]
fn is_untouched(scene: &Scene, options: &[&str], args: &[&str]) -> Finished {
    let ran = scene.run(options, args);
    assert_eq!(args_of(&ran), args, "{ran:?}");
    assert_eq!(scene.left(), [""; 0], "nothing is left behind");
    ran
}

#[test]
fn a_session_gets_hooks_of_its_own_and_nothing_stays() {
    let scene = Scene::new("2.1.325");
    if !scene.can_hook() {
        is_untouched(&scene, &[], &["--model", "opus", "hello world"]);
        return;
    }
    let ran = scene.run(&[], &["--model", "opus", "hello world"]);
    let args = args_of(&ran);
    assert_eq!(
        (args[0].as_str(), &args[2..]),
        ("--settings", &["--model", "opus", "hello world"].map(str::to_owned)[..])
    );
    let file = Path::new(&args[1]);
    assert_eq!(file.parent(), Some(scene.home.path().join("hooks").as_path()));
    assert!(ran.stdout.contains("mode=[600]"), "{ran:?}");
    let settings = settings_of(&ran);
    let events: Vec<_> = settings["hooks"].as_object().unwrap().keys().collect();
    assert_eq!(events.len(), 9, "{events:?}");
    let hook = &settings["hooks"]["PermissionRequest"][0]["hooks"][0];
    assert_eq!((&hook["type"], &hook["timeout"]), (&json!("command"), &json!(86400)));
    let socket = file.with_extension("sock");
    let command = format!("{} hook --socket {}", scene.home.binary().display(), socket.display());
    assert_eq!(hook["command"], command);
    assert_eq!(scene.left(), [""; 0]);
}

#[test]
fn settings_that_were_given_are_kept_and_ours_added() {
    let scene = Scene::new("2.1.325");
    let own = scene.project.join("own.json");
    let text = json!({ "model": "opus", "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "own" }] }] } });
    fs::write(&own, text.to_string()).unwrap();
    let as_text = text.to_string();
    for args in [
        vec!["-c", "--settings", "own.json", "hi"],
        vec!["-c", "--settings=own.json", "hi"],
        vec!["-c", "--settings", &as_text, "hi"],
    ] {
        if !scene.can_hook() {
            is_untouched(&scene, &[], &args);
            continue;
        }
        let ran = scene.run(&[], &args);
        let found = args_of(&ran);
        assert_eq!(found.len(), args.len(), "one --settings, in its place: {found:?}");
        assert_eq!(found.last().unwrap(), "hi");
        let settings = settings_of(&ran);
        assert_eq!(settings["model"], "opus");
        let stop = settings["hooks"]["Stop"].as_array().unwrap();
        assert_eq!((stop.len(), &stop[0]["hooks"][0]["command"]), (2, &json!("own")));
        assert!(settings["hooks"]["PermissionRequest"].is_array());
        assert_eq!(scene.left(), [""; 0]);
    }
    assert_eq!(fs::read_to_string(&own).unwrap(), text.to_string(), "never written");

    // One that cannot be read is Claude's to complain about.
    fs::write(&own, "{ broken").unwrap();
    let ran = is_untouched(&scene, &[], &["--settings", "own.json"]);
    assert_eq!(ran.stderr.contains("own.json is no JSON"), scene.can_hook(), "{ran:?}");
}

#[test]
fn what_needs_no_hooks_stays_as_it_was_typed() {
    let scene = Scene::new("2.1.325");
    for args in [
        &["-p", "hi"][..],
        &["--print", "hi"],
        &["--bare"],
        &["--help"],
        &["mcp", "list"],
        &["doctor"],
        &["--bg", "do it"],
    ] {
        let ran = is_untouched(&scene, &[], args);
        assert!(!ran.stderr.contains("hooks"), "{ran:?}");
    }
    let ran = is_untouched(&scene, &["--no-hooks"], &["hello world"]);
    assert!(!ran.stderr.contains("hooks"), "{ran:?}");
}

#[test]
fn a_file_that_switches_hooks_off_is_named_once() {
    let scene = Scene::new("2.1.325");
    let user = scene.home.scratch().join("user/.claude/settings.json");
    let local = scene.project.join(".claude/settings.local.json");
    fs::write(&user, r#"{"disableAllHooks":true}"#).unwrap();
    let ran = is_untouched(&scene, &[], &["hi"]);
    let told = ran.stderr.matches(&user.display().to_string()).count();
    assert_eq!(told, usize::from(scene.can_hook()), "{ran:?}");
    let quiet = is_untouched(&scene, &["--quiet"], &["hi"]);
    assert!(!quiet.stderr.contains("hooks"), "{quiet:?}");
    // The nearer file has the last word.
    fs::write(&local, r#"{"disableAllHooks":false}"#).unwrap();
    let ran = scene.run(&[], &["hi"]);
    assert_eq!(args_of(&ran).len(), if scene.can_hook() { 3 } else { 1 }, "{ran:?}");
    assert_eq!(fs::read_to_string(&user).unwrap(), r#"{"disableAllHooks":true}"#);
}

#[test]
fn an_old_version_gets_only_what_it_knows() {
    let scene = Scene::new("1.0.128");
    let ran = scene.run(&[], &["hi"]);
    if scene.can_hook() {
        let settings = settings_of(&ran);
        assert_eq!(settings["hooks"].as_object().unwrap().len(), 7);
        assert_eq!(settings["hooks"].get("PermissionRequest"), None);
    }
    let scene = Scene::new("1.0.17");
    let ran = is_untouched(&scene, &[], &["hi"]);
    assert_eq!(ran.stderr.contains("1.0.17 is older than 1.0.61"), scene.can_hook(), "{ran:?}");
    let scene = Scene::new("unknown");
    let ran = is_untouched(&scene, &[], &["hi"]);
    assert_eq!(ran.stderr.contains("did not tell its version"), scene.can_hook(), "{ran:?}");
}
