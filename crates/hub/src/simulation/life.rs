//! One life: what happens, by a seed, and the promises that hold after every step.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlasbridge_channel::Target;
use atlasbridge_model::answer::{self, Checked, Rules, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{BootTime, Nonce, Now, PromptId, Timestamp};
use atlasbridge_store::{PromptRecord, Store, StoreConfig};

use super::chat::{CHANNEL, Chat, OPERATORS, Update};
use super::dice::Dice;
use super::host::Host;
use super::outer::Outer;
use crate::core::Core;
use crate::core::acts::Event;
use crate::decide::{Actor, Answer, AnswerRight, Caller, Decision, Matter, Operator};
use crate::engine::{Commit, Engine, Trouble};
use crate::{Defaults, Settings};

pub(super) const BOOT: &str = "0f7d3b8e-boot";
const TTL: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(10);
/// Steps of one life.
const STEPS: usize = 11;
/// A loop that has not come to rest after so many turns never will.
const RESTLESS: usize = 60;
/// So often everybody has their turn at the end, at most.
const TURNS_TO_REST: usize = 200;

/// Whether a life is told step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Whole,
    Nothing,
}

/// How much happened, so that lives in which nothing does are noticed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Figures {
    pub(super) prompts: u64,
    pub(super) replies: u64,
    pub(super) injections: u64,
    pub(super) silences: u64,
    pub(super) crashes: u64,
    pub(super) messages: u64,
}

impl Figures {
    pub(super) fn add(&mut self, other: &Figures) {
        self.prompts += other.prompts;
        self.replies += other.replies;
        self.injections += other.injections;
        self.silences += other.silences;
        self.crashes += other.crashes;
        self.messages += other.messages;
    }
}

fn files(place: &Path) -> StoreConfig {
    StoreConfig {
        database: place.join("atlasbridge.db"),
        audit_log: place.join("audit.log"),
        boot_id: BOOT.to_owned(),
    }
}

/// An empty store: made once for each worker, and copied for each life.
async fn make_place(place: &Path) {
    let empty = place.with_extension("empty");
    if !empty.is_dir() {
        std::fs::create_dir_all(&empty).unwrap();
        let now = Now { wall: Timestamp(0), boot: BootTime(0) };
        let (store, _) = Store::open(files(&empty), now).await.unwrap();
        store.close().await.unwrap();
    }
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).unwrap();
    for file in std::fs::read_dir(&empty).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.join(file.file_name())).unwrap();
    }
}

/// A hub that lives, is killed and lives again, and everything around it.
pub(crate) struct Life {
    outer: Outer,
    hub: Option<Engine>,
    place: PathBuf,
    /// At how many writes and at which moment the promises were last checked.
    checked: Option<(u64, BootTime)>,
    pub(super) figures: Figures,
}

impl Life {
    pub(super) async fn begin(seed: u64, place: &Path, telling: Telling) -> Self {
        make_place(place).await;
        let mut dice = Dice::new(seed);
        let now = Now { wall: Timestamp(1_767_323_045_678), boot: BootTime(1_000_000) };
        let hosts = (0..1 + dice.below(2)).map(|_| Host::new(&mut dice, now)).collect();
        let wants_notices = dice.once_in(6);
        let outer = Outer {
            now,
            dice,
            hosts,
            chat: Chat::new(wants_notices),
            store: None,
            dies: None,
            commits: 0,
            said: HashMap::new(),
            instructed: HashSet::new(),
            sent: HashMap::new(),
            callers: HashSet::new(),
            next_caller: 0,
            broken: None,
            story: (telling == Telling::Whole).then(String::new),
            figures: Figures::default(),
        };
        Self { outer, hub: None, place: place.to_owned(), checked: None, figures: Figures::default() }
    }

    pub(super) fn broken(&self) -> Option<String> {
        self.outer.broken.clone()
    }

    pub(super) fn story(&self) -> &str {
        self.outer.story.as_deref().unwrap_or_default()
    }

