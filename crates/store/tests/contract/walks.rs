//! Random walks: whatever happens in whatever order, the store stands where the pure model stands.

use atlasbridge_model::lifecycle::{Departure, Do, Event, Failure, NotApplied, PromptState, Step, step};
use atlasbridge_model::{BootTime, Nonce, Now, ReplyId, SessionId};
use atlasbridge_store::{AcceptedAnswer, Advance, Outcome, PromptRecord, Store};
use proptest::prelude::*;

use crate::world::{AcceptAlone, Dir, advance_all, at, begin, is_clean, new, no, random, tap, yes_no};

#[derive(Debug, Clone)]
enum Act {
    Ask,
    AskAgain(usize),
    Answer(usize),
    Guess(usize),
    Deadline(usize),
    Typed(usize),
    Taken(usize),
    NotApplied(usize, bool),
    Left(usize, u8),
    Cancel(usize),
    Promote,
    HostLost,
    Wait(i64),
    /// Stop and start again, in order or not.
    Restart(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let which = 0..6_usize;
    prop_oneof![
        4 => Just(Act::Ask),
        1 => which.clone().prop_map(Act::AskAgain),
        4 => which.clone().prop_map(Act::Answer),
        1 => which.clone().prop_map(Act::Guess),
        3 => which.clone().prop_map(Act::Deadline),
        3 => which.clone().prop_map(Act::Typed),
        3 => which.clone().prop_map(Act::Taken),
        1 => (which.clone(), any::<bool>()).prop_map(|(index, locally)| Act::NotApplied(index, locally)),
        1 => (which.clone(), 0..4_u8).prop_map(|(index, how)| Act::Left(index, how)),
        1 => which.prop_map(Act::Cancel),
        3 => Just(Act::Promote),
        1 => Just(Act::HostLost),
        3 => (1..400_i64).prop_map(Act::Wait),
        1 => any::<bool>().prop_map(Act::Restart),
    ]
}

/// The pure model of one prompt.
struct Pure {
    record: PromptRecord,
    state: PromptState,
    deliveries: usize,
}

impl Pure {
    fn step(&mut self, event: &Event, now: Now) -> bool {
        let deadline: Option<BootTime> = self.record.deadline;
        let Step::Moved(state, effects) = step(&self.state, event, deadline, now) else {
            return false;
        };
        self.deliveries += effects.iter().filter(|effect| matches!(effect, Do::Deliver(_))).count();
        self.state = state;
        true
    }

    fn reply(&self) -> ReplyId {
        match &self.state {
            PromptState::ReplyReceived { reply, .. }
            | PromptState::Injected { reply, .. }
            | PromptState::Expired { fallback: Some(reply) } => *reply,
            _ => ReplyId::from_random([9; 16]),
        }
    }
}

struct World {
    dir: Dir,
    store: Option<Store>,
    session: SessionId,
    prompts: Vec<Pure>,
    seconds: i64,
}

impl World {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn now(&self) -> Now {
        at(self.seconds)
    }

    async fn perform(&mut self, act: Act) {
        match act {
            Act::Ask => self.ask().await,
            Act::AskAgain(index) if index < self.prompts.len() => {
                let known = self.prompts[index].record.id;
                let sighting = yes_no(index as u32 + 1);
                let again =
                    self.store().record_prompt(new(self.session, &sighting), self.now()).await.unwrap();
                assert_eq!((again.fresh, again.prompt.id), (false, known));
            }
            Act::Answer(index) if index < self.prompts.len() => self.answer(index).await,
            Act::Guess(index) if index < self.prompts.len() => {
                let guess = AcceptedAnswer {
                    nonce: Nonce::from_random(random()),
                    ..tap(&self.prompts[index].record)
                };
                let outcome = self.store().accept_alone(guess, self.now()).await.unwrap();
                assert!(matches!(outcome, Outcome::Refused(_)));
            }
            Act::Deadline(index) if index < self.prompts.len() => self.pass_deadline(index).await,
            Act::Typed(index) => self.advance(index, |reply| Event::Typed { reply }).await,
            Act::Taken(index) => self.advance(index, |reply| Event::Taken { reply }).await,
            Act::NotApplied(index, locally) => {
                let why = match locally {
                    true => NotApplied::AnsweredLocally,
                    false => NotApplied::Failed(Failure::PromptChanged),
                };
                self.advance(index, |reply| Event::NotApplied { reply, why }).await;
            }
            Act::Left(index, how) => {
                let how = [
                    Departure::AnsweredLocally,
                    Departure::OutOfBand,
                    Departure::Withdrawn,
                    Departure::ToolEnded,
                ][usize::from(how)];
                self.advance(index, |_| Event::Left { how }).await;
            }
            Act::Cancel(index) => self.advance(index, |_| Event::CanceledByOperator).await,
            Act::Promote => self.promote().await,
            Act::HostLost => self.lose_host().await,
            Act::Wait(seconds) => self.seconds += seconds,
            Act::Restart(orderly) => self.restart(orderly).await,
            Act::AskAgain(_) | Act::Answer(_) | Act::Guess(_) | Act::Deadline(_) => {}
        }
    }

