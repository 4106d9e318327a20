//! Everything on record as one JSON file, a page at a time: the hub never holds more than one of them for it.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;

use crate::api::MOST_ROWS;
use crate::questions::{Ask, Search};
use crate::server::{Problem, Server, Stream, StreamKind, Visit};
use crate::show::{audit_line, session, spent_card};

/// Rows of each part that one file may hold; one that stops there says so. Years of one person's prompts.
const MOST_PROMPTS: usize = 100_000;
const MOST_LINES: usize = 1_000_000;

pub(crate) async fn download(Visit { server, caller }: Visit) -> Result<Response, Problem> {
    let export = Export {
        _stream: server.stream(StreamKind::Export, &caller.login)?,
        server,
        part: Part::Sessions,
        rows: 0,
        is_complete: true,
    };
    let pages = stream::try_unfold(export, |mut export| async {
        let page = export.next_page().await?;
        Ok::<_, io::Error>(page.map(|page| (page, export)))
    });
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CONTENT_DISPOSITION, "attachment; filename=\"atlasbridge.json\""),
    ];
    Ok((headers, Body::from_stream(pages)).into_response())
}

struct Export {
    server: Server,
    part: Part,
    /// Of the current part, so far.
    rows: usize,
    is_complete: bool,
    _stream: Stream,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Sessions,
    Prompts { before: Option<i64> },
    Audit { before: Option<i64> },
    End,
    Over,
}

impl Export {
    /// The next piece of the file. An error cuts the download off, so that half a file is not taken for a whole one.
    async fn next_page(&mut self) -> io::Result<Option<Bytes>> {
        let text = match self.part {
            Part::Sessions => self.sessions().await?,
            Part::Prompts { before } => self.prompts(before).await?,
            Part::Audit { before } => self.audit(before).await?,
            Part::End => {
                self.part = Part::Over;
                format!("],\"is_complete\":{}}}\n", self.is_complete)
            }
            Part::Over => return Ok(None),
        };
        Ok(Some(text.into()))
    }

    async fn sessions(&mut self) -> io::Result<String> {
        let all = true;
        let cards = self.ask(|reply| Ask::Sessions { all, reply }).await?;
        let version = serde_json::to_string(self.server.version())?;
        let mut text = format!("{{\"version\":{version},\"sessions\":[");
        self.push(&mut text, cards.iter().map(session))?;
        self.begin(&mut text, "prompts", Part::Prompts { before: None });
        Ok(text)
    }

    async fn prompts(&mut self, before: Option<i64>) -> io::Result<String> {
        let search = page_before(before);
        let page = self.ask(|reply| Ask::History { search, reply }).await?;
        let mut text = String::new();
        self.push(&mut text, page.prompts.iter().map(spent_card))?;
        match self.older(before, page.older, MOST_PROMPTS) {
            Some(older) => self.part = Part::Prompts { before: Some(older) },
            None => self.begin(&mut text, "audit", Part::Audit { before: None }),
        }
        Ok(text)
    }

    async fn audit(&mut self, before: Option<i64>) -> io::Result<String> {
        let search = page_before(before);
        let lines = self.ask(|reply| Ask::Audit { search, reply }).await?;
        let mut text = String::new();
        self.push(&mut text, lines.iter().map(audit_line))?;
        let older = lines.last().and_then(|line| i64::try_from(line.seq).ok());
        self.part = match self.older(before, older, MOST_LINES) {
            Some(older) => Part::Audit { before: Some(older) },
            None => Part::End,
        };
        Ok(text)
    }

    /// Where the next page of this part begins. One that leads nowhere new is the last one, whatever it says.
    fn older(&mut self, before: Option<i64>, older: Option<i64>, most: usize) -> Option<i64> {
        let older = older.filter(|older| before.is_none_or(|before| *older < before))?;
        self.is_complete &= self.rows < most;
        (self.rows < most).then_some(older)
    }

    fn push<T: Serialize>(&mut self, text: &mut String, rows: impl Iterator<Item = T>) -> io::Result<()> {
        for row in rows {
            if self.rows > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(&row)?);
            self.rows += 1;
        }
        Ok(())
    }

    fn begin(&mut self, text: &mut String, name: &str, part: Part) {
        text.push_str(&format!("],\"{name}\":["));
        self.rows = 0;
        self.part = part;
    }

    async fn ask<T>(&self, question: impl FnOnce(tokio::sync::oneshot::Sender<T>) -> Ask) -> io::Result<T> {
        let asked = self.server.ask(question).await;
        asked.map_err(|problem| io::Error::other(problem.sentence.into_owned()))
    }
}

fn page_before(before: Option<i64>) -> Search {
    Search { before, most: MOST_ROWS, ..Search::default() }
}
