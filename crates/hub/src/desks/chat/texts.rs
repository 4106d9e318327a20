//! Plain texts: which prompt they mean, and whose next instruction they are where nothing waits. Pure.

use atlasbridge_model::answer::{Refusal, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::opening::Opening;
use atlasbridge_model::routing::{self, Addressee, Meant, Running};
use atlasbridge_model::{Kind, Nonce, SessionId, Timestamp};
use atlasbridge_store::{Offered, OpenPrompt, PromptRecord};

use crate::decide::{Answer, AnswerRight, Matter};
use crate::notice::Body;
use crate::words;

/// A text, and what is known of it.
#[derive(Debug)]
pub(crate) struct Texted {
    pub(crate) text: String,
    pub(crate) sent_at: Timestamp,
    /// It begins as a command does, and is none of ours.
    pub(crate) is_other_command: bool,
}

/// What it may be about.
#[derive(Debug)]
pub(crate) struct Around {
    /// The prompts that wait for an answer.
    pub(crate) waiting: Vec<OpenPrompt>,
    pub(crate) running: Vec<Running>,
    pub(crate) replied: Replied,
    /// The session that plain messages of this chat are for.
    pub(crate) switched: Option<SessionId>,
}

/// The message that it replies to.
#[derive(Debug)]
pub(crate) enum Replied {
    /// It is no reply.
    Nothing,
    /// The message of a prompt.
    Prompt(Box<Offered>),
    /// One that is no prompt of ours, as far as we know.
    Unknown,
}

#[derive(Debug)]
pub(crate) enum Route {
    Decide(Matter),
    /// It is used for nothing: what its sender hears, and the word for the record.
    NotUsed {
        notice: Body,
        why: &'static str,
    },
}

fn not_used(text: &str, why: &'static str) -> Route {
    Route::NotUsed { notice: words::say(text), why }
}

/// Which prompt, or which session, does a text mean?
pub(crate) fn route(texted: &Texted, around: &Around) -> Route {
    match &around.replied {
        Replied::Nothing => {}
        Replied::Prompt(offered) => return text_for(texted, &offered.prompt, offered.nonce),
        Replied::Unknown => {
            return not_used(
                "I do not know which prompt that message belongs to, so this was not used. Reply to the prompt's \
                 own message, or use its buttons.",
                Refusal::UnknownPrompt.name(),
            );
        }
    }
    let asked = |open: &OpenPrompt| (open.prompt.session, open.prompt.created_at);
    match routing::meant(&around.waiting, asked, around.switched, texted.sent_at) {
        Meant::Means(OpenPrompt { prompt, .. }) => text_for(texted, prompt, prompt.nonce),
        Meant::NothingWaits => next_instruction(texted, around),
        Meant::Several => Route::NotUsed { notice: words::several(&around.waiting), why: "several_wait" },
        // Written while the tool worked: what it would have been a moment ago, it is now.
        Meant::TooNew(open) if open.prompt.sighting.kind == Kind::Idle => next_instruction(texted, around),
        Meant::TooNew(_) => not_used(
            "A prompt appeared after you wrote this, so it was not taken as its answer. Reply to the prompt's \
             message if you mean it.",
            "prompt_too_new",
        ),
    }
}

/// A text that means this prompt.
fn text_for(texted: &Texted, prompt: &PromptRecord, nonce: Nonce) -> Route {
    let is_idle = prompt.sighting.kind == Kind::Idle;
    let waits = prompt.state == PromptState::AwaitingReply;
    let text = texted.text.clone();
    // A box that has been used means its session: there will be another.
    if is_idle && (!waits || Opening::of(&text).is_some()) {
        return Route::Decide(Matter::Instruct { session: prompt.session, text, as_is: false });
    }
    if texted.is_other_command {
        return Route::NotUsed { notice: words::unknown_command(&text), why: "unknown_command" };
    }
    let on = Ok(AnswerRight { prompt: prompt.id, nonce: Some(nonce) });
    Route::Decide(Matter::Answer(Answer { on, said: Said::Text(text), as_is: false, then: None }))
}

/// A text that answers nothing: the next instruction of a tool, where it is clear whose.
fn next_instruction(texted: &Texted, around: &Around) -> Route {
    const WHY: &str = "nothing_waits";
    match routing::addressee(&around.running, around.switched) {
        Addressee::Session(session) => {
            Route::Decide(Matter::Instruct { session, text: texted.text.clone(), as_is: false })
        }
        Addressee::Nobody | Addressee::Several | Addressee::NotThere if texted.is_other_command => {
            Route::NotUsed { notice: words::unknown_command(&texted.text), why: WHY }
        }
        Addressee::Nobody => {
            not_used("Nothing is waiting for an answer right now, so this was not used.", WHY)
        }
        Addressee::Several => not_used(
            "Nothing is waiting for an answer right now, and several tools take instructions, so this was not used. \
             /switch ID says which one plain messages are for; /sessions lists them.",
            WHY,
        ),
        Addressee::NotThere => not_used(
            "Nothing waits in the session that plain messages are for (/switch), so this was not used. Reply to the \
             message of another prompt to answer that one.",
            WHY,
        ),
    }
}
