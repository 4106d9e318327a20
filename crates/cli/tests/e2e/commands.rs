//! The command line as people and scripts meet it: exit codes, listings, help, and no surprises in a pipe.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use atlasbridge_testkit::{Terminal, eventually};
use serde_json::Value;

use crate::home;

const ASK: &str = r#"read -p "Delete 3 files? (y/n) " answer; echo "got=[$answer]""#;

#[test]
fn every_command_explains_its_flags() {
    let home = home();
    for (command, flags) in [
        (
            "",
            vec![
                "run",
                "approvals",
                "approve",
                "deny",
                "reply",
                "status",
                "sessions",
                "logs",
                "audit",
                "doctor",
                "hub",
                "config",
            ],
        ),
        ("run", vec!["--label", "--events", "--no-hooks", "TOOL"]),
        ("doctor", vec!["TOOL", "--fix", "--json"]),
        ("approvals", vec!["--json", "--watch"]),
        ("approve", vec!["PROMPT", "--json"]),
        ("deny", vec!["PROMPT", "--json"]),
        ("reply", vec!["PROMPT", "VALUE", "--as-is", "--json"]),
        ("send", vec!["SESSION", "TEXT", "--as-is", "--take-back", "--json"]),
        ("status", vec!["--all", "--json"]),
        ("sessions", vec!["list", "show", "stop"]),
        ("sessions list", vec!["--all", "--json"]),
        ("sessions show", vec!["SESSION", "--json"]),
        ("sessions stop", vec!["SESSION"]),
        ("logs", vec!["--tail", "--lines", "--json"]),
        ("audit verify", vec!["FILE", "--json"]),
        ("audit export", vec!["--session"]),
        ("hub", vec!["start", "stop", "restart", "status", "serve"]),
        ("hub status", vec!["--json"]),
        ("config", vec!["path", "show", "check"]),
        ("completions", vec!["SHELL"]),
        ("version", vec!["--json"]),
    ] {
        let help = home.run(command.split_whitespace().chain(["--help"]));
        assert_eq!(help.code, 0, "{command}");
        for flag in flags {
            assert!(help.stdout.contains(flag), "{command} --help says nothing of {flag}: {}", help.stdout);
        }
        assert!(!help.stdout.contains('\x1b'));
    }
}

#[test]
fn exit_codes_tell_bad_usage_from_failure() {
    let home = home();
    for (args, code) in [
        (vec!["version"], 0),
        (vec!["--version"], 0),
        (vec!["approvals"], 0),
        (vec!["status"], 0),
        (vec!["frobnicate"], 2),
        (vec!["approve"], 2),
        (vec!["approvals", "--colour"], 2),
        (vec!["run"], 2),
        (vec!["completions", "klingon"], 2),
        (vec!["approve", "00000000"], 1),
        (vec!["approve", "'; DROP TABLE prompts; --"], 1),
        (vec!["sessions", "show", "00000000"], 1),
        (vec!["sessions", "stop", "00000000"], 1),
        (vec!["run", "--", "true"], 0),
        (vec!["run", "--", "sh", "-c", "exit 7"], 7),
        (vec!["run", "--", "sh", "-c", "kill -KILL $$"], 137),
        (vec!["run", "--", "no-such-tool"], 127),
        (vec!["run", "--", "/etc/passwd"], 126),
    ] {
        let finished = home.run(&args);
        assert_eq!(finished.code, code, "{args:?}: {finished:?}");
    }
}

