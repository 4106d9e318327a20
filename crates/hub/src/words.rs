//! What the hub says to people on channels. Pure: facts in, sentences out.

use atlasbridge_channel::{Block, Button, Notice};
use atlasbridge_model::SessionId;
use atlasbridge_model::answer::Refusal;
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::mask::mask;
use atlasbridge_model::opening::Opening;
use atlasbridge_model::speech::{self, Instruction};
use atlasbridge_store::{OpenPrompt, PromptRecord, SessionRecord};
use atlasbridge_wire::command::SessionView;

use crate::decide::{Busy, Unfit};
use crate::desks::chat::commands::Lookup;
use crate::views::is_waiting;

/// Sessions in one message; more would be cut by the channel.
const MOST_SESSIONS: usize = 20;

pub(crate) fn say(text: impl Into<String>) -> Notice {
    Notice { blocks: vec![Block::Ours(text.into())], buttons: Vec::new() }
}

pub(crate) fn welcome(id: &str) -> Notice {
    say(format!(
        "This is AtlasBridge. You are {id}, and you are on the allowlist: prompts of your tools appear here, with buttons.\n\
         /help lists what else you can do."
    ))
}

pub(crate) fn help() -> Notice {
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

pub(crate) fn unknown_command(text: &str) -> Notice {
    let word = text.split_whitespace().next().unwrap_or_default();
    let word: String = word.chars().take(40).collect();
    say(format!("{word} is no command of mine. /help lists them."))
}

pub(crate) fn sessions(views: &[SessionView], switched_to: Option<SessionId>) -> Notice {
    let switched_to = switched_to.map(|session| session.to_string());
    if views.is_empty() {
        return say("No session runs. `atlasbridge run TOOL` starts one.");
    }
    let line = |view: &SessionView| {
        let label = view.label.as_ref().map(|label| format!(" “{label}”")).unwrap_or_default();
        let paused = if view.paused { ", paused" } else { "" };
        let pid = view.pid.map(|pid| format!("pid {pid} · ")).unwrap_or_default();
        let mark =
            if switched_to.as_deref() == Some(view.session_id.as_str()) { " ← plain messages" } else { "" };
        format!(
            "{} {}{label} · {}{paused} · {pid}{} · {} waiting{mark}",
            short(&view.session_id),
            view.tool,
            view.state.replace('_', " "),
            duration(view.uptime_seconds),
            view.waiting
        )
    };
    let mut lines: Vec<String> = views.iter().take(MOST_SESSIONS).map(line).collect();
    if views.len() > MOST_SESSIONS {
        lines.push(format!("and {} more", views.len() - MOST_SESSIONS));
    }
    say(lines.join("\n"))
}

pub(crate) fn status(lookup: &Lookup) -> Notice {
    let Lookup { version, sessions, standing, channels, trouble, .. } = lookup;
    let sessions = sessions.len();
    let waiting = standing.iter().filter(|open| is_waiting(&open.prompt.state)).count();
    let mut text = format!("AtlasBridge {version}: {sessions} sessions, {waiting} prompts waiting.");
    for OpenPrompt { prompt, session } in standing.iter().take(MOST_SESSIONS) {
        let (code, named) = (code(prompt), named(session));
        let word = prompt.state.standing_word(prompt.sighting.takes);
        text.push_str(&format!("\n{code} {named}: {word}"));
    }
    if standing.len() > MOST_SESSIONS {
        text.push_str(&format!("\nand {} more", standing.len() - MOST_SESSIONS));
    }
    for channel in channels {
        let detail = channel.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        text.push_str(&format!("\n{}: {}{detail}", channel.name, channel.state));
    }
    if let Some(trouble) = trouble {
        text.push_str(&format!("\n{}", speech::sentence(&speech::trouble(trouble))));
    }
    say(text)
}

pub(crate) fn screen(session: &SessionRecord, text: Option<&str>) -> Notice {
    match text {
        None => say(format!("{} does not answer at the moment; its screen is not known.", named(session))),
        Some(text) => Notice {
            blocks: vec![
                Block::Ours(format!("{} shows:", named(session))),
                Block::Program(if text.is_empty() {
                    "(an empty screen)".to_owned()
                } else {
                    text.to_owned()
                }),
            ],
            buttons: Vec::new(),
        },
    }
}

pub(crate) fn stop(session: &SessionRecord, token: &str) -> Notice {
    Notice {
        blocks: vec![Block::Ours(format!(
            "End {}? Its tool gets SIGTERM, and three seconds later SIGKILL.",
            named(session)
        ))],
        buttons: confirm("Leave it running", "End it", token),
    }
}

/// A sentence for a dialog that asks for a choice: it is never typed into it.
pub(crate) fn deny_and_say(
    prompt: &PromptRecord,
    session: &SessionRecord,
    text: &str,
    refusing: &str,
    token: &str,
) -> Notice {
    Notice {
        blocks: vec![
            Block::Ours(format!(
                "{} asks for a choice ({}), so this was not typed:",
                named(session),
                code(prompt)
            )),
            Block::Program(mask(text).into_owned()),
            Block::Ours(format!(
                "Answer “{refusing}” and send it as the next instruction, once the tool takes one?{}",
                match Opening::of(text) {
                    Some(opening) => format!(" Then {}.", opening.told(text, &session.tool)),
                    None => String::new(),
                }
            )),
        ],
        buttons: confirm("Do nothing", "Deny and send it", token),
    }
}

/// The same where the tool hears the reason together with the refusal.
pub(crate) fn refuse_with(prompt: &PromptRecord, session: &SessionRecord, text: &str, token: &str) -> Notice {
    Notice {
        blocks: vec![
            Block::Ours(format!(
                "{} asks for a choice ({}), and this is none:",
                named(session),
                code(prompt)
            )),
            Block::Program(mask(text).into_owned()),
            Block::Ours("Refuse with this as the reason?".to_owned()),
        ],
        buttons: confirm("Do nothing", "Refuse with it", token),
    }
}

/// A text that its first character makes something else of.
pub(crate) fn not_plain(session: &SessionRecord, opening: Opening, text: &str, token: &str) -> Notice {
    let mut told =
        format!("{}: {}. Send it all the same?", named(session), opening.told(text, &session.tool));
    if text.starts_with('/') {
        told.push_str(" (It is no command of mine; /help lists those.)");
    }
    Notice {
        blocks: vec![Block::Ours(told), Block::Program(mask(text).into_owned())],
        buttons: confirm("Do nothing", "Send it as it is", token),
    }
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
    let instead = match replaces {
        true => " It takes the place of the one that was queued before, which is not sent.",
        false => "",
    };
    format!("{} {now}{instead}", named(session))
}

/// Why a text is no instruction for this session.
pub(crate) fn unfit(session: &SessionRecord, unfit: &Unfit) -> String {
    match unfit {
        Unfit::Over => format!("{} has ended. Nothing was sent.", named(session)),
        Unfit::TakesNone => format!(
            "{} has not waited for an instruction yet, so nothing can be sent to it. Nothing was queued.",
            named(session)
        ),
        Unfit::Empty => "There is nothing to send.".to_owned(),
        Unfit::Shape(Refusal::NotPlain { opening, given }) => {
            format!("{}. Nothing was sent.", opening.told(given, &session.tool))
        }
        Unfit::Shape(refusal) => refusal.told_on_channel(),
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
    let stays = match matches!(refusal, Refusal::TooMany | Refusal::Paused) {
        true => " It stays queued, and is sent after that.",
        false => "",
    };
    let told = refusal.told_on_channel();
    format!("Not sent to {}: {told}{stays}", named(session))
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

fn confirm(leave: &str, act: &str, token: &str) -> Vec<Vec<Button>> {
    let button =
        |label: &str, word: &str| Button { label: label.to_owned(), token: format!("{token}:{word}") };
    vec![vec![button(leave, "n")], vec![button(act, "y")]]
}

pub(crate) fn several(waiting: &[OpenPrompt]) -> Notice {
    let lines: Vec<String> = waiting
        .iter()
        .take(MOST_SESSIONS)
        .map(|open| format!("{} {}", code(&open.prompt), named(&open.session)))
        .collect();
    say(format!(
        "Multiple active sessions. Reply to the prompt's message, or /switch <session>.\n{}",
        lines.join("\n")
    ))
}

pub(crate) fn started(session: &SessionRecord) -> Notice {
    say(format!("{} has started in {}.", named(session), session.cwd))
}

pub(crate) fn ended(session: &SessionRecord, how: &str) -> Notice {
    say(format!("{} has ended: {how}.", named(session)))
}

/// Too many answers in a minute: whoever could answer hears it once, and how it ends.
pub(crate) fn paused(session: &SessionRecord) -> Notice {
    let id = session.id.to_string();
    let id = short(&id);
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
    format!("{}{label} ({})", session.tool, short(&session.id.to_string()))
}

pub(crate) fn code(prompt: &PromptRecord) -> String {
    short(&prompt.id.to_string()).to_owned()
}

fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
