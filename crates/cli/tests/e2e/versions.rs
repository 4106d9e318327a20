//! A tool's version: asked of the tool, remembered while its file stays the same, and worth a word where nobody has
//! proved its dialogs. The tools here are scripts that print a version, as the real ones do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atlasbridge_testkit::{Finished, Home, eventually};
use serde_json::Value;

use crate::home;

/// A script of this name in a directory of its own, that counts in `asked` how often it was asked.
fn tool(home: &Home, name: &str, on_version: &str, otherwise: &str) -> PathBuf {
    let directory = home.scratch().join("bin");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join(name);
    let script = format!(
        "#!/bin/bash\nif [ \"$*\" = --version ]; then\necho x >> {asked}\n{on_version}\nexit\nfi\n{otherwise}\n",
        asked = home.scratch().join("asked").display(),
    );
    // Another file each time, as an installer makes one: the running one may be busy.
    let _ = fs::remove_file(&file);
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn times_asked(home: &Home) -> usize {
    let asked = fs::read_to_string(home.scratch().join("asked")).unwrap_or_default();
    asked.lines().count()
}

#[track_caller]
fn run(home: &Home, tool: &Path) -> Finished {
    let ran = home.run(["run", "--", &tool.display().to_string()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("it runs"), "{ran:?}");
    ran
}

#[test]
fn a_version_that_nobody_proved_is_said_and_runs_all_the_same() {
    let home = home();
    for (version, word) in [
        ("echo '2.1.325 (Claude Code)'", None),
        ("echo 2.0.80", None),
        ("echo 99.0.1", Some("newer than 2.1.325")),
        ("echo 0.2.9", Some("older than 1.0.128")),
        // Standard error counts where standard output says nothing.
        ("echo 'claude 98.7.6' >&2", Some("98.7.6")),
        ("echo 'node v30.0.0' >&2; echo 2.1.325", None),
    ] {
        let claude = tool(&home, "claude", version, "echo it runs");
        let said = run(&home, &claude).stderr;
        match word {
            None => assert!(!said.contains("proved on"), "{version}: {said}"),
            Some(word) => assert!(
                said.contains(word)
                    && said.contains("1.0.128, 2.0.77, 2.1.197, 2.1.325")
                    && said.contains("atlasbridge adapters show claude")
                    && said.contains("ATLASBRIDGE_CAPTURE_PROMPTS=1"),
                "{version}: {said}"
            ),
        }
    }
    let claude = tool(&home, "claude", "echo 99.0.1", "echo it runs");
    let quiet = home.run(["run", "--quiet", "--", &claude.display().to_string()]);
    assert!(!quiet.stderr.contains("99.0.1"), "{quiet:?}");
}

#[test]
fn a_tool_is_asked_once_for_as_long_as_its_file_is_the_same() {
    let home = home();
    let aider = tool(&home, "aider", "echo aider 0.86.2", "echo it runs");
    run(&home, &aider);
    run(&home, &aider);
    assert_eq!(times_asked(&home), 1);
    let cache = home.path().join("cache/versions.json");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cache), mode(cache.parent().unwrap())), (0o600, 0o700));
    let kept: Value = serde_json::from_slice(&fs::read(&cache).unwrap()).unwrap();
    let path = fs::canonicalize(&aider).unwrap().display().to_string();
    assert_eq!(kept[&path]["version"], "0.86.2");

    // A link to it is the same program; an update is another.
    let link = home.scratch().join("aider");
    std::os::unix::fs::symlink(&aider, &link).unwrap();
    run(&home, &link);
    assert_eq!(times_asked(&home), 1);
    tool(&home, "aider", "echo aider 77.0.0", "echo it runs");
    let updated = run(&home, &link);
    assert_eq!(times_asked(&home), 2);
    assert!(updated.stderr.contains("77.0.0"), "{updated:?}");

    for broken in ["", "{ what", "[1, 2]", "{\"a\": 3}"] {
        fs::write(&cache, broken).unwrap();
        let before = times_asked(&home);
        run(&home, &aider);
        run(&home, &aider);
        assert_eq!(times_asked(&home), before + 1, "made anew from {broken:?}");
    }
    // Even where it can be neither read nor written.
    fs::remove_file(&cache).unwrap();
    fs::create_dir(&cache).unwrap();
    run(&home, &aider);
}

#[test]
fn only_a_tool_that_is_known_by_name_is_asked() {
    let home = home();
    let unknown = tool(&home, "deployctl", "echo 1.2.3", "echo it runs");
    run(&home, &unknown);
    let other = home.run(["run", "--adapter", "claude", "--", &unknown.display().to_string()]);
    assert!(other.stdout.contains("it runs"), "{other:?}");
    assert_eq!(times_asked(&home), 0);
    // One's own adapter may say how.
    let adapters = home.path().join("adapters");
    fs::create_dir_all(&adapters).unwrap();
    let pack = "[tool]\nname = \"deployctl\"\nbinaries = [\"deployctl\"]\nversion_args = [\"--version\"]\n\
                [[proved]]\nversion = \"1.1\"\nrecordings = []\n";
    fs::write(adapters.join("deployctl.toml"), pack).unwrap();
    let ran = run(&home, &unknown);
    assert_eq!(times_asked(&home), 1);
    assert!(ran.stderr.contains("1.2.3") && ran.stderr.contains("newer than 1.1.0"), "{ran:?}");
}

/// The question has no input, none of our variables, and an end: a bounded answer, a time limit.
#[test]
fn a_tool_that_does_not_answer_is_ended_with_its_children() {
    for endless in ["yes", "sleep 3700"] {
        let home = home();
        let trace = home.scratch().join("trace");
        let pid = home.scratch().join("pid");
        let on_version = format!(
            "cat > {trace}; env | grep -c ^ATLASBRIDGE_ >> {trace}\nsleep 3700 & echo $! > {pid}\n{endless}",
            trace = trace.display(),
            pid = pid.display(),
        );
        let gemini = tool(&home, "gemini", &on_version, "echo it runs");
        run(&home, &gemini);
        assert_eq!(fs::read_to_string(&trace).unwrap(), "0\n");
        let child = fs::read_to_string(&pid).unwrap();
        eventually("its child is gone", || (!Path::new("/proc").join(child.trim()).exists()).then_some(()));
        // Silence is remembered, too: a second start does not wait again.
        run(&home, &gemini);
        assert_eq!(times_asked(&home), 1, "{endless}");
    }
}
