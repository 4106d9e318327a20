//! The kernel's word on whether a process waits for the terminal.
//!
//! It looks at every thread of the terminal's foreground process group and asks in which system call it is blocked,
//! and on which file. A blocking `read` of the terminal is a program that waits for input, near certainly; no
//! thread waiting is a program that is busy, near certainly; an event loop polls the terminal at all times, and there the
//! screen must tell (measured over 300 prompts, DESIGN §3).
//!
//! It reads procfs and nothing else, never waits, and never fails: what cannot be read is `Unknown`. Programs of
//! another user (`sudo`) and programs that are not dumpable cannot be read. Programs that hide behind a terminal of
//! their own (tmux, `script`, ssh) are seen as what they are in front of this one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Stat;

use crate::control::{Control, LineMode};

/// Most processes of one group, threads of all of them, and descriptors of one set that are looked at; beyond, the
/// answer is `Unknown`.
/// That is far more than a tool has; the point is that a fork bomb in front of the terminal cannot hold up the host.
const MOST_PROCESSES: usize = 256;
const MOST_THREADS: usize = 1024;
const MOST_POLLED: usize = 1024;

/// `/dev/tty`: for each process the terminal of its own session, and the session of the foreground group is ours.
const DEV_TTY: u64 = libc::makedev(5, 0);

/// System calls that block in reading what their first argument says. uutils' `cat` splices.
const READS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_splice,
];
const POLLS: &[i64] = &[
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];
const SELECTS: &[i64] = &[
    libc::SYS_pselect6,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
];
const EPOLLS: &[i64] = &[
    libc::SYS_epoll_pwait,
    EPOLL_PWAIT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// The same on every machine; not every libc has a name for it.
const EPOLL_PWAIT2: i64 = 441;

/// What the kernel says about the inner terminal at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub wait: TtyWait,
    pub mode: LineMode,
    /// The thread that waits for it, if one does: who reads before who polls.
    pub waiting: Option<WaitingThread>,
    /// A thread in front of it runs, or is about to: perhaps towards a read.
    pub is_running: bool,
}

/// A thread that waited for the terminal, to be looked at again for a few microseconds' price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingThread {
    process: i32,
    thread: i32,
}

impl WaitingThread {
    /// How long the threads of its process have been ready to run and without a processor so far, all together: on a busy
    /// machine it is no sign of anything that they were slow by as much. Nothing where the kernel does not count it.
    pub fn queued(self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process)).into_iter().flatten().flatten();
        let queued = threads.filter_map(|thread| {
            let line = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        });
        Duration::from_nanos(queued.sum())
    }
}

/// Whether a thread in front of the terminal waits for it. In the order in which one thread's answer overrules
/// another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TtyWait {
    /// None does.
    None,
    /// One polls it, perhaps among other things.
    Poll,
    /// One could not be looked at.
    Unknown,
    /// One is blocked in reading it.
    Read,
}

/// Which terminal: the file behind its name. Not its device number, which a container's terminals may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalId {
    filesystem: u64,
    inode: u64,
}

impl TerminalId {
    pub(crate) fn of(status: &Stat) -> Self {
        Self { filesystem: status.st_dev, inode: status.st_ino }
    }
}

impl Control {
    /// Whether a process in front of the terminal waits for it: see [`Probe`].
    pub fn probe(&self) -> Probe {
        let mut search = WaiterSearch::new(self.terminal, Names::Both);
        let wait = self.foreground_group().map_or(TtyWait::None, |group| search.in_group(group));
        Probe { wait, mode: self.line_mode(), waiting: search.waiting, is_running: search.is_running }
    }

    /// Whether a process of another session waits for this very terminal: the server of tmux or screen, a pinentry. They
    /// read for the program in front, so [`Control::probe`] finds no waiting process. `/dev/tty` does not count: there it is
    /// another terminal. Nor does who is in the session, behind: the kernel stops it when it reads.
    pub fn is_awaited_elsewhere(&self) -> bool {
        let session = self.foreground_group().and_then(session_of);
        let (Ok(processes), Some(session)) = (processes(), session) else { return false };
        let mut search = WaiterSearch::new(self.terminal, Names::ItsOwn);
        let mut others = processes.filter(|&process| session_of(process).is_some_and(|of| of != session));
        others.any(|process| matches!(search.in_process(process), TtyWait::Read | TtyWait::Poll))
    }

