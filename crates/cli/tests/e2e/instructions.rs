//! `atlasbridge send`: the next instruction of an agent, now or when it has finished.

use std::io::Write;
use std::process::Stdio;

use atlasbridge_testkit::{Finished, Home, Lines, ScriptedAgent, eventually};

use crate::home;

#[track_caller]
fn session(home: &Home) -> String {
    home.session_is("active")["session_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn refused(finished: &Finished, why: &str) {
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.stderr.contains(why), "{finished:?}");
}

#[test]
fn an_instruction_is_sent_now_or_when_the_agent_has_finished() {
    let home = home();
    let agent = ScriptedAgent::start(&home, "one", Lines::Several);
    home.one_prompt();
    let id = session(&home);
    let sent = home.run(["send", &id[..8], "begin"]);
    assert!(sent.code == 0 && sent.stdout.contains("applied"), "{sent:?}");
    agent.was_told(&["begin"]);

    let queued = home.run(["send", &id, "first", "--json"]);
    assert_eq!(queued.code, 0, "{queued:?}");
    let told = queued.json();
    assert_eq!(
        (&told["queued"], &told["replaces"], &told["session_id"]),
        (&true.into(), &false.into(), &id.clone().into())
    );
    assert!(told["told"].as_str().unwrap().contains("is working"), "{told}");
    assert_eq!(home.run(["send", &id, "--take-back"]).code, 0);
    refused(&home.run(["send", &id, "--take-back"]), "no instruction waits for this session");
    home.run(["send", &id, "second"]);
    let mut third = home.command(["send", &id, "-"]);
    let third = third.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut third = third.unwrap();
    third.stdin.take().unwrap().write_all(b"third\nof two lines\n").unwrap();
    let third: Finished = third.wait_with_output().unwrap().into();
    assert!(third.stdout.contains("takes the place of the one that was queued before"), "{third:?}");
    // A hub that dies in between loses nothing.
    home.kill_hub();
    agent.finish();
    agent.was_told(&["begin", "third\nof two lines"]);
    agent.finish();
    home.one_prompt();
    assert_eq!(agent.read().len(), 2, "each once");
    let told: Vec<String> = home
        .audit()
        .iter()
        .filter_map(|record| record["value"].as_str().map(str::to_owned))
        .filter(|value| value.contains("queued"))
        .collect();
    assert_eq!(
        told,
        [
            "text of 5 characters, queued",
            "queued text taken back",
            "text of 6 characters, queued",
            "text of 19 characters, queued"
        ],
        "on record, without a word of it"
    );
}

/// The hub dies with a text half sent: the real session host has it, or is about to. At every other step the simulation kills
/// it.
#[test]
fn a_hub_that_dies_sends_a_queued_text_once() {
    let home = home();
    let agent = ScriptedAgent::start(&home, "one", Lines::One);
    home.one_prompt();
    let id = session(&home);
    home.run(["send", &id, "begin"]);
    let mut told = vec!["begin"];
    for (point, text) in [("hub-before-deliver", "and then"), ("hub-after-deliver", "and last")] {
        agent.was_told(&told);
        let queued = home.run(["send", &id, text]);
        assert!(queued.stdout.contains("is working"), "{point}: {queued:?}");
        let pause = home.pause_at(point);
        agent.finish();
        pause.kill();
        told.push(text);
    }
    agent.was_told(&told);
    agent.finish();
    home.one_prompt();
    assert_eq!(agent.read().len(), told.len(), "each once");
}

#[test]
fn what_is_no_instruction_is_refused_with_the_reason() {
    let home = home();
    refused(&home.run(["send", "0123abcd", "go on"]), "there is no such session");
    let mut other = home.bash(r#"read -p "Name: " name; echo "got=[$name]""#);
    home.one_prompt();
    let id = session(&home);
    refused(&home.run(["send", &id, "go on"]), "bash has not waited for an instruction in this session");
    other.type_keys("x\r");
    other.end();
    refused(&home.run(["send", &id, "go on"]), "this session is over");

    let agent = ScriptedAgent::start(&home, "one", Lines::One);
    let idle = home.prompt_id();
    let id = session(&home);
    refused(&home.run(["send", &id, "  "]), "there is nothing to send");
    refused(&home.run(["send", &id, "one\ntwo"]), "must be one line");
    refused(&home.run(["send", &id, &"x".repeat(4001)]), "at most 4000");
    let shell = "`!rm -rf x` would be run as a shell command by";
    refused(&home.run(["send", &id, "!rm -rf x"]), shell);
    refused(&home.run(["reply", &idle, " !rm -rf x"]), shell);
    assert_eq!(home.run(["reply", &idle, "--as-is", "!rm -rf x"]).code, 0);
    agent.was_told(&["!rm -rf x"]);
    refused(&home.run(["send", &id, "/clear"]), "--as-is");
    assert_eq!(home.run(["send", &id, "--as-is", "/clear"]).code, 0);
    agent.finish();
    agent.was_told(&["!rm -rf x", "/clear"]);
    let reasons: Vec<String> = home
        .audit()
        .into_iter()
        .filter(|record| record["event"] == "REPLY_REJECTED")
        .map(|record| record["value"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        reasons,
        [
            "takes_no_instruction",
            "session_ended",
            "nothing_to_send",
            "not_one_line",
            "too_long",
            "not_plain",
            "not_plain",
            "not_plain"
        ]
    );
}

#[test]
fn a_reason_that_is_sent_afterwards_is_an_instruction_too() {
    let home = home();
    let terminal = home.bash(r#"read -p "Go? (y/n) " answer; echo "got=[$answer]""#);
    let id = home.prompt_id();
    refused(&home.run(["deny", &id, "/clear"]), "would be taken as a command by bash");
    assert_eq!(home.prompt_id(), id, "it still waits");
    assert_eq!(home.run(["deny", &id, "not today"]).code, 0);
    terminal.wait_for("got=[n]");
    terminal.end();
    eventually("it is told that nobody took it", || {
        let audit = home.audit();
        audit
            .iter()
            .any(|record| record["event"] == "REPLY_REJECTED" && record["value"] == "session_ended")
            .then_some(())
    });
}
