//! What people do on channels: taps, texts and commands. Untrusted until checked; each is on disk, with all that follows
//! from it, before its channel hears that it was handled.

mod commands;
mod questions;
mod texts;

use std::time::Duration;

use atlasbridge_channel::{
    Address, Notice, OfferName, Person, Receipt, Recorded, Saying, Tap, TapOn, Target, Update,
};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{ReplyId, SessionId};
use atlasbridge_store::{
    AcceptedAnswer, Advance, CameBy, Cancel, ChatChange, Handled, NewNotice, Offered, Once, Outcome,
    PromptRecord,
};

use self::texts::Texted;
use crate::answers::Waiter;
use crate::channels::{Body, new_notice};
use crate::hub::{Event, Hub, Trouble, random};
use crate::{clock, pause, words};

/// How long a session host may take to tell its screen.
const SCREEN_LIMIT: Duration = Duration::from_secs(2);
/// Levels of detail that fit a message; after them comes a file.
const LEVELS: u8 = 2;

/// Who said it, where and by which update.
#[derive(Clone)]
struct Sender {
    channel: &'static str,
    came: CameBy,
    id: String,
    target: Target,
}

impl Sender {
    fn source(&self) -> Source {
        Source::Channel(self.channel.to_owned())
    }

    fn notice(&self, notice: &Notice, reply_to: Option<&Address>) -> NewNotice {
        new_notice(self.channel, &self.target, &Body::from(notice), reply_to)
    }

    fn chat(&self, key: &str, value: Option<String>) -> ChatChange {
        ChatChange {
            channel: self.channel.to_owned(),
            target: self.target.0.clone(),
            key: key.to_owned(),
            value,
        }
    }

    fn rejection(&self, prompt: Option<&PromptRecord>, reason: &str) -> AuditEvent {
        AuditEvent {
            session: prompt.map(|prompt| prompt.session),
            prompt: prompt.map(|prompt| prompt.id),
            value: Some(reason.to_owned()),
            source: Some(self.source().to_string()),
            decided_by: Some(self.id.clone()),
            ..AuditEvent::new(EventName::ReplyRejected)
        }
    }
}

