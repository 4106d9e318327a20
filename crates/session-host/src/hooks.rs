//! The tool's hooks: a socket of this session, to which our `hook` command brings what the tool tells, and where a request
//! waits until somebody decides, here or at the terminal.
//!
//! One line of JSON in, at most one line out, per connection. Whoever hangs up has withdrawn the request. Nothing here
//! decides: what is said to the tool comes from [`Gate::inject`](crate::gate::Gate::inject) and from nowhere else, and
//! where nothing is said the dialog on the screen stays as it is.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use atlasbridge_detect::{Decision, HookEvent, HookRequest};
use atlasbridge_model::ancestry::{lineage, parent_in_stat};
use atlasbridge_model::answer::Value;
use atlasbridge_model::{Confidence, Kind, Sighting, SightingNo};

/// Hooks at one time. A tool with many helpers has a few; more than this is no tool that we know.
const MOST_HOOKS: usize = 64;
/// Longest event. A tool tells whole files that it is about to write.
const LONGEST_EVENT: usize = 16 << 20;

/// After this many dialogs without a request, from a tool that never sent one, none is waited for any more: old versions
/// report by hooks and ask by none.
const MOST_UNASKED: u32 = 2;

/// The tool's hooks, if it has any.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    listening: Option<Listening>,
    arriving: Vec<Arriving>,
    held: Vec<PendingRequest>,
    /// The tool has said that it works, and not that it has finished.
    is_at_work: bool,
    /// A request has come: this tool asks by its hooks.
    has_asked: bool,
    /// Dialogs of a tool at work that no request came for.
    unasked: u32,
}

#[derive(Debug)]
struct Listening {
    listener: UnixListener,
    path: PathBuf,
}

#[derive(Debug)]
struct Arriving {
    stream: UnixStream,
    bytes: Vec<u8>,
}

/// A request that waits for its decision.
#[derive(Debug)]
struct PendingRequest {
    stream: UnixStream,
    request: HookRequest,
    /// The dialog that shows it, with what the request adds to it.
    dialog: Option<Sighting>,
}

/// What came by the hooks.
#[derive(Debug)]
pub(crate) enum FromHook {
    Event(HookEvent),
    /// A request is held now; in a few words.
    Asked(String),
    /// The tool has taken a request back.
    Withdrawn,
}

/// How a dialog on the screen and the requests that are held go together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// No request is held.
    Nobody,
    /// The dialog is about a request, and can be answered by it.
    Same,
    /// A request is held, and the dialog shows something else.
    Other,
}

