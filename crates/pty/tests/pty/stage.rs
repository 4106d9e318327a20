//! A session on a stage: a tool is started, watched and typed to, and the curtain falls on it in any case.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use atlasbridge_pty::{
    ChildEvent, PollFd, PollFlags, ReadOutcome, Session, SpawnConfig, Termios, WindowSize, WriteOutcome,
    poll, spawn,
};

/// How long anything may take. Only a failing test takes so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// How often to look at what no descriptor announces.
const GLANCE: Duration = Duration::from_millis(5);

pub(crate) const SIZE: WindowSize = WindowSize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };

pub(crate) struct Stage {
    pub(crate) session: Session,
    pub(crate) output: Vec<u8>,
    pub(crate) events: Vec<ChildEvent>,
    pub(crate) is_closed: bool,
}

impl Stage {
    /// Runs this with the test's own environment.
    pub(crate) fn run(program: impl AsRef<OsStr>, args: &[&str]) -> Self {
        Self::run_with(program, args, &[], |_| {})
    }

    pub(crate) fn sh(script: &str) -> Self {
        Self::run("sh", &["-c", script])
    }

    pub(crate) fn bash(script: &str) -> Self {
        Self::run("bash", &["--norc", "--noprofile", "-c", script])
    }

    pub(crate) fn run_with(
        program: impl AsRef<OsStr>,
        args: &[&str],
        variables: &[(&str, &str)],
        change: impl FnOnce(&mut SpawnConfig<'_>),
    ) -> Self {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        env.extend(variables.iter().map(|(key, value)| (key.into(), value.into())));
        let mut config = SpawnConfig {
            program: program.as_ref(),
            args: &args,
            env,
            size: SIZE,
            termios: None,
            foreground: true,
            outer_terminal: None,
        };
        change(&mut config);
        let session = spawn(&config).unwrap();
        Self { session, output: Vec::new(), events: Vec::new(), is_closed: false }
    }

    /// Looks again and again until there is something to see.
    #[track_caller]
    pub(crate) fn until<T>(&mut self, what: &str, mut see: impl FnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.pump(GLANCE);
            if let Some(seen) = see(self) {
                return seen;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}; events {:?}, output {:?}",
                self.events,
                String::from_utf8_lossy(&self.output)
            );
        }
    }

    #[track_caller]
    pub(crate) fn until_output(&mut self, text: &str) {
        self.until(text, |stage| stage.text().contains(text).then_some(()));
    }

    #[track_caller]
    pub(crate) fn until_event(&mut self, event: ChildEvent) {
        self.until(&format!("{event:?}"), |stage| stage.events.contains(&event).then_some(()));
    }

    #[track_caller]
    pub(crate) fn until_started(&mut self) -> i32 {
        self.until("start", |stage| stage.events.iter().find_map(started))
    }

    /// Waits until `measure` gives this.
    #[track_caller]
    pub(crate) fn until_equal<T: PartialEq + Debug>(
        &mut self,
        expected: T,
        mut measure: impl FnMut(&Self) -> T,
    ) {
        let mut last = None;
        let deadline = Instant::now() + LIMIT;
        while last.as_ref() != Some(&expected) {
            assert!(
                Instant::now() < deadline,
                "expected {expected:?}, still {last:?}; output {:?}",
                self.text()
            );
            self.pump(GLANCE);
            last = Some(measure(self));
        }
    }

    /// The event that ends the tool, after all its output.
    #[track_caller]
    pub(crate) fn until_end(&mut self) -> ChildEvent {
        self.until("end of the terminal", |stage| stage.is_closed.then_some(()));
        self.until("end of the tool", |stage| {
            let last = *stage.events.last()?;
            matches!(
                last,
                ChildEvent::ExecFailed { .. } | ChildEvent::Exited { .. } | ChildEvent::Signaled { .. }
            )
            .then_some(last)
        })
    }

    #[track_caller]
    pub(crate) fn type_in(&mut self, bytes: impl AsRef<[u8]>) {
        let mut left = bytes.as_ref();
        let deadline = Instant::now() + LIMIT;
        while !left.is_empty() {
            assert!(Instant::now() < deadline, "the terminal does not take {} bytes", left.len());
            match self.session.writer.write(left).unwrap() {
                WriteOutcome::Wrote(count) => left = &left[count..],
                WriteOutcome::WouldBlock => self.pump(GLANCE),
                WriteOutcome::Closed => panic!("the terminal is closed"),
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Takes what has come, or comes within `patience`.
    pub(crate) fn pump(&mut self, patience: Duration) {
        let mut descriptors = vec![PollFd::from_borrowed_fd(self.session.child.as_fd(), PollFlags::IN)];
        if !self.is_closed {
            descriptors.push(PollFd::from_borrowed_fd(self.session.reader.as_fd(), PollFlags::IN));
        }
        poll(&mut descriptors, Some(patience)).unwrap();
        while let Some(event) = self.session.child.next_event().unwrap() {
            self.events.push(event);
        }
        let mut buffer = [0; 65_536];
        while !self.is_closed {
            match self.session.reader.read(&mut buffer).unwrap() {
                ReadOutcome::Data(count) => self.output.extend_from_slice(&buffer[..count]),
                ReadOutcome::WouldBlock => break,
                ReadOutcome::End => self.is_closed = true,
            }
        }
    }
}

/// The settings that a terminal has before anybody has changed them.
pub(crate) fn fresh_settings() -> Termios {
    use rustix::pty::{OpenptFlags, openpt};
    Termios::of(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap()).unwrap()
}

/// Waits without a stage.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut see: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(seen) = see() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        poll(&mut [], Some(GLANCE)).unwrap();
    }
}

/// One letter, as in `ps`; `None` if there is no such process.
pub(crate) fn state(process: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Nobody, or a corpse that its parent has not collected yet.
pub(crate) fn is_dead(process: i32) -> bool {
    matches!(state(process), None | Some('Z' | 'X'))
}

/// A directory that goes with the test.
pub(crate) struct Scratch(std::path::PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("atlasbridge-pty-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }

    /// Writes a file with these permissions.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The tool's process, by the event that says that it runs.
pub(crate) fn started(event: &ChildEvent) -> Option<i32> {
    match event {
        ChildEvent::Started { pid } => Some(*pid),
        _ => None,
    }
}