    pub(super) async fn live(&mut self) {
        self.start_hub().await;
        for _ in 0..STEPS {
            self.step().await;
            self.settle().await;
            self.check().await;
            if self.outer.broken.is_some() {
                return;
            }
        }
        self.come_to_rest().await;
        self.outer.figures.messages += self.outer.chat.messages.len() as u64;
        self.figures = self.outer.figures.clone();
    }

    async fn start_hub(&mut self) {
        self.outer.chat.tasks.clear();
        let (store, _) = Store::open(files(&self.place), self.outer.now).await.unwrap();
        let settings = Settings {
            ttl: TTL,
            retention: Duration::from_secs(86_400),
            free_text_enabled: true,
            secrets_over_channels: false,
            presence_grace: GRACE,
            show_detail: false,
            defaults: Defaults { yes_no: true, confirm_enter: true, multiple_choice: true, free_text: true },
            channels: Vec::new(),
            page: None,
        };
        self.outer.store = Some(store.clone());
        let active = store.active_sessions().await.unwrap();
        let sessions = active.iter().map(|session| session.id).collect();
        self.hub = Some(Engine { core: Core::new(settings, self.outer.now.boot.0 as u64), store });
        self.outer.tell(format_args!("the hub starts"));
        self.happen(Event::Started { sessions }).await;
        self.happen(Event::ChannelOpened(self.outer.chat.subscription())).await;
    }

    /// An event, unless the hub is dead; it may die of it.
    async fn happen(&mut self, event: Event) -> bool {
        let Some(hub) = &mut self.hub else { return false };
        if self.outer.story.is_some() {
            self.outer.tell(format_args!("{}", named(&event)));
        }
        match hub.happen(event, &mut self.outer).await {
            Ok(()) => true,
            Err(Trouble::Killed) => {
                self.die();
                false
            }
            Err(trouble) => {
                self.outer.promise(false, format_args!("{trouble:?}"));
                false
            }
        }
    }

    fn die(&mut self) {
        self.outer.tell(format_args!("the hub is killed"));
        self.outer.figures.crashes += 1;
        self.hub = None;
        self.outer.store = None;
        self.outer.dies = None;
        self.outer.callers.clear();
        let Outer { chat, dice, .. } = &mut self.outer;
        chat.lose_tasks(dice);
        for host in &mut self.outer.hosts {
            host.is_connected = false;
            host.inbox.clear();
        }
    }

    async fn step(&mut self) {
        self.mourn().await;
        if self.hub.is_none() {
            if self.outer.dice.once_in(2) {
                self.start_hub().await;
            }
            self.pass_time();
            return;
        }
        match self.outer.dice.below(32) {
            0..=5 => self.some_host_asks().await,
            6 => self.on_some_host(Host::leave),
            7..=9 => self.report().await,
            10..=12 => self.inject(),
            13..=16 => self.work_chat().await,
            17..=20 => self.tap().await,
            21 => self.update_comes().await,
            22..=24 => self.decide_at_the_machine().await,
            25 => self.instruct().await,
            26..=27 => self.pass_time(),
            28 => self.turn_chat().await,
            29 => self.connect_or_drop().await,
            30 => {
                let side = if self.outer.dice.once_in(2) { Commit::Before } else { Commit::After };
                let in_commits = 1 + self.outer.dice.below(4) as u32;
                self.outer.dies = Some((self.outer.commits + in_commits, side));
            }
            _ => self.lose_a_host().await,
        }
    }

    fn host(&mut self) -> usize {
        let count = self.outer.hosts.len();
        self.outer.dice.below(count)
    }

    fn on_some_host(&mut self, act: impl Fn(&mut Host, &mut Dice)) {
        let index = self.host();
        let Outer { hosts, dice, .. } = &mut self.outer;
        if hosts[index].is_alive {
            act(&mut hosts[index], dice);
        }
    }

    async fn some_host_asks(&mut self) {
        let index = self.host();
        let Outer { hosts, dice, .. } = &mut self.outer;
        let host = &mut hosts[index];
        if !host.is_alive || host.has_ended || host.screen.len() > 2 {
            return;
        }
        // Usually what stood there was answered first.
        if !dice.once_in(4) {
            host.leave(dice);
        }
        let kind = host.ask(dice);
        self.outer.tell(format_args!("host {index} asks {kind}"));
        self.connect(index).await;
        self.report_of(index).await;
    }

