//! `logs`: the audit log in words, and what happens next.

use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::Context;
use atlasbridge_store::{AuditRecord, tail};
use rustix::fs::inotify;

use crate::output::Output;

pub(super) fn run(follow: bool, lines: usize, json: bool, output: &Output) -> anyhow::Result<()> {
    let paths = super::home()?;
    let log = paths.audit_log();
    if !log.exists() {
        if !follow {
            output.line("Nothing has happened yet.");
            return Ok(());
        }
        crate::client::Client::connect_or_start(&paths)?;
    }
    let changes = follow.then(|| watch(&log)).transpose()?;
    let mut last = show_after(&log, 0, lines, json, output)?;
    let Some(changes) = changes else { return Ok(()) };
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(changes, &mut buffer);
    loop {
        // Watched since before the first look: each later record wakes this.
        reader.next().context("watching the audit log")?;
        last = show_after(&log, last, lines.max(1), json, output)?.max(last);
    }
}

fn watch(log: &Path) -> anyhow::Result<OwnedFd> {
    let changes = inotify::init(inotify::CreateFlags::CLOEXEC).context("watching the audit log")?;
    inotify::add_watch(&changes, log, inotify::WatchFlags::MODIFY).context("watching the audit log")?;
    Ok(changes)
}

/// Shows the latest records whose number is over `after`, and returns the number of the last one.
fn show_after(log: &Path, after: u64, lines: usize, json: bool, output: &Output) -> anyhow::Result<u64> {
    let mut count = lines;
    let mut records = tail(log, count)?;
    // When following, none may be missed, however many came at once.
    while after > 0 && records.len() == count && records.first().is_some_and(|record| record.seq > after + 1)
    {
        count *= 2;
        records = tail(log, count)?;
    }
    for record in records.iter().filter(|record| record.seq > after) {
        show(record, json, output);
    }
    Ok(records.last().map_or(after, |record| record.seq))
}

fn show(record: &AuditRecord, json: bool, output: &Output) {
    if json {
        output.raw(&format!("{}\n", record.line()));
        return;
    }
    let mut line = format!("{}  {:15}", record.ts, record.event.to_lowercase().replace('_', " "));
    let mut add = |name: &str, value: &Option<String>, short: bool| {
        if let Some(value) = value {
            let value: String = if short { value.chars().take(8).collect() } else { value.clone() };
            line.push_str(&format!("  {name}{value}"));
        }
    };
    add("session ", &record.session_id, true);
    add("prompt ", &record.prompt_id, true);
    add("", &record.value, false);
    add("by ", &record.decided_by, false);
    add("from ", &record.source, false);
    output.line(line.trim_end());
}
