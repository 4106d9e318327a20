//! Questions that we ask in a chat before something is done, and their answers.

use std::time::Duration;

use atlasbridge_channel::Receipt;
use atlasbridge_model::answer::Said;
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::{Nonce, PromptId, ReplyId, SessionId};
use atlasbridge_store::{Handled, Handling, NewAsk, QueuedText, SessionStatus, TextMove};
use atlasbridge_wire::session::ToSession;
use serde::{Deserialize, Serialize};

use super::{Sender, Told, tell};
use crate::clock;
use crate::hub::{Broken, Hub, random};

/// How long a question of ours can be answered.
const ASK_LIMIT: Duration = Duration::from_secs(600);

/// A question that a chat was asked, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    Stop {
        session: String,
    },
    DenyAndSay {
        prompt: String,
        nonce: String,
        text: String,
    },
}

impl Hub {
    pub(super) fn new_ask(&self, sender: &Sender, token: String, question: &Question) -> NewAsk {
        NewAsk {
            token,
            channel: sender.channel.to_owned(),
            target: sender.target.0.clone(),
            what: serde_json::to_string(question).expect("strings are always JSON"),
            expires_at: clock::now().wall.plus_millis(ASK_LIMIT.as_millis() as i64),
        }
    }

    /// A tap on a question of ours: `token:y` or `token:n`. Each question is answered once.
    pub(super) async fn question_answered(
        &mut self,
        sender: &Sender,
        token: &str,
        receipt: Option<Receipt>,
    ) -> Result<(), Broken> {
        let stale = "This question is out of date; nothing was done.";
        let (token, word) = token.split_once(':').unwrap_or((token, ""));
        let ask = self.store.ask(token, clock::now()).await?;
        let ask = ask.filter(|ask| ask.channel == sender.channel && ask.target == sender.target.0);
        let Some(question) = ask.and_then(|ask| serde_json::from_str(&ask.what).ok()) else {
            tell(receipt, stale.to_owned());
            let audit = Some(sender.rejection(None, "stale_question"));
            return self
                .handled(
                    sender,
                    Handled {
                        audit,
                        ..Handled::default()
                    },
                )
                .await;
        };
        let spent = || Handled {
            take_ask: Some(token.to_owned()),
            ..Handled::default()
        };
        if word != "y" {
            tell(receipt, "Nothing was done.".to_owned());
            return self.handled(sender, spent()).await;
        }
        match question {
            Question::Stop { session } => {
                let told = match session.parse::<SessionId>() {
                    Ok(session) => self.stop_from(sender, session, spent()).await?,
                    Err(_) => stale.to_owned(),
                };
                tell(receipt, told);
                Ok(())
            }
            Question::DenyAndSay { prompt, nonce, text } => {
                let found = match (prompt.parse::<PromptId>(), nonce.parse::<Nonce>()) {
                    (Ok(id), Ok(nonce)) => self.store.prompt(id).await?.map(|prompt| (prompt, nonce)),
                    _ => None,
                };
                let Some((prompt, nonce)) = found else {
                    tell(receipt, stale.to_owned());
                    return self.handled(sender, spent()).await;
                };
                let if_won = Handled {
                    text: Some(TextMove::Queue(QueuedText {
                        reply: ReplyId::from_random(random()?),
                        session: prompt.session,
                        text,
                        source: sender.source(),
                        decided_by: sender.id.clone(),
                        heard_at: None,
                    })),
                    ..spent()
                };
                self.contend(sender, &prompt, nonce, &Said::Deny, if_won, Told::Tap(receipt))
                    .await
            }
        }
    }

    pub(super) async fn stop_from(
        &mut self,
        sender: &Sender,
        session: SessionId,
        mut handled: Handled,
    ) -> Result<String, Broken> {
        let is_active = self
            .store
            .session(session)
            .await?
            .is_some_and(|session| session.status == SessionStatus::Active);
        handled.audit = is_active.then(|| AuditEvent {
            session: Some(session),
            value: Some("stop".to_owned()),
            source: Some(sender.source().to_string()),
            decided_by: Some(sender.id.clone()),
            ..AuditEvent::new(EventName::ReplyReceived)
        });
        // On record first, then done.
        match self
            .store
            .handle_update(sender.came.clone(), handled, clock::now())
            .await?
        {
            Handling::Done => {}
            Handling::AskGone | Handling::Repeated => return Ok("It was asked to end already.".to_owned()),
        }
        Ok(match is_active && self.registry.send(session, ToSession::Stop) {
            true => "It is being ended.".to_owned(),
            false if is_active => "Its host is not connected at the moment; try again.".to_owned(),
            false => "It is over already.".to_owned(),
        })
    }
}