    async fn connect(&mut self, index: usize) {
        let host = &self.outer.hosts[index];
        let (Some(hub), true) = (&self.hub, host.is_alive && !host.is_connected) else { return };
        let record = host.record.clone();
        let is_new = hub.store.begin_session(&record, self.outer.now).await.unwrap();
        if is_new && !self.happen(Event::Began(Box::new(record.clone()))).await {
            return;
        }
        self.outer.hosts[index].is_connected = true;
        self.happen(Event::Deliver { session: record.id }).await;
    }

    async fn connect_or_drop(&mut self) {
        let index = self.host();
        match self.outer.hosts[index].is_connected {
            false => self.connect(index).await,
            true => {
                self.outer.hosts[index].is_connected = false;
                self.outer.hosts[index].inbox.clear();
            }
        }
    }

    async fn report(&mut self) {
        let index = self.host();
        self.report_of(index).await;
    }

    /// The oldest report, which is thanked for; or not heard of again, and comes twice.
    async fn report_of(&mut self, index: usize) {
        let host = &self.outer.hosts[index];
        let Some(report) = host.reports.front().filter(|_| host.is_connected).cloned() else { return };
        let is_end = matches!(report, super::host::Report::Ended);
        let event = host.event(report);
        let thanks_are_lost = self.outer.dice.once_in(8);
        if self.happen(event).await && !thanks_are_lost {
            let host = &mut self.outer.hosts[index];
            host.reports.pop_front();
            if is_end {
                host.is_alive = false;
            }
        }
    }

    /// A reply arrives: any of those that are on their way, and perhaps once more.
    fn inject(&mut self) {
        let index = self.host();
        self.inject_into(index);
    }

    fn inject_into(&mut self, index: usize) {
        let Outer { hosts, dice, now, .. } = &mut self.outer;
        let host = &mut hosts[index];
        if !host.is_alive || host.inbox.is_empty() {
            return;
        }
        let at = dice.below(host.inbox.len());
        let inject = if dice.once_in(6) { host.inbox[at].clone() } else { host.inbox.remove(at) };
        host.inject(&inject, dice, *now);
        self.outer.figures.injections += 1;
        self.outer.tell(format_args!("host {index} gets reply to sighting {}", inject.sighting));
        let typed = &self.outer.hosts[index].typed;
        let most = typed.values().max().copied().unwrap_or_default();
        self.outer.promise(most <= 1, format_args!("typed {most} times for one sighting of host {index}"));
    }

    async fn work_chat(&mut self) {
        let Outer { chat, dice, now, .. } = &mut self.outer;
        if let Some(event) = chat.work(dice, now.boot) {
            self.happen(event).await;
        }
    }

    /// An operator taps a message, whichever stands there, or makes up a right of their own.
    async fn tap(&mut self) {
        let Outer { chat, dice, .. } = &mut self.outer;
        let mut addresses: Vec<&String> = chat.messages.keys().collect();
        addresses.sort();
        let Some(message) = dice.pick(&addresses).map(|address| &chat.messages[*address]) else { return };
        let said = match dice.below(8) {
            0 => Said::UseDefault,
            1 => Said::Cancel,
            2 => Said::Enter,
            3 => Said::Text("yes".to_owned()),
            row => Said::Row(row % 3),
        };
        let is_forged = dice.once_in(3);
        let nonce = if is_forged { Nonce::from_random(dice.bytes()) } else { message.card.nonce };
        let answer = Answer {
            on: Ok(AnswerRight { prompt: message.card.prompt, nonce: Some(nonce) }),
            said,
            as_is: false,
            then: None,
        };
        let target = message.target.clone();
        chat.act(target, Matter::Answer(answer));
        self.update_comes().await;
    }

