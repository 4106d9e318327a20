//! Where people are: the command line, the page, the chats. Each turns its words into a decision and a verdict into its
//! words, and decides nothing.

pub(crate) mod chat;
#[cfg(test)]
mod tests;

use atlasbridge_channel::Receipt;
use atlasbridge_model::Now;
use atlasbridge_model::answer::{Refusal, Rules};
use atlasbridge_model::speech::Audience;
use atlasbridge_store::{OpenPrompt, Reply};
use atlasbridge_web::questions::Answer;
use atlasbridge_wire::command::Response;
use tokio::sync::{mpsc, oneshot};

use self::chat::questions::STALE;
use crate::cards::card;
use crate::decide::{Refused, Unfit, Verdict};
use crate::views::prompt_view;
use crate::words;

pub(crate) const NO_SESSION: &str = "there is no such session; `atlasbridge sessions list --all` shows them";

/// A prompt as it stands now, for whoever answered it, and what its words depend on besides.
#[derive(Debug)]
pub(crate) struct PromptNow {
    pub(crate) open: OpenPrompt,
    pub(crate) reply: Option<Reply>,
    pub(crate) rules: Rules,
    pub(crate) now: Now,
}

/// The way back to a person.
#[derive(Debug)]
pub(crate) enum Way {
    Command(mpsc::Sender<Response>),
    Page(oneshot::Sender<Answer>),
    /// A tap in a chat, which shows a spinner until it is told something.
    Tap(Receipt),
}

impl Way {
    /// Whoever has gone meanwhile does not want to hear it.
    pub(crate) fn tell(self, verdict: &Verdict, standing: Option<&PromptNow>) {
        match self {
            Way::Command(respond) => {
                if let Some(response) = at_the_machine(verdict, standing) {
                    let _ = respond.try_send(response);
                }
            }
            Way::Page(way) => {
                if let Some(answer) = at_the_page(verdict, standing) {
                    drop(way.send(answer));
                }
            }
            Way::Tap(Receipt(way)) => drop(way.send(chat::receipt(verdict, standing))),
        }
    }
}

/// A verdict for the command line. `None`: there is nothing to say.
fn at_the_machine(verdict: &Verdict, standing: Option<&PromptNow>) -> Option<Response> {
    Some(match verdict {
        Verdict::Standing { .. } => {
            let PromptNow { open, now, .. } = standing?;
            Response::Answered { prompt: prompt_view(open, *now) }
        }
        Verdict::Queued { session, busy, replaces, .. } => Response::Queued {
            session_id: session.id.to_string(),
            replaces: *replaces,
            told: words::queued(session, *busy, *replaces),
        },
        Verdict::TakenBack
        | Verdict::Stopping { .. }
        | Verdict::Resumed { .. }
        | Verdict::Muted { .. }
        | Verdict::Switched { .. } => Response::Done,
        Verdict::Refused(refused) => Response::Refused { reason: refusal(refused, Audience::Command) },
        // Commands have no numbers that could come twice.
        Verdict::Repeated => return None,
    })
}

/// A verdict for the page. `None`: there is nothing to say.
fn at_the_page(verdict: &Verdict, standing: Option<&PromptNow>) -> Option<Answer> {
    Some(match verdict {
        Verdict::Standing { .. } => {
            let PromptNow { open, reply, rules, now } = standing?;
            let card = card(&open.prompt, &open.session, reply.as_ref(), *rules, *now);
            Answer::Done { card: Some(Box::new(card)) }
        }
        Verdict::Queued { session, busy, replaces, .. } => {
            Answer::Queued { told: words::queued(session, *busy, *replaces) }
        }
        Verdict::TakenBack
        | Verdict::Stopping { .. }
        | Verdict::Resumed { .. }
        | Verdict::Muted { .. }
        | Verdict::Switched { .. } => Answer::Done { card: None },
        Verdict::Refused(refused) => {
            let why = refusal(refused, Audience::Page);
            if is_not_plain(refused) { Answer::NotPlain { why } } else { Answer::Refused { why } }
        }
        // A click has no number that could come twice.
        Verdict::Repeated => return None,
    })
}

/// The visitor is asked whether it is meant.
fn is_not_plain(refused: &Refused) -> bool {
    matches!(
        refused,
        Refused::Answer { refusal: Refusal::NotPlain { .. }, .. }
            | Refused::Instruction { unfit: Unfit::Shape(Refusal::NotPlain { .. }), .. }
    )
}

/// An ordinary no, as each audience hears it; in a chat as the word under a tap.
fn refusal(refused: &Refused, to: Audience) -> String {
    let (command, page, tap) = match refused {
        Refused::Answer { refusal, tool: Some(tool) } if to != Audience::Chat => {
            return refusal.told(to, tool);
        }
        Refused::Answer { refusal, .. } => return refusal.told(to, "the tool"),
        Refused::Instruction { unfit, session } => return words::unfit(session, unfit, to),
        Refused::NoSession => (NO_SESSION.to_owned(), "there is no such session", STALE),
        Refused::Over { session } => (words::over(session), "this session is over", "It is over already."),
        Refused::HostAway { host_pid } => (
            format!(
                "the session host (pid {host_pid}) is not connected at the moment; try again, or `kill {host_pid}`"
            ),
            "its host is not connected at the moment; try again",
            "Its host is not connected at the moment; try again.",
        ),
        Refused::NotPaused { .. } => (
            "this session is not paused; its channels' answers are taken".to_owned(),
            "this session is not paused",
            "It is not paused.",
        ),
        Refused::NothingQueued { unsent } => {
            let last = unsent.as_ref().map(|why| format!("; the last one was not sent ({why})"));
            (
                format!("no instruction waits for this session{}", last.unwrap_or_default()),
                "too late: it no longer waits",
                "Too late: it no longer waits.",
            )
        }
        Refused::QuestionGone => (
            "this question is out of date; nothing was done".to_owned(),
            "too late: it no longer waits",
            STALE,
        ),
    };
    match to {
        Audience::Command => command,
        Audience::Page => page.to_owned(),
        Audience::Chat => tap.to_owned(),
    }
}
