//! What a chat is told, asked and understood to mean.

use std::time::Duration;

use atlasbridge_channel::Command;
use atlasbridge_model::answer::{Refusal, Said};
use atlasbridge_model::lifecycle::{Failure, PromptState, Resolution};
use atlasbridge_model::opening::Opening;
use atlasbridge_model::routing::Running;
use atlasbridge_model::{LONGEST_MUTE, SessionId, Sighting, Takes, Timestamp};
use atlasbridge_store::{FollowUp, Offered, OpenPrompt, PromptRecord, SessionRecord};
use atlasbridge_wire::command::ChannelView;

use super::commands::{Lookup, Wish, asked};
use super::questions::Question;
use super::texts::{Around, Replied, Route, Texted, route};
use super::{told, told_with};
use crate::core::view::View;
use crate::decide::{Actor, Busy, Matter, Refused, Unfit, Verdict};
use crate::sample::*;
use crate::views::session_view;

/// All that a chat sees of it: messages with their buttons, and what *yes* to a question will mean.
fn seen(follow: &FollowUp) -> String {
    let said = follow.notices.iter().map(|new| {
        let under = new.reply_to.as_ref().map(|message| format!(" (under {message})")).unwrap_or_default();
        format!("{}{under}", words(new))
    });
    let asked = follow.ask.iter().map(|ask| {
        let seconds = (ask.expires_at.0 - NOW.wall.0) / 1_000;
        named(format!("{} is {} for {seconds} s", ask.token, ask.what))
    });
    let all: Vec<String> = said.chain(asked).collect();
    if all.is_empty() { "(silence)".to_owned() } else { all.join(" | ") }
}

#[track_caller]
fn check(by: Actor, matter: Matter, verdict: Verdict, expected: &str) {
    row(&seen(&told(&decision(by, matter), &verdict, &view())), expected);
}

/// A message of operator 7 that the rules have refused as an answer.
#[track_caller]
fn check_sentence(sentence: &str, view: &View, expected: &str) {
    let matter = answer(text(sentence));
    // Not the reason that the rules would give: so it is seen where the answer is just refused.
    let verdict = refused(Refusal::Replaced);
    row(&seen(&told(&decision(writer(), matter), &verdict, view)), expected);
}

fn refused(refusal: Refusal) -> Verdict {
    Verdict::Refused(Refused::Answer { refusal, tool: None })
}

fn unfit(unfit: Unfit) -> Verdict {
    Verdict::Refused(Refused::Instruction { unfit, session: session() })
}

fn not_plain(opening: Opening, given: &str) -> Verdict {
    unfit(Unfit::Shape(Refusal::NotPlain { opening, given: given.to_owned() }))
}

// Verdicts.

#[test]
fn whoever_wrote_an_answer_that_lost_is_told_under_their_message() {
    check(
        writer(),
        answer(Said::Row(0)),
        refused(Refusal::Expired),
        "This prompt has expired. Nothing was typed. (under m1)",
    );
    check(
        writer(),
        instruct("go on"),
        refused(Refusal::Paused),
        "This session is paused after too many answers. Send /resume here, or run atlasbridge sessions resume at the machine. Nothing was typed. (under m1)",
    );
}

#[test]
fn a_tap_has_its_own_word_and_no_message() {
    check(tap(), answer(Said::Row(0)), refused(Refusal::Expired), "(silence)");
    check(tap(), answer(Said::Row(0)), Verdict::TakenBack, "(silence)");
    check(tap(), answer(Said::Row(0)), Verdict::Stopping { session: session() }, "(silence)");
    check(tap(), answer(Said::Row(0)), Verdict::Repeated, "(silence)");
    check(tap(), answer(Said::Row(0)), Verdict::Standing { prompt: prompt_id(), answer: None }, "(silence)");
    for refused in [
        Refused::NoSession,
        Refused::Over { session: ended() },
        Refused::HostAway { host_pid: 1 },
        Refused::NothingQueued { unsent: None },
        Refused::QuestionGone,
    ] {
        check(tap(), answer(Said::Row(0)), Verdict::Refused(refused), "(silence)");
    }
}

