//! What somebody decides at the page: answers to prompts, and the next instruction of a session.

use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{Nonce, PromptId, ReplyId, SessionId};
use atlasbridge_store::{AcceptedAnswer, Advance, Cancel, Handled, Once, Outcome, PromptRecord};
use atlasbridge_web::desk::{Answer, Visitor};
use tokio::sync::oneshot;

use super::{from_page, refused};
use crate::answers::Waiter;
use crate::hub::{Hub, Trouble, random};
use crate::instructions::{Author, Fit, Unfit};
use crate::{clock, pause, words};

/// What somebody answered at the page.
pub(super) struct PageAnswer {
    pub(super) prompt: PromptId,
    pub(super) nonce: Nonce,
    pub(super) said: Said,
    /// They were told what the first character makes of it.
    pub(super) as_is: bool,
}

impl Hub {
    /// An answer from the page.
    pub(super) async fn page_answers(
        &mut self,
        answer: PageAnswer,
        visitor: &Visitor,
        reply: oneshot::Sender<Answer>,
    ) -> Result<(), Trouble> {
        let PageAnswer { prompt: id, nonce, said, as_is } = answer;
        let prompt: PromptRecord = match self.store.prompt(id).await? {
            Some(prompt) => prompt,
            None => {
                return self.page_refused(None, &Refusal::UnknownPrompt, visitor, reply).await;
            }
        };
        let is_waiting = matches!(prompt.state, PromptState::AwaitingReply);
        let rules = Rules { as_is, ..self.rules() };
        // A tool that takes no reason with a refusal gets it as its next instruction.
        let (said, next) = match said {
            Said::DenyWith(reason) if !prompt.sighting.takes.reason && is_waiting => {
                match self.reason_for_later(&prompt, reason, as_is, visitor).await? {
                    Ok(next) => (Said::Deny, Some(next)),
                    Err(refusal) => {
                        return self.page_refused(Some(&prompt), &refusal, visitor, reply).await;
                    }
                }
            }
            said => (said, None),
        };
        let checked = match answer::check(&said, &prompt.sighting, rules) {
            Err(_) if !is_waiting => Err(prompt.refusal()),
            checked => checked,
        };
        match checked {
            Err(refusal) => self.page_refused(Some(&prompt), &refusal, visitor, reply).await,
            Ok(Checked::Cancel) => {
                let cancel =
                    Cancel { prompt: prompt.id, nonce, source: from_page(), decided_by: visitor.0.clone() };
                let advance = self.store.cancel(cancel, None, |_| Handled::default(), clock::now()).await?;
                match advance {
                    Once::Repeated => Ok(()),
                    Once::First(Advance::Moved(moved)) => {
                        self.wait_for_end(id, Waiter::Page(reply));
                        self.perform(moved).await
                    }
                    Once::First(Advance::Refused(refusal)) => {
                        drop(reply.send(refused(told(&refusal))));
                        Ok(())
                    }
                }
            }
            Ok(Checked::Type(value)) => {
                let accepted = AcceptedAnswer {
                    prompt: prompt.id,
                    session: prompt.session,
                    nonce,
                    value,
                    reply: ReplyId::from_random(random()?),
                    source: from_page(),
                    decided_by: visitor.0.clone(),
                };
                let of_pause = self.notices_of_pause(prompt.session).await?;
                let then = move |outcome: &Outcome| match outcome {
                    Outcome::Won { .. } => next.unwrap_or_default(),
                    Outcome::Refused(Refusal::TooMany) => Handled { notices: of_pause, ..Handled::default() },
                    Outcome::Refused(_) => Handled::default(),
                };
                pause::point("hub-before-accept");
                let outcome =
                    self.store.accept(accepted, None, then, clock::now()).await.map_err(Trouble::Answer)?;
                pause::point("hub-after-accept");
                match outcome {
                    Once::Repeated => Ok(()),
                    Once::First(Outcome::Refused(refusal)) => {
                        drop(reply.send(refused(told(&refusal))));
                        Ok(())
                    }
                    Once::First(Outcome::Won { reply: won, moved }) => {
                        if let Some(value @ answer::Value::Secret(_)) = &won.value {
                            self.registry.keep_secret(won.id, value.clone());
                        }
                        self.wait_for_end(id, Waiter::Page(reply));
                        self.perform(moved).await
                    }
                }
            }
        }
    }

