//! A tool on the person's own terminal, with everything that is shown and typed written down.
//!
//! As `run` does it, less the gate and the hub: raw mode, window size, job control, exit code. The detector rides along
//! for two reasons: it says when the kernel is worth asking, and what it saw is the draft of the recording's label.
//!
//! # A recording replays as it was seen
//! The clock counts whole microseconds, as the file does, and a deadline is observed at the moment at which it was due.
//! So a replay gives the detector the same observations at the same moments, and it sees the same prompts.

mod label;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use atlasbridge_detect::recording::Viewer;
use atlasbridge_detect::{DetectorConfig, Moment};
use atlasbridge_model::mask::mask;
use atlasbridge_pty::{
    Child, ChildEvent, Control, GuardianNote, HostInput, HostOutput, PollFd, PollFlags, RawTerminal,
    ReadOutcome, Signal, Signals, SpawnConfig, SpawnError, Stop, Termios, WindowSize, WriteHalf,
    WriteOutcome, is_terminal, monotonic, poll, spawn, stop_self, window_size,
};
use atlasbridge_session_host::Relay;
use atlasbridge_wire::session::End;
use serde_json::json;

use crate::cast::{CastWriter, create_private};

/// Between a polite request to end and SIGKILL, as in `run`.
const STOP_GRACE: Duration = Duration::from_secs(3);
/// After the tool's end: how long its last words may take, as in `run`.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What to record.
#[derive(Debug)]
pub struct RecordConfig {
    /// The tool's name as people know it.
    pub tool: String,
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The complete environment of the tool.
    pub env: Vec<(OsString, OsString)>,
    /// The recording; its draft label lies beside it, as `.json`.
    pub output: PathBuf,
    /// Seconds since 1970.
    pub started_at: u64,
    pub detector: DetectorConfig,
}

