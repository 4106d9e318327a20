//! The stage of a rehearsal: a home, a hub, a terminal with `atlasbridge run` on it. All of it goes with the value.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use atlasbridge_detect::{Detector, DetectorConfig, Moment, Observation};
use atlasbridge_pty::{
    ChildEvent, PollFd, PollFlags, ReadOutcome, Session, Signals, SpawnConfig, WindowSize, WriteOutcome,
    adopt_orphans, end_children, poll, spawn, spawn_detached,
};
use atlasbridge_wire::command::{Request, Response};
use serde_json::Value;

use super::operator::{Operator, OperatorAct};
use super::peer::Peer;
use super::{LabConfig, RehearseError};
use crate::scenario::Scenario;

const PRELUDE: &str = include_str!("../../scenarios/prelude.sh");
const SIZE: WindowSize = WindowSize { ws_col: 100, ws_row: 30, ws_xpixel: 0, ws_ypixel: 0 };
/// How long a hub may take to start.
const HUB_START: Duration = Duration::from_secs(30);
/// How long a killed process may take to be gone: as long as the kernel needs, and no longer than anybody waits.
const KILLED: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Stage {
    home: Home,
    session: Session,
    watcher: Peer,
    speaker: Peer,
    host: Option<i32>,
    has_ended: bool,
    /// Asked only for what stood there when something failed.
    terminal: Detector,
    memory: Vec<u64>,
}

impl Stage {
    pub(crate) fn set(scenario: &Scenario, config: &LabConfig) -> Result<Self, RehearseError> {
        adopt_orphans().map_err(RehearseError::Adopt)?;
        let home = Home::make(scenario, config)?;
        home.start_hub(config)?;
        let socket = home.path("home/hub.sock");
        let mut watcher = Peer::connect(&socket)?;
        let speaker = Peer::connect(&socket)?;
        watcher.send(&Request::Watch)?;
        let session = spawn(&SpawnConfig {
            program: config.program.as_os_str(),
            args: &home.run_arguments(scenario),
            env: home.environment(config),
            size: SIZE,
            termios: None,
            foreground: true,
            outer_terminal: None,
        })?;
        Ok(Self {
            home,
            session,
            watcher,
            speaker,
            host: None,
            has_ended: false,
            terminal: Detector::new(DetectorConfig::default(), SIZE.ws_col, SIZE.ws_row),
            memory: Vec::new(),
        })
    }

    /// Lets the tool run to its end, or to the first problem.
    pub(crate) fn play(
        &mut self,
        operator: &mut Operator,
        interrupts: &Signals,
        deadline: Instant,
    ) -> Result<(), RehearseError> {
        while !self.has_ended && operator.problems.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                operator.fail(format!("the time was up before {}", operator.expectation()));
                break;
            }
            self.wait(interrupts, left).map_err(RehearseError::Wait)?;
            if let Some(signal) = interrupts.next() {
                return Err(RehearseError::Interrupted(signal));
            }
            self.take_output();
            self.attend(operator)?;
            self.follow_child(operator);
        }
        if !operator.problems.is_empty() {
            operator.fail(format!("the terminal showed:\n{}", self.terminal.screen().text()));
        }
        Ok(())
    }

    fn wait(&self, interrupts: &Signals, limit: Duration) -> io::Result<()> {
        let mut descriptors = [
            PollFd::new(&self.session.reader, PollFlags::IN),
            PollFd::new(&self.session.child, PollFlags::IN),
            PollFd::new(&self.watcher, PollFlags::IN),
            PollFd::new(&self.speaker, PollFlags::IN),
            PollFd::new(interrupts, PollFlags::IN),
        ];
        poll(&mut descriptors, Some(limit)).map(drop)
    }

    fn take_output(&mut self) {
        let mut buffer = [0; 64 * 1024];
        if let Ok(ReadOutcome::Data(count)) = self.session.reader.read(&mut buffer) {
            let output = buffer.get(..count).unwrap_or_default();
            self.terminal.observe(Observation::Output(output), Moment::default());
        }
    }

    fn attend(&mut self, operator: &mut Operator) -> Result<(), RehearseError> {
        let offered_before = operator.offered.len();
        let mut effects = Vec::new();
        for response in self.watcher.hear()? {
            if let Response::Approvals { prompts } = response {
                effects.extend(operator.watched(prompts, SystemTime::now()));
            } else {
                operator.fail(format!("the hub does not let us watch: {response:?}"));
            }
        }
        for response in self.speaker.hear()? {
            effects.extend(operator.responded(response, SystemTime::now()));
        }
        if operator.offered.len() > offered_before {
            self.memory.extend(self.host.and_then(own_kib));
        }
        for effect in effects {
            match effect {
                OperatorAct::Ask(request) => self.speaker.send(&request)?,
                OperatorAct::Type(keys) => self.type_keys(&keys, operator),
            }
        }
        Ok(())
    }

    /// A few keys: a terminal that does not take them at once is a problem.
    fn type_keys(&mut self, keys: &str, operator: &mut Operator) {
        match self.session.writer.write(keys.as_bytes()) {
            Ok(WriteOutcome::Wrote(count)) if count == keys.len() => {}
            other => operator.fail(format!("the terminal did not take {keys:?}: {other:?}")),
        }
    }

    fn follow_child(&mut self, operator: &mut Operator) {
        while let Ok(Some(event)) = self.session.child.next_event() {
            let code = match event {
                ChildEvent::Started { pid } => {
                    self.host = Some(pid);
                    continue;
                }
                ChildEvent::Stopped { .. } | ChildEvent::Continued => continue,
                ChildEvent::Exited { code } => code,
                ChildEvent::Signaled { signal } => 128 + signal,
                ChildEvent::ExecFailed { errno } => {
                    operator.fail(format!(
                        "`atlasbridge run` could not be started: {}",
                        io::Error::from_raw_os_error(errno)
                    ));
                    -1
                }
                ChildEvent::LeaderLost => -1,
            };
            self.has_ended = true;
            operator.ended(code);
        }
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.home.path("log")
    }

    /// What is to be found fault with after the end: prompts that came and went unoffered, and memory.
    pub(crate) fn problems(&self, scenario: &Scenario) -> Vec<String> {
        let mut problems = Vec::new();
        let seen = self.home.seen();
        if seen.len() != scenario.prompts.len() {
            problems.push(format!(
                "{} prompts were seen instead of {}: {}",
                seen.len(),
                scenario.prompts.len(),
                seen.join(" · ")
            ));
        }
        if let (Some((before, after)), Some(limit)) = (self.memory(), scenario.growth_kib)
            && after > before + limit
        {
            problems.push(format!(
                "the session host grew from {before} KiB to {after} KiB, more than {limit} KiB"
            ));
        }
        problems
    }

    /// At the first and at the last prompt.
    pub(crate) fn memory(&self) -> Option<(u64, u64)> {
        Some((*self.memory.first()?, *self.memory.last()?))
    }
}

