//! Listens: a long poll at a time, each update handed to the hub, and confirmed only once it is on disk.
//!
//! # Nothing-lost invariant
//! The service forgets an update when a later one is asked for. `offset` moves past an update in one place, after the hub
//! has told `recorded`; until then it comes again, after a crash of ours as well. The hub knows a repeated number.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::api::{BATCH, POLL_HOLD, Trouble};
use super::incoming::{self, Allowlist, Incoming};
use super::service::{Direction, Service, backoff};
use crate::{Confirmation, Health, Inbound, Receipt, Update, UpdateNo};

/// Longest wait for the hub to write one update down.
const RECORDING: Duration = Duration::from_secs(30);
/// Longest wait for the sentence that answers a tap; the person's phone shows it as busy meanwhile.
const RECEIPT: Duration = Duration::from_secs(10);
/// Longest such sentence, in characters.
const MOST_RECEIPT: usize = 200;
/// A phone shows a tap as busy for about so long; an answer that comes later is not seen.
const TAP_LASTS: Duration = Duration::from_secs(15);
/// Taps that are answered at the same time.
const ANSWERS: usize = 8;
/// Another program with the same token may be at work on purpose: no race with it.
const CONFLICT: Duration = Duration::from_secs(30);
/// A batch that moves nothing on would come again at once, and again.
const STANDSTILL: Duration = Duration::from_secs(1);
const REFUSED: Duration = Duration::from_secs(60);

/// Why listening ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PollEnd {
    /// The operator must mend the settings.
    Stopped,
    HubGone,
}

pub(crate) struct Poller {
    service: Arc<Service>,
    allowlist: Allowlist,
    inbound: mpsc::Sender<Inbound>,
    offset: Option<i64>,
    /// How many updates are asked for at once.
    limit: usize,
    has_looked_for_webhook: bool,
    health: Option<Health>,
    last_poll: Option<LastPoll>,
    /// The longest silence not yet told.
    gap: Option<Duration>,
    /// Updates in a row that the hub could not write down.
    unrecorded: u32,
    answers: JoinSet<()>,
    permits: Arc<Semaphore>,
}

/// When a poll last succeeded. Two clocks: one does not jump, the other goes on while the machine sleeps.
#[derive(Debug, Clone, Copy)]
struct LastPoll {
    steady: Instant,
    wall: SystemTime,
}

/// What follows a round.
enum Next {
    Again,
    After(Duration),
    /// The service does not answer: after this, or as soon as a message got through.
    Retry(Duration),
}

impl Poller {
    pub(crate) fn new(
        service: Arc<Service>,
        allowlist: Allowlist,
        last_offset: Option<i64>,
        inbound: mpsc::Sender<Inbound>,
    ) -> Self {
        Self {
            service,
            allowlist,
            inbound,
            offset: last_offset,
            limit: BATCH,
            has_looked_for_webhook: false,
            health: None,
            last_poll: None,
            gap: None,
            unrecorded: 0,
            answers: JoinSet::new(),
            permits: Arc::new(Semaphore::new(ANSWERS)),
        }
    }

    /// Until it makes no sense any more. Dropping it loses nothing: what was not recorded was not confirmed.
    pub(crate) async fn run(mut self) -> PollEnd {
        let Err(end) = self.listen().await;
        end
    }

    async fn listen(&mut self) -> Result<Infallible, PollEnd> {
        self.tell_health(Health::Starting).await?;
        loop {
            while self.answers.try_join_next().is_some() {}
            let began = Instant::now();
            let next = match self.poll().await {
                Ok(updates) => self.handle(updates).await?,
                Err(trouble) => self.mend(trouble, began).await?,
            };
            match next {
                Next::Again => {}
                Next::After(pause) => sleep(pause).await,
                Next::Retry(pause) => tokio::select! {
                    () = sleep(pause) => {}
                    () = self.service.freed(Direction::Polling) => {}
                },
            }
        }
    }

    async fn poll(&mut self) -> Result<Vec<Value>, Trouble> {
        if self.service.is_stopped() {
            return Err(Trouble::Unauthorized);
        }
        let api = &self.service.api;
        if !self.has_looked_for_webhook {
            if api.has_webhook().await? {
                tracing::warn!("a webhook was set for this bot; it is removed, or nothing could be polled");
                api.delete_webhook().await?;
            }
            self.has_looked_for_webhook = true;
        }
        // The first answer tells that all is well, and how long nothing was heard: the hub should not wait for it.
        let hold = match self.health {
            Some(Health::Connected) => POLL_HOLD,
            _ => Duration::ZERO,
        };
        api.updates(self.offset, self.limit, hold).await
    }

    async fn handle(&mut self, mut updates: Vec<Value>) -> Result<Next, PollEnd> {
        self.service.worked(Direction::Polling, Instant::now());
        self.note_gap();
        let is_drained = updates.len() < self.limit;
        let before = self.offset;
        updates.sort_by_key(incoming::number);
        for update in &updates {
            let Some(no) = incoming::number(update) else {
                tracing::warn!("an update without a number was left out");
                continue;
            };
            if !self.hand_over(no, update).await? {
                return self.not_recorded().await;
            }
        }
        self.unrecorded = 0;
        self.tell_health(Health::Connected).await?;
        // Taps of the time before come first: what a gap makes void must not be void before it was looked at.
        if is_drained {
            self.limit = BATCH;
            let gap = self.gap.take();
            self.tell(Inbound::Polled { gap }).await?;
        }
        Ok(if updates.is_empty() || self.offset != before { Next::Again } else { Next::After(STANDSTILL) })
    }