#[test]
fn elsewhere_the_verdict_itself_is_told() {
    check(command(), answer(Said::Row(0)), refused(Refusal::Expired), "(silence)");
    check(page(), instruct("go on"), Verdict::Switched { session: session() }, "(silence)");
    assert_eq!(told_with(&page(), &Refusal::Expired), FollowUp::default());
}

#[test]
fn a_text_that_waits_has_a_way_back_for_a_week() {
    let queued =
        |replaces| Verdict::Queued { session: session(), busy: Busy::Working, replaces, text: text_id() };
    check(
        writer(),
        instruct("go on"),
        queued(false),
        "claude (51515151) is working; this is sent as its next instruction when it has finished. [Take it back=q:y] (under m1) | q is {\"take_back\":{\"session\":\"S\",\"reply\":\"T0\"}} for 604800 s",
    );
    check(
        writer(),
        instruct("go on"),
        queued(true),
        "claude (51515151) is working; this is sent as its next instruction when it has finished. It takes the place of the one that was queued before, which is not sent. [Take it back=q:y] (under m1) | q is {\"take_back\":{\"session\":\"S\",\"reply\":\"T0\"}} for 604800 s",
    );
}

#[test]
fn what_was_asked_for_in_words_is_confirmed_in_words() {
    let session = SessionRecord { label: Some("api".to_owned()), ..session() };
    check(
        writer(),
        instruct(""),
        Verdict::Resumed { session: session.clone() },
        "Answers to claude “api” (51515151) are taken again. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Refused(Refused::NotPaused { session: session.clone() }),
        "claude “api” (51515151) is not paused; its answers are taken. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Muted { time: Duration::ZERO },
        "Prompts appear here again. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Muted { time: Duration::from_secs(30) },
        "No new prompts here for 30 s. They still wait elsewhere, and silence never approves. /mute off ends it. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Muted { time: Duration::from_secs(1_800) },
        "No new prompts here for 30 min. They still wait elsewhere, and silence never approves. /mute off ends it. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Muted { time: LONGEST_MUTE },
        "No new prompts here for 168 h 0 min. They still wait elsewhere, and silence never approves. /mute off ends it. (under m1)",
    );
    check(
        writer(),
        instruct(""),
        Verdict::Switched { session },
        "Plain messages are for claude “api” (51515151) now. (under m1)",
    );
}

#[test]
fn a_text_that_is_no_instruction_is_told_why() {
    check(
        writer(),
        instruct("x"),
        unfit(Unfit::Over),
        "claude (51515151) has ended. Nothing was sent. (under m1)",
    );
    check(
        writer(),
        instruct("x"),
        unfit(Unfit::TakesNone),
        "claude (51515151) has not waited for an instruction yet, so nothing can be sent to it. Nothing was queued. (under m1)",
    );
    check(writer(), instruct("x"), unfit(Unfit::Empty), "There is nothing to send. (under m1)");
    check(
        writer(),
        instruct("x"),
        unfit(Unfit::Shape(Refusal::TooLong { length: 4_001, limit: 4_000 })),
        "The answer has 4001 characters, this prompt takes at most 4000. Nothing was typed. (under m1)",
    );
    check(
        writer(),
        answer(text("!x")),
        not_plain(Opening::Shell, "!x"),
        "`!x` would be run as a shell command by claude. Nothing was sent. (under m1)",
    );
}

