//! The few calls of the Bot API that we make, typed.
//!
//! # Secrecy invariant
//! The token is part of every address. So no error of the HTTP client leaves this file, only its kind; what the service
//! itself says is searched for the token before anybody sees it; and nothing here prints addresses.
//!
//! Dropping a call abandons it: the service may have done what it was asked.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use atlasbridge_model::visible::visible;
use reqwest::{Client, Response, StatusCode, Url, multipart, redirect};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Secret;

const CONNECT: Duration = Duration::from_secs(10);
const CALL: Duration = Duration::from_secs(15);
/// How long the service holds a poll open when there is nothing to say.
pub(crate) const POLL_HOLD: Duration = Duration::from_secs(30);
/// A poll that has not ended so long after that has lost its connection.
const POLL_MARGIN: Duration = Duration::from_secs(10);
/// A hundred ordinary updates are well below. Where a hundred of the longest are not, fewer are asked for.
const MOST_OF_UPDATES: usize = 4 * 1024 * 1024;
const MOST_OF_REPLY: usize = 256 * 1024;
/// The service's default and maximum for one batch.
pub(crate) const BATCH: usize = 100;
/// Longest sentence of the service that is passed on.
const MOST_DESCRIPTION: usize = 200;
const MOST_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Why a call did not do what it was asked, in words that are fit for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("Telegram refuses the bot token")]
    Unauthorized,
    #[error("Telegram does not know the bot token")]
    NotFound,
    #[error("another program uses this bot token: {0}")]
    Conflict(String),
    #[error("Telegram asks to wait {} s", retry_after.as_secs())]
    TooMany { retry_after: Duration },
    #[error("Telegram refuses the request: {0}")]
    BadRequest(String),
    #[error("Telegram forbids it: {0}")]
    Forbidden(String),
    #[error("Telegram has trouble of its own (status {0})")]
    Server(u16),
    #[error("Telegram cannot be reached: {0}")]
    Network(&'static str),
    #[error("Telegram's answer cannot be read: {0}")]
    Unreadable(&'static str),
    #[error("Telegram's answer is longer than any should be")]
    TooLong,
}

/// The settings do not make a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("`telegram.api_url` is no address of a server")]
    Address,
    #[error("this machine's TLS settings cannot be used")]
    Tls,
}

pub(crate) struct Api {
    http: Client,
    base: Url,
    token: Secret,
}

/// Without the address, which holds the token.
impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("token", &self.token).finish_non_exhaustive()
    }
}

