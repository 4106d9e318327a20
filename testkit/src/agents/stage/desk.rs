//! The person's terminal, as good as a real one: it shows, takes keys, and answers what programs ask a terminal at their
//! start. Some agents do not begin without these answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation};

use crate::Terminal;

/// How often the terminal looks for something new. Nobody waits for it but queries at the start.
const GLANCE: Duration = Duration::from_millis(10);

/// What is asked, and what a plain terminal says. The cursor's place is known when it is asked for.
const QUERIES: [(&[u8], Option<&[u8]>); 6] = [
    (b"\x1b[6n", None),
    (b"\x1b[c", Some(b"\x1b[?62;22c")),
    (b"\x1b[0c", Some(b"\x1b[?62;22c")),
    (b"\x1b[5n", Some(b"\x1b[0n")),
    (b"\x1b]10;?", Some(b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\")),
    (b"\x1b]11;?", Some(b"\x1b]11;rgb:0000/0000/0000\x1b\\")),
];

/// The longest of them.
const LONGEST: usize = 6;

pub(super) struct Desk {
    inside: Arc<Inside>,
    thread: Option<JoinHandle<()>>,
}

struct Inside {
    terminal: Mutex<Terminal>,
    /// A grid with everything that was shown.
    seen: Mutex<Detector>,
    is_left: AtomicBool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

impl Desk {
    pub(super) fn new(terminal: Terminal, (cols, rows): (u16, u16)) -> Self {
        let inside = Arc::new(Inside {
            terminal: Mutex::new(terminal),
            seen: Mutex::new(Detector::new(DetectorConfig::default(), cols, rows)),
            is_left: AtomicBool::new(false),
        });
        let at_work = Arc::clone(&inside);
        Self { inside, thread: Some(thread::spawn(move || at_work.watch())) }
    }

    pub(super) fn type_keys(&self, keys: &[u8]) {
        lock(&self.inside.terminal).type_keys(keys);
    }

    pub(super) fn pid(&self) -> i32 {
        lock(&self.inside.terminal).pid()
    }

    pub(super) fn screen(&self) -> String {
        lock(&self.inside.seen).screen().text()
    }

    /// Stops watching; the program on the terminal is somebody else's to end.
    pub(super) fn leave(&mut self) {
        self.inside.is_left.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Inside {
    fn watch(&self) {
        let mut done = 0;
        while !self.is_left.load(Ordering::Relaxed) {
            let new = lock(&self.terminal).bytes_after(done);
            let mut left = new.as_slice();
            while let Some((end, query)) = next_query(left) {
                self.show(&left[..end]);
                self.answer(query);
                left = &left[end..];
            }
            // A query may be cut at the end of what came so far.
            let whole = left.len().saturating_sub(LONGEST);
            let may_be_cut = left[whole..].contains(&0x1b);
            let taken = if may_be_cut { whole } else { left.len() };
            self.show(&left[..taken]);
            done += new.len() - left.len() + taken;
            thread::sleep(GLANCE);
        }
    }

    fn show(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            lock(&self.seen).observe(Observation::Output(bytes), Moment::default());
        }
    }

    fn answer(&self, query: usize) {
        let (row, column) = lock(&self.seen).screen().cursor();
        let place = format!("\x1b[{};{}R", row + 1, column + 1);
        let said = QUERIES[query].1.unwrap_or(place.as_bytes());
        lock(&self.terminal).type_keys(said);
    }
}

/// The first query: where it ends, and which it is.
fn next_query(bytes: &[u8]) -> Option<(usize, usize)> {
    let found = QUERIES.iter().enumerate().filter_map(|(which, (query, _))| {
        let at = bytes.windows(query.len()).position(|window| window == *query)?;
        Some((at + query.len(), which))
    });
    found.min()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