/// What stands before the tool is ours: a slip there must not become a program, nor a session, nor a hub.
#[test]
fn an_unknown_option_before_the_tool_starts_nothing() {
    let home = home();
    for (args, says) in [
        (vec!["run", "--labl", "x", "--", "true"], "'--label'"),
        (vec!["run", "--labl=x", "true"], "'--label'"),
        (vec!["run", "--quiet", "--no-hook", "true"], "'--no-hooks'"),
        (vec!["run", "-x", "true"], "unexpected argument '-x'"),
        (vec!["run", "--labl"], "'--label'"),
        (vec!["lab", "record", "--outputs", "x", "true"], "'--output'"),
    ] {
        let told = home.run(&args);
        assert_eq!((told.code, told.stdout.as_str()), (2, ""), "{args:?}: {told:?}");
        assert!(told.stderr.contains(says), "{args:?}: {told:?}");
    }
    let made: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().collect();
    assert!(made.is_empty(), "{made:?}");
}

/// What follows the tool, or `--`, is the tool's.
#[test]
fn options_behind_the_tool_are_its_own() {
    let home = home();
    for (args, code, stdout) in [
        (vec!["run", "echo", "--label", "x", "--", "-q"], 0, "--label x -- -q\n"),
        (vec!["run", "--quiet", "echo", "--quiet"], 0, "--quiet\n"),
        (vec!["run", "sh", "-c", "exit 7"], 7, ""),
        (vec!["run", "--", "echo", "--", "-n"], 0, "-- -n\n"),
        (vec!["run", "--", "--labl"], 127, ""),
    ] {
        let ended = home.run(&args);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, stdout), "{args:?}: {ended:?}");
    }
}

#[test]
fn a_broken_configuration_stops_run_before_the_tool_starts() {
    let home = home();
    home.write_config("[prompts]\ntimeout_secs = 5\n");
    let trace = home.scratch().join("the-tool-ran");
    let ran = home.run(["run", "--", "touch", trace.to_str().unwrap()]);
    assert_eq!((ran.code, trace.exists()), (2, false), "{ran:?}");
    assert!(ran.stderr.contains("config.toml:2") && ran.stderr.contains("timeout_seconds"), "{ran:?}");
    let checked = home.run(["config", "check"]);
    assert_eq!((checked.code, checked.stderr), (2, ran.stderr), "check says the same");
    assert_eq!(home.run(["hub", "start"]).code, 2);

    home.write_config("[prompts.defaults]\nyes_no = \"y\"\n");
    assert_eq!(home.run(["config", "check"]).code, 2, "silence never approves");
    home.write_config("[prompts]\ntimeout_seconds = 5\n");
    assert_eq!(home.run(["config", "check"]).code, 0);
    assert!(home.run(["config", "show"]).stdout.contains("timeout_seconds = 5"));
    let path = home.run(["config", "path"]).stdout;
    assert_eq!(path.trim(), home.path().join("config.toml").display().to_string());
}

#[test]
fn pipes_and_no_color_get_no_escape_codes() {
    let home = home();
    let terminal = home.bash(ASK);
    home.prompt_id();
    for args in [
        vec!["approvals"],
        vec!["status"],
        vec!["sessions", "list"],
        vec!["logs"],
        vec!["hub", "status"],
        vec!["approve", "00000000"],
    ] {
        let piped = home.run(&args);
        assert!(!piped.stdout.contains('\x1b') && !piped.stderr.contains('\x1b'), "{piped:?}");
    }
    let listed = home.run(["approvals"]).stdout;
    assert_eq!(listed.trim_end().split('\t').count(), 6, "{listed:?}");

    let mut env = home.environment();
    env.retain(|(name, _)| name != "NO_COLOR");
    let on_terminal =
        |env: &[(String, String)]| Terminal::start(home.binary(), &["status"], env, 100, 30).end().1;
    assert!(on_terminal(&env).contains('\x1b'), "colours on a terminal");
    env.push(("NO_COLOR".to_owned(), "1".to_owned()));
    assert!(!on_terminal(&env).contains('\x1b'));
    terminal.kill();
}

