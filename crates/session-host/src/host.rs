//! The loop of a session host: what is ready → the part it belongs to → what follows from it.

mod answering;
mod deed;
mod hooks;
mod job;
mod remote_keys;
mod seeing;
mod stream;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use atlasbridge_detect::{Detector, Moment, Observation};
use atlasbridge_model::mask::mask_words;
use atlasbridge_model::{Sighting, SightingNo};
use atlasbridge_pty::{
    Child, Control, HostInput, HostOutput, InputKind, PollFd, PollFlags, ReadOutcome, Signal, Signals,
    SpawnConfig, Termios, TtyWait, WindowSize, boot_time, is_terminal, monotonic, poll, protect_this_process,
    spawn, window_size,
};
use atlasbridge_wire::session::{End, Inject, Report, SessionInfo};

use crate::captures::Captures;
use crate::events::Events;
use crate::gate::{Gate, GateConfig};
use crate::hooks::Hooks;
use crate::journal::Journal;
use crate::link::Link;
use crate::pause;
use crate::relay::{LineEnds, Relay, Turn};
use crate::terminal::OuterTerminal;
use crate::{Ended, HostConfig, RunError};
use deed::Deed;
use stream::Watch;

/// Between a polite request to end and SIGKILL (SPEC §5, `sessions stop`).
const STOP_GRACE: Duration = Duration::from_secs(3);
/// After the tool's end: how long its last words may take to come out of the PTY while something it left behind
/// still holds the terminal open. Also how long a stopped tool's may take.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// More than a PTY holds (8 KiB of buffers and 4 KiB of line discipline in Linux): what comes after this much was
/// written after the tool's end, by something it left behind, which may go on for ever.
const MOST_LAST_WORDS: usize = 64 * 1024;
/// A piped input has ended, and the tool does not read yet: how soon, and at the latest how often, to look again.
const FIRST_LOOK_FOR_READER: Duration = Duration::from_millis(5);
const LAST_LOOK_FOR_READER: Duration = Duration::from_secs(1);
/// After the tool's end: how long the hub may take to note it. A person waits for the shell's prompt meanwhile.
const LAST_NOTES: Duration = Duration::from_secs(1);
/// Window size where there is no terminal to ask.
const NO_TERMINAL: WindowSize = WindowSize { cols: 80, rows: 24, x_pixels: 0, y_pixels: 0 };
/// The keyboard is read in pieces of this size: what the kernel holds for one terminal.
const KEYS: usize = 4096;
/// How often in a row a look is put off because the tool has written more: in a flood it always has, and that a prompt
/// is gone must be noticed all the same. Looks are 20 ms apart then.
const MOST_LEFT_OPEN: u32 = 3;
/// An event loop that works for a moment reads nothing: how soon, each time twice as late, and how often a reply looks
/// again for somebody who reads. Together two seconds.
const FIRST_TRY_AGAIN: Duration = Duration::from_millis(4);
const MOST_TRIES: u32 = 9;
/// The same when everything else is ready and the intent is on disk: so short that nothing else need go on meanwhile.
const GLANCE: Duration = Duration::from_millis(1);
const MOST_GLANCES: u32 = 40;
/// Enter in its two forms, Ctrl-C, Ctrl-D: a person has answered with these.
const SENDS_A_LINE: [u8; 4] = [b'\r', b'\n', 0x03, 0x04];

