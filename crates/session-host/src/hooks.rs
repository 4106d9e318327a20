//! The tool's hooks: a socket of this session, to which our `hook` command brings what the tool tells, and where a request
//! waits until somebody decides, here or at the terminal.
//!
//! One line of JSON in, at most one line out, per connection. Whoever hangs up has withdrawn the request. Nothing here
//! decides: what is said to the tool comes from [`Gate::inject`](crate::gate::Gate::inject) and from nowhere else, and
//! where nothing is said the dialog on the screen stays as it is.

mod pairing;

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use atlasbridge_detect::{Decision, Extent, HookEvent, HookRequest};
use atlasbridge_model::ancestry::{lineage, parent_in_stat};
use atlasbridge_model::answer::Value;
use atlasbridge_model::{Confidence, Kind, Sighting, SightingNo};
use atlasbridge_pty::ReadOutcome;

pub(crate) use pairing::{Pairing, RequestId};
use pairing::{is_dialog, pair};

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
    waiting: Vec<PendingRequest>,
    /// Requests that have come so far.
    asked: u64,
    /// The request that the detector was told of last: what it sees by that word alone is this one.
    announced: Option<RequestId>,
    turn: ToolTurn,
    /// Dialogs of a tool at work that no request came for, while none has come at all.
    unasked: u32,
}

/// What the tool has said of its turn.
#[derive(Debug, Default)]
enum ToolTurn {
    #[default]
    Unknown,
    /// It is at work, and may ask.
    Works,
    /// It has finished, with these words.
    Over(String),
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
    id: RequestId,
    stream: UnixStream,
    request: HookRequest,
    /// The dialog that shows it, with what the request adds to it.
    dialog: Option<Sighting>,
}

/// What came by the hooks.
#[derive(Debug)]
pub(crate) enum FromHook {
    Event(HookEvent),
    Asked(RequestId),
    /// The tool has taken a request back.
    Withdrawn,
}

