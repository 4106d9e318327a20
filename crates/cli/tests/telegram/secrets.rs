//! The bot's token is in the configuration, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

use atlasbridge_testkit::eventually;
use atlasbridge_testkit::telegram::{Fault, Times};

use crate::{Desk, TOKEN, config};

/// What a token is without its public half, the bot's id.
fn secret() -> &'static str {
    TOKEN.split_once(':').unwrap().1
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn holds_secret(bytes: &[u8]) -> bool {
    bytes.windows(secret().len()).any(|window| window == secret().as_bytes())
}

/// Every way to fail that we know of: errors of HTTP clients like to print the address, and the token is part of it.
fn fails_in_every_way(desk: &Desk) {
    let faults = [
        Fault::Status(500),
        Fault::Status(302),
        Fault::Status(404),
        Fault::CutJson,
        Fault::DropBefore,
        Fault::DropAfterHandling,
        Fault::TooManyRequests { retry_after: 1 },
    ];
    // Each method pauses longer after each failure: half of them for one, half for the other.
    for (fault, method) in faults.into_iter().zip(["editMessageText", "sendMessage"].into_iter().cycle()) {
        desk.telegram.fails(method, fault.clone(), Times::Next(1));
        desk.telegram.fails("answerCallbackQuery", fault, Times::Next(1));
    }
}

#[test]
fn the_token_is_nowhere_but_in_the_configuration() {
    let desk = Desk::new();
    let started = desk.home.command(["hub", "start"]).env("ATLASBRIDGE_LOG", "trace").output().unwrap();
    assert!(started.status.success());
    let environment = desk.home.scratch().join("environment");
    let script = format!(
        r#"tr '\0' '\n' < /proc/$$/environ > {0}; env >> {0}; for n in 1 2 3; do read -p "Step $n? (y/n) " a; echo "step$n=[$a]"; done; sleep 600"#,
        environment.display()
    );
    let terminal = desk.home.bash(&script);
    let first = desk.prompt("Step 1?");
    desk.taps(&first, "Yes");
    terminal.wait_for("step1=[y]");
    let shows = |words: &str| {
        let shown = desk.telegram.messages(desk.chat);
        shown.iter().any(|message| message.text.contains(words)).then_some(())
    };
    let second = desk.prompt("Step 2?");
    fails_in_every_way(&desk);
    desk.telegram.taps(crate::ANN, desk.chat, second.id, "Yes");
    terminal.wait_for("step2=[y]");
    eventually("the third prompt is sent in the end", || shows("Step 3?"));
    desk.telegram.unreachable();
    eventually("the hub notices", || {
        let status = desk.home.run(["status", "--json"]).stdout;
        status.contains("retrying").then_some(())
    });
    let mut seen = Vec::new();
    for args in [
        &["status", "--json"][..],
        &["status"],
        &["config", "show"],
        &["config", "check"],
        &["hub", "status", "--json"],
        &["sessions", "list", "--all", "--json"],
        &["approvals", "--json"],
        &["audit", "export"],
        &["logs"],
        &["doctor"],
    ] {
        let shown = desk.home.run(args);
        seen.push((format!("{args:?}"), format!("{}{}", shown.stdout, shown.stderr).into_bytes()));
    }
    let log = desk.home.path().join("hub.log");
    assert!(fs::read_to_string(&log).unwrap().contains("TRACE"), "it logs all it can");
    for file in files(desk.home.path().parent().unwrap()) {
        let is_config = file.file_name().is_some_and(|name| name == "config.toml");
        if let (false, Ok(bytes)) = (is_config, fs::read(&file)) {
            seen.push((file.display().to_string(), bytes));
        }
    }
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for name in ["cmdline", "environ"] {
            let path = process.path().join(name);
            if let Ok(bytes) = fs::read(&path) {
                seen.push((path.display().to_string(), bytes));
            }
        }
    }
    let leaks: Vec<&String> =
        seen.iter().filter(|(_, bytes)| holds_secret(bytes)).map(|(name, _)| name).collect();
    assert_eq!(leaks, Vec::<&String>::new());
    assert!(fs::metadata(&environment).unwrap().len() > 0);
    assert!(!terminal.text().contains(secret()));
}

/// A token of the environment reaches the hub that `run` starts, and not the tool.
#[test]
fn a_token_of_the_environment_does_not_reach_the_tool() {
    let desk = Desk::new();
    let text = config(&desk.telegram.api_url(), "");
    desk.home.write_config(&text.replace(&format!("bot_token = \"{TOKEN}\"\n"), ""));
    let environment = desk.home.scratch().join("environment");
    let script = format!(
        r#"tr '\0' '\n' < /proc/$$/environ > {0}; env >> {0}; read -p "Go? (y/n) " a; echo "a=[$a]""#,
        environment.display()
    );
    let mut variables = desk.home.environment();
    variables.push(("ATLASBRIDGE_TELEGRAM_BOT_TOKEN".to_owned(), TOKEN.to_owned()));
    let args = ["run", "--", "bash", "--norc", "-c", &script];
    let terminal = atlasbridge_testkit::Terminal::start(desk.home.binary(), &args, &variables, 100, 30);
    let prompt = desk.prompt("Go?");
    desk.taps(&prompt, "Yes");
    terminal.wait_for("a=[y]");
    let environment = fs::read(environment).unwrap();
    assert!(!environment.is_empty() && !holds_secret(&environment));
}

#[test]
fn a_card_says_whether_a_password_is_taken_here() {
    let desk = Desk::new();
    let script = r#"read -s -p "Password: " answer; echo "got ${#answer}""#;
    let terminal = desk.home.bash(script);
    desk.hears("Secrets are typed at the terminal, not here.");
    drop(terminal);
    // Else the next hub shows the old message anew, in the words that are waited for.
    let nothing_waits = || (desk.home.run(["approvals", "--json"]).stdout.trim() == "[]").then_some(());
    eventually("the first session has ended", nothing_waits);
    let on =
        config(&desk.telegram.api_url(), "").replace("[prompts]", "[prompts]\nsecrets_over_channels = true");
    desk.home.write_config(&on);
    desk.home.run(["hub", "restart"]);
    let terminal = desk.home.bash(script);
    let prompt = desk.hears("Reply to this message with it");
    assert!(!prompt.text.contains("not here"), "{}", prompt.text);
    desk.telegram.replies(crate::ANN, desk.chat, prompt.id, "sesame");
    terminal.wait_for("got 6");
}
