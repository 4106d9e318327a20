//! Each verdict in the words of the three desks: command line, page, tap.

use std::time::Duration;

use atlasbridge_channel::Receipt;
use atlasbridge_model::answer::{Refusal, Rules};
use atlasbridge_model::lifecycle::{Failure, PromptState};
use atlasbridge_model::opening::Opening;
use atlasbridge_web::questions::Answer;
use atlasbridge_wire::command::Response;
use tokio::sync::{mpsc, oneshot};

use super::{PromptNow, Way};
use crate::decide::{Busy, Refused, Unfit, Verdict};
use crate::sample::*;

const SILENCE: &str = "(silence)";

#[track_caller]
fn check(verdict: Verdict, command: &str, page: &str, tap: &str) {
    check_with(verdict, None, command, page, tap);
}

#[track_caller]
fn check_with(verdict: Verdict, standing: Option<PromptNow>, command: &str, page: &str, tap: &str) {
    let standing = standing.as_ref();
    row(&at_the_machine(&verdict, standing), command);
    row(&at_the_page(&verdict, standing), page);
    row(&under_a_tap(&verdict, standing), tap);
}

#[track_caller]
fn check_refused(refused: Refused, command: &str, page: &str, tap: &str) {
    check(Verdict::Refused(refused), command, page, tap);
}

fn at_the_machine(verdict: &Verdict, standing: Option<&PromptNow>) -> String {
    let (way, mut told) = mpsc::channel(1);
    Way::Command(way).tell(verdict, standing);
    named(match told.try_recv() {
        Err(_) => SILENCE.to_owned(),
        Ok(Response::Done) => "done".to_owned(),
        Ok(Response::Answered { prompt }) => format!("answered {}: {}", prompt.prompt_id, prompt.word),
        Ok(Response::Queued { session_id, replaces, told }) => format!("{session_id} {replaces}: {told}"),
        Ok(Response::Refused { reason }) => reason,
        Ok(other) => format!("UNASKED {other:?}"),
    })
}

fn at_the_page(verdict: &Verdict, standing: Option<&PromptNow>) -> String {
    let (way, mut told) = oneshot::channel();
    Way::Page(way).tell(verdict, standing);
    named(match told.try_recv() {
        Err(_) => SILENCE.to_owned(),
        Ok(Answer::Done { card: None }) => "done".to_owned(),
        Ok(Answer::Done { card: Some(card) }) => {
            let by = card.answered.map(|answered| format!(" by {}", answered.by)).unwrap_or_default();
            format!("done {}: {}{by}", card.prompt, card.state.status())
        }
        Ok(Answer::Queued { told }) => told,
        Ok(Answer::Refused { why }) => why,
        Ok(Answer::NotPlain { why }) => format!("meant? {why}"),
    })
}

fn under_a_tap(verdict: &Verdict, standing: Option<&PromptNow>) -> String {
    let (way, mut told) = oneshot::channel();
    Way::Tap(Receipt(way)).tell(verdict, standing);
    told.try_recv().unwrap_or(SILENCE.to_owned())
}

fn standing(state: PromptState) -> Option<PromptNow> {
    let reply = Some(reply(Some(yes()), atlasbridge_model::answer::Source::Command, "uid:1000"));
    Some(PromptNow { open: open(prompt(yes_no(), state)), reply, rules: Rules::default(), now: NOW })
}

fn of_prompt() -> Verdict {
    Verdict::Standing { prompt: prompt_id(), answer: Some("yes".to_owned()) }
}

fn queued(busy: Busy, replaces: bool) -> Verdict {
    Verdict::Queued { session: session(), busy, replaces, text: text_id() }
}

#[test]
fn an_answer_is_told_as_its_prompt_stands() {
    check_with(
        of_prompt(),
        standing(applied()),
        "answered P: applied",
        "done P: resolved by the command line",
        "Applied (yes).",
    );
    check_with(
        of_prompt(),
        standing(received()),
        "answered P: being typed",
        "done P: reply_received by the command line",
        "Accepted (yes); being typed. The message will say what became of it.",
    );
    check_with(
        of_prompt(),
        standing(injected()),
        "answered P: typed, not yet confirmed",
        "done P: injected by the command line",
        "Accepted (yes); typed, not yet confirmed. The message will say what became of it.",
    );
    check_with(
        of_prompt(),
        standing(failed(Failure::TypingLocally)),
        "answered P: failed",
        "done P: failed by the command line",
        "Failed (yes).",
    );
    check_with(
        of_prompt(),
        standing(failed(Failure::Unknown)),
        "answered P: unknown",
        "done P: failed by the command line",
        "Unknown (yes).",
    );
    let left = Verdict::Standing { prompt: prompt_id(), answer: None };
    check_with(
        left,
        standing(left_to_terminal()),
        "answered P: canceled",
        "done P: canceled by the command line",
        "Canceled.",
    );
}

