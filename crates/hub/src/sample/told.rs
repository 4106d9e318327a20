//! How acts, rulings and messages read in a row.

use std::time::Duration;

use atlasbridge_channel::{Address, Block, Button, Outgoing, Task};
use atlasbridge_model::{BootTime, Timestamp, lifecycle};
use atlasbridge_store::{AcceptedAnswer, FollowUp, NewNotice, NewPrompt, TextMove};

use super::{NOW, draw, nonce, other_prompt, other_session, prompt_id, reply_id, session_id, text_id};
use crate::core::acts::{Act, Asker, Change, Errand, Event, Follows, Outward, Shown};
use crate::decide::{Refused, Ruling, Verdict};
use crate::notice::{Body, Voice};

/// So many characters of a message tell which one it is.
const ENOUGH: usize = 56;

/// The ids of the samples by their names.
pub(crate) fn named(text: impl Into<String>) -> String {
    let draw = draw();
    let names = [
        (session_id().to_string(), "S"),
        (other_session().to_string(), "S2"),
        (prompt_id().to_string(), "P"),
        (other_prompt().to_string(), "P2"),
        (draw.prompt.to_string(), "P'"),
        (reply_id().to_string(), "R0"),
        (draw.reply.to_string(), "R"),
        (text_id().to_string(), "T0"),
        (draw.text.to_string(), "T"),
        (nonce().to_hex(), "N0"),
        (draw.nonce.to_hex(), "N"),
    ];
    names.iter().fold(text.into(), |text, (id, name)| text.replace(id, name))
}

pub(crate) fn acts(acts: &[Act]) -> String {
    named(all("nothing", " | ", acts.iter().map(act)))
}

pub(crate) fn ruling(ruling: &Ruling) -> String {
    named(match ruling {
        Ruling::Contend { answer, won } => format!("contend {}{}", accepted(answer), if_won(won)),
        Ruling::Leave(cancel) => {
            let nonce = cancel.nonce.to_hex();
            format!("leave {} with {nonce} by {} {}", cancel.prompt, cancel.source, cancel.decided_by)
        }
        Ruling::Record { follow: with, verdict: of } => format!("{}; {}", verdict(of), follow(with)),
    })
}

fn act(act: &Act) -> String {
    match act {
        Act::Commit(of) => change(of),
        Act::Then(of) => format!("then {}", event(of)),
        Act::Out(of) => outward(of),
    }
}

/// The events that rules ask for.
fn event(event: &Event) -> String {
    match event {
        Event::TimeUp { prompt } => format!("time is up for {prompt}"),
        Event::SendQueued { session } => format!("send what waits for {session}"),
        Event::SettleTexts => "settle texts".to_owned(),
        Event::Deliver { session } => format!("deliver to {session}"),
        Event::OfferAgain { prompt } => format!("offer {prompt} again"),
        Event::Look => "look".to_owned(),
        Event::Started { .. }
        | Event::Decided(_)
        | Event::Began(_)
        | Event::Sighted { .. }
        | Event::Left { .. }
        | Event::Outcome { .. }
        | Event::ToolEnded { .. }
        | Event::HostLost { .. }
        | Event::Moment
        | Event::ChannelOpened(_)
        | Event::TaskDone { .. }
        | Event::Polled { .. }
        | Event::Committed(_) => format!("UNASKED {event:?}"),
    }
}

