//! Lives of a hub, by the thousand: the rules and a real store on a temporary file, with simulated session hosts, a
//! simulated chat and a simulated clock.
//!
//! A seed decides everything: what is asked, who answers what and where, what is said twice or out of order, when the chat
//! is out of reach, when the wall clock jumps, and at which commit the hub or a session host dies. After every step
//! the promises of the product are checked; at the end everything is let come to rest, and whatever was decided
//! must have ended in a word that was told.
//!
//! `cargo xtask simulate --seeds 100000` runs more lives, `--seed 7` replays one and prints its story.

mod chat;
mod dice;
mod host;
mod life;
mod outer;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::life::{Life, Telling};

/// Lives of one run in CI.
const LIVES: u64 = 10_000;
/// Lives at once.
const WORKERS: usize = 4;

/// For whoever runs it, whether or not it fails.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Where databases live that nobody keeps: in memory where there is such a place, for a commit waits for its disk.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    base.join(format!("atlasbridge-lives-{}", std::process::id()))
}

#[test]
fn no_life_breaks_a_promise() {
    let scratch = scratch();
    let one = number("ATLASBRIDGE_TEST_SEED");
    let (first, last) = match one {
        Some(seed) => (seed, seed + 1),
        None => (0, number("ATLASBRIDGE_TEST_SEEDS").unwrap_or(LIVES)),
    };
    let next = AtomicU64::new(first);
    let started = Instant::now();
    let work = |worker: usize| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let place = scratch.join(worker.to_string());
        let mut broken = Vec::new();
        let mut figures = life::Figures::default();
        runtime.block_on(async {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= last || broken.len() > 3 {
                    return;
                }
                let mut life = Life::begin(seed, &place, Telling::Nothing).await;
                life.live().await;
                figures.add(&life.figures);
                let promise = life.broken();
                // The same seed lives the same life: it is told only where somebody will read it.
                if promise.is_some() || one.is_some() {
                    drop(life);
                    let mut told = Life::begin(seed, &place, Telling::Whole).await;
                    told.live().await;
                    say(told.story());
                }
                broken.extend(promise.map(|promise| (seed, promise)));
            }
        });
        (broken, figures)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let _ = std::fs::remove_dir_all(&scratch);
    let mut figures = life::Figures::default();
    results.iter().for_each(|(_, of_worker)| figures.add(of_worker));
    say(&format!("{} lives in {:.1} s: {figures:?}", last - first, started.elapsed().as_secs_f32()));
    let mut broken: Vec<_> = results.into_iter().flat_map(|(broken, _)| broken).collect();
    broken.sort();
    if let Some((seed, promise)) = broken.first() {
        panic!("seed {seed}: {promise}; `cargo xtask simulate --seed {seed}` lives it again");
    }
    // Lives in which nothing happens prove nothing.
    if one.is_none() {
        let lives = last - first;
        assert!(figures.replies > lives / 8 && figures.silences > lives / 50, "{figures:?}");
    }
}
