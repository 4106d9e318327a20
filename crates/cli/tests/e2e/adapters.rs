//! A tool that nobody has described becomes known by one file, without a rebuild; a broken file is said before
//! anything starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlasbridge_testkit::Home;

use crate::home;

/// The worked example of docs/adapters.md, and the tool it is for.
const EXAMPLE: &str = include_str!("../../../../docs/adapters/deployctl.toml");

fn own_adapter(home: &Home, text: &str) {
    let folder = home.path().join("adapters");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("deployctl.toml"), text).unwrap();
}

#[test]
fn the_built_in_adapters_are_listed_and_can_be_read() {
    let home = home();
    let listed = home.run(["adapters", "list", "--json"]).json();
    let names: Vec<_> =
        listed.as_array().unwrap().iter().map(|pack| pack["name"].as_str().unwrap()).collect();
    for name in ["claude", "codex", "gemini", "aider", "opencode", "qwen", "generic"] {
        assert!(names.contains(&name), "{name} in {names:?}");
        // What is printed is what can be checked.
        let shown = home.run(["adapters", "show", name]);
        let file = home.scratch().join("shown.toml");
        fs::write(&file, &shown.stdout).unwrap();
        let checked = home.run(["adapters", "check", &file.display().to_string()]);
        assert_eq!(checked.code, 0, "{name}: {checked:?}");
    }
    assert_eq!(home.run(["adapters", "show", "clawd"]).code, 2);
}

#[test]
fn one_file_makes_a_tool_known() {
    let home = home();
    own_adapter(&home, EXAMPLE);
    let tool = home.scratch().join("deployctl");
    let script = "#!/bin/bash\nprintf 'Roll out build 7 to production?\\n\\n❯ 1. ship it\\n  2. hold back\\n'\nread -rsn1 key; echo \"got=[$key]\"; read -rt 0.3 rest; echo \"rest=[$rest]\"\n";
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = home.run_in_terminal(&["run", "--", &tool.display().to_string()]);
    let prompt = home.one_prompt();
    let labels: Vec<_> =
        prompt["choices"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["ship it", "hold back"], "{prompt}");
    assert_eq!(prompt["safe_default"], "hold back");
    let denied = home.run(["deny", prompt["prompt_id"].as_str().unwrap()]);
    assert_eq!(denied.code, 0, "{denied:?}");
    let (_, shown) = terminal.end();
    assert!(shown.contains("got=[2]") && shown.contains("rest=[]"), "{shown:?}");
}

#[test]
fn a_broken_file_is_said_before_the_tool_starts() {
    let home = home();
    own_adapter(&home, "[tool]\nname = \"deployctl\"\nbinarys = [\"deployctl\"]\n");
    let ran = home.run(["run", "--", "echo", "started"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("deployctl.toml:3"), "{ran:?}");
}

/// `openai` is the old name of codex, and stays.
#[test]
fn an_adapter_is_known_by_the_names_of_its_programs() {
    let home = home();
    let [old, new] = ["openai", "codex"].map(|name| home.run(["adapters", "show", name]));
    assert_eq!((old.code, &old.stdout), (0, &new.stdout));
}
