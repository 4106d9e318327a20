//! The loop of a session host: what is ready → the part it belongs to → what follows from it.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use atlasbridge_detect::{Departure, Detector, Event, KernelWait, Moment, Observation, Waits};
use atlasbridge_model::mask::mask_words;
use atlasbridge_model::{ReplyId, Sighting, SightingNo, lifecycle};
use atlasbridge_pty::{
    Child, ChildEvent, Control, GuardianNote, HostInput, HostOutput, InputKind, PollFd, PollFlags,
    ReadOutcome, Signal, Signals, SpawnConfig, Stop, Termios, TtyWait, WindowSize, boot_time, is_terminal,
    monotonic, poll, protect_this_process, spawn, stop_self, window_size,
};
use atlasbridge_wire::session::{End, FromSession, Health, Inject, Report, SessionInfo, ToSession};
use atlasbridge_wire::twin;

use crate::captures::Captures;
use crate::events::Events;
use crate::front::Front;
use crate::gate::{Claim, Facts, Gate, Look, Request, Settled, Ticket};
use crate::journal::Journal;
use crate::link::{Heard, Link};
use crate::pause;
use crate::relay::{Relay, Turn};
use crate::{Ended, HostConfig, RunError};

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
const NO_TERMINAL: WindowSize = WindowSize {
    cols: 80,
    rows: 24,
    x_pixels: 0,
    y_pixels: 0,
};
/// The keyboard is read in pieces of this size: what the kernel holds for one terminal.
const KEYS: usize = 4096;
/// How often in a row a look is put off because the tool has written more: in a flood it always has, and that a prompt
/// is gone must be noticed all the same. Looks are 20 ms apart then.
const MOST_LEFT_OPEN: u32 = 3;
/// Enter in its two forms, Ctrl-C, Ctrl-D: a person has answered with these.
const SENDS_A_LINE: [u8; 4] = [b'\r', b'\n', 0x03, 0x04];

