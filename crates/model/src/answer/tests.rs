//! What people say, and what it means for each kind of prompt.

use super::*;
use crate::sighting::tests::{confirm_enter, free_text, idle, menu, password, unknown, yes_no};

#[track_caller]
fn row(said: Said, sighting: &Sighting, expected: &str) {
    let told = match check(&said, sighting, Rules::default()) {
        Ok(Checked::Type(value)) => format!("type {}", value.on_record()),
        Ok(Checked::Cancel) => "cancel".to_owned(),
        Err(refusal) => format!("refused: {refusal}"),
    };
    assert_eq!(told, expected, "{said:?}");
}

fn text(text: &str) -> Said {
    Said::Text(text.to_owned())
}

#[test]
fn yes_and_no_in_the_words_people_use() {
    for word in ["y", "Y", "yes", "YES", " yes "] {
        row(text(word), &yes_no(), "type yes");
    }
    for word in ["n", "no", "No"] {
        row(text(word), &yes_no(), "type no");
    }
    row(Said::Approve, &yes_no(), "type yes");
    row(Said::Deny, &yes_no(), "type no");
    row(Said::UseDefault, &yes_no(), "type no");
    row(text("sure"), &yes_no(), "refused: \"sure\" is none of the choices: yes · no");
}

#[test]
fn a_button_means_its_row_and_enter_only_what_takes_one() {
    let approval = menu(&["Yes", "Yes, and don't ask again", "No"]);
    row(Said::Row(1), &approval, "type Yes, and don't ask again");
    row(
        Said::Row(3),
        &approval,
        "refused: \"4\" is none of the choices: Yes · Yes, and don't ask again · No",
    );
    row(Said::Row(0), &free_text(), "refused: \"1\" is none of the choices: (none were read)");
    row(Said::Enter, &confirm_enter(), "type enter");
    row(Said::Enter, &unknown(), "type enter");
    row(Said::Enter, &yes_no(), "refused: \"enter\" is none of the choices: yes · no");
    row(
        Said::Enter,
        &password(),
        "refused: this prompt asks for a password; use `atlasbridge reply PROMPT VALUE`",
    );
}

#[test]
fn a_menu_is_answered_by_label_key_or_number() {
    let approval = menu(&["Yes", "Yes, and don't ask again", "No"]);
    row(Said::Approve, &approval, "type Yes");
    row(Said::Deny, &approval, "type No");
    let plan = menu(&["Yes, and use auto mode", "Yes, manually approve edits", "No"]);
    row(Said::Approve, &plan, "type Yes, manually approve edits");
    row(Said::Row(0), &plan, "type Yes, and use auto mode");
    for rows in [
        ["Yes, and use auto mode", "Yes, and don't ask again", "No"],
        ["Yes, this way", "Yes, that way", "No"],
    ] {
        row(
            Said::Approve,
            &menu(&rows),
            &format!(
                "refused: no single answer of this prompt accepts once and grants nothing more; pick one with `atlasbridge \
                 reply PROMPT ANSWER`: {}",
                rows.join(" · ")
            ),
        );
    }
    row(text("2"), &approval, "type Yes, and don't ask again");
    row(text("no"), &approval, "type No");
    row(text("YES, AND DON'T ASK AGAIN"), &approval, "type Yes, and don't ask again");
    row(text("4"), &approval, "refused: \"4\" is none of the choices: Yes · Yes, and don't ask again · No");
    row(
        text("stop it please"),
        &approval,
        "refused: \"stop it please\" is none of the choices: Yes · Yes, and don't ask again · No",
    );
    let colours = menu(&["Red", "Green"]);
    row(Said::Deny, &colours, &format!("refused: {}", Refusal::NoRefusingAnswer));
    row(Said::UseDefault, &colours, "refused: this prompt has no safe default; nothing was typed");
    row(
        Said::Approve,
        &colours,
        "refused: this prompt asks for one of its choices; use `atlasbridge reply PROMPT VALUE`",
    );
}

