//! The loop of a session host: what is ready → the part it belongs to → what follows from it.

mod answering;
mod deed;
mod hooks;
mod job;
mod keyboard;
mod remote_keys;
mod seeing;
mod stream;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use atlasbridge_detect::{Detector, Moment, Observation};
use atlasbridge_model::mask::mask_words;
use atlasbridge_pty::{
    Child, Control, HostInput, HostOutput, InputKind, PollFd, PollFlags, ReadOutcome, Signal, Signals,
    SpawnConfig, Termios, WindowSize, is_terminal, monotonic, poll, protect_this_process, spawn, window_size,
};
use atlasbridge_wire::session::{End, Report, SessionInfo};

use crate::captures::Captures;
use crate::events::Events;
use crate::gate::Gate;
use crate::hooks::Hooks;
use crate::journal::Journal;
use crate::link::Link;
use crate::prompt::{PromptEvent, Prompts};
use crate::relay::Relay;
use crate::terminal::OuterTerminal;
use crate::{Ended, HostConfig, RunError};
use deed::Deed;
use keyboard::Keyboard;
use stream::Watcher;

/// Between a polite request to end and SIGKILL (SPEC §5, `sessions stop`).
const STOP_GRACE: Duration = Duration::from_secs(3);
/// After the tool's end: how long its last words may take to come out of the PTY while something it left behind
/// still holds the terminal open. Also how long a stopped tool's may take.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// More than a PTY holds (8 KiB of buffers and 4 KiB of line discipline in Linux): what comes after this much was
/// written after the tool's end, by something it left behind, which may go on for ever.
const MOST_LAST_WORDS: usize = 64 * 1024;
/// After the tool's end: how long the hub may take to note it. A person waits for the shell's prompt meanwhile.
const LAST_NOTES: Duration = Duration::from_secs(1);
/// Window size where there is no terminal to ask.
const NO_TERMINAL: WindowSize = WindowSize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
/// Those that are read as events; the others act, or are ignored.
const SIGNALS: [Signal; 10] = [
    Signal::WINCH,
    Signal::CHILD,
    Signal::TERM,
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TSTP,
    Signal::CONT,
    Signal::USR1,
    Signal::USR2,
];

/// Runs one tool to its end. The terminal is restored on every way out, panics included.
pub fn run(config: HostConfig) -> Result<Ended, RunError> {
    let mut host = Host::start(config)?;
    host.tell_guardian();
    let end = host.run()?;
    host.leave_terminal();
    let not_started = match end {
        End::NotStarted { errno } => Some(io::Error::from_raw_os_error(errno)),
        End::Exited { .. } | End::Signaled { .. } | End::Terminated { .. } => None,
    };
    Ok(Ended { code: end.code(), not_started, notices: host.link.notices() })
}

struct Host {
    began: Duration,
    relay: Relay,
    gate: Gate,
    child: Child,
    control: Control,
    detector: Detector,
    prompts: Prompts,
    hooks: Hooks,
    link: Link,
    keyboard: Keyboard,
    signals: Signals,
    /// Somebody elsewhere looks at the screen.
    watch: Option<Watcher>,
    events: Events,
    captures: Captures,
    /// The last answer to a dialog. Forgotten when another dialog is seen: it may ask for the same once more.
    deed: Option<Deed>,
    phase: Phase,
}

/// Where the session stands.
enum Phase {
    /// The tool runs, or starts.
    Running,
    /// Somebody asked the tool to end; it is killed then.
    Ending { kill_at: Moment, hung_up: bool },
    /// The tool has ended; its last words are still coming. So many bytes of them were heard.
    LastWords { end: End, until: Moment, heard: usize },
    /// Everything is shown; the hub may still note it.
    LastNotes { end: End, until: Moment },
}

/// What is done when a descriptor is ready.
type Handler = fn(&mut Host, PollFlags);

