//! Random walks: whatever happens, in the end every message tells the truth.

use std::collections::HashMap;

use atlasbridge_model::answer::Source;
use atlasbridge_model::lifecycle::{Departure, Event, PromptState};
use atlasbridge_model::{Nonce, PromptId, ReplyId};
use atlasbridge_store::{DuePost, PromptRecord, Store};
use proptest::prelude::*;

use crate::posts::{CHANNEL, due, offer};
use crate::world::{AcceptAlone, Dir, at, begin, new, no, random, tap, yes_no};

#[derive(Debug, Clone)]
enum Act {
    Ask,
    Answer(usize),
    Expire(usize),
    Left(usize),
    HostLost(usize),
    Promote,
    Countdown,
    Reoffer(usize),
    /// The channel does the first thing that is due.
    Show,
    /// It does so, and a crash comes before that is written down.
    ShowAndCrash,
    /// A message that we do not know is tapped.
    TapUnknown,
}

fn act() -> impl Strategy<Value = Act> {
    let which = 0..5_usize;
    prop_oneof![
        3 => Just(Act::Ask),
        2 => which.clone().prop_map(Act::Answer),
        1 => which.clone().prop_map(Act::Expire),
        1 => which.clone().prop_map(Act::Left),
        1 => which.clone().prop_map(Act::HostLost),
        2 => Just(Act::Promote),
        1 => Just(Act::Countdown),
        2 => which.prop_map(Act::Reoffer),
        6 => Just(Act::Show),
        2 => Just(Act::ShowAndCrash),
        1 => Just(Act::TapUnknown),
    ]
}

/// A chat: what each message there shows, and which offer it carries.
#[derive(Default)]
struct Chat {
    messages: HashMap<String, (PromptId, Nonce, String)>,
}

impl Chat {
    fn show(&mut self, due: &DuePost) -> String {
        let next = format!("m{}", self.messages.len());
        let address = due.post.address.clone().unwrap_or(next);
        let text = shown(&due.prompt, due.post.nonce);
        self.messages.insert(address.clone(), (due.prompt.id, due.post.nonce, text));
        address
    }
}

fn shown(prompt: &PromptRecord, nonce: Nonce) -> String {
    match nonce == prompt.nonce {
        true => format!("{:?}", prompt.state),
        false => "replaced".to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order, crashes included: once the channel has done all that is due, every message
    /// that is known shows the truth, and each waiting prompt is there to be answered.
    #[test]
    fn in_the_end_every_message_tells_the_truth(acts in prop::collection::vec(act(), 1..60)) {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(walk(acts));
    }
}

async fn walk(acts: Vec<Act>) {
    let dir = Dir::new();
    let mut store = dir.store().await;
    let session = begin(&store).await;
    let mut prompts: Vec<PromptId> = Vec::new();
    let mut chat = Chat::default();
    for act in acts {
        let one = |index: usize| prompts.get(index).copied();
        match act {
            Act::Ask => {
                let sighting = yes_no(prompts.len() as u32 + 1);
                let prompt = store.record_prompt(new(session, &sighting), at(0)).await.unwrap().prompt;
                offer(&store, &prompt).await;
                prompts.push(prompt.id);
            }
            Act::Answer(index) => {
                if let Some(id) = one(index) {
                    let mut answer = tap(&store.prompt(id).await.unwrap().unwrap());
                    answer.source = Source::Command;
                    store.accept_alone(answer, at(1)).await.unwrap();
                }
            }
            Act::Expire(index) => {
                if let Some(id) = one(index) {
                    let fallback = Some((ReplyId::from_random(random()), no()));
                    store.expire(id, fallback, at(600)).await.unwrap();
                }
            }
            Act::Left(index) => {
                if let Some(id) = one(index) {
                    let left = Event::Left { how: Departure::Withdrawn };
                    store.advance(id, &left, at(1)).await.unwrap();
                }
            }
            Act::HostLost(index) => {
                if let Some(id) = one(index) {
                    store.advance(id, &Event::HostLost, at(1)).await.unwrap();
                }
            }
            Act::Promote => {
                store.promote_next(session, at(1)).await.unwrap();
            }
            Act::Countdown => {
                store.touch_waiting(CHANNEL, at(1)).await.unwrap();
            }
            Act::Reoffer(index) => {
                if let Some(id) = one(index) {
                    let nonce = Nonce::from_random(random());
                    store.reoffer(id, nonce, at(1)).await.unwrap();
                }
            }
            Act::Show => {
                if let Some(first) = due(&store, at(1)).await.first() {
                    show(&store, &mut chat, first).await;
                }
            }
            Act::ShowAndCrash => {
                if let Some(first) = due(&store, at(1)).await.first() {
                    chat.show(first);
                }
                drop(store);
                store = dir.store().await;
            }
            Act::TapUnknown => tap_unknown(&store, &chat).await,
        }
    }
    tap_unknown(&store, &chat).await;
    while let Some(first) = due(&store, at(1)).await.first() {
        show(&store, &mut chat, first).await;
    }
    for (address, (prompt, nonce, text)) in &chat.messages {
        let prompt = store.prompt(*prompt).await.unwrap().unwrap();
        assert_eq!(*text, shown(&prompt, *nonce), "{address}");
    }
    for id in prompts {
        let prompt = store.prompt(id).await.unwrap().unwrap();
        let is_there = chat.messages.values().any(|(of, nonce, _)| *of == id && *nonce == prompt.nonce);
        assert!(is_there || prompt.state != PromptState::AwaitingReply);
    }
    dir.assert_good();
}

async fn show(store: &Store, chat: &mut Chat, due: &DuePost) {
    let address = chat.show(due);
    let (id, shown) = (due.post.id, due.post.wanted);
    match due.post.address {
        None => store.posted(id, &address, shown, at(1)).await.unwrap(),
        Some(_) => store.edited(id, shown, at(1)).await.unwrap(),
    }
}

async fn tap_unknown(store: &Store, chat: &Chat) {
    for (address, (prompt, nonce, _)) in &chat.messages {
        if store.post_at(CHANNEL, address).await.unwrap().is_some() {
            continue;
        }
        let prompt = store.prompt(*prompt).await.unwrap().unwrap();
        let (id, session) = (prompt.id.short(), prompt.session.short());
        let offered = store
            .find_offer(&id, &session, &nonce.to_hex()[..16])
            .await
            .unwrap()
            .expect("what was sent is known");
        store.adopt_post(&offered, CHANNEL, "42", address, at(1)).await.unwrap();
    }
}
