//! Questions that we ask in a chat before something is done, and the decisions that their answers are.

use std::time::Duration;

use atlasbridge_channel::Address;
use atlasbridge_model::Now;
use atlasbridge_model::answer::Said;
use atlasbridge_store::NewAsk;
use serde::{Deserialize, Serialize};

use crate::decide::{Answer, AnswerRight, Matter, Operator};

/// How long a question of ours can be answered.
const ASK_LIMIT: Duration = Duration::from_secs(600);
/// How long a text can be taken back by its button: longer than any tool works on one instruction.
const TAKE_BACK_LIMIT: Duration = Duration::from_secs(7 * 24 * 3_600);

pub(crate) const STALE: &str = "This question is out of date; nothing was done.";

/// A question that a chat was asked, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Question {
    /// End the tool of a session.
    Stop { session: String },
    /// Refuse, and send this text afterwards.
    DenyAndSay {
        prompt: String,
        nonce: String,
        text: String,
        /// The message that brought the text.
        #[serde(default)]
        message: Option<String>,
    },
    /// Refuse, with a reason that the tool hears together with the refusal.
    Refuse { prompt: String, nonce: String, reason: String },
    /// Send a text whose first character makes something else of it.
    Instruct { session: String, text: String, message: String },
    /// Take back an instruction that waits.
    TakeBack { session: String, reply: String },
}

impl Question {
    pub(crate) fn new_ask(&self, operator: &Operator, token: &str, now: Now) -> NewAsk {
        let is_take_back = matches!(self, Question::TakeBack { .. });
        let limit = if is_take_back { TAKE_BACK_LIMIT } else { ASK_LIMIT };
        NewAsk {
            token: token.to_owned(),
            channel: operator.channel.to_owned(),
            target: operator.target.0.clone(),
            what: serde_json::to_string(self).expect("strings are always JSON"),
            expires_at: now.wall.plus_millis(limit.as_millis() as i64),
        }
    }

    /// What *yes* decides, and the message that it is about. `None`: whatever it was about cannot be read.
    pub(crate) fn decided(self) -> Option<(Matter, Option<Address>)> {
        // Only a text that is sent afterwards was told to its sender as what its first character makes of it. A reason that
        // turns out to be one is asked about anew.
        let answer = |prompt: &str, nonce: &str, said, then: Option<_>| {
            let offer = AnswerRight { prompt: prompt.parse().ok()?, nonce: Some(nonce.parse().ok()?) };
            Some(Matter::Answer(Answer { on: Ok(offer), said, as_is: then.is_some(), then }))
        };
        Some(match self {
            Question::Stop { session } => (Matter::Stop { session: session.parse().ok()? }, None),
            Question::DenyAndSay { prompt, nonce, text, message } => {
                (answer(&prompt, &nonce, Said::Deny, Some((text, message.map(Address))))?, None)
            }
            Question::Refuse { prompt, nonce, reason } => {
                (answer(&prompt, &nonce, Said::DenyWith(reason), None)?, None)
            }
            Question::Instruct { session, text, message } => {
                let session = session.parse().ok()?;
                (Matter::Instruct { session, text, as_is: true }, Some(Address(message)))
            }
            Question::TakeBack { session, reply } => {
                let only = Some(reply.parse().ok()?);
                (Matter::TakeBack { session: session.parse().ok()?, only }, None)
            }
        })
    }
}
