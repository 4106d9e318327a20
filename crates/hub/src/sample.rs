//! What the rows of the tests are made of: a session, its prompts in every state, who decides, and a view at a fixed moment
//! with fixed draws.

mod told;

use std::time::Duration;

use atlasbridge_channel::{Address, Target};
use atlasbridge_model::answer::{Said, Source, Value};
use atlasbridge_model::lifecycle::{Cancellation, Failure, PromptState, Resolution};
use atlasbridge_model::{
    BootTime, Choice, Choices, Confidence, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Grant,
    Kind, MAX_INSTRUCTION, Nonce, Now, PromptId, ReplyId, SessionId, Sighting, SightingNo, Strokes, Takes,
    Timestamp,
};
use atlasbridge_store::{
    Delivery, DuePost, HeardAt, NoticeId, OpenPrompt, Post, PostId, PromptRecord, QueuedText, Reply,
    SessionRecord, SessionStatus,
};

pub(crate) use self::told::{acts, follow, named, notice, ruling, words};
use crate::core::channels::Subscription;
use crate::core::view::{Draw, Facts, View};
use crate::decide::{Actor, Answer, AnswerRight, Caller, Decision, Matter, Operator};
use crate::{Defaults, Settings};

pub(crate) const NOW: Now = Now { wall: Timestamp(1_000_000_000), boot: BootTime(100_000) };
pub(crate) const CHAT: &str = "chat";
pub(crate) const CALLER: Caller = Caller(1);

/// The session, read as `S`.
pub(crate) fn session_id() -> SessionId {
    SessionId::from_random([0x51; 16])
}

/// Another one, read as `S2`.
pub(crate) fn other_session() -> SessionId {
    SessionId::from_random([0x52; 16])
}

/// The prompt, read as `P`.
pub(crate) fn prompt_id() -> PromptId {
    PromptId::from_random([0x71; 16])
}

/// Another one, read as `P2`.
pub(crate) fn other_prompt() -> PromptId {
    PromptId::from_random([0x72; 16])
}

/// A reply that is on record, read as `R0`.
pub(crate) fn reply_id() -> ReplyId {
    ReplyId::from_random([0x40; 16])
}

/// A text that waits or could not be sent, read as `T0`.
pub(crate) fn text_id() -> ReplyId {
    ReplyId::from_random([0x60; 16])
}

/// The prompt's present nonce, read as `N0`; the drawn one is `N`.
pub(crate) fn nonce() -> Nonce {
    Nonce::from_random([0x90; 16])
}

/// What is drawn: `P'`, `R`, `T`, `N` and the token `q`.
pub(crate) fn draw() -> Draw {
    Draw {
        prompt: PromptId::from_random([0x73; 16]),
        reply: ReplyId::from_random([0x41; 16]),
        text: ReplyId::from_random([0x61; 16]),
        nonce: Nonce::from_random([0x91; 16]),
        token: "q".to_owned(),
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        ttl: Duration::from_secs(60),
        retention: Duration::from_secs(86_400),
        free_text_enabled: true,
        secrets_over_channels: false,
        presence_grace: Duration::from_secs(10),
        show_detail: false,
        defaults: Defaults { yes_no: true, confirm_enter: true, multiple_choice: true, free_text: true },
        channels: Vec::new(),
        page: None,
    }
}

pub(crate) fn subscription() -> Subscription {
    Subscription { name: CHAT, targets: vec![target("7"), target("8")], notify_start: true, notify_end: true }
}

pub(crate) fn target(id: &str) -> Target {
    Target(id.to_owned())
}

pub(crate) fn session() -> SessionRecord {
    SessionRecord {
        id: session_id(),
        tool: "claude".to_owned(),
        command: vec!["claude".to_owned()],
        cwd: "/home/dev".to_owned(),
        label: None,
        host_pid: 4711,
        host_started: 1,
        leader_pid: None,
        tool_pid: Some(4712),
        boot_id: "boot".to_owned(),
        started_at: NOW.wall,
        ended_at: None,
        exit_code: None,
        status: SessionStatus::Active,
        paused_at: None,
    }
}

pub(crate) fn ended() -> SessionRecord {
    SessionRecord { status: SessionStatus::Completed, ended_at: Some(NOW.wall), ..session() }
}

pub(crate) fn paused() -> SessionRecord {
    SessionRecord { paused_at: Some(NOW.wall), ..session() }
}

