//! One answer wins; the others are told why, on record.

use atlasbridge_model::answer::{Refusal, Source, Value};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::{Do, Event, NotApplied, PromptState, Resolution};
use atlasbridge_model::{Constraints, Nonce, PromptId, ReplyId, SessionId, Sighting, Span, Takes};
use atlasbridge_store::{
    AcceptedAnswer, Advance, BackendError, Moved, Outcome, PromptRecord, Store, StoreConfig, StoreError,
};

use crate::world::{
    AcceptAlone, Dir, ask, ask_with, at, begin, events, is_clean, leave, new, no, random, session_record,
    tap, yes, yes_no,
};

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_contenders_one_wins() {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    let contenders: Vec<_> = (0..50)
        .map(|number| {
            let (store, answer, prompt) = (store.clone(), tap(&prompt), prompt.id);
            tokio::spawn(async move {
                // Every tenth is the deadline.
                if number % 10 == 9 {
                    let fallback = Some((answer.reply, no()));
                    let expired = store.expire(prompt, fallback, at(600)).await.unwrap();
                    return matches!(expired, Advance::Moved(_));
                }
                matches!(store.accept_alone(answer, at(1)).await.unwrap(), Outcome::Won { .. })
            })
        })
        .collect();
    let mut winners = 0;
    for contender in contenders {
        winners += u32::from(contender.await.unwrap());
    }
    assert_eq!(winners, 1);
    assert_eq!(store.undelivered(prompt.session).await.unwrap().len(), 1);
    dir.assert_good();
}

/// What only a tool's own hook takes is kept as any other answer is.
#[tokio::test]
async fn answers_for_a_hook_are_read_back_as_they_were() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let values = [
        Value::Several(vec![(0, "yes".to_owned()), (1, "no".to_owned())]),
        Value::Refused { reason: "not now\nlater".to_owned() },
    ];
    for (number, value) in (1..).zip(values) {
        let takes = Takes { reason: true, own_text: false, several: true, lines: number == 1 };
        let constraints = Constraints {
            max_length: 40,
            numbers: Span::new(0, 12),
            picks: Span::new(u16::from(number == 1), 3),
        };
        let sighting = Sighting { takes, constraints, ..yes_no(number) };
        let prompt = ask_with(&store, session, &sighting).await;
        let kept = store.prompt(prompt.id).await.unwrap().unwrap().sighting;
        assert_eq!((kept.takes, kept.constraints), (takes, constraints));
        let answer = AcceptedAnswer { value: value.clone(), ..tap(&prompt) };
        let reply = answer.reply;
        assert!(matches!(store.accept_alone(answer, at(1)).await.unwrap(), Outcome::Won { .. }));
        assert_eq!(store.reply_of(prompt.id).await.unwrap().unwrap().value, Some(value));
        let left = Event::NotApplied { reply, why: NotApplied::AnsweredLocally };
        store.advance(prompt.id, &left, at(2)).await.unwrap();
    }
    dir.assert_good();
}

#[tokio::test]
async fn the_winner_is_recorded_whole() {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    let answer = tap(&prompt);
    let Outcome::Won { reply, moved: Moved { prompt: after, effects } } =
        store.accept_alone(answer.clone(), at(5)).await.unwrap()
    else {
        panic!("nobody else is there")
    };
    assert_eq!(effects, [Do::Deliver(reply.id)], "what the table of the lifecycle says, and nothing else");
    assert_eq!(reply.id, answer.reply);
    assert_eq!(reply.value, Some(yes()));
    assert_eq!(reply.at, at(5).wall);
    assert_eq!(after.state, PromptState::ReplyReceived { reply: answer.reply, source: answer.source });
    assert_eq!(store.prompt(prompt.id).await.unwrap(), Some(after));
    assert_eq!(store.reply_of(prompt.id).await.unwrap(), Some(reply));
    assert_eq!(
        dir.story(),
        [
            "SESSION_START claude",
            "PROMPT_DETECTED yes_no (high)",
            "PROMPT_ROUTED awaiting_reply",
            "REPLY_RECEIVED yes",
        ]
    );
}

/// Changes a good answer, and expects it to be refused and put on record.
#[track_caller]
fn refused(outcome: Outcome, expected: Refusal, dir: &Dir, reason: &str) {
    assert_eq!(outcome, Outcome::Refused(expected));
    assert_eq!(dir.story().last().unwrap(), &format!("REPLY_REJECTED {reason}"));
}

async fn waiting() -> (Dir, Store, PromptRecord) {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    (dir, store, prompt)
}

