//! `/healthz` and `/metrics`: what a supervisor and Prometheus want to know. No names of sessions, no text of anybody.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::questions::{Ask, Figures};
use crate::server::{Problem, Server};

pub(crate) async fn health(State(server): State<Arc<Server>>) -> Result<Response, Problem> {
    let figures = server.ask(|reply| Ask::Figures { reply }).await?;
    let (status, word) = match figures.trouble {
        None => (StatusCode::OK, "ok"),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "trouble"),
    };
    let body = json!({ "status": word, "version": server.version, "trouble": figures.trouble });
    Ok((status, Json(body)).into_response())
}

pub(crate) async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, Problem> {
    let figures = server.ask(|reply| Ask::Figures { reply }).await?;
    let text = exposition(&figures, &server.version, &server.answered());
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn exposition(figures: &Figures, version: &str, answered: &[(&str, u64)]) -> String {
    let one = |value: u64| vec![(String::new(), value)];
    let channels = figures.channels.iter();
    let channels = channels.map(|(name, state)| (label("channel", name), u64::from(state == "connected")));
    let answered = answered.iter().map(|(class, count)| (label("class", class), *count));
    let by_class = "Requests to the page, by the class of their answer.";
    let families = [
        ("sessions_active", "gauge", "Sessions that run now.", one(figures.sessions_active)),
        ("prompts_open", "gauge", "Prompts that wait for an answer.", one(figures.prompts_open)),
        ("prompts_total", "counter", "Prompts seen so far.", one(figures.prompts_total)),
        ("replies_total", "counter", "Answers that were accepted.", one(figures.replies_total)),
        ("rejected_total", "counter", "Answers and requests that were refused.", one(figures.rejected_total)),
        ("channel_up", "gauge", "Whether a channel is connected.", channels.collect()),
        ("http_requests_total", "counter", by_class, answered.collect()),
        ("build_info", "gauge", "The version that runs.", vec![(label("version", version), 1)]),
    ];
    let mut text = String::new();
    for (name, kind, help, samples) in families {
        let _ = writeln!(text, "# HELP atlasbridge_{name} {help}\n# TYPE atlasbridge_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "atlasbridge_{name}{labels} {value}");
        }
    }
    text
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{{name}=\"{value}\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_prometheus_reads_them() {
        let figures = Figures {
            sessions_active: 2,
            channels: vec![
                ("telegram".to_owned(), "connected".to_owned()),
                ("sl\"ack\n".to_owned(), "retrying".to_owned()),
            ],
            ..Figures::default()
        };
        let text = exposition(&figures, "1.2.3", &[("2xx", 7)]);
        for line in [
            "atlasbridge_sessions_active 2",
            "# TYPE atlasbridge_prompts_total counter",
            "atlasbridge_channel_up{channel=\"telegram\"} 1",
            "atlasbridge_channel_up{channel=\"sl\\\"ack\\n\"} 0",
            "atlasbridge_http_requests_total{class=\"2xx\"} 7",
            "atlasbridge_build_info{version=\"1.2.3\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
