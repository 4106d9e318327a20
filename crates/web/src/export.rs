//! Everything on record as one JSON file, a page at a time: the hub never holds more than one of them for it.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::api::{MOST_ROWS, next};
use crate::questions::{Ask, Search};
use crate::seats::Seat;
use crate::server::{Problem, Server, StreamKind, Visit};
use crate::show::{shown, spent_card};

/// Rows of each part that one file may hold; one that stops there says so. Years of one person's prompts.
const MOST_PROMPTS: usize = 100_000;
const MOST_LINES: usize = 1_000_000;

pub(crate) async fn download(Visit { server, login, .. }: Visit) -> Result<Response, Problem> {
    let stream = server.stream(StreamKind::Export, &login)?;
    // One page waits for the browser while the next one is made.
    let (pages, taken) = mpsc::channel(1);
    tokio::spawn(Export { server, pages, is_complete: true, _stream: stream }.run());
    let pages = stream::unfold(taken, |mut taken| async { Some((taken.recv().await?, taken)) });
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CONTENT_DISPOSITION, "attachment; filename=\"atlasbridge.json\""),
    ];
    Ok((headers, Body::from_stream(pages)).into_response())
}

struct Export {
    server: Arc<Server>,
    pages: mpsc::Sender<io::Result<Bytes>>,
    is_complete: bool,
    _stream: Seat,
}

impl Export {
    /// An error cuts the download off, so that half a file is not taken for a whole one.
    async fn run(mut self) {
        if let Err(problem) = self.write().await {
            let _ = self.pages.send(Err(io::Error::other(problem.sentence))).await;
        }
    }

    async fn write(&mut self) -> Result<(), Problem> {
        let version = Value::from(self.server.version.as_str());
        let sessions = self.server.ask(|reply| Ask::Sessions { all: true, reply }).await?;
        self.send(format!("{{\"version\":{version},\"sessions\":{},\"prompts\":[", shown(&sessions))).await;
        let prompts = |search, reply| Ask::History { search, reply };
        self.part(MOST_PROMPTS, prompts, spent_card, |card| card.asked_at.0).await?;
        self.send("],\"audit\":[".to_owned()).await;
        let lines = |search, reply| Ask::Audit { search, reply };
        self.part(MOST_LINES, lines, shown, |line| line.seq as i64).await?;
        self.send(format!("],\"is_complete\":{}}}\n", self.is_complete)).await;
        Ok(())
    }

    async fn part<T>(
        &mut self,
        most: usize,
        question: fn(Search, oneshot::Sender<Vec<T>>) -> Ask,
        show: fn(&T) -> Value,
        place: fn(&T) -> i64,
    ) -> Result<(), Problem> {
        let (mut before, mut rows) = (None, 0);
        // Whoever has gone wants no more of it.
        while !self.pages.is_closed() {
            let search = Search { before, most: MOST_ROWS, ..Search::default() };
            let page = self.server.ask(|reply| question(search, reply)).await?;
            let comma = if rows > 0 && !page.is_empty() { "," } else { "" };
            let page_rows: Vec<_> = page.iter().map(|row| show(row).to_string()).collect();
            self.send(format!("{comma}{}", page_rows.join(","))).await;
            rows += page.len();
            // One that leads nowhere new is the last one, whatever it says.
            match next(&page, MOST_ROWS, place).filter(|older| before.is_none_or(|before| *older < before)) {
                None => break,
                Some(_) if rows >= most => {
                    self.is_complete = false;
                    break;
                }
                older => before = older,
            }
        }
        Ok(())
    }

    async fn send(&self, text: String) {
        let _ = self.pages.send(Ok(text.into())).await;
    }
}
