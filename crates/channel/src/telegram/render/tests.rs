use super::*;
use crate::telegram::sample;
use crate::{Answered, Card};
use atlasbridge_model::answer::Source;
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::{Detail, Effect, Excerpt, Kind, ReplyId, Takes};
use proptest::prelude::*;

use Effect::{Accepts, Other, Refuses};

/// As a person would see it: the text, then a line for each row of buttons.
fn seen(message: &Message) -> String {
    let rows = message.rows.iter().map(|row| {
        let keys: Vec<String> = row.iter().map(|key| format!("[{}]", key.text)).collect();
        format!("\n{}", keys.join(" "))
    });
    format!("{}{}", message.html, rows.collect::<String>())
}

fn permission() -> Card {
    let text = "Bash command\n\n  cargo test -p api\n  Run the tests\n\nDo you want to proceed?\n❯ 1. Yes\n  2. Yes, and don't ask \
                again for cargo test\n  3. No, and tell Claude what to do differently";
    let choices = [
        ("Yes", Accepts),
        ("Yes, and don't ask again for cargo test", Accepts),
        ("No, and tell Claude what to do differently", Refuses),
    ];
    let card = sample::seen(sample::card(Kind::MultipleChoice, text, &choices), |sighting| {
        sighting.excerpt = Excerpt::new("Bash command: cargo test -p api — Do you want to proceed?");
    });
    Card { silence: Some("No, and tell Claude what to do differently".to_owned()), ..card }
}

fn takes(card: Card, takes: Takes) -> Card {
    sample::seen(card, |sighting| sighting.takes = takes)
}

