//! Instructions that wait for their tool: one at a time, spent once, and none lost without a word.

use atlasbridge_model::answer::{Refusal, Source, Value};
use atlasbridge_model::lifecycle::{Event, PromptState};
use atlasbridge_model::{Excerpt, Kind, ReplyId, SessionId, Sighting, Takes};
use atlasbridge_store::{
    AcceptedAnswer, FollowUp, HeardAt, NewNotice, OpenText, Outcome, PromptRecord, QueuedText, SessionStatus,
    Store, TextMove,
};

use crate::world::{Dir, advance_all, ask, ask_with, at, begin, no, random, tap, yes_no};

fn text(session: SessionId, text: &str) -> QueuedText {
    QueuedText {
        reply: ReplyId::from_random(random()),
        session,
        text: text.to_owned(),
        source: Source::Channel("telegram".to_owned()),
        decided_by: "telegram:42".to_owned(),
        heard_at: Some(HeardAt { target: "42".to_owned(), reply_to: Some("7".to_owned()) }),
    }
}

fn idle(no: u32) -> Sighting {
    Sighting { kind: Kind::Idle, choices: None, excerpt: Excerpt::new("> "), ..yes_no(no) }
}

fn nothing<T>(_: &T) -> FollowUp {
    FollowUp::default()
}

async fn moves(store: &Store, change: TextMove, seconds: i64) {
    let handled = FollowUp { text: Some(change), ..FollowUp::default() };
    store.follow_up(None, handled, at(seconds)).await.unwrap();
}

async fn queue(store: &Store, text: &QueuedText, seconds: i64) {
    moves(store, TextMove::Queue(text.clone()), seconds).await;
}

/// The first prompt is over, the tool has worked, and waits for its next instruction.
async fn waits_again(store: &Store, session: SessionId, number: u32) -> PromptRecord {
    advance_all(store, session, &Event::HostLost, at(3)).await;
    ask_with(store, session, &idle(number)).await
}

fn take_back(text: &QueuedText) -> TextMove {
    TextMove::TakeBack { reply: text.reply, source: Source::Command, decided_by: "uid:1000".to_owned() }
}

#[tokio::test]
async fn deny_and_say_is_one_decision_and_the_text_is_spent_once() {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    let session = prompt.session;
    let deny = AcceptedAnswer { value: no(), ..tap(&prompt) };
    let say = |say: QueuedText| {
        move |outcome: &Outcome| FollowUp {
            text: matches!(outcome, Outcome::Won { .. }).then(|| TextMove::Queue(say)),
            ..FollowUp::default()
        }
    };
    let (first, late) = (text(session, "use the other file"), text(session, "never"));
    store.accept(deny.clone(), None, say(first.clone()), at(1)).await.unwrap();
    store.accept(deny, None, say(late), at(2)).await.unwrap();
    let queued = store.queued_text(session).await.unwrap().unwrap();
    assert_eq!(queued, first);
    assert!(!format!("{queued:?}").contains("file"), "texts stay out of logs");

    assert_eq!(
        store.accept_queued(prompt.id, nothing, at(3)).await.unwrap(),
        None,
        "a dialog takes no instruction"
    );
    let next = waits_again(&store, session, 2).await;
    let Some(Outcome::Won { reply: won, .. }) = store.accept_queued(next.id, nothing, at(4)).await.unwrap()
    else {
        panic!("it waits for an instruction, and there is one")
    };
    assert_eq!(won.value, Some(Value::Text("use the other file".to_owned())));
    assert_eq!((won.decided_by.as_str(), won.id), ("telegram:42", first.reply));
    assert_eq!(store.queued_text(session).await.unwrap(), None);
    assert_eq!(store.accept_queued(next.id, nothing, at(5)).await.unwrap(), None);
    dir.assert_good();
}

#[tokio::test]
async fn a_text_that_looks_like_a_token_is_whole_until_it_is_typed_and_masked_then() {
    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let prompt = ask_with(&store, session, &idle(1)).await;
    queue(&store, &text(session, &format!("log in with {TOKEN}")), 0).await;
    let Some(Outcome::Won { reply, .. }) = store.accept_queued(prompt.id, nothing, at(1)).await.unwrap()
    else {
        panic!("it waits for an instruction, and there is one")
    };
    let whole = Some(Value::Text(format!("log in with {TOKEN}")));
    assert_eq!(store.undelivered(session).await.unwrap()[0].reply.value, whole);
    store.advance(prompt.id, &Event::Typed { reply: reply.id }, at(2)).await.unwrap();
    let kept = store.reply_of(prompt.id).await.unwrap().unwrap().value;
    assert_eq!(kept, Some(Value::Text(format!("log in with {}", "•".repeat(40)))));
    drop(store);
    for file in std::fs::read_dir(dir.database().parent().unwrap()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let holds = bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
        assert!(!holds, "{} holds it", path.display());
    }
}