    /// Whether who waited for the terminal still does.
    pub fn still_waits(&self, WaitingThread { process, thread }: WaitingThread) -> bool {
        let directory = PathBuf::from(format!("/proc/{process}/task/{thread}"));
        let thread = Thread { directory, names: Names::Both };
        matches!(thread.waits_for(self.terminal), TtyWait::Read | TtyWait::Poll)
    }
}

struct WaiterSearch {
    terminal: TerminalId,
    names: Names,
    threads_left: usize,
    /// Who was found to wait for it.
    waiting: Option<WaitingThread>,
    /// A thread was found outside of any call.
    is_running: bool,
}

/// By which names a process may have the terminal open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    ItsOwn,
    /// And `/dev/tty`.
    Both,
}

impl WaiterSearch {
    fn new(terminal: TerminalId, names: Names) -> Self {
        Self { terminal, names, threads_left: MOST_THREADS, waiting: None, is_running: false }
    }

    fn in_group(&mut self, group: i32) -> TtyWait {
        // The first of the group first: mostly it is the one, and then the rest of the machine need not be looked
        // through. It may have left the group that it gave its number to.
        let first = if group_of(group) == Some(group) { self.in_process(group) } else { TtyWait::None };
        if first == TtyWait::Read { first } else { first.max(self.in_others(group)) }
    }

    fn in_others(&mut self, group: i32) -> TtyWait {
        let Ok(processes) = processes() else { return TtyWait::Unknown };
        let mut members = processes.filter(|&process| process != group && group_of(process) == Some(group));
        let found = strongest(members.by_ref().take(MOST_PROCESSES).map(|process| self.in_process(process)));
        if members.next().is_some() { found.max(TtyWait::Unknown) } else { found }
    }

    fn in_process(&mut self, process: i32) -> TtyWait {
        let tasks = PathBuf::from(format!("/proc/{process}/task"));
        match fs::read_dir(&tasks) {
            Ok(entries) => {
                // One more than may be looked at says that there are more.
                let entries = entries.flatten().take(self.threads_left + 1);
                strongest(entries.map(|entry| self.in_thread(process, &tasks, &entry.file_name())))
            }
            // Gone; or, where procfs hides other users' processes, there and unseen.
            Err(_) if group_of(process).is_none() => TtyWait::None,
            Err(_) => TtyWait::Unknown,
        }
    }

    fn in_thread(&mut self, process: i32, tasks: &Path, name: &OsStr) -> TtyWait {
        let Some(left) = self.threads_left.checked_sub(1) else { return TtyWait::Unknown };
        self.threads_left = left;
        let thread = Thread { directory: tasks.join(name), names: self.names };
        let wait = thread.waits_for(self.terminal);
        self.is_running |= wait == TtyWait::None && thread.runs();
        if matches!(wait, TtyWait::Read | TtyWait::Poll) {
            self.waiting = number(name).map(|thread| WaitingThread { process, thread });
        }
        wait
    }
}

/// Nothing overrules a read: the rest is not looked at.
fn strongest(waits: impl Iterator<Item = TtyWait>) -> TtyWait {
    let mut strongest = TtyWait::None;
    for wait in waits {
        strongest = strongest.max(wait);
        if strongest == TtyWait::Read {
            break;
        }
    }
    strongest
}

/// One thread, as a directory of procfs.
struct Thread {
    directory: PathBuf,
    names: Names,
}

impl Thread {
    fn waits_for(&self, terminal: TerminalId) -> TtyWait {
        let wait = match fs::read_to_string(self.directory.join("syscall")) {
            Ok(line) => self.judge(BlockedIn::parse(&line), terminal),
            // ENOENT, or ESRCH from a file that was still there: the thread has ended meanwhile.
            Err(_) if !self.directory.exists() => return TtyWait::None,
            Err(_) => TtyWait::Unknown,
        };
        // A stopped thread still shows the call that it will resume, and a dead one cannot be looked at.
        if wait == TtyWait::None || self.can_wait() { wait } else { TtyWait::None }
    }