impl Host {
    fn start(config: HostConfig) -> Result<Self, RunError> {
        let HostConfig { session, command, files, .. } = &config;
        let events = Events::open(files.events.as_deref(), *session)?;
        let captures = Captures::open(files.captures.clone(), *session, config.tool.clone())?;
        let signals = Signals::block(&SIGNALS).map_err(RunError::Signals)?;
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let input = HostInput::open(&stdin).map_err(|source| RunError::Stream { stream: "input", source })?;
        let output =
            HostOutput::open(&stdout).map_err(|source| RunError::Stream { stream: "output", source })?;
        // Failing means an older kernel without the means: the session works, less protected.
        let _ = protect_this_process();
        // Without them dialogs are answered by their keys.
        let hooks = files.hooks.clone().map(Hooks::listen).transpose();
        let shows_terminal = is_terminal(&stdout);
        let mut terminal = match input.kind() {
            InputKind::Terminal => Some(OuterTerminal::of(&stdin, shows_terminal).map_err(RunError::Raw)?),
            InputKind::Stream | InputKind::Nobody => None,
        };
        let size = terminal_size();
        let spawned = spawn(&SpawnConfig {
            program: &command.program,
            args: &command.args,
            env: command.env.clone(),
            size,
            termios: Termios::of(&stdin).or_else(|_| Termios::of(&stdout)).ok(),
            foreground: terminal.as_ref().is_none_or(OuterTerminal::may_take),
            outer_terminal: terminal.is_some().then(|| stdin.as_fd()),
        })?;
        if let Some(terminal) = &mut terminal {
            terminal.take_or_leave().map_err(RunError::Raw)?;
        }
        let info = info(&config, spawned.child.leader_pid());
        let mut link = Link::new(files.socket.clone(), config.hub.clone(), &config.version, info);
        if let Err(error) = &hooks {
            link.notice(&format!(
                "the tool's hooks were not heard ({error}); its dialogs were read off the screen alone"
            ));
        }
        Ok(Self {
            began: monotonic(),
            relay: Relay::new(spawned.reader, output, shows_terminal),
            gate: Gate::new(spawned.writer, Journal::new(files.journal.clone()), config.gate),
            child: spawned.child,
            control: spawned.control,
            prompts: Prompts::new(config.keys_after),
            detector: Detector::new(config.detector, size.ws_col, size.ws_row),
            hooks: hooks.ok().flatten().unwrap_or_default(),
            link,
            keyboard: Keyboard::new(input, terminal),
            signals,
            watch: None,
            events,
            captures,
            deed: None,
            phase: Phase::Running,
        })
    }

    fn run(&mut self) -> Result<End, RunError> {
        loop {
            if let Some(end) = self.proceed() {
                return Ok(end);
            }
            for (handler, flags) in self.wait().map_err(RunError::Wait)? {
                handler(self, flags);
            }
        }
    }

    fn now(&self) -> Moment {
        Moment(monotonic().saturating_sub(self.began))
    }

