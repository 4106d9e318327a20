//! The HTTP around the model: one request per connection, answered in its dialect.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};

use super::hello::Hello;
use super::{Dialect, Shared, Speech, anthropic, gemini, openai};
use crate::LIMIT;

/// The head of a request.
pub(super) struct Head {
    method: String,
    pub(super) target: String,
    length: usize,
    is_chunked: bool,
}

/// What is sent back: parts of an event stream, or one JSON value.
pub(super) enum Said {
    Events(Vec<String>),
    Json(Value),
}

pub(super) fn connection(shared: &Shared, stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(LIMIT));
    let _ = stream.set_nodelay(true);
    // Whoever hangs up has lost interest; the script knows no more.
    let _ = serve(shared, stream);
}

fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let head = read_head(&mut reader)?;
    let line = format!("{} {}", head.method, head.target);
    if head.method == "CONNECT" {
        note(shared, line);
        if let Some(hello) = shared.hello.as_ref().filter(|_| Hello::knows(&head.target)) {
            return hello.answer(stream);
        }
        return plain(stream, 403, &json!({ "error": "there is no network here" }));
    }
    let body = read_body(&mut reader, &head)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let path = head.target.split('?').next().unwrap_or_default();
    let Some(dialect) = dialect_of(path) else {
        note(shared, line);
        return aside(stream, path);
    };
    let tools = match dialect {
        Dialect::Gemini => gemini::count_tools(&body),
        Dialect::Anthropic | Dialect::Responses | Dialect::Chat => {
            body["tools"].as_array().map_or(0, Vec::len)
        }
    };
    let streams = match dialect {
        Dialect::Gemini => path.ends_with(":streamGenerateContent"),
        Dialect::Anthropic | Dialect::Responses | Dialect::Chat => body["stream"] == true,
    };
    let speech = shared.speech(dialect, body, tools);
    thread::sleep(speech.after);
    let said = match dialect {
        Dialect::Anthropic => anthropic::said(&speech, streams),
        Dialect::Responses => openai::said_in_responses(&speech, streams),
        Dialect::Chat => openai::said_in_chat(&speech, streams),
        Dialect::Gemini => gemini::said(&speech, streams),
    };
    match said {
        Said::Json(value) => plain(stream, 200, &value),
        Said::Events(events) => stream_events(shared, stream, &speech, &events),
    }
}

fn note(shared: &Shared, line: String) {
    shared.lock().others.push(line);
    shared.changed.notify_all();
}

fn dialect_of(path: &str) -> Option<Dialect> {
    let ends: [(&str, Dialect); 5] = [
        ("/v1/messages", Dialect::Anthropic),
        ("/responses", Dialect::Responses),
        ("/chat/completions", Dialect::Chat),
        (":generateContent", Dialect::Gemini),
        (":streamGenerateContent", Dialect::Gemini),
    ];
    let found = ends.into_iter().find(|(end, _)| path.ends_with(end));
    found.map(|(_, dialect)| dialect)
}

/// Small questions that are no speech.
fn aside(stream: TcpStream, path: &str) -> io::Result<()> {
    if path.ends_with("/count_tokens") {
        return plain(stream, 200, &json!({ "input_tokens": 100 }));
    }
    if path.ends_with(":countTokens") {
        return plain(stream, 200, &json!({ "totalTokens": 100 }));
    }
    if path.ends_with("/models") {
        let model = json!({ "id": "fake-model", "object": "model", "created": 1, "owned_by": "nobody" });
        return plain(stream, 200, &json!({ "object": "list", "data": [model], "models": [] }));
    }
    plain(stream, 404, &json!({ "error": { "type": "not_found_error", "message": "not here" } }))
}

fn plain(mut stream: TcpStream, status: u16, value: &Value) -> io::Result<()> {
    let body = value.to_string();
    let reason = if status == 200 { "OK" } else { "No" };
    write!(
        stream,
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn stream_events(
    shared: &Shared,
    mut stream: TcpStream,
    speech: &Speech,
    events: &[String],
) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
    )?;
    if !speech.gap.is_zero() {
        for event in events {
            stream.write_all(event.as_bytes())?;
            thread::sleep(speech.gap);
        }
        return Ok(());
    }
    // Texts come in two parts, so half of the events is half of the text.
    let (first, rest) = events.split_at(events.len() / 2);
    stream.write_all(first.concat().as_bytes())?;
    if speech.stalls {
        shared.stall();
    }
    stream.write_all(rest.concat().as_bytes())
}

pub(super) fn read_head(reader: &mut impl BufRead) -> io::Result<Head> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let mut head = Head {
        method: words.next().unwrap_or_default().to_owned(),
        target: words.next().unwrap_or_default().to_owned(),
        length: 0,
        is_chunked: false,
    };
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Ok(head);
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            head.length = value.parse().unwrap_or(0);
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            head.is_chunked = value.eq_ignore_ascii_case("chunked");
        }
    }
}

fn read_body(reader: &mut impl BufRead, head: &Head) -> io::Result<Vec<u8>> {
    if !head.is_chunked {
        let mut body = vec![0; head.length];
        reader.read_exact(&mut body)?;
        return Ok(body);
    }
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk)?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// The pieces in which a text is said.
pub(super) fn parts(speech: &Speech) -> Vec<&str> {
    match speech.gap.is_zero() {
        true => halves(&speech.text),
        false => speech.text.split_inclusive(' ').collect(),
    }
}

/// A text in two parts, cut between characters.
pub(super) fn halves(text: &str) -> Vec<&str> {
    let middle = text.char_indices().nth(text.chars().count() / 2);
    let (first, rest) = text.split_at(middle.map_or(0, |(at, _)| at));
    [first, rest].into_iter().filter(|part| !part.is_empty()).collect()
}

/// `data: …` of an event stream, with a name if the protocol names its events.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
