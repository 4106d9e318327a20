//! `audit`: is the log what it was, and what does it say.

use std::process::ExitCode;

use anyhow::Context;
use atlasbridge_store::{RecordFilter, Verdict, VerifyError, read_records, verify};
use serde_json::json;

use crate::args::Audit;
use crate::config::{Environment, Paths};
use crate::output::Output;

/// The codes that scripts rely on (SPEC; docs/audit.md).
const GOOD: u8 = 0;
const TAMPERED: u8 = 1;
const UNREADABLE: u8 = 2;
const TRUNCATED: u8 = 3;

pub(super) fn run(command: Audit, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = Paths::new(&Environment::of_process())?;
    match command {
        Audit::Verify { file, json } => {
            let database = (file.is_none())
                .then(|| paths.database())
                .filter(|path| path.exists());
            let log = file.unwrap_or_else(|| paths.audit_log());
            let verdict = verify(&log, database.as_deref());
            let (code, word, told) = judged(&verdict);
            match json {
                true => output.json(&json!({ "verdict": word, "told": told, "file": log, "code": code }))?,
                false => output.line(&format!("{}: {told}", log.display())),
            }
            Ok(ExitCode::from(code))
        }
        Audit::Export { session } => {
            let session = session
                .map(|id| id.parse())
                .transpose()
                .context("--session takes a whole session id")?;
            for record in read_records(
                &paths.audit_log(),
                RecordFilter {
                    session,
                    ..RecordFilter::default()
                },
            )? {
                output.raw(&format!("{}\n", record?.line()));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn judged(verdict: &Result<Verdict, VerifyError>) -> (u8, &'static str, String) {
    match verdict {
        Ok(Verdict::Good { records, head }) => {
            (GOOD, "good", format!("good, {records} records, head {head}"))
        }
        Ok(Verdict::Tampered { line, seq, why }) => (
            TAMPERED,
            "tampered",
            format!("tampered with: line {line}, where record {seq} must stand: {why}"),
        ),
        Ok(Verdict::TableDiffers { in_file, in_table }) => (
            TAMPERED,
            "tampered",
            format!("the file has {in_file} records, the database only {in_table}: one of them was changed"),
        ),
        Ok(Verdict::Truncated { have, expected }) => (
            TRUNCATED,
            "truncated",
            format!("truncated: it ends with record {have}, and {expected} were in it"),
        ),
        Ok(Verdict::TornTail { line }) => (
            TRUNCATED,
            "torn",
            format!(
                "the last line, {line}, is incomplete, as after a crash; the next start of the hub repairs it and says so"
            ),
        ),
        Ok(Verdict::Behind { have, expected }) => (
            TRUNCATED,
            "behind",
            format!(
                "it ends with record {have} of {expected}, as after a crash; the next start of the hub completes it"
            ),
        ),
        Err(error) => {
            let cause = std::error::Error::source(error)
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            (
                UNREADABLE,
                "unreadable",
                format!("cannot be read: {error}{cause}"),
            )
        }
    }
}
