//! What people do on channels: taps, texts and commands, each on disk before its channel hears that it was handled.

use std::time::Duration;

use atlasbridge_channel::{
    Address, Command, Confirmation, OfferName, Person, Receipt, RepliedTo, Saying, Tap, TapOn, Update,
};
use atlasbridge_model::SessionId;
use atlasbridge_model::answer::{Refusal, Said, Source};
use atlasbridge_model::audit::EventName;
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::routing::Running;
use atlasbridge_store::{CameBy, FollowUp, NewAsk, NewNotice, Offered, PromptRecord};

use super::requests::heard;
use super::{Hub, Input, random};
use crate::decide::{Actor, Answer, AnswerRight, Matter, Operator, SWITCHED_TO, on_record};
use crate::desks::Way;
use crate::desks::chat::commands::{self, Lookup, Wish};
use crate::desks::chat::questions::{Question, STALE};
use crate::desks::chat::texts::{Around, Replied, Route, Texted, route};
use crate::engine::Trouble;
use crate::notice::Body;
use crate::{clock, pause, words};

/// How long a session host may take to tell its screen.
const SCREEN_LIMIT: Duration = Duration::from_secs(2);
/// Levels of detail that fit a message; after them comes a file.
const LEVELS: u8 = 2;

impl Hub {
    pub(super) async fn updated(&mut self, channel: &'static str, update: Update) -> Result<(), Trouble> {
        let Update { no, from, target, saying, recorded, receipt } = update;
        pause::point("hub-update-received");
        match from {
            Person::Stranger { id } => {
                let came = CameBy { channel: channel.to_owned(), update: no.0 };
                self.stranger_said(came, id, &saying).await?;
            }
            Person::Operator { id, name } => {
                self.engine.core.learn_name(&id, name);
                let operator = Operator { channel, update: no.0, id, target, message: None };
                Chat { hub: self, operator, receipt }.said(saying).await?;
            }
        }
        pause::point("hub-update-recorded");
        let Confirmation(way) = recorded;
        let _ = way.send(());
        Ok(())
    }

    /// Strangers get no word, and what they say among themselves is not even for the record.
    async fn stranger_said(&mut self, came: CameBy, id: String, saying: &Saying) -> Result<(), Trouble> {
        let attempt = match saying {
            Saying::Nothing { attempt } => *attempt,
            Saying::Tap { .. } | Saying::Text { .. } | Saying::Command { .. } => Some("not_allowed"),
        };
        let source = Source::Channel(came.channel.clone());
        let audit = attempt.map(|why| on_record(EventName::ReplyRejected, &source, id, why.to_owned()));
        let follow = FollowUp { audit, ..FollowUp::default() };
        self.engine.store.follow_up(Some(came), follow, clock::now()).await?;
        Ok(())
    }

    /// A message that became known outside the loop.
    pub(super) async fn say(&mut self, notice: NewNotice) -> Result<(), Trouble> {
        let follow = FollowUp { notices: vec![notice], ..FollowUp::default() };
        self.engine.store.follow_up(None, follow, clock::now()).await?;
        Ok(())
    }
}

/// One update of an operator, and the way back to a tap.
struct Chat<'hub> {
    hub: &'hub mut Hub,
    operator: Operator,
    receipt: Option<Receipt>,
}

