use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, timeout};

use super::*;
use crate::telegram::api::Trouble;
use crate::{Block, Done, JobNo, Notice, Person, Saying, Task, Undelivered, Update};

const TOKEN: &str = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc";
/// Longest wait for anything in these tests; each wait ends as soon as what it waits for is there.
const LIMIT: Duration = Duration::from_secs(20);

/// What the server does with one call.
enum Act {
    Json(u16, Value),
    Raw(Vec<u8>),
    /// Holds the connection open and says nothing.
    Hang,
}

type Calls = Arc<Mutex<Vec<(String, Value)>>>;

/// A server on this machine that does as it is told, call by call.
struct Server {
    url: String,
    calls: Calls,
}

impl Server {
    fn start(act: impl Fn(&str, &Value) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Calls::default();
        let (heard, act) = (Arc::clone(&calls), Arc::new(act));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, act) = (Arc::clone(&heard), Arc::clone(&act));
                thread::spawn(move || serve(stream, &heard, &*act));
            }
        });
        Self { url, calls }
    }

    fn calls_of(&self, method: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        let of = calls.iter().filter(|(name, _)| name == method);
        of.map(|(_, body)| body.clone()).collect()
    }

    fn api(&self) -> Api {
        Api::new(Secret::new(TOKEN), &self.url).unwrap()
    }

    fn config(&self) -> BotSettings {
        BotSettings {
            bot_token: Secret::new(TOKEN),
            api_url: self.url.clone(),
            allowed_users: vec![7],
            chats: Vec::new(),
            messages_per_second: 1000.0,
        }
    }
}

fn serve(mut stream: TcpStream, heard: &Calls, act: &(impl Fn(&str, &Value) -> Act + ?Sized)) {
    let Some((method, body)) = read_request(&mut stream) else { return };
    heard.lock().unwrap().push((method.clone(), body.clone()));
    let bytes = match act(&method, &body) {
        Act::Json(status, body) => {
            let body = body.to_string();
            let length = body.len();
            format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
                .into_bytes()
        }
        Act::Raw(bytes) => bytes,
        Act::Hang => {
            let _ = stream.read(&mut [0]);
            return;
        }
    };
    let _ = stream.write_all(&bytes);
}

fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length: usize = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    while bytes.len() < head + length {
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    let first = String::from_utf8_lossy(&bytes[..head]).lines().next()?.to_owned();
    let path = first.split(' ').nth(1)?;
    let method = path.strip_prefix(&format!("/bot{TOKEN}/"))?.to_owned();
    let body = &bytes[head..];
    let body = serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)));
    Some((method, body))
}

fn ok(result: Value) -> Act {
    Act::Json(200, json!({"ok": true, "result": result, "unheard_of": 1}))
}

fn refused(code: u16, description: &str) -> Act {
    Act::Json(code, json!({"ok": false, "error_code": code, "description": description}))
}

/// A bot to which nobody says anything, and `act` for the rest.
fn quiet(act: impl Fn(&str, &Value) -> Act + Send + Sync + 'static) -> Server {
    Server::start(move |method, body| match method {
        "getWebhookInfo" => ok(json!({"url": ""})),
        "getUpdates" => Act::Hang,
        _ => act(method, body),
    })
}

struct Running {
    handle: Handle,
    hub: mpsc::Receiver<Inbound>,
    work: JoinHandle<()>,
}

impl Running {
    fn start(config: BotSettings) -> Self {
        let (inbound, hub) = mpsc::channel(64);
        let (handle, work) = start(config, Some(40), inbound);
        Self { handle, hub, work: tokio::spawn(work) }
    }

    /// The next thing that the hub hears and that `wanted` takes; others are passed over.
    async fn next<T>(&mut self, why: &str, mut wanted: impl FnMut(Inbound) -> Option<T>) -> T {
        let found = async {
            loop {
                let inbound = self.hub.recv().await.expect("the channel runs");
                if let Some(found) = wanted(inbound) {
                    return found;
                }
            }
        };
        timeout(LIMIT, found).await.unwrap_or_else(|_| panic!("waited for {why}"))
    }