fn change(change: &Change) -> String {
    match change {
        Change::Contend { answer, follows, asked } => {
            format!("contend {}{}{}", accepted(answer), told_follows(follows), waits(asked))
        }
        Change::Leave { cancel, follows, asked } => {
            format!("leave {}{}{}", cancel.prompt, told_follows(follows), waits(asked))
        }
        Change::Note { follow: with, verdict: of, asked } => {
            format!("note {}; {}{}", verdict(of), follow(with), waits(asked))
        }
        Change::SendQueued { prompt, refused } => format!("send {} to {prompt}", refused.text.reply),
        Change::Follow(with) => format!("follow: {}", follow(with)),
        Change::Expire { prompt, fallback: None } => format!("expire {prompt}"),
        Change::Expire { prompt, fallback: Some((reply, value)) } => {
            format!("expire {prompt} with {:?} as {reply}", value.on_record())
        }
        Change::Advance { prompt, event } => format!("advance {prompt}: {}", happened(event)),
        Change::Record { new, typed_ago } => recorded(new, *typed_ago),
        Change::Promote { session } => format!("promote {session}"),
        Change::Offer { prompt, to, not_before } => {
            let to: Vec<String> =
                to.iter().map(|(channel, targets)| format!("{channel}/{}", targets.join("+"))).collect();
            format!("offer {prompt} to {}{}", all("nobody", ", ", to), later(*not_before))
        }
        Change::OfferAgain { prompt, nonce } => format!("offer {prompt} again with {}", nonce.to_hex()),
        Change::EndSession { session, status, code } => {
            format!("end {session} as {} with {code:?}", status.as_str())
        }
        Change::Channel(of) => shown(of),
        Change::CountDown { channels } => format!("count down on {}", channels.join(", ")),
    }
}

fn outward(outward: &Outward) -> String {
    match outward {
        Outward::Inject { session, inject } => {
            let value = inject.value.as_ref().map(|value| value.0.on_record());
            let deadline =
                inject.deadline.map(|at| format!(", not{}", later(BootTime(at)))).unwrap_or_default();
            let silence = if inject.by_silence { ", by silence" } else { "" };
            let (reply, prompt) = (&inject.reply_id, &inject.prompt_id);
            let (sighting, epoch) = (inject.sighting, inject.epoch);
            format!(
                "inject into {session}: {reply} {value:?} for {prompt}, sighting {sighting}, epoch {epoch}{deadline}{silence}"
            )
        }
        Outward::Give { channel, outgoing: Outgoing { job, target, task: of } } => {
            format!("give {channel}/{} job {}: {}", target.0, job.0, task(of))
        }
        Outward::Tell { caller, verdict: of } => format!("tell {}: {}", caller.0, verdict(of)),
        Outward::Stop { session, caller } => {
            let (id, host_pid) = (session.id, session.host_pid);
            format!("stop {id} of host {host_pid}{}", caller.map(|_| ", somebody waits").unwrap_or(""))
        }
        Outward::SessionOver { session } => format!("{session} is over"),
        Outward::ForgetJournal { session } => format!("forget the journal of {session}"),
    }
}

fn task(task: &Task) -> String {
    match task {
        Task::Post(card) => format!("post {}", told_card(card)),
        Task::Edit { address, card } => format!("edit {} {}", address.0, told_card(card)),
        Task::Notify { notice: of, reply_to } => {
            let block = |block: &Block| match block {
                Block::Ours(text) => (Voice::Ours, text.clone()),
                Block::Program(text) => (Voice::Program, text.clone()),
            };
            let row = |row: &Vec<_>| row.iter().map(labelled).collect();
            let body = Body::Notice {
                blocks: of.blocks.iter().map(block).collect(),
                buttons: of.buttons.iter().map(row).collect(),
            };
            format!("say {}{}", notice(&body), under(reply_to.as_ref().map(|to| to.0.as_str())))
        }
        Task::File { name, text, reply_to } => {
            format!("file {name} ({text}){}", under(reply_to.as_ref().map(|to| to.0.as_str())))
        }
    }
}

fn told_card(card: &atlasbridge_channel::Card) -> String {
    let by = card.answered.as_ref().map(|answered| format!(", {:?} by {}", answered.value, answered.by));
    let replaced = if card.is_replaced { ", replaced" } else { "" };
    let (prompt, nonce, status) = (card.prompt, card.nonce.to_hex(), card.state.status());
    format!("{prompt}/{nonce} {status}, level {}{}{replaced}", card.level, by.unwrap_or_default())
}