fn sighting(kind: Kind, text: &str, labels: &[(&str, Effect)]) -> Sighting {
    let choice = |(label, effect): &(&str, Effect)| Choice {
        label: (*label).to_owned(),
        strokes: Some(Strokes::once("x")),
        effect: *effect,
    };
    Sighting {
        no: SightingNo(3),
        kind,
        confidence: Confidence::CERTAIN,
        excerpt: Excerpt::new(text),
        detail: Detail::new(text),
        choices: Choices::new(labels.iter().map(choice).collect()),
        constraints: Constraints::default(),
        offers_default: false,
        takes: Takes::NOTHING,
        entry: Entry::Line,
        fingerprint: Fingerprint([3; 16]),
    }
}

pub(crate) fn yes_no() -> Sighting {
    sighting(Kind::YesNo, "Delete? (y/n)", &[("yes", Effect::Accepts), ("no", Effect::Refuses)])
}

pub(crate) fn menu() -> Sighting {
    let always = Effect::Widens(Grant::Always);
    let rows = [("Yes", Effect::Accepts), ("Yes, always", always), ("No", Effect::Refuses)];
    sighting(Kind::MultipleChoice, "Proceed?", &rows)
}

/// A menu that the tool's own hook asks with: a refusal may carry a reason.
pub(crate) fn hooked() -> Sighting {
    Sighting { takes: Takes { reason: true, ..Takes::NOTHING }, ..menu() }
}

pub(crate) fn confirm_enter() -> Sighting {
    sighting(Kind::ConfirmEnter, "Press Enter", &[])
}

pub(crate) fn free_text() -> Sighting {
    sighting(Kind::FreeText, "Message:", &[])
}

pub(crate) fn password() -> Sighting {
    sighting(Kind::Password, "Password:", &[])
}

pub(crate) fn idle() -> Sighting {
    let constraints = Constraints { max_length: MAX_INSTRUCTION, ..Constraints::default() };
    Sighting { constraints, ..sighting(Kind::Idle, "❯", &[]) }
}

pub(crate) fn unknown() -> Sighting {
    sighting(Kind::Unknown, "?", &[])
}

/// The same, and nobody is sure that the program waits.
pub(crate) fn possible(sighting: Sighting) -> Sighting {
    Sighting { confidence: Confidence::new(62).unwrap(), ..sighting }
}

/// Every state that a prompt can be in.
pub(crate) fn states() -> Vec<PromptState> {
    use PromptState as S;
    vec![
        S::Created,
        S::Routed,
        S::AwaitingReply,
        received(),
        S::Expired { fallback: None },
        S::Expired { fallback: Some(reply_id()) },
        injected(),
        applied(),
        S::Resolved { how: Resolution::AnsweredLocally },
        S::Resolved { how: Resolution::AnsweredOutOfBand },
        S::Canceled { why: Cancellation::Withdrawn },
        left_to_terminal(),
        S::Failed { why: Failure::NotTaken },
    ]
}

pub(crate) fn received() -> PromptState {
    PromptState::ReplyReceived { reply: reply_id(), source: Source::Command }
}

pub(crate) fn injected() -> PromptState {
    PromptState::Injected { reply: reply_id(), source: Source::Command }
}

pub(crate) fn applied() -> PromptState {
    PromptState::Resolved { how: Resolution::Applied { source: Source::Command } }
}

pub(crate) fn left_to_terminal() -> PromptState {
    PromptState::Canceled { why: Cancellation::ByOperator }
}

pub(crate) fn failed(why: Failure) -> PromptState {
    PromptState::Failed { why }
}

/// The prompt in this state; one that expires has 55 s left.
pub(crate) fn prompt(sighting: Sighting, state: PromptState) -> PromptRecord {
    let expires = sighting.kind != Kind::Idle;
    PromptRecord {
        id: prompt_id(),
        session: session_id(),
        sighting,
        state,
        nonce: nonce(),
        created_at: NOW.wall.plus_millis(-5_000),
        expires_at: expires.then(|| NOW.wall.plus_millis(55_000)),
        deadline: expires.then(|| NOW.boot.plus_millis(55_000)),
        boot_id: "boot".to_owned(),
    }
}

pub(crate) fn waiting(sighting: Sighting) -> PromptRecord {
    prompt(sighting, PromptState::AwaitingReply)
}

pub(crate) fn open(prompt: PromptRecord) -> OpenPrompt {
    OpenPrompt { prompt, session: session() }
}

pub(crate) fn reply(value: Option<Value>, source: Source, decided_by: &str) -> Reply {
    Reply {
        id: reply_id(),
        prompt: prompt_id(),
        session: session_id(),
        value,
        source,
        decided_by: decided_by.to_owned(),
        at: NOW.wall,
    }
}

