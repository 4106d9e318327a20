//! `audit`: is the log what it was, and what does it say.

use std::process::ExitCode;

use anyhow::Context;
use atlasbridge_store::{RecordFilter, Verification, VerifyError, read_records, verify};
use serde_json::json;

use crate::args::Audit;
use crate::config::{Environment, Paths};
use crate::output::{Output, chain};

/// The codes that scripts rely on (SPEC; docs/audit.md).
const GOOD: u8 = 0;
const TAMPERED: u8 = 1;
const UNREADABLE: u8 = 2;
const TRUNCATED: u8 = 3;

pub(super) fn run(command: Audit, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = Paths::new(&Environment::of_process())?;
    match command {
        Audit::Verify { file, json } => {
            let database = (file.is_none()).then(|| paths.database()).filter(|path| path.exists());
            let log = file.unwrap_or_else(|| paths.audit_log());
            let verdict = verify(&log, database.as_deref());
            let (code, word, told) = judged(&verdict);
            let value = json!({ "verdict": word, "told": told, "file": log, "code": code });
            output.told(json, &value, &format!("{}: {told}", log.display()))?;
            Ok(ExitCode::from(code))
        }
        Audit::Export { session } => {
            let session =
                session.map(|id| id.parse()).transpose().context("--session takes a whole session id")?;
            let filter = RecordFilter { session, ..RecordFilter::default() };
            for record in read_records(&paths.audit_log(), filter)? {
                output.raw(&format!("{}\n", record?.line()));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn judged(verdict: &Result<Verification, VerifyError>) -> (u8, &'static str, String) {
    let (code, word) = match verdict {
        Ok(Verification::Good { .. }) => (GOOD, "good"),
        Ok(Verification::Tampered { .. } | Verification::TableDiffers { .. }) => (TAMPERED, "tampered"),
        Ok(Verification::Truncated { .. }) => (TRUNCATED, "truncated"),
        Ok(Verification::TornTail { .. }) => (TRUNCATED, "torn"),
        Ok(Verification::Behind { .. }) => (TRUNCATED, "behind"),
        Err(_) => (UNREADABLE, "unreadable"),
    };
    let told = match verdict {
        Ok(verdict) => verdict.to_string(),
        Err(error) => format!("cannot be read: {}", chain(error)),
    };
    (code, word, told)
}