#[test]
fn a_watch_tells_each_change() {
    let home = home();
    home.run(["hub", "start"]);
    let watch = home.follow(["approvals", "--watch", "--json"]);
    assert_eq!(watch.line("nothing waits at first", |_| true), "[]");
    let terminal = home.bash(ASK);
    let line = watch.line("the prompt", |line| line.contains("awaiting_reply"));
    let prompts: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(home.run(["deny", prompts[0]["prompt_id"].as_str().unwrap()]).code, 0);
    watch.line("nothing waits any more", |line| line == "[]");
    terminal.end();
}

#[test]
fn logs_follow_what_happens() {
    let home = home();
    home.run(["hub", "start"]);
    let tail = home.follow(["logs", "--tail"]);
    tail.line("the start", |line| line.contains("hub start"));
    let terminal = home.bash(ASK);
    let id = home.prompt_id();
    tail.line("the prompt", |line| line.contains("prompt detected") && line.contains(&id[..8]));
    home.run(["deny", &id]);
    terminal.end();
    tail.line("its end", |line| line.contains("prompt resolved"));
    let json = home.run(["logs", "-n", "1", "--json"]).stdout;
    let last: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(Some(&last), home.audit().last());
}

#[test]
fn a_session_is_shown_as_it_is() {
    let home = home();
    let terminal = home.run_in_terminal(&["run", "--label", "release", "--", "bash", "-c", ASK]);
    let prompt = home.one_prompt();
    let id = prompt["session_id"].as_str().unwrap();
    let shown = home.run(["sessions", "show", &id[..8], "--json"]).json();
    assert_eq!(shown["session_id"], id);
    assert_eq!(
        (&shown["tool"], &shown["label"], &shown["prompts"]),
        (&"bash".into(), &"release".into(), &1.into())
    );
    assert_eq!((&shown["state"], &shown["status"]), (&"awaiting_reply".into(), &"active".into()));
    assert_eq!((&shown["pty_alive"], &shown["host_healthy"]), (&true.into(), &true.into()));
    assert_eq!(shown["host_pid"], terminal.pid());
    let tool = shown["pid"].as_i64().unwrap();
    assert!(fs::read_to_string(format!("/proc/{tool}/cmdline")).unwrap().contains("Delete 3 files"));
    assert!(shown["seconds_since_output"].is_u64() && shown["uptime_seconds"].is_u64());
    let words = home.run(["sessions", "show", id]).stdout;
    for field in ["session", "tool", "pid", "state", "uptime", "prompts", "last output", "terminal", "host"] {
        assert!(words.lines().any(|line| line.starts_with(field)), "{field}: {words}");
    }
    let status = home.run(["status", "--json"]).json();
    assert_eq!((&status["hub"]["running"], &status["hub"]["sessions"]), (&true.into(), &1.into()));
    assert_eq!(status["prompts"][0]["prompt_id"], prompt["prompt_id"]);

    home.run(["approve", prompt["prompt_id"].as_str().unwrap()]);
    terminal.end();
    let over = home.session_is("completed");
    assert_eq!(
        (&over["state"], &over["exit_code"], &over["pty_alive"]),
        (&"done".into(), &0.into(), &false.into())
    );
    assert_eq!(home.run(["status", "--json"]).json()["sessions"], serde_json::json!([]));
    assert_eq!(home.run(["status", "--all", "--json"]).json()["sessions"].as_array().unwrap().len(), 1);
}

/// Runs `tool` under a shell, stops its session, and expects the exit code and a terminal as it was before.
#[track_caller]
fn check_stop(tool: &str, code: i32) -> Duration {
    let home = home();
    let script = format!(
        r#"stty -a > {before}; {binary} run -- bash -c '{tool}'; echo "code=$?"; stty -a > {after}; echo over"#,
        before = home.scratch().join("before").display(),
        after = home.scratch().join("after").display(),
        binary = home.binary().display(),
    );
    let terminal = Terminal::start(Path::new("/bin/bash"), &["-c", &script], &home.environment(), 100, 30);
    terminal.wait_for("ready");
    let id =
        eventually("the session runs", || home.sessions().first()?["session_id"].as_str().map(str::to_owned));
    let begun = Instant::now();
    assert_eq!(home.run(["sessions", "stop", &id]).code, 0);
    terminal.wait_for("over");
    let took = begun.elapsed();
    assert_eq!(terminal.count(&format!("code={code}\r\n")), 1, "{:?}", terminal.text());
    let settings = |name| fs::read_to_string(home.scratch().join(name)).unwrap();
    assert_eq!(settings("before"), settings("after"));
    assert_eq!(home.session_is("terminated")["exit_code"], code);
    let again = home.run(["sessions", "stop", &id]);
    assert_eq!((again.code, again.stderr.contains("over (terminated)")), (1, true), "{again:?}");
    took
}

