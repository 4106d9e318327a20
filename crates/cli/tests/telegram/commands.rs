//! What a person may ask the bot for.

use crate::Desk;

#[test]
fn commands_are_answered() {
    let desk = Desk::new();
    let terminal = desk.home.run_in_terminal(&[
        "run",
        "--quiet",
        "--label",
        "deploy",
        "--",
        "bash",
        "-c",
        "echo hello-screen; read line; echo got=[$line]",
    ]);
    terminal.wait_for("hello-screen");
    desk.home.session_is("active");
    desk.says("/start");
    desk.hears("telegram:4242");
    desk.says("/help");
    desk.hears("/mute 30m");
    desk.says("/sessions");
    desk.hears("“deploy”");
    desk.says("/status");
    desk.hears("telegram: connected");
    desk.says("/screen");
    desk.hears("hello-screen");
    desk.says("/nonsense");
    desk.hears("/nonsense is no command");
    desk.nothing_was_violated();
}

#[test]
fn sessions_and_status_tell_what_waits_now() {
    let desk = Desk::new();
    let mut terminal = desk
        .home
        .bash(r#"for n in 1 2; do read -p "Delete file $n? (y/n) " answer; done; echo up; sleep 600"#);
    let first = desk.prompt("Delete file 1?");
    terminal.type_keys("n\r");
    desk.ends(&first, "answered");
    desk.prompt("Delete file 2?");
    let pid = desk.home.session_is("active")["pid"].as_i64().unwrap();
    desk.says("/sessions");
    let listed = desk.hears("1 waiting").text;
    assert!(listed.contains(&format!("pid {pid}")), "{listed}");
    let code = desk.home.prompt_id()[..8].to_owned();
    desk.says("/status");
    let told = desk.hears("1 prompts waiting").text;
    assert!(told.lines().any(|line| line.starts_with(&code) && line.ends_with(": waiting")), "{told}");
    desk.home.run(["reply", &code, "cancel"]);
    desk.says("/status");
    let told = desk.hears("0 prompts waiting").text;
    assert!(told.contains(": left to the terminal"), "{told}");
    terminal.type_keys("n\r");
    terminal.wait_for("up");
    desk.says("/sessions");
    desk.hears("0 waiting");
}

#[test]
fn a_silence_lasts_a_week_at_most() {
    let desk = Desk::new();
    let terminal = desk.home.bash("echo up; sleep 600");
    terminal.wait_for("up");
    desk.says("/mute 8d");
    desk.hears("at most 7 days");
    desk.says("/mute 7d");
    desk.hears("No new prompts here for 168 h");
}

#[test]
fn a_session_is_stopped_only_after_a_question() {
    let desk = Desk::new();
    let terminal = desk.home.bash("echo up; sleep 600");
    terminal.wait_for("up");
    // The tool's first words do not wait for the hub.
    desk.home.session_is("active");
    desk.says("/stop");
    let question = desk.hears("SIGTERM");
    assert!(desk.taps(&question, "Leave it running").contains("Nothing"));
    desk.says("/stop");
    let question = desk.telegram.wait_message(
        desk.chat,
        |message| message.text.contains("SIGTERM") && message.id > question.id,
        "the question comes again",
    );
    desk.taps(&question, "End it");
    assert_eq!(desk.home.session_is("terminated")["status"], "terminated");
    terminal.end();
}

#[test]
fn with_two_sessions_a_plain_text_needs_a_switch() {
    let desk = Desk::new();
    let ask = |name: &str| format!(r#"read -p "{name}? (y/n) " a; echo "{name}=[$a]""#);
    let one = desk.home.bash(&ask("first"));
    desk.prompt("first?");
    let two = desk.home.bash(&ask("second"));
    desk.prompt("second?");
    desk.says("yes");
    desk.hears("Multiple active sessions");
    let sessions = desk.home.sessions();
    let newest = sessions[0]["session_id"].as_str().unwrap().to_owned();
    desk.says(&format!("/switch {}", &newest[..8]));
    desk.hears("Plain messages are for");
    desk.says_later("yes");
    two.wait_for("second=[y]");
    assert_eq!(one.count("first=["), 0);
}

#[test]
fn a_muted_chat_gets_no_new_prompts_until_it_wants_them() {
    let desk = Desk::new();
    let terminal = desk
        .home
        .bash(r#"echo up; read -p "Go? (y/n) " a; echo "a=[$a]"; read -p "Again? (y/n) " b; echo "b=[$b]""#);
    let prompt = desk.prompt("Go?");
    desk.says("/mute 1h");
    desk.hears("No new prompts");
    desk.taps(&prompt, "Yes");
    terminal.wait_for("a=[y]");
    desk.ends(&prompt, "applied");
    assert!(!desk.telegram.messages(desk.chat).iter().any(|message| message.text.contains("Again?")));
    desk.says("/mute off");
    desk.prompt("Again?");
}
