//! What people do on channels: taps, texts and commands, each on disk before its channel hears that it was handled.

use std::time::Duration;

use atlasbridge_channel::{
    Address, Command, OfferName, Person, Receipt, Recorded, RepliedTo, Saying, Tap, TapOn, Update,
};
use atlasbridge_model::SessionId;
use atlasbridge_model::answer::{Refusal, Said, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::routing::Running;
use atlasbridge_store::{CameBy, FollowUp, NewNotice, Offered, PromptRecord};

use super::requests::heard;
use super::{Hub, Input, random};
use crate::decide::{Actor, Answer, AnswerRight, Matter, Operator, SWITCHED_TO};
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
                self.operator_said(operator, saying, receipt).await?;
            }
        }
        pause::point("hub-update-recorded");
        let Recorded(way) = recorded;
        let _ = way.send(());
        Ok(())
    }

    /// Strangers get no word, and what they say among themselves is not even for the record.
    async fn stranger_said(&mut self, came: CameBy, id: String, saying: &Saying) -> Result<(), Trouble> {
        let event = |why: &str| AuditEvent {
            value: Some(why.to_owned()),
            source: Some(Source::Channel(came.channel.clone()).to_string()),
            decided_by: Some(id),
            ..AuditEvent::new(EventName::ReplyRejected)
        };
        let audit = match saying {
            Saying::Nothing { attempt } => attempt.map(event),
            Saying::Tap { .. } | Saying::Text { .. } | Saying::Command { .. } => Some(event("not_allowed")),
        };
        let follow = FollowUp { audit, ..FollowUp::default() };
        self.engine.store.follow_up(Some(came), follow, clock::now()).await?;
        Ok(())
    }

    async fn operator_said(
        &mut self,
        operator: Operator,
        saying: Saying,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        match saying {
            Saying::Tap { on: TapOn::Card { offer, tap }, address } => {
                self.tapped(operator, &offer, tap, address, receipt).await
            }
            Saying::Tap { on: TapOn::Question { token }, .. } => {
                self.question_answered(operator, &token, receipt).await
            }
            Saying::Text { text, message, reply_to, sent_at, is_other_command } => {
                let operator = Operator { message: Some(message), ..operator };
                let texted = Texted { text: text.trim_end().to_owned(), sent_at, is_other_command };
                self.texted(operator, &texted, reply_to.as_ref()).await
            }
            Saying::Command { command, message } => {
                let operator = Operator { message: Some(message), ..operator };
                self.commanded(operator, command).await
            }
            Saying::Nothing { attempt } => {
                let follow = attempt.map(|why| operator.rejected(why)).unwrap_or_default();
                self.note(&operator, follow).await
            }
        }
    }

    /// Puts an update on record with what it brought. One that comes again changes nothing.
    async fn note(&mut self, operator: &Operator, follow: FollowUp) -> Result<(), Trouble> {
        self.engine.store.follow_up(Some(operator.came()), follow, clock::now()).await?;
        Ok(())
    }

    async fn tapped(
        &mut self,
        operator: Operator,
        name: &OfferName,
        tap: Tap,
        address: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let offered = self.offer_of(name).await?;
        if let (Some(offered), Some(address)) = (&offered, &address) {
            // A message whose address was lost in a crash has just told it.
            let (channel, target) = (operator.channel, &operator.target.0);
            self.engine.store.adopt_post(offered, channel, target, &address.0, clock::now()).await?;
        }
        let said = match (tap, &offered) {
            (Tap::ShowMore, Some(offered)) => {
                return self.show_more(&operator, &offered.prompt, address, receipt).await;
            }
            (Tap::ShowScreen, Some(offered)) => {
                return self.show_screen(&operator, offered.prompt.session, address, receipt).await;
            }
            // Of a prompt that is not known, whatever was tapped is refused alike.
            (Tap::ShowMore | Tap::ShowScreen, None) | (Tap::Cancel, _) => Said::Cancel,
            (Tap::Row(row), _) => Said::Row(row),
            (Tap::Enter, _) => Said::Enter,
            (Tap::UseDefault, _) => Said::UseDefault,
        };
        let on = offered.map(|offered| AnswerRight { prompt: offered.prompt.id, nonce: Some(offered.nonce) });
        let answer = Answer { on: on.ok_or(Refusal::UnknownPrompt), said, as_is: false, then: None };
        self.decide(Actor::Chat(operator), Matter::Answer(answer), None, receipt.map(Way::Tap)).await
    }

    /// A tap on a question of ours: `token:y` or `token:n`. Each question is answered once.
    async fn question_answered(
        &mut self,
        operator: Operator,
        token: &str,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let (token, word) = token.split_once(':').unwrap_or((token, ""));
        let ask = self.engine.store.ask(token, clock::now()).await?;
        let ask = ask.filter(|ask| ask.channel == operator.channel && ask.target == operator.target.0);
        let question = ask.and_then(|ask| serde_json::from_str::<Question>(&ask.what).ok());
        let spent = Some(token.to_owned());
        match question.map(Question::decided) {
            None => {
                tell(receipt, STALE);
                self.note(&operator, operator.rejected("stale_question")).await
            }
            Some(Some((matter, message))) if word == "y" => {
                let by = Actor::Chat(Operator { message, ..operator });
                self.decide(by, matter, spent, receipt.map(Way::Tap)).await
            }
            Some(decided) => {
                tell(receipt, if decided.is_some() { "Nothing was done." } else { STALE });
                self.note(&operator, FollowUp { take_ask: spent, ..FollowUp::default() }).await
            }
        }
    }

    async fn texted(
        &mut self,
        operator: Operator,
        texted: &Texted,
        reply_to: Option<&RepliedTo>,
    ) -> Result<(), Trouble> {
        let store = &self.engine.store;
        let mut waiting = store.open_prompts().await?;
        waiting.retain(|open| open.prompt.state == PromptState::AwaitingReply);
        let mut running = Vec::new();
        for session in store.active_sessions().await? {
            let takes_instructions = store.last_idle(session.id).await?.is_some();
            running.push(Running { session: session.id, takes_instructions });
        }
        let replied = match reply_to {
            None => Replied::Nothing,
            Some(to) => {
                let replied = self.replied(&operator, to).await?;
                replied.map_or(Replied::Unknown, |offered| Replied::Prompt(Box::new(offered)))
            }
        };
        let switched = self.switched_to(&operator).await?;
        match route(texted, &Around { waiting, running, replied, switched }) {
            Route::Decide(matter) => self.decide(Actor::Chat(operator), matter, None, None).await,
            Route::NotUsed { notice, why } => {
                let audit = operator.rejected(why).audit;
                self.note(&operator, FollowUp { audit, ..operator.shows(&notice) }).await
            }
        }
    }

    /// The prompt of a message that was replied to: by its address, or by what its buttons carry.
    async fn replied(&self, operator: &Operator, to: &RepliedTo) -> Result<Option<Offered>, Trouble> {
        let store = &self.engine.store;
        if let Some((post, prompt)) = store.post_at(operator.channel, &to.address.0).await? {
            return Ok(Some(Offered { prompt, nonce: post.nonce }));
        }
        match &to.offer {
            Some(name) => self.offer_of(name).await,
            None => Ok(None),
        }
    }

    async fn offer_of(&self, name: &OfferName) -> Result<Option<Offered>, Trouble> {
        Ok(self.engine.store.find_offer(&name.prompt, &name.session, &name.nonce).await?)
    }

    async fn switched_to(&self, operator: &Operator) -> Result<Option<SessionId>, Trouble> {
        let store = &self.engine.store;
        let id = store.chat_state(operator.channel, &operator.target.0, SWITCHED_TO).await?;
        Ok(id.and_then(|id| id.parse().ok()))
    }

    async fn commanded(&mut self, operator: Operator, command: Command) -> Result<(), Trouble> {
        let lookup = Lookup {
            version: self.identity.version.clone(),
            sessions: self.engine.store.active_sessions().await?,
            views: self.active_views().await?,
            standing: self.engine.store.standing_prompts().await?,
            channels: self.channel_views(),
            trouble: self.trouble.clone(),
            switched: self.switched_to(&operator).await?,
        };
        let token = atlasbridge_model::id::hex(&random()?);
        match commands::asked(command, &operator.id, &token, &lookup) {
            Wish::Say(notice) => self.note(&operator, operator.shows(&notice)).await,
            Wish::Ask(question, notice) => {
                self.note(&operator, operator.asks(&notice, &token, &question, clock::now())).await
            }
            Wish::Decide(matter) => self.decide(Actor::Chat(operator), matter, None, None).await,
            Wish::Screen(session) => {
                let message = operator.message.clone();
                self.show_screen(&operator, session, message, None).await
            }
        }
    }

    async fn show_more(
        &mut self,
        operator: &Operator,
        prompt: &PromptRecord,
        address: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let post = match &address {
            Some(address) => self.engine.store.post_at(operator.channel, &address.0).await?,
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
                follow.notices.push(operator.notice_under(&file, address.as_ref()));
            }
        }
        tell(receipt, "");
        self.note(operator, follow).await
    }

    /// The screen is asked for outside the loop; what comes is sent as a message of its own.
    async fn show_screen(
        &mut self,
        operator: &Operator,
        session: SessionId,
        reply_to: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        self.note(operator, FollowUp::default()).await?;
        tell(receipt, "");
        let Some(record) = self.engine.store.session(session).await? else { return Ok(()) };
        let asked = self.outside.registry.ask_screen(session);
        let (inputs, operator) = (self.inputs.clone(), operator.clone());
        tokio::spawn(async move {
            let text = heard(asked, tokio::time::Instant::now() + SCREEN_LIMIT).await;
            let screen = words::screen(&record, text.as_deref());
            let _ = inputs.send(Input::Say(operator.notice_under(&screen, reply_to.as_ref()))).await;
        });
        Ok(())
    }

    /// A message that became known outside the loop.
    pub(super) async fn say(&mut self, notice: NewNotice) -> Result<(), Trouble> {
        let follow = FollowUp { notices: vec![notice], ..FollowUp::default() };
        self.engine.store.follow_up(None, follow, clock::now()).await?;
        Ok(())
    }
}

fn tell(receipt: Option<Receipt>, text: &str) {
    if let Some(Receipt(way)) = receipt {
        let _ = way.send(text.to_owned());
    }
}
