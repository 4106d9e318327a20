//! `setup telegram`: from a token to a tap.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use atlasbridge_testkit::Home;
use atlasbridge_testkit::telegram::FakeTelegram;

use crate::{ANN, TOKEN};

#[test]
fn a_person_is_led_from_the_token_to_a_tap() {
    let telegram = FakeTelegram::start(TOKEN);
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    let mut terminal = home.run_in_terminal(&["setup", "telegram", "--api-url", &telegram.api_url()]);
    terminal.wait_for("paste its token");
    terminal.type_keys(format!("{TOKEN}\r"));
    terminal.wait_for("The token is good");
    let chat = telegram.private_chat(ANN, "Ann");
    telegram.starts(ANN);
    terminal.wait_for("(id 4242)");
    terminal.type_keys("y\r");
    let test = telegram.wait_message(
        chat,
        |message| message.text.contains("test of AtlasBridge"),
        "the test arrives",
    );
    telegram.taps(ANN, chat, test.id, "It works");
    terminal.wait_for("The tap has arrived");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains(TOKEN), "the token was shown");
    let file = home.path().join("config.toml");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("allowed_users = [{ANN}]")), "{text}");
    assert_eq!(home.run(["config", "check"]).code, 0);
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[test]
fn without_questions_it_takes_the_token_from_standard_input() {
    let telegram = FakeTelegram::start(TOKEN);
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    let setup = |token: &str| {
        let args = ["setup", "telegram", "--token-stdin", "--user", "7", "--api-url", &telegram.api_url()];
        let mut child = home
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(token.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let wrong = setup("123456789:AAEwrong567890123456789012345678901");
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && told.contains("does not know this token"), "{told}");
    assert!(!told.contains("AAEwrong"), "{told}");
    assert!(!home.path().join("config.toml").exists(), "nothing is written");
    assert!(!setup("nonsense").status.success());
    let good = setup(TOKEN);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    assert_eq!(home.run(["config", "check"]).code, 0);
}