impl Chat<'_> {
    async fn said(mut self, saying: Saying) -> Result<(), Trouble> {
        match saying {
            Saying::Tap { on: TapOn::Card { offer, tap }, address } => {
                self.tapped(&offer, tap, address).await
            }
            Saying::Tap { on: TapOn::Question { token }, .. } => self.question_answered(&token).await,
            Saying::Text { text, message, reply_to, sent_at, is_other_command } => {
                self.operator.message = Some(message);
                let texted = Texted { text: text.trim_end().to_owned(), sent_at, is_other_command };
                self.texted(&texted, reply_to.as_ref()).await
            }
            Saying::Command { command, message } => {
                self.operator.message = Some(message);
                self.commanded(command).await
            }
            Saying::Nothing { attempt } => {
                let follow = attempt.map(|why| self.operator.rejected(why)).unwrap_or_default();
                self.note(follow).await
            }
        }
    }

    /// They decide, in answer to a question of ours or not.
    async fn decide(self, matter: Matter, spent: Option<String>) -> Result<(), Trouble> {
        self.hub.decide(Actor::Chat(self.operator), matter, spent, self.receipt.map(Way::Tap)).await
    }

    /// Puts the update on record with what it brought. One that comes again changes nothing.
    async fn note(&self, follow: FollowUp) -> Result<(), Trouble> {
        let came = Some(self.operator.came());
        self.hub.engine.store.follow_up(came, follow, clock::now()).await?;
        Ok(())
    }

    /// The word under the tap.
    fn tell(&mut self, text: &str) {
        if let Some(Receipt(way)) = self.receipt.take() {
            let _ = way.send(text.to_owned());
        }
    }

    async fn tapped(self, name: &OfferName, tap: Tap, address: Option<Address>) -> Result<(), Trouble> {
        let offered = self.offer_of(name).await?;
        if let (Some(offered), Some(address)) = (&offered, &address) {
            // A message whose address was lost in a crash has just told it.
            let (channel, target) = (self.operator.channel, &self.operator.target.0);
            let store = &self.hub.engine.store;
            store.adopt_post(offered, channel, target, &address.0, clock::now()).await?;
        }
        let said = match (tap, &offered) {
            (Tap::ShowMore, Some(offered)) => return self.show_more(&offered.prompt, address).await,
            (Tap::ShowScreen, Some(offered)) => {
                return self.show_screen(offered.prompt.session, address).await;
            }
            // Of a prompt that is not known, whatever was tapped is refused alike.
            (Tap::ShowMore | Tap::ShowScreen, None) | (Tap::Cancel, _) => Said::Cancel,
            (Tap::Row(row), _) => Said::Row(row),
            (Tap::Enter, _) => Said::Enter,
            (Tap::UseDefault, _) => Said::UseDefault,
        };
        let on = offered.map(|offered| AnswerRight { prompt: offered.prompt.id, nonce: Some(offered.nonce) });
        let answer = Answer { on: on.ok_or(Refusal::UnknownPrompt), said, as_is: false, then: None };
        self.decide(Matter::Answer(answer), None).await
    }

    /// A tap on a question of ours: `token:y` or `token:n`. Each question is answered once.
    async fn question_answered(mut self, token: &str) -> Result<(), Trouble> {
        let (token, word) = token.split_once(':').unwrap_or((token, ""));
        let ask = self.hub.engine.store.ask(token, clock::now()).await?;
        let is_here =
            |ask: &NewAsk| ask.channel == self.operator.channel && ask.target == self.operator.target.0;
        let question = ask.filter(is_here).and_then(|ask| serde_json::from_str::<Question>(&ask.what).ok());
        let spent = Some(token.to_owned());
        match question.map(Question::decided) {
            None => {
                self.tell(STALE);
                self.note(self.operator.rejected("stale_question")).await
            }
            Some(Some((matter, message))) if word == "y" => {
                self.operator.message = message;
                self.decide(matter, spent).await
            }
            Some(decided) => {
                self.tell(if decided.is_some() { "Nothing was done." } else { STALE });
                self.note(FollowUp { take_ask: spent, ..FollowUp::default() }).await
            }
        }
    }

    async fn texted(self, texted: &Texted, reply_to: Option<&RepliedTo>) -> Result<(), Trouble> {
        let store = &self.hub.engine.store;
        let mut waiting = store.open_prompts().await?;
        waiting.retain(|open| open.prompt.state == PromptState::AwaitingReply);
        let mut running = Vec::new();
        for session in store.active_sessions().await? {
            let takes_instructions = store.last_idle(session.id).await?.is_some();
            running.push(Running { session: session.id, takes_instructions });
        }
        let replied = self.replied(reply_to).await?;
        let switched = self.switched_to().await?;
        match route(texted, &Around { waiting, running, replied, switched }) {
            Route::Decide(matter) => self.decide(matter, None).await,
            Route::NotUsed { notice, why } => {
                let audit = self.operator.rejected(why).audit;
                self.note(FollowUp { audit, ..self.operator.shows(&notice) }).await
            }
        }
    }

    /// The prompt of a message that was replied to: by its address, or by what its buttons carry.
    async fn replied(&self, to: Option<&RepliedTo>) -> Result<Replied, Trouble> {
        let Some(to) = to else { return Ok(Replied::Nothing) };
        let at = self.hub.engine.store.post_at(self.operator.channel, &to.address.0).await?;
        let offered = match (at, &to.offer) {
            (Some((post, prompt)), _) => Some(Offered { prompt, nonce: post.nonce }),
            (None, Some(name)) => self.offer_of(name).await?,
            (None, None) => None,
        };
        Ok(offered.map_or(Replied::Unknown, |offered| Replied::Prompt(Box::new(offered))))
    }

    async fn offer_of(&self, name: &OfferName) -> Result<Option<Offered>, Trouble> {
        Ok(self.hub.engine.store.find_offer(&name.prompt, &name.session, &name.nonce).await?)
    }

    async fn switched_to(&self) -> Result<Option<SessionId>, Trouble> {
        let (store, operator) = (&self.hub.engine.store, &self.operator);
        let id = store.chat_state(operator.channel, &operator.target.0, SWITCHED_TO).await?;
        Ok(id.and_then(|id| id.parse().ok()))
    }

    async fn commanded(self, command: Command) -> Result<(), Trouble> {
        let switched = self.switched_to().await?;
        let hub = &mut *self.hub;
        let lookup = Lookup {
            version: hub.identity.version.clone(),
            sessions: hub.engine.store.active_sessions().await?,
            views: hub.active_views().await?,
            standing: hub.engine.store.standing_prompts().await?,
            channels: hub.channel_views(),
            trouble: hub.trouble.clone(),
            switched,
        };
        let token = atlasbridge_model::id::hex(&random()?);
        match commands::asked(command, &self.operator.id, &token, &lookup) {
            Wish::Say(notice) => self.note(self.operator.shows(&notice)).await,
            Wish::Ask(question, notice) => {
                self.note(self.operator.asks(&notice, &token, &question, clock::now())).await
            }
            Wish::Decide(matter) => self.decide(matter, None).await,
            Wish::Screen(session) => {
                let message = self.operator.message.clone();
                self.show_screen(session, message).await
            }
        }
    }

    async fn show_more(mut self, prompt: &PromptRecord, address: Option<Address>) -> Result<(), Trouble> {
        let post = match &address {
            Some(address) => self.hub.engine.store.post_at(self.operator.channel, &address.0).await?,
            None => None,
        };
        let mut follow = FollowUp::default();
        match post {
            Some((post, _)) if post.level < LEVELS => follow.level = Some((post.id, post.level + 1)),
            Some(_) | None => {
                let file = Body::File {
                    name: format!("prompt-{}.txt", prompt.id.short()),
                    text: prompt.sighting.detail.as_str().to_owned(),
                };
                follow.notices.push(self.operator.notice_under(&file, address.as_ref()));
            }
        }
        self.tell("");
        self.note(follow).await
    }

    /// The screen is asked for outside the loop; what comes is sent as a message of its own.
    async fn show_screen(mut self, session: SessionId, reply_to: Option<Address>) -> Result<(), Trouble> {
        self.note(FollowUp::default()).await?;
        self.tell("");
        let Some(record) = self.hub.engine.store.session(session).await? else { return Ok(()) };
        let asked = self.hub.outside.registry.ask_screen(session);
        let (inputs, operator) = (self.hub.inputs.clone(), self.operator);
        tokio::spawn(async move {
            let text = heard(asked, tokio::time::Instant::now() + SCREEN_LIMIT).await;
            let screen = words::screen(&record, text.as_deref());
            let _ = inputs.send(Input::Say(operator.notice_under(&screen, reply_to.as_ref()))).await;
        });
        Ok(())
    }
}