    /// Whether the hub has written it down. Only then does the offset move.
    async fn hand_over(&mut self, no: UpdateNo, update: &Value) -> Result<bool, PollEnd> {
        let Incoming { from, target, saying, tap } = incoming::read(update, &self.allowlist);
        let (recorded, on_disk) = oneshot::channel();
        let receipt = tap.map(|tap| self.answer_when_told(tap));
        let update = Update { no, from, target, saying, recorded: Confirmation(recorded), receipt };
        self.tell(Inbound::Update(update)).await?;
        let is_recorded = matches!(timeout(RECORDING, on_disk).await, Ok(Ok(())));
        if is_recorded {
            self.offset = Some(no.0.saturating_add(1));
        }
        Ok(is_recorded)
    }

    fn answer_when_told(&mut self, tap: String) -> Receipt {
        let (receipt, told) = oneshot::channel::<String>();
        let service = Arc::clone(&self.service);
        let permits = Arc::clone(&self.permits);
        self.answers.spawn(async move {
            // Nothing to say: the answer still ends the waiting on the phone.
            let text = timeout(RECEIPT, told).await.ok().and_then(Result::ok).unwrap_or_default();
            let text: String = text.chars().take(MOST_RECEIPT).collect();
            let Ok(_permit) = permits.acquire().await else { return };
            answer_tap(&service, &tap, &text).await;
        });
        Receipt(receipt)
    }

    async fn not_recorded(&mut self) -> Result<Next, PollEnd> {
        self.unrecorded = self.unrecorded.saturating_add(1);
        let why = "what came in could not be put on record; it is asked for again".to_owned();
        self.tell_health(Health::Retrying { why }).await?;
        Ok(Next::After(backoff(self.unrecorded)))
    }

    async fn mend(&mut self, trouble: Trouble, began: Instant) -> Result<Next, PollEnd> {
        tracing::debug!(%trouble, "poll failed");
        let (why, pause) = match trouble {
            Trouble::Unauthorized | Trouble::NotFound => {
                self.service.stop();
                let why = format!("{trouble}; `atlasbridge setup telegram` takes a new one");
                self.tell_health(Health::Stopped { why }).await?;
                return Err(PollEnd::Stopped);
            }
            Trouble::Conflict(_) => {
                self.has_looked_for_webhook = false;
                let why = "another program polls with this bot token, and Telegram serves one only: stop the other, or \
                           make a bot of its own for each"
                    .to_owned();
                (why, CONFLICT)
            }
            Trouble::TooMany { retry_after } => {
                self.service.hold(Instant::now() + retry_after);
                (trouble.to_string(), retry_after)
            }
            // Anybody may send us a hundred of the longest messages: that must not make us deaf.
            Trouble::TooLong if self.limit > 1 => {
                self.limit /= 2;
                return Ok(Next::Again);
            }
            Trouble::BadRequest(_) | Trouble::Forbidden(_) => (trouble.to_string(), REFUSED),
            Trouble::Server(_) | Trouble::Network(_) | Trouble::Unreadable(_) | Trouble::TooLong => {
                let pause = self.service.failed(Direction::Polling, began, Instant::now());
                let why = trouble.to_string();
                self.tell_health(Health::Retrying { why }).await?;
                return Ok(Next::Retry(pause));
            }
        };
        self.tell_health(Health::Retrying { why }).await?;
        Ok(Next::After(pause))
    }

    fn note_gap(&mut self) {
        let now = LastPoll { steady: Instant::now(), wall: SystemTime::now() };
        if let Some(before) = self.last_poll.replace(now) {
            self.gap = self.gap.max(Some(now.since(before)));
        }
    }

    async fn tell_health(&mut self, health: Health) -> Result<(), PollEnd> {
        if self.health.as_ref() == Some(&health) {
            return Ok(());
        }
        self.health = Some(health.clone());
        self.tell(Inbound::Health(health)).await
    }

    async fn tell(&self, inbound: Inbound) -> Result<(), PollEnd> {
        self.inbound.send(inbound).await.map_err(|_| PollEnd::HubGone)
    }
}

/// A tap that is too old to be answered is no trouble; its message tells the end anyway.
async fn answer_tap(service: &Service, tap: &str, text: &str) {
    let give_up = Instant::now() + TAP_LASTS;
    loop {
        match service.taps_held() {
            Some(held) if held > give_up => return,
            Some(held) => sleep_until(held).await,
            None => {}
        }
        match service.api.answer_tap(tap, text).await {
            Ok(()) => return,
            Err(Trouble::TooMany { retry_after }) => service.hold_taps(Instant::now() + retry_after),
            Err(trouble) => return tracing::debug!(%trouble, "a tap was not answered"),
        }
    }
}

impl LastPoll {
    /// The longer of the two: a wall clock set back counts for nothing, a machine that slept counts in full.
    fn since(self, before: LastPoll) -> Duration {
        let steady = self.steady.duration_since(before.steady);
        steady.max(self.wall.duration_since(before.wall).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gap_is_as_long_as_the_clock_says_that_saw_more_of_it() {
        let before = LastPoll {
            steady: Instant::now(),
            wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000),
        };
        let seconds = Duration::from_secs;
        let after = |steady: u64, wall: Duration| LastPoll {
            steady: before.steady + seconds(steady),
            wall: SystemTime::UNIX_EPOCH + wall,
        };
        assert_eq!(after(30, seconds(1_000_030)).since(before), seconds(30));
        assert_eq!(after(30, seconds(1_003_600)).since(before), seconds(3600), "it slept");
        assert_eq!(after(30, seconds(5)).since(before), seconds(30), "the clock was set back");
    }
}