impl PendingRequest {
    fn is_shown_as(&self, no: SightingNo) -> bool {
        self.dialog.as_ref().is_some_and(|dialog| dialog.no == no)
    }
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
        let waiting = self.waiting.iter().map(|waiting| waiting.stream.as_fd());
        listener.chain(arriving).chain(waiting)
    }

    /// Something came. `leader` is the process that everything the tool starts descends from.
    pub(crate) fn attend(&mut self, leader: i32) -> Vec<FromHook> {
        self.accept(leader);
        let mut heard = Vec::new();
        let before = self.waiting.len();
        self.waiting.retain(|waiting| has_stayed(&waiting.stream));
        heard.extend((self.waiting.len()..before).map(|_| FromHook::Withdrawn));
        for mut arriving in std::mem::take(&mut self.arriving) {
            match arriving.read() {
                Ok(true) => heard.push(self.hear(arriving)),
                Ok(false) => self.arriving.push(arriving),
                Err(_) => {}
            }
        }
        heard
    }

    fn accept(&mut self, leader: i32) {
        let Some(listening) = &self.listening else { return };
        while let Ok((stream, _)) = listening.listener.accept() {
            let is_welcome =
                self.arriving.len() + self.waiting.len() < MOST_HOOKS && is_of_the_tool(&stream, leader);
            if is_welcome && stream.set_nonblocking(true).is_ok() {
                self.arriving.push(Arriving { stream, bytes: Vec::new() });
            }
        }
    }

    fn hear(&mut self, arriving: Arriving) -> FromHook {
        let event = HookEvent::read(&arriving.bytes);
        match &event {
            HookEvent::Asks(request) => {
                self.asked += 1;
                let (id, stream) = (RequestId(self.asked), arriving.stream);
                self.waiting.push(PendingRequest { id, stream, request: *request.clone(), dialog: None });
                return FromHook::Asked(id);
            }
            HookEvent::Works => self.turn = ToolTurn::Works,
            HookEvent::Finished { message } => self.turn = ToolTurn::Over(message.clone()),
            HookEvent::Ended if matches!(self.turn, ToolTurn::Works) => self.turn = ToolTurn::Unknown,
            HookEvent::Ended | HookEvent::Done(_) | HookEvent::Waits { .. } | HookEvent::Other => {}
        }
        // Its connection closes here: the hook has nothing to wait for.
        FromHook::Event(event)
    }

    /// This dialog is drawn, and its request has not come yet: a hook is a process that must start first.
    pub(crate) fn awaits_request(&self, sighting: &Sighting) -> bool {
        let may_ask = self.asked > 0 || self.unasked < MOST_UNASKED;
        matches!(self.turn, ToolTurn::Works) && may_ask && self.waiting.is_empty() && is_dialog(sighting)
    }

    /// A dialog was waited for in vain.
    pub(crate) fn note_unasked(&mut self) {
        self.unasked = self.unasked.saturating_add(1);
    }

    /// What the tool said last before it finished.
    pub(crate) fn last_words(&self) -> Option<&str> {
        match &self.turn {
            ToolTurn::Over(words) if !words.trim().is_empty() => Some(words),
            ToolTurn::Unknown | ToolTurn::Works | ToolTurn::Over(_) => None,
        }
    }

    /// Requests that an event shows to be answered are let go.
    pub(crate) fn release(&mut self, event: &HookEvent) -> bool {
        self.forget(|waiting| event.answers(&waiting.request))
    }

    /// No request waits for a dialog.
    pub(crate) fn has_nothing_to_tell(&self) -> bool {
        self.without_dialog().next().is_none()
    }

    /// What the detector is told: the first request that no dialog was seen for, in a few words, if there is one.
    pub(crate) fn announce_next(&mut self) -> Option<String> {
        let (next, _) = self.without_dialog().next()?;
        self.announce(next)
    }

    /// The same for this one.
    pub(crate) fn announce(&mut self, id: RequestId) -> Option<String> {
        let request = self.waiting.iter().find(|waiting| waiting.id == id)?;
        self.announced = Some(id);
        Some(request.request.title.clone())
    }

    /// A dialog was seen: whose is it? If it is a request's, the sighting gets what the request adds.
    pub(crate) fn pair_new(&mut self, sighting: &mut Sighting) -> Pairing {
        let told = self.announced.filter(|id| self.without_dialog().any(|(waiting, _)| waiting == *id));
        let pairing = match (sighting.kind == Kind::Unknown, told) {
            (false, _) => pair(sighting, self.without_dialog(), Extent::Cut),
            // Seen because the tool said so, and read by nobody: it is what the tool spoke of.
            (true, Some(id)) => Pairing::Same(id),
            // A status can be forged by any program that prints: what was seen by that is no request.
            (true, None) if self.has_nothing_to_tell() => Pairing::Nobody,
            (true, None) => Pairing::Other,
        };
        if let Some(waiting) = self.paired(pairing) {
            waiting.request.enrich(sighting);
            sighting.confidence = Confidence::CERTAIN;
            waiting.dialog = Some(sighting.clone());
        }
        pairing
    }

    /// A request came while a dialog stands. Where the dialog was seen before its hook had started, it can still be answered by
    /// it; what the request adds was not shown to anybody, so nothing of it is added, and all of it must be on the screen.
    pub(crate) fn pair_standing(&mut self, standing: &Sighting) -> Pairing {
        let mut pairing = pair(standing, self.without_dialog(), Extent::Whole);
        if matches!(pairing, Pairing::Same(_)) && self.request_for(standing.no).is_some() {
            pairing = Pairing::Other;
        }
        if let Some(waiting) = self.paired(pairing) {
            waiting.dialog = Some(standing.clone());
        }
        pairing
    }

    fn without_dialog(&self) -> impl Iterator<Item = (RequestId, &HookRequest)> {
        let waiting = self.waiting.iter().filter(|waiting| waiting.dialog.is_none());
        waiting.map(|waiting| (waiting.id, &waiting.request))
    }

    fn paired(&mut self, pairing: Pairing) -> Option<&mut PendingRequest> {
        self.waiting.iter_mut().find(|waiting| pairing == Pairing::Same(waiting.id))
    }

    fn shown_as(&self, no: SightingNo) -> Option<&PendingRequest> {
        self.waiting.iter().find(|waiting| waiting.is_shown_as(no))
    }

    /// What a request's hook would be told for this answer.
    pub(crate) fn decision(&self, no: SightingNo, value: &Value) -> Option<Decision> {
        let waiting = self.shown_as(no)?;
        waiting.request.decision(value, waiting.dialog.as_ref()?)
    }

    /// What the tool asked for by its hook, where this dialog shows it.
    pub(crate) fn request_for(&self, no: SightingNo) -> Option<&HookRequest> {
        self.shown_as(no).map(|waiting| &waiting.request)
    }

    /// Says the decision. False: the tool has hung up, and nothing was said.
    pub(crate) fn decide(&mut self, no: SightingNo, decision: &Decision) -> bool {
        let Some(at) = self.waiting.iter().position(|waiting| waiting.is_shown_as(no)) else { return false };
        let mut stream = self.waiting.remove(at).stream;
        let line = format!("{}\n", decision.as_str());
        // A hook reads at once and nothing is before it in the socket; blocking is bounded all the same.
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_write_timeout(Some(WRITE_LIMIT));
        stream.write_all(line.as_bytes()).is_ok()
    }

    /// The dialog is no longer as it was seen, and nobody has answered it: perhaps it was drawn anew. Its request waits on.
    pub(crate) fn dialog_lost(&mut self, no: SightingNo) -> bool {
        let lost = self.waiting.iter_mut().find(|waiting| waiting.is_shown_as(no));
        lost.is_some_and(|waiting| waiting.dialog.take().is_some())
    }

    /// The dialog has left the screen: its request needs nobody any more.
    pub(crate) fn dialog_gone(&mut self, no: SightingNo) -> bool {
        self.forget(|waiting| waiting.is_shown_as(no))
    }

    fn forget(&mut self, is_over: impl Fn(&PendingRequest) -> bool) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| !is_over(waiting));
        self.waiting.len() < before
    }
}

