//! A prompt as people see it, whatever the channel.

use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{Effect, Nonce, PromptId, SessionId, Sighting, Timestamp, speech};
use serde::{Serialize, Serializer};

/// Everything that a channel may know of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub prompt: PromptId,
    pub session: SessionTag,
    /// The right to answer that this card carries. An older card of the same prompt carries another one, worth nothing.
    pub nonce: Nonce,
    /// Excerpt and detail are masked and cut by their types. The keys of its rows are the gate's: no channel shows them,
    /// save where [`Card::rows`] does.
    pub sighting: Box<Sighting>,
    /// A password is taken from here: the operator has switched that on.
    pub takes_secrets: bool,
    pub asked_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Seconds until it expires, when this card was made.
    pub seconds_left: Option<u64>,
    /// What silence will do: the label of the safe default. `None`: nothing is typed.
    pub silence: Option<String>,
    pub state: PromptState,
    /// The answer that won, if one did.
    pub answered: Option<Answered>,
    /// Offered again elsewhere: this card is history, and says so.
    pub is_replaced: bool,
    /// How much of the detail is to be shown: 0 the excerpt, 1 up to 500 characters, 2 up to 2000.
    pub level: u8,
}

/// Which session, in the words that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionTag {
    #[serde(serialize_with = "as_text")]
    pub id: SessionId,
    pub tool: String,
    pub label: Option<String>,
    pub cwd: String,
}

/// The answer that won: never the text of a free answer, only that there was one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answered {
    pub value: String,
    pub by: String,
}

impl Card {
    /// The rows of the dialog, at most nine, with the labels by which a person chooses.
    pub fn rows(&self) -> impl Iterator<Item = (String, Effect)> {
        let level = self.sighting.confidence.level();
        self.sighting
            .rows()
            .map(move |choice| (speech::label(&choice.label, &choice.keys(), level), choice.effect))
    }

    /// Where it stands, in one word; what a tool's own hook is told is answered, and not typed.
    pub fn word(&self) -> &'static str {
        self.state.word_for(self.sighting.takes)
    }

    /// Whether an answer to this very card may still win.
    pub fn is_open(&self) -> bool {
        matches!(self.state, PromptState::AwaitingReply) && !self.is_replaced
    }
}

fn as_text<S: Serializer>(id: &SessionId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
