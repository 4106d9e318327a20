//! The tool as a job: signals to us and to it, stopping and coming back, its end, and the terminal we share with it.

use atlasbridge_detect::Observation;
use atlasbridge_pty::{ChildEvent, GuardianNote, PollFd, PollFlags, Signal, Stop, poll, stop_self};
use atlasbridge_wire::session::{End, Report};

use super::{Host, LAST_WORDS, Phase, STOP_GRACE, terminal_size};

impl Host {
    pub(super) fn on_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                Signal::WINCH => self.resize(),
                Signal::CHILD => self.child.reap(),
                Signal::TERM | Signal::HUP => self.stop(signal),
                Signal::INT | Signal::QUIT | Signal::TSTP => self.pass_on(signal),
                Signal::USR1 | Signal::USR2 => drop(self.child.signal_tool_alone(signal)),
                Signal::CONT => self.come_back(),
                // Not asked for: they act, or are ignored.
                _ => {}
            }
        }
    }

    /// What the terminal outside would say to whoever is in front of it.
    pub(super) fn pass_on(&mut self, signal: Signal) {
        let _ = match &self.keyboard.terminal {
            Some(terminal) if !terminal.is_ours() => self.child.signal_tool(signal),
            Some(_) | None => self.child.signal_foreground(signal),
        };
        if matches!(self.phase, Phase::LastWords { .. }) && signal != Signal::TSTP {
            self.relay.give_up();
        }
    }

    pub(super) fn resize(&mut self) {
        let size = terminal_size();
        let _ = self.control.resize(size);
        self.observe(Observation::Resized { cols: size.ws_col, rows: size.ws_row });
        self.stir();
    }

    /// Asks the tool to end, and sees to it that it does.
    pub(super) fn stop(&mut self, signal: Signal) {
        let _ = self.child.signal_tool(signal);
        let _ = self.child.signal_tool(Signal::CONT);
        match self.phase {
            Phase::Running => {
                self.phase =
                    Phase::Ending { kill_at: self.now() + STOP_GRACE, hung_up: signal == Signal::HUP };
            }
            Phase::LastWords { .. } => self.relay.give_up(),
            Phase::Ending { .. } | Phase::LastNotes { .. } => {}
        }
    }

    pub(super) fn on_child(&mut self) {
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
                ChildEvent::LeaderLost => End::Signaled { signal: Signal::HUP.as_raw() },
            };
            self.phase = Phase::LastWords { end, until: self.now() + LAST_WORDS, heard: 0 };
        }
    }

    /// The tool was stopped, by Ctrl-Z or for want of a terminal: stop as well, so that the shell takes over; go on
    /// when it continues us.
    pub(super) fn on_stopped(&mut self, number: i32) {
        let signal = Signal::from_named_raw(number);
        let wants_terminal = matches!(signal, Some(Signal::TTIN | Signal::TTOU));
        if wants_terminal && let Some(terminal) = &mut self.keyboard.terminal {
            terminal.is_needed = true;
            if terminal.may_take() {
                self.come_back();
                return;
            }
        }
        self.show_what_was_said();
        self.leave_terminal();
        if matches!(stop_self(signal.unwrap_or(Signal::TSTP)), Ok(Stop::Continued)) {
            self.come_back();
        } else if wants_terminal {
            // Nobody will ever bring us in front: it may wait for a key, but not ask for the terminal in a circle.
            let _ = self.child.set_foreground(true);
            let _ = self.child.signal_tool(Signal::CONT);
        } else if signal.is_some() {
            // In such a place the kernel does not let Ctrl-Z stop anybody.
            self.come_back();
        }
    }

    /// We go on, perhaps at another place than before.
    pub(super) fn come_back(&mut self) {
        if let Some(terminal) = &mut self.keyboard.terminal {
            let _ = terminal.take_or_leave();
            if let Some(change) = terminal.raw.change() {
                let _ = self.control.lend(change.from);
            }
            let _ = self.child.set_foreground(terminal.is_ours());
        }
        self.tell_guardian();
        self.resize();
        let _ = self.child.signal_tool(Signal::CONT);
    }

    /// The terminal first: the shell's prompt must not come out in raw mode.
    pub(super) fn leave_terminal(&mut self) {
        if let Some(terminal) = &mut self.keyboard.terminal {
            // A terminal that is gone needs no restoring.
            let _ = terminal.raw.suspend();
        }
        self.tell_guardian();
    }

    /// What a stopped tool said before, such as a full-screen program's farewell to the screen, comes before what the
    /// shell says. For as long as a terminal may take for so little.
    pub(super) fn show_what_was_said(&mut self) {
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

    pub(super) fn tell_guardian(&self) {
        let restore = self.keyboard.terminal.as_ref().and_then(|terminal| terminal.raw.change());
        let alternate_screen = self.detector.screen().is_alternate();
        let _ = self.child.note(&GuardianNote { restore, alternate_screen });
    }

    pub(super) fn follow_alternate_screen(&mut self, was_alternate: bool) {
        if was_alternate != self.detector.screen().is_alternate() {
            self.tell_guardian();
        }
    }
}