/// A decision of any length goes into an empty socket, or into a hook that reads.
const WRITE_LIMIT: std::time::Duration = std::time::Duration::from_millis(200);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Arriving {
    /// Whether the event is whole. An error: who brought it has gone, or brings too much.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 64 * 1024];
        while !self.bytes.ends_with(b"\n") {
            if self.bytes.len() > LONGEST_EVENT {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            match ReadOutcome::of_read(&self.stream, &mut buffer)? {
                ReadOutcome::Data(count) => self.bytes.extend_from_slice(&buffer[..count]),
                ReadOutcome::WouldBlock => return Ok(false),
                ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(true)
    }
}

/// A hook that waits says nothing more; one that was ended has hung up.
fn has_stayed(stream: &UnixStream) -> bool {
    !matches!(ReadOutcome::of_read(stream, &mut [0; 64]), Ok(ReadOutcome::End) | Err(_))
}

/// Only what the tool itself has started speaks for it.
fn is_of_the_tool(stream: &UnixStream, leader: i32) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
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
    use std::io::Read;

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
        assert_eq!(hooks.pair_standing(&standing), Pairing::Same(RequestId(1)));
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
        assert_eq!(hooks.pair_new(&mut standing), Pairing::Same(RequestId(1)));
        for command in ["ls", "rm -rf build"] {
            let _other = asks(&mut hooks, command);
            assert_eq!(hooks.pair_standing(&dialog(1, "rm -rf build")), Pairing::Other, "{command}");
        }
        assert_eq!(hooks.announce_next().as_deref(), Some("Bash: ls"));
        let mut unbound = Hooks::default();
        let _other = asks(&mut unbound, "ls -l");
        assert_eq!(unbound.pair_standing(&standing), Pairing::Other);
        assert_eq!(unbound.decision(standing.no, &yes()), None);
        let idle = Sighting { kind: Kind::Idle, ..dialog(2, "ls -l") };
        assert_eq!(unbound.pair_standing(&idle), Pairing::Nobody);
    }

    /// Before, a request was found wherever its beginning stood: `rm -rf b` was answered by the dialog of `rm -rf build`.
    #[test]
    fn a_request_is_paired_by_its_whole_command() {
        for (asked, shown) in [("rm -rf b", "rm -rf build"), ("build", "rm -rf build"), ("ls", "false")] {
            let mut hooks = Hooks::default();
            let _tool = asks(&mut hooks, asked);
            assert_eq!(hooks.pair_new(&mut dialog(1, shown)), Pairing::Other, "{asked} in {shown}");
            assert_eq!(hooks.pair_standing(&dialog(1, shown)), Pairing::Other, "{asked} in {shown}");
            assert_eq!(hooks.decision(SightingNo(1), &yes()), None);
        }
    }

    /// What is cut on the screen could be either: nobody guesses. The same asked twice is answered in its order.
    #[test]
    fn of_two_that_a_dialog_may_show_none_is_taken() {
        let long = |end: &str| format!("echo {}{end}", "word ".repeat(20));
        let cut = dialog(1, &format!("{}…", &long("")[..80]));
        let mut hooks = Hooks::default();
        let _one = asks(&mut hooks, &long("one"));
        assert_eq!(hooks.pair_standing(&cut), Pairing::Other, "the person has not seen how it ends");
        let _two = asks(&mut hooks, &long("two"));
        assert_eq!(hooks.pair_new(&mut cut.clone()), Pairing::Other);
        assert_eq!(hooks.pair_new(&mut dialog(2, &long("two"))), Pairing::Same(RequestId(2)));
        let mut shown = cut.clone();
        assert_eq!(hooks.pair_new(&mut shown), Pairing::Same(RequestId(1)), "only one is left");
        assert!(shown.detail.as_str().contains("word one"), "and the person is told all of it");

        let mut twice = Hooks::default();
        let _tools = [asks(&mut twice, "ls"), asks(&mut twice, "ls")];
        assert_eq!(twice.pair_new(&mut dialog(1, "ls")), Pairing::Same(RequestId(1)));
        assert_eq!(twice.pair_new(&mut dialog(2, "ls")), Pairing::Same(RequestId(2)));
    }

    /// The detector sees by the tool's word alone: that word was about one request, and no other is answered by it.
    #[test]
    fn a_prompt_that_no_screen_shows_is_the_request_that_was_told() {
        let unseen = |no| Sighting { kind: Kind::Unknown, choices: None, ..dialog(no, "some drawing") };
        let mut hooks = Hooks::default();
        let _tools = [asks(&mut hooks, "ls"), asks(&mut hooks, "rm -rf build")];
        assert_eq!(hooks.pair_new(&mut unseen(1)), Pairing::Other, "nothing was told");
        assert_eq!(hooks.announce(RequestId(2)).as_deref(), Some("Bash: rm -rf build"));
        assert_eq!(hooks.pair_new(&mut unseen(2)), Pairing::Same(RequestId(2)));
        assert_eq!(hooks.announce_next().as_deref(), Some("Bash: ls"));
        let mut shown = unseen(3);
        assert_eq!(hooks.pair_new(&mut shown), Pairing::Same(RequestId(1)));
        assert_eq!(shown.excerpt.as_str(), "Bash: ls");
    }

    #[test]
    fn a_dialog_that_is_drawn_anew_keeps_its_request() {
        let mut hooks = Hooks::default();
        let _tool = asks(&mut hooks, "ls -l");
        assert_eq!(hooks.pair_new(&mut dialog(1, "ls -l")), Pairing::Same(RequestId(1)));
        assert!(hooks.dialog_lost(SightingNo(1)));
        assert_eq!(hooks.decision(SightingNo(1), &yes()), None);
        assert_eq!(hooks.pair_new(&mut dialog(2, "ls -l")), Pairing::Same(RequestId(1)));
        assert!(hooks.decision(SightingNo(2), &yes()).is_some());
        assert!(hooks.dialog_gone(SightingNo(2)));
        assert_eq!(hooks.announce_next(), None);
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
        assert_eq!(hooks.pair_new(&mut dialog(1, "ls")), Pairing::Same(RequestId(1)));
        assert!(hooks.dialog_gone(SightingNo(1)));
        assert!(hooks.awaits_request(&seen), "it does ask");
        report(&mut hooks, "Stop");
        assert!(!hooks.awaits_request(&seen), "a menu of an idle tool has no hook");
    }

    #[test]
    fn a_hook_that_hung_up_is_told_nothing() {
        let mut hooks = Hooks::default();
        let tool = asks(&mut hooks, "ls");
        assert_eq!(hooks.pair_new(&mut dialog(1, "ls")), Pairing::Same(RequestId(1)));
        let decision = hooks.decision(SightingNo(1), &yes()).unwrap();
        drop(tool);
        assert!(!hooks.decide(SightingNo(1), &decision));
        assert_eq!(hooks.decision(SightingNo(1), &yes()), None);
    }
}
