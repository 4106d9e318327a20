//! Plain texts: which prompt they mean, whether they fit, and whose next instruction they are where nothing waits.

use atlasbridge_channel::{Address, Notice, RepliedTo};
use atlasbridge_model::answer::{self, Checked, Refusal, Rules, Said};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::opening::Opening;
use atlasbridge_model::routing::{self, Addressee, Context, Meant, Running, Waiting};
use atlasbridge_model::{Kind, SessionId, Timestamp};
use atlasbridge_store::{Handled, HeardAt, Offered, OpenPrompt, PromptRecord, SessionRecord};

use super::questions::Question;
use super::{Contender, Sender, Told};
use crate::hub::{Hub, Trouble, random};
use crate::instructions::{Author, Fit, Unfit};
use crate::words;

/// A text, and what is known of it.
pub(super) struct Texted {
    pub(super) text: String,
    /// The message that brought it.
    pub(super) message: Address,
    pub(super) sent_at: Timestamp,
    /// It begins as a command does, and is none of ours.
    pub(super) is_other_command: bool,
    /// Its sender was asked, and means it as it is.
    pub(super) as_is: bool,
}

impl Texted {
    /// A text that its sender was asked about.
    pub(super) fn meant(text: String, message: Address) -> Self {
        Self { text, message, sent_at: crate::clock::now().wall, is_other_command: false, as_is: true }
    }

    fn said(&self) -> Said {
        Said::Text(self.text.clone())
    }
}

impl Sender {
    /// Whoever wrote this message, and hears below it what became of its text.
    pub(super) fn author(&self, message: Option<&Address>) -> Author {
        Author {
            source: self.source(),
            decided_by: self.id.clone(),
            heard_at: Some(HeardAt {
                target: self.target.0.clone(),
                reply_to: message.map(|message| message.0.clone()),
            }),
        }
    }
}

