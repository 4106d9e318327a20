//! Ten million bytes of what terminals really get, cut and mixed at random, through screen, recognisers and every pack:
//! no panic, no hang, bounded memory.
//!
//! Seeded, so a failure comes back. Fragments of the recordings are mixed with bytes of no meaning, with resizes, keys and
//! kernel words in between. Each pack has its own session that lasts for its share of the bytes, so that what a session
//! keeps would add up. A debug build takes a tenth of it, unless `ATLASBRIDGE_TEST_FULL` is set.

#![expect(clippy::unwrap_used, reason = "a recording that cannot be read fails the test")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use atlasbridge_detect::recording::{Recording, What};
use atlasbridge_detect::{
    Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Pack, Packs, Waits,
};

/// Bytes of output in the full run.
const BYTES: usize = 10_000_000;
/// Packs that are damaged and read in the full run.
const PACKS: usize = 5_000;
/// Longest time for one observation, on a machine that does other things too. A look takes well under 1 ms.
const LONGEST: Duration = Duration::from_secs(5);
/// Most looks that one wait may ask for. They come at growing distances, and a wait lasts at most 4 s.
const MOST_LOOKS: usize = 1000;
/// Most memory that the process may gain by all sessions, one after the other, in windows as people have them: expressions
/// that were compiled, two screens and a thousand lines of history.
const MOST_KIB: usize = 64 * 1024;
/// The same for one session in the largest window, 2000 by 2000 cells of 24 bytes on two screens: 188 MiB.
const MOST_KIB_LARGEST: usize = 320 * 1024;
/// Memory is that of the whole process, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn full_or_a_tenth(full: usize) -> usize {
    match cfg!(debug_assertions) && std::env::var_os("ATLASBRIDGE_TEST_FULL").is_none() {
        true => full / 10,
        false => full,
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// The output of every recording, in pieces as it came.
fn fragments() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut found = Vec::new();
    for tool in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for path in fs::read_dir(tool).into_iter().flatten().map(|entry| entry.unwrap().path()) {
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
        let config = DetectorConfig { announce_idle: true, pack, ..DetectorConfig::default() };
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
                DetectorEvent::AskKernel => self.give(Observation::Kernel(self.kernel)),
                DetectorEvent::Seen(_) => self.seen += 1,
                DetectorEvent::Gone { .. }
                | DetectorEvent::Drift { .. }
                | DetectorEvent::AnswerStatusQuery(_) => {}
            }
        }
        assert!(begun.elapsed() < LONGEST, "{observation:?} took {:?}", begun.elapsed());
    }

    fn wait(&mut self, millis: usize) {
        let until = self.now + Duration::from_millis(millis as u64);
        let mut looks = 0;
        while let Some(due) = self.detector.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.give(Observation::Deadline);
            looks += 1;
            assert!(looks < MOST_LOOKS, "{looks} looks within {millis} ms");
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

impl Session {
    /// One piece of output, and what may happen beside it. Says how many bytes it was.
    fn step(&mut self, fragments: &[Vec<u8>], random: &mut Random) -> usize {
        self.step_in(fragments, random, (260, 90))
    }

    /// The same with resizes up to these columns and rows.
    fn step_in(&mut self, fragments: &[Vec<u8>], random: &mut Random, largest: (usize, usize)) -> usize {
        let fragment = &fragments[random.below(fragments.len())];
        let bytes = match random.below(8) {
            0 => mutated(fragment, random),
            1 => (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
            _ => fragment.clone(),
        };
        self.give(Observation::Output(&bytes));
        match random.below(12) {
            0 => self.kernel = kernel(random),
            1 => self.give(Observation::LocalInput(&bytes[..bytes.len().min(9)])),
            2 => self.give(Observation::Injected { whole: true }),
            3 => {
                let (cols, rows) = (random.below(largest.0) as u16, random.below(largest.1) as u16);
                self.give(Observation::Resized { cols, rows });
            }
            4 => self.wait(random.below(4000)),
            _ => self.wait(random.below(60)),
        }
        if random.below(50) == 0 {
            let told = self.detector.explain(self.now);
            assert!(!told.evidence_for.is_empty() || !told.evidence_against.is_empty());
            assert!(self.detector.screen().text().len() < 4 << 20);
        }
        bytes.len()
    }
}

#[test]
fn ten_million_bytes() {
    let _alone = ALONE.lock();
    let fragments = fragments();
    let mut packs: Vec<Option<Arc<Pack>>> = Packs::embedded().iter().map(Some).collect();
    packs.push(None);
    let mut random = Random(7501);
    let share = full_or_a_tenth(BYTES).div_ceil(packs.len());
    let (mut fed, mut seen, mut largest) = (0, 0, 0);
    let before = resident_kib();
    for pack in packs {
        let name = pack.as_ref().map_or("none", |pack| pack.name()).to_owned();
        let mut session = Session::new(pack, &mut random);
        let end = fed + share;
        while fed < end {
            fed += session.step(&fragments, &mut random);
            if random.below(100) == 0 {
                let held = resident_kib().saturating_sub(before);
                assert!(held <= MOST_KIB, "pack {name}: {held} KiB after {fed} bytes");
                largest = largest.max(held);
            }
        }
        session.give(Observation::ToolEnded);
        assert_eq!(session.detector.next_deadline(), None);
        assert!(session.seen > 0, "pack {name}: the mixture still asks something");
        seen += session.seen;
    }
    println!("{fed} bytes, {seen} sightings, at most {largest} KiB more than before");
    let mut session = Session::new(None, &mut random);
    for _ in 0..100 {
        session.step_in(&fragments, &mut random, (1 << 16, 1 << 16));
        let held = resident_kib().saturating_sub(before);
        assert!(held <= MOST_KIB_LARGEST, "{held} KiB in the largest windows");
    }
}

/// A pack of one's own may hold anything: it is read or refused, and what is read reads screens.
#[test]
fn damaged_packs() {
    let _alone = ALONE.lock();
    let fragments = fragments();
    let texts: Vec<String> = Packs::embedded().iter().map(|pack| pack.text().to_owned()).collect();
    let mut random = Random(2026);
    let (mut read, mut refused, mut bytes) = (0, 0, 0);
    for number in 0..full_or_a_tenth(PACKS) {
        let text = damaged(&texts[number % texts.len()], &mut random);
        bytes += text.len();
        let begun = Instant::now();
        match Pack::parse(&text, Path::new("mine.toml")) {
            Ok(pack) => {
                read += 1;
                let mut session = Session::new(Some(Arc::new(pack)), &mut random);
                for _ in 0..20 {
                    session.step(&fragments, &mut random);
                }
            }
            Err(errors) => {
                refused += 1;
                assert!(errors.to_string().contains("mine.toml"), "{errors}");
            }
        }
        assert!(begun.elapsed() < LONGEST, "{text}");
    }
    println!("{bytes} bytes of packs: {read} read, {refused} refused");
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

/// The text with lines left out, doubled or swapped, and characters changed for others that TOML and expressions know.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for _ in 0..random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(3) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at]),
            _ => lines.swap(at, other),
        }
    }
    let mut chars: Vec<char> = lines.join("\n").chars().collect();
    for _ in 0..random.below(4) {
        let signs = ['\'', '"', '[', ']', '(', ')', '{', '9', '*', '+', '?', '\\', '|', '=', '\0', '❯', '\n'];
        let at = random.below(chars.len());
        chars[at] = signs[random.below(signs.len())];
    }
    chars.into_iter().collect()
}

/// Zero where the system does not say.
fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
