//! What the hub says to people on channels. Pure: facts in, sentences out.

use atlasbridge_model::SessionId;
use atlasbridge_model::answer::Refusal;
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::mask::mask;
use atlasbridge_model::opening::Opening;
use atlasbridge_model::speech::{self, Audience, Instruction};
use atlasbridge_store::{OpenPrompt, PromptRecord, SessionRecord};
use atlasbridge_wire::command::SessionView;

use crate::decide::{Busy, Unfit};
use crate::desks::chat::commands::Lookup;
use crate::notice::{Body, Voice};
use crate::views::is_waiting;

/// Sessions in one message; more would be cut by the channel.
const MOST_SESSIONS: usize = 20;

pub(crate) fn say(text: impl Into<String>) -> Body {
    Body::Notice { blocks: vec![(Voice::Ours, text.into())], buttons: Vec::new() }
}

pub(crate) fn welcome(id: &str) -> Body {
    say(format!(
        "This is AtlasBridge. You are {id}, and you are on the allowlist: prompts of your tools appear here, with buttons.\n\
         /help lists what else you can do."
    ))
}

pub(crate) fn help() -> Body {
    say(
        "Tap a button of a prompt, or reply to its message: yes, no, a number, a label or a text. With one prompt waiting a \
         plain message answers it; to an agent that works, it is the next instruction.\n\n\
         /sessions – what runs\n\
         /switch ID – plain messages are for this session from now on\n\
         /screen ID – what its terminal shows\n\
         /status – how AtlasBridge is\n\
         /stop ID – end a session's tool, after a question\n\
         /mute 30m – no new prompts here for a while; /mute off ends it\n\
         /resume ID – let answers through again after too many in a minute\n\n\
         A text never goes into a dialog that asks for a choice. Silence never approves.",
    )
}

pub(crate) fn unknown_command(text: &str) -> Body {
    let word = text.split_whitespace().next().unwrap_or_default();
    let word: String = word.chars().take(40).collect();
    say(format!("{word} is no command of mine. /help lists them."))
}

/// A line for each, as many as fit a message.
fn listed<T>(all: &[T], line: impl Fn(&T) -> String) -> String {
    let mut lines: Vec<String> = all.iter().take(MOST_SESSIONS).map(line).collect();
    if all.len() > MOST_SESSIONS {
        lines.push(format!("and {} more", all.len() - MOST_SESSIONS));
    }
    lines.join("\n")
}

pub(crate) fn sessions(views: &[SessionView], switched_to: Option<SessionId>) -> Body {
    let switched_to = switched_to.map(|session| session.to_string());
    if views.is_empty() {
        return say("No session runs. `atlasbridge run TOOL` starts one.");
    }
    say(listed(views, |view| {
        let id = &view.session_id;
        let label = view.label.as_ref().map(|label| format!(" “{label}”")).unwrap_or_default();
        let paused = if view.paused { ", paused" } else { "" };
        let pid = view.pid.map(|pid| format!("pid {pid} · ")).unwrap_or_default();
        let mark = if switched_to.as_ref() == Some(id) { " ← plain messages" } else { "" };
        format!(
            "{} {}{label} · {}{paused} · {pid}{} · {} waiting{mark}",
            id.get(..8).unwrap_or(id),
            view.tool,
            view.state.replace('_', " "),
            duration(view.uptime_seconds),
            view.waiting
        )
    }))
}

pub(crate) fn status(lookup: &Lookup) -> Body {
    let Lookup { version, sessions, standing, channels, trouble, .. } = lookup;
    let sessions = sessions.len();
    let waiting = standing.iter().filter(|open| is_waiting(&open.prompt.state)).count();
    let mut lines = vec![format!("AtlasBridge {version}: {sessions} sessions, {waiting} prompts waiting.")];
    if !standing.is_empty() {
        lines.push(listed(standing, |open| {
            let word = open.prompt.state.standing_word(open.prompt.sighting.takes);
            format!("{}: {word}", asked_by(open))
        }));
    }
    lines.extend(channels.iter().map(|channel| {
        let detail = channel.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        format!("{}: {}{detail}", channel.name, channel.state)
    }));
    lines.extend(trouble.as_ref().map(|trouble| speech::sentence(&speech::trouble(trouble))));
    say(lines.join("\n"))
}