    /// The oldest update that was not confirmed; what the hub has recorded may come once more all the same.
    async fn update_comes(&mut self) {
        let Some(update) = self.outer.chat.updates.front().cloned() else { return };
        let Update { no, target, matter } = update;
        let before = match &matter {
            Matter::Answer(Answer { on: Ok(offer), said, .. }) => {
                self.note_said(offer.prompt, said).await;
                self.prompt(offer.prompt).await.zip(offer.nonce)
            }
            _ => None,
        };
        let operator = Operator {
            channel: CHANNEL,
            update: no,
            id: format!("chat:{}", target.0),
            target,
            message: None,
        };
        let is_recorded = self.decide(Actor::Chat(operator), matter).await;
        if let Some((before, nonce)) = before {
            let after = self.prompt(before.id).await;
            let is_won = after.is_some_and(|after| matches!(after.state, PromptState::ReplyReceived { .. }))
                && before.state == PromptState::AwaitingReply;
            self.outer.promise(
                !is_won || nonce == before.nonce,
                format_args!("an answer won without the right to answer {}", before.id),
            );
        }
        if is_recorded && !self.outer.dice.once_in(6) {
            self.outer.chat.updates.pop_front();
        }
    }

    async fn decide(&mut self, by: Actor, matter: Matter) -> bool {
        if self.hub.is_none() {
            return false;
        }
        self.outer.next_caller += 1;
        let caller = Caller(self.outer.next_caller);
        self.outer.callers.insert(caller);
        let decision = Decision { by, matter, caller: Some(caller), spent: None };
        self.happen(Event::Decided(Box::new(decision))).await
    }

    async fn prompt(&self, id: PromptId) -> Option<PromptRecord> {
        match &self.hub {
            Some(hub) => hub.store.prompt(id).await.unwrap(),
            None => None,
        }
    }

    /// Whoever says this means what it is checked to be.
    async fn note_said(&mut self, prompt: PromptId, said: &Said) {
        let Some(record) = self.prompt(prompt).await else { return };
        if let Ok(Checked::Type(value)) = answer::check(said, &record.sighting, Rules::default()) {
            self.outer.said.entry(prompt).or_default().push(value);
        }
    }

    async fn decide_at_the_machine(&mut self) {
        let Some(hub) = &self.hub else { return };
        let open = hub.store.open_prompts().await.unwrap();
        let Some(open) = self.outer.dice.pick(&open) else { return };
        let prompt = open.prompt.clone();
        let said = match self.outer.dice.below(6) {
            0 | 1 => Said::Approve,
            2 => Said::Deny,
            3 => Said::DenyWith("not that one".to_owned()),
            4 => Said::Text("1".to_owned()),
            _ => Said::Cancel,
        };
        self.note_said(prompt.id, &said).await;
        if matches!(said, Said::DenyWith(_)) {
            self.note_said(prompt.id, &Said::Deny).await;
            self.outer.instructed.insert((prompt.session, "not that one".to_owned()));
        }
        let at_page = self.outer.dice.once_in(2);
        let by = match at_page {
            true => Actor::Page { login: "web:1".to_owned() },
            false => Actor::Command { uid: 1000 },
        };
        let on = Ok(AnswerRight { prompt: prompt.id, nonce: at_page.then_some(prompt.nonce) });
        self.decide(by, Matter::Answer(Answer { on, said, as_is: true, then: None })).await;
    }

    async fn instruct(&mut self) {
        let index = self.host();
        let session = self.outer.hosts[index].session();
        let by = Actor::Command { uid: 1000 };
        let matter = match self.outer.dice.below(8) {
            0 => Matter::Stop { session },
            1 => Matter::Resume { session },
            2 => Matter::TakeBack { session, only: None },
            _ => {
                let text = format!("text {}", self.outer.dice.below(5));
                self.outer.instructed.insert((session, text.clone()));
                Matter::Instruct { session, text, as_is: true }
            }
        };
        self.decide(by, matter).await;
    }

    fn pass_time(&mut self) {
        let Outer { now, dice, .. } = &mut self.outer;
        let millis = match dice.below(4) {
            0 => 50,
            1 => 2_500,
            2 => 11_000,
            _ => 61_000,
        };
        now.boot = now.boot.plus_millis(millis);
        now.wall = now.wall.plus_millis(millis);
        if dice.once_in(6) {
            let hours = dice.below(5) as i64 - 2;
            now.wall = now.wall.plus_millis(hours * 3_600_000);
            self.outer.tell(format_args!("the wall clock jumps by {hours} h"));
        }
    }

