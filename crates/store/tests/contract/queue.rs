//! Sessions, one waiting prompt per session, deadlines, lookups.

use atlasbridge_model::answer::Source;
use atlasbridge_model::lifecycle::{Cancellation, Departure, Do, Event, Failure, PromptState};
use atlasbridge_model::{PromptId, ReplyId};
use atlasbridge_store::{Advance, NewPrompt, Outcome, SessionRecord, SessionStatus};

use crate::world::{
    AcceptAlone, Dir, TTL, advance_all, ask, at, begin, leave, new, no, random, session_record, tap, yes_no,
};

#[tokio::test]
async fn a_session_begins_and_ends_once() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = session_record();
    assert!(store.begin_session(&session, at(0)).await.unwrap());
    let again = SessionRecord { leader_pid: Some(7), tool: "other".to_owned(), ..session.clone() };
    assert!(!store.begin_session(&again, at(1)).await.unwrap());
    store.set_tool_pid(session.id, 8, at(1)).await.unwrap();
    let known = SessionRecord { leader_pid: Some(7), tool_pid: Some(8), ..session.clone() };
    assert_eq!(store.session(session.id).await.unwrap(), Some(known.clone()));
    assert_eq!(store.active_sessions().await.unwrap(), [known]);

    let ended = |code| store.end_session(session.id, SessionStatus::Completed, code, at(9));
    assert!(ended(Some(3)).await.unwrap());
    assert!(!ended(None).await.unwrap());
    let stored = store.session(session.id).await.unwrap().unwrap();
    assert_eq!(stored.status, SessionStatus::Completed);
    assert_eq!((stored.exit_code, stored.ended_at), (Some(3), Some(at(9).wall)));
    assert_eq!(store.active_sessions().await.unwrap(), []);
    assert_eq!(dir.story(), ["SESSION_START claude", "SESSION_END completed, exit code 3"]);
}

#[tokio::test]
async fn old_sessions_are_forgotten_and_the_log_is_not() {
    let dir = Dir::new();
    let store = dir.store().await;
    let (old, recent, running) = (begin(&store).await, begin(&store).await, begin(&store).await);
    for session in [old, recent, running] {
        let prompt = ask(&store, session, 1).await;
        store.accept_alone(tap(&prompt), at(1)).await.unwrap();
    }
    for (session, seconds) in [(old, 10), (recent, 30)] {
        let ended = store.end_session(session, SessionStatus::Completed, Some(0), at(seconds));
        assert!(ended.await.unwrap());
    }
    assert_eq!(store.forget_ended_before(at(20).wall, at(40)).await.unwrap(), 1);
    assert_eq!(store.session(old).await.unwrap(), None);
    assert_eq!(store.prompts_of(old).await.unwrap(), []);
    for kept in [recent, running] {
        assert!(store.session(kept).await.unwrap().is_some());
        assert_eq!(store.prompts_of(kept).await.unwrap().len(), 1);
    }
    assert_eq!(dir.assert_good(), 3 + 3 * 3 + 2, "every record is still there");
}

#[tokio::test]
async fn sessions_are_listed_newest_first() {
    let dir = Dir::new();
    let store = dir.store().await;
    for seconds in [3, 1, 2] {
        let session = SessionRecord { started_at: at(seconds).wall, ..session_record() };
        store.begin_session(&session, at(seconds)).await.unwrap();
    }
    let starts: Vec<_> = store.sessions(2).await.unwrap().iter().map(|one| one.started_at).collect();
    assert_eq!(starts, [at(3).wall, at(2).wall]);
}

#[tokio::test]
async fn a_sighting_is_recorded_once() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let sighting = yes_no(1);
    let first = store.record_prompt(new(session, &sighting), at(0)).await.unwrap();
    assert!(first.fresh);
    assert_eq!(first.prompt.sighting, sighting);
    assert_eq!(first.prompt.state, PromptState::AwaitingReply);
    let again = store.record_prompt(new(session, &sighting), at(5)).await.unwrap();
    assert!(!again.fresh);
    assert_eq!(again.prompt, first.prompt);
    assert_eq!(store.prompt(first.prompt.id).await.unwrap(), Some(first.prompt));
    assert_eq!(store.prompt_count(session).await.unwrap(), 1);
    assert_eq!(dir.assert_good(), 3);
}

#[tokio::test]
async fn one_prompt_of_a_session_waits_and_the_others_queue() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    let first = ask(&store, session, 1).await;
    let second = ask(&store, session, 2).await;
    let third = ask(&store, session, 3).await;
    assert_eq!(second.state, PromptState::Routed);
    assert_eq!(store.promote_next(session, at(1)).await.unwrap(), None, "the first still waits");

    let left = Event::Left { how: Departure::AnsweredLocally };
    let Advance::Moved(moved) = store.advance(first.id, &left, at(2)).await.unwrap() else {
        panic!("it was waiting")
    };
    assert_eq!(moved.effects, [Do::PromoteNext]);
    let fourth = ask(&store, session, 4).await;
    assert_eq!(fourth.state, PromptState::Routed, "nobody jumps the queue");
    let promoted = store.promote_next(session, at(3)).await.unwrap().unwrap();
    assert_eq!((promoted.id, promoted.state), (second.id, PromptState::AwaitingReply));
    let won = store.accept_alone(tap(&second), at(4)).await.unwrap();
    assert!(matches!(won, Outcome::Won { .. }));
    assert_eq!(store.promote_next(session, at(3)).await.unwrap().unwrap().id, third.id);

    let open: Vec<_> = store.open_prompts().await.unwrap();
    assert_eq!(open.iter().map(|open| open.prompt.id).collect::<Vec<_>>(), [second.id, third.id, fourth.id]);
    assert!(open.iter().all(|open| open.session.id == session));
    assert_eq!(store.prompts_of(session).await.unwrap().len(), 4);
    dir.assert_good();
}