    /// It runs, or waits for nothing but a processor.
    fn runs(&self) -> bool {
        let line = fs::read_to_string(self.directory.join("syscall"));
        line.is_ok_and(|line| BlockedIn::parse(&line) == BlockedIn::Nothing) && self.can_wait()
    }

    fn judge(&self, blocked: BlockedIn, terminal: TerminalId) -> TtyWait {
        let (number, arguments) = match blocked {
            BlockedIn::Nothing => return TtyWait::None,
            BlockedIn::Unreadable => return TtyWait::Unknown,
            BlockedIn::Call { number, arguments } => (number, arguments),
        };
        let [first, second, ..] = arguments;
        let (descriptors, so) = match number {
            _ if READS.contains(&number) => (Some(vec![first]), TtyWait::Read),
            libc::SYS_sendfile => (Some(vec![second]), TtyWait::Read),
            _ if POLLS.contains(&number) => (self.poll_set(first, second), TtyWait::Poll),
            _ if SELECTS.contains(&number) => (self.select_set(first, second), TtyWait::Poll),
            _ if EPOLLS.contains(&number) => (self.epoll_set(first), TtyWait::Poll),
            // What is waited for lies in a ring that we cannot walk.
            libc::SYS_io_uring_enter => return TtyWait::Unknown,
            _ => return TtyWait::None,
        };
        match descriptors {
            // They could not be read.
            None => TtyWait::Unknown,
            Some(all) if all.iter().any(|&descriptor| self.is_terminal(descriptor, terminal)) => so,
            Some(_) => TtyWait::None,
        }
    }

    /// Whether this descriptor of the thread is the terminal, by its own name or as `/dev/tty`.
    fn is_terminal(&self, descriptor: u64, terminal: TerminalId) -> bool {
        // The kernel takes an `int`; what a program leaves in the rest of the register says nothing.
        let descriptor = descriptor as u32;
        let Ok(status) = fs::metadata(self.directory.join(format!("fd/{descriptor}"))) else { return false };
        let id = TerminalId { filesystem: status.dev(), inode: status.ino() };
        let is_dev_tty = || status.file_type().is_char_device() && status.rdev() == DEV_TTY;
        id == terminal || self.names == Names::Both && is_dev_tty()
    }

    /// The descriptors that are polled for input: `poll(list, count, …)`.
    fn poll_set(&self, list: u64, count: u64) -> Option<Vec<u64>> {
        const RECORD: usize = size_of::<libc::pollfd>();
        let count = usize::try_from(count).ok().filter(|&count| count <= MOST_POLLED)?;
        let records = self.memory(list, count * RECORD)?;
        let (records, _) = records.as_chunks::<RECORD>();
        let polled = records.iter().filter_map(|&[f0, f1, f2, f3, e0, e1, _, _]| {
            let descriptor = i32::from_ne_bytes([f0, f1, f2, f3]);
            let events = i16::from_ne_bytes([e0, e1]);
            (events & (libc::POLLIN | libc::POLLRDNORM) != 0).then_some(u64::try_from(descriptor).ok()?)
        });
        Some(polled.collect())
    }

    /// The descriptors that are selected for reading: `select(beyond, set, …)`, one bit for each.
    fn select_set(&self, beyond: u64, set: u64) -> Option<Vec<u64>> {
        if set == 0 {
            return Some(Vec::new());
        }
        let beyond = usize::try_from(beyond as u32).ok().filter(|&beyond| beyond <= MOST_POLLED)?;
        let bytes = self.memory(set, beyond.div_ceil(8))?;
        let is_set = |descriptor: &usize| {
            bytes.get(descriptor / 8).is_some_and(|byte| byte & (1 << (descriptor % 8)) != 0)
        };
        Some((0..beyond).filter(is_set).map(|descriptor| descriptor as u64).collect())
    }

