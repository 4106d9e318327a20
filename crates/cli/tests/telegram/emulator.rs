//! Once against a Bot API server that we did not write.

use atlasbridge_testkit::Home;
use atlasbridge_testkit::telegram::public_emulator;

use crate::{ANN, TOKEN, config};

#[test]
fn one_prompt_is_posted_tapped_and_applied() {
    let mut emulator = public_emulator();
    // It serves any bot; our configuration takes none whose token does not look like one.
    TOKEN.clone_into(&mut emulator.token);
    let home = Home::new(env!("CARGO_BIN_EXE_atlasbridge"));
    home.write_config(&config(&emulator.api_url, ""));
    let terminal = home.bash(r#"read -p "Delete 3 files? (y/n) " a; echo "a=[$a]""#);
    let prompt = emulator.wait("the prompt is posted", |entry| {
        let text = entry["message"]["text"].as_str();
        text.is_some_and(|text| text.contains("Delete 3 files?"))
    });
    let keyboard = prompt["message"]["reply_markup"]["inline_keyboard"].as_array().unwrap();
    let mut buttons = keyboard.iter().flat_map(|row| row.as_array().unwrap());
    let no = buttons.find(|button| button["text"] == "No").unwrap();
    let message = prompt["messageId"].as_i64().unwrap();
    emulator.taps(ANN, message, no["callback_data"].as_str().unwrap());
    terminal.wait_for("a=[n]");
    emulator.wait("the message tells its end", |entry| {
        let text = entry["message"]["text"].as_str();
        text.is_some_and(|text| text.contains("Applied"))
    });
}
