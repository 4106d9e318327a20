//! A person's terminal: a program on a PTY, what it shows collected, and keys to type.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use atlasbridge_pty::{
    Child, ChildEvent, Control, PollFd, PollFlags, ReadHalf, ReadOutcome, Signal, SpawnConfig, WindowSize,
    WriteHalf, WriteOutcome, poll, spawn,
};

use crate::{LIMIT, eventually};

/// The program's own process group leads the terminal, as under a shell.
pub struct Terminal {
    shown: Arc<Mutex<Vec<u8>>>,
    writer: WriteHalf,
    child: Child,
    control: Control,
    pid: i32,
    reader: Reader,
}

/// Who takes what the program shows.
enum Reader {
    /// The test, when it likes: a terminal that is slow.
    Test(ReadHalf),
    Thread(JoinHandle<()>),
    Over,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Terminal(pid {})", self.pid)
    }
}

impl Terminal {
    #[track_caller]
    pub fn start(program: &Path, args: &[&str], env: &[(String, String)], cols: u16, rows: u16) -> Self {
        let mut terminal = Self::start_unread(program, args, env, cols, rows);
        terminal.read_on();
        terminal
    }

    /// A slow terminal: what the program shows is taken with [`Terminal::take`] only, until [`Terminal::read_on`].
    #[track_caller]
    pub fn start_unread(
        program: &Path,
        args: &[&str],
        env: &[(String, String)],
        cols: u16,
        rows: u16,
    ) -> Self {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let session = spawn(&SpawnConfig {
            program: program.as_os_str(),
            args: &args,
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            size: WindowSize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 },
            termios: None,
            foreground: true,
            outer_terminal: None,
        })
        .unwrap();
        let mut terminal = Self {
            shown: Arc::new(Mutex::new(Vec::new())),
            writer: session.writer,
            child: session.child,
            control: session.control,
            pid: 0,
            reader: Reader::Test(session.reader),
        };
        match terminal.next_event() {
            ChildEvent::Started { pid } => terminal.pid = pid,
            other => panic!("the program did not start: {other:?}"),
        }
        terminal
    }

    /// Takes at most this much of what is shown, if there is something.
    pub fn take(&mut self, count: usize) {
        let Reader::Test(reader) = &mut self.reader else { panic!("somebody else reads this terminal") };
        let mut buffer = vec![0; count];
        if let Ok(ReadOutcome::Data(count)) = reader.read(&mut buffer) {
            self.shown.lock().unwrap().extend_from_slice(&buffer[..count]);
        }
    }

    /// From now on everything is taken at once.
    pub fn read_on(&mut self) {
        let shown = self.shown.clone();
        self.reader = match std::mem::replace(&mut self.reader, Reader::Over) {
            Reader::Test(reader) => Reader::Thread(thread::spawn(move || collect(reader, &shown))),
            other => other,
        };
    }

    /// The pid of the program on this terminal.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Everything that was shown so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.shown.lock().unwrap().clone()
    }

    /// What was shown after the first `count` bytes.
    pub fn bytes_after(&self, count: usize) -> Vec<u8> {
        self.shown.lock().unwrap()[count..].to_vec()
    }

    /// How much was shown so far.
    pub fn count_bytes(&self) -> usize {
        self.shown.lock().unwrap().len()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Waits until the text was shown.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let deadline = std::time::Instant::now() + LIMIT;
        while !self.text().contains(text) {
            assert!(std::time::Instant::now() < deadline, "{text:?} was not shown, but: {:?}", self.text());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How often the text was shown.
    pub fn count(&self, text: &str) -> usize {
        self.text().matches(text).count()
    }

    #[track_caller]
    pub fn type_keys(&mut self, keys: impl AsRef<[u8]>) {
        let mut left = keys.as_ref();
        while !left.is_empty() {
            match self.writer.write(left).unwrap() {
                WriteOutcome::Wrote(count) => left = &left[count..],
                WriteOutcome::WouldBlock => {
                    let mut descriptors = [PollFd::new(&self.writer, PollFlags::OUT)];
                    assert!(poll(&mut descriptors, Some(LIMIT)).unwrap() > 0, "the terminal takes no keys");
                }
                WriteOutcome::Closed => panic!("the program is gone"),
            }
        }
    }

    pub fn resize(&self, cols: u16, rows: u16) {
        self.control.resize(WindowSize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        self.child.signal_tool(signal).unwrap();
    }

    /// Continues a stopped program, as `fg` does.
    pub fn continue_program(&self) {
        self.child.signal_tool(Signal::CONT).unwrap();
    }

    /// `kill -9` of the program itself.
    pub fn kill(&self) {
        crate::home::kill(self.pid);
    }

    /// The next thing that happens to the program.
    #[track_caller]
    pub fn next_event(&mut self) -> ChildEvent {
        let mut descriptors = [PollFd::new(&self.child, PollFlags::IN)];
        assert!(
            poll(&mut descriptors, Some(LIMIT)).unwrap() > 0,
            "nothing happens to the program; shown: {:?}",
            self.text()
        );
        self.child.next_event().unwrap().expect("poll said so")
    }

    /// Waits for the program's end and for its last words; returns its exit code as a shell would.
    #[track_caller]
    pub fn end(self) -> (i32, String) {
        let (code, bytes) = self.end_bytes();
        (code, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same, with what was shown as it came.
    #[track_caller]
    pub fn end_bytes(mut self) -> (i32, Vec<u8>) {
        let code = loop {
            match self.next_event() {
                ChildEvent::Exited { code } => break code,
                ChildEvent::Signaled { signal } => break 128 + signal,
                ChildEvent::Continued | ChildEvent::Stopped { .. } | ChildEvent::Started { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        self.read_on();
        if let Reader::Thread(reader) = &self.reader {
            eventually("the terminal's other side is closed", || reader.is_finished().then_some(()));
        }
        let shown = std::mem::take(&mut *self.shown.lock().unwrap());
        (code, shown)
    }

    /// The program's pid in this session whose command line contains `word`, if there is one.
    pub fn process(word: impl AsRef<OsStr>) -> Option<i32> {
        let word = word.as_ref().to_string_lossy().into_owned();
        std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid = entry.file_name().to_string_lossy().parse().ok()?;
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&command).contains(&word).then_some(pid)
        })
    }
}

fn collect(mut reader: ReadHalf, shown: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut descriptors = [PollFd::new(&reader, PollFlags::IN)];
        if poll(&mut descriptors, None).is_err() {
            return;
        }
        match reader.read(&mut buffer) {
            Ok(ReadOutcome::Data(count)) => shown.lock().unwrap().extend_from_slice(&buffer[..count]),
            Ok(ReadOutcome::WouldBlock) => {}
            Ok(ReadOutcome::End) | Err(_) => return,
        }
    }
}
