//! Whoever types at the terminal is not called on the phone; what they leave unanswered is.

use std::time::{Duration, Instant};

use crate::{Desk, config};

/// Somebody types a line, and is asked right after it.
const QUESTION: &str = r#"echo ready; read -r line; read -p "Go? (y/n) " a; echo "a=[$a]"; sleep 600"#;

fn desk(grace: u64) -> Desk {
    let desk = Desk::new();
    let config = config(&desk.telegram.api_url(), "");
    let with_grace = format!("presence_grace_seconds = {grace}");
    desk.home.write_config(&config.replace("presence_grace_seconds = 0", &with_grace));
    desk
}

#[test]
fn a_prompt_waits_until_nobody_has_typed_for_a_while() {
    let desk = desk(3);
    let mut terminal = desk.home.bash(QUESTION);
    terminal.wait_for("ready");
    let typed = Instant::now();
    terminal.type_keys("a line\r");
    terminal.wait_for("Go?");
    let prompt = desk.prompt("Go?");
    assert!(typed.elapsed() >= Duration::from_millis(2_990), "it came after {:?}", typed.elapsed());
    desk.taps(&prompt, "Yes");
    terminal.wait_for("a=[y]");
}

#[test]
fn what_is_answered_at_the_keyboard_meanwhile_is_never_sent() {
    let desk = desk(3600);
    let mut terminal = desk.home.bash(QUESTION);
    terminal.wait_for("ready");
    terminal.type_keys("a line\r");
    terminal.wait_for("Go?");
    let prompt = desk.home.prompt_id();
    terminal.type_keys("n\r");
    terminal.wait_for("a=[n]");
    desk.home.end_of(&prompt);
    desk.says("/status");
    desk.hears("prompts waiting");
    let shown = desk.telegram.messages(desk.chat);
    assert!(!shown.iter().any(|message| message.text.contains("Go?")), "{shown:?}");
}
