//! What is to be shown where, and offers that are replaced.

use atlasbridge_model::answer::Refusal;
use atlasbridge_model::lifecycle::{Departure, Event};
use atlasbridge_model::{Nonce, Now, PromptId};
use atlasbridge_store::{
    AcceptedAnswer, DuePost, FollowUp, Offered, Outcome, PostId, PromptRecord, SessionStatus, Store,
};

use crate::world::{AcceptAlone, Dir, ask, at, begin, random, resume, tap};

pub(crate) const CHANNEL: &str = "telegram";

async fn offer_on(store: &Store, prompt: &PromptRecord, channel: &str, names: &[&str], after: i64) -> u64 {
    let targets: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    store.offer(prompt.id, channel, &targets, at(after).boot, at(0)).await.unwrap()
}

pub(crate) async fn offer(store: &Store, prompt: &PromptRecord) {
    assert_eq!(offer_on(store, prompt, CHANNEL, &["42"], 0).await, 1);
}

pub(crate) async fn due(store: &Store, now: Now) -> Vec<DuePost> {
    store.due_posts(CHANNEL, 20, now).await.unwrap()
}

/// Sends or edits the first that is due, as a channel would.
async fn show_one(store: &Store, now: Now) -> Option<DuePost> {
    let first = due(store, now).await.into_iter().next()?;
    let (id, shown) = (first.post.id, first.post.wanted);
    match &first.post.address {
        None => store.posted(id, &format!("m{}", id.0), shown, now).await.unwrap(),
        Some(_) => store.edited(id, shown, now).await.unwrap(),
    }
    Some(first)
}

async fn show_all(store: &Store, now: Now) -> Vec<String> {
    let mut shown = Vec::new();
    while let Some(one) = show_one(store, now).await {
        let what = if one.post.address.is_some() { "edit" } else { "post" };
        let replaced = if one.is_replaced() { " replaced" } else { "" };
        shown.push(format!("{what} {}{replaced}", one.prompt.state.status()));
    }
    shown
}

async fn waiting() -> (Dir, Store, PromptRecord) {
    let dir = Dir::new();
    let store = dir.store().await;
    let prompt = ask(&store, begin(&store).await, 1).await;
    (dir, store, prompt)
}

