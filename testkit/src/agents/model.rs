//! A model that says what a test wrote down, in the protocol of whoever asks, and remembers what it was told.
//!
//! One thread per connection and one answer per connection, on the loopback. A *main request* is one that carries the tools of
//! an agent at work: it takes the next [`Turn`] of the script. Titles, topics and checks that agents ask for on the side get a
//! fixed answer and take nothing. What leaves for the internet arrives here too, through the proxy settings, and is refused.

mod anthropic;
mod gemini;
mod hello;
mod openai;
mod serve;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::LIMIT;
use hello::Hello;

/// What the model says when its script is over.
pub(crate) const OVER: &str = "All done.";

/// What every request on the side gets: one object that holds what titles, topics and turn checks look for.
const ON_THE_SIDE: &str = r#"{"title":"Work","isNewTopic":false,"next_speaker":"user","reasoning":"done","model_choice":"flash","complexity_score":1,"complexity_reasoning":"small"}"#;

/// What Claude Code 2.0 says in the name of nobody at its start, with all of its tools.
const WARM_UP: &str = "Warmup";

/// More tools than any request on the side has, fewer than an agent at work.
const FEW_TOOLS: usize = 2;

/// Stands in an input for the path of the plan that Claude Code keeps in plan mode, whose name it makes up.
pub const PLAN_FILE: &str = "{plan file}";

/// One answer of the model.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    text: String,
    calls: Vec<(String, Value)>,
    after: Duration,
    stalls: bool,
    gap: Duration,
}

impl Turn {
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A tool call. An input that is a string makes a call of a tool that takes text instead of an object; [`PLAN_FILE`] in one
    /// is the file that the agent named for its plan.
    pub fn call(name: &str, input: Value) -> Self {
        Self::default().and_call(name, input)
    }

    /// One more in the same turn.
    pub fn and_call(mut self, name: &str, input: Value) -> Self {
        self.calls.push((name.to_owned(), input));
        self
    }

    /// Thinks for this long before it says anything.
    pub fn after(mut self, thinking: Duration) -> Self {
        self.after = thinking;
        self
    }

    /// Says the first half of its text, and the rest after [`FakeModel::go_on`].
    pub fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }

    /// Says its text word by word, with this pause behind each; in the protocols of OpenAI.
    pub fn slowly(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }
}

/// A call with the name by which its result comes back.
#[derive(Debug, Clone)]
struct Call {
    id: String,
    name: String,
    input: Value,
}

/// What the model is about to say.
#[derive(Debug, Clone)]
struct Speech {
    /// Number of the answer, for ids.
    no: usize,
    text: String,
    calls: Vec<Call>,
    after: Duration,
    stalls: bool,
    gap: Duration,
}

impl Speech {
    fn plain(no: usize, text: &str) -> Self {
        Self {
            no,
            text: text.to_owned(),
            calls: Vec::new(),
            after: Duration::ZERO,
            stalls: false,
            gap: Duration::ZERO,
        }
    }
}

/// What came back for a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// `call_1` for the first call of the script, and so on.
    pub id: String,
    pub text: String,
    /// Only where the protocol has a word for it.
    pub is_error: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

#[derive(Debug)]
struct Request {
    dialect: Dialect,
    body: Value,
}

impl Request {
    fn results(&self) -> Vec<ToolResult> {
        match self.dialect {
            Dialect::Anthropic => anthropic::results(&self.body),
            Dialect::Responses => openai::results_of_responses(&self.body),
            Dialect::Chat => openai::results_of_chat(&self.body),
            Dialect::Gemini => gemini::results(&self.body),
        }
    }

    fn user_texts(&self) -> Vec<String> {
        let texts = match self.dialect {
            Dialect::Anthropic => anthropic::user_texts(&self.body),
            Dialect::Responses => openai::texts_of_responses(&self.body),
            Dialect::Chat => openai::texts_of_chat(&self.body),
            Dialect::Gemini => gemini::user_texts(&self.body),
        };
        // What agents add in the person's name stands in tags.
        let is_said = |text: &str| !text.trim_start().starts_with('<') && !text.trim().is_empty();
        // And aider reminds the model of its format behind what was said.
        let said = |text: &String| {
            let said = text.split("\n\n# *SEARCH/REPLACE").next();
            said.unwrap_or_default().trim().to_owned()
        };
        texts.iter().filter(|text| is_said(text)).map(said).collect()
    }
}

#[derive(Debug, Default)]
struct State {
    turns: VecDeque<Turn>,
    calls: usize,
    answers: usize,
    requests: Vec<Request>,
    /// Every other request line, and `CONNECT host:port`.
    others: Vec<String>,
    releases: usize,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// The agent never sends tools: its changes stand in the text.
    is_toolless: bool,
    /// Those who are greeted before a first start.
    hello: Option<Hello>,
    is_over: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_main(&self, body: &Value, tools: usize) -> bool {
        match self.is_toolless {
            true => body["model"] != SMALL_MODEL,
            false => tools > FEW_TOOLS && !is_warm_up(body),
        }
    }