/// Runs one tool to its end. The terminal is restored on every way out, panics included.
pub fn run(config: HostConfig) -> Result<Ended, RunError> {
    let events = match &config.events {
        Some(path) => Some(
            Events::open(path, config.session)
                .map_err(|source| RunError::Events { path: path.clone(), source })?,
        ),
        None => None,
    };
    let captures = match &config.captures {
        Some(path) => Some(
            Captures::open(path.clone(), config.session, config.tool.clone())
                .map_err(|source| RunError::Captures { path: path.clone(), source })?,
        ),
        None => None,
    };
    let signals = Signals::block(&[
        Signal::Winch,
        Signal::Child,
        Signal::Term,
        Signal::Hup,
        Signal::Int,
        Signal::Quit,
        Signal::Tstp,
        Signal::Cont,
        Signal::Usr1,
        Signal::Usr2,
    ])
    .map_err(RunError::Signals)?;
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let input = HostInput::open(&stdin).map_err(|source| RunError::Stream { stream: "input", source })?;
    let output = HostOutput::open(&stdout).map_err(|source| RunError::Stream { stream: "output", source })?;
    // Failing means an older kernel without the means: the session works, less protected.
    let _ = protect_this_process();

    // Without them dialogs are answered by their keys.
    let (hooks, deaf) = match config.hooks.clone().map(Hooks::listen).transpose() {
        Ok(hooks) => (hooks.unwrap_or_default(), None),
        Err(error) => (Hooks::default(), Some(error)),
    };
    let shows_terminal = is_terminal(&stdout);
    let mut terminal = match input.kind() {
        InputKind::Terminal => Some(OuterTerminal::of(&stdin, shows_terminal).map_err(RunError::Raw)?),
        InputKind::Stream | InputKind::Nobody => None,
    };
    let line_ends = match shows_terminal {
        true => LineEnds::OfTheTerminal,
        false => LineEnds::OfTheTool,
    };
    let size = terminal_size();
    let session = spawn(&SpawnConfig {
        program: &config.program,
        args: &config.args,
        env: config.env.clone(),
        size,
        termios: Termios::of(&stdin).or_else(|_| Termios::of(&stdout)).ok(),
        foreground: terminal.as_ref().is_none_or(OuterTerminal::may_take),
        outer_terminal: terminal.is_some().then(|| stdin.as_fd()),
    })?;
    if let Some(terminal) = &mut terminal {
        terminal.take_or_leave().map_err(RunError::Raw)?;
    }
    let host_pid = std::process::id() as i32;
    let started = || std::iter::once(&config.program).chain(&config.args).collect();
    let command: Vec<&OsString> = config.typed.as_ref().map_or_else(started, |typed| typed.iter().collect());
    let info = SessionInfo {
        session_id: config.session.to_string(),
        tool: config.tool.clone(),
        // It is stored and shown to operators: what looks like a secret stays here.
        command: mask_words(command.into_iter().map(|word| word.to_string_lossy())),
        cwd: config.cwd.to_string_lossy().into_owned(),
        label: config.label.clone(),
        host_pid,
        leader_pid: session.child.leader_pid(),
        started_at: config.started_at.0,
    };
    let mut host = Host {
        began: monotonic(),
        relay: Relay::new(session.reader, output, line_ends),
        gate: Gate::new(
            session.writer,
            Journal::new(config.journal.clone()),
            GateConfig {
                echo_window: config.echo_window,
                settle: config.inject_settle,
                answers_status_query: config.answers_status_query,
            },
        ),
        child: session.child,
        control: session.control,
        detector: Detector::new(config.detector.clone(), size.cols, size.rows),
        link: Link::new(config.socket.clone(), config.hub.clone(), config.version.clone(), info),
        events,
        captures,
        signals,
        keyboard: Keyboard { input, state: KeyboardState::Open, is_shown: true, ends_in_line: true },
        terminal,
        has_hung_up: false,
        is_alternate: false,
        hooks,
        unjoined: None,
        deed: None,
        late_until: Moment::default(),
        keys_after: config.keys_after,
        seen_at: Moment::default(),
        early: None,
        asked_by: None,
        sent_locally: false,
        last_key: None,
        is_half_typed_here: false,
        watch: Watch::default(),
        answered_locally: Vec::new(),
        left_open: 0,
        phase: Phase::Running,
    };
    if let Some(error) = deaf {
        let told =
            format!("the tool's hooks were not heard ({error}); its dialogs were read off the screen alone");
        host.link.notice(&told);
    }
    host.tell_guardian();
    let (end, not_started) = host.run()?;
    let code = end.code();
    host.leave_terminal();
    Ok(Ended { code, not_started, notices: host.link.notices() })
}