/// Runs one tool to its end. The terminal is restored on every way out, panics included.
pub fn run(config: HostConfig) -> Result<Ended, RunError> {
    let events = match &config.events {
        Some(path) => Some(
            Events::open(path, config.session).map_err(|source| RunError::Events {
                path: path.clone(),
                source,
            })?,
        ),
        None => None,
    };
    let captures = match &config.captures {
        Some(path) => Some(
            Captures::open(path.clone(), config.session, config.tool.clone()).map_err(|source| {
                RunError::Captures {
                    path: path.clone(),
                    source,
                }
            })?,
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
    let input = HostInput::open(&stdin).map_err(|source| RunError::Stream {
        stream: "input",
        source,
    })?;
    let output = HostOutput::open(&stdout).map_err(|source| RunError::Stream {
        stream: "output",
        source,
    })?;
    // Failing means an older kernel without the means: the session works, less protected.
    let _ = protect_this_process();

    let shows_terminal = is_terminal(&stdout);
    let mut front = match input.kind() {
        InputKind::Terminal => Some(Front::of(&stdin, shows_terminal).map_err(RunError::Raw)?),
        InputKind::Stream | InputKind::Nobody => None,
    };
    let size = terminal_size();
    let session = spawn(&SpawnConfig {
        program: &config.program,
        args: &config.args,
        env: config.env.clone(),
        size,
        termios: Termios::of(&stdin).or_else(|_| Termios::of(&stdout)).ok(),
        newline_translation: shows_terminal,
        echo: input.kind() != InputKind::Stream,
        foreground: front.as_ref().is_none_or(Front::may_take),
        outer_terminal: front.is_some().then(|| stdin.as_fd()),
    })?;
    if let Some(front) = &mut front {
        front.take_or_leave().map_err(RunError::Raw)?;
    }
    let host_pid = std::process::id() as i32;
    let info = SessionInfo {
        session_id: config.session.to_string(),
        tool: config.tool.clone(),
        // It is stored and shown to operators: what looks like a secret stays here.
        command: mask_words(
            std::iter::once(&config.program)
                .chain(&config.args)
                .map(|word| word.to_string_lossy()),
        ),
        cwd: config.cwd.to_string_lossy().into_owned(),
        label: config.label.clone(),
        host_pid,
        leader_pid: session.child.leader_pid(),
        started_at: config.started_at.0,
    };
    let mut host = Host {
        began: monotonic(),
        relay: Relay::new(session.reader, output),
        gate: Gate::new(
            session.writer,
            Journal::new(config.journal.clone()),
            config.echo_window,
            config.inject_settle,
        ),
        child: session.child,
        control: session.control,
        detector: Detector::new(config.detector.clone(), size.cols, size.rows),
        link: Link::new(
            config.socket.clone(),
            config.hub.clone(),
            config.version.clone(),
            info,
        ),
        events,
        captures,
        signals,
        keyboard: Keyboard {
            input,
            state: KeyboardState::Open,
            ends_in_line: true,
        },
        front,
        has_hung_up: false,
        is_alternate: false,
        asked_by: None,
        sent_locally: false,
        answered_locally: Vec::new(),
        reacted: false,
        left_open: 0,
        phase: Phase::Running,
    };
    host.tell_guardian();
    let (end, not_started) = host.run()?;
    let code = code_of(end);
    host.leave_terminal();
    Ok(Ended {
        code,
        not_started,
        notices: host.link.notices(),
    })
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
    front: Option<Front>,
    /// The tool was told that nobody reads its output any more.
    has_hung_up: bool,
    is_alternate: bool,
    /// The foreground process group when the current prompt was seen.
    asked_by: Option<i32>,
    /// A line was sent from the keyboard since the current prompt was seen: a tool that ends now has read it.
    sent_locally: bool,
    /// Sightings that were answered at the keyboard: a reply that comes too late is told so. Bounded.
    answered_locally: Vec<SightingNo>,
    /// The screen has changed since the gate's last stroke.
    reacted: bool,
    /// How often in a row the detector's question to the kernel was left open.
    left_open: u32,
    phase: Phase,
}

struct Keyboard {
    input: HostInput,
    state: KeyboardState,
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
                    Source::Hub => self.on_hub(),
                }
            }
        }
    }

    fn now(&self) -> Moment {
        Moment(monotonic().saturating_sub(self.began))
    }

    /// Deadlines that have come, and whether the session is over.
    fn proceed(&mut self) -> Option<End> {
        let now = self.now();
        self.link.tick(now);
        if self
            .detector
            .next_deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.observe(Observation::Deadline);
        }
        if self.gate.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.look();
        }
        self.end_input(now);
        match self.phase {
            Phase::Running => None,
            Phase::Ending { kill_at, hung_up } if kill_at <= now => {
                let _ = self.child.kill_tool();
                // A closed terminal waits for nobody; a killed tool is reported by its leader.
                self.phase = Phase::Ending {
                    kill_at: now + STOP_GRACE,
                    hung_up,
                };
                hung_up
                    .then(|| {
                        self.finish(
                            End::Terminated {
                                code: 128 + Signal::Hup.number(),
                            },
                            now,
                        )
                    })
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
        self.link.report(Report::Ended(end));
        self.phase = Phase::LastNotes {
            end,
            until: now + LAST_NOTES,
        };
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
        let deadline = [
            self.detector.next_deadline(),
            self.gate.next_deadline(),
            self.link.next_deadline(),
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
            hub.set(PollFlags::OUT, wants_to_write);
            watch(Source::Hub, descriptor, hub);
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
            && self.front.as_ref().is_none_or(Front::is_ours)
            && self.gate.takes_keys(now)
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
                self.reacted = true;
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
                self.keyboard.ends_in_line = keys.ends_with(b"\n");
                self.sent_locally |= keys.iter().any(|key| SENDS_A_LINE.contains(key));
                let _ = self.gate.type_local(keys);
                self.observe(Observation::LocalInput(keys));
            }
            Ok(ReadOutcome::WouldBlock) => {}
            Ok(ReadOutcome::End) | Err(_) => self.on_end_of_keys(),
        }
    }

    /// The end of a file or pipe is the tool's end of file, as it would be without us. `/dev/null` is no keyboard that
    /// has ended but none at all: the session is answered from elsewhere.
    fn on_end_of_keys(&mut self) {
        self.keyboard.state = match self.keyboard.input.kind() {
            InputKind::Stream => KeyboardState::Ending {
                look_at: self.now(),
                again_after: FIRST_LOOK_FOR_READER,
            },
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
            self.keyboard.state = KeyboardState::Ending {
                look_at: now + again_after,
                again_after,
            };
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

    fn on_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                Signal::Winch => self.resize(),
                Signal::Child => self.child.reap(),
                Signal::Term => self.stop(Signal::Term),
                Signal::Hup => self.stop(Signal::Hup),
                Signal::Int | Signal::Quit | Signal::Tstp => self.pass_on(signal),
                Signal::Usr1 | Signal::Usr2 => drop(self.child.signal_tool_alone(signal)),
                Signal::Cont => self.come_back(),
                // Not asked for: they act, or are ignored.
                Signal::Ttin | Signal::Ttou | Signal::Pipe => {}
            }
        }
    }

    /// What the terminal outside would say to whoever is in front of it.
    fn pass_on(&mut self, signal: Signal) {
        let _ = match &self.front {
            Some(front) if !front.is_ours() => self.child.signal_tool(signal),
            Some(_) | None => self.child.signal_foreground(signal),
        };
        if matches!(self.phase, Phase::LastWords { .. }) && signal != Signal::Tstp {
            self.relay.give_up();
        }
    }

    fn resize(&mut self) {
        let size = terminal_size();
        let _ = self.control.resize(size);
        self.observe(Observation::Resized {
            cols: size.cols,
            rows: size.rows,
        });
    }

    /// Asks the tool to end, and sees to it that it does.
    fn stop(&mut self, signal: Signal) {
        let _ = self.child.signal_tool(signal);
        let _ = self.child.continue_tool();
        match self.phase {
            Phase::Running => {
                self.phase = Phase::Ending {
                    kill_at: self.now() + STOP_GRACE,
                    hung_up: signal == Signal::Hup,
                };
            }
            Phase::LastWords { .. } => self.relay.give_up(),
            Phase::Ending { .. } | Phase::LastNotes { .. } => {}
        }
    }

    fn on_child(&mut self) {
        while let Ok(Some(event)) = self.child.next_event() {
            let was_asked = matches!(self.phase, Phase::Ending { .. });
            let end = match event {
                ChildEvent::Started { pid } => {
                    self.link.report(Report::ToolStarted { pid });
                    continue;
                }
                ChildEvent::Stopped { signal } => {
                    self.on_stopped(signal);
                    continue;
                }
                ChildEvent::Continued => continue,
                ChildEvent::ExecFailed { errno } => End::NotStarted { errno },
                ChildEvent::Exited { code } if was_asked => End::Terminated { code },
                ChildEvent::Exited { code } => End::Exited { code },
                ChildEvent::Signaled { signal } if was_asked => End::Terminated { code: 128 + signal },
                ChildEvent::Signaled { signal } => End::Signaled { signal },
                ChildEvent::LeaderLost => End::Signaled {
                    signal: Signal::Hup.number(),
                },
            };
            self.phase = Phase::LastWords {
                end,
                until: self.now() + LAST_WORDS,
                heard: 0,
            };
        }
    }

    /// The tool was stopped, by Ctrl-Z or for want of a terminal: stop as well, so that the shell takes over; go on
    /// when it continues us.
    fn on_stopped(&mut self, number: i32) {
        let signal = Signal::from_number(number);
        let wants_terminal = matches!(signal, Some(Signal::Ttin | Signal::Ttou));
        if wants_terminal && let Some(front) = &mut self.front {
            front.need();
            if front.may_take() {
                self.come_back();
                return;
            }
        }
        self.show_what_was_said();
        self.leave_terminal();
        let stop = stop_self(signal.unwrap_or(Signal::Tstp));
        if matches!(stop, Ok(Stop::Continued)) {
            self.come_back();
        } else if wants_terminal {
            // Nobody will ever bring us in front: it may wait for a key, but not ask for the terminal in a circle.
            let _ = self.child.set_foreground(true);
            let _ = self.child.continue_tool();
        } else if signal.is_some() {
            // In such a place the kernel does not let Ctrl-Z stop anybody.
            self.come_back();
        }
    }

    /// We go on, perhaps at another place than before.
    fn come_back(&mut self) {
        if let Some(front) = &mut self.front {
            let _ = front.take_or_leave();
            if let Some(settings) = front.to_restore() {
                let _ = self.control.lend(settings);
            }
            let _ = self.child.set_foreground(front.is_ours());
        }
        self.tell_guardian();
        self.resize();
        let _ = self.child.continue_tool();
    }

    /// The terminal first: the shell's prompt must not come out in raw mode.
    fn leave_terminal(&mut self) {
        if let Some(front) = &mut self.front {
            front.leave();
        }
        self.tell_guardian();
    }

    /// What a stopped tool said before, such as a full-screen program's farewell to the screen, comes before what the
    /// shell says. For as long as a terminal may take for so little.
    fn show_what_was_said(&mut self) {
        let until = self.now() + LAST_WORDS;
        while self.now() < until {
            if self.relay.wants_to_write() {
                let mut terminal = [PollFd::from_borrowed_fd(self.relay.terminal(), PollFlags::OUT)];
                let _ = poll(&mut terminal, Some(until - self.now()));
                let _ = self.relay.flush();
            } else if self.relay.wants_to_read() && self.relay.has_more() {
                self.on_tool(PollFlags::IN);
            } else {
                return;
            }
        }
    }

    fn tell_guardian(&self) {
        let restore = self.front.as_ref().and_then(Front::to_restore);
        let _ = self.child.note(&GuardianNote {
            restore,
            alternate_screen: self.is_alternate,
        });
    }

    fn follow_alternate_screen(&mut self) {
        let is_alternate = self.detector.screen().is_alternate();
        if is_alternate != self.is_alternate {
            self.is_alternate = is_alternate;
            self.tell_guardian();
        }
    }

    fn observe(&mut self, observation: Observation<'_>) {
        let events = self.detector.observe(observation, self.now());
        self.on_events(events);
    }

    fn on_events(&mut self, mut events: Vec<Event>) {
        while !events.is_empty() {
            let mut more = Vec::new();
            for event in events {
                match event {
                    Event::AskKernel => {
                        let Some(kernel) = self.ask_kernel() else { continue };
                        if let Some(captures) = &mut self.captures {
                            captures.kernel = kernel;
                        }
                        more.extend(self.detector.observe(Observation::Kernel(kernel), self.now()));
                    }
                    Event::Seen(sighting) => self.on_seen(&sighting),
                    Event::Gone { no, how } => self.on_gone(no, how),
                }
            }
            events = more;
        }
        if self.gate.is_injecting() {
            self.look();
        }
    }

    /// # The kernel's word is about the screen that was read
    /// A tool that blocks in a read has written its question before. If that still waits to be read here, the kernel
    /// speaks of a question that is not on our screen yet: taken together with the old screen it would make a prompt
    /// of what was just answered. So then the question is left open; the output brings the next look.
    fn ask_kernel(&mut self) -> Option<KernelWait> {
        pause::point("host-ask-kernel");
        let probe = self.control.probe();
        let is_ahead = self.relay.has_more();
        if is_ahead && self.left_open < MOST_LEFT_OPEN {
            self.left_open += 1;
            return None;
        }
        self.left_open = 0;
        Some(KernelWait {
            wait: match probe.wait {
                // A flood: whatever it waits for, it is not on the screen.
                _ if is_ahead => Waits::Unknown,
                TtyWait::Read => Waits::Read,
                TtyWait::Poll => Waits::Poll,
                TtyWait::None => Waits::Nobody,
                TtyWait::Unknown => Waits::Unknown,
            },
            canonical: probe.canonical,
            // Where we switched the echo off, its absence says nothing about a secret.
            echo: probe.echo || self.keyboard.input.kind() == InputKind::Stream,
        })
    }

    fn on_seen(&mut self, sighting: &Sighting) {
        self.asked_by = self.control.foreground_group();
        self.sent_locally = false;
        self.gate.arm();
        let now = self.now();
        if let Some(events) = &mut self.events {
            events.seen(sighting, now);
        }
        if let Some(captures) = &mut self.captures {
            captures.seen(sighting, self.detector.screen(), now);
        }
        self.link.report(Report::Sighted(sighting.into()));
    }

    fn on_gone(&mut self, no: SightingNo, how: Departure) {
        let now = self.now();
        let was_ours = self.gate.injecting() == Some(no);
        if was_ours
            && let Some(settled) = self.gate.look(
                Look {
                    gone: true,
                    reacted: true,
                    still_shown: false,
                },
                now,
            )
        {
            self.settle(&settled);
        }
        let how = match how {
            Departure::Injected => None,
            Departure::LocalInput => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Unprompted { echoed: true } => Some(lifecycle::Departure::OutOfBand),
            Departure::Unprompted { echoed: false } => Some(lifecycle::Departure::Withdrawn),
            // Its answer was its end: there was no time to see the prompt go.
            Departure::Ended if self.sent_locally => Some(lifecycle::Departure::AnsweredLocally),
            Departure::Ended => Some(lifecycle::Departure::ToolEnded),
        };
        if how == Some(lifecycle::Departure::AnsweredLocally) {
            self.answered_locally.push(no);
            if self.answered_locally.len() > 64 {
                self.answered_locally.remove(0);
            }
        }
        if let Some(events) = &mut self.events {
            let word = match how {
                None => "injected",
                Some(lifecycle::Departure::AnsweredLocally) => "answered_locally",
                Some(lifecycle::Departure::OutOfBand) => "out_of_band",
                Some(lifecycle::Departure::Withdrawn) => "withdrawn",
                Some(lifecycle::Departure::ToolEnded) => "tool_ended",
            };
            events.gone(no, word, now);
        }
        if let Some(how) = how.filter(|_| !was_ours) {
            self.link.report(Report::Left {
                sighting: no.0,
                how: how.into(),
            });
        }
    }

    fn on_hub(&mut self) {
        for heard in self.link.attend(self.now()) {
            match heard {
                Heard::Hub { epoch } => self.gate.meet_hub(epoch),
                Heard::Message(ToSession::Inject(inject)) => self.on_inject(&inject),
                Heard::Message(ToSession::HowAreYou { asked }) => {
                    let silent_for_ms = self
                        .detector
                        .last_output()
                        .map(|last| (self.now() - last).as_millis() as u64);
                    self.link.send(&FromSession::Health(Health {
                        asked,
                        pty_alive: matches!(self.phase, Phase::Running | Phase::Ending { .. }),
                        injecting: self.gate.is_injecting(),
                        silent_for_ms,
                    }));
                }
                Heard::Message(ToSession::Stop) => self.stop(Signal::Term),
                // The link keeps its own books.
                Heard::Message(ToSession::Noted { .. }) => {}
            }
        }
    }

    fn on_inject(&mut self, inject: &Inject) {
        // What is no id was never handed out by a hub of this protocol.
        let Some(request) = read_request(inject) else {
            return;
        };
        self.catch_up();
        let facts = self.facts(&request);
        let outcome = match self.gate.claim(&request, facts) {
            Claim::Granted(ticket) => self.type_reply(ticket, &request),
            Claim::Answered(outcome) => outcome,
            Claim::FromOldHub => return,
        };
        self.tell_outcome(request.reply, &inject.prompt_id, outcome);
    }

    /// # Screen-of-the-moment invariant
    /// Between the last look at the screen and the write stands nothing that waits: the intent is on disk before.
    fn type_reply(&mut self, ticket: Ticket, request: &Request) -> twin::Outcome {
        if self.gate.intend(&ticket).is_err() {
            return self.gate.void(ticket, twin::Outcome::NotRecorded);
        }
        self.catch_up();
        if let Some(objection) = self.gate.objection(request, self.facts(request)) {
            return self.gate.void(ticket, objection);
        }
        self.reacted = false;
        let outcome = self.gate.inject(ticket, self.now());
        if outcome == twin::Outcome::Typed {
            self.observe(Observation::Injected);
        }
        outcome
    }

    fn facts(&self, request: &Request) -> Facts {
        let stands = |seen: &&Sighting| self.detector.still_shows(seen.no, seen.fingerprint);
        Facts {
            now: boot_time().as_millis() as i64,
            standing: self.detector.current().filter(stands).cloned(),
            answered_locally: self.answered_locally.contains(&request.sighting)
                || self.detector.is_being_answered(request.sighting, self.now()),
            half_typed: self.detector.typed_since(request.sighting),
            other_foreground: self.asked_by.is_some() && self.control.foreground_group() != self.asked_by,
            tool_gone: !matches!(self.phase, Phase::Running | Phase::Ending { .. }),
        }
    }

    /// Reads what the tool has written so far, at most one buffer: the gate judges the screen of this moment.
    fn catch_up(&mut self) {
        if self.relay.wants_to_read() {
            self.on_tool(PollFlags::IN);
        }
    }

    fn look(&mut self) {
        let Some(no) = self.gate.injecting() else { return };
        let current = self.detector.current().filter(|seen| seen.no == no);
        let still_shown = current.is_some_and(|seen| self.detector.still_shows(seen.no, seen.fingerprint));
        let is_over = matches!(self.phase, Phase::LastWords { .. } | Phase::LastNotes { .. });
        let look = Look {
            gone: current.is_none() || is_over,
            reacted: self.reacted,
            still_shown,
        };
        if let Some(settled) = self.gate.look(look, self.now()) {
            self.settle(&settled);
        }
    }

    fn settle(&mut self, settled: &Settled) {
        self.tell_outcome(settled.reply, &settled.prompt.to_string(), settled.outcome);
    }

    fn tell_outcome(&mut self, reply: ReplyId, prompt_id: &str, outcome: twin::Outcome) {
        let now = self.now();
        if let Some(events) = &mut self.events {
            events.injected(&reply.to_string(), &serde_json::json!(outcome), now);
        }
        let prompt_id = prompt_id.to_owned();
        self.link.report(Report::Outcome {
            reply_id: reply.to_string(),
            prompt_id,
            outcome,
        });
    }
}

fn read_request(inject: &Inject) -> Option<Request> {
    Some(Request {
        reply: inject.reply_id.parse().ok()?,
        prompt: inject.prompt_id.parse().ok()?,
        sighting: SightingNo(inject.sighting),
        fingerprint: inject.fingerprint.parse().ok()?,
        epoch: inject.epoch,
        deadline: inject.deadline,
        value: inject.value.clone().map(Into::into),
    })
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

/// Exit codes as shells give them.
fn code_of(end: End) -> i32 {
    match end {
        End::Exited { code } | End::Terminated { code } => code,
        End::Signaled { signal } => 128 + signal,
        End::NotStarted { errno }
            if io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::NotFound =>
        {
            127
        }
        End::NotStarted { .. } => 126,
    }
}