#[tokio::test]
async fn the_end_of_a_host_is_the_end_of_its_prompts() {
    let dir = Dir::new();
    let store = dir.store().await;
    let (session, other) = (begin(&store).await, begin(&store).await);
    let answered = ask(&store, session, 1).await;
    store.accept_alone(tap(&answered), at(1)).await.unwrap();
    ask(&store, session, 2).await;
    ask(&store, other, 1).await;
    let moves = advance_all(&store, session, &Event::HostLost, at(2)).await;
    let states: Vec<_> = moves.into_iter().map(|moved| moved.prompt.state).collect();
    assert_eq!(
        states,
        [
            PromptState::Failed { why: Failure::Unknown },
            PromptState::Canceled { why: Cancellation::HostGone },
        ]
    );
    assert_eq!(store.open_prompts().await.unwrap().len(), 1);
    assert_eq!(advance_all(&store, session, &Event::HostLost, at(3)).await, []);
    assert_eq!(store.undelivered(session).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_left_to_the_terminal_stands_until_its_dialog_goes() {
    let dir = Dir::new();
    let store = dir.store().await;
    let (session, other) = (begin(&store).await, begin(&store).await);
    let (left, moved_on) = (ask(&store, session, 1).await, ask(&store, other, 1).await);
    for prompt in [&left, &moved_on] {
        let canceled = leave(&store, prompt, "uid:0").await;
        assert!(matches!(canceled, Advance::Moved(_)), "{canceled:?}");
    }
    let standing = async || -> Vec<PromptId> {
        let standing = store.standing_prompts().await.unwrap();
        standing.iter().map(|open| open.prompt.id).collect()
    };
    assert_eq!(standing().await.len(), 2);
    assert_eq!(store.open_prompts().await.unwrap(), []);
    // The next question of a session stands where the one before it stood.
    let next = ask(&store, other, 2).await;
    let mut expected = vec![left.id, next.id];
    let mut found = standing().await;
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let gone = Event::Left { how: Departure::AnsweredLocally };
    let refused = store.advance(left.id, &gone, at(2)).await.unwrap();
    assert!(matches!(refused, Advance::Refused(_)), "nothing becomes of it");
    assert_eq!(standing().await, [next.id]);
    dir.assert_good();
}

#[tokio::test]
async fn deadlines_come_in_their_order() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    assert_eq!(store.next_deadline().await.unwrap(), None);
    let first = ask(&store, session, 1).await;
    let later = store.record_prompt(new(session, &yes_no(2)), at(50)).await.unwrap().prompt;
    let timeless = yes_no(3);
    let timeless = NewPrompt { ttl: None, ..new(session, &timeless) };
    store.record_prompt(timeless, at(0)).await.unwrap();
    assert_eq!(store.next_deadline().await.unwrap(), Some(at(TTL.as_secs() as i64).boot));
    assert_eq!(store.due(at(599)).await.unwrap(), []);
    assert_eq!(store.due(at(600)).await.unwrap(), std::slice::from_ref(&first));
    let due = store.due(at(650)).await.unwrap();
    assert_eq!(due, [first.clone(), later.clone()]);

    // Nothing is typed for a prompt that is not first on the screen.
    let fallback = Some((ReplyId::from_random(random()), no()));
    let Advance::Moved(moved) = store.expire(later.id, fallback, at(650)).await.unwrap() else {
        panic!("its time is up")
    };
    assert_eq!(moved.prompt.state, PromptState::Expired { fallback: None });
    assert_eq!(store.undelivered(session).await.unwrap(), []);
    assert_eq!(store.due(at(650)).await.unwrap(), [first]);
}

#[tokio::test]
async fn people_type_the_beginning_of_an_id() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    for (no, byte) in [(1, 0xab), (2, 0xab), (3, 0xcd)] {
        let mut bytes = [byte; 16];
        bytes[15] = no as u8;
        let sighting = yes_no(no);
        let prompt = NewPrompt { id: PromptId::from_random(bytes), ..new(session, &sighting) };
        store.record_prompt(prompt, at(i64::from(no))).await.unwrap();
    }
    for (typed, expected) in [
        ("cdcd", 1),
        ("CDCDcdcd", 1),
        ("cdcdcdcd-cd", 1),
        ("abab", 2),
        ("aba", 0),
        ("ffff", 0),
        ("%%%%", 0),
        ("abab'", 0),
        ("", 0),
    ] {
        let found = store.find_prompts_by_prefix(typed).await.unwrap();
        assert_eq!(found.len(), expected, "{typed:?}");
    }
    let whole = PromptId::from_random([0xcd; 16]).to_string();
    assert_eq!(store.find_prompts_by_prefix(&whole[..30]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn sources_keep_their_names() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    for (number, source) in
        [Source::Command, Source::Keyboard, Source::Channel("web".into())].into_iter().enumerate()
    {
        let prompt = ask(&store, session, number as u32 + 1).await;
        let mut answer = tap(&prompt);
        answer.source = source.clone();
        assert!(matches!(store.accept_alone(answer, at(1)).await.unwrap(), Outcome::Won { .. }));
        assert_eq!(store.reply_of(prompt.id).await.unwrap().unwrap().source, source);
    }
}