    async fn update(&mut self) -> Update {
        self.next("an update", |inbound| match inbound {
            Inbound::Update(update) => Some(update),
            _ => None,
        })
        .await
    }

    async fn health(&mut self, wanted: impl Fn(&Health) -> bool) -> Health {
        self.next("a change of health", |inbound| match inbound {
            Inbound::Health(health) if wanted(&health) => Some(health),
            _ => None,
        })
        .await
    }

    async fn carry_out(&mut self, task: Task) -> Done {
        let target = Target("7".to_owned());
        self.carry_out_at(target, task).await
    }

    async fn carry_out_at(&mut self, target: Target, task: Task) -> Done {
        let job = JobNo(1);
        self.handle.tasks.try_send(Outgoing { job, target, task }).unwrap();
        self.next("the end of a task", |inbound| match inbound {
            Inbound::Done { done, .. } => Some(done),
            _ => None,
        })
        .await
    }
}

/// Waits for a state of the server, which does not announce it.
async fn eventually(why: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "waited for {why}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn text_update(no: i64, user: i64, text: &str) -> Value {
    json!({"update_id": no, "message": {"message_id": no, "date": 1, "text": text,
        "from": {"id": user, "is_bot": false, "first_name": "Ada"}, "chat": {"id": user, "type": "private"}}})
}

fn tap_update(no: i64, user: i64) -> Value {
    json!({"update_id": no, "callback_query": {"id": format!("tap{no}"), "data": "ans:0123abcd:89abcdef:0123456789abcdef:1",
        "from": {"id": user, "is_bot": false, "first_name": "Ada"},
        "message": {"message_id": 1, "chat": {"id": user, "type": "private"}}}})
}

#[tokio::test]
async fn a_redirect_is_refused_and_leads_nowhere() {
    let elsewhere = Server::start(|_, _| ok(json!({"message_id": 1})));
    let to = format!("{}/bot{TOKEN}/sendMessage", elsewhere.url);
    let server = Server::start(move |_, _| {
        Act::Raw(format!("HTTP/1.1 307 x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes())
    });
    let trouble = server.api().send_message(&json!({})).await.unwrap_err();
    assert!(matches!(trouble, Trouble::Unreadable(_)), "{trouble}");
    assert!(elsewhere.calls_of("sendMessage").is_empty());
}

#[tokio::test]
async fn answers_are_bounded_and_may_be_nonsense() {
    let long = |length: usize| {
        let mut bytes = format!("HTTP/1.1 200 x\r\ncontent-length: {length}\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b' ');
        Act::Raw(bytes)
    };
    let cut = || Act::Raw(b"HTTP/1.1 200 x\r\ncontent-length: 900\r\n\r\n{\"ok\":true,\"res".to_vec());
    let server = Server::start(move |method, _| match method {
        "getUpdates" => long(5 * 1024 * 1024),
        "sendMessage" => long(300 * 1024),
        "editMessageText" => cut(),
        "getMe" => Act::Raw(b"HTTP/1.1 502 x\r\ncontent-length: 4\r\nconnection: close\r\n\r\n<ht>".to_vec()),
        _ => Act::Json(200, json!(["nonsense"])),
    });
    let api = server.api();
    let none = json!({});
    assert_eq!(api.updates(None, 100, Duration::ZERO).await, Err(Trouble::TooLong));
    assert_eq!(api.send_message(&none).await, Err(Trouble::TooLong));
    assert!(matches!(api.edit_message(&none).await, Err(Trouble::Network(_))));
    assert_eq!(api.me().await, Err(Trouble::Server(502)));
    assert!(matches!(api.delete_webhook().await, Err(Trouble::Unreadable(_))));
}

#[tokio::test]
async fn refusals_have_types() {
    let server = Server::start(|_, body| match body["case"].as_u64() {
        Some(429) => Act::Json(
            429,
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 9}}),
        ),
        Some(code) => refused(code as u16, "why"),
        None => ok(json!({"message_id": 5})),
    });
    let api = server.api();
    let case = async |code: u16| api.send_message(&json!({"case": code})).await.unwrap_err();
    assert_eq!(case(401).await, Trouble::Unauthorized);
    assert_eq!(case(404).await, Trouble::NotFound);
    assert_eq!(case(409).await, Trouble::Conflict("why".to_owned()));
    assert_eq!(case(400).await, Trouble::BadRequest("why".to_owned()));
    assert_eq!(case(403).await, Trouble::Forbidden("why".to_owned()));
    assert_eq!(case(500).await, Trouble::Server(500));
    let retry_after = Duration::from_secs(9);
    assert_eq!(case(429).await, Trouble::TooMany { retry_after });
    assert_eq!(api.send_message(&json!({})).await, Ok(5));
}

