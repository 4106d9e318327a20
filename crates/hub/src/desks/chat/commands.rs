//! What a person may ask for in words. Pure, but for what is looked up before.

use atlasbridge_channel::Command;
use atlasbridge_model::{LONGEST_MUTE, SessionId};
use atlasbridge_store::{OpenPrompt, SessionRecord};
use atlasbridge_wire::command::{ChannelView, SessionView};

use super::questions::Question;
use crate::decide::Matter;
use crate::notice::Body;
use crate::words;

/// What is looked up for a command: the sessions that run, and how the hub is.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) version: String,
    pub(crate) sessions: Vec<SessionRecord>,
    pub(crate) views: Vec<SessionView>,
    pub(crate) standing: Vec<OpenPrompt>,
    pub(crate) channels: Vec<ChannelView>,
    pub(crate) trouble: Option<String>,
    pub(crate) switched: Option<SessionId>,
}

#[derive(Debug)]
pub(crate) enum Wish {
    Say(Body),
    Decide(Matter),
    /// Something is asked before it is done.
    Ask(Question, Body),
    Screen(SessionId),
}

/// What a command asks for. `id` is its sender's own, `token` names the question that it may need.
pub(crate) fn asked(command: Command, id: &str, token: &str, lookup: &Lookup) -> Wish {
    let named = |wanted: Option<String>| named_session(&lookup.sessions, wanted.as_deref());
    let of_session = |wanted, then: &dyn Fn(&SessionRecord) -> Wish| match named(wanted) {
        Ok(session) => then(session),
        Err(reason) => Wish::Say(words::say(reason)),
    };
    match command {
        Command::Start => Wish::Say(words::welcome(id)),
        Command::Help => Wish::Say(words::help()),
        Command::Sessions => Wish::Say(words::sessions(&lookup.views, lookup.switched)),
        Command::Status => Wish::Say(words::status(lookup)),
        Command::Switch { session } => {
            of_session(session, &|session| Wish::Decide(Matter::Switch { session: session.id }))
        }
        Command::Mute { time: None } => Wish::Say(words::say(format!(
            "Say how long, at most {} days: /mute 30m, /mute 2h, /mute 1d, or /mute off to end it.",
            LONGEST_MUTE.as_secs() / (24 * 3_600)
        ))),
        Command::Mute { time: Some(time) } => Wish::Decide(Matter::Mute { time }),
        Command::Stop { session } => of_session(session, &|session| {
            let question = Question::Stop { session: session.id.to_string() };
            Wish::Ask(question, words::stop(session, token))
        }),
        Command::Resume { session } => {
            of_session(session, &|session| Wish::Decide(Matter::Resume { session: session.id }))
        }
        Command::Screen { session } => of_session(session, &|session| Wish::Screen(session.id)),
    }
}

/// The running session that is meant; without a name, the only one.
fn named_session<'a>(
    sessions: &'a [SessionRecord],
    wanted: Option<&str>,
) -> Result<&'a SessionRecord, &'static str> {
    let wanted = wanted.map(str::to_ascii_lowercase);
    let is_wanted = |session: &&SessionRecord| {
        wanted.as_ref().is_none_or(|wanted| session.id.to_string().starts_with(wanted))
    };
    let mut found = sessions.iter().filter(is_wanted);
    match (found.next(), found.next(), &wanted) {
        (Some(session), None, _) => Ok(session),
        (None, _, None) => Err("No session runs."),
        (None, _, Some(_)) => Err("No running session begins with these digits; /sessions lists them."),
        (Some(_), Some(_), None) => {
            Err("Several sessions run: name one by the first digits of its id; /sessions lists them.")
        }
        (Some(_), Some(_), Some(_)) => Err("Several sessions begin with these digits; give more of the id."),
    }
}
