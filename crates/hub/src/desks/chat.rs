//! The chats: what people do there becomes a decision, and a verdict becomes a message, a question or the word under a tap.
//!
//! Untrusted until checked; each update is on disk, with all that follows from it, before its channel hears that it was
//! handled.

pub(crate) mod commands;
pub(crate) mod questions;
#[cfg(test)]
mod tests;
pub(crate) mod texts;

use atlasbridge_channel::Address;
use atlasbridge_model::Now;
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::speech::Audience;
use atlasbridge_store::{FollowUp, NewNotice};

use self::questions::Question;
use super::PromptNow;
use crate::core::view::View;
use crate::decide::{Actor, Answer, Decision, Matter, Operator, Refused, Unfit, Verdict, shape_unfit};
use crate::notice::{Body, Voice, new_notice};
use crate::words;

impl Operator {
    pub(crate) fn notice_under(&self, notice: &Body, message: Option<&Address>) -> NewNotice {
        new_notice(self.channel, &self.target, notice, message)
    }

    fn says(&self, text: impl Into<String>) -> FollowUp {
        self.shows(&words::say(text))
    }

    pub(crate) fn shows(&self, notice: &Body) -> FollowUp {
        let notices = vec![self.notice_under(notice, self.message.as_ref())];
        FollowUp { notices, ..FollowUp::default() }
    }

    pub(crate) fn asks(&self, notice: &Body, token: &str, question: &Question, now: Now) -> FollowUp {
        FollowUp { ask: Some(question.new_ask(self, token, now)), ..self.shows(notice) }
    }

    /// What they said is used for nothing, and on record.
    pub(crate) fn rejected(&self, why: &str) -> FollowUp {
        FollowUp { audit: Some(Actor::Chat(self.clone()).rejection(why)), ..FollowUp::default() }
    }
}

/// What a chat is told with the record of an answer that lost: only who wrote a message; a tap has its own word.
pub(crate) fn told_with(by: &Actor, refusal: &Refusal) -> FollowUp {
    match by.operator().filter(|operator| operator.message.is_some()) {
        Some(operator) => operator.says(refusal.told_on_channel()),
        None => FollowUp::default(),
    }
}

/// What a chat is told with the record of a decision that contended with nobody. Elsewhere the verdict itself is told.
pub(crate) fn told(decision: &Decision, verdict: &Verdict, view: &View) -> FollowUp {
    let Some(operator) = decision.by.operator() else { return FollowUp::default() };
    let token = &view.draw.token;
    match verdict {
        Verdict::Refused(Refused::Answer { refusal, .. }) => sentence_for_a_dialog(operator, &decision.matter, view)
            .unwrap_or_else(|| told_with(&decision.by, refusal)),
        Verdict::Refused(Refused::Instruction { unfit, session }) => match (unfit, &decision.matter) {
            (Unfit::Shape(Refusal::NotPlain { opening, given }), Matter::Instruct { .. }) => {
                let question = Question::Instruct {
                    session: session.id.to_string(),
                    text: given.clone(),
                    message: operator.message.clone().unwrap_or(Address(String::new())).0,
                };
                operator.asks(&words::not_plain(session, *opening, given, token), token, &question, view.now)
            }
            (unfit, _) => operator.says(words::unfit(session, unfit, Audience::Chat)),
        },
        Verdict::Queued { session, busy, replaces, text } => {
            let way_back = Question::TakeBack { session: session.id.to_string(), reply: text.to_string() };
            let told = words::queued(session, *busy, *replaces);
            let button = ("Take it back".to_owned(), format!("{token}:y"));
            let notice = Body::Notice { blocks: vec![(Voice::Ours, told)], buttons: vec![vec![button]] };
            operator.asks(&notice, token, &way_back, view.now)
        }
        Verdict::Resumed { session } => {
            operator.says(format!("Answers to {} are taken again.", words::named(session)))
        }
        Verdict::Refused(Refused::NotPaused { session }) => {
            operator.says(format!("{} is not paused; its answers are taken.", words::named(session)))
        }
        Verdict::Muted { time } if time.is_zero() => operator.says("Prompts appear here again."),
        Verdict::Muted { time } => operator.says(format!(
            "No new prompts here for {}. They still wait elsewhere, and silence never approves. /mute off ends it.",
            words::duration(time.as_secs())
        )),
        Verdict::Switched { session } => {
            operator.says(format!("Plain messages are for {} now.", words::named(session)))
        }
        // A tap: its own word says it.
        Verdict::Standing { .. }
        | Verdict::TakenBack
        | Verdict::Stopping { .. }
        | Verdict::Repeated
        | Verdict::Refused(
            Refused::NoSession
            | Refused::Over { .. }
            | Refused::HostAway { .. }
            | Refused::NothingQueued { .. }
            | Refused::QuestionGone,
        ) => FollowUp::default(),
    }
}

/// # No-sentence-in-a-dialog invariant
/// A text that is none of a dialog's choices, and that no hook takes as an answer of one's own, is never typed: it is
/// offered as the reason of a refusal, or as the next instruction after one.
fn sentence_for_a_dialog(operator: &Operator, matter: &Matter, view: &View) -> Option<FollowUp> {
    let Matter::Answer(Answer { said: Said::Text(text), on: Ok(offer), .. }) = matter else { return None };
    let (prompt, facts) = (view.prompt.as_ref()?, view.session.as_ref()?);
    let session = &facts.record;
    let check = |said: &Said| answer::check(said, &prompt.sighting, Rules::default());
    let misfit =
        matches!(check(&Said::Text(text.clone())), Err(Refusal::NotAChoice { .. } | Refusal::NotOneLine));
    if prompt.state != PromptState::AwaitingReply || !misfit {
        return None;
    }
    let token = &view.draw.token;
    let (id, nonce) = (prompt.id.to_string(), offer.nonce.unwrap_or(prompt.nonce).to_hex());
    let (question, refusing) = if check(&Said::DenyWith(text.clone())).is_ok() {
        (Question::Refuse { prompt: id, nonce, reason: text.clone() }, None)
    } else {
        let Ok(Checked::Type(refusing)) = check(&Said::Deny) else { return None };
        // Its sender is asked about its first character together with the rest.
        if let Some(refusal) = shape_unfit(facts, text, true) {
            return Some(operator.says(refusal.told(Audience::Chat, &session.tool)));
        }
        let message = operator.message.as_ref().map(|message| message.0.clone());
        let question = Question::DenyAndSay { prompt: id, nonce, text: text.clone(), message };
        (question, Some(refusing.on_record()))
    };
    let notice = words::sentence_for_a_dialog((prompt, session), text, refusing.as_deref(), token);
    Some(operator.asks(&notice, token, &question, view.now))
}

/// The word under a tap.
pub(crate) fn receipt(verdict: &Verdict, standing: Option<&PromptNow>) -> String {
    match verdict {
        Verdict::Standing { answer, .. } => standing
            .map(|standing| words::receipt(&standing.open.prompt, answer.as_deref()))
            .unwrap_or_default(),
        Verdict::Queued { session, busy, replaces, .. } => words::queued(session, *busy, *replaces),
        Verdict::TakenBack => "Taken back; it is not sent.".to_owned(),
        Verdict::Stopping { .. } => "It is being ended.".to_owned(),
        Verdict::Resumed { .. } | Verdict::Muted { .. } | Verdict::Switched { .. } | Verdict::Repeated => {
            String::new()
        }
        Verdict::Refused(refused) => super::refusal(refused, Audience::Chat),
    }
}