#[tokio::test]
async fn the_token_is_in_no_error_and_no_debug() {
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let api = Api::new(Secret::new(TOKEN), &format!("http://{nowhere}")).unwrap();
    let unreachable = api.send_message(&json!({})).await.unwrap_err();
    assert_eq!(unreachable, Trouble::Network("no connection"));
    let server = Server::start(|_, _| refused(400, &format!("no such path /bot{TOKEN}/x")));
    let repeated = server.api().send_message(&json!({})).await.unwrap_err();
    let said = format!("{unreachable} {unreachable:?} {repeated} {repeated:?} {api:?} {:?}", server.config());
    assert!(!said.contains("AAEhBOweik"), "{said}");
    assert!(said.contains("Secret("), "{said}");
}

#[test]
fn an_address_that_is_none_makes_no_client() {
    for url in ["", "api.telegram.org", "ftp://x", "http://", "data:x"] {
        assert!(Api::new(Secret::new(TOKEN), url).is_err(), "{url}");
    }
    let api = Api::new(Secret::new("1:a/../b?c"), "http://127.0.0.1:1/prefix/").unwrap();
    assert!(!format!("{api:?}").contains("1:a"));
}

#[tokio::test]
async fn an_update_is_confirmed_only_once_it_is_on_record() {
    let batch = json!([text_update(42, 7, "second"), {"update_id": 43, "message": "broken"}, text_update(41, 7, "first"),
        {"no": "number"}]);
    let server = Server::start(move |method, body| match (method, body["offset"].as_i64()) {
        ("getWebhookInfo", _) => ok(json!({"url": "https://elsewhere.example"})),
        ("getUpdates", Some(..=43)) => ok(batch.clone()),
        ("getUpdates", _) => Act::Hang,
        _ => ok(json!(true)),
    });
    let mut channel = Running::start(server.config());

    let first = channel.update().await;
    assert_eq!(first.no.0, 41, "sorted");
    assert!(matches!(first.saying, Saying::Text { .. }));
    first.recorded.0.send(()).unwrap();
    let second = channel.update().await;
    assert_eq!(second.no.0, 42);
    drop(second.recorded);
    channel.health(|health| matches!(health, Health::Retrying { .. })).await;

    // The one that was not recorded comes again, and the broken one is counted.
    let again = channel.update().await;
    assert_eq!(again.no.0, 41, "this server repeats what it likes");
    again.recorded.0.send(()).unwrap();
    for no in [42, 43] {
        let update = channel.update().await;
        assert_eq!(update.no.0, no);
        update.recorded.0.send(()).unwrap();
    }
    channel.next("a poll", |inbound| matches!(inbound, Inbound::Polled { .. }).then_some(())).await;
    eventually("the poll that confirms", || server.calls_of("getUpdates").len() == 3).await;
    let offsets: Vec<Value> =
        server.calls_of("getUpdates").iter().map(|body| body["offset"].clone()).collect();
    assert_eq!(offsets, [json!(40), json!(42), json!(44)]);
    assert_eq!(server.calls_of("deleteWebhook"), [json!({"drop_pending_updates": false})]);
    let first = &server.calls_of("getUpdates")[0];
    assert_eq!(first["allowed_updates"], json!(["message", "callback_query"]));
}