    async fn turn_chat(&mut self) {
        let is_online = !self.outer.chat.is_online;
        self.outer.chat.is_online = is_online;
        self.outer.tell(format_args!("the chat is {}", if is_online { "back" } else { "out of reach" }));
        if is_online {
            self.outer.chat.held.clear();
            if let Some(hub) = &mut self.hub {
                hub.core.channels.ready(CHANNEL);
            }
            let gap = self.outer.dice.once_in(2).then_some(Duration::from_secs(200));
            self.happen(Event::Polled { channel: CHANNEL, gap }).await;
        }
    }

    async fn lose_a_host(&mut self) {
        let index = self.host();
        if !self.outer.dice.once_in(3) {
            return;
        }
        match self.outer.dice.once_in(2) {
            true => {
                self.outer.tell(format_args!("the tool of host {index} ends"));
                self.outer.hosts[index].end();
            }
            false => self.outer.hosts[index].is_alive = false,
        }
        self.mourn().await;
    }

    /// The hub finds out whose process has ended, and reads its journal.
    async fn mourn(&mut self) {
        for index in 0..self.outer.hosts.len() {
            let host = &self.outer.hosts[index];
            if host.is_alive || host.is_mourned || self.hub.is_none() {
                continue;
            }
            let (session, traces) = (host.session(), host.journal.clone());
            self.outer.hosts[index].is_connected = false;
            self.outer.hosts[index].is_mourned = self.happen(Event::HostLost { session, traces }).await;
        }
    }

    /// What the loop of the hub does before it waits.
    async fn settle(&mut self) {
        for _ in 0..RESTLESS {
            let Some(hub) = &mut self.hub else { return };
            if let Err(trouble) = hub.look(&mut self.outer).await {
                match trouble {
                    Trouble::Killed => self.die(),
                    trouble => self.outer.promise(false, format_args!("{trouble:?}")),
                }
                return;
            }
            let deadline = hub.store.next_deadline().await.unwrap();
            let next = deadline.into_iter().chain(hub.core.next_time()).min();
            if next.is_none_or(|next| next > self.outer.now.boot) {
                return;
            }
            self.happen(Event::Moment).await;
        }
        self.outer.promise(false, format_args!("the loop does not come to rest"));
    }

    /// # Offered everywhere
    /// A prompt that waits stands in every chat of a channel that is well, is on its way there, or waits for a moment that
    /// comes by itself and soon.
    async fn check(&mut self) {
        let Some(hub) = &self.hub else { return };
        let (store, now) = (hub.store.clone(), self.outer.now);
        let seen = (store.writes(), now.boot);
        if self.checked == Some(seen) {
            return;
        }
        self.checked = Some(seen);
        for open in store.open_prompts().await.unwrap() {
            let prompt = open.prompt;
            if prompt.state != PromptState::AwaitingReply || open.session.paused_at.is_some() {
                continue;
            }
            let posts = store.posts_of(prompt.id).await.unwrap();
            for target in OPERATORS {
                let target_name = Target(target.to_owned());
                let busy = self.outer.chat.tasks.iter().any(|task| task.target == target_name);
                let held = self.outer.chat.held.contains_key(&target_name);
                let post = posts.iter().find(|post| post.target == target && post.nonce == prompt.nonce);
                let soon = now.boot.plus_millis(GRACE.as_millis() as i64);
                let is_kept = post.is_some_and(|post| {
                    let waits_a_little = post.not_before > now.boot && post.not_before <= soon;
                    post.address.is_some() || post.dead.is_some() || waits_a_little || busy || held
                });
                self.outer.promise(
                    is_kept,
                    format_args!("prompt {} is not offered to {target}: {post:?}", prompt.id),
                );
            }
        }
    }