#[test]
fn a_text_that_its_first_character_changes_is_asked_about() {
    check(
        writer(),
        instruct("!ls"),
        not_plain(Opening::Shell, "!ls"),
        "claude (51515151): `!ls` would be run as a shell command by claude. Send it all the same? `!ls` [Do nothing=q:n] [Send it as it is=q:y] (under m1) | q is {\"instruct\":{\"session\":\"S\",\"text\":\"!ls\",\"message\":\"m1\"}} for 600 s",
    );
    check(
        writer(),
        instruct("/clear"),
        not_plain(Opening::Command, "/clear"),
        "claude (51515151): `/clear` would be taken as a command by claude, not read as text. Send it all the same? (It is no command of mine; /help lists those.) `/clear` [Do nothing=q:n] [Send it as it is=q:y] (under m1) | q is {\"instruct\":{\"session\":\"S\",\"text\":\"/clear\",\"message\":\"m1\"}} for 600 s",
    );
    check(
        tap(),
        instruct("@main.rs"),
        not_plain(Opening::File, "@main.rs"),
        "claude (51515151): `@main.rs` begins with `@`: claude may take that as the name of a file. Send it all the same? `@main.rs` [Do nothing=q:n] [Send it as it is=q:y] | q is {\"instruct\":{\"session\":\"S\",\"text\":\"@main.rs\",\"message\":\"\"}} for 600 s",
    );
}

// Sentences for dialogs.

#[test]
fn a_sentence_for_a_dialog_is_offered_as_the_next_instruction_after_a_refusal() {
    check_sentence(
        "use tabs",
        &view_on(waiting(menu())),
        "claude (51515151) asks for a choice (71717171), so this was not typed: `use tabs` Answer “No” and send it as the next instruction, once the tool takes one? [Do nothing=q:n] [Deny and send it=q:y] (under m1) | q is {\"deny_and_say\":{\"prompt\":\"P\",\"nonce\":\"N0\",\"text\":\"use tabs\",\"message\":\"m1\"}} for 600 s",
    );
    check_sentence(
        "!make",
        &view_on(waiting(menu())),
        "claude (51515151) asks for a choice (71717171), so this was not typed: `!make` Answer “No” and send it as the next instruction, once the tool takes one? Then `!make` would be run as a shell command by claude. [Do nothing=q:n] [Deny and send it=q:y] (under m1) | q is {\"deny_and_say\":{\"prompt\":\"P\",\"nonce\":\"N0\",\"text\":\"!make\",\"message\":\"m1\"}} for 600 s",
    );
}

#[test]
fn a_sentence_for_a_dialog_that_takes_reasons_is_offered_as_one() {
    check_sentence(
        "use tabs",
        &view_on(waiting(hooked())),
        "claude (51515151) asks for a choice (71717171), and this is none: `use tabs` Refuse with this as the reason? [Do nothing=q:n] [Refuse with it=q:y] (under m1) | q is {\"refuse\":{\"prompt\":\"P\",\"nonce\":\"N0\",\"reason\":\"use tabs\"}} for 600 s",
    );
}

#[test]
fn a_sentence_that_is_no_instruction_either_is_told_so() {
    check_sentence(
        "one line\nand another",
        &view_on(waiting(menu())),
        "The answer must be one line. Nothing was typed. (under m1)",
    );
}

