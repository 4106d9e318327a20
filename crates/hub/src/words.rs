//! What the hub says to people on channels. Pure: facts in, sentences out.

use atlasbridge_channel::{Block, Button, Notice};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_store::{OpenPrompt, PromptRecord, SessionRecord};
use atlasbridge_wire::command::{ChannelView, SessionView};

/// Sessions in one message; more would be cut by the channel.
const MOST_SESSIONS: usize = 20;

pub(crate) fn say(text: impl Into<String>) -> Notice {
    Notice {
        blocks: vec![Block::Ours(text.into())],
        buttons: Vec::new(),
    }
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
         plain message answers it.\n\n\
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

pub(crate) fn unknown_command(word: &str) -> Notice {
    let word: String = word.chars().take(40).collect();
    say(format!("/{word} is no command of mine. /help lists them."))
}

pub(crate) fn sessions(views: &[SessionView], switched_to: Option<&str>) -> Notice {
    if views.is_empty() {
        return say("No session runs. `atlasbridge run TOOL` starts one.");
    }
    let line = |view: &SessionView| {
        let label = view
            .label
            .as_ref()
            .map(|label| format!(" “{label}”"))
            .unwrap_or_default();
        let mark = if switched_to == Some(view.session_id.as_str()) {
            " ← plain messages"
        } else {
            ""
        };
        format!(
            "{} {}{label} · {} · {} · {} prompts{mark}",
            short(&view.session_id),
            view.tool,
            view.state.replace('_', " "),
            duration(view.uptime_seconds),
            view.prompts
        )
    };
    let mut lines: Vec<String> = views.iter().take(MOST_SESSIONS).map(line).collect();
    if views.len() > MOST_SESSIONS {
        lines.push(format!("and {} more", views.len() - MOST_SESSIONS));
    }
    say(lines.join("\n"))
}

pub(crate) fn status(
    version: &str,
    sessions: usize,
    prompts: usize,
    channels: &[ChannelView],
    trouble: Option<&str>,
) -> Notice {
    let mut text = format!("AtlasBridge {version}: {sessions} sessions, {prompts} prompts waiting.");
    for channel in channels {
        let detail = channel
            .detail
            .as_ref()
            .map(|detail| format!(" ({detail})"))
            .unwrap_or_default();
        text.push_str(&format!("\n{}: {}{detail}", channel.name, channel.state));
    }
    if let Some(trouble) = trouble {
        text.push_str(&format!("\nRemote answers may be refused: {trouble}"));
    }
    say(text)
}

pub(crate) fn screen(session: &SessionRecord, text: Option<&str>) -> Notice {
    match text {
        None => say(format!(
            "{} does not answer at the moment; its screen is not known.",
            named(session)
        )),
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
            Block::Program(text.to_owned()),
            Block::Ours(format!(
                "Answer “{refusing}” and send it as the next instruction, once the tool takes one?"
            )),
        ],
        buttons: confirm("Do nothing", "Deny and send it", token),
    }
}

fn confirm(leave: &str, act: &str, token: &str) -> Vec<Vec<Button>> {
    let button = |label: &str, word: &str| Button {
        label: label.to_owned(),
        token: format!("{token}:{word}"),
    };
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
    match &prompt.state {
        PromptState::ReplyReceived { .. } | PromptState::Injected { .. } => {
            format!("Accepted{answer}; being typed. The message will say what became of it.")
        }
        state => {
            let mut word = state.word().to_owned();
            if let Some(first) = word.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            format!("{word}{answer}.")
        }
    }
}

pub(crate) fn named(session: &SessionRecord) -> String {
    let label = session
        .label
        .as_ref()
        .map(|label| format!(" “{label}”"))
        .unwrap_or_default();
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
