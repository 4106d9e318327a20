//! Ten million bytes of what terminals really get, cut and mixed at random: no panic, no hang, bounded memory.
//!
//! Seeded, so a failure comes back. Fragments of the recordings are mixed with bytes of no meaning, with resizes,
//! keys and kernel words in between; each tool's pack has its turn. A debug build takes a thirtieth of it.

#![expect(
    clippy::unwrap_used,
    reason = "a recording that cannot be read fails the test"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlasbridge_detect::recording::{Recording, What};
use atlasbridge_detect::{
    Detector, DetectorConfig, Event, KernelWait, Moment, Observation, Pack, Packs, Waits,
};

const BYTES: usize = if cfg!(debug_assertions) {
    300_000
} else {
    10_000_000
};
/// Longest time for one observation, on a machine that does other things too. A look takes well under 1 ms.
const LONGEST: Duration = Duration::from_secs(5);
/// Most memory that the process may gain: screens of 2000 by 2000 cells are among the resizes.
const MOST_KIB: usize = 512 * 1024;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// The output of every recording, in pieces as it came.
fn fragments() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut found = Vec::new();
    for tool in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for path in fs::read_dir(tool)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
        {
            if path.extension().is_some_and(|extension| extension == "cast") {
                let recording = Recording::parse(&fs::read_to_string(path).unwrap()).unwrap();
                found.extend(recording.steps.into_iter().filter_map(|step| match step.what {
                    What::Output(text) => Some(text.into_bytes()),
                    What::Input(_) | What::Resize { .. } | What::Kernel(_) => None,
                }));
            }
        }
    }
    found.sort();
    found
}

struct Session {
    detector: Detector,
    kernel: KernelWait,
    now: Moment,
    seen: usize,
}

impl Session {
    fn new(pack: Option<Arc<Pack>>, random: &mut Random) -> Self {
        let config = DetectorConfig {
            announce_idle: true,
            pack,
            ..DetectorConfig::default()
        };
        let (cols, rows) = (20 + random.below(140) as u16, 5 + random.below(60) as u16);
        Self {
            detector: Detector::new(config, cols, rows),
            kernel: KernelWait::UNKNOWN,
            now: Moment::default(),
            seen: 0,
        }
    }

    fn give(&mut self, observation: Observation<'_>) {
        let begun = Instant::now();
        for event in self.detector.observe(observation, self.now) {
            match event {
                Event::AskKernel => self.give(Observation::Kernel(self.kernel)),
                Event::Seen(_) => self.seen += 1,
                Event::Gone { .. } | Event::Drift { .. } | Event::AnswerStatusQuery(_) => {}
            }
        }
        assert!(
            begun.elapsed() < LONGEST,
            "{observation:?} took {:?}",
            begun.elapsed()
        );
    }

    fn wait(&mut self, millis: usize) {
        let until = self.now + Duration::from_millis(millis as u64);
        while let Some(due) = self.detector.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.give(Observation::Deadline);
        }
        self.now = until;
    }
}

fn mutated(fragment: &[u8], random: &mut Random) -> Vec<u8> {
    let from = random.below(fragment.len());
    let mut bytes = fragment[from..from + random.below(fragment.len() - from + 1)].to_vec();
    for _ in 0..random.below(4) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
    }
    bytes
}

fn kernel(random: &mut Random) -> KernelWait {
    KernelWait {
        wait: [Waits::Read, Waits::Poll, Waits::Nobody, Waits::Unknown][random.below(4)],
        canonical: random.below(2) == 0,
        echo: random.below(2) == 0,
    }
}

#[test]
fn ten_million_bytes() {
    let fragments = fragments();
    let mut packs: Vec<Option<Arc<Pack>>> = Packs::embedded().iter().map(Some).collect();
    packs.push(None);
    let mut random = Random(7501);
    let (mut fed, mut seen, mut before) = (0, 0, None);
    while fed < BYTES {
        let pack = packs[random.below(packs.len())].clone();
        let mut session = Session::new(pack, &mut random);
        for _ in 0..400 {
            let fragment = &fragments[random.below(fragments.len())];
            let bytes = match random.below(8) {
                0 => mutated(fragment, &mut random),
                1 => (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
                _ => fragment.clone(),
            };
            fed += bytes.len();
            session.give(Observation::Output(&bytes));
            match random.below(12) {
                0 => session.kernel = kernel(&mut random),
                1 => session.give(Observation::LocalInput(&bytes[..bytes.len().min(9)])),
                2 => session.give(Observation::Injected),
                3 => {
                    let (cols, rows) = (random.below(260) as u16, random.below(90) as u16);
                    session.give(Observation::Resized { cols, rows });
                }
                4 => session.wait(random.below(4000)),
                _ => session.wait(random.below(60)),
            }
            if random.below(50) == 0 {
                assert!(!session.detector.explain(session.now).to_string().is_empty());
                assert!(session.detector.screen().text().len() < 4 << 20);
            }
        }
        session.give(Observation::ToolEnded);
        assert_eq!(session.detector.next_deadline(), None);
        seen += session.seen;
        let now = resident_kib();
        assert!(now <= *before.get_or_insert(now) + MOST_KIB, "{now} KiB");
    }
    println!("{fed} bytes, {seen} sightings, {} KiB resident", resident_kib());
    assert!(seen > 0, "the mixture still asks something");
}

/// Zero where the system does not say.
fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
