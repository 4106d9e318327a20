//! An agent at work under `atlasbridge run`, and everybody around it: the person at the desk, the person who answers from
//! elsewhere, the model, and the directory in which things happen or do not.

mod desk;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::agent::{Agent, Mode, Seed};
use super::model::{FakeModel, ToolResult, Turn};
use super::place::Place;
use super::proof::{Proof, Route, in_words};
use crate::home::{has_ended, thread_states};
use crate::{Finished, Following, Home};
use desk::Desk;

/// How long an agent may take for anything. The slowest of them needs most of it to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long a person reads before answering. Claude Code ignores the keys of the first half second after it has drawn a dialog,
/// and nothing on its screen says when it begins to listen.
const READING: Duration = Duration::from_secs(1);

/// Looks in a row at which no thread of an agent runs, or waits for a processor: it has come to rest.
const LOOKS_AT_REST: usize = 10;

/// An agent that never rests is answered all the same.
const RESTLESS: Duration = Duration::from_secs(15);

/// The flag of `run` that keeps it off the agent's hooks, where there is one.
const BY_SCREEN: &[&str] = &["--no-hooks"];

/// A stage before its curtain rises.
#[derive(Debug)]
pub struct Opening {
    agent: Agent,
    binary: PathBuf,
    seed: Seed,
    mode: Mode,
    config: String,
    /// Files of packs, with their texts.
    packs: Vec<(String, String)>,
    flags: Vec<String>,
    args: Vec<String>,
    size: (u16, u16),
}