impl Hooks {
    pub(crate) fn listen(path: PathBuf) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listening: Some(Listening { listener, path }), ..Self::default() })
    }

    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.listening.iter().map(|listening| listening.listener.as_fd());
        let arriving = self.arriving.iter().map(|arriving| arriving.stream.as_fd());
        let held = self.held.iter().map(|held| held.stream.as_fd());
        listener.chain(arriving).chain(held)
    }

    /// Something came. `leader` is the process that everything the tool starts descends from.
    pub(crate) fn attend(&mut self, leader: i32) -> Vec<FromHook> {
        self.accept(leader);
        let mut heard = Vec::new();
        let before = self.held.len();
        self.held.retain_mut(|held| has_stayed(&mut held.stream));
        heard.extend((self.held.len()..before).map(|_| FromHook::Withdrawn));
        for mut arriving in std::mem::take(&mut self.arriving) {
            match arriving.read() {
                Arrival::Open => self.arriving.push(arriving),
                Arrival::Gone => {}
                Arrival::Whole => heard.push(self.hear(arriving)),
            }
        }
        heard
    }

    fn accept(&mut self, leader: i32) {
        let Some(listening) = &self.listening else { return };
        while let Ok((stream, _)) = listening.listener.accept() {
            let is_welcome =
                self.arriving.len() + self.held.len() < MOST_HOOKS && is_of_the_tool(&stream, leader);
            if is_welcome && stream.set_nonblocking(true).is_ok() {
                self.arriving.push(Arriving { stream, bytes: Vec::new() });
            }
        }
    }

    fn hear(&mut self, arriving: Arriving) -> FromHook {
        match HookEvent::read(&arriving.bytes) {
            HookEvent::Asks(request) => {
                let title = request.title();
                self.has_asked = true;
                self.held.push(PendingRequest { stream: arriving.stream, request: *request, dialog: None });
                FromHook::Asked(title)
            }
            // Its connection closes here: the hook has nothing to wait for.
            event => {
                match event {
                    HookEvent::Works => self.is_at_work = true,
                    HookEvent::Finished { .. } | HookEvent::Ended => self.is_at_work = false,
                    HookEvent::Asks(_) | HookEvent::Done(_) | HookEvent::Waits { .. } | HookEvent::Other => {}
                }
                FromHook::Event(event)
            }
        }
    }

    /// This dialog is drawn, and its request has not come yet: a hook is a process that must start first.
    pub(crate) fn awaits_request(&self, sighting: &Sighting) -> bool {
        let asks = self.has_asked || self.unasked < MOST_UNASKED;
        self.is_at_work && asks && self.held.is_empty() && is_dialog(sighting)
    }

    /// A dialog was waited for in vain.
    pub(crate) fn note_unasked(&mut self) {
        self.unasked = self.unasked.saturating_add(1);
    }

    /// Requests that an event shows to be answered are let go.
    pub(crate) fn release(&mut self, event: &HookEvent) -> bool {
        let before = self.held.len();
        self.held.retain(|held| !event.answers(&held.request));
        self.held.len() < before
    }

    /// The first request that no dialog was seen for, in a few words.
    pub(crate) fn waiting(&self) -> Option<String> {
        let waiting = self.held.iter().find(|held| held.dialog.is_none());
        waiting.map(|held| held.request.title())
    }

    /// A dialog was seen: whose is it? If it is a request's, the sighting gets what the request adds.
    pub(crate) fn meet(&mut self, sighting: &mut Sighting) -> Meeting {
        if self.held.is_empty() {
            return Meeting::Nobody;
        }
        let has_no_dialog = |held: &&mut PendingRequest| held.dialog.is_none();
        let found = match sighting.kind {
            // Seen because the tool said so, and read by nobody: the oldest request is the one that it spoke of.
            Kind::Unknown => self.held.iter_mut().find(has_no_dialog),
            _ if is_dialog(sighting) => {
                let shown = |held: &&mut PendingRequest| held.request.is_shown_by(sighting);
                self.held.iter_mut().filter(has_no_dialog).find(shown)
            }
            _ => return Meeting::Nobody,
        };
        let Some(held) = found else {
            // Further steps of a form stand in for the request that the first step met.
            return match self.held.iter().all(|held| held.dialog.is_some()) {
                true => Meeting::Nobody,
                false => Meeting::Other,
            };
        };
        held.request.enrich(sighting);
        sighting.confidence = Confidence::CERTAIN;
        held.dialog = Some(sighting.clone());
        Meeting::Same
    }

    /// A request came while a dialog stands. Where the dialog was seen before its hook had started, it can still be answered by
    /// it; what the request adds was not shown to anybody, so nothing of it is added.
    pub(crate) fn meet_late(&mut self, standing: &Sighting) -> Meeting {
        let has_request = self.held_for(standing.no).is_some();
        let Some(held) = self.held.last_mut().filter(|held| held.dialog.is_none()) else {
            return Meeting::Nobody;
        };
        if !is_dialog(standing) {
            return Meeting::Nobody;
        }
        if has_request || !held.request.is_shown_by(standing) {
            return Meeting::Other;
        }
        held.dialog = Some(standing.clone());
        Meeting::Same
    }

    /// What a request's hook would be told for this answer.
    pub(crate) fn decision(&self, no: SightingNo, value: &Value) -> Option<Decision> {
        let held = self.held_for(no)?;
        held.request.decision(value, held.dialog.as_ref()?)
    }

    /// What the tool asked for by its hook, where this dialog shows it.
    pub(crate) fn request_for(&self, no: SightingNo) -> Option<&HookRequest> {
        self.held_for(no).map(|held| &held.request)
    }

    fn held_for(&self, no: SightingNo) -> Option<&PendingRequest> {
        let is_its = |held: &&PendingRequest| held.dialog.as_ref().is_some_and(|dialog| dialog.no == no);
        self.held.iter().find(is_its)
    }

    /// Says the decision. False: the tool has hung up, and nothing was said.
    pub(crate) fn decide(&mut self, no: SightingNo, decision: &Decision) -> bool {
        let is_its = |held: &PendingRequest| held.dialog.as_ref().is_some_and(|dialog| dialog.no == no);
        let Some(at) = self.held.iter().position(is_its) else {
            return false;
        };
        let mut held = self.held.swap_remove(at);
        let line = format!("{}\n", decision.as_str());
        // A hook reads at once and nothing is before it in the socket; blocking is bounded all the same.
        let _ = held.stream.set_nonblocking(false);
        let _ = held.stream.set_write_timeout(Some(WRITE_LIMIT));
        held.stream.write_all(line.as_bytes()).is_ok()
    }

    /// The dialog is no longer as it was seen, and nobody has answered it: perhaps it was drawn anew. Its request waits on.
    pub(crate) fn dialog_lost(&mut self, no: SightingNo) -> bool {
        let is_its = |held: &&mut PendingRequest| held.dialog.as_ref().is_some_and(|dialog| dialog.no == no);
        let lost = self.held.iter_mut().find(is_its);
        lost.is_some_and(|held| held.dialog.take().is_some())
    }

    /// The dialog has left the screen: its request needs nobody any more.
    pub(crate) fn dialog_gone(&mut self, no: SightingNo) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.dialog.as_ref().is_none_or(|dialog| dialog.no != no));
        self.held.len() < before
    }
}

