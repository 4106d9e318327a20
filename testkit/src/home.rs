//! An `ATLASBRIDGE_HOME` of a test's own, and the commands run in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use serde_json::Value;

use crate::{Pause, Terminal, eventually};

/// What a command left behind.
#[derive(Debug, Clone)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl From<std::process::Output> for Finished {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A command that has not ended yet.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Waits for its end.
    #[track_caller]
    pub fn end(self) -> Finished {
        self.0.wait_with_output().unwrap().into()
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

/// A command that goes on until it is dropped, and its lines as they come.
#[derive(Debug)]
pub struct Following {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Following {
    /// The next line that comes within this time.
    pub fn next_line(&self, within: std::time::Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// The next line for which `is_it` holds.
    #[track_caller]
    pub fn line(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let line =
                self.lines.recv_timeout(crate::LIMIT).unwrap_or_else(|_| panic!("no such line came: {what}"));
            if is_it(&line) {
                return line;
            }
        }
    }
}

impl Following {
    /// Ends it, before what it follows is gone.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where Claude keeps its files, if not in `HOME`.
const CLAUDE_FILES: &str = "CLAUDE_CONFIG_DIR";

/// A directory, the binary under test, and everything that was started in it; gone with the value.
#[derive(Debug)]
pub struct Home {
    directory: PathBuf,
    binary: PathBuf,
    /// Session hosts that were started on a terminal.
    hosts: Mutex<Vec<i32>>,
}

impl Home {
    /// `binary` is `env!("CARGO_BIN_EXE_atlasbridge")` of the calling test.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Short: a Unix socket's path has 107 bytes.
        let directory = std::env::temp_dir().join(format!("ab-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("home")).unwrap();
        fs::create_dir_all(directory.join("user")).unwrap();
        fs::set_permissions(directory.join("home"), fs::Permissions::from_mode(0o700)).unwrap();
        Self { directory, binary: binary.into(), hosts: Mutex::default() }
    }

    /// The same on a disk of its own that holds `kib` KiB. Nothing where disks cannot be mounted: without root.
    pub fn on_small_disk(binary: impl Into<PathBuf>, kib: u32) -> Option<Self> {
        let home = Self::new(binary);
        let options = std::ffi::CString::new(format!("size={kib}k,mode=0700")).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        let mounted = rustix::mount::mount("tmpfs", home.path(), "tmpfs", flags, options.as_c_str());
        mounted.is_ok().then_some(home)
    }

    /// Leaves no free byte on the small disk, until the returned file is removed.
    #[track_caller]
    pub fn fill_disk(&self) -> PathBuf {
        let filler = self.path().join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        filler
    }

    /// `ATLASBRIDGE_HOME`.
    pub fn path(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// `HOME`. Whoever asks an agent for its version makes it read and write its files there, and two that do so at once in
    /// one home spoil them: so it is never the developer's.
    fn user(&self) -> PathBuf {
        self.directory.join("user")
    }

    /// A place for the test's own files.
    pub fn scratch(&self) -> &Path {
        &self.directory
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }

    pub fn write_config(&self, text: &str) {
        let file = self.path().join("config.toml");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// A command of ours, with this home and nothing inherited from a session that the tests may run in.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ATLASBRIDGE_"))
        {
            command.env_remove(name);
        }
        command.env("ATLASBRIDGE_HOME", self.path()).env("ATLASBRIDGE_PAUSE_DIR", self.pause_directory());
        command.env("HOME", self.user()).env_remove(CLAUDE_FILES);
        command.stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Finished {
        self.command(args).output().unwrap().into()
    }

    /// Starts it, for a test that acts meanwhile.
    #[track_caller]
    pub fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Running {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// Starts a command that does not end by itself.
    #[track_caller]
    pub fn follow<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Following {
        let mut child = self.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Following { child, lines }
    }

    /// A shell command that waits until the test calls [`Home::go`].
    pub fn wait_for_go(&self) -> String {
        format!("until [ -e {} ]; do sleep 0.02; done", self.directory.join("go").display())
    }

    pub fn go(&self) {
        fs::write(self.directory.join("go"), "").unwrap();
    }

    /// `atlasbridge run -- bash -c SCRIPT` on a terminal of its own.
    pub fn bash(&self, script: &str) -> Terminal {
        self.run_in_terminal(&["run", "--", "bash", "--norc", "-c", script])
    }

    /// A command of ours on a terminal. `run` is told to be quiet: what the terminal shows is then the tool's alone.
    pub fn run_in_terminal(&self, args: &[&str]) -> Terminal {
        let mut args = args.to_vec();
        if args.first() == Some(&"run") && !args.contains(&"--quiet") {
            args.insert(1, "--quiet");
        }
        let terminal = Terminal::start(&self.binary, &args, &self.environment(), 100, 30);
        self.hosts.lock().unwrap().push(terminal.pid());
        terminal
    }

    /// `run` with these arguments in a directory, an environment and a window of the caller's choice.
    pub(crate) fn run_at(
        &self,
        directory: &Path,
        args: &[&str],
        env: &[(String, String)],
        (cols, rows): (u16, u16),
    ) -> Terminal {
        let (directory, binary) = (directory.display().to_string(), self.binary.display().to_string());
        // `env` becomes our binary, under its own pid.
        let words = ["--chdir", &directory, &binary, "run", "--quiet"];
        let words: Vec<&str> = words.iter().chain(args).copied().collect();
        let terminal = Terminal::start(Path::new("/usr/bin/env"), &words, env, cols, rows);
        self.hosts.lock().unwrap().push(terminal.pid());
        terminal
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        let is_kept =
            |name: &str| !name.starts_with("ATLASBRIDGE_") && !["TERM", "HOME", CLAUDE_FILES].contains(&name);
        let inherited = std::env::vars().filter(|(name, _)| is_kept(name));
        inherited
            .chain([
                ("ATLASBRIDGE_HOME".to_owned(), self.path().display().to_string()),
                ("ATLASBRIDGE_PAUSE_DIR".to_owned(), self.pause_directory().display().to_string()),
                ("HOME".to_owned(), self.user().display().to_string()),
                ("TERM".to_owned(), "xterm-256color".to_owned()),
            ])
            .collect()
    }

    /// Stops the next process of ours that comes to this point.
    pub fn pause_at(&self, point: &str) -> Pause {
        Pause::new(&self.pause_directory(), point)
    }

    /// From now on this part of a process of ours fails whenever it is started.
    pub fn breaks(&self, part: &str) {
        fs::create_dir_all(self.pause_directory()).unwrap();
        fs::write(self.pause_directory().join(format!("{part}.fails")), "").unwrap();
    }

    /// From now on it no longer does.
    pub fn mends(&self, part: &str) {
        fs::remove_file(self.pause_directory().join(format!("{part}.fails"))).unwrap();
    }

    fn pause_directory(&self) -> PathBuf {
        self.directory.join("pause")
    }

    /// What `approvals --json` lists.
    #[track_caller]
    pub fn approvals(&self) -> Vec<Value> {
        let listed = self.run(["approvals", "--json"]);
        match listed.json() {
            Value::Array(prompts) => prompts,
            other => panic!("no list: {other}"),
        }
    }

    /// Waits until exactly one prompt awaits its reply, and returns it.
    #[track_caller]
    pub fn one_prompt(&self) -> Value {
        eventually("one prompt waits", || {
            let mut waiting = self.approvals();
            waiting.retain(|prompt| prompt["status"] == "awaiting_reply");
            (waiting.len() == 1).then(|| waiting.remove(0))
        })
    }

    /// The id of the one prompt that awaits its reply.
    #[track_caller]
    pub fn prompt_id(&self) -> String {
        self.one_prompt()["prompt_id"].as_str().unwrap().to_owned()
    }

    /// How the prompt ended, once it has: `resolved applied`, `canceled tool_gone`, `failed unknown`.
    #[track_caller]
    pub fn end_of(&self, prompt: &str) -> String {
        eventually("the prompt is over", || {
            let records = self.audit().into_iter().filter(|record| record["prompt_id"] == prompt);
            records.filter_map(|record| ending(&record)).next_back()
        })
    }

    /// The names of this prompt's events, in order; refused answers are left out.
    pub fn course_of(&self, prompt: &str) -> Vec<String> {
        let records = self.audit().into_iter().filter(|record| record["prompt_id"] == prompt);
        let is_refusal = |record: &Value| record["event"] == "REPLY_REJECTED" && ending(record).is_none();
        records
            .filter(|record| !is_refusal(record))
            .map(|record| record["event"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What `sessions list --all --json` lists, newest first.
    #[track_caller]
    pub fn sessions(&self) -> Vec<Value> {
        match self.run(["sessions", "list", "--all", "--json"]).json() {
            Value::Array(sessions) => sessions,
            other => panic!("no list: {other}"),
        }
    }

    /// Waits until the newest session has this status, and returns it.
    #[track_caller]
    pub fn session_is(&self, status: &str) -> Value {
        eventually(&format!("the session is {status}"), || {
            self.sessions().into_iter().next().filter(|session| session["status"] == status)
        })
    }

    pub fn socket(&self) -> PathBuf {
        self.path().join("hub.sock")
    }

    /// Waits for this record of the audit log.
    #[track_caller]
    pub fn audit_has(&self, event: &str, prompt: Option<&str>) -> Value {
        eventually(&format!("{event} is on the audit log"), || {
            self.audit().into_iter().find(|record| {
                record["event"] == event && prompt.is_none_or(|prompt| record["prompt_id"] == prompt)
            })
        })
    }

    /// All records of the audit log.
    pub fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join("audit.log")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Milliseconds since the first record of this event was written.
    pub fn audit_age_ms(&self, event: &str) -> u128 {
        let log = self.audit();
        let record = log.iter().find(|record| record["event"] == event).expect("such a record");
        let written =
            Command::new("date").args(["-d", record["ts"].as_str().unwrap(), "+%s%3N"]).output().unwrap();
        let written: u128 = String::from_utf8_lossy(&written.stdout).trim().parse().unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_millis().saturating_sub(written)
    }

    pub fn hub_pid(&self) -> Option<i32> {
        self.run(["hub", "status", "--json"]).json()["pid"].as_i64().map(|pid| pid as i32)
    }

    /// `kill -9` of the hub, and a wait until it is gone.
    #[track_caller]
    pub fn kill_hub(&self) {
        let pid = self.hub_pid().expect("the hub runs");
        kill(pid);
    }
}

/// The end of a prompt in the words of its record, if the record tells one.
fn ending(record: &Value) -> Option<String> {
    const FAILURES: [&str; 9] = [
        "prompt_changed",
        "typing_locally",
        "not_taken",
        "not_reading",
        "tool_gone",
        "too_late",
        "not_recorded",
        "unknown",
        "no_channel",
    ];
    let why = record["value"].as_str()?;
    match record["event"].as_str()? {
        "PROMPT_RESOLVED" => Some(format!("resolved {why}")),
        "PROMPT_CANCELED" => Some(format!("canceled {why}")),
        "REPLY_REJECTED" if FAILURES.contains(&why) => Some(format!("failed {why}")),
        _ => None,
    }
}

/// `kill -9`, and a wait until the process is gone (or a zombie whose parent is slow).
#[track_caller]
pub fn kill(pid: i32) {
    let process = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    eventually("a killed process is gone", || has_ended(pid).then_some(()));
}

/// Gone, or a zombie with all its threads: one that still ends may hold the socket of a dead hub open.
pub(crate) fn has_ended(pid: i32) -> bool {
    thread_states(pid).all(|state| state == 'Z')
}

/// The state of each thread that can be looked at, in the kernel's letters.
pub(crate) fn thread_states(pid: i32) -> impl Iterator<Item = char> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    })
}

impl Home {
    /// Every process of ours that runs in this home. Readable for root and, where it is not hardened, for its user.
    fn processes(&self) -> Vec<i32> {
        let wanted = format!("ATLASBRIDGE_HOME={}\0", self.path().display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
        let lives_here = |pid: &i32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| String::from_utf8_lossy(&environ).contains(&wanted))
        };
        pids.filter(lives_here).filter(|pid| !has_ended(*pid)).collect()
    }
}

/// A session host that is still there would start the hub again: so they go first, and until nobody is left. Those
/// that we started are known by their pid: only root can look into a hardened process.
impl Drop for Home {
    fn drop(&mut self) {
        let is_ours = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "atlasbridge")
        };
        let hosts = std::mem::take(self.hosts.get_mut().unwrap_or_else(PoisonError::into_inner));
        hosts.into_iter().filter(is_ours).for_each(kill);
        let hub = fs::read_to_string(self.path().join("hub.lock"))
            .ok()
            .and_then(|pid| pid.trim().parse().ok())
            .filter(is_ours);
        let deadline = std::time::Instant::now() + crate::LIMIT;
        let mut left: Vec<i32> = hub.into_iter().chain(self.processes()).collect();
        while !left.is_empty() && std::time::Instant::now() < deadline {
            for process in left.into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
            left = self.processes();
        }
        // Not mounted, as a rule.
        let _ = rustix::mount::unmount(self.path(), rustix::mount::UnmountFlags::DETACH);
        let _ = fs::remove_dir_all(&self.directory);
    }
}
