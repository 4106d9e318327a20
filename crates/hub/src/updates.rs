//! What people do on channels: taps, texts and commands. Untrusted until checked; each is on disk, with all that follows
//! from it, before its channel hears that it was handled.

use std::time::Duration;

use atlasbridge_channel::{
    Address, Command, Notice, OfferName, Person, Receipt, Recorded, RepliedTo, Saying, Tap, TapOn, Target,
    Update,
};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said, Source};
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::lifecycle::{Do, PromptState};
use atlasbridge_model::routing::{self, Context, Meant, Waiting};
use atlasbridge_model::{Nonce, PromptId, ReplyId, SessionId, Timestamp};
use atlasbridge_store::{
    AcceptedAnswer, Advance, CameBy, Cancel, ChatChange, Handled, Handling, Moved, NewAsk, NewNotice,
    Offered, Once, OpenPrompt, Outcome, PromptRecord, QueuedText, Resume, SessionRecord, SessionStatus,
};
use atlasbridge_wire::session::ToSession;
use serde::{Deserialize, Serialize};

use crate::answers::Waiter;
use crate::channels::{Body, MUTED_UNTIL, SWITCHED_TO, new_notice};
use crate::hub::{Broken, Event, Hub, random};
use crate::{clock, pause, words};

/// How long a question of ours can be answered.
const ASK_LIMIT: Duration = Duration::from_secs(600);
/// How long a session host may take to tell its screen.
const SCREEN_LIMIT: Duration = Duration::from_secs(2);
/// Longest silence that can be asked for.
const LONGEST_MUTE: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Levels of detail that fit a message; after them comes a file.
const LEVELS: u8 = 2;

