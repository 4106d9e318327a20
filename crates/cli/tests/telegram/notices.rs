//! What a chat hears without asking, each kind switchable; and how fast a message stops offering what is over.

use std::time::Duration;

use crate::{Desk, config};

fn desk(changes: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    let mut text = config(&desk.telegram.api_url(), "");
    for (old, new) in changes {
        assert!(text.contains(old));
        text = text.replace(old, new);
    }
    desk.home.write_config(&text);
    desk
}

/// What the chat was told of sessions, after everything that came before was sent: notices keep their order.
#[track_caller]
fn told(desk: &Desk) -> Vec<String> {
    desk.home.session_is("completed");
    desk.says("/sessions");
    desk.hears("No session runs");
    let messages = desk.telegram.messages(desk.chat);
    let is_notice = |text: &String| text.contains("has started") || text.contains("has ended");
    let texts = messages.into_iter().map(|message| message.text);
    texts.filter(is_notice).collect()
}

#[test]
fn start_and_end_are_told_where_they_are_wanted() {
    for (starts, ends) in [(true, true), (true, false), (false, true), (false, false)] {
        let start = format!("notify_start = {starts}");
        let end = format!("notify_end = {ends}");
        let desk = desk(&[("notify_start = false", &start), ("notify_end = false", &end)]);
        desk.home.bash("exit 0").end();
        let told = told(&desk);
        let has = |word: &str| told.iter().filter(|text| text.contains(word)).count();
        assert_eq!(
            (has("has started in"), has("has ended: completed, exit code 0")),
            (usize::from(starts), usize::from(ends)),
            "{told:?}"
        );
    }
}

/// An agent of which AtlasBridge knows how its empty input box looks.
const AGENT: [&str; 8] = [
    "run",
    "--adapter",
    "aider",
    "--",
    "bash",
    "--norc",
    "-c",
    r#"read -p "> " line; echo "got=[$line]"; read -p "Apply? (y/n) " a; echo "a=[$a]""#,
];

#[test]
fn an_idle_agent_is_announced_and_takes_its_next_instruction() {
    let desk = Desk::new();
    let terminal = desk.home.run_in_terminal(&AGENT);
    let idle = desk.telegram.wait_message(
        desk.chat,
        |message| message.text.to_lowercase().contains("idle") || message.text.contains("instruction"),
        "the chat hears that the agent waits",
    );
    desk.telegram.replies(crate::ANN, desk.chat, idle.id, "fix the tests");
    terminal.wait_for("got=[fix the tests]");
    desk.ends(&idle, "applied");
}

#[test]
fn an_idle_agent_is_not_announced_where_that_is_switched_off() {
    let desk = desk(&[("[prompts]", "[prompts]\nnotify_idle = false")]);
    let mut terminal = desk.home.run_in_terminal(&AGENT);
    terminal.wait_for("> ");
    terminal.type_keys("by hand\r");
    terminal.wait_for("got=[by hand]");
    desk.prompt("Apply?");
    assert_eq!(desk.telegram.messages(desk.chat).len(), 1);
}

/// Within 2 s is promised. The time is the service's own: from the moment the answer was on record to the edit.
#[test]
fn a_prompt_that_is_answered_elsewhere_loses_its_buttons_at_once() {
    let desk = Desk::new();
    let mut terminal = desk
        .home
        .bash(r#"for n in 1 2; do read -p "Step $n? (y/n) " a; echo "step$n=[$a]"; done; sleep 600"#);
    let first = desk.prompt("Step 1?");
    let prompt = desk.home.prompt_id();
    let answered = desk.telegram.now();
    assert_eq!(desk.home.run(["deny", &prompt]).code, 0);
    lost_its_buttons(&desk, first.id, answered, "command line");
    let second = desk.prompt("Step 2?");
    let answered = desk.telegram.now();
    terminal.type_keys("y\r");
    lost_its_buttons(&desk, second.id, answered, "at the terminal");
}

#[track_caller]
fn lost_its_buttons(desk: &Desk, message: i64, answered: Duration, word: &str) {
    desk.telegram.wait_edit(
        desk.chat,
        message,
        |message| message.buttons.is_empty() && message.text.contains(word),
        "the message tells who answered",
    );
    let history = desk.telegram.message(desk.chat, message).history;
    let with_buttons = history.iter().rfind(|version| !version.buttons.is_empty()).unwrap();
    let took = with_buttons.until.saturating_sub(answered);
    // Generous for a machine that is busy; as a rule it is some tens of milliseconds.
    assert!(took < Duration::from_secs(10), "{took:?}");
    eprintln!("buttons gone after {took:?} ({word})");
}
