//! News at a bounded pace: however fast something changes, whoever looks at it looks now and then, and sees the newest.

use std::time::Duration;

use tokio::sync::watch;
use tokio::sync::watch::error::RecvError;
use tokio::time::{Instant, sleep_until};

pub(crate) struct Paced<T> {
    pub(crate) news: watch::Receiver<T>,
    /// At least this lies between two looks.
    pace: Duration,
    next: Instant,
}

impl<T> Paced<T> {
    /// The first look is due at once.
    pub(crate) fn new(mut news: watch::Receiver<T>, pace: Duration) -> Self {
        news.mark_changed();
        Self { news, pace, next: Instant::now() }
    }

    /// Returns when there is something to look at. No news is lost where nobody waits to the end.
    pub(crate) async fn due(&mut self) -> Result<(), RecvError> {
        sleep_until(self.next).await;
        self.news.changed().await?;
        self.next = Instant::now() + self.pace;
        Ok(())
    }
}
