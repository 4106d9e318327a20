//! Updates happen once, with everything that follows from them.

use atlasbridge_model::answer::{Refusal, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_store::{
    Advance, CameBy, Cancel, ChatChange, FollowUp, Handling, NewAsk, NewNotice, Once, Outcome, PromptRecord,
    Store,
};

use crate::world::{Dir, ask, at, begin, notify, tap};

fn by(update: i64) -> CameBy {
    CameBy { channel: "telegram".to_owned(), update }
}

fn nothing<T>(_: &T) -> FollowUp {
    FollowUp::default()
}

fn notice(body: &str) -> NewNotice {
    NewNotice {
        channel: "telegram".to_owned(),
        target: "42".to_owned(),
        body: body.to_owned(),
        reply_to: None,
    }
}

async fn waiting() -> (Dir, Store, PromptRecord) {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    (dir, store, prompt)
}

async fn bodies(store: &Store) -> Vec<String> {
    let due = store.due_notices("telegram").await.unwrap();
    due.into_iter().map(|notice| notice.body).collect()
}

#[tokio::test]
async fn an_update_that_comes_again_changes_nothing_even_after_a_crash() {
    let (dir, store, prompt) = waiting().await;
    let told = |outcome: &Outcome| FollowUp {
        notices: vec![notice(match outcome {
            Outcome::Won { .. } => "won",
            Outcome::Refused(_) => "refused",
        })],
        ..FollowUp::default()
    };
    let first = store.accept(tap(&prompt), Some(by(7)), told, at(1)).await.unwrap();
    assert!(matches!(first, Once::First(Outcome::Won { .. })), "{first:?}");
    let records = dir.assert_good();
    drop(store);

    let store = dir.store().await;
    assert_eq!(store.offset("telegram", at(2)).await.unwrap(), Some(8));
    let again = store.accept(tap(&prompt), Some(by(7)), told, at(2)).await.unwrap();
    assert_eq!(again, Once::Repeated);
    let again = store.follow_up(Some(by(7)), FollowUp::default(), at(2)).await;
    assert_eq!(again.unwrap(), Handling::Repeated);
    assert_eq!(dir.assert_good(), records, "nothing is on record twice");
    assert_eq!(bodies(&store).await, ["won"]);

    let other = store.accept(tap(&prompt), Some(by(8)), told, at(3)).await.unwrap();
    assert!(matches!(other, Once::First(Outcome::Refused(_))), "{other:?}");
    assert_eq!(bodies(&store).await, ["won", "refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_channels_one_wins_and_each_update_counts_once() {
    let (dir, store, prompt) = waiting().await;
    let contenders: Vec<_> = (0..40)
        .map(|number| {
            let (store, mut answer) = (store.clone(), tap(&prompt));
            let channel = ["telegram", "slack"][number % 2];
            answer.source = Source::Channel(channel.to_owned());
            let came = CameBy {
                channel: channel.to_owned(),
                // Every update comes twice.
                update: number as i64 / 4,
            };
            tokio::spawn(async move { store.accept(answer, Some(came), nothing, at(1)).await.unwrap() })
        })
        .collect();
    let (mut won, mut refused, mut repeated) = (0, 0, 0);
    for contender in contenders {
        match contender.await.unwrap() {
            Once::First(Outcome::Won { .. }) => won += 1,
            Once::First(Outcome::Refused(_)) => refused += 1,
            Once::Repeated => repeated += 1,
        }
    }
    assert_eq!((won, refused, repeated), (1, 19, 20));
    assert_eq!(store.undelivered(prompt.session).await.unwrap().len(), 1);
    assert_eq!(dir.assert_good(), 3 + 20);
}

#[tokio::test]
async fn numbers_are_remembered_below_the_highest_and_begin_anew_after_a_week() {
    let dir = Dir::new();
    let store = dir.store().await;
    assert_eq!(store.offset("telegram", at(0)).await.unwrap(), None);
    let handle = async |update, seconds| {
        let handled = store.follow_up(Some(by(update)), FollowUp::default(), at(seconds));
        handled.await.unwrap()
    };
    assert_eq!(handle(5_000, 0).await, Handling::Done);
    assert_eq!(handle(4_999, 0).await, Handling::Done, "late, but new");
    assert_eq!(store.offset("telegram", at(0)).await.unwrap(), Some(5_001));
    assert_eq!(handle(20_000, 0).await, Handling::Done);
    assert_eq!(handle(5_000, 0).await, Handling::Repeated, "pruned numbers were handled");
    assert_eq!(handle(4_000, 0).await, Handling::Repeated);
    assert_eq!(handle(19_000, 0).await, Handling::Done);
    assert_eq!(store.offset("telegram", at(0)).await.unwrap(), Some(20_001));
    assert_eq!(store.offset("slack", at(0)).await.unwrap(), None);

    let week = 7 * 24 * 3600;
    assert_eq!(store.offset("telegram", at(week)).await.unwrap(), None);
    assert_eq!(handle(12, week).await, Handling::Done);
    assert_eq!(handle(12, week).await, Handling::Repeated);
    assert_eq!(store.offset("telegram", at(week)).await.unwrap(), Some(13));
}

#[tokio::test]
async fn a_question_is_answered_once() {
    let dir = Dir::new();
    let store = dir.store().await;
    let question = |token: &str, seconds| NewAsk {
        token: token.to_owned(),
        channel: "telegram".to_owned(),
        target: "42".to_owned(),
        what: r#"{"stop":"…"}"#.to_owned(),
        expires_at: at(seconds).wall,
    };
    for (update, token) in [(1, "aa"), (2, "bb")] {
        let asked = FollowUp {
            ask: Some(question(token, 60)),
            notices: vec![notice("stop?")],
            ..FollowUp::default()
        };
        store.follow_up(Some(by(update)), asked, at(0)).await.unwrap();
    }
    assert_eq!(store.ask("aa", at(1)).await.unwrap(), Some(question("aa", 60)));
    assert_eq!(store.ask("cc", at(1)).await.unwrap(), None);
    let yes = |token: &str| FollowUp {
        take_ask: Some(token.to_owned()),
        audit: Some(AuditEvent::new(EventName::SessionEnd)),
        notices: vec![notice("stopped")],
        ..FollowUp::default()
    };
    let first = store.follow_up(Some(by(3)), yes("aa"), at(1)).await.unwrap();
    let second = store.follow_up(Some(by(4)), yes("aa"), at(1)).await.unwrap();
    let late = store.follow_up(Some(by(5)), yes("bb"), at(60)).await.unwrap();
    assert_eq!((first, second, late), (Handling::Done, Handling::AskGone, Handling::AskGone));
    assert_eq!(bodies(&store).await, ["stop?", "stop?", "stopped"]);
    assert_eq!(dir.story(), ["SESSION_END"]);
    assert_eq!(store.ask("bb", at(60)).await.unwrap(), None);
}

#[tokio::test]
async fn a_chat_remembers_and_forgets() {
    let dir = Dir::new();
    let store = dir.store().await;
    let change = |value: Option<&str>| FollowUp {
        chat: vec![ChatChange {
            channel: "telegram".to_owned(),
            target: "42".to_owned(),
            key: "switch".to_owned(),
            value: value.map(str::to_owned),
        }],
        ..FollowUp::default()
    };
    for (update, value) in [(1, Some("a")), (2, Some("b")), (3, None)] {
        store.follow_up(Some(by(update)), change(value), at(0)).await.unwrap();
        let known = store.chat_state("telegram", "42", "switch").await.unwrap();
        assert_eq!(known.as_deref(), value);
    }
    store.set_polled_at("telegram", at(9)).await.unwrap();
    assert_eq!(store.polled_at("telegram").await.unwrap(), Some(at(9).wall));
}

#[tokio::test]
async fn cancelling_needs_the_card_and_happens_once() {
    let (dir, store, prompt) = waiting().await;
    let cancel = |prompt: &PromptRecord| Cancel {
        prompt: prompt.id,
        nonce: prompt.nonce,
        source: Source::Channel("telegram".to_owned()),
        decided_by: "telegram:42".to_owned(),
    };
    let forged = Cancel { nonce: "0".repeat(32).parse().unwrap(), ..cancel(&prompt) };
    let outcome = store.cancel(forged, Some(by(1)), nothing, at(1)).await.unwrap();
    assert_eq!(outcome, Once::First(Advance::Refused(Refusal::UnknownPrompt)));
    let last = atlasbridge_store::tail(&dir.log(), 1).unwrap().pop().unwrap();
    assert_eq!((last.event.as_str(), last.value.as_deref()), ("REPLY_REJECTED", Some("unknown_prompt")));
    let outcome = store.cancel(cancel(&prompt), Some(by(2)), nothing, at(1)).await.unwrap();
    assert!(matches!(outcome, Once::First(Advance::Moved(_))));
    let outcome = store.cancel(cancel(&prompt), Some(by(2)), nothing, at(1)).await.unwrap();
    assert_eq!(outcome, Once::Repeated);
    let last = atlasbridge_store::tail(&dir.log(), 1).unwrap().pop().unwrap();
    assert_eq!((last.event.as_str(), last.decided_by.as_deref()), ("PROMPT_CANCELED", Some("telegram:42")));
}

#[tokio::test]
async fn notices_wait_and_are_forgotten() {
    let dir = Dir::new();
    let store = dir.store().await;
    for body in ["began", "never", "kept"] {
        notify(&store, notice(body)).await;
    }
    assert_eq!(bodies(&store).await, ["began", "never", "kept"]);
    let due = store.due_notices("telegram").await.unwrap();
    store.notice_sent(due[0].id, at(10)).await.unwrap();
    store.drop_notice(due[1].id, "blocked", at(10)).await.unwrap();
    drop(store);
    let store = dir.store().await;
    assert_eq!(bodies(&store).await, ["kept"]);
    store.forget_ended_before(at(0).wall, at(90_000)).await.unwrap();
    assert_eq!(bodies(&store).await, ["kept"], "what was not sent is kept");
}