#[tokio::test]
async fn a_wrong_answer_is_refused_and_on_record() {
    let (dir, store, prompt) = waiting().await;
    let unknown = AcceptedAnswer { prompt: PromptId::from_random(random()), ..tap(&prompt) };
    let outcome = store.accept_alone(unknown, at(1)).await.unwrap();
    refused(outcome, Refusal::UnknownPrompt, &dir, "unknown_prompt");

    let elsewhere = AcceptedAnswer { session: SessionId::from_random(random()), ..tap(&prompt) };
    let outcome = store.accept_alone(elsewhere, at(1)).await.unwrap();
    refused(outcome, Refusal::UnknownPrompt, &dir, "wrong_session");

    let guessed = AcceptedAnswer { nonce: Nonce::from_random(random()), ..tap(&prompt) };
    let outcome = store.accept_alone(guessed, at(1)).await.unwrap();
    refused(outcome, Refusal::UnknownPrompt, &dir, "wrong_nonce");

    let outcome = store.accept_alone(tap(&prompt), at(600)).await.unwrap();
    refused(outcome, Refusal::Expired, &dir, "expired");

    let outcome = store.accept_alone(tap(&prompt), at(599)).await.unwrap();
    assert!(matches!(outcome, Outcome::Won { .. }), "none of these has spent the nonce");
    dir.assert_good();
}

#[tokio::test]
async fn a_second_tap_changes_nothing() {
    let (dir, store, prompt) = waiting().await;
    store.accept_alone(tap(&prompt), at(1)).await.unwrap();
    let before = store.prompt(prompt.id).await.unwrap();
    let outcome = store.accept_alone(tap(&prompt), at(2)).await.unwrap();
    let refusal = Refusal::NotWaiting { status: "reply_received", reason: String::new() };
    refused(outcome, refusal, &dir, "not_waiting");
    assert_eq!(store.prompt(prompt.id).await.unwrap(), before);
}

#[tokio::test]
async fn a_queued_prompt_cannot_be_answered_yet() {
    let (dir, store, first) = waiting().await;
    let second = ask(&store, first.session, 2).await;
    let outcome = store.accept_alone(tap(&second), at(1)).await.unwrap();
    refused(outcome, Refusal::Queued, &dir, "queued");
}

#[tokio::test]
async fn a_deadline_of_another_boot_has_passed() {
    let (dir, store, prompt) = waiting().await;
    store.close().await.unwrap();
    let config = StoreConfig { boot_id: "another".to_owned(), ..dir.config() };
    let (store, recovery) = Store::open(config, at(0)).await.unwrap();
    assert!(is_clean(&recovery), "{recovery}");
    let outcome = store.accept_alone(tap(&prompt), at(1)).await.unwrap();
    refused(outcome, Refusal::Expired, &dir, "expired");
    assert_eq!(store.due(at(9999)).await.unwrap(), [], "its host is gone: another event");
}

#[tokio::test]
async fn the_deadline_types_the_safe_default_once() {
    let (dir, store, prompt) = waiting().await;
    let fallback = ReplyId::from_random(random());
    let early = store.expire(prompt.id, Some((fallback, no())), at(599)).await.unwrap();
    assert!(matches!(early, Advance::Refused(_)), "{early:?}");

    let Advance::Moved(moved) = store.expire(prompt.id, Some((fallback, no())), at(600)).await.unwrap()
    else {
        panic!("its time is up")
    };
    assert_eq!(moved.effects, [Do::Deliver(fallback)]);
    let undelivered = store.undelivered(prompt.session).await.unwrap();
    assert_eq!(undelivered.len(), 1);
    assert_eq!(undelivered[0].reply.value, Some(no()));
    assert_eq!(undelivered[0].reply.source, Source::Timeout);

    let again = store.expire(prompt.id, Some((fallback, no())), at(601)).await.unwrap();
    assert!(matches!(again, Advance::Refused(_)));
    let taken = |applied| Refusal::DefaultTaken { value: no().on_record(), applied };
    let late = store.accept_alone(tap(&prompt), at(601)).await.unwrap();
    refused(late, taken(false), &dir, "expired");

    for event in [Event::Typed { reply: fallback }, Event::Taken { reply: fallback }] {
        assert!(matches!(store.advance(prompt.id, &event, at(602)).await.unwrap(), Advance::Moved(_)));
    }
    assert_eq!(
        store.prompt(prompt.id).await.unwrap().unwrap().state,
        PromptState::Resolved { how: Resolution::Applied { source: Source::Timeout } }
    );
    assert_eq!(
        dir.story()[3..],
        ["PROMPT_EXPIRED no", "REPLY_REJECTED expired", "REPLY_INJECTED no", "PROMPT_RESOLVED applied"]
    );
}

