//! Two people on the allowlist: both are asked, one answers, the other sees who.

use atlasbridge_testkit::telegram::Message;

use crate::{ANN, Desk, config};

const BOB: i64 = 5353;

fn desk() -> (Desk, i64) {
    let desk = Desk::new();
    let bob = desk.telegram.private_chat(BOB, "Bob");
    let text = config(&desk.telegram.api_url(), "");
    let both = format!("allowed_users = [{ANN}, {BOB}]");
    desk.home.write_config(&text.replace(&format!("allowed_users = [{ANN}]"), &both));
    (desk, bob)
}

#[track_caller]
fn asked(desk: &Desk, chat: i64, text: &str) -> Message {
    desk.telegram.wait_message(
        chat,
        |message| message.text.contains(text) && !message.buttons.is_empty(),
        "each of them is asked",
    )
}

#[track_caller]
fn ends(desk: &Desk, message: &Message, words: &[String]) {
    desk.telegram.wait_edit(
        message.chat,
        message.id,
        |message| message.buttons.is_empty() && words.iter().all(|word| message.text.contains(word)),
        "both see who answered",
    );
}

#[test]
fn one_answers_and_the_other_sees_who() {
    let (desk, bob) = desk();
    let terminal = desk.home.bash(r#"read -p "Go? (y/n) " a; echo "a=[$a]""#);
    let (to_ann, to_bob) = (asked(&desk, desk.chat, "Go?"), asked(&desk, bob, "Go?"));
    let tap = desk.telegram.taps(BOB, bob, to_bob.id, "No");
    desk.telegram.wait_tap_answer(&tap, "Bob is answered");
    terminal.wait_for("a=[n]");
    let words = ["Applied".to_owned(), format!("telegram:{BOB}")];
    ends(&desk, &to_ann, &words);
    ends(&desk, &to_bob, &words);
    desk.nothing_was_violated();
}

#[test]
fn of_two_taps_at_once_one_wins_and_both_see_which() {
    let (desk, bob) = desk();
    let terminal = desk.home.bash(
        r#"for n in {1..6}; do read -p "Step $n? (y/n) " a; echo "step$n=[$a]"; done; read -p "End? (y/n) " a; echo "end=[$a]""#,
    );
    for n in 1..=6 {
        let question = format!("Step {n}?");
        let (to_ann, to_bob) = (asked(&desk, desk.chat, &question), asked(&desk, bob, &question));
        // Both are on their way before the hub hears of either.
        desk.telegram.wait_polled("the hub listens");
        let yes = to_ann.button("Yes").unwrap().data.clone();
        let no = to_bob.button("No").unwrap().data.clone();
        let taps = [
            desk.telegram.forges_tap(ANN, desk.chat, to_ann.id, &yes),
            desk.telegram.forges_tap(BOB, bob, to_bob.id, &no),
        ];
        let told = taps.map(|tap| {
            let answer = desk.telegram.wait_tap_answer(&tap, "each tap is answered");
            answer.text.unwrap_or_default()
        });
        terminal.wait_for(&format!("step{n}=["));
        let won = [
            terminal.text().contains(&format!("step{n}=[y]")),
            terminal.text().contains(&format!("step{n}=[n]")),
        ];
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let (winner, loser) = if won[0] { (ANN, 1) } else { (BOB, 0) };
        assert!(told[loser].contains("Too late"), "{told:?}");
        let words = ["Applied".to_owned(), format!("telegram:{winner}")];
        ends(&desk, &to_ann, &words);
        ends(&desk, &to_bob, &words);
    }
    let last = asked(&desk, desk.chat, "End?");
    desk.taps(&last, "No");
    terminal.wait_for("end=[n]");
    desk.nothing_was_violated();
}