pub(crate) fn screen(session: &SessionRecord, text: Option<&str>) -> Body {
    let named = named(session);
    let Some(text) = text else {
        return say(format!("{named} does not answer at the moment; its screen is not known."));
    };
    let text = if text.is_empty() { "(an empty screen)" } else { text };
    let blocks = vec![(Voice::Ours, format!("{named} shows:")), (Voice::Program, text.to_owned())];
    Body::Notice { blocks, buttons: Vec::new() }
}

/// A question with its two answers, under this token.
fn ask(blocks: Vec<(Voice, String)>, leave: &str, act: &str, token: &str) -> Body {
    let button = |label: &str, word: &str| vec![(label.to_owned(), format!("{token}:{word}"))];
    Body::Notice { blocks, buttons: vec![button(leave, "n"), button(act, "y")] }
}

pub(crate) fn stop(session: &SessionRecord, token: &str) -> Body {
    let told = format!("End {}? Its tool gets SIGTERM, and three seconds later SIGKILL.", named(session));
    ask(vec![(Voice::Ours, told)], "Leave it running", "End it", token)
}

/// A sentence for a dialog that asks for a choice: it is never typed into it. `refusing` is the choice that refuses; `None`
/// where the tool hears the reason together with the refusal.
pub(crate) fn sentence_for_a_dialog(
    open: (&PromptRecord, &SessionRecord),
    text: &str,
    refusing: Option<&str>,
    token: &str,
) -> Body {
    let (prompt, session) = open;
    let (but, question, act) = match refusing {
        None => ("and this is none", "Refuse with this as the reason?".to_owned(), "Refuse with it"),
        Some(refusing) => {
            let opening = Opening::of(text).map(|opening| opening.told(text, &session.tool));
            let then = opening.map(|told| format!(" Then {told}.")).unwrap_or_default();
            let question = format!(
                "Answer “{refusing}” and send it as the next instruction, once the tool takes one?{then}"
            );
            ("so this was not typed", question, "Deny and send it")
        }
    };
    let told = format!("{} asks for a choice ({}), {but}:", named(session), prompt.id.short());
    let blocks =
        vec![(Voice::Ours, told), (Voice::Program, mask(text).into_owned()), (Voice::Ours, question)];
    ask(blocks, "Do nothing", act, token)
}

/// A text that its first character makes something else of.
pub(crate) fn not_plain(session: &SessionRecord, opening: Opening, text: &str, token: &str) -> Body {
    let mut told =
        format!("{}: {}. Send it all the same?", named(session), opening.told(text, &session.tool));
    if text.starts_with('/') {
        told.push_str(" (It is no command of mine; /help lists those.)");
    }
    let blocks = vec![(Voice::Ours, told), (Voice::Program, mask(text).into_owned())];
    ask(blocks, "Do nothing", "Send it as it is", token)
}

/// A text that is kept for its tool.
pub(crate) fn queued(session: &SessionRecord, busy: Busy, replaces: bool) -> String {
    let now = match busy {
        Busy::Working => "is working; this is sent as its next instruction when it has finished.",
        Busy::Asking => "asks something first; this is sent as its next instruction when it has finished.",
        Busy::LeftToTerminal => {
            "waits at its terminal; this is sent as its next instruction when it has finished the one that it gets there."
        }
    };
    let mut told = format!("{} {now}", named(session));
    if replaces {
        told.push_str(" It takes the place of the one that was queued before, which is not sent.");
    }
    told
}