#[tokio::test]
async fn a_newer_text_takes_the_place_of_an_older_and_one_that_does_not_fit_is_kept_to_be_seen() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let prompt = ask_with(&store, session, &idle(1)).await;
    queue(&store, &text(session, "first"), 0).await;
    let long = text(session, &"x".repeat(201));
    queue(&store, &long, 1).await;
    let told = |outcome: &Outcome| FollowUp {
        notices: vec![NewNotice {
            channel: "telegram".to_owned(),
            target: "42".to_owned(),
            body: format!("{outcome:?}"),
            reply_to: None,
        }],
        ..FollowUp::default()
    };
    let outcome = store.accept_queued(prompt.id, told, at(2)).await.unwrap();
    let too_long = Refusal::TooLong { length: 201, limit: 200 };
    assert_eq!(outcome, Some(Outcome::Refused(too_long)));
    assert_eq!(store.due_notices("telegram").await.unwrap().len(), 1);
    assert_eq!(store.queued_text(session).await.unwrap(), None);
    let unsent = store.unsent_text(session).await.unwrap();
    assert_eq!(unsent, Some((long, "too_long".to_owned())));
    assert_eq!(dir.story().last().unwrap(), "REPLY_REJECTED too_long");
    assert!(
        dir.story().contains(&"REPLY_RECEIVED text of 5 characters, queued".to_owned()),
        "{:?}",
        dir.story()
    );

    queue(&store, &text(session, "short"), 3).await;
    assert_eq!(store.unsent_text(session).await.unwrap(), None, "a newer one came");
    store.end_session(session, SessionStatus::Completed, Some(0), at(3)).await.unwrap();
    queue(&store, &text(session, "too late"), 4).await;
    assert_eq!(store.queued_text(session).await.unwrap(), None);
}

#[tokio::test]
async fn several_lines_are_spent_where_the_box_takes_them() {
    let dir = Dir::new();
    let store = dir.store().await;
    for (lines, expected) in [(true, None), (false, Some(Refusal::NotOneLine))] {
        let session = begin(&store).await;
        queue(&store, &text(session, "one\ntwo"), 0).await;
        let sighting = Sighting { takes: Takes { lines, ..Takes::NOTHING }, ..idle(1) };
        let prompt = ask_with(&store, session, &sighting).await;
        let outcome = store.accept_queued(prompt.id, nothing, at(1)).await.unwrap();
        let refusal = match outcome.unwrap() {
            Outcome::Won { .. } => None,
            Outcome::Refused(refusal) => Some(refusal),
        };
        assert_eq!(refusal, expected);
    }
}

#[tokio::test]
async fn what_waits_can_be_taken_back_and_nothing_else() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let (first, second) = (text(session, "first"), text(session, "second"));
    queue(&store, &first, 0).await;
    queue(&store, &second, 0).await;
    moves(&store, take_back(&first), 1).await;
    assert_eq!(store.queued_text(session).await.unwrap(), Some(second.clone()), "another text is not meant");
    moves(&store, take_back(&second), 1).await;
    moves(&store, take_back(&second), 1).await;
    assert_eq!(store.queued_text(session).await.unwrap(), None);
    let taken = dir.story();
    let taken = taken.iter().filter(|line| line.contains("taken back"));
    assert_eq!(taken.count(), 1);

    let third = text(session, "third");
    queue(&store, &third, 2).await;
    let prompt = ask_with(&store, session, &idle(1)).await;
    store.accept_queued(prompt.id, nothing, at(3)).await.unwrap();
    moves(&store, take_back(&third), 4).await;
    assert_eq!(
        store.open_texts().await.unwrap().len(),
        1,
        "it is on its way, and whoever sent it will hear of it"
    );
}

#[tokio::test]
async fn a_text_is_known_until_its_end_is_told_whatever_dies_meanwhile() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let (sent, next) = (text(session, "sent"), text(session, "next"));
    queue(&store, &sent, 0).await;
    let prompt = ask_with(&store, session, &idle(1)).await;
    assert_eq!(store.last_idle(session).await.unwrap().map(|prompt| prompt.id), Some(prompt.id));
    store.accept_queued(prompt.id, nothing, at(1)).await.unwrap();
    queue(&store, &next, 2).await;
    drop(store);

    let store = dir.store().await;
    let open = store.open_texts().await.unwrap();
    let [one, other] = &open[..] else { panic!("{open:?}") };
    assert_eq!(one.text, sent);
    let state = &one.sent_to.as_ref().unwrap().state;
    assert!(matches!(state, PromptState::ReplyReceived { reply, .. } if *reply == sent.reply), "{state:?}");
    let waiting = OpenText { text: next.clone(), sent_to: None };
    assert_eq!(*other, waiting);

    moves(&store, TextMove::Done(sent.reply), 3).await;
    let why = "session_ended".to_owned();
    let unsent = TextMove::Unsent { reply: next.reply, why: why.clone() };
    moves(&store, unsent, 4).await;
    assert_eq!(store.open_texts().await.unwrap(), []);
    assert_eq!(store.unsent_text(session).await.unwrap(), Some((next.clone(), why)));
    assert_eq!(dir.story().last().unwrap(), "REPLY_REJECTED session_ended");
    moves(&store, take_back(&next), 5).await;
    assert_eq!(store.unsent_text(session).await.unwrap(), None, "put away");
}
