//! Too many answers in a minute: a warning, a pause, and a way to go on. Whoever sits at the machine notices nothing.

use atlasbridge_testkit::{Terminal, eventually};
use serde_json::Value;

use crate::{ANN, Desk};

/// Per session and minute.
const MOST_ANSWERS: usize = 10;
const QUESTIONS: &str = r#"for n in {01..16}; do read -p "Step $n? (y/n) " a; echo "step$n=[$a]"; done"#;

/// A session that was answered from the chat as often as it may be, and once more.
fn paused(desk: &Desk) -> (Terminal, String) {
    let terminal = desk.home.bash(QUESTIONS);
    for n in 1..=MOST_ANSWERS {
        let prompt = desk.prompt(&format!("Step {n:02}?"));
        desk.taps(&prompt, "Yes");
        terminal.wait_for(&format!("step{n:02}=[y]"));
    }
    let next = desk.prompt("Step 11?");
    for _ in 0..2 {
        let told = desk.taps(&next, "Yes");
        let ways = ["paused", "/resume", "atlasbridge sessions resume", "Nothing was typed"];
        assert!(ways.iter().all(|way| told.contains(way)), "{told}");
    }
    desk.telegram.replies(ANN, desk.chat, next.id, "yes");
    let reply = desk.hears("This session is paused");
    assert!(reply.reply_to.is_some(), "{reply:?}");
    assert_eq!(desk.rejections(), ["too_many", "paused", "paused"]);
    let listed = desk.home.sessions().remove(0);
    assert_eq!(listed["paused"], true, "{listed}");
    assert!(desk.home.run(["sessions", "list"]).stdout.contains(", paused"));
    desk.says("/sessions");
    desk.hears(", paused ·");
    let session = listed["session_id"].as_str().unwrap().to_owned();
    (terminal, session)
}

#[track_caller]
fn goes_on(desk: &Desk, terminal: Terminal) {
    let next = desk.prompt("Step 13?");
    desk.taps(&next, "Yes");
    terminal.wait_for("step13=[y]");
    let warnings = desk.telegram.messages(desk.chat);
    let warnings = warnings.iter().filter(|message| message.text.contains("It is paused"));
    assert_eq!(warnings.count(), 1);
    for n in 1..=13 {
        assert_eq!(terminal.count(&format!("step{n:02}=[")), 1);
    }
    desk.nothing_was_violated();
}

/// The id of the prompt that asks this, once it is listed: the one before may be listed until the hub hears of its end.
#[track_caller]
fn asked(desk: &Desk, question: &str) -> String {
    eventually(question, || {
        let waiting = desk.home.approvals();
        let asks = |prompt: &&Value| prompt["excerpt"].as_str().is_some_and(|text| text.contains(question));
        Some(waiting.iter().find(asks)?["prompt_id"].as_str()?.to_owned())
    })
}

/// What the chat cannot do meanwhile, the keyboard and the command line can.
#[track_caller]
fn is_answered_at_the_machine(desk: &Desk, terminal: &mut Terminal) {
    assert_eq!(terminal.count("step11="), 0);
    terminal.type_keys("n\r");
    terminal.wait_for("step11=[n]");
    terminal.wait_for("Step 12?");
    let approved = desk.home.run(["approve", &asked(desk, "Step 12?")]);
    assert_eq!(approved.code, 0, "{approved:?}");
    terminal.wait_for("step12=[y]");
    terminal.wait_for("Step 13?");
    asked(desk, "Step 13?");
    desk.says("/status");
    desk.hears("prompts waiting");
    let shown = desk.telegram.messages(desk.chat);
    for unseen in ["Step 12?", "Step 13?"] {
        assert!(!shown.iter().any(|message| message.text.contains(unseen)), "{unseen}");
    }
}

#[test]
fn too_many_answers_pause_a_session_until_the_chat_says_resume() {
    let desk = Desk::new();
    let (mut terminal, session) = paused(&desk);
    let warning = desk.hears("It is paused");
    for way in
        [format!("/resume {}", &session[..8]), format!("atlasbridge sessions resume {}", &session[..8])]
    {
        assert!(warning.text.contains(&way), "{}", warning.text);
    }
    is_answered_at_the_machine(&desk, &mut terminal);
    desk.says(&format!("/resume {}", &session[..8]));
    desk.hears("are taken again");
    goes_on(&desk, terminal);
}

#[test]
fn too_many_answers_pause_a_session_until_the_command_line_resumes_it() {
    let desk = Desk::new();
    let (mut terminal, session) = paused(&desk);
    is_answered_at_the_machine(&desk, &mut terminal);
    let resumed = desk.home.run(["sessions", "resume", &session[..8]]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let again = desk.home.run(["sessions", "resume", &session[..8]]);
    assert!(again.code == 1 && again.stderr.contains("not paused"), "{again:?}");
    goes_on(&desk, terminal);
}
