//! What a person may ask for in words.

use std::time::Duration;

use atlasbridge_channel::{Address, Command};
use atlasbridge_model::{LONGEST_MUTE, SessionId};
use atlasbridge_store::{Handled, Resume, SessionRecord};

use super::Sender;
use super::questions::Question;
use crate::channels::{MUTED_UNTIL, SWITCHED_TO};
use crate::hub::{Hub, Trouble, random};
use crate::{clock, words};

impl Hub {
    pub(super) async fn commanded(
        &mut self,
        sender: &Sender,
        command: Command,
        message: &Address,
    ) -> Result<(), Trouble> {
        let mut handled = Handled::default();
        let notice = match command {
            Command::Start => words::welcome(&sender.id),
            Command::Help => words::help(),
            Command::Sessions => {
                let switched = self.switched_to(sender).await?.map(|session| session.to_string());
                words::sessions(&self.active_views().await?, switched.as_deref())
            }
            Command::Status => words::status(
                &self.identity.version,
                self.store.active_sessions().await?.len(),
                &self.standing().await?,
                &self.channel_views(),
                self.trouble.as_deref(),
            ),
            Command::Switch { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    handled.chat.push(sender.chat(SWITCHED_TO, Some(session.id.to_string())));
                    words::say(format!("Plain messages are for {} now.", words::named(&session)))
                }
            },
            Command::Mute { time: None } => words::say(format!(
                "Say how long, at most {} days: /mute 30m, /mute 2h, /mute 1d, or /mute off to end it.",
                LONGEST_MUTE.as_secs() / (24 * 3_600)
            )),
            Command::Mute { time: Some(Duration::ZERO) } => {
                handled.chat.push(sender.chat(MUTED_UNTIL, None));
                words::say("Prompts appear here again.")
            }
            Command::Mute { time: Some(time) } => {
                let time = time.min(LONGEST_MUTE);
                let until = clock::now().wall.plus_millis(time.as_millis() as i64);
                handled.chat.push(sender.chat(MUTED_UNTIL, Some(until.0.to_string())));
                words::say(format!(
                    "No new prompts here for {}. They still wait elsewhere, and silence never approves. /mute off ends it.",
                    words::duration(time.as_secs())
                ))
            }
            Command::Stop { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) => {
                    let token = atlasbridge_model::id::hex(&random()?);
                    let question = Question::Stop { session: session.id.to_string() };
                    handled.ask = Some(self.new_ask(sender, token.clone(), &question));
                    words::stop(&session, &token)
                }
            },
            Command::Resume { session } => match self.named_session(session.as_deref()).await? {
                Err(reason) => words::say(reason),
                Ok(session) if session.paused_at.is_none() => {
                    words::say(format!("{} is not paused; its answers are taken.", words::named(&session)))
                }
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
                    return self.show_screen(sender, session.id, Some(message.clone()), None).await;
                }
            },
        };
        handled.notices.push(sender.notice(&notice, Some(message)));
        let resumed = handled.resume.as_ref().map(|resume| resume.session);
        self.handled(sender, handled).await?;
        match resumed {
            Some(session) => self.send_if_idle(session).await,
            None => Ok(()),
        }
    }

    pub(super) async fn switched_to(&self, sender: &Sender) -> Result<Option<SessionId>, Trouble> {
        let id = self.store.chat_state(sender.channel, &sender.target.0, SWITCHED_TO).await?;
        Ok(id.and_then(|id| id.parse().ok()))
    }

    /// The running session that is meant; without a name, the only one.
    pub(super) async fn named_session(
        &self,
        wanted: Option<&str>,
    ) -> Result<Result<SessionRecord, String>, Trouble> {
        let mut active = self.store.active_sessions().await?;
        let wanted = wanted.map(str::to_ascii_lowercase);
        active.retain(|session| {
            wanted.as_ref().is_none_or(|wanted| session.id.to_string().starts_with(wanted))
        });
        Ok(match (active.len(), wanted) {
            (1, _) => Ok(active.remove(0)),
            (0, None) => Err("No session runs.".to_owned()),
            (0, Some(_)) => {
                Err("No running session begins with these digits; /sessions lists them.".to_owned())
            }
            (_, None) => {
                Err("Several sessions run: name one by the first digits of its id; /sessions lists them."
                    .to_owned())
            }
            (_, Some(_)) => Err("Several sessions begin with these digits; give more of the id.".to_owned()),
        })
    }
}