/// The directory of one rehearsal, and its hub.
#[derive(Debug)]
struct Home {
    directory: PathBuf,
}

impl Home {
    fn make(scenario: &Scenario, config: &LabConfig) -> Result<Self, RehearseError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = Self { directory: config.scratch.join(format!("ab-lab-{}-{number}", std::process::id())) };
        home.fill(scenario).map_err(|source| RehearseError::Home { path: home.directory.clone(), source })?;
        Ok(home)
    }

    fn fill(&self, scenario: &Scenario) -> io::Result<()> {
        private_directory(&self.directory)?;
        private_directory(&self.path("home"))?;
        fs::write(self.path("tool"), format!("{PRELUDE}{}", scenario.script))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn environment(&self, config: &LabConfig) -> Vec<(OsString, OsString)> {
        let ours: [(&str, OsString); 4] = [
            ("ATLASBRIDGE_HOME", self.path("home").into()),
            ("LAB_LOG", self.path("log").into()),
            ("TERM", "xterm-256color".into()),
            // A point in the log's times, and characters that are not ASCII.
            ("LC_ALL", "C.UTF-8".into()),
        ];
        let theirs = config.env.iter().filter(|(name, _)| !ours.iter().any(|(our, _)| name == our)).cloned();
        theirs.chain(ours.iter().map(|(name, value)| (name.into(), value.clone()))).collect()
    }

    fn run_arguments(&self, scenario: &Scenario) -> Vec<OsString> {
        let words = ["run", "--quiet", "--label", scenario.id, "--events"].map(OsString::from);
        let tool = ["--", "bash", "--norc", "--noprofile"].map(OsString::from);
        words
            .into_iter()
            .chain([self.path("events").into()])
            .chain(tool)
            .chain([self.path("tool").into()])
            .collect()
    }

    fn start_hub(&self, config: &LabConfig) -> Result<(), RehearseError> {
        let failed = |source| RehearseError::Hub { log: self.path("home/hub.log"), source };
        let args = ["hub", "serve", "--background"].map(OsString::from);
        let ready = spawn_detached(&config.program, &args, &self.environment(config)).map_err(failed)?;
        poll(&mut [PollFd::new(&ready, PollFlags::IN)], Some(HUB_START)).map_err(failed)?;
        match fs::File::from(ready).read(&mut [0; 16]) {
            Ok(1..) => Ok(()),
            Ok(_) => Err(failed(io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(failed(error)),
        }
    }

    /// The prompts that the session host saw, also those that were gone before anybody could be told.
    fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("events")).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events
            .filter(|event| event["event"] == "seen")
            .map(|event| format!("{} {}", event["kind"], event["excerpt"]))
            .collect()
    }
}

/// # No process is left
/// Everything that a rehearsal starts stays below this process. It is ended and collected before the directory goes: a hub
/// that were only told to stop would still write there, and a session host start another one.
impl Drop for Home {
    fn drop(&mut self) {
        let _ = end_children(KILLED);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Memory of a process that is its own and no file's; readable also where the process is hardened.
fn own_kib(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}