fn cause(error: &StoreError) -> &BackendError {
    std::error::Error::source(error).unwrap().downcast_ref().unwrap()
}

#[tokio::test]
async fn silence_never_approves() {
    let (_dir, store, prompt) = waiting().await;
    let fallback = Some((ReplyId::from_random(random()), yes()));
    let expired = store.expire(prompt.id, fallback, at(600)).await;
    assert!(matches!(cause(&expired.unwrap_err()), BackendError::UnsafeFallback));
    assert_eq!(store.prompt(prompt.id).await.unwrap().unwrap().state, PromptState::AwaitingReply);
}

#[tokio::test]
async fn answers_and_deadlines_have_their_own_doors() {
    let (_dir, store, prompt) = waiting().await;
    let event = Event::Deadline { fallback: None };
    let advanced = store.advance(prompt.id, &event, at(600)).await;
    assert!(matches!(cause(&advanced.unwrap_err()), BackendError::OtherDoor));
    let event = Event::Answered { reply: ReplyId::from_random(random()), source: Source::Command };
    let advanced = store.advance(prompt.id, &event, at(1)).await;
    assert!(matches!(cause(&advanced.unwrap_err()), BackendError::OtherDoor));
}

#[tokio::test]
async fn whoever_cancels_is_on_record() {
    let (dir, store, prompt) = waiting().await;
    let canceled = leave(&store, &prompt, "uid:1000").await;
    assert!(matches!(canceled, Advance::Moved(_)));
    let last = atlasbridge_store::tail(&dir.log(), 1).unwrap().pop().unwrap();
    assert_eq!(last.event, "PROMPT_CANCELED");
    assert_eq!(last.source.as_deref(), Some("cli:command"));
    assert_eq!(last.decided_by.as_deref(), Some("uid:1000"));
}

#[tokio::test]
async fn refusals_before_the_contest_are_on_record() {
    let (dir, store, prompt) = waiting().await;
    let rejected = |reason: &str| AuditEvent {
        value: Some(reason.to_owned()),
        source: Some(Source::Command.to_string()),
        decided_by: Some("pid:1".to_owned()),
        ..AuditEvent::new(EventName::ReplyRejected)
    };
    let inside =
        AuditEvent { session: Some(prompt.session), prompt: Some(prompt.id), ..rejected("inside_session") };
    store.audit(inside, at(1)).await.unwrap();
    store.audit(rejected("unknown_prompt"), at(1)).await.unwrap();
    assert_eq!(dir.story()[3..], ["REPLY_REJECTED inside_session", "REPLY_REJECTED unknown_prompt"]);
}

#[tokio::test]
async fn what_cannot_be_recorded_leaves_no_trace() {
    let (dir, store, prompt) = waiting().await;
    let nowhere = SessionId::from_random(random());
    let sighting = yes_no(1);
    assert!(store.record_prompt(new(nowhere, &sighting), at(1)).await.is_err(), "no such session");
    assert_eq!(dir.assert_good(), 3);
    assert!(matches!(store.accept_alone(tap(&prompt), at(1)).await.unwrap(), Outcome::Won { .. }));
    assert_eq!(dir.assert_good(), 4);
}

#[tokio::test]
async fn a_text_is_on_record_by_its_length() {
    let (dir, store, prompt) = waiting().await;
    let answer = AcceptedAnswer { value: Value::Text("fix: parser".to_owned()), ..tap(&prompt) };
    let reply = answer.reply;
    store.accept_alone(answer, at(1)).await.unwrap();
    let failed = Event::NotApplied {
        reply,
        why: NotApplied::Failed(atlasbridge_model::lifecycle::Failure::PromptChanged),
    };
    store.advance(prompt.id, &failed, at(2)).await.unwrap();
    assert_eq!(
        events(&dir.log())[3..],
        ["REPLY_RECEIVED text of 11 characters", "REPLY_REJECTED prompt_changed"]
    );
    let kept = store.reply_of(prompt.id).await.unwrap().unwrap();
    assert_eq!((kept.id, kept.value), (reply, Some(Value::Text("fix: parser".to_owned()))));
}

#[tokio::test]
async fn an_asker_who_leaves_does_not_stop_the_work() {
    let dir = Dir::new();
    let store = dir.store().await;
    for _ in 0..20 {
        let session = session_record();
        let began = store.begin_session(&session, at(0));
        tokio::select! {
            biased;
            _ = began => {}
            () = tokio::task::yield_now() => {}
        }
    }
    // Its turn comes after all of theirs.
    begin(&store).await;
    assert!(dir.assert_good() >= 1);
    assert_eq!(store.sessions(100).await.unwrap().len() as u64, dir.assert_good());
}