/// What came of it.
#[derive(Debug)]
pub struct RecordingResult {
    /// As a shell gives it: 128+n for signal n, 127 or 126 if the tool could not be started.
    pub code: i32,
    pub not_started: Option<io::Error>,
    pub label: PathBuf,
    pub prompts: usize,
    pub length: Duration,
    /// Keys were typed while the terminal did not show them, and are hidden in the recording.
    pub hides_keys: bool,
    /// Why the recording is not whole, if it is not. The tool ran on.
    pub trouble: Option<io::Error>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("lab record needs a terminal for input and output: run it at one, not in a pipe")]
    NoTerminal,
    #[error("{} exists; name another file with --output, or move it away", path.display())]
    Exists { path: PathBuf },
    #[error("creating {}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("using the terminal")]
    Terminal(#[from] io::Error),
    #[error("starting the tool")]
    Spawn(#[from] SpawnError),
    #[error("waiting for terminal and tool")]
    Wait(#[source] io::Error),
}

/// Runs the tool to its end and writes the recording and the draft of its label.
pub fn record(config: &RecordConfig) -> Result<RecordingResult, RecordError> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    if !is_terminal(&stdin) || !is_terminal(&stdout) {
        return Err(RecordError::NoTerminal);
    }
    let label = config.output.with_extension("json");
    if let Some(path) = [&config.output, &label].into_iter().find(|path| path.exists()) {
        return Err(RecordError::Exists { path: path.clone() });
    }
    let signals = Signals::block(&[
        Signal::WINCH,
        Signal::TERM,
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TSTP,
        Signal::CONT,
    ])?;
    let size = window_size(&stdout)?;
    let viewer = Viewer::new(config.detector.clone(), size.ws_col, size.ws_row);
    let cast = CastWriter::create(&config.output, &header(config, size), viewer)
        .map_err(|source| RecordError::Create { path: config.output.clone(), source })?;
    let session = spawn(&SpawnConfig {
        program: &config.program,
        args: &config.args,
        env: config.env.clone(),
        size,
        termios: Termios::of(&stdin).ok(),
        foreground: true,
        outer_terminal: Some(std::os::fd::AsFd::as_fd(&stdin)),
    })?;
    let terminal = HostOutput::open(&stdout)?;
    let mut recorder = Recorder {
        began: monotonic(),
        cast,
        child: session.child,
        control: session.control,
        writer: session.writer,
        signals,
        raw: RawTerminal::enter(&stdin, false)?,
        keyboard: HostInput::open(&stdin)?,
        keyboard_open: true,
        relay: Relay::new(session.reader, terminal, true),
        untyped: Vec::new(),
        kill_at: None,
        end: None,
        last_due: Moment::default(),
    };
    recorder.tell_guardian();
    let end = recorder.run().map_err(RecordError::Wait)?;
    Ok(recorder.finish(end, config, size, label))
}

fn header(config: &RecordConfig, size: WindowSize) -> serde_json::Value {
    let variable = |name: &str| {
        let found = config.env.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    };
    json!({
        "version": 2,
        "width": size.ws_col,
        "height": size.ws_row,
        "timestamp": config.started_at,
        "env": { "TERM": variable("TERM"), "SHELL": variable("SHELL") },
        "title": config.tool,
        "command": mask(&command_line(config).join(" ")),
    })
}

fn command_line(config: &RecordConfig) -> Vec<String> {
    std::iter::once(&config.program)
        .chain(&config.args)
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

#[derive(Debug)]
struct Recorder {
    began: Duration,
    cast: CastWriter,
    child: Child,
    control: Control,
    writer: WriteHalf,
    signals: Signals,
    raw: RawTerminal,
    keyboard: HostInput,
    keyboard_open: bool,
    relay: Relay,
    /// What the tool has not taken yet. The keyboard is not read meanwhile.
    untyped: Vec<u8>,
    kill_at: Option<Moment>,
    /// How the tool ended, and when its last words must have been said.
    end: Option<(End, Moment)>,
    /// The latest deadline that has come.
    last_due: Moment,
}

impl Recorder {
    fn run(&mut self) -> io::Result<End> {
        loop {
            let now = self.now();
            self.let_come(now)?;
            if self.kill_at.is_some_and(|at| at <= now) {
                let _ = self.child.signal_tool(Signal::KILL);
                self.kill_at = None;
            }
            if let Some((end, until)) = self.end
                && (self.relay.has_ended() || until <= now && !self.relay.wants_to_write())
            {
                return Ok(end);
            }
            self.wait(now)?;
            self.on_tool()?;
            self.on_keys()?;
            self.on_signals();
            self.on_child();
        }
    }

    /// Deadlines that have come, each at its own moment.
    ///
    /// As in `run`, the kernel's word counts only for the screen that was read. Output that it is ahead of is read
    /// first, and noted as of the deadline, so that a replay takes it before the look, too.
    fn let_come(&mut self, now: Moment) -> io::Result<()> {
        while let Some(due) = self.cast.viewer.detector.next_deadline().filter(|due| *due <= now) {
            self.last_due = due;
            match self.relay.ask_kernel(&self.control) {
                Some(kernel) => self.cast.look(due, kernel),
                None => self.read_tool(due)?,
            }
        }
        Ok(())
    }

    /// Whole microseconds, as the file counts; and later than every deadline that has come, for in a replay what
    /// happens at the moment of a deadline comes before it.
    fn now(&self) -> Moment {
        let elapsed = monotonic().saturating_sub(self.began);
        let now = Moment(Duration::from_micros(elapsed.as_micros() as u64));
        now.max(self.last_due + Duration::from_micros(1))
    }

    fn wait(&mut self, now: Moment) -> io::Result<()> {
        let deadline = [
            self.cast.viewer.detector.next_deadline(),
            self.kill_at,
            self.end.map(|(_, until)| until).filter(|_| !self.relay.wants_to_write()),
        ];
        let limit = deadline.into_iter().flatten().min().map(|due| due - now);
        if limit.is_none_or(|limit| !limit.is_zero()) {
            self.cast.flush();
        }
        let mut tool = PollFlags::empty();
        tool.set(PollFlags::IN, self.relay.wants_to_read());
        tool.set(PollFlags::OUT, !self.untyped.is_empty());
        let mut descriptors = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if !tool.is_empty() {
            descriptors.push(PollFd::from_borrowed_fd(self.relay.tool(), tool));
        }
        if self.relay.wants_to_write() {
            descriptors.push(PollFd::from_borrowed_fd(self.relay.terminal(), PollFlags::OUT));
        }
        if self.reads_keyboard() {
            descriptors.push(PollFd::new(&self.keyboard, PollFlags::IN));
        }
        if self.end.is_none() {
            descriptors.push(PollFd::new(&self.child, PollFlags::IN));
        }
        poll(&mut descriptors, limit).map(drop)
    }

    fn reads_keyboard(&self) -> bool {
        self.keyboard_open && self.end.is_none() && self.untyped.is_empty()
    }

    /// The terminal gets the bytes first, then the recording, then the detector.
    fn on_tool(&mut self) -> io::Result<()> {
        self.relay.flush()?;
        let now = self.now();
        self.let_come(now)?;
        self.read_tool(now)
    }

    fn read_tool(&mut self, at: Moment) -> io::Result<()> {
        if !self.relay.wants_to_read() {
            return Ok(());
        }
        match self.relay.pump()? {
            ReadOutcome::Data(count) => self.cast.output(at, self.relay.read(count)),
            ReadOutcome::WouldBlock => {}
            ReadOutcome::End => self.on_child(),
        }
        Ok(())
    }

    fn on_keys(&mut self) -> io::Result<()> {
        if self.reads_keyboard() {
            let mut keys = [0; 4096];
            match self.keyboard.read(&mut keys)? {
                ReadOutcome::Data(count) => {
                    let keys = keys.get(..count).unwrap_or_default();
                    let is_shown = self.control.line_mode().echo;
                    let now = self.now();
                    self.let_come(now)?;
                    self.cast.keys(now, keys, is_shown);
                    self.untyped.extend_from_slice(keys);
                }
                ReadOutcome::WouldBlock => {}
                ReadOutcome::End => self.keyboard_open = false,
            }
        }
        while !self.untyped.is_empty() {
            match self.writer.write(&self.untyped)? {
                WriteOutcome::Wrote(count) => drop(self.untyped.drain(..count)),
                WriteOutcome::WouldBlock => return Ok(()),
                WriteOutcome::Closed => self.untyped.clear(),
            }
        }
        Ok(())
    }

    fn on_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                Signal::WINCH => self.resize(),
                Signal::TERM | Signal::HUP => {
                    let _ = self.child.signal_tool(signal);
                    let _ = self.child.signal_tool(Signal::CONT);
                    self.kill_at = Some(self.now() + STOP_GRACE);
                }
                Signal::INT | Signal::QUIT | Signal::TSTP => {
                    let _ = self.child.signal_foreground(signal);
                }
                Signal::CONT => self.come_back(),
                // Not asked for: they act, or are ignored.
                _ => {}
            }
        }
    }

    fn resize(&mut self) {
        if let Ok(size) = window_size(io::stdout()) {
            let _ = self.control.resize(size);
            let now = self.now();
            let _ = self.let_come(now);
            self.cast.resized(now, size);
        }
    }

    fn on_child(&mut self) {
        while let Ok(Some(event)) = self.child.next_event() {
            let end = match event {
                ChildEvent::Started { .. } | ChildEvent::Continued => continue,
                ChildEvent::Stopped { .. } => {
                    self.stop();
                    continue;
                }
                ChildEvent::Exited { code } => End::Exited { code },
                ChildEvent::Signaled { signal } => End::Signaled { signal },
                ChildEvent::ExecFailed { errno } => End::NotStarted { errno },
                ChildEvent::LeaderLost => End::Signaled { signal: Signal::HUP.as_raw() },
            };
            self.end = Some((end, self.now() + LAST_WORDS));
        }
    }

    /// The tool was stopped, as by Ctrl-Z: stop as well, so that the shell takes over, and come back with it.
    fn stop(&mut self) {
        let _ = self.raw.suspend();
        self.tell_guardian();
        self.cast.flush();
        if !matches!(stop_self(Signal::TSTP), Ok(Stop::Continued)) {
            self.come_back();
        }
    }

    fn come_back(&mut self) {
        let _ = self.raw.resume();
        self.tell_guardian();
        self.resize();
        let _ = self.child.signal_tool(Signal::CONT);
    }

    fn tell_guardian(&self) {
        let _ = self.child.note(&GuardianNote {
            restore: self.raw.change(),
            alternate_screen: self.cast.viewer.detector.screen().is_alternate(),
        });
    }

    fn finish(
        mut self,
        end: End,
        config: &RecordConfig,
        size: WindowSize,
        label: PathBuf,
    ) -> RecordingResult {
        let now = self.now();
        self.cast.ended(now);
        let _ = self.raw.suspend();
        self.tell_guardian();
        self.cast.flush();
        let cast = self.cast;
        let draft = label::draft(config, size, end.code(), now, &cast.viewer.seen);
        let written = create_private(&label).and_then(|mut file| writeln!(file, "{draft:#}"));
        RecordingResult {
            code: end.code(),
            not_started: match end {
                End::NotStarted { errno } => Some(io::Error::from_raw_os_error(errno)),
                End::Exited { .. } | End::Signaled { .. } | End::Terminated { .. } => None,
            },
            label,
            prompts: cast.viewer.seen.len(),
            length: now.0,
            hides_keys: cast.hides_keys,
            trouble: cast.trouble.or(written.err()),
        }
    }
}
