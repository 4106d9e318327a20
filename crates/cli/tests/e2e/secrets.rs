//! A password is typed by whom it belongs to, or not at all; and it leaves no trace.

use std::path::Path;

use atlasbridge_testkit::eventually;
use serde_json::Value;

use crate::home;

const SECRET: &str = "correct-horse-battery";
/// Shows that the secret arrived without naming it: the script itself is on record as the session's command.
const ASK: &str = r#"read -s -p "Password: " answer; echo; [ "${answer/horse/pony}" = correct-pony-battery ] && echo "it was right""#;

#[test]
fn a_password_is_not_taken_from_afar_by_default() {
    let home = home();
    let mut terminal = home.bash(ASK);
    let prompt = home.one_prompt();
    assert_eq!((&prompt["kind"], &prompt["safe_default"]), (&"password".into(), &Value::Null));
    let id = prompt["prompt_id"].as_str().unwrap();
    let told = home.run(["reply", id, SECRET]);
    assert_eq!((told.code, told.stderr.contains("secrets_over_channels")), (1, true), "{told:?}");
    terminal.type_keys(format!("{SECRET}\r"));
    assert!(terminal.end().1.contains("it was right"));
    assert_eq!(home.end_of(id), "resolved answered_locally");
    assert_eq!(traces_of_secret(&home.path()), Vec::<String>::new());
}

#[test]
fn a_password_that_is_taken_leaves_no_trace() {
    let home = home();
    home.write_config("[prompts]\nsecrets_over_channels = true\n");
    let events = home.scratch().join("events");
    let terminal =
        home.run_in_terminal(&["run", "--events", events.to_str().unwrap(), "--", "bash", "-c", ASK]);
    let id = home.prompt_id();
    let mut reply = home.command(["reply", &id, "-"]);
    let mut reply =
        reply.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut reply.stdin.take().unwrap(), format!("{SECRET}\n").as_bytes()).unwrap();
    assert!(reply.wait_with_output().unwrap().status.success());
    let (_, shown) = terminal.end();
    assert!(shown.contains("it was right") && !shown.contains(SECRET), "{shown:?}");
    assert_eq!(home.end_of(&id), "resolved applied");
    assert_eq!(home.audit_has("REPLY_INJECTED", Some(&id))["value"], "secret");
    assert_eq!(traces_of_secret(home.scratch()), Vec::<String>::new());
}

/// A hub that is killed with a secret in its memory has lost it: the operator is told, nothing is typed.
#[test]
fn a_secret_that_died_with_the_hub_is_not_typed() {
    let home = home();
    home.write_config("[prompts]\nsecrets_over_channels = true\n");
    let mut terminal = home.bash(ASK);
    let id = home.prompt_id();
    let accepted = home.pause_at("hub-after-accept");
    let reply = home.start(["reply", &id, SECRET]);
    accepted.kill();
    assert_eq!(reply.end().code, 1);
    assert_eq!(home.end_of(&id), "failed not_recorded");
    terminal.type_keys(format!("{SECRET}\r"));
    assert!(terminal.end().1.contains("it was right"));
    assert_eq!(traces_of_secret(&home.path()), Vec::<String>::new());
}

/// An answer that looks like a token, to a question that is not known to ask for one.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const ASK_TOKEN: &str = r#"read -r -p "Value for deploy: " answer; [ "${answer/ghp_/}" = 0123456789abcdefghijABCDEFGHIJ012345 ] && clear && echo "it was right"; read -r wait"#;

#[test]
fn an_answer_that_looks_like_a_token_is_not_kept() {
    let home = home();
    let terminal = home.bash(ASK_TOKEN);
    let id = home.prompt_id();
    assert_eq!(home.run(["reply", &id, TOKEN]).code, 0);
    terminal.wait_for("it was right");
    assert_eq!(home.end_of(&id), "resolved applied");
    assert_eq!(home.audit_has("REPLY_INJECTED", Some(&id))["value"], "text of 40 characters");
    eventually("nothing holds it any more", || traces_of(TOKEN, &home.path()).is_empty().then_some(()));
}

#[test]
fn an_answer_that_looks_like_a_token_outlives_the_hub_until_it_is_typed() {
    let home = home();
    let terminal = home.bash(ASK_TOKEN);
    let id = home.prompt_id();
    let accepted = home.pause_at("hub-after-accept");
    let reply = home.start(["reply", &id, TOKEN]);
    accepted.kill();
    reply.end();
    terminal.wait_for("it was right");
    assert_eq!(home.end_of(&id), "resolved applied");
    eventually("nothing holds it any more", || traces_of(TOKEN, &home.path()).is_empty().then_some(()));
}

fn traces_of_secret(directory: &Path) -> Vec<String> {
    traces_of(SECRET, directory)
}

/// The files below `directory` that hold the secret.
fn traces_of(secret: &str, directory: &Path) -> Vec<String> {
    let output = std::process::Command::new("grep").args(["-rlaF", secret]).arg(directory).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
