//! `version`.

use atlasbridge_wire::{OLDEST_PROTOCOL, PROTOCOL};
use serde_json::json;

use crate::output::Output;

pub(super) fn run(json: bool, output: &Output) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({ "version": version, "protocol": PROTOCOL, "oldest_protocol": OLDEST_PROTOCOL });
    output.told(json, &value, &format!("atlasbridge {version} (protocol {PROTOCOL})"))
}