fn shown(shown: &Shown) -> String {
    match shown {
        Shown::Done { errand: Errand::Post { id, wanted }, address: Some(Address(address)) } => {
            format!("posted {} at {address}, as of {wanted}", id.0)
        }
        Shown::Done { errand: Errand::Post { id, wanted }, address: None } => {
            format!("edited {}, as of {wanted}", id.0)
        }
        Shown::Done { errand: Errand::Notice { id }, .. } => format!("notice {} is sent", id.0),
        Shown::Dropped { errand: Errand::Post { id, .. }, why } => format!("drop post {}: {why}", id.0),
        Shown::Dropped { errand: Errand::Notice { id }, why } => format!("drop notice {}: {why}", id.0),
        Shown::Polled { channel } => format!("{channel} was heard of"),
    }
}

fn recorded(new: &NewPrompt, typed_ago: Option<Duration>) -> String {
    let NewPrompt { id, session, sighting, nonce, ttl } = new;
    let ttl = ttl.map_or("for ever".to_owned(), |ttl| format!("for {} s", ttl.as_secs()));
    let typed = typed_ago.map(|ago| format!(", typed {} s ago", ago.as_secs())).unwrap_or_default();
    format!("record {} of {session} as {id}/{} {ttl}{typed}", sighting.kind, nonce.to_hex())
}

fn happened(event: &lifecycle::Event) -> String {
    use lifecycle::Event;
    match event {
        Event::Typed { reply } => format!("{reply} typed"),
        Event::Taken { reply } => format!("{reply} taken"),
        Event::NotApplied { reply, why } => format!("{reply} not applied: {why:?}"),
        Event::Left { how } => format!("left, {how:?}"),
        Event::HostLost => "host lost".to_owned(),
        Event::Routed { .. }
        | Event::Promoted
        | Event::Answered { .. }
        | Event::CanceledByOperator
        | Event::Deadline { .. } => format!("UNASKED {event:?}"),
    }
}

fn accepted(answer: &AcceptedAnswer) -> String {
    let AcceptedAnswer { prompt, session, nonce, value, reply, source, decided_by } = answer;
    let (value, nonce) = (value.on_record(), nonce.to_hex());
    format!("{value:?} for {prompt} of {session} with {nonce} as {reply} by {source} {decided_by}")
}

fn told_follows(follows: &Follows) -> String {
    let spent = follows.spent.as_ref().map(|token| format!(", answers {token}")).unwrap_or_default();
    let paused = match follows.of_pause.len() {
        0 => String::new(),
        chats => format!(", {chats} hear of a pause"),
    };
    format!("{}{spent}{paused}", if_won(&follows.won))
}

fn if_won(won: &FollowUp) -> String {
    if *won == FollowUp::default() { String::new() } else { format!(", if won: {}", follow(won)) }
}

fn waits(asked: &Asker) -> &'static str {
    if asked.caller.is_some() { ", somebody waits" } else { "" }
}

fn verdict(verdict: &Verdict) -> String {
    named(match verdict {
        Verdict::Standing { prompt, answer } => format!("standing {prompt} {answer:?}"),
        Verdict::Queued { busy, replaces, text, .. } => {
            format!("queued {text}, {busy:?}{}", if *replaces { ", replaces" } else { "" })
        }
        Verdict::TakenBack => "taken back".to_owned(),
        Verdict::Stopping { session } => format!("stopping {}", session.id),
        Verdict::Resumed { session } => format!("resumed {}", session.id),
        Verdict::Muted { time } => format!("muted {} s", time.as_secs()),
        Verdict::Switched { session } => format!("switched to {}", session.id),
        Verdict::Refused(refused) => refusal(refused),
        Verdict::Repeated => "repeated".to_owned(),
    })
}

fn refusal(refused: &Refused) -> String {
    match refused {
        Refused::Answer { refusal, tool } => {
            let tool = tool.as_ref().map(|tool| format!(" by {tool}")).unwrap_or_default();
            format!("refused{tool}: {}", refusal.name())
        }
        Refused::Instruction { unfit, .. } => format!("no instruction: {}", unfit.name()),
        Refused::NoSession => "no such session".to_owned(),
        Refused::Over { .. } => "over".to_owned(),
        Refused::HostAway { host_pid } => format!("host {host_pid} is away"),
        Refused::NotPaused { .. } => "not paused".to_owned(),
        Refused::NothingQueued { unsent } => format!("nothing queued, unsent {unsent:?}"),
        Refused::QuestionGone => "question gone".to_owned(),
    }
}