    /// What is said to this request.
    fn speech(&self, dialect: Dialect, body: Value, tools: usize) -> Speech {
        let mut state = self.lock();
        state.answers += 1;
        let no = state.answers;
        if !self.is_main(&body, tools) {
            return Speech::plain(no, ON_THE_SIDE);
        }
        let plan_file = plan_file(&body);
        let request = Request { dialect, body };
        if request.user_texts().last().map(String::as_str) == Some(WARM_UP) {
            return Speech::plain(no, ON_THE_SIDE);
        }
        state.requests.push(request);
        let speech = match state.turns.pop_front() {
            None => Speech::plain(no, OVER),
            Some(turn) => {
                let first = state.calls + 1;
                state.calls += turn.calls.len();
                let calls = turn.calls.into_iter().zip(first..);
                Speech {
                    no,
                    text: turn.text,
                    calls: calls
                        .map(|((name, input), number)| Call {
                            id: format!("call_{number}"),
                            name,
                            input: with_plan_file(input, &plan_file),
                        })
                        .collect(),
                    after: turn.after,
                    stalls: turn.stalls,
                    gap: turn.gap,
                }
            }
        };
        drop(state);
        self.changed.notify_all();
        speech
    }

    /// Until the test lets a stalled answer go on, or nobody would.
    fn stall(&self) {
        let state = self.lock();
        let began = state.releases;
        let waited = self.changed.wait_timeout_while(state, LIMIT, |state| state.releases == began);
        drop(waited);
    }
}

/// The first path of a request that leads into a directory of plans.
fn plan_file(body: &Value) -> String {
    let text = body.to_string();
    let Some(at) = text.find("/.claude/plans/") else {
        return String::new();
    };
    let is_path = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    let start = text[..at].rfind(|char| !is_path(char)).map_or(0, |before| before + 1);
    let end = text[at..].find(|char| !is_path(char)).map_or(text.len(), |length| at + length);
    text[start..end].trim_end_matches('.').to_owned()
}

fn with_plan_file(input: Value, plan_file: &str) -> Value {
    match input {
        Value::String(text) => Value::String(text.replace(PLAN_FILE, plan_file)),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(key, value)| (key, with_plan_file(value, plan_file))).collect()
        }
        other => other,
    }
}

/// Claude Code 2.0 tries its helpers out at its start, with all of their tools.
fn is_warm_up(body: &Value) -> bool {
    let first = &body["messages"][0]["content"];
    anthropic::text_of(first).trim_start().starts_with("Warmup")
}

/// The name under which an agent asks for small things, where it can be told one.
pub(crate) const SMALL_MODEL: &str = "small-model";

/// The server; its connections end with the processes that it serves.
#[derive(Debug)]
pub struct FakeModel {
    shared: Arc<Shared>,
    port: u16,
}

impl FakeModel {
    /// `is_greeted`: the services that an agent greets before its first start answer too.
    pub(crate) fn start(is_toolless: bool, is_greeted: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            is_toolless,
            hello: is_greeted.then(Hello::new),
            is_over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&serving);
                thread::spawn(move || serve::connection(&shared, stream));
            }
        });
        Self { shared, port }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What an agent must believe to be greeted.
    pub(crate) fn certificate(&self) -> Option<&str> {
        self.shared.hello.as_ref().map(|hello| hello.certificate.as_str())
    }

    /// Appends to the script.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) {
        self.shared.lock().turns.extend(turns);
    }

    /// Lets every stalled answer go on.
    pub fn go_on(&self) {
        self.shared.lock().releases += 1;
        self.shared.changed.notify_all();
    }

    /// How many main requests came.
    pub fn count_requests(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// The bodies of the main requests.
    pub fn requests(&self) -> Vec<Value> {
        let state = self.shared.lock();
        state.requests.iter().map(|request| request.body.clone()).collect()
    }

    /// All that tools gave back so far, in order, each call once.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let state = self.shared.lock();
        let mut results: Vec<ToolResult> = Vec::new();
        for result in state.requests.iter().flat_map(Request::results) {
            if results.iter().all(|known| known.id != result.id) {
                results.push(result);
            }
        }
        results
    }

    /// What the person said, as the newest request tells it.
    pub fn user_texts(&self) -> Vec<String> {
        let state = self.shared.lock();
        state.requests.last().map(Request::user_texts).unwrap_or_default()
    }

    /// Whom the agent wanted to reach besides the model: `docs.example.com:443`.
    pub fn reached(&self) -> Vec<String> {
        let state = self.shared.lock();
        let connects = state.others.iter().filter_map(|line| line.strip_prefix("CONNECT "));
        connects.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// Requests that were neither main nor on the side, for messages of failed tests.
    pub fn others(&self) -> Vec<String> {
        self.shared.lock().others.clone()
    }
}

/// Wakes the listening thread, which then finds its work over.
impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.go_on();
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}
