//! Plain texts: which prompt they mean, and whether they fit.

use atlasbridge_channel::{Address, Notice, RepliedTo};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::routing::{self, Context, Meant, Waiting};
use atlasbridge_model::{Nonce, Timestamp};
use atlasbridge_store::{Handled, Offered, OpenPrompt, PromptRecord};

use super::questions::Question;
use super::{Sender, Told};
use crate::hub::{Broken, Hub, random};
use crate::words;

impl Hub {
    /// A plain text: which prompt does it mean, and does it fit?
    pub(super) async fn texted(
        &mut self,
        sender: &Sender,
        text: &str,
        message: &Address,
        reply_to: Option<&RepliedTo>,
        sent_at: Timestamp,
    ) -> Result<(), Broken> {
        let waiting: Vec<OpenPrompt> = self
            .store
            .open_prompts()
            .await?
            .into_iter()
            .filter(|open| matches!(open.prompt.state, PromptState::AwaitingReply))
            .collect();
        let replied = match reply_to {
            None => None,
            Some(to) => match self.replied(sender, to).await? {
                Some(offered) => Some(offered),
                None => {
                    let notice = words::say(
                        "I do not know which prompt that message belongs to, so this was not used. Reply to the prompt's \
                         own message, or use its buttons.",
                    );
                    let handled = Handled {
                        audit: Some(sender.rejection(None, Refusal::UnknownPrompt.name())),
                        notices: vec![sender.notice(&notice, Some(message))],
                        ..Handled::default()
                    };
                    return self.handled(sender, handled).await;
                }
            },
        };
        let switched = self.switched_to(sender).await?;
        let context = Context {
            replied_to: replied.as_ref().map(|offered| offered.prompt.id),
            switched_to: switched,
            sent_at,
        };
        let candidates: Vec<Waiting> = waiting
            .iter()
            .map(|open| Waiting {
                prompt: open.prompt.id,
                session: open.prompt.session,
                asked_at: open.prompt.created_at,
            })
            .collect();
        let answer_with = |notice: &Notice, reason: Option<&str>| Handled {
            audit: reason.map(|reason| sender.rejection(None, reason)),
            notices: vec![sender.notice(notice, Some(message))],
            ..Handled::default()
        };
        let meant = match routing::meant(&candidates, context) {
            Meant::Means(id) => id,
            Meant::NothingWaitsThere(_) => {
                let notice = words::say(
                    "Nothing waits in the session that plain messages are for (/switch), so this was not used. Reply to \
                     the message of another prompt to answer that one.",
                );
                return self
                    .handled(sender, answer_with(&notice, Some("nothing_waits")))
                    .await;
            }
            Meant::NothingWaits => {
                let notice = words::say("Nothing is waiting for an answer right now, so this was not used.");
                return self
                    .handled(sender, answer_with(&notice, Some("nothing_waits")))
                    .await;
            }
            Meant::Several => {
                let handled = answer_with(&words::several(&waiting), Some("several_wait"));
                return self.handled(sender, handled).await;
            }
            Meant::TooNew(_) => {
                let notice = words::say(
                    "A prompt appeared after you wrote this, so it was not taken as its answer. Reply to the prompt's \
                     message if you mean it.",
                );
                return self
                    .handled(sender, answer_with(&notice, Some("prompt_too_new")))
                    .await;
            }
        };
        let (prompt, nonce) = match (replied, self.store.prompt(meant).await?) {
            (Some(offered), _) => (offered.prompt, offered.nonce),
            (None, Some(prompt)) => {
                let nonce = prompt.nonce;
                (prompt, nonce)
            }
            (None, None) => return self.handled(sender, Handled::default()).await,
        };
        let said = Said::Text(text.trim_end().to_owned());
        if let Some(question) = self
            .sentence_for_a_dialog(sender, &prompt, nonce, &said, message)
            .await?
        {
            return self.handled(sender, question).await;
        }
        let told = Told::Message(message.clone());
        self.contend(sender, &prompt, nonce, &said, Handled::default(), told)
            .await
    }

    /// The prompt of a message that was replied to: by its address, or by what its buttons carry.
    pub(super) async fn replied(&self, sender: &Sender, to: &RepliedTo) -> Result<Option<Offered>, Broken> {
        if let Some((post, prompt)) = self.store.post_at(sender.channel, &to.address.0).await? {
            let nonce = post.nonce;
            return Ok(Some(Offered { prompt, nonce }));
        }
        match &to.offer {
            Some(name) => self.offer_of(name).await,
            None => Ok(None),
        }
    }

    /// # No-sentence-in-a-dialog invariant
    /// A text that is none of a dialog's choices is never typed: it is offered as the next instruction after a refusal.
    pub(super) async fn sentence_for_a_dialog(
        &mut self,
        sender: &Sender,
        prompt: &PromptRecord,
        nonce: Nonce,
        said: &Said,
        message: &Address,
    ) -> Result<Option<Handled>, Broken> {
        let Said::Text(text) = said else {
            return Ok(None);
        };
        let waits = matches!(prompt.state, PromptState::AwaitingReply);
        let misfit = matches!(
            answer::check(said, &prompt.sighting, Rules::default()),
            Err(Refusal::NotAChoice { .. })
        );
        let refusing = answer::check(&Said::Deny, &prompt.sighting, Rules::default());
        let (true, true, Ok(Checked::Type(refusing))) = (waits, misfit, refusing) else {
            return Ok(None);
        };
        let Some(session) = self.store.session(prompt.session).await? else {
            return Ok(None);
        };
        let token = atlasbridge_model::id::hex(&random()?);
        let question = Question::DenyAndSay {
            prompt: prompt.id.to_string(),
            nonce: nonce.to_hex(),
            text: text.clone(),
        };
        let notice = words::deny_and_say(prompt, &session, text, &refusing.on_record(), &token);
        Ok(Some(Handled {
            audit: Some(sender.rejection(Some(prompt), "not_a_choice")),
            notices: vec![sender.notice(&notice, Some(message))],
            ask: Some(self.new_ask(sender, token, &question)),
            ..Handled::default()
        }))
    }
}