    /// Everything is well again, and time passes until nothing more happens.
    async fn come_to_rest(&mut self) {
        self.outer.dies = None;
        self.outer.tell(format_args!("everything comes to rest"));
        for _ in 0..TURNS_TO_REST {
            if self.hub.is_none() {
                self.start_hub().await;
            }
            if !self.outer.chat.is_online {
                self.turn_chat().await;
            }
            self.mourn().await;
            for index in 0..self.outer.hosts.len() {
                self.connect(index).await;
                for _ in 0..self.outer.hosts[index].reports.len() {
                    self.report_of(index).await;
                }
                self.inject_into(index);
            }
            while !self.outer.chat.updates.is_empty() {
                self.update_comes().await;
            }
            self.finish_tasks().await;
            let is_busy =
                |host: &Host| host.is_connected && !(host.reports.is_empty() && host.inbox.is_empty());
            if !self.outer.hosts.iter().any(is_busy) {
                break;
            }
        }
        // The deadlines of what nobody answered, and the holds of the chat.
        self.wait(TTL).await;
        // What is still open ends with its session.
        for host in &mut self.outer.hosts {
            host.is_alive = false;
        }
        self.mourn().await;
        self.wait(Duration::from_secs(21)).await;
        self.check_end().await;
    }

    async fn wait(&mut self, time: Duration) {
        let millis = time.as_millis() as i64;
        let now = &mut self.outer.now;
        now.boot = now.boot.plus_millis(millis);
        now.wall = now.wall.plus_millis(millis);
        self.settle().await;
        self.finish_tasks().await;
    }

    /// The chat works until nothing is to be shown.
    async fn finish_tasks(&mut self) {
        for _ in 0..TURNS_TO_REST {
            self.settle().await;
            let now = &mut self.outer.now;
            match self.outer.chat.held.values().min().copied() {
                _ if !self.outer.chat.tasks.is_empty() => {}
                // A target that takes nothing for a while.
                Some(until) => {
                    let millis = until.0.saturating_sub(now.boot.0).max(0);
                    now.wall = now.wall.plus_millis(millis);
                    now.boot = now.boot.plus_millis(millis);
                    self.outer.chat.held.retain(|_, held| *held > until);
                }
                None => return,
            }
            for _ in 0..self.outer.chat.tasks.len() {
                self.work_chat().await;
            }
        }
    }

    /// # Every answer ends in a told word
    /// Nothing is open; every message shows how its prompt ended; whoever waited was told; no text is left without a word.
    async fn check_end(&mut self) {
        let Some(hub) = &self.hub else { return };
        let store = hub.store.clone();
        let open = store.open_prompts().await.unwrap();
        self.outer.promise(open.is_empty(), format_args!("{} prompts never ended", open.len()));
        let callers = self.outer.callers.len();
        self.outer.promise(callers == 0, format_args!("{callers} people were told nothing"));
        let texts = store.open_texts().await.unwrap();
        self.outer.promise(texts.is_empty(), format_args!("{} texts never ended", texts.len()));
        // A message that says that it was replaced stays as it is.
        let mut messages: Vec<_> = self
            .outer
            .chat
            .messages
            .iter()
            .filter(|(_, message)| !message.card.is_replaced)
            .map(|(address, message)| (address.clone(), message.card.prompt, message.card.state.clone()))
            .collect();
        messages.sort_by(|one, other| one.0.cmp(&other.0));
        for (address, prompt, state) in messages {
            let Some(record) = store.prompt(prompt).await.unwrap() else { continue };
            let is_ours = store.post_at(CHANNEL, &address).await.unwrap().is_some();
            self.outer.promise(
                !is_ours || record.state == state,
                format_args!("message {address} shows {state:?}, the prompt is {:?}", record.state),
            );
        }
        let figures = store.figures().await.unwrap();
        self.outer.figures.prompts += figures.prompts_total;
        self.outer.figures.replies += figures.replies_total;
        let log = self.place.join("audit.log");
        if self.outer.dice.once_in(10) {
            let verdict = atlasbridge_store::verify(&log, Some(&self.place.join("atlasbridge.db")));
            let is_whole = matches!(verdict, Ok(atlasbridge_store::Verification::Good { .. }));
            self.outer.promise(is_whole, format_args!("the audit log is not whole: {verdict:?}"));
        }
    }
}

fn named(event: &Event) -> String {
    let mut text = format!("{event:?}");
    text.truncate(text.floor_char_boundary(160));
    text
}