#[tokio::test]
async fn a_backlog_is_read_to_its_end_before_a_gap_is_told() {
    let server = Server::start(|method, body| match (method, body["offset"].as_i64()) {
        ("getWebhookInfo", _) => refused(404, "no such method"),
        ("getUpdates", Some(offset @ ..=160)) => {
            let limit = body["limit"].as_i64().unwrap();
            let batch = (offset..161).take(limit as usize).map(|no| text_update(no, 8, &"é".repeat(4000)));
            match limit {
                // As if the messages were too long for one answer.
                51.. => Act::Json(200, json!({"ok": true, "result": "x".repeat(5 * 1024 * 1024)})),
                _ => ok(batch.collect()),
            }
        }
        ("getUpdates", _) => Act::Hang,
        _ => ok(json!(true)),
    });
    let mut channel = Running::start(server.config());
    let mut heard = Vec::new();
    channel
        .next("the end of the backlog", |inbound| match inbound {
            Inbound::Update(update) => {
                heard.push(update.no.0);
                update.recorded.0.send(()).unwrap();
                None
            }
            Inbound::Polled { .. } => Some(()),
            Inbound::Health(_) | Inbound::Done { .. } | Inbound::Ready => None,
        })
        .await;
    assert_eq!(heard, (40..161).collect::<Vec<_>>());
    eventually("the next poll", || server.calls_of("getUpdates").len() == 5).await;
    let limits: Vec<i64> =
        server.calls_of("getUpdates").iter().map(|body| body["limit"].as_i64().unwrap()).collect();
    assert_eq!(limits, [100, 50, 50, 50, 100]);
}

#[tokio::test]
async fn a_tap_hears_its_receipt_and_a_stranger_hears_nothing() {
    let server = Server::start(|method, body| match (method, body["offset"].as_i64()) {
        ("getWebhookInfo", _) => ok(json!({"url": ""})),
        ("getUpdates", Some(..=41)) => {
            ok(json!([tap_update(41, 7), tap_update(42, 8), text_update(43, 8, "/start")]))
        }
        ("getUpdates", _) => Act::Hang,
        _ => ok(json!(true)),
    });
    let mut channel = Running::start(server.config());
    let tap = channel.update().await;
    assert!(matches!(tap.from, Person::Operator { .. }));
    tap.receipt.unwrap().0.send("é".repeat(300)).unwrap();
    tap.recorded.0.send(()).unwrap();
    for _ in 0..2 {
        let stranger = channel.update().await;
        assert!(matches!(stranger.from, Person::Stranger { .. }));
        assert!(stranger.receipt.is_none());
        assert!(matches!(stranger.saying, Saying::Nothing { attempt: Some("not_allowed") }));
        stranger.recorded.0.send(()).unwrap();
    }
    eventually("the receipt", || !server.calls_of("answerCallbackQuery").is_empty()).await;
    eventually("the poll that confirms", || server.calls_of("getUpdates").len() == 2).await;
    let answers = server.calls_of("answerCallbackQuery");
    assert_eq!(answers, [json!({"callback_query_id": "tap41", "text": "é".repeat(200)})]);
    assert_eq!(server.calls.lock().unwrap().len(), 4, "nobody else was called");
    let stranger = Target("8".to_owned());
    let done = channel.carry_out_at(stranger, Task::Post(sample::yes_no())).await;
    assert!(matches!(done, Done::NotShown(Undelivered::Never { .. })), "{done:?}");
    assert!(server.calls_of("sendMessage").is_empty());
}