#[tokio::test]
async fn every_move_is_shown_and_moves_in_between_are_one_edit() {
    let (dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    let again = offer_on(&store, &prompt, CHANNEL, &["42"], 0).await;
    assert_eq!(again, 0, "it is wanted there already");
    assert_eq!(show_all(&store, at(0)).await, ["post awaiting_reply"]);
    assert_eq!(store.next_post_time(CHANNEL, at(0)).await.unwrap(), None);

    let Outcome::Won { reply, .. } = store.accept_alone(tap(&prompt), at(1)).await.unwrap() else {
        panic!("nobody else is there")
    };
    drop(store);
    let store = dir.store().await;
    assert_eq!(show_all(&store, at(1)).await, ["edit reply_received"], "a crash lost nothing");
    for event in [Event::Typed { reply: reply.id }, Event::Taken { reply: reply.id }] {
        store.advance(prompt.id, &event, at(2)).await.unwrap();
    }
    let found = due(&store, at(2)).await;
    assert_eq!(found[0].reply.as_ref().map(|found| found.id), Some(reply.id));
    assert_eq!(show_all(&store, at(2)).await, ["edit resolved"]);
    assert_eq!(due(&store, at(3)).await, []);
}

#[tokio::test]
async fn a_move_while_a_message_is_on_its_way_is_shown_after_it() {
    let (_dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    let on_its_way = due(&store, at(0)).await.remove(0);
    store.accept_alone(tap(&prompt), at(1)).await.unwrap();
    assert_eq!(due(&store, at(1)).await, [], "nothing new is begun for it");
    let (id, shown) = (on_its_way.post.id, on_its_way.post.wanted);
    store.posted(id, "m1", shown, at(1)).await.unwrap();
    let edit = due(&store, at(1)).await.remove(0);
    assert_eq!(edit.post.address.as_deref(), Some("m1"));
    assert_eq!(show_all(&store, at(1)).await, ["edit reply_received"]);
    let (post, found) = store.post_at(CHANNEL, "m1").await.unwrap().unwrap();
    assert_eq!((post.id, found.id), (id, prompt.id));
    assert_eq!(store.post_at("slack", "m1").await.unwrap(), None);
}

#[tokio::test]
async fn buttons_go_first_then_new_posts_then_other_edits() {
    let dir = Dir::new();
    let store = dir.store().await;
    let mut prompts = Vec::new();
    for _ in 0..3 {
        let prompt = ask(&store, begin(&store).await, 1).await;
        prompts.push(prompt);
    }
    offer(&store, &prompts[0]).await;
    offer(&store, &prompts[1]).await;
    show_all(&store, at(0)).await;
    assert_eq!(store.touch_waiting(CHANNEL, at(1)).await.unwrap(), 2);
    assert_eq!(store.touch_waiting(CHANNEL, at(1)).await.unwrap(), 0, "they are behind already");
    offer(&store, &prompts[2]).await;
    store.accept_alone(tap(&prompts[1]), at(2)).await.unwrap();
    let order: Vec<PromptId> = due(&store, at(2)).await.iter().map(|due| due.prompt.id).collect();
    assert_eq!(order, [prompts[1].id, prompts[2].id, prompts[0].id]);
    show_one(&store, at(2)).await;
    // Its buttons are gone: what follows is an edit like any other.
    let left = Event::HostLost;
    store.advance(prompts[1].id, &left, at(3)).await.unwrap();
    let order: Vec<PromptId> = due(&store, at(3)).await.iter().map(|due| due.prompt.id).collect();
    assert_eq!(order, [prompts[2].id, prompts[0].id, prompts[1].id]);
}

#[tokio::test]
async fn many_that_are_due_come_in_portions_and_none_is_left_out() {
    let dir = Dir::new();
    let store = dir.store().await;
    for _ in 0..25 {
        let prompt = ask(&store, begin(&store).await, 1).await;
        offer_on(&store, &prompt, CHANNEL, &["42", "43"], 0).await;
    }
    let portion = due(&store, at(0)).await;
    for target in ["42", "43"] {
        assert_eq!(portion.iter().filter(|due| due.post.target == target).count(), 20);
    }
    assert_eq!(show_all(&store, at(0)).await.len(), 50);
    // New ones on a target do not hide the edits there, and those whose turn has not come do not hide the one whose has.
    store.touch_waiting(CHANNEL, at(0)).await.unwrap();
    let session = begin(&store).await;
    for number in 1..=25 {
        let prompt = ask(&store, session, number).await;
        offer_on(&store, &prompt, CHANNEL, &["42"], 0).await;
    }
    let (edits, new): (Vec<_>, Vec<_>) =
        due(&store, at(0)).await.into_iter().partition(|due| due.post.address.is_some());
    assert_eq!((edits.len(), new.len()), (40, 1));
}

#[tokio::test]
async fn what_nobody_can_answer_is_not_sent() {
    let (_dir, store, prompt) = waiting().await;
    let grace = at(10).boot;
    offer_on(&store, &prompt, CHANNEL, &["42", "43"], 10).await;
    assert_eq!(due(&store, at(9)).await, []);
    assert_eq!(store.next_post_time(CHANNEL, at(9)).await.unwrap(), Some(grace));
    assert_eq!(due(&store, at(10)).await.len(), 2);
    assert_eq!(due(&store, at(600)).await, [], "its time is up, though nobody said so yet");
    assert_eq!(store.next_post_time(CHANNEL, at(600)).await.unwrap(), None);
    let left = Event::Left { how: Departure::AnsweredLocally };
    store.advance(prompt.id, &left, at(11)).await.unwrap();
    assert_eq!(due(&store, at(11)).await, []);
    let posts = store.posts_of(prompt.id).await.unwrap();
    assert!(posts.iter().all(|post| post.dead.is_some()), "{posts:?}");
    assert_eq!(offer_on(&store, &prompt, "slack", &["c"], 0).await, 0);
}

#[tokio::test]
async fn later_and_never() {
    let (_dir, store, prompt) = waiting().await;
    offer_on(&store, &prompt, CHANNEL, &["42"], 30).await;
    let id = store.posts_of(prompt.id).await.unwrap()[0].id;
    assert_eq!(due(&store, at(29)).await, []);
    assert_eq!(store.next_post_time(CHANNEL, at(0)).await.unwrap(), Some(at(30).boot));
    assert_eq!(
        store.next_post_time(CHANNEL, at(30)).await.unwrap(),
        None,
        "what is due already needs no alarm"
    );
    assert_eq!(show_all(&store, at(30)).await, ["post awaiting_reply"]);
    store.drop_post(id, "the message is gone", at(31)).await.unwrap();
    store.accept_alone(tap(&prompt), at(32)).await.unwrap();
    assert_eq!(due(&store, at(32)).await, []);
}

#[tokio::test]
async fn more_is_shown_when_somebody_asks() {
    let (_dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    show_all(&store, at(0)).await;
    let id = store.posts_of(prompt.id).await.unwrap()[0].id;
    for (update, level, edits) in [(1, 1, 1), (2, 1, 0), (3, 2, 1)] {
        let handled = FollowUp { level: Some((id, level)), ..FollowUp::default() };
        let came = atlasbridge_store::CameBy { channel: CHANNEL.to_owned(), update };
        store.follow_up(Some(came), handled, at(1)).await.unwrap();
        let found = due(&store, at(1)).await;
        assert_eq!(found.len(), edits, "{level}");
        assert!(found.iter().all(|due| due.post.level == level));
        show_all(&store, at(1)).await;
    }
}

#[tokio::test]
async fn an_offer_that_was_replaced_is_worth_nothing_and_says_so() {
    let (dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    show_all(&store, at(0)).await;
    // Of the second channel nothing was sent yet.
    offer_on(&store, &prompt, "slack", &["c"], 0).await;

    let nonce = Nonce::from_random(random());
    let newer = store.reoffer(prompt.id, nonce, at(200)).await.unwrap().unwrap();
    assert_eq!(newer.nonce, nonce);
    assert_eq!(dir.story().last().unwrap(), "PROMPT_ROUTED offered again");
    drop(store);
    let store = dir.store().await;
    assert_eq!(store.due_posts("slack", 20, at(200)).await.unwrap().len(), 1, "only the newer one");
    assert_eq!(show_all(&store, at(200)).await, ["edit awaiting_reply replaced", "post awaiting_reply"]);

    let old = store.accept_alone(tap(&prompt), at(201)).await.unwrap();
    assert_eq!(old, Outcome::Refused(Refusal::Replaced));
    assert_eq!(dir.story().last().unwrap(), "REPLY_REJECTED replaced");
    let forged = AcceptedAnswer { nonce: Nonce::from_random(random()), ..tap(&prompt) };
    let forged = store.accept_alone(forged, at(201)).await.unwrap();
    assert_eq!(forged, Outcome::Refused(Refusal::UnknownPrompt));
    let won = store.accept_alone(tap(&newer), at(202)).await.unwrap();
    assert!(matches!(won, Outcome::Won { .. }), "{won:?}");
    assert_eq!(show_all(&store, at(202)).await, ["edit reply_received"], "the old one has had its say");

    let late = store.reoffer(prompt.id, Nonce::from_random(random()), at(203));
    assert_eq!(late.await.unwrap(), None);
    let other = ask(&store, begin(&store).await, 1).await;
    let late = store.reoffer(other.id, Nonce::from_random(random()), at(600));
    assert_eq!(late.await.unwrap(), None, "its time is up");
    dir.assert_good();
}

#[tokio::test]
async fn a_button_names_its_offer() {
    let (_dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    let newer = store.reoffer(prompt.id, Nonce::from_random(random()), at(1)).await.unwrap().unwrap();
    let (id, session) = (prompt.id.short(), prompt.session.short());
    for nonce in [prompt.nonce, newer.nonce] {
        let hex = nonce.to_hex();
        let found = store.find_offer(&id, &session, &hex[..16]).await.unwrap();
        let expected = Offered { prompt: newer.clone(), nonce };
        assert_eq!(found, Some(expected));
    }
    let hex = newer.nonce.to_hex();
    let good = &hex[..16];
    let turned = |text: &str| -> String { text.chars().rev().collect() };
    for (prompt, session, nonce) in [
        (id.as_str(), session.as_str(), "0000000000000000"),
        (&id, &session, &good[..15]),
        (&id, &session, &hex[..17]),
        (&id, &session, ""),
        (&id, &turned(&session), good),
        (&turned(&id), &session, good),
        (&id, &session, &good.to_uppercase().replace(|c: char| c.is_ascii_digit(), "F")),
        ("%%%%%%%%", "________", good),
        ("éééé", &session, good),
    ] {
        let found = store.find_offer(prompt, session, nonce).await.unwrap();
        assert_eq!(found, None, "{prompt} {session} {nonce}");
    }
}

#[tokio::test]
async fn a_message_whose_address_was_lost_is_found_again() {
    let (_dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    let offered = Offered { prompt: prompt.clone(), nonce: prompt.nonce };
    // Sent, and killed before its address was written: it was sent again, and each copy is tapped.
    let adopt = async |address| {
        let adopted = store.adopt_post(&offered, CHANNEL, "42", address, at(1));
        adopted.await.unwrap().unwrap()
    };
    let first = adopt("m1").await;
    assert_eq!(first.address.as_deref(), Some("m1"));
    assert_eq!(adopt("m1").await.id, first.id);
    let second = adopt("m2").await;
    assert_ne!(second.id, first.id);
    assert_eq!(store.posts_of(prompt.id).await.unwrap().len(), 2);
    assert_eq!(show_all(&store, at(1)).await, ["edit awaiting_reply"; 2]);

    let newer = store.reoffer(prompt.id, Nonce::from_random(random()), at(2)).await.unwrap().unwrap();
    assert_eq!(
        show_all(&store, at(2)).await,
        ["edit awaiting_reply replaced", "edit awaiting_reply replaced", "post awaiting_reply"]
    );
    store.accept_alone(tap(&newer), at(3)).await.unwrap();
    show_all(&store, at(3)).await;
    adopt("lost").await;
    let edits = due(&store, at(4)).await;
    assert!(edits[0].is_replaced());
    let unknown = Offered {
        prompt: PromptRecord { id: PromptId::from_random(random()), ..prompt.clone() },
        nonce: prompt.nonce,
    };
    let unknown = store.adopt_post(&unknown, CHANNEL, "42", "m9", at(4));
    assert_eq!(unknown.await.unwrap(), None);
}

#[tokio::test]
async fn a_paused_session_gets_no_new_messages_until_it_goes_on() {
    let dir = Dir::new();
    let store = dir.store().await;
    let session = begin(&store).await;
    for number in 1..=11 {
        let prompt = ask(&store, session, number).await;
        let outcome = store.accept_alone(tap(&prompt), at(1)).await.unwrap();
        if number == 11 {
            assert_eq!(outcome, Outcome::Refused(Refusal::TooMany));
            offer(&store, &prompt).await;
        }
        if number < 11 {
            store.advance(prompt.id, &Event::HostLost, at(1)).await.unwrap();
        }
    }
    assert_eq!(due(&store, at(2)).await, []);
    assert_eq!(store.next_post_time(CHANNEL, at(2)).await.unwrap(), None);
    resume(&store, session, at(3)).await;
    assert_eq!(show_all(&store, at(3)).await, ["post awaiting_reply"]);
}

#[tokio::test]
async fn messages_are_forgotten_with_their_session() {
    let (_dir, store, prompt) = waiting().await;
    offer(&store, &prompt).await;
    show_all(&store, at(0)).await;
    let text = atlasbridge_store::QueuedText {
        session: prompt.session,
        text: "go on".to_owned(),
        source: atlasbridge_model::answer::Source::Command,
        decided_by: "uid:1000".to_owned(),
        reply: atlasbridge_model::ReplyId::from_random(random()),
        heard_at: None,
    };
    let queue = FollowUp { text: Some(atlasbridge_store::TextMove::Queue(text)), ..Default::default() };
    store.follow_up(None, queue, at(0)).await.unwrap();
    store.end_session(prompt.session, SessionStatus::Completed, Some(0), at(1)).await.unwrap();
    assert_eq!(store.forget_ended_before(at(2).wall, at(3)).await.unwrap(), 1);
    assert_eq!(store.posts_of(prompt.id).await.unwrap(), []);
    assert_eq!(store.queued_text(prompt.session).await.unwrap(), None);
    assert_eq!(store.posted(PostId(1), "m1", 1, at(4)).await.unwrap(), (), "nobody minds");
}