struct Host {
    began: Duration,
    relay: Relay,
    gate: Gate,
    child: Child,
    control: Control,
    detector: Detector,
    link: Link,
    events: Option<Events>,
    captures: Option<Captures>,
    signals: Signals,
    keyboard: Keyboard,
    /// The terminal that the keyboard belongs to, if it is one.
    terminal: Option<OuterTerminal>,
    /// The tool was told that nobody reads its output any more.
    has_hung_up: bool,
    is_alternate: bool,
    hooks: Hooks,
    /// A dialog that was seen before its request came, and how long it waits for it.
    unjoined: Option<(Sighting, Moment)>,
    /// The last answer to a dialog. Forgotten when another dialog is seen: it may ask for the same once more.
    deed: Option<Deed>,
    /// Until then keys were meant for a dialog that is gone.
    late_until: Moment,
    keys_after: Duration,
    /// When the current prompt was seen.
    seen_at: Moment,
    early: Option<Early>,
    /// The foreground process group when the current prompt was seen.
    asked_by: Option<i32>,
    /// A line was sent from the keyboard since the current prompt was seen: a tool that ends now has read it.
    sent_locally: bool,
    /// When the last key came from the keyboard, on the boot clock: a night of sleep counts.
    last_key: Option<Duration>,
    /// A line was begun at the keyboard, and not ended there.
    is_half_typed_here: bool,
    watch: Watch,
    /// Sightings that were answered at the keyboard: a reply that comes too late is told so. Bounded.
    answered_locally: Vec<SightingNo>,
    /// How often in a row the detector's question to the kernel was left open.
    left_open: u32,
    phase: Phase,
}

/// A reply that came before anybody takes keys, and when to look again.
struct Early {
    inject: Inject,
    due: Moment,
    /// How often nobody was found to read the terminal.
    tries: u32,
}

struct Keyboard {
    input: HostInput,
    state: KeyboardState,
    /// The tool's terminal shows what is typed, unless the tool wants otherwise. Not from the first byte on that came
    /// from a file or a pipe: it would stand in the output as if the tool had said it. A pipe that is silent, as a
    /// supervisor holds it open, changes nothing: the lines of those who answer from elsewhere end on the screen.
    is_shown: bool,
    /// No line was begun and not ended: one end-of-file character is enough.
    ends_in_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyboardState {
    Open,
    /// A file or pipe has ended. The tool is told so when it reads next: typed while a shell is still starting, the
    /// end of file would be a NUL by the time it reads.
    Ending {
        look_at: Moment,
        again_after: Duration,
    },
    Ended,
}

/// Where the session stands.
enum Phase {
    Running,
    /// Somebody asked the tool to end; it is killed then.
    Ending {
        kill_at: Moment,
        hung_up: bool,
    },
    /// The tool has ended; its last words are still coming.
    LastWords {
        end: End,
        until: Moment,
        heard: usize,
    },
    /// Everything is shown; the hub may still note it.
    LastNotes {
        end: End,
        until: Moment,
    },
}

/// What the poll found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Signals,
    Child,
    Tool,
    Terminal,
    Keyboard,
    Hub,
    Hooks,
}