    async fn ask(&mut self) {
        let sighting = yes_no(self.prompts.len() as u32 + 1);
        let recorded = self.store().record_prompt(new(self.session, &sighting), self.now()).await.unwrap();
        let busy = |pure: &Pure| matches!(pure.state, PromptState::AwaitingReply | PromptState::Routed);
        let first = !self.prompts.iter().any(busy);
        let mut pure = Pure { record: recorded.prompt, state: PromptState::Created, deliveries: 0 };
        pure.step(&Event::Routed { first }, self.now());
        self.prompts.push(pure);
    }

    async fn answer(&mut self, index: usize) {
        let (now, answer) = (self.now(), tap(&self.prompts[index].record));
        let event = Event::Answered { reply: answer.reply, source: answer.source.clone() };
        let outcome = self.store().accept_alone(answer, now).await.unwrap();
        let moved = self.prompts[index].step(&event, now);
        assert_eq!(matches!(outcome, Outcome::Won { .. }), moved, "{outcome:?}");
    }

    async fn pass_deadline(&mut self, index: usize) {
        let (now, reply) = (self.now(), ReplyId::from_random(random()));
        let prompt = self.prompts[index].record.id;
        let advance = self.store().expire(prompt, Some((reply, no())), now).await.unwrap();
        let moved = self.prompts[index].step(&Event::Deadline { fallback: Some(reply) }, now);
        assert_eq!(matches!(advance, Advance::Moved(_)), moved, "{advance:?}");
    }

    async fn advance(&mut self, index: usize, event: impl FnOnce(ReplyId) -> Event) {
        let Some(pure) = self.prompts.get(index) else {
            return;
        };
        let (now, event) = (self.now(), event(pure.reply()));
        let advance = self.store().advance(pure.record.id, &event, now).await.unwrap();
        let moved = self.prompts[index].step(&event, now);
        assert_eq!(matches!(advance, Advance::Moved(_)), moved, "{advance:?}");
    }

    async fn promote(&mut self) {
        let now = self.now();
        let promoted = self.store().promote_next(self.session, now).await.unwrap();
        let waits = self.prompts.iter().any(|pure| pure.state == PromptState::AwaitingReply);
        let next = self.prompts.iter_mut().find(|pure| pure.state == PromptState::Routed);
        match (waits, next) {
            (false, Some(pure)) => {
                assert_eq!(promoted.map(|prompt| prompt.id), Some(pure.record.id));
                pure.step(&Event::Promoted, now);
            }
            _ => assert_eq!(promoted, None),
        }
    }

    async fn lose_host(&mut self) {
        let now = self.now();
        let moves = advance_all(self.store(), self.session, &Event::HostLost, now).await;
        let mut moved = 0;
        for pure in &mut self.prompts {
            moved += usize::from(pure.step(&Event::HostLost, now));
        }
        assert_eq!(moves.len(), moved);
    }

    async fn restart(&mut self, orderly: bool) {
        let store = self.store.take().unwrap();
        match orderly {
            true => store.close().await.unwrap(),
            false => drop(store),
        }
        let (store, recovery) = self.dir.open().await;
        assert!(is_clean(&recovery), "{recovery}");
        self.store = Some(store);
    }

    async fn check(&self) {
        let stored = self.store().prompts_of(self.session).await.unwrap();
        assert_eq!(stored.len(), self.prompts.len());
        for (stored, pure) in stored.iter().zip(&self.prompts) {
            assert_eq!(stored.state, pure.state);
            assert!(pure.deliveries <= 1);
        }
        let waiting = |pure: &&Pure| pure.state == PromptState::AwaitingReply;
        assert!(self.prompts.iter().filter(waiting).count() <= 1);
        self.dir.assert_good();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_store_stands_where_the_model_stands(acts in proptest::collection::vec(act(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = Dir::new();
            let store = dir.store().await;
            let session = begin(&store).await;
            let mut world = World { dir, store: Some(store), session, prompts: Vec::new(), seconds: 0 };
            for act in acts {
                world.perform(act).await;
            }
            world.check().await;
        });
    }
}