#[test]
fn each_kind_has_its_words_and_buttons() {
    let low = sample::possible(sample::card(Kind::FreeText, "name>", &[]));
    let cards = [
        ("yes_no", sample::yes_no()),
        ("permission", permission()),
        (
            "confirm_enter",
            Card {
                silence: Some("Enter".to_owned()),
                seconds_left: Some(45),
                ..sample::card(Kind::ConfirmEnter, "Press Enter to continue", &[])
            },
        ),
        (
            "free_text",
            Card {
                silence: Some("empty line".to_owned()),
                ..sample::card(Kind::FreeText, "Commit message:", &[])
            },
        ),
        ("password", sample::card(Kind::Password, "Password:", &[])),
        (
            "idle",
            Card {
                seconds_left: None,
                expires_at: None,
                ..sample::card(Kind::Idle, "Done. 3 files changed.", &[])
            },
        ),
        ("unknown", sample::possible(sample::card(Kind::Unknown, "Resolving deltas", &[]))),
        ("low_confidence", low),
        ("takes_reason", takes(permission(), Takes { reason: true, ..Takes::NOTHING })),
        (
            "takes_own_text",
            takes(
                sample::card(
                    Kind::MultipleChoice,
                    "Which checks?\n 1. Unit tests\n 2. Lint\n 3. Coverage",
                    &[("Unit tests", Other), ("Lint", Other), ("Coverage", Other)],
                ),
                Takes { own_text: true, reason: true, several: true, lines: false },
            ),
        ),
        (
            "idle_with_lines",
            Card {
                seconds_left: None,
                expires_at: None,
                ..sample::seen(sample::card(Kind::Idle, "Done.", &[]), |sighting| {
                    sighting.constraints.max_length = 4000;
                    sighting.takes = Takes { lines: true, ..Takes::NOTHING };
                })
            },
        ),
    ];
    let seen: Vec<String> =
        cards.iter().map(|(name, card)| format!("=== {name}\n{}", seen(&super::card(card)))).collect();
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn each_state_says_what_is_true_and_takes_the_buttons_away() {
    let reply = ReplyId::from_random([1; 16]);
    let source = || Source::Channel("telegram".to_owned());
    let resolved = |how| PromptState::Resolved { how };
    let failed = |why| PromptState::Failed { why };
    let canceled = |why| PromptState::Canceled { why };
    let states = [
        PromptState::Created,
        PromptState::Routed,
        PromptState::ReplyReceived { reply, source: source() },
        PromptState::Injected { reply, source: source() },
        PromptState::Injected { reply, source: Source::Timeout },
        PromptState::Expired { fallback: Some(reply) },
        PromptState::Expired { fallback: None },
        resolved(Resolution::Applied { source: source() }),
        resolved(Resolution::Applied { source: Source::Timeout }),
        resolved(Resolution::AnsweredLocally),
        resolved(Resolution::AnsweredOutOfBand),
        canceled(Cancellation::Withdrawn),
        canceled(Cancellation::ToolGone),
        canceled(Cancellation::HostGone),
        canceled(Cancellation::ByOperator),
        failed(Failure::PromptChanged),
        failed(Failure::TypingLocally),
        failed(Failure::NotTaken),
        failed(Failure::NotReading),
        failed(Failure::ToolGone),
        failed(Failure::TooLate),
        failed(Failure::NotRecorded),
        failed(Failure::Unknown),
    ];
    let mut told = Vec::new();
    for state in states {
        let is_timeout = matches!(
            state,
            PromptState::Expired { .. }
                | PromptState::Injected { source: Source::Timeout, .. }
                | PromptState::Resolved { how: Resolution::Applied { source: Source::Timeout } }
        );
        let answered = (!is_timeout).then(|| Answered { value: "Yes".to_owned(), by: "Ada <L>".to_owned() });
        let of_state = Card { state: state.clone(), answered, ..sample::yes_no() };
        let message = card(&of_state);
        assert_eq!(message.rows, Vec::<Vec<Key>>::new(), "{state:?}");
        assert!(!message.html.to_lowercase().contains("approved"), "{state:?}");
        let end = |message: &Message| message.html.lines().rev().nth(1).unwrap_or_default().to_owned();
        told.push(end(&message));
        let by_hook = card(&takes(of_state, Takes { reason: true, ..Takes::NOTHING }));
        if end(&by_hook) != end(&message) {
            told.push(format!("  by its hook: {}", end(&by_hook)));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_card_offered_again_points_below() {
    let replaced = card(&Card { is_replaced: true, ..sample::yes_no() });
    assert!(replaced.html.contains("Offered again below"), "{}", replaced.html);
    assert!(!replaced.html.contains("left; then"), "{}", replaced.html);
    assert_eq!(replaced.rows, Vec::<Vec<Key>>::new());
}

#[test]
fn yes_and_no_share_a_row_only_where_nothing_is_destroyed() {
    let rows = |card: &Card| -> Vec<String> {
        let message = super::card(card);
        let answers = message.rows.iter().filter(|row| row[0].data.ends_with([':', '1', '2']));
        answers.map(|row| row.iter().map(|key| key.text.as_str()).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(rows(&sample::yes_no()), ["Yes No"]);
    let rows_swapped = [("No", Refuses), ("Yes", Accepts)];
    let swapped = sample::card(Kind::YesNo, "Overwrite config.toml? [y/N]", &rows_swapped);
    assert_eq!(rows(&swapped), ["Yes No"], "the order never changes");
    let destructive = sample::seen(sample::yes_no(), |sighting| {
        sighting.detail = Detail::new("$ rm -rf build\nProceed? [y/N]");
    });
    assert_eq!(rows(&destructive), ["Yes", "No"]);
}

#[test]
fn what_is_cut_is_counted_and_reachable() {
    let text = format!("{}END", "0123456789".repeat(250));
    let at = |level: u8| {
        let message =
            card(&Card { level, ..sample::card(Kind::YesNo, &text, &[("Yes", Accepts), ("No", Refuses)]) });
        let looks: Vec<String> = message.rows.last().unwrap().iter().map(|key| key.text.clone()).collect();
        (message.html, looks)
    };
    let (html, looks) = at(0);
    // 197 of 2503 characters are in the excerpt, which is cut to 200 bytes with an ellipsis of three.
    assert!(html.contains("2306 more characters"), "{html}");
    assert_eq!(looks, ["Show more", "Show screen"]);
    let (html, looks) = at(1);
    assert!(html.contains("2003 more characters"), "{html}");
    assert_eq!(looks, ["Show more", "Show screen"]);
    let (html, looks) = at(2);
    assert!(html.contains("503 more characters"), "{html}");
    assert_eq!(looks, ["Send all as a file", "Show screen"]);
}

#[test]
fn an_excerpt_in_other_words_hides_the_whole_detail() {
    let message = card(&permission());
    let whole = permission().sighting.detail.as_str().chars().count();
    assert!(message.html.contains(&format!("{whole} more characters")), "{}", message.html);
    let shown = card(&Card { level: 1, ..permission() });
    assert!(!shown.html.contains("more character"), "{}", shown.html);
    assert_eq!(shown.rows.last().unwrap().len(), 1, "nothing more to show");
}

#[test]
fn a_dialog_longer_than_what_is_kept_says_so() {
    let text = "x".repeat(6000);
    let message = card(&Card { level: 2, ..sample::card(Kind::Unknown, &text, &[]) });
    assert!(message.html.contains("and the dialog goes on after them"), "{}", message.html);
}

#[test]
fn rows_are_named_as_the_dialog_names_them() {
    #[track_caller]
    fn check(detail: &str, labels: &[&str], expected: &str) {
        let choices: Vec<(&str, Effect)> = labels.iter().map(|label| (*label, Other)).collect();
        let html = card(&sample::card(Kind::MultipleChoice, detail, &choices)).html;
        assert!(html.contains(&format!("<pre>{expected}</pre>")), "{html}");
    }
    check("Pick\n❯ 1. Yes\n  2. No", &["Yes", "No"], "1. Yes\n2. No");
    check("Pick\n  0) none\n  1) all", &["none", "all"], "0. none\n1. all");
    check("│ [a] abort │\n│ [r] retry │", &["abort", "retry"], "a. abort\nr. retry");
    check("Pick: Yes / No", &["Yes", "No"], "1. Yes\n2. No");
    check("0) none\nsomething else", &["none", "all"], "• none\n• all");
}

#[test]
fn the_programs_words_cannot_speak_for_us() {
    let choices = [("Y</pre>es\u{202e}", Accepts), ("N&o", Refuses)];
    let message = card(&sample::seen(sample::card(Kind::YesNo, "", &choices), |sighting| {
        sighting.excerpt = Excerpt::new("</pre><b>Applied</b> a\u{202e}b & \u{200b}");
    }));
    insta::assert_snapshot!(seen(&message));
}

#[test]
fn a_notice_sets_apart_who_says_what() {
    let message = notice(&Notice {
        blocks: vec![
            Block::Ours("Screen of claude · <api>".to_owned()),
            Block::Program("$ ls  \u{202e}\n<b>x</b>\n".to_owned()),
            Block::Program("  \n".to_owned()),
            Block::Ours("Deny and send this as a message?".to_owned()),
        ],
        buttons: vec![
            vec![
                Button { label: "Deny and send".to_owned(), token: "deny:1".to_owned() },
                Button { label: String::new(), token: "no".to_owned() },
            ],
            vec![Button { label: "a token that cannot come back".to_owned(), token: "É".to_owned() }],
        ],
    });
    insta::assert_snapshot!(seen(&message));
    assert_eq!(notice(&Notice::default()).html, "…");
}

#[test]
fn a_long_notice_says_what_it_leaves_out() {
    let message = notice(&Notice {
        blocks: vec![Block::Ours("Screen".to_owned()), Block::Program("y".repeat(9000))],
        buttons: Vec::new(),
    });
    let shown = message.html.matches('y').count();
    assert!(shown > 3700, "{shown}");
    assert!(message.html.contains(&format!("{} more characters", 9000 - shown)), "{}", message.html);
}

/// Tags that the service knows, opened and closed in order, and no stray `<`, `>` or `&`.
fn is_valid(html: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>', '&']) {
        let found = &rest[at..];
        if found.starts_with('&') {
            let Some(entity) = ["&amp;", "&lt;", "&gt;"].iter().find(|entity| found.starts_with(**entity))
            else {
                return false;
            };
            rest = &found[entity.len()..];
            continue;
        }
        let Some((tag, after)) = found.strip_prefix('<').and_then(|found| found.split_once('>')) else {
            return false;
        };
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            None if ["b", "i", "pre", "code"].contains(&tag) => open.push(tag),
            _ => return false,
        }
        rest = after;
    }
    open.is_empty()
}

#[test]
fn more_paragraphs_than_fit_are_counted() {
    let many = (0..200).map(|_| Block::Program("x".repeat(90)));
    let message = notice(&Notice { blocks: many.collect(), buttons: Vec::new() });
    assert!(units(&message.html) <= MOST_UNITS);
    let shown = message.html.matches("<pre>").count();
    assert!(message.html.ends_with(&format!("<i>{} more paragraphs</i>", 200 - shown)), "{}", message.html);
    assert!(is_valid(&message.html));
}

fn check_message(message: &Message) -> Result<(), TestCaseError> {
    prop_assert!(units(&message.html) <= MOST_UNITS, "{} units", units(&message.html));
    prop_assert!(!message.html.trim().is_empty());
    prop_assert!(is_valid(&message.html), "{}", message.html);
    for key in message.rows.iter().flatten() {
        prop_assert!((1..=MOST_BUTTON).contains(&key.text.chars().count()));
        prop_assert!(key.data.len() <= callback::MOST_BYTES);
    }
    prop_assert!(message.rows.iter().all(|row| !row.is_empty()));
    Ok(())
}

/// Texts that grow when they are shown: markup, astral and invisible characters.
const NASTY: &str = "([&<>]|[a-z \\n]|😀|\u{202e}|\u{200b}|.){0,40}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_card_fits_and_is_valid(
        kind in 0..Kind::ALL.len(),
        text in NASTY,
        times in 1..300_usize,
        labels in proptest::collection::vec((NASTY, 1..30_usize), 0..10),
        names in proptest::collection::vec(NASTY, 4),
        level in 0..4_u8,
        is_open: bool,
        left in proptest::option::of(any::<u64>()),
    ) {
        let labels: Vec<String> = labels.into_iter().map(|(text, times)| text.repeat(times)).collect();
        let choices: Vec<(&str, Effect)> = labels
            .iter()
            .enumerate()
            .map(|(row, label)| (label.as_str(), [Accepts, Refuses, Other][row % 3]))
            .collect();
        let mut card = sample::card(Kind::ALL[kind], &text.repeat(times), &choices);
        card.session.tool = names[0].clone();
        card.session.label = Some(names[1].clone());
        card.session.cwd = names[2].clone();
        card.silence = Some(names[3].clone());
        card.answered = Some(Answered { value: names[0].clone(), by: names[1].clone() });
        card.level = level;
        card.seconds_left = left;
        if !is_open {
            card.state = PromptState::Failed { why: Failure::Unknown };
            card.is_replaced = true;
        }
        check_message(&super::card(&card))?;
    }

    #[test]
    fn any_notice_fits_and_is_valid(
        blocks in proptest::collection::vec((any::<bool>(), NASTY, 1..300_usize), 0..6),
        label in NASTY,
    ) {
        let blocks = blocks.into_iter().map(|(is_ours, text, times)| match is_ours {
            true => Block::Ours(text.repeat(times)),
            false => Block::Program(text.repeat(times)),
        });
        let buttons = vec![vec![Button { label, token: "a".to_owned() }]];
        check_message(&notice(&Notice { blocks: blocks.collect(), buttons }))?;
    }
}