/// Why a text is no instruction for this session.
pub(crate) fn unfit(session: &SessionRecord, unfit: &Unfit, to: Audience) -> String {
    match (unfit, to) {
        (Unfit::Shape(refusal), _) => refusal.told(to, &session.tool),
        (Unfit::Over, Audience::Command) => over(session),
        (Unfit::Over, Audience::Page | Audience::Chat) => {
            format!("{} has ended. Nothing was sent.", named(session))
        }
        (Unfit::TakesNone, Audience::Command) => format!(
            "{} has not waited for an instruction in this session, so nothing can be sent to it; \
             `atlasbridge reply` answers prompts",
            session.tool
        ),
        (Unfit::TakesNone, Audience::Page | Audience::Chat) => format!(
            "{} has not waited for an instruction yet, so nothing can be sent to it. Nothing was queued.",
            named(session)
        ),
        (Unfit::Empty, Audience::Command) => "there is nothing to send".to_owned(),
        (Unfit::Empty, Audience::Page | Audience::Chat) => "There is nothing to send.".to_owned(),
    }
}

/// At the machine, where no chat's words are wanted.
pub(crate) fn over(session: &SessionRecord) -> String {
    format!("this session is over ({})", session.status.as_str())
}

pub(crate) fn unsent(session: &SessionRecord, why: &str) -> String {
    format!("Not sent to {}: {why}.", named(session))
}

/// What the sender of a queued text hears when its tool waits and it is refused.
pub(crate) fn not_yet(session: &SessionRecord, refusal: &Refusal) -> String {
    let mut told = format!("Not sent to {}: {}", named(session), refusal.told_on_channel());
    if matches!(refusal, Refusal::TooMany | Refusal::Paused) {
        told.push_str(" It stays queued, and is sent after that.");
    }
    told
}

/// How the prompt ended that took a queued text.
pub(crate) fn instruction_ended(session: &SessionRecord, state: &PromptState) -> String {
    let named = named(session);
    match speech::instruction(state) {
        Instruction::Sent => format!("Sent to {named}, as its next instruction."),
        Instruction::Unsent(why) => unsent(session, &why),
        Instruction::Unknown => format!(
            "It is not known whether {named} took this: it may have been typed, and nothing proves it. It is not tried again."
        ),
    }
}

pub(crate) fn several(waiting: &[OpenPrompt]) -> Body {
    let lines: Vec<String> = waiting.iter().take(MOST_SESSIONS).map(asked_by).collect();
    say(format!(
        "Multiple active sessions. Reply to the prompt's message, or /switch <session>.\n{}",
        lines.join("\n")
    ))
}

fn asked_by(open: &OpenPrompt) -> String {
    format!("{} {}", open.prompt.id.short(), named(&open.session))
}

pub(crate) fn started(session: &SessionRecord) -> Body {
    say(format!("{} has started in {}.", named(session), session.cwd))
}

pub(crate) fn ended(session: &SessionRecord, how: &str) -> Body {
    say(format!("{} has ended: {how}.", named(session)))
}

/// Too many answers in a minute: whoever could answer hears it once, and how it ends.
pub(crate) fn paused(session: &SessionRecord) -> Body {
    let id = session.id.short();
    say(format!(
        "{} got more than 10 answers from afar within a minute. It is paused: no more answers are taken from here, and no \
         new prompts are shown. The keyboard and the command line work as before.\n\
         /resume {id} lets it go on; at the machine: atlasbridge sessions resume {id}",
        named(session)
    ))
}

/// What a tap is told once more is known.
pub(crate) fn receipt(prompt: &PromptRecord, answer: Option<&str>) -> String {
    let answer = answer.map(|answer| format!(" ({answer})")).unwrap_or_default();
    let state = &prompt.state;
    if matches!(state, PromptState::ReplyReceived { .. } | PromptState::Injected { .. }) {
        let word = state.word_for(prompt.sighting.takes);
        return format!("Accepted{answer}; {word}. The message will say what became of it.");
    }
    format!("{}{answer}.", speech::sentence(state.word()))
}

pub(crate) fn named(session: &SessionRecord) -> String {
    let label = session.label.as_ref().map(|label| format!(" “{label}”")).unwrap_or_default();
    format!("{}{label} ({})", session.tool, session.id.short())
}

pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