    /// The tool has ended, and perhaps its last words are still to be shown.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::LastWords { .. } | Phase::LastNotes { .. })
    }

    /// Deadlines that have come, and whether the session is over.
    fn proceed(&mut self) -> Option<End> {
        let now = self.now();
        self.link.tick(now);
        if self.detector.next_deadline().is_some_and(|deadline| deadline <= now) {
            let was_alternate = self.detector.screen().is_alternate();
            self.observe(Observation::Deadline);
            // It may have ended a synchronized update.
            self.stir();
            self.follow_alternate_screen(was_alternate);
        }
        if self.gate.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.look();
            self.end_typing();
        }
        self.end_input(now);
        self.step(PromptEvent::Tick);
        match self.phase {
            Phase::Running => None,
            Phase::Ending { kill_at, hung_up } if kill_at <= now => {
                let _ = self.child.signal_tool(Signal::KILL);
                // A closed terminal waits for nobody; a killed tool is reported by its leader.
                self.phase = Phase::Ending { kill_at: now + STOP_GRACE, hung_up };
                hung_up
                    .then(|| self.finish(End::Terminated { code: 128 + Signal::HUP.as_raw() }, now))
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

    fn wait(&mut self) -> io::Result<Vec<(Handler, PollFlags)>> {
        let now = self.now();
        let phase_deadline = match self.phase {
            Phase::Running => None,
            Phase::LastWords { end, .. } if self.relay.wants_to_write() && !was_asked_to(end) => None,
            Phase::Ending { kill_at: until, .. }
            | Phase::LastWords { until, .. }
            | Phase::LastNotes { until, .. } => Some(until),
        };
        let picture = self.watch.as_ref().and_then(Watcher::due);
        let shows = picture.is_some_and(|due| due <= now);
        let deadline = [
            // One that is due waits for room in the socket, not for a time.
            picture.filter(|_| !shows),
            self.detector.next_deadline(),
            self.gate.next_deadline(),
            self.link.next_deadline(),
            self.prompts.next_deadline(),
            self.keyboard.next_deadline(),
            phase_deadline,
        ]
        .into_iter()
        .flatten()
        .min();
        let mut handlers = Vec::with_capacity(6);
        let mut descriptors = Vec::with_capacity(6);
        let mut watch = |descriptor, flags: PollFlags, handler: Handler| {
            if !flags.is_empty() {
                handlers.push(handler);
                descriptors.push(PollFd::from_borrowed_fd(descriptor, flags));
            }
        };
        let is_over = matches!(self.phase, Phase::LastNotes { .. });
        let mut tool = PollFlags::empty();
        tool.set(PollFlags::IN, self.relay.wants_to_read() && !is_over);
        tool.set(PollFlags::OUT, self.gate.wants_to_write() && !is_over);
        watch(self.relay.tool(), tool, Self::on_tool);
        if self.relay.wants_to_write() {
            watch(self.relay.terminal(), PollFlags::OUT, |host, _| drop(host.relay.flush()));
        }
        if self.reads_keyboard(now) {
            watch(self.keyboard.input.as_fd(), PollFlags::IN, |host, _| host.on_keys());
        }
        watch(self.signals.as_fd(), PollFlags::IN, |host, _| host.on_signals());
        if matches!(self.phase, Phase::Running | Phase::Ending { .. }) {
            watch(self.child.as_fd(), PollFlags::IN, |host, _| host.on_child());
        }
        if let Some((descriptor, wants_to_write)) = self.link.descriptor() {
            let mut hub = PollFlags::IN;
            hub.set(PollFlags::OUT, wants_to_write || shows);
            watch(descriptor, hub, Self::on_hub);
        }
        for hook in self.hooks.descriptors() {
            watch(hook, PollFlags::IN, |host, _| host.on_hooks());
        }
        poll(&mut descriptors, deadline.map(|deadline| deadline - now))?;
        let ready = handlers.into_iter().zip(descriptors.iter().map(PollFd::revents));
        Ok(ready.filter(|(_, flags)| !flags.is_empty()).collect())
    }

    fn on_tool(&mut self, flags: PollFlags) {
        if flags.contains(PollFlags::OUT) {
            self.gate.flush();
        }
        if !flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) || !self.relay.wants_to_read() {
            return;
        }
        let now = self.now();
        let was_closed = self.relay.is_closed();
        let was_alternate = self.detector.screen().is_alternate();
        match self.relay.pump() {
            Ok(ReadOutcome::Data(count)) => {
                if let Some(injection) = self.gate.injection_mut() {
                    injection.has_reacted = true;
                }
                self.stir();
                if let Phase::LastWords { heard, .. } = &mut self.phase {
                    *heard += count;
                }
                let events = self.detector.observe(Observation::Output(self.relay.read(count)), now);
                self.on_events(events);
                self.follow_alternate_screen(was_alternate);
            }
            Ok(ReadOutcome::WouldBlock) => {}
            Ok(ReadOutcome::End) | Err(_) => self.on_child(),
        }
        if self.relay.is_closed() {
            self.tell_closed(was_closed);
        }
    }

    /// Nobody reads the tool's output any more: said as a pipe without a reader or a closed terminal would say it.
    /// A tool that survives SIGPIPE expects its next write to fail; here that write is hung up on.
    fn tell_closed(&mut self, was_closed: bool) {
        if !was_closed && !is_terminal(self.relay.terminal()) {
            let _ = self.child.signal_tool(Signal::PIPE);
        } else if self.relay.hang_up() {
            let _ = self.child.signal_tool(Signal::HUP);
        }
    }
}

/// How the session introduces itself. It is stored and shown to operators: what looks like a secret stays here.
fn info(config: &HostConfig, leader_pid: i32) -> SessionInfo {
    let command = &config.command;
    let started = || std::iter::once(&command.program).chain(&command.args).collect();
    let words: Vec<&OsString> = command.typed.as_ref().map_or_else(started, |typed| typed.iter().collect());
    SessionInfo {
        session_id: config.session.to_string(),
        tool: config.tool.clone(),
        command: mask_words(words.into_iter().map(|word| word.to_string_lossy())),
        cwd: command.cwd.to_string_lossy().into_owned(),
        label: config.label.clone(),
        host_pid: std::process::id() as i32,
        leader_pid,
        started_at: config.started_at.0,
    }
}

/// The size of the terminal that shows the tool, or of the one that it is typed at.
fn terminal_size() -> WindowSize {
    window_size(io::stdout())
        .or_else(|_| window_size(io::stdin()))
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .unwrap_or(NO_TERMINAL)
}

/// Somebody wanted the session to end.
fn was_asked_to(end: End) -> bool {
    matches!(end, End::Terminated { .. })
}