/// A question that a chat was asked, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    Stop {
        session: String,
    },
    DenyAndSay {
        prompt: String,
        nonce: String,
        text: String,
    },
}

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
    pub(crate) async fn updated(&mut self, channel: &'static str, update: Update) -> Result<(), Broken> {
        let Update {
            no,
            from,
            target,
            saying,
            recorded,
            receipt,
        } = update;
        let came = CameBy {
            channel: channel.to_owned(),
            update: no.0,
        };
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
                let handled = Handled {
                    audit,
                    ..Handled::default()
                };
                self.store
                    .handle_update(came, handled, clock::now())
                    .await
                    .map(drop)
                    .map_err(Into::into)
            }
            Person::Operator { id, name } => {
                let _ = name;
                let sender = Sender {
                    channel,
                    came,
                    id,
                    target,
                };
                self.operator_said(&sender, saying, receipt).await
            }
        };
        self.channels.is_due = true;
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
    ) -> Result<(), Broken> {
        match saying {
            Saying::Tap {
                on: TapOn::Card { offer, tap },
                address,
            } => self.tapped(sender, &offer, tap, address, receipt).await,
            Saying::Tap {
                on: TapOn::Question { token },
                ..
            } => self.question_answered(sender, &token, receipt).await,
            Saying::Text {
                text,
                message,
                reply_to,
                sent_at,
            } => {
                self.texted(sender, &text, &message, reply_to.as_ref(), sent_at)
                    .await
            }
            Saying::Command { command, message } => self.commanded(sender, command, &message).await,
            Saying::Nothing { attempt } => {
                let audit = attempt.map(|word| sender.rejection(None, word));
                self.handled(
                    sender,
                    Handled {
                        audit,
                        ..Handled::default()
                    },
                )
                .await
            }
        }
    }

    /// Puts an update on record with what it brought. One that comes again changes nothing.
    async fn handled(&mut self, sender: &Sender, handled: Handled) -> Result<(), Broken> {
        self.store
            .handle_update(sender.came.clone(), handled, clock::now())
            .await?;
        Ok(())
    }

    async fn tapped(
        &mut self,
        sender: &Sender,
        name: &OfferName,
        tap: Tap,
        address: Option<Address>,
        receipt: Option<Receipt>,
    ) -> Result<(), Broken> {
        let Some(offer) = self.offer_of(name).await? else {
            tell(receipt, Refusal::UnknownPrompt.told_on_channel());
            let audit = Some(sender.rejection(None, Refusal::UnknownPrompt.name()));
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
        if let Some(address) = &address {
            // A message whose address was lost in a crash has just told it.
            self.store
                .adopt_post(&offer, sender.channel, &sender.target.0, &address.0, clock::now())
                .await?;
        }
        let said = match tap {
            Tap::ShowMore => return self.show_more(sender, &offer.prompt, address, receipt).await,
            Tap::ShowScreen => {
                return self
                    .show_screen(sender, offer.prompt.session, address, receipt)
                    .await;
            }
            Tap::Row(row) => Said::Row(row),
            Tap::Enter => Said::Enter,
            Tap::UseDefault => Said::UseDefault,
            Tap::Cancel => Said::Cancel,
        };
        self.contend(
            sender,
            &offer.prompt,
            offer.nonce,
            &said,
            Handled::default(),
            Told::Tap(receipt),
        )
        .await
    }

    /// An answer from a channel: check its shape, contend, deliver. `if_won` happens with it, or not at all.
    async fn contend(
        &mut self,
        sender: &Sender,
        prompt: &PromptRecord,
        nonce: Nonce,
        said: &Said,
        if_won: Handled,
        told: Told,
    ) -> Result<(), Broken> {
        let rules = Rules {
            secrets_over_channels: self.settings.secrets_over_channels,
        };
        let is_waiting = matches!(prompt.state, PromptState::AwaitingReply);
        let checked = match answer::check(said, &prompt.sighting, rules) {
            // A late answer hears its own reason, and not one about its shape.
            Err(_) if !is_waiting => Err(prompt.state.refusal()),
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
                match self.store.cancel_from(cancel, came, then, clock::now()).await? {
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
                let outcome = self.store.accept_from(accepted, came, then, clock::now()).await?;
                pause::point("hub-after-accept");
                match outcome {
                    Once::Repeated => Ok(()),
                    Once::First(Outcome::Refused(refusal)) => {
                        told.tell(refusal.told_on_channel());
                        Ok(())
                    }
                    Once::First(Outcome::Won { reply, prompt }) => {
                        if let Some(value @ answer::Value::Secret(_)) = &reply.value {
                            self.registry.keep_secret(reply.id, value.clone());
                        }
                        let answer = reply.value.as_ref().map(answer::Value::on_record);
                        if let Told::Tap(Some(receipt)) = told {
                            self.wait_for_end(prompt.id, Waiter::Receipt { receipt, answer });
                        }
                        let effects = vec![Do::Deliver(reply.id)];
                        self.perform(Moved { prompt, effects }).await
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
    ) -> Result<(), Broken> {
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
                handled.notices.push(new_notice(
                    sender.channel,
                    &sender.target,
                    &file,
                    address.as_ref(),
                ));
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
    ) -> Result<(), Broken> {
        self.handled(sender, Handled::default()).await?;
        tell(receipt, String::new());
        let asked = self.registry.ask_screen(session);
        let events = self.events.clone();
        let (channel, target) = (sender.channel, sender.target.clone());
        tokio::spawn(async move {
            let text = match asked {
                Some(asked) => tokio::time::timeout(SCREEN_LIMIT, asked)
                    .await
                    .ok()
                    .and_then(Result::ok),
                None => None,
            };
            let came = Event::ScreenCame {
                channel,
                target,
                session,
                text,
                reply_to,
            };
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
    ) -> Result<(), Broken> {
        let Some(session) = self.store.session(session).await? else {
            return Ok(());
        };
        let notice = words::screen(&session, text);
        self.store
            .notify(
                new_notice(channel, target, &Body::from(&notice), reply_to),
                clock::now(),
            )
            .await?;
        self.channels.is_due = true;
        Ok(())
    }

    /// A plain text: which prompt does it mean, and does it fit?
    async fn texted(
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

    async fn offer_of(&self, name: &OfferName) -> Result<Option<Offered>, Broken> {
        Ok(self
            .store
            .find_offer(&name.prompt, &name.session, &name.nonce)
            .await?)
    }

    /// The prompt of a message that was replied to: by its address, or by what its buttons carry.
    async fn replied(&self, sender: &Sender, to: &RepliedTo) -> Result<Option<Offered>, Broken> {
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
    async fn sentence_for_a_dialog(
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

    fn new_ask(&self, sender: &Sender, token: String, question: &Question) -> NewAsk {
        NewAsk {
            token,
            channel: sender.channel.to_owned(),
            target: sender.target.0.clone(),
            what: serde_json::to_string(question).expect("strings are always JSON"),
            expires_at: clock::now().wall.plus_millis(ASK_LIMIT.as_millis() as i64),
        }
    }

    /// A tap on a question of ours: `token:y` or `token:n`. Each question is answered once.
    async fn question_answered(
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
                    queue_text: Some(QueuedText {
                        session: prompt.session,
                        text,
                        source: sender.source(),
                        decided_by: sender.id.clone(),
                    }),
                    ..spent()
                };
                self.contend(sender, &prompt, nonce, &Said::Deny, if_won, Told::Tap(receipt))
                    .await
            }
        }
    }

    async fn stop_from(
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

    async fn commanded(
        &mut self,
        sender: &Sender,
        command: Command,
        message: &Address,
    ) -> Result<(), Broken> {
        let mut handled = Handled::default();
        let notice = match command {
            Command::Start => words::welcome(&sender.id),
            Command::Help => words::help(),
            Command::Unknown { word } => words::unknown_command(&word),
            Command::Sessions => {
                let switched = self.switched_to(sender).await?.map(|session| session.to_string());
                words::sessions(&self.active_views().await?, switched.as_deref())
            }
            Command::Status => words::status(
                &self.identity.version,
                self.store.active_sessions().await?.len(),
                self.store.open_prompts().await?.len(),
                &self.channels.views(),
                self.trouble.as_deref(),
            ),
            Command::Switch { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    handled
                        .chat
                        .push(sender.chat(SWITCHED_TO, Some(session.id.to_string())));
                    words::say(format!("Plain messages are for {} now.", words::named(&session)))
                }
            },
            Command::Mute { time: None } => {
                words::say("Say how long: /mute 30m, /mute 2h, or /mute off to end it.")
            }
            Command::Mute {
                time: Some(Duration::ZERO),
            } => {
                handled.chat.push(sender.chat(MUTED_UNTIL, None));
                words::say("Prompts appear here again.")
            }
            Command::Mute { time: Some(time) } => {
                let time = time.min(LONGEST_MUTE);
                let until = clock::now().wall.plus_millis(time.as_millis() as i64);
                handled
                    .chat
                    .push(sender.chat(MUTED_UNTIL, Some(until.0.to_string())));
                words::say(format!(
                    "No new prompts here for {}. They still wait elsewhere, and silence never approves. /mute off ends it.",
                    words::duration(time.as_secs())
                ))
            }
            Command::Stop { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    let token = atlasbridge_model::id::hex(&random()?);
                    let question = Question::Stop {
                        session: session.id.to_string(),
                    };
                    handled.ask = Some(self.new_ask(sender, token.clone(), &question));
                    words::stop(&session, &token)
                }
            },
            Command::Resume { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    handled.resume = Some(Resume {
                        session: session.id,
                        source: sender.source(),
                        decided_by: sender.id.clone(),
                    });
                    words::say(format!("Answers to {} are taken again.", words::named(&session)))
                }
            },
            Command::Screen { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    return self
                        .show_screen(sender, session.id, Some(message.clone()), None)
                        .await;
                }
            },
        };
        handled.notices.push(sender.notice(&notice, Some(message)));
        self.handled(sender, handled).await
    }

    async fn switched_to(&self, sender: &Sender) -> Result<Option<SessionId>, Broken> {
        let id = self
            .store
            .chat_state(sender.channel, &sender.target.0, SWITCHED_TO)
            .await?;
        Ok(id.and_then(|id| id.parse().ok()))
    }

    /// The running session that is meant; without a name, the only one.
    async fn named_session(&self, wanted: Option<&str>) -> Result<Result<SessionRecord, String>, Broken> {
        let mut active = self.store.active_sessions().await?;
        let wanted = wanted.map(str::to_ascii_lowercase);
        active.retain(|session| {
            wanted
                .as_ref()
                .is_none_or(|wanted| session.id.to_string().starts_with(wanted))
        });
        Ok(match (active.len(), wanted) {
            (1, _) => Ok(active.remove(0)),
            (0, None) => Err("No session runs.".to_owned()),
            (0, Some(_)) => {
                Err("No running session begins with these digits; /sessions lists them.".to_owned())
            }
            (_, None) => Err(
                "Several sessions run: name one by the first digits of its id; /sessions lists them."
                    .to_owned(),
            ),
            (_, Some(_)) => Err("Several sessions begin with these digits; give more of the id.".to_owned()),
        })
    }
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
