//! Questions that we ask in a chat before something is done, and their answers.

use std::time::Duration;

use atlasbridge_channel::{Address, Receipt};
use atlasbridge_model::answer::Said;
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::{Nonce, PromptId, ReplyId, SessionId};
use atlasbridge_store::{Handled, Handling, NewAsk, Offered, SessionStatus, TextMove};
use atlasbridge_wire::session::ToSession;
use serde::{Deserialize, Serialize};

use super::texts::Texted;
use super::{Contender, Sender, Told, tell};
use crate::clock;
use crate::hub::{Hub, Trouble};

/// How long a question of ours can be answered.
const ASK_LIMIT: Duration = Duration::from_secs(600);
/// How long a text can be taken back by its button: longer than any tool works on one instruction.
const TAKE_BACK_LIMIT: Duration = Duration::from_secs(7 * 24 * 3_600);

const STALE: &str = "This question is out of date; nothing was done.";

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
        /// The message that brought the text.
        #[serde(default)]
        message: Option<String>,
    },
    /// Refuse, with a reason that the tool hears together with the refusal.
    Refuse {
        prompt: String,
        nonce: String,
        reason: String,
    },
    /// Send a text whose first character makes something else of it.
    Instruct {
        session: String,
        text: String,
        message: String,
    },
    TakeBack {
        session: String,
        reply: String,
    },
}

impl Question {
    fn limit(&self) -> Duration {
        match self {
            Question::TakeBack { .. } => TAKE_BACK_LIMIT,
            Question::Stop { .. }
            | Question::DenyAndSay { .. }
            | Question::Refuse { .. }
            | Question::Instruct { .. } => ASK_LIMIT,
        }
    }
}

impl Hub {
    pub(super) fn new_ask(&self, sender: &Sender, token: String, question: &Question) -> NewAsk {
        let limit = question.limit().as_millis() as i64;
        NewAsk {
            token,
            channel: sender.channel.to_owned(),
            target: sender.target.0.clone(),
            what: serde_json::to_string(question).expect("strings are always JSON"),
            expires_at: clock::now().wall.plus_millis(limit),
        }
    }

    /// A tap on a question of ours: `token:y` or `token:n`. Each question is answered once.
    pub(super) async fn question_answered(
        &mut self,
        sender: &Sender,
        token: &str,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let (token, word) = token.split_once(':').unwrap_or((token, ""));
        let ask = self.store.ask(token, clock::now()).await?;
        let ask = ask.filter(|ask| ask.channel == sender.channel && ask.target == sender.target.0);
        let Some(question) = ask.and_then(|ask| serde_json::from_str(&ask.what).ok()) else {
            tell(receipt, STALE.to_owned());
            let audit = Some(sender.rejection(None, "stale_question"));
            return self.handled(sender, Handled { audit, ..Handled::default() }).await;
        };
        let spent = Handled { take_ask: Some(token.to_owned()), ..Handled::default() };
        if word != "y" {
            tell(receipt, "Nothing was done.".to_owned());
            return self.handled(sender, spent).await;
        }
        match question {
            Question::Stop { session } => {
                if let Ok(session) = session.parse::<SessionId>() {
                    let told = self.stop_from(sender, session, spent).await?;
                    tell(receipt, told);
                    return Ok(());
                }
            }
            Question::DenyAndSay { prompt, nonce, text, message } => {
                if let Some(offered) = self.offered(&prompt, &nonce).await? {
                    let message = message.map(Address);
                    return self.deny_and_say(sender, &offered, text, message.as_ref(), spent, receipt).await;
                }
            }
            Question::Refuse { prompt, nonce, reason } => {
                if let Some(offered) = self.offered(&prompt, &nonce).await? {
                    let answer = Contender { offered: &offered, said: &Said::DenyWith(reason), as_is: false };
                    return self.contend(sender, answer, spent, Told::Tap(receipt)).await;
                }
            }
            Question::Instruct { session, text, message } => {
                if let Ok(session) = session.parse::<SessionId>() {
                    let texted = Texted::meant(text, Address(message));
                    return self.instruct(sender, session, &texted, spent, Told::Tap(receipt)).await;
                }
            }
            Question::TakeBack { session, reply } => {
                if let (Ok(session), Ok(reply)) = (session.parse(), reply.parse()) {
                    return self.take_back_from(sender, session, reply, spent, receipt).await;
                }
            }
        }
        // Whatever it was about cannot be read, or is gone.
        tell(receipt, STALE.to_owned());
        self.handled(sender, spent).await
    }

    async fn offered(&self, prompt: &str, nonce: &str) -> Result<Option<Offered>, Trouble> {
        let (Ok(id), Ok(nonce)) = (prompt.parse::<PromptId>(), nonce.parse::<Nonce>()) else {
            return Ok(None);
        };
        let prompt = self.store.prompt(id).await?;
        Ok(prompt.map(|prompt| Offered { prompt, nonce }))
    }

    /// The refusal, and with it the text for the tool's next wait; or neither.
    async fn deny_and_say(
        &mut self,
        sender: &Sender,
        offered: &Offered,
        text: String,
        message: Option<&Address>,
        spent: Handled,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let if_won = match self.store.session(offered.prompt.session).await? {
            Some(session) => {
                let (_, _, queueing) = self.queueing(&session, text, sender.author(message)).await?;
                Handled { take_ask: spent.take_ask, ..queueing }
            }
            None => spent,
        };
        let answer = Contender { offered, said: &Said::Deny, as_is: false };
        self.contend(sender, answer, if_won, Told::Tap(receipt)).await
    }

    async fn take_back_from(
        &mut self,
        sender: &Sender,
        session: SessionId,
        reply: ReplyId,
        spent: Handled,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let queued = self.store.queued_text(session).await?;
        let waits = queued.is_some_and(|queued| queued.reply == reply);
        let handled = Handled {
            text: waits.then(|| TextMove::TakeBack {
                reply,
                source: sender.source(),
                decided_by: sender.id.clone(),
            }),
            ..spent
        };
        self.handled(sender, handled).await?;
        self.page_changed();
        let told = match waits {
            true => "Taken back; it is not sent.",
            false => "Too late: it no longer waits.",
        };
        tell(receipt, told.to_owned());
        Ok(())
    }

    pub(super) async fn stop_from(
        &mut self,
        sender: &Sender,
        session: SessionId,
        mut handled: Handled,
    ) -> Result<String, Trouble> {
        let is_active =
            self.store.session(session).await?.is_some_and(|session| session.status == SessionStatus::Active);
        handled.audit = is_active.then(|| AuditEvent {
            session: Some(session),
            value: Some("stop".to_owned()),
            source: Some(sender.source().to_string()),
            decided_by: Some(sender.id.clone()),
            ..AuditEvent::new(EventName::ReplyReceived)
        });
        // On record first, then done.
        match self.store.handle_update(sender.came.clone(), handled, clock::now()).await? {
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