#[test]
fn text_is_one_line_without_control_characters_and_not_too_long() {
    row(text("fix: parser\r\n"), &free_text(), "type text of 11 characters");
    row(text("a\nb"), &free_text(), "refused: the answer must be one line");
    row(text("\u{1b}[31mred\u{3}\u{9b}"), &free_text(), "type text of 7 characters");
    row(
        text(&"x".repeat(201)),
        &free_text(),
        "refused: the answer has 201 characters, this prompt takes at most 200",
    );
    row(text(""), &free_text(), "type enter");
    row(Said::Deny, &free_text(), &format!("refused: {}", Refusal::NoRefusingAnswer));
    row(Said::UseDefault, &free_text(), "type enter");
}

#[test]
fn enter_is_pressed_where_enter_is_asked_for() {
    row(Said::Approve, &confirm_enter(), "type enter");
    row(text("Enter"), &confirm_enter(), "type enter");
    row(text("q"), &confirm_enter(), "refused: \"q\" is none of the choices: enter");
    row(text("enter"), &unknown(), "type enter");
    row(Said::Cancel, &unknown(), "cancel");
    row(Said::UseDefault, &unknown(), "refused: this prompt has no safe default; nothing was typed");
}

#[test]
fn on_a_channel_nobody_is_sent_to_a_command_line() {
    let all = [
        Refusal::UnknownPrompt,
        Refusal::AmbiguousPrompt,
        Refusal::NotWaiting { status: "reply_received", reason: String::new() },
        Refusal::Expired,
        Refusal::Queued,
        Refusal::InsideSession,
        Refusal::NotAChoice { given: "sure".to_owned(), choices: "yes · no".to_owned() },
        Refusal::NeedsValue { wanted: "a text" },
        Refusal::NoPlainYes { choices: "Yes, always · No".to_owned() },
        Refusal::NoRefusingAnswer,
        Refusal::NoDefault,
        Refusal::TooLong { length: 201, limit: 200 },
        Refusal::NotOneLine,
        Refusal::SecretsOff,
        Refusal::Replaced,
        Refusal::TooMany,
        Refusal::Paused,
    ];
    for refusal in all {
        let told = refusal.told_on_channel();
        let ends_a_pause = ["/resume", "atlasbridge sessions resume"];
        assert_eq!(
            ends_a_pause.map(|way| told.contains(way)),
            [matches!(refusal, Refusal::TooMany | Refusal::Paused); 2],
            "{told}"
        );
        let told = told.replace(ends_a_pause[1], "");
        assert!(!told.contains(['`', '_']) && !told.contains("atlasbridge"), "{told}");
        assert!(told.ends_with('.'), "{told}");
        assert!(told.chars().count() <= 200, "a tap is told at most so much: {told}");
    }
    assert_eq!(
        Refusal::NotWaiting { status: "resolved", reason: " (answered locally)".to_owned() }
            .told_on_channel(),
        "Too late: this prompt is resolved (answered locally). Nothing was typed."
    );
}

#[test]
fn a_password_is_taken_only_where_it_was_switched_on() {
    let refused = "refused: a password is taken from here only with `secrets_over_channels = true`; type it at the terminal";
    row(text("hunter2"), &password(), refused);
    let allowed =
        check(&text("hunter2"), &password(), Rules { secrets_over_channels: true, ..Rules::default() });
    assert_eq!(allowed, Ok(Checked::Type(Value::Secret("hunter2".to_owned()))));
    assert!(!format!("{allowed:?}").contains("hunter2"));
}

/// A question that the tool's own hook answers: one's own words, several rows, a reason.
fn by_hook(labels: &[&str]) -> Sighting {
    Sighting {
        takes: crate::Takes { reason: true, own_text: true, several: true, lines: false },
        ..menu(labels)
    }
}

