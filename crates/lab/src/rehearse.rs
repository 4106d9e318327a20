//! One scenario, played for real: our own binary in a home of its own, its session on a terminal of its own, and a
//! watcher at the hub's socket that notes what is offered and answers as the scenario says.
//!
//! The judge is the tool's own log: when it asked, and what it read. Everything that was started ends with the
//! rehearsal, however it ends.

mod log;
mod operator;
mod peer;
mod stage;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use atlasbridge_pty::{Signal, Signals, SpawnError};

use crate::scenario::Scenario;
use log::Log;
use operator::Operator;
use stage::Stage;

/// How long a scenario may take. The slowest needs four seconds; a busy machine gets its time.
const LIMIT: Duration = Duration::from_secs(60);

/// What a rehearsal needs to know.
#[derive(Debug)]
pub struct LabConfig {
    /// Our own binary.
    pub program: PathBuf,
    /// Where homes are made. Short: a Unix socket's path has 107 bytes.
    pub scratch: PathBuf,
    /// The environment to start from; without variables of ours.
    pub env: Vec<(OsString, OsString)>,
}

/// How a scenario went.
#[derive(Debug)]
pub struct Rehearsal {
    pub scenario: &'static Scenario,
    /// What was not as it should be, in sentences; empty for success.
    pub problems: Vec<String>,
    pub prompts: Vec<PromptTiming>,
    pub took: Duration,
    /// Memory of the session host at the first and at the last prompt, in KiB.
    pub memory_kib: Option<(u64, u64)>,
}

impl Rehearsal {
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

/// One prompt of a rehearsal, with its times as the tool itself saw them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTiming {
    pub kind: String,
    pub excerpt: String,
    /// From the question to the operator's list.
    pub offered_after: Option<Duration>,
    /// From the operator's answer to the tool that has read it.
    pub taken_after: Option<Duration>,
}

/// The rehearsal could not be held; nothing is known about the scenario.
#[derive(Debug, thiserror::Error)]
pub enum RehearseError {
    #[error("preparing the home of the rehearsal, {}", path.display())]
    Home { path: PathBuf, source: io::Error },
    #[error("keeping what the rehearsal starts below this process")]
    Adopt(#[source] io::Error),
    #[error("starting the hub of the rehearsal; {} may say why", log.display())]
    Hub { log: PathBuf, source: io::Error },
    #[error("talking to the hub of the rehearsal")]
    Talk(#[from] io::Error),
    #[error("starting `atlasbridge run`")]
    Spawn(#[from] SpawnError),
    #[error("waiting for the rehearsal")]
    Wait(#[source] io::Error),
    #[error("interrupted")]
    Interrupted(Signal),
}

/// Plays one scenario. `interrupts` are signals that end the rehearsal, and with it everything it has started: all children
/// of this process, which must have no others.
pub fn rehearse(
    scenario: &'static Scenario,
    config: &LabConfig,
    interrupts: &Signals,
) -> Result<Rehearsal, RehearseError> {
    let began = Instant::now();
    let mut stage = Stage::set(scenario, config)?;
    let mut operator = Operator::new(scenario);
    stage.play(&mut operator, interrupts, began + LIMIT)?;
    let log = Log::read(&stage.log_path());
    let mut problems = operator.problems.clone();
    if problems.is_empty() {
        problems.extend(log.problems(scenario));
        problems.extend(stage.problems(scenario));
    }
    Ok(Rehearsal {
        scenario,
        problems,
        prompts: timings(&operator, &log),
        memory_kib: stage.memory(),
        took: began.elapsed(),
    })
}

/// The n-th question of the log is the n-th prompt; the n-th read belongs to the n-th answer.
fn timings(operator: &Operator, log: &Log) -> Vec<PromptTiming> {
    let between = |from: Option<&SystemTime>, to: Option<SystemTime>| to?.duration_since(*from?).ok();
    let mut reads = log.reads.iter();
    operator
        .offered
        .iter()
        .zip(0..)
        .map(|(offer, number): (_, usize)| {
            let read = offer.answered_at.and_then(|_| reads.next());
            PromptTiming {
                kind: offer.kind.clone(),
                excerpt: offer.excerpt.clone(),
                offered_after: between(log.asks.get(number), Some(offer.at)),
                taken_after: between(offer.answered_at.as_ref(), read.map(|read| read.at)),
            }
        })
        .collect()
}