impl Opening {
    /// `run` only looks at the screen.
    pub fn by_screen(mut self) -> Self {
        self.flags.extend(BY_SCREEN.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// A flag of `run`.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// As a person starts it: without a word about its mode.
    pub fn plainly(mut self) -> Self {
        self.mode = Mode::Own;
        self
    }

    /// An argument of the agent.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Lines for the configuration's `[prompts]`.
    pub fn prompts(mut self, config: &str) -> Self {
        self.config.push_str(config);
        self.config.push('\n');
        self
    }

    /// A pack of the person's own, `adapters/NAME.toml`.
    pub fn pack(mut self, name: &str, text: &str) -> Self {
        self.packs.push((format!("{name}.toml"), text.to_owned()));
        self
    }

    /// The agent is set up, but has never seen the project.
    pub fn untrusted(mut self) -> Self {
        self.seed = Seed::Untrusted;
        self
    }

    /// An empty home: the agent has never been started.
    pub fn empty(mut self) -> Self {
        self.seed = Seed::Nothing;
        self
    }

    pub fn size(mut self, cols: u16, rows: u16) -> Self {
        self.size = (cols, rows);
        self
    }

    /// Starts the agent. Its model says these turns.
    #[track_caller]
    pub fn open(self, script: impl IntoIterator<Item = Turn>) -> Stage {
        let home = Home::new(self.binary);
        home.write_config(&format!(
            "[prompts]\npresence_grace_seconds = 0\n{}[web]\nenabled = false\n",
            self.config
        ));
        for (file, text) in &self.packs {
            let packs = home.path().join("adapters");
            fs::create_dir_all(&packs).unwrap();
            fs::write(packs.join(file), text).unwrap();
        }
        let place = Place::make(home.scratch());
        let model = FakeModel::start(self.agent.is_toolless(), self.seed == Seed::Nothing);
        model.script(script);
        self.agent.seed(&place, &model, self.seed);
        let mut env = self.agent.environment(&place, &model);
        if let Some(certificate) = model.certificate() {
            let file = home.scratch().join("hello.pem");
            fs::write(&file, certificate).unwrap();
            env.push(("NODE_EXTRA_CA_CERTS".to_owned(), file.display().to_string()));
        }
        env.push(("ATLASBRIDGE_HOME".to_owned(), home.path().display().to_string()));
        let program = self.agent.program().display().to_string();
        let own = self.agent.arguments(self.mode);
        let events = ["--events".to_owned(), events_of(&home).display().to_string()];
        let words = events.iter().chain(&self.flags).chain([&program]).chain(&own).chain(&self.args);
        let words: Vec<&str> = words.map(String::as_str).collect();
        let terminal = home.run_at(place.project(), &words, &env, self.size);
        Stage {
            agent: self.agent,
            desk: Desk::new(terminal, self.size),
            waiting: Mutex::new((home.follow(["approvals", "--json", "--watch"]), Vec::new())),
            answered: Mutex::default(),
            model,
            place,
            home,
        }
    }
}

/// A prompt that awaits its reply.
#[derive(Debug, Clone)]
pub struct Asked {
    pub id: String,
    pub kind: String,
    /// Excerpt and detail.
    pub text: String,
    pub choices: Vec<String>,
    keys: Vec<String>,
}

/// What was answered, and with which keys.
#[derive(Debug, Clone)]
pub struct Answered {
    /// `accepted`, `refused`, or what was replied.
    pub answer: String,
    pub keys: String,
}

impl Asked {
    fn of(prompt: &Value) -> Self {
        let text = |key: &str| prompt[key].as_str().unwrap_or_default().to_owned();
        let of_choices = |key: &str| -> Vec<String> {
            let choices = prompt["choices"].as_array().into_iter().flatten();
            choices.map(|choice| choice[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        Self {
            id: text("prompt_id"),
            kind: text("kind"),
            text: format!("{}\n{}", text("excerpt"), text("detail")),
            choices: of_choices("label"),
            keys: of_choices("keys"),
        }
    }
}

impl Asked {
    /// The keys of a choice, in words.
    pub fn keys_of(&self, label: &str) -> Option<String> {
        let row = self.choices.iter().position(|choice| choice == label)?;
        Some(in_words(&self.keys[row]))
    }
}

/// An agent at work; gone with the value, and all of its processes too.
#[derive(Debug)]
pub struct Stage {
    agent: Agent,
    desk: Desk,
    /// `approvals --watch`, and the list that it told last.
    waiting: Mutex<(Following, Vec<Value>)>,
    /// The prompts that are over, although the list may not tell yet.
    answered: Mutex<Vec<String>>,
    pub model: FakeModel,
    place: Place,
    pub home: Home,
}

impl Stage {
    /// `binary` is `env!("CARGO_BIN_EXE_atlasbridge")` of the calling test.
    pub fn of(agent: Agent, binary: impl Into<PathBuf>) -> Opening {
        Opening {
            agent,
            binary: binary.into(),
            seed: Seed::Ready,
            mode: Mode::Asking,
            config: String::new(),
            packs: Vec::new(),
            flags: Vec::new(),
            args: Vec::new(),
            size: (100, 34),
        }
    }

    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    pub fn project(&self) -> &Path {
        self.place.project()
    }

    /// The home directory of the person, with the agent's own files.
    pub fn person(&self) -> &Path {
        self.place.home()
    }

    /// Every process that was started here and lives, with its command line.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let with_command = |pid: i32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&command).replace('\0', " "))
        };
        self.leftovers().into_iter().map(with_command).collect()
    }

    /// The text of a file of the project.
    pub fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.place.project().join(name)).ok()
    }

    /// The text of a file of the agent's home.
    pub fn home_file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.place.home().join(name)).ok()
    }

    /// The agent is gone, and `run` with it.
    pub fn has_ended(&self) -> bool {
        has_ended(self.desk.pid())
    }

    pub fn exists(&self, name: &str) -> bool {
        self.place.project().join(name).exists()
    }

    /// Waits for a prompt that shows this text, and reads it. One that is withdrawn meanwhile, because the agent draws
    /// more of it, was none.
    #[track_caller]
    pub fn asked(&self, text: &str) -> Asked {
        self.read(|asked| asked.kind != "idle" && asked.text.contains(text))
            .unwrap_or_else(|| self.give_up(&format!("no prompt shows {text:?}")))
    }

    /// The same, for one that comes after `before`.
    #[track_caller]
    pub fn asked_next(&self, before: &Asked, text: &str) -> Asked {
        self.read(|asked| asked.kind != "idle" && asked.id != before.id && asked.text.contains(text))
            .unwrap_or_else(|| self.give_up(&format!("no other prompt shows {text:?}")))
    }

    /// The same as [`Stage::asked`], by somebody who answers without reading.
    #[track_caller]
    pub fn sighted(&self, text: &str) -> Asked {
        self.awaits(&|asked: &Asked| asked.kind != "idle" && asked.text.contains(text))
            .unwrap_or_else(|| self.give_up(&format!("no prompt shows {text:?}")))
    }

    /// As long as a person reads, and until the agent has nothing more to do: some draw their input box before they listen to
    /// it, on a busy machine by seconds.
    pub fn time_to_read(&self) {
        std::thread::sleep(READING);
        let agents = self.leftovers();
        let deadline = Instant::now() + RESTLESS;
        let mut quiet = 0;
        while quiet < LOOKS_AT_REST && Instant::now() < deadline {
            quiet = if agents.iter().any(|pid| thread_states(*pid).any(|state| state == 'R')) {
                0
            } else {
                quiet + 1
            };
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn read(&self, is_it: impl Fn(&Asked) -> bool) -> Option<Asked> {
        loop {
            let asked = self.awaits(&is_it)?;
            self.time_to_read();
            if self.prompts().iter().any(|still| still.id == asked.id) {
                return Some(asked);
            }
        }
    }

    /// Waits until the agent waits for its next instruction.
    #[track_caller]
    pub fn idle(&self) -> Asked {
        let found = self.read(|asked| asked.kind == "idle");
        found.unwrap_or_else(|| self.give_up("the agent does not wait for an instruction"))
    }

    /// Gives the agent its next instruction, from elsewhere.
    #[track_caller]
    pub fn tell(&self, text: &str) -> Answered {
        let idle = self.idle();
        let answered = self.reply(&idle, text);
        Answered { answer: "instruction".to_owned(), ..answered }
    }

    #[track_caller]
    pub fn approve(&self, asked: &Asked) -> Answered {
        self.answer(asked, "accepted", &["approve", &asked.id])
    }

    #[track_caller]
    pub fn deny(&self, asked: &Asked) -> Answered {
        self.answer(asked, "refused", &["deny", &asked.id])
    }

    #[track_caller]
    pub fn reply(&self, asked: &Asked, value: &str) -> Answered {
        self.answer(asked, value, &["reply", &asked.id, value])
    }

    /// Puts a row into the table of agents: this answer to this dialog did what it should, by the screen.
    pub fn proves(&self, dialog: &str, answered: &Answered) {
        Proof {
            tool: self.agent.tool(),
            version: self.agent.version(),
            dialog,
            answer: &answered.answer,
            route: Route::Screen,
            keys: &answered.keys,
        }
        .record();
    }

    /// The same, said by the agent's own hook.
    pub fn proves_by_hook(&self, dialog: &str, answer: &str) {
        Proof {
            tool: self.agent.tool(),
            version: self.agent.version(),
            dialog,
            answer,
            route: Route::Hook,
            keys: "none",
        }
        .record();
    }

    /// An answer that must not be taken; the words of its refusal.
    #[track_caller]
    pub fn refused(&self, asked: &Asked, value: &str) -> String {
        let told = self.home.run(["reply", &asked.id, value]);
        if told.code != 1 {
            self.give_up(&format!("{value:?} was not refused: {told:?}"));
        }
        told.stderr
    }

    /// What `run --events` told so far.
    pub fn events(&self) -> Vec<Value> {
        let told = fs::read_to_string(events_of(&self.home)).unwrap_or_default();
        let lines = told.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// The prompts that await their reply now.
    pub fn prompts(&self) -> Vec<Asked> {
        let mut waiting = self.waiting.lock().unwrap();
        while let Some(line) = waiting.0.next_line(Duration::ZERO) {
            waiting.1 = list(&line);
        }
        awaiting(&waiting.1).map(Asked::of).collect()
    }

    /// Keys of the person at the desk.
    #[track_caller]
    pub fn type_keys(&self, keys: &str) {
        self.desk.type_keys(keys.as_bytes());
    }

    /// Processes of our own that the agent has started: its hooks.
    pub fn hooks(&self) -> Vec<i32> {
        let is_hook = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = words.split(|byte| *byte == 0);
            words.next() == Some(self.home.binary().as_os_str().as_encoded_bytes())
                && words.next() == Some(b"hook")
        };
        self.leftovers().into_iter().filter(is_hook).collect()
    }

    /// What stands on the terminal.
    pub fn screen(&self) -> String {
        self.desk.screen()
    }

    /// Waits until the terminal shows this.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        self.until(&format!("the terminal shows {text:?}"), || self.screen().contains(text).then_some(()));
    }

    /// What came back for the `number`th call of the script, once it has.
    #[track_caller]
    pub fn result(&self, number: usize) -> ToolResult {
        let id = format!("call_{number}");
        self.until(&format!("the model hears what became of {id}"), || {
            self.model.tool_results().into_iter().find(|result| result.id == id)
        })
    }

    /// Waits until this is the last that the person said to the model.
    #[track_caller]
    pub fn hears(&self, text: &str) {
        self.until(&format!("the model hears {text:?}"), || {
            (self.model.user_texts().last().map(String::as_str) == Some(text)).then_some(())
        });
    }

    /// Waits for a state, and tells everything that is known if it does not come.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            if Instant::now() > deadline {
                self.give_up(&format!("in vain: {what}"));
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    fn awaits(&self, is_it: &impl Fn(&Asked) -> bool) -> Option<Asked> {
        let deadline = Instant::now() + PATIENCE;
        let answered = self.answered.lock().unwrap().clone();
        let mut waiting = self.waiting.lock().unwrap();
        loop {
            let asked = awaiting(&waiting.1).map(Asked::of);
            let found = asked.filter(|asked| !answered.contains(&asked.id)).find(|asked| is_it(asked));
            if found.is_some() {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let line = waiting.0.next_line(left)?;
            waiting.1 = list(&line);
        }
    }

    #[track_caller]
    fn answer(&self, asked: &Asked, answer: &str, words: &[&str]) -> Answered {
        let told: Finished = self.home.run(words);
        if told.code != 0 || !told.stdout.contains("applied") {
            self.give_up(&format!("the answer was not applied: {told:?}"));
        }
        self.answered.lock().unwrap().push(asked.id.clone());
        // The choice that was taken is on record by its label.
        let received = self.home.audit_has("REPLY_RECEIVED", Some(&asked.id));
        let label = received["value"].as_str().unwrap_or_default();
        let keys = match asked.keys_of(label) {
            Some(keys) => keys,
            None if asked.kind == "confirm_enter" => "Enter".to_owned(),
            None => "the text, Enter".to_owned(),
        };
        Answered { answer: answer.to_owned(), keys }
    }

    /// Fails the test, and tells everything that is known.
    #[track_caller]
    pub fn give_up(&self, what: &str) -> ! {
        let agent = format!("{} {}", self.agent.tool().name(), self.agent.version());
        panic!(
            "{agent}: {what}\n--- the terminal shows\n{}\n--- prompts\n{:?}\n--- audit\n{}\n--- events\n{}\n--- the model\n\
             main requests: {}, texts: {:?}, results: {:?}\nothers: {:?}",
            self.screen(),
            self.home.approvals(),
            self.audit(),
            self.told_events(),
            self.model.count_requests(),
            self.model.user_texts(),
            self.model.tool_results(),
            self.model.others(),
        )
    }

    fn audit(&self) -> String {
        let told = self.home.audit().into_iter().map(|record| {
            let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", word("ts"), word("event"), word("value"))
        });
        told.collect::<Vec<_>>().join("\n")
    }

    fn told_events(&self) -> String {
        let short = |event: &Value| event.to_string().chars().take(600).collect::<String>();
        self.events().iter().map(short).collect::<Vec<_>>().join("\n")
    }

    /// Processes that the agent started and left behind, by the home that only they have.
    fn leftovers(&self) -> Vec<i32> {
        let wanted = format!("HOME={}\0", self.place.home().display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
        let lives_here = |pid: &i32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| String::from_utf8_lossy(&environ).contains(&wanted))
        };
        pids.filter(lives_here).filter(|pid| !has_ended(*pid)).collect()
    }
}

fn events_of(home: &Home) -> PathBuf {
    home.scratch().join("events.jsonl")
}

fn list(line: &str) -> Vec<Value> {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
}

fn awaiting(prompts: &[Value]) -> impl Iterator<Item = &Value> {
    prompts.iter().filter(|prompt| prompt["status"] == "awaiting_reply")
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.desk.leave();
        let waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner);
        waiting.0.stop();
        let deadline = Instant::now() + crate::LIMIT;
        let mut left = self.leftovers();
        while !left.is_empty() && Instant::now() < deadline {
            for process in left.into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
            left = self.leftovers();
        }
    }
}