fn is_dialog(sighting: &Sighting) -> bool {
    matches!(sighting.kind, Kind::YesNo | Kind::MultipleChoice)
}

/// A decision of any length goes into an empty socket, or into a hook that reads.
const WRITE_LIMIT: std::time::Duration = std::time::Duration::from_millis(200);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

enum Arrival {
    Open,
    Whole,
    Gone,
}

impl Arriving {
    fn read(&mut self) -> Arrival {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Arrival::Gone,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Arrival::Open,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Arrival::Gone,
            }
            if self.bytes.ends_with(b"\n") {
                return Arrival::Whole;
            }
            if self.bytes.len() > LONGEST_EVENT {
                return Arrival::Gone;
            }
        }
    }
}

/// A hook that waits says nothing more; one that was ended has hung up.
fn has_stayed(stream: &mut UnixStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(0) => false,
        Ok(_) => true,
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}

/// Only what the tool itself has started speaks for it.
fn is_of_the_tool(stream: &UnixStream, leader: i32) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else {
        return false;
    };
    let parent = |pid: i32| parent_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    peer.uid == rustix::process::getuid()
        && lineage(peer.pid.as_raw_nonzero().get(), parent).is_some_and(|line| line[1..].contains(&leader))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlasbridge_model::{
        Choice, Choices, Constraints, Detail, Effect, Entry, Excerpt, Fingerprint, Strokes, Takes,
    };

    /// A hook that asks for this command, and the end at which its tool would read.
    fn asks(hooks: &mut Hooks, command: &str) -> UnixStream {
        let event = serde_json::json!({
            "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": command },
        });
        let (stream, tool) = UnixStream::pair().unwrap();
        let bytes = event.to_string().into_bytes();
        assert!(matches!(hooks.hear(Arriving { stream, bytes }), FromHook::Asked(_)));
        tool
    }

    fn dialog(no: u32, command: &str) -> Sighting {
        let row = |label: &str, key: &str, effect| Choice {
            label: label.to_owned(),
            strokes: Some(Strokes::once(key)),
            effect,
        };
        Sighting {
            no: SightingNo(no),
            kind: Kind::MultipleChoice,
            confidence: Confidence::new(80).unwrap(),
            excerpt: Excerpt::new("Do you want to proceed?"),
            detail: Detail::new(&format!("Bash command\n{command}\nDo you want to proceed?")),
            choices: Choices::new(vec![row("Yes", "1", Effect::Accepts), row("No", "2", Effect::Refuses)]),
            constraints: Constraints::default(),
            offers_default: false,
            takes: Takes::NOTHING,
            entry: Entry::Keys,
            fingerprint: Fingerprint([no as u8; 16]),
        }
    }

    fn yes() -> Value {
        Value::Choice { row: 0, label: "Yes".to_owned() }
    }

    #[test]
    fn a_request_that_comes_after_its_dialog_answers_it_too() {
        let mut hooks = Hooks::default();
        let standing = dialog(1, "rm -rf build");
        let mut tool = asks(&mut hooks, "rm -rf build");
        assert_eq!(hooks.meet_late(&standing), Meeting::Same);
        let decision = hooks.decision(standing.no, &yes()).unwrap();
        assert!(hooks.decide(standing.no, &decision));
        let mut told = String::new();
        tool.read_to_string(&mut told).unwrap();
        assert!(told.contains(r#""behavior":"allow""#), "{told}");
    }

    #[test]
    fn a_request_for_something_else_neither_answers_nor_takes_the_place_of_another() {
        let mut hooks = Hooks::default();
        let mut standing = dialog(1, "rm -rf build");
        let _own = asks(&mut hooks, "rm -rf build");
        assert_eq!(hooks.meet(&mut standing), Meeting::Same);
        for command in ["ls", "rm -rf build"] {
            let _other = asks(&mut hooks, command);
            assert_eq!(hooks.meet_late(&dialog(1, "rm -rf build")), Meeting::Other, "{command}");
        }
        assert_eq!(hooks.waiting().as_deref(), Some("Bash: ls"));
        let mut unbound = Hooks::default();
        let _other = asks(&mut unbound, "ls -l");
        assert_eq!(unbound.meet_late(&standing), Meeting::Other);
        assert_eq!(unbound.decision(standing.no, &yes()), None);
        let idle = Sighting { kind: Kind::Idle, ..dialog(2, "ls -l") };
        assert_eq!(unbound.meet_late(&idle), Meeting::Nobody);
    }

    #[test]
    fn a_dialog_that_is_drawn_anew_keeps_its_request() {
        let mut hooks = Hooks::default();
        let _tool = asks(&mut hooks, "ls -l");
        assert_eq!(hooks.meet(&mut dialog(1, "ls -l")), Meeting::Same);
        assert!(hooks.dialog_lost(SightingNo(1)));
        assert_eq!(hooks.decision(SightingNo(1), &yes()), None);
        assert_eq!(hooks.meet(&mut dialog(2, "ls -l")), Meeting::Same);
        assert!(hooks.decision(SightingNo(2), &yes()).is_some());
        assert!(hooks.dialog_gone(SightingNo(2)));
        assert_eq!(hooks.waiting(), None);
    }

    #[test]
    fn a_request_is_waited_for_while_the_tool_works_and_may_ask() {
        let mut hooks = Hooks::default();
        let report = |hooks: &mut Hooks, name: &str| {
            let (stream, _tool) = UnixStream::pair().unwrap();
            let bytes = format!(r#"{{"hook_event_name":"{name}"}}"#).into_bytes();
            hooks.hear(Arriving { stream, bytes });
        };
        let seen = dialog(1, "ls");
        assert!(!hooks.awaits_request(&seen), "no hook was ever heard");
        report(&mut hooks, "PreToolUse");
        assert!(hooks.awaits_request(&seen));
        let idle = Sighting { kind: Kind::Idle, ..dialog(2, "ls") };
        assert!(!hooks.awaits_request(&idle));
        (0..MOST_UNASKED).for_each(|_| hooks.note_unasked());
        assert!(!hooks.awaits_request(&seen), "it never asks");
        let tool = asks(&mut hooks, "ls");
        assert!(!hooks.awaits_request(&seen), "it is here");
        drop(tool);
        assert_eq!(hooks.meet(&mut dialog(1, "ls")), Meeting::Same);
        assert!(hooks.dialog_gone(SightingNo(1)));
        assert!(hooks.awaits_request(&seen), "it does ask");
        report(&mut hooks, "Stop");
        assert!(!hooks.awaits_request(&seen), "a menu of an idle tool has no hook");
    }

    #[test]
    fn a_hook_that_hung_up_is_told_nothing() {
        let mut hooks = Hooks::default();
        let tool = asks(&mut hooks, "ls");
        assert_eq!(hooks.meet(&mut dialog(1, "ls")), Meeting::Same);
        let decision = hooks.decision(SightingNo(1), &yes()).unwrap();
        drop(tool);
        assert!(!hooks.decide(SightingNo(1), &decision));
        assert_eq!(hooks.decision(SightingNo(1), &yes()), None);
    }
}