/// How every answer looks. Unknown fields are no concern of ours.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    result: Option<Value>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    pub(crate) fn new(token: Secret, api_url: &str) -> Result<Self, ClientError> {
        // `main` does this once; a client without it would be a panic.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut base = Url::parse(api_url.trim_end_matches('/')).map_err(|_| ClientError::Address)?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ClientError::Address);
        }
        base.path_segments_mut()
            .map_err(|()| ClientError::Address)?
            .pop_if_empty()
            .push(&format!("bot{}", token.expose()));
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .user_agent("atlasbridge");
        let client = if is_this_machine(&base) { client.no_proxy() } else { client };
        let http = client.build().map_err(|_| ClientError::Tls)?;
        Ok(Self { http, base, token })
    }

    /// Who the bot is.
    pub(crate) async fn me(&self) -> Result<Value, Trouble> {
        self.call("getMe", &json!({})).await
    }

    /// Whether updates go elsewhere: then nothing can be polled. A small server that does not know the question has none.
    pub(crate) async fn has_webhook(&self) -> Result<bool, Trouble> {
        let info = match self.call("getWebhookInfo", &json!({})).await {
            // A server of one's own may not know the method; a webhook that is set all the same shows in the poll.
            Err(Trouble::NotFound | Trouble::BadRequest(_) | Trouble::Unreadable(_) | Trouble::Server(_)) => {
                return Ok(false);
            }
            info => info?,
        };
        Ok(info.get("url").and_then(Value::as_str).is_some_and(|url| !url.is_empty()))
    }

    pub(crate) async fn delete_webhook(&self) -> Result<(), Trouble> {
        let body = json!({"drop_pending_updates": false});
        self.call("deleteWebhook", &body).await.map(drop)
    }

    /// Waits so long for updates, at most `limit` of them. Asking from `offset` confirms everything below it.
    pub(crate) async fn updates(
        &self,
        offset: Option<i64>,
        limit: usize,
        hold: Duration,
    ) -> Result<Vec<Value>, Trouble> {
        let mut body = json!({
            "timeout": hold.as_secs(),
            "limit": limit,
            "allowed_updates": ["message", "callback_query"],
        });
        if let Some(offset) = offset {
            body["offset"] = json!(offset);
        }
        let request = self.http.post(self.url("getUpdates")).timeout(hold + POLL_MARGIN).json(&body);
        let Value::Array(updates) = self.send(request, MOST_OF_UPDATES).await? else {
            return Err(Trouble::Unreadable("not a list of updates"));
        };
        Ok(updates)
    }

    /// The number of the new message.
    pub(crate) async fn send_message(&self, body: &Value) -> Result<i64, Trouble> {
        message_id(&self.call("sendMessage", body).await?)
    }

    pub(crate) async fn edit_message(&self, body: &Value) -> Result<(), Trouble> {
        self.call("editMessageText", body).await.map(drop)
    }

    pub(crate) async fn send_document(&self, form: multipart::Form) -> Result<i64, Trouble> {
        let request = self.http.post(self.url("sendDocument")).timeout(CALL).multipart(form);
        message_id(&self.send(request, MOST_OF_REPLY).await?)
    }

    pub(crate) async fn answer_tap(&self, id: &str, text: &str) -> Result<(), Trouble> {
        let body = json!({"callback_query_id": id, "text": text});
        self.call("answerCallbackQuery", &body).await.map(drop)
    }

    async fn call(&self, method: &str, body: &Value) -> Result<Value, Trouble> {
        let request = self.http.post(self.url(method)).timeout(CALL).json(body);
        self.send(request, MOST_OF_REPLY).await
    }

    fn url(&self, method: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(method);
        }
        url
    }

    async fn send(&self, request: reqwest::RequestBuilder, most: usize) -> Result<Value, Trouble> {
        let response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(Trouble::Unreadable("it sends us elsewhere, and we do not follow"));
        }
        let body = bounded(response, most).await;
        // A server in trouble answers with a page, or with half of one: its status says enough.
        if status.is_server_error() {
            return Err(Trouble::Server(status.as_u16()));
        }
        // A refusal in other words than the service's is that of another server, on the way: it says nothing of the token.
        match serde_json::from_slice::<Envelope>(&body?) {
            Ok(envelope) => self.open(envelope, status),
            Err(_) => Err(Trouble::Unreadable("not the JSON that it should be")),
        }
    }

    fn open(&self, envelope: Envelope, status: StatusCode) -> Result<Value, Trouble> {
        if envelope.ok {
            return Ok(envelope.result.unwrap_or(Value::Null));
        }
        let said = self.scrubbed(&envelope.description.unwrap_or_default());
        let parameters = envelope.parameters.unwrap_or_default();
        Err(match envelope.error_code.unwrap_or(status.as_u16()) {
            401 => Trouble::Unauthorized,
            404 => Trouble::NotFound,
            409 => Trouble::Conflict(said),
            429 => Trouble::TooMany {
                retry_after: Duration::from_secs(parameters.retry_after.unwrap_or(5).max(1))
                    .min(MOST_RETRY_AFTER),
            },
            403 => Trouble::Forbidden(said),
            code @ 500.. => Trouble::Server(code),
            _ => Trouble::BadRequest(match parameters.migrate_to_chat_id {
                Some(id) => format!("the group has become a supergroup; its id is now {id}"),
                None => said,
            }),
        })
    }

    /// One line of the service's own words, without the token, should a server repeat it.
    fn scrubbed(&self, text: &str) -> String {
        let text = text.replace(self.token.expose(), "…");
        visible(&text).replace('\n', " ").chars().take(MOST_DESCRIPTION).collect()
    }
}

/// A server on this machine is not reached by way of a proxy elsewhere.
fn is_this_machine(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

async fn bounded(mut response: Response, most: usize) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| network(&error))? {
        if body.len() + chunk.len() > most {
            return Err(Trouble::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The kind of an error and nothing of its text, which names the address.
fn network(error: &reqwest::Error) -> Trouble {
    Trouble::Network(match error {
        error if is_about(error, "certificate") => "its certificate is not trusted here",
        error if is_about(error, "dns error") => "its name is not known here; is there a network?",
        error if error.is_connect() => "no connection",
        error if error.is_timeout() => "no answer in time",
        error if error.is_body() || error.is_decode() => "the connection broke off",
        _ => "the connection failed",
    })
}

/// Whether a cause below the client's own error, which names the address, has this word in it.
fn is_about(error: &reqwest::Error, word: &str) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.to_string().contains(word) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn message_id(message: &Value) -> Result<i64, Trouble> {
    message.get("message_id").and_then(Value::as_i64).ok_or(Trouble::Unreadable("a message without a number"))
}