#[test]
fn a_prompt_that_is_gone_is_told_as_nothing() {
    check(of_prompt(), "(silence)", "(silence)", "");
}

#[test]
fn an_instruction_that_waits_is_told_with_what_it_waits_for() {
    check(
        queued(Busy::Working, false),
        "S false: claude (51515151) is working; this is sent as its next instruction when it has finished.",
        "claude (51515151) is working; this is sent as its next instruction when it has finished.",
        "claude (51515151) is working; this is sent as its next instruction when it has finished.",
    );
    check(
        queued(Busy::Asking, true),
        "S true: claude (51515151) asks something first; this is sent as its next instruction when it has finished. It takes the place of the one that was queued before, which is not sent.",
        "claude (51515151) asks something first; this is sent as its next instruction when it has finished. It takes the place of the one that was queued before, which is not sent.",
        "claude (51515151) asks something first; this is sent as its next instruction when it has finished. It takes the place of the one that was queued before, which is not sent.",
    );
    check(
        queued(Busy::LeftToTerminal, false),
        "S false: claude (51515151) waits at its terminal; this is sent as its next instruction when it has finished the one that it gets there.",
        "claude (51515151) waits at its terminal; this is sent as its next instruction when it has finished the one that it gets there.",
        "claude (51515151) waits at its terminal; this is sent as its next instruction when it has finished the one that it gets there.",
    );
}

#[test]
fn what_is_done_is_told_in_a_word() {
    check(Verdict::TakenBack, "done", "done", "Taken back; it is not sent.");
    check(Verdict::Stopping { session: session() }, "done", "done", "It is being ended.");
    check(Verdict::Resumed { session: session() }, "done", "done", "");
    check(Verdict::Muted { time: Duration::from_secs(60) }, "done", "done", "");
    check(Verdict::Switched { session: session() }, "done", "done", "");
}

#[test]
fn what_came_twice_is_told_nothing_new() {
    check(Verdict::Repeated, "(silence)", "(silence)", "");
}

#[test]
fn an_answer_that_lost_is_told_why() {
    let refused = |refusal, tool: Option<&str>| Refused::Answer { refusal, tool: tool.map(str::to_owned) };
    check_refused(
        refused(Refusal::Expired, None),
        "this prompt has expired; nothing was typed",
        "This prompt has expired. Nothing was typed.",
        "This prompt has expired. Nothing was typed.",
    );
    let not_waiting = Refusal::NotWaiting { status: "reply_received", reason: String::new() };
    check_refused(
        refused(not_waiting, Some("claude")),
        "this prompt is reply received; nothing was typed",
        "Too late: this prompt is reply received. Nothing was typed.",
        "Too late: this prompt is reply received. Nothing was typed.",
    );
    let not_plain = || Refusal::NotPlain { opening: Opening::Shell, given: "!ls".to_owned() };
    check_refused(
        refused(not_plain(), Some("claude")),
        "`!ls` would be run as a shell command by claude; nothing was sent, `--as-is` sends it all the same",
        "meant? `!ls` would be run as a shell command by claude.",
        "`!ls` would be run as a shell command by the tool. Nothing was sent.",
    );
    check_refused(
        refused(not_plain(), None),
        "`!ls` would be run as a shell command by the tool; nothing was sent, `--as-is` sends it all the same",
        "meant? `!ls` would be run as a shell command by the tool.",
        "`!ls` would be run as a shell command by the tool. Nothing was sent.",
    );
}