impl Hub {
    pub(crate) async fn updated(&mut self, channel: &'static str, update: Update) -> Result<(), Trouble> {
        let Update { no, from, target, saying, recorded, receipt } = update;
        let came = CameBy { channel: channel.to_owned(), update: no.0 };
        pause::point("hub-update-received");
        let result = match from {
            Person::Stranger { id } => {
                let event = |why: &str| AuditEvent {
                    value: Some(why.to_owned()),
                    source: Some(channel.to_owned()),
                    decided_by: Some(id),
                    ..AuditEvent::new(EventName::ReplyRejected)
                };
                // What strangers say among themselves is not even for the record.
                let audit = match &saying {
                    Saying::Nothing { attempt } => attempt.map(event),
                    Saying::Tap { .. } | Saying::Text { .. } | Saying::Command { .. } => {
                        Some(event("not_allowed"))
                    }
                };
                let handled = Handled { audit, ..Handled::default() };
                self.store.handle_update(came, handled, clock::now()).await.map(drop).map_err(Into::into)
            }
            Person::Operator { id, name } => {
                self.names.insert(id.clone(), name);
                let sender = Sender { channel, came, id, target };
                self.operator_said(&sender, saying, receipt).await
            }
        };
        match result {
            Ok(()) => {
                pause::point("hub-update-recorded");
                confirm(recorded);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn operator_said(
        &mut self,
        sender: &Sender,
        saying: Saying,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        match saying {
            Saying::Tap { on: TapOn::Card { offer, tap }, address } => {
                self.tapped(sender, &offer, tap, address, receipt).await
            }
            Saying::Tap { on: TapOn::Question { token }, .. } => {
                self.question_answered(sender, &token, receipt).await
            }
            Saying::Text { text, message, reply_to, sent_at, is_other_command } => {
                let texted = Texted {
                    text: text.trim_end().to_owned(),
                    message,
                    sent_at,
                    is_other_command,
                    as_is: false,
                };
                self.texted(sender, &texted, reply_to.as_ref()).await
            }
            Saying::Command { command, message } => self.commanded(sender, command, &message).await,
            Saying::Nothing { attempt } => {
                let audit = attempt.map(|word| sender.rejection(None, word));
                self.handled(sender, Handled { audit, ..Handled::default() }).await
            }
        }
    }

    /// Puts an update on record with what it brought. One that comes again changes nothing.
    async fn handled(&mut self, sender: &Sender, handled: Handled) -> Result<(), Trouble> {
        self.store.handle_update(sender.came.clone(), handled, clock::now()).await?;
        Ok(())
    }

    async fn tapped(
        &mut self,
        sender: &Sender,
        name: &OfferName,
        tap: Tap,
        address: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let Some(offer) = self.offer_of(name).await? else {
            tell(receipt, Refusal::UnknownPrompt.told_on_channel());
            let audit = Some(sender.rejection(None, Refusal::UnknownPrompt.name()));
            return self.handled(sender, Handled { audit, ..Handled::default() }).await;
        };
        if let Some(address) = &address {
            // A message whose address was lost in a crash has just told it.
            self.store.adopt_post(&offer, sender.channel, &sender.target.0, &address.0, clock::now()).await?;
        }
        let said = match tap {
            Tap::ShowMore => return self.show_more(sender, &offer.prompt, address, receipt).await,
            Tap::ShowScreen => {
                return self.show_screen(sender, offer.prompt.session, address, receipt).await;
            }
            Tap::Row(row) => Said::Row(row),
            Tap::Enter => Said::Enter,
            Tap::UseDefault => Said::UseDefault,
            Tap::Cancel => Said::Cancel,
        };
        let answer = Contender { offered: &offer, said: &said, as_is: false };
        self.contend(sender, answer, Handled::default(), Told::Tap(receipt)).await
    }

    /// An answer from a channel: check its shape, contend, deliver. `if_won` happens with it, or not at all.
    async fn contend(
        &mut self,
        sender: &Sender,
        answer: Contender<'_>,
        if_won: Handled,
        told: Told,
    ) -> Result<(), Trouble> {
        let Contender { offered: &Offered { ref prompt, nonce }, said, as_is } = answer;
        let rules = Rules { as_is, ..self.rules() };
        let is_waiting = matches!(prompt.state, PromptState::AwaitingReply);
        let checked = match answer::check(said, &prompt.sighting, rules) {
            // A late answer hears its own reason, and not one about its shape.
            Err(_) if !is_waiting => Err(prompt.refusal()),
            checked => checked,
        };
        let came = Some(sender.came.clone());
        let take_ask = if_won.take_ask.clone();
        let of_pause = self.notices_of_pause(prompt.session).await?;
        let if_refused = {
            let (sender, message) = (sender.clone(), told.message());
            let reply = move |refusal: &Refusal| {
                let notice = words::say(refusal.told_on_channel());
                message.map(|message| sender.notice(&notice, Some(&message)))
            };
            move |refusal: &Refusal| Handled {
                take_ask,
                notices: match *refusal == Refusal::TooMany {
                    true => of_pause,
                    false => reply(refusal).into_iter().collect(),
                },
                ..Handled::default()
            }
        };
        match checked {
            Err(refusal) => {
                let handled = Handled {
                    audit: Some(sender.rejection(Some(prompt), refusal.name())),
                    ..if_refused(&refusal)
                };
                told.tell(refusal.told_on_channel());
                self.handled(sender, handled).await
            }
            Ok(Checked::Cancel) => {
                let cancel = Cancel {
                    prompt: prompt.id,
                    nonce,
                    source: sender.source(),
                    decided_by: sender.id.clone(),
                };
                let then = move |advance: &Advance| match advance {
                    Advance::Moved(_) => if_won,
                    Advance::Refused(refusal) => if_refused(refusal),
                };
                match self.store.cancel(cancel, came, then, clock::now()).await? {
                    // Handled before a crash; what is still to be done is in the store.
                    Once::Repeated => Ok(()),
                    Once::First(Advance::Refused(refusal)) => {
                        told.tell(refusal.told_on_channel());
                        Ok(())
                    }
                    Once::First(Advance::Moved(moved)) => {
                        told.tell(words::receipt(&moved.prompt, None));
                        self.perform(moved).await
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
                    source: sender.source(),
                    decided_by: sender.id.clone(),
                };
                let then = move |outcome: &Outcome| match outcome {
                    Outcome::Won { .. } => if_won,
                    Outcome::Refused(refusal) => if_refused(refusal),
                };
                pause::point("hub-before-accept");
                let outcome =
                    self.store.accept(accepted, came, then, clock::now()).await.map_err(Trouble::Answer)?;
                pause::point("hub-after-accept");
                match outcome {
                    Once::Repeated => Ok(()),
                    Once::First(Outcome::Refused(refusal)) => {
                        told.tell(refusal.told_on_channel());
                        Ok(())
                    }
                    Once::First(Outcome::Won { reply, moved }) => {
                        if let Some(value @ answer::Value::Secret(_)) = &reply.value {
                            self.registry.keep_secret(reply.id, value.clone());
                        }
                        let answer = reply.value.as_ref().map(answer::Value::on_record);
                        if let Told::Tap(Some(receipt)) = told {
                            self.wait_for_end(moved.prompt.id, Waiter::Receipt { receipt, answer });
                        }
                        self.perform(moved).await
                    }
                }
            }
        }
    }

    async fn show_more(
        &mut self,
        sender: &Sender,
        prompt: &PromptRecord,
        address: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        let post = match &address {
            Some(address) => self.store.post_at(sender.channel, &address.0).await?,
            None => None,
        };
        let mut handled = Handled::default();
        match post {
            Some((post, _)) if post.level < LEVELS => handled.level = Some((post.id, post.level + 1)),
            Some(_) | None => {
                let file = Body::File {
                    name: format!("prompt-{}.txt", words::code(prompt)),
                    text: prompt.sighting.detail.as_str().to_owned(),
                };
                handled.notices.push(new_notice(sender.channel, &sender.target, &file, address.as_ref()));
            }
        }
        tell(receipt, String::new());
        self.handled(sender, handled).await
    }

    /// The screen is asked for outside the loop; what comes is sent as a message of its own.
    async fn show_screen(
        &mut self,
        sender: &Sender,
        session: SessionId,
        reply_to: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Trouble> {
        self.handled(sender, Handled::default()).await?;
        tell(receipt, String::new());
        let asked = self.registry.ask_screen(session);
        let events = self.events.clone();
        let (channel, target) = (sender.channel, sender.target.clone());
        tokio::spawn(async move {
            let text = match asked {
                Some(asked) => tokio::time::timeout(SCREEN_LIMIT, asked).await.ok().and_then(Result::ok),
                None => None,
            };
            let came = Event::ScreenCame { channel, target, session, text, reply_to };
            let _ = events.send(came).await;
        });
        Ok(())
    }

    pub(crate) async fn screen_came(
        &mut self,
        channel: &'static str,
        target: &Target,
        session: SessionId,
        text: Option<&str>,
        reply_to: Option<&Address>,
    ) -> Result<(), Trouble> {
        let Some(session) = self.store.session(session).await? else {
            return Ok(());
        };
        let notice = words::screen(&session, text);
        self.store.notify(new_notice(channel, target, &Body::from(&notice), reply_to), clock::now()).await?;
        Ok(())
    }

    async fn offer_of(&self, name: &OfferName) -> Result<Option<Offered>, Trouble> {
        Ok(self.store.find_offer(&name.prompt, &name.session, &name.nonce).await?)
    }
}

/// An answer that is about to contend.
struct Contender<'a> {
    offered: &'a Offered,
    said: &'a Said,
    /// Its sender knows what the first character makes of it.
    as_is: bool,
}

/// How the sender of an answer hears what became of it.
enum Told {
    Tap(Option<Receipt>),
    /// Only a refusal is told, as a reply to this message; the prompt's own message shows the rest.
    Message(Address),
}

impl Told {
    fn message(&self) -> Option<Address> {
        match self {
            Told::Tap(_) => None,
            Told::Message(message) => Some(message.clone()),
        }
    }

    fn tell(self, text: String) {
        match self {
            Told::Tap(receipt) => tell(receipt, text),
            Told::Message(_) => {}
        }
    }
}

fn tell(receipt: Option<Receipt>, text: String) {
    if let Some(Receipt(way)) = receipt {
        let _ = way.send(text);
    }
}

fn confirm(Recorded(way): Recorded) {
    let _ = way.send(());
}