#[test]
fn a_stopped_tool_ends_and_its_terminal_is_restored() {
    check_stop("echo ready; sleep 60", 143);
}

#[test]
fn a_tool_that_does_not_want_to_stop_is_killed() {
    let took = check_stop(r#"trap "" TERM; echo ready; while :; do sleep 0.1; done"#, 137);
    assert!(took >= Duration::from_secs(3), "it had {took:?}");
}

#[test]
fn a_verified_log_tells_good_from_changed_cut_and_unreadable() {
    let home = home();
    let verify = || home.run(["audit", "verify", "--json"]);
    assert_eq!(verify().code, 2, "there is none yet");
    home.run(["hub", "start"]);
    home.run(["hub", "restart"]);
    home.run(["hub", "stop"]);
    let good = verify();
    assert_eq!((good.code, good.json()["verdict"].clone()), (0, "good".into()));

    let log = home.path().join("audit.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("HUB_STOP", "HUB_STAR", 1)).unwrap();
    let changed = verify();
    assert_eq!(
        (changed.code, changed.json()["told"].as_str().unwrap().contains("line 2")),
        (1, true),
        "{changed:?}"
    );

    let cut: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(&log, &cut).unwrap();
    assert_eq!(verify().code, 3);
    let elsewhere = home.scratch().join("copy");
    fs::write(&elsewhere, &text).unwrap();
    assert_eq!(home.run(["audit", "verify", elsewhere.to_str().unwrap()]).code, 0);
    fs::write(&log, &text).unwrap();
    assert_eq!(home.run(["audit", "export"]).stdout, text);
}

#[test]
fn completions_and_version() {
    let home = home();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(["completions", shell]);
        assert_eq!((script.code, script.stdout.contains("approvals")), (0, true), "{shell}");
    }
    let version = home.run(["version", "--json"]).json();
    assert_eq!((&version["version"], &version["protocol"]), (&env!("CARGO_PKG_VERSION").into(), &1.into()));
    assert!(home.run(["version"]).stdout.starts_with("atlasbridge "));
}

/// `--events`: one line for each thing seen, typed and gone.
#[test]
fn events_are_written_as_they_happen() {
    let home = home();
    let events = home.scratch().join("events");
    let terminal =
        home.run_in_terminal(&["run", "--events", events.to_str().unwrap(), "--", "bash", "-c", ASK]);
    let id = home.prompt_id();
    home.run(["approve", &id]);
    terminal.end();
    let names: Vec<String> =
        read_events(&events).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["seen", "injected", "injected", "gone"]);
}

fn read_events(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// No variable of ours that could hold a secret reaches the tool.
#[test]
fn the_tool_does_not_see_our_variables() {
    let home = home();
    let mut env = home.environment();
    env.push(("ATLASBRIDGE_TELEGRAM_BOT_TOKEN".to_owned(), "123456:secret".to_owned()));
    let terminal = Terminal::start(home.binary(), &["run", "--", "env"], &env, 100, 30);
    let (_, shown) = terminal.end();
    let ours: Vec<_> = shown.lines().filter(|line| line.starts_with("ATLASBRIDGE_")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("ATLASBRIDGE_SESSION="), "{ours:?}");
}
