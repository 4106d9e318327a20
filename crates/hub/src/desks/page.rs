//! The page: a verdict in its words.

use atlasbridge_model::answer::Refusal;
use atlasbridge_model::speech::Audience;
use atlasbridge_web::questions::Answer;

use super::{PromptNow, Tellings};
use crate::cards::card;
use crate::decide::{Refused, Unfit, Verdict};
use crate::words;

/// `None`: there is nothing to say.
pub(super) fn answer(verdict: &Verdict, standing: Option<&PromptNow>, tellings: &Tellings) -> Option<Answer> {
    Some(match verdict {
        Verdict::Standing { .. } => {
            let PromptNow { open, reply } = standing?;
            let card = card(&open.prompt, &open.session, reply.as_ref(), tellings.rules, tellings.now);
            Answer::Done { card: Some(Box::new(card)) }
        }
        Verdict::Queued { session, busy, replaces, .. } => {
            Answer::Queued { told: words::queued(session, *busy, *replaces) }
        }
        Verdict::TakenBack
        | Verdict::PutAway
        | Verdict::Stopping { .. }
        | Verdict::Resumed { .. }
        | Verdict::Muted { .. }
        | Verdict::Switched { .. } => Answer::Done { card: None },
        Verdict::Refused(refused) => refusal(refused),
        // A click has no number that could come twice.
        Verdict::Repeated => return None,
    })
}

fn refusal(refused: &Refused) -> Answer {
    let why = match refused {
        Refused::Answer { refusal: refusal @ Refusal::NotPlain { .. }, tool } => {
            let why = refusal.told(Audience::Page, tool.as_deref().unwrap_or("the tool"));
            return Answer::NotPlain { why };
        }
        Refused::Instruction { unfit: Unfit::Shape(refusal @ Refusal::NotPlain { .. }), session } => {
            return Answer::NotPlain { why: refusal.told(Audience::Page, &session.tool) };
        }
        Refused::Answer { refusal, tool } => {
            refusal.told(Audience::Page, tool.as_deref().unwrap_or("the tool"))
        }
        Refused::Instruction { unfit, session } => words::unfit(session, unfit),
        Refused::NoSession => "there is no such session".to_owned(),
        Refused::Over { .. } => "this session is over".to_owned(),
        Refused::HostAway { .. } => "its host is not connected at the moment; try again".to_owned(),
        Refused::NotPaused { .. } => "this session is not paused".to_owned(),
        Refused::NothingQueued { .. } | Refused::QuestionGone => "too late: it no longer waits".to_owned(),
    };
    Answer::Refused { why }
}