    /// The descriptors whose input an epoll reports, as procfs lists them: `tfd: 0 events: 19 …`, the events in hex.
    fn epoll_set(&self, epoll: u64) -> Option<Vec<u64>> {
        let info = fs::read_to_string(self.directory.join(format!("fdinfo/{}", epoll as u32))).ok()?;
        let polled = info.lines().filter_map(|line| {
            let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
            let descriptor = words.next()?.parse().ok()?;
            let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
            (events & (libc::EPOLLIN | libc::EPOLLRDNORM) as u32 != 0).then_some(descriptor)
        });
        let polled: Vec<u64> = polled.take(MOST_POLLED + 1).collect();
        (polled.len() <= MOST_POLLED).then_some(polled)
    }

    fn memory(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        File::open(self.directory.join("mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// Neither stopped nor dead. The state follows the name, which is in brackets and may contain any character,
    /// brackets as well.
    fn can_wait(&self) -> bool {
        let Ok(stat) = fs::read(self.directory.join("stat")) else { return false };
        let after_name = stat.rsplit(|&byte| byte == b')').next().unwrap_or_default();
        !matches!(after_name, [b' ', b'T' | b't' | b'Z' | b'X', ..])
    }
}

/// What a line of `/proc/PID/syscall` says.
#[derive(Debug, PartialEq, Eq)]
enum BlockedIn {
    /// It runs, or waits outside of any call.
    Nothing,
    /// This call, with its arguments.
    Call { number: i64, arguments: [u64; 6] },
    /// A call of a 32-bit program, whose numbers mean other things.
    Unreadable,
}

impl BlockedIn {
    /// `0 0x0 0x7ffd… 0x1000 0x22 0x0 0x7f… 0x7ffd… 0x7f…`: number, six arguments, stack pointer, program counter.
    fn parse(line: &str) -> Self {
        let mut words = line.split_ascii_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse().ok()).filter(|&number| number >= 0)
        else {
            return Self::Nothing;
        };
        let mut rest = words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            let Some(Some(value)) = rest.next() else { return Self::Unreadable };
            *argument = value;
        }
        match rest.next() {
            Some(Some(stack)) if stack > u64::from(u32::MAX) => Self::Call { number, arguments },
            _ => Self::Unreadable,
        }
    }
}

/// Every process that procfs shows.
fn processes() -> io::Result<impl Iterator<Item = i32>> {
    Ok(fs::read_dir("/proc")?.flatten().filter_map(|entry| number(&entry.file_name())))
}

/// A group lies within one session and a session has one terminal, so each member of the group is in front of ours.
/// Asked of the kernel and not of procfs, because it is asked for every process of the machine.
fn group_of(process: i32) -> Option<i32> {
    // SAFETY: no memory is involved. Not rustix's: kernel threads are in group 0, which it takes for impossible.
    let group = unsafe { libc::getpgid(process) };
    (group >= 0).then_some(group)
}

fn session_of(process: i32) -> Option<i32> {
    // SAFETY: no memory is involved.
    let session = unsafe { libc::getsid(process) };
    (session >= 0).then_some(session)
}

fn number(name: &OsStr) -> Option<i32> {
    name.to_str()?.parse().ok().filter(|&number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_procfs_is_read_as_the_kernel_wrote_it() {
        let call = |number, arguments| BlockedIn::Call { number, arguments };
        for (line, expected) in [
            ("running\n", BlockedIn::Nothing),
            ("-1 0x7ffc0 0x7f00\n", BlockedIn::Nothing),
            ("", BlockedIn::Nothing),
            (
                "0 0x3 0x7f10 0x1000 0x22 0x0 0x5 0x7ffd00000000 0x7f00\n",
                call(0, [3, 0x7f10, 0x1000, 0x22, 0, 5]),
            ),
            ("3 0x0 0xffff0 0x1 0x0 0x0 0x0 0xffffd000 0xf7f00\n", BlockedIn::Unreadable),
            ("0 0x3 0x7f10\n", BlockedIn::Unreadable),
        ] {
            assert_eq!(BlockedIn::parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_known_overrules_what_is_not() {
        assert!(TtyWait::Read > TtyWait::Unknown);
        assert!(TtyWait::Unknown > TtyWait::Poll);
        assert!(TtyWait::Poll > TtyWait::None);
    }
}