impl Hub {
    /// A plain text: which prompt does it mean, and does it fit?
    pub(super) async fn texted(
        &mut self,
        sender: &Sender,
        texted: &Texted,
        reply_to: Option<&RepliedTo>,
    ) -> Result<(), Trouble> {
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
                    let why = Refusal::UnknownPrompt.name();
                    return self.not_used(sender, texted, &notice, why).await;
                }
            },
        };
        let switched = self.switched_to(sender).await?;
        let context = Context {
            replied_to: replied.as_ref().map(|offered| offered.prompt.id),
            switched_to: switched,
            sent_at: texted.sent_at,
        };
        let candidates: Vec<Waiting> = waiting
            .iter()
            .map(|open| Waiting {
                prompt: open.prompt.id,
                session: open.prompt.session,
                asked_at: open.prompt.created_at,
            })
            .collect();
        let idle = |id| {
            let of_id = |open: &&OpenPrompt| open.prompt.id == id;
            let found = waiting.iter().find(of_id).map(|open| &open.prompt);
            found.filter(|prompt| prompt.sighting.kind == Kind::Idle)
        };
        let meant = match routing::meant(&candidates, context) {
            Meant::Means(id) => id,
            Meant::NothingWaits | Meant::NothingWaitsThere(_) => {
                return self.next_instruction(sender, texted, switched).await;
            }
            Meant::Several => {
                return self.not_used(sender, texted, &words::several(&waiting), "several_wait").await;
            }
            // Written while the tool worked: what it would have been a moment ago, it is now.
            Meant::TooNew(id) if idle(id).is_some() => {
                return self.next_instruction(sender, texted, switched).await;
            }
            Meant::TooNew(_) => {
                let notice = words::say(
                    "A prompt appeared after you wrote this, so it was not taken as its answer. Reply to the prompt's \
                     message if you mean it.",
                );
                return self.not_used(sender, texted, &notice, "prompt_too_new").await;
            }
        };
        let offered = match (replied, self.store.prompt(meant).await?) {
            (Some(offered), _) => offered,
            (None, Some(prompt)) => Offered { nonce: prompt.nonce, prompt },
            (None, None) => return self.handled(sender, Handled::default()).await,
        };
        self.text_for(sender, texted, &offered).await
    }

    /// A text that means this prompt.
    async fn text_for(&mut self, sender: &Sender, texted: &Texted, offered: &Offered) -> Result<(), Trouble> {
        let prompt = &offered.prompt;
        let told = Told::Message(texted.message.clone());
        let is_idle = prompt.sighting.kind == Kind::Idle;
        let waits = prompt.state == PromptState::AwaitingReply;
        // A box that has been used means its session: there will be another.
        if is_idle && (!waits || Opening::of(&texted.text).is_some()) {
            let session = prompt.session;
            return self.instruct(sender, session, texted, Handled::default(), told).await;
        }
        if texted.is_other_command {
            let notice = words::unknown_command(&texted.text);
            return self.not_used(sender, texted, &notice, "unknown_command").await;
        }
        let said = texted.said();
        if let Some(question) =
            self.sentence_for_a_dialog(sender, offered, &texted.text, &texted.message).await?
        {
            return self.handled(sender, question).await;
        }
        let answer = Contender { offered, said: &said, as_is: texted.as_is };
        self.contend(sender, answer, Handled::default(), told).await
    }

    /// A text that answers nothing: the next instruction of a tool, where it is clear whose.
    async fn next_instruction(
        &mut self,
        sender: &Sender,
        texted: &Texted,
        switched: Option<SessionId>,
    ) -> Result<(), Trouble> {
        let mut running = Vec::new();
        for session in self.store.active_sessions().await? {
            running.push(Running {
                session: session.id,
                takes_instructions: self.store.last_idle(session.id).await?.is_some(),
            });
        }
        let notice = match routing::addressee(&running, switched) {
            Addressee::Session(session) => {
                let told = Told::Message(texted.message.clone());
                return self.instruct(sender, session, texted, Handled::default(), told).await;
            }
            _ if texted.is_other_command => words::unknown_command(&texted.text),
            Addressee::Nobody => {
                words::say("Nothing is waiting for an answer right now, so this was not used.")
            }
            Addressee::Several => words::say(
                "Nothing is waiting for an answer right now, and several tools take instructions, so this was not used. \
                 /switch ID says which one plain messages are for; /sessions lists them.",
            ),
            Addressee::NotThere(_) => words::say(
                "Nothing waits in the session that plain messages are for (/switch), so this was not used. Reply to the \
                 message of another prompt to answer that one.",
            ),
        };
        self.not_used(sender, texted, &notice, "nothing_waits").await
    }

    /// The next instruction of this session: sent if its tool waits for one, else kept until it does. `spent` happens with it.
    pub(super) async fn instruct(
        &mut self,
        sender: &Sender,
        session: SessionId,
        texted: &Texted,
        spent: Handled,
        told: Told,
    ) -> Result<(), Trouble> {
        let Some(session) = self.store.session(session).await? else {
            return self.handled(sender, spent).await;
        };
        let busy = match self.fit(&session, &texted.text, texted.as_is).await? {
            Ok(Fit::Now(prompt)) => {
                let offered = Offered { nonce: prompt.nonce, prompt: *prompt };
                let answer = Contender { offered: &offered, said: &texted.said(), as_is: texted.as_is };
                return self.contend(sender, answer, spent, told).await;
            }
            Ok(Fit::Later(busy)) => busy,
            Err(Unfit::Shape(Refusal::NotPlain { opening, .. })) => {
                let question = self.not_plain(sender, &session, opening, texted)?;
                return self.handled(sender, question).await;
            }
            Err(unfit) => {
                let words = words::unfit(&session, &unfit);
                let handled = Handled {
                    audit: Some(sender.rejection(None, unfit.name())),
                    notices: vec![sender.notice(&words::say(words.clone()), Some(&texted.message))],
                    ..spent
                };
                told.tell(words);
                return self.handled(sender, handled).await;
            }
        };
        let author = sender.author(Some(&texted.message));
        let (reply, replaces, mut queueing) = self.queueing(&session, texted.text.clone(), author).await?;
        let token = atlasbridge_model::id::hex(&random()?);
        let way_back = Question::TakeBack { session: session.id.to_string(), reply: reply.to_string() };
        let notice = words::queued_with_a_way_back(&session, busy, replaces, &token);
        queueing.notices.push(sender.notice(&notice, Some(&texted.message)));
        let handled = Handled {
            take_ask: spent.take_ask,
            ask: Some(self.new_ask(sender, token, &way_back)),
            ..queueing
        };
        told.tell(words::queued(&session, busy, replaces));
        self.handled(sender, handled).await?;
        self.page_changed();
        Ok(())
    }

    fn not_plain(
        &self,
        sender: &Sender,
        session: &SessionRecord,
        opening: Opening,
        texted: &Texted,
    ) -> Result<Handled, Trouble> {
        let token = atlasbridge_model::id::hex(&random()?);
        let question = Question::Instruct {
            session: session.id.to_string(),
            text: texted.text.clone(),
            message: texted.message.0.clone(),
        };
        let notice = words::not_plain(session, opening, &texted.text, texted.is_other_command, &token);
        Ok(Handled {
            audit: Some(sender.rejection(None, "not_plain")),
            notices: vec![sender.notice(&notice, Some(&texted.message))],
            ask: Some(self.new_ask(sender, token, &question)),
            ..Handled::default()
        })
    }

    /// Says why a text was not used, and puts that on record.
    async fn not_used(
        &mut self,
        sender: &Sender,
        texted: &Texted,
        notice: &Notice,
        why: &str,
    ) -> Result<(), Trouble> {
        let handled = Handled {
            audit: Some(sender.rejection(None, why)),
            notices: vec![sender.notice(notice, Some(&texted.message))],
            ..Handled::default()
        };
        self.handled(sender, handled).await
    }

    /// The prompt of a message that was replied to: by its address, or by what its buttons carry.
    pub(super) async fn replied(&self, sender: &Sender, to: &RepliedTo) -> Result<Option<Offered>, Trouble> {
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
    /// A text that is none of a dialog's choices, and that no hook takes as an answer of one's own, is never typed: it is
    /// offered as the reason of a refusal, or as the next instruction after one.
    async fn sentence_for_a_dialog(
        &mut self,
        sender: &Sender,
        offered: &Offered,
        text: &str,
        message: &Address,
    ) -> Result<Option<Handled>, Trouble> {
        let Offered { prompt, nonce } = offered;
        let check = |said: &Said| answer::check(said, &prompt.sighting, Rules::default());
        let waits = matches!(prompt.state, PromptState::AwaitingReply);
        let misfit = matches!(
            check(&Said::Text(text.to_owned())),
            Err(Refusal::NotAChoice { .. } | Refusal::NotOneLine)
        );
        if !waits || !misfit {
            return Ok(None);
        }
        let Some(session) = self.store.session(prompt.session).await? else {
            return Ok(None);
        };
        let token = atlasbridge_model::id::hex(&random()?);
        let (id, nonce) = (prompt.id.to_string(), nonce.to_hex());
        let (question, notice) = match check(&Said::DenyWith(text.to_owned())) {
            Ok(_) => {
                let question = Question::Refuse { prompt: id, nonce, reason: text.to_owned() };
                (question, words::refuse_with(prompt, &session, text, &token))
            }
            Err(_) => {
                let Ok(Checked::Type(refusing)) = check(&Said::Deny) else {
                    return Ok(None);
                };
                if let Some(refused) = self.unfit_for_later(sender, prompt, &session, text, message).await? {
                    return Ok(Some(refused));
                }
                let question = Question::DenyAndSay {
                    prompt: id,
                    nonce,
                    text: text.to_owned(),
                    message: Some(message.0.clone()),
                };
                let notice = words::deny_and_say(prompt, &session, text, &refusing.on_record(), &token);
                (question, notice)
            }
        };
        Ok(Some(Handled {
            audit: Some(sender.rejection(Some(prompt), "not_a_choice")),
            notices: vec![sender.notice(&notice, Some(message))],
            ask: Some(self.new_ask(sender, token, &question)),
            ..Handled::default()
        }))
    }

    /// A text that its tool could not take later either, as far as is known, is refused now.
    async fn unfit_for_later(
        &self,
        sender: &Sender,
        prompt: &PromptRecord,
        session: &SessionRecord,
        text: &str,
        message: &Address,
    ) -> Result<Option<Handled>, Trouble> {
        let Err(unfit @ Unfit::Shape(_)) = self.fit(session, text, true).await? else {
            return Ok(None);
        };
        let notice = words::say(words::unfit(session, &unfit));
        Ok(Some(Handled {
            audit: Some(sender.rejection(Some(prompt), unfit.name())),
            notices: vec![sender.notice(&notice, Some(message))],
            ..Handled::default()
        }))
    }
}