#[test]
fn a_sentence_for_a_dialog_that_refuses_nothing_is_just_refused() {
    let mut sighting = menu();
    sighting.choices = None;
    check_sentence(
        "use tabs",
        &view_on(waiting(sighting)),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
    check_sentence(
        "use tabs",
        &view_on(waiting(confirm_enter())),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
}

#[test]
fn a_sentence_for_a_dialog_that_is_over_is_just_refused() {
    check_sentence(
        "use tabs",
        &view_on(prompt(menu(), applied())),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
    check_sentence(
        "use tabs",
        &view(),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
}

#[test]
fn a_text_that_its_hook_takes_as_an_answer_is_no_sentence_for_a_dialog() {
    let own = Sighting { takes: Takes { own_text: true, ..Takes::NOTHING }, ..menu() };
    check_sentence(
        "use tabs",
        &view_on(waiting(own)),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
    let lined = Takes { own_text: false, lines: true, ..Takes::NOTHING };
    check_sentence(
        "yes",
        &view_on(waiting(Sighting { takes: lined, ..menu() })),
        "This message is out of date: the prompt was offered again. Answer the newer one. (under m1)",
    );
}

// Questions.

#[track_caller]
fn check_yes(question: Question, expected: &str) {
    let told = question.decided().map(|(matter, message)| {
        let under = message.map(|message| format!(" under {}", message.0)).unwrap_or_default();
        format!("{}{under}", meant(&matter))
    });
    row(&named(told.unwrap_or("cannot be read".to_owned())), expected);
}

fn meant(matter: &Matter) -> String {
    named(match matter {
        Matter::Answer(answer) => {
            let nonce = answer.on.as_ref().ok().and_then(|offer| offer.nonce).map(|nonce| nonce.to_hex());
            let prompt = answer.on.as_ref().map(|offer| offer.prompt.to_string());
            let (said, as_is) = (&answer.said, answer.as_is);
            let then = answer.then.as_ref().map(|(text, message)| {
                let message = message.as_ref().map_or("-", |message| message.0.as_str());
                format!(", then {text:?} of {message}")
            });
            let right = nonce.unwrap_or_default();
            format!("{said:?} to {} with {right}, as is {as_is}{}", prompt.unwrap(), then.unwrap_or_default())
        }
        Matter::Instruct { session, text, as_is } => format!("instruct {session} {text:?}, as is {as_is}"),
        Matter::TakeBack { session, only } => format!("take back {only:?} of {session}"),
        Matter::Stop { session } => format!("stop {session}"),
        Matter::Resume { session } => format!("resume {session}"),
        Matter::Mute { time } => format!("mute for {} s", time.as_secs()),
        Matter::Switch { session } => format!("switch to {session}"),
    })
}

#[test]
fn yes_to_a_question_decides_what_was_asked() {
    let (session, prompt, nonce) = (session_id().to_string(), prompt_id().to_string(), nonce().to_hex());
    let text = "use tabs".to_owned();
    check_yes(Question::Stop { session: session.clone() }, "stop S");
    let (of, with) = (prompt.clone(), nonce.clone());
    let message = Some("m1".to_owned());
    check_yes(
        Question::DenyAndSay { prompt: of, nonce: with, text: text.clone(), message },
        "Deny to P with N0, as is true, then \"use tabs\" of m1",
    );
    check_yes(
        Question::Refuse { prompt, nonce, reason: text.clone() },
        "DenyWith(8 characters) to P with N0, as is false",
    );
    check_yes(
        Question::Instruct { session: session.clone(), text, message: "m1".to_owned() },
        "instruct S \"use tabs\", as is true under m1",
    );
    check_yes(Question::TakeBack { session, reply: text_id().to_string() }, "take back Some(T0) of S");
}

#[test]
fn a_question_whose_subject_cannot_be_read_decides_nothing() {
    let (no, text) = ("x".to_owned(), String::new());
    check_yes(Question::Stop { session: no.clone() }, "cannot be read");
    let (prompt, nonce) = (prompt_id().to_string(), no.clone());
    check_yes(Question::DenyAndSay { prompt, nonce, text: text.clone(), message: None }, "cannot be read");
    check_yes(
        Question::Refuse { prompt: no.clone(), nonce: no.clone(), reason: text.clone() },
        "cannot be read",
    );
    check_yes(Question::Instruct { session: no.clone(), text, message: no.clone() }, "cannot be read");
    check_yes(Question::TakeBack { session: session_id().to_string(), reply: no.clone() }, "cannot be read");
    check_yes(Question::TakeBack { session: no, reply: text_id().to_string() }, "cannot be read");
}

// Commands.

fn running(ids: &[SessionId]) -> Lookup {
    let sessions: Vec<SessionRecord> = ids.iter().map(|id| SessionRecord { id: *id, ..session() }).collect();
    let live = [PromptState::AwaitingReply];
    let views = sessions.iter().map(|session| session_view(session, 0, live.iter(), NOW)).collect();
    Lookup {
        version: "1.2.3".to_owned(),
        sessions,
        views,
        standing: Vec::new(),
        channels: Vec::new(),
        trouble: None,
        switched: None,
    }
}

#[track_caller]
fn check_command(command: Command, lookup: &Lookup, expected: &str) {
    let told = match asked(command, "chat:7", "q", lookup) {
        Wish::Say(said) => notice(&said),
        Wish::Decide(matter) => format!("decide: {}", meant(&matter)),
        Wish::Ask(question, asked) => format!("{} yes is {question:?}", notice(&asked)),
        Wish::Screen(session) => format!("screen of {session}"),
    };
    let first: String = named(told).lines().next().unwrap_or_default().to_owned();
    row(&first, expected);
}

fn some(session: &str) -> Option<String> {
    Some(session.to_owned())
}

#[test]
fn commands_about_everything_are_answered_at_once() {
    let lookup = running(&[session_id()]);
    check_command(
        Command::Start,
        &lookup,
        "This is AtlasBridge. You are chat:7, and you are on the allowlist: prompts of your tools appear here, with buttons.",
    );
    check_command(
        Command::Help,
        &lookup,
        "Tap a button of a prompt, or reply to its message: yes, no, a number, a label or a text. With one prompt waiting a plain message answers it; to an agent that works, it is the next instruction.",
    );
    check_command(
        Command::Sessions,
        &lookup,
        "51515151 claude · awaiting reply · pid 4712 · 0 s · 1 waiting",
    );
    check_command(Command::Sessions, &running(&[]), "No session runs. `atlasbridge run TOOL` starts one.");
    check_command(Command::Status, &lookup, "AtlasBridge 1.2.3: 1 sessions, 0 prompts waiting.");
    check_command(
        Command::Mute { time: None },
        &lookup,
        "Say how long, at most 7 days: /mute 30m, /mute 2h, /mute 1d, or /mute off to end it.",
    );
    check_command(Command::Mute { time: Some(Duration::from_secs(60)) }, &lookup, "decide: mute for 60 s");
}

#[test]
fn commands_about_a_session_mean_the_only_one_or_the_named_one() {
    let one = running(&[session_id()]);
    check_command(Command::Switch { session: None }, &one, "decide: switch to S");
    check_command(Command::Resume { session: some("5151") }, &one, "decide: resume S");
    check_command(Command::Screen { session: some("5151") }, &one, "screen of S");
    check_command(
        Command::Stop { session: None },
        &one,
        "End claude (51515151)? Its tool gets SIGTERM, and three seconds later SIGKILL. [Leave it running=q:n] [End it=q:y] yes is Stop { session: \"S\" }",
    );
}

#[test]
fn a_command_that_names_no_one_session_does_nothing() {
    let two = running(&[session_id(), other_session()]);
    check_command(Command::Stop { session: None }, &running(&[]), "No session runs.");
    check_command(
        Command::Stop { session: some("ff") },
        &two,
        "No running session begins with these digits; /sessions lists them.",
    );
    check_command(
        Command::Stop { session: None },
        &two,
        "Several sessions run: name one by the first digits of its id; /sessions lists them.",
    );
    check_command(
        Command::Stop { session: some("5") },
        &two,
        "Several sessions begin with these digits; give more of the id.",
    );
    check_command(Command::Resume { session: some("52") }, &two, "decide: resume S2");
}

#[test]
fn the_session_that_plain_messages_are_for_is_marked() {
    let mut lookup = running(&[session_id()]);
    lookup.switched = Some(session_id());
    lookup.views[0].label = some("api");
    lookup.views[0].paused = true;
    check_command(
        Command::Sessions,
        &lookup,
        "51515151 claude “api” · awaiting reply, paused · pid 4712 · 0 s · 1 waiting ← plain messages",
    );
}

#[test]
fn how_the_hub_is_says_what_waits_and_what_is_wrong() {
    let mut lookup = running(&[session_id()]);
    lookup.standing = vec![open(waiting(yes_no())); 21];
    let view = |name: &str, detail| ChannelView {
        name: name.to_owned(),
        state: "connected".to_owned(),
        detail,
        address: None,
    };
    lookup.channels = vec![view("chat", None), view("web", some("no certificate"))];
    lookup.trouble = some("the disk is full");
    let Wish::Say(said) = asked(Command::Status, "chat:7", "q", &lookup) else { unreachable!() };
    let told = notice(&said);
    let ends: Vec<&str> = told.lines().take(2).chain(told.lines().skip(20)).collect();
    row(
        &ends.join(" / "),
        "AtlasBridge 1.2.3: 1 sessions, 21 prompts waiting. / 71717171 claude (51515151): waiting / 71717171 claude (51515151): waiting / and 1 more / chat: connected / web: connected (no certificate) / Remote answers may be refused: the disk is full",
    );
    lookup.views = vec![lookup.views[0].clone(); 21];
    let Wish::Say(said) = asked(Command::Sessions, "chat:7", "q", &lookup) else { unreachable!() };
    row(notice(&said).lines().last().unwrap_or_default(), "and 1 more");
}

// Texts.

fn around(waiting: Vec<OpenPrompt>) -> Around {
    let running = vec![Running { session: session_id(), takes_instructions: true }];
    Around { waiting, running, replied: Replied::Nothing, switched: None }
}

#[track_caller]
fn check_text(text: &str, around: &Around, expected: &str) {
    check_routed(text, NOW.wall, false, around, expected);
}

#[track_caller]
fn check_routed(text: &str, sent_at: Timestamp, is_other_command: bool, around: &Around, expected: &str) {
    let texted = Texted { text: text.to_owned(), sent_at, is_other_command };
    let told = match route(&texted, around) {
        Route::Decide(matter) => meant(&matter),
        Route::NotUsed { notice: said, why } => format!("{why}: {}", notice(&said)),
    };
    row(&told, expected);
}

fn replied_to(prompt: PromptRecord) -> Around {
    let nonce = draw().nonce;
    Around { replied: Replied::Prompt(Box::new(Offered { prompt, nonce })), ..around(vec![]) }
}

#[test]
fn a_text_means_the_only_prompt_that_waits() {
    check_text("yes", &around(vec![open(waiting(yes_no()))]), "Text(3 characters) to P with N0, as is false");
}

#[test]
fn a_reply_means_the_prompt_of_its_message_with_the_right_of_that_message() {
    check_text("yes", &replied_to(waiting(yes_no())), "Text(3 characters) to P with N, as is false");
    check_text(
        "yes",
        &replied_to(prompt(yes_no(), applied())),
        "Text(3 characters) to P with N, as is false",
    );
}

#[test]
fn a_reply_to_a_box_that_has_been_used_is_the_next_instruction() {
    check_text("go on", &replied_to(prompt(idle(), applied())), "instruct S \"go on\", as is false");
    check_text("go on", &replied_to(waiting(idle())), "Text(5 characters) to P with N, as is false");
    check_text("!ls", &replied_to(waiting(idle())), "instruct S \"!ls\", as is false");
}

#[test]
fn a_reply_to_a_message_that_nobody_knows_is_not_used() {
    check_text(
        "yes",
        &Around { replied: Replied::Unknown, ..around(vec![open(waiting(yes_no()))]) },
        "unknown_prompt: I do not know which prompt that message belongs to, so this was not used. Reply to the prompt's own message, or use its buttons.",
    );
}

#[test]
fn where_several_wait_a_text_means_none_of_them() {
    let other = PromptRecord { id: other_prompt(), ..waiting(menu()) };
    check_text(
        "yes",
        &around(vec![open(waiting(yes_no())), open(other)]),
        "several_wait: Multiple active sessions. Reply to the prompt's message, or /switch <session>.\n71717171 claude (51515151)\n72727272 claude (51515151)",
    );
}

#[test]
fn a_prompt_that_is_newer_than_the_text_is_not_meant_by_it() {
    let earlier = NOW.wall.plus_millis(-5_001);
    check_routed(
        "yes",
        earlier,
        false,
        &around(vec![open(waiting(yes_no()))]),
        "prompt_too_new: A prompt appeared after you wrote this, so it was not taken as its answer. Reply to the prompt's message if you mean it.",
    );
    // Written while the tool worked: what it would have been a moment ago, it is now.
    check_routed(
        "go on",
        earlier,
        false,
        &around(vec![open(waiting(idle()))]),
        "instruct S \"go on\", as is false",
    );
}

#[test]
fn where_nothing_waits_a_text_is_the_next_instruction_of_the_only_tool() {
    check_text("go on", &around(vec![]), "instruct S \"go on\", as is false");
    let elsewhere = Around { switched: Some(session_id()), ..around(vec![]) };
    check_text("go on", &elsewhere, "instruct S \"go on\", as is false");
}

#[test]
fn a_text_whose_tool_is_not_clear_is_not_used() {
    let nobody = Around { running: vec![], ..around(vec![]) };
    check_text(
        "go on",
        &nobody,
        "nothing_waits: Nothing is waiting for an answer right now, so this was not used.",
    );
    check_routed(
        "/deploy now",
        NOW.wall,
        true,
        &nobody,
        "nothing_waits: /deploy is no command of mine. /help lists them.",
    );
    let two = [session_id(), other_session()].map(|session| Running { session, takes_instructions: true });
    check_text(
        "go on",
        &Around { running: two.to_vec(), ..around(vec![]) },
        "nothing_waits: Nothing is waiting for an answer right now, and several tools take instructions, so this was not used. /switch ID says which one plain messages are for; /sessions lists them.",
    );
    check_text(
        "go on",
        &Around { switched: Some(other_session()), ..around(vec![]) },
        "nothing_waits: Nothing waits in the session that plain messages are for (/switch), so this was not used. Reply to the message of another prompt to answer that one.",
    );
    let waits_elsewhere = Around { switched: Some(other_session()), ..around(vec![open(waiting(yes_no()))]) };
    check_text(
        "go on",
        &waits_elsewhere,
        "nothing_waits: Nothing waits in the session that plain messages are for (/switch), so this was not used. Reply to the message of another prompt to answer that one.",
    );
}

#[test]
fn a_command_that_is_none_of_ours_is_no_answer() {
    check_routed(
        "/deploy now",
        NOW.wall,
        true,
        &around(vec![open(waiting(yes_no()))]),
        "unknown_command: /deploy is no command of mine. /help lists them.",
    );
    check_routed("/clear", NOW.wall, true, &around(vec![]), "instruct S \"/clear\", as is false");
}

// What became of an instruction.

#[test]
fn every_end_of_an_instruction_has_words_for_its_author() {
    let ended = |state: PromptState| crate::words::instruction_ended(&session(), &state);
    let told: Vec<String> = Failure::ALL.map(|why| ended(failed(why))).to_vec();
    assert!(told.iter().all(|told| told.ends_with('.')), "{told:?}");
    let different: std::collections::HashSet<&String> = told.iter().collect();
    assert_eq!(different.len(), Failure::ALL.len());
    row(&ended(applied()), "Sent to claude (51515151), as its next instruction.");
    row(
        &ended(PromptState::Resolved { how: Resolution::AnsweredOutOfBand }),
        "Not sent to claude (51515151): something else gave it an instruction first; look at that session.",
    );
    row(
        &ended(failed(Failure::Unknown)),
        "It is not known whether claude (51515151) took this: it may have been typed, and nothing proves it. It is not tried again.",
    );
    row(
        &ended(failed(Failure::ToolGone)),
        "Not sent to claude (51515151): the tool has ended, nothing reached it.",
    );
}

#[test]
fn a_screen_is_shown_as_the_programs_own_words() {
    row(&notice(&crate::words::screen(&session(), Some("$ ls"))), "claude (51515151) shows: `$ ls`");
    row(&notice(&crate::words::screen(&session(), Some(""))), "claude (51515151) shows: `(an empty screen)`");
    row(
        &notice(&crate::words::screen(&session(), None)),
        "claude (51515151) does not answer at the moment; its screen is not known.",
    );
}