pub(crate) fn yes() -> Value {
    Value::Choice { row: 0, label: "yes".to_owned() }
}

pub(crate) fn delivery(prompt: PromptRecord, value: Option<Value>, source: Source) -> Delivery {
    Delivery { reply: reply(value, source, "uid:1000"), prompt }
}

pub(crate) fn post(target: &str, prompt: PromptRecord, address: Option<&str>) -> DuePost {
    let post = Post {
        id: PostId(20),
        target: target.to_owned(),
        prompt: prompt.id,
        nonce: prompt.nonce,
        address: address.map(str::to_owned),
        level: 0,
        wanted: 5,
        not_before: NOW.boot,
        dead: None,
    };
    DuePost { post, prompt, session: session(), reply: None }
}

/// A message that waits in the store, with this body.
pub(crate) fn stored_notice(id: i64, target: &str, body: &str) -> atlasbridge_store::Notice {
    atlasbridge_store::Notice {
        id: NoticeId(id),
        target: target.to_owned(),
        body: body.to_owned(),
        reply_to: Some("m0".to_owned()),
    }
}

/// A text from chat 7, by the message `m0`.
pub(crate) fn text_of_chat() -> QueuedText {
    QueuedText {
        reply: text_id(),
        session: session_id(),
        text: "and test it".to_owned(),
        source: Source::Channel(CHAT.to_owned()),
        decided_by: "chat:7".to_owned(),
        heard_at: Some(HeardAt { target: "7".to_owned(), reply_to: Some("m0".to_owned()) }),
    }
}

pub(crate) fn text_of_page() -> QueuedText {
    QueuedText {
        source: Source::Channel(crate::WEB.to_owned()),
        decided_by: "web:1".to_owned(),
        heard_at: None,
        ..text_of_chat()
    }
}

pub(crate) fn facts(record: SessionRecord) -> Facts {
    Facts { record, prompts: Vec::new(), idle: None, queued: None, unsent: None }
}

/// A session whose tool waits for an instruction.
pub(crate) fn idling() -> Facts {
    let idle = waiting(idle());
    Facts { prompts: vec![idle.clone()], idle: Some(idle), ..facts(session()) }
}

/// A session whose tool works, and has waited for an instruction before.
pub(crate) fn working() -> Facts {
    Facts { idle: Some(prompt(idle(), applied())), ..facts(session()) }
}

pub(crate) fn view() -> View {
    View::new(NOW, draw())
}

pub(crate) fn view_of(facts: Facts) -> View {
    View { session: Some(facts), ..view() }
}

/// What an answer to this prompt is judged by; its tool has waited for an instruction before.
pub(crate) fn view_on(prompt: PromptRecord) -> View {
    let session = Facts { prompts: vec![prompt.clone()], ..working() };
    View { prompt: Some(prompt), session: Some(session), ..view() }
}

pub(crate) fn command() -> Actor {
    Actor::Command { uid: 1000 }
}

pub(crate) fn page() -> Actor {
    Actor::Page { login: "web:1".to_owned() }
}

/// Operator 7, who taps a button.
pub(crate) fn tap() -> Actor {
    Actor::Chat(operator("7", None))
}

/// Operator 7, who writes the message `m1`.
pub(crate) fn writer() -> Actor {
    Actor::Chat(operator("7", Some("m1")))
}

pub(crate) fn operator(id: &str, message: Option<&str>) -> Operator {
    Operator {
        channel: CHAT,
        update: 12,
        id: format!("chat:{id}"),
        target: target(id),
        message: message.map(|message| Address(message.to_owned())),
    }
}

pub(crate) fn decision(by: Actor, matter: Matter) -> Decision {
    Decision { by, matter, caller: Some(CALLER), spent: None }
}

pub(crate) fn answer(said: Said) -> Matter {
    let offer = AnswerRight { prompt: prompt_id(), nonce: Some(nonce()) };
    Matter::Answer(Answer { on: Ok(offer), said, as_is: false, then: None })
}

pub(crate) fn text(text: &str) -> Said {
    Said::Text(text.to_owned())
}

pub(crate) fn instruct(text: &str) -> Matter {
    Matter::Instruct { session: session_id(), text: text.to_owned(), as_is: false }
}

/// What came of a row, and what was expected.
#[track_caller]
pub(crate) fn row(actual: &str, expected: &str) {
    assert_eq!(actual, expected);
}