#[tokio::test]
async fn a_wrong_token_stops_everything_and_says_what_to_do() {
    let server = Server::start(|_, _| refused(401, "Unauthorized"));
    let mut channel = Running::start(server.config());
    let health = channel.health(|health| matches!(health, Health::Stopped { .. })).await;
    let Health::Stopped { why } = health else {
        unreachable!();
    };
    assert!(why.contains("atlasbridge setup telegram"), "{why}");
    let done = channel.carry_out(Task::Post(sample::yes_no())).await;
    assert!(matches!(done, Done::NotShown(Undelivered::Later { .. })), "{done:?}");
    assert_eq!(server.calls.lock().unwrap().len(), 1, "no call after the refusal");
    drop(channel.handle);
    timeout(LIMIT, channel.work).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_second_poller_is_explained() {
    let server = Server::start(|method, _| match method {
        "getUpdates" => refused(409, "Conflict: terminated by other getUpdates request"),
        _ => ok(json!({"url": ""})),
    });
    let mut channel = Running::start(server.config());
    let health = channel.health(|health| matches!(health, Health::Retrying { .. })).await;
    assert!(format!("{health:?}").contains("another program polls with this bot token"), "{health:?}");
}

#[tokio::test]
async fn the_service_may_be_away_and_come_back() {
    let failures = Mutex::new(0);
    let server = Server::start(move |method, body| match (method, body["offset"].as_i64()) {
        ("getUpdates", Some(41)) => Act::Hang,
        ("getUpdates", _) => {
            let mut failures = failures.lock().unwrap();
            *failures += 1;
            match *failures {
                1 => refused(502, "Bad Gateway"),
                2 => ok(json!([])),
                _ => ok(json!([text_update(40, 7, "hello")])),
            }
        }
        _ => ok(json!({"url": ""})),
    });
    let mut channel = Running::start(server.config());
    channel.health(|health| matches!(health, Health::Retrying { .. })).await;
    channel.health(|health| *health == Health::Connected).await;
    let gap = channel
        .next("a poll", |inbound| match inbound {
            Inbound::Polled { gap } => Some(gap),
            _ => None,
        })
        .await;
    assert_eq!(gap, None, "nothing was heard before it");
    channel.update().await.recorded.0.send(()).unwrap();
    let gap = channel
        .next("another poll", |inbound| match inbound {
            Inbound::Polled { gap } => Some(gap),
            _ => None,
        })
        .await;
    assert!(gap.is_some());
}

#[tokio::test]
async fn messages_are_sent_edited_and_attached() {
    let server = quiet(|_, _| ok(json!({"message_id": 11, "chat": {"id": 7}})));
    let mut channel = Running::start(server.config());
    let here = || Address("7:11".to_owned());
    let shown = |address| Done::Shown { address };
    assert_eq!(channel.carry_out(Task::Post(sample::yes_no())).await, shown(Some(here())));
    let edit = Task::Edit { address: here(), card: sample::yes_no() };
    assert_eq!(channel.carry_out(edit).await, shown(None));
    let notify = Task::Notify {
        notice: Notice { blocks: vec![Block::Ours("hello".to_owned())], buttons: Vec::new() },
        reply_to: Some(here()),
    };
    assert_eq!(channel.carry_out(notify).await, shown(Some(here())));
    let file = Task::File { name: "a/b".to_owned(), text: "the \u{202e}text".to_owned(), reply_to: None };
    assert_eq!(channel.carry_out(file).await, shown(Some(here())));

    let edits = server.calls_of("editMessageText");
    assert_eq!((&edits[0]["chat_id"], &edits[0]["message_id"]), (&json!(7), &json!(11)));
    let sent = server.calls_of("sendMessage");
    assert_eq!(sent[0]["parse_mode"], "HTML");
    assert!(sent[0]["reply_markup"]["inline_keyboard"][0][0]["callback_data"].is_string());
    assert_eq!(sent[1]["reply_parameters"], json!({"message_id": 11, "allow_sending_without_reply": true}));
    let document = server.calls_of("sendDocument")[0].to_string();
    assert!(document.contains("a_b.txt") && document.contains("the ⟨U+202E⟩text"), "{document}");
}

#[tokio::test]
async fn each_refusal_of_a_message_is_told_as_what_it_is() {
    #[track_caller]
    fn later(done: &Done) -> Duration {
        match done {
            Done::NotShown(Undelivered::Later { after }) => *after,
            done => panic!("{done:?}"),
        }
    }
    async fn after(act: fn() -> Act) -> Done {
        let server = quiet(move |_, _| act());
        let edit = Task::Edit { address: Address("7:11".to_owned()), card: sample::yes_no() };
        Running::start(server.config()).carry_out(edit).await
    }
    let never = |why: &str| Done::NotShown(Undelivered::Never { why: why.to_owned() });
    assert_eq!(
        after(|| refused(400, "Bad Request: message is not modified: specified new")).await,
        Done::Shown { address: None }
    );
    assert_eq!(
        after(|| refused(400, "Bad Request: message to edit not found")).await,
        never("the message is gone")
    );
    assert_eq!(
        after(|| refused(403, "Forbidden: bot was blocked by the user")).await,
        never("the person has blocked the bot")
    );
    let asked =
        after(|| Act::Json(429, json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 17}})));
    assert_eq!(later(&asked.await), Duration::from_secs(17));
    let second = Duration::from_secs(2);
    assert!(later(&after(|| refused(503, "")).await) < second);
    assert!(
        later(&after(|| Act::Raw(b"HTTP/1.1 200 x\r\ncontent-length: 9\r\n\r\n{".to_vec())).await) < second
    );
    assert!(later(&after(|| Act::Raw(Vec::new())).await) < second);
}