pub(crate) fn follow(follow: &FollowUp) -> String {
    let FollowUp { audit, notices, chat, ask, take_ask, level, resume, text } = follow;
    let mut parts = Vec::new();
    parts.extend(audit.as_ref().map(|event| {
        let about = |what: Option<String>| what.unwrap_or("-".to_owned());
        let (session, prompt) =
            (event.session.map(|id| id.to_string()), event.prompt.map(|id| id.to_string()));
        let (value, by) = (event.value.clone().unwrap_or_default(), about(event.decided_by.clone()));
        format!("record {} {value} of {}/{} by {by}", event.event.as_str(), about(session), about(prompt))
    }));
    parts.extend(notices.iter().map(new_notice));
    parts.extend(chat.iter().map(|state| {
        format!("remember for {}/{}: {}={:?}", state.channel, state.target, state.key, state.value)
    }));
    parts.extend(ask.as_ref().map(|ask| {
        let Timestamp(until) = ask.expires_at;
        let (token, target) = (&ask.token, &ask.target);
        format!("ask {target} {token} for {} s: {}", (until - NOW.wall.0) / 1_000, ask.what)
    }));
    parts.extend(take_ask.as_ref().map(|token| format!("answers {token}")));
    parts.extend(level.map(|(post, level)| format!("show post {} at {level}", post.0)));
    parts.extend(resume.as_ref().map(|resume| format!("resume {} by {}", resume.session, resume.decided_by)));
    parts.extend(text.as_ref().map(|text| match text {
        TextMove::Queue(text) => {
            let heard = text.heard_at.as_ref().map(|at| {
                let reply_to = at.reply_to.as_ref().map(|to| format!(" {to}")).unwrap_or_default();
                format!(", heard at {}{reply_to}", at.target)
            });
            let (reply, by) = (text.reply, &text.decided_by);
            format!("keep {reply} {:?} by {by}{}", text.text, heard.unwrap_or_default())
        }
        TextMove::TakeBack { reply, decided_by, .. } => format!("take back {reply} by {decided_by}"),
        TextMove::Done(reply) => format!("{reply} is done"),
        TextMove::Unsent { reply, why } => format!("{reply} is unsent: {why}"),
    }));
    named(all("nothing else", "; ", parts))
}

fn new_notice(new: &NewNotice) -> String {
    let told: String = words(new);
    let short: String = told.chars().take(ENOUGH).collect();
    let rest = if short == told { "" } else { "…" };
    format!("say to {}/{}{} {short}{rest}", new.channel, new.target, under(new.reply_to.as_deref()))
}

/// All words of a message that waits.
pub(crate) fn words(new: &NewNotice) -> String {
    notice(&serde_json::from_str::<Body>(&new.body).unwrap())
}

/// All words of a message.
pub(crate) fn notice(body: &Body) -> String {
    match body {
        Body::File { name, .. } => format!("file {name}"),
        Body::Notice { blocks, buttons } => {
            let block = |(voice, text): &(Voice, String)| match voice {
                Voice::Ours => text.clone(),
                Voice::Program => format!("`{text}`"),
            };
            let buttons = buttons.iter().flatten().map(|(label, token)| format!("[{label}={token}]"));
            let parts: Vec<String> = blocks.iter().map(block).chain(buttons).collect();
            named(parts.join(" "))
        }
    }
}

fn labelled(Button { label, token }: &Button) -> (String, String) {
    (label.clone(), token.clone())
}

fn under(message: Option<&str>) -> String {
    message.map(|message| format!(" under {message}")).unwrap_or_default()
}

/// A moment as a row counts it: seconds from now.
fn later(at: BootTime) -> String {
    match at.0 - NOW.boot.0 {
        0 => String::new(),
        millis => format!(" after {} s", millis as f64 / 1_000.0),
    }
}

fn all(nothing: &str, between: &str, parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    if parts.is_empty() { nothing.to_owned() } else { parts.join(between) }
}
