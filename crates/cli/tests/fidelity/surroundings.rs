//! What the tool finds around it: environment, signals, descriptors, limits, directory.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use atlasbridge_testkit::Terminal;

use crate::scene::{assert_same_bytes, home, program, quoted};

#[test]
fn the_environment_is_ours_without_our_own() {
    let home = home();
    let mut command = home.command(["run", "--", "env", "-0"]);
    command
        .env("ATLASBRIDGE_TELEGRAM_BOT_TOKEN", "123:secret")
        .env("ATLASBRIDGE_LOG", "off")
        .env("OTHER", "kept\nwhole");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ours: Vec<_> = text.split('\0').filter(|variable| variable.contains("ATLASBRIDGE")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("ATLASBRIDGE_SESSION="), "{ours:?}");
    assert!(!text.contains("secret"));
    assert!(text.split('\0').any(|variable| variable == "OTHER=kept\nwhole"));

    let direct = Command::new("env").arg("-0").env("OTHER", "kept\nwhole").output().unwrap();
    let names = |text: &str| {
        let mut names: Vec<_> = text
            .split('\0')
            .filter_map(|variable| variable.split_once('='))
            .map(|(name, _)| name.to_owned())
            .collect();
        names.retain(|name| !name.starts_with("ATLASBRIDGE_"));
        names.sort();
        names
    };
    assert_eq!(names(&text), names(&String::from_utf8_lossy(&direct.stdout)));
}

/// Everything of a process that its parent decides.
const SURROUNDINGS: &str = "grep -E '^(Sig(Blk|Ign|Cgt)|Umask|Seccomp|NoNewPrivs|CapEff|Groups|Uid)' /proc/self/status; \
    umask; ulimit -a; pwd; ls /proc/self/fd | tr '\\n' ' '; nice; cat /proc/self/oom_score_adj; echo \"$0\" \"$@\"";

/// The same script in the same shell on the same kind of terminal, without us and with us.
#[test]
fn the_tool_finds_what_it_would_find_without_us() {
    let home = home();
    let (bash, script) = (program("bash"), quoted(SURROUNDINGS));
    let shown = |before: &str| {
        let command = format!(
            "umask 027; ulimit -n 512; cd /usr; nice -n 3 {before} {bash} -c {script} name 'an argument' ''"
        );
        let terminal = Terminal::start(bash.as_ref(), &["-c", &command], &home.environment(), 100, 30);
        let (code, shown) = terminal.end();
        assert_eq!(code, 0);
        shown
    };
    let wrapped = shown(&format!("{} run --quiet --", home.binary().display()));
    let direct = shown("");
    assert_same_bytes(wrapped.as_bytes(), direct.as_bytes(), "surroundings");
    assert!(wrapped.contains("SigIgn:\t0000000000000000\r\n"), "{wrapped}");
}

/// A shell without job control starts background jobs with SIGINT ignored, and gzip then does not ask.
#[test]
fn a_tool_asks_though_we_were_started_to_ignore_sigint() {
    let home = home();
    let folder = home.scratch().display().to_string();
    fs::write(home.scratch().join("file"), "new").unwrap();
    fs::write(home.scratch().join("file.gz"), "old").unwrap();
    let command = format!(
        "trap '' INT QUIT; cd {folder}; exec {} run -- {} -k file",
        home.binary().display(),
        program("gzip")
    );
    let mut terminal =
        Terminal::start(program("bash").as_ref(), &["-c", &command], &home.environment(), 100, 30);
    terminal.wait_for("overwrite");
    terminal.type_keys("n\r");
    terminal.end();
    assert_eq!(fs::read_to_string(home.scratch().join("file.gz")).unwrap(), "old");
}

#[test]
fn the_directory_may_be_gone() {
    let home = home();
    let gone = home.scratch().join("gone");
    fs::create_dir(&gone).unwrap();
    let script =
        format!("cd {0}; rmdir {0}; exec {1} run -- echo ran", gone.display(), home.binary().display());
    let output = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .envs(home.environment())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "ran\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Arguments are bytes.
#[test]
fn arguments_are_passed_as_they_are() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = home();
    let odd = OsStr::from_bytes(b"not \xff utf-8");
    let words = [
        OsStr::new("run"),
        OsStr::new("--"),
        OsStr::new("printf"),
        OsStr::new("[%s]"),
        odd,
        OsStr::new(""),
        OsStr::new("--help"),
        OsStr::new("a\nb"),
    ];
    let output = home.command(words).output().unwrap();
    assert_eq!(output.stdout, b"[not \xff utf-8][][--help][a\nb]");
    // A tool of another name, by its path.
    let output =
        home.command(["run", "--", "/bin/sh", "-c", "echo $0", "name"]).arg0("atlasbridge").output().unwrap();
    assert_eq!(output.stdout, b"name\n");
}