#[test]
fn an_instruction_is_what_its_first_character_says_so_its_sender_is_asked() {
    row(
        text("!rm -rf x"),
        &idle(),
        "refused: `!rm -rf x` would be run as a shell command by the tool; nothing was sent, `--as-is` sends it all the same",
    );
    row(
        text(" \u{1b}/clear"),
        &idle(),
        "refused: `/clear` would be taken as a command by the tool, not read as text; nothing was sent, `--as-is` sends it all the same",
    );
    row(text("fix it!"), &idle(), "type text of 7 characters");
    row(text("!rm -rf x"), &free_text(), "type text of 9 characters");
    row(text("/etc/passwd"), &unknown(), "type text of 11 characters");
    let rules = Rules { as_is: true, ..Rules::default() };
    let meant = check(&text("!ls"), &idle(), rules);
    assert_eq!(meant, Ok(Checked::Type(Value::Text("!ls".to_owned()))));
}

#[test]
fn what_only_a_hook_takes() {
    let checks = ["Unit tests", "Lint", "Coverage"];
    row(text("1, 3"), &by_hook(&checks), "type Unit tests, Coverage");
    row(text("lint,unit tests"), &by_hook(&checks), "type Unit tests, Lint");
    row(text("2"), &by_hook(&checks), "type Lint");
    row(text("1, 1"), &by_hook(&checks), "type text of 4 characters");
    row(text("all\nof them"), &by_hook(&checks), "type text of 11 characters");
    row(
        Said::DenyWith("use rm -i".to_owned()),
        &by_hook(&checks),
        "type refused with a reason of 9 characters",
    );
    let plain = menu(&checks);
    row(text("1, 3"), &plain, "refused: \"1, 3\" is none of the choices: Unit tests · Lint · Coverage");
    row(
        text("all of them"),
        &plain,
        "refused: \"all of them\" is none of the choices: Unit tests · Lint · Coverage",
    );
    row(
        Said::DenyWith("why".to_owned()),
        &plain,
        "refused: this prompt takes no reason; deny it, and send the text as the next instruction",
    );
}

/// Rows and the limits that the prompt states for them.
fn limited(numbers: Option<(u16, u16)>, picks: Option<(u16, u16)>, several: bool) -> Sighting {
    let span = |ends: (u16, u16)| Span::new(ends.0, ends.1);
    let mut sighting = menu(&["Logs", "Cache", "Backups", "No"]);
    sighting.constraints.numbers = numbers.and_then(span);
    sighting.constraints.picks = picks.and_then(span);
    sighting.takes.several = several;
    sighting
}

#[test]
fn a_number_that_the_prompt_does_not_have_is_told_by_its_range() {
    let sighting = limited(Some((1, 4)), None, false);
    for (given, expected) in [
        ("7", "7 is none of the choices, numbered 1 to 4: Logs · Cache · Backups · No"),
        ("0", "0 is none of the choices, numbered 1 to 4: Logs · Cache · Backups · No"),
        ("all", "\"all\" is none of the choices: Logs · Cache · Backups · No"),
    ] {
        let refusal = check(&text(given), &sighting, Rules::default()).unwrap_err();
        assert_eq!(refusal.to_string(), expected);
    }
    assert!(check(&text("4"), &sighting, Rules::default()).is_ok());
}

#[test]
fn an_answer_has_as_many_rows_as_the_prompt_takes() {
    let refused = |said: Said, sighting: &Sighting| {
        check(&said, sighting, Rules::default()).err().map(|refusal| refusal.to_string())
    };
    let two_or_three = limited(None, Some((2, 3)), true);
    let too_few = Some("the answer has 1 row, this prompt takes 2 to 3".to_owned());
    assert_eq!(refused(text("1"), &two_or_three), too_few);
    assert_eq!(refused(Said::Row(0), &two_or_three), too_few);
    assert_eq!(refused(text("1,3"), &two_or_three), None);
    assert_eq!(
        refused(text("1,2,3,4"), &two_or_three),
        Some("the answer has 4 rows, this prompt takes 2 to 3".to_owned())
    );
    // The way out of it stays open, also for silence.
    for said in [text("No"), Said::Deny, Said::UseDefault] {
        assert_eq!(refused(said, &two_or_three), None);
    }
    let at_most_one = limited(None, Some((0, 1)), true);
    assert_eq!(refused(text("2"), &at_most_one), None);
    assert_eq!(
        refused(text("1,2"), &at_most_one),
        Some("the answer has 2 rows, this prompt takes up to 1".to_owned())
    );
}
