//! No more than ten answers of channels a minute, for each session.

use atlasbridge_model::SessionId;
use atlasbridge_model::answer::{Refusal, Source};
use atlasbridge_model::lifecycle::{Event, PromptState};
use atlasbridge_store::{AcceptedAnswer, CameBy, FollowUp, MOST_ANSWERS, NewPrompt, Outcome, Resume, Store};

use crate::world::{AcceptAlone, Dir, ask, at, begin, new, resume, tap, yes_no};

/// Asks and answers once, as the next prompt of the session.
async fn answer_next(store: &Store, session: SessionId, no: u32, source: Source, seconds: i64) -> Outcome {
    let sighting = yes_no(no);
    let prompt = NewPrompt { ttl: None, ..new(session, &sighting) };
    let prompt = store.record_prompt(prompt, at(seconds)).await.unwrap().prompt;
    let answer = AcceptedAnswer { source, ..tap(&prompt) };
    let outcome = store.accept_alone(answer, at(seconds)).await.unwrap();
    // It leaves the screen, so that the next one waits.
    let _ = store.advance(prompt.id, &Event::HostLost, at(seconds)).await.unwrap();
    outcome
}

#[tokio::test]
async fn the_eleventh_answer_within_a_minute_pauses_the_session() {
    let dir = Dir::new();
    let store = dir.store().await;
    let (session, other) = (begin(&store).await, begin(&store).await);
    let telegram = || Source::Channel("telegram".to_owned());
    let mut no = 0..;
    let mut answer = async |session, source, seconds| {
        let no = no.next().unwrap();
        answer_next(&store, session, no, source, seconds).await
    };
    for second in 0..MOST_ANSWERS {
        let outcome = answer(session, telegram(), second).await;
        assert!(matches!(outcome, Outcome::Won { .. }), "{second}: {outcome:?}");
    }
    assert!(matches!(answer(session, Source::Command, 20).await, Outcome::Won { .. }));
    let slack = Source::Channel("slack".to_owned());
    assert_eq!(answer(session, slack, 59).await, Outcome::Refused(Refusal::TooMany));
    assert_eq!(dir.story().iter().filter(|line| *line == "REPLY_REJECTED too_many").count(), 1);
    let paused = store.session(session).await.unwrap().unwrap();
    assert_eq!(paused.paused_at, Some(at(59).wall));

    assert_eq!(
        answer(session, telegram(), 500).await,
        Outcome::Refused(Refusal::Paused),
        "until somebody resumes it"
    );
    assert!(matches!(answer(session, Source::Command, 501).await, Outcome::Won { .. }));
    assert!(matches!(answer(other, telegram(), 501).await, Outcome::Won { .. }));

    let came = CameBy { channel: "telegram".to_owned(), update: 1 };
    let resumed = FollowUp {
        resume: Some(Resume { session, source: telegram(), decided_by: "telegram:42".to_owned() }),
        ..FollowUp::default()
    };
    store.follow_up(Some(came), resumed, at(502)).await.unwrap();
    assert_eq!(dir.story().last().unwrap(), "PROMPT_ROUTED routing resumed");
    let records = dir.story().len();
    resume(&store, session, at(502)).await;
    assert_eq!(dir.story().len(), records, "it was not paused any more");
    assert!(matches!(answer(session, telegram(), 503).await, Outcome::Won { .. }));
    dir.assert_good();
}

#[tokio::test]
async fn the_minute_moves_on_and_a_resumed_session_counts_anew() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let telegram = || Source::Channel("telegram".to_owned());
    // One each six seconds and a bit, for ever: never more than ten in a minute.
    for number in 0..25 {
        let outcome = answer_next(&store, session, number, telegram(), i64::from(number) * 6).await;
        assert!(matches!(outcome, Outcome::Won { .. }), "{number}: {outcome:?}");
    }
    let outcome = answer_next(&store, session, 100, telegram(), 145).await;
    assert_eq!(outcome, Outcome::Refused(Refusal::TooMany));
    resume(&store, session, at(146)).await;
    for number in 0..MOST_ANSWERS {
        let outcome = answer_next(&store, session, 200 + number as u32, telegram(), 147).await;
        assert!(matches!(outcome, Outcome::Won { .. }), "{number}: {outcome:?}");
    }
    let outcome = answer_next(&store, session, 300, telegram(), 147).await;
    assert_eq!(outcome, Outcome::Refused(Refusal::TooMany));
}

#[tokio::test]
async fn late_taps_do_not_pause_a_session() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let telegram = || Source::Channel("telegram".to_owned());
    for number in 0..MOST_ANSWERS as u32 {
        answer_next(&store, session, number, telegram(), 0).await;
    }
    let waiting = ask(&store, session, 99).await;
    let mut done = store.prompts_of(session).await.unwrap();
    done.retain(|prompt| prompt.state != PromptState::AwaitingReply);
    let outcome = store.accept_alone(tap(&done[0]), at(1)).await.unwrap();
    assert!(matches!(outcome, Outcome::Refused(Refusal::NotWaiting { .. })), "{outcome:?}");
    let guessed = AcceptedAnswer { nonce: "0".repeat(32).parse().unwrap(), ..tap(&waiting) };
    let outcome = store.accept_alone(guessed, at(1)).await.unwrap();
    assert_eq!(outcome, Outcome::Refused(Refusal::UnknownPrompt));
    assert_eq!(store.session(session).await.unwrap().unwrap().paused_at, None);
}
