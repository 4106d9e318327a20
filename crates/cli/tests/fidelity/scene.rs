//! Homes, programs and small questions to `/proc`.

use std::fs;
use std::path::Path;

use atlasbridge_testkit::{Home, eventually};

/// A home for one test, with the binary under test.
pub(crate) fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_atlasbridge"))
}

/// The program's path. A test whose program is missing says so and fails: the script that runs the tests installs it.
#[track_caller]
pub(crate) fn program(name: &str) -> String {
    // The system's own first: what a version manager puts in front of it takes a second to start.
    let path = std::env::var("PATH").unwrap_or_default();
    ["/usr/bin", "/bin"]
        .into_iter()
        .chain(path.split(':'))
        .map(|directory| format!("{directory}/{name}"))
        .find(|candidate| Path::new(candidate).is_file())
        .unwrap_or_else(|| panic!("{name} is not installed, and this test is about it"))
}

pub(crate) fn python() -> String {
    program("python3")
}

/// As a word of a shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A line of `/proc/PID/status`, without its name.
pub(crate) fn status(pid: i32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

pub(crate) fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The process between a session host and its tool.
#[track_caller]
pub(crate) fn leader_of(host: i32) -> i32 {
    eventually("the session's leader is there", || {
        children(host)
            .into_iter()
            .find(|&child| status(child, "Name").is_some_and(|name| name == "atlasbridge-tty"))
    })
}

#[track_caller]
pub(crate) fn tool_of(host: i32) -> i32 {
    let leader = leader_of(host);
    eventually("the tool runs", || {
        children(leader).first().copied().filter(|&tool| is_executed(tool, leader))
    })
}

/// It is no longer the copy of us that it was forked as.
fn is_executed(pid: i32, leader: i32) -> bool {
    let image = |pid: i32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    image(pid).is_some() && image(pid) != image(leader)
}

pub(crate) fn is_gone(pid: i32) -> bool {
    status(pid, "State").is_none_or(|state| state.starts_with('Z'))
}

/// Bytes without a pattern, the same for the same seed.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            // Xorshift, George Marsaglia, 2003.
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            bytes.extend(self.0.to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}

/// Where two byte strings part, for a failure that can be read.
#[track_caller]
pub(crate) fn assert_same_bytes(found: &[u8], expected: &[u8], what: &str) {
    if found == expected {
        return;
    }
    let at = found.iter().zip(expected).take_while(|(one, other)| one == other).count();
    let around = |bytes: &[u8]| {
        bytes[at.saturating_sub(20).min(bytes.len())..(at + 40).min(bytes.len())].escape_ascii().to_string()
    };
    panic!(
        "{what}: {} bytes instead of {}, parting at {at}:\n found    {}\n expected {}",
        found.len(),
        expected.len(),
        around(found),
        around(expected)
    );
}
