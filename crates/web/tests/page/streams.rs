//! Events and live screens: at once, coalesced, bounded, ended.

use std::time::{Duration, Instant};

use atlasbridge_model::Picture;
use atlasbridge_model::lifecycle::{Cancellation, PromptState};
use atlasbridge_model::picture::{Colour, Row, Run, Style};
use atlasbridge_web::link_hash;
use atlasbridge_web::questions::{Key, Typing};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::client::{Request, Socket, read_until, watch};
use crate::hub::{Hub, LIMIT, eventually, session_id};
use crate::schema::Description;

/// The stream of events, past its head.
struct Events(TcpStream);

impl Events {
    async fn open(hub: &Hub, login: &str) -> Self {
        let mut stream = Request::get(hub, login, "/api/events").begin().await;
        let head = read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        Self(stream)
    }

    /// Name and data of the next event.
    async fn next(&mut self) -> (String, Value) {
        read_until(&mut self.0, "event: ").await;
        let name = read_until(&mut self.0, "\n").await;
        read_until(&mut self.0, "data: ").await;
        let data = read_until(&mut self.0, "\n").await;
        (name.trim().to_owned(), serde_json::from_str(&data).unwrap())
    }

    async fn assert_ended(mut self) {
        let mut rest = Vec::new();
        let ended = timeout(LIMIT, self.0.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "the stream ends");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_come_at_once_and_after_each_change() {
    let hub = Hub::start();
    let login = hub.new_login();
    let description = Description::read();
    let mut events = Events::open(&hub, &login).await;
    let (name, prompts) = events.next().await;
    assert_eq!(name, "prompts");
    description.check_named("Prompts", &prompts);
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 1);
    let (name, sessions) = events.next().await;
    assert_eq!(name, "sessions");
    description.check_named("Sessions", &sessions);

    let why = Cancellation::ToolGone;
    hub.state().prompts[0].state = PromptState::Canceled { why };
    hub.announce();
    // Only what changed is sent again.
    assert_eq!(events.next().await, ("prompts".to_owned(), json!({ "prompts": [] })));
    hub.state().sessions.clear();
    hub.announce();
    assert_eq!(events.next().await, ("sessions".to_owned(), json!({ "sessions": [] })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_changes_is_a_few_events() {
    let hub = Hub::start();
    let login = hub.new_login();
    let mut events = Events::open(&hub, &login).await;
    let began = Instant::now();
    for count in 1..=500 {
        hub.state().sessions[0].prompts = count;
        hub.announce();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut heard = 0;
    loop {
        let (name, data) = events.next().await;
        if name == "sessions" {
            heard += 1;
            if data["sessions"][0]["prompts"] == 500 {
                break;
            }
        }
    }
    let most = began.elapsed().as_millis() / 100 + 2;
    assert!(heard <= most, "{heard} events, at most {most}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_login_hears_no_more() {
    let hub = Hub::start();
    let login = hub.new_login();
    let mut events = Events::open(&hub, &login).await;
    events.next().await;
    let mut socket = watch(&hub, &login).await;
    socket.say(&json!({ "t": "unlock" })).await;
    hub.state().logins.remove(&link_hash(&login));
    hub.state().prompts.clear();
    hub.announce();
    events.assert_ended().await;
    // It may be closed by now, or still on its way to be: typed is nothing in either case.
    let _ = socket.try_to_say(&json!({ "t": "key", "key": "enter" })).await;
    assert_eq!(socket.hear().await, None);
    assert!(hub.state().typed.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_has_sixteen_streams_and_gets_them_back() {
    let hub = Hub::start();
    let (login, other) = (hub.new_login(), hub.new_login());
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(Events::open(&hub, &login).await);
    }
    let one_more = Request::get(&hub, &login, "/api/events");
    assert_eq!(one_more.send().await.status, 429);
    Events::open(&hub, &other).await;
    held.clear();
    let deadline = Instant::now() + LIMIT;
    loop {
        let mut stream = one_more.begin().await;
        if read_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(Instant::now() < deadline, "streams are given back");
        // Somebody must write to a closed connection to learn that it is closed.
        hub.state().sessions[0].prompts += 1;
        hub.announce();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A picture that tells its number, and is as large as `rows` and `columns` make it.
fn numbered(number: u64, rows: usize, columns: usize) -> Picture {
    let run = |text: String, style| Run { cells: text.chars().count() as u16, text, style };
    let first = Row { runs: vec![run(number.to_string(), Style::default())] };
    let style = Style { foreground: Colour::Rgb(1, 2, number as u8), ..Style::default() };
    let row = |_| Row {
        runs: (0..columns).map(|column| run(((number as usize + column) % 10).to_string(), style)).collect(),
    };
    Picture {
        columns: columns as u16,
        rows: std::iter::once(first).chain((1..rows).map(row)).collect(),
        cursor: None,
        is_alternate: false,
    }
}

fn number_of(frame: &Value) -> u64 {
    frame["rows"]["0"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_screen_is_whole_first_and_then_its_changes() {
    let hub = Hub::start();
    let login = hub.new_login();
    let description = Description::read();
    let mut picture = numbered(1, 3, 4);
    hub.show(picture.clone());
    let mut socket = watch(&hub, &login).await;
    let frame = socket.hear().await.unwrap();
    description.check_named("ScreenFrame", &frame);
    assert_eq!((&frame["whole"], &frame["height"], &frame["columns"]), (&json!(true), &json!(3), &json!(4)));
    assert_eq!(frame["rows"].as_object().unwrap().len(), 3);

    picture.rows[2] = Row { runs: vec![Run { text: "<&\">".to_owned(), cells: 4, style: Style::default() }] };
    picture.cursor = Some((2, 3));
    hub.show(picture.clone());
    let frame = socket.hear().await.unwrap();
    let expected = json!({
        "t": "screen", "columns": 4, "height": 3, "rows": { "2": "&lt;&amp;&quot;&gt;" },
        "cursor": [2, 3], "alternate": false, "whole": false,
    });
    assert_eq!(frame, expected);

    // A screen of another size is whole again.
    hub.show(numbered(2, 2, 4));
    assert_eq!(socket.hear().await.unwrap()["whole"], true);
    hub.state().pictures.clear();
    let gone = socket.hear().await.unwrap();
    description.check_named("GoneFrame", &gone);
    assert_eq!(socket.hear().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_must_be_unlocked_on_this_very_socket() {
    let hub = Hub::start();
    let login = hub.new_login();
    let description = Description::read();
    let (mut socket, mut other) = (watch(&hub, &login).await, watch(&hub, &login).await);
    let key = json!({ "t": "key", "key": "escape" });
    let text = json!({ "t": "text", "text": "ls", "enter": true });
    for message in [&key, &text] {
        socket.say(message).await;
        let told = socket.hear().await.unwrap();
        description.check_named("TypedFrame", &told);
        assert_eq!(told["ok"], false);
    }
    assert!(hub.state().typed.is_empty());

    socket.say(&json!({ "t": "unlock" })).await;
    for message in [&key, &text] {
        socket.say(message).await;
        assert_eq!(socket.hear().await, Some(json!({ "t": "typed", "ok": true })));
    }
    let text = Typing::Text { text: "ls".to_owned(), enter: true };
    let typed = vec![(session_id(), Typing::Key(Key::Escape)), (session_id(), text)];
    assert_eq!(hub.state().typed, typed);

    other.say(&key).await;
    assert_eq!(other.hear().await.unwrap()["ok"], false, "another socket is still locked");
    for wrong in [
        json!({ "t": "key", "key": "f1" }),
        json!({ "t": "text", "text": "\u{1b}[A" }),
        json!({ "t": "text" }),
        json!({ "t": "shell" }),
        json!([]),
    ] {
        socket.say(&wrong).await;
        assert_eq!(socket.hear().await.unwrap()["ok"], false, "{wrong}");
    }
    socket.say(&json!({ "t": "lock" })).await;
    socket.say(&key).await;
    assert_eq!(socket.hear().await.unwrap()["ok"], false, "locked again");
    assert_eq!(hub.state().typed, typed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_twenty_frames_a_second() {
    let hub = Hub::start();
    let login = hub.new_login();
    let mut socket = watch(&hub, &login).await;
    let began = Instant::now();
    let flood = async {
        for number in 1..=1000 {
            hub.show(numbered(number, 24, 8));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let watching = async {
        let mut frames = 0;
        loop {
            let frame = socket.hear().await.unwrap();
            frames += 1;
            if number_of(&frame) == 1000 {
                return frames;
            }
        }
    };
    let ((), frames) = tokio::join!(flood, watching);
    let most = began.elapsed().as_millis() / 50 + 2;
    assert!(frames <= most, "{frames} frames, at most {most}");
    assert!(frames > 1, "it was watched while it ran");
}

/// What the kernel may hold of a connection that nobody reads: what the sender's side may grow to, and our own side.
fn kernel_bytes() -> usize {
    let limits = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").unwrap();
    let most: usize = limits.split_whitespace().last().unwrap().parse().unwrap();
    most + 2 * NARROW as usize
}

/// Bytes that the client asks its own side to hold.
const NARROW: u32 = 64 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_browser_costs_one_frame_and_then_sees_the_newest() {
    let hub = Hub::start();
    let login = hub.new_login();
    let path = format!("/api/sessions/{}/live", session_id());
    let request = Request::get(&hub, &login, &path).upgrade(&hub.web);
    let narrow = TcpSocket::new_v4().unwrap();
    narrow.set_recv_buffer_size(NARROW).unwrap();
    let mut stream = narrow.connect(hub.web.address).await.unwrap();
    stream.write_all(&request.to_bytes()).await.unwrap();
    let mut socket = Socket::accepted(stream).await;
    // Large pictures, all of them new. Nobody reads, so the pipe fills; an endless queue would go on taking them. It is
    // offered three times what the kernel holds, each picture for long enough to be made into a frame.
    let size = numbered(0, 64, 400).rows.len() * 400 * "<span data-f=\"#010203\">0</span>".len();
    let offered = 3 * kernel_bytes().div_ceil(size) as u64;
    for number in 1..=offered {
        hub.show(numbered(number, 64, 400));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let newest = offered + 1;
    hub.show(numbered(newest, 64, 400));
    let (mut waiting, mut last) = (0, 0);
    while last < newest {
        let frame = socket.hear().await.unwrap();
        let number = number_of(&frame);
        assert!(number > last, "{number} after {last}");
        last = number;
        waiting += frame.to_string().len();
    }
    // The newest came on top of what had been waiting, and one more was half on its way.
    let most = kernel_bytes() + 3 * size;
    assert!(waiting <= most, "{waiting} bytes were waiting, at most {most}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_leaves_is_let_go() {
    let hub = Hub::start();
    let login = hub.new_login();
    let socket = watch(&hub, &login).await;
    let watchers = || hub.state().pictures[&session_id()].receiver_count();
    eventually("somebody watches", || (watchers() == 1).then_some(())).await;
    drop(socket);
    eventually("nobody watches any more", || (watchers() == 0).then_some(())).await;
}