#[tokio::test]
async fn patience_is_kept_without_asking_again() {
    let server = quiet(|_, _| {
        Act::Json(429, json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 60}}))
    });
    let mut channel = Running::start(server.config());
    for _ in 0..3 {
        let done = channel.carry_out(Task::Post(sample::yes_no())).await;
        let Done::NotShown(Undelivered::Later { after }) = done else { panic!("{done:?}") };
        assert!(after > Duration::from_secs(30), "{after:?}");
    }
    assert_eq!(server.calls_of("sendMessage").len(), 1);
}

#[tokio::test]
async fn a_message_that_must_wait_is_made_anew_later() {
    let server = quiet(|_, _| ok(json!({"message_id": 11})));
    let config = BotSettings { messages_per_second: 0.01, ..server.config() };
    let mut channel = Running::start(config);
    let shown = channel.carry_out(Task::Post(sample::yes_no())).await;
    assert!(matches!(shown, Done::Shown { .. }), "{shown:?}");
    let done = channel.carry_out(Task::Post(sample::yes_no())).await;
    let Done::NotShown(Undelivered::Later { after }) = done else { panic!("{done:?}") };
    assert!((60..=100).contains(&after.as_secs()), "{after:?}");
    assert_eq!(server.calls_of("sendMessage").len(), 1);
}

#[tokio::test]
async fn closing_does_not_wait_for_the_poll() {
    let server = quiet(|_, _| Act::Hang);
    let channel = Running::start(server.config());
    eventually("the long poll", || !server.calls_of("getUpdates").is_empty()).await;
    let task = Outgoing { job: JobNo(1), target: Target("7".to_owned()), task: Task::Post(sample::yes_no()) };
    channel.handle.tasks.try_send(task).unwrap();
    eventually("a call that hangs", || !server.calls_of("sendMessage").is_empty()).await;
    drop(channel.handle);
    timeout(Duration::from_secs(1), channel.work).await.expect("within a second").unwrap();
}

#[tokio::test]
async fn without_an_address_the_channel_says_so_and_goes_on_answering_the_hub() {
    let server = quiet(|_, _| Act::Hang);
    let config = BotSettings { api_url: "nonsense".to_owned(), ..server.config() };
    let mut channel = Running::start(config);
    channel.health(|health| matches!(health, Health::Stopped { .. })).await;
    let done = channel.carry_out(Task::Post(sample::yes_no())).await;
    assert!(matches!(done, Done::NotShown(Undelivered::Later { .. })), "{done:?}");
}

#[test]
fn prompts_go_to_the_group_where_there_is_one() {
    let server = quiet(|_, _| Act::Hang);
    let (inbound, _hub) = mpsc::channel(1);
    let (private, _) = start(server.config(), Some(40), inbound.clone());
    assert_eq!(private.targets, [Target("7".to_owned())]);
    let config = BotSettings { chats: vec![-100], ..server.config() };
    let (group, _) = start(config, Some(40), inbound);
    assert_eq!(group.targets, [Target("-100".to_owned())]);
}
