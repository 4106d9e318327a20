//! `version`.

use std::process::ExitCode;

use atlasbridge_wire::{OLDEST_PROTOCOL, PROTOCOL};
use serde_json::json;

use crate::output::Output;

pub(super) fn run(json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    match json {
        true => output
            .json(&json!({ "version": version, "protocol": PROTOCOL, "oldest_protocol": OLDEST_PROTOCOL }))?,
        false => output.line(&format!("atlasbridge {version} (protocol {PROTOCOL})")),
    }
    Ok(ExitCode::SUCCESS)
}
