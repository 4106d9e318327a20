//! `version`.

use atlasbridge_wire::{OLDEST_PROTOCOL, PROTOCOL};
use serde_json::json;

use crate::output::Output;

pub(super) fn run(json: bool, output: &Output) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    if json {
        let value = json!({ "version": version, "protocol": PROTOCOL, "oldest_protocol": OLDEST_PROTOCOL });
        return output.json(&value);
    }
    output.line(&format!("atlasbridge {version} (protocol {PROTOCOL})"));
    Ok(())
}
