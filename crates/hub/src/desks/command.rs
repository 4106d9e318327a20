//! The command line: a verdict in its words.

use atlasbridge_model::answer::Refusal;
use atlasbridge_model::speech::Audience;
use atlasbridge_wire::command::Response;

use super::{PromptNow, Tellings};
use crate::decide::{Refused, Unfit, Verdict};
use crate::views::prompt_view;
use crate::words;

/// `None`: there is nothing to say.
pub(super) fn response(
    verdict: &Verdict,
    standing: Option<&PromptNow>,
    tellings: &Tellings,
) -> Option<Response> {
    Some(match verdict {
        Verdict::Standing { .. } => Response::Answered { prompt: prompt_view(&standing?.open, tellings.now) },
        Verdict::Queued { session, busy, replaces, .. } => Response::Queued {
            session_id: session.id.to_string(),
            replaces: *replaces,
            told: words::queued(session, *busy, *replaces),
        },
        Verdict::TakenBack
        | Verdict::PutAway
        | Verdict::Stopping { .. }
        | Verdict::Resumed { .. }
        | Verdict::Muted { .. }
        | Verdict::Switched { .. } => Response::Done,
        Verdict::Refused(refused) => Response::Refused { reason: reason(refused) },
        // Commands have no numbers that could come twice.
        Verdict::Repeated => return None,
    })
}

fn reason(refused: &Refused) -> String {
    let told = |refusal: &Refusal, tool: &str| refusal.told(Audience::Command, tool);
    match refused {
        Refused::Answer { refusal, tool } => told(refusal, tool.as_deref().unwrap_or("the tool")),
        Refused::Instruction { unfit, session } => match unfit {
            Unfit::Shape(refusal) => told(refusal, &session.tool),
            Unfit::Over => words::over(session),
            Unfit::TakesNone => format!(
                "{} has not waited for an instruction in this session, so nothing can be sent to it; \
                 `atlasbridge reply` answers prompts",
                session.tool
            ),
            Unfit::Empty => "there is nothing to send".to_owned(),
        },
        Refused::NoSession => NO_SESSION.to_owned(),
        Refused::Over { session } => words::over(session),
        Refused::HostAway { host_pid } => format!(
            "the session host (pid {host_pid}) is not connected at the moment; try again, or `kill {host_pid}`"
        ),
        Refused::NotPaused { .. } => "this session is not paused; its channels' answers are taken".to_owned(),
        Refused::NothingQueued { unsent: Some(why) } => {
            format!("no instruction waits for this session; the last one was not sent ({why})")
        }
        Refused::NothingQueued { unsent: None } => "no instruction waits for this session".to_owned(),
        Refused::QuestionGone => "this question is out of date; nothing was done".to_owned(),
    }
}

pub(crate) const NO_SESSION: &str = "there is no such session; `atlasbridge sessions list --all` shows them";