    /// The reason of a refusal, for a tool that hears it afterwards; or why that cannot be.
    async fn reason_for_later(
        &self,
        prompt: &PromptRecord,
        reason: String,
        as_is: bool,
        visitor: &Visitor,
    ) -> Result<Result<Handled, Refusal>, Trouble> {
        let Some(session) = self.store.session(prompt.session).await? else {
            return Ok(Err(Refusal::UnknownPrompt));
        };
        self.reason_as_instruction(&session, reason, as_is, at_the_page(visitor)).await
    }

    /// A refusal of something that has not contended yet: on record, and told.
    async fn page_refused(
        &mut self,
        prompt: Option<&PromptRecord>,
        refusal: &Refusal,
        visitor: &Visitor,
        reply: oneshot::Sender<Answer>,
    ) -> Result<(), Trouble> {
        let tool = match prompt {
            Some(prompt) => self.store.session(prompt.session).await?.map(|session| session.tool),
            None => None,
        };
        let (id, session) = (prompt.map(|prompt| prompt.id), prompt.map(|prompt| prompt.session));
        self.store.reject(id, session, refusal.name(), &from_page(), &visitor.0, clock::now()).await?;
        drop(reply.send(match refusal {
            Refusal::NotPlain { opening, given } => Answer::NotPlain {
                why: format!("{}.", opening.told(given, tool.as_deref().unwrap_or("the tool"))),
            },
            refusal => refused(told(refusal)),
        }));
        Ok(())
    }

    /// The next instruction of a session: as an answer where its tool waits for one, else kept until it does.
    pub(super) async fn page_sends(
        &mut self,
        session: SessionId,
        text: String,
        as_is: bool,
        visitor: &Visitor,
        reply: oneshot::Sender<Answer>,
    ) -> Result<(), Trouble> {
        let Some(session) = self.store.session(session).await? else {
            drop(reply.send(refused("there is no such session")));
            return Ok(());
        };
        let busy = match self.fit(&session, &text, as_is).await? {
            Ok(Fit::Now(prompt)) => {
                let answer =
                    PageAnswer { prompt: prompt.id, nonce: prompt.nonce, said: Said::Text(text), as_is };
                return self.page_answers(answer, visitor, reply).await;
            }
            Ok(Fit::Later(busy)) => busy,
            Err(unfit) => {
                let id = Some(session.id);
                self.store.reject(None, id, unfit.name(), &from_page(), &visitor.0, clock::now()).await?;
                drop(reply.send(match &unfit {
                    Unfit::Shape(Refusal::NotPlain { opening, given }) => {
                        Answer::NotPlain { why: format!("{}.", opening.told(given, &session.tool)) }
                    }
                    unfit => refused(words::unfit(&session, unfit)),
                }));
                return Ok(());
            }
        };
        let (_, replaces, handled) = self.queueing(&session, text, at_the_page(visitor)).await?;
        self.store.handle(handled, clock::now()).await?;
        self.page_changed();
        drop(reply.send(Answer::Queued { told: words::queued(&session, busy, replaces) }));
        Ok(())
    }

    /// What waits is taken back; what could not be sent is put away.
    pub(super) async fn page_takes_back(
        &mut self,
        session: SessionId,
        visitor: &Visitor,
    ) -> Result<Answer, Trouble> {
        let Some(session) = self.store.session(session).await? else {
            return Ok(refused("there is no such session"));
        };
        let is_done = self.take_back_text(&session, &from_page(), &visitor.0).await?
            || self.put_away_text(session.id, &from_page(), &visitor.0).await?;
        Ok(match is_done {
            true => Answer::Done { card: None },
            false => refused("too late: it no longer waits"),
        })
    }
}

/// Whoever is at the page sees there what became of an instruction.
fn at_the_page(visitor: &Visitor) -> Author {
    Author { source: from_page(), decided_by: visitor.0.clone(), heard_at: None }
}

/// In words for the page, where nobody can send `/resume`.
fn told(refusal: &Refusal) -> String {
    match refusal {
        Refusal::TooMany | Refusal::Paused => {
            "More than 10 answers within a minute: this session takes no more from here until you run \
             `atlasbridge sessions resume` for it. Nothing was typed."
                .to_owned()
        }
        refusal => refusal.told_on_channel(),
    }
}
