//! The conversation that sets a bot up: who is it, who pressed Start, does a tap come back. Before any of it is
//! configured, and while no hub polls with the token.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use atlasbridge_model::visible::visible;

use super::api::{Api, BATCH, POLL_HOLD, Trouble};
use super::incoming::{MOST_NAME, RawMessage, RawTap, number, part};
use crate::{Secret, UpdateNo};

/// The data of the test's button.
const TEST: &str = "ask:setup";

/// Why the setup cannot go on, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{0}")]
    Client(String),
    #[error("Telegram does not know this token; copy the whole of it from @BotFather")]
    WrongToken,
    #[error(
        "another program polls with this token, and Telegram serves one only: stop it (`atlasbridge hub stop`, if it is \
         yours) and run the setup again"
    )]
    Conflict,
    #[error("{0}; run the setup again when Telegram can be reached")]
    Unreachable(String),
    #[error("Telegram refuses it: {0}")]
    Refused(String),
}

/// A person who wrote to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: i64,
    pub name: String,
}

/// One setup.
#[derive(Debug)]
pub struct Setup {
    api: Api,
    offset: Option<i64>,
    /// The message with the button.
    test: Option<i64>,
}

impl Setup {
    pub fn new(token: Secret, api_url: &str) -> Result<Self, SetupError> {
        let api = Api::new(token, api_url).map_err(|error| SetupError::Client(error.to_string()))?;
        Ok(Self { api, offset: None, test: None })
    }

    /// The bot whose token this is, as its owner named it.
    pub async fn username(&self) -> Result<String, SetupError> {
        let me = self.api.me().await?;
        let username = me.get("username").and_then(Value::as_str).unwrap_or("your bot");
        Ok(visible(username).chars().take(MOST_NAME).collect())
    }

    /// The next person who writes to the bot in private. `None`: none did in time.
    pub async fn wait_for_start(&mut self, limit: Duration) -> Result<Option<Candidate>, SetupError> {
        if self.api.has_webhook().await? {
            self.api.delete_webhook().await?;
        }
        self.wait(limit, |update| {
            let RawMessage { from, chat, .. } = part(update, "message")?;
            let person = from.filter(|from| chat.is_private() && !from.is_bot)?;
            Some(Candidate { id: person.id, name: person.name() })
        })
        .await
    }

    /// A message with one button.
    pub async fn send_test(&mut self, user: i64) -> Result<(), SetupError> {
        let body = json!({
            "chat_id": user,
            "text": "This is a test of AtlasBridge. Tap the button to finish the setup.",
            "reply_markup": {"inline_keyboard": [[{"text": "It works", "callback_data": TEST}]]},
        });
        self.test = Some(self.api.send_message(&body).await?);
        Ok(())
    }

    /// Whether this person tapped it in time. The message says so afterwards.
    pub async fn wait_for_tap(&mut self, user: i64, limit: Duration) -> Result<bool, SetupError> {
        let tapped = self
            .wait(limit, |update| {
                let tap: RawTap = part(update, "callback_query")?;
                (tap.from.id == user && tap.data.as_deref() == Some(TEST)).then_some(tap.id)
            })
            .await?;
        let (Some(tap), Some(message)) = (&tapped, self.test) else { return Ok(tapped.is_some()) };
        // The tap has arrived: what follows is courtesy, and must not undo it.
        let _ = self.api.answer_tap(tap, "It works.").await;
        let body = json!({
            "chat_id": user,
            "message_id": message,
            "text": "AtlasBridge is set up: prompts of your tools will appear here.",
        });
        let _ = self.api.edit_message(&body).await;
        // Confirms what was handled, so that the hub does not see the tap again.
        let _ = timeout(Duration::from_secs(5), self.api.updates(self.offset, BATCH, Duration::ZERO)).await;
        Ok(true)
    }

    async fn wait<T>(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, SetupError> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let hold = left.min(POLL_HOLD);
            let updates = self.api.updates(self.offset, BATCH, hold).await?;
            for update in &updates {
                if let Some(UpdateNo(number)) = number(update) {
                    self.offset = self.offset.max(number.checked_add(1));
                }
                if let Some(found) = wanted(update) {
                    return Ok(Some(found));
                }
            }
        }
    }
}

impl From<Trouble> for SetupError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unauthorized | Trouble::NotFound => SetupError::WrongToken,
            Trouble::Conflict(_) => SetupError::Conflict,
            Trouble::BadRequest(said) | Trouble::Forbidden(said) => SetupError::Refused(said),
            Trouble::TooMany { .. }
            | Trouble::TooLong
            | Trouble::Server(_)
            | Trouble::Network(_)
            | Trouble::Unreadable(_) => SetupError::Unreachable(trouble.to_string()),
        }
    }
}