impl Host {
    fn run(&mut self) -> Result<(End, Option<io::Error>), RunError> {
        loop {
            if let Some(end) = self.proceed() {
                let not_started = match end {
                    End::NotStarted { errno } => Some(io::Error::from_raw_os_error(errno)),
                    End::Exited { .. } | End::Signaled { .. } | End::Terminated { .. } => None,
                };
                return Ok((end, not_started));
            }
            for (source, flags) in self.wait().map_err(RunError::Wait)? {
                match source {
                    Source::Tool => self.on_tool(flags),
                    Source::Terminal => drop(self.relay.flush()),
                    Source::Keyboard => self.on_keys(),
                    Source::Signals => self.on_signals(),
                    Source::Child => self.on_child(),
                    Source::Hub => self.on_hub(flags),
                    Source::Hooks => self.on_hooks(),
                }
            }
        }
    }

    fn now(&self) -> Moment {
        Moment(monotonic().saturating_sub(self.began))
    }

    /// Somebody sits at the terminal, or sat there this long ago.
    fn typed_ms_ago(&self) -> Option<u64> {
        let ago = boot_time().saturating_sub(self.last_key?);
        u64::try_from(ago.as_millis()).ok()
    }

    /// Deadlines that have come, and whether the session is over.
    fn proceed(&mut self) -> Option<End> {
        let now = self.now();
        self.link.tick(now);
        if self.detector.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.observe(Observation::Deadline);
            // It may have ended a synchronized update.
            self.watch.stir();
        }
        if self.gate.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.look();
            self.end_typing();
        }
        self.end_input(now);
        self.announce_unjoined(now);
        if let Some(early) = self.early.take_if(|early| early.due <= now) {
            self.consider(&early.inject, early.tries);
        }
        match self.phase {
            Phase::Running => None,
            Phase::Ending { kill_at, hung_up } if kill_at <= now => {
                let _ = self.child.kill_tool();
                // A closed terminal waits for nobody; a killed tool is reported by its leader.
                self.phase = Phase::Ending { kill_at: now + STOP_GRACE, hung_up };
                hung_up
                    .then(|| self.finish(End::Terminated { code: 128 + Signal::Hup.number() }, now))
                    .flatten()
            }
            Phase::LastWords { end, until, heard }
                if self.relay.has_ended() || until <= now && (was_asked_to(end) || self.is_silent(heard)) =>
            {
                self.finish(end, now)
            }
            Phase::LastNotes { end, until } if until <= now || self.link.is_settled() => {
                if self.link.is_settled() {
                    self.gate.close();
                }
                Some(end)
            }
            Phase::Ending { .. } | Phase::LastWords { .. } | Phase::LastNotes { .. } => None,
        }
    }

    /// # The last words are shown
    /// However slowly the terminal takes them: the reader of `run -- seq 9999 | less` may take its time. Only what
    /// the tool itself can have said is waited for, and only while nobody has asked us to end.
    fn is_silent(&self, heard: usize) -> bool {
        !self.relay.wants_to_write() && (heard > MOST_LAST_WORDS || !self.relay.has_more())
    }

    /// The last words are shown: tell the hub, and wait a moment for it to note them.
    fn finish(&mut self, end: End, now: Moment) -> Option<End> {
        self.observe(Observation::ToolEnded);
        self.look();
        self.abandon_typing();
        self.link.report(Report::Ended(end));
        self.phase = Phase::LastNotes { end, until: now + LAST_NOTES };
        None
    }

    fn wait(&mut self) -> io::Result<Vec<(Source, PollFlags)>> {
        let now = self.now();
        let phase_deadline = match self.phase {
            Phase::Running => None,
            Phase::LastWords { end, .. } if self.relay.wants_to_write() && !was_asked_to(end) => None,
            Phase::Ending { kill_at: until, .. }
            | Phase::LastWords { until, .. }
            | Phase::LastNotes { until, .. } => Some(until),
        };
        let input_deadline = match self.keyboard.state {
            KeyboardState::Ending { look_at, .. } => Some(look_at),
            KeyboardState::Open | KeyboardState::Ended => None,
        };
        let picture = self.watch.due();
        let shows = picture.is_some_and(|due| due <= now);
        let deadline = [
            // One that is due waits for room in the socket, not for a time.
            picture.filter(|_| !shows),
            self.detector.next_deadline(),
            self.gate.next_deadline(),
            self.link.next_deadline(),
            self.early.as_ref().map(|early| early.due),
            self.unjoined.as_ref().map(|(_, due)| *due),
            input_deadline,
            phase_deadline,
        ]
        .into_iter()
        .flatten()
        .min();
        let mut sources = Vec::with_capacity(6);
        let mut descriptors = Vec::with_capacity(6);
        let mut watch = |source, descriptor, flags: PollFlags| {
            if !flags.is_empty() {
                sources.push(source);
                descriptors.push(PollFd::from_borrowed_fd(descriptor, flags));
            }
        };
        let is_over = matches!(self.phase, Phase::LastNotes { .. });
        let mut tool = PollFlags::empty();
        tool.set(PollFlags::IN, self.relay.wants_to_read() && !is_over);
        tool.set(PollFlags::OUT, self.gate.wants_to_write() && !is_over);
        watch(Source::Tool, self.relay.tool(), tool);
        if self.relay.wants_to_write() {
            watch(Source::Terminal, self.relay.terminal(), PollFlags::OUT);
        }
        if self.reads_keyboard(now) {
            watch(Source::Keyboard, self.keyboard.input.as_fd(), PollFlags::IN);
        }
        watch(Source::Signals, self.signals.as_fd(), PollFlags::IN);
        if matches!(self.phase, Phase::Running | Phase::Ending { .. }) {
            watch(Source::Child, self.child.as_fd(), PollFlags::IN);
        }
        if let Some((descriptor, wants_to_write)) = self.link.descriptor() {
            let mut hub = PollFlags::IN;
            hub.set(PollFlags::OUT, wants_to_write || shows);
            watch(Source::Hub, descriptor, hub);
        }
        for hook in self.hooks.descriptors() {
            watch(Source::Hooks, hook, PollFlags::IN);
        }
        poll(&mut descriptors, deadline.map(|deadline| deadline - now))?;
        Ok(sources
            .into_iter()
            .zip(descriptors.iter().map(PollFd::revents))
            .filter(|(_, flags)| !flags.is_empty())
            .collect())
    }

    /// Not beyond the tool's end: what is typed then is for the shell.
    fn reads_keyboard(&self, now: Moment) -> bool {
        self.keyboard.state == KeyboardState::Open
            && matches!(self.phase, Phase::Running | Phase::Ending { .. })
            && self.terminal.as_ref().is_none_or(OuterTerminal::is_ours)
            && self.gate.takes_keys(now, || self.control.unread_input().is_some_and(|unread| unread > 0))
    }

    fn on_tool(&mut self, flags: PollFlags) {
        if flags.contains(PollFlags::OUT) {
            // A terminal that takes no input shows as keys that wait; the tool's end clears them.
            let _ = self.gate.flush();
        }
        if !flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) || !self.relay.wants_to_read() {
            return;
        }
        let now = self.now();
        let was_closed = self.relay.is_closed();
        match self.relay.pump() {
            Ok(Turn::Data(bytes)) => {
                if let Some(injection) = self.gate.injection_mut() {
                    injection.has_reacted = true;
                }
                self.watch.stir();
                if let Phase::LastWords { heard, .. } = &mut self.phase {
                    *heard += bytes.len();
                }
                let events = self.detector.observe(Observation::Output(bytes), now);
                self.on_events(events);
                self.follow_alternate_screen();
            }
            Ok(Turn::Nothing) => {}
            Ok(Turn::End) | Err(_) => self.on_child(),
        }
        if self.relay.is_closed() {
            self.tell_closed(was_closed);
        }
    }

    /// Nobody reads the tool's output any more: said as a pipe without a reader or a closed terminal would say it.
    /// A tool that survives SIGPIPE expects its next write to fail; here that write is hung up on.
    fn tell_closed(&mut self, was_closed: bool) {
        if !was_closed && !is_terminal(self.relay.terminal()) {
            let _ = self.child.signal_tool(Signal::Pipe);
        } else if !self.has_hung_up {
            self.has_hung_up = true;
            let _ = self.child.signal_tool(Signal::Hup);
        }
    }

    fn on_keys(&mut self) {
        pause::point("host-on-keys");
        let mut keys = [0; KEYS];
        match self.keyboard.input.read(&mut keys) {
            Ok(ReadOutcome::Data(count)) => {
                let keys = &keys[..count];
                if self.come_too_late(keys) {
                    return;
                }
                if self.keyboard.is_shown && self.keyboard.input.kind() == InputKind::Stream {
                    self.keyboard.is_shown = false;
                    let _ = self.control.stop_echo();
                }
                self.keyboard.ends_in_line = keys.ends_with(b"\n");
                self.sent_locally |= keys.iter().any(|key| SENDS_A_LINE.contains(key));
                let _ = self.gate.type_local(keys);
                let before = self.now();
                self.observe(Observation::LocalInput(keys));
                self.note_presence(before);
            }
            Ok(ReadOutcome::WouldBlock) => {}
            Ok(ReadOutcome::End) | Err(_) => self.on_end_of_keys(),
        }
    }

    /// Somebody is there: a terminal's own replies and a pipe are nobody.
    fn note_presence(&mut self, before: Moment) {
        let was_key = self.detector.last_key().is_some_and(|key| key >= before);
        if was_key && self.keyboard.input.kind() == InputKind::Terminal {
            self.last_key = Some(boot_time());
            self.is_half_typed_here = self.detector.is_half_typed();
        }
    }

    /// The end of a file or pipe is the tool's end of file, as it would be without us. `/dev/null` is no keyboard that
    /// has ended but none at all: the session is answered from elsewhere.
    fn on_end_of_keys(&mut self) {
        self.keyboard.state = match self.keyboard.input.kind() {
            InputKind::Stream => {
                KeyboardState::Ending { look_at: self.now(), again_after: FIRST_LOOK_FOR_READER }
            }
            InputKind::Terminal | InputKind::Nobody => KeyboardState::Ended,
        };
    }

    fn end_input(&mut self, now: Moment) {
        let KeyboardState::Ending { look_at, again_after } = self.keyboard.state else {
            return;
        };
        if look_at > now {
            return;
        }
        let is_read = match self.control.probe().wait {
            TtyWait::Read | TtyWait::Poll => true,
            TtyWait::None => false,
            // Another user's program: it had time enough to start.
            TtyWait::Unknown => again_after == LAST_LOOK_FOR_READER,
        };
        if !is_read || self.gate.wants_to_write() {
            let again_after = (again_after * 2).min(LAST_LOOK_FOR_READER);
            self.keyboard.state = KeyboardState::Ending { look_at: now + again_after, again_after };
            return;
        }
        let mode = self.control.line_mode();
        // In the middle of a line the first one only hands over what there is of it.
        let ends = if mode.canonical && !self.keyboard.ends_in_line {
            &[mode.eof, mode.eof][..]
        } else {
            &[mode.eof]
        };
        let _ = self.gate.type_local(ends);
        self.observe(Observation::LocalInput(ends));
        self.keyboard.state = KeyboardState::Ended;
    }
}

/// The size of the terminal that shows the tool, or of the one that it is typed at.
fn terminal_size() -> WindowSize {
    window_size(io::stdout())
        .or_else(|_| window_size(io::stdin()))
        .ok()
        .filter(|size| size.cols > 0 && size.rows > 0)
        .unwrap_or(NO_TERMINAL)
}

/// Somebody wanted the session to end.
fn was_asked_to(end: End) -> bool {
    match end {
        End::Terminated { .. } => true,
        End::Exited { .. } | End::Signaled { .. } | End::NotStarted { .. } => false,
    }
}