#[test]
fn a_text_that_is_no_instruction_is_told_why() {
    let unfit = |unfit| Refused::Instruction { unfit, session: session() };
    check_refused(
        Refused::Instruction { unfit: Unfit::Over, session: ended() },
        "this session is over (completed)",
        "claude (51515151) has ended. Nothing was sent.",
        "claude (51515151) has ended. Nothing was sent.",
    );
    check_refused(
        unfit(Unfit::TakesNone),
        "claude has not waited for an instruction in this session, so nothing can be sent to it; `atlasbridge reply` answers prompts",
        "claude (51515151) has not waited for an instruction yet, so nothing can be sent to it. Nothing was queued.",
        "claude (51515151) has not waited for an instruction yet, so nothing can be sent to it. Nothing was queued.",
    );
    check_refused(
        unfit(Unfit::Empty),
        "there is nothing to send",
        "There is nothing to send.",
        "There is nothing to send.",
    );
    check_refused(
        unfit(Unfit::Shape(Refusal::NotOneLine)),
        "the answer must be one line",
        "The answer must be one line. Nothing was typed.",
        "The answer must be one line. Nothing was typed.",
    );
    let not_plain = Refusal::NotPlain { opening: Opening::Command, given: "/clear".to_owned() };
    check_refused(
        unfit(Unfit::Shape(not_plain)),
        "`/clear` would be taken as a command by claude, not read as text; nothing was sent, `--as-is` sends it all the same",
        "meant? `/clear` would be taken as a command by claude, not read as text.",
        "`/clear` would be taken as a command by claude, not read as text. Nothing was sent.",
    );
}

#[test]
fn every_other_no_is_told_in_a_sentence() {
    check_refused(
        Refused::NoSession,
        "there is no such session; `atlasbridge sessions list --all` shows them",
        "there is no such session",
        "This question is out of date; nothing was done.",
    );
    check_refused(
        Refused::Over { session: ended() },
        "this session is over (completed)",
        "this session is over",
        "It is over already.",
    );
    check_refused(
        Refused::HostAway { host_pid: 4711 },
        "the session host (pid 4711) is not connected at the moment; try again, or `kill 4711`",
        "its host is not connected at the moment; try again",
        "Its host is not connected at the moment; try again.",
    );
    check_refused(
        Refused::NotPaused { session: session() },
        "this session is not paused; its channels' answers are taken",
        "this session is not paused",
        "It is not paused.",
    );
    check_refused(
        Refused::NothingQueued { unsent: None },
        "no instruction waits for this session",
        "too late: it no longer waits",
        "Too late: it no longer waits.",
    );
    check_refused(
        Refused::NothingQueued { unsent: Some("not taken".to_owned()) },
        "no instruction waits for this session; the last one was not sent (not taken)",
        "too late: it no longer waits",
        "Too late: it no longer waits.",
    );
    check_refused(
        Refused::QuestionGone,
        "this question is out of date; nothing was done",
        "too late: it no longer waits",
        "This question is out of date; nothing was done.",
    );
}

#[test]
fn whoever_has_gone_hears_nothing_and_nobody_minds() {
    let (way, _) = mpsc::channel(1);
    Way::Command(way).tell(&Verdict::TakenBack, None);
    let (way, _) = oneshot::channel();
    Way::Page(way).tell(&Verdict::TakenBack, None);
    let (way, _) = oneshot::channel();
    Way::Tap(Receipt(way)).tell(&Verdict::TakenBack, None);
}

/// Whatever the rules may answer an answer with, no desk leaves a person without a word.
#[test]
fn every_refusal_of_an_answer_has_words_at_every_desk() {
    let numbers = atlasbridge_model::Span::new(1, 3).unwrap();
    let (given, choices) = ("x".to_owned(), "yes · no".to_owned());
    let all = [
        Refusal::UnknownPrompt,
        Refusal::AmbiguousPrompt,
        Refusal::NotWaiting { status: "resolved", reason: " (applied)".to_owned() },
        Refusal::Expired,
        Refusal::DefaultTaken { value: "no".to_owned(), applied: true },
        Refusal::Queued,
        Refusal::InsideSession,
        Refusal::NotAChoice { given: given.clone(), choices: choices.clone() },
        Refusal::NeedsValue { wanted: "a text" },
        Refusal::NoPlainYes { choices: choices.clone() },
        Refusal::NoRefusingAnswer,
        Refusal::NoReason,
        Refusal::NoDefault,
        Refusal::TooLong { length: 201, limit: 200 },
        Refusal::OutOfRange { given: 4, numbers, choices },
        Refusal::WrongCount { given: 4, picks: numbers },
        Refusal::NotOneLine,
        Refusal::NotPlain { opening: Opening::File, given },
        Refusal::SecretsOff,
        Refusal::Replaced,
        Refusal::TooMany,
        Refusal::Paused,
    ];
    for refusal in all {
        let verdict = Verdict::Refused(Refused::Answer { refusal, tool: Some("claude".to_owned()) });
        let told = [at_the_machine(&verdict, None), at_the_page(&verdict, None), under_a_tap(&verdict, None)];
        assert!(told.iter().all(|told| told.len() > 10 && told != SILENCE), "{told:?}");
        assert!(told[1..].iter().all(|told| told.ends_with('.')), "a sentence: {told:?}");
    }
}
